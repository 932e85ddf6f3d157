"""A range of draws (or rows), cut into blocks and mapped.

Threads and a distributed engine both just map ranges: a task is called with
``(start, stop)`` and releases the GIL inside its kernel. What a block computes
depends only on its range, so neither the cut nor the order changes a bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

T = TypeVar("T")

#: Scheduling blocks of draws are multiples of this (the leaf of the reductions).
LEAF = 256


class Engine(Protocol):
    """Anything that maps a function over ranges in order: a pool, a cluster client."""

    def map(
        self, function: Callable[[tuple[int, int]], T], ranges: list[tuple[int, int]], /
    ) -> Iterator[T]:
        """Results of ``function`` for each range, in the order of ``ranges``."""
        ...


def default_threads() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return max(1, os.cpu_count() or 1)


def ranges(total: int, size: int, multiple: int = LEAF) -> list[tuple[int, int]]:
    """``0 … total`` cut into pieces of about ``size``, each start a multiple of ``multiple``."""
    step = max(1, -(-size // multiple)) * multiple
    return [(start, min(start + step, total)) for start in range(0, total, step)]


def even_ranges(
    total: int, threads: int, target: int, multiple: int = LEAF
) -> list[tuple[int, int]]:
    """Pieces of at most about ``target``, as many for each thread, so that all end together."""
    rounds = max(1, -(-total // (threads * target)))
    return ranges(total, -(-total // (threads * rounds)), multiple)


def map_ranges(
    task: Callable[[int, int], T],
    pieces: list[tuple[int, int]],
    threads: int = 1,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[T]:
    """Results of ``task(start, stop)`` for each piece, in order.

    Parameters
    ----------
    threads : int
        Threads of this process; ignored when an ``engine`` is given.
    progress : callable, optional
        Called in this thread with the number of draws or rows a finished piece held.
    """

    def run(piece: tuple[int, int]) -> T:
        return task(*piece)

    results: list[T] = []

    def collect(stream: Iterator[T]) -> list[T]:
        for (start, stop), result in zip(pieces, stream, strict=True):
            results.append(result)
            if progress is not None:
                progress(stop - start)
        return results

    if engine is not None:
        return collect(engine.map(run, pieces))
    if threads <= 1 or len(pieces) <= 1:
        return collect(map(run, pieces))
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(min(threads, len(pieces)))
    try:
        return collect(pool.map(run, pieces))
    finally:
        # An interrupt must not wait for pieces that have not begun.
        pool.shutdown(wait=True, cancel_futures=True)

"""A range of draws (or rows), cut into blocks and mapped.

Threads and a distributed engine both just map ranges: a task is called with
``(start, stop)`` and releases the GIL inside its kernel. What a block computes
depends only on its range, so neither the cut nor the order changes a bit.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import pairwise
from typing import Protocol, TypeVar

T = TypeVar("T")
#: Told as stages advance: stage name, units done since the last call, units in all.
Progress = Callable[[str, int, int], None]

#: Scheduling blocks of draws are multiples of this (the leaf of the reductions).
LEAF = 256
MAX_THREADS = 256
#: Seconds between two reports while only other threads are at work.
_TELL_EVERY = 0.2


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


def even_ranges(
    total: int, threads: int, target: int, multiple: int = LEAF
) -> list[tuple[int, int]]:
    """``0 … total`` in pieces of about ``target``, equally many and equally long for each thread.

    Every start is a multiple of ``multiple``.
    """
    if total < 1:
        return []
    units = -(-total // multiple)
    rounds = max(1, -(-total // (threads * target)))
    pieces = min(threads * rounds, units)
    edges = [min(units * i // pieces * multiple, total) for i in range(pieces + 1)]
    return list(pairwise(edges))


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

    if engine is not None:
        results: list[T] = []
        for (start, stop), result in zip(pieces, engine.map(run, pieces), strict=True):
            results.append(result)
            if progress is not None:
                progress(stop - start)
        return results
    return _share(run, pieces, min(threads, len(pieces)), progress)


def _share(
    run: Callable[[tuple[int, int]], T],
    pieces: list[tuple[int, int]],
    threads: int,
    progress: Callable[[int], None] | None,
) -> list[T]:
    """Threads, this one among them, take the next piece until none is left."""
    results: dict[int, T] = {}
    todo = deque(enumerate(pieces))
    told = 0

    def tell() -> None:
        nonlocal told
        if progress is not None:
            done = sum(pieces[index][1] - pieces[index][0] for index in list(results))
            progress(done - told)
            told = done

    def work(after: Callable[[], None] | None = None) -> None:
        while todo:
            try:
                index, piece = todo.popleft()
            except IndexError:  # another thread was faster
                return
            results[index] = run(piece)
            if after is not None:
                after()

    helpers: list[Future[None]] = []
    try:
        helpers.extend(_pool().submit(work) for _ in range(threads - 1))
        work(tell)
        while wait(helpers, timeout=_TELL_EVERY).not_done:
            tell()
    finally:
        todo.clear()  # after an interrupt or a failure nothing new begins
        wait(helpers)
    for helper in helpers:
        helper.result()  # raises what the helper met
    tell()
    return [results[index] for index in range(len(pieces))]


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads kept for the life of the process: starting one costs as much as a small kernel."""
    return ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="fbcore")


if hasattr(os, "register_at_fork"):  # a forked process has the pool but none of its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)

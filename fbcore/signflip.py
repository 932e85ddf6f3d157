"""Anchor-cluster sign flips for all pairs of models at once.

Under the null hypothesis the cluster differences of a pair are symmetric about zero;
p follows Phipson & Smyth 2010, Stat. Appl. Genet. Mol. Biol. 9:39. All pairs share the
signs, and ``D* = T*_i - T*_j`` is linear: only the M model sums are formed per draw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fbcore._jit import device, kernel, scratch
from fbcore.blocks import LEAF, Engine, even_ranges, map_ranges
from fbcore.checks import at_least, draw_range, integers
from fbcore.counter import sign_words, split_seed
from fbcore.design import PORTFOLIOS

_DRAW_BLOCK = 25_600
#: Bytes that the sums of a block may take.
_BLOCK_BYTES = 2**25
#: Models of a tile: a table row of 32 four-byte sums is two cache lines.
_TILE = 32
#: Tables of 256 sums built at once; 12 of them and the tile's sums share a second-level cache.
_GROUPS = 12
#: Draws compared at once, so that all models' sums stay in the first-level cache.
_LANES = 256


@dataclass(frozen=True, slots=True)
class SignFlips:
    """Exceedance counts of the sign flips.

    Attributes
    ----------
    pairs : int64 [M (M - 1) / 2], #{|D*| >= |D|} of each pair i < j, row-major
    chance : int64 [M] or None, the same against the chance level
    draws : int, sign vectors used
    exact : bool, whether these were all sign vectors with the first sign fixed
    """

    pairs: NDArray[np.int64]
    chance: NDArray[np.int64] | None
    draws: int
    exact: bool


@kernel
def _fill_tables(first, groups, base, width, z, table):  # type: ignore[no-untyped-def]
    """Row r of table g: ``Σ_k ± z[8 (first + g) + k]`` of the ``width`` models of a tile.

    Row r differs from row r & (r - 1) by one sign. Flat indices are unsigned: Numba tests
    signed ones for wrap-around at every element, which costs a factor of six here. The
    width comes as an argument, since a constant one is unrolled into scalar code.
    """
    tile = np.uint64(width)
    column = np.uint64(base)
    for g in range(groups):
        cluster = np.uint64(8 * (first + g))
        top = np.uint64(g * 256) * tile
        for m in range(tile):
            table[top + m] = 0
        for k in range(np.uint64(8)):
            for m in range(tile):
                table[top + m] -= z[cluster + k, column + m]
        for row in range(1, 256):
            bit = 0
            while (row >> bit) & 1 == 0:
                bit += 1
            here = top + np.uint64(row) * tile
            there = top + np.uint64(row & (row - 1)) * tile
            change = cluster + np.uint64(bit)
            for m in range(tile):
                table[here + m] = table[there + m] + 2 * z[change, column + m]


@kernel
def _add_tables(first, groups, count, words, table, sums, offset):  # type: ignore[no-untyped-def]
    """Add to the tile's ``sums`` [draws * TILE] the rows that each draw's sign bytes name."""
    byte = np.uint64(255)
    tile = np.uint64(_TILE)
    for d in range(np.uint64(count)):
        at = np.uint64(offset) + d * tile
        for g in range(np.uint64(0), np.uint64(groups), np.uint64(4)):
            word = np.uint64(words[(np.uint64(first) + g) // np.uint64(4), d])
            row = g * np.uint64(256)
            a = (row + (word & byte)) * tile
            b = (row + np.uint64(256) + ((word >> np.uint64(8)) & byte)) * tile
            c = (row + np.uint64(512) + ((word >> np.uint64(16)) & byte)) * tile
            e = (row + np.uint64(768) + (word >> np.uint64(24))) * tile
            for m in range(tile):
                sums[at + m] += table[a + m] + table[b + m] + table[c + m] + table[e + m]


@device
def _count_hits(left, right, factor, limit, width, flipped):  # type: ignore[no-untyped-def]
    """#{|factor T*_left - T*_right| >= limit} over the first ``width`` draws of ``flipped``."""
    kind = flipped.dtype.type  # stay in it: half the width is twice the speed
    least = kind(limit)
    hits = np.int32(0)
    for d in range(width):
        difference = kind(factor * flipped[left, d] - flipped[right, d])
        hits = np.int32(hits + np.int32(kind(abs(difference)) >= least))
    return hits


@kernel
def _compare(sums, observed, flipped, counts, chance_counts):  # type: ignore[no-untyped-def]
    """Count exceedances of all draws in ``sums`` [tiles * draws * TILE].

    ``observed`` holds the models and, after them, the chance row if there is one.
    """
    rows = observed.shape[0]
    models = counts.shape[0]
    tiles = -(-rows // _TILE)
    count = sums.shape[0] // (tiles * _TILE)
    for first in range(0, count, _LANES):
        width = min(_LANES, count - first)
        for m in range(rows):
            offset = (m // _TILE) * _TILE * count + m % _TILE
            for d in range(width):
                flipped[m, d] = sums[offset + (first + d) * _TILE]
        for i in range(models):
            for j in range(i + 1, models):
                limit = abs(observed[i] - observed[j])
                counts[i, j] += _count_hits(i, j, 1, limit, width, flipped)
        if rows > models:
            for i in range(models):
                limit = abs(PORTFOLIOS * observed[i] - observed[models])
                hits = _count_hits(i, models, PORTFOLIOS, limit, width, flipped)
                chance_counts[i] += hits


def sign_flips(
    contributions: NDArray[np.int64],
    flips: int,
    seed: int,
    chance: NDArray[np.int64] | None = None,
    threads: int = 1,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
) -> SignFlips:
    """Exceedance counts of all pairs, and of each model against chance.

    Memory does not grow with ``flips``. When ``2**(C - 1) <= flips`` all sign vectors
    with the first sign fixed are enumerated instead.

    Parameters
    ----------
    contributions : int64 [M, C]
        ``z`` of :func:`fbcore.design.contributions`.
    chance : int64 [C], optional
        Contributions of 56 times the chance level.
    """
    contributions = integers("contributions", contributions, None, None)
    models, clusters = contributions.shape
    at_least("clusters", clusters, 1)
    draw_range(0, at_least("flips", flips, 1))
    if chance is not None:
        chance = integers("chance", chance, clusters)
    exact = enumerates(clusters, flips)
    draws = 2 ** (clusters - 1) if exact else flips
    z = contributions if chance is None else np.vstack([contributions, chance])
    # Differences of two sums, the chance row's factor included, must fit the type.
    bound = int(np.abs(contributions).sum(axis=1).max()) * (1 if chance is None else PORTFOLIOS)
    bound = max(bound, 0 if chance is None else int(np.abs(chance).sum()))
    kind = np.int32 if bound < 2**30 else np.int64
    groups = 4 * -(-clusters // 32)
    padded = np.zeros((16 * -(-clusters // 128) * 8, _TILE * -(-z.shape[0] // _TILE)), kind)
    padded[:clusters, : z.shape[0]] = z.T
    observed = z.sum(axis=1).astype(kind)
    key0, key1 = split_seed(seed)

    def task(start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        size = stop - start
        # Rows of an odd number of cache lines: others would share cache sets.
        words = np.zeros((padded.shape[0] // 32, (size // 32 + 1) * 32 + 16), np.uint32)
        if exact:  # draw b: the first sign is +1, sign c is bit c - 1 of b
            words[0, :size] = 2 * np.arange(start, stop) + 1
        else:
            sign_words(start, key0, key1, words)
        sums = scratch(padded.shape[1] * size, kind)
        sums[:] = 0
        table = scratch(_GROUPS * 256 * _TILE, kind)
        # Three kernels, not one: inlined together, the compiler spoils the inner loops.
        for base in range(0, padded.shape[1], _TILE):
            for first in range(0, groups, _GROUPS):
                some = min(_GROUPS, groups - first)
                _fill_tables(first, some, base, _TILE, padded, table)
                _add_tables(first, some, size, words, table, sums, base * size)
        counts = np.zeros((models, models), np.int64)
        chance_counts = np.zeros(models, np.int64)
        _compare(sums, observed, scratch((z.shape[0], _LANES), kind), counts, chance_counts)
        return counts, chance_counts

    width = padded.shape[1] * np.dtype(kind).itemsize
    block = min(_DRAW_BLOCK, max(LEAF, _BLOCK_BYTES // width))
    results = map_ranges(task, even_ranges(draws, threads, block), threads, engine, progress)
    counts = np.sum([result[0] for result in results], axis=0)
    pairs = counts[np.triu_indices(models, 1)]
    against = None if chance is None else np.sum([result[1] for result in results], axis=0)
    return SignFlips(pairs, against, draws, exact)


def enumerates(clusters: int, flips: int) -> bool:
    """Whether all sign vectors with the first sign fixed are no more than ``flips``."""
    return clusters - 1 < 62 and 2 ** (clusters - 1) <= flips


def p_values(counts: NDArray[np.int64], draws: int, exact: bool) -> NDArray[np.float64]:
    """``x / draws`` when all sign vectors were enumerated, else ``(1 + x) / (1 + draws)``."""
    if exact:
        return counts / draws
    return (1 + counts) / (1 + draws)

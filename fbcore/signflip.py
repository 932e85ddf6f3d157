"""Anchor-cluster sign flips for all pairs of models at once.

Under the null hypothesis the cluster differences of a pair are symmetric about zero;
p follows Phipson & Smyth 2010, Stat. Appl. Genet. Mol. Biol. 9:39. All pairs share the
signs, and ``D* = T*_i - T*_j`` is linear: only the M model sums are formed per draw.
Since no draw depends on the models, sums that are kept compare with those of later models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fbcore._jit import device, kernel, scratch
from fbcore.blocks import LEAF, Engine, even_ranges, map_ranges
from fbcore.checks import at_least, draw_range, integers, shaped
from fbcore.counter import sign_words, split_seed
from fbcore.design import PORTFOLIOS

_DRAW_BLOCK = 25_600
#: Bytes that the sums of a block may take.
_BLOCK_BYTES = 2**25
#: Models of a tile: a table row of 32 four-byte sums is two cache lines.
TILE = 32
#: Tables of 256 sums built at once; 12 of them and the tile's sums share a second-level cache.
_GROUPS = 12
#: Sums below this fit 32 bits, and so do their differences.
INT32_BOUND = 2**30
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
    tile = np.uint64(TILE)
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
def turn(sums, tiles, m, first, width, out, at):  # type: ignore[no-untyped-def]
    """Row m of ``sums`` [tiles * draws * TILE], ``width`` draws from ``first``, into ``out``."""
    count = sums.shape[0] // (tiles * TILE)
    offset = (m // TILE) * TILE * count + m % TILE
    for d in range(width):
        out[m, at + d] = sums[offset + (first + d) * TILE]


@kernel
def _turn_all(sums, tiles, start, out):  # type: ignore[no-untyped-def]
    """All draws of ``sums`` into ``out`` [rows, draws], whose column ``start`` is the first."""
    count = sums.shape[0] // (tiles * TILE)
    for first in range(0, count, _LANES):
        for m in range(out.shape[0]):
            turn(sums, tiles, m, first, min(_LANES, count - first), out, start + first)


@device
def _count_hits(left, i, right, j, first, width, factor, limit):  # type: ignore[no-untyped-def]
    """#{|factor T*_i - T*_j| >= limit} over ``width`` draws from ``first`` on."""
    kind = left.dtype.type  # stay in it: half the width is twice the speed
    least = kind(limit)
    hits = np.int32(0)
    for d in range(np.uint64(first), np.uint64(first + width)):
        difference = kind(factor * left[i, d] - right[j, d])
        hits = np.int32(hits + np.int32(kind(abs(difference)) >= least))
    return hits


@kernel
def _compare(sums, observed, flipped, counts, chance_counts):  # type: ignore[no-untyped-def]
    """Count exceedances of all draws in ``sums`` [tiles * draws * TILE].

    ``observed`` holds the models and, after them, the chance row if there is one.
    """
    rows = observed.shape[0]
    models = counts.shape[0]
    tiles = -(-rows // TILE)
    count = sums.shape[0] // (tiles * TILE)
    for first in range(0, count, _LANES):
        width = min(_LANES, count - first)
        for m in range(rows):
            turn(sums, tiles, m, first, width, flipped, 0)
        for i in range(models):
            for j in range(i + 1, models):
                limit = abs(observed[i] - observed[j])
                counts[i, j] += _count_hits(flipped, i, flipped, j, 0, width, 1, limit)
        if rows > models:
            for i in range(models):
                limit = abs(PORTFOLIOS * observed[i] - observed[models])
                hits = _count_hits(flipped, i, flipped, models, 0, width, PORTFOLIOS, limit)
                chance_counts[i] += hits


@kernel
def _compare_rows(  # type: ignore[no-untyped-def]
    start, stop, left, right, left_observed, right_observed, factor, counts
):
    """Count exceedances of the draws ``start … stop - 1``."""
    for first in range(start, stop, _LANES):
        width = min(_LANES, stop - first)
        for i in range(left.shape[0]):
            for j in range(right.shape[0]):
                limit = abs(factor * left_observed[i] - right_observed[j])
                if factor == 1:  # as a constant, it leaves narrow sums narrow
                    counts[i, j] += _count_hits(left, i, right, j, first, width, 1, limit)
                else:
                    counts[i, j] += _count_hits(left, i, right, j, first, width, factor, limit)


@dataclass(frozen=True, slots=True)
class SignJob:
    """Rows of contributions under all sign vectors of a seed.

    Attributes
    ----------
    padded : int32 or int64 [clusters, rows], the type of the sums; whole tables and tiles
    bound : int, what sums and their differences, times what they are compared with, stay within
    groups : int, tables of eight clusters
    draws : int; exact : bool, see :class:`SignFlips`
    key : the words of the seed
    """

    padded: NDArray[Any]
    bound: int
    groups: int
    draws: int
    exact: bool
    key: tuple[int, int]

    @classmethod
    def of(cls, z: NDArray[np.int64], chance: bool, flips: int, seed: int) -> SignJob:
        """For rows ``z`` [rows, clusters]; whether the last one is 56 times the chance level."""
        rows, clusters = z.shape
        at_least("clusters", clusters, 1)
        draw_range(0, at_least("flips", flips, 1))
        draws, exact = sign_vectors(clusters, flips)
        # Differences of two sums, the chance row's factor included, must fit the type.
        bound = _bound(z)
        if chance:
            bound = max(_bound(z[:-1]) * PORTFOLIOS, _bound(z[-1:]))
        kind = np.int32 if bound < INT32_BOUND else np.int64
        padded = np.zeros((16 * -(-clusters // 128) * 8, TILE * -(-rows // TILE)), kind)
        padded[:clusters, :rows] = z.T
        groups = 4 * -(-clusters // 32)
        return cls(padded, bound, groups, draws, exact, split_seed(seed))

    def pieces(self, threads: int) -> list[tuple[int, int]]:
        """Ranges of draws whose sums fit the caches."""
        width = self.padded.shape[1] * self.padded.itemsize
        block = min(_DRAW_BLOCK, max(LEAF, _BLOCK_BYTES // width))
        return even_ranges(self.draws, threads, block)

    def sums(self, start: int, stop: int) -> NDArray[Any]:
        """``T*`` of the draws ``start … stop - 1``: [tiles * draws * TILE]."""
        size = stop - start
        # Rows of an odd number of cache lines: others would share cache sets.
        words = np.zeros((self.padded.shape[0] // 32, (size // 32 + 1) * 32 + 16), np.uint32)
        if self.exact:  # draw b: the first sign is +1, sign c is bit c - 1 of b
            words[0, :size] = 2 * np.arange(start, stop) + 1
        else:
            sign_words(start, *self.key, words)
        sums = scratch(self.padded.shape[1] * size, self.padded.dtype)
        sums[:] = 0
        table = scratch(_GROUPS * 256 * TILE, self.padded.dtype)
        # Two kernels, not one: inlined together, the compiler spoils the inner loops.
        for base in range(0, self.padded.shape[1], TILE):
            for first in range(0, self.groups, _GROUPS):
                some = min(_GROUPS, self.groups - first)
                _fill_tables(first, some, base, TILE, self.padded, table)
                _add_tables(first, some, size, words, table, sums, base * size)
        return sums


def with_chance(
    contributions: NDArray[np.int64], chance: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """Contributions [M, C] and, in the last row, those of 56 times the chance level [C], if any."""
    contributions = integers("contributions", contributions, None, None)
    if chance is None:
        return contributions
    return np.vstack([contributions, integers("chance", chance, contributions.shape[1])])


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
    z = with_chance(contributions, chance)
    models = contributions.shape[0]
    job = SignJob.of(z, chance is not None, flips, seed)
    observed = z.sum(axis=1).astype(job.padded.dtype)

    def task(start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        counts = np.zeros((models, models), np.int64)
        chance_counts = np.zeros(models, np.int64)
        flipped = scratch((z.shape[0], _LANES), job.padded.dtype)
        _compare(job.sums(start, stop), observed, flipped, counts, chance_counts)
        return counts, chance_counts

    results = map_ranges(task, job.pieces(threads), threads, engine, progress)
    counts = np.sum([result[0] for result in results], axis=0)
    pairs = counts[np.triu_indices(models, 1)]
    against = None if chance is None else np.sum([result[1] for result in results], axis=0)
    return SignFlips(pairs, against, job.draws, job.exact)


def flip_sums(
    contributions: NDArray[np.int64],
    flips: int,
    seed: int,
    threads: int = 1,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
) -> NDArray[np.int32] | NDArray[np.int64]:
    """``T*`` of each row of contributions under the sign vectors of :func:`sign_flips`.

    A row of the result depends on its contributions, ``flips`` and ``seed`` alone.

    Parameters
    ----------
    contributions : int64 [M, C]
        Of models, or of 56 times the chance level.

    Returns
    -------
    int32 [M, draws] where every ``Σ_c |z|`` is below 2**30, else int64; draws are all
    ``2**(C - 1)`` sign vectors with the first sign fixed, or ``flips`` (:func:`enumerates`)
    """
    contributions = integers("contributions", contributions, None, None)
    rows = at_least("rows of contributions", contributions.shape[0], 1)
    job = SignJob.of(contributions, False, flips, seed)
    tiles = job.padded.shape[1] // TILE
    out = scratch((rows, job.draws), job.padded.dtype)

    def task(start: int, stop: int) -> tuple[int, NDArray[Any] | None]:
        if engine is None:
            _turn_all(job.sums(start, stop), tiles, start, out)
            return start, None
        # An engine may work elsewhere: it sends its sums, threads write them in place.
        part = scratch((rows, stop - start), job.padded.dtype)
        _turn_all(job.sums(start, stop), tiles, 0, part)
        return start, part

    for start, part in map_ranges(task, job.pieces(threads), threads, engine, progress):
        if part is not None:
            out[:, start : start + part.shape[1]] = part
    return out


def exceedances(
    left: NDArray[np.signedinteger],
    right: NDArray[np.signedinteger],
    left_observed: NDArray[np.int64],
    right_observed: NDArray[np.int64],
    factor: int = 1,
    threads: int = 1,
) -> NDArray[np.int64]:
    """``#{|factor L* - R*| >= |factor l - r|}`` over the draws, of every row with every other.

    Parameters
    ----------
    left, right : int32 or int64, [a, B] and [b, B]
        Sums of :func:`flip_sums`; memory maps will do. Where all are int32 below 2**30 and the
        factor is 1, they are compared in that type.
    left_observed, right_observed : int64 [a] and [b]
        Sums without flips.
    factor : int
        1 for two models, ``PORTFOLIOS`` for models on the left and the chance row on the right.

    Returns
    -------
    int64 [a, b]

    Raises
    ------
    ValueError
        Shapes that do not fit, or differences beyond 64 bits.
    TypeError
        Sums of another type.
    """
    left = _sums("left", left, None)
    right = _sums("right", right, left.shape[1])
    left_observed = integers("left_observed", left_observed, left.shape[0])
    right_observed = integers("right_observed", right_observed, right.shape[0])
    bounds = [max(map(_largest, side)) for side in ((left, left_observed), (right, right_observed))]
    if abs(factor) * bounds[0] + bounds[1] >= 2**63:
        raise ValueError(f"sums up to {max(bounds)} are too large to be compared in 64 bits")
    narrow = left.dtype == right.dtype == np.int32 and factor == 1 and max(bounds) < INT32_BOUND
    kind = np.int32 if narrow else np.int64
    rows = left.astype(kind, copy=False), right.astype(kind, copy=False)

    def task(start: int, stop: int) -> NDArray[np.int64]:
        counts = np.zeros((left.shape[0], right.shape[0]), np.int64)
        _compare_rows(start, stop, *rows, left_observed, right_observed, factor, counts)
        return counts

    pieces = even_ranges(at_least("draws", left.shape[1], 1), threads, left.shape[1])
    counts: NDArray[np.int64] = np.sum(map_ranges(task, pieces, threads), axis=0)
    return counts


def _sums(name: str, values: NDArray[Any], draws: int | None) -> NDArray[Any]:
    """``values`` [any, draws] as a contiguous array of the integer type that it has."""
    if values.dtype not in (np.int32, np.int64):
        raise TypeError(f"{name} holds {values.dtype}: needed is int32 or int64")
    return np.ascontiguousarray(shaped(name, values, (None, draws)))


def _largest(values: NDArray[Any]) -> int:
    return max(-int(values.min(initial=0)), int(values.max(initial=0)))


def _bound(contributions: NDArray[np.int64]) -> int:
    """Largest ``Σ_c |z|`` of a row."""
    return int(np.abs(contributions).sum(axis=1).max())


def enumerates(clusters: int, flips: int) -> bool:
    """Whether all sign vectors with the first sign fixed are no more than ``flips``."""
    return clusters - 1 < 62 and 2 ** (clusters - 1) <= flips


def sign_vectors(clusters: int, flips: int) -> tuple[int, bool]:
    """How many sign vectors are used, and whether these are all with the first sign fixed."""
    exact = enumerates(clusters, flips)
    return 2 ** (clusters - 1) if exact else flips, exact


def p_values(counts: NDArray[np.int64], draws: int, exact: bool) -> NDArray[np.float64]:
    """``x / draws`` when all sign vectors were enumerated, else ``(1 + x) / (1 + draws)``."""
    if exact:
        return counts / draws
    return (1 + counts) / (1 + draws)

"""Random words as a pure function of their coordinates.

Philox4x32-10 (Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy
as 1, 2, 3", SC'11). The key is the seed; the counter names what is drawn:
``(block, draw, attempt + 2**16 * retry, purpose)``. No state is carried, so no
result depends on threads, blocks or the order of work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fbcore._jit import device, kernel
from fbcore.checks import at_least, draw_range, integers

#: Purposes, the last counter word. A new use of random words takes the next number.
BOOTSTRAP = 1
SIGN_FLIP = 2

SEED_LIMIT = 2**53
#: A draw that leaves a stratum empty is drawn again at most this often.
MAX_ATTEMPT = 255

#: Draws that the bootstrap works on at once: counts of 534 clusters then fit in the
#: first-level cache and the inner loops unroll completely.
LANES = 32

_MASK = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
_W0 = np.uint64(0x9E3779B9)
_W1 = np.uint64(0xBB67AE85)


@device
def philox_word4(c0, c1, c2, c3, k0, k1):  # type: ignore[no-untyped-def]
    """One Philox4x32-10 block. Words are the low 32 bits of uint64 values.

    What stands above them is dropped only where it matters: before a product, where it
    costs nothing (vector units multiply 32-bit halves), and at the end.
    """
    for _ in range(10):
        p0 = _M0 * (c0 & _MASK)
        p1 = _M1 * (c2 & _MASK)
        c0 = (p1 >> _32) ^ c1 ^ k0
        c1 = p1
        c2 = (p0 >> _32) ^ c3 ^ k1
        c3 = p0
        k0 = (k0 + _W0) & _MASK
        k1 = (k1 + _W1) & _MASK
    return c0 & _MASK, c1 & _MASK, c2 & _MASK, c3 & _MASK


@device
def one_pick(k, draw, attempt, retry, clusters, k0, k1):  # type: ignore[no-untyped-def]
    """Pick ``k`` of a draw at ``retry`` and later: Lemire's multiply-and-reject on 32 bits."""
    bound = np.uint64(clusters) & _MASK
    reject = np.uint64((2**32) % clusters)
    while True:
        third = np.uint64(attempt + 65536 * retry)
        a, b, c, d = philox_word4(
            np.uint64(k // 4), np.uint64(draw), third, np.uint64(BOOTSTRAP), k0, k1
        )
        lane = k % 4
        word = a if lane == 0 else b if lane == 1 else c if lane == 2 else d
        product = word * bound
        if (product & _MASK) >= reject:
            return np.int64(product >> _32)
        retry += 1


@device
def lane_picks(block, first, attempt, clusters, k0, k1, couples, places):  # type: ignore[no-untyped-def]
    """Picks ``4 block … 4 block + 3`` of the LANES draws from ``first`` on.

    ``couples`` uint64 [2 * LANES] and ``places``, the same memory read as uint32: pick
    4 block + r of draw first + d stands at :func:`place_of` (r, d) as ``pick * LANES + d``.
    The draws side by side give the compiler independent chains, and a word of two picks
    spares it half of the narrowing. Entries beyond the last pick are void.
    """
    bound = np.uint64(clusters) & _MASK
    reject = np.int64((2**32) % clusters)
    here = np.uint64(block)
    begin = np.uint64(first)
    third = np.uint64(attempt)
    purpose = np.uint64(BOOTSTRAP)
    lanes = np.uint64(LANES)
    short = np.int64(0)  # its sign bit says that some product was to be rejected
    for d in range(LANES):
        lane = np.uint64(d)
        a, b, c, e = philox_word4(here, begin + lane, third, purpose, k0, k1)
        a *= bound
        b *= bound
        c *= bound
        e *= bound
        both = lane | (lane << _32)
        couples[d] = ((a >> _32) | (b & ~_MASK)) * lanes + both
        couples[LANES + d] = ((c >> _32) | (e & ~_MASK)) * lanes + both
        short |= (np.int64(a & _MASK) - reject) | (np.int64(b & _MASK) - reject)
        short |= (np.int64(c & _MASK) - reject) | (np.int64(e & _MASK) - reject)
    if short < 0:  # about C picks in 2**32: go through the block once more, pick by pick
        for i in range(4 * LANES):
            d = i // 4
            pick = one_pick(4 * block + i % 4, first + d, attempt, 0, clusters, k0, k1)
            places[place_of(i % 4, d)] = np.uint32(pick * LANES + d)


@device
def place_of(r, d):  # type: ignore[no-untyped-def]
    """Where :func:`lane_picks` puts pick r of draw d (little-endian words of two picks)."""
    return 2 * (LANES * (r // 2) + d) + r % 2


@kernel
def _philox_rows(counter, key0, key1, out):  # type: ignore[no-untyped-def]
    k0 = np.uint64(key0)
    k1 = np.uint64(key1)
    for row in range(counter.shape[0]):
        a, b, c, d = philox_word4(
            np.uint64(counter[row, 0]),
            np.uint64(counter[row, 1]),
            np.uint64(counter[row, 2]),
            np.uint64(counter[row, 3]),
            k0,
            k1,
        )
        out[row, 0] = np.uint32(a)
        out[row, 1] = np.uint32(b)
        out[row, 2] = np.uint32(c)
        out[row, 3] = np.uint32(d)


@kernel
def _pick_rows(start, attempts, key0, key1, out):  # type: ignore[no-untyped-def]
    clusters = out.shape[1]
    for row in range(out.shape[0]):
        for k in range(clusters):
            out[row, k] = one_pick(
                k, start + row, attempts[row], 0, clusters, np.uint64(key0), np.uint64(key1)
            )


@kernel
def sign_words(start, key0, key1, words):  # type: ignore[no-untyped-def]
    """Sign words of the draws from ``start`` on: ``words`` uint32 [4 * blocks, draws].

    Bit c % 32 of row c // 32 is the sign of cluster c; 1 means +1. Neighbouring draws lie
    side by side, so that the compiler works on several at once.
    """
    k0 = np.uint64(key0)
    k1 = np.uint64(key1)
    for block in range(words.shape[0] // 4):
        for d in range(words.shape[1]):
            a, b, c, e = philox_word4(
                np.uint64(block),
                np.uint64(start + d),
                np.uint64(0),
                np.uint64(SIGN_FLIP),
                k0,
                k1,
            )
            words[4 * block, d] = np.uint32(a)
            words[4 * block + 1, d] = np.uint32(b)
            words[4 * block + 2, d] = np.uint32(c)
            words[4 * block + 3, d] = np.uint32(e)


def split_seed(seed: int) -> tuple[int, int]:
    """The Philox key ``(low 32 bits, high bits)`` of a seed.

    Raises
    ------
    ValueError
        The seed is outside 0 … 2**53 - 1.
    """
    if not 0 <= seed < SEED_LIMIT:
        raise ValueError(f"seed {seed} is outside 0 to {SEED_LIMIT - 1}")
    return seed & 0xFFFFFFFF, seed >> 32


def philox(counter: NDArray[np.uint32], key: tuple[int, int]) -> NDArray[np.uint32]:
    """Philox4x32-10 of each row of ``counter`` uint32 [n, 4] under ``key`` (two 32-bit words).

    Returns
    -------
    uint32 [n, 4]
    """
    rows = integers("counter", counter, None, 4).astype(np.uint32)
    out = np.empty_like(rows)
    _philox_rows(rows, key[0], key[1], out)
    return out


def picks(
    seed: int,
    start: int,
    stop: int,
    clusters: int,
    attempts: NDArray[np.int64] | None = None,
) -> NDArray[np.int32]:
    """Cluster picks of the bootstrap draws ``start … stop - 1``.

    Parameters
    ----------
    attempts : int64 [stop - start], optional
        Attempt number of each draw, 0 … 255; all 0 by default.

    Returns
    -------
    int32 [stop - start, clusters], values 0 … clusters - 1
    """
    key = split_seed(seed)
    draw_range(start, stop)
    at_least("clusters", clusters, 1)
    tries = np.zeros(stop - start, np.int64) if attempts is None else attempts
    out = np.empty((stop - start, clusters), np.int32)
    _pick_rows(start, integers("attempts", tries, stop - start), *key, out)
    return out


def signs(seed: int, start: int, stop: int, clusters: int) -> NDArray[np.int8]:
    """Signs of the sign-flip draws ``start … stop - 1``: int8 [stop - start, clusters], ±1."""
    draw_range(start, stop)
    at_least("clusters", clusters, 1)
    words = np.empty((4 * -(-clusters // 128), stop - start), np.uint32)
    sign_words(start, *split_seed(seed), words)
    cluster = np.arange(clusters)
    bits = (words[cluster // 32] >> (cluster % 32).astype(np.uint32)[:, None]) & 1
    return (2 * bits.T.astype(np.int8) - 1).astype(np.int8)

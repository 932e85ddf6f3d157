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

#: Purposes, the last counter word. A new use of random words takes the next number.
BOOTSTRAP = 1
SIGN_FLIP = 2

SEED_LIMIT = 2**53
DRAW_LIMIT = 2**32
#: A draw that leaves a stratum empty is drawn again at most this often.
MAX_ATTEMPT = 255

_MASK = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
_M0 = np.uint64(0xD2511F53)
_M1 = np.uint64(0xCD9E8D57)
_W0 = np.uint64(0x9E3779B9)
_W1 = np.uint64(0xBB67AE85)


@device
def philox_word4(c0, c1, c2, c3, k0, k1):  # type: ignore[no-untyped-def]
    """One Philox4x32-10 block. All values are 32-bit words held in uint64.

    The masks tell the compiler so: without them it multiplies 64-bit words, at a third
    of the speed.
    """
    c1 &= _MASK
    c3 &= _MASK
    k0 &= _MASK
    k1 &= _MASK
    for _ in range(10):
        p0 = _M0 * (c0 & _MASK)
        p1 = _M1 * (c2 & _MASK)
        c0 = (p1 >> _32) ^ c1 ^ k0
        c1 = p1 & _MASK
        c2 = (p0 >> _32) ^ c3 ^ k1
        c3 = p0 & _MASK
        k0 = (k0 + _W0) & _MASK
        k1 = (k1 + _W1) & _MASK
    return c0, c1, c2, c3


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
def draw_picks(draw, attempt, clusters, k0, k1, planes):  # type: ignore[no-untyped-def]
    """All picks of one draw into ``planes`` int32 [4, blocks]: pick k at [k % 4, k // 4].

    Four planes keep the stores contiguous, which lets the compiler work on several
    blocks at once. Entries beyond the last pick are to be ignored.
    """
    bound = np.uint64(clusters) & _MASK
    reject = np.uint64((2**32) % clusters)
    n_draw = np.uint64(draw)
    third = np.uint64(attempt)
    purpose = np.uint64(BOOTSTRAP)
    rejected = np.uint64(0)
    for block in range(planes.shape[1]):
        a, b, c, d = philox_word4(np.uint64(block), n_draw, third, purpose, k0, k1)
        a *= bound
        b *= bound
        c *= bound
        d *= bound
        planes[0, block] = np.int32(a >> _32)
        planes[1, block] = np.int32(b >> _32)
        planes[2, block] = np.int32(c >> _32)
        planes[3, block] = np.int32(d >> _32)
        rejected |= np.uint64((a & _MASK) < reject) | np.uint64((b & _MASK) < reject)
        rejected |= np.uint64((c & _MASK) < reject) | np.uint64((d & _MASK) < reject)
    if rejected:  # about C picks in 2**32: go through the draw once more, pick by pick
        for k in range(clusters):
            planes[k % 4, k // 4] = np.int32(one_pick(k, draw, attempt, 0, clusters, k0, k1))


@device
def draw_sign_words(draw, k0, k1, words):  # type: ignore[no-untyped-def]
    """The sign words of one draw into ``words`` uint32 [4 * blocks]; bit 1 means +1."""
    purpose = np.uint64(SIGN_FLIP)
    for block in range(words.shape[0] // 4):
        a, b, c, d = philox_word4(np.uint64(block), np.uint64(draw), np.uint64(0), purpose, k0, k1)
        words[4 * block] = np.uint32(a)
        words[4 * block + 1] = np.uint32(b)
        words[4 * block + 2] = np.uint32(c)
        words[4 * block + 3] = np.uint32(d)


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
def _pick_rows(start, attempts, key0, key1, planes, out):  # type: ignore[no-untyped-def]
    clusters = out.shape[1]
    for row in range(out.shape[0]):
        draw_picks(start + row, attempts[row], clusters, np.uint64(key0), np.uint64(key1), planes)
        for k in range(clusters):
            out[row, k] = planes[k % 4, k // 4]


@kernel
def _sign_rows(start, key0, key1, words, out):  # type: ignore[no-untyped-def]
    for row in range(out.shape[0]):
        draw_sign_words(start + row, np.uint64(key0), np.uint64(key1), words)
        for c in range(out.shape[1]):
            bit = (words[c // 32] >> np.uint32(c % 32)) & np.uint32(1)
            out[row, c] = 1 if bit else -1


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
    rows = np.ascontiguousarray(counter, dtype=np.uint32)
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
    tries = np.zeros(stop - start, np.int64) if attempts is None else attempts
    out = np.empty((stop - start, clusters), np.int32)
    planes = np.empty((4, -(-clusters // 4)), np.int32)
    _pick_rows(start, np.ascontiguousarray(tries, np.int64), *key, planes, out)
    return out


def signs(seed: int, start: int, stop: int, clusters: int) -> NDArray[np.int8]:
    """Signs of the sign-flip draws ``start … stop - 1``: int8 [stop - start, clusters], ±1."""
    out = np.empty((stop - start, clusters), np.int8)
    words = np.empty(4 * -(-clusters // 128), np.uint32)
    _sign_rows(start, *split_seed(seed), words, out)
    return out

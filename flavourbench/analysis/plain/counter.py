"""Random words as a pure function of their coordinates (docs/statistics.md, section 8).

No state is carried: the words of a draw do not depend on the draws before it, on the block
it is computed in, or on the models that are analysed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BOOTSTRAP = 1
"""Purpose (counter word 3) of the cluster picks."""
SIGN_FLIP = 2
"""Purpose (counter word 3) of the signs."""

_ROUNDS = 10
_MULTIPLIER_0 = np.uint64(0xD2511F53)
_MULTIPLIER_1 = np.uint64(0xCD9E8D57)
_KEY_STEP_0 = 0x9E3779B9
_KEY_STEP_1 = 0xBB67AE85
_MASK = 0xFFFFFFFF
_LOW = np.uint64(_MASK)
_SHIFT = np.uint64(32)
_RETRIES = 2**16


def philox(counter: NDArray[np.uint32], key: tuple[int, int]) -> NDArray[np.uint32]:
    """Philox4x32-10.

    Parameters
    ----------
    counter : uint32 [n, 4]
    key : (low word, high word), each in 0..2**32 - 1

    Returns
    -------
    uint32 [n, 4], the four output words of each counter.

    Source: Salmon et al. 2011.
    """
    # uint32 values held in uint64: the 32 x 32 bit products are exact and nothing wraps.
    c0, c1, c2, c3 = (counter[:, word].astype(np.uint64) for word in range(4))
    low, high = key
    for _ in range(_ROUNDS):
        product_0 = c0 * _MULTIPLIER_0
        product_1 = c2 * _MULTIPLIER_1
        c0 = (product_1 >> _SHIFT) ^ c1 ^ np.uint64(low)
        c1 = product_1 & _LOW
        c2 = (product_0 >> _SHIFT) ^ c3 ^ np.uint64(high)
        c3 = product_0 & _LOW
        low = (low + _KEY_STEP_0) & _MASK
        high = (high + _KEY_STEP_1) & _MASK
    return np.stack((c0, c1, c2, c3), axis=1).astype(np.uint32)


def _key(seed: int) -> tuple[int, int]:
    """Split a seed into the two key words."""
    if not 0 <= seed < 2**53:
        raise ValueError(f"seed {seed} is outside 0..2**53 - 1")
    return seed & _MASK, seed >> 32


def _draw_numbers(start: int, stop: int, clusters: int) -> NDArray[np.int64]:
    """Draw numbers start..stop-1 after a check that they fit a counter word."""
    if not 0 <= start <= stop <= 2**32:
        raise ValueError(f"draws {start}..{stop} are not an ascending range within 0..2**32")
    if clusters < 1:
        raise ValueError(f"{clusters} clusters; at least 1 is needed")
    return np.arange(start, stop, dtype=np.int64)


def _words(
    key: tuple[int, int],
    draws: NDArray[np.int64],
    third: NDArray[np.int64],
    purpose: int,
    blocks: int,
) -> NDArray[np.uint32]:
    """First 4 * blocks words of each draw, uint32 [n, 4 * blocks]."""
    counter = np.empty((draws.size, blocks, 4), dtype=np.uint32)
    counter[:, :, 0] = np.arange(blocks)
    counter[:, :, 1] = draws[:, np.newaxis]
    counter[:, :, 2] = third[:, np.newaxis]
    counter[:, :, 3] = purpose
    return philox(counter.reshape(-1, 4), key).reshape(draws.size, 4 * blocks)


def bounded(
    seed: int,
    draws: NDArray[np.int64],
    attempts: NDArray[np.int64],
    count: int,
    bound: int,
) -> NDArray[np.uint32]:
    """Uniform integers 0..bound-1 by Lemire's multiply-and-reject on 32 bits.

    Parameters
    ----------
    seed : 0 <= seed < 2**53
    draws : int64 [n], draw numbers in any order
    attempts : int64 [n], attempt of each draw, 0..2**16 - 1
    count : integers per draw
    bound : 1..2**32

    Returns
    -------
    uint32 [n, count]. Number k comes from word k % 4 of block k // 4; a rejected number
    alone is taken again from the same position of the next retry.

    Raises ValueError for a seed, attempt or bound out of range, RuntimeError after 2**16
    rejections of one number. Source: docs/statistics.md, section 8.
    """
    if not 1 <= bound <= 2**32:
        raise ValueError(f"bound {bound} is outside 1..2**32")
    if attempts.size and not 0 <= int(attempts.min()) <= int(attempts.max()) < 2**16:
        raise ValueError("attempts must be within 0..2**16 - 1")
    key = _key(seed)
    threshold = np.uint64(2**32 % bound)
    words = _words(key, draws, attempts, BOOTSTRAP, -(-count // 4))[:, :count]
    product = words.astype(np.uint64) * np.uint64(bound)
    result = (product >> _SHIFT).astype(np.uint32)
    row, column = np.nonzero((product & _LOW) < threshold)
    retry = 0
    while row.size:
        retry += 1
        if retry == _RETRIES:
            raise RuntimeError(f"{row.size} picks rejected {_RETRIES} times with bound {bound}")
        counter = np.empty((row.size, 4), dtype=np.uint32)
        counter[:, 0] = column // 4
        counter[:, 1] = draws[row]
        counter[:, 2] = attempts[row] + retry * 2**16
        counter[:, 3] = BOOTSTRAP
        word = philox(counter, key)[np.arange(row.size), column % 4]
        again = word.astype(np.uint64) * np.uint64(bound)
        result[row, column] = again >> _SHIFT
        rejected = (again & _LOW) < threshold
        row, column = row[rejected], column[rejected]
    return result


def picks(
    seed: int,
    start: int,
    stop: int,
    clusters: int,
    attempts: NDArray[np.integer] | None = None,
) -> NDArray[np.int32]:
    """Cluster picks with replacement of the bootstrap draws start..stop-1.

    Parameters
    ----------
    seed : 0 <= seed < 2**53
    start, stop : draw numbers, within 0..2**32
    clusters : C, at most 2**31 - 1
    attempts : int [stop - start] or None for attempt 0 everywhere

    Returns
    -------
    int32 [stop - start, C], cluster indices 0..C-1.

    Raises ValueError for arguments out of range. Source: docs/statistics.md, section 8.
    """
    draws = _draw_numbers(start, stop, clusters)
    if clusters >= 2**31:
        raise ValueError(f"{clusters} clusters; at most 2**31 - 1 fit")
    if attempts is None:
        attempts = np.zeros(draws.size, dtype=np.int64)
    if attempts.shape != draws.shape:
        raise ValueError(f"attempts has shape {attempts.shape}, expected {draws.shape}")
    numbers = bounded(seed, draws, attempts.astype(np.int64), clusters, clusters)
    return numbers.astype(np.int32)


def signs(seed: int, start: int, stop: int, clusters: int) -> NDArray[np.int8]:
    """Random cluster signs of the flips start..stop-1.

    The sign of cluster c is bit c % 32 (least significant first) of word c // 32; 1 is +1.

    Returns
    -------
    int8 [stop - start, C] of +1 and -1.

    Raises ValueError for arguments out of range. Source: docs/statistics.md, section 8.
    """
    draws = _draw_numbers(start, stop, clusters)
    blocks = -(-clusters // 128)
    words = _words(_key(seed), draws, np.zeros_like(draws), SIGN_FLIP, blocks)
    # Little-endian bytes, each least significant bit first, list the bits in cluster order.
    octets = words.astype("<u4").view(np.uint8)
    bits = np.unpackbits(octets, axis=1, count=clusters, bitorder="little")
    return bits.astype(np.int8) * np.int8(2) - np.int8(1)


def enumerated_signs(start: int, stop: int, clusters: int) -> NDArray[np.int8]:
    """Sign vectors start..stop-1 of the full enumeration with the first sign fixed.

    Cluster 0 is +1; cluster c >= 1 is +1 exactly when bit c - 1 of the vector's number is 1.
    Number 2**(C-1) - 1 is the identity.

    Returns
    -------
    int8 [stop - start, C] of +1 and -1.

    Raises ValueError if the range leaves 0..2**(C-1). Source: docs/statistics.md, section 4.
    """
    if not 1 <= clusters <= 63:
        raise ValueError(f"{clusters} clusters cannot be enumerated; 1..63 can")
    if not 0 <= start <= stop <= 2 ** (clusters - 1):
        raise ValueError(f"vectors {start}..{stop} are not within 0..2**{clusters - 1}")
    number = np.arange(start, stop, dtype=np.int64)
    result = np.ones((number.size, clusters), dtype=np.int8)
    bits = (number[:, np.newaxis] >> np.arange(clusters - 1, dtype=np.int64)) & 1
    result[:, 1:] = 2 * bits - 1
    return result

"""Looking at arguments before a kernel does: a kernel trusts the shapes it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Draw numbers are one 32-bit word of the counter.
DRAW_LIMIT = 2**32


def draw_range(start: int, stop: int) -> None:
    """Refuse draw numbers that do not fit the counter.

    Raises
    ------
    ValueError
        Not ``0 <= start <= stop <= 2**32``.
    """
    if not 0 <= start <= stop <= DRAW_LIMIT:
        raise ValueError(f"draws {start} to {stop} are outside 0 to {DRAW_LIMIT}")


def integers(name: str, values: ArrayLike, *shape: int | None) -> NDArray[np.int64]:
    """``values`` as C-contiguous int64 of ``shape`` (None: any length).

    Raises
    ------
    ValueError
        Another shape.
    TypeError
        Values that are not integers.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, not {array.dtype}")
    return np.ascontiguousarray(shaped(name, array, shape), np.int64)


def floats(name: str, values: ArrayLike, *shape: int | None) -> NDArray[np.float64]:
    """``values`` as C-contiguous float64 of ``shape`` (None: any length).

    Raises
    ------
    ValueError
        Another shape.
    """
    return np.ascontiguousarray(shaped(name, np.asarray(values, np.float64), shape))


def shaped(name: str, array: NDArray[Any], shape: tuple[int | None, ...]) -> NDArray[Any]:
    """``array`` if it has that shape (None: any length).

    Raises
    ------
    ValueError
        It has another.
    """
    fits = array.ndim == len(shape) and all(
        wanted is None or wanted == found for wanted, found in zip(shape, array.shape, strict=False)
    )
    if not fits:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"{name} has shape {array.shape}: needed is ({wanted})")
    return array


def at_least(name: str, value: int, least: int) -> int:
    """``value`` if it is ``least`` or more.

    Raises
    ------
    ValueError
        It is less.
    """
    if value < least:
        raise ValueError(f"{name} is {value}: needed is at least {least}")
    return value


def indices(name: str, values: ArrayLike, least: int, size: int) -> NDArray[np.int64]:
    """A vector of indices ``least … size - 1``.

    Raises
    ------
    ValueError
        An index outside.
    """
    array = integers(name, values, None)
    outside = array[(array < least) | (array >= size)]
    if outside.size:
        raise ValueError(f"{name} holds {outside[0]}: needed is {least} to {size - 1}")
    return array

"""Exact sums of products of integers, by BLAS where float64 holds them all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Products of one call. BLAS starts no threads for so few: they would wait for each other
#: wherever other work is done, which takes ten times as long.
_CALL = 2**17


def operand(values: NDArray[np.int64], largest: int) -> NDArray[Any]:
    """``values`` [n, k] in the type in which their products are exact and fastest.

    Parameters
    ----------
    largest : largest absolute value of the other side of the products

    Returns
    -------
    float64 where no sum of products, in whatever order, leaves the integers that float64
    holds; else ``values``.

    Source: docs/statistics.md, section 9.
    """
    bound = max((sum(map(abs, row)) for row in values.tolist()), default=0) * largest
    return values.astype(np.float64) if bound < 2**53 else values


def products(left: NDArray[Any], rows: NDArray[np.integer]) -> NDArray[Any]:
    """``left @ rows.T``, exact, [n, r] in the type of ``left`` [n, k] from :func:`operand`.

    Parameters
    ----------
    rows : int [r, k]
    """
    other = rows.astype(left.dtype)
    result = np.empty((rows.shape[0], left.shape[0]), left.dtype)
    step = max(1, _CALL // left.size)
    for first in range(0, rows.shape[0], step):
        np.matmul(other[first : first + step], left.T, out=result[first : first + step])
    return result.T

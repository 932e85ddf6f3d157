"""The design of a comparison as integer arrays, and its exact arithmetic.

Tasks belong to strata (equal weight each) and clusters (resampled together). Scores
and stratum weights are quantised once, so that every later sum is an integer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fbcore.checks import at_least, indices, integers

MAX_EXPONENT = 6
#: Denominator of a task's chance level: the mean over all 3-subsets of eight.
PORTFOLIOS = 56
#: Σ_c |z| including the factor of the chance row stays below this.
SUM_LIMIT = 2**61
MAX_POWER = 40
#: A rounded weight below this would be off by more than 0.2 %.
LEAST_WEIGHT = 2**8
#: Cells of a stratum are padded to a multiple of this for the product kernel.
GROUP = 8
#: Largest accepted probability that a draw leaves some stratum empty.
THIN_LIMIT = 0.01


@dataclass(frozen=True, slots=True)
class Quantised:
    """Scores on a decimal grid.

    Attributes
    ----------
    values : int64, the shape of the input, in units of 10**-exponent
    exponent : int, 0 … 6
    largest_error : float, largest |quantised - given|, in the unit of the input
    """

    values: NDArray[np.int64]
    exponent: int
    largest_error: float


@dataclass(frozen=True, slots=True)
class Weights:
    """Integer stratum weights: a task of stratum s counts ``values[s] / scale``.

    Attributes
    ----------
    values : int64 [S]
    scale : int, the common denominator L, or 2**power
    power : int or None, q where the common denominator is too large
    """

    values: NDArray[np.int64]
    scale: int
    power: int | None


@dataclass(frozen=True, slots=True)
class Cells:
    """Non-empty stratum × cluster cells, by stratum, each stratum padded to groups of 8.

    Attributes
    ----------
    cluster : int32 [K], cluster of the cell (0 in padding)
    size : int32 [K], tasks of the cell (0 in padding)
    bounds : int32 [S + 1], first cell of each stratum
    of_task : int64 [T], cell of each task
    """

    cluster: NDArray[np.int32]
    size: NDArray[np.int32]
    bounds: NDArray[np.int32]
    of_task: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Design:
    """Which stratum and which cluster each task belongs to.

    Attributes
    ----------
    stratum : int32 [T], values 0 … strata - 1, none unused
    cluster : int32 [T], values 0 … clusters - 1, none unused
    """

    stratum: NDArray[np.int32]
    cluster: NDArray[np.int32]

    def __post_init__(self) -> None:
        for name in ("stratum", "cluster"):
            values = getattr(self, name)
            if values.ndim != 1 or not values.size or values.min() < 0:
                raise ValueError(f"{name} must be a non-empty vector of indices from 0")
            if not np.bincount(values).all():
                raise ValueError(f"{name} skips the index {int(np.bincount(values).argmin())}")
        if self.stratum.size != self.cluster.size:
            raise ValueError(
                f"{self.stratum.size} strata entries for {self.cluster.size} cluster entries"
            )

    @property
    def tasks(self) -> int:
        """Number of tasks T."""
        return int(self.stratum.size)

    @property
    def strata(self) -> int:
        """Number of strata S."""
        return int(self.stratum.max()) + 1

    @property
    def clusters(self) -> int:
        """Number of clusters C."""
        return int(self.cluster.max()) + 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Tasks of each stratum: int64 [S]."""
        return np.bincount(self.stratum).astype(np.int64)

    @property
    def touching(self) -> NDArray[np.int64]:
        """Clusters that touch each stratum: int64 [S]."""
        cells = np.unique(self.stratum.astype(np.int64) * self.clusters + self.cluster)
        return np.bincount(cells // self.clusters, minlength=self.strata).astype(np.int64)

    def empty_probabilities(self) -> NDArray[np.float64]:
        """Probability that one bootstrap draw leaves each stratum empty: float64 [S]."""
        return (1.0 - self.touching / self.clusters) ** self.clusters

    def cells(self) -> Cells:
        """The stratum × cluster cells, padded for the kernels."""
        clusters, strata = self.clusters, self.strata
        codes, inverse, sizes = np.unique(
            self.stratum.astype(np.int64) * clusters + self.cluster,
            return_inverse=True,
            return_counts=True,
        )
        stratum = codes // clusters
        counts = np.bincount(stratum, minlength=strata)
        padded = -(-counts // GROUP) * GROUP
        bounds = np.concatenate([[0], np.cumsum(padded)])
        first = np.concatenate([[0], np.cumsum(counts)])
        place = bounds[stratum] + np.arange(codes.size) - first[stratum]
        cluster = np.zeros(bounds[-1], np.int32)
        size = np.zeros(bounds[-1], np.int32)
        cluster[place] = codes % clusters
        size[place] = sizes
        return Cells(cluster, size, bounds.astype(np.int32), place[inverse])


def quantise(values: NDArray[np.float64]) -> Quantised:
    """Put scores on the coarsest decimal grid that holds them all exactly.

    The exponent is the smallest e ≤ 6 with every value equal to the float64 nearest
    to k / 10**e; if there is none, values are rounded half-even to the grid of 10**-6.

    Raises
    ------
    ValueError
        A value is not finite, or too large for the grid.
    """
    if not np.isfinite(values).all():
        raise ValueError("scores must be finite")
    largest = float(np.abs(values).max(initial=0.0))
    for exponent in range(MAX_EXPONENT + 1):
        scale = 10.0**exponent
        if largest * scale >= 2**53:
            raise ValueError(f"scores up to {largest:g} are too large: rescale them")
        grid = np.rint(values * scale)
        error = np.abs(grid / scale - values)
        if not error.any():
            break
    return Quantised(grid.astype(np.int64), exponent, float(error.max(initial=0.0)))


def stratum_weights(sizes: NDArray[np.int64], largest: int) -> Weights:
    """Integer weights of the tasks of each stratum under the equal mean of the strata.

    ``W_s = L / (S n_s)`` with ``L = S lcm(n_s)`` where ``56 · largest · Σ_s n_s W_s`` stays
    within 2**61, else ``round(2**q / (S n_s))`` with the largest such q ≤ 40, none below 256.

    Parameters
    ----------
    sizes : int64 [S]
        Tasks of each stratum.
    largest : int
        Largest absolute quantised score (chance levels included).

    Raises
    ------
    ValueError
        The scores are so large that no weight of at least 256 fits.
    """
    n = [at_least("tasks of a stratum", int(size), 1) for size in integers("sizes", sizes, None)]
    strata = at_least("number of strata", len(n), 1)
    common = math.lcm(*n)

    def fits(weights: list[int]) -> bool:
        total = sum(size * weight for size, weight in zip(n, weights, strict=True))
        return PORTFOLIOS * largest * total <= SUM_LIMIT

    exact = [common // size for size in n]
    if fits(exact):
        return Weights(np.array(exact, np.int64), strata * common, None)
    for power in range(MAX_POWER, 0, -1):
        rounded = [round(Fraction(2**power, strata * size)) for size in n]
        if min(rounded) >= LEAST_WEIGHT and fits(rounded):
            return Weights(np.array(rounded, np.int64), 2**power, power)
    raise ValueError(f"quantised scores up to {largest} are too large for exact sums: rescale them")


def contributions(scores: NDArray[np.int64], design: Design, weights: Weights) -> NDArray[np.int64]:
    """Cluster contributions ``z[m, c] = Σ_{t in c} Y[m, t] W[stratum t]``: int64 [M, C].

    ``Σ_c z[m, c] / weights.scale`` is the point score of m, in quantised units.
    """
    scores = integers("scores", scores, None, design.tasks)
    weighted = scores * integers("weights", weights.values, design.strata)[design.stratum]
    return sum_by(weighted, design.cluster, design.clusters)


def score_codes(
    scores: NDArray[np.int64], design: Design, strata: Sequence[int] | None = None
) -> NDArray[np.int64]:
    """Dense codes of the exact point scores: equal scores, equal codes; larger ones, larger.

    Neither division nor rounded weights can part or merge two scores here.

    Parameters
    ----------
    scores : int64 [M, T]
    strata : indices, optional
        Only the mean over these strata counts; all of them by default.

    Returns
    -------
    int64 [M], values from 0
    """
    chosen = range(design.strata) if strata is None else strata
    sizes = design.sizes.tolist()
    common = math.lcm(*(sizes[s] for s in chosen))
    rows = sum_by(integers("scores", scores, None, design.tasks), design.stratum, len(sizes))
    totals = [sum(row[s] * (common // sizes[s]) for s in chosen) for row in rows.tolist()]
    codes = {total: code for code, total in enumerate(sorted(set(totals)))}
    return np.array([codes[total] for total in totals], np.int64)


def sum_by(
    values: NDArray[np.int64], index: NDArray[np.signedinteger], size: int
) -> NDArray[np.int64]:
    """Sums of the columns of ``values`` int64 [M, T] that share an index: int64 [M, size]."""
    index = indices("index", index, 0, size)
    values = integers("values", values, None, index.size)
    out = np.zeros((size, values.shape[0]), np.int64)
    np.add.at(out, index, values.T)
    return np.ascontiguousarray(out.T)

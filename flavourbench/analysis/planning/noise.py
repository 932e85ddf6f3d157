"""What the scores of simulated models do around their true scores: assumed, or as in a pilot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fbcore.design import Design, sum_by
from fbcore.quantiles import pair_index
from flavourbench.analysis.matrix import ScoreMatrix
from flavourbench.analysis.planning.shape import Shape, held, is_thin
from flavourbench.errors import InputError
from flavourbench.tasks.diagnostics import POINT

#: Points: the SD of a task difference of two models within strata, the median over the 351 pairs
#: of the bundled reconstruction of the published study (half of them lie in 29.6 … 34.1).
TYPICAL_SD = 31.8
#: Clusters of one kind from which on they are drawn by themselves.
_ENOUGH = 10
_ATTEMPTS = 1000


class Noise(Protocol):
    """Scores around true scores of 0, in units of ``10**-exponent``."""

    @property
    def unit(self) -> float:
        """Units in one unit of the table."""
        ...

    @property
    def shape(self) -> Shape:
        """What clusters hold."""
        ...

    @property
    def sd(self) -> float:
        """SD of the difference of two models on a task, within strata, in the table's unit."""
        ...

    def draw(
        self, source: np.random.Generator, models: int, clusters: int
    ) -> tuple[Design, NDArray[np.float64]]:
        """A design of that many clusters, and scores of models on its tasks: float64 [M, T]."""
        ...

    def pair_se(self, clusters: int) -> float:
        """About the standard error of the difference of two models, in the table's unit."""
        ...


@dataclass(frozen=True, slots=True)
class Assumed:
    """Gaussian scores: all models and tasks alike.

    Attributes
    ----------
    shape : Shape
    sd : float, points, of the difference of two models on a task
    correlation : float, of this difference on two tasks of a cluster
    """

    shape: Shape
    sd: float = TYPICAL_SD
    correlation: float = 0.0

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("sd", self.sd, 0.1, 1000.0),
            ("correlation", self.correlation, 0.0, 1.0),
        ):
            if not low <= value <= high:
                raise InputError(f"--{name} {value:g} is outside {low:g} to {high:g}")

    @property
    def unit(self) -> float:
        """Units in a point."""
        return POINT

    def draw(
        self, source: np.random.Generator, models: int, clusters: int
    ) -> tuple[Design, NDArray[np.float64]]:
        """See :class:`Noise`."""
        design = self.shape.design(clusters)
        if design is None:
            raise InputError(f"{clusters} clusters leave a stratum without tasks: use more")
        scores = source.standard_normal((models, design.tasks))
        if self.correlation:
            common = source.standard_normal((models, clusters))[:, design.cluster]
            scores *= math.sqrt(1 - self.correlation)
            scores += math.sqrt(self.correlation) * common
        return design, scores * (self.sd * POINT / math.sqrt(2))

    def pair_se(self, clusters: int) -> float:
        """See :class:`Noise`."""
        design = self.shape.design(clusters)
        if design is None:
            return math.inf
        weight = 1 / (design.strata * design.sizes[design.stratum])
        shared = np.bincount(design.cluster, weight)
        alone = (1 - self.correlation) * float(weight @ weight)
        return self.sd * math.sqrt(alone + self.correlation * float(shared @ shared))


@dataclass(frozen=True, slots=True)
class Pilot:
    """Whole clusters of a pilot, drawn with replacement, all models jointly.

    Scores are centred in each stratum, and widened by the root of n / (n - 1) that centring
    takes. Clusters are drawn from those that hold the same tasks of each stratum, in the shares
    of the pilot; if some kind has fewer than ten, all are drawn from all. Which model stands at
    which true score is drawn too.

    Attributes
    ----------
    shape : Shape, clusters in the order of the arrays below
    unit : float
    scores : float64 [M, T], centred, tasks by cluster
    stratum : int32 [T]
    first : int64 [C + 1], the first task of each cluster
    kind : int64 [C + 1], the first cluster of each cluster's kind, and C
    """

    shape: Shape
    unit: float
    scores: NDArray[np.float64]
    stratum: NDArray[np.int32]
    first: NDArray[np.int64]
    kind: NDArray[np.int64]

    @classmethod
    def of(cls, matrix: ScoreMatrix) -> Pilot:
        """The pilot in a score matrix.

        Raises
        ------
        InputError
            One model or one cluster, or differences that never vary.
        """
        design = matrix.design
        models, clusters = len(matrix.models), design.clusters
        if models < 2 or clusters < 2:
            raise InputError(
                f"a pilot of {models} models and {clusters} clusters: it needs at least two of both"
            )
        rows = held(design)
        order = np.lexsort(rows.T[::-1])
        place = np.empty(clusters, np.int64)
        place[order] = np.arange(clusters)
        tasks = np.argsort(place[design.cluster], kind="stable")
        shape = Shape(rows[order])
        starts = np.flatnonzero(np.r_[True, (np.diff(shape.tasks, axis=0) != 0).any(axis=1)])
        if np.diff(np.r_[starts, clusters]).min() < _ENOUGH:
            starts = np.zeros(1, np.int64)
        kind = np.repeat(starts, np.diff(np.r_[starts, clusters]))
        found = cls(
            shape,
            matrix.unit,
            _centred(matrix)[:, tasks],
            design.stratum[tasks],
            np.r_[0, np.cumsum(shape.tasks.sum(axis=1))],
            np.r_[kind, clusters],
        )
        if found.pair_se(clusters) == 0:
            raise InputError("models of the pilot never differ between clusters: use --sd instead")
        return found

    @property
    def models(self) -> int:
        """Number of models M."""
        return int(self.scores.shape[0])

    @property
    def sd(self) -> float:
        """See :class:`Noise`; the median over pairs."""
        products = self.scores @ self.scores.T
        squares = np.diag(products)
        left, right = pair_index(self.models)
        variance = squares[left] + squares[right] - 2 * products[left, right]
        return math.sqrt(float(np.median(variance)) / self.stratum.size) / self.unit

    def draw(
        self, source: np.random.Generator, models: int, clusters: int
    ) -> tuple[Design, NDArray[np.float64]]:
        """See :class:`Noise`."""
        places = self.shape.places(clusters)
        low = self.kind[places]
        high = np.searchsorted(self.kind, low, side="right")
        for _ in range(_ATTEMPTS):
            chosen = source.integers(low, high)
            sizes = self.first[chosen + 1] - self.first[chosen]
            cluster = np.repeat(np.arange(clusters), sizes)
            inside = np.arange(cluster.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            tasks = self.first[chosen][cluster] + inside
            stratum = self.stratum[tasks]
            if np.unique(stratum).size == self.shape.strata:
                break
        else:
            raise InputError(f"{clusters} clusters leave a stratum without tasks: use more")
        row = source.permutation(self.models)[:models]
        return Design(stratum, cluster.astype(np.int32)), self.scores[np.ix_(row, tasks)]

    def pair_se(self, clusters: int) -> float:
        """See :class:`Noise`; the median over pairs."""
        if is_thin(self.shape.design(clusters)):
            return math.inf
        sizes = self.shape.tasks.sum(axis=0)
        weighted = self.scores / (self.shape.strata * sizes[self.stratum])
        cluster = np.repeat(np.arange(self.shape.clusters), np.diff(self.first))
        sums = np.stack([np.bincount(cluster, row) for row in weighted])
        left, right = pair_index(self.models)
        variance = ((sums[left] - sums[right]) ** 2).sum(axis=1)
        return math.sqrt(float(np.median(variance)) * self.shape.clusters / clusters) / self.unit


def _centred(matrix: ScoreMatrix) -> NDArray[np.float64]:
    """Scores less the mean of their stratum, in quantised units."""
    design, values = matrix.design, matrix.scores.values
    means = sum_by(values, design.stratum, design.strata) / design.sizes
    widened = np.sqrt(design.sizes / np.maximum(design.sizes - 1, 1))
    return (values - means[:, design.stratum]) * widened[design.stratum]

"""A study that is planned, and what is asked about it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

from flavourbench.analysis.plan import Plan
from flavourbench.analysis.planning.noise import Noise
from flavourbench.analysis.planning.shape import is_thin
from flavourbench.errors import InputError

MAX_MODELS, MAX_CELLS = 1000, 20_000_000
_LEAST_POWER, _MOST_POWER = 0.05, 0.99
_LARGEST_DIFFERENCE = 1e6


@dataclass(frozen=True, slots=True)
class Question:
    """A planned study.

    Attributes
    ----------
    models, clusters : int
    noise : what scores do around true scores; it holds the shape of the clusters
    plan : Plan, its flips, seed and level
    scenario : of the true scores, one of :data:`.scenario.SCENARIOS`
    power : float, wanted
    difference : float or None, that is to be resolved, in the table's unit
    studies : int or None, to simulate

    Raises
    ------
    InputError
        A value outside its range, or a study that could not be analysed.
    """

    models: int
    clusters: int
    noise: Noise
    plan: Plan
    scenario: str = "ladder"
    power: float = 0.8
    difference: float | None = None
    studies: int | None = None

    def __post_init__(self) -> None:
        if not 2 <= self.models <= MAX_MODELS:
            raise InputError(f"--models {self.models} is outside 2 to {MAX_MODELS}")
        if not _LEAST_POWER <= self.power <= _MOST_POWER:
            limits = f"{_LEAST_POWER} to {_MOST_POWER}"
            raise InputError(f"--power {self.power:g} is outside {limits}")
        least = 1 / self.noise.unit
        if self.difference is not None and not least <= self.difference <= _LARGEST_DIFFERENCE:
            limits = f"{least:g} to {_LARGEST_DIFFERENCE:,.0f}"
            raise InputError(f"--difference {self.difference:g} is outside {limits}")
        if is_thin(self.noise.shape.design(self.clusters)):
            raise InputError(
                f"{self.clusters} clusters for {self.noise.shape.strata} strata: bootstrap draws"
                " would leave a stratum empty, and `fb infer` refuse it; plan more clusters, more"
                " tasks a cluster, or fewer strata"
            )
        self.check_size(self.clusters)

    def check_size(self, clusters: int) -> None:
        """Refuse more scores than would be simulated in reasonable memory."""
        if not self.fits(clusters):
            raise InputError(
                f"{self.models} models on {self.tasks(clusters):,} tasks:"
                f" at most {MAX_CELLS:,} scores are simulated"
            )

    def fits(self, clusters: int) -> bool:
        """Whether a study of that many clusters is small enough to simulate."""
        return self.models * self.tasks(clusters) <= MAX_CELLS

    def tasks(self, clusters: int) -> int:
        """Tasks of a study with that many clusters, to the nearest one."""
        return round(self.noise.shape.total * clusters / self.noise.shape.clusters)

    @property
    def hypotheses(self) -> int:
        """Pairs of models."""
        return self.models * (self.models - 1) // 2

    def usual_difference(self) -> float:
        """About what Holm's first step detects with the power wanted, by the normal distribution.

        It only places what is simulated.
        """
        normal = NormalDist()
        limit = normal.inv_cdf(1 - self.plan.alpha / (2 * self.hypotheses))
        return (limit + max(normal.inv_cdf(self.power), 0.0)) * self.noise.pair_se(self.clusters)

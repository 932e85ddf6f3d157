"""The scenarios: which models, on which clusters, with what in common."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flavourbench.analysis.calibration.choosers import BEST, WORST, Chooser, Law
from flavourbench.analysis.calibration.layouts import (
    Maps,
    Pool,
    apart,
    crossed,
    sparse,
    spread,
    uneven,
)
from flavourbench.errors import InputError, shown

#: Cluster numbers of the series, and those of the usual one besides.
LADDER, FINER = (10, 20, 50, 89, 200, 534), (30, 130)
#: Good answers, not always the best one.
_GOOD = Law(100, 8)


@dataclass(frozen=True)
class Scenario:
    """A superpopulation and a size of study.

    Attributes
    ----------
    name, about : str
    models : tuple of M Chooser
    layout : how the pool of clusters is made
    clusters : int, of a study
    common : float, share of random choices that all models have in common
    regular : bool, whether scores vary as usual (not mostly 0, not near the ceiling, not skewed)
        in strata of about one size
    symmetric : bool, whether differences of equally good models are symmetric about zero
    flips : int, sign flips of a study
    """

    name: str
    about: str
    models: tuple[Chooser, ...]
    layout: Callable[[Maps, np.random.Generator, int], Pool]
    clusters: int
    common: float = 0.3
    regular: bool = True
    symmetric: bool = True
    flips: int = 2_000


def _ladder(*levels: float, known: Law = _GOOD) -> tuple[Chooser, ...]:
    return tuple(Chooser(level, known) for level in levels)


#: Two at chance, two equally good ones, two better ones.
_SIX = _ladder(0, 0, 0.4, 0.4, 0.55, 0.75)
#: Choices of the best portfolio, but for a share of failures.
_CEILING = tuple(Chooser(1 - miss, BEST, WORST) for miss in (0.1, 0.05, 0.05, 0.02, 0.01, 0.01))
#: Two that are perfect or fail, two that always come near 90: equally good, but their
#: differences are mostly +10, sometimes -90.
_SKEWED = (
    Chooser(None, BEST, WORST, like=2),
    Chooser(None, BEST, WORST, like=2),
    Chooser(1, Law(90, 0)),
    Chooser(1, Law(90, 0)),
)
_TIERS = ((1, 0.75), (2, 0.68), (3, 0.62), (6, 0.56), (8, 0.5), (4, 0.42), (2, 0.3), (1, 0.1))
_PUBLISHED = _ladder(*(level for count, level in _TIERS for _ in range(count)))


def _catalogue() -> tuple[Scenario, ...]:
    found = []
    for name, about, models, layout in (
        ("mixed", "three families, a task of each in every cluster", _SIX, crossed),
        ("sparse", "constraint tasks alone, most scores 0", _SIX, sparse),
        ("ceiling", "models that nearly always score 100", _CEILING, crossed),
        ("skewed", "equal means, differences not symmetric", _SKEWED, crossed),
    ):
        found += [
            Scenario(
                f"{name}-{clusters}",
                about,
                models,
                layout,
                clusters,
                regular=name == "mixed",
                symmetric=name != "skewed",
            )
            for clusters in sorted(LADDER + (FINER if name == "mixed" else ()))
        ]
    for clusters in (20, 89, 200):
        told = "eight equally good models, otherwise as mixed"
        found.append(Scenario(f"equal-{clusters}", told, _ladder(*[0.5] * 8), crossed, clusters))
    for clusters in (54, 102, 204):
        told = "six strata, one task a cluster"
        found.append(Scenario(f"strata-{clusters}", told, _SIX, apart, clusters))
    told = "strata of 60, 30 and 10 %, one task a cluster"
    found.append(Scenario("unequal-89", told, _SIX, uneven, 89, regular=False))
    for clusters in (50, 200):
        told = "one to six tasks a cluster over six strata, larger ones harder"
        found.append(Scenario(f"shared-{clusters}", told, _SIX, spread, clusters))
    told = "as mixed-89, nine of ten choices in common"
    found.append(Scenario("alike-89", told, _SIX, crossed, 89, common=0.9))
    told = "27 models in eight tiers, six strata of 89"
    found.append(Scenario("published", told, _PUBLISHED, apart, 534, 0.6, flips=16_000))
    told = "27 equally good models, six strata of 89"
    equal = _ladder(*[0.5] * 27)
    found.append(Scenario("published-equal", told, equal, apart, 534, 0.6, flips=16_000))
    return tuple(found)


#: Those of the quick check, and its number of studies.
QUICK, QUICK_STUDIES = ("equal-20", "mixed-200"), 500
SCENARIOS = {scenario.name: scenario for scenario in _catalogue()}


def chosen(names: list[str]) -> list[Scenario]:
    """Scenarios by name, in their order; all of them without a name.

    Raises
    ------
    InputError
        A name that is none.
    """
    for name in names:
        if name not in SCENARIOS:
            near = difflib.get_close_matches(name, SCENARIOS, 1)
            hint = f"did you mean {near[0]}? There are" if near else "use one of"
            raise InputError(f"no scenario '{shown(name)}': {hint} {', '.join(SCENARIOS)}")
    return [scenario for name, scenario in SCENARIOS.items() if name in names or not names]

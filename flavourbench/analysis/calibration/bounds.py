"""What the rates of a scenario have to be, where theory or docs/calibration.md promises it."""

from __future__ import annotations

from typing import Any

from flavourbench.analysis.calibration import LEAST_CLUSTERS, LEAST_POINTWISE
from flavourbench.analysis.calibration.counting import COVERAGE, ERROR, MEASURES, Measure
from flavourbench.analysis.calibration.running import ALPHA, DRAWS, Calibrated, Rate
from flavourbench.analysis.calibration.scenarios import Scenario

#: So far from its level may a rate be that is asymptotic.
SLACK = 0.015
#: Standard errors from which on a rate is outside of its bounds. There are some hundred rates.
_SURE = 3.0
_POINTWISE = ("pointwise", "pair")
_TOGETHER = ("simultaneous", "pairs")
_ASYMPTOTIC = ("stepdown", "chance", "chance_stepdown", "close")


def bounds(scenario: Scenario) -> dict[str, tuple[float, float]]:
    """Smallest and largest rate allowed, by measure; the others may be anything.

    Holm is exact where differences of equals are symmetric, whatever the number of clusters.
    """
    found: dict[str, tuple[float, float]] = {}
    level = 1 - ALPHA
    if scenario.symmetric:
        found |= dict.fromkeys(("holm", "wrong_way"), (0.0, ALPHA))
    if not scenario.regular:
        return found
    if scenario.clusters >= LEAST_POINTWISE:
        found |= dict.fromkeys(_POINTWISE, (level - SLACK, level + SLACK))
    if scenario.clusters >= LEAST_CLUSTERS:
        found |= dict.fromkeys(_TOGETHER, (level - SLACK, level + SLACK))
        found |= dict.fromkeys(_ASYMPTOTIC, (0.0, ALPHA + SLACK))
        found["rank_sets"] = (level - SLACK, 1.0)
    return found


def outside(result: Calibrated) -> list[str]:
    """Measures that leave their bounds by more than Monte Carlo error explains."""
    found = []
    for name, (low, high) in bounds(result.scenario).items():
        rate = result.rates.get(name)
        if rate is not None:
            least, most = rate.interval(_SURE)
            if most < low or least > high:
                found.append(name)
    return found


def is_off(measure: Measure, rate: Rate) -> bool:
    """Whether intervals cover too little, or errors are too many, by more than the slack."""
    if measure.kind == COVERAGE:
        return rate.share < 1 - ALPHA - SLACK
    return measure.kind == ERROR and rate.share > ALPHA + SLACK


def calibration_object(results: list[Calibrated], studies: int, seed: int) -> dict[str, Any]:
    """Everything that was counted, for JSON; shares are of 1."""
    return {
        "studies": studies,
        "seed": seed,
        "alpha": ALPHA,
        "draws": DRAWS,
        "slack": SLACK,
        "measures": [
            {"name": m.name, "head": m.head, "kind": m.kind, "about": m.about} for m in MEASURES
        ],
        "scenarios": [_scenario(result) for result in results],
    }


def _scenario(result: Calibrated) -> dict[str, Any]:
    scenario = result.scenario
    rates = {}
    for measure in MEASURES:
        rate = result.rates.get(measure.name)
        if rate is not None:
            rates[measure.name] = {
                "share": rate.share,
                "se": rate.se,
                "interval": list(rate.interval()),
                "studies": rate.studies,
                "off": is_off(measure, rate),
            }
    return {
        "name": scenario.name,
        "about": scenario.about,
        "models": len(scenario.models),
        "clusters": scenario.clusters,
        "strata": result.strata,
        "flips": scenario.flips,
        "true_scores": result.truth.score.tolist(),
        "chance": result.truth.chance,
        "refused": result.refused,
        "bounds": {name: list(pair) for name, pair in bounds(scenario).items()},
        "outside": outside(result),
        "rates": rates,
    }

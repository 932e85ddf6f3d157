"""What a study could find, before money is spent on it."""

from __future__ import annotations

from typing import Any

from fbcore.blocks import Progress, default_threads
from fbcore.multiplicity import flips_needed, smallest_p
from fbcore.signflip import sign_vectors
from flavourbench.analysis.planning.clusters import clusters_needed
from flavourbench.analysis.planning.curve import Power
from flavourbench.analysis.planning.question import Question
from flavourbench.analysis.planning.scenario import trials_over_differences, truths
from flavourbench.analysis.planning.simulate import flips_for, simulate
from flavourbench.analysis.preflight import floor_of

#: Simulated studies where their number is not given: what some seconds allow, within limits.
_FEWEST, _MOST, _WORK = 60, 1000, 2e11
#: Work of one study beside that on cells, in the same unit: for itself, and for a pair of a flip.
_STUDY_WORK, _PAIR_WORK = 10**8, 100
#: Times that the range of differences is doubled where it does not reach the power.
_DOUBLINGS = 2


def outlook(
    question: Question, threads: int | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Floor, power curve, detectable difference and clusters needed, as one JSON object.

    It depends on the question alone: threads change nothing.
    """
    threads = threads or default_threads()
    floor = _floor(question)
    found: dict[str, Any] = {
        "floor": floor,
        "simulation": None,
        "curve": [],
        "detectable": {"holm": None, "step_down": None},
        "needed": None,
    }
    if not floor["step_down_resolves"]:
        return found
    studies = question.studies or _usual(question)
    kinds, curves = _curves(question, studies, threads, progress)
    flips = flips_for(question.plan, question.models, question.clusters)
    found["simulation"] = {
        "studies": studies,
        "scenario": question.scenario,
        "range": float(curves["holm"].at[-1]),
        "ladders": kinds,
        "flips": {"holm": flips.holm, "step_down": flips.step_down},
    }
    found["curve"] = _rows(curves)
    if not floor["holm_resolves"]:  # not by chance
        for row in found["curve"]:
            row["holm"] = {"power": 0.0, "se": 0.0}
    found["detectable"] = {name: _detectable(c, question.power) for name, c in curves.items()}
    if question.difference is not None:
        found["needed"] = clusters_needed(question, found["detectable"], studies, threads, progress)
    return found


def _floor(question: Question) -> dict[str, Any]:
    plan, clusters = question.plan, question.clusters
    drawn, exact = sign_vectors(clusters, plan.flips)
    least = smallest_p(plan.flips, clusters, exact)
    return {
        "hypotheses": question.hypotheses,
        "sign_vectors": drawn,
        "exact": exact,
        "smallest_p": least,
        "smallest_holm_p": min(1.0, question.hypotheses * least),
        "holm_resolves": question.hypotheses * least <= plan.alpha,
        "step_down_resolves": least <= plan.alpha,
        "flips_needed": flips_needed(question.hypotheses, plan.alpha, clusters),
        "says": floor_of(question.models, clusters, plan),
    }


def _usual(question: Question) -> int:
    flips = flips_for(question.plan, question.models, question.clusters)
    work = question.models * question.clusters * (flips.holm + flips.step_down)
    work += _STUDY_WORK + _PAIR_WORK * question.hypotheses * flips.step_down
    return min(max(int(_WORK / work), _FEWEST), _MOST)


def _curves(
    question: Question, studies: int, threads: int, progress: Progress | None
) -> tuple[int, dict[str, Power]]:
    """How many kinds of studies there are, and both power curves."""
    reach = max(1, round(2 * question.usual_difference() * question.noise.unit))
    for doubling in range(_DOUBLINGS + 1):
        kinds = truths(question.scenario, question.models, reach)
        trials, values = trials_over_differences(kinds, question.clusters)
        at = values / question.noise.unit
        first = doubling * studies
        holm, stepped = simulate(
            question.noise, question.plan, trials, at, studies, first, threads, progress
        )
        if _detectable(stepped, question.power) is not None:
            break
        reach *= 2
    return len(kinds), {"holm": holm, "step_down": stepped}


def _detectable(curve: Power, power: float) -> dict[str, float] | None:
    """The smallest difference with the power wanted, if the curve reaches it."""
    found = curve.needed(power) or curve.bracket(power)
    if found is None or not 0 < found[0] <= curve.at[-1]:
        return None
    return {"difference": found[0], "se": found[1]}


def _rows(curves: dict[str, Power]) -> list[dict[str, Any]]:
    """The curve by differences, with the power of both procedures and its error."""
    shares = {name: [part.tolist() for part in c.shares()] for name, c in curves.items()}
    first = next(iter(curves.values()))
    pairs = first.pairs.sum(axis=0).tolist()
    return [
        {"difference": at, "pairs": pairs[k]}
        | {name: {"power": power[k], "se": se[k]} for name, (power, se) in shares.items()}
        for k, at in enumerate(first.at.tolist())
    ]

"""One model's answers against a panel: its score, interval and test against chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fbcore.bootstrap import bootstrap, point_scores
from fbcore.design import PORTFOLIOS, Quantised, contributions, stratum_weights
from fbcore.quantiles import intervals
from fbcore.signflip import p_values, sign_flips
from flavourbench.analysis.matrix import ScoreMatrix, Stratum, build_matrix, stratum_of
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.preflight import thin_stratum
from flavourbench.errors import listed
from flavourbench.tasks.diagnostics import POINT
from flavourbench.tasks.reward import MISSING, Grade

#: Decimals of a point in basis points.
_EXPONENT = 2


@dataclass(frozen=True, slots=True)
class ModelScore:
    """What one model's answers are worth; scores in points.

    Attributes
    ----------
    comparable : bool, whether every task has a valid answer
    score : float, equal mean of the strata of ranked families; None unless comparable
    families : family → float; None where a task of the family has no valid answer
    chance : float, score of a random choice
    interval : (low, high), percentile bootstrap of the score, or None
    p_chance : float, two-sided sign-flip test against chance, or None
    grades : of all tasks
    warnings : what has to be said
    """

    comparable: bool
    score: float | None
    families: Mapping[str, float | None]
    chance: float
    interval: tuple[float, float] | None
    p_chance: float | None
    grades: tuple[Grade, ...]
    warnings: tuple[str, ...]

    @property
    def invalid_reasons(self) -> dict[str, int]:
        """Reason → number of invalid answers, the most frequent first."""
        reasons = Counter(g.reason for g in self.grades if g.reason not in (None, MISSING))
        ordered = sorted(reasons.items(), key=lambda pair: (-pair[1], str(pair[0])))
        return {str(reason): count for reason, count in ordered}

    @property
    def lacking(self) -> str:
        """What keeps a comparable score away, in one line."""
        parts = []
        for what, lacks in (
            ("missing", [g for g in self.grades if g.reason == MISSING]),
            ("invalid", [g for g in self.grades if g.reason not in (None, MISSING)]),
        ):
            if lacks:
                parts.append(f"{len(lacks)} {what} ({listed([g.task.id for g in lacks], 3)})")
        return (
            f"no comparable score: of {len(self.grades)} tasks {' and '.join(parts)};"
            " every task needs a valid answer"
        )

    @property
    def coverage(self) -> dict[str, int]:
        """Numbers of tasks: ``tasks`` in all, ``valid``, ``invalid`` and ``missing``."""
        missing = sum(grade.reason == MISSING for grade in self.grades)
        valid = sum(grade.bps is not None for grade in self.grades)
        invalid = len(self.grades) - valid - missing
        return {"tasks": len(self.grades), "valid": valid, "invalid": invalid, "missing": missing}


def score_model(
    grades: Sequence[Grade], plan: Plan, threads: int = 1, notes: Sequence[str] = ()
) -> ModelScore:
    """Score graded answers to all tasks of one panel or several.

    Strata are panel × family, clusters the anchors. Families that are not ranked have a score
    of their own and stay out of the total, unless there is no other. Without a valid answer to
    every task there is no score, interval or test.

    Parameters
    ----------
    notes : what has to be said of the answers, put before other warnings

    Raises
    ------
    InputError
        Sizes beyond the limits of the plan.
    """
    plan.check_size(1)
    counted = [grade for grade in grades if grade.task.ranked] or list(grades)
    comparable = all(grade.bps is not None for grade in grades)
    families = {
        family: _family_mean([g for g in grades if g.task.family == family])
        for family in dict.fromkeys(g.task.family for g in grades)
    }
    warnings = [*notes]
    left_out = [family for family in families if family not in {g.task.family for g in counted}]
    if left_out:
        warnings.append(f"Not part of the score: {', '.join(left_out)} (never ranked).")
    elif not counted[0].task.ranked:
        warnings.append("Only families that are never ranked.")
    score, interval, p = None, None, None
    matrix = _matrix(counted)
    if comparable:
        score = float(point_scores(matrix.scores.values, matrix.design, _EXPONENT)[0])
        interval, p, said = _inference(matrix, plan, threads)
        warnings += said
    chance = point_scores(_levels(matrix), matrix.design, _EXPONENT)[0] / PORTFOLIOS
    return ModelScore(
        comparable, score, families, float(chance), interval, p, tuple(grades), tuple(warnings)
    )


def _matrix(grades: Sequence[Grade]) -> ScoreMatrix:
    """The answers as a score matrix of one model; invalid ones count 0 and are not used."""
    tasks = [grade.task for grade in grades]
    values = np.array([[grade.bps or 0 for grade in grades]], np.int64)
    # Points over 56 as float64, which the matrix turns back into the sum of 56 scores.
    chance = np.array([float(task.chance) / POINT for task in tasks])
    strata: list[Stratum] = [stratum_of(task.panel, task.family, None) for task in tasks]
    clusters = [task.cluster for task in tasks]
    ids = [task.id for task in tasks]
    grid = Quantised(values, _EXPONENT, 0.0)
    return build_matrix(["answers"], ["answers"], ids, strata, clusters, grid, chance)


def _inference(
    matrix: ScoreMatrix, plan: Plan, threads: int
) -> tuple[tuple[float, float] | None, float | None, list[str]]:
    """Interval of the score, p against chance, and what has to be said."""
    scores, design = matrix.scores.values, matrix.design
    weights = stratum_weights(design.sizes, matrix.largest)
    levels = contributions(_levels(matrix), design, weights)[0]
    sums = contributions(scores, design, weights)
    flipped = sign_flips(sums, plan.flips, plan.seed, levels, threads)
    counts = flipped.chance
    p = None if counts is None else float(p_values(counts, flipped.draws, flipped.exact)[0])
    thin = thin_stratum(matrix)
    if thin is not None:
        return None, p, [f"No interval: {thin}."]
    draws = bootstrap(scores, design, _EXPONENT, plan.draws, plan.seed, threads).draws
    found = intervals(draws, np.array([0]), np.array([-1]), plan.alpha, threads)[0]
    return (float(found[0]), float(found[1])), p, []


def _levels(matrix: ScoreMatrix) -> NDArray[np.int64]:
    """56 times the chance levels, which every task has: int64 [1, T]."""
    if matrix.chance is None:
        raise ValueError("the matrix has no chance levels")
    return matrix.chance[None]


def _family_mean(grades: list[Grade]) -> float | None:
    """Equal mean over panels of the means of one family; None where an answer lacks."""
    panels: dict[str, list[int]] = {}
    for grade in grades:
        if grade.bps is None:
            return None
        panels.setdefault(grade.task.panel, []).append(grade.bps)
    means = [Fraction(sum(scores), len(scores)) for scores in panels.values()]
    return float(sum(means) / len(means) / int(POINT))


def score_object(found: ModelScore) -> dict[str, Any]:
    """The score as one JSON object."""
    return {
        "comparable": found.comparable,
        "score": found.score,
        "families": dict(found.families),
        "chance": found.chance,
        "interval_95": None if found.interval is None else list(found.interval),
        "p_chance": found.p_chance,
        "coverage": found.coverage,
        "invalid_reasons": found.invalid_reasons,
        "diagnostics": diagnostics(found),
        "warnings": list(found.warnings),
        "per_task": [
            {
                "task_id": grade.task.id,
                "selection": grade.selection,
                "reason": grade.reason,
                "score": None if grade.bps is None else grade.bps / POINT,
            }
            for grade in found.grades
        ],
    }


def diagnostics(found: ModelScore) -> list[dict[str, Any]]:
    """By family: tasks, valid answers, chance, and the mean of valid answers (no score)."""
    rows = []
    for family in found.families:
        chosen = [grade for grade in found.grades if grade.task.family == family]
        valid = [grade.bps for grade in chosen if grade.bps is not None]
        rows.append(
            {
                "family": family,
                "tasks": len(chosen),
                "valid": len(valid),
                "chance": float(sum(g.task.chance for g in chosen) / len(chosen)) / POINT,
                "mean_valid": sum(valid) / len(valid) / POINT if valid else None,
            }
        )
    return rows

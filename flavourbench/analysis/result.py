"""The analysis as one JSON object: what ``--json`` prints and a release stores."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flavourbench.analysis.inference import Inference

GENERATOR = "philox4x32-10"
#: What a decision follows from; step-down p-values of pairs are reported beside Holm's.
DECISIONS = {
    "resolved": "holm_p",
    "group": "resolved",
    "letters": "resolved",
    "top_model": "resolved",
    "rank_set": "directed_p",
}
NULL_HYPOTHESIS = "the cluster differences of a pair are symmetric about zero"


#: Keys of a pair after its models, in the order of :func:`pair_rows`.
_PAIR = (
    *("difference", "se", "interval", "simultaneous", "dz", "p", "exceedances", "holm_p"),
    *("stepdown_p", "directed_p", "resolved"),
)


def integer(value: int) -> int | str:
    """``value``, as a string beyond 2**53, where JSON readers lose digits."""
    return value if abs(value) <= 2**53 else str(value)


def result_object(inference: Inference) -> dict[str, Any]:
    """All results but the draws; models by rank, pairs in canonical order."""
    return {**leaderboard_object(inference), "pairs": pair_rows(inference)}


def leaderboard_object(inference: Inference) -> dict[str, Any]:
    """All results but draws and pairs."""
    matrix = inference.matrix
    return {
        "models": [_model_row(inference, int(m)) for m in inference.order],
        "level": 1 - inference.plan.alpha,
        "max_t_critical": inference.critical,
        "pair_max_t_critical": inference.pairs.critical,
        "decisions": DECISIONS,
        "resolved_pairs": int(inference.pairs.resolved.sum()),
        "stepdown_resolved_pairs": int((inference.pairs.stepdown_p <= inference.plan.alpha).sum()),
        "top_model": None if inference.top is None else matrix.models[inference.top],
        "panels": {"pearson": inference.panel_pearson, "spearman": inference.panel_spearman},
        "design": design_object(inference),
        "plan": plan_object(inference),
        "label": matrix.label,
        "null_hypothesis": NULL_HYPOTHESIS,
        "warnings": list(inference.warnings),
    }


def _model_row(inference: Inference, m: int) -> dict[str, Any]:
    chance = inference.chance
    return {
        "id": inference.matrix.models[m],
        "name": inference.matrix.names[m],
        "score": float(inference.score[m]),
        "se": float(inference.se[m]),
        "pointwise": inference.pointwise[m].tolist(),
        "simultaneous": inference.simultaneous[m].tolist(),
        "rank": int(inference.rank[m]),
        "rank_interval": inference.rank_interval[m].tolist(),
        "rank_set": inference.rank_set[m].tolist(),
        "group": int(inference.group[m]),
        "letters": letter_names(inference.letters[m]),
        "family_scores": {name: float(column[m]) for name, column in inference.families.items()},
        "panel_scores": {name: float(column[m]) for name, column in inference.panels.items()},
        "chance": None
        if chance is None
        else {
            "score": chance.score,
            "difference": float(inference.score[m]) - chance.score,
            "exceedances": int(chance.exceedances[m]),
            "p": float(chance.p[m]),
            "holm_p": float(chance.holm_p[m]),
            "stepdown_p": float(chance.stepdown_p[m]),
        },
    }


def pair_rows(inference: Inference) -> list[dict[str, Any]]:
    """One object a pair; ``dz`` is null where the differences do not vary."""
    models, pairs = inference.matrix.models, inference.pairs
    dz = [None if value != value else value for value in pairs.dz.tolist()]
    columns = zip(
        pairs.left.tolist(),
        pairs.right.tolist(),
        pairs.difference.tolist(),
        pairs.se.tolist(),
        pairs.interval.tolist(),
        pairs.simultaneous.tolist(),
        dz,
        pairs.p.tolist(),
        pairs.exceedances.tolist(),
        pairs.holm_p.tolist(),
        pairs.stepdown_p.tolist(),
        pairs.directed_p.tolist(),
        pairs.resolved.tolist(),
        strict=True,
    )
    return [
        {"left": models[left], "right": models[right], **dict(zip(_PAIR, rest, strict=True))}
        for left, right, *rest in columns
    ]


def letter_names(held: NDArray[np.bool_]) -> list[str]:
    """Names of the letters that a model has, bool [L]: a to z, then a2, b2 and so on."""
    return [
        f"{ascii_lowercase[at % 26]}{at // 26 + 1 if at >= 26 else ''}"
        for at in np.flatnonzero(held).tolist()
    ]


def design_object(inference: Inference) -> dict[str, Any]:
    """Sizes, and the tasks and clusters of each stratum."""
    matrix = inference.matrix
    design = matrix.design
    return {
        "models": len(matrix.models),
        "tasks": design.tasks,
        "clusters": design.clusters,
        "strata": [
            {
                "id": stratum.id,
                "panel": stratum.panel,
                "family": stratum.family,
                "tasks": int(tasks),
                "clusters": int(clusters),
            }
            for stratum, tasks, clusters in zip(
                matrix.strata, design.sizes, design.touching, strict=True
            )
        ],
    }


def plan_object(inference: Inference) -> dict[str, Any]:
    """What a second implementation needs to find the same bits."""
    plan, weights = inference.plan, inference.weights
    return {
        "draws": plan.draws,
        "flips": plan.flips,
        "flips_drawn": inference.flips_drawn,
        "flips_exact": inference.flips_exact,
        "redraws": inference.redraws,
        "seed": plan.seed,
        "alpha": plan.alpha,
        "generator": GENERATOR,
        "exponent": inference.matrix.scores.exponent,
        "weight_scale": integer(weights.scale),
        "weight_power": weights.power,
        "largest": integer(inference.matrix.largest),
        "multiplicity": "holm",
    }

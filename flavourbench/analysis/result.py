"""The analysis as one JSON object: what ``--json`` prints and a release stores."""

from __future__ import annotations

from typing import Any

from flavourbench.analysis.inference import Inference

GENERATOR = "philox4x32-10"
NULL_HYPOTHESIS = "the cluster differences of a pair are symmetric about zero"


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
        "resolved_pairs": int(inference.pairs.resolved.sum()),
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
        "group": int(inference.group[m]),
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
        pairs.interval.tolist(),
        dz,
        pairs.p.tolist(),
        pairs.exceedances.tolist(),
        pairs.holm_p.tolist(),
        pairs.resolved.tolist(),
        strict=True,
    )
    return [
        {
            "left": models[left],
            "right": models[right],
            "difference": difference,
            "interval": interval,
            "dz": effect,
            "p": p,
            "exceedances": count,
            "holm_p": adjusted,
            "resolved": resolved,
        }
        for left, right, difference, interval, effect, p, count, adjusted, resolved in columns
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

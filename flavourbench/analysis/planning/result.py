"""A plan as one JSON object (docs/planning.md)."""

from __future__ import annotations

from typing import Any

from fbcore.blocks import Progress
from flavourbench.analysis.planning.inputs import Basis
from flavourbench.analysis.planning.noise import Assumed
from flavourbench.analysis.planning.outlook import outlook
from flavourbench.analysis.planning.question import Question


def plan_object(
    basis: Basis,
    question: Question,
    cost: dict[str, Any] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """What the planned study can find, and what it was taken to be.

    Parameters
    ----------
    cost : see :func:`.inputs.cost`
    """
    noise, plan = question.noise, question.plan
    return {
        "design": {
            "models": question.models,
            "tasks": question.tasks(question.clusters),
            "clusters": question.clusters,
            "strata": noise.shape.strata,
        },
        "noise": {
            "kind": "assumed" if isinstance(noise, Assumed) else "pilot",
            "sd": noise.sd,
            "correlation": noise.correlation if isinstance(noise, Assumed) else None,
            "pair_se": noise.pair_se(question.clusters),
        },
        "sources": basis.sources,
        "plan": {"flips": plan.flips, "seed": plan.seed, "alpha": plan.alpha},
        "power": question.power,
        **outlook(question, threads, progress),
        "cost": cost,
        "notes": list(basis.notes),
    }

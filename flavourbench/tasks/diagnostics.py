"""What a set of tasks is like, family by family."""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import Any

from fbcore.portfolios import FULL
from flavourbench.tasks.taskset import TaskSet

#: Basis points in one point of the scale 0 … 100.
POINT = FULL / 100


def statistics(tasks: TaskSet) -> dict[str, Any]:
    """Sizes, and for each family the mean chance level and medians of what tells tasks apart.

    Returns
    -------
    ``tasks``, ``anchors`` : int; ``families`` : one object each, scores in points.
    ``questions`` counts the different candidate sets with what is asked of them, ``strata``
    the tasks of each stratum.
    """
    return {
        "tasks": len(tasks),
        "anchors": len({task.anchor for task in tasks.tasks}),
        "families": [_family(tasks, family) for family in tasks.families],
    }


def _family(tasks: TaskSet, family: str) -> dict[str, Any]:
    chosen = [task for task in tasks.tasks if task.family == family]
    strata = Counter(task.stratum for task in chosen)
    categories = Counter(task.category for task in chosen)
    return {
        "family": family,
        "tasks": len(chosen),
        "questions": len({(task.cluster, frozenset(task.choices)) for task in chosen}),
        "chance": float(sum(task.chance for task in chosen) / len(chosen)) / POINT,
        "median_top_gap": median(task.top_gap for task in chosen) / POINT,
        "median_distinct_scores": median(task.distinct_scores for task in chosen),
        "categories": len(categories),
        "largest_category": max(categories.values()),
        "strata": {str(stratum): strata[stratum] for stratum in sorted(strata)},
    }

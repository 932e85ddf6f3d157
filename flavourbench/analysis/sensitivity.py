"""What the core left out: bounds of each model's score, and rankings under other policies.

Strata are those of all ranked tasks of the panels, not of the core. All is exact until the last
step, a rounding to float64. These are for comparison: the ranking is that of the core.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fbcore.portfolios import FULL
from flavourbench.analysis.answers import Evidence
from flavourbench.tasks.diagnostics import POINT

#: In a table of basis points: no valid answer.
_NONE = -1
SAYS = "sensitivity to what the core left out; the ranking is that of the core"


def sensitivity(evidence: Evidence) -> dict[str, Any]:
    """Bounds and the two rankings of all models, scores in points.

    * ``bounds``: the score if every cell without a valid answer counted 0, and if it counted
      100 (Manski 1989, J. Hum. Resour. 24:343); ``rank_bounds``: the ranks that go with them
    * ``invalid_as_zero``: score and rank if every such cell counts 0
    * ``available_cases``: score and rank over each model's own valid answers; null without any
      in some panel and family
    """
    table, stratum = _points(evidence)
    strata = range(int(stratum.max()) + 1)
    low = [_mean(row, stratum, strata, 0) for row in table]
    high = [_mean(row, stratum, strata, FULL) for row in table]
    own = [_mean(row, stratum, strata, None) for row in table]
    ranks, own_ranks = _ranks(low), _ranks(own)
    models = [
        {
            "id": model.slot,
            "name": model.name,
            "valid": int((table[m] != _NONE).sum()),
            "bounds": [_float(low[m]), _float(high[m])],
            "rank_bounds": [_above(low, high[m], m), _above(high, low[m], m)],
            "invalid_as_zero": {"score": _float(low[m]), "rank": ranks[m]},
            "available_cases": {"score": _float(own[m]), "rank": own_ranks[m]},
        }
        for m, model in enumerate(evidence.models)
    ]
    return {
        "ranked_tasks": table.shape[1],
        "core_tasks": len(evidence.core.ids),
        "says": SAYS,
        "models": models,
    }


def _points(evidence: Evidence) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Basis points int64 [M, T] of all ranked tasks, and the stratum of each."""
    ranked = {task.id: (task.panel, task.family) for task in evidence.tasks.tasks if task.ranked}
    number = {key: at for at, key in enumerate(sorted({*ranked.values()}))}
    place = {task_id: at for at, task_id in enumerate(sorted(ranked))}
    row = {model.slot: m for m, model in enumerate(evidence.models)}
    table = np.full((len(row), len(place)), _NONE, np.int64)
    for seen in evidence.observations:
        if seen.bps is not None and seen.task_id in place:
            table[row[seen.slot], place[seen.task_id]] = seen.bps
    return table, np.array([number[ranked[task_id]] for task_id in sorted(ranked)], np.int64)


def _mean(
    row: NDArray[np.int64], stratum: NDArray[np.int64], strata: range, else_: int | None
) -> Fraction | None:
    """Equal mean of the strata means in basis points; ``else_`` stands for what is not valid."""
    means = []
    for s in strata:
        inside = row[stratum == s]
        valid = inside[inside != _NONE]
        if else_ is None and not valid.size:
            return None
        count = valid.size if else_ is None else inside.size
        total = int(valid.sum()) + (else_ or 0) * (count - valid.size)
        means.append(Fraction(total, count))
    return sum(means, Fraction(0)) / len(means)


def _float(score: Fraction | None) -> float | None:
    return None if score is None else float(score / int(POINT))


def _ranks(scores: Sequence[Fraction | None]) -> list[int | None]:
    """1 + the models with more; equal ones share the better rank."""
    return [None if own is None else _above(scores, own) for own in scores]


def _above(scores: Sequence[Fraction | None], own: Fraction | None, but: int | None = None) -> int:
    if own is None:
        raise ValueError("a bound is never missing")
    return 1 + sum(s is not None and s > own for m, s in enumerate(scores) if m != but)

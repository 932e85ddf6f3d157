"""The score matrix: complete, in canonical order, quantised once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fbcore.design import PORTFOLIOS, Design, Quantised, quantise
from flavourbench.errors import InputError, listed, shown
from flavourbench.identity import table_sha256


@dataclass(frozen=True, slots=True)
class Stratum:
    """A stratum and the panel and family it stands for (None where the table has none)."""

    id: str
    panel: str | None
    family: str | None


@dataclass(frozen=True)
class ScoreMatrix:
    """Scores of M models on T tasks. Every axis is in ascending UTF-8 order of its ids.

    Attributes
    ----------
    models, names : tuple of str [M], ids and display names
    tasks, clusters : tuple of str [T] and [C]
    strata : tuple of Stratum [S]
    design : Design, stratum and cluster of each task
    scores : Quantised, int64 [M, T] in units of 10**-exponent
    chance : int64 [T] or None, 56 times the chance level, in units of 10**-exponent
    chance_error : float, largest rounding of 56 times the chance level, in the table's unit
    label : str or None, what has to be said wherever these scores are shown
    """

    models: tuple[str, ...]
    names: tuple[str, ...]
    tasks: tuple[str, ...]
    clusters: tuple[str, ...]
    strata: tuple[Stratum, ...]
    design: Design
    scores: Quantised
    chance: NDArray[np.int64] | None
    chance_error: float
    label: str | None = None

    @property
    def unit(self) -> float:
        """Quantised units in one unit of the table: 10**exponent."""
        return 10.0**self.scores.exponent

    @property
    def largest(self) -> int:
        """Largest absolute quantised score or chance level (the plan's bound)."""
        top = int(np.abs(self.scores.values).max())
        if self.chance is None:
            return top
        return max(top, -(-int(np.abs(self.chance).max()) // PORTFOLIOS))

    @cached_property
    def varies(self) -> NDArray[np.bool_]:
        """Whether each model's scores differ inside some stratum: bool [M]."""
        out = np.zeros(len(self.models), np.bool_)
        for stratum in range(len(self.strata)):
            part = self.scores.values[:, self.design.stratum == stratum]
            out |= part.min(axis=1) != part.max(axis=1)
        return out

    @cached_property
    def content_sha256(self) -> str:
        """Digest of scores, design and chance levels, whatever file they came from."""
        columns: dict[str, NDArray[np.int64] | list[str]] = {
            "task": list(self.tasks),
            "stratum": [self.strata[s].id for s in self.design.stratum],
            "anchor": [self.clusters[c] for c in self.design.cluster],
        }
        if self.chance is not None:
            columns["chance"] = self.chance
        return table_sha256(
            columns
            | {
                "exponent": np.array([self.scores.exponent], np.int64),
                "model": list(self.models),
                "scores": self.scores.values,
            }
        )


def stratum_of(panel: str | None, family: str | None, stratum: str | None) -> Stratum:
    """The stratum a task belongs to; without an id of its own it is ``panel/family``."""
    parts = [part for part in (panel, family) if part is not None]
    return Stratum("/".join(parts) if stratum is None else stratum, panel, family)


def build_matrix(
    models: Sequence[str],
    names: Sequence[str],
    tasks: Sequence[str],
    strata: Sequence[Stratum],
    clusters: Sequence[str],
    values: NDArray[np.float64] | Quantised,
    chance: NDArray[np.float64] | None = None,
    label: str | None = None,
) -> ScoreMatrix:
    """Sort and quantise a complete score table.

    Parameters
    ----------
    strata, clusters : sequence [T], of each task
    values : float64 [M, T], finite, in the table's own unit; or already on a grid
    chance : float64 [T], optional, in the same unit

    Raises
    ------
    InputError
        No model, lengths that differ, an id given twice, one stratum id for
        two panel × family combinations, or values too large for exact arithmetic.
    """
    _check_lengths(models, names, tasks, strata, clusters, values, chance)
    distinct = sorted(set(strata), key=lambda s: (s.id, s.panel or "", s.family or ""))
    for first, second in pairwise(distinct):
        if first.id == second.id:
            raise InputError(
                f"stratum {shown(first.id)} stands for two panel and family pairs,"
                f" {_pair(first)} and {_pair(second)}: rename one, or give each an id of its own"
            )
    model_order = sorted(range(len(models)), key=models.__getitem__)
    task_order = sorted(range(len(tasks)), key=tasks.__getitem__)
    anchors = sorted(set(clusters))
    stratum_index = {stratum: i for i, stratum in enumerate(distinct)}
    anchor_index = {anchor: i for i, anchor in enumerate(anchors)}
    cells = np.ix_(model_order, task_order)
    try:
        if isinstance(values, Quantised):
            quantised = replace(values, values=np.ascontiguousarray(values.values[cells]))
        else:
            quantised = quantise(np.ascontiguousarray(values[cells]))
        levels, error = _chance_levels(chance, task_order, quantised.exponent)
    except ValueError as problem:
        raise InputError(str(problem)) from problem
    return ScoreMatrix(
        models=tuple(models[i] for i in model_order),
        names=tuple(names[i] for i in model_order),
        tasks=tuple(tasks[i] for i in task_order),
        clusters=tuple(anchors),
        strata=tuple(distinct),
        design=Design(
            np.array([stratum_index[strata[i]] for i in task_order], np.int32),
            np.array([anchor_index[clusters[i]] for i in task_order], np.int32),
        ),
        scores=quantised,
        chance=levels,
        chance_error=error,
        label=label,
    )


def _pair(stratum: Stratum) -> str:
    """Panel and family, for an error line."""
    return f"({shown(stratum.panel)}, {shown(stratum.family)})"


def _check_lengths(
    models: Sequence[str],
    names: Sequence[str],
    tasks: Sequence[str],
    strata: Sequence[Stratum],
    clusters: Sequence[str],
    values: NDArray[np.float64] | Quantised,
    chance: NDArray[np.float64] | None,
) -> None:
    if not models:
        raise InputError("no model in the table")
    for what, ids in (("model", models), ("task", tasks)):
        twice = [name for name, count in Counter(ids).items() if count > 1]
        if twice:
            raise InputError(f"duplicate {what} {listed(twice)}")
    grid = values.values if isinstance(values, Quantised) else values
    for what, found, wanted in (
        ("names", (len(names),), (len(models),)),
        ("strata", (len(strata),), (len(tasks),)),
        ("clusters", (len(clusters),), (len(tasks),)),
        ("values", grid.shape, (len(models), len(tasks))),
        ("chance levels", (len(tasks),) if chance is None else chance.shape, (len(tasks),)),
    ):
        if found != wanted:
            raise InputError(
                f"{what} of shape {found} for {len(models)} models × {len(tasks)} tasks"
            )
    if chance is not None and not np.isfinite(chance).all():
        raise InputError("chance levels must be finite")


def _chance_levels(
    chance: NDArray[np.float64] | None, order: list[int], exponent: int
) -> tuple[NDArray[np.int64] | None, float]:
    if chance is None:
        return None, 0.0
    largest = float(np.abs(chance).max())
    if largest * PORTFOLIOS * 10.0**exponent >= 2**53:
        raise ValueError(f"chance levels up to {largest:g} are too large: rescale them")
    levels = chance[order] * PORTFOLIOS
    grid = np.rint(levels * 10.0**exponent)
    error = np.abs(grid / 10.0**exponent - levels)
    exact = error <= 4 * np.spacing(np.abs(levels))  # 56 times a decimal rounds in float64
    return grid.astype(np.int64), float(np.where(exact, 0.0, error).max())

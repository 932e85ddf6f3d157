"""What the numbers of a release are derived from: its scores, design and plan."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fbcore.design import MAX_EXPONENT, Design, Quantised
from flavourbench.analysis.matrix import ScoreMatrix, Stratum
from flavourbench.analysis.plain.analysis import Problem
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.release.layout import DRAWS, SCORES, TASKS
from flavourbench.analysis.verify.files import Release
from flavourbench.analysis.verify.stated import entries, stated, text_or_null
from flavourbench.analysis.verify.tables import CHANCE_LEVELS
from flavourbench.artifact import MANIFEST
from flavourbench.errors import CheckError, InputError, shown
from flavourbench.identity import Column


def plan_of(release: Release) -> Plan:
    """The stated plan, with as many draws as the release holds.

    Raises
    ------
    CheckError
        A value outside its range, or another number of draws.
    """
    manifest = release.manifest
    sizes = {key: stated(manifest, int, "plan", key) for key in ("draws", "flips", "seed")}
    try:
        plan = Plan(**sizes, alpha=stated(manifest, float, "plan", "alpha"))
    except InputError as error:
        raise CheckError(f"{MANIFEST}: plan: {error}") from error
    for model, column in release.tables[DRAWS].items():
        if len(column) != plan.draws:
            told = f"{DRAWS}: {shown(model)} has {len(column)} rows"
            raise CheckError(f"{told}, {MANIFEST} states plan.draws {plan.draws}")
    return plan


def matrix_of(release: Release) -> ScoreMatrix:
    """The score matrix that the release states, in canonical order and on its grid.

    Raises
    ------
    CheckError
        Ids that do not ascend or agree, a score off the grid, or a design that is none.
    """
    manifest, tasks = release.manifest, release.tables[TASKS]
    models = _ids(manifest, "models")
    names = [stated(manifest, str, "models", at, "name") for at in entries(manifest, "models")]
    strata = [
        Stratum(
            name,
            text_or_null(manifest, "design", "strata", at, "panel"),
            text_or_null(manifest, "design", "strata", at, "family"),
        )
        for at, name in enumerate(_ids(manifest, "design", "strata"))
    ]
    ids = _texts(tasks["task"])
    _check_ascending(f"{TASKS}: task", ids)
    clusters = sorted(set(_texts(tasks["anchor"])))
    exponent = stated(manifest, int, "plan", "exponent")
    if not 0 <= exponent <= MAX_EXPONENT:
        raise CheckError(f"{MANIFEST}: plan.exponent is {shown(exponent)}, not 0 to {MAX_EXPONENT}")
    rounding = {key: stated(manifest, float, "rounding", key) for key in ("scores", "chance")}
    chance = tasks.get(CHANCE_LEVELS)
    try:
        design = Design(
            _indices("stratum", tasks["stratum"], ids, [stratum.id for stratum in strata]),
            _indices("anchor", tasks["anchor"], ids, clusters),
        )
    except ValueError as error:
        raise CheckError(f"{TASKS} and the strata of {MANIFEST}: {error}") from error
    return ScoreMatrix(
        models=tuple(models),
        names=tuple(names),
        tasks=tuple(ids),
        clusters=tuple(clusters),
        strata=tuple(strata),
        design=design,
        scores=Quantised(_grid(release, models, ids, exponent), exponent, rounding["scores"]),
        chance=None if chance is None else _levels(chance, ids),
        chance_error=rounding["chance"],
        label=text_or_null(manifest, "label"),
    )


def problem_of(matrix: ScoreMatrix, plan: Plan) -> Problem:
    """Scores, design and plan as the plain analysis takes them."""
    families: dict[str, list[int]] = {}
    panels: dict[str, list[int]] = {}
    for at, stratum in enumerate(matrix.strata):
        # A stratum without panel and family is a family of its own.
        alone = stratum.family is None and stratum.panel is None
        for parts, name in (
            (families, stratum.id if alone else stratum.family),
            (panels, stratum.panel),
        ):
            if name is not None:
                parts.setdefault(name, []).append(at)
    return Problem(
        scores=matrix.scores.values,
        stratum=matrix.design.stratum,
        cluster=matrix.design.cluster,
        chance=matrix.chance,
        exponent=matrix.scores.exponent,
        families=dict(sorted(families.items())),
        panels=dict(sorted(panels.items())),
        draws=plan.draws,
        flips=plan.flips,
        seed=plan.seed,
        alpha=plan.alpha,
    )


def _ids(manifest: dict[str, Any], *keys: str) -> list[str]:
    """The ids of a list of objects, ascending."""
    ids = [stated(manifest, str, *keys, at, "id") for at in entries(manifest, *keys)]
    _check_ascending(f"{MANIFEST}: {'.'.join(keys)}", ids)
    return ids


def _check_ascending(what: str, ids: Sequence[str]) -> None:
    if not ids:
        raise CheckError(f"{what} has no entry")
    for first, second in pairwise(ids):
        if first >= second:
            raise CheckError(f"{what} {shown(second)} stands after {shown(first)}: ids ascend")


def _texts(column: Column) -> list[str]:
    return list(column)


def _indices(
    column: str, values: Column, tasks: Sequence[str], known: Sequence[str]
) -> NDArray[np.int32]:
    places = {name: at for at, name in enumerate(known)}
    for task, name in zip(tasks, values, strict=True):
        if name not in places:
            told = f"{TASKS}: row {shown(task)}: {column} is {shown(name)}"
            raise CheckError(f"{told}, which is not in design.strata of {MANIFEST}")
    return np.array([places[name] for name in values], np.int32)


def _grid(
    release: Release, models: Sequence[str], tasks: Sequence[str], exponent: int
) -> NDArray[np.int64]:
    """Scores int64 [M, T] in units of 10**-exponent."""
    table = release.tables[SCORES]
    cells = [(model, task) for model in models for task in tasks]
    if len(table["score"]) != len(cells):
        told = f"{SCORES} has {len(table['score'])} rows"
        raise CheckError(f"{told}, not one for each of {len(models)} models × {len(tasks)} tasks")
    for at, (column, source) in enumerate((("model", MANIFEST), ("task", TASKS))):
        for row, (found, cell) in enumerate(zip(table[column], cells, strict=True), 1):
            if found != cell[at]:
                told = f"{SCORES}: row {row}: {column} is {shown(found)}"
                raise CheckError(f"{told}, not {shown(cell[at])} as in {source}")
    scores, unit = np.asarray(table["score"], np.float64), 10.0**exponent
    grid = np.rint(scores * unit)
    # -0.0 is none of the values that are written.
    written = np.where(np.abs(grid) < 2.0**53, grid, 0.0).astype(np.int64) / unit
    off = written.view(np.int64) != scores.view(np.int64)
    if off.any():
        row = int(off.argmax())
        place = ", ".join(map(shown, cells[row]))
        told = f"{SCORES}: row {place}: score is {float(scores[row])!r}"
        raise CheckError(f"{told}, not on the grid of plan.exponent {exponent}")
    return grid.astype(np.int64).reshape(len(models), len(tasks))


def _levels(values: Column, tasks: Sequence[str]) -> NDArray[np.int64]:
    levels = np.asarray(values, np.int64)
    beyond = (levels >= 2**53) | (levels <= -(2**53))
    if beyond.any():
        row = int(beyond.argmax())
        told = f"{TASKS}: row {shown(tasks[row])}: {CHANCE_LEVELS} is {levels[row]}"
        raise CheckError(f"{told}, which is too large")
    return levels

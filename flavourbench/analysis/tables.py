"""Reading score tables: Parquet or CSV, long or wide, into a complete score matrix.

Long: one row a score (``model, task, score``). Wide: one row a task, one column a model.
Both carry ``stratum`` or ``panel``/``family``, ``anchor`` and optionally ``chance``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flavourbench.analysis.columns import load, numbers, texts
from flavourbench.analysis.matrix import ScoreMatrix, Stratum, build_matrix, stratum_of
from flavourbench.errors import InputError, listed, shown

ROLES = ("model", "task", "score", "stratum", "panel", "family", "anchor", "chance", "name")
_LONG_ROLES = ("model", "score", "name")
_DESIGN_ROLES = ("stratum", "panel", "family")
_GUARDED_ROLES = (*_DESIGN_ROLES, "anchor", "chance")
#: A column as similar to a missing role as this (difflib's ratio) is taken for a slip.
_SLIP = 0.8
Layout = Literal["auto", "long", "wide"]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to understand a table.

    Attributes
    ----------
    columns : mapping role → column name, where it differs from the role
    layout : "auto" (long when it has a model or a score column), "long" or "wide"
    cluster : "anchor", or "task" where every task is its own cluster
    single_stratum : bool, accept a table without stratum, panel and family columns
    ignore : columns to leave out, whatever they are called
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    layout: Layout = "auto"
    cluster: Literal["anchor", "task"] = "anchor"
    single_stratum: bool = False
    ignore: tuple[str, ...] = ()


def read_scores(path: Path, options: ReadOptions | None = None) -> ScoreMatrix:
    """Read a score table.

    Raises
    ------
    InputError
        Anything that keeps the table from being a complete score matrix, in one line.
    """
    options = options or ReadOptions()
    unknown = [role for role in options.columns if role not in ROLES]
    if unknown:
        raise InputError(f"unknown column role {shown(unknown[0])}: use one of {', '.join(ROLES)}")
    table = load(path)
    try:
        return matrix_from(table, options)
    except InputError as error:
        raise InputError(f"{shown(path, 200)}: {error}") from error


def matrix_from(table: Any, options: ReadOptions) -> ScoreMatrix:
    """The score matrix of an Arrow table (see :func:`read_scores`)."""
    names = list(table.column_names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"column {listed(twice)} occurs twice: rename or remove one")
    absent = [name for name in options.ignore if name not in names]
    if absent:
        raise InputError(f"no column {shown(absent[0])} to ignore; the table has {listed(names)}")
    names = [name for name in names if name not in options.ignore]
    table = table.select(names)
    roles = _roles(names, options)
    _check_slips(names, roles, options)
    layout = _layout(roles, options)
    _check_task_columns(names, roles, layout, options)
    _check_design_columns(roles, options)
    if table.num_rows == 0:
        raise InputError("the table has no rows")
    reader = _long if layout == "long" else _wide
    return reader(table, options, roles)


def _roles(names: list[str], options: ReadOptions) -> dict[str, str]:
    """Role → column. A column that is named for a role plays no other one."""
    owners: dict[str, str] = {}
    for role, name in options.columns.items():
        if name not in names:
            raise InputError(f"no column {shown(name)} for {role}; the table has {listed(names)}")
        if name in owners:
            raise InputError(
                f"column {shown(name)} is named for {owners[name]} and for {role}:"
                " give each role a column of its own"
            )
        owners[name] = role
    free = {role: role for role in ROLES if role in names and role not in owners}
    return free | dict(options.columns)


def _check_slips(names: list[str], roles: Mapping[str, str], options: ReadOptions) -> None:
    """A column that plays no role and is spelt almost like a missing one changes an analysis."""
    unused = {name.strip().lower(): name for name in names if name not in roles.values()}
    for role in _GUARDED_ROLES:
        if role in roles or (role == "anchor" and options.cluster == "task"):
            continue
        near = difflib.get_close_matches(role, unused, n=1, cutoff=_SLIP)
        if near:
            name = shown(unused[near[0]])
            raise InputError(
                f"column {name} plays no role but looks like {role}: pass --column {role}={name}"
                f" if it is, --ignore {name} if not"
            )


def _layout(roles: Mapping[str, str], options: ReadOptions) -> Layout:
    if options.layout != "auto":
        return options.layout
    return "long" if {"model", "score"} & roles.keys() or "name" in options.columns else "wide"


def _check_task_columns(
    names: list[str], roles: Mapping[str, str], layout: Layout, options: ReadOptions
) -> None:
    required = ("model", "task", "score") if layout == "long" else ("task",)
    missing = [role for role in required if role not in roles]
    taken = [role for role in missing if role in options.columns.values()]
    if taken:
        raise InputError(
            f"column {taken[0]} is named for another role: name one for {taken[0]}"
            f" (--column {taken[0]}=NAME); the table has {listed(names)}"
        )
    if missing:
        wanted = "model, task, score" if layout == "long" else "task and one column a model"
        other = " (or pass --layout wide)" if layout == "long" and options.layout == "auto" else ""
        only = " (fields are separated by commas)" if len(names) == 1 else ""
        raise InputError(
            f"no column {listed(missing)}: a {layout} table has {wanted}{other};"
            f" other names: --column {missing[0]}=NAME; it has {listed(names)}{only}"
        )


def _check_design_columns(roles: Mapping[str, str], options: ReadOptions) -> None:
    found = [roles[role] for role in _DESIGN_ROLES if role in roles]
    if not found and not options.single_stratum:
        raise InputError(
            "no column stratum, panel or family: name one (--column stratum=NAME)"
            " or pass --single-stratum"
        )
    if found and options.single_stratum:
        raise InputError(
            f"--single-stratum is for a table without strata, this one has {listed(found)}:"
            " leave out the option or the columns"
        )
    if options.cluster == "task" and "anchor" in options.columns:
        raise InputError(
            "--cluster task and --column anchor=NAME exclude each other: leave one out"
        )
    if options.cluster == "anchor" and "anchor" not in roles:
        raise InputError(
            "no column anchor: name the cluster column (--column anchor=NAME)"
            " or pass --cluster task to let every task stand for itself"
        )


def _long(table: Any, options: ReadOptions, roles: Mapping[str, str]) -> ScoreMatrix:
    model, models = texts(table, roles["model"])
    task, tasks = texts(table, roles["task"])
    score, null = numbers(table, roles["score"])
    cell = model * len(tasks) + task
    counts = np.bincount(cell, minlength=len(models) * len(tasks))
    if counts.max() > 1:
        raise _cells_error("duplicate", np.flatnonzero(counts > 1), models, tasks)
    first = np.full(len(tasks), table.num_rows, np.int64)
    np.minimum.at(first, task, np.arange(table.num_rows))
    values = np.zeros(len(models) * len(tasks))
    values[cell] = score
    absent = counts == 0
    absent[cell[null]] = True
    grid = values.reshape(len(models), len(tasks))
    attributes: dict[str, list[str]] = {}
    for role in (*_DESIGN_ROLES, "anchor"):
        if role in roles:
            codes, names = texts(table, roles[role])
            _check_constant(role, codes, names, codes[first][task], ("task", task, tasks))
            attributes[role] = [names[code] for code in codes[first]]
    chance = None
    if "chance" in roles:
        level = _chance(table, roles, tasks, task)
        _check_constant("chance", level, None, level[first][task], ("task", task, tasks))
        chance = level[first]
    labels = models
    if "name" in roles:
        codes, names = texts(table, roles["name"])
        at = np.zeros(len(models), np.int64)
        at[model] = codes
        _check_constant("name", codes, names, at[model], ("model", model, models))
        labels = [names[code] for code in at]
    return _finish(models, labels, tasks, attributes, grid, absent, chance, options)


def _check_constant(
    role: str,
    found: NDArray[Any],
    names: list[str] | None,
    expected: NDArray[Any],
    owner: tuple[str, NDArray[np.int64], list[str]],
) -> None:
    """An attribute must be the same in all rows of its owner (task or model)."""
    rows = np.flatnonzero(found != expected)
    if rows.size:
        row = rows[0]
        a, b = expected[row], found[row]
        if names is not None:
            a, b = names[a], names[b]
        kind, codes, owners = owner
        raise InputError(
            f"{role} of {kind} {shown(owners[codes[row]])} is {shown(a)} in one row"
            f" and {shown(b)} in row {row + 1}: give it one {role}"
        )


def _chance(
    table: Any, roles: Mapping[str, str], tasks: list[str], task: NDArray[np.int64]
) -> NDArray[np.float64]:
    values, null = numbers(table, roles["chance"])
    bad = np.flatnonzero(null | ~np.isfinite(values))
    if bad.size:
        raise InputError(
            f"chance level of task {shown(tasks[task[bad[0]]])} is missing or not finite:"
            " give one to every task, or to none"
        )
    return values


def _wide(table: Any, options: ReadOptions, roles: Mapping[str, str]) -> ScoreMatrix:
    for role in _LONG_ROLES:
        if role in options.columns:
            raise InputError(
                f"--column {role}={shown(options.columns[role])}: a wide table has no column for it"
            )
    task, tasks = texts(table, roles["task"])
    counts = np.bincount(task)
    if counts.max() > 1:
        repeated = [tasks[t] for t in np.flatnonzero(counts > 1)]
        raise InputError(
            f"{len(repeated)} duplicate tasks, first {listed(repeated)}: a wide table has one"
            " row a task"
        )
    known = {column for role, column in roles.items() if role not in _LONG_ROLES}
    models = sorted(name for name in table.column_names if name not in known)
    displaced = [name for name in models if name in _GUARDED_ROLES]
    if displaced:
        raise InputError(
            f"column {displaced[0]} is named like a role but plays none:"
            f" rename it if it is a model, else pass --ignore {displaced[0]}"
        )
    if not models:
        raise InputError("no model column: every column that names no role is a model")
    index = [name for name in models if not name.strip() or name.startswith("__index_level_")]
    if index:
        raise InputError(
            f"column '{shown(index[0])}' is no model but a row index: name it or remove it"
        )
    rows = np.argsort(task)
    values = np.empty((len(models), len(tasks)))
    absent = np.empty((len(models), len(tasks)), np.bool_)
    for m, name in enumerate(models):
        try:
            column, null = numbers(table, name)
        except InputError as error:
            raise InputError(f"{error} (a column that names no role is a model)") from error
        values[m], absent[m] = column[rows], null[rows]
    attributes: dict[str, list[str]] = {}
    for role in (*_DESIGN_ROLES, "anchor"):
        if role in roles:
            codes, names = texts(table, roles[role])
            attributes[role] = [names[code] for code in codes[rows]]
    chance = _chance(table, roles, tasks, task)[rows] if "chance" in roles else None
    return _finish(models, models, tasks, attributes, values, absent.ravel(), chance, options)


def _finish(
    models: list[str],
    names: list[str],
    tasks: list[str],
    attributes: dict[str, list[str]],
    values: NDArray[np.float64],
    absent: NDArray[np.bool_],
    chance: NDArray[np.float64] | None,
    options: ReadOptions,
) -> ScoreMatrix:
    if absent.any():
        raise _cells_error("missing", np.flatnonzero(absent), models, tasks)
    if not np.isfinite(values).all():
        raise _cells_error("not finite", np.flatnonzero(~np.isfinite(values)), models, tasks)
    nothing: Iterable[None] = [None] * len(tasks)
    strata: list[Stratum]
    if attributes.keys() & set(_DESIGN_ROLES):
        columns = [attributes.get(role, nothing) for role in ("panel", "family", "stratum")]
        strata = [stratum_of(*row) for row in zip(*columns, strict=True)]
    else:
        strata = [Stratum("all", None, None)] * len(tasks)
    clusters = tasks if options.cluster == "task" else attributes["anchor"]
    return build_matrix(models, names, tasks, strata, clusters, values, chance)


_CELL_REMEDIES = {
    "missing": "complete them, or leave those models or tasks out",
    "duplicate": "keep one row each",
    "not finite": "give each a number",
}


def _cells_error(
    what: str, cells: NDArray[np.int64], models: list[str], tasks: list[str]
) -> InputError:
    """How many cells, the first ten, and the counts per model."""
    model = cells // len(tasks)
    first = [
        f"{shown(models[c // len(tasks)])} × {shown(tasks[c % len(tasks)])}" for c in cells[:10]
    ]
    counts = np.bincount(model, minlength=len(models))
    per_model = [f"{shown(models[m], 40)} {counts[m]}" for m in np.flatnonzero(counts)]
    noun = "cell" if cells.size == 1 else "cells"
    of = f" of {len(models)} models × {len(tasks)} tasks" if what == "missing" else ""
    return InputError(
        f"{cells.size} {what} {noun}{of}: {_CELL_REMEDIES[what]}"
        f" (per model: {listed(per_model)}; first: {'; '.join(first)})"
    )

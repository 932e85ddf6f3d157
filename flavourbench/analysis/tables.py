"""Reading score tables: Parquet or CSV, long or wide, into a complete score matrix.

Long: one row a score (``model, task, score``). Wide: one row a task, one column a model.
Both carry ``stratum`` or ``panel``/``family``, ``anchor`` and optionally ``chance``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from flavourbench.analysis.matrix import ScoreMatrix, Stratum, build_matrix, stratum_of
from flavourbench.errors import InputError, listed, os_reason, shown

ROLES = ("model", "task", "score", "stratum", "panel", "family", "anchor", "chance", "name")
_TEXT_ROLES = tuple(role for role in ROLES if role not in ("score", "chance"))
Layout = Literal["auto", "long", "wide"]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to understand a table.

    Attributes
    ----------
    columns : mapping role → column name, where it differs from the role
    layout : "auto" (long when it has a model and a score column), "long" or "wide"
    cluster : "anchor", or "task" where every task is its own cluster
    single_stratum : bool, accept a table without stratum, panel and family columns
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    layout: Layout = "auto"
    cluster: Literal["anchor", "task"] = "anchor"
    single_stratum: bool = False

    def column(self, role: str) -> str:
        """The column that plays ``role``."""
        return self.columns.get(role, role)


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
    table = _load(path, options)
    try:
        return matrix_from(table, options)
    except InputError as error:
        raise InputError(f"{shown(path, 200)}: {error}") from error


def _load(path: Path, options: ReadOptions) -> Any:
    """The file as an Arrow table; ids as text whatever they look like."""
    import pyarrow as pa

    if path.is_dir():
        raise InputError(f"{shown(path, 200)} is a folder, neither a release nor a score table")
    try:
        with path.open("rb") as handle:
            head = handle.read(4)
        if not head:
            raise InputError(f"{shown(path, 200)} is empty")
        if head == b"PAR1":
            import pyarrow.parquet as pq

            return pq.ParquetFile(path).read()
        from pyarrow import csv

        text = {options.column(role): pa.string() for role in _TEXT_ROLES}
        return csv.read_csv(
            path,
            convert_options=csv.ConvertOptions(
                column_types=text, strings_can_be_null=False, null_values=["", "null", "NA"]
            ),
            parse_options=csv.ParseOptions(newlines_in_values=True),
        )
    except OSError as error:
        if isinstance(error, pa.ArrowException) or error.errno is None:
            raise _not_a_table(path, error) from error
        raise InputError(f"cannot read {os_reason(error, path)}") from error
    except (pa.ArrowException, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise _not_a_table(path, error) from error


def _not_a_table(path: Path, error: Exception) -> InputError:
    reason = shown(str(error).split("\n")[0], 160)
    return InputError(f"{shown(path, 200)} is neither Parquet nor a CSV table: {reason}")


def matrix_from(table: Any, options: ReadOptions) -> ScoreMatrix:
    """The score matrix of an Arrow table (see :func:`read_scores`)."""
    names = list(table.column_names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"column {listed(twice)} occurs twice")
    for role, name in options.columns.items():
        if name not in names:
            raise InputError(f"no column {shown(name)} for {role}; the table has {listed(names)}")
    present = {role for role in ROLES if options.column(role) in names}
    layout = options.layout
    if layout == "auto":
        layout = "long" if {"model", "score"} <= present else "wide"
    required = ("model", "task", "score") if layout == "long" else ("task",)
    missing = [options.column(role) for role in required if role not in present]
    if missing:
        wanted = "model, task, score" if layout == "long" else "task and one column a model"
        raise InputError(
            f"no column {listed(missing)}: a {layout} table has {wanted}"
            f" (other names: --column task=NAME); it has {listed(names)}"
        )
    _check_design_columns(present, options)
    if table.num_rows == 0:
        raise InputError("the table has no rows")
    reader = _long if layout == "long" else _wide
    return reader(table, options, present)


def _check_design_columns(present: set[str], options: ReadOptions) -> None:
    if not present & {"stratum", "panel", "family"} and not options.single_stratum:
        raise InputError(
            "no column stratum, panel or family: name one (--column stratum=NAME)"
            " or pass --single-stratum"
        )
    if options.cluster == "anchor" and "anchor" not in present:
        raise InputError(
            "no column anchor: name the cluster column (--column anchor=NAME)"
            " or pass --cluster task to let every task stand for itself"
        )


def _texts(table: Any, column: str) -> tuple[NDArray[np.int64], list[str]]:
    """Codes int64 [rows] into the sorted distinct texts of a column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    data = table[column]
    if data.null_count:
        row = pc.index(pc.is_null(data), True).as_py() + 1
        raise InputError(f"column {shown(column)} is empty in row {row}")
    try:
        if pa.types.is_dictionary(data.type):
            data = data.cast(data.type.value_type)
        data = data.cast(pa.string()).combine_chunks()
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"column {shown(column)} of type {data.type} holds no ids") from error
    coded = pc.dictionary_encode(data)
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    values: list[str] = coded.dictionary.to_pylist()
    if "" in values:
        codes = coded.indices.to_numpy(zero_copy_only=False)
        row = int(np.flatnonzero(codes == values.index(""))[0]) + 1
        raise InputError(f"column {shown(column)} is empty in row {row}")
    order = sorted(range(len(values)), key=values.__getitem__)
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values))
    return rank[coded.indices.to_numpy(zero_copy_only=False)], [values[i] for i in order]


def _numbers(table: Any, column: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Values float64 [rows] and where they are null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    data = table[column]
    kind = data.type
    if pa.types.is_null(kind):
        return np.zeros(len(data)), np.ones(len(data), np.bool_)
    if pa.types.is_dictionary(kind):
        data = data.cast(kind.value_type)
    if pa.types.is_string(data.type) or pa.types.is_large_string(data.type):
        for row, text in enumerate(data.to_pylist()):
            if text is not None and not _is_number(text):
                raise InputError(
                    f"column {shown(column)}, row {row + 1}: {shown(text)!r} is no number"
                )
    try:
        values = pc.cast(data, pa.float64(), safe=False)
    except pa.ArrowException as error:
        raise InputError(f"column {shown(column)} of type {kind} holds no numbers") from error
    null = values.is_null().to_numpy()
    return values.fill_null(0.0).to_numpy(), np.asarray(null, np.bool_)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _long(table: Any, options: ReadOptions, present: set[str]) -> ScoreMatrix:
    model, models = _texts(table, options.column("model"))
    task, tasks = _texts(table, options.column("task"))
    score, null = _numbers(table, options.column("score"))
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
    for role in ("stratum", "panel", "family", "anchor"):
        if role in present:
            codes, texts = _texts(table, options.column(role))
            _check_constant(role, codes, texts, codes[first][task], task, tasks)
            attributes[role] = [texts[code] for code in codes[first]]
    chance = None
    if "chance" in present:
        level = _chance(table, options, tasks, task)
        _check_constant("chance", level, level, level[first][task], task, tasks)
        chance = level[first]
    names = models
    if "name" in present:
        codes, texts = _texts(table, options.column("name"))
        at = np.zeros(len(models), np.int64)
        at[model] = codes
        _check_constant("name", codes, texts, at[model], model, models)
        names = [texts[code] for code in at]
    return _finish(models, names, tasks, attributes, grid, absent, chance, options)


def _check_constant(
    role: str,
    found: NDArray[Any],
    texts: Any,
    expected: NDArray[Any],
    owner: NDArray[np.int64],
    owners: list[str],
) -> None:
    """An attribute must be the same in all rows of its owner (task or model)."""
    rows = np.flatnonzero(found != expected)
    if rows.size:
        row = rows[0]
        a, b = expected[row], found[row]
        if role != "chance":
            a, b = texts[a], texts[b]
        raise InputError(
            f"{role} of {shown(owners[owner[row]])} is {shown(a)} in one row"
            f" and {shown(b)} in row {row + 1}"
        )


def _chance(
    table: Any, options: ReadOptions, tasks: list[str], task: NDArray[np.int64]
) -> NDArray[np.float64]:
    values, null = _numbers(table, options.column("chance"))
    bad = np.flatnonzero(null | ~np.isfinite(values))
    if bad.size:
        raise InputError(
            f"chance level of task {shown(tasks[task[bad[0]]])} is missing or not finite"
        )
    return values


def _wide(table: Any, options: ReadOptions, present: set[str]) -> ScoreMatrix:
    task, tasks = _texts(table, options.column("task"))
    counts = np.bincount(task)
    if counts.max() > 1:
        raise InputError(f"duplicate task {shown(tasks[int(counts.argmax())])}")
    roles = ("task", "stratum", "panel", "family", "anchor", "chance")
    known = {options.column(role) for role in roles if role in present}
    models = sorted(name for name in table.column_names if name not in known)
    if not models:
        raise InputError("no model column: every column that names no role is a model")
    if "" in models:
        raise InputError("a column has no name")
    rows = np.argsort(task)
    values = np.empty((len(models), len(tasks)))
    absent = np.empty((len(models), len(tasks)), np.bool_)
    for m, name in enumerate(models):
        column, null = _numbers(table, name)
        values[m], absent[m] = column[rows], null[rows]
    attributes: dict[str, list[str]] = {}
    for role in ("stratum", "panel", "family", "anchor"):
        if role in present:
            codes, texts = _texts(table, options.column(role))
            attributes[role] = [texts[code] for code in codes[rows]]
    chance = _chance(table, options, tasks, task)[rows] if "chance" in present else None
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
    if attributes.keys() & {"stratum", "panel", "family"}:
        columns = [attributes.get(role, nothing) for role in ("panel", "family", "stratum")]
        strata = [stratum_of(*row) for row in zip(*columns, strict=True)]
    else:
        strata = [Stratum("all", None, None)] * len(tasks)
    clusters = tasks if options.cluster == "task" else attributes["anchor"]
    return build_matrix(models, names, tasks, strata, clusters, values, chance)


def _cells_error(
    what: str, cells: NDArray[np.int64], models: list[str], tasks: list[str]
) -> InputError:
    """How many cells, the first ten, and the counts per model."""
    model = cells // len(tasks)
    first = [f"{models[c // len(tasks)]} × {tasks[c % len(tasks)]}" for c in cells[:10]]
    counts = np.bincount(model, minlength=len(models))
    per_model = [f"{models[m]} {counts[m]}" for m in np.flatnonzero(counts)]
    noun = "cell" if cells.size == 1 else "cells"
    of = f" of {len(models)} models × {len(tasks)} tasks" if what == "missing" else ""
    return InputError(
        f"{cells.size} {what} {noun}{of} (per model: {listed(per_model)});"
        f" first: {'; '.join(shown(cell) for cell in first)}"
    )

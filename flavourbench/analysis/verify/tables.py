"""The number files of a release as strictly typed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flavourbench.analysis.release.layout import CHANCE, COUNTS, DRAWS, PAIRS, SCORES, TASKS
from flavourbench.artifact import MANIFEST, read_parquet
from flavourbench.errors import CheckError, listed, shown
from flavourbench.identity import Column

#: 56 times the chance level of a task: the one column that a file may lack.
CHANCE_LEVELS = "chance_56ths"

_TEXT, _FLOAT, _INT, _BOOL = "string", "double", "int64", "bool"
_COUNTED = {"left": _TEXT, "right": _TEXT, "exceedances": _INT}
_TESTED = dict.fromkeys(("p", "holm_p", "stepdown_p"), _FLOAT)
#: File → column → Arrow type. The draws have one column a model.
_COLUMNS: dict[str, dict[str, str]] = {
    SCORES: {"model": _TEXT, "task": _TEXT, "score": _FLOAT},
    TASKS: {"task": _TEXT, "stratum": _TEXT, "anchor": _TEXT, CHANCE_LEVELS: _INT},
    COUNTS: _COUNTED,
    PAIRS: {
        **_COUNTED,
        **dict.fromkeys(("difference", "se", "interval_low", "interval_high"), _FLOAT),
        **dict.fromkeys(("simultaneous_low", "simultaneous_high", "dz"), _FLOAT),
        **_TESTED,
        "directed_p": _FLOAT,
        "resolved": _BOOL,
    },
    CHANCE: {"model": _TEXT, "exceedances": _INT, **_TESTED},
}
#: Numbers that need not exist: masked columns, with or without nulls.
_NULLABLE = frozenset({"dz"})

Table = dict[str, Column]


def read_table(name: str, data: bytes, models: Sequence[str]) -> Table:
    """Columns of a number file, of the types of the format, finite, and no null but in ``dz``.

    Raises
    ------
    CheckError
        It is no Parquet file, or has other columns, types or values than it can have.
    """
    table = _parsed(name, data)
    names = table.column_names
    expected = _expected(name, names, models)
    if names != [*expected]:
        told = f"{name} has the columns {listed(names)}, not {listed([*expected])}"
        raise CheckError(f"{told} (models of {MANIFEST})" if name == DRAWS else told)
    return {
        column: _column(f"{name}: {shown(column)}", table[column], kind, column in _NULLABLE)
        for column, kind in expected.items()
    }


def check_columns(name: str, data: bytes, columns: Mapping[str, Column]) -> None:
    """Refuse a Parquet file whose columns are not of the names and types of ``columns``.

    Raises
    ------
    CheckError
        With the column; or see :func:`read_table`.
    """
    table = _parsed(name, data)
    if table.column_names != [*columns]:
        found, expected = listed(table.column_names), listed([*columns])
        raise CheckError(f"{name} has the columns {found}, not {expected}")
    for column, values in columns.items():
        kind = table[column].type
        if isinstance(values, np.ndarray) and values.ndim == 2:
            inner = getattr(kind, "value_type", None)
            found, expected = f"a list of {inner}", f"a list of {_arrow(values)}"
        else:
            found, expected = str(kind), _arrow(values)
        if found != expected:
            raise CheckError(f"{name}: {shown(column)} is {shown(found)}, not {expected}")
        if table[column].null_count and not isinstance(values, np.ma.MaskedArray):
            raise CheckError(f"{name}: {shown(column)} holds nulls")


def _arrow(values: Column) -> str:
    """The Arrow type of a column."""
    import pyarrow as pa

    if not isinstance(values, np.ndarray):
        return _TEXT
    return str(pa.from_numpy_dtype(values.dtype))


def _parsed(name: str, data: bytes) -> Any:
    import pyarrow as pa

    try:
        table = read_parquet(data)
        table.validate(full=True)  # texts are UTF-8
        _ = table.column_names
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = shown(str(error).split("\n")[0], 160)
        raise CheckError(f"{name} is a damaged Parquet file: {reason}") from error
    return table


def _expected(name: str, names: Sequence[str], models: Sequence[str]) -> dict[str, str]:
    """Column → type, in order."""
    if name == DRAWS:
        return dict.fromkeys(models, _FLOAT)
    left_out = {CHANCE_LEVELS} - {*names}
    return {column: kind for column, kind in _COLUMNS[name].items() if column not in left_out}


def _column(place: str, data: Any, kind: str, nullable: bool) -> Column:
    if str(data.type) != kind:
        raise CheckError(f"{place} is of type {shown(data.type)}, not {kind}")
    nulls = np.asarray(data.is_null().to_numpy(), np.bool_)
    if nulls.any() and not nullable:
        raise CheckError(f"{place} is null in row {int(nulls.argmax()) + 1}")
    if kind == _TEXT:
        texts: list[str] = data.to_pylist()
        return texts
    values = np.ascontiguousarray((data.fill_null(0) if nulls.any() else data).to_numpy())
    if kind == _FLOAT and not np.isfinite(values).all():
        row = int((~np.isfinite(values)).argmax())
        raise CheckError(f"{place} is {values[row]} in row {row + 1}: no number")
    return np.ma.MaskedArray(values, nulls) if nullable else values

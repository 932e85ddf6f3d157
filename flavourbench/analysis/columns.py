"""Files as Arrow tables, and their columns as ids or numbers.

CSV cells are read as text and understood by the role of their column, never by what
they look like: ``001`` stays an id, and a number means the same in every row.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flavourbench.errors import InputError, os_reason, shown
from flavourbench.folders import is_folder

#: Text that stands for a missing number.
_MISSING = ("", "NA", "null")


def load(path: Path) -> Any:
    """A Parquet or CSV file as an Arrow table.

    Raises
    ------
    InputError
        It cannot be read, or is no table.
    """
    import pyarrow as pa

    if is_folder(path):
        raise InputError(f"{shown(path, 200)} is a folder, neither a release nor a score table")
    try:
        # Read once: a pipe gives its bytes only once.
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {os_reason(error, path)}") from error
    if not data:
        raise InputError(f"{shown(path, 200)} is empty")
    if data.lstrip()[:1] in (b"{", b"["):
        raise InputError(
            f"{shown(path, 200)} is JSON, not a score table (Parquet or CSV): answers to tasks are"
            " scored by `fb score`"
        )
    parquet = data.startswith(b"PAR1")
    try:
        table = _parquet(data) if parquet else _csv(data)
        _ = table.column_names  # names that are no UTF-8 fail here
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = shown(str(error).split("\n")[0], 160)
        kind = "a damaged Parquet file" if parquet else "neither Parquet nor CSV (UTF-8, commas)"
        raise InputError(f"{shown(path, 200)} is {kind}: {reason}") from error
    return table


def _parquet(data: bytes) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pq.ParquetFile(pa.BufferReader(data)).read()


def _csv(data: bytes) -> Any:
    """All columns as text: types inferred from a first block break on later ones."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    names, rows = _head(data)
    return arrow_csv.read_csv(
        pa.BufferReader(data),
        read_options=arrow_csv.ReadOptions(column_names=names, skip_rows_after_names=rows),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    )


def _head(data: bytes) -> tuple[list[str], int]:
    """Column names, and the rows that end with them (blank ones may come first).

    Arrow could tell the names too, but only by a reader that goes on in another thread.
    """
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    try:
        for count, row in enumerate(csv.reader(lines), 1):
            if row:
                return row, count
    except csv.Error as error:
        raise ValueError(str(error)) from error
    raise ValueError("no line has a name in it")


def texts(table: Any, column: str) -> tuple[NDArray[np.int64], list[str]]:
    """Codes int64 [rows] into the sorted distinct texts of a column.

    Raises
    ------
    InputError
        A cell is empty, or the column holds no ids.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    data = table[column]
    try:
        if pa.types.is_dictionary(data.type):
            data = data.cast(data.type.value_type)
        data = data.cast(pa.string())
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(
            f"column {shown(column)} of type {shown(table[column].type)} holds no ids"
        ) from error
    blank = pc.equal(pc.utf8_trim_whitespace(data.fill_null("")), "")
    if pc.any(blank).as_py():
        row = pc.index(blank, True).as_py() + 1
        raise InputError(f"column {shown(column)} is empty in row {row}: every row needs an id")
    coded = pc.dictionary_encode(data.combine_chunks())
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    values: list[str] = coded.dictionary.to_pylist()
    order = sorted(range(len(values)), key=values.__getitem__)
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values))
    return rank[coded.indices.to_numpy(zero_copy_only=False)], [values[i] for i in order]


def numbers(table: Any, column: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Values float64 [rows] and where they are missing; true and false count 1 and 0.

    Raises
    ------
    InputError
        A cell, or the whole column, holds no number.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    data = table[column]
    kind = data.type
    if pa.types.is_null(kind):
        return np.zeros(len(data)), np.ones(len(data), np.bool_)
    try:
        if pa.types.is_dictionary(kind):
            data = data.cast(kind.value_type)
        # Arrow's own cast of decimals is off by an ulp.
        if _is_text(data.type) or pa.types.is_decimal(data.type):
            data = _parsed(data.cast(pa.string()), column)
        values = pc.cast(data, pa.float64(), safe=False)
    except pa.ArrowException as error:
        raise InputError(
            f"column {shown(column)} of type {shown(kind)} holds no numbers"
        ) from error
    missing = values.is_null().to_numpy()
    return values.fill_null(0.0).to_numpy(), np.asarray(missing, np.bool_)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in tests)


def _parsed(data: Any, column: str) -> Any:
    """Text as float64 or bool, null where missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    data = pc.utf8_trim_whitespace(data)
    missing = pc.is_in(data, value_set=pa.array(_MISSING))
    data = pc.if_else(missing, pa.scalar(None, pa.string()), data)
    for kind in (pa.float64(), pa.bool_()):
        try:
            return pc.cast(data, kind)
        except pa.ArrowInvalid:
            continue
    return pa.array([_number(text, column, row) for row, text in enumerate(data.to_pylist(), 1)])


def _number(text: str | None, column: str, row: int) -> float | None:
    try:
        if text is None:
            return None
        if text.isascii() and "_" not in text:  # float() also takes 1_000 and other digits
            return float(text)
    except ValueError:
        pass
    raise InputError(f"column {shown(column)}, row {row}: '{shown(text)}' is no number")

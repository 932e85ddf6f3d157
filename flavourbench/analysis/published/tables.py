"""The two tables of the published layout: written from a release, read with their digits."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple

from flavourbench.analysis.published.layout import (
    PAIR_COLUMNS,
    board_columns,
    family_columns,
)
from flavourbench.errors import InputError, listed, os_reason, shown

#: Numbers beyond 10 to this power, or with more digits after the point, are no figures.
_MOST_DIGITS = 300
_FLAGS = {"true": True, "false": False}


class Figure(NamedTuple):
    """A printed number: ``unit`` is one in its last digit."""

    value: float
    unit: float


class Line(NamedTuple):
    """A row of a table: what it is of, for messages, and its texts by column."""

    where: str
    cells: Mapping[str, str]

    def figure(self, column: str) -> Figure | None:
        """The number in a column, None where there is none.

        Raises
        ------
        InputError
            The cell holds something else.
        """
        text = self.cells.get(column, "")
        if not text:
            return None
        try:
            number = Decimal(text)
            exponent = int(number.as_tuple().exponent)
        except (InvalidOperation, ValueError) as error:
            raise self._wrong(column, "a number") from error
        if not -_MOST_DIGITS < exponent < _MOST_DIGITS or not math.isfinite(float(number)):
            raise self._wrong(column, "a number")
        return Figure(float(number), 10.0**exponent)

    def flag(self, column: str) -> bool | None:
        """The truth value in a column, None where there is none; errors as :meth:`figure`."""
        text = self.cells.get(column, "")
        if not text:
            return None
        if text.lower() not in _FLAGS:
            raise self._wrong(column, "True or False")
        return _FLAGS[text.lower()]

    def _wrong(self, column: str, what: str) -> InputError:
        return InputError(f"{self.where}: {column} is '{shown(self.cells[column])}': use {what}")


def leaderboard_csv(board: Mapping[str, Any]) -> bytes:
    """The models of a release in the published columns, by rank.

    Points have six digits after the point, p eight. Without chance levels those cells are
    empty.

    Raises
    ------
    InputError
        See :func:`.layout.board_columns`.
    """
    models = board["models"]
    families = family_columns(models[0]["family_scores"])
    panels = sorted(models[0]["panel_scores"])
    rows = []
    for model in models:
        chance = model["chance"]
        points = [
            *(model["score"], model["se"]),
            *(model["family_scores"][name] for name in families),
            *(model["panel_scores"][name] for name in panels),
            *(*model["pointwise"], *model["simultaneous"]),
        ]
        tested = ["", ""] if chance is None else [_digits(chance["score"]), _digits(chance["p"], 8)]
        ranks = [model["rank"], *model["rank_interval"], model["group"]]
        rows.append([model["id"], model["name"], *map(_digits, points), *ranks, *tested])
    return _csv(board_columns(families, panels), rows)


def pairwise_csv(pairs: Iterable[Mapping[str, Any]]) -> bytes:
    """The pairs of a release in the published columns; no d_z is an empty cell.

    Points and Holm p have six digits after the point, d_z and p eight.
    """
    rows = [
        [
            *(pair["left"], pair["right"], _digits(pair["difference"])),
            "" if pair["dz"] is None else _digits(pair["dz"], 8),
            *(_digits(pair["p"], 8), _digits(pair["holm_p"]), str(pair["resolved"])),
        ]
        for pair in pairs
    ]
    return _csv(PAIR_COLUMNS, rows)


def _digits(value: float, digits: int = 6) -> str:
    return f"{value:z.{digits}f}"  # no sign where nothing is left


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue().encode()


def read_table(path: Path, ids: Sequence[str]) -> list[Line]:
    """The rows of a table in CSV.

    Parameters
    ----------
    ids : columns that tell the rows apart, in any order of their values

    Raises
    ------
    InputError
        The file cannot be read, is no CSV in UTF-8, lacks one of these columns, or has a row
        of another length or a row twice; with its line.
    """
    where = shown(path, 200)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read {os_reason(error, path)}") from error
    except ValueError as error:
        raise InputError(f"{where} is no CSV in UTF-8: {shown(error, 120)}") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise InputError(f"{where} line {reader.line_num} is no CSV: {error}") from error
    names = rows[0][1] if rows else []
    missing = [name for name in ids if name not in names]
    if missing or len({*names}) < len(names):
        what = f"no column {listed(missing)}" if missing else "a column twice"
        raise InputError(f"{where}: {what} in its first line, {listed(names)}")
    found: dict[frozenset[str], Line] = {}
    for number, row in rows[1:]:
        at = f"{where} line {number}"
        if len(row) != len(names):
            raise InputError(f"{at} has {len(row)} cells, the first line {len(names)}")
        cells = dict(zip(names, row, strict=True))
        key = frozenset(cells[name] for name in ids)
        if key in found:
            raise InputError(f"{at}: {listed([*key])} has a row already: keep one")
        found[key] = Line(at, cells)
    return [*found.values()]

"""The first difference between what is stated and what was derived, in words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flavourbench.analysis.verify.tables import Table
from flavourbench.errors import shown
from flavourbench.identity import Column


def table_difference(stated: Table, derived: Table, ids: Sequence[str]) -> str | None:
    """The first row, and in it the first column, that differ by a bit; None if none does.

    So 0.0 and -0.0 differ. Both tables have the same columns.

    Parameters
    ----------
    ids : columns whose derived texts name a row; without any it is named by its number
    """
    rows, expected = (len(next(iter(table.values()))) for table in (stated, derived))
    if rows != expected:
        return f"it has {rows} rows, not {expected}"
    differing = {name: _differ(stated[name], derived[name]) for name in derived}
    first = {name: int(where.argmax()) for name, where in differing.items() if where.any()}
    if not first:
        return None
    name = min(first, key=lambda name: first[name])  # of equal ones the first
    row = first[name]
    place = ", ".join(shown(derived[column][row]) for column in ids) or str(row)
    count = sum(int(where.sum()) for where in differing.values())
    more = f", the first of {count:,} differences" if count > 1 else ""
    found, right = (_written(_value(table[name], row)) for table in (stated, derived))
    return f"row {place}: {shown(name)} is {found}, derived {right}{more}"


def _differ(stated: Column, derived: Column) -> NDArray[np.bool_]:
    """Where two columns of one type differ: bool [rows]."""
    if not (isinstance(stated, np.ndarray) and isinstance(derived, np.ndarray)):
        return np.array([a != b for a, b in zip(stated, derived, strict=True)], np.bool_)
    other = np.asarray(np.ma.getdata(stated) != np.ma.getdata(derived))
    if stated.dtype.kind == "f":
        other = _bits(stated) != _bits(derived)
    missing, unfounded = (np.ma.getmaskarray(column) for column in (stated, derived))
    return np.asarray((missing != unfounded) | (~missing & other), np.bool_)


def _bits(values: Column) -> NDArray[np.int64]:
    return np.ascontiguousarray(np.ma.getdata(values), np.float64).view(np.int64)


def _value(column: Column, row: int) -> Any:
    if not isinstance(column, np.ndarray):
        return column[row]
    return None if np.ma.getmaskarray(column)[row] else np.ma.getdata(column)[row].item()


def json_difference(
    stated: Any, derived: Any, place: str = "", told: str = "derived"
) -> str | None:
    """The first difference of two JSON values, in the order of ``derived``; None if none.

    A key too many is one. Numbers are equal by value, since canonical JSON writes 1.0 as 1.

    Parameters
    ----------
    place : where both stand
    told : what the second is called
    """
    if isinstance(derived, Mapping) and isinstance(stated, Mapping):
        for key, value in derived.items():
            inside = f"{place}.{shown(key)}" if place else shown(key)
            if key not in stated:
                return f"{inside} is missing"
            found = json_difference(stated[key], value, inside, told)
            if found is not None:
                return found
        extra = sorted(stated.keys() - derived.keys())
        return f"{f'{place}.' if place else ''}{shown(extra[0])} is unknown" if extra else None
    if isinstance(derived, (list, tuple)) and isinstance(stated, list):
        if len(stated) != len(derived):
            return f"{place} has {len(stated)} entries, {told} {len(derived)}"
        for at, (entry, value) in enumerate(zip(stated, derived, strict=True)):
            name = (
                f" ({shown(value['id'])})" if isinstance(value, Mapping) and "id" in value else ""
            )
            found = json_difference(entry, value, f"{place}[{at}]{name}", told)
            if found is not None:
                return found
        return None
    if isinstance(stated, bool) == isinstance(derived, bool) and stated == derived:
        return None
    return f"{place} is {_written(stated)}, {told} {_written(derived)}"


def _written(value: Any) -> str:
    """A value as JSON, cut where it is long."""
    return shown(json.dumps(value, ensure_ascii=False, default=str), 100)

"""JSONL: one object a line, refused by line number, written compactly."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flavourbench.errors import InputError, os_reason, shown

#: Levels of lists and objects in a line; what writes a line again needs some stack for each.
_DEEPEST = 100
#: Bytes of a line.
_LONGEST = 2**26


def json_lines(path: Path, digest: Any = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line numbers and objects of a JSONL file; blank lines are passed over.

    Parameters
    ----------
    digest : a hash object, fed with every byte; the file is read once, since it may be a pipe

    Raises
    ------
    InputError
        The file cannot be read, a line is no JSON object in UTF-8, has a key twice, a number
        beyond float64 or too many levels, or there is no line.
    """
    where = shown(path, 200)
    empty = True
    try:
        with path.open("rb") as handle:
            for number in itertools.count(1):
                line = handle.readline(_LONGEST + 1)
                if not line:
                    break
                if len(line) > _LONGEST:
                    raise InputError(f"{where} line {number} is longer than {_LONGEST >> 20} MiB")
                if digest is not None:
                    digest.update(line)
                if line.strip():
                    empty = False
                    yield number, _object(line, f"{where} line {number}")
    except OSError as error:
        raise InputError(f"cannot read {os_reason(error, path)}") from error
    if empty:
        raise InputError(f"{where} has no lines: one JSON object a line is needed")


def compact(value: Any) -> str:
    """JSON with sorted keys and no blanks, numbers as they were read; a line of a file."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def check_unicode(row: Mapping[str, Any]) -> None:
    """Refuse half of a surrogate pair anywhere in a row: neither JSON nor Parquet can hold it.

    Raises
    ------
    InputError
        There is one.
    """
    try:
        compact(row).encode()
    except UnicodeEncodeError as error:
        raise InputError("holds half of a surrogate pair, which is no Unicode text") from error


def _object(line: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(
            line.decode("utf-8-sig"),
            parse_float=_finite,
            parse_constant=_refuse,
            object_pairs_hook=_unique,
        )
        _check_depth(value, _DEEPEST)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is no JSON in UTF-8: {shown(error, 120)}") from error
    if not isinstance(value, dict):
        raise InputError(f"{where} is {shown(value)}: needed is an object, one a line")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is beyond the numbers of JSON readers")
    return number


def _check_depth(value: Any, left: int) -> None:
    if not isinstance(value, (dict, list)):
        return
    if not left:
        raise ValueError(f"lists and objects in more than {_DEEPEST} levels")
    for entry in value.values() if isinstance(value, dict) else value:
        _check_depth(entry, left - 1)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"key {twice} occurs twice")
    return found

"""Digests of content and of bytes.

``content_sha256`` covers meaning: column names, types and values in canonical row order,
or RFC 8785 JSON. ``file_sha256`` covers the bytes on disk. Chains of artifacts and rebuild
comparisons use the first, tamper checks the second.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flavourbench.errors import InputError, shown

_TABLE_RECIPE = "flavourbench-table/1"
#: What stands in a text for bytes that are none.
_SURROGATE = re.compile("[\ud800-\udfff]")
#: A column: numbers (masked where null) or strings.
Column = NDArray[Any] | Sequence[str]


def canonical_json(value: Any) -> bytes:
    """RFC 8785 JSON of ``value``: the bytes that are hashed and written.

    Raises
    ------
    InputError
        A number that JSON cannot hold (NaN, an infinity, an integer beyond 2**53), or a text
        that UTF-8 cannot (as of a file whose name is not in the encoding of names).
    """
    import rfc8785

    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        odd = next(filter(_SURROGATE.search, _texts(value)), None)
        if odd is not None:
            raise InputError(f"'{shown(odd)}' is no Unicode text: use another name") from error
        raise InputError(f"cannot be written as canonical JSON: {error}") from error


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for entry in (*value, *value.values()):
            yield from _texts(entry)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from _texts(entry)


def json_sha256(value: Any) -> str:
    """Hex SHA-256 of :func:`canonical_json`."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def table_sha256(columns: Mapping[str, Column], recipe: str = _TABLE_RECIPE) -> str:
    """Hex SHA-256 of a table, independent of the file that holds it.

    It is the digest of the RFC 8785 JSON of a recipe version (``recipe``) and, by column name, the
    type, shape and SHA-256 of the little-endian values. Strings count as length-prefixed
    (uint32) UTF-8; nulls as zero, followed by the mask. Rows count in the order given.
    """
    described = []
    for name in sorted(columns):
        column = columns[name]
        kind, shape, data = _column_bytes(column)
        described.append({"name": name, "dtype": kind, "shape": shape, "sha256": data})
    return json_sha256({"recipe": recipe, "columns": described})


def _column_bytes(column: Column) -> tuple[str, list[int], str]:
    if not isinstance(column, np.ndarray):
        known: dict[str, bytes] = {}
        for text in column:
            if text not in known:
                data = text.encode()
                known[text] = len(data).to_bytes(4, "little") + data
        digest = hashlib.sha256(b"".join([known[text] for text in column]))
        return "string", [len(column)], digest.hexdigest()
    values, suffix = column, ""
    digest = hashlib.sha256()
    if isinstance(column, np.ma.MaskedArray):
        values, suffix = column.filled(0), "?"
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    digest.update(little.data)
    if isinstance(column, np.ma.MaskedArray):
        digest.update(np.ascontiguousarray(np.ma.getmaskarray(column)).data)
    return little.dtype.name + suffix, list(little.shape), digest.hexdigest()


def file_sha256(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()

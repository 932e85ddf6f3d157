"""Values of a manifest by their place, and of the kind they must have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flavourbench.artifact import MANIFEST
from flavourbench.errors import CheckError, shown

_KINDS = {str: "a text", int: "an integer", float: "a number", list: "a list"}


def stated(manifest: Mapping[str, Any], kind: type, *keys: str | int) -> Any:
    """The value below ``keys``; with ``float`` any number, as float.

    Raises
    ------
    CheckError
        There is none, or it is of another kind.
    """
    value: Any = manifest
    fits: Any = (int, float) if kind is float else kind
    for depth, key in enumerate(keys):
        try:
            value = value[key]
        except (LookupError, TypeError):
            raise CheckError(f"{MANIFEST} has no {_place(keys[: depth + 1])}") from None
    if not isinstance(value, fits) or isinstance(value, bool):
        written = shown(json.dumps(value, ensure_ascii=False))
        raise CheckError(f"{MANIFEST}: {_place(keys)} is {written}, not {_KINDS[kind]}")
    return float(value) if kind is float else value


def text_or_null(manifest: Mapping[str, Any], *keys: str | int) -> str | None:
    """The text below ``keys``, or None where that is stated; else as :func:`stated`."""
    above: Any = manifest
    for key in keys[:-1]:
        above = above[key]
    if keys[-1] in above and above[keys[-1]] is None:
        return None
    found: str = stated(manifest, str, *keys)
    return found


def entries(manifest: Mapping[str, Any], *keys: str | int) -> range:
    """Indices of the list below ``keys``; errors as :func:`stated`."""
    return range(len(stated(manifest, list, *keys)))


def _place(keys: tuple[str | int, ...]) -> str:
    """As in ``design.strata[2].id``."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return text.removeprefix(".")

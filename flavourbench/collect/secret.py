"""Keys: read from the environment, put into one header, and kept out of everything else."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from flavourbench.collect.route import Route
from flavourbench.errors import InputError, shown

REMOVED = "[key removed]"
#: Headers that may hold a secret of somebody.
_SECRET_HEADER = re.compile(r"cookie|authoriz|authentic|secret|api-?key|credential|set-cookie")
#: A shorter text would be removed from everywhere.
_SHORTEST = 8


def read_keys(routes: Iterable[Route]) -> dict[str, str]:
    """Keys by the variables that hold them.

    Raises
    ------
    InputError
        A variable is missing, or holds no key; never with what it holds.
    """
    keys: dict[str, str] = {}
    for route in routes:
        name = route.key_env
        if name is None or name in keys:
            continue
        value = os.environ.get(name, "")
        if not value:
            raise InputError(
                f"model {shown(route.slot)}: the variable {name} is not set: put its key there"
            )
        if not value.isascii() or not value.isprintable() or " " in value:
            raise InputError(
                f"model {shown(route.slot)}: the variable {name} holds spaces, line breaks or other"
                " signs that no key has: set it anew"
            )
        if len(value) < _SHORTEST:
            raise InputError(
                f"model {shown(route.slot)}: the variable {name} holds fewer than {_SHORTEST}"
                " signs: no key is that short"
            )
        keys[name] = value
    return keys


class Scrubber:
    """Removes keys from what comes from outside, in every form in which they may come back."""

    def __init__(self, keys: Iterable[str]) -> None:
        patterns = [pattern for key in keys for pattern in _patterns(key)]
        self._text = re.compile("|".join(patterns)) if patterns else None
        self._bytes = re.compile("|".join(patterns).encode()) if patterns else None

    def text(self, value: str) -> str:
        """``value`` without keys."""
        return value if self._text is None else self._text.sub(REMOVED, value)

    def bytes(self, value: bytes) -> bytes:
        """``value`` without keys."""
        return value if self._bytes is None else self._bytes.sub(REMOVED.encode(), value)

    def headers(self, headers: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Headers by lower-case name without those that hold secrets, values without keys."""
        kept: dict[str, str] = {}
        for name, value in headers:
            lower = name.lower()
            if not _SECRET_HEADER.search(lower):
                clean = self.text(value)
                kept[self.text(lower)] = f"{kept[lower]}, {clean}" if lower in kept else clean
        return kept


def _patterns(key: str) -> list[str]:
    """A key as JSON writes it, each sign as it is or escaped, in addresses, and in base 64."""
    coded = base64.b64encode(key.encode()).decode().rstrip("=")
    others = {quote(key, safe=""), coded, coded.translate({43: "-", 47: "_"})} - {key}
    return ["".join(map(_sign, key)), *map(re.escape, sorted(others, key=len, reverse=True))]


def _sign(sign: str) -> str:
    """A pattern of one sign in JSON."""
    hexadecimal = "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in f"{ord(sign):02x}")
    return rf"(?:\\?{re.escape(sign)}|\\u00{hexadecimal})"


def key_header(route: Route, header: str, form: str, keys: Mapping[str, str]) -> dict[str, str]:
    """The header that carries the key of a route; empty for a route without one.

    Parameters
    ----------
    header, form : of the dialect; a route may name another header, which holds the bare key
    """
    if route.key_env is None:
        return {}
    key = keys[route.key_env]
    if route.key_header is not None:
        return {route.key_header: key}
    return {header: form.format(key=key)}

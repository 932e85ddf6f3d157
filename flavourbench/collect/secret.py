"""Keys: read from the environment, put into one header, and kept out of everything else."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping

from flavourbench.collect.route import Route
from flavourbench.errors import InputError, shown

REMOVED = "[key removed]"
#: Headers that may hold a secret of somebody.
_SECRET_HEADER = re.compile(r"cookie|authoriz|authentic|secret|api-?key|credential|set-cookie")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}
#: Where an answer was cut, so many signs of a key at its end are taken for one.
_REMNANT = 6
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
        listed = list(keys)
        self._keys = [key.encode() for key in listed]
        patterns = [pattern for key in listed for pattern in _patterns(key)]
        self._text = re.compile("|".join(patterns)) if patterns else None
        self._bytes = re.compile("|".join(patterns).encode()) if patterns else None

    def of_text(self, value: str) -> str:
        """``value`` without keys."""
        return value if self._text is None else self._text.sub(REMOVED, value)

    def of_bytes(self, value: bytes) -> bytes:
        """``value`` without keys."""
        return value if self._bytes is None else self._bytes.sub(REMOVED.encode(), value)

    def of_cut(self, value: bytes) -> bytes:
        """``value``, which was cut off, without keys, also where one was cut at its end."""
        clean = self.of_bytes(value)
        for key in self._keys:
            for size in range(len(key) - 1, _REMNANT - 1, -1):
                if clean.endswith(key[:size]):
                    return clean[:-size] + REMOVED.encode()
        return clean

    def of_headers(self, headers: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Headers by lower-case name without those that hold secrets, values without keys."""
        kept: dict[str, str] = {}
        for name, value in headers:
            lower = name.lower()
            if not _SECRET_HEADER.search(lower):
                clean = self.of_text(value)
                kept[self.of_text(lower)] = f"{kept[lower]}, {clean}" if lower in kept else clean
        return kept


def _patterns(key: str) -> list[str]:
    """A key in the ways in which it can come back; alternatives of a regular expression."""
    found = ["".join(map(_sign, key)), _anycase(key.encode().hex())]
    for before in range(3):  # bytes that share a group with the key, as "Bearer " may
        coded = base64.b64encode(b"\0" * before + key.encode()).decode().rstrip("=")
        # The first and last sign also depend on what stands around the key.
        inner = coded[-(-before * 4 // 3) : len(coded) - 1]
        found.append("".join({"+": "[+-]", "/": "[/_]"}.get(sign, sign) for sign in inner))
    return found


def _sign(sign: str) -> str:
    """A sign as it is, and as JSON, addresses and HTML may write it."""
    code = ord(sign)
    number = _anycase(f"{code:02x}")
    forms = [rf"\\?{re.escape(sign)}", rf"\\u00{number}", f"%{number}"]
    forms += [f"&#0*{code};", f"&#[xX]0*{number};"]
    if sign in _ENTITIES:
        forms.append(_ENTITIES[sign])
    return f"(?:{'|'.join(forms)})"


def _anycase(hexadecimal: str) -> str:
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in hexadecimal)


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

"""Keys: read from the environment, put into one header, and kept out of everything else."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable

from flavourbench.collect.route import Route
from flavourbench.errors import InputError, shown

REMOVED = "[key removed]"
#: Headers that may hold a secret of somebody.
_SECRET_HEADER = re.compile(
    r"cookie|authoriz|authentic|secret|api-?key|credential|(auth|security)-token"
)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"}
#: Where an answer was cut, so many signs of a key at its end are taken for one.
_REMNANT = 6
#: A shorter text would be removed from everywhere.
_SHORTEST = 8


def read_keys(routes: Iterable[Route]) -> dict[str, str | None]:
    """Keys of routes by slot; None for a route without one.

    Raises
    ------
    InputError
        A variable is missing, or holds no key; never with what it holds.
    """
    keys: dict[str, str | None] = {}
    for route in routes:
        name = route.key_env
        if name is None:
            keys[route.slot] = None
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
        keys[route.slot] = value
    return keys


class Scrubber:
    """Removes a key from what comes from outside, in every form in which it may come back.

    A host sees the key of its own routes only, so no other key can come from there.

    Parameters
    ----------
    key : None for a route without one
    """

    def __init__(self, key: str | None) -> None:
        self._key = (key or "").encode()
        self._marks: list[str] = []
        if key is not None:
            coded = _in_base_64(key)
            other = [text.translate({43: "-", 47: "_"}) for text in coded]
            hexadecimal = key.encode().hex()
            self._marks = [key, hexadecimal, hexadecimal.upper(), *coded, *other]
            self._marks += ["%", "&", "\\u", "\\/", *(["\\"] if {'"', "\\"} & {*key} else [])]
        self._byte_marks = [mark.encode() for mark in self._marks]
        pattern = "|".join(_patterns(key)) if key is not None else "(?!)"
        self._text, self._bytes = re.compile(pattern), re.compile(pattern.encode())

    def of_text(self, value: str) -> str:
        """``value`` without the key."""
        # Comparing takes long; most texts hold nothing that could begin one.
        if not any(mark in value for mark in self._marks):
            return value
        return self._text.sub(REMOVED, value)

    def of_bytes(self, value: bytes) -> bytes:
        """``value`` without the key."""
        if not any(mark in value for mark in self._byte_marks):
            return value
        return self._bytes.sub(REMOVED.encode(), value)

    def of_cut(self, value: bytes) -> bytes:
        """``value``, which was cut off, without the key, also where that was cut at its end."""
        clean = self.of_bytes(value)
        for size in range(len(self._key) - 1, _REMNANT - 1, -1):
            if clean.endswith(self._key[:size]):
                return clean[:-size] + REMOVED.encode()
        return clean

    def of_headers(self, headers: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Headers by lower-case name without those that hold secrets, values without the key."""
        kept: dict[str, str] = {}
        for name, value in headers:
            lower = self.of_text(name).lower()
            if not _SECRET_HEADER.search(lower):
                clean = self.of_text(value)
                kept[lower] = f"{kept[lower]}, {clean}" if lower in kept else clean
        return kept


def _patterns(key: str) -> list[str]:
    """A key in the ways in which it can come back; alternatives of a regular expression."""
    coded = ["".join(map(_coded_sign, text)) for text in _in_base_64(key)]
    return ["".join(map(_sign, key)), _anycase(key.encode().hex()), *coded]


def _in_base_64(key: str) -> list[str]:
    """Signs that hold bits of nothing but the key, for each number of bytes before it."""
    found = []
    for before in range(3):  # they share a group with the key, as "Bearer " may
        coded = base64.b64encode(b"\0" * before + key.encode()).decode()
        found.append(coded[-(-before * 4 // 3) : (before + len(key)) * 4 // 3])
    return found


def _sign(sign: str) -> str:
    """A sign as it is, and as JSON (within JSON, too), addresses and HTML may write it."""
    code = ord(sign)
    number = _anycase(f"{code:02x}")
    forms = [rf"\\{{1,4}}u00{number}", f"%{number}", f"&#0*{code};", f"&#[xX]0*{number};"]
    if sign in _ENTITIES:
        forms.append(_ENTITIES[sign])
    # The longer forms first: a sign may be the one that escapes.
    return f"(?:{'|'.join(forms)}|\\\\{{0,3}}{re.escape(sign)})"


def _coded_sign(sign: str) -> str:
    """A sign of base 64 in both alphabets."""
    other = {"+": "-", "/": "_"}.get(sign)
    return _sign(sign) if other is None else f"(?:{_sign(sign)}|{other})"


def _anycase(hexadecimal: str) -> str:
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in hexadecimal)


def key_header(route: Route, header: str, form: str, key: str | None) -> dict[str, str]:
    """The header that carries the key of a route; empty for a route without one.

    Parameters
    ----------
    header, form : of the dialect; a route may name another header, which holds the bare key
    """
    if key is None:
        return {}
    if route.key_header is not None:
        return {route.key_header: key}
    return {header: form.format(key=key)}

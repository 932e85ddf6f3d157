"""Settings in TOML files, taken value by value: what is missing, wrong or unknown is refused."""

from __future__ import annotations

import datetime
import difflib
import json
import math
import re
import string
import tomllib
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from flavourbench.errors import InputError, os_reason, shown

_SLUG = re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*")
#: Powers of ten beyond which a number is no setting, but a way to fill the memory.
_LARGEST_POWER = 30
_T = TypeVar("_T")


def read_toml(path: Path, parse: Callable[[Mapping[str, Any]], _T]) -> _T:
    """What ``parse`` makes of the values of a TOML file; decimals stay as written.

    Raises
    ------
    InputError
        The file cannot be read or is no TOML, or ``parse`` refuses a value.
    """
    where = shown(path, 200)
    try:
        content = tomllib.loads(path.read_bytes().decode("utf-8-sig"), parse_float=Decimal)
    except OSError as error:
        raise InputError(f"cannot read {os_reason(error, path)}") from error
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise InputError(f"{where} is no TOML: {shown(error, 200)}") from error
    try:
        return parse(content)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def plain_values(value: Any) -> Any:
    """TOML values as JSON values; decimals as texts, which JSON keeps as written."""
    if isinstance(value, Mapping):
        return {key: plain_values(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain_values(entry) for entry in value]
    return str(value) if isinstance(value, Decimal) else value


def json_values(value: Any) -> Any:
    """TOML values as JSON values to send: decimals as the nearest float64.

    Raises
    ------
    InputError
        A date, a time, or a number without a JSON form.
    """
    if isinstance(value, Mapping):
        return {key: json_values(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [json_values(entry) for entry in value]
    if isinstance(value, Decimal):
        if not math.isfinite(float(value)):
            raise InputError(f"{shown(value)} has no JSON form: use a number")
        return float(value)
    if not isinstance(value, (str, int)):
        raise InputError(f"{shown(value)} has no JSON form: write it as a text")
    return value


def template_fields(text: str) -> set[str]:
    """Names in braces.

    Raises
    ------
    ValueError
        Braces that do not match, or a field with an index, attribute, conversion or format.
    """
    found = set()
    for _, name, form, conversion in string.Formatter().parse(text):
        if name is None:
            continue
        if form or conversion or not name.isidentifier():
            raise ValueError(f"{{{name}}} is no plain field")
        found.add(name)
    return found


class Table:
    """A table of the file whose values are taken one by one.

    Every method takes the value of a key and raises :class:`InputError` where it is missing
    or of another kind.
    """

    def __init__(self, place: str, values: Any) -> None:
        if not isinstance(values, Mapping):
            raise InputError(f"{place} is {shown(values)}, no table")
        self._place, self._values, self._left = place, values, set(values)
        self._known: set[str] = set()

    def _name(self, key: str) -> str:
        return f"{self._place}.{key}" if self._place else key

    def _take(self, key: str, kind: type | tuple[type, ...], what: str) -> Any:
        self._known.add(key)
        if key not in self._values:
            near = difflib.get_close_matches(key, self._left, 1)
            hint = f" (there is {shown(near[0])})" if near else ""
            raise InputError(f"{self._name(key)} is missing{hint}: give it {what}")
        value = self._values[key]
        self._left.discard(key)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.wrong(key, what)
        return value

    def wrong(self, key: str, what: str) -> InputError:
        """The error of a value that is not ``what`` it has to be."""
        value = plain_values(self._values[key])
        written = json.dumps(value, ensure_ascii=False, default=str)
        return InputError(f"{self._name(key)} is {shown(written)}: use {what}")

    def done(self) -> None:
        """Refuse what nobody took: a slip would change nothing, silently."""
        if self._left:
            key = min(self._left)
            near = difflib.get_close_matches(key, self._known - self._values.keys(), 1)
            hint = f"is it {near[0]}?" if near else "leave it out"
            raise InputError(f"{self._name(key)} is unknown here: {hint}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __contains__(self, key: str) -> bool:
        self._known.add(key)
        return key in self._values

    def says(self, key: str, word: str) -> bool:
        """Whether a value is that word, which is taken then."""
        if self._values.get(key) != word:
            return False
        self._left.discard(key)
        return True

    def table(self, key: str) -> Table:
        """A table below this one."""
        return Table(self._name(key), self._take(key, Mapping, "a table"))

    def tables(self, key: str) -> list[Table]:
        """An array of at least one table."""
        values = self._take(key, list, "one or more tables")
        if not values:
            raise self.wrong(key, "one or more tables")
        return [Table(f"{self._name(key)}[{at}]", value) for at, value in enumerate(values)]

    def text(self, key: str) -> str:
        """A text that is not blank."""
        value: str = self._take(key, str, "a text")
        if not value.strip() or not all(c.isprintable() or c == "\n" for c in value):
            raise self.wrong(key, "a text that can be printed")
        return value

    def line(self, key: str) -> str:
        """A text on one line, of up to 200 signs."""
        value = self.text(key)
        if "\n" in value or len(value) > 200:
            raise self.wrong(key, "a text on one line, of up to 200 signs")
        return value

    def template(self, key: str, fields: frozenset[str], *, all_of: bool = False) -> str:
        """A text with some (or ``all_of``) ``fields`` in braces."""
        value = self.text(key)
        named = ", ".join(f"{{{name}}}" for name in sorted(fields))
        what = f"a text with {'the fields' if all_of else 'no field but'} {named}"
        try:
            found = template_fields(value)
        except ValueError as error:
            raise self.wrong(key, what) from error
        if found - fields or (all_of and found != fields):
            raise self.wrong(key, what)
        return value

    def slug(self, key: str) -> str:
        """A short name in lower case."""
        value = self.text(key)
        if not _SLUG.fullmatch(value) or len(value) > 40:
            raise self.wrong(key, "up to 40 of a-z, 0-9, '-' and '_'")
        return value

    def values(self, key: str) -> dict[str, Any]:
        """A table of any JSON values, to be passed on as they are."""
        try:
            found: dict[str, Any] = json_values(self._take(key, Mapping, "a table"))
        except InputError as error:
            raise InputError(f"{self._name(key)}: {error}") from error
        return found

    def date(self, key: str) -> datetime.date:
        """A date, bare or as a text."""
        what = "a date as in 2026-11-30"
        value = self._take(key, (str, datetime.date), what)
        try:
            return datetime.date.fromisoformat(str(value))
        except ValueError as error:
            raise self.wrong(key, what) from error

    def flag(self, key: str, default: bool | None = None) -> bool:
        """True or false."""
        if default is not None and key not in self._values:
            return default
        value: bool = self._take(key, bool, "true or false")
        return value

    def integer(self, key: str, low: int, high: int) -> int:
        """An integer, ``low`` to ``high``."""
        value: int = self._take(key, int, what := f"a number from {low} to {high}")
        if not low <= value <= high:
            raise self.wrong(key, what)
        return value

    def integers(self, key: str, allowed: tuple[int, ...]) -> tuple[int, ...]:
        """One or more different integers out of ``allowed``."""
        what = f"different ones of {', '.join(map(str, allowed))}"
        values = self._take(key, list, what)
        known = [value in allowed and not isinstance(value, bool) for value in values]
        if not values or not all(known) or len({*values}) < len(values):
            raise self.wrong(key, what)
        return tuple(values)

    def number(self, key: str, low: int, high: int) -> Fraction:
        """A decimal, ``low`` to ``high``, exact."""
        what = f"a number from {low} to {high}"
        value = self._exact(self._take(key, (int, Decimal, str), what))
        if value is None or not low <= value <= high:
            raise self.wrong(key, what)
        return value

    def numbers(self, key: str, count: int, what: str) -> list[Fraction]:
        """``count`` decimals, exact."""
        values = self._take(key, list, what)
        exact = [number for number in map(self._exact, values) if number is not None]
        if not len(exact) == len(values) == count:
            raise self.wrong(key, what)
        return exact

    def _exact(self, value: Any) -> Fraction | None:
        # Texts are decimals that came through a manifest.
        if isinstance(value, bool) or not isinstance(value, (int, Decimal, str)):
            return None
        try:
            decimal = Decimal(value)
            if abs(decimal.adjusted()) > _LARGEST_POWER:
                return None
            return Fraction(decimal)
        except (ValueError, ArithmeticError):
            return None

    def choice(self, key: str, allowed: tuple[str, ...]) -> str:
        """One of ``allowed``."""
        value = self.text(key)
        if value not in allowed:
            raise self.wrong(key, " or ".join(allowed))
        return value

    def texts(self, key: str, allowed: tuple[str, ...] | None = None, least: int = 0) -> list[str]:
        """``least`` or more different texts, out of ``allowed`` if that is given."""
        what = f"different ones of {', '.join(allowed)}" if allowed else "a list of different texts"
        values = self._take(key, list, what)
        known = [isinstance(v, str) and (allowed is None or v in allowed) for v in values]
        if not all(known) or len({*values}) < max(len(values), least):
            raise self.wrong(key, what)
        return list(values)

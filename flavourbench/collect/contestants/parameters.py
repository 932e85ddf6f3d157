"""Parameters of contestants: their kinds, ranges and defaults, as JSON values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from flavourbench.errors import InputError, listed
from flavourbench.settings import Table

#: Which sets are counted: recipes alone, or dishes written for the pantry too.
SETS = ("recipes", "recipes-and-dishes")


@dataclass(frozen=True, slots=True)
class Number:
    """A number, ``low`` to ``high``, of at most ``decimals`` decimals; its default as text."""

    default: str
    low: int
    high: int
    decimals: int

    def taken(self, table: Table, key: str) -> int | float:
        """The value as JSON writes it: an integer where it is one."""
        value = table.number(key, self.low, self.high)
        if (value * 10**self.decimals).denominator != 1:
            what = f"a number from {self.low} to {self.high} with at most {self.decimals} decimals"
            raise table.wrong(key, what)
        return value.numerator if value.denominator == 1 else float(value)


@dataclass(frozen=True, slots=True)
class Flag:
    """True or false."""

    default: bool

    def taken(self, table: Table, key: str) -> bool:
        """The value."""
        return table.flag(key)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several words."""

    default: str
    among: tuple[str, ...]

    def taken(self, table: Table, key: str) -> str:
        """The value."""
        return table.choice(key, self.among)


Parameters = Mapping[str, Number | Flag | Choice]


def filled(place: str, known: Parameters, given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters, those not given by default, sorted by name.

    Parameters
    ----------
    place : what they belong to, for error lines
    given : values of JSON or TOML

    Raises
    ------
    InputError
        One is unknown, of another kind or out of range.
    """
    unknown = sorted(str(key) for key in given if key not in known)
    if unknown:
        there = f"it has {listed(sorted(known))}" if known else "it has none"
        raise InputError(f"{place} has no parameter {listed(unknown)}: {there}")
    defaults = {key: parameter.default for key, parameter in known.items()}
    table = Table(place, {key: _exact(value) for key, value in {**defaults, **given}.items()})
    return {key: known[key].taken(table, key) for key in sorted(known)}


def _exact(value: Any) -> Any:
    """A float as the decimal that it was written as: settings are exact."""
    return Decimal(repr(value)) if type(value) is float else value

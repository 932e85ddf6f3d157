"""The named parsers of answers; a manifest says which one read its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from flavourbench.errors import InputError, shown
from flavourbench.tasks.parse_fb1 import parse_fb1
from flavourbench.tasks.parse_published import parse_published
from flavourbench.tasks.verdicts import REASONS, Parsed

__all__ = ["PARSERS", "REASONS", "Parsed", "parse", "parser_named"]

#: A parser takes the text of an answer and the eight candidate names in label order.
Parser = Callable[[str, Sequence[str]], Parsed]
PARSERS: Mapping[str, Parser] = MappingProxyType(
    {"fb-1": parse_fb1, "published-v3": parse_published}
)


def parser_named(name: str) -> Parser:
    """The parser of that name, for many answers.

    Raises
    ------
    InputError
        There is no such parser.
    """
    parser = PARSERS.get(name)
    if parser is None:
        raise InputError(f"unknown parser '{shown(name)}': use one of {', '.join(PARSERS)}")
    return parser


def parse(text: str, choices: Sequence[str], parser: str = "fb-1") -> Parsed:
    """The verdict of the parser of that name on one answer.

    Parameters
    ----------
    text : the whole answer, any string
    choices : the eight candidate names in label order, as ``"rice_milk"``

    Raises
    ------
    InputError
        There is no such parser; no text raises anything.
    """
    return parser_named(parser)(text, choices)

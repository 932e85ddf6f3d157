"""Contestants by name: they answer tasks as models do, from a prompt to a text."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from flavourbench.collect.contestants.parameters import (
    SETS,
    Choice,
    Flag,
    Number,
    Parameters,
    filled,
)
from flavourbench.collect.contestants.said import Said
from flavourbench.errors import InputError, shown

if TYPE_CHECKING:
    # At run time these would load NumPy.
    from flavourbench.tasks.taskset import Task


@dataclass(frozen=True, slots=True)
class _Kind:
    """A row of the catalogue; ``needs`` is a module of an optional package."""

    version: int
    simulated: bool = False
    parameters: Parameters = field(default_factory=dict)
    needs: str | None = None


#: Weight of how the three go together, beside how each suits what is asked.
_COHERENCE = Number("0.3", 0, 1, decimals=2)
_BY_NAMES: Parameters = {"coherence": _COHERENCE, "demands": Flag(default=False)}
_BY_SETS: Parameters = {**_BY_NAMES, "sets": Choice(SETS[0], SETS)}
#: ``demands``: whether choices that break a demand of the question are left out, going by the
#: tags of the pantry. ``version`` is raised whenever an answer changes.
_KINDS: dict[str, _Kind] = {
    "chance": _Kind(1),
    "first-three": _Kind(1),
    "last-three": _Kind(1),
    "label-biased": _Kind(1),
    "lexical-overlap": _Kind(1, parameters={"coherence": _COHERENCE}),
    "tag-rules": _Kind(1, parameters={"coherence": _COHERENCE, "demands": Flag(default=True)}),
    "popularity": _Kind(1, parameters={"demands": Flag(default=False)}),
    "co-occurrence": _Kind(1, parameters=_BY_SETS),
    "npmi": _Kind(1, parameters=_BY_SETS),
    "shared-company": _Kind(1, parameters=_BY_SETS),
    "attributes": _Kind(1, parameters=_BY_NAMES),
    "word-vectors": _Kind(1, parameters=_BY_NAMES, needs="ingredient_parser"),
    "cook": _Kind(
        1,
        simulated=True,
        parameters={
            "temperature": Number("10", 0, 100_000, decimals=3),  # points
            "refusals": Number("0", 0, 50, decimals=2),  # percent, and so the next
            "format_errors": Number("0", 0, 50, decimals=2),
        },
    ),
}
NAMES: tuple[str, ...] = tuple(_KINDS)


@dataclass(frozen=True)
class Contestant:
    """Someone who answers tasks offline.

    Attributes
    ----------
    name : as in ``local:NAME``
    version : int, raised whenever an answer changes
    simulated : whether it sees the scores; it is marked so wherever it appears
    parameters : JSON values, defaults filled in, sorted by name
    """

    name: str
    version: int
    simulated: bool
    parameters: Mapping[str, Any] = field(hash=False)

    def answer(self, task: Task, repeat: int) -> Said:
        """The answer to a task: the same at every call and from every thread.

        Machines may differ where one rounds a logarithm otherwise, see :mod:`.knowledge`; in
        cooks nothing does.

        Parameters
        ----------
        repeat : which of several answers to one task, from 0

        Raises
        ------
        InputError
            What the contestant knows cannot be read.
        """
        return self._speech(task, repeat)

    @cached_property
    def _speech(self) -> Callable[[Task, int], Said]:
        """How it answers, loaded when it first does."""
        from flavourbench.collect.contestants.speech import speech

        return speech(self.name, self.version, self.simulated, self.parameters)


def contestant(name: str, parameters: Mapping[str, Any] = MappingProxyType({})) -> Contestant:
    """The contestant of that name.

    Parameters
    ----------
    name : one of :data:`NAMES`
    parameters : values of JSON or TOML; what is not given is as by default

    Raises
    ------
    InputError
        The name, or a parameter, is unknown; a parameter is of another kind or out of range;
        a package that the contestant needs is not installed.
    """
    kind = _KINDS.get(name)
    if kind is None:
        near = difflib.get_close_matches(name, NAMES, 1)
        hint = f"did you mean {near[0]}? There are" if near else "use one of"
        raise InputError(f"no contestant '{shown(name)}': {hint} {', '.join(NAMES)}")
    taken = filled(f"contestant {name}", kind.parameters, parameters)
    if kind.needs is not None and find_spec(kind.needs) is None:
        raise InputError(
            f"contestant {name} needs the vectors of ingredient-parser-nlp, which is not"
            ' installed: pip install "flavourbench[pantry]"'
        )
    return Contestant(name, kind.version, kind.simulated, MappingProxyType(taken))


def is_simulated(name: str) -> bool:
    """Whether a contestant of that name sees the scores; False for names that are none."""
    return name in _KINDS and _KINDS[name].simulated

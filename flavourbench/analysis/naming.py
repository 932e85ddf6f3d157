"""What a typed text stands for: one of a release's models or tasks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from flavourbench.errors import InputError, listed, shown
from flavourbench.tasks.labels import normalised

_WORD = re.compile(r"(?<!\w)\w")


def named(typed: str, spellings: Mapping[str, Sequence[str]], what: str) -> str:
    """The id that is meant: by itself, another spelling, or a part of one from a word on.

    What is closest counts alone: an id, a whole spelling, a beginning, an end, any other part.
    Case, and how words are set apart (spaces, hyphens, underscores), do not count.

    Parameters
    ----------
    spellings : id → its other spellings
    what : "model" or "task", for messages

    Raises
    ------
    InputError
        Nothing, or several of them, with their names or the nearest ones.
    """
    if typed in spellings:  # whatever else is called so
        return typed
    for fits in _rules(typed):
        found = [key for key, more in spellings.items() if any(map(fits, (key, *more)))]
        if len(found) == 1:
            return found[0]
        if found:
            told = listed(found, 5)
            raise InputError(f"{what} '{shown(typed)}' may be {told}: write more of one, or its id")
    near = _near(_plain(typed), spellings)
    hint = f"did you mean {listed(near, 3)}?" if near else f"it has {listed([*spellings], 5)}"
    raise InputError(f"no {what} '{shown(typed)}' in the release: {hint}")


def _plain(text: str) -> str:
    return normalised(text.replace("-", " "))


def _near(plain: str, spellings: Mapping[str, Sequence[str]]) -> list[str]:
    """Ids in one of whose spellings a text occurs, else those that are spelt like it."""
    owners = {_plain(text): key for key, more in spellings.items() for text in (*more, key)}
    found = [text for text in owners if plain in text]
    found = found or difflib.get_close_matches(plain, owners, 3, 0.5)
    return [*dict.fromkeys(owners[text] for text in found)]


def _rules(typed: str) -> Iterator[Callable[[str], bool]]:
    """What makes a spelling fit, the closest first."""
    plain = _plain(typed)
    yield lambda text: text == typed
    yield lambda text: _plain(text) == plain
    yield lambda text: _plain(text).startswith(plain)
    yield lambda text: plain in _tails(text)
    yield lambda text: any(tail.startswith(plain) for tail in _tails(text))


def _tails(text: str) -> list[str]:
    """A spelling from each of its words on."""
    plain = _plain(text)
    return [plain[word.start() :] for word in _WORD.finditer(plain)]

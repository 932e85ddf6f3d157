"""Which ingredient a phrase of a recipe stands for: ``freshly ground white pepper``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from flavourbench.environment.names import Resolver
from flavourbench.environment.pantry.tables import Ingredient
from flavourbench.environment.words import data_lines, singulars, words_of

_SIGNS = re.compile(r"\([^)]*\)|\bto taste\b|[^\w\s'’&-]")


@cache
def _forms() -> frozenset[str]:
    """Words that say form, cut or measure, not the ingredient."""
    return frozenset(word for line in data_lines("forms.txt") for word in line.split())


class PhraseReader:
    """Finds ingredients in phrases, by their names, synonyms and aliases.

    A phrase is looser than a typed name: the head of an English noun phrase stands last, so
    words before it may be dropped ("ripe plum tomatoes"); words after it only where they say a
    form ("tomato slices"). The reading that drops the fewest wins.

    Parameters
    ----------
    ingredients : the table
    """

    def __init__(self, ingredients: Iterable[Ingredient]) -> None:
        rows = tuple(ingredients)
        self._names = Resolver(sorted(row.name for row in rows))
        self._owner = {alias: row.name for row in rows for alias in row.aliases}
        self._aliases = Resolver(sorted(self._owner))
        self._known: dict[tuple[str, ...], str | None] = {}

    def find(self, phrase: str) -> str | None:
        """The ingredient that a phrase stands for, or None."""
        words = tuple(words_of(_SIGNS.sub(" ", phrase)))
        if words not in self._known:
            self._known[words] = self._longest(words)
        return self._known[words]

    def _longest(self, words: Sequence[str]) -> str | None:
        for dropped in range(len(words)):
            for before in range(dropped, -1, -1):
                end = len(words) - dropped + before
                if all(_is_form(word) for word in words[end:]):
                    found = self._exactly(words[before:end])
                    if found is not None:
                        return found
        return None

    def _exactly(self, words: Sequence[str]) -> str | None:
        name = self._names.item(words)
        if name is None:
            alias = self._aliases.item(words)
            name = None if alias is None else self._owner[alias]
        return name


def _is_form(word: str) -> bool:
    return not _forms().isdisjoint({word, *singulars(word)})

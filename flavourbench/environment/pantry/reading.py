"""Which ingredient a phrase of a recipe stands for: ``freshly ground white pepper``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from flavourbench.environment.names import Resolver
from flavourbench.environment.pantry.tables import Ingredient
from flavourbench.environment.words import Index, forms, singulars, words_of

#: What a phrase says in brackets, and what is no letter of a word.
_BRACKETS = re.compile(r"\([^)]*\)")
_SIGNS = re.compile(r"[^\w\s'’&-]")
#: What follows is a medium, a use or an occasion: tuna in water, pretzels to serve.
_TAIL = re.compile(
    r"(?<!\bbone)[\s-]+(?:in|with|to|for|as|per|of (?:your )?choice)\b.*|,.*", re.DOTALL
)
#: No phrase of a recipe has more; of a longer one the last are read.
_MOST_WORDS = 24


class PhraseReader:
    """Finds ingredients in phrases, by their names, synonyms and aliases.

    A phrase is looser than a typed name: the head of an English noun phrase stands last, so
    words before it may be dropped ("ripe plum tomatoes"); words after it only where they say a
    form ("tomato slices"), or begin with a comma or a preposition. The reading that drops the
    fewest words wins.

    Parameters
    ----------
    ingredients : the table
    """

    def __init__(self, ingredients: Iterable[Ingredient]) -> None:
        rows = tuple(ingredients)
        self._names = Resolver(sorted(row.name for row in rows))
        self._owner = {alias: row.name for row in rows for alias in row.aliases}
        self._aliases = Index(self._owner)
        self._known: dict[str, str | None] = {}

    def find(self, phrase: str) -> str | None:
        """The ingredient that a phrase stands for, or None."""
        if phrase not in self._known:
            self._known[phrase] = self._read(phrase)
        return self._known[phrase]

    def _read(self, phrase: str) -> str | None:
        outside = _BRACKETS.sub(" ", phrase)
        if not _words(outside):  # all of it stands in brackets
            outside = phrase
        whole = _words(outside)
        found = self._exactly(whole) if whole else None
        return found or self._longest(_words(_TAIL.sub("", outside))) or self._longest(whole)

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
        if name is not None:
            return name
        owners = {self._owner[alias] for alias in self._aliases.closest(words)}
        return owners.pop() if len(owners) == 1 else None


def _words(text: str) -> list[str]:
    return words_of(_SIGNS.sub(" ", text))[-_MOST_WORDS:]


def _is_form(word: str) -> bool:
    return not forms().isdisjoint({word, *singulars(word)})

"""What a typed text stands for: an item, or a miss with suggestions.

A text is compared with the items exactly, then normalised, then by the synonyms of
``flavourbench/data/aliases.txt``. Normalising folds case, accents, apostrophes, separators
(``_``, ``-``, space) and the signs around a name, and lets every word be singular or plural and
in any of its spellings, on either side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from flavourbench.environment.suggestions import Likeness, hinted
from flavourbench.environment.words import FILLERS, Index, data_lines, words_of
from flavourbench.errors import InputError, listed

#: So many at most for one text.
SUGGESTIONS = 3

# --- synonyms ------------------------------------------------------------------------------


@cache
def alias_groups() -> tuple[tuple[str, ...], ...]:
    """Groups of synonyms of ``aliases.txt``, the preferred name of each first."""
    lines = data_lines("aliases.txt")
    return tuple(tuple(name.strip() for name in line.split(",")) for line in lines)


@cache
def _aliases() -> tuple[Index, dict[str, tuple[str, ...]]]:
    """All synonyms, and the group of each."""
    group_of = {name: group for group in alias_groups() for name in group}
    return Index(group_of), group_of


def _same(words: Sequence[str]) -> list[str]:
    """All synonyms of the words, sorted."""
    index, group_of = _aliases()
    return sorted({name for near in index.closest(words) for name in group_of[near]})


# --- resolving -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Match:
    """What a typed text stands for.

    Attributes
    ----------
    text : as typed
    name : the item, None on a miss
    how : "exact", "normalised", "alias" or "miss"
    suggestions : up to three items, only on a miss
    """

    text: str
    name: str | None
    how: str
    suggestions: tuple[str, ...]


class Resolver:
    """Finds the items that typed texts stand for.

    Parameters
    ----------
    items : different names in lower-case ASCII snake_case, sorted
    """

    def __init__(self, items: Sequence[str]) -> None:
        self._items = Index(items)

    def find(self, text: str) -> Match:
        """The item that ``text`` stands for, or up to three that it may have meant.

        Two items that are equally close make a miss with these as suggestions.

        Raises
        ------
        InputError
            Nothing but white space.
        """
        if not text.strip():
            raise InputError("an empty name: type the name of an item")
        if text in self._items.words:
            return Match(text, text, "exact", ())
        words = words_of(text)
        found, how = self._near(words)
        if how != "miss":
            return Match(text, found[0], how, ())
        near = found if len(found) > 1 else [*found, *self._suggestions(words)]
        return Match(text, None, "miss", tuple(dict.fromkeys(near))[:SUGGESTIONS])

    def item(self, words: Sequence[str]) -> str | None:
        """The item that :meth:`find` finds for these words; no suggestions are sought."""
        found, how = self._near(words)
        return None if how == "miss" else found[0]

    def _near(self, words: Sequence[str]) -> tuple[list[str], str]:
        """The items closest to the words, and how; a miss unless it is a single one."""
        found, how = self._items.closest(words), "normalised"
        if not found:
            found, how = self._synonyms(words), "alias"
        single = len(found) == 1 and not (how == "alias" and self._shortened(words, found[0]))
        return found, how if single else "miss"

    def resolve(self, texts: Iterable[str]) -> list[str]:
        """The items of all texts, in their order.

        Raises
        ------
        InputError
            Texts that stand for no item: one line with every one and its suggestions.
        """
        names, missed = [], {}
        for text in texts:
            match = self.find(text)
            if match.name is None:
                missed[text] = match.suggestions
            else:
                names.append(match.name)
        if missed:
            told = [
                f"{listed([text])} ({f'try {listed([*near])}' if near else 'nothing is similar'})"
                for text, near in missed.items()
            ]
            raise InputError(f"not in this environment: {'; '.join(told)}")
        return names

    def _synonyms(self, words: Sequence[str]) -> list[str]:
        """Items by the alias table: of each group that has the words, the first one here."""
        index, group_of = _aliases()
        firsts = (self._first(group) for group in {group_of[n] for n in index.closest(words)})
        return sorted(item for item in firsts if item is not None)

    def _first(self, group: Iterable[str]) -> str | None:
        """The item of the first member that stands for one here."""
        items = (self._items.closest(name.split("_")) for name in group)
        return next((item[0] for item in items if len(item) == 1), None)

    def _shortened(self, words: Sequence[str], item: str) -> bool:
        """Whether the words are an item's name with some left out.

        Then it is no synonym of them but a guess, as cheddar_cheese for cheddar: it comes
        first among the suggestions instead.
        """
        telling = {word for word in self._items.words[item] if word not in FILLERS}
        return len(telling) > len(set(words)) and item in self._items.having_all(words)

    def _suggestions(self, words: Sequence[str]) -> list[str]:
        """Items that the words may have meant: those of the file, or else the likest."""
        found = []
        for name in hinted(words, _same):
            parts = name.split("_")
            near = self._items.closest(parts)
            found += near if len(near) == 1 else self._synonyms(parts)
        return found or self._likeness.most_like(words)

    @cached_property
    def _likeness(self) -> Likeness:
        index, group_of = _aliases()
        near = (index.closest(words) for words in self._items.words.values())
        synonyms: dict[str, str] = {}
        for group in {group_of[name] for names in near for name in names}:
            item = self._first(group)
            if item is not None:
                synonyms |= dict.fromkeys(set(group) - self._items.words.keys(), item)
        return Likeness(self._items.words, synonyms)

"""What a typed text stands for: an item, or a miss with suggestions.

A text is compared with the items exactly, then normalised, then by the synonyms of
``flavourbench/data/aliases.txt``. Normalising folds case, accents, apostrophes and separators
(``_``, ``-``, space) and lets every word be singular or plural, on either side.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from flavourbench.errors import InputError, listed

SUGGESTIONS = 3
#: Shorter words are no evidence in a part of a word or as one shared word of several.
_TELLING = 3

# --- words ---------------------------------------------------------------------------------

#: Signs that belong to no word (apostrophes, the soft hyphen), and letters that Unicode does
#: not decompose.
_PLAIN = str.maketrans(
    dict.fromkeys("'’‘`´′ʼʻʿʾ\xad")
    | {"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "ı": "i"}
)
_SEPARATORS = re.compile("[ _\\-\u2010-\u2015\u2212]+")
_ALPHANUMERIC = re.compile("[a-z0-9]+")

_IRREGULAR = {
    "algae": "alga",
    "cacti": "cactus",
    "feet": "foot",
    "fungi": "fungus",
    "geese": "goose",
    "larvae": "larva",
    "octopi": "octopus",
    "oxen": "ox",
    "pupae": "pupa",
}
#: Other words in -us are singular: hummus, asparagus, citrus.
_PLURAL_US = frozenset({"emus", "kombus", "kudzus", "ponzus", "shochus", "tofus", "yuzus"})
#: Endings whose s belongs to the word. Bitters are no plural of a taste or a beer.
_SINGULAR_S = ("ss", "bitters", "cassis", "molasses", "pastis", "schnapps")
#: They add nothing to a name: palm hearts are hearts of palm.
_FILLERS = frozenset({"of"})
#: Written as one they name another thing: offal is no loaf, a genus not any white fish,
#: preserved fruit no meat, a mint no cabbage, and British starch not American flour.
_APART = frozenset({"sweet_bread", "white_fish", "mince_meat", "winter_greens", "corn_flour"})


def _words(text: str) -> list[str]:
    """Words of a text: lower case, without accents and apostrophes."""
    if text.isascii():
        text = text.lower().translate(_PLAIN)
    else:
        # Marks come off the letters of the table first, styled capitals become plain last.
        text = unicodedata.normalize("NFD", text).casefold().translate(_PLAIN)
        text = unicodedata.normalize("NFKD", text).casefold()
        text = "".join(c for c in text if not unicodedata.combining(c))
    return [word for word in _SEPARATORS.split(text.strip()) if word]


def _singulars(word: str) -> frozenset[str]:
    """The word and every word it may be the plural of; non-words among them match nothing."""
    if word in _IRREGULAR:
        return frozenset((word, _IRREGULAR[word]))
    if len(word) < 4 or not word.endswith("s") or word.endswith(_SINGULAR_S):
        return frozenset((word,))
    if word.endswith("us") and word not in _PLURAL_US:
        return frozenset((word,))
    forms = [word, word[:-1]]
    if word.endswith("ies"):
        forms += [word[:-3] + "y", word[:-2]]
    elif word.endswith("ves"):
        forms.append(word[:-3] + "f")
    elif word.endswith(("ches", "shes", "ses", "xes", "zes", "oes")):
        forms.append(word[:-2])
    return frozenset(forms)


def _joined(words: Sequence[str]) -> list[str]:
    """The words written as one, the last in either number; none for those that stay apart."""
    if not words:
        return []
    *head, last = words
    forms = _singulars(last)
    if any("_".join([*head, form]) in _APART for form in forms):
        return []
    return ["".join([*head, form]) for form in forms]


class _Index:
    """Snake_case names by their words, whatever their number and separators."""

    def __init__(self, names: Iterable[str]) -> None:
        self.words = {name: name.split("_") for name in names}
        self._joined: dict[str, list[str]] = {}
        self._having: dict[str, set[str]] = {}
        for name, words in self.words.items():
            for form in _joined(words):
                self._joined.setdefault(form, []).append(name)
            for word in words:
                for form in _singulars(word):
                    self._having.setdefault(form, set()).add(name)

    def closest(self, words: Sequence[str]) -> list[str]:
        """The names that differ least from the words, sorted.

        Other separators differ less than singular and plural do, and both differ most.
        """
        spelled = "_".join(words)
        if spelled in self.words:
            return [spelled]
        alike = {name for form in _joined(words) for name in self._joined.get(form, ())}
        same = [name for name in alike if name.replace("_", "") == "".join(words)]
        return sorted(same) or self._other_number(words) or sorted(alike)

    def having(self, word: str) -> set[str]:
        """Names with the word, in either number."""
        return {name for form in _singulars(word) for name in self._having.get(form, ())}

    def having_all(self, words: Iterable[str]) -> set[str]:
        """Names with all of the words."""
        sets = [self.having(word) for word in set(words)]
        return set.intersection(*sets) if sets else set()

    def _other_number(self, words: Sequence[str]) -> list[str]:
        forms = [_singulars(word) for word in words]
        found = []
        for name in self.having_all(words):
            own = self.words[name]
            if len(own) == len(words) and not any(
                form.isdisjoint(_singulars(word)) for form, word in zip(forms, own, strict=True)
            ):
                found.append(name)
        return sorted(found)


# --- synonyms ------------------------------------------------------------------------------


@cache
def alias_groups() -> tuple[tuple[str, ...], ...]:
    """Groups of synonyms of ``aliases.txt``, the preferred name of each first."""
    text = (resources.files("flavourbench.data") / "aliases.txt").read_text("utf-8")
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return tuple(tuple(name.strip() for name in line.split(",")) for line in lines if line)


@cache
def _aliases() -> tuple[_Index, dict[str, tuple[str, ...]]]:
    """All synonyms, and the group of each."""
    group_of = {name: group for group in alias_groups() for name in group}
    return _Index(group_of), group_of


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
        self._items = _Index(items)

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
        words = _words(text)
        found, how = self._items.closest(words), "normalised"
        if not found:
            found, how = self._synonyms(words), "alias"
        if len(found) == 1 and not (how == "alias" and self._shortened(words, found[0])):
            return Match(text, found[0], how, ())
        near = found if len(found) > 1 else [*found, *self._suggestions(words)]
        return Match(text, None, "miss", tuple(dict.fromkeys(near))[:SUGGESTIONS])

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
        found: set[str] = set()
        for group in {group_of[name] for name in index.closest(words)}:
            items = (self._items.closest(name.split("_")) for name in group)
            found.update(next((item for item in items if len(item) == 1), []))
        return sorted(found)

    def _shortened(self, words: Sequence[str], item: str) -> bool:
        """Whether the words are an item's name with some left out.

        Then it is no synonym of them but a guess, as cheddar_cheese for cheddar: it comes
        first among the suggestions instead.
        """
        telling = {word for word in self._items.words[item] if word not in _FILLERS}
        return len(telling) > len(set(words)) and item in self._items.having_all(words)

    def _suggestions(self, words: Sequence[str]) -> tuple[str, ...]:
        # Punctuation and foreign letters, which keep a text from matching, part words here.
        found = self._sharing(sorted(set(_ALPHANUMERIC.findall(" ".join(words)))))
        if len(found) < SUGGESTIONS:
            found += [name for name in self._near("_".join(words)) if name not in found]
        return tuple(found[:SUGGESTIONS])

    def _sharing(self, words: Sequence[str]) -> list[str]:
        """Names that contain all of the words, else those that share most of them.

        Whole words come before parts of words, then fewer words, then by name.
        """
        if not words:
            return []
        size = {name: len(own) for name, own in self._items.words.items()}
        whole = self._items.having_all(words)
        forms = [[f for f in _singulars(word) if len(f) >= _TELLING] for word in words]
        part = [n for n in size if all(any(form in n for form in each) for each in forms)]
        if whole or part:
            return sorted(whole.union(part), key=lambda n: (n not in whole, size[n], n))
        shared = Counter(
            name for word in words if len(word) >= _TELLING for name in self._items.having(word)
        )
        return sorted(shared, key=lambda n: (-shared[n], size[n], n))

    def _near(self, spelled: str) -> list[str]:
        """Names within a third of the length of the normalised text, nearest first."""
        limit = len(spelled) // 3
        names = [n for n in self._items.words if abs(len(n) - len(spelled)) <= limit]
        if not names:
            return []
        masks: dict[str, int] = {}
        for at, letter in enumerate(spelled):
            masks[letter] = masks.get(letter, 0) | 1 << at
        distances = [(_distance(masks, len(spelled), name), name) for name in names]
        return [name for distance, name in sorted(distances) if distance <= limit]


def _distance(masks: dict[str, int], length: int, other: str) -> int:
    """Levenshtein distance of a text to another; bit by bit in parallel.

    G. Myers, J. ACM 46 (1999) 395, in the form of H. Hyyrö (2003).

    Parameters
    ----------
    masks : letter → bits set where the text has it
    length : int, at least 1, of the text
    """
    full, last = (1 << length) - 1, 1 << (length - 1)
    up, down, distance = full, 0, length
    for letter in other:
        equal = masks.get(letter, 0)
        vertical = equal | down
        diagonal = (((equal & up) + up) ^ up) | equal
        rise = down | (full & ~(diagonal | up))
        fall = up & diagonal
        distance += bool(rise & last) - bool(fall & last)
        rise = rise << 1 | 1
        up = full & (fall << 1 | ~(vertical | rise))
        down = rise & vertical
    return distance

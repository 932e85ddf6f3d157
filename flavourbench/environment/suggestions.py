"""Which items a typed text may have meant, where it stands for none.

First what ``flavourbench/data/suggestions.txt`` says of it, then the items whose names, or
synonyms, are most like it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

from flavourbench.environment.words import FILLERS, Index, data_lines, forms, singulars

#: Less of the typed words than this in a name is chance.
_LEAST = 0.3
#: A word of the name that was not typed costs this much.
_UNTYPED = 0.1
#: What words of ``flavourbench/data/forms.txt`` count.
_SAYS_LITTLE = 0.2
#: Shorter words are no evidence in a part of a word.
_PART = 3
#: A slip is likely in so many letters: of an item's name, of a synonym. Few synonyms are slips.
_SLIP, _SLIP_IN_SYNONYM = 3, 6
#: What follows them tells more of the thing before: tuna in brine, salt to taste.
_PREPOSITIONS = frozenset({"for", "from", "in", "on", "to", "with", "without"})
#: Words of a text that are looked at: a name has no more.
_WORDS = 12
_ALPHANUMERIC = re.compile("[a-z0-9]+")


@cache
def hints() -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Lines of ``suggestions.txt``: names, and what to suggest for each of them."""
    parts = (line.partition(":") for line in data_lines("suggestions.txt"))
    return tuple((_listed(names), _listed(found)) for names, _, found in parts)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


@cache
def _hint_index() -> tuple[Index, dict[str, tuple[str, ...]]]:
    """All names of the file, and what to suggest for each."""
    found = {name: suggested for names, suggested in hints() for name in names}
    return Index(found), found


def hinted(words: Sequence[str], synonyms: Callable[[Sequence[str]], Iterable[str]]) -> list[str]:
    """What ``suggestions.txt`` has for the words or, failing that, for those that say much.

    Parameters
    ----------
    synonyms : words → the names that mean the same
    """
    index, suggested = _hint_index()
    if len(words) > _WORDS:
        return []
    for part in (words, [word for word in words if _weight(word) == 1]):
        names = [*index.closest(part), *(n for n in synonyms(part) if n in suggested)]
        if names:
            return [*dict.fromkeys(other for name in names for other in suggested[name])]
    return []


class Likeness:
    """Finds the items most like a text.

    Parameters
    ----------
    items : names in lower-case snake_case
    synonyms : synonym → the item that it stands for
    """

    def __init__(self, items: Iterable[str], synonyms: Mapping[str, str]) -> None:
        #: Spelling → (item, whether it is a synonym).
        spellings = {name: (item, True) for name, item in synonyms.items()}
        spellings |= {name: (name, False) for name in items}
        self._spellings = spellings
        self._words = {name: _telling(name.split("_")) for name in spellings}
        #: Word → the spellings that have it.
        self._having: dict[str, list[str]] = {}
        for name, words in self._words.items():
            for word in words:
                self._having.setdefault(word, []).append(name)
        self._equal: dict[str, set[str]] = {}
        for word in self._having:
            for form in singulars(word):
                self._equal.setdefault(form, set()).add(word)
        #: Words, and spellings written as one, of items and of synonyms alone.
        own = {word for name in items for word in self._words[name]}
        self._texts = (
            _Texts(_joined(own), _SLIP),
            _Texts(_joined(self._having.keys() - own), _SLIP_IN_SYNONYM),
        )
        self._joined = (
            _Texts(_joined(name for name in spellings if not spellings[name][1]), _SLIP),
            _Texts(_joined(name for name in spellings if spellings[name][1]), _SLIP_IN_SYNONYM),
        )

    def most_like(self, words: Sequence[str]) -> list[str]:
        """Items in the order of their likeness to the words, best first.

        The likeness is the share of the typed words that a name holds. A word is held in
        either number; by its share of letters, half or more, where a word of an item begins
        or ends with it; with slips (exchanged neighbours count as one) by the share of letters
        that are right. Words of form and preparation, and words that no name holds, count a
        fifth; a word of the name that was not typed costs a tenth. A synonym counts if all
        its words were typed. A whole text with slips counts like one word. Equal ones: an
        item's own name first, then fewer words, then by name.
        """
        # Punctuation and foreign letters, which keep a text from matching, part words here.
        parts = _ALPHANUMERIC.findall(" ".join(words))
        likeness = self._by_words(_telling(_before_preposition(parts))[:_WORDS])
        for texts in self._joined:
            for name, value in texts.with_slips("".join(parts)):
                likeness[name] = max(value, likeness.get(name, 0))
        best: dict[str, tuple[float, bool, int]] = {}
        for name, value in likeness.items():
            item, synonym = self._spellings[name]
            rank = (-round(value, 6), synonym, len(self._words[name]))
            best[item] = min(rank, best.get(item, rank))
        found = [item for item, rank in best.items() if -rank[0] >= _LEAST]
        return sorted(found, key=lambda item: (best[item], item))

    def _by_words(self, typed: Sequence[str]) -> dict[str, float]:
        """Spelling → share of the typed words that it holds, less what was not typed."""
        likes = {word: self._like(word) for word in typed}
        weight = {word: _weight(word) if likes[word] else _SAYS_LITTLE for word in typed}
        total = sum(weight.values())
        held: dict[str, float] = {}
        used: dict[str, set[str]] = {}
        for word in typed:
            best: dict[str, float] = {}
            for other, like in likes[word].items():
                for name in self._having[other]:
                    best[name] = max(like, best.get(name, 0))
                    used.setdefault(name, set()).add(other)
            for name, like in best.items():
                held[name] = held.get(name, 0) + like * weight[word]
        found = {}
        for name, value in held.items():
            untyped = len(self._words[name]) - len(used[name])
            if not (untyped and self._spellings[name][1]):
                found[name] = value / total - _UNTYPED * untyped
        return found

    def _like(self, word: str) -> dict[str, float]:
        """Words of the spellings that are like a typed one, and how much."""
        found = dict(self._texts[0].with_part(word))
        equal = {other for form in singulars(word) for other in self._equal.get(form, ())}
        if not equal:
            for form in singulars(word):
                for texts in self._texts:
                    for other, like in texts.with_slips(form):
                        found[other] = max(like, found.get(other, 0))
        return found | dict.fromkeys(equal, 1.0)


class _Texts:
    """Keys by their texts, for slips and parts.

    Parameters
    ----------
    pairs : key and text
    letters : one slip is likely in so many letters
    """

    def __init__(self, pairs: Iterable[tuple[str, str]], letters: int) -> None:
        self._entries = [(key, text, _letters(text)) for key, text in pairs]
        self._letters_a_slip = letters

    def with_part(self, word: str) -> Iterator[tuple[str, float]]:
        """Keys whose text begins or ends with the word, and the share of it that is."""
        if len(word) < _PART:
            return
        for key, text, _ in self._entries:
            share = len(word) / len(text)
            if 0.5 <= share < 1 and (text.startswith(word) or text.endswith(word)):
                yield key, 0.5 + 0.4 * share

    def with_slips(self, text: str) -> Iterator[tuple[str, float]]:
        """Keys whose text differs by slips, and the share of letters that are right.

        Several slips leave the first letter as it is.
        """
        size = len(text)
        limit = size // self._letters_a_slip if size > _PART else 0
        if not limit:
            return
        letters, masks = _letters(text), _masks(text)
        for key, other, others in self._entries:
            if abs(len(other) - size) > limit:
                continue
            # Each slip puts at most one letter in place of another.
            if (letters ^ others).bit_count() > 2 * limit:
                continue
            slips = _distance(masks, size, other)
            if slips <= (limit if text[0] == other[0] else 1):
                yield key, 1 - slips / size


def _joined(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names, each with its words written as one."""
    return ((name, name.replace("_", "")) for name in names)


def _before_preposition(words: Sequence[str]) -> Sequence[str]:
    at = next((at for at, word in enumerate(words) if at and word in _PREPOSITIONS), len(words))
    return words[:at]


def _telling(words: Iterable[str]) -> list[str]:
    """Different words without fillers and numbers, or all if there are no others."""
    every = [*dict.fromkeys(words)]
    return [w for w in every if w not in FILLERS and not w.isdigit()] or every


def _weight(word: str) -> float:
    return _SAYS_LITTLE if forms() & singulars(word) else 1.0


def _letters(text: str) -> int:
    """Which letters a text has, as bits."""
    bits = 0
    for letter in text:
        bits |= 1 << (ord(letter) & 31)
    return bits


def _masks(text: str) -> dict[str, int]:
    """Letter → bits set where the text has it."""
    masks: dict[str, int] = {}
    for at, letter in enumerate(text):
        masks[letter] = masks.get(letter, 0) | 1 << at
    return masks


def _distance(masks: Mapping[str, int], length: int, other: str) -> int:
    """Insertions, deletions, replacements and exchanges of neighbours between two texts.

    The optimal string alignment distance, bit by bit in parallel: G. Myers, J. ACM 46 (1999)
    395, in the form of H. Hyyrö (2003), which adds exchanges.

    Parameters
    ----------
    masks : letter → bits set where the text has it
    length : int, at least 1, of the text
    """
    full, last = (1 << length) - 1, 1 << (length - 1)
    up, down, slips = full, 0, length
    diagonal = before = 0
    for letter in other:
        equal = masks.get(letter, 0)
        exchanged = (~diagonal & equal) << 1 & before
        diagonal = (((equal & up) + up ^ up) | equal | down | exchanged) & full
        rise = down | (full & ~(diagonal | up))
        fall = up & diagonal
        slips += bool(rise & last) - bool(fall & last)
        rise = rise << 1 | 1
        up = full & (fall << 1 | ~(diagonal | rise))
        down = rise & diagonal
        before = equal
    return slips

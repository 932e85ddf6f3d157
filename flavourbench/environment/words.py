"""Words of typed texts and of names: folded, in either number, written apart or as one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources

#: Signs that belong to no word (apostrophes, the soft hyphen), and letters that Unicode does
#: not decompose.
_PLAIN = str.maketrans(
    dict.fromkeys("'’‘`´′ʼʻʿʾ\xad")
    | {"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "ı": "i"}
)
#: Signs around a name in a list.
_AROUND = ',.;:!?()[]{}*"'
_SEPARATORS = re.compile("[ _\\-\u2010-\u2015\u2212]+")

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
#: One word in several spellings.
SPELLINGS = {
    "aniseed": "anise",
    "barbeque": "barbecue",
    "bbq": "barbecue",
    "chile": "chili",
    "chilli": "chili",
    "chilly": "chili",
    "colour": "color",
    "colouring": "coloring",
    "donut": "doughnut",
    "filo": "phyllo",
    "fillo": "phyllo",
    "flavour": "flavor",
    "flavoured": "flavored",
    "flavouring": "flavoring",
    "gelatine": "gelatin",
    "liquorice": "licorice",
    "pitta": "pita",
    "savoury": "savory",
    "soya": "soy",
    "szechuan": "sichuan",
    "szechwan": "sichuan",
    "tenderiser": "tenderizer",
    "whisky": "whiskey",
    "yoghourt": "yogurt",
    "yoghurt": "yogurt",
    "yogourt": "yogurt",
}
#: They add nothing to a name: palm hearts are hearts of palm.
FILLERS = frozenset({"and", "of", "with"})
#: Written as one they name another thing: offal is no loaf, a genus not any white fish,
#: preserved fruit no meat, a mint no cabbage, British starch not American flour; and okra or a
#: biscuit is meant by a lady finger.
_APART = frozenset(
    {"sweet_bread", "white_fish", "mince_meat", "winter_greens", "corn_flour", "lady_finger"}
)


def data_lines(name: str) -> list[str]:
    """Lines of a file in ``flavourbench/data``, without comments and blank ones."""
    text = (resources.files("flavourbench.data") / name).read_text("utf-8")
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


@cache
def forms() -> frozenset[str]:
    """Words of ``forms.txt``: they say form, cut or preparation of a thing, not the thing."""
    return frozenset(word for line in data_lines("forms.txt") for word in line.split())


def words_of(text: str) -> list[str]:
    """Words of a text: lower case, without accents, apostrophes and the signs around it."""
    text = text.strip().strip(_AROUND).replace("&", " and ")
    if text.isascii():
        text = text.lower().translate(_PLAIN)
    else:
        # Marks come off the letters of the table first, styled capitals become plain last.
        text = unicodedata.normalize("NFD", text).casefold().translate(_PLAIN)
        text = unicodedata.normalize("NFKD", text).casefold()
        text = "".join(c for c in text if not unicodedata.combining(c))
    return [word for word in _SEPARATORS.split(text.strip()) if word]


def singulars(word: str) -> frozenset[str]:
    """The word and every word it may be the plural of, each in one spelling.

    Non-words among them match nothing.
    """
    return frozenset(SPELLINGS.get(form, form) for form in _singulars(word))


def _singulars(word: str) -> list[str]:
    if word in _IRREGULAR:
        return [word, _IRREGULAR[word]]
    if len(word) < 4 or not word.endswith("s") or word.endswith(_SINGULAR_S):
        return [word]
    if word.endswith("us") and word not in _PLURAL_US:
        return [word]
    forms = [word, word[:-1]]
    if word.endswith("ies"):
        forms += [word[:-3] + "y", word[:-2]]
    elif word.endswith("ves"):
        forms.append(word[:-3] + "f")
    elif word.endswith(("ches", "shes", "ses", "xes", "zes", "oes")):
        forms.append(word[:-2])
    return forms


def _joined(words: Sequence[str]) -> list[str]:
    """The words written as one, the last in either number; none for those that stay apart."""
    if not words or _stands_apart(words):
        return []
    *head, last = words
    return ["".join([*head, form]) for form in singulars(last).union(_singulars(last))]


def _stands_apart(words: Sequence[str]) -> bool:
    forms = singulars(words[-1]) if words else ()
    return any("_".join([*words[:-1], form]) in _APART for form in forms)


class Index:
    """Snake_case names by their words, whatever their number and separators."""

    def __init__(self, names: Iterable[str]) -> None:
        self.words = {name: name.split("_") for name in names}
        self._joined: dict[str, list[str]] = {}
        self._having: dict[str, set[str]] = {}
        for name, words in self.words.items():
            for form in _joined(words):
                self._joined.setdefault(form, []).append(name)
            for word in words:
                for form in singulars(word):
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

    def having_all(self, words: Iterable[str]) -> set[str]:
        """Names with all of the words, in either number and any spelling."""
        sets = [
            {name for form in singulars(word) for name in self._having.get(form, ())}
            for word in set(words)
        ]
        return set.intersection(*sets) if sets else set()

    def _other_number(self, words: Sequence[str]) -> list[str]:
        forms = [singulars(word) for word in words]
        apart = _stands_apart(words)
        found = []
        for name in self.having_all(words):
            own = self.words[name]
            if apart and not _stands_apart(own):
                continue
            if len(own) == len(words) and not any(
                form.isdisjoint(singulars(word)) for form, word in zip(forms, own, strict=True)
            ):
                found.append(name)
        return sorted(found)

"""What a prompt asks: read from its text alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from flavourbench.tasks.design import read_design
from flavourbench.tasks.labels import LABELS

#: A candidate in a line of its own: "A. basil", also "(A) basil" or "- **A:** basil". What follows
#: the label is stripped later: to do so here would take quadratic time on blanks.
_CANDIDATE = re.compile(r"^[ \t>*_-]*\(?([A-H])[*_]*[.):][*_]*[ \t]+(\S[^\n]*)", re.MULTILINE)
#: No longer text is a name.
_LONGEST = 200
#: Shapes of the fields that a question shows. Bounded, so that no text takes long.
_FIELDS = {
    "anchor": r".{1,200}?",
    "category": r".{1,40}?",
    "diet": r"vegan|vegetarian",
    "max_nova": r"[1-4]",
    "region": r".{1,40}?",
}
#: Words by which questions of the published tasks are known, by family.
_PUBLISHED = {
    "substitution": "alternatives to `{anchor}`",
    "pairing": "pairing to `{anchor}`",
    "constraint": "centered on `{anchor}`, select three {diet} complements with NOVA processing"
    " level at most {max_nova};",
    "regional": "cuisine label: {region}.",
}


@dataclass(frozen=True, slots=True)
class Question:
    """What a prompt says; fields that it does not show are None.

    Attributes
    ----------
    family : str, which question it is; None where it is none of the known ones
    anchor, diet, region : str, as shown
    max_nova : int
    choices : eight names in label order, as shown; none where they cannot be told
    """

    family: str | None
    anchor: str | None
    diet: str | None
    max_nova: int | None
    region: str | None
    choices: tuple[str, ...]


def read_prompt(text: str) -> Question:
    """Read a prompt: any text, it raises nothing."""
    choices = _choices(text)
    for family, pattern in _questions():
        found = pattern.search(text)
        if found is not None:
            shown = found.groupdict()
            level = shown.get("max_nova")
            return Question(
                family=family,
                anchor=shown.get("anchor"),
                diet=shown.get("diet"),
                max_nova=None if level is None else int(level),
                region=shown.get("region"),
                choices=choices,
            )
    return Question(None, None, None, None, None, choices)


def _choices(text: str) -> tuple[str, ...]:
    """Names of the candidates, in the order of the labels; none unless there is one such list."""
    found = _CANDIDATE.findall(text)
    labels = "".join(label for label, _ in found)
    if labels.count(LABELS) != 1:
        return ()
    first = labels.index(LABELS)
    names = [name.strip().strip("`*") for _, name in found[first : first + len(LABELS)]]
    return tuple(names) if all(0 < len(name) <= _LONGEST for name in names) else ()


@cache
def _questions() -> list[tuple[str, re.Pattern[str]]]:
    """Families with the patterns of their questions: of the packaged design, and published."""
    own = [
        (f.name, re.compile(rf"^{_filled(f.question)}\r?$", re.MULTILINE))
        for f in read_design().families
    ]
    published = [(name, re.compile(_filled(words))) for name, words in _PUBLISHED.items()]
    return [*own, *published]


def _filled(template: str) -> str:
    """A pattern of the template with its fields filled in; a field repeated is the same."""
    seen: set[str] = set()
    parts = []
    for part in re.split(r"(\{\w+\})", template):
        name = part[1:-1]
        if not part.startswith("{"):
            parts.append(re.escape(part))
        elif name in seen:
            parts.append(f"(?P={name})")
        else:
            seen.add(name)
            parts.append(f"(?P<{name}>{_FIELDS[name]})")
    return "".join(parts)

"""Texts of answers: a sentence or two, then the line that is read."""

from __future__ import annotations

from collections.abc import Sequence

from flavourbench.tasks.labels import LABELS

#: Longer names are left to their labels.
_LONGEST = 80


def closed(reasoning: str, labels: str) -> str:
    """An answer: what is said, and the line with the labels that every parser reads."""
    return f"{reasoning}\nFINAL_SELECTION: {', '.join(labels)}"


def named(labels: str, choices: Sequence[str]) -> str:
    """Candidates in a sentence, as "basil, mint and thyme".

    A name that holds anything but letters, digits and ``-'_ `` is told by its label: it could
    be read as an answer, or as the end of hidden reasoning.
    """
    shown = [told(choices[LABELS.index(label)]) or f"candidate {label}" for label in labels]
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def told(name: str) -> str | None:
    """A name as a sentence shows it; None for what is no plain one."""
    plain = " ".join(name.replace("_", " ").split())
    fit = all(c.isalnum() or c in " -'" for c in plain)
    return plain if plain and fit and len(plain) <= _LONGEST else None

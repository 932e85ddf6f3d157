"""From outcomes to a core and from selections to scores (docs/studies.md), in plain Python.

Texts, dictionaries and integers; no object of the package.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

VALID = "answered"
_LABELS = "ABCDEFGH"
_FULL = 10_000
_POINT = 100

Stratum = tuple[str, str]


def core_tasks(
    outcomes: Mapping[str, Mapping[str, str]], places: Mapping[str, Stratum], seed: str, size: int
) -> tuple[dict[Stratum, list[str]], dict[str, dict[str, str]], dict[Stratum, list[str]]]:
    """The common core of some models.

    Parameters
    ----------
    outcomes : slot → task id → outcome
    places : task id → panel and family, of ranked families
    seed, size : of the core

    Returns
    -------
    (panel and family → task ids in the order of their digests, task id → slot → outcome of what
    is not valid for all, panel and family → other valid tasks, that the core does not need). A
    stratum may come out shorter than ``size``.
    """
    left: dict[str, dict[str, str]] = {}
    ordered: dict[Stratum, list[tuple[str, str]]] = {}
    for task, (panel, family) in places.items():
        wrong = {slot: of[task] for slot, of in outcomes.items() if of[task] != VALID}
        rows = ordered.setdefault((panel, family), [])
        if wrong:
            left[task] = wrong
            continue
        # For texts RFC 8785 is what json writes without spaces and escapes.
        row = ["fb-core-1", seed, panel, family, task]
        text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
        rows.append((hashlib.sha256(text.encode()).hexdigest(), task))
    chosen, surplus = {}, {}
    for stratum, rows in ordered.items():
        names = [task for _, task in sorted(rows)]
        chosen[stratum] = names[:size]
        surplus[stratum] = names[size:]
    return chosen, left, surplus


def points_of(selection: str, scores: Sequence[int]) -> int | None:
    """Basis points of three labels in alphabetical order, out of 56; None if they are none."""
    try:
        place = ["".join(labels) for labels in combinations(_LABELS, 3)].index(selection)
    except ValueError:
        return None
    return int(scores[place])


def bounds(points: Sequence[int | None], strata: Sequence[Stratum]) -> tuple[Fraction, Fraction]:
    """Score in points if all that is not valid (None) counted 0, and if it counted 100."""
    ends = []
    for filler in (0, _FULL):
        filled = [filler if value is None else value for value in points]
        ends.append(_equal_mean(filled, strata))
    return ends[0], ends[1]


def own_cases(points: Sequence[int | None], strata: Sequence[Stratum]) -> Fraction | None:
    """Score in points over valid answers alone; None if a stratum has none."""
    kept = [(value, s) for value, s in zip(points, strata, strict=True) if value is not None]
    if {s for _, s in kept} != {*strata}:
        return None
    return _equal_mean([value for value, _ in kept], [s for _, s in kept])


def _equal_mean(values: Sequence[int], strata: Sequence[Stratum]) -> Fraction:
    groups: dict[Stratum, list[int]] = {}
    for value, stratum in zip(values, strata, strict=True):
        groups.setdefault(stratum, []).append(value)
    means = [Fraction(sum(group), len(group) * _POINT) for group in groups.values()]
    return sum(means, Fraction(0)) / len(means)


def rank_of(score: Fraction, others: Sequence[Fraction | None]) -> int:
    """1 + those that are greater."""
    return 1 + sum(other is not None and other > score for other in others)

"""Names of the files of the published layout, and the columns of its tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flavourbench.errors import InputError, listed

TASKS, OBSERVATIONS = "tasks.jsonl", "primary_observations.jsonl"
LEADERBOARD, PAIRWISE = "leaderboard.csv", "pairwise.csv"
#: What has to be said wherever the scores are shown; only where there is something.
NOTE = "NOTE.txt"
FILES = (TASKS, OBSERVATIONS, LEADERBOARD, PAIRWISE, NOTE)
PAIR_COLUMNS = (
    *("left", "right", "mean_difference", "cohen_dz", "sign_flip_p", "holm_p", "resolved"),
)
_BEFORE = ("model_id", "name", "score", "se")
_AFTER = (
    *("pointwise_low", "pointwise_high", "simultaneous_low", "simultaneous_high"),
    *("rank", "rank_low", "rank_high", "group", "chance_score", "chance_p"),
)
#: Families in the order of the published table; others follow by name.
_FAMILIES = ("substitution", "pairing", "constraint")


def family_columns(families: Iterable[str]) -> list[str]:
    """Families in the order of their columns, which bear their names."""
    names = set(families)
    known = [name for name in _FAMILIES if name in names]
    return known + sorted(names.difference(known))


def panel_columns(panels: Iterable[str]) -> dict[str, str]:
    """Column of each panel: ``panel_1``, ``panel_2``, … by the order of their names."""
    return {name: f"panel_{number}" for number, name in enumerate(sorted(panels), 1)}


def board_columns(families: Sequence[str], panels: Iterable[str]) -> list[str]:
    """All columns of a leaderboard.

    Raises
    ------
    InputError
        A family bears the name of another column.
    """
    inner = [*panel_columns(panels).values()]
    twice = sorted({*families} & {*_BEFORE, *inner, *_AFTER})
    if twice:
        raise InputError(
            f"family {listed(twice)} bears the name of another column of {LEADERBOARD}: rename it"
        )
    return [*_BEFORE, *families, *inner, *_AFTER]

"""The common core: the tasks that every ranked model answered validly, chosen blind to scores.

Whether a task enters depends on outcomes, ids and a seed. Nothing here can hold a score or a
selection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flavourbench.collect.outcomes import ANSWERED
from flavourbench.errors import InputError, listed, shown
from flavourbench.identity import json_sha256

RECIPE = "fb-core-1"
#: How a cell that nobody asked counts.
MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a task counts: its id, panel and family."""

    task_id: str
    panel: str
    family: str


@dataclass(frozen=True)
class Core:
    """Frozen task ids.

    Attributes
    ----------
    seed : str
    models : slots that were looked at, in their order
    tasks : ids of the core by panel and family, each in the order of its digests
    left_out : id of each task that not every model answered validly → slot → outcome
    """

    seed: str
    models: tuple[str, ...]
    tasks: Mapping[tuple[str, str], tuple[str, ...]]
    left_out: Mapping[str, Mapping[str, str]]

    @property
    def size(self) -> int:
        """Number of tasks in each panel and family."""
        return len(next(iter(self.tasks.values())))

    @property
    def ids(self) -> frozenset[str]:
        """All task ids of the core."""
        return frozenset(name for names in self.tasks.values() for name in names)


def freeze(
    outcomes: Mapping[str, Mapping[str, str]],
    places: Sequence[Place],
    seed: str,
    size: int | None = None,
) -> Core:
    """Freeze the common core of some models.

    Within each panel and family: the tasks that are valid for every model, by the hex SHA-256
    of the RFC 8785 JSON of ``["fb-core-1", seed, panel, family, task_id]``, ascending, the
    first ``size``; by default as many as every panel and family has.

    Parameters
    ----------
    outcomes : slot → task id → outcome
    places : the tasks of ranked families

    Raises
    ------
    InputError
        No model or no task; a panel and family with fewer than ``size`` (or no) valid tasks.
    """
    if not outcomes or not places:
        raise InputError("nothing to freeze: a core needs a model and a task")
    left_out: dict[str, dict[str, str]] = {}
    valid: dict[tuple[str, str], list[str]] = {}
    for place in places:
        found = {slot: of.get(place.task_id, MISSING) for slot, of in outcomes.items()}
        wrong = {slot: outcome for slot, outcome in found.items() if outcome != ANSWERED}
        names = valid.setdefault((place.panel, place.family), [])
        if wrong:
            left_out[place.task_id] = wrong
        else:
            names.append(place.task_id)
    for (panel, family), names in valid.items():
        names.sort(key=lambda name: json_sha256([RECIPE, seed, panel, family, name]))
        if len(names) < (size or 1):
            raise InputError(
                f"panel {shown(panel)}, family {shown(family)}: {len(names)} tasks are valid for"
                f" every model, {size or 1} are needed; most invalid cells have"
                f" {listed(_worst(left_out))}"
            )
    kept = min(map(len, valid.values())) if size is None else size
    tasks = {key: tuple(names[:kept]) for key, names in valid.items()}
    return Core(seed, tuple(outcomes), tasks, left_out)


def _worst(left_out: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Slots with the most cells that are not valid, the worst first."""
    counts: dict[str, int] = {}
    for cells in left_out.values():
        for slot in cells:
            counts[slot] = counts.get(slot, 0) + 1
    return sorted(counts, key=lambda slot: (-counts[slot], slot))[:3]

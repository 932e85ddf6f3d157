"""The common core: the tasks that every ranked model answered validly, chosen blind to scores.

Whether a task enters depends on outcomes, ids and a seed. Nothing here can hold a score, an
answer or a selection.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flavourbench.collect.outcomes import ANSWERED, OUTCOMES
from flavourbench.errors import InputError, listed, shown
from flavourbench.identity import json_sha256, table_sha256

RECIPE = "fb-core-1"
_COVERAGE = "flavourbench-coverage/1"
#: How a cell that nobody asked counts.
MISSING = "missing"
#: Why a task left that every model answered: the core had enough of them.
SURPLUS = "surplus"
_KNOWN = frozenset({*OUTCOMES, MISSING})


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a task counts: its id, panel and family."""

    task_id: str
    panel: str
    family: str


@dataclass(frozen=True)
class Coverage:
    """How the cells of M models at T ranked tasks ended, and nothing else of them.

    Attributes
    ----------
    models : slots and digests of their routes, by slot
    places : the tasks, by id
    outcomes : M rows of T texts, each an outcome of a cell or ``MISSING``

    Raises
    ------
    InputError
        No model or no task, a slot or a task twice, one route in two slots, or an entry that
        is no outcome.
    """

    models: tuple[tuple[str, str], ...]
    places: tuple[Place, ...]
    outcomes: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if not self.models or not self.places:
            raise InputError("nothing to freeze: a core needs a model and a task")
        check_routes(self.models)
        twice = _twice([place.task_id for place in self.places])
        if twice:
            raise InputError(f"task {listed(twice)} occurs twice: keep one")
        shape = [len(row) for row in self.outcomes]
        if shape != [len(self.places)] * len(self.models):
            raise InputError(
                f"outcomes of shape {len(shape)} × {sorted({*shape})} for {len(self.models)} models"
                f" × {len(self.places)} tasks"
            )
        for (slot, _), row in zip(self.models, self.outcomes, strict=True):
            for place, outcome in zip(self.places, row, strict=True):
                if not isinstance(outcome, str) or outcome not in _KNOWN:
                    raise InputError(
                        f"slot {shown(slot)}, task {shown(place.task_id)}: {shown(outcome)} is no"
                        f" outcome: use {', '.join(sorted(_KNOWN))}"
                    )

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """The models' ids."""
        return tuple(slot for slot, _ in self.models)

    @cached_property
    def columns(self) -> dict[str, list[str]]:
        """One row a cell, by slot and task id, whatever the order was."""
        models = sorted(range(len(self.models)), key=self.models.__getitem__)
        tasks = sorted(range(len(self.places)), key=self.places.__getitem__)
        return {
            "model": [self.models[m][0] for m in models for _ in tasks],
            "route": [self.models[m][1] for m in models for _ in tasks],
            "task": [self.places[t].task_id for t in tasks] * len(models),
            "panel": [self.places[t].panel for t in tasks] * len(models),
            "family": [self.places[t].family for t in tasks] * len(models),
            "outcome": [self.outcomes[m][t] for m in models for t in tasks],
        }

    @cached_property
    def sha256(self) -> str:
        """Digest of models, tasks and outcomes."""
        return coverage_sha256(self.columns)

    def only(self, slots: Sequence[str]) -> Coverage:
        """The coverage of some of the models."""
        kept = [at for at, slot in enumerate(self.slots) if slot in slots]
        models = tuple(self.models[at] for at in kept)
        return Coverage(models, self.places, tuple(self.outcomes[at] for at in kept))


def coverage_sha256(columns: Mapping[str, Sequence[str]]) -> str:
    """Digest of :attr:`Coverage.columns`."""
    return table_sha256(columns, _COVERAGE)


def _twice(names: Sequence[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def check_routes(models: Sequence[tuple[str, str]]) -> None:
    """Refuse models that were asked in two ways, or are one.

    Parameters
    ----------
    models : slots and digests of their routes

    Raises
    ------
    InputError
        With the slots and routes.
    """
    routes: dict[str, str] = {}
    slots: dict[str, str] = {}
    for slot, route in models:
        if slot in slots:
            both = f"{slots[slot][:12]} and {route[:12]}"
            raise InputError(
                f"slot {shown(slot)} occurs twice (routes {both}): cells of two routes are never"
                " pooled, keep one"
            )
        slots[slot] = route
        other = routes.setdefault(route, slot)
        if other != slot:
            raise InputError(f"slots {shown(other)} and {shown(slot)} are one route: keep one")


@dataclass(frozen=True)
class Core:
    """Frozen task ids, with the record of how they came about.

    Attributes
    ----------
    seed : str
    models : slots that were looked at and digests of their routes, by slot
    size : number of tasks in each panel and family
    tasks : ids of the core by panel and family, each in the order of its digests
    valid : number of tasks of each panel and family that every model answered validly
    left_out : id of each task that not every model answered validly → slot → outcome
    surplus : ids of the tasks that every model answered and the core does not need
    invalid : slot → outcome → number of its cells among all tasks, other than answered
    coverage_sha256 : digest of the coverage it was frozen from
    """

    seed: str
    models: tuple[tuple[str, str], ...]
    size: int
    tasks: Mapping[tuple[str, str], tuple[str, ...]]
    valid: Mapping[tuple[str, str], int]
    left_out: Mapping[str, Mapping[str, str]]
    surplus: tuple[str, ...]
    invalid: Mapping[str, Mapping[str, int]]
    coverage_sha256: str

    @cached_property
    def ids(self) -> frozenset[str]:
        """All task ids of the core."""
        return frozenset(name for names in self.tasks.values() for name in names)

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """The models it was frozen for."""
        return tuple(slot for slot, _ in self.models)

    @cached_property
    def content(self) -> dict[str, Any]:
        """The whole record as one JSON object."""
        left = {name: dict(sorted(cells.items())) for name, cells in self.left_out.items()}
        left |= {name: {} for name in self.surplus}
        return {
            "recipe": RECIPE,
            "seed": self.seed,
            "size": self.size,
            "models": [{"slot": slot, "route_digest": route} for slot, route in self.models],
            "strata": [
                {"panel": key[0], "family": key[1], "valid": self.valid.get(key), "tasks": [*names]}
                for key, names in sorted(self.tasks.items())
            ],
            "left_out": [
                {"task": name, "why": "invalid" if cells else SURPLUS, "invalid": cells}
                for name, cells in sorted(left.items())
            ],
            "invalid_cells": [
                {"slot": slot, "outcomes": dict(sorted(self.invalid.get(slot, {}).items()))}
                for slot in self.slots
            ],
            "coverage_sha256": self.coverage_sha256,
        }

    @cached_property
    def sha256(self) -> str:
        """Digest of the whole record."""
        return json_sha256(self.content)


def freeze(coverage: Coverage, seed: str, size: int | None = None) -> Core:
    """Freeze the common core of some models.

    Within each panel and family: the tasks that are valid for every model, by the hex SHA-256
    of the RFC 8785 JSON of ``["fb-core-1", seed, panel, family, task_id]``, ascending, the
    first ``size``; by default as many as every panel and family has.

    Raises
    ------
    InputError
        A panel and family with fewer than ``size`` (or no) valid tasks.
    """
    left_out: dict[str, dict[str, str]] = {}
    valid: dict[tuple[str, str], list[str]] = {}
    for at, place in enumerate(coverage.places):
        cells = zip(coverage.slots, (row[at] for row in coverage.outcomes), strict=True)
        wrong = {slot: outcome for slot, outcome in cells if outcome != ANSWERED}
        names = valid.setdefault((place.panel, place.family), [])
        if wrong:
            left_out[place.task_id] = wrong
        else:
            names.append(place.task_id)
    for (panel, family), names in valid.items():
        if len(names) < (size or 1):
            raise InputError(_short(coverage, (panel, family), len(names), size))
        names.sort(key=lambda name: json_sha256([RECIPE, seed, panel, family, name]))
    kept = min(map(len, valid.values())) if size is None else size
    invalid = {
        slot: dict(Counter(outcome for outcome in row if outcome != ANSWERED))
        for slot, row in zip(coverage.slots, coverage.outcomes, strict=True)
    }
    return Core(
        seed=seed,
        models=tuple(sorted(coverage.models)),
        size=kept,
        tasks={key: tuple(names[:kept]) for key, names in sorted(valid.items())},
        valid={key: len(names) for key, names in sorted(valid.items())},
        left_out=left_out,
        surplus=tuple(sorted(name for names in valid.values() for name in names[kept:])),
        invalid=invalid,
        coverage_sha256=coverage.sha256,
    )


def _short(coverage: Coverage, stratum: tuple[str, str], found: int, size: int | None) -> str:
    """Why a panel and family has too few tasks, and because of which models."""
    inside = [at for at, p in enumerate(coverage.places) if (p.panel, p.family) == stratum]
    invalid = {
        slot: sum(row[at] != ANSWERED for at in inside)
        for slot, row in zip(coverage.slots, coverage.outcomes, strict=True)
    }
    worst = sorted((slot for slot in invalid if invalid[slot]), key=lambda s: (-invalid[s], s))
    valid = [f"{shown(slot)} {len(inside) - invalid[slot]}" for slot in worst[:3]]
    whose = f" (valid of {len(inside)}: {', '.join(valid)})" if valid else ""
    smaller = "" if size is None or not found else ", or choose a smaller size"
    return (
        f"panel {shown(stratum[0])}, family {shown(stratum[1])}: {found} tasks are valid for every"
        f" model, {size or 1} are needed{whose}: ask what was not asked or failed, leave a model"
        f" out{smaller}"
    )


def parse_core(content: Mapping[str, Any]) -> Core:
    """The core of a record (:attr:`Core.content`).

    Raises
    ------
    ValueError, LookupError, TypeError, AttributeError
        It is none.
    """
    if content["recipe"] != RECIPE:
        raise InputError(f"the core has recipe {shown(content['recipe'])}, not {RECIPE}")
    left = content["left_out"]
    core = Core(
        seed=content["seed"],
        models=tuple((entry["slot"], entry["route_digest"]) for entry in content["models"]),
        size=content["size"],
        tasks={
            (entry["panel"], entry["family"]): tuple(entry["tasks"]) for entry in content["strata"]
        },
        valid={(entry["panel"], entry["family"]): entry["valid"] for entry in content["strata"]},
        left_out={entry["task"]: entry["invalid"] for entry in left if entry["why"] != SURPLUS},
        surplus=tuple(entry["task"] for entry in left if entry["why"] == SURPLUS),
        invalid={entry["slot"]: entry["outcomes"] for entry in content["invalid_cells"]},
        coverage_sha256=content["coverage_sha256"],
    )
    if core.content != content or not isinstance(core.seed, str) or not core.models:
        raise ValueError("the record of a core holds something else, or in another order")
    return core

"""``primary_observations.jsonl``: one cell a line, what the answer came to.

Answers themselves are not in it. A selection is looked up in the score map of its task, and a
score that is stated has to be that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flavourbench.analysis.answers import Evidence, Model, Observation
from flavourbench.analysis.core import MISSING, check_routes
from flavourbench.collect.outcomes import ANSWERED, OUTCOMES, TRANSPORT, UNPARSEABLE
from flavourbench.errors import InputError, shown
from flavourbench.identity import json_sha256
from flavourbench.tasks.jsonl import check_unicode, compact, json_lines
from flavourbench.tasks.labels import PORTFOLIO_INDEX
from flavourbench.tasks.published import PANEL_KEYS
from flavourbench.tasks.reward import score_of
from flavourbench.tasks.taskset import Task, TaskSet, check_text

ROUTE_RECIPE = "flavourbench-published-route/1"
#: How a model was asked, as far as a row says so; one that is null says nothing.
_ROUTE_KEYS = ("route_digest", "requested_model", "served_model", "provider")
#: Other names of keys.
_MODEL_KEYS, _OUTCOME_KEYS = ("model_id", "model"), ("outcome", "status")
#: Other words for an outcome; of an answer that came, ``valid`` tells what it is.
_CAME, _FAILED = ("completed", "success", "ok"), ("failed", "error")


@dataclass
class Seen:
    """What the rows say.

    Attributes
    ----------
    routes : model id → how it was asked
    simulated : ids of models that choose by the scores
    cells : model and task id → what the first answer came to
    ranked : task id → whether the task is in the core, where the rows say so
    others : number of rows of later repeats, which never rank
    """

    routes: dict[str, dict[str, str]] = field(default_factory=dict)
    simulated: set[str] = field(default_factory=set)
    cells: dict[tuple[str, str], Observation] = field(default_factory=dict)
    ranked: dict[str, bool] = field(default_factory=dict)
    others: int = 0

    def models(self, names: Mapping[str, str], source: Mapping[str, str]) -> tuple[Model, ...]:
        """The models by id. Their digests cover what the rows say of a route, its own included.

        Raises
        ------
        InputError
            Two models have one digest of a route.
        """
        check_routes(
            [(m, r["route_digest"]) for m, r in self.routes.items() if "route_digest" in r]
        )
        found = []
        for slot, stated in sorted(self.routes.items()):
            simulated = slot in self.simulated
            route = {"recipe": ROUTE_RECIPE, "model_id": slot, "simulated": simulated, **stated}
            name = names.get(slot, slot)
            found.append(Model(slot, name, json_sha256(route), route, source, simulated))
        return tuple(found)

    def observations(self, tasks: TaskSet) -> tuple[Observation, ...]:
        """Of all models at all tasks, by id; a cell without a row is missing."""
        return tuple(
            self.cells.get((slot, task_id)) or Observation(slot, task_id, MISSING, "", None, None)
            for slot in sorted(self.routes)
            for task_id in sorted(tasks.by_id)
        )


def read_observations(path: Path, tasks: TaskSet, digest: Any = None) -> Seen:
    """Read a file of observations; only the first answers (repeat 0) are looked at.

    Parameters
    ----------
    digest : a hash object, fed with every byte

    Raises
    ------
    InputError
        With the line: a task that is unknown or of another panel, a cell twice, a model over
        two routes, a selection that is no portfolio, a valid answer without one, an invalid
        answer with one or with a score, or a score that the score map does not have.
    """
    seen = Seen()
    lines: dict[tuple[str, str, int], int] = {}
    asked: dict[tuple[str, str], int] = {}
    for number, row in json_lines(path, digest):
        try:
            check_unicode(row)
            slot, task, repeat = _cell(row, tasks)
            first = lines.setdefault((slot, task.id, repeat), number)
            if first != number:
                raise InputError(
                    f"model {shown(slot)}, task {shown(task.id)}, repeat {repeat} is that of line"
                    f" {first} too: keep one"
                )
            _take_route(seen, asked, slot, row, number)
            ended = _observation(row, slot, task)
            if repeat:
                seen.others += 1
                continue
            seen.cells[slot, task.id] = ended
            _take_ranked(seen, task, row)
        except InputError as error:
            raise InputError(f"{shown(path, 200)} line {number}: {error}") from error
    if not seen.cells:
        raise InputError(f"{shown(path, 200)}: no row has repeat 0, which alone ranks: number so")
    return seen


def _cell(row: Mapping[str, Any], tasks: TaskSet) -> tuple[str, Task, int]:
    """Model, task and repeat of a row."""
    slot = check_text("model_id", _first(row, _MODEL_KEYS))
    task_id = check_text("task_id", row.get("task_id"))
    task = tasks.by_id.get(task_id)
    if task is None:
        raise InputError(
            f"task {shown(task_id)} is in no task file: add its file, or leave the row out"
        )
    panel = _first(row, PANEL_KEYS)
    if panel not in (None, task.panel):
        raise InputError(
            f"task {shown(task_id)} is of panel {shown(task.panel)}, not {shown(panel)}: do not"
            " mix panels"
        )
    repeat = row.get("repeat", 0)
    if isinstance(repeat, bool) or not isinstance(repeat, int) or repeat < 0:
        raise InputError(f"repeat is {_json(repeat)}: use a number, 0 for the first answer")
    return slot, task, repeat


def _take_route(
    seen: Seen, asked: dict[tuple[str, str], int], slot: str, row: Mapping[str, Any], number: int
) -> None:
    """Note how a model was asked; ``asked`` has the line that first said so."""
    route = seen.routes.setdefault(slot, {})
    for key in _ROUTE_KEYS:
        if row.get(key) is None:
            continue
        value = check_text(key, row[key])
        known = route.setdefault(key, value)
        first = asked.setdefault((slot, key), number)
        if known != value:
            raise InputError(
                f"model {shown(slot)} has {key} {shown(value)}, in line {first} {shown(known)}:"
                " cells of two routes are never pooled, keep one"
            )
    if _flag(row, "simulated"):
        seen.simulated.add(slot)


def _take_ranked(seen: Seen, task: Task, row: Mapping[str, Any]) -> None:
    """Note whether a task is ranked, if the row says so."""
    ranked = _flag(row, "in_core")
    if ranked and not task.ranked:
        raise InputError(
            f"in_core of task {shown(task.id)} is true, but its family, {shown(task.family)}, is"
            " never ranked: use false"
        )
    if ranked is not None and seen.ranked.setdefault(task.id, ranked) != ranked:
        raise InputError(
            f"in_core of task {shown(task.id)} is {_json(ranked)}, that of another row is not: a"
            " task is ranked for all models or for none"
        )


def _observation(row: Mapping[str, Any], slot: str, task: Task) -> Observation:
    chosen = row.get("selection") or None
    valid = _flag(row, "valid")
    if valid is None:
        valid = chosen is not None
    outcome = _outcome(_first(row, _OUTCOME_KEYS), valid)
    if valid != (outcome == ANSWERED):
        raise InputError(
            f"outcome {outcome} with valid {_json(valid)}: an answer is valid if it is"
            f" {ANSWERED}, and only then"
        )
    selection = _selection(chosen, valid)
    bps = None if selection is None else score_of(task, selection)
    stated = row.get("score_bps")
    if stated is not None and (type(stated) is not int or stated != bps):
        if bps is None:
            raise InputError(
                f"score_bps is {_json(stated)}, but the answer is invalid ({outcome}), which has"
                " no score: use null"
            )
        raise InputError(
            f"score_bps is {_json(stated)}, but {selection} has {bps} in the score map of task"
            f" {shown(task.id)}: correct one of them"
        )
    reason = row.get("reason") or ""
    if not isinstance(reason, str):
        raise InputError(f"reason is {_json(reason)}: use a text or null")
    return Observation(slot, task.id, outcome, reason, selection, bps)


def _outcome(stated: Any, valid: bool) -> str:
    if stated is None or stated in _CAME:
        return ANSWERED if valid else UNPARSEABLE
    if stated in _FAILED:
        return TRANSPORT
    if stated not in (*OUTCOMES, MISSING):
        raise InputError(
            f"outcome is {_json(stated)}: use one of {', '.join((*OUTCOMES, MISSING))}"
        )
    return str(stated)


def _selection(value: Any, valid: bool) -> str | None:
    """Labels in alphabetical order: of ``"ACF"``, ``"C, A, F"`` or ``["A", "C", "F"]``."""
    if not valid:
        if value is not None:
            raise InputError(f"an invalid answer with the selection {_json(value)}: use null")
        return None
    if value is None:
        raise InputError("a valid answer without a selection: give it, or valid false")
    parts = value.replace(",", " ").split() if isinstance(value, str) else value
    if isinstance(parts, list) and all(isinstance(part, str) for part in parts):
        labels = "".join(sorted("".join(parts)))
        if labels in PORTFOLIO_INDEX:
            return labels
    raise InputError(f"selection {_json(value)} is no portfolio: use three labels, as ACF")


def _first(row: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    """The value of the first key that says something."""
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _flag(row: Mapping[str, Any], key: str) -> bool | None:
    value = row.get(key)
    if value is not None and not isinstance(value, bool):
        raise InputError(f"{key} is {_json(value)}: use true or false")
    return value


def _json(value: Any) -> str:
    return shown(compact(value))


def _stated_route(model: Model) -> dict[str, str]:
    """What a row says of a route: of one that was imported what it said before."""
    if model.route.get("recipe") != ROUTE_RECIPE:
        return {"route_digest": model.route_digest}
    return {key: model.route[key] for key in _ROUTE_KEYS if key in model.route}


def observation_lines(evidence: Evidence) -> Iterator[str]:
    """The lines of the file, without line ends, by model and task; missing cells are left out."""
    models = {model.slot: model for model in evidence.models}
    panels = {task.id: task.panel for task in evidence.tasks.tasks}
    for seen in evidence.observations:
        if seen.outcome == MISSING:
            continue
        model = models[seen.slot]
        row = {
            "model_id": seen.slot,
            "task_id": seen.task_id,
            "release_panel": panels[seen.task_id],
            "repeat": 0,
            **_stated_route(model),
            "outcome": seen.outcome,
            "reason": seen.reason,
            "valid": seen.bps is not None,
            "selection": seen.selection,
            "score_bps": seen.bps,
            "in_core": seen.task_id in evidence.core.ids,
        }
        yield compact(row | {"simulated": True} if model.simulated else row)

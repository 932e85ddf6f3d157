"""Answers in hand: a JSONL file with one response a task, in one of the documented forms."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flavourbench.errors import InputError, listed, shown
from flavourbench.tasks.jsonl import json_lines
from flavourbench.tasks.taskset import Task, TaskSet

#: Keys under which the text may stand.
_TEXT_KEYS = ("response", "completion", "answer", "answer_markdown")
_NESTED = "generation"
_DONE = ("completed", "success", "ok")
#: Keys of whole answers of providers.
_PROVIDER_KEYS = ("choices", "output", "content", "candidates", "message", "messages")
_FORMS = (
    'write {"task_id": …, "response": "…"}; the text may also stand under completion, answer,'
    " answer_markdown or generation.answer_markdown"
)


def read_responses(path: Path, tasks: TaskSet) -> dict[str, str]:
    """Texts of the answers by task id; missing ones (null, "", or not completed) are left out.

    Raises
    ------
    InputError
        A line in another form, an id that is no task's or occurs twice, or an answer to
        another prompt or panel than the task has.
    """
    found: dict[str, str] = {}
    lines: dict[str, int] = {}
    unknown: list[str] = []
    first_unknown = 0
    for number, row in json_lines(path):
        where = f"{shown(path, 200)} line {number}"
        try:
            task_id, text = _answer(row)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        if task_id in lines:
            raise InputError(
                f"{where}: task id {shown(task_id)} was answered in line {lines[task_id]}:"
                " keep one answer a task"
            )
        lines[task_id] = number
        task = tasks.by_id.get(task_id)
        if task is None:
            unknown.append(task_id)
            first_unknown = first_unknown or number
            continue
        _check_same(row, task, where)
        if text:
            found[task_id] = text
    if unknown:
        raise InputError(
            f"{shown(path, 200)} line {first_unknown}: {len(unknown)} of {len(lines)} answers are"
            f" to no task of {listed([*tasks.panels])}: {listed(unknown, 5)}; name their panel"
            " (--tasks, or panels in study.toml), or leave them out"
        )
    return found


def _answer(row: Mapping[str, Any]) -> tuple[str, str | None]:
    """Task id and text of one line."""
    inner = row.get("response")
    holders: list[Mapping[str, Any]] = [row, inner] if isinstance(inner, dict) else [row]
    ids = [holder["task_id"] for holder in holders if "task_id" in holder]
    if not ids:
        raise InputError(f"no task_id: {_FORMS}")
    if not isinstance(ids[0], str) or ids[-1] != ids[0]:
        raise InputError(f"task_id is {listed([str(i) for i in ids])}: give one text")
    texts = [entry for holder in holders for entry in _texts(holder)]
    done = all(holder["status"] in _DONE for holder in holders if "status" in holder)
    if not any(_texts(holders[-1])):  # an object at response has to hold the text
        alien = [key for holder in holders for key in _PROVIDER_KEYS if key in holder]
        if not (done or texts or alien):
            return ids[0], None
        what = f"a provider's object with {alien[0]}" if alien else f"the keys {listed([*row])}"
        raise InputError(f"{what}, but no text: {_FORMS}")
    for key, text in texts:
        if text is not None and not isinstance(text, str):
            raise InputError(f"{key} is {shown(json.dumps(text))}, not a text or null: {_FORMS}")
    # A key that was left at null beside a text says nothing.
    different = {text for _, text in texts if text is not None}
    if len(different) > 1:
        raise InputError(f"{listed([key for key, _ in texts])} hold different texts: keep one")
    return ids[0], different.pop() if different and done else None


def _texts(holder: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Where a text stands in an object, and what it is."""
    for key in _TEXT_KEYS:
        # A response that is an object is looked into on its own.
        if key in holder and not (key == "response" and isinstance(holder[key], dict)):
            yield key, holder[key]
    inner = holder.get(_NESTED)
    if isinstance(inner, dict) and "answer_markdown" in inner:
        yield f"{_NESTED}.answer_markdown", inner["answer_markdown"]


def _check_same(row: Mapping[str, Any], task: Task, where: str) -> None:
    """Refuse an answer that says it belongs to another prompt or panel."""
    for key, expected in (("prompt", task.prompt), ("prompt_sha256", task.prompt_sha256)):
        if key in row and row[key] != expected:
            raise InputError(
                f"{where}: {key} is not that of task {shown(task.id)}: this answers another version"
            )
    panel = row.get("release_panel", task.panel)
    if panel != task.panel:
        raise InputError(
            f"{where}: task {shown(task.id)} is of panel {shown(task.panel)}, not {shown(panel)}:"
            " do not mix panels"
        )


def template_lines(tasks: TaskSet) -> list[str]:
    """The file to fill in: one object a task, ``response`` null."""
    return [
        json.dumps(
            {"task_id": task.id, "prompt": task.prompt, "response": None}, ensure_ascii=False
        )
        for task in tasks.tasks
    ]

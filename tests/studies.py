"""Studies with answers in hand, small enough for tests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from flavourbench.tasks.files import BUNDLED, read_tasks
from flavourbench.tasks.labels import PORTFOLIOS
from flavourbench.tasks.taskset import Task, TaskSet

STUDY = """
environment = "pantry"
panels = ["test-1"]
responses = "answers"

[core]
seed = "7"

[plan]
draws = 200
flips = 300
"""
SLOTS = ("basil", "cumin", "dill")


def panel() -> TaskSet:
    """The panel of the study."""
    return read_tasks(BUNDLED / "test-1")


def choice(slot: str, task: Task) -> str:
    """A portfolio out of a digest, a good one more often for slots that come later."""
    digest = hashlib.sha256(f"{slot} {task.id}".encode()).digest()
    picks = [PORTFOLIOS[byte % 56] for byte in digest[: 1 + (ord(slot[0]) - ord("a"))]]
    return max(picks, key=lambda label: task.scores[PORTFOLIOS.index(label)])


def write_answers(
    folder: Path,
    slot: str,
    other: Mapping[str, str | None] | None = None,
    tasks: Iterable[Task] | None = None,
) -> Path:
    """A file of responses; ``other`` texts by task id, None to leave a task out."""
    rows = []
    for task in panel().tasks if tasks is None else tasks:
        text = f"FINAL_SELECTION: {', '.join(choice(slot, task))}"
        text_or_none = (other or {}).get(task.id, text)
        if text_or_none is not None:
            rows.append(json.dumps({"task_id": task.id, "response": text_or_none}))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{slot}.jsonl"
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def write_study(folder: Path, slots: Iterable[str] = SLOTS, text: str = STUDY) -> Path:
    """A study whose models answered everything."""
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    for slot in slots:
        write_answers(folder / "answers", slot)
    return folder


def ranked_ids(family: str) -> list[str]:
    """Ids of the tasks of one family of the panel."""
    return [task.id for task in panel().tasks if task.family == family]

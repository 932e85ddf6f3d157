"""Writes ``contestants.json``: digests of all answers of the demonstration's contestants.

Run ``python tests/golden/make_contestants.py`` to write the file again. Where a digest changes
although the bundled panels do not, raise the version of the contestant: answers that are
collected under one version are the same.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from flavourbench.collect.contestants import ENTRIES, Entry, contestant
from flavourbench.tasks.files import BUNDLED, read_all
from flavourbench.tasks.taskset import TaskSet

FILE = Path(__file__).with_name("contestants.json")
PANELS = ("test-1", "test-2")


def ranked_panels() -> TaskSet:
    """The bundled panels of the ranking."""
    return read_all([BUNDLED / name for name in PANELS])


def entry_digest(entry: Entry, tasks: TaskSet, repeat: int = 0) -> dict[str, Any]:
    """Version of a contestant and digest of its answers to all tasks, in their order."""
    one = contestant(entry.contestant, entry.parameters)
    digest = hashlib.sha256()
    for task in tasks.tasks:
        said = one.answer(task, repeat)
        digest.update(json.dumps([task.id, said.text, said.refused]).encode("ascii") + b"\n")
    return {"version": one.version, "sha256": digest.hexdigest()}


def text(entries: dict[str, Any]) -> str:
    """The file: one slot a line."""
    lines = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in entries.items())
    return "{\n" + lines + "\n}\n"


if __name__ == "__main__":
    tasks = ranked_panels()
    FILE.write_text(text({e.slot: entry_digest(e, tasks) for e in ENTRIES}), encoding="ascii")

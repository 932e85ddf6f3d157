"""Makes ``panels.json``, digests of the panels of an environment made of hashes, and a panel.

    PYTHONPATH=tests python tests/golden/make_panels.py

Run it only with a new format version or a new name of the packaged design: the digests hold
ids, prompts, candidates and scores of everything that the compiler gives. The panel
``panel-1`` is of format ``flavourbench-panel/1`` and stays as it is; a new format gets another.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from panels import hashed_environment

from flavourbench.identity import table_sha256
from flavourbench.tasks.compiler import compile_panels
from flavourbench.tasks.design import read_design
from flavourbench.tasks.panel import columns_of, write_panel
from flavourbench.tasks.taskset import TaskSet

FILE = Path(__file__).with_name("panels.json")
#: A few tasks as a folder that every later version has to read.
PANEL = Path(__file__).with_name("panel-1")


def build() -> tuple[list[TaskSet], TaskSet, dict[str, str]]:
    """All panels, the first two tasks of each family, and digests by name."""
    environment = hashed_environment()
    panels = compile_panels(environment, read_design())
    first = panels[0]
    few = replace(
        first, tasks=tuple(t for f in first.families for t in first.of_family(f).tasks[:2])
    )
    found = {panel.panels[0]: content(panel) for panel in panels}
    return panels, few, {"environment": environment.identity, **found, PANEL.name: content(few)}


def content(tasks: TaskSet) -> str:
    """Digest of everything about some tasks."""
    return table_sha256(columns_of(tasks))


if __name__ == "__main__":
    _, some, table = build()
    FILE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    if not PANEL.exists():
        write_panel(some, PANEL)

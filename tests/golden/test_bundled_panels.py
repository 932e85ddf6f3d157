"""The panels that ship with the package: frozen, verified, compiled anew, found by name."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import make_panels
import pytest
from running import Command

from flavourbench.environment import open_environment
from flavourbench.environment.store import BUILT_IN
from flavourbench.tasks.compiler import compile_panels
from flavourbench.tasks.design import read_design
from flavourbench.tasks.files import BUNDLED, panel_folders, read_tasks
from flavourbench.tasks.panel import read_panel
from flavourbench.tasks.verify import verify

#: What an analysis of these panels pins.
PANELS = {
    "test-1": "9e73d8566ae952645904e1f2b27766853a6eb168dd8d68ebbe2f1e11cb6016b6",
    "test-2": "76af545c959d02f273e9b66dfce16fd9eb1d1363e35f5af7488fb9a41760dd99",
    "development": "5dea36c2940ae96dfb9bde004259b1041a85be195ca3397fa5ee9f1b4238fbc5",
}


def test_they_are_the_frozen_ones() -> None:
    assert {folder.name for folder in panel_folders(BUNDLED)} == {*PANELS}
    found = {name: make_panels.content(read_panel(BUNDLED / name)) for name in PANELS}
    assert found == PANELS


@pytest.mark.parametrize("name", PANELS)
def test_all_of_them_follows_from_the_pantry(name: str) -> None:
    environment = open_environment()
    checks = verify(BUNDLED / name, lambda _: environment)
    assert {check["check"]: check["passed"] for check in checks} == {
        check["check"]: True for check in checks
    }
    assert "compilation" in {check["check"] for check in checks}


def test_the_pantry_gives_them_again() -> None:
    again = compile_panels(open_environment(), read_design())
    assert {panel.panels[0]: make_panels.content(panel) for panel in again} == PANELS


def test_ranked_families_are_full_and_share_no_anchor() -> None:
    panels = {name: read_panel(BUNDLED / name) for name in PANELS}
    for name, tasks in panels.items():
        counts = Counter(task.family for task in tasks.tasks if task.ranked)
        size = 96 if name == "development" else 160
        assert counts == dict.fromkeys(("substitution", "pairing", "constraint"), size)
        assert "Open Pantry" in tasks.tasks[0].prompt
    anchors = [{task.anchor for task in tasks.tasks if task.ranked} for tasks in panels.values()]
    assert sum(map(len, anchors)) == len(set.union(*anchors))


def test_they_are_found_by_name(fb: Command) -> None:
    listed = fb.json("tasks", "list")
    assert [row["panel"] for row in listed] == sorted(PANELS)
    assert fb.json("tasks", "stats", "test-1")["tasks"] == len(read_tasks(BUNDLED / "test-1"))
    task = fb.json("tasks", "list", "test-2")[0]["task_id"]
    shown = fb.json("tasks", "show", task)
    assert shown == fb.json("tasks", "show", task, "--tasks", "test-2")
    assert shown["task_id"] == task
    template = fb("tasks", "template", "development", "answers.jsonl")
    assert template.code == 0
    scored = fb("score", "answers.jsonl", "--tasks", "development")
    assert scored.code == 1  # no answer is there yet
    assert fb.json("tasks", "verify", "test-1")["passed"] is True
    fb.refused("tasks", "stats", "test-3", says=("test-3", "bundled panels: development, test-1"))


def test_without_them_it_says_what_to_do(fb: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flavourbench.tasks.files.BUNDLED", fb.folder / "gone")
    fb.refused("tasks", "list", says=("gone is missing", "reinstall"), code=1)
    fb.refused("tasks", "stats", "test-1", says=("test-1", "no such file"))


def test_ones_own_come_first(fb: Command) -> None:
    fb.json("compile", "--out", "panels", "--env", BUILT_IN, "--title", "Mine")
    assert {row["environment"] for row in fb.json("tasks", "list")} == {"Mine"}
    (fb.folder / "test-1").mkdir()
    fb.refused("tasks", "stats", "test-1", says="no panel folder")
    Path(fb.folder / "test-1").rmdir()
    assert fb.json("tasks", "stats", "test-1")["tasks"] == len(read_tasks(BUNDLED / "test-1"))

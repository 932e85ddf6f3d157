"""Where tasks come from: a panel folder or a published task file."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from pathlib import Path

from flavourbench.errors import CheckError, FlavourBenchError, InputError, listed, shown
from flavourbench.folders import is_file, is_folder
from flavourbench.tasks.answers import Answer, panel_summary
from flavourbench.tasks.panel import PANEL, read_panel
from flavourbench.tasks.published import read_published
from flavourbench.tasks.taskset import Task, TaskSet, joined

#: The panels that ship with the package, compiled from the built-in environment.
BUNDLED = Path(__file__).parents[1] / "data" / "tasks"


def located(path: Path) -> Path:
    """The place that a path means: itself, or the bundled panel of that name.

    What exists in the current folder comes first.
    """
    bundled = BUNDLED / path.name
    if len(path.parts) == 1 and not os.path.lexists(path) and PANEL.at(bundled):
        return bundled
    return path


def default_place(folder: str = "panels") -> Path:
    """The folder of panels where none is named: ``panels`` if it is there, else the bundled."""
    own = Path(folder)
    if os.path.lexists(own):
        return own
    if not is_folder(BUNDLED):
        raise CheckError(f"{shown(BUNDLED, 200)} is missing: reinstall flavourbench")
    return BUNDLED


def test_panels() -> list[Path]:
    """The panels to rank on where none are named: those of :func:`default_place` that test.

    Raises
    ------
    InputError
        There are none.
    """
    place = default_place()
    found = [
        folder
        for folder in (panel_folders(place) if is_folder(place) else [])
        if all(task.split == "test" for task in read_tasks(folder).tasks)
    ]
    if not found:
        raise InputError(f"no test panel in {shown(place, 200)}: name panels with --tasks")
    return found


def read_tasks(path: Path) -> TaskSet:
    """Read a panel folder or a published task file (JSONL).

    Raises
    ------
    InputError
        Neither, or damaged content; a folder of panels, of which one has to be named.
    CheckError
        A panel folder with altered files.
    """
    if PANEL.at(path):
        return read_panel(path)
    if is_file(path):
        return read_published(path)
    if not is_folder(path):
        there = os.path.lexists(path)
        bundled = panel_folders(BUNDLED) if is_folder(BUNDLED) else []
        names = ", ".join(folder.name for folder in bundled)
        absent = f"no such file or directory (bundled panels: {names}; see `fb compile`)"
        reason = "neither a folder nor a plain file" if there else absent
        raise InputError(f"{shown(path, 200)}: {reason}")
    inside = [folder.name for folder in panel_folders(path)]
    if inside:
        raise InputError(f"{shown(path, 200)} holds the panels {listed(inside)}: name one of them")
    raise InputError(f"{shown(path, 200)} is no panel folder (no {PANEL.seal})")


def read_all(paths: Sequence[Path]) -> TaskSet:
    """Several panels as one set; errors as :func:`read_tasks` and :func:`joined`."""
    return joined([read_tasks(path) for path in paths])


def summaries(path: Path) -> list[Answer] | None:
    """Each panel in a folder of panels, or what is wrong with it; None for anything else."""
    if PANEL.at(path) or not is_folder(path):
        return None
    found: list[Answer] = []
    for folder in panel_folders(path):
        try:
            found.append(panel_summary(read_panel(folder), folder))
        except FlavourBenchError as error:
            name = folder.name
            found.append({"panel": name, "folder": name, "problem": str(error)})
    return found or None


def find_task(path: Path, task_id: str) -> tuple[TaskSet, Task]:
    """A task by its id, and its set: a panel, a task file, or any panel of a folder.

    Raises
    ------
    InputError
        There is no such task; other errors as :func:`read_tasks`.
    """
    several = [] if PANEL.at(path) or not is_folder(path) else panel_folders(path)
    sets = [read_tasks(place) for place in several or [path]]
    for tasks in sets:
        if task_id in tasks.by_id:
            return tasks, tasks.by_id[task_id]
    near = difflib.get_close_matches(task_id, [name for tasks in sets for name in tasks.by_id], 3)
    hint = f"did you mean {listed(near)}?" if near else "see `fb tasks list`"
    raise InputError(f"no task {shown(task_id)} in {shown(path, 200)}: {hint}")


def panel_folders(path: Path) -> list[Path]:
    """Panel folders in a folder, by name; hidden ones are being written."""
    return sorted(
        entry for entry in path.iterdir() if not entry.name.startswith(".") and PANEL.at(entry)
    )

"""Where tasks come from: a panel folder or a published task file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flavourbench.errors import InputError, listed, shown
from flavourbench.folders import is_file, is_folder
from flavourbench.tasks.panel import PANEL, read_panel
from flavourbench.tasks.published import read_published
from flavourbench.tasks.taskset import TaskSet, joined


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
        raise InputError(f"{shown(path, 200)}: no such file or directory")
    inside = [folder.name for folder in panel_folders(path)]
    if inside:
        raise InputError(f"{shown(path, 200)} holds the panels {listed(inside)}: name one of them")
    raise InputError(f"{shown(path, 200)} is no panel folder (no {PANEL.seal})")


def read_all(paths: Sequence[Path]) -> TaskSet:
    """Several panels as one set; errors as :func:`read_tasks` and :func:`joined`."""
    return joined([read_tasks(path) for path in paths])


def panel_folders(path: Path) -> list[Path]:
    """Panel folders in a folder, by name; hidden ones are being written."""
    return sorted(
        entry for entry in path.iterdir() if not entry.name.startswith(".") and PANEL.at(entry)
    )

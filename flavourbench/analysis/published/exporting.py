"""A release as a folder in the published layout."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from flavourbench.analysis.answers import Evidence
from flavourbench.analysis.published import layout
from flavourbench.analysis.published.observations import observation_lines
from flavourbench.analysis.published.tables import leaderboard_csv, pairwise_csv
from flavourbench.analysis.release import read_release
from flavourbench.errors import listed
from flavourbench.folders import check_place, new_folder
from flavourbench.tasks.published import PANEL_KEYS, published_rows
from flavourbench.tasks.taskset import TaskSet


def export_release(release: Path, path: Path, *, force: bool = False) -> dict[str, Any]:
    """Write a release in the published layout.

    Task file and observations are there if the release has them; one of a score table gives the
    two tables of figures alone.

    Returns
    -------
    ``folder``, names of its ``files``, ``root`` and ``label`` of the release, and of its core
    ``core_seed`` and ``core_size``, null where there is none.

    Raises
    ------
    InputError
        ``release`` is none; ``path`` exists (and ``force`` is not given or it is no such
        folder), or its place cannot be written; or a family bears the name of a column.
    CheckError
        A file of the release is missing, altered or not listed.
    """
    check_place(path, force=force, kept=_foreign)
    found = read_release(release)
    evidence, label = found.evidence, found.board["label"]
    files = {
        layout.LEADERBOARD: leaderboard_csv(found.board),
        layout.PAIRWISE: pairwise_csv(found.pairs.to_pylist()),
    }
    if evidence is not None:
        files[layout.TASKS] = _lines(published_rows(_with_panels(evidence.tasks)))
        files[layout.OBSERVATIONS] = _lines(observation_lines(evidence))
    if label is not None:
        files[layout.NOTE] = f"{label}\n".encode()
    with new_folder(path, force=force, kept=_foreign) as folder:
        for name, data in files.items():
            (folder / name).write_bytes(data)
    return {
        "folder": str(path),
        "files": sorted(files),
        "root": dict(found.root),
        "label": label,
        **_core_of(evidence),
    }


def _core_of(evidence: Evidence | None) -> dict[str, Any]:
    core = None if evidence is None else evidence.core
    return {
        "core_seed": None if core is None else core.seed,
        "core_size": None if core is None else core.size,
    }


def _foreign(path: Path) -> str | None:
    """Why a path is more than an export (or an empty folder), so that it must stay."""
    if not path.is_dir():
        return "it is no folder"
    names = {entry.name for entry in path.iterdir()}
    if names and layout.LEADERBOARD not in names:
        return f"it is no export (no {layout.LEADERBOARD})"
    other = sorted(names.difference(layout.FILES))
    return f"it holds {listed(other)} beside the export" if other else None


def _with_panels(tasks: TaskSet) -> TaskSet:
    """The same tasks, each naming its panel: imported ones may have had it from their file."""
    named = [
        replace(task, extra={**task.extra, PANEL_KEYS[0]: task.panel})
        if task.extra and not any(key in task.extra for key in PANEL_KEYS)
        else task
        for task in tasks.tasks
    ]
    return replace(tasks, tasks=tuple(named))


def _lines(rows: Iterable[str]) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()

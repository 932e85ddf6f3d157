"""Panel folders: tasks as one Parquet file, sealed by ``PANEL.sha256``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flavourbench import __version__
from flavourbench.artifact import Kind, read_parquet, write_parquet
from flavourbench.errors import CheckError, InputError, listed, shown
from flavourbench.folders import check_place, is_folder, new_folder
from flavourbench.identity import Column, table_sha256
from flavourbench.tasks.design import parse_design
from flavourbench.tasks.diagnostics import statistics
from flavourbench.tasks.jsonl import compact
from flavourbench.tasks.labels import LABELS
from flavourbench.tasks.parsing import parser_named
from flavourbench.tasks.taskset import Task, TaskSet, check_text

PANEL = Kind(
    "panel",
    "flavourbench-panel/1",
    "PANEL.sha256",
    ("panels", "parser", "environment", "design", "seeds", "sources", "counts", "diagnostics"),
)
TASKS = "tasks.parquet"
_COLUMNS = (
    *("task_id", "panel", "split", "family", "stratum", "anchor", "category"),
    *("diet", "max_nova", "region", "ranked", "prompt"),
    *(*LABELS, "scores", "feasible", "extra"),
)
#: Columns that are no texts.
_OTHERS = ("stratum", "max_nova", "ranked", "scores", "feasible")


def columns_of(tasks: TaskSet) -> dict[str, Column]:
    """Everything about the tasks, by column, in their order."""
    rows = tasks.tasks
    levels = np.array([task.max_nova or 0 for task in rows], np.int8)
    known = np.array([task.feasible is not None for task in rows], np.bool_)
    masks = np.array([task.feasible or 0 for task in rows], np.uint64)
    return {
        "task_id": [task.id for task in rows],
        "panel": [task.panel for task in rows],
        "split": [task.split for task in rows],
        "family": [task.family for task in rows],
        "stratum": np.array([task.stratum for task in rows], np.int8),
        "anchor": [task.anchor for task in rows],
        "category": [task.category for task in rows],
        "diet": [task.diet or "" for task in rows],
        "max_nova": np.ma.masked_equal(levels, 0),
        "region": [task.region or "" for task in rows],
        "ranked": np.array([task.ranked for task in rows], np.bool_),
        "prompt": [task.prompt for task in rows],
        **{label: [task.choices[at] for task in rows] for at, label in enumerate(LABELS)},
        "scores": tasks.scores,
        "feasible": np.ma.MaskedArray(masks, ~known),
        "extra": [compact(task.extra) if task.extra else "" for task in rows],
    }


def manifest_of(tasks: TaskSet) -> dict[str, Any]:
    """What the manifest says of the tasks besides software, format and files."""
    design = tasks.design
    seeds = None
    if design is not None:
        seeds = {panel.name: panel.seed for panel in design.panels if panel.name in tasks.panels}
    return {
        "panels": list(tasks.panels),
        "parser": tasks.parser,
        "environment": dict(tasks.environment) or None,
        "design": None if design is None else design.content,
        "seeds": seeds,
        "sources": [dict(source) for source in tasks.sources],
        "counts": dict(Counter(task.panel for task in tasks.tasks)),
        "diagnostics": statistics(tasks),
    }


def write_panel(tasks: TaskSet, path: Path, *, force: bool = False) -> None:
    """Write a panel folder.

    Raises
    ------
    InputError
        ``path`` exists (and ``force`` is not given or it is something else), or writing
        fails.
    """
    with new_folder(path, force=force, kept=PANEL.foreign) as folder:
        _fill(tasks, folder)


def write_panels(sets: Sequence[TaskSet], path: Path, *, force: bool = False) -> list[Path]:
    """Write a folder of panel folders, each under the name of its panel; their paths.

    Raises
    ------
    InputError
        As :func:`write_panel`.
    """
    with new_folder(path, force=force, kept=foreign_panels) as folder:
        for tasks in sets:
            (folder / tasks.panels[0]).mkdir()
            _fill(tasks, folder / tasks.panels[0])
    return [path / tasks.panels[0] for tasks in sets]


def check_panels_target(path: Path, *, force: bool = False) -> None:
    """Say before compiling what :func:`write_panels` would say after it."""
    check_place(path, force=force, kept=foreign_panels)


def foreign_panels(path: Path) -> str | None:
    """Why a path is more than a folder of panels (or an empty one), so that it must stay."""
    if not path.is_dir():
        return "it is no folder"
    for entry in sorted(path.iterdir()):
        if not is_folder(entry) or not PANEL.at(entry):
            return f"it holds {listed([entry.name])}, which is no panel"
        reason = PANEL.foreign(entry)
        if reason is not None:
            return f"in {shown(entry.name)} {reason}"
    return None


def _fill(tasks: TaskSet, folder: Path) -> None:
    import pyarrow as pa

    columns = columns_of(tasks)
    write_parquet(folder / TASKS, columns)
    software = {"flavourbench": __version__, "pyarrow": pa.__version__}
    body = {"software": software, **manifest_of(tasks)}
    PANEL.write(folder, body, {TASKS: table_sha256(columns)})


def read_panel(path: Path) -> TaskSet:
    """Read a panel folder.

    Raises
    ------
    InputError
        Not a panel of a known format.
    CheckError
        A file is missing, altered or not listed, or holds no tasks.
    """
    return read_with_manifest(path)[0]


def read_with_manifest(path: Path) -> tuple[TaskSet, dict[str, Any]]:
    """A panel and its manifest; errors as :func:`read_panel`."""
    contents = PANEL.read(path, TASKS)
    try:
        return tasks_from(contents.files[TASKS], contents.manifest), contents.manifest
    except CheckError as error:
        raise CheckError(f"{shown(path, 200)} {error}") from error


def tasks_from(data: bytes, manifest: Mapping[str, Any]) -> TaskSet:
    """The tasks in a file of :func:`columns_of`, with what :func:`manifest_of` says of them.

    Raises
    ------
    CheckError
        There are none, although the seal is right: another program wrote this.
    """
    try:
        environment = manifest["environment"]
        parser_named(manifest["parser"])
        return TaskSet(
            tuple(_rows(data, manifest["parser"])),
            _texts_of(environment, "name", "identity") if environment is not None else {},
            None if manifest["design"] is None else parse_design(manifest["design"]),
            tuple(_texts_of(source, "name", "sha256") for source in manifest["sources"]),
        )
    except (ValueError, LookupError, TypeError, AttributeError, OSError, RecursionError) as error:
        reason = shown(str(error).split("\n")[0], 200)
        raise CheckError(f"holds no tasks: {reason}") from error


def _texts_of(entry: Mapping[str, Any], *keys: str) -> dict[str, str]:
    """Name and digest as a manifest states them."""
    if set(entry) != {*keys}:
        raise InputError(f"{listed([*entry])} instead of {' and '.join(keys)}")
    return {key: check_text(key, entry[key]) for key in keys}


def _extra(text: str) -> dict[str, Any]:
    """Keys without a column."""
    value = json.loads(text) if text else {}
    if not isinstance(value, dict):
        raise InputError(f"extra of a task is {shown(text)}, no object")
    compact(value).encode()  # no half of a surrogate pair
    return value


def _rows(data: bytes, parser: str) -> list[Task]:
    table = read_parquet(data)
    if table.column_names != [*_COLUMNS]:
        raise InputError(f"columns are {listed(table.column_names)}, not {', '.join(_COLUMNS)}")
    texts = [name for name in _COLUMNS if name not in _OTHERS]
    found = []
    for row in table.to_pylist():
        bad = [key for key in texts if not isinstance(row[key], str)]
        if bad or not isinstance(row["ranked"], bool):
            raise InputError(f"{bad[0] if bad else 'ranked'} of a task is null")
        found.append(
            Task(
                id=row["task_id"],
                panel=row["panel"],
                split=row["split"],
                family=row["family"],
                stratum=row["stratum"],
                anchor=row["anchor"],
                category=row["category"],
                prompt=row["prompt"],
                choices=tuple(row[label] for label in LABELS),
                scores=tuple(row["scores"]),
                feasible=row["feasible"],
                diet=row["diet"] or None,
                max_nova=row["max_nova"],
                region=row["region"] or None,
                ranked=row["ranked"],
                parser=parser,
                extra=_extra(row["extra"]),
            )
        )
    return found

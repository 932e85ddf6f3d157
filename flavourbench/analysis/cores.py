"""Frozen cores on disk, and whether they still are what a study would freeze."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from flavourbench import __version__
from flavourbench.analysis.answers import Evidence, evidence_of, tasks_sha256
from flavourbench.analysis.core import Core, Coverage, freeze, parse_core
from flavourbench.analysis.release.layout import RELEASE
from flavourbench.analysis.study import STUDY, Study
from flavourbench.artifact import Kind, newest_first, read_parquet, write_parquet
from flavourbench.errors import CheckError, InputError, listed, shown
from flavourbench.folders import named_folder
from flavourbench.identity import canonical_json, json_sha256, table_sha256
from flavourbench.tasks.taskset import TaskSet

CORE = Kind("core", "flavourbench-core/1", "CORE.sha256", ("parents", "asked_size"))
_RECORD, _COVERAGE = "core.json", "coverage.parquet"


class Frozen(NamedTuple):
    """A core, the number of tasks that was asked for (None: the largest), and its tasks' digest."""

    core: Core
    asked_size: int | None
    tasks_sha256: str


def freeze_study(study: Study, tasks: TaskSet) -> tuple[Core, Path, bool]:
    """Freeze the core of a study: the core, its folder, and whether it is new.

    A core stands under a name made of its content, so none is ever overwritten.

    Raises
    ------
    InputError
        See :func:`.core.freeze`, and the reading of tasks, roster and journal.
    CheckError
        The journal, or the core that is there already, is damaged.
    """
    coverage = study.read_coverage(tasks)
    core = freeze(coverage, study.core_seed, study.core_size)
    digest = tasks_sha256(tasks)

    def fill(folder: Path) -> str:
        columns = coverage.columns
        write_parquet(folder / _COVERAGE, columns)
        (folder / _RECORD).write_bytes(canonical_json(core.content))
        body = {
            "software": {"flavourbench": __version__},
            "parents": [{"kind": "tasks", "content_sha256": digest}],
            "asked_size": study.core_size,
        }
        CORE.write(folder, body, {_RECORD: core.sha256, _COVERAGE: table_sha256(columns)})
        asked = "" if study.core_size is None else f"-{study.core_size}"
        return f"core{asked}-{json_sha256([core.sha256, digest])[:12]}"

    path, new = named_folder(study.cores, fill)
    if not new:
        read_core(path)
        with contextlib.suppress(OSError):
            os.utime(path / CORE.seal)  # it is the newest one again
    return core, path, new


def read_core(path: Path) -> Frozen:
    """Read a core folder.

    Raises
    ------
    InputError
        Not a core of a known format.
    CheckError
        A file is missing, altered or not listed, or holds no core.
    """
    contents = CORE.read(path, _RECORD)
    manifest = contents.manifest
    try:
        parents = {entry["kind"]: entry["content_sha256"] for entry in manifest["parents"]}
        core = parse_core(json.loads(contents.files[_RECORD]))
        return Frozen(core, manifest["asked_size"], parents["tasks"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise CheckError(f"{shown(path, 200)} holds no core: {shown(error, 200)}") from error


def current_core(study: Study, tasks: TaskSet) -> Core:
    """The newest core of a study that still holds.

    Models that the roster has beyond those of the core do not matter: they were added.

    Raises
    ------
    InputError
        There is none; with what has changed since the newest one was frozen, and what to run.
    """
    paths = newest_first(study.cores, CORE)
    if not paths:
        raise InputError(f"no frozen core in {shown(study.cores, 200)}: run `fb freeze`")
    coverage, digest = study.read_coverage(tasks), tasks_sha256(tasks)
    reason = None
    for path in paths:
        stale = _stale(path, study, digest, coverage)
        if stale is None:
            return read_core(path).core
        reason = reason or f"{path.name} is stale, {stale}"
    raise InputError(f"core {reason}: run `fb freeze`")


def stale_release(study: Study, release: Path, *, adding: bool = False) -> str | None:
    """Why a release is not what a study would make now, with what to run; None if it may be.

    Answers are not looked at: what changes an outcome shows when a core is frozen.

    Parameters
    ----------
    adding : whether models are about to be added, so that those that it lacks are no reason

    Raises
    ------
    InputError, CheckError
        The release, the newest core or the roster cannot be read.
    """
    manifest = RELEASE.read(release).manifest
    own = [entry["content_sha256"] for entry in manifest["parents"] if entry["kind"] == "core"]
    paths = newest_first(study.cores, CORE)
    if not own or not paths:
        return None
    frozen = read_core(paths[0])
    models, slots = {model["id"] for model in manifest["models"]}, {*study.slots()}
    plan = {field.name: getattr(study.plan, field.name) for field in fields(study.plan)}
    reasons = {
        f"{STUDY} asks for another core: run `fb freeze` and `fb infer`": (
            (frozen.core.seed, frozen.asked_size) != (study.core_seed, study.core_size)
        ),
        f"it stands on another core than {shown(paths[0].name)}: run `fb infer`": (
            own[0] != frozen.core.sha256
        ),
        f"{listed(sorted(models - slots))} is no model of the study any more: run `fb freeze`": (
            bool(models - slots)
        ),
        f"the study has {listed(sorted(slots - models))} beside its models: run `fb add`": (
            bool(slots - models) and not adding
        ),
        f"{STUDY} has another plan: run `fb infer`": any(
            manifest["plan"].get(key) != value for key, value in plan.items()
        ),
    }
    reason = next((reason for reason, holds in reasons.items() if holds), None)
    return None if reason is None else f"release {shown(release.name)} is stale, {reason}"


def study_evidence(study: Study) -> Evidence:
    """What the scores of a study are made from: its current core, and answers of all its models.

    Raises
    ------
    InputError, CheckError
        See :func:`current_core` and :class:`.answers.Evidence`.
    """
    tasks = study.read_tasks()
    core = current_core(study, tasks)
    return evidence_of(study.read_answers(tasks, study.slots()), tasks, core)


def _stale(path: Path, study: Study, digest: str, coverage: Coverage) -> str | None:
    """What has changed since a core was frozen, or None."""
    frozen = read_core(path)
    core = frozen.core
    if frozen.tasks_sha256 != digest:
        return "the panels have changed since"
    if core.seed != study.core_seed:
        return f"{STUDY} has core seed {shown(study.core_seed)}, it was frozen with {core.seed}"
    if frozen.asked_size != study.core_size:
        names = [str(size or "the largest") for size in (study.core_size, frozen.asked_size)]
        return f"{STUDY} asks for {names[0]} tasks a stratum, it was frozen with {names[1]}"
    gone = [slot for slot in core.slots if slot not in coverage.slots]
    if gone:
        return f"{listed(gone)} is no model of the study any more"
    return _changed(core, path, coverage.only(core.slots))


def _changed(core: Core, path: Path, coverage: Coverage) -> str | None:
    """Which route or outcome differs from what a core was frozen from."""
    if coverage.sha256 == core.coverage_sha256:
        return None
    before = dict(core.models)
    for slot, route in coverage.models:
        if before[slot] != route:
            return f"slot {shown(slot)} was asked over route {before[slot][:12]}, now {route[:12]}"
    table = read_parquet(CORE.read(path, _COVERAGE).files[_COVERAGE])
    old = _cells(table.to_pydict())
    new = _cells(coverage.columns)
    moved = [cell for cell, outcome in new.items() if old.get(cell) != outcome]
    slot, task = moved[0]
    more = f", the first of {len(moved):,} cells" if len(moved) > 1 else ""
    return (
        f"outcomes have changed since ({shown(slot)} at {shown(task)}:"
        f" {old.get(moved[0])}, now {new[moved[0]]}{more})"
    )


def _cells(columns: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    names: Sequence[Sequence[str]] = [columns[key] for key in ("model", "task", "outcome")]
    return {(slot, task): outcome for slot, task, outcome in zip(*names, strict=True)}

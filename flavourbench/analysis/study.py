"""A study: a folder with ``study.toml``, which says who is ranked, on what, and how."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flavourbench.analysis.answers import Answers, routes_of
from flavourbench.analysis.collected import journal_answers, journal_coverage, response_answers
from flavourbench.analysis.core import Coverage
from flavourbench.analysis.plan import MAX_DRAWS, MAX_FLIPS, MAX_SEED, Plan
from flavourbench.collect.roster import Roster, read_roster
from flavourbench.environment.store import open_environment
from flavourbench.errors import InputError, listed, shown
from flavourbench.folders import is_file, is_folder, new_file, new_folder
from flavourbench.settings import Table, read_toml
from flavourbench.tasks.files import located, read_all
from flavourbench.tasks.taskset import TaskSet

STUDY = "study.toml"
LARGEST = "largest"
#: Most tasks of a panel and family that may be asked for.
_MOST_TASKS = 1_000_000


@dataclass(frozen=True)
class Study:
    """What a study is about. Paths are absolute, or as the caller named the folder.

    Attributes
    ----------
    folder : Path
    environment : name of what the panels were compiled from, or None where that is unknown
    panels : panel folders, published task files or names of bundled panels
    roster, journal : of a collection; None where answers are in hand
    responses : folder of response files, one a model, or None
    names : slot of a response file → display name, where it has another
    core_seed, core_size : of the common core; None is the largest
    plan : of the analysis
    """

    folder: Path
    environment: str | None
    panels: tuple[Path, ...]
    roster: Path | None
    journal: Path | None
    responses: Path | None
    names: Mapping[str, str]
    core_seed: str
    core_size: int | None
    plan: Plan

    @property
    def stem(self) -> str:
        """The beginning of its releases' names; short, since names have 255 bytes at most."""
        return self.folder.resolve().name[:40]

    @property
    def cores(self) -> Path:
        """Folder of the frozen cores."""
        return self.folder / "cores"

    @property
    def releases(self) -> Path:
        """Folder of the releases."""
        return self.folder / "releases"

    def read_tasks(self) -> TaskSet:
        """All tasks of the panels.

        Raises
        ------
        InputError, CheckError
            See :func:`.files.read_all`; or they are not of the environment.
        """
        tasks = read_all([located(path) for path in self.panels])
        if self.environment is not None:
            _check_environment(tasks, self.environment)
        return tasks

    def read_roster(self) -> Roster:
        """The roster; an InputError where answers are in hand instead."""
        if self.roster is None:
            raise InputError(
                f"{shown(self.folder / STUDY, 200)} takes answers from"
                f" {shown(self.responses, 200)}: there is no roster"
            )
        return read_roster(self.roster)

    def journal_path(self) -> Path:
        """The journal; an InputError where answers are in hand instead."""
        if self.journal is None:
            raise InputError(
                f"{shown(self.folder / STUDY, 200)} takes answers from"
                f" {shown(self.responses, 200)}: there is no journal; `fb freeze` shows coverage"
            )
        return self.journal

    def slots(self) -> list[str]:
        """Slots of all models: those of the roster, or the response files."""
        if self.responses is None:
            return [route.slot for route in self.read_roster().routes]
        return [file.stem for file in self._files()]

    def read_coverage(self, tasks: TaskSet) -> Coverage:
        """How the cells of all models ended, nothing else."""
        if self.responses is not None:
            return response_answers(self._files(), tasks, self.names).coverage(tasks)
        found = journal_coverage(self.journal_path(), self.slots(), tasks)
        self._check_routes(found.models)
        return found

    def read_answers(self, tasks: TaskSet, slots: Sequence[str]) -> Answers:
        """All that some models answered."""
        if self.responses is not None:
            files = [file for file in self._files() if file.stem in slots]
            return response_answers(files, tasks, self.names)
        found = journal_answers(self.journal_path(), slots, tasks)
        self._check_routes(routes_of(found.models))
        return found

    def _files(self) -> list[Path]:
        folder = self.responses or self.folder
        inside = sorted(folder.glob("[!.]*.jsonl")) if is_folder(folder) else []
        found = [file for file in inside if is_file(file)]
        if not found:
            raise InputError(f"{shown(folder, 200)}: no response file (SLOT.jsonl) in it")
        alien = sorted(self.names.keys() - {file.stem for file in found})
        if alien:
            raise InputError(
                f"{shown(self.folder / STUDY, 200)}: names has {listed(alien)}, but"
                f" {shown(folder, 200)} has no file SLOT.jsonl of it: correct one of them"
            )
        return found

    def _check_routes(self, models: Sequence[tuple[str, str]]) -> None:
        """Refuse a journal that asked a model over another route than the roster has."""
        routes = {route.slot: route.digest for route in self.read_roster().routes}
        for slot, digest in models:
            if routes[slot] != digest:
                raise InputError(
                    f"slot {shown(slot)} has route {routes[slot][:12]} in"
                    f" {shown(self.roster, 200)}, but {shown(self.journal, 200)} asked over"
                    f" {digest[:12]}: put the roster back, or `fb collect --new-block {slot}`"
                )


def find_study(start: Path) -> Path | None:
    """The folder with ``study.toml`` at or above a folder, or None."""
    try:
        places = [start, *start.absolute().parents]
    except OSError:  # the current folder is gone
        return None
    return next((place for place in places if is_file(place / STUDY)), None)


def is_study(path: Path) -> bool:
    """Whether a path is the folder of a study."""
    return is_file(path / STUDY)


def read_study(folder: Path) -> Study:
    """Read ``study.toml`` in a folder.

    Raises
    ------
    InputError
        With the file, the key and the value.
    """
    if not is_study(folder):
        raise InputError(f"{shown(folder, 200)} is no study (no {STUDY}): `fb new` makes one")
    return read_toml(folder / STUDY, lambda values: _parse(folder, values))


def _parse(folder: Path, values: Mapping[str, Any]) -> Study:
    top = Table("", values)

    def place(key: str, default: str | None = None) -> Path | None:
        if key not in top:
            return None if default is None else folder / default
        return folder / top.line(key)

    responses = place("responses")
    if responses is not None:
        both = [key for key in ("roster", "journal") if key in top]
        if both:
            raise InputError(f"responses and {both[0]}: keep one, answers are in hand or asked for")
    asked = responses is None
    if asked and "names" in top:
        raise InputError("names go with responses: those of models that are asked stand in roster")
    core = top.table("core") if "core" in top else Table("core", {})
    study = Study(
        folder=folder,
        environment=top.line("environment") if "environment" in top else None,
        panels=tuple(_panel(folder, name) for name in top.texts("panels", least=1)),
        roster=place("roster", "roster.toml") if asked else None,
        journal=place("journal", "journal.sqlite") if asked else None,
        responses=responses,
        names=_names(top),
        core_seed=core.line("seed") if "seed" in core else str(Plan().seed),
        core_size=_size(core),
        plan=_plan(top.table("plan") if "plan" in top else Table("plan", {})),
    )
    core.done()
    top.done()
    return study


def _names(top: Table) -> dict[str, str]:
    if "names" not in top:
        return {}
    table = top.table("names")
    names = {slot: table.line(slot) for slot in table}
    table.done()
    return names


def _panel(folder: Path, name: str) -> Path:
    """A panel in the folder, else what :func:`located` makes of its name."""
    return folder / name if os.path.lexists(folder / name) else Path(name)


def _size(core: Table) -> int | None:
    if "size" not in core or core.says("size", LARGEST):
        return None
    try:
        return core.integer("size", 1, _MOST_TASKS)
    except InputError as error:
        raise core.wrong("size", f'"{LARGEST}" or a number of tasks') from error


def _plan(table: Table) -> Plan:
    default = Plan()
    found = Plan(
        draws=table.integer("draws", 2, MAX_DRAWS) if "draws" in table else default.draws,
        flips=table.integer("flips", 1, MAX_FLIPS) if "flips" in table else default.flips,
        seed=table.integer("seed", 0, MAX_SEED) if "seed" in table else default.seed,
        alpha=float(table.number("alpha", 0, 1)) if "alpha" in table else default.alpha,
    )
    table.done()
    return found


def _check_environment(tasks: TaskSet, name: str) -> None:
    """Refuse panels that another environment scored."""
    identity = open_environment(name).identity
    found = tasks.environment.get("identity")
    if found != identity:
        origin = "do not say where they come from" if found is None else f"come from {found[:12]}"
        raise InputError(
            f"environment {shown(name)} is {identity[:12]}, the panels {listed([*tasks.panels])}"
            f" {origin}: compile them with `fb compile --env {shown(name)}`, or correct {STUDY}"
        )


def new_study(folder: Path, files: Mapping[str, str]) -> None:
    """Write the folder of a study.

    Parameters
    ----------
    files : name → text

    Raises
    ------
    InputError
        The folder is there and not empty, or cannot be written.
    """
    if is_folder(folder) and not any(folder.iterdir()):
        for name, text in sorted(files.items()):  # study.toml last: it makes the study
            new_file(folder / name, text.encode())
        return
    with new_folder(folder) as work:
        for name, text in files.items():
            (work / name).write_text(text, encoding="utf-8")

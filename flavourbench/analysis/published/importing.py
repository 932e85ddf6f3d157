"""A folder in the published layout as the evidence of a release."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flavourbench.analysis.answers import Evidence, coverage_of, routes_of
from flavourbench.analysis.core import Core, freeze
from flavourbench.analysis.published import layout
from flavourbench.analysis.published.observations import Seen, read_observations
from flavourbench.analysis.published.tables import Line, read_table
from flavourbench.checks import Check, passed, unmade
from flavourbench.errors import InputError, listed, shown
from flavourbench.folders import is_file, is_folder
from flavourbench.tasks.taskset import TaskSet
from flavourbench.tasks.verify import imported

_SCORES = unmade(
    "score maps", "follow in the environment that scored the tasks: see `fb tasks verify`"
)


@dataclass(frozen=True)
class Imported:
    """What a folder holds.

    Attributes
    ----------
    evidence : tasks, models, observations and the core, frozen anew
    leaderboard, pairwise : rows of the tables of figures, or None where there is no file
    checks : what was, and what could not be checked: ``check``, ``passed``, ``detail``
    """

    evidence: Evidence
    leaderboard: Sequence[Line] | None
    pairwise: Sequence[Line] | None
    checks: Sequence[Check]


def import_folder(folder: Path, core_seed: str, core_size: int | None = None) -> Imported:
    """Read a folder in the published layout.

    The core is frozen anew from the outcomes (see :func:`.core.freeze`). Where rows say which
    tasks are ranked (``in_core``), it has to be those, and their number is the size.

    Parameters
    ----------
    core_size : tasks of each panel and family; by default as many as the rows say, else the
        largest common number

    Raises
    ------
    InputError
        A file is missing or has a row that cannot be, a panel and family has too few tasks, or
        the core is not the stated one.
    """
    if not is_folder(folder):
        raise InputError(f"{shown(folder, 200)} is no folder: name one with {layout.OBSERVATIONS}")
    files = sorted(file for file in folder.glob(f"[!.]*{layout.TASKS}") if is_file(file))
    if is_file(folder / layout.TASKS):
        files = [folder / layout.TASKS]
    rows = folder / layout.OBSERVATIONS
    if not files or not is_file(rows):
        what = layout.OBSERVATIONS if files else f"{layout.TASKS} (or …_{layout.TASKS})"
        raise InputError(
            f"{shown(folder, 200)} has no {what}: a release is made from both; `fb infer` analyses"
            " a table of scores alone"
        )
    tasks, (rows_follow, *_) = imported(files, None)
    digest = hashlib.sha256()
    seen = read_observations(rows, tasks, digest)
    boards = _table(folder / layout.LEADERBOARD, ["model_id"])
    pairs = _table(folder / layout.PAIRWISE, ["left", "right"])
    names = {line.cells["model_id"]: _name(line) for line in boards or ()}
    source = {"kind": "observations", "content_sha256": digest.hexdigest()}
    models = seen.models(names, source)
    observations = seen.observations(tasks)
    ended = {(row.slot, row.task_id): row.outcome for row in observations}
    stated = {task_id for task_id, ranked in seen.ranked.items() if ranked}
    size = _stated_size(rows, stated, tasks) if core_size is None and stated else core_size
    core = freeze(coverage_of(routes_of(models), ended, tasks), core_seed, size)
    _check_stated(rows, stated, core)
    evidence = Evidence(tasks, models, None, observations, core)
    found = [
        rows_follow | {"check": "tasks"},
        _SCORES,
        _rows_check(seen),
        _core_check(core, stated),
    ]
    return Imported(evidence, boards, pairs, found)


def _table(path: Path, ids: Sequence[str]) -> list[Line] | None:
    return read_table(path, ids) if is_file(path) else None


def _name(line: Line) -> str:
    """The display name of a model."""
    name = line.cells.get("name") or line.cells["model_id"]
    if not name.isprintable():
        raise InputError(f"{line.where}: name '{shown(name)}' is no name")
    return name


def _stated_size(path: Path, stated: set[str], tasks: TaskSet) -> int:
    """How many tasks of each panel and family are said to be ranked."""
    places = [(tasks.by_id[task_id].panel, tasks.by_id[task_id].family) for task_id in stated]
    counts = sorted(Counter(places).items(), key=lambda entry: (-entry[1], entry[0]))
    (most, size), (least, fewest) = counts[0], counts[-1]
    if size != fewest:
        raise InputError(
            f"{shown(path, 200)}: in_core has {size} tasks of panel and family"
            f" {listed([*most])}, {fewest} of {listed([*least])}: a core has as many of each"
        )
    return size


def _check_stated(path: Path, stated: set[str], core: Core) -> None:
    """Refuse a core other than the one that the rows state."""
    if stated and stated != core.ids:
        lacks, more = sorted(stated - core.ids), sorted(core.ids - stated)
        parts = [
            f"{which} has {len(names)} tasks that the other has not ({listed(names, 2)})"
            for which, names in (("in_core", lacks), ("the core", more))
            if names
        ]
        raise InputError(
            f"{shown(path, 200)} states another core than seed {shown(core.seed)} and size"
            f" {core.size} give: {'; '.join(parts)}: name its --core-seed, or leave in_core out"
        )


def _rows_check(seen: Seen) -> Check:
    valid = sum(cell.bps is not None for cell in seen.cells.values())
    later = f"; {seen.others} of later repeats are left out" if seen.others else ""
    return passed(
        "observations",
        f"{len(seen.cells)} cells of {len(seen.routes)} models, none twice, a model over one route;"
        f" scores of {valid} valid ones are those of the score maps{later}",
    )


def _core_check(core: Core, stated: set[str]) -> Check:
    frozen = f"{core.size} tasks of each panel and family by seed {core.seed}"
    if not stated:
        return unmade("core", f"{frozen}: no row states which tasks were ranked")
    return passed("core", f"{frozen}: those that in_core states")

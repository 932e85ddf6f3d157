"""Reading releases: all is checked against the digests, nothing is computed again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fbcore.design import PORTFOLIOS, Quantised
from flavourbench.analysis.answers import Answer, Evidence, Model, Observation
from flavourbench.analysis.core import parse_core
from flavourbench.analysis.extension import Earlier
from flavourbench.analysis.matrix import ScoreMatrix, Stratum, build_matrix
from flavourbench.analysis.measured import Measured
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.release import layout
from flavourbench.analysis.release.layout import RELEASE
from flavourbench.artifact import Contents, read_parquet
from flavourbench.errors import CheckError, InputError, shown
from flavourbench.tasks.panel import tasks_from
from flavourbench.tasks.taskset import TaskSet

_Row = TypeVar("_Row", Answer, Observation)
_Part = TypeVar("_Part")
#: Files that hold a score matrix, and what scores were made from without the texts of answers.
_MATRIX = (layout.TASKS, layout.SCORES)
_OBSERVED = (layout.PANELS, layout.PANEL_TASKS, layout.ROSTER, layout.CORE, layout.OBSERVATIONS)


@dataclass(frozen=True)
class Release:
    """A release without draws and texts of answers.

    Attributes
    ----------
    board : what ``leaderboard.json`` holds
    matrix : the score matrix
    pairs : Arrow table of all pairs i < j
    plan : the sizes, seed and level of its analysis
    root : ``kind`` of what the release goes back to, and what it ``says`` of it
    evidence : what the scores were made from, with ``answers`` None; None for a score table
    """

    board: Mapping[str, Any]
    matrix: ScoreMatrix
    pairs: Any
    plan: Plan
    root: Mapping[str, str]
    evidence: Evidence | None

    def pair(self, left: str, right: str) -> dict[str, Any]:
        """The tests of a pair of ids, ``left`` before ``right``, as in ``--json``.

        Raises
        ------
        CheckError
            There is not one such row.
        """
        import pyarrow.compute as pc

        both = (pc.field("left") == left) & (pc.field("right") == right)
        rows = _pair_objects(self.pairs.filter(both))
        if len(rows) != 1:
            raise CheckError(
                f"the release has {len(rows)} rows of {shown(left)} and {shown(right)}"
            )
        return rows[0]


def read_leaderboard(path: Path) -> dict[str, Any]:
    """All results of a release but draws and pairs.

    Raises
    ------
    InputError
        Not a release of a known format.
    CheckError
        A file is missing, altered or not listed.
    """
    contents = RELEASE.read(path, layout.BOARD)
    board: dict[str, Any] = json.loads(contents.files[layout.BOARD])
    return board


def read_matrix(path: Path) -> ScoreMatrix:
    """The score matrix of a release, equal to the one it was made from; earlier formats will do.

    Raises
    ------
    InputError, CheckError
        See :func:`read_leaderboard`.
    """
    return _matrix_from(RELEASE.read(path, *_MATRIX, earlier=True))


def _matrix_from(contents: Contents) -> ScoreMatrix:
    manifest = contents.manifest
    tasks = read_parquet(contents.files[layout.TASKS]).to_pydict()
    scores = read_parquet(contents.files[layout.SCORES], ["score"])["score"].to_numpy()
    models = [model["id"] for model in manifest["models"]]
    strata = {
        entry["id"]: Stratum(entry["id"], entry["panel"], entry["family"])
        for entry in manifest["design"]["strata"]
    }
    # The grid of the release, which need not be the coarsest one for the rounded scores.
    exponent, rounding = manifest["plan"]["exponent"], manifest["rounding"]
    unit = 10.0**exponent
    grid = np.rint(scores * unit).astype(np.int64).reshape(len(models), len(tasks["task"]))
    chance = None
    if "chance_56ths" in tasks:
        chance = np.array(tasks["chance_56ths"], np.float64) / unit / PORTFOLIOS
    matrix = build_matrix(
        models,
        [model["name"] for model in manifest["models"]],
        tasks["task"],
        [strata[stratum] for stratum in tasks["stratum"]],
        tasks["anchor"],
        Quantised(grid, exponent, rounding["scores"]),
        chance,
        manifest["label"],
    )
    return replace(matrix, chance_error=rounding["chance"])


def read_pairs(path: Path) -> list[dict[str, Any]]:
    """The pairs of a release, as :func:`.result.pair_rows` gives them.

    Raises
    ------
    InputError, CheckError
        See :func:`read_leaderboard`.
    """
    return _pair_objects(read_parquet(RELEASE.read(path, layout.PAIRS).files[layout.PAIRS]))


def read_earlier(path: Path) -> tuple[Earlier, dict[str, Any], Evidence | None]:
    """The analysis in a release, to add models to, its results as one object, and its evidence.

    Raises
    ------
    InputError, CheckError
        See :func:`read_leaderboard`.
    """
    names = (layout.BOARD, *_MATRIX, layout.DRAWS, layout.PAIRS)
    contents = RELEASE.read(path, *names, also=(layout.CHANCE, *_OBSERVED, layout.ANSWERS))
    matrix, files = _matrix_from(contents), contents.files
    board: dict[str, Any] = json.loads(files[layout.BOARD])
    plan, rows = board["plan"], {row["id"]: row for row in board["models"]}
    models = [rows[model] for model in matrix.models]
    draws, pairs = read_parquet(files[layout.DRAWS]), read_parquet(files[layout.PAIRS])
    ends = [pairs[name].to_numpy() for name in ("interval_low", "interval_high")]
    counts = None
    if layout.CHANCE in files:
        counts = read_parquet(files[layout.CHANCE])["exceedances"].to_numpy()
    measured = Measured(
        draws=np.stack([draws[model].to_numpy() for model in matrix.models]),
        redraws=plan["redraws"],
        se=np.array([row["se"] for row in models]),
        pointwise=np.array([row["pointwise"] for row in models]),
        difference_se=pairs["se"].to_numpy(),
        interval=np.stack(ends, axis=1),
        dz=pairs["dz"].to_numpy().astype(np.float64),
        exceedances=pairs["exceedances"].to_numpy(),
        chance_exceedances=counts,
        flips_drawn=plan["flips_drawn"],
        flips_exact=plan["flips_exact"],
    )
    result = {**board, "pairs": _pair_objects(pairs)}
    return Earlier(matrix, _plan_of(board), measured), result, _evidence(contents)


def _plan_of(board: Mapping[str, Any]) -> Plan:
    """The plan that a leaderboard states."""
    plan = board["plan"]
    return Plan(plan["draws"], plan["flips"], plan["seed"], plan["alpha"])


def _pair_objects(table: Any) -> list[dict[str, Any]]:
    """Rows of ``pairs.parquet`` as :func:`.result.pair_rows` gives them."""
    rows: list[dict[str, Any]] = table.to_pylist()
    for row in rows:
        for name in ("interval", "simultaneous"):
            row[name] = [row.pop(f"{name}_low"), row.pop(f"{name}_high")]
    return rows


def read_release(path: Path) -> Release:
    """All that views of single models and tasks need.

    Raises
    ------
    InputError, CheckError
        See :func:`read_leaderboard`.
    """
    contents = RELEASE.read(path, layout.BOARD, *_MATRIX, layout.PAIRS, also=_OBSERVED)
    board = json.loads(contents.files[layout.BOARD])
    return Release(
        board=board,
        matrix=_matrix_from(contents),
        pairs=read_parquet(contents.files[layout.PAIRS]),
        plan=_plan_of(board),
        root=contents.manifest["root"],
        evidence=_evidence(contents),
    )


def read_core_share(path: Path) -> tuple[int, int] | None:
    """Numbers of tasks in the core of a release and of all ranked ones; None for score tables."""
    files = RELEASE.read(path, also=(layout.DIAGNOSTICS,)).files
    if layout.DIAGNOSTICS not in files:
        return None
    found = json.loads(files[layout.DIAGNOSTICS])
    return found["core_tasks"], found["ranked_tasks"]


def read_diagnostics(path: Path) -> dict[str, Any]:
    """Bounds and sensitivity rankings of a release; errors as :func:`read_leaderboard`.

    Raises
    ------
    InputError
        It was made from a score table, and so left nothing out.
    """
    contents = RELEASE.read(path, also=(layout.DIAGNOSTICS,))
    if layout.DIAGNOSTICS not in contents.files:
        raise InputError(
            f"{shown(path, 200)} was made from a score table: nothing was left out of it"
        )
    found: dict[str, Any] = json.loads(contents.files[layout.DIAGNOSTICS])
    return found


def read_evidence(path: Path) -> Evidence | None:
    """What the scores of a release were made from; None where a table was given directly.

    Earlier formats will do.

    Raises
    ------
    InputError, CheckError
        See :func:`read_leaderboard`.
    """
    return _evidence(RELEASE.read(path, also=(*_OBSERVED, layout.ANSWERS), earlier=True))


def _evidence(contents: Contents) -> Evidence | None:
    table = contents.manifest["root"]["kind"] == "score-table"
    return None if table else evidence_from(contents)


def evidence_from(contents: Contents) -> Evidence:
    """The evidence in files of a release.

    Raises
    ------
    CheckError
        A file holds something else, although the seal is right: another program wrote this.
    """
    files = contents.files

    def tasks() -> TaskSet:
        return tasks_from(files[layout.PANEL_TASKS], json.loads(files[layout.PANELS]))

    def models() -> tuple[Model, ...]:
        return tuple(map(_model, json.loads(files[layout.ROSTER])["models"]))

    def answers() -> tuple[Answer, ...] | None:
        if layout.ANSWERS not in files:
            return None
        return tuple(_rows(files[layout.ANSWERS], Answer))

    def observations() -> tuple[Observation, ...]:
        rows = _rows(files[layout.OBSERVATIONS], Observation)
        return tuple(row._replace(selection=row.selection or None) for row in rows)

    return Evidence(
        tasks=_part(f"{layout.PANELS}, {layout.PANEL_TASKS}", tasks),
        models=_part(layout.ROSTER, models),
        answers=_part(layout.ANSWERS, answers),
        observations=_part(layout.OBSERVATIONS, observations),
        core=_part(layout.CORE, lambda: parse_core(json.loads(files[layout.CORE]))),
    )


def _part(name: str, read: Callable[[], _Part]) -> _Part:
    """What a file holds; the error of one that holds something else names it."""
    try:
        return read()
    # Arrow raises kinds of OSError and NotImplementedError as well.
    except (
        *(CheckError, OSError, ValueError, LookupError, TypeError, AttributeError),
        *(ArithmeticError, RuntimeError),
    ) as error:
        reason = shown(str(error).split("\n")[0], 200)
        raise CheckError(
            f"{name} lacks {reason}: another version wrote it"
            if isinstance(error, KeyError)
            else f"{name}: {reason}"
        ) from error


def _rows(data: bytes, kind: type[_Row]) -> list[_Row]:
    """The rows of a table whose columns stand in the order of the fields of ``kind``."""
    table = read_parquet(data)
    columns = [column.to_pylist() for column in table.columns]
    return [kind(*row) for row in zip(*columns, strict=True)]


def _model(entry: Mapping[str, Any]) -> Model:
    slot, name, digest, simulated = (
        entry[key] for key in ("slot", "name", "route_digest", "simulated")
    )
    if not all(isinstance(text, str) for text in (slot, name, digest)):
        raise ValueError(f"slot, name and route of the model {shown(slot)} are no texts")
    if not isinstance(simulated, bool):
        raise ValueError(f"simulated of the model {shown(slot)} is {shown(simulated)}")
    return Model(slot, name, digest, dict(entry["route"]), dict(entry["source"]), simulated)

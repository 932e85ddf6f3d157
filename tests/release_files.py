"""A small release for tests, and what a forger does: change it and seal it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from panels import small_content, small_environment

from flavourbench.analysis.answers import Answer, Answers, Model, evidence_of
from flavourbench.analysis.core import freeze
from flavourbench.analysis.inference import infer
from flavourbench.analysis.matrix import ScoreMatrix, Stratum, build_matrix
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.release import RELEASE, write_release
from flavourbench.analysis.verify.tables import Table, read_table
from flavourbench.artifact import MANIFEST, write_parquet
from flavourbench.collect.route import ROUTE_RECIPE
from flavourbench.identity import canonical_json, file_sha256, json_sha256, table_sha256
from flavourbench.tasks.compiler import compile_panels
from flavourbench.tasks.design import parse_design
from flavourbench.tasks.labels import PORTFOLIOS
from flavourbench.tasks.taskset import Task, TaskSet, joined

BOARD = "leaderboard.json"
#: Files of numbers, and a column that each must have.
NUMBERS = {
    "scores.parquet": "score",
    "tasks.parquet": "stratum",
    "draws.parquet": "elm",
    "counts.parquet": "exceedances",
    "pairs.parquet": "resolved",
    "chance.parquet": "holm_p",
}
#: Place of a value in a JSON file.
Place = tuple[str | int, ...]


def small_matrix(*, chance: bool = True) -> ScoreMatrix:
    """Five models on 24 tasks of four strata; two are identical and one is constant."""
    source = np.random.default_rng(3)
    values = source.integers(0, 10_001, (3, 24)) / 100
    values = np.vstack([values, values[:1], np.full((1, 24), 50.0)])
    models = ["alder", "birch", "cedar", "dogwood", "elm"]
    strata = [Stratum(f"p{t % 2}/f{t % 4 // 2}", f"p{t % 2}", f"f{t % 4 // 2}") for t in range(24)]
    levels = source.integers(1000, 4000, 24) / 100 if chance else None
    tasks = [f"t{t:02d}" for t in range(24)]
    anchors = [f"a{t % 13:02d}" for t in range(24)]
    names = [model.title() for model in models]
    return build_matrix(models, names, tasks, strata, anchors, values, levels)


def write_small(path: Path, *, chance: bool = True) -> Path:
    """A release of :func:`small_matrix` with few draws."""
    write_release(infer(small_matrix(chance=chance), Plan(40, 300), 1), path)
    return path


def scattered(m: int, t: int, _: Task) -> str:
    """A portfolio of model m at task t, whatever it is worth."""
    return PORTFOLIOS[(t * t + 5 * m * t + m) % len(PORTFOLIOS)]


def often_best(m: int, t: int, task: Task) -> str:
    """The best portfolio at every second, third or fifth task, else any."""
    return task.optimum if t % (2, 3, 5)[m] == 0 else scattered(m, t, task)


@cache
def small_tasks() -> TaskSet:
    """Two panels of 300 made-up items."""
    return joined(compile_panels(small_environment(), parse_design(small_content()))[:2])


def write_collected(path: Path, choose: Callable[[int, int, Task], str] = scattered) -> Path:
    """A release of answers: three models on two made-up panels, one cell refused."""
    tasks = small_tasks()
    models = tuple(
        Model(slot, slot.title(), json_sha256({"recipe": ROUTE_RECIPE, **route}), route, source)
        for slot in ("ant", "bee", "cat")
        for route in [{"dialect": "openai-chat", "model": slot}]
        for source in [{"kind": "answers", "content_sha256": json_sha256(slot)}]
    )
    rows = [
        Answer(model.slot, task.id, 0, "answered", "", f"FINAL_SELECTION: {three}", 7)
        for m, model in enumerate(models)
        for t, task in enumerate(tasks.tasks)
        for three in [", ".join(choose(m, t, task))]
    ]
    rows[1] = rows[1]._replace(outcome="refused", text="", micro_dollars=None)
    answers = Answers(models, tuple(rows))
    evidence = evidence_of(answers, tasks, freeze(answers.coverage(tasks), "seed"))
    write_release(infer(evidence.matrix, Plan(40, 300), 1), path, evidence)
    return path


def tables_of(folder: Path) -> dict[str, Table]:
    """The columns of every Parquet file."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    models = [model["id"] for model in manifest["models"]]
    return {
        path.name: read_table(path.name, path.read_bytes(), models)
        for path in sorted(folder.glob("*.parquet"))
        if path.name in NUMBERS
    }


def replace_table(folder: Path, name: str, table: Table) -> None:
    """Write a Parquet file anew and seal the folder with the right digests."""
    write_parquet(folder / name, table)
    reseal(folder, contents={name: table_sha256(table)})


def replace_bytes(folder: Path, name: str, data: bytes) -> None:
    """Put other bytes into a file and seal the folder with the digests of these."""
    (folder / name).write_bytes(data)
    reseal(folder, contents={name: hashlib.sha256(data).hexdigest()})


def replace_board(folder: Path, board: Any) -> None:
    """Write another leaderboard and seal the folder."""
    (folder / BOARD).write_bytes(canonical_json(board))
    reseal(folder, contents={BOARD: json_sha256(board)})


def reseal(
    folder: Path, *, contents: Mapping[str, str] | None = None, manifest: Any = None
) -> None:
    """Seal a folder anew, with other content digests, or with another manifest."""
    if manifest is None:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    for name, digest in (contents or {}).items():
        manifest["files"][name] = {
            "content_sha256": digest,
            "file_sha256": file_sha256(folder / name),
            "bytes": (folder / name).stat().st_size,
        }
    seal_bytes(folder, canonical_json(manifest))


def seal_bytes(folder: Path, data: bytes) -> None:
    """Make ``data`` the manifest, under its seal."""
    (folder / MANIFEST).write_bytes(data)
    seal = f"{hashlib.sha256(data).hexdigest()}  {MANIFEST}\n"
    (folder / RELEASE.seal).write_bytes(seal.encode())


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """The place of every value in a JSON value, containers too; of lists the last entry."""
    if at:
        yield at
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from places(entry, (*at, key))
    elif isinstance(value, list) and value:
        yield from places(value[-1], (*at, len(value) - 1))


def changed(value: Any, at: Place, change: Callable[[Any], Any]) -> Any:
    """A copy of a JSON value with another value at one place."""
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = change(inner[at[-1]])
    return copy

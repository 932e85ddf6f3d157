"""The release folder: the one result format, an artifact sealed by ``RELEASE.sha256``."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fbcore.design import PORTFOLIOS, Quantised
from flavourbench import __version__
from flavourbench.analysis.inference import Inference
from flavourbench.analysis.matrix import ScoreMatrix, Stratum, build_matrix
from flavourbench.analysis.result import leaderboard_object
from flavourbench.artifact import Kind, read_parquet, write_parquet
from flavourbench.errors import InputError
from flavourbench.folders import check_place, named_folder, new_folder
from flavourbench.identity import Column, canonical_json, json_sha256, table_sha256

RELEASE = Kind(
    "release",
    "flavourbench-release/1",
    "RELEASE.sha256",
    ("label", "models", "design", "plan", "rounding", "warnings"),
)
_BOARD, _TASKS, _SCORES = "leaderboard.json", "tasks.parquet", "scores.parquet"


def is_release(path: Path) -> bool:
    """Whether ``path`` is a release folder, be it a damaged one."""
    return RELEASE.at(path)


def find_release(folder: Path) -> Path:
    """``folder`` itself, or the newest release in its ``releases``.

    Raises
    ------
    InputError
        There is none.
    """
    seals = [folder / RELEASE.seal]
    if not seals[0].is_file():
        # Hidden ones are being written.
        seals = [*(folder / "releases").glob(f"[!.]*/{RELEASE.seal}")]
    if not seals:
        raise InputError("no release here or in ./releases: name one, or make one with `fb infer`")
    return max(seals, key=lambda seal: (seal.stat().st_mtime_ns, seal.parent.name)).parent


def check_target(path: Path, *, force: bool = False) -> None:
    """Say before computing what :func:`write_release` would say after it.

    Raises
    ------
    InputError
        ``path`` exists (and ``force`` is not given or it is no release), or its place
        cannot be written.
    """
    check_place(path, force=force, kept=RELEASE.foreign)


def write_release(inference: Inference, path: Path, *, force: bool = False) -> str:
    """Write a release folder and return the digest of its manifest.

    Raises
    ------
    InputError
        See :func:`check_target`; or writing fails.
    """
    with new_folder(path, force=force, kept=RELEASE.foreign) as folder:
        return _fill(inference, folder)


def write_named_release(inference: Inference, parent: Path, stem: str) -> Path:
    """Write a release under ``parent`` whose name ends with its digest.

    The name stands for the content, so an equal release that is already there is kept.

    Raises
    ------
    InputError
        Writing fails.
    CheckError
        The folder of that name is no longer the release that was written there.
    """
    path, new = named_folder(parent, lambda folder: f"{stem}-{_fill(inference, folder)[:12]}")
    if not new:
        RELEASE.read(path)
        with contextlib.suppress(OSError):
            os.utime(path / RELEASE.seal)  # it is the newest result again
    return path


def _fill(inference: Inference, folder: Path) -> str:
    import pyarrow as pa

    board = leaderboard_object(inference)
    (folder / _BOARD).write_bytes(canonical_json(board))
    contents = {_BOARD: json_sha256(board)}
    for name, columns in _tables(inference).items():
        write_parquet(folder / name, columns)
        contents[name] = table_sha256(columns)
    matrix = inference.matrix
    body = {
        "software": {"flavourbench": __version__, "pyarrow": pa.__version__},
        "parents": [{"kind": "score-table", "content_sha256": matrix.content_sha256}],
        "root": "a score table given directly: answers and tasks were not seen",
        "label": matrix.label,
        "models": [
            {"id": model, "name": name}
            for model, name in zip(matrix.models, matrix.names, strict=True)
        ],
        "design": board["design"],
        "plan": board["plan"],
        "rounding": {"scores": matrix.scores.largest_error, "chance": matrix.chance_error},
        "warnings": board["warnings"],
    }
    return RELEASE.write(folder, body, contents)


def _tables(inference: Inference) -> dict[str, dict[str, Column]]:
    """The Parquet files of a release, rows in canonical order."""
    matrix, pairs = inference.matrix, inference.pairs
    models, design = matrix.models, matrix.design
    left = [models[i] for i in pairs.left]
    right = [models[j] for j in pairs.right]
    counts: dict[str, Column] = {"left": left, "right": right, "exceedances": pairs.exceedances}
    tables: dict[str, dict[str, Column]] = {
        _SCORES: {
            "model": [model for model in models for _ in range(design.tasks)],
            "task": list(matrix.tasks) * len(models),
            "score": (matrix.scores.values / matrix.unit).ravel(),
        },
        _TASKS: {
            "task": list(matrix.tasks),
            "stratum": [matrix.strata[s].id for s in design.stratum],
            "anchor": [matrix.clusters[c] for c in design.cluster],
        },
        "draws.parquet": dict(zip(models, inference.draws, strict=True)),
        "counts.parquet": counts,
        "pairs.parquet": {
            **counts,
            "difference": pairs.difference,
            "interval_low": np.ascontiguousarray(pairs.interval[:, 0]),
            "interval_high": np.ascontiguousarray(pairs.interval[:, 1]),
            "dz": np.ma.masked_invalid(pairs.dz),
            "p": pairs.p,
            "holm_p": pairs.holm_p,
            "resolved": pairs.resolved,
        },
    }
    if matrix.chance is not None:
        tables[_TASKS]["chance_56ths"] = matrix.chance
    if inference.chance is not None:
        tables["chance.parquet"] = {
            "model": list(models),
            "exceedances": inference.chance.exceedances,
            "p": inference.chance.p,
            "holm_p": inference.chance.holm_p,
        }
    return tables


def read_leaderboard(path: Path) -> dict[str, Any]:
    """All results of a release but draws and pairs.

    Raises
    ------
    InputError
        Not a release of a known format.
    CheckError
        A file is missing, altered or not listed.
    """
    contents = RELEASE.read(path, _BOARD)
    board: dict[str, Any] = json.loads(contents.files[_BOARD])
    return board


def read_matrix(path: Path) -> ScoreMatrix:
    """The score matrix of a release, equal to the one it was made from.

    Raises
    ------
    InputError, CheckError
        See :func:`read_leaderboard`.
    """
    contents = RELEASE.read(path, _TASKS, _SCORES)
    manifest = contents.manifest
    tasks = read_parquet(contents.files[_TASKS]).to_pydict()
    scores = read_parquet(contents.files[_SCORES], ["score"])["score"].to_numpy()
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

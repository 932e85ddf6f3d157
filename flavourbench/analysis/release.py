"""The release folder: the one result format.

``manifest.json`` names every file with its digests and the inputs by content;
``RELEASE.sha256`` holds the digest of the manifest. Nothing in a release depends on the
time, the place, the machine or the number of threads.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fbcore.design import PORTFOLIOS, Quantised
from flavourbench import __version__
from flavourbench.analysis.inference import Inference
from flavourbench.analysis.matrix import ScoreMatrix, Stratum, build_matrix
from flavourbench.analysis.result import leaderboard_object
from flavourbench.errors import CheckError, InputError, listed, os_reason, shown
from flavourbench.identity import (
    Column,
    canonical_json,
    check_place,
    file_sha256,
    json_sha256,
    named_folder,
    new_folder,
    table_sha256,
)

FORMAT = "flavourbench-release/1"
MANIFEST, SEAL = "manifest.json", "RELEASE.sha256"


def is_release(path: Path) -> bool:
    """Whether ``path`` is a release folder, be it a damaged one."""
    return any(os.path.isfile(path / name) for name in (SEAL, MANIFEST))  # noqa: PTH113


def find_release(folder: Path) -> Path:
    """``folder`` itself, or the newest release in its ``releases``.

    Raises
    ------
    InputError
        There is none.
    """
    seals = [folder / SEAL]
    if not seals[0].is_file():
        seals = [*(folder / "releases").glob(f"[!.]*/{SEAL}")]  # hidden ones are being written
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
    check_place(path, force=force, kept=_foreign)


def write_release(inference: Inference, path: Path, *, force: bool = False) -> str:
    """Write a release folder and return the digest of its manifest.

    Raises
    ------
    InputError
        See :func:`check_target`; or writing fails.
    """
    with new_folder(path, force=force, kept=_foreign) as folder:
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
        read_manifest(path)
        with contextlib.suppress(OSError):
            os.utime(path / SEAL)  # it is the newest result again
    return path


def _foreign(path: Path) -> str | None:
    """Why a path is more than a release (or an empty folder), so that it must stay."""
    if not path.is_dir():
        return "it is no folder"
    names = {entry.name for entry in path.iterdir()}
    if not names:
        return None
    try:
        files = set(json.loads((path / MANIFEST).read_bytes())["files"])
        release = SEAL in names
    except (OSError, ValueError, LookupError, TypeError):
        release = False
    if not release:
        return f"it is no release (no {SEAL} with its {MANIFEST})"
    other = sorted(names - {MANIFEST, SEAL} - files)
    return f"it holds {listed(other)} beside the release" if other else None


def _fill(inference: Inference, folder: Path) -> str:
    import pyarrow as pa

    board = leaderboard_object(inference)
    (folder / "leaderboard.json").write_bytes(canonical_json(board))
    files: dict[str, dict[str, Any]] = {
        "leaderboard.json": {"content_sha256": json_sha256(board)},
    }
    for name, columns in _tables(inference).items():
        _write_parquet(folder / name, columns)
        files[name] = {"content_sha256": table_sha256(columns)}
    for name, entry in files.items():
        entry["file_sha256"] = file_sha256(folder / name)
        entry["bytes"] = (folder / name).stat().st_size
    matrix = inference.matrix
    manifest = {
        "format": FORMAT,
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
        "files": files,
    }
    data = canonical_json(manifest)
    (folder / MANIFEST).write_bytes(data)
    digest = json_sha256(manifest)
    (folder / SEAL).write_bytes(_seal(digest))
    return digest


def _tables(inference: Inference) -> dict[str, dict[str, Column]]:
    """The Parquet files of a release, rows in canonical order."""
    matrix, pairs = inference.matrix, inference.pairs
    models, design = matrix.models, matrix.design
    left = [models[i] for i in pairs.left]
    right = [models[j] for j in pairs.right]
    counts: dict[str, Column] = {"left": left, "right": right, "exceedances": pairs.exceedances}
    tables: dict[str, dict[str, Column]] = {
        "scores.parquet": {
            "model": [model for model in models for _ in range(design.tasks)],
            "task": list(matrix.tasks) * len(models),
            "score": (matrix.scores.values / matrix.unit).ravel(),
        },
        "tasks.parquet": {
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
        tables["tasks.parquet"]["chance_56ths"] = matrix.chance
    if inference.chance is not None:
        tables["chance.parquet"] = {
            "model": list(models),
            "exceedances": inference.chance.exceedances,
            "p": inference.chance.p,
            "holm_p": inference.chance.holm_p,
        }
    return tables


def _write_parquet(path: Path, columns: Mapping[str, Column]) -> None:
    """Fixed options, so that equal content gives equal bytes under one pyarrow version."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = []
    for values in columns.values():
        if not isinstance(values, np.ndarray):
            arrays.append(pa.array(values, pa.string()).dictionary_encode())
        elif isinstance(values, np.ma.MaskedArray):
            arrays.append(pa.array(values.filled(0), mask=np.ma.getmaskarray(values)))
        else:
            arrays.append(pa.array(values))
    table = pa.table(arrays, names=list(columns))
    texts = [name for name, values in columns.items() if not isinstance(values, np.ndarray)]
    pq.write_table(
        table,
        path,
        version="2.6",
        data_page_version="1.0",
        compression="none",
        use_dictionary=texts or False,
        write_statistics=False,
        store_schema=False,
        row_group_size=max(1, table.num_rows),
    )


def read_manifest(path: Path) -> dict[str, Any]:
    """The manifest of a release whose seal and files agree with their digests.

    Raises
    ------
    InputError
        Not a release of a known format.
    CheckError
        A file is missing, altered or not listed.
    """
    where = shown(path, 200)
    if not os.path.lexists(path):
        raise InputError(f"{where}: no such file or directory")
    if not is_release(path):
        raise InputError(f"{where} is not a release folder (no {SEAL})")
    try:
        manifest = _sealed_manifest(path)
        _check_files(path, manifest["files"])
    except OSError as error:
        raise InputError(f"cannot read {os_reason(error, path)}") from error
    return manifest


def _sealed_manifest(path: Path) -> dict[str, Any]:
    for name in (SEAL, MANIFEST):
        if not (path / name).is_file():
            raise CheckError(f"{shown(path, 200)}: {name} is missing")
    if (path / SEAL).read_bytes() != _seal(file_sha256(path / MANIFEST)):
        raise CheckError(f"{shown(path, 200)}: {MANIFEST} does not have the digest in {SEAL}")
    try:
        manifest: dict[str, Any] = json.loads((path / MANIFEST).read_bytes())
        found = manifest["format"]
    except (ValueError, LookupError, TypeError):
        found = "unknown"
    if found != FORMAT:
        raise InputError(
            f"{shown(path, 200)} has format {shown(found)}: this version reads {FORMAT}"
        )
    return manifest


def _seal(digest: str) -> bytes:
    return f"{digest}  {MANIFEST}\n".encode("ascii")


def _check_files(path: Path, files: Mapping[str, Mapping[str, Any]]) -> None:
    for name, entry in files.items():
        if not (path / name).is_file():
            raise CheckError(f"{shown(path, 200)}: {shown(name)} is missing")
        if file_sha256(path / name) != entry["file_sha256"]:
            raise CheckError(f"{shown(path, 200)}: {shown(name)} is not the file that was released")
    extra = sorted({entry.name for entry in path.iterdir()} - {*files, MANIFEST, SEAL})
    if extra:
        raise CheckError(f"{shown(path, 200)}: {shown(extra[0])} is not listed in {MANIFEST}")


def read_leaderboard(path: Path) -> dict[str, Any]:
    """All results of a release but draws and pairs (see :func:`read_manifest`)."""
    read_manifest(path)
    board: dict[str, Any] = json.loads((path / "leaderboard.json").read_bytes())
    return board


def read_matrix(path: Path) -> ScoreMatrix:
    """The score matrix of a release, equal to the one it was made from."""
    import pyarrow.parquet as pq

    manifest = read_manifest(path)
    tasks = pq.ParquetFile(path / "tasks.parquet").read().to_pydict()
    scores = pq.ParquetFile(path / "scores.parquet").read(columns=["score"])["score"].to_numpy()
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

"""The release folder: the one result format.

``manifest.json`` names every file with its digests and the inputs by content;
``RELEASE.sha256`` holds the digest of the manifest. Nothing in a release depends on the
time, the place, the machine or the number of threads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from flavourbench import __version__
from flavourbench.analysis.inference import Inference
from flavourbench.analysis.matrix import ScoreMatrix, Stratum, build_matrix
from flavourbench.analysis.result import leaderboard_object
from flavourbench.errors import CheckError, InputError, shown
from flavourbench.identity import (
    Column,
    canonical_json,
    file_sha256,
    json_sha256,
    named_folder,
    new_folder,
    table_sha256,
)

FORMAT = "flavourbench-release/1"
MANIFEST, SEAL = "manifest.json", "RELEASE.sha256"


def is_release(path: Path) -> bool:
    """Whether ``path`` looks like a release folder."""
    return (path / SEAL).is_file() and (path / MANIFEST).is_file()


def find_release(folder: Path) -> Path:
    """``folder`` itself, or the newest release in its ``releases``.

    Raises
    ------
    InputError
        There is none.
    """
    if is_release(folder):
        return folder
    found = [path for path in (folder / "releases").glob("*") if is_release(path)]
    if not found:
        raise InputError("no release here or in ./releases: name one, or make one with `fb infer`")
    return max(found, key=lambda path: ((path / SEAL).stat().st_mtime_ns, path.name))


def write_release(inference: Inference, path: Path, *, force: bool = False) -> str:
    """Write a release folder and return the digest of its manifest.

    Raises
    ------
    InputError
        ``path`` exists (and ``force`` is not given or it is no release), or writing fails.
    """
    with new_folder(path, force=force, marker=SEAL) as folder:
        return _fill(inference, folder)


def write_named_release(inference: Inference, parent: Path, stem: str) -> Path:
    """Write a release under ``parent`` whose name ends with its digest.

    The name stands for the content, so an equal release that is already there is kept.
    """
    return named_folder(parent, lambda folder: f"{stem}-{_fill(inference, folder)[:12]}")


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
        "warnings": board["warnings"],
        "files": files,
    }
    data = canonical_json(manifest)
    (folder / MANIFEST).write_bytes(data)
    digest = json_sha256(manifest)
    (folder / SEAL).write_text(f"{digest}  {MANIFEST}\n", encoding="ascii")
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
    if not is_release(path):
        raise InputError(f"{shown(path, 200)} is not a release folder (no {SEAL})")
    sealed = (path / SEAL).read_text(encoding="ascii", errors="replace").split()
    if not sealed or file_sha256(path / MANIFEST) != sealed[0]:
        raise CheckError(f"{shown(path, 200)}: {MANIFEST} does not have the digest in {SEAL}")
    manifest: dict[str, Any] = json.loads((path / MANIFEST).read_bytes())
    if manifest.get("format") != FORMAT:
        raise InputError(
            f"{shown(path, 200)} has format {shown(manifest.get('format'))}:"
            f" this version reads {FORMAT}"
        )
    for name, entry in manifest["files"].items():
        if not (path / name).is_file():
            raise CheckError(f"{shown(path, 200)}: {shown(name)} is missing")
        if file_sha256(path / name) != entry["file_sha256"]:
            raise CheckError(f"{shown(path, 200)}: {shown(name)} is not the file that was released")
    extra = sorted({f.name for f in path.iterdir()} - {*manifest["files"], MANIFEST, SEAL})
    if extra:
        raise CheckError(f"{shown(path, 200)}: {shown(extra[0])} is not listed in {MANIFEST}")
    return manifest


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
    chance = None
    if "chance_56ths" in tasks:
        unit = 10.0 ** manifest["plan"]["exponent"]
        chance = np.array(tasks["chance_56ths"], np.float64) / unit / 56
    return build_matrix(
        models,
        [model["name"] for model in manifest["models"]],
        tasks["task"],
        [strata[stratum] for stratum in tasks["stratum"]],
        tasks["anchor"],
        scores.reshape(len(models), len(tasks["task"])),
        chance,
        manifest["label"],
    )

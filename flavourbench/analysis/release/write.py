"""Writing releases."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flavourbench import __version__
from flavourbench.analysis.answers import (
    Evidence,
    answer_columns,
    observation_columns,
    tasks_sha256,
)
from flavourbench.analysis.inference import Inference
from flavourbench.analysis.release import layout
from flavourbench.analysis.release.layout import RELEASE
from flavourbench.analysis.result import leaderboard_object
from flavourbench.analysis.sensitivity import sensitivity
from flavourbench.artifact import write_parquet
from flavourbench.folders import check_place, named_folder, new_folder
from flavourbench.identity import Column, canonical_json, json_sha256, table_sha256
from flavourbench.tasks.panel import columns_of, manifest_of


def check_target(path: Path, *, force: bool = False) -> None:
    """Say before computing what :func:`write_release` would say after it.

    Raises
    ------
    InputError
        ``path`` exists (and ``force`` is not given or it is no release), or its place
        cannot be written.
    """
    check_place(path, force=force, kept=RELEASE.foreign)


def write_release(
    inference: Inference, path: Path, evidence: Evidence | None = None, *, force: bool = False
) -> str:
    """Write a release folder and return the digest of its manifest.

    Parameters
    ----------
    evidence : what the scores were made from; None for a score table given directly

    Raises
    ------
    InputError
        See :func:`check_target`; or writing fails.
    """
    with new_folder(path, force=force, kept=RELEASE.foreign) as folder:
        return _fill(inference, evidence, folder)


def write_named_release(
    inference: Inference, parent: Path, stem: str, evidence: Evidence | None = None
) -> Path:
    """Write a release under ``parent`` whose name ends with its digest.

    The name stands for the content, so an equal release that is already there is kept.

    Raises
    ------
    InputError
        Writing fails.
    CheckError
        The folder of that name is no longer the release that was written there.
    """
    path, new = named_folder(
        parent, lambda folder: f"{stem}-{_fill(inference, evidence, folder)[:12]}"
    )
    if not new:
        RELEASE.read(path)
        with contextlib.suppress(OSError):
            os.utime(path / RELEASE.seal)  # it is the newest result again
    return path


def _fill(inference: Inference, evidence: Evidence | None, folder: Path) -> str:
    import pyarrow as pa

    board = leaderboard_object(inference)
    objects, tables = {layout.BOARD: board}, _tables(inference)
    if evidence is not None:
        objects |= _evidence_objects(evidence)
        tables |= _evidence_tables(evidence)
    contents = {}
    for name, value in objects.items():
        (folder / name).write_bytes(canonical_json(value))
        contents[name] = json_sha256(value)
    for name, columns in tables.items():
        write_parquet(folder / name, columns)
        contents[name] = table_sha256(columns)
    matrix = inference.matrix
    root = root_of(evidence)
    body = {
        "software": {"flavourbench": __version__, "pyarrow": pa.__version__},
        "parents": _parents(matrix.content_sha256, evidence),
        "root": {"kind": root, "says": layout.ROOTS[root]},
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


def root_of(evidence: Evidence | None) -> str:
    """How far back a release goes: one of ``ROOTS``."""
    if evidence is None:
        return "score-table"
    return "observations" if evidence.answers is None else "answers"


def _parents(scores: str, evidence: Evidence | None) -> list[dict[str, str]]:
    """What a release was made from, the latest last."""
    if evidence is None:
        return [{"kind": "score-table", "content_sha256": scores}]
    rows = evidence.answers
    said = observation_columns(evidence.observations) if rows is None else answer_columns(rows)
    digests = {
        "tasks": tasks_sha256(evidence.tasks),
        root_of(evidence): table_sha256(said),
        "core": evidence.core.sha256,
        "scores": scores,
    }
    return [{"kind": kind, "content_sha256": digest} for kind, digest in digests.items()]


def _evidence_objects(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """The JSON files that say what scores were made from."""
    models = [
        {
            "slot": model.slot,
            "name": model.name,
            "route_digest": model.route_digest,
            "route": dict(model.route),
            "source": dict(model.source),
            "simulated": model.simulated,
            "added": model.slot in evidence.added,
        }
        for model in evidence.models
    ]
    return {
        layout.PANELS: manifest_of(evidence.tasks),
        layout.ROSTER: {"models": models},
        layout.CORE: evidence.core.content,
        layout.DIAGNOSTICS: sensitivity(evidence),
    }


def _evidence_tables(evidence: Evidence) -> dict[str, dict[str, Column]]:
    """The Parquet files that say what scores were made from."""
    tables = {
        layout.PANEL_TASKS: columns_of(evidence.tasks),
        layout.OBSERVATIONS: observation_columns(evidence.observations),
    }
    if evidence.answers is not None:
        tables[layout.ANSWERS] = answer_columns(evidence.answers)
    return tables


def _tables(inference: Inference) -> dict[str, dict[str, Column]]:
    """The Parquet files of a release, rows in canonical order."""
    matrix, pairs = inference.matrix, inference.pairs
    models, design = matrix.models, matrix.design
    left = [models[i] for i in pairs.left]
    right = [models[j] for j in pairs.right]
    counts: dict[str, Column] = {"left": left, "right": right, "exceedances": pairs.exceedances}
    tables: dict[str, dict[str, Column]] = {
        layout.SCORES: {
            "model": [model for model in models for _ in range(design.tasks)],
            "task": list(matrix.tasks) * len(models),
            "score": (matrix.scores.values / matrix.unit).ravel(),
        },
        layout.TASKS: {
            "task": list(matrix.tasks),
            "stratum": [matrix.strata[s].id for s in design.stratum],
            "anchor": [matrix.clusters[c] for c in design.cluster],
        },
        layout.DRAWS: dict(zip(models, inference.draws, strict=True)),
        layout.COUNTS: counts,
        layout.PAIRS: {
            **counts,
            "difference": pairs.difference,
            "se": pairs.se,
            **_ends("interval", pairs.interval),
            **_ends("simultaneous", pairs.simultaneous),
            "dz": np.ma.masked_invalid(pairs.dz),
            "p": pairs.p,
            "holm_p": pairs.holm_p,
            "stepdown_p": pairs.stepdown_p,
            "directed_p": pairs.directed_p,
            "resolved": pairs.resolved,
        },
    }
    if matrix.chance is not None:
        tables[layout.TASKS]["chance_56ths"] = matrix.chance
    if inference.chance is not None:
        tables[layout.CHANCE] = {
            "model": list(models),
            "exceedances": inference.chance.exceedances,
            "p": inference.chance.p,
            "holm_p": inference.chance.holm_p,
            "stepdown_p": inference.chance.stepdown_p,
        }
    return tables


def _ends(name: str, bounds: NDArray[np.float64]) -> dict[str, Column]:
    """Intervals [n, 2] as two columns."""
    return {
        f"{name}_{end}": np.ascontiguousarray(bounds[:, at])
        for at, end in enumerate(("low", "high"))
    }

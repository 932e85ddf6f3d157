"""Files of a release as they follow from the plain analysis, laid out a second time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flavourbench.analysis.matrix import ScoreMatrix
from flavourbench.analysis.plain.analysis import Analysis
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.release.layout import (
    ANSWERS,
    CHANCE,
    COUNTS,
    DRAWS,
    OBSERVATIONS,
    PAIRS,
    PANEL_TASKS,
    ROOTS,
)
from flavourbench.analysis.result import (
    DECISIONS,
    GENERATOR,
    NULL_HYPOTHESIS,
    integer,
    letter_names,
)
from flavourbench.analysis.verify.files import Release
from flavourbench.analysis.verify.tables import Table


def tables_of(matrix: ScoreMatrix, found: Analysis) -> dict[str, Table]:
    """The derived number files."""
    models, resampled, flipped = matrix.models, found.resampled, found.flipped
    left, right = np.triu_indices(len(models), 1)
    counts: Table = {
        "left": [models[i] for i in left],
        "right": [models[j] for j in right],
        "exceedances": flipped.pairs.exceedances,
    }
    tables: dict[str, Table] = {
        DRAWS: dict(zip(models, resampled.draws, strict=True)),
        COUNTS: counts,
        PAIRS: {
            **counts,
            "difference": found.difference,
            "se": resampled.pair_se,
            "interval_low": resampled.pair_interval[:, 0],
            "interval_high": resampled.pair_interval[:, 1],
            "simultaneous_low": resampled.pair_simultaneous[:, 0],
            "simultaneous_high": resampled.pair_simultaneous[:, 1],
            "dz": np.ma.masked_invalid(found.dz),
            "p": flipped.pairs.p,
            "holm_p": flipped.pairs.holm_p,
            "stepdown_p": flipped.pairs.stepdown_p,
            "directed_p": flipped.directed_p,
            "resolved": flipped.resolved,
        },
    }
    if flipped.chance is not None:
        tables[CHANCE] = {
            "model": list(models),
            "exceedances": flipped.chance.exceedances,
            "p": flipped.chance.p,
            "holm_p": flipped.chance.holm_p,
            "stepdown_p": flipped.chance.stepdown_p,
        }
    return tables


def manifest_of(
    release: Release,
    matrix: ScoreMatrix,
    plan: Plan,
    found: Analysis,
    warnings: Sequence[str],
) -> dict[str, Any]:
    """The manifest; the versions of software, which nothing derives, as stated."""
    stated = release.manifest
    software = stated.get("software")
    versions = software if isinstance(software, Mapping) else {}
    return {
        "format": stated["format"],
        "files": stated["files"],
        "software": {key: str(versions.get(key)) for key in ("flavourbench", "pyarrow")},
        "parents": parents_of(release, matrix),
        "root": {"kind": release.root, "says": ROOTS[release.root]},
        "label": matrix.label,
        "models": [
            {"id": model, "name": name}
            for model, name in zip(matrix.models, matrix.names, strict=True)
        ],
        "design": _design(matrix),
        "plan": _plan(matrix, plan, found),
        "rounding": {"scores": matrix.scores.largest_error, "chance": matrix.chance_error},
        "warnings": list(warnings),
    }


def parents_of(release: Release, matrix: ScoreMatrix) -> list[dict[str, str]]:
    """What a release was made from by its digests, the latest last."""
    evidence, digests = release.evidence, {}
    if evidence is not None:
        said = ANSWERS if release.root == "answers" else OBSERVATIONS
        digests = {
            "tasks": release.contents[PANEL_TASKS],
            release.root: release.contents[said],
            "core": evidence.core.sha256,
        }
    digests["score-table" if evidence is None else "scores"] = matrix.content_sha256
    return [{"kind": kind, "content_sha256": digest} for kind, digest in digests.items()]


def _design(matrix: ScoreMatrix) -> dict[str, Any]:
    design = matrix.design
    strata = []
    for at, stratum in enumerate(matrix.strata):
        inside = design.stratum == at
        strata.append(
            {
                "id": stratum.id,
                "panel": stratum.panel,
                "family": stratum.family,
                "tasks": int(inside.sum()),
                "clusters": len(np.unique(design.cluster[inside])),
            }
        )
    return {
        "models": len(matrix.models),
        "tasks": len(matrix.tasks),
        "clusters": len(matrix.clusters),
        "strata": strata,
    }


def _plan(matrix: ScoreMatrix, plan: Plan, found: Analysis) -> dict[str, Any]:
    flipped = found.flipped
    return {
        "draws": plan.draws,
        "flips": plan.flips,
        "flips_drawn": flipped.drawn,
        "flips_exact": flipped.exact,
        "redraws": found.resampled.redraws,
        "seed": plan.seed,
        "alpha": plan.alpha,
        "generator": GENERATOR,
        "exponent": matrix.scores.exponent,
        "weight_scale": integer(flipped.scale),
        "weight_power": flipped.power,
        "largest": integer(found.largest),
        "multiplicity": "holm",
    }


def board_of(matrix: ScoreMatrix, manifest: Mapping[str, Any], found: Analysis) -> dict[str, Any]:
    """``leaderboard.json``; ``manifest`` as :func:`manifest_of` gives it."""
    return {
        "models": [_row(matrix, found, m) for m in found.order.tolist()],
        "level": 1 - manifest["plan"]["alpha"],
        "max_t_critical": found.resampled.critical,
        "pair_max_t_critical": found.resampled.pair_critical,
        "decisions": DECISIONS,
        "resolved_pairs": int(found.flipped.resolved.sum()),
        "stepdown_resolved_pairs": int(
            (found.flipped.pairs.stepdown_p <= manifest["plan"]["alpha"]).sum()
        ),
        "top_model": None if found.top is None else matrix.models[found.top],
        "panels": {"pearson": found.pearson, "spearman": found.spearman},
        **{key: manifest[key] for key in ("design", "plan", "label")},
        "null_hypothesis": NULL_HYPOTHESIS,
        "warnings": manifest["warnings"],
    }


def _row(matrix: ScoreMatrix, found: Analysis, m: int) -> dict[str, Any]:
    resampled, tests, level = found.resampled, found.flipped.chance, found.chance_score
    score = float(found.score[m])
    chance = None
    if tests is not None and level is not None:
        chance = {
            "score": level,
            "difference": score - level,
            "exceedances": int(tests.exceedances[m]),
            "p": float(tests.p[m]),
            "holm_p": float(tests.holm_p[m]),
            "stepdown_p": float(tests.stepdown_p[m]),
        }
    return {
        "id": matrix.models[m],
        "name": matrix.names[m],
        "score": score,
        "se": float(resampled.se[m]),
        "pointwise": resampled.pointwise[m].tolist(),
        "simultaneous": resampled.simultaneous[m].tolist(),
        "rank": int(found.rank[m]),
        "rank_interval": resampled.rank_interval[m].tolist(),
        "rank_set": found.rank_set[m].tolist(),
        "group": int(found.group[m]),
        "letters": letter_names(found.letters[m]),
        "family_scores": {name: float(column[m]) for name, column in found.families.items()},
        "panel_scores": {name: float(column[m]) for name, column in found.panels.items()},
        "chance": chance,
    }

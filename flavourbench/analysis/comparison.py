"""Two models of a release: what parts them, where, and on which tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fbcore.blocks import Progress, default_threads
from fbcore.bootstrap import bootstrap, point_scores
from fbcore.design import Quantised, contributions, stratum_weights
from fbcore.portfolios import FULL
from fbcore.quantiles import intervals
from fbcore.signflip import p_values, sign_flips
from flavourbench.analysis.equivalence import is_close, least_margin
from flavourbench.analysis.inference import members
from flavourbench.analysis.matrix import ScoreMatrix, build_matrix
from flavourbench.analysis.naming import named
from flavourbench.analysis.release.read import Release
from flavourbench.analysis.result import NULL_HYPOTHESIS
from flavourbench.errors import InputError, shown

#: What is said of a model, of all that a leaderboard has.
_MODEL = (
    *("id", "name", "score", "pointwise"),
    *("rank", "rank_interval", "rank_set", "group", "letters"),
)
#: What is said of a pair, whichever model comes first.
_TESTS = ("se", "p", "exceedances", "holm_p", "stepdown_p", "resolved")
DESCRIPTIVE = (
    "Families and panels: each an analysis of its own strata alone, with the same numbers of draws"
    " and flips and the same seed. They are descriptive: p is not adjusted for looking at several."
)


def model_named(typed: str, board: Mapping[str, Any]) -> str:
    """The id of a model of a release, by id or display name, see :func:`.naming.named`.

    Raises
    ------
    InputError
        None, or several.
    """
    return named(typed, {row["id"]: (row["name"],) for row in board["models"]}, "model")


def compare(
    release: Release,
    first: str,
    second: str,
    margin: float | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """What parts two models, as one JSON object; differences are ``first`` minus ``second``.

    The difference of the scores and its tests are those of the release. Those of families and
    panels are computed from their strata alone, with the sizes and the seed of the plan.

    Parameters
    ----------
    first, second : see :func:`model_named`
    margin : with it, whether they are shown to be ``close``, see :mod:`.equivalence`

    Raises
    ------
    InputError
        No such model, or one model twice.
    CheckError
        The release has no such pair.
    """
    ids = [model_named(typed, release.board) for typed in (first, second)]
    if ids[0] == ids[1]:
        raise InputError(f"{shown(ids[0])} is compared with itself: name two models")
    matrix = release.matrix
    rows = [matrix.models.index(name) for name in ids]
    families, panels = members(matrix)
    told: dict[str, list[dict[str, Any]]] = {}
    for kind, strata in (("families", families), ("panels", panels)):
        told[kind] = []
        for name, within in strata.items():
            told[kind].append({"name": name, **_analysed(release, rows, within)})
            if progress is not None:
                progress("families and panels", 1, len(families) + len(panels))
    tasks = _tasks(release, rows)
    known = {row["id"]: row for row in release.board["models"]}
    return {
        "models": [{key: known[name][key] for key in _MODEL} for name in ids],
        **_pair(release, ids, margin),
        "level": release.board["level"],
        **told,
        "counts": {
            "first_better": sum(row["difference"] > 0 for row in tasks),
            "second_better": sum(row["difference"] < 0 for row in tasks),
            "equal": sum(row["difference"] == 0 for row in tasks),
        },
        "right": None if release.evidence is None else _right(matrix.scores.values[rows]),
        "tasks": tasks,
        "plan": release.board["plan"],
        "null_hypothesis": NULL_HYPOTHESIS,
        "root": dict(release.root),
        "label": release.board["label"],
        "warnings": [*release.board["warnings"], DESCRIPTIVE],
    }


def _pair(release: Release, ids: Sequence[str], margin: float | None) -> dict[str, Any]:
    """What the release has of the pair, its signs for the order in which it is asked for."""
    row = release.pair(*sorted(ids))
    turned = sorted(ids) != [*ids]
    return {
        "difference": _turned(row["difference"], turned),
        "interval": _turned_interval(row["interval"], turned),
        "simultaneous": _turned_interval(row["simultaneous"], turned),
        "least_margin": least_margin(row["simultaneous"]),
        "margin": margin,
        "close": None if margin is None else is_close(row["simultaneous"], margin),
        "dz": None if row["dz"] is None else _turned(row["dz"], turned),
        **{key: row[key] for key in _TESTS},
    }


def _turned(value: float, turned: bool) -> float:
    return 0.0 - value if turned else value  # no negative zero


def _turned_interval(bounds: Sequence[float], turned: bool) -> list[float]:
    low, high = (_turned(bound, turned) for bound in bounds)
    return [high, low] if turned else [low, high]


def _analysed(release: Release, rows: Sequence[int], strata: Sequence[int]) -> dict[str, Any]:
    """Difference, interval and p of two models in some strata.

    No part is too thin to resample where the whole is not: ``(1 - k / C)**C`` grows with C.
    """
    plan, threads = release.plan, default_threads()
    matrix = _part(release.matrix, rows, strata)
    scores, design, exponent = matrix.scores.values, matrix.design, matrix.scores.exponent
    weights = stratum_weights(design.sizes, release.matrix.largest)
    sums = contributions(scores, design, weights)
    flipped = sign_flips(sums, plan.flips, plan.seed, threads=threads)
    draws = bootstrap(scores, design, exponent, plan.draws, plan.seed, threads).draws
    both = intervals(draws, np.array([0]), np.array([1]), plan.alpha, threads)
    # Computed in canonical order, so that both orders have the same bits.
    turned = rows[0] > rows[1]
    points = point_scores(scores, design, exponent).tolist()
    return {
        "strata": design.strata,
        "tasks": design.tasks,
        "clusters": design.clusters,
        "scores": points[::-1] if turned else points,
        "difference": _turned(points[0] - points[1], turned),
        "interval": _turned_interval(both[0].tolist(), turned),
        "p": float(p_values(flipped.pairs, flipped.draws, flipped.exact)[0]),
    }


def _part(matrix: ScoreMatrix, rows: Sequence[int], strata: Sequence[int]) -> ScoreMatrix:
    """The scores of some models in some strata, by themselves."""
    design, models = matrix.design, sorted(rows)
    inside = np.flatnonzero(np.isin(design.stratum, strata))
    grid = Quantised(matrix.scores.values[models][:, inside], matrix.scores.exponent, 0.0)
    return build_matrix(
        [matrix.models[m] for m in models],
        [matrix.names[m] for m in models],
        [matrix.tasks[t] for t in inside],
        [matrix.strata[design.stratum[t]] for t in inside],
        [matrix.clusters[design.cluster[t]] for t in inside],
        grid,
    )


def _right(scores: NDArray[np.int64]) -> dict[str, int]:
    """Tasks by who chose the best portfolio: ``scores`` int64 [2, T] in basis points."""
    first, second = scores == FULL
    return {
        "both": int((first & second).sum()),
        "only_first": int((first & ~second).sum()),
        "only_second": int((second & ~first).sum()),
        "neither": int((~first & ~second).sum()),
    }


def _tasks(release: Release, rows: Sequence[int]) -> list[dict[str, Any]]:
    """All tasks by what they add to the difference, most for the first model at the top.

    A task of stratum s adds its difference over S n_s; the whole adds up to the difference.
    """
    matrix = release.matrix
    design, unit = matrix.design, int(matrix.unit)
    scores = matrix.scores.values[rows]
    sizes = (design.sizes * design.strata).tolist()
    chosen = _selections(release, [matrix.models[m] for m in rows])
    parts = [
        Fraction(int(difference), sizes[stratum])
        for difference, stratum in zip(scores[0] - scores[1], design.stratum, strict=True)
    ]
    found = []
    for t in sorted(range(design.tasks), key=lambda t: (-parts[t], t)):
        name, stratum = matrix.tasks[t], matrix.strata[design.stratum[t]]
        found.append(
            {
                "task_id": name,
                "stratum": stratum.id,
                "anchor": matrix.clusters[design.cluster[t]],
                "scores": (scores[:, t] / unit).tolist(),
                "difference": int(scores[0, t] - scores[1, t]) / unit,
                "contribution": float(parts[t] / unit),
                "selections": None if chosen is None else [by[name] for by in chosen],
            }
        )
    return found


def _selections(release: Release, ids: Sequence[str]) -> list[dict[str, str | None]] | None:
    """What each model chose, by task; None where that is unknown."""
    if release.evidence is None:
        return None
    found: dict[str, dict[str, str | None]] = {name: {} for name in ids}
    for row in release.evidence.observations:
        if row.slot in found:
            found[row.slot][row.task_id] = row.selection
    return [found[name] for name in ids]

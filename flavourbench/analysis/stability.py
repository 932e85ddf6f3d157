"""How the ranks of a release move under other defensible choices.

Every choice is a variant: a part of the tasks left out, other weights of the score maps, or the
score maps of another environment. Nobody is asked again: the stored selections are scored anew.
Nothing is tested, and no variant takes the place of the ranking of the release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fbcore.bootstrap import point_scores
from fbcore.design import Design, score_codes
from fbcore.effects import spearman
from fbcore.ranks import competition_ranks
from flavourbench.analysis.answers import Evidence
from flavourbench.analysis.inference import members
from flavourbench.analysis.matrix import ScoreMatrix
from flavourbench.analysis.release.read import Release
from flavourbench.environment import Environment
from flavourbench.environment.space import Mask
from flavourbench.errors import InputError, listed
from flavourbench.tasks.labels import PORTFOLIO_INDEX
from flavourbench.tasks.maps import families_of
from flavourbench.tasks.remapped import Remapped, Weighing, reweighed, scorer_of, seen_in

#: Kinds of variants, in the order in which they are told.
RELEASED = "released"
FAMILY, PANEL, CATEGORY, WEIGHTS, ENVIRONMENT = (
    *("family", "panel", "category"),
    *("weights", "environment"),
)
KINDS = (FAMILY, PANEL, CATEGORY, WEIGHTS, ENVIRONMENT)
SAYS = (
    "ranks under other choices: descriptive, nothing is tested; the ranking is that of the release,"
    " and no variant takes its place"
)
_NO_SELECTIONS = "a score table holds no tasks and no selections"


@dataclass(frozen=True, slots=True)
class _Variant:
    """Scores int64 [M, T'] of the tasks that count, on the grid of the release.

    Attributes
    ----------
    kept : bool [T], which tasks of the release count
    unknown, flat : tasks left out as not known to an environment, and as telling nothing apart
    about : what else it says of itself
    """

    kind: str
    name: str
    scores: NDArray[np.int64]
    kept: Mask
    unknown: int = 0
    flat: int = 0
    about: Mapping[str, Any] = field(default_factory=dict)


class _Unmade(NamedTuple):
    """A variant that could not be made; all of its kind where there is no name."""

    kind: str
    name: str | None
    why: str


class _Ranking(NamedTuple):
    """Scores float64 [M], their exact order as codes int64 [M], and ranks int64 [M]."""

    scores: NDArray[np.float64]
    codes: NDArray[np.int64]
    ranks: NDArray[np.int64]


def stability(
    release: Release,
    weighings: Sequence[Weighing],
    environments: Mapping[str, Environment],
    own: Environment | None,
) -> dict[str, Any]:
    """Scores and ranks of all models under every variant, as one JSON object.

    Parameters
    ----------
    weighings : to score the selections with
    environments : others to score the selections with, by name
    own : the one that scored the tasks, if it is at hand; else one of ``environments`` is taken
        that gives back their scores
    """
    matrix = release.matrix
    made = [
        _Variant(RELEASED, "as released", matrix.scores.values, np.ones(matrix.design.tasks, bool))
    ]
    unmade: list[_Unmade] = []
    for variant in (
        *_without_parts(matrix, release.evidence),
        *_remapped(release, weighings, environments, own),
    ):
        if isinstance(variant, _Unmade):
            unmade.append(variant)
        else:
            made.append(variant)
    rankings = [_ranking(matrix, variant) for variant in made]
    order = np.lexsort((np.arange(len(matrix.models)), rankings[0].ranks))
    return {
        "models": [_model(matrix, made, rankings, m) for m in order.tolist()],
        "variants": [
            _told(release, variant, ranking, rankings[0], order)
            for variant, ranking in zip(made, rankings, strict=True)
        ],
        "not_made": [entry._asdict() for entry in unmade],
        "resolved_pairs": release.board["resolved_pairs"],
        "says": SAYS,
        "root": dict(release.root),
        "label": release.board["label"],
    }


# --- parts left out ------------------------------------------------------------------------


def _without_parts(matrix: ScoreMatrix, evidence: Evidence | None) -> Iterator[_Variant | _Unmade]:
    """One family, panel or anchor category left out; the strata left count the same."""
    for kind, parts in zip((FAMILY, PANEL), members(matrix), strict=True):
        inside = {name: np.isin(matrix.design.stratum, at) for name, at in parts.items()}
        if len(inside) > 1:
            yield from (_without(matrix, kind, name, mask) for name, mask in inside.items())
        else:
            told = f"only {listed([*inside])}" if inside else "none"
            yield _Unmade(kind, None, f"of this kind the release has {told}")
    if evidence is None:
        yield _Unmade(CATEGORY, None, _NO_SELECTIONS)
        return
    by_id = evidence.tasks.by_id
    category = np.array([by_id[task].category for task in matrix.tasks])
    for name in np.unique(category).tolist():
        emptied = _emptied(matrix, category != name)
        if emptied:
            yield _Unmade(CATEGORY, name, f"no task of {listed(emptied, 3)} is left without it")
        else:
            yield _without(matrix, CATEGORY, name, category == name)


def _without(matrix: ScoreMatrix, kind: str, name: str, inside: Mask) -> _Variant:
    return _Variant(kind, name, matrix.scores.values[:, ~inside], ~inside)


def _emptied(matrix: ScoreMatrix, kept: Mask) -> list[str]:
    """Strata without a task of those that are kept.

    Without one of its strata a score means something else, so such a variant is not made.
    """
    left = np.bincount(matrix.design.stratum[kept], minlength=matrix.design.strata)
    return [s.id for s, count in zip(matrix.strata, left.tolist(), strict=True) if not count]


# --- other score maps ----------------------------------------------------------------------


def _remapped(
    release: Release,
    weighings: Sequence[Weighing],
    environments: Mapping[str, Environment],
    own: Environment | None,
) -> Iterator[_Variant | _Unmade]:
    """The selections on other score maps."""
    evidence = release.evidence
    if evidence is None:
        yield from (_Unmade(kind, None, _NO_SELECTIONS) for kind in (WEIGHTS, ENVIRONMENT))
        return
    by_id = evidence.tasks.by_id
    tasks = replace(evidence.tasks, tasks=tuple(by_id[task] for task in release.matrix.tasks))
    chosen = _chosen(release.matrix, evidence)
    score = partial(_rescored, release.matrix, chosen)
    try:
        scorer = scorer_of(tasks, [*([] if own is None else [own]), *environments.values()])
    except InputError as error:
        yield _Unmade(WEIGHTS, None, str(error))
    else:
        for weighing in weighings:
            weights = {family.name: weighing.of(family) for family, _ in families_of(tasks)}
            shares = {name: [part / sum(both) for part in both] for name, both in weights.items()}
            about = {"weights": shares, "environment": _named(scorer), "feasible": "tasks"}
            yield score(WEIGHTS, weighing.name, reweighed(tasks, weighing, scorer), about)
    if not environments:
        yield _Unmade(ENVIRONMENT, None, "none is named: use --env")
    for name, environment in environments.items():
        try:
            maps = seen_in(tasks, environment)
        except InputError as error:
            yield _Unmade(ENVIRONMENT, name, str(error))
        else:
            about = {"environment": _named(environment), "feasible": "environment"}
            yield score(ENVIRONMENT, name, maps, about)


def _chosen(matrix: ScoreMatrix, evidence: Evidence) -> NDArray[np.int64]:
    """The portfolio that each model chose at each task of the core: int64 [M, T]."""
    row = {model: at for at, model in enumerate(matrix.models)}
    column = {task: at for at, task in enumerate(matrix.tasks)}
    found = np.zeros((len(row), len(column)), np.int64)
    for seen in evidence.observations:
        if seen.task_id in column and seen.selection is not None:
            found[row[seen.slot], column[seen.task_id]] = PORTFOLIO_INDEX[seen.selection]
    return found


def _rescored(
    matrix: ScoreMatrix,
    chosen: NDArray[np.int64],
    kind: str,
    name: str,
    maps: Remapped,
    about: Mapping[str, Any],
) -> _Variant | _Unmade:
    """The selections on other maps; tasks without one that tells anything apart do not count."""
    kept = maps.known & maps.varies
    unknown, flat = int((~maps.known).sum()), int((maps.known & ~maps.varies).sum())
    emptied = _emptied(matrix, kept)
    if emptied:
        why = f"no task of {listed(emptied, 3)} is left: {unknown:,} unknown, {flat:,} flat"
        return _Unmade(kind, name, why)
    at = np.flatnonzero(kept)
    return _Variant(kind, name, maps.bps[at, chosen[:, at]], kept, unknown, flat, about)


def _named(environment: Environment) -> dict[str, str]:
    return {"name": environment.name, "identity": environment.identity}


# --- what a variant does -------------------------------------------------------------------


def _ranking(matrix: ScoreMatrix, variant: _Variant) -> _Ranking:
    """Scores as those of the release: the equal mean of the strata means."""
    stratum = np.unique(matrix.design.stratum[variant.kept], return_inverse=True)[1]
    # Clusters play no part in scores.
    design = Design(stratum.astype(np.int32), np.zeros(stratum.size, np.int32))
    codes = score_codes(variant.scores, design)
    scores = point_scores(variant.scores, design, matrix.scores.exponent)
    return _Ranking(scores, codes, competition_ranks(codes))


def _model(
    matrix: ScoreMatrix, made: Sequence[_Variant], rankings: Sequence[_Ranking], m: int
) -> dict[str, Any]:
    """Where a model stands in the release, and the ranks that it has over variants."""
    ranks: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for variant, ranking in zip(made[1:], rankings[1:], strict=True):
        ranks[variant.kind].append(int(ranking.ranks[m]))
    released = int(rankings[0].ranks[m])
    return {
        "id": matrix.models[m],
        "name": matrix.names[m],
        "score": float(rankings[0].scores[m]),
        "rank": released,
        "ranks": {kind: _range(found) for kind, found in ranks.items()},
        "all": _range([released, *(rank for found in ranks.values() for rank in found)]),
    }


def _range(ranks: Sequence[int]) -> list[int] | None:
    return [min(ranks), max(ranks)] if ranks else None


def _told(
    release: Release,
    variant: _Variant,
    ranking: _Ranking,
    released: _Ranking,
    order: NDArray[np.int64],
) -> dict[str, Any]:
    """Scores and ranks under a variant, and how they differ from those of the release."""
    models = release.matrix.models
    moves = ranking.ranks - released.ranks
    largest = int(np.abs(moves).max())
    return {
        "kind": variant.kind,
        "name": variant.name,
        "tasks": int(variant.kept.sum()),
        "unknown": variant.unknown,
        "flat": variant.flat,
        "weights": variant.about.get("weights"),
        "environment": variant.about.get("environment"),
        "feasible": variant.about.get("feasible"),
        "spearman": spearman(ranking.codes.tolist(), released.codes.tolist()),
        "largest_move": largest,
        "moved": [
            {"id": models[m], "rank": [int(released.ranks[m]), int(ranking.ranks[m])]}
            for m in order.tolist()
            if largest and abs(moves[m]) == largest
        ],
        "reversed": _reversed(release, ranking.codes, released.codes),
        "models": [
            {"id": models[m], "score": float(ranking.scores[m]), "rank": int(ranking.ranks[m])}
            for m in order.tolist()
        ],
    }


def _reversed(release: Release, codes: NDArray[np.int64], released: NDArray[np.int64]) -> int:
    """Pairs resolved in the release whose difference has the other sign."""
    index = {model: at for at, model in enumerate(release.matrix.models)}
    left, right = (
        np.array([index[model] for model in release.pairs[side].to_pylist()], np.int64)
        for side in ("left", "right")
    )
    resolved = release.pairs["resolved"].to_numpy()
    signs = [np.sign(scores[left] - scores[right]) for scores in (codes, released)]
    return int((resolved & (signs[0] * signs[1] < 0)).sum())

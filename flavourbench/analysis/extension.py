"""New models in an analysis that exists, at a cost in proportion to the new pairs.

Bootstrap draws and signs do not depend on the models. What belongs to a model or a pair alone
is therefore kept as it was, and only what all models decide together is formed anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fbcore.blocks import Progress, default_threads, even_ranges, map_ranges
from fbcore.design import PORTFOLIOS, Weights, stratum_weights
from fbcore.effects import cohen_dz
from fbcore.quantiles import pair_index
from fbcore.signflip import exceedances, flip_sums, sign_vectors
from flavourbench.analysis.flip_cache import FlipCache
from flavourbench.analysis.inference import Inference, conclude
from flavourbench.analysis.matrix import ScoreMatrix, Stratum
from flavourbench.analysis.measured import (
    Measured,
    Run,
    cluster_sums,
    errors_of_differences,
    percentiles,
    resample,
)
from flavourbench.analysis.plan import MAX_DRAW_BYTES, Plan
from flavourbench.analysis.preflight import check
from flavourbench.errors import InputError, listed, shown

#: Models whose sums are looked up, and flipped, at once: a few megabytes, and one tile.
_LOOKED_UP, _FLIPPED = 8, 32
#: Bytes that the sums of so many models may take.
_BATCH_BYTES = 2**26
_ANEW = "analyse all models anew"


@dataclass(frozen=True, slots=True)
class Earlier:
    """The analysis that models are added to.

    Attributes
    ----------
    matrix : ScoreMatrix, its models
    plan : Plan
    measured : Measured, the numbers of its models and pairs
    """

    matrix: ScoreMatrix
    plan: Plan
    measured: Measured

    def __post_init__(self) -> None:
        found, models = self.measured, len(self.matrix.models)
        pairs = models * (models - 1) // 2
        shapes = {
            "draws": (models, self.plan.draws),
            "se": (models,),
            "pointwise": (models, 2),
            "difference_se": (pairs,),
            "interval": (pairs, 2),
            "dz": (pairs,),
            "exceedances": (pairs,),
        }
        if self.matrix.chance is not None:
            shapes["chance_exceedances"] = (models,)
        for name, wanted in shapes.items():
            shape = np.shape(getattr(found, name))
            if shape != wanted:
                raise InputError(
                    f"earlier {name} of shape {shape}, not {wanted}, for {models} models: {_ANEW}"
                )
        vectors = sign_vectors(self.matrix.design.clusters, self.plan.flips)
        if (found.flips_drawn, found.flips_exact) != vectors:
            raise InputError(
                f"{found.flips_drawn} sign vectors in the earlier analysis, {vectors[0]} in its"
                f" plan: {_ANEW}"
            )

    @classmethod
    def of(cls, inference: Inference) -> Earlier:
        """An analysis at hand."""
        chance, pairs = inference.chance, inference.pairs
        measured = Measured(
            draws=inference.draws,
            redraws=inference.redraws,
            se=inference.se,
            pointwise=inference.pointwise,
            difference_se=pairs.se,
            interval=pairs.interval,
            dz=pairs.dz,
            exceedances=pairs.exceedances,
            chance_exceedances=None if chance is None else chance.exceedances,
            flips_drawn=inference.flips_drawn,
            flips_exact=inference.flips_exact,
        )
        return cls(inference.matrix, inference.plan, measured)


def extend(
    earlier: Earlier,
    matrix: ScoreMatrix,
    plan: Plan,
    cache: Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Inference:
    """The analysis of all models, with the numbers of earlier ones as they were.

    The result is that of ``infer(matrix, plan)`` to the last bit.

    Parameters
    ----------
    matrix : ScoreMatrix
        Models old and new, on the same tasks.
    plan : Plan
        That of the earlier analysis.
    cache : Path, optional
        Folder that keeps sums under sign flips (:class:`FlipCache`); without it, or where a sum
        is not in it, the flips of an earlier model are done again.

    Raises
    ------
    InputError
        Another plan or design, an earlier model that is gone or scores otherwise, no new model;
        scores on a finer grid, or so large that stratum weights change. (Larger scores alone
        move no number of an earlier model: the plan then states the new largest.)
        Or see :func:`check`.
    """
    _check_plan(earlier.plan, plan)
    _check_design(earlier.matrix, matrix)
    old = _check_models(earlier.matrix, matrix)
    weights, warnings = check(matrix, plan)
    _check_weights(earlier.matrix, matrix, weights)
    _check_size(len(matrix.models) - old.size, earlier.measured.flips_drawn)
    run = Run(matrix, plan, weights, threads or default_threads(), None, progress)
    found = FlipCache.of(cache, run) if cache is not None else None
    return conclude(run, measure_new(run, earlier.measured, old, found), warnings)


def _check_plan(before: Plan, plan: Plan) -> None:
    for field in fields(Plan):
        first, second = getattr(before, field.name), getattr(plan, field.name)
        if first != second:
            raise InputError(
                f"--{field.name} {second} for an analysis made with {first}: keep that, or {_ANEW}"
            )


def _check_design(before: ScoreMatrix, matrix: ScoreMatrix) -> None:
    """Refuse tasks, strata, clusters, chance levels or a grid that are not the earlier ones."""
    for what in ("tasks", "clusters", "strata"):
        odd = set(getattr(before, what)) ^ set(getattr(matrix, what))
        if odd:
            names = sorted({entry.id if isinstance(entry, Stratum) else entry for entry in odd})
            raise InputError(
                f"{what} of the new or the earlier scores alone: {listed(names)};"
                f" use the earlier ones, or {_ANEW}"
            )
    first, second = before.scores.exponent, matrix.scores.exponent
    if first != second:
        raise InputError(
            f"scores of {second} decimals for an analysis on a grid of {first}:"
            f" round them, or {_ANEW}"
        )
    if (before.chance is None) != (matrix.chance is None):
        side = "earlier" if matrix.chance is None else "new"
        raise InputError(f"only the {side} scores have chance levels: use the same, or {_ANEW}")
    moved = {
        "stratum": before.design.stratum != matrix.design.stratum,
        "cluster": before.design.cluster != matrix.design.cluster,
    }
    if before.chance is not None and matrix.chance is not None:
        moved["chance level"] = before.chance != matrix.chance
    for what, where in moved.items():
        tasks = [matrix.tasks[t] for t in np.flatnonzero(where)]
        if tasks:
            raise InputError(
                f"tasks with another {what} than in the earlier analysis: {listed(tasks)};"
                f" use the earlier one, or {_ANEW}"
            )


def _check_models(before: ScoreMatrix, matrix: ScoreMatrix) -> NDArray[np.int64]:
    """Rows of the earlier models, which must be there with the scores that they had."""
    gone = sorted(set(before.models) - set(matrix.models))
    if gone:
        raise InputError(f"earlier models without scores: {listed(gone)}; keep them, or {_ANEW}")
    if len(matrix.models) == len(before.models):
        raise InputError(f"all {len(before.models)} models are in the earlier analysis: add one")
    place = {model: m for m, model in enumerate(matrix.models)}
    old = np.array([place[model] for model in before.models], np.int64)
    moved = np.argwhere(matrix.scores.values[old] != before.scores.values)
    if moved.size:
        m, t = moved[0]
        now, then = (
            f"{value / matrix.unit:.{matrix.scores.exponent}f}"
            for value in (matrix.scores.values[old[m], t], before.scores.values[m, t])
        )
        raise InputError(
            f"earlier model {shown(before.models[m])} now scores {now} on task"
            f" {shown(matrix.tasks[t])}, not {then}: keep its scores, or {_ANEW}"
        )
    return old


def _check_weights(before: ScoreMatrix, matrix: ScoreMatrix, weights: Weights) -> None:
    kept = stratum_weights(before.design.sizes, before.largest)
    if (weights.scale, weights.power) != (kept.scale, kept.power):
        raise InputError(
            f"scores up to {matrix.largest / matrix.unit:g}, earlier ones up to"
            f" {before.largest / before.unit:g}, need other stratum weights: {_ANEW}"
        )


def _check_size(models: int, flips: int) -> None:
    """Refuse sums under sign flips that would not fit into memory, as those of a plan's draws."""
    need = (models + 1) * flips * 8
    if need > MAX_DRAW_BYTES:
        raise InputError(
            f"{flips} sign flips of {models} new models take {need / 2**30:.0f} GiB:"
            f" add fewer at once, or {_ANEW}"
        )


def measure_new(
    run: Run, before: Measured, old: NDArray[np.int64], cache: FlipCache | None
) -> Measured:
    """What :func:`measure` finds, with the numbers of earlier models, rows ``old``, as they were.

    Raises
    ------
    InputError
        Another number of redraws than before.
    """
    models = len(run.matrix.models)
    new = np.setdiff1d(np.arange(models, dtype=np.int64), old)
    left, right = pair_index(models)
    place = np.full(models, -1)
    place[new] = np.arange(new.size)
    known = np.maximum(place[left], place[right]) < 0  # in the order that they had
    some = left[~known], right[~known]
    drawn, redraws, se = resample(run, new)
    if redraws != before.redraws:
        raise InputError(
            f"{before.redraws} redraws in the earlier analysis, {redraws} with its seed and"
            f" design: {_ANEW}"
        )
    draws = _merged(before.draws, drawn, old, new)
    pointwise, interval = percentiles(run, draws, new, *some)
    errors = errors_of_differences(run, draws, *some)
    hits, chance = new_exceedances(run, old, new, cache)
    # One of two is new: its column, and the row of the other.
    turned = place[some[1]] < 0
    counts = hits[np.where(turned, *some[::-1]), place[np.where(turned, *some)]]
    pairs = np.flatnonzero(known), np.flatnonzero(~known)
    return Measured(
        draws=draws,
        redraws=redraws,
        se=_merged(before.se, se, old, new),
        pointwise=_merged(before.pointwise, pointwise, old, new),
        difference_se=_merged(before.difference_se, errors, *pairs),
        interval=_merged(before.interval, interval, *pairs),
        dz=_merged(before.dz, cohen_dz(run.matrix.scores.values, new), *pairs),
        exceedances=_merged(before.exceedances, counts, *pairs),
        chance_exceedances=None
        if chance is None or before.chance_exceedances is None
        else _merged(before.chance_exceedances, chance, old, new),
        flips_drawn=before.flips_drawn,
        flips_exact=before.flips_exact,
    )


def _merged(
    before: NDArray[Any], added: NDArray[Any], old: NDArray[np.int64], new: NDArray[np.int64]
) -> NDArray[Any]:
    """Rows ``old`` from ``before``, rows ``new`` from ``added``."""
    out = np.empty((old.size + new.size, *added.shape[1:]), added.dtype)
    out[old], out[new] = before, added
    return out


def new_exceedances(
    run: Run, old: NDArray[np.int64], new: NDArray[np.int64], cache: FlipCache | None
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Exceedance counts of all models against new ones [M, b], and of new ones against chance."""
    z, levels = cluster_sums(run)
    observed = z.sum(axis=1)
    fresh = _sums(run, z[new], cache)
    hits = np.zeros((observed.size, new.size), np.int64)
    hits[new] = exceedances(fresh, fresh, observed[new], observed[new], threads=run.threads)

    def look_up(start: int, stop: int) -> list[int]:
        rows = {m: cache.load(z[m]) if cache else None for m in old[start:stop].tolist()}
        found = {m: row for m, row in rows.items() if row is not None}
        if found:
            at = [*found]
            stored = np.stack([*found.values()])
            hits[at] = exceedances(stored, fresh, observed[at], observed[new])
        return [m for m in rows if m not in found]

    pieces = even_ranges(old.size, run.threads, _batch(fresh, _LOOKED_UP), 1)
    told = run.told("stored sums", old.size) if cache else None
    looked_up = map_ranges(look_up, pieces, run.threads, progress=told)
    missing = [m for part in looked_up for m in part]
    batch = _batch(fresh, _FLIPPED)
    told = run.told("sign flips", fresh.shape[1] * -(-len(missing) // batch))
    for first in range(0, len(missing), batch):
        at = missing[first : first + batch]
        hits[at] = exceedances(
            _flip(run, z[at], cache, told), fresh, observed[at], observed[new], threads=run.threads
        )
    if levels is None:
        return hits, None
    level = levels[np.newaxis]
    sides = fresh, _sums(run, level, cache), observed[new], level.sum(axis=1)
    return hits, exceedances(*sides, PORTFOLIOS, run.threads)[:, 0]


def _batch(sums: NDArray[Any], most: int) -> int:
    """How many models of as many sums as ``sums`` has are held at once, ``most`` or fewer."""
    return max(1, min(most, _BATCH_BYTES // (8 * int(sums.shape[1]))))


def _sums(run: Run, z: NDArray[np.int64], cache: FlipCache | None) -> NDArray[Any]:
    """Sums [n, draws] of contributions [n, C]: stored ones if all are there."""
    stored = [cache.load(row) for row in z] if cache else []
    rows = [row for row in stored if row is not None]
    return np.stack(rows) if len(rows) == len(z) else _flip(run, z, cache)


def _flip(
    run: Run,
    z: NDArray[np.int64],
    cache: FlipCache | None,
    told: Callable[[int], None] | None = None,
) -> NDArray[Any]:
    """Sums [n, draws] of contributions [n, C], computed and stored."""
    sums = flip_sums(z, run.plan.flips, run.plan.seed, run.threads, run.engine, told)
    if cache is not None:
        cache.store(z, sums)
    return sums

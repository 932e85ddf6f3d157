"""Adding a model to an analysis, against analysing all models."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benches.report import say, timed
from fbcore.blocks import default_threads
from fbcore.effects import cohen_dz
from fbcore.multiplicity import holm
from fbcore.quantiles import pair_index
from fbcore.signflip import exceedances, flip_sums, p_values, sign_flips
from flavourbench.analysis.extension import Earlier, extend, new_exceedances
from flavourbench.analysis.flip_cache import FlipCache
from flavourbench.analysis.inference import Inference, conclude, infer
from flavourbench.analysis.matrix import ScoreMatrix
from flavourbench.analysis.measured import Run, cluster_sums, percentiles
from flavourbench.analysis.plan import Plan


def without(matrix: ScoreMatrix, model: int) -> ScoreMatrix:
    """The scores of all models but one."""
    kept = [m for m in range(len(matrix.models)) if m != model]
    values = np.ascontiguousarray(matrix.scores.values[kept])
    return replace(
        matrix,
        models=tuple(matrix.models[m] for m in kept),
        names=tuple(matrix.names[m] for m in kept),
        scores=replace(matrix.scores, values=values),
    )


def same_numbers(found: Inference, expected: Inference) -> None:
    """Every number of two analyses is the same."""
    for field in (
        "score",
        "se",
        "draws",
        "pointwise",
        "simultaneous",
        "rank_interval",
        "group",
        "rank_set",
    ):
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field), field)
    for field in (
        *("se", "interval", "simultaneous", "dz", "exceedances", "p"),
        *("holm_p", "stepdown_p", "directed_p", "resolved"),
    ):
        ours, theirs = (getattr(side.pairs, field) for side in (found, expected))
        np.testing.assert_array_equal(ours, theirs, field)
    assert (found.critical, found.redraws) == (expected.critical, expected.redraws)


def all_pairs(run: Run, draws: NDArray[np.float64]) -> None:
    """Everything of all pairs: intervals, d_z, exceedances, p and Holm."""
    sums, levels = cluster_sums(run)
    percentiles(run, draws, np.zeros(0, np.int64), *pair_index(len(sums)))
    cohen_dz(run.matrix.scores.values)
    flipped = sign_flips(sums, run.plan.flips, run.plan.seed, levels, run.threads)
    holm(p_values(flipped.pairs, flipped.draws, flipped.exact))


def new_pairs(run: Run, whole: Inference, model: int, cache: FlipCache) -> None:
    """The same of the pairs of one model, and p and Holm of all."""
    new = np.array([model])
    old = np.delete(np.arange(len(run.matrix.models)), model)
    sides = np.minimum(old, model), np.maximum(old, model)
    percentiles(run, whole.draws, np.zeros(0, np.int64), *sides)
    cohen_dz(run.matrix.scores.values, new)
    new_exceedances(run, old, new, cache)
    holm(p_values(whole.pairs.exceedances, whole.flips_drawn, whole.flips_exact))


def bench_extension(matrix: ScoreMatrix) -> None:
    """One model more: pairwise quantities with and without stored sums, and the rest."""
    plan, threads, model = Plan(), min(2, default_threads()), len(matrix.models) // 2
    earlier = Earlier.of(infer(without(matrix, model), plan, threads))
    whole = infer(matrix, plan, threads)
    run = Run(matrix, plan, whole.weights, threads, None, None)
    with tempfile.TemporaryDirectory() as folder:
        cache = FlipCache.of(Path(folder), run)
        cold, found = timed(partial(extend, earlier, matrix, plan, Path(folder), threads), 1)
        same_numbers(found, whole)
        warm, found = timed(partial(extend, earlier, matrix, plan, Path(folder), threads), 3)
        same_numbers(found, whole)
        everything, _ = timed(partial(all_pairs, run, whole.draws), 1)
        few, _ = timed(partial(new_pairs, run, whole, model, cache), 5)
    size = f"{len(matrix.models) - 1} models + 1"
    figure = f"{1000 * few:.0f} ms, {everything / few:.0f} x"
    # The target is one of many models: with fewer, the parts that do not grow count for more.
    goal = (">= 20 x", everything / few >= 20) if len(matrix.models) > 500 else ()
    say(f"{size}, pairwise quantities and Holm", figure, *goal)
    say("  whole extension, sums stored / not", f"{warm:.2f} s / {cold:.2f} s")
    measured = Earlier.of(whole).measured
    wall, _ = timed(partial(conclude, run, measured, []), 1)
    say("  of which family-wise parts", f"{wall:.2f} s")
    sums, _ = cluster_sums(run)
    wall, flipped = timed(partial(flip_sums, sums[:32], plan.flips, plan.seed), 3)
    say("  sums of 32 models, 1 thread", f"{1000 * wall:.0f} ms")
    observed = sums[:32].sum(axis=1)
    sides = flipped, flipped[:1], observed, observed[:1]
    wall, counts = timed(partial(exceedances, *sides), 5)
    assert counts[0, 0] == plan.flips
    assert counts[1:, 0].tolist() == whole.pairs.exceedances[:31].tolist()
    say("  exceedances of 32 pairs, 1 thread", f"{1000 * wall:.1f} ms")

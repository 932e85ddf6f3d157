"""The analysis on the plain twin gives every bit of the compiled one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from strategies import Table, bits, few, plans, tables

from flavourbench.analysis.bundled import bundled_matrix
from flavourbench.analysis.inference import Inference, infer
from flavourbench.analysis.matrix import ScoreMatrix, Stratum, build_matrix
from flavourbench.analysis.plain import products
from flavourbench.analysis.plain.analysis import Analysis, analyse
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.verify.given import problem_of

#: Numbers of the same name.
SAME = ("score", "rank", "order", "group", "rank_set", "letters", "top")


def fast(inference: Inference) -> dict[str, Any]:
    """Every number of an inference, by its name in the plain analysis."""
    pairs, chance, weights = inference.pairs, inference.chance, inference.weights
    tests = None
    if chance is not None:
        tests = [chance.exceedances, chance.p, chance.holm_p, chance.stepdown_p]
    return {
        **{name: getattr(inference, name) for name in SAME},
        **{name: getattr(inference, name) for name in ("families", "panels")},
        "agreement": [inference.panel_pearson, inference.panel_spearman],
        "largest": inference.matrix.largest,
        "pairs": [pairs.difference, pairs.dz, pairs.exceedances, pairs.p, pairs.holm_p],
        "resolved": [pairs.resolved, pairs.interval],
        "step-down": [pairs.stepdown_p, pairs.directed_p],
        "pair bands": [pairs.se, pairs.simultaneous, pairs.critical],
        "chance": [None if chance is None else chance.score, tests],
        "weights": [weights.values, weights.scale, weights.power],
        "flips": [inference.flips_drawn, inference.flips_exact],
        "draws": [inference.draws, inference.redraws],
        "spread": [inference.se, inference.critical],
        "intervals": [inference.pointwise, inference.simultaneous, inference.rank_interval],
    }


def plain(found: Analysis) -> dict[str, Any]:
    flipped, resampled = found.flipped, found.resampled
    pairs, chance = flipped.pairs, flipped.chance
    tests = None
    if chance is not None:
        tests = [chance.exceedances, chance.p, chance.holm_p, chance.stepdown_p]
    return {
        **{name: getattr(found, name) for name in SAME},
        **{name: getattr(found, name) for name in ("families", "panels")},
        "agreement": [found.pearson, found.spearman],
        "largest": found.largest,
        "pairs": [found.difference, found.dz, pairs.exceedances, pairs.p, pairs.holm_p],
        "resolved": [flipped.resolved, resampled.pair_interval],
        "step-down": [pairs.stepdown_p, flipped.directed_p],
        "pair bands": [resampled.pair_se, resampled.pair_simultaneous, resampled.pair_critical],
        "chance": [found.chance_score, tests],
        "weights": [flipped.weights, flipped.scale, flipped.power],
        "flips": [flipped.drawn, flipped.exact],
        "draws": [resampled.draws, resampled.redraws],
        "spread": [resampled.se, resampled.critical],
        "intervals": [resampled.pointwise, resampled.simultaneous, resampled.rank_interval],
    }


def check_same(matrix: ScoreMatrix, plan: Plan) -> Inference:
    """Both analyses, field by field; NaN, signs of zero and types of arrays included."""
    compiled = infer(matrix, plan, 1)
    expected, found = fast(compiled), plain(analyse(problem_of(matrix, plan)))
    for name, value in expected.items():
        assert bits(found[name]) == bits(value), name
    return compiled


@few(60)
@given(table=tables(), plan=plans())
def test_any_table(table: Table, plan: Plan) -> None:
    """Ties, few clusters (all sign vectors), strata that share them, chance levels or none."""
    check_same(table.matrix(), plan)


def matrix_of(
    values: Any, *, strata: list[Stratum] | None = None, anchors: Any = None, chance: Any = None
) -> ScoreMatrix:
    """A matrix of two strata, tasks in turn, unless given otherwise; each task its own anchor."""
    values = np.asarray(values, np.float64)
    tasks = values.shape[1]
    models = [f"m{m}" for m in range(values.shape[0])]
    strata = strata or [Stratum(f"s{t % 2}", None, None) for t in range(tasks)]
    ids = [f"t{t:03d}" for t in range(tasks)]
    return build_matrix(models, models, ids, strata, anchors or ids, values, chance)


NOISE = np.random.default_rng(5).integers(0, 10_001, (4, 24)) / 100
PLAN = Plan(draws=700, flips=513, seed=2**52 + 3, alpha=0.1)


def test_constant_and_identical_models() -> None:
    """Standard error 0, no part in the band, dz null, p 1."""
    values = np.vstack([NOISE, NOISE[:1], np.full((1, 24), 50.0)])
    found = check_same(matrix_of(values), PLAN)
    assert found.se[5] == 0
    assert np.isnan(found.pairs.dz).any()
    assert (found.pairs.p == 1).any()


def test_models_whose_strata_cancel() -> None:
    """They vary, but no draw moves them: rounding must not pass for a standard error."""
    row = np.arange(24) // 2 * 0.7
    sign = np.where(np.arange(24) % 2, -1, 1)
    anchors = [f"a{t // 2:02d}" for t in range(24)]
    alone = matrix_of([row * sign, 3 * row * sign], anchors=anchors)
    assert check_same(alone, PLAN).critical == 0
    among = matrix_of([row * sign, *NOISE], anchors=anchors)
    found = check_same(among, PLAN)
    assert found.se[0] == 0 < found.critical


def test_thin_strata_that_are_drawn_again() -> None:
    strata = [Stratum("a", "p", "f")] * 16 + [Stratum("b", "p", "g")] * 8
    anchors = [f"a{t:02d}" for t in range(16)] + [f"a{t % 5:02d}" for t in range(8)]
    assert check_same(matrix_of(NOISE, strata=strata, anchors=anchors), PLAN).redraws > 0


@pytest.mark.parametrize(("factor", "exact"), [(1e9, True), (1e10, False)])
def test_large_scores(factor: float, exact: bool) -> None:
    """Squares that pass 64 bits, chance levels beside them, and weights that are rounded."""
    strata = [Stratum(p + f, p, f) for p, f in ["pa"] * 29 + ["pb"] * 30 + ["qa"] * 31]
    values = np.round(np.random.default_rng(6).random((4, 90)) * 100 * factor)
    anchors = [f"a{t % 70:02d}" for t in range(90)]
    chance = np.round(values[0] / 2)
    matrix = matrix_of(values, strata=strata, anchors=anchors, chance=chance)
    found = check_same(matrix, Plan(draws=300, flips=100))
    assert (found.weights.power is None) == exact


def test_the_bundled_table() -> None:
    check_same(bundled_matrix(), Plan(draws=600, flips=600))


@pytest.mark.parametrize("largest", [1, 2**53 // 40, 2**40])
def test_products_are_exact_at_any_size(largest: int) -> None:
    """In float64 while all sums fit it, in integers beyond."""
    values = np.array([[9, -7, 3, 1, 20], [0, 0, 0, 0, 0], [-1, 2, -3, 4, -5]])
    rows = np.random.default_rng(1).integers(-largest, largest, (70_000, 5), endpoint=True)
    left = products.operand(values, largest)
    assert left.dtype == (np.float64 if 40 * largest < 2**53 else np.int64)
    expected = values.astype(object) @ rows[::999].T.astype(object)
    assert np.array_equal(products.products(left, rows)[:, ::999], expected)

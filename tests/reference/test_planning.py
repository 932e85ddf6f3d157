"""What ``fb plan`` predicts: closed forms, an independent fit, and whole analyses."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, reject
from hypothesis import strategies as st
from numpy.typing import NDArray
from statsmodels.stats.power import TTestPower
from strategies import few, tables

from flavourbench.analysis.bundled import bundled_matrix
from flavourbench.analysis.inference import infer
from flavourbench.analysis.matrix import ScoreMatrix, Stratum, build_matrix
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.planning.curve import Power
from flavourbench.analysis.planning.noise import TYPICAL_SD, Assumed, Noise, Pilot
from flavourbench.analysis.planning.outlook import outlook
from flavourbench.analysis.planning.question import Question
from flavourbench.analysis.planning.scenario import truth_with, truths
from flavourbench.analysis.planning.shape import Shape, even_shape, held
from flavourbench.errors import InputError

METHODS = ("holm", "step_down")
#: Standard errors that a correct prediction stays within, over all comparisons of this file.
WITHIN = 3.0


def question(models: int, tasks: int, clusters: int, strata: int, **more: Any) -> Question:
    noise = Assumed(even_shape(tasks, clusters, strata), more.pop("sd", 30.0), more.pop("rho", 0.0))
    plan = Plan(flips=more.pop("flips", 20_000), seed=more.pop("seed", 1))
    return Question(models, clusters, noise, plan, **more)


def at_difference(found: dict[str, Any], at: float) -> dict[str, Any]:
    (row,) = [row for row in found["curve"] if math.isclose(row["difference"], at)]
    return row  # type: ignore[no-any-return]


# --- against whole analyses ------------------------------------------------------------------


def study(
    source: np.random.Generator, truth: NDArray[np.float64], sd: float, rho: float
) -> ScoreMatrix:
    """Gaussian scores on 150 tasks of three strata, two tasks of each anchor."""
    tasks = 150
    anchor = np.arange(tasks) // 2
    noise = math.sqrt(1 - rho) * source.normal(size=(truth.size, tasks))
    noise += math.sqrt(rho) * source.normal(size=(truth.size, 75))[:, anchor]
    values = np.round(50 + truth[:, None] + sd / math.sqrt(2) * noise, 2)
    ids = [f"m{m:02d}" for m in range(truth.size)]
    return build_matrix(
        ids,
        ids,
        [f"t{t:03d}" for t in range(tasks)],
        [Stratum(f"f{t % 3}", None, f"f{t % 3}") for t in range(tasks)],
        [f"a{a:02d}" for a in anchor],
        values,
    )


@pytest.mark.slow
def test_whole_analyses_have_the_power_that_is_predicted() -> None:
    """Another code path, other random numbers: :func:`infer`, on matrices made here."""
    models, sd, rho, studies = 12, 30.0, 0.4, 160
    asked = question(models, 150, 75, 3, sd=sd, rho=rho, studies=300)
    found = outlook(asked, 2)
    rung = found["simulation"]["range"] / (models - 1)
    for name in METHODS:
        detectable = found["detectable"][name]
        apart = round(detectable["difference"] / rung)
        step = detectable["difference"] / apart
        shares = []
        for seed in range(studies):
            matrix = study(np.random.default_rng([7, seed]), np.arange(models) * step, sd, rho)
            result = infer(matrix, Plan(draws=40, flips=20_000, seed=seed), 2)
            p = result.pairs.holm_p if name == "holm" else result.pairs.stepdown_p
            here = result.pairs.right - result.pairs.left == apart
            shares.append((here & (p <= 0.05) & (result.pairs.difference < 0)).sum() / here.sum())
        slope = 0.35 / (detectable["difference"] * 0.15)  # of power, about, at 80 %
        error = math.hypot(np.std(shares, ddof=1) / math.sqrt(studies), detectable["se"] * slope)
        assert abs(np.mean(shares) - 0.8) < WITHIN * error
        assert error < 0.03


# --- closed forms ----------------------------------------------------------------------------


def test_two_models_have_the_power_of_a_paired_t_test() -> None:
    """Sign flips of Gaussian differences: within half a point of it with 100 clusters."""
    found = outlook(question(2, 100, 100, 1, studies=2400), 2)
    for row in found["curve"]:
        wanted = TTestPower().power(row["difference"] / 30, 100, 0.05)
        for name in METHODS:
            assert abs(row[name]["power"] - wanted) < WITHIN * row[name]["se"] + 0.005
    wanted = 30 * TTestPower().solve_power(nobs=100, alpha=0.05, power=0.8)
    for name in METHODS:
        got = found["detectable"][name]
        assert abs(got["difference"] - wanted) < WITHIN * got["se"]
        assert got["se"] < 0.02 * wanted


def test_six_clusters_resolve_only_what_always_has_one_sign() -> None:
    """2**-5 is the only p below 0.05 then: power Φ(D / SD)⁶ exactly."""
    found = outlook(question(2, 6, 6, 1, studies=1000), 2)
    assert found["floor"]["exact"]
    assert found["floor"]["smallest_p"] == 2**-5
    for row in found["curve"]:
        wanted = NormalDist().cdf(row["difference"] / 30) ** 6
        for name in METHODS:
            assert abs(row[name]["power"] - wanted) < WITHIN * row[name]["se"]
    wanted = 30 * NormalDist().inv_cdf(0.8 ** (1 / 6))
    assert found["detectable"]["holm"]["difference"] == pytest.approx(wanted, rel=0.1)


def test_clusters_for_two_models_are_those_of_a_paired_t_test() -> None:
    found = outlook(question(2, 60, 60, 1, studies=640, difference=6.0, power=0.9), 2)["needed"]
    wanted = TTestPower().solve_power(effect_size=0.2, alpha=0.05, power=0.9)
    for name in METHODS:
        assert abs(found[name]["clusters"] - wanted) < WITHIN * found[name]["se"] + 1
        assert found[name]["se"] < 0.08 * wanted
        assert found[name]["tasks"] == found[name]["clusters"]


@pytest.mark.parametrize("rho", [0.0, 0.5, 1.0])
def test_errors_of_differences_are_those_of_the_scores_drawn(rho: float) -> None:
    noise = Assumed(even_shape(61, 20, 3), 20.0, rho)
    check_pair_se(noise, 4, 20, 0.05)


def test_errors_of_differences_in_a_pilot() -> None:
    check_pair_se(Pilot.of(bundled_matrix()), 27, 200, 0.08)


def check_pair_se(noise: Noise, models: int, clusters: int, tolerance: float) -> None:
    source = np.random.default_rng(3)
    variances = []
    for _ in range(400):
        design, scores = noise.draw(source, models, clusters)
        assert design.clusters == clusters
        means = [scores[:, design.stratum == s].mean(axis=1) for s in range(design.strata)]
        variances.append(np.var(np.mean(means, axis=0), ddof=1) * 2)
    assert math.sqrt(np.mean(variances)) / noise.unit == pytest.approx(
        noise.pair_se(clusters), rel=tolerance
    )


# --- the fit ---------------------------------------------------------------------------------


def curve(source: np.random.Generator, studies: int, pairs: int) -> Power:
    """Known power Φ(0.5 x - 2); pairs of a study share part of their luck."""
    at = np.arange(1.0, 9.0)
    luck = source.normal(size=(studies, 1, 1)) * 0.6
    own = source.normal(size=(studies, at.size, pairs)) * 0.8
    resolved = (luck + own < 0.5 * at[None, :, None] - 2).sum(axis=2)
    return Power(at, np.full((studies, at.size), pairs), resolved)


def test_the_fit_is_that_of_another_package() -> None:
    power = curve(np.random.default_rng(1), 80, 5)
    pairs, hits = power.pairs.sum(axis=0), power.resolved.sum(axis=0)
    model = sm.GLM(
        np.column_stack([hits, pairs - hits]),
        sm.add_constant(power.at),
        family=sm.families.Binomial(sm.families.links.Probit()),
    ).fit()
    start, slope = model.params
    for wanted in (0.5, 0.8, 0.95):
        found = power.needed(wanted)
        assert found is not None
        assert found[0] == pytest.approx((NormalDist().inv_cdf(wanted) - start) / slope, rel=1e-6)


def test_errors_of_the_fit_and_of_shares_are_right_though_pairs_are_dependent() -> None:
    truth = (NormalDist().inv_cdf(0.8) + 2) / 0.5
    curves = [curve(np.random.default_rng([2, k]), 60, 6) for k in range(300)]
    fits = [power.needed(0.8) for power in curves]
    scores = [(fit[0] - truth) / fit[1] for fit in fits if fit is not None]
    assert len(scores) == 300
    assert abs(np.mean(scores)) < 0.25
    assert 0.85 < np.std(scores) < 1.15
    share, error = (np.array(part) for part in zip(*(c.shares() for c in curves), strict=True))
    assert np.std(share[:, 3], ddof=1) == pytest.approx(error[:, 3].mean(), rel=0.15)


@pytest.mark.parametrize("hits", [0, 20])
def test_curves_that_stand_still_have_no_answer(hits: int) -> None:
    still = np.full((20, 5), hits)
    assert Power(np.arange(1.0, 6.0), np.full((20, 5), 20), still).needed(0.8) is None


@pytest.mark.parametrize("first", range(6))
def test_a_jump_from_none_to_all_is_found_where_it_is(first: int) -> None:
    """No line can be fitted to it: the first value that has the power, and the step before it."""
    at, pairs = np.arange(2.0, 7.0), np.full((20, 5), 20)
    curve = Power(at, pairs, np.where(np.arange(5) >= first, pairs, 0))
    assert curve.needed(0.8) is None
    expected = None if first == 5 else (at[first], 1.0 if first else 2.0)
    assert curve.bracket(0.8) == expected
    # A value that has it by chance, with later ones that lack it, is none from which on it holds.
    if 1 < first < 5:
        curve.resolved[:, 0] = 20
        assert curve.bracket(0.8) == expected


def test_parts_are_joined_as_if_simulated_together() -> None:
    whole = curve(np.random.default_rng(5), 40, 5)
    some = np.array([1, 4, 5])
    rest = np.setdiff1d(np.arange(8), some)
    parts = [Power(whole.at[k], whole.pairs[:, k], whole.resolved[:, k]) for k in (some, rest)]
    joined = Power.joined(parts)
    np.testing.assert_array_equal(joined.at, whole.at)
    np.testing.assert_allclose(joined.shares(), whole.shares())


# --- floors and laws -------------------------------------------------------------------------


def test_a_hundred_and_one_models_are_too_many_for_a_hundred_thousand_flips() -> None:
    asked = [question(models, 40, 40, 1, flips=100_000, studies=20) for models in (100, 101)]
    floors = [outlook(q, 2)["floor"] for q in asked[:1]]
    found = outlook(asked[1], 2)
    floors.append(found["floor"])
    assert [floor["holm_resolves"] for floor in floors] == [True, False]
    assert floors[1]["flips_needed"] == 100_999
    assert "100999" in floors[1]["says"]
    assert found["detectable"]["holm"] is None
    assert found["detectable"]["step_down"] is not None
    assert all(row["holm"] == {"power": 0.0, "se": 0.0} for row in found["curve"])
    assert found["simulation"]["flips"]["holm"] == 0


def test_five_clusters_resolve_nothing_and_nothing_is_simulated() -> None:
    found = outlook(question(3, 30, 5, 3, difference=10.0), 2)
    assert found["floor"]["smallest_p"] == 2**-4
    assert not found["floor"]["step_down_resolves"]
    assert found["floor"]["flips_needed"] is None
    assert "more clusters" in found["floor"]["says"]
    assert (found["simulation"], found["curve"]) == (None, [])


def test_more_clusters_detect_less_and_larger_differences_take_fewer() -> None:
    small, large = (outlook(question(5, n, n, 1, studies=150), 2) for n in (50, 200))
    needed = [
        outlook(question(5, 50, 50, 1, studies=150, difference=d), 2)["needed"] for d in (8.0, 16.0)
    ]
    for name in METHODS:
        ratio = small["detectable"][name]["difference"] / large["detectable"][name]["difference"]
        assert 1.8 < ratio < 2.4
        counts = [n[name]["clusters"] for n in needed]
        assert 3 < counts[0] / counts[1] < 4.5
        power = [row[name]["power"] for row in small["curve"]]
        errors = [row[name]["se"] for row in small["curve"]]
        for k in range(len(power) - 1):
            assert power[k] < power[k + 1] + WITHIN * (errors[k] + errors[k + 1])


def test_what_no_number_of_clusters_reaches_is_said() -> None:
    found = outlook(question(3, 30, 30, 1, studies=40, difference=0.1), 2)["needed"]
    for name in METHODS:
        assert found[name]["clusters"] is None
        assert f"{found['limit']:,}" in found[name]["why"]
    few_flips = outlook(question(9, 60, 60, 1, flips=300, studies=40, difference=20.0), 2)
    assert "flips" in few_flips["needed"]["holm"]["why"]
    assert few_flips["needed"]["step_down"]["clusters"] > 0


def test_the_question_alone_decides() -> None:
    asked = question(4, 40, 20, 2, rho=0.3, studies=30, difference=20.0)
    found = outlook(asked, 1)
    assert outlook(asked, 3) == found
    assert (
        outlook(question(4, 40, 20, 2, rho=0.3, studies=30, seed=2), 1)["curve"] != found["curve"]
    )


def test_one_ahead_of_equals_resolves_no_more_than_a_ladder() -> None:
    asked = [question(10, 60, 60, 1, studies=200, scenario=s) for s in ("ladder", "ahead")]
    ladder, ahead = (outlook(q, 2)["detectable"]["step_down"] for q in asked)
    error = math.hypot(ladder["se"], ahead["se"])
    assert ahead["difference"] > ladder["difference"] - WITHIN * error


@few(60)
@given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 12))
def test_even_shapes_are_even(tasks: int, clusters: int, strata: int) -> None:
    if max(clusters, strata) > tasks:
        with pytest.raises(InputError, match="use at most"):
            even_shape(tasks, clusters, strata)
        return
    shape = even_shape(tasks, clusters, strata)
    assert (shape.total, shape.clusters, shape.strata) == (tasks, clusters, strata)
    for sizes in (shape.tasks.sum(axis=0), shape.tasks.sum(axis=1)):
        assert np.ptp(sizes) <= 1
    assert (np.ptp(shape.tasks, axis=1) <= 1).all()


@few(25)
@given(tables(), st.integers(1, 60))
def test_other_sizes_keep_the_kinds_of_clusters(table: Any, clusters: int) -> None:
    shape = Shape.of(table.matrix().design)
    same = shape.design(shape.clusters)
    assert same is not None
    np.testing.assert_array_equal(held(same), shape.tasks)
    places = shape.places(clusters)
    counts = Counter(places.tolist())
    assert max(counts.values()) - min(counts.get(c, 0) for c in range(shape.clusters)) <= 1
    assert (
        shape.places(3 * shape.clusters).tolist()
        == np.repeat(np.arange(shape.clusters), 3).tolist()
    )


@pytest.mark.parametrize("scenario", ["ladder", "ahead"])
@pytest.mark.parametrize("models", [2, 3, 4, 10, 11, 27])
def test_true_scores_hold_the_differences_asked_for(scenario: str, models: int) -> None:
    kinds = truths(scenario, models, 1300)
    apart = {abs(int(a - b)) for truth in kinds for a in truth for b in truth} - {0}
    assert len(apart) >= 6
    assert max(apart) == pytest.approx(1300, rel=0.02)
    truth = truth_with(scenario, models, 333)
    assert truth.size == models
    assert any(abs(int(a - b)) == 333 for a in truth for b in truth)


# --- pilots ----------------------------------------------------------------------------------


def test_the_typical_sd_is_that_of_the_bundled_figures() -> None:
    assert Pilot.of(bundled_matrix()).sd == pytest.approx(TYPICAL_SD, abs=0.05)


@few(40)
@given(tables(), st.integers(0, 99))
def test_clusters_of_a_pilot_are_drawn_whole(table: Any, seed: int) -> None:
    matrix = table.matrix()
    try:
        pilot = Pilot.of(matrix)
    except InputError:  # models that never differ
        reject()
    edges = zip(pilot.first[:-1], pilot.first[1:], strict=True)
    blocks = {pilot.scores[:, a:b].tobytes() for a, b in edges}
    design, scores = pilot.draw(np.random.default_rng(seed), pilot.models, pilot.shape.clusters)
    assert design.strata == pilot.shape.strata
    drawn = [scores[:, design.cluster == c] for c in range(design.clusters)]
    assert any(
        all(np.ascontiguousarray(block[list(order)]).tobytes() in blocks for block in drawn)
        for order in permutations(range(pilot.models))
    )


def test_a_pilot_of_gaussian_scores_predicts_what_their_sd_does() -> None:
    source = np.random.default_rng(8)
    matrix = study(source, np.array([0.0, 5.0, 9.0, 20.0]), 30.0, 0.0)
    plan = Plan(flips=20_000)
    pilot = Question(4, 75, Pilot.of(matrix), plan, studies=300)
    assumed = Question(4, 75, Assumed(even_shape(150, 75, 3), 30.0), plan, studies=300)
    found = [outlook(asked, 2)["detectable"]["holm"]["difference"] for asked in (pilot, assumed)]
    assert found[0] == pytest.approx(found[1], rel=0.12)  # the SD of 75 clusters is known to 8 %


def test_kinds_of_clusters_keep_their_shares_in_draws() -> None:
    pilot = Pilot.of(bundled_matrix())
    design, _ = pilot.draw(np.random.default_rng(1), 5, 60)
    assert design.sizes.tolist() == [10] * 6

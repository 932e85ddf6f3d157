"""Simulated studies: their truth by plain computation, what is counted, and that it can fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint
from strategies import bits, few

from fbcore.quantiles import quantile
from fbcore.stepdown import StepDown
from flavourbench.analysis.calibration.bounds import bounds, outside
from flavourbench.analysis.calibration.choosers import Law
from flavourbench.analysis.calibration.counting import MEASURES, counts, rank_bounds
from flavourbench.analysis.calibration.population import Population, Truth, populate
from flavourbench.analysis.calibration.running import Calibrated, Rate, calibrate, source_of
from flavourbench.analysis.calibration.scenarios import SCENARIOS, Scenario, chosen
from flavourbench.analysis.inference import Inference, infer, stepped_down
from flavourbench.analysis.measured import Run
from flavourbench.analysis.plan import Plan

#: One of every layout and kind of model.
KINDS = ("mixed-20", "sparse-20", "ceiling-20", "skewed-20", "strata-54", "unequal-89", "shared-50")
each_kind = pytest.mark.parametrize("name", KINDS)


# --- the truth -----------------------------------------------------------------------------


def plain_probabilities(law: Law, scores: list[int]) -> list[float]:
    """The definition, portfolio by portfolio."""
    away = [abs(score / 100 - law.aim) for score in scores]
    if law.temperature == 0:
        weights = [float(a == min(away)) for a in away]
    elif math.isinf(law.temperature):
        weights = [1.0 for _ in away]
    else:
        weights = [math.exp((min(away) - a) / law.temperature) for a in away]
    return [weight / math.fsum(weights) for weight in weights]


maps = st.lists(st.integers(0, 10_000), min_size=56, max_size=56)
laws = st.builds(
    Law, st.sampled_from([0.0, 50.0, 90.0, 100.0]), st.sampled_from([0.0, 0.5, 8.0, math.inf])
)


@given(maps, laws)
@few(60)
def test_probabilities_of_portfolios(scores: list[int], law: Law) -> None:
    found = law.probabilities(np.array([scores], np.int16))[0]
    np.testing.assert_allclose(found, plain_probabilities(law, scores), rtol=1e-12, atol=1e-15)


@each_kind
def test_true_scores_are_those_of_a_plain_computation(name: str) -> None:
    """Mean over strata of the mean over tasks of what a model expects there."""
    population = populate(SCENARIOS[name])
    pool, expected = population.pool, {}
    for m, model in enumerate(population.scenario.models):
        share = population.knowledge[m] if model.knowledge is None else model.knowledge
        strata: list[list[float]] = [[] for _ in pool.strata]
        for stratum, row in zip(pool.stratum.tolist(), pool.row.tolist(), strict=True):
            for law, weight in ((model.known, share), (model.other, 1 - share)):
                if (law, row) not in expected:
                    scores = pool.scores[row].tolist()
                    chosen_by = plain_probabilities(law, scores)
                    products = (s / 100 * p for s, p in zip(scores, chosen_by, strict=True))
                    expected[law, row] = math.fsum(products)
                strata[stratum].append(weight * expected[law, row])
        # Both laws of every task are in the list, so its mean is half of the task's.
        means = [2 * math.fsum(values) / len(values) for values in strata]
        assert population.truth.score[m] == pytest.approx(math.fsum(means) / len(means), abs=1e-9)


def drawn(population: Population, studies: int) -> list[Any]:
    sources = (source_of(population.scenario, 11, number) for number in range(studies))
    return [m for m in map(population.study, sources) if m is not None]


@each_kind
def test_studies_estimate_the_truth(name: str) -> None:
    """Totals over many studies: each stratum's scores over its tasks, as a ratio.

    Ratios of single studies are biased by their random sizes, totals over 300 are not; 4.5
    standard errors are left by one of 20,000 such comparisons, and there are 40.
    """
    population = populate(SCENARIOS[name])
    strata, models = len(population.pool.strata), len(population.scenario.models)
    sums, sizes = [], []
    for matrix in drawn(population, 300):
        one = np.eye(strata)[matrix.design.stratum]
        sums.append(matrix.scores.values / matrix.unit @ one)
        sizes.append(one.sum(axis=0))
    total, size = np.array(sums), np.array(sizes)
    ratio = total.sum(axis=0) / size.sum(axis=0)
    # The linearised deviation of each study from the ratio of totals.
    residual = ((total - ratio * size[:, None, :]) / size.mean(axis=0)).mean(axis=2)
    error = residual.std(axis=0, ddof=1) / math.sqrt(len(sums))
    away = np.abs(ratio.mean(axis=1) - population.truth.score)
    assert models == away.size
    assert (away <= 4.5 * error).all(), away / error


@each_kind
def test_chance_levels_are_means_of_maps(name: str) -> None:
    population = populate(SCENARIOS[name])
    matrix = drawn(population, 1)[0]
    assert matrix.chance is not None
    known = {int(row.sum()) for row in population.pool.scores}
    assert {int(level) for level in matrix.chance} <= known
    assert matrix.chance_error == 0


def test_layouts_are_what_they_say() -> None:
    crossed = drawn(populate(SCENARIOS["mixed-20"]), 1)[0].design
    assert (crossed.clusters, crossed.tasks, crossed.touching.tolist()) == (20, 60, [20] * 3)
    apart = drawn(populate(SCENARIOS["strata-54"]), 1)[0].design
    assert (apart.sizes.tolist(), apart.touching.tolist()) == ([9] * 6, [9] * 6)
    uneven = [m.design.sizes.tolist() for m in drawn(populate(SCENARIOS["unequal-89"]), 5)]
    assert len({tuple(sizes) for sizes in uneven}) > 1
    assert all(a > b > c for a, b, c in uneven)
    pool = populate(SCENARIOS["shared-50"]).pool
    sizes = np.diff(pool.first)
    cluster = np.repeat(np.arange(sizes.size), sizes)
    several = {(int(c), int(s)) for c, s in zip(cluster, pool.stratum, strict=True)}
    assert sizes.min() == 1
    assert sizes.max() > 4
    assert sizes.size < len(several) < cluster.size  # over strata, and twice in one
    easy = pool.scores.mean(axis=1)[pool.row]
    large, small = sizes[cluster] > 4, sizes[cluster] < 3
    assert easy[large].mean() < easy[small].mean() - 300  # basis points


def test_equals_are_exchangeable_where_that_is_claimed() -> None:
    for scenario in SCENARIOS.values():
        population = populate(scenario)
        score, models = population.truth.score, scenario.models
        pairs = [(i, j) for i in range(len(models)) for j in range(i)]
        equal = [(i, j) for i, j in pairs if abs(score[i] - score[j]) < 1e-9]
        assert equal
        assert all(models[i] == models[j] for i, j in equal) == scenario.symmetric


def test_what_models_have_in_common() -> None:
    """Scores agree more often where more is in common, and always where all is."""
    agree = []
    for common in (0.0, 0.5, 1.0):
        scenario = replace(SCENARIOS["equal-89"], common=common)
        values = np.hstack([m.scores.values for m in drawn(populate(scenario), 10)])
        agree.append((values[0] == values[1]).mean())
    assert agree[0] + 0.1 < agree[1] < 0.9
    assert agree[2] == 1


# --- counting ------------------------------------------------------------------------------

#: Three models, the last two equally good; pairs (0, 1), (0, 2), (1, 2).
TRUTH = Truth(np.array([60.0, 50.0, 50.0]), 50.0)


@pytest.fixture(scope="module")
def study() -> Inference:
    """An analysis in which everything is right: nothing resolved, all intervals wide."""
    models = SCENARIOS["mixed-20"].models[2:5]
    matrix = drawn(populate(replace(SCENARIOS["mixed-20"], models=models)), 1)[0]
    found = infer(matrix, Plan(200, 200))
    wide, ones = np.array([[-1e3, 1e3]] * 3), np.ones(3)
    assert found.chance is not None
    return replace(
        found,
        pointwise=wide,
        simultaneous=wide,
        rank_interval=np.array([[1, 3]] * 3),
        rank_set=np.array([[1, 3]] * 3),
        chance=replace(found.chance, holm_p=ones, stepdown_p=ones),
        pairs=replace(
            found.pairs,
            difference=np.array([10.0, 10.0, 1.0]),
            interval=wide,
            simultaneous=wide,
            resolved=np.zeros(3, np.bool_),
            stepdown_p=ones,
        ),
    )


def seen(found: Inference, truth: Truth = TRUTH) -> dict[str, float]:
    values = counts(found, truth)
    return {m.name: float(v) for m, v in zip(MEASURES, values, strict=True) if not np.isnan(v)}


RIGHT = {
    **dict.fromkeys(("pointwise", "simultaneous", "pair", "pairs"), 1.0),
    **dict.fromkeys(("rank", "rank_whole", "rank_sets"), 1.0),
    **dict.fromkeys(("holm", "stepdown", "chance", "chance_stepdown", "wrong_way", "close"), 0.0),
    **dict.fromkeys(("holm_power", "stepdown_power", "chance_power", "close_power"), 0.0),
}


def rows_with(row: int, low: float, high: float) -> np.ndarray:
    out = np.array([[-1e3, 1e3]] * 3)
    out[row] = low, high
    return out


def ranks_with(row: int, low: int, high: int) -> np.ndarray:
    out = np.array([[1, 3]] * 3)
    out[row] = low, high
    return out


def at(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


@pytest.mark.parametrize(
    ("fields", "pairs", "chance", "changed"),
    [
        ({}, {}, {}, {}),
        ({"pointwise": rows_with(0, 60.1, 70)}, {}, {}, {"pointwise": 2 / 3}),
        ({"pointwise": rows_with(0, 60, 60)}, {}, {}, {}),
        ({"simultaneous": rows_with(2, 10, 49.9)}, {}, {}, {"simultaneous": 0.0}),
        ({}, {"interval": rows_with(1, 11, 12)}, {}, {"pair": 2 / 3}),
        ({}, {"simultaneous": rows_with(2, 0.5, 99)}, {}, {"pairs": 0.0}),
        # The last two may have ranks 2 and 3: an interval may hold one, both or none of them.
        ({"rank_interval": ranks_with(1, 1, 2)}, {}, {}, {"rank_whole": 2 / 3}),
        ({"rank_interval": ranks_with(1, 1, 1)}, {}, {}, {"rank_whole": 2 / 3, "rank": 2 / 3}),
        ({"rank_interval": ranks_with(1, 2, 3)}, {}, {}, {}),
        ({"rank_set": ranks_with(0, 2, 3)}, {}, {}, {"rank_sets": 0.0}),
        ({"rank_set": ranks_with(1, 3, 3)}, {}, {}, {"rank_sets": 0.0}),
        ({}, {"resolved": at(0, 0, 1) > 0}, {}, {"holm": 1.0}),
        ({}, {"resolved": at(1, 0, 0) > 0}, {}, {"holm_power": 0.5}),
        ({}, {"stepdown_p": at(1, 1, 0.05)}, {}, {"stepdown": 1.0}),
        ({}, {"stepdown_p": at(0.01, 0.02, 0.051)}, {}, {"stepdown_power": 1.0}),
        (
            {},
            {"resolved": at(1, 0, 0) > 0, "difference": at(-3, 10, 1)},
            {},
            {"wrong_way": 1.0},
        ),
        ({}, {"stepdown_p": at(0.01, 1, 1), "difference": at(-3, 10, 1)}, {}, {"wrong_way": 1.0}),
        ({}, {}, {"holm_p": at(1, 0.05, 1)}, {"chance": 1.0}),
        ({}, {}, {"holm_p": at(0.05, 1, 1)}, {"chance_power": 1.0}),
        ({}, {}, {"stepdown_p": at(1, 1, 0.01)}, {"chance_stepdown": 1.0}),
        # The margin is the smallest true difference, 10.
        ({}, {"simultaneous": rows_with(2, -9, 9)}, {}, {"close_power": 1.0}),
        ({}, {"simultaneous": rows_with(2, -9, 10.1)}, {}, {}),
        ({}, {"simultaneous": rows_with(0, 2, 9.9)}, {}, {"close": 1.0, "pairs": 0.0}),
    ],
)
def test_what_is_counted(
    study: Inference,
    fields: dict[str, Any],
    pairs: dict[str, Any],
    chance: dict[str, Any],
    changed: dict[str, float],
) -> None:
    assert study.chance is not None
    found = replace(
        study,
        **fields,
        pairs=replace(study.pairs, **pairs),
        chance=replace(study.chance, **chance),
    )
    assert seen(found) == pytest.approx(RIGHT | changed)


def test_what_is_not_there_is_not_counted(study: Inference) -> None:
    different = seen(study, Truth(np.array([60.0, 50.0, 40.0]), 30.0))
    assert {*RIGHT} - {*different} == {
        *("holm", "stepdown", "close_power"),
        *("chance", "chance_stepdown"),
    }
    equal = seen(study, Truth(np.full(3, 50.0), 50.0))
    assert {*RIGHT} - {*equal} == {
        *("holm_power", "stepdown_power", "wrong_way", "close", "close_power", "chance_power"),
    }


@given(st.lists(st.sampled_from([0.0, 1.0, 1.5, 7.0]), min_size=1, max_size=8))
@few(60)
def test_ranks_that_models_may_have(scores: list[float]) -> None:
    """The places a model takes over all orders that put better ones first."""
    ordered = sorted(scores, reverse=True)
    places = [[k + 1 for k, other in enumerate(ordered) if other == score] for score in scores]
    assert rank_bounds(np.array(scores)).tolist() == [[min(p), max(p)] for p in places]


@given(st.integers(0, 50), st.integers(0, 50))
@few(60)
def test_rates_of_yes_and_no(yes: int, no: int) -> None:
    n = yes + no
    if n < 2:
        return
    found = Rate.of(np.array([1.0] * yes + [0.0] * no))
    assert found.share == pytest.approx(yes / n)
    assert found.se == pytest.approx(math.sqrt(yes * no / n / n / (n - 1)))
    size = n - (found.se > 0)  # as many studies as the standard error takes
    expected = proportion_confint(yes / n * size, size, method="wilson")
    assert found.interval() == pytest.approx(expected, abs=1e-6)


def test_shares_count_as_much_as_they_tell() -> None:
    """Of 400 studies of ten models that are right or wrong by themselves: 4,000 of one."""
    each = np.random.default_rng(3).random((400, 10)) < 0.9
    one, ten = Rate.of(each[:, 0].astype(float)), Rate.of(each.mean(axis=1))
    widths = [high - low for low, high in (one.interval(), ten.interval())]
    assert ten.se == pytest.approx(one.se / math.sqrt(10), rel=0.15)
    assert widths[1] == pytest.approx(widths[0] / math.sqrt(10), rel=0.15)


# --- running -------------------------------------------------------------------------------


def test_threads_and_company_change_nothing() -> None:
    names = ["skewed-20", "mixed-20"]
    alone = [calibrate(chosen([name]), 17, 5, threads=1)[0] for name in ("mixed-20", "skewed-20")]
    together = calibrate(chosen(names), 17, 5, threads=3)
    assert [r.scenario.name for r in together] == ["mixed-20", "skewed-20"]
    assert [bits(r.rates) for r in together] == [bits(r.rates) for r in alone]
    other = calibrate(chosen(names), 17, 6, threads=3)
    assert [bits(r.rates) for r in together] != [bits(r.rates) for r in other]


def test_no_two_studies_are_the_same() -> None:
    names = [*SCENARIOS][:12]
    first = {
        source_of(SCENARIOS[name], seed, number).bytes(16)
        for name in names
        for seed in (0, 1, 2**53 - 1)
        for number in (0, 1, 2, 999_999)
    }
    assert len(first) == len(names) * 3 * 4


def test_refused_studies_are_counted_apart() -> None:
    """With two clusters nothing varies now and then, and strata are too thin in others."""
    tiny = replace(SCENARIOS["ceiling-10"], clusters=2)
    (found,) = calibrate([tiny], 40, 1)
    assert 0 < found.refused < 40
    assert found.rates["pointwise"].studies == 40 - found.refused


# --- bounds --------------------------------------------------------------------------------


def result_of(name: str, key: str, yes: int, of: int) -> Calibrated:
    values = np.array([1.0] * yes + [0.0] * (of - yes))
    return Calibrated(SCENARIOS[name], TRUTH, 3, {key: Rate.of(values)}, 0)


@pytest.mark.parametrize(
    ("name", "key", "yes", "of", "wrong"),
    [
        ("mixed-200", "simultaneous", 920, 1000, False),  # 1.7 standard errors below 93.5
        ("mixed-200", "simultaneous", 900, 1000, True),
        ("mixed-200", "pairs", 1000, 1000, True),
        ("mixed-200", "pairs", 100, 100, False),
        ("mixed-20", "simultaneous", 500, 1000, False),
        ("mixed-20", "holm", 60, 1000, False),
        ("mixed-20", "holm", 80, 1000, True),
        ("sparse-534", "holm", 80, 1000, True),
        ("sparse-534", "pointwise", 800, 1000, False),
        ("skewed-20", "holm", 500, 1000, False),
        ("mixed-50", "pointwise", 890, 1000, True),
        ("mixed-200", "rank_sets", 1000, 1000, False),
        ("mixed-200", "rank_sets", 890, 1000, True),
        ("mixed-200", "stepdown", 70, 1000, False),
        ("mixed-200", "stepdown", 100, 1000, True),
    ],
)
def test_rates_outside_of_their_bounds(name: str, key: str, yes: int, of: int, wrong: bool) -> None:
    assert outside(result_of(name, key, yes, of)) == [key] * wrong


def test_bounds_are_of_measures() -> None:
    assert {key for s in SCENARIOS.values() for key in bounds(s)} <= {m.name for m in MEASURES}


# --- faults in the analysis ----------------------------------------------------------------

ANALYSIS = "flavourbench.analysis.inference"


def no_correction(p: np.ndarray) -> np.ndarray:
    return p


def generous(run: Run) -> StepDown:
    """Step-down p-values a tenth of what they are."""
    found = stepped_down(run)
    return replace(found, p=found.p / 10, directed_p=found.directed_p / 10)


def too_narrow(values: np.ndarray, p: float) -> float:
    return 0.6 * quantile(values, p)


def too_wide(values: np.ndarray, p: float) -> float:
    return 2.0 * quantile(values, p)


@pytest.mark.parametrize(
    ("patched", "by", "name", "studies", "found"),
    [
        ("holm", no_correction, "equal-20", 60, {"holm"}),
        ("stepped_down", generous, "equal-200", 60, {"stepdown", "rank_sets"}),
        ("quantile", too_narrow, "mixed-200", 60, {"simultaneous", "pairs"}),
        ("quantile", too_wide, "mixed-200", 260, {"simultaneous", "pairs"}),
    ],
)
def test_a_fault_leaves_the_bounds(
    monkeypatch: pytest.MonkeyPatch,
    patched: str,
    by: Callable[..., Any],
    name: str,
    studies: int,
    found: set[str],
) -> None:
    monkeypatch.setattr(f"{ANALYSIS}.{patched}", by)
    """As they are all scenarios pass: see docs/calibration.md, and the quick check of some."""
    (result,) = calibrate(chosen([name]), studies, 1)
    assert found <= {*outside(result)}


def test_intervals_around_the_wrong_place_leave_the_bounds() -> None:
    """A truth that is off by a point: every kind of interval notices."""
    scenario: Scenario = SCENARIOS["mixed-200"]
    population = populate(scenario)
    off = Truth(population.truth.score + np.linspace(-4, 4, 6), population.truth.chance)
    rows = []
    for number, matrix in enumerate(drawn(population, 40)):
        found = infer(matrix, Plan(500, 500, number), threads=1)
        rows.append(counts(found, off))
    shares = dict(zip([m.name for m in MEASURES], np.array(rows).mean(axis=0), strict=True))
    assert all(shares[key] < 0.8 for key in ("pointwise", "simultaneous", "pair", "pairs"))

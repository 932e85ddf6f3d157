"""Independent oracles for the plain twin: loops, exact fractions, SciPy, statsmodels."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from flavourbench.analysis.plain import bootstrap as boot
from flavourbench.analysis.plain import counter, decisions, design, resample, signflip

SEED = 2**40 + 12345  # both key words in use


# --- scalar oracles ------------------------------------------------------------------------


def scalar_philox(words, key):
    """Philox4x32-10 on Python integers."""
    c, (low, high) = list(words), key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [
            (p1 >> 32) ^ c[1] ^ low,
            p1 % 2**32,
            (p0 >> 32) ^ c[3] ^ high,
            p0 % 2**32,
        ]
        low, high = (low + 0x9E3779B9) % 2**32, (high + 0xBB67AE85) % 2**32
    return c


def scalar_pick(seed, draw, attempt, k, bound):
    """One Lemire pick and the number of retries it took."""
    key = (seed % 2**32, seed // 2**32)
    for retry in itertools.count():
        word = scalar_philox((k // 4, draw, attempt + 65536 * retry, 1), key)[k % 4]
        m = word * bound
        if m % 2**32 >= 2**32 % bound:
            return m // 2**32, retry
    raise AssertionError("unreachable")


def scalar_signs(seed, draw, clusters):
    key = (seed % 2**32, seed // 2**32)
    result = []
    for c in range(clusters):
        w = c // 32
        word = scalar_philox((w // 4, draw, 0, 2), key)[w % 4]
        result.append(1 if (word >> (c % 32)) & 1 else -1)
    return result


def loop_bootstrap(scores, stratum, cluster, exponent, draws, seed):
    """Scores [M][draws] and redraws, one task at a time."""
    clusters, strata = max(cluster) + 1, max(stratum) + 1
    rows = [[] for _ in scores]
    redraws = 0
    for draw in range(draws):
        attempt = 0
        while True:
            w = [0] * clusters
            for k in range(clusters):
                w[scalar_pick(seed, draw, attempt, k, clusters)[0]] += 1
            size = [0] * strata
            for s, c in zip(stratum, cluster, strict=True):
                size[s] += w[c]
            if all(size):
                break
            attempt += 1
            redraws += 1
        for model, values in enumerate(scores):
            total = None
            for s in range(strata):
                numerator = sum(
                    w[c] * y for y, t, c in zip(values, stratum, cluster, strict=True) if t == s
                )
                r = float(numerator) / float(size[s])
                total = r if total is None else total + r
            rows[model].append(total / strata / 10.0**exponent)
    return rows, redraws


def small_design(models=4, seed=0):
    """Three unequal strata, clusters shared across them, the last stratum thin."""
    rng = np.random.default_rng(seed)
    stratum = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2])
    cluster = np.array([0, 1, 2, 3, 4, 0, 0, 5, 2, 1, 5])
    return rng.integers(-500, 10001, (models, 11)), stratum, cluster


def pair_indices(models):
    return list(itertools.combinations(range(models), 2))


# --- counter -------------------------------------------------------------------------------

ZERO, ONES, PI = (
    "00000000 00000000 00000000 00000000",
    "ffffffff ffffffff ffffffff ffffffff",
    "243f6a88 85a308d3 13198a2e 03707344",
)
KNOWN = [
    (ZERO, "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    (ONES, "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (PI, "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def hexes(text):
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("words", "key", "expected"), KNOWN)
def test_philox_known_answers(words, key, expected):
    low, high = hexes(key)
    out = counter.philox(np.array([hexes(words)] * 3, dtype=np.uint32), (low, high))
    assert out.dtype == np.uint32
    assert out.tolist() == [hexes(expected)] * 3
    assert scalar_philox(hexes(words), (low, high)) == hexes(expected)


def test_philox_rows_are_independent():
    words = np.random.default_rng(1).integers(0, 2**32, (50, 4), dtype=np.uint32)
    expected = [scalar_philox(row, (7, 2**32 - 1)) for row in words.tolist()]
    assert counter.philox(words, (7, 2**32 - 1)).tolist() == expected


@pytest.mark.parametrize("clusters", [1, 2, 3, 4, 5, 7, 130])
def test_picks_match_a_scalar_loop(clusters):
    attempts = np.array([0, 3, 255, 0, 1])
    got = counter.picks(SEED, 11, 16, clusters, attempts)
    assert got.dtype == np.int32
    assert got.shape == (5, clusters)
    for row, draw in enumerate(range(11, 16)):
        for k in range(clusters):
            expected, _ = scalar_pick(SEED, draw, int(attempts[row]), k, clusters)
            assert got[row, k] == expected


@pytest.mark.parametrize("bound", [3 * 2**30 - 1, 3 * 2**30, 3 * 2**30 + 1, 2**32 - 1, 2**32])
def test_rejected_picks_take_their_own_retry(bound):
    draws, attempts = np.array([4, 0, 2**32 - 1]), np.array([0, 2, 255])
    got = counter.bounded(SEED, draws, attempts, 61, bound)
    expected = [
        [scalar_pick(SEED, d, a, k, bound) for k in range(61)]
        for d, a in zip(draws.tolist(), attempts.tolist(), strict=True)
    ]
    assert got.tolist() == [[pick for pick, _ in row] for row in expected]
    retries = [retry for row in expected for _, retry in row]
    if bound < 2**32 - 1:
        assert max(retries) >= 2
        assert 0.15 < np.mean(np.array(retries) > 0) < 0.35  # a quarter is rejected


def test_endless_rejection_is_an_error(monkeypatch):
    monkeypatch.setattr(counter, "_RETRIES", 2)
    with pytest.raises(RuntimeError, match="rejected 2 times"):
        counter.bounded(SEED, np.arange(9), np.zeros(9, np.int64), 61, 3 * 2**30)


def test_picks_and_signs_ignore_block_borders():
    whole = counter.picks(3, 0, 40, 9)
    parts = [counter.picks(3, a, b, 9) for a, b in [(0, 1), (1, 17), (17, 17), (17, 40)]]
    assert np.array_equal(whole, np.concatenate(parts))
    signs = counter.signs(3, 0, 40, 9)
    assert np.array_equal(signs[13:29], counter.signs(3, 13, 29, 9))


@pytest.mark.parametrize("clusters", [1, 31, 32, 33, 127, 128, 129, 300])
def test_signs_match_a_scalar_loop(clusters):
    got = counter.signs(SEED, 5, 8, clusters)
    assert got.dtype == np.int8
    assert got.tolist() == [scalar_signs(SEED, d, clusters) for d in range(5, 8)]


@pytest.mark.parametrize("clusters", [1, 2, 5])
def test_enumeration_is_complete(clusters):
    count = 2 ** (clusters - 1)
    got = counter.enumerated_signs(0, count, clusters)
    assert got.dtype == np.int8
    expected = {(1, *rest) for rest in itertools.product((1, -1), repeat=clusters - 1)}
    assert {tuple(row) for row in got.tolist()} == expected
    assert (got[count - 1] == 1).all()
    for d, c in itertools.product(range(count), range(1, clusters)):
        assert (got[d, c] == 1) == bool((d >> (c - 1)) & 1)
    assert np.array_equal(counter.enumerated_signs(count // 2, count, clusters), got[count // 2 :])


@pytest.mark.parametrize(
    "call",
    [
        lambda: counter.picks(-1, 0, 1, 3),
        lambda: counter.picks(2**53, 0, 1, 3),
        lambda: counter.picks(1, 2, 1, 3),
        lambda: counter.picks(1, 0, 2**32 + 1, 3),
        lambda: counter.picks(1, 0, 1, 0),
        lambda: counter.picks(1, 0, 2, 3, np.zeros(3, np.int64)),
        lambda: counter.picks(1, 0, 1, 3, np.array([65536])),
        lambda: counter.picks(1, 0, 0, 2**31),
        lambda: counter.bounded(1, np.arange(1), np.arange(1), 1, 2**32 + 1),
        lambda: counter.signs(1, 0, 1, 0),
        lambda: counter.enumerated_signs(0, 5, 3),
        lambda: counter.enumerated_signs(0, 1, 64),
    ],
)
def test_counter_refuses_bad_coordinates(call):
    with pytest.raises(ValueError, match=r"."):
        call()


# --- design --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "grid", "exponent"),
    [
        ([0.0, 3.0, -7.0], [0, 3, -7], 0),
        ([0.1, 0.2, 0.3], [1, 2, 3], 1),
        ([58.32, 0.07, 100.0], [5832, 7, 10000], 2),
        ([0.000001, 1.0], [1, 1000000], 6),
        ([], [], 0),
    ],
)
def test_quantise_finds_the_smallest_grid(values, grid, exponent):
    got, e, error = design.quantise(values)
    assert got.dtype == np.int64
    assert (got.tolist(), e, error) == (grid, exponent, 0.0)


def test_quantise_every_basis_point():
    got, e, error = design.quantise(np.arange(-500, 10001).reshape(-1, 1) / 100)
    assert (e, error, got.shape) == (2, 0.0, (10501, 1))
    assert np.array_equal(got[:, 0], np.arange(-500, 10001))


def test_quantise_off_grid_rounds_half_even_and_reports():
    got, e, error = design.quantise([2.5e-6, 3.5e-6, 1 / 3])
    assert e == 6
    assert got.tolist() == [2, 4, 333333]
    assert error == max(abs(2e-6 - 2.5e-6), abs(4e-6 - 3.5e-6), abs(0.333333 - 1 / 3))


@pytest.mark.parametrize("values", [[math.nan], [0.0, -math.inf], [1e19], [1e14, 1 / 3]])
def test_quantise_refuses(values):
    with pytest.raises(ValueError, match="value"):
        design.quantise(values)


def test_weights_of_the_released_design():
    weights, scale, power = design.stratum_weights([89] * 6, 10000)
    assert (weights.tolist(), weights.dtype, scale, power) == ([1] * 6, np.int64, 534, None)


def test_weights_are_exact_when_they_fit():
    weights, scale, power = design.stratum_weights(np.array([2, 3, 4]), 10**4)
    assert (weights.tolist(), scale, power) == ([6, 4, 3], 36, None)


@pytest.mark.parametrize("largest", [1, 977, 10**4, 10**7, 10**9])
def test_weights_fall_back_to_the_largest_power(largest):
    sizes = [101, 103, 107, 109, 113, 127, 131, 137]
    weights, scale, power = design.stratum_weights(sizes, largest)

    def bound(ws):
        return 56 * largest * sum(n * w for n, w in zip(sizes, ws, strict=True))

    common = math.lcm(*sizes)
    assert bound([common // n for n in sizes]) > 2**61
    assert scale == 2**power
    assert bound(weights.tolist()) <= 2**61
    for n, w in zip(sizes, weights.tolist(), strict=True):
        assert abs(w - Fraction(2**power, len(sizes) * n)) <= Fraction(1, 2)
    above = [math.floor(Fraction(2 ** (power + 1), len(sizes) * n) + Fraction(1, 2)) for n in sizes]
    assert power == 40 or bound(above) > 2**61


def test_weights_up_to_the_bound_and_not_beyond():
    edge = 2**61 // 56 // 2
    assert design.stratum_weights([1, 1], edge)[1:] == (2, None)
    with pytest.raises(ValueError, match="coarser"):
        design.stratum_weights([1, 1], 2 * edge)
    with pytest.raises(ValueError, match="coarser"):  # power 1 would fit with weight 0
        design.stratum_weights([1, 1000], 2**61 // 56 // 1000)
    with pytest.raises(ValueError, match="at least one task"):
        design.stratum_weights([3, 0], 1)
    with pytest.raises(ValueError, match="negative"):
        design.stratum_weights([3], -1)


def test_contributions_sum_to_the_score():
    scores, stratum, cluster = small_design()
    weights, scale, _ = design.stratum_weights([5, 4, 2], 10000)
    z = design.contributions(scores, stratum, cluster, weights)
    assert z.dtype == np.int64
    for m, c in itertools.product(range(4), range(6)):
        expected = sum(
            int(scores[m, t]) * int(weights[stratum[t]]) for t in range(11) if cluster[t] == c
        )
        assert z[m, c] == expected
    points = boot.point_scores(scores, stratum, 2)
    for m in range(4):
        means = [
            Fraction(sum(scores[m, stratum == s].tolist()), n) for s, n in enumerate((5, 4, 2))
        ]
        assert Fraction(int(z[m].sum()), scale) == sum(means) / 3
        assert points[m] == pytest.approx(float(sum(means) / 300), rel=1e-15)


def test_varies_looks_inside_strata():
    stratum = np.array([0, 1, 0, 1])
    scores = np.array([[5, 9, 5, 9], [5, 9, 5, 8], [5, 5, 9, 9], [0, 0, 0, 0]])
    assert design.varies(scores, stratum).tolist() == [False, True, True, False]


def test_thin_strata_is_the_probability_of_an_empty_stratum():
    stratum, cluster = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 3, 2, 2, 1])
    total, terms = design.thin_strata(stratum, cluster)
    outcomes = list(itertools.product(range(4), repeat=4))
    for s in range(3):
        touched = set(cluster[stratum == s].tolist())
        empty = sum(not touched & set(outcome) for outcome in outcomes)
        assert terms[s] == pytest.approx(empty / len(outcomes), rel=1e-14)
    assert total == (terms[0] + terms[1]) + terms[2]


def test_strata_without_tasks_are_refused():
    with pytest.raises(ValueError, match="stratum 1 has no tasks"):
        design.stratum_sizes(np.array([0, 2, 2]))
    with pytest.raises(ValueError, match="no tasks"):
        design.stratum_sizes(np.array([], dtype=np.int64))


def test_smallest_p():
    assert design.smallest_p(100_000, 534, False) == 1 / 100_001
    assert design.smallest_p(99, 5000, False) == 0.01
    assert design.smallest_p(100_000, 5, True) == 1 / 16
    assert design.smallest_p(100, 5, False) == 1 / 16


@pytest.mark.parametrize(("hypotheses", "alpha"), [(1, 0.9), (3, 0.3), (351, 0.05), (2863, 0.35)])
def test_flips_needed_is_the_first_that_suffices(hypotheses, alpha):
    # The product that Holm forms, rounding included.
    first = next(b for b in itertools.count(1) if hypotheses * (1 / (1 + b)) <= alpha)
    assert design.flips_needed(hypotheses, alpha, 500) == first


def test_flips_needed_limits():
    assert design.flips_needed(100 * 99 // 2, 0.05, 534) <= 100_000
    assert design.flips_needed(101 * 100 // 2, 0.05, 534) > 100_000
    assert design.flips_needed(351, 0.05, 13) is None  # 351 / 4096 = 0.086
    assert design.flips_needed(351, 0.05, 14) == 7019  # 351 / 8192 = 0.043
    for bad in [(0, 0.05, 9), (3, 0.0, 9), (3, 1.0, 9)]:
        with pytest.raises(ValueError, match="alpha"):
            design.flips_needed(*bad)


# --- bootstrap -----------------------------------------------------------------------------


def test_bootstrap_matches_task_loops_with_redraws():
    scores, stratum, cluster = small_design()
    got, redraws = boot.bootstrap(scores, stratum, cluster, 2, 120, SEED)
    expected, extra = loop_bootstrap(
        scores.tolist(), stratum.tolist(), cluster.tolist(), 2, 120, SEED
    )
    assert extra > 5  # the thin stratum makes redraws common here
    assert redraws == extra
    assert got.tolist() == expected


def test_bootstrap_redraws_more_than_once():
    stratum, cluster = np.array([0, 0, 0, 0, 1]), np.array([0, 1, 2, 3, 4])
    scores = np.array([[1, 20, 300, 4000, 7]])
    got, redraws = boot.bootstrap(scores, stratum, cluster, 0, 60, 5)
    expected, extra = loop_bootstrap(scores.tolist(), stratum.tolist(), cluster.tolist(), 0, 60, 5)
    single = np.array([(counter.picks(5, d, d + 1, 5) == 4).any() for d in range(60)])
    assert extra > (~single).sum()
    assert (redraws, got.tolist()) == (extra, expected)


def test_bootstrap_start_and_models_move_nothing():
    scores, stratum, cluster = small_design(models=5)
    whole, total = boot.bootstrap(scores, stratum, cluster, 2, 1500, 9)
    head, first = boot.bootstrap(scores[1:3], stratum, cluster, 2, 700, 9)
    tail, second = boot.bootstrap(scores[1:3], stratum, cluster, 2, 800, 9, start=700)
    assert np.array_equal(whole[1:3], np.hstack((head, tail)))
    assert total == first + second


def test_bootstrap_gives_up_after_attempt_255(monkeypatch):
    calls = []

    def always_cluster_0(seed, draws, attempts, count, bound):
        calls.append(attempts.tolist())
        return np.zeros((draws.size, count), dtype=np.uint32)

    monkeypatch.setattr(counter, "bounded", always_cluster_0)
    with pytest.raises(RuntimeError, match="draw 0 left a stratum empty 256 times"):
        boot.bootstrap(np.ones((1, 2), np.int64), np.array([0, 1]), np.array([0, 1]), 0, 1, 1)
    assert calls == [[attempt] for attempt in range(256)]


def test_multiplicities_do_not_wrap():
    picked = np.array([[2] * 70000, [0, 1] * 35000], dtype=np.int32)
    got = resample.multiplicities(picked, 3)
    assert got.tolist() == [[0, 0, 70000], [35000, 35000, 0]]


def test_bootstrap_refuses_sums_beyond_64_bits():
    scores = np.array([[2**61, 2**61, 0, 0]])
    with pytest.raises(ValueError, match="64 bits"):
        boot.bootstrap(scores, np.zeros(4, int), np.array([0, 0, 1, 2]), 0, 1, 1)


def test_standard_error_has_its_closed_form():
    values = np.random.default_rng(3).integers(0, 10001, (1, 40))
    draws, redraws = boot.bootstrap(values, np.zeros(40, int), np.arange(40), 2, 50_000, 77)
    exact = np.std(values / 100) / math.sqrt(40)
    # The relative error of an SD from B draws is 1 / sqrt(2 B) = 0.32 %; five of them.
    assert boot.standard_errors(draws)[0] == pytest.approx(exact, rel=0.016)
    assert redraws == 0


@pytest.mark.parametrize("count", [2, 255, 256, 257, 512, 1000])
def test_standard_errors_sum_in_leaves(count):
    draws = np.random.default_rng(count).normal(50, 3, (3, count))

    def leaves(values):
        total = 0.0
        for first in range(0, len(values), 256):
            leaf = 0.0
            for value in values[first : first + 256]:
                leaf += value
            total += leaf
        return total

    expected = []
    for row in draws.tolist():
        mean = leaves(row) / count
        squares = [(x - mean) * (x - mean) for x in row]
        expected.append(math.sqrt(leaves(squares) / (count - 1)))
    got = boot.standard_errors(draws)
    assert got.tolist() == expected
    np.testing.assert_allclose(got, draws.std(axis=1, ddof=1), rtol=1e-12)


def test_standard_errors_need_two_draws():
    with pytest.raises(ValueError, match="at least 2"):
        boot.standard_errors(np.ones((2, 1)))


def test_quantile_is_numpys_to_the_bit():
    rng = np.random.default_rng(5)
    for count in (1, 2, 3, 4, 5, 10, 41, 101, 999, 1000, 5001):
        for rows in (rng.normal(0, 1, (4, count)), rng.integers(0, 5, (4, count)) / 10):
            for p in (0.0, 0.01, 0.025, 0.05, 1 / 3, 0.5, 0.75, 0.95, 1.0 - 0.025, 0.999, 1.0):
                assert np.array_equal(boot.quantile(rows, p), np.quantile(rows, p, axis=-1))
    with pytest.raises(ValueError, match="quantile"):
        boot.quantile(np.ones((2, 0)), 0.5)
    with pytest.raises(ValueError, match="quantile"):
        boot.quantile(np.ones((2, 3)), 1.5)


@pytest.mark.parametrize("count", [1, 10, 401, 1000])
def test_intervals_match_plain_loops(count):
    rng = np.random.default_rng(count)
    draws = rng.integers(0, 30, (5, count)) / 7  # coarse: ties inside draws
    for alpha in (0.05, 0.1, 0.32):
        low = math.floor((count - 1) * (alpha / 2))
        high = math.ceil((count - 1) * (1 - alpha / 2))
        got = boot.rank_intervals(draws, alpha)
        assert got.dtype == np.int64
        for m in range(5):
            ranks = sorted(1 + sum(x > column[m] for x in column) for column in draws.T.tolist())
            assert got[m].tolist() == [ranks[low], ranks[high]]
        pairs = boot.pair_intervals(draws, alpha)
        for row, (i, j) in zip(pairs, pair_indices(5), strict=True):
            expected = np.quantile(draws[i] - draws[j], [alpha / 2, 1 - alpha / 2])
            assert row.tolist() == expected.tolist()


def test_max_t_critical():
    draws = np.random.default_rng(8).normal(50, [[1.0], [4.0], [2.0]], (3, 700))
    draws[1] = 50.0
    scores, se = np.array([50.5, 50.0, 49.0]), boot.standard_errors(draws)
    varies = np.array([True, False, True])
    largest = [max(abs(d[m] - scores[m]) / se[m] for m in (0, 2)) for d in draws.T.tolist()]
    got = boot.max_t_critical(draws, scores, se, varies, 0.05)
    assert got == np.quantile(largest, 0.95)
    with pytest.raises(ValueError, match="no model varies"):
        boot.max_t_critical(draws, scores, se, np.zeros(3, bool), 0.05)
    with pytest.raises(ValueError, match="standard error 0"):
        boot.max_t_critical(draws, scores, np.zeros(3), varies, 0.05)


def test_rank_intervals_need_a_draw():
    with pytest.raises(ValueError, match="at least one draw"):
        boot.rank_intervals(np.ones((2, 0)), 0.05)


# --- sign flips ----------------------------------------------------------------------------


def loop_exceedances(z, chance, sign_rows):
    """Counts by Python integers, which cannot overflow."""
    models = len(z)
    pairs, single = [0] * len(pair_indices(models)), [0] * models
    total, level = [sum(row) for row in z], sum(chance)
    for signs in sign_rows:
        drawn = [sum(s * v for s, v in zip(signs, row, strict=True)) for row in z]
        base = sum(s * v for s, v in zip(signs, chance, strict=True))
        for p, (i, j) in enumerate(pair_indices(models)):
            pairs[p] += abs(drawn[i] - drawn[j]) >= abs(total[i] - total[j])
        for m in range(models):
            single[m] += abs(56 * drawn[m] - base) >= abs(56 * total[m] - level)
    return pairs, single


def test_random_flips_match_a_scalar_loop():
    rng = np.random.default_rng(2)
    z, chance = rng.integers(-4, 9, (4, 40)), rng.integers(0, 300, 40)
    got = signflip.sign_flips(z, 700, SEED, chance)
    rows = [scalar_signs(SEED, d, 40) for d in range(700)]
    pairs, single = loop_exceedances(z.tolist(), chance.tolist(), rows)
    assert got[2:] == (700, False)
    assert (got[0].tolist(), got[1].tolist()) == (pairs, single)
    assert got[0].dtype == got[1].dtype == np.int64
    without = signflip.sign_flips(z, 700, SEED)
    assert without[1] is None
    assert np.array_equal(without[0], got[0])


def test_enumeration_matches_all_sign_vectors():
    rng = np.random.default_rng(4)
    z, chance = rng.integers(-3, 4, (4, 9)), rng.integers(-100, 100, 9)
    pairs, single, draws, exact = signflip.sign_flips(z, 256, SEED, chance)
    assert (draws, exact) == (256, True)
    every = list(itertools.product((1, -1), repeat=9))
    both, own = loop_exceedances(z.tolist(), chance.tolist(), every)
    assert (2 * pairs).tolist() == both  # a vector and its negative tie
    assert (2 * single).tolist() == own
    assert signflip.sign_flips(z, 255, SEED)[2:] == (255, False)


def test_enumerated_p_is_scipys():
    rng = np.random.default_rng(6)
    scores = rng.integers(0, 20, (3, 10))
    weights = design.stratum_weights([10], 20)[0]
    z = design.contributions(scores, np.zeros(10, int), np.arange(10), weights)
    counts, _, draws, exact = signflip.sign_flips(z, 10_000, 1)
    got = signflip.p_values(counts, draws, exact)
    for p, (i, j) in zip(got, pair_indices(3), strict=True):
        oracle = stats.permutation_test(
            (scores[i], scores[j]),
            lambda x, y, axis: (x - y).sum(axis=axis),
            permutation_type="samples",
            n_resamples=np.inf,
            vectorized=True,
        )
        assert p == pytest.approx(oracle.pvalue, rel=1e-12)


def test_random_p_estimates_the_enumerated_one():
    z = np.random.default_rng(7).integers(-5, 8, (3, 16))
    exact_counts, _, total, exact = signflip.sign_flips(z, 2**15, 1)
    counts, _, flips, sampled = signflip.sign_flips(z, 2**15 - 1, 1)
    assert (exact, sampled) == (True, False)
    p = exact_counts / total
    # Five binomial standard deviations around the enumerated p.
    assert (np.abs(counts / flips - p) < 5 * np.sqrt(p * (1 - p) / flips)).all()


def test_identical_models_have_p_1():
    z = np.tile(np.arange(20), (2, 1))
    for flips, clusters in ((1000, 20), (1000, 6)):
        counts, _, draws, exact = signflip.sign_flips(z[:, :clusters], flips, 1)
        assert signflip.p_values(counts, draws, exact).tolist() == [1.0]


def test_flips_at_the_weight_bound_stay_exact():
    edge = 2**61 // 56 // 40
    z = np.random.default_rng(9).choice([-edge, edge, edge - 1], (3, 40))
    chance = np.random.default_rng(10).choice([-edge * 56, edge * 56], 40)
    got = signflip.sign_flips(z, 200, 3, chance)
    rows = [scalar_signs(3, d, 40) for d in range(200)]
    pairs, single = loop_exceedances(z.tolist(), chance.tolist(), rows)
    assert (got[0].tolist(), got[1].tolist()) == (pairs, single)


def test_p_values():
    counts = np.array([0, 4, 9])
    assert signflip.p_values(counts, 9, False).tolist() == [0.1, 0.5, 1.0]
    assert signflip.p_values(np.array([1, 8]), 8, True).tolist() == [0.125, 1.0]


def test_sign_flips_refuses():
    z = np.ones((2, 3), np.int64)
    with pytest.raises(ValueError, match="at least 1"):
        signflip.sign_flips(z, 0, 1)
    with pytest.raises(ValueError, match="at least 1"):
        signflip.sign_flips(z[:, :0], 9, 1)
    with pytest.raises(ValueError, match="chance has shape"):
        signflip.sign_flips(z, 9, 1, np.ones(2, np.int64))


# --- decisions -----------------------------------------------------------------------------


def test_ranks_share_the_better_place():
    totals = np.random.default_rng(1).integers(-9, 9, 40) + 2**60  # too close for float64
    got = decisions.ranks(totals)
    assert got.dtype == np.int64
    assert got.tolist() == [1 + sum(other > t for other in totals) for t in totals]
    assert decisions.ranks(np.array([5, 9, 9, 1])).tolist() == [3, 1, 1, 4]


@pytest.mark.parametrize("count", [1, 2, 10, 351])
def test_holm_is_statsmodels(count):
    rng = np.random.default_rng(count)
    for p in (rng.random(count) ** 4, (1 + rng.integers(0, 9, count)) / 100):
        expected = multipletests(p, alpha=0.05, method="holm")[1]
        assert decisions.holm(p).tolist() == expected.tolist()


def test_holm_by_hand_and_refusal():
    assert decisions.holm(np.array([0.5, 0.01, 0.02, 0.9])).tolist() == [1.0, 0.04, 0.06, 1.0]
    assert decisions.holm(np.array([])).tolist() == []
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="outside"):
            decisions.holm(np.array([0.5, bad]))


def test_rank_groups():
    resolved = np.zeros((5, 5), bool)
    for i, j in [(3, 0), (3, 2), (1, 2), (4, 2)]:
        resolved[i, j] = resolved[j, i] = True
    # Order 3 1 4 0 2: 1 and 4 join 3; 0 is resolved from 3 and opens; 2 joins 0, although it
    # is resolved from 1 and 4, which are not in the current group.
    got = decisions.rank_groups(np.array([3, 1, 4, 0, 2]), resolved)
    assert got.dtype == np.int64
    assert got.tolist() == [2, 1, 2, 1, 1]
    assert decisions.rank_groups(np.arange(4), ~np.eye(4, dtype=bool)).tolist() == [1, 2, 3, 4]
    assert decisions.rank_groups(np.arange(4), np.zeros((4, 4), bool)).tolist() == [1] * 4


def test_cohen_dz():
    scores = np.random.default_rng(2).integers(0, 10001, (5, 60))
    scores[4] = scores[1] + 3
    got = decisions.cohen_dz(scores)
    for value, (i, j) in zip(got, pair_indices(5), strict=True):
        d = scores[i] - scores[j]
        if (i, j) == (1, 4):
            assert math.isnan(value)
            continue
        one_sample = stats.ttest_1samp(d, 0).statistic / math.sqrt(60)
        assert value == pytest.approx(d.mean() / d.std(ddof=1), rel=1e-12)
        assert value == pytest.approx(one_sample, rel=1e-12)
    assert math.isnan(decisions.cohen_dz(np.array([[3], [5]]))[0])


def test_cohen_dz_is_exact_beyond_64_bits():
    left = [10**12 + k for k in range(8)]
    got = decisions.cohen_dz(np.array([left, [0] * 8]))
    variance = Fraction(8 * sum(k * k for k in range(8)) - 28**2, 56)
    assert got[0] == float(Fraction(sum(left), 8)) / math.sqrt(variance)


def test_correlations_are_scipys():
    rng = np.random.default_rng(3)
    for count in (3, 27, 200):
        x = rng.normal(50, 5, count)
        y = 0.7 * x + rng.normal(0, 3, count)
        assert decisions.pearson(x, y) == pytest.approx(stats.pearsonr(x, y)[0], rel=1e-12)
        assert decisions.spearman(x, y) == pytest.approx(stats.spearmanr(x, y)[0], rel=1e-12)
        coarse = np.round(y)
        coarse[:2] = 40.0, 60.0
        got = decisions.spearman(x, coarse)
        assert got == pytest.approx(stats.spearmanr(x, coarse)[0], rel=1e-12)


def test_correlation_uses_exact_sums():
    x, y = [1e16, 1.0, -1e16, 3.0], [1.0, 5.0, 2.0, 8.0]
    mx, my = math.fsum(x) / 4, math.fsum(y) / 4
    assert mx == 1.0  # a running sum gives 0.75
    dx, dy = [v - mx for v in x], [v - my for v in y]
    top = math.fsum(a * b for a, b in zip(dx, dy, strict=True))
    bottom = math.sqrt(math.fsum(a * a for a in dx) * math.fsum(b * b for b in dy))
    assert decisions.pearson(x, y) == top / bottom


def test_constant_vectors_have_no_correlation():
    constant = [0.05] * 3
    assert math.fsum(constant) / 3 != 0.05  # the rounded mean alone would invent variance
    for call in (decisions.pearson, decisions.spearman):
        assert call(constant, [1.0, 2.0, 3.0]) is None
        assert call([1.0, 2.0, 3.0], constant) is None
        assert call([], []) is None
        assert call([1e-200, 2e-200, 3e-200], [1.0, 2.0, 3.0]) in (None, 1.0)
        with pytest.raises(ValueError, match="correlated"):
            call([1.0], [1.0, 2.0])

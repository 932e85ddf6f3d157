"""Oracles of fbcore that share no code with it: published vectors, closed forms, enumeration,
scalar loops, SciPy and statsmodels.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from fbcore import bootstrap, counter, effects, multiplicity, quantiles, ranks, signflip
from fbcore.design import Design, contributions, quantise, stratum_weights
from flavourbench.analysis.plain import design as plain_design

SEED = 2**40 + 12345  # both key words in use
KEY = (SEED % 2**32, SEED // 2**32)


def design_of(stratum: list[int], cluster: list[int]) -> Design:
    return Design(np.array(stratum, np.int32), np.array(cluster, np.int32))


# --- random words --------------------------------------------------------------------------


def scalar_philox(words: tuple[int, ...], key: tuple[int, int]) -> list[int]:
    """Philox4x32-10 on Python integers, as in table 2 of Salmon et al. 2011."""
    (a, b, c, d), (low, high) = words, key
    for _ in range(10):
        top, bottom = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b = (bottom >> 32) ^ b ^ low, bottom & 0xFFFFFFFF
        c, d = (top >> 32) ^ d ^ high, top & 0xFFFFFFFF
        low, high = (low + 0x9E3779B9) & 0xFFFFFFFF, (high + 0xBB67AE85) & 0xFFFFFFFF
    return [a, b, c, d]


def scalar_pick(k: int, draw: int, attempt: int, bound: int) -> tuple[int, int]:
    """Pick k by Lemire's multiply-and-reject, and the retries it took."""
    for retry in itertools.count():
        word = scalar_philox((k // 4, draw, attempt + 65536 * retry, 1), KEY)[k % 4]
        product = word * bound
        if product % 2**32 >= 2**32 % bound:
            return product // 2**32, retry
    raise AssertionError


@pytest.mark.parametrize(
    ("words", "key", "expected"),
    [
        # kat_vectors of the authors' Random123 1.14.0, lines "philox4x32 10".
        ("00000000 " * 4, "00000000 " * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff " * 4, "ffffffff " * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            "243f6a88 85a308d3 13198a2e 03707344",
            "a4093822 299f31d0",
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_known_answers(words: str, key: str, expected: str) -> None:
    block, (low, high), answer = (
        [int(word, 16) for word in text.split()] for text in (words, key, expected)
    )
    found = counter.philox(np.array([block] * 5, np.uint32), (low, high))
    assert found.tolist() == [answer] * 5
    assert scalar_philox(tuple(block), (low, high)) == answer


@pytest.mark.parametrize("clusters", [1, 2, 3, 5, 130, 534])
def test_picks_are_scalar_ones(clusters: int) -> None:
    attempts = np.array([0, 255, 1])
    found = counter.picks(SEED, 2**32 - 3, 2**32, clusters, attempts)
    for row, attempt in enumerate(attempts.tolist()):
        draw = 2**32 - 3 + row
        assert found[row].tolist() == [
            scalar_pick(k, draw, attempt, clusters)[0] for k in range(clusters)
        ]


@pytest.mark.parametrize("clusters", [1, 31, 32, 33, 128, 129, 300])
def test_signs_are_scalar_ones(clusters: int) -> None:
    found = counter.signs(SEED, 2**32 - 2, 2**32, clusters)
    for row, draw in enumerate((2**32 - 2, 2**32 - 1)):
        words = [
            word
            for block in range(-(-clusters // 128))
            for word in scalar_philox((block, draw, 0, 2), KEY)
        ]
        expected = [2 * (words[c // 32] >> (c % 32) & 1) - 1 for c in range(clusters)]
        assert found[row].tolist() == expected


@pytest.mark.parametrize("bound", [3 * 2**30 - 1, 3 * 2**30, 3 * 2**30 + 1, 2**32 - 1])
def test_rejected_picks_take_their_own_retry(bound: int) -> None:
    """A quarter of all picks is rejected at 3·2**30; at any real number of clusters next to none.

    The compiled kernels inline this very function.
    """
    k0, k1 = map(np.uint64, KEY)
    retries = []
    for k, (draw, attempt) in itertools.product(range(41), [(0, 0), (4, 2), (2**32 - 1, 255)]):
        expected, retry = scalar_pick(k, draw, attempt, bound)
        assert int(counter.one_pick(k, draw, attempt, 0, bound, k0, k1)) == expected
        retries.append(retry)
    if bound < 2**32 - 1:
        assert max(retries) >= 2
        assert 0.15 < np.mean(np.array(retries) > 0) < 0.35


def rejecting_draw(clusters: int) -> tuple[int, int]:
    """The first (draw, pick) of the seed that is rejected, and therefore retried."""
    limit = 2**32 % clusters
    blocks = np.arange(-(-clusters // 4), dtype=np.uint32)
    for draw in range(2000):
        rows = np.zeros((blocks.size, 4), np.uint32)
        rows[:, 0], rows[:, 1], rows[:, 3] = blocks, draw, counter.BOOTSTRAP
        words = counter.philox(rows, KEY).ravel()[:clusters].astype(np.uint64)
        found = np.flatnonzero(words * np.uint64(clusters) % np.uint64(2**32) < limit)
        if found.size:
            return draw, int(found[0])
    raise AssertionError("no pick is rejected: take more clusters")


def test_a_rejected_pick_inside_a_kernel() -> None:
    """With 60,000 clusters one draw in four meets a rejection: seen inside whole draws."""
    clusters = 60_001
    draw, k = rejecting_draw(clusters)
    expected, retry = scalar_pick(k, draw, 0, clusters)
    assert retry == 1
    row = counter.picks(SEED, draw, draw + 1, clusters)[0]
    assert row[k] == expected
    for other in range(k - 4, k + 5):
        assert row[other] == scalar_pick(other, draw, 0, clusters)[0]


def test_picks_are_uniform() -> None:
    """Chi-square of single picks, of neighbours, and of one pick in successive draws."""
    clusters, draws = 10, 4000
    picked = counter.picks(20260811, 0, draws, clusters).astype(int)
    across = picked[:-1] * clusters + picked[1:]
    beside = picked[:, :-1] * clusters + picked[:, 1:]
    for values, cells in ((picked, 10), (across, 100), (beside, 100)):
        counts = np.bincount(values.ravel(), minlength=cells)
        # The seed is fixed: this can fail only if the words change.
        assert 1e-3 < stats.chisquare(counts).pvalue < 1 - 1e-3
    by_pick = np.stack([np.bincount(column, minlength=10) for column in picked.T])
    assert 1e-3 < stats.chi2_contingency(by_pick).pvalue < 1 - 1e-3


def test_signs_are_uniform() -> None:
    draws = 20_000
    signs = counter.signs(20260811, 0, draws, 130)
    bits = (signs > 0).astype(int)
    # All 32 patterns of five clusters, some of them in different words and blocks.
    for clusters in ([0, 1, 2, 3, 4], [0, 31, 32, 63, 64], [29, 96, 127, 128, 129]):
        patterns = bits[:, clusters] @ (1 << np.arange(5))
        counts = np.bincount(patterns, minlength=32)
        assert 1e-3 < stats.chisquare(counts).pvalue < 1 - 1e-3
    z = signs.sum(axis=0) / math.sqrt(draws)
    assert 1e-3 < stats.kstest(z, "norm").pvalue < 1 - 1e-3
    assert np.abs(z).max() < 4.5


def test_purposes_share_no_word() -> None:
    blocks = np.arange(200, dtype=np.uint32)
    rows = np.zeros((2, 200, 4), np.uint32)
    rows[:, :, 0] = blocks
    rows[0, :, 3], rows[1, :, 3] = counter.BOOTSTRAP, counter.SIGN_FLIP
    words = counter.philox(rows.reshape(-1, 4), KEY)
    assert np.unique(words).size == words.size


@pytest.mark.parametrize("seed", [-1, 2**53, 2**64])
def test_seeds_out_of_range_are_refused(seed: int) -> None:
    design = design_of([0, 0], [0, 1])
    for call in (
        lambda: counter.picks(seed, 0, 1, 3),
        lambda: counter.signs(seed, 0, 1, 3),
        lambda: bootstrap.bootstrap(np.ones((1, 2), np.int64), design, 0, 2, seed),
        lambda: signflip.sign_flips(np.ones((2, 40), np.int64), 2, seed),
    ):
        with pytest.raises(ValueError, match=f"seed {seed} is outside 0 to {2**53 - 1}"):
            call()


def test_numpy_integers_serve_as_sizes_and_seeds() -> None:
    """Users take sizes from arrays; they are numbers like any other."""
    shape = design_of([0, 0, 0], [0, 1, 2])
    scores, z = np.arange(6).reshape(2, 3), np.arange(80).reshape(2, 40)
    n, seed = np.int64(300), np.int64(2**40)
    found = bootstrap.bootstrap(scores, shape, np.int64(2), n, seed).draws
    assert np.array_equal(found, bootstrap.bootstrap(scores, shape, 2, 300, 2**40).draws)
    for table in (z, z[:, :4].copy()):  # drawn and enumerated
        flipped = signflip.sign_flips(table, n, seed).pairs
        assert np.array_equal(flipped, signflip.sign_flips(table, 300, 2**40).pairs)
    assert np.array_equal(counter.picks(seed, n, n + 2, n), counter.picks(2**40, 300, 302, 300))
    assert np.array_equal(counter.signs(seed, n, n + 2, n), counter.signs(2**40, 300, 302, 300))


def test_the_layout_in_memory_does_not_matter() -> None:
    """Slices and Fortran order are arrays like any other: never read as something else."""
    rng = np.random.default_rng(11)
    draws, z = rng.normal(50, 3, (3, 600)), rng.integers(-50, 60, (3, 80))
    index = np.arange(3)
    for call, array in (
        (bootstrap.standard_errors, draws),
        (lambda d: bootstrap.max_t(d, d[:, 0], d[:, 1]), draws),
        (lambda d: quantiles.intervals(d, index, index[::-1], 0.1), draws),
        (lambda d: ranks.rank_intervals(d, 0.1), draws),
        (lambda d: quantiles.quantile(d[0], 0.3), draws),
        (lambda a: signflip.sign_flips(a, 200, SEED, a[0]).chance, z),
        (lambda a: signflip.sign_flips(a, 200, SEED).pairs, z),
        (lambda a: signflip.flip_sums(a, 200, SEED), z),
        (lambda a: signflip.exceedances(a, a, a[:, 0], a[:, 1]), z),
        (effects.cohen_dz, z),
        (lambda a: ranks.competition_ranks(a[0]), z),
        (lambda a: multiplicity.holm(a[0] % 2 / 2), z),
    ):
        expected = call(array[:, ::2].copy())
        assert np.array_equal(call(array[:, ::2]), expected)
        assert np.array_equal(call(np.asfortranarray(array[:, ::2])), expected)


# --- bootstrap -----------------------------------------------------------------------------


def test_standard_error_has_its_closed_form() -> None:
    """One stratum, one task a cluster: SD / √n · √((n - 1) / n)."""
    n, size = 40, 50_000
    values = np.random.default_rng(3).integers(0, 10_001, (3, n))
    shape = design_of([0] * n, list(range(n)))
    draws = bootstrap.bootstrap(values, shape, 2, size, 77, 2).draws
    exact = (values / 100).std(axis=1, ddof=1) / math.sqrt(n) * math.sqrt((n - 1) / n)
    # The relative error of an SD from B draws is 1 / √(2 B) = 0.32 %; five of them.
    np.testing.assert_allclose(
        bootstrap.standard_errors(draws), exact, rtol=5 / math.sqrt(2 * size)
    )
    means = draws.mean(axis=1) - values.mean(axis=1) / 100
    assert (np.abs(means) < 5 * exact / math.sqrt(size)).all()


@pytest.mark.parametrize(
    ("stratum", "cluster"),
    [
        ([0, 0, 0, 0, 0], [0, 1, 2, 3, 3]),
        ([0, 0, 1, 1, 1, 0], [0, 1, 1, 2, 3, 3]),
        ([0, 0, 0, 0, 1], [0, 1, 2, 3, 3]),  # the last stratum is empty in 32 % of the draws
        ([0, 1, 2, 3], [0, 1, 2, 3]),  # only permutations are complete
    ],
)
def test_draws_have_the_exact_distribution(stratum: list[int], cluster: list[int]) -> None:
    """All 256 ways to pick four clusters, those that leave a stratum empty excluded."""
    values = [3, 1, 10, 25, 70, 200][: len(stratum)]
    strata = max(stratum) + 1
    ways: dict[Fraction, int] = {}
    for picked in itertools.product(range(4), repeat=4):
        sums, sizes = [0] * strata, [0] * strata
        for value, s, c in zip(values, stratum, cluster, strict=True):
            sums[s] += value * picked.count(c)
            sizes[s] += picked.count(c)
        if all(sizes):
            score = sum(map(Fraction, sums, sizes)) / strata
            ways[score] = ways.get(score, 0) + 1
    size = 20_000
    found = bootstrap.bootstrap(np.array([values]), design_of(stratum, cluster), 0, size, 5, 2)
    complete = sum(ways.values())
    place = np.array([float(score) for score in sorted(ways)])
    index = np.abs(found.draws[0][:, None] - place).argmin(axis=1)
    np.testing.assert_allclose(found.draws[0], place[index], rtol=1e-15)
    if len(ways) > 1:
        expected = np.array([ways[score] for score in sorted(ways)]) * size / complete
        counts = np.bincount(index, minlength=len(ways))
        assert 1e-3 < stats.chisquare(counts, expected).pvalue < 1 - 1e-3
    # Attempts are geometric: their mean is (1 - p) / p a draw with SD √(1 - p) / p.
    p = complete / 256
    slack = 5 * math.sqrt(size * (1 - p)) / p
    assert abs(found.redraws - size * (1 - p) / p) <= slack


def test_point_scores_are_exact_means() -> None:
    stratum = [0, 1, 1, 2, 0, 0, 2, 2, 2]
    scores = np.random.default_rng(4).integers(-(10**9), 10**9, (5, 9))
    expected = []
    for row in scores.tolist():
        means = [
            Fraction(sum(y for y, t in zip(row, stratum, strict=True) if t == s), stratum.count(s))
            for s in range(3)
        ]
        expected.append(float(sum(means) / 3 / 10**4))
    found = bootstrap.point_scores(scores, design_of(stratum, list(range(9))), 4)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-10)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 41, 999, 5001])
def test_quantile_is_numpys_to_the_bit(size: int) -> None:
    rng = np.random.default_rng(size)
    for row in (rng.normal(0, 1, size), rng.integers(0, 5, size) / 10):
        for p in (0.0, 0.01, 0.025, 0.05, 1 / 3, 0.5, 0.75, 0.95, 1 - 0.025, 0.999, 1.0):
            assert quantiles.quantile(row, p) == np.quantile(row, p)


def test_rank_intervals_are_order_statistics_of_scipy_ranks() -> None:
    draws = np.random.default_rng(5).integers(0, 9, (6, 1001)) / 4
    ordered = np.sort(stats.rankdata(-draws, method="min", axis=0), axis=1)
    for alpha in (0.05, 0.2):
        low, high = math.floor(1000 * alpha / 2), math.ceil(1000 * (1 - alpha / 2))
        found = ranks.rank_intervals(draws, alpha)
        assert found.tolist() == ordered[:, [low, high]].astype(int).tolist()


def test_competition_ranks_are_scipys() -> None:
    totals = np.random.default_rng(6).integers(-3, 3, 40)
    assert ranks.competition_ranks(totals).tolist() == stats.rankdata(-totals, "min").tolist()


# --- sign flips ----------------------------------------------------------------------------

UNEQUAL = ([0, 0, 0, 1, 1, 2, 2, 2, 2, 0, 1], [0, 1, 2, 3, 0, 4, 5, 6, 1, 6, 2])


def cluster_sums(row: list[int], stratum: list[int], cluster: list[int]) -> list[Fraction]:
    """Σ_{t in c} Y[t] / (S n_stratum(t)) of each cluster, as rational numbers."""
    strata, found = max(stratum) + 1, [Fraction(0)] * (max(cluster) + 1)
    for value, s, c in zip(row, stratum, cluster, strict=True):
        found[c] += Fraction(value, strata * stratum.count(s))
    return found


def every_p(z: list[Fraction]) -> Fraction:
    """Share of all sign vectors, none fixed, with |T*| >= |T|."""
    observed = abs(sum(z))
    vectors = list(itertools.product((1, -1), repeat=len(z)))
    hits = sum(
        abs(sum(sign * value for sign, value in zip(signs, z, strict=True))) >= observed
        for signs in vectors
    )
    return Fraction(hits, len(vectors))


@pytest.mark.parametrize("high", [2, 5, 10_001])
def test_enumerated_p_are_those_of_all_sign_vectors(high: int) -> None:
    """Pairs and chance tests from raw scores in rational arithmetic; ties are common at high 2."""
    stratum, cluster = UNEQUAL
    rng = np.random.default_rng(high)
    scores = rng.integers(0, high, (4, 11))
    scores[3] = scores[0]
    chance = rng.integers(0, 56 * high, 11)
    shape = design_of(stratum, cluster)
    weights = stratum_weights(shape.sizes, high)
    found = signflip.sign_flips(
        contributions(scores, shape, weights),
        64,
        SEED,
        contributions(chance[np.newaxis], shape, weights)[0],
    )
    assert (found.draws, found.exact) == (64, True)
    p = signflip.p_values(found.pairs, found.draws, found.exact)
    for value, (i, j) in zip(p.tolist(), itertools.combinations(range(4), 2), strict=True):
        difference = (scores[i] - scores[j]).tolist()
        assert value == float(every_p(cluster_sums(difference, stratum, cluster)))
    assert p[2] == 1.0
    against = signflip.p_values(found.chance, found.draws, found.exact)
    for value, row in zip(against.tolist(), scores, strict=True):
        difference = (56 * row - chance).tolist()
        assert value == float(every_p(cluster_sums(difference, stratum, cluster)))


@pytest.mark.parametrize("clusters", [2, 5, 11])
def test_enumerated_p_are_scipys(clusters: int) -> None:
    z = np.random.default_rng(clusters).integers(-50, 60, (3, clusters))
    found = signflip.sign_flips(z, 2**clusters, SEED)
    p = signflip.p_values(found.pairs, found.draws, found.exact)
    for value, (i, j) in zip(p, itertools.combinations(range(3), 2), strict=True):
        expected = stats.permutation_test(
            (z[i] - z[j],),
            lambda d, axis: np.abs(d.sum(axis=axis)),
            vectorized=True,
            permutation_type="samples",
            alternative="greater",
            n_resamples=np.inf,
        )
        assert value == expected.pvalue


def test_drawn_p_estimate_the_enumerated_ones() -> None:
    """B signs against all 2**11: counts are binomial."""
    z = np.random.default_rng(7).integers(-50, 60, (6, 12))
    size = 2000
    drawn = signflip.sign_flips(z, size, SEED)
    every = signflip.sign_flips(z, 2**11, SEED)
    assert (drawn.exact, every.exact) == (False, True)
    exact = every.pairs / every.draws
    expected = signflip.p_values(drawn.pairs, drawn.draws, drawn.exact)
    assert expected.tolist() == [(1 + x) / (1 + size) for x in drawn.pairs.tolist()]
    slack = 5 * np.sqrt(exact * (1 - exact) / size) + 1 / size
    assert (np.abs(drawn.pairs / size - exact) <= slack).all()


def test_flips_agree_with_a_product_of_the_signs() -> None:
    """All models at once through one integer matrix product, chance row included."""
    z = np.random.default_rng(8).integers(-(10**6), 10**6, (7, 90))
    chance = 56 * z.mean(axis=0).astype(np.int64)
    found = signflip.sign_flips(z, 3000, SEED, chance, 2)
    signs = counter.signs(SEED, 0, 3000, 90).astype(np.int64)
    totals, row = z @ signs.T, signs @ chance
    for count, (i, j) in zip(found.pairs, itertools.combinations(range(7), 2), strict=True):
        observed = abs(int(z[i].sum() - z[j].sum()))
        assert count == (np.abs(totals[i] - totals[j]) >= observed).sum()
    for m in range(7):
        observed = abs(56 * int(z[m].sum()) - int(chance.sum()))
        assert found.chance[m] == (np.abs(56 * totals[m] - row) >= observed).sum()


# --- decisions -----------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 10, 351])
def test_holm_is_statsmodels(count: int) -> None:
    rng = np.random.default_rng(count)
    for p in (rng.random(count) ** 4, (1 + rng.integers(0, 9, count)) / 100):
        reject, expected, _, _ = multipletests(p, alpha=0.05, method="holm")
        found = multiplicity.holm(p)
        assert found.tolist() == expected.tolist()
        assert ((found <= 0.05) == reject).all()


@pytest.mark.parametrize("function", [multiplicity.flips_needed, plain_design.flips_needed])
def test_flips_needed_is_the_first_number_that_holm_resolves(function) -> None:
    """The oracle is Holm's decision on the smallest p of B flips, rounding included.

    Three pairs at 0.3 are such a case: 3 / 10 is 0.3, but 3 · (1 / 10) is a little above.
    """
    for models, alpha in itertools.product((2, 3, 4, 10, 27, 101, 289), (0.3, 0.1, 0.05, 0.01)):
        pairs = models * (models - 1) // 2
        found = function(pairs, alpha, 900)
        for flips, resolves in ((found - 1, False), (found, True)):
            adjusted = pairs * (1 / (1 + flips))
            if models in (3, 10):  # this is what Holm makes of it
                p = np.array([1 / (1 + flips)] + [1.0] * (pairs - 1))
                assert multipletests(p, method="holm")[1][0] == min(adjusted, 1)
            assert (adjusted <= alpha) == resolves, (models, alpha, found)


def test_the_floor_in_numbers() -> None:
    """100,000 flips stop sufficing at 101 models; with 13 clusters no number suffices for 27."""
    for module in (multiplicity, plain_design):
        assert module.flips_needed(100 * 99 // 2, 0.05, 534) <= 100_000
        assert module.flips_needed(101 * 100 // 2, 0.05, 534) > 100_000
        assert module.flips_needed(351, 0.05, 13) is None
        assert module.flips_needed(351, 0.05, 14) is not None
        assert module.smallest_p(100_000, 534, False) == 1 / 100_001
        assert module.smallest_p(100_000, 5, True) == 1 / 16


def test_cohen_dz_is_a_one_sample_t() -> None:
    scores = np.random.default_rng(9).integers(0, 10_001, (4, 60))
    scores[3] = scores[1] + 3
    found = effects.cohen_dz(scores)
    for value, (i, j) in zip(found, itertools.combinations(range(4), 2), strict=True):
        d = scores[i] - scores[j]
        if (i, j) == (1, 3):
            assert math.isnan(value)
            continue
        assert value == pytest.approx(d.mean() / d.std(ddof=1), rel=1e-12)
        t = stats.ttest_1samp(d, 0).statistic
        assert value == pytest.approx(t / math.sqrt(60), rel=1e-12)
    assert np.isnan(effects.cohen_dz(scores[:, :1])).all()


def test_correlations_are_scipys() -> None:
    rng = np.random.default_rng(10)
    for count in (3, 27, 200):
        x = rng.normal(50, 5, count)
        fine = 0.7 * x + rng.normal(0, 3, count)
        coarse = np.round(fine)
        coarse[:2] = 40.0, 60.0
        for y in (fine, coarse):
            pairs = x.tolist(), y.tolist()
            assert effects.pearson(*pairs) == pytest.approx(stats.pearsonr(x, y)[0], rel=1e-12)
            assert effects.spearman(*pairs) == pytest.approx(stats.spearmanr(x, y)[0], rel=1e-12)


def test_correlations_of_constant_columns_are_none() -> None:
    constant = [0.05] * 3
    assert math.fsum(constant) / 3 != 0.05  # the rounded mean alone would invent variance
    for call in (effects.pearson, effects.spearman):
        assert call(constant, [1.0, 2.0, 3.0]) is None
        assert call([1.0, 2.0, 3.0], constant) is None
        assert call([1e-200, 2e-200, 3e-200], [1.0, 2.0, 3.0]) in (None, pytest.approx(1.0))


# --- quantisation --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "grid", "exponent"),
    [
        ([0.0, 3.0, -7.0], [0, 3, -7], 0),
        ([0.1, 0.2, 0.3], [1, 2, 3], 1),
        ([58.32, 0.07, 100.0], [5832, 7, 10000], 2),
        ([0.000001, 1.0], [1, 1000000], 6),
        ([1e15], [10**15], 0),
    ],
)
def test_quantise_finds_the_smallest_grid(
    values: list[float], grid: list[int], exponent: int
) -> None:
    found = quantise(np.array(values))
    assert (found.values.tolist(), found.exponent, found.largest_error) == (grid, exponent, 0.0)


def test_quantise_off_the_grid_rounds_half_even_and_reports() -> None:
    found = quantise(np.array([2.5e-6, 3.5e-6, 1 / 3]))
    assert (found.values.tolist(), found.exponent) == ([2, 4, 333333], 6)
    assert found.largest_error == max(abs(2e-6 - 2.5e-6), abs(4e-6 - 3.5e-6), abs(0.333333 - 1 / 3))


@pytest.mark.parametrize("values", [[math.nan], [0.0, -math.inf], [1e19], [1e14, 1 / 3]])
def test_quantise_refuses(values: list[float]) -> None:
    with pytest.raises(ValueError, match="scores"):
        quantise(np.array(values))


@pytest.mark.parametrize("sizes", [[2, 3, 4], [89] * 6, [1], [101, 103, 107, 109, 113, 127, 131]])
@pytest.mark.parametrize("largest", [1, 10**4, 10**9])
def test_weights_are_the_best_that_fit(sizes: list[int], largest: int) -> None:
    """L / (S n) where that fits, else the nearest integers for the largest power that fits."""
    found = stratum_weights(np.array(sizes), largest)

    def total(weights: list[int]) -> int:
        return 56 * largest * sum(n * w for n, w in zip(sizes, weights, strict=True))

    exact = [Fraction(found.scale, len(sizes) * n) for n in sizes]
    common = math.lcm(*sizes)
    assert total(found.values.tolist()) <= 2**61
    if total([common // n for n in sizes]) <= 2**61:
        assert (found.values.tolist(), found.power) == (exact, None)
        assert found.scale == len(sizes) * common
        return
    assert found.scale == 2**found.power
    assert all(
        abs(w - e) <= Fraction(1, 2) for w, e in zip(found.values.tolist(), exact, strict=True)
    )
    assert found.power == 40 or total([math.ceil(2 * e - Fraction(1, 2)) for e in exact]) > 2**61

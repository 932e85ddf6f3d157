"""Step-down tests, rank sets, bands of differences and equivalence, from their definitions.

Nothing here is shared with the code under test. Statistics are compared as signed squares over
a common denominator, so in integers: no root, no float, no tolerance. Definitions: Romano & Wolf
2005, Econometrica 73:1237; Mogstad, Romano, Shaikh & Wilhelm 2024, Rev. Econ. Stud. 91:476.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given
from numpy.typing import NDArray
from strategies import Table, few, plans, tables

from fbcore import counter, multiplicity, signflip
from fbcore.ranks import rank_sets
from fbcore.stepdown import StepDown, step_down
from flavourbench.analysis.equivalence import equivalence, is_close, least_margin
from flavourbench.analysis.inference import Inference, infer
from flavourbench.analysis.plan import Plan

Ints = NDArray[np.int64]
Rows = list[list[int]]


# --- the definitions -----------------------------------------------------------------------


class Family(NamedTuple):
    """Statistics of hypotheses that vary: ``observed[h]``, and ``drawn[b][h]`` under signs b.

    A statistic is ``sign(d) d² / Σ_c d_c²`` times the least common multiple of all the
    denominators, so an integer that orders hypotheses as ``d / √Σ_c d_c²`` does.
    """

    observed: dict[int, int]
    drawn: list[dict[int, int]]

    @classmethod
    def of(cls, rows: Rows, vectors: Iterable[Sequence[int]], two_sided: bool) -> Family:
        """Hypotheses about the sums of ``rows`` [H, C] under sign vectors."""
        squares = {h: sum(d * d for d in row) for h, row in enumerate(rows) if any(row)}
        common = math.lcm(*squares.values())

        def statistics(signs: Sequence[int]) -> dict[int, int]:
            sums = {h: sum(map(int.__mul__, signs, rows[h])) for h in squares}
            if two_sided:
                sums = {h: abs(d) for h, d in sums.items()}
            return {h: d * abs(d) * (common // squares[h]) for h, d in sums.items()}

        width = len(rows[0]) if rows else 0
        return cls(statistics((1,) * width), [statistics(signs) for signs in vectors])

    def reached(self, level: int, among: Iterable[int]) -> int:
        """Sign vectors under which some statistic ``among`` them reaches a level."""
        among = list(among)
        return sum(max(drawn[h] for h in among) >= level for drawn in self.drawn)

    def adjusted(self, draws: int, identity: int) -> dict[int, Fraction]:
        """Step-down p: at each level, all statistics up to it are still in the family."""
        out, highest = {}, Fraction(0)
        for level in sorted(set(self.observed.values()), reverse=True):
            left = [h for h, t in self.observed.items() if t <= level]
            p = Fraction(identity + self.reached(level, left), identity + draws)
            highest = max(highest, p)
            out |= {h: highest for h, t in self.observed.items() if t == level}
        return out

    def rejected(self, allowed: int) -> set[int]:
        """The procedure itself: reject beyond the critical value, draw it anew, until none falls.

        ``allowed`` sign vectors may reach a statistic that is rejected: the critical value is
        the next largest maximum.
        """
        left, out = set(self.observed), set[int]()
        while left and allowed >= 0:
            maxima = sorted((max(drawn[h] for h in left) for drawn in self.drawn), reverse=True)
            fallen = {h for h in left if self.observed[h] > maxima[allowed]}
            if not fallen:
                break
            out, left = out | fallen, left - fallen
        return out


def both_ways(models: int) -> list[tuple[int, int]]:
    """All M (M - 1) ordered pairs: "the first is better than the second"."""
    return list(itertools.permutations(range(models), 2))


def less(a: Sequence[int], b: Sequence[int]) -> list[int]:
    return [x - y for x, y in zip(a, b, strict=True)]


def claims(z: Rows) -> list[int]:
    """For each pair i < j, the ordered pair that was observed (or i, j)."""
    ordered = both_ways(len(z))
    pairs = itertools.combinations(range(len(z)), 2)
    return [ordered.index((i, j) if sum(z[i]) >= sum(z[j]) else (j, i)) for i, j in pairs]


class Families(NamedTuple):
    """All three families of an analysis."""

    pairs: Family
    directions: Family
    chance: Family
    claims: list[int]
    models: int

    @classmethod
    def of(cls, z: Rows, chance: list[int], vectors: Sequence[Sequence[int]]) -> Families:
        pairs = [less(a, b) for a, b in itertools.combinations(z, 2)]
        ways = [less(z[i], z[j]) for i, j in both_ways(len(z))]
        above = [[56 * x - k for x, k in zip(row, chance, strict=True)] for row in z]
        return cls(
            Family.of(pairs, vectors, two_sided=True),
            Family.of(ways, vectors, two_sided=False),
            Family.of(above, vectors, two_sided=True),
            claims(z),
            len(z),
        )

    def p(self, draws: int, identity: int) -> tuple[list[Fraction], ...]:
        """What :class:`StepDown` holds; 1 for what never varies."""
        pairs, ways, chance = (family.adjusted(draws, identity) for family in self[:3])
        return (
            [pairs.get(h, Fraction(1)) for h in range(len(self.claims))],
            [ways.get(h, Fraction(1)) for h in self.claims],
            [chance.get(m, Fraction(1)) for m in range(self.models)],
        )


def lists(z: Ints) -> Rows:
    return [[int(x) for x in row] for row in z]


def every_sign(clusters: int) -> list[list[int]]:
    return [list(signs) for signs in itertools.product((1, -1), repeat=clusters)]


def drawn_signs(clusters: int, flips: int, seed: int) -> list[list[int]]:
    return counter.signs(seed, 0, flips, clusters).astype(int).tolist()


def floats(p: Sequence[Sequence[Fraction]]) -> list[list[float]]:
    return [[float(x) for x in column] for column in p]


def found_p(found: StepDown) -> list[list[float]]:
    assert found.chance_p is not None
    return [found.p.tolist(), found.directed_p.tolist(), found.chance_p.tolist()]


# --- data ----------------------------------------------------------------------------------


@st.composite
def contributions(draw: st.DrawFn, most_clusters: int = 7) -> tuple[Ints, Ints]:
    """``(z [M, C], chance [C])``: ties of every kind, zero differences, copies, near ties, large.

    Rows that are multiples of one row give equal statistics that are unequal as floats.
    """
    models, clusters = draw(st.integers(2, 5)), draw(st.integers(1, most_clusters))
    source = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["0/1", "0/100", "few", "many", "multiples", "near", "large"]))
    shape = models, clusters
    if kind == "multiples":
        base = source.integers(-2, 3, (2, clusters))
        z = source.integers(-11, 12, (models, 1)) * base[source.integers(0, 2, models)]
    elif kind == "near":
        z = 10_000 * source.integers(-1, 2, shape) + source.integers(-1, 2, shape)
    else:
        low, high, unit = {
            "0/1": (0, 1, 1),
            "0/100": (0, 1, 100),
            "few": (-2, 2, 1),
            "many": (-1000, 1000, 1),
            "large": (-3, 3, 10**14),
        }[kind]
        z = unit * source.integers(low, high, shape, endpoint=True)
    for m in range(1, models):
        if draw(st.integers(0, 5)) == 0:
            z[m] = z[draw(st.integers(0, m - 1))]
    if draw(st.booleans()):
        z[source.integers(models)] = source.permutation(z[source.integers(models)])
    level = 56 * z[source.integers(models)] if draw(st.booleans()) else 56 * z.min() + 28 * z[0]
    # Statistics that differ by less than 2**-40 tie, so noise has to be of the scale of scores.
    chance = np.array(level + max(1, int(z.max()) // 1000) * source.integers(-1, 2, clusters))
    return np.ascontiguousarray(z, np.int64), chance


# --- every p -------------------------------------------------------------------------------


@few(60)
@given(contributions())
def test_p_of_all_sign_vectors_is_the_definition(case: tuple[Ints, Ints]) -> None:
    z, chance = case
    clusters = z.shape[1]
    families = Families.of(lists(z), chance.tolist(), every_sign(clusters))
    expected = families.p(2**clusters, identity=0)
    assert found_p(step_down(z, 2 ** (clusters - 1), 1, chance)) == floats(expected)


@few(30)
@given(contributions(most_clusters=40), st.integers(1, 120), st.integers(0, 2**53 - 1))
def test_p_of_drawn_signs_is_the_definition(case: tuple[Ints, Ints], flips: int, seed: int) -> None:
    z, chance = np.repeat(case[0], 8, axis=1)[:, :40], np.repeat(case[1], 8)[:40]
    families = Families.of(lists(z), chance.tolist(), drawn_signs(z.shape[1], flips, seed))
    if not signflip.enumerates(z.shape[1], flips):
        assert found_p(step_down(z, flips, seed, chance)) == floats(families.p(flips, identity=1))


@few(12)
@given(tables(), plans())
def test_an_analysis_has_the_p_of_its_scores(table: Table, plan: Plan) -> None:
    """Contributions ``Σ Y / (S n)``, and 56 times the chance level, as the definition has them."""
    inference = infer(table.matrix(), plan)
    rows = [table.values[table.models.index(model)] for model in inference.matrix.models]
    sizes = np.bincount(table.stratum)
    weight = [math.lcm(*sizes.tolist()) // int(sizes[s]) for s in table.stratum]

    def sums(scores: Ints) -> list[int]:
        out = [0] * (int(table.cluster.max()) + 1)
        for y, w, c in zip(scores.tolist(), weight, table.cluster.tolist(), strict=True):
            out[c] += y * w
        return out

    z = [sums(row) for row in rows]
    # Drawn signs belong to clusters in the order of their ids.
    order = sorted(range(len(table.anchors)), key=table.anchors.__getitem__)
    z = [[row[c] for c in order] for row in z]
    clusters, exact = len(order), inference.flips_exact
    vectors = every_sign(clusters) if exact else drawn_signs(clusters, plan.flips, plan.seed)
    level = [0] * clusters if table.chance is None else [sums(table.chance)[c] for c in order]
    expected = floats(Families.of(z, level, vectors).p(len(vectors), 0 if exact else 1))
    pairs, chance = inference.pairs, inference.chance
    assert [pairs.stepdown_p.tolist(), pairs.directed_p.tolist()] == expected[:2]
    assert (chance is None) == (table.chance is None)
    if chance is not None:
        assert chance.stepdown_p.tolist() == expected[2]


# --- the procedure -------------------------------------------------------------------------


@few(40)
@given(contributions(), st.sampled_from([99, 39, 5]), st.integers(0, 2**53 - 1), st.booleans())
def test_p_rejects_what_the_procedure_rejects(
    case: tuple[Ints, Ints], flips: int, seed: int, exact: bool
) -> None:
    z, chance = case
    if exact:
        vectors = every_sign(z.shape[1])
        flips = len(vectors) // 2
    else:
        z, chance = np.tile(z, 12), np.tile(chance, 12)  # too many clusters to enumerate
        vectors = drawn_signs(z.shape[1], flips, seed)
    assert signflip.enumerates(z.shape[1], flips) == exact
    families = Families.of(lists(z), chance.tolist(), vectors)
    found = found_p(step_down(z, flips, seed, chance))
    for level in ("0.01", "0.05", "0.2", "0.45"):
        alpha, identity = Fraction(level), 0 if exact else 1
        allowed = math.floor(alpha * (identity + len(vectors))) - identity
        pairs, ways, above = (family.rejected(allowed) for family in families[:3])
        for hypotheses, rejected, p in (
            (range(len(families.claims)), pairs, found[0]),
            (families.claims, ways, found[1]),
            (range(families.models), above, found[2]),
        ):
            assert [h in rejected for h in hypotheses] == [x <= float(alpha) for x in p]


# --- laws ----------------------------------------------------------------------------------


def pair_values(values: NDArray[np.float64], models: int) -> dict[tuple[int, int], float]:
    """By ordered pair, both ways."""
    out = {}
    for (i, j), x in zip(itertools.combinations(range(models), 2), values.tolist(), strict=True):
        out[i, j] = out[j, i] = x
    return out


@st.composite
def flipped(draw: st.DrawFn) -> tuple[Ints, Ints, int, int]:
    """``(z, chance, flips, seed)``, with enumerated or with drawn signs."""
    z, chance = draw(contributions())
    if draw(st.booleans()):
        return z, chance, 64, draw(st.integers(0, 9))
    return np.tile(z, 12)[:, :40], np.tile(chance, 12)[:40], 25, draw(st.integers(0, 2**53 - 1))


@few(60)
@given(flipped())
def test_steps_lie_between_one_pair_alone_and_a_single_step(
    case: tuple[Ints, Ints, int, int],
) -> None:
    z, chance, flips, seed = case
    found = step_down(z, flips, seed, chance)
    raw = signflip.sign_flips(z, flips, seed, chance)
    alone = signflip.p_values(raw.pairs, raw.draws, raw.exact)
    assert raw.chance is not None
    assert found.chance_p is not None
    assert (found.p >= alone).all()
    assert (found.chance_p >= signflip.p_values(raw.chance, raw.draws, raw.exact)).all()
    assert (found.directed_p >= found.p).all()
    vectors = every_sign(z.shape[1]) if raw.exact else drawn_signs(z.shape[1], flips, seed)
    family = Families.of(lists(z), chance.tolist(), vectors).pairs
    identity = 0 if raw.exact else 1
    by_statistic = sorted(family.observed, key=family.observed.__getitem__, reverse=True)
    for h in by_statistic:
        single = identity + family.reached(family.observed[h], family.observed)
        assert found.p[h] <= float(Fraction(single, identity + len(vectors)))
    for p in (found.p, found.directed_p):
        assert (np.diff(p[by_statistic]) >= 0).all()
    # Nothing has left the family at the first step, so a direction costs nothing there.
    if by_statistic:
        assert found.directed_p[by_statistic[0]] == found.p[by_statistic[0]]


@few(60)
@given(flipped(), st.data())
def test_what_may_not_matter_to_the_steps(
    case: tuple[Ints, Ints, int, int], data: st.DataObject
) -> None:
    z, chance, flips, seed = case
    models, clusters = z.shape
    first = found_p(step_down(z, flips, seed, chance))
    factor = data.draw(st.sampled_from([-7, -1, 3, 10]))
    assert found_p(step_down(factor * z, flips, seed, factor * chance)) == first
    shared = np.arange(clusters, dtype=np.int64) ** 2 * int(np.abs(z).max())
    assert found_p(step_down(z + shared, flips, seed, chance + 56 * shared)) == first
    if signflip.enumerates(clusters, flips):
        order = data.draw(st.permutations(range(clusters)))
        moved = step_down(np.ascontiguousarray(z[:, order]), flips, seed, chance[order])
        assert found_p(moved) == first
    order = data.draw(st.permutations(range(models)))
    moved = step_down(np.ascontiguousarray(z[order]), flips, seed, chance)
    assert moved.chance_p is not None
    assert moved.chance_p.tolist() == [first[2][m] for m in order]
    for values, before in ((moved.p, first[0]), (moved.directed_p, first[1])):
        old = pair_values(np.array(before), models)
        new = pair_values(values, models)
        assert new == {(i, j): old[order[i], order[j]] for i, j in new}


@few(40)
@given(flipped(), st.data())
def test_more_models_never_lower_a_p_and_copies_move_none(
    case: tuple[Ints, Ints, int, int], data: st.DataObject
) -> None:
    z, chance, flips, seed = case
    models = z.shape[0]
    every = step_down(z, flips, seed, chance)
    kept = sorted(data.draw(st.sets(st.integers(0, models - 1), min_size=1)))
    few_models = step_down(np.ascontiguousarray(z[kept]), flips, seed, chance)
    copied = step_down(np.vstack([z, z[:1]]), flips, seed, chance)
    for name in ("p", "directed_p"):
        whole = pair_values(getattr(every, name), models)
        part = pair_values(getattr(few_models, name), len(kept))
        assert all(x <= whole[kept[i], kept[j]] for (i, j), x in part.items())
        more = pair_values(getattr(copied, name), models + 1)
        assert more[0, models] == 1
        assert all(more[pair] == x for pair, x in whole.items())
        assert all(more[m, models] == whole[m, 0] for m in range(1, models))


# --- rank sets -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "truth",
    [[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 9, 99], [0, 0, 1, 1, 2, 2], [3, 3, 3, 0, 0, 0]],
    ids=["all tied", "two apart", "close", "two levels"],
)
def test_rank_sets_hold_all_together(truth: list[int]) -> None:
    """Joint coverage of the true ranks, ties included, in studies drawn from a known truth.

    Noise is symmetric and shared in part, so the tests are exact. Unadjusted p would fail, and
    so would adjusted p without the opposite directions (error near 0.1 when all are tied).
    """
    models, clusters, studies, alpha = len(truth), 24, 500, 0.05
    source = np.random.default_rng(20260811)
    wrong = unadjusted = 0
    left, right = np.triu_indices(models, 1)
    for study in range(studies):
        noise = source.standard_t(3, (models, clusters)) + source.standard_normal(clusters)
        noise *= np.array([1, 1, 1, 4, 2, 1])[:, None]
        z = np.rint(1000 * (noise + np.array(truth)[:, None])).astype(np.int64)
        score = z.sum(axis=1)

        def misses(p: NDArray[np.float64], score: Ints = score) -> bool:
            ahead = score[left] >= score[right]
            better, worse = np.where(ahead, left, right), np.where(ahead, right, left)
            sets = rank_sets(better[p <= alpha], worse[p <= alpha], models)
            best = [1 + sum(t > own for t in truth) for own in truth]
            worst = [models - sum(t < own for t in truth) for own in truth]
            return bool((sets[:, 0] > best).any() or (sets[:, 1] < worst).any())

        wrong += misses(step_down(z, 199, study).directed_p)
        raw = signflip.sign_flips(z, 199, study)
        unadjusted += misses(signflip.p_values(raw.pairs, raw.draws, raw.exact))
    most = alpha * studies + 3 * math.sqrt(studies * alpha * (1 - alpha))
    assert wrong <= most < unadjusted


@few(30)
@given(tables(), plans())
def test_rank_sets_count_the_directions_an_analysis_resolved(table: Table, plan: Plan) -> None:
    inference = infer(table.matrix(), plan)
    pairs, models = inference.pairs, len(table.models)
    low, high = [1] * models, [models] * models
    for i, j, p in zip(pairs.left, pairs.right, pairs.directed_p, strict=True):
        if p <= plan.alpha:
            better, worse = (i, j) if inference.score[i] > inference.score[j] else (j, i)
            assert inference.score[better] > inference.score[worse]
            low[worse] += 1
            high[better] -= 1
    assert inference.rank_set.tolist() == [list(ends) for ends in zip(low, high, strict=True)]
    ranks = inference.rank
    assert (inference.rank_set[:, 0] <= ranks).all()
    assert (ranks <= inference.rank_set[:, 1]).all()


# --- bands of differences ------------------------------------------------------------------


def differences(inference: Inference) -> NDArray[np.float64]:
    return inference.draws[inference.pairs.left] - inference.draws[inference.pairs.right]


@few(40)
@given(tables(), plans())
def test_bands_of_differences_are_max_t(table: Table, plan: Plan) -> None:
    """The plain formula; what only rounds does not move."""
    table = table.with_row("\U0010ffff", table.values[0] + table.stratum * 10)
    inference = infer(table.matrix(), plan)
    pairs, d = inference.pairs, differences(inference)
    point = inference.score[pairs.left] - inference.score[pairs.right]
    se = d.std(axis=1, ddof=1)
    # One step of the grid on one task moves a difference by more than this.
    se[se < 1e-9 * max(1.0, float(np.abs(inference.score).max()))] = 0
    t = np.abs(d - point[:, None])[se > 0] / se[se > 0, None]
    crit = np.quantile(t.max(axis=0), 1 - plan.alpha) if len(t) else 0.0
    np.testing.assert_allclose(pairs.critical, crit, rtol=1e-9)
    np.testing.assert_allclose(pairs.se, se, rtol=1e-9)
    ends = np.stack([point - crit * se, point + crit * se], axis=1)
    scale = float(np.abs(ends).max())
    np.testing.assert_allclose(pairs.simultaneous, ends, rtol=1e-9, atol=1e-12 * scale)
    constant = pairs.se == 0
    assert (pairs.simultaneous[constant, 0] == pairs.simultaneous[constant, 1]).all()
    assert constant.any()  # the added row moves with the first in every stratum


def test_a_constant_difference_has_no_width_and_no_say() -> None:
    """However it comes about, and however large the scores: no width, and no part in the band."""
    source = np.random.default_rng(7)
    stratum, cluster = np.repeat([0, 1, 2], 12), np.tile(np.arange(12), 3)
    base = source.integers(0, 10_000, 36)
    # Moves within strata that cancel between them, in every draw alike.
    across = np.concatenate([np.arange(12), -np.arange(12), np.zeros(12, np.int64)])
    other = source.integers(0, 10_000, 36)
    for unit in (1, 10**6):
        rows = [base, base + 777, base + 10 * stratum, base + across, other]
        table = Table(
            np.array(rows) * unit,
            stratum,
            cluster,
            None,
            exponent=0,
            models=tuple("abcde"),
            tasks=tuple(f"t{t:02}" for t in range(36)),
            anchors=tuple(f"a{c:02}" for c in range(12)),
        )
        plan = Plan(draws=999, flips=50, seed=5)
        inference = infer(table.matrix(), plan)
        pairs = inference.pairs
        still = pairs.right < 4
        width = pairs.simultaneous[:, 1] - pairs.simultaneous[:, 0]
        assert (width[still] == 0).all()
        assert (pairs.simultaneous[still, 0] == pairs.difference[still]).all()
        assert (width[~still] > 0).all()
        alone = infer(table.matrix(models=[0, 4]), plan)
        assert pairs.critical == pytest.approx(alone.pairs.critical, rel=1e-9)


@few(25)
@given(tables(), plans(), st.integers(-5, 5).filter(bool), st.integers(-1000, 1000))
def test_bands_move_with_the_unit(table: Table, plan: Plan, factor: int, shift: int) -> None:
    """Scores times an integer, negative ones too, plus a constant of all models."""
    first = infer(table.matrix(), plan).pairs
    moved = replace(table, values=factor * table.values + shift * 10**table.exponent, chance=None)
    second = infer(moved.matrix(), plan).pairs
    ends = np.sort(factor * first.simultaneous, axis=1)
    slack = 1e-9 * max(1.0, float(np.abs(ends).max()), float(np.abs(table.values).max()))
    np.testing.assert_allclose(second.simultaneous, ends, rtol=1e-9, atol=slack)
    np.testing.assert_allclose(second.critical, first.critical, rtol=1e-6)
    for name in ("p", "holm_p", "stepdown_p", "directed_p", "resolved"):
        assert getattr(second, name).tolist() == getattr(first, name).tolist(), name


# --- Holm ----------------------------------------------------------------------------------


def test_the_steps_see_that_statistics_move_together() -> None:
    """Six differences that are multiples of one cost the steps nothing; Holm counts all six."""
    rows = np.ones((4, 10), np.int64) * np.array([[0], [1], [2], [4]])
    found = step_down(rows, 2**9, 1)
    raw = signflip.sign_flips(rows, 2**9, 1)
    holm = multiplicity.holm(signflip.p_values(raw.pairs, raw.draws, raw.exact))
    assert (found.p == 2 / 2**10).all()
    assert (holm == 6 * 2 / 2**10).all()


# --- equivalence ---------------------------------------------------------------------------

ends = st.floats(-100, 100, allow_subnormal=False)
bands = st.tuples(ends, ends).map(sorted)


@few(200)
@given(bands, bands, st.floats(2**-20, 200))
def test_the_least_margin_is_where_a_pair_becomes_close(
    band: list[float], other: list[float], margin: float
) -> None:
    assume(band[0] < band[1] and other[0] < other[1])
    least = least_margin(band)
    assert least is not None
    # Both one-sided tests: every difference beyond the margin, either way, is excluded.
    assert is_close(band, margin) == (-margin <= band[0] and band[1] <= margin)
    assert is_close(band, least)
    assert least == 0 or not is_close(band, math.nextafter(least, 0))
    assert least_margin([-band[1], -band[0]]) == least
    assert least >= abs(band[0] + band[1]) / 2
    hull = [min(band[0], other[0]), max(band[1], other[1])]
    assert least_margin(hull) == max(least, least_margin(other) or 0.0)
    # What did not vary shows nothing.
    assert least_margin(band[:1] * 2) is None
    assert not is_close(band[:1] * 2, margin)


@few(25)
@given(tables(), plans(), st.floats(0, 1))
def test_close_pairs_pass_both_one_sided_tests(table: Table, plan: Plan, share: float) -> None:
    from flavourbench.analysis.result import pair_rows

    inference = infer(table.matrix(), plan)
    pairs = inference.pairs
    reach = np.abs(pairs.difference) + pairs.critical * pairs.se
    margin = float(share * reach.max() * 1.01) or 1.0
    found = equivalence(pair_rows(inference), margin)
    with np.errstate(divide="ignore", invalid="ignore"):
        below = (pairs.difference + margin) / pairs.se
        above = (margin - pairs.difference) / pairs.se
    close = (
        (below > pairs.critical)
        & (above > pairs.critical)
        & (pairs.simultaneous[:, 0] < pairs.simultaneous[:, 1])
    )
    sure = np.abs(reach - margin) > 1e-9 * margin
    names = [
        [inference.matrix.models[i], inference.matrix.models[j]]
        for i, j in zip(pairs.left, pairs.right, strict=True)
    ]
    for pair, is_close_here, decided in zip(names, close, sure, strict=True):
        if decided:
            assert (pair in found["close_pairs"]) == is_close_here
    listed = np.array([pair in found["close_pairs"] for pair in names])
    assert found["close"] == listed.sum() == len(found["close_pairs"])
    assert found["resolved"] == pairs.resolved.sum()
    assert found["close_and_resolved"] == (listed & pairs.resolved).sum()
    assert found["open"] == (~listed & ~pairs.resolved).sum()

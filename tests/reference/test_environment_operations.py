"""Every operation against plain loops over exact integers, written from the specification."""

from __future__ import annotations

import csv
import math
import random
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from bundles import CORE, OTHER, REGIONS, Bundle, bundles, synthetic
from hypothesis import given
from references import reference
from strategies import few

from flavourbench.environment import Environment, Hit, batch, read_bundle
from flavourbench.environment.space import Tags
from flavourbench.environment.taxonomy import COMPLEMENTS
from flavourbench.errors import InputError

#: As the specification has it.
TABLE = (
    "Beverage→Fruit, Herb, Spice, Sweet · Dairy→Fruit, Grain, Herb, Spice, Sweet · Fat/Oil→Herb,"
    " Spice, Vegetable, Grain · Fish, Meat, Seafood→Herb, Spice, Vegetable, Grain · Fruit→Dairy,"
    " Herb, Spice, Sweet, Nut/Seed · Grain→Dairy, Legume, Meat, Vegetable, Spice · Herb→Meat,"
    " Fish, Seafood, Vegetable, Dairy · Legume→Grain, Herb, Spice, Vegetable, Fat/Oil ·"
    " Nut/Seed→Fruit, Sweet, Grain, Vegetable, Spice · Spice→Meat, Fish, Seafood, Vegetable,"
    " Fruit · Sweet→Fruit, Dairy, Grain, Nut/Seed, Beverage · Vegetable→Herb, Spice, Grain,"
    " Legume, Dairy"
)
PAIRS = {
    (one, other)
    for entry in TABLE.split("·")
    for one in re.split(r",\s*", entry.split("→")[0].strip())
    for other in re.split(r",\s*", entry.split("→")[1].strip())
}
#: Cosines are in these units.
ONE = 2**52

diets = st.sampled_from([None, "vegan", "vegetarian"])
caps = st.sampled_from([None, 1, 2, 3, 4])
counts = st.sampled_from([1, 2, 7, 1000])


class Oracle:
    """What an environment has to answer, by names.

    Attributes
    ----------
    dots : (a, b) → exact cosine in units of 2**-52
    """

    def __init__(self, environment: Environment) -> None:
        self.names = [*environment.items]
        self.rows = dict(zip(self.names, environment.units.tolist(), strict=True))
        self.tags = dict(zip(self.names, environment.tags, strict=True))
        self.dots = {
            (a, b): sum(x * y for x, y in zip(self.rows[a], self.rows[b], strict=True))
            for a in self.names
            for b in self.names
        }

    def best(self, scores: dict[str, Fraction], k: int) -> list[Hit]:
        order = sorted(scores, key=lambda name: (-scores[name], name))
        return [Hit(name, float(scores[name])) for name in order[:k]]

    def cosine(self, a: str, b: str) -> Fraction:
        return Fraction(self.dots[a, b], ONE)

    def neighbors(self, item: str, k: int) -> list[Hit]:
        return self.best({b: self.cosine(item, b) for b in self.names if b != item}, k)

    def substitutes(self, item: str, k: int) -> list[Hit]:
        own = self.tags[item]
        allowed = []
        for name in self.names:
            tags = self.tags[name]
            universal = "universal" in own.regions or "universal" in tags.regions
            if name == item or tags.category != own.category:
                continue
            if not universal and not set(own.regions) & set(tags.regions):
                continue
            if not set(item.split("_")) & set(name.split("_")):
                allowed.append(name)
        return self.best({b: self.cosine(item, b) for b in allowed}, k)

    def pairings(
        self, items: Iterable[str], k: int, diet: str | None, cap: int | None
    ) -> tuple[list[Hit], int]:
        query = set(items)
        scores, dropped = {}, 0
        for name in self.names:
            of = self.tags[name].category
            if name in query or not any((self.tags[q].category, of) in PAIRS for q in query):
                continue
            if self.reasons(name, diet, cap):
                dropped += 1
            else:
                scores[name] = sum(self.cosine(q, name) for q in query) / Fraction(len(query))
        return self.best(scores, k), dropped

    def reasons(self, name: str, diet: str | None, cap: int | None) -> list[str]:
        tags = self.tags[name]
        found = []
        if diet == "vegan" and not tags.vegan:
            found.append("not vegan")
        if diet == "vegetarian" and not tags.vegetarian:
            found.append("not vegetarian")
        if cap is not None and tags.nova is None:
            found.append("NOVA unknown")
        if cap is not None and tags.nova is not None and tags.nova > cap:
            found.append(f"NOVA {tags.nova} > {cap}")
        return found

    def direction(self, region: str) -> list[int] | None:
        """Unit difference of two means, in multiples of 2**-26."""
        inside: list[list[int]] = []
        outside: list[list[int]] = []
        for name in self.names:
            regions = self.tags[name].regions
            if "universal" not in regions:
                (inside if region in regions else outside).append(self.rows[name])
        if not inside or not outside:
            return None
        difference = [
            Fraction(sum(a), len(inside)) - Fraction(sum(b), len(outside))
            for a, b in zip(zip(*inside, strict=True), zip(*outside, strict=True), strict=True)
        ]
        with localcontext() as context:
            context.prec = 60
            exact = [Decimal(x.numerator) / x.denominator for x in difference]
            norm = sum((x * x for x in exact), Decimal(0)).sqrt()
            return [int((x / norm * 2**26).to_integral_value()) for x in exact]

    def projections(self, region: str) -> dict[str, Fraction]:
        direction = self.direction(region)
        assert direction is not None
        return {
            name: Fraction(sum(x * y for x, y in zip(row, direction, strict=True)), ONE)
            for name, row in self.rows.items()
        }


def percentile(values: Iterable[Fraction], percent: int) -> float:
    """Linear between neighbours."""
    ascending = sorted(values)
    place = Fraction(percent * (len(ascending) - 1), 100)
    low, part = divmod(place, 1)
    high = min(low + 1, len(ascending) - 1)
    return float(ascending[low] + part * (ascending[high] - ascending[low]))


def rotated(row: Sequence[float], toward: Sequence[float], degrees: float) -> list[float]:
    """Gram-Schmidt, then cos θ · s + sin θ · p; a unit vector."""
    s, d = unit(row), unit(toward)
    along = dot(s, d)
    p = unit([y - along * x for x, y in zip(s, d, strict=True)])
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return [cosine * x + sine * y for x, y in zip(s, p, strict=True)]


def unit(vector: Sequence[float]) -> list[float]:
    norm = math.sqrt(dot(vector, vector))
    return [x / norm for x in vector]


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def made(rows: Mapping[str, Any], **tags: Tags) -> Environment:
    """An environment of given rows; items are vegan Vegetables at home everywhere by default."""
    usual = Tags("Vegetable", ("universal",), True, True, 1)
    return Bundle(
        tuple(rows),
        np.array([*rows.values()], np.float32),
        tuple(tags.get(name, usual) for name in rows),
    ).environment()


@pytest.fixture(scope="module")
def environment() -> Environment:
    return synthetic(1, 50, 8).environment()


def core_items(environment: Environment) -> list[str]:
    tags = zip(environment.items, environment.tags, strict=True)
    return [name for name, tag in tags if tag.category in CORE]


# --- against the oracle, one and all at once -------------------------------------------------


@few(12)
@given(bundles(), counts)
def test_neighbors(bundle: Bundle, k: int) -> None:
    environment = bundle.environment()
    oracle = Oracle(environment)
    every = environment.hits(batch.neighbors(environment, batch.all_items(environment), k))
    for item, hits in zip(environment.items, every, strict=True):
        assert environment.neighbors(item, k) == hits == oracle.neighbors(item, k)


@few(12)
@given(bundles(), counts)
def test_substitutes(bundle: Bundle, k: int) -> None:
    environment = bundle.environment()
    oracle = Oracle(environment)
    every = environment.hits(batch.substitutes(environment, batch.all_items(environment), k))
    for item, hits in zip(environment.items, every, strict=True):
        assert environment.substitutes(item, k) == hits == oracle.substitutes(item, k)


@few(20)
@given(bundles(), counts, diets, caps)
def test_pairings_of_one_item(bundle: Bundle, k: int, diet: str | None, cap: int | None) -> None:
    environment = bundle.environment()
    oracle = Oracle(environment)
    ids = batch.all_items(environment)
    ranked, dropped = batch.pairings(environment, ids[:, None], k, diet, cap)
    every = environment.hits(ranked)
    for at, item in enumerate(environment.items):
        expected = oracle.pairings([item], k, diet, cap)
        assert (every[at], int(dropped[at])) == expected
        if oracle.tags[item].category in CORE:
            single = environment.pairings([item], k, diet, cap)
            assert ([*single.hits], single.dropped) == expected
        else:
            assert expected == ([], 0)


@few(30)
@given(bundles(), counts, diets, caps, st.integers(2, 6), st.randoms(use_true_random=False))
def test_pairings_of_sets(
    bundle: Bundle, k: int, diet: str | None, cap: int | None, size: int, source: random.Random
) -> None:
    """A complement of any member; the mean over all of them, of whatever category."""
    environment = bundle.environment()
    oracle = Oracle(environment)
    core = core_items(environment)
    sets = [[source.choice(core), *source.sample(environment.items, size)] for _ in range(8)]
    sets = [[*dict.fromkeys(query)][:size] for query in sets]
    ids = np.array([environment.ids(query) for query in sets])
    ranked, dropped = batch.pairings(environment, ids, k, diet, cap)
    for at, query in enumerate(sets):
        hits, count = oracle.pairings(query, k, diet, cap)
        single = environment.pairings(query, k, diet, cap)
        assert [*single.hits] == environment.hits(ranked)[at]
        assert [hit.name for hit in single.hits] == [hit.name for hit in hits]
        # Up to five roundings of sums below 8, for any order of the members.
        wanted = [hit.similarity for hit in hits]
        assert [h.similarity for h in single.hits] == pytest.approx(wanted, rel=0, abs=1e-15)
        assert single.dropped == int(dropped[at]) == count


def test_an_item_named_twice_counts_once(environment: Environment) -> None:
    a, b = core_items(environment)[:2]
    assert environment.pairings([a, b, a]) == environment.pairings([a, b])


def test_dropped_counts_complements_alone(environment: Environment) -> None:
    """Feasible and infeasible complements add up; other categories are not counted."""
    oracle = Oracle(environment)
    for item in core_items(environment):
        free = environment.pairings([item], 1000)
        bound = environment.pairings([item], 1000, "vegan", 2)
        assert free.dropped == 0
        assert len(bound.hits) + bound.dropped == len(free.hits)
        kept = {hit.name for hit in bound.hits}
        assert kept == {h.name for h in free.hits if not oracle.reasons(h.name, "vegan", 2)}


@few(8)
@given(bundles())
def test_pairing_score(bundle: Bundle) -> None:
    environment = bundle.environment()
    oracle = Oracle(environment)
    pairs = [*combinations(environment.items, 2)]
    values = [oracle.cosine(a, b) for a, b in pairs]
    percentiles = {p: percentile(values, p) for p in (10, 25, 50, 75, 90)}
    for a, b in pairs[:: len(pairs) // 40]:
        cosine = oracle.cosine(a, b)
        score = environment.pairing_score(a, b)
        assert score == environment.pairing_score(b, a)
        assert score.similarity == cosine
        assert score.above == sum(value < cosine for value in values) / len(values)
        assert dict(score.percentiles) == pytest.approx(percentiles, rel=0, abs=1e-15)


@few(12)
@given(bundles(), diets, caps)
def test_feasible(bundle: Bundle, diet: str | None, cap: int | None) -> None:
    environment = bundle.environment()
    oracle = Oracle(environment)
    asked = [*reversed(environment.items), environment.items[0]]
    verdicts = environment.feasible(asked, diet, cap)
    assert [verdict.name for verdict in verdicts] == asked
    for verdict in verdicts:
        reasons = oracle.reasons(verdict.name, diet, cap)
        assert verdict.feasible == (not reasons)
        assert sorted(filter(None, verdict.reason.split(", "))) == sorted(reasons)
    every = batch.infeasible(environment, diet, cap) == 0
    assert every.tolist() == [not oracle.reasons(name, diet, cap) for name in oracle.names]


@few(12)
@given(bundles())
def test_region_profile(bundle: Bundle) -> None:
    environment = bundle.environment()
    oracle = Oracle(environment)
    assert environment.regions == tuple(r for r in REGIONS if oracle.direction(r))
    projections = {}
    for region in environment.regions:
        assert environment.direction(region).tolist() == oracle.direction(region)
        projections[region] = oracle.projections(region)
    for item in environment.items:
        profile = environment.region_profile(item)
        order = sorted(projections, key=lambda region: (-projections[region][item], region))
        assert [score.region for score in profile] == order
        for score in profile:
            over = projections[score.region]
            assert score.projection == over[item]
            assert score.p10 == pytest.approx(percentile(over.values(), 10), rel=0, abs=1e-15)
            assert score.p90 == pytest.approx(percentile(over.values(), 90), rel=0, abs=1e-15)


@few(12)
@given(bundles(), st.sampled_from([0.0, 1e-3, 15, 30.0, 45, 90.0, 179, 180]), st.booleans())
def test_morph(bundle: Bundle, angle: float, to_region: bool) -> None:
    environment = bundle.environment()
    oracle = Oracle(environment)
    target = environment.regions[0] if to_region else environment.items[3]
    toward = oracle.direction(target) if to_region else oracle.rows[target]
    assert toward is not None
    ids = np.array([at for at, name in enumerate(environment.items) if name != target], np.int64)
    k = len(environment) + 3
    every = environment.hits(batch.morph(environment, ids, environment.direction(target), angle, k))
    for at, hits in zip(ids.tolist(), every, strict=True):
        item = environment.items[at]
        assert environment.morph(item, target, angle, k) == hits
        row = rotated(oracle.rows[item], toward, angle)
        wanted = {b: dot(row, unit(oracle.rows[b])) for b in oracle.names if b != item}
        # Rounding moves cosines by up to 3e-8, a small angle to the target magnifies that.
        slack = 2e-7 / math.sin(math.acos(dot(unit(oracle.rows[item]), unit(toward))))
        assert {hit.name: hit.similarity for hit in hits} == pytest.approx(wanted, rel=0, abs=slack)
        assert hits == sorted(hits, key=lambda hit: (-hit.similarity, hit.name))
        assert environment.morph(item, target, angle, 2) == hits[:2]


@few(20)
@given(
    bundles(),
    st.sampled_from([(0.8, 0.2), (0.65, 0.35), (0.7, 0.3), (0.75, 0.25)]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_portfolio_utility(
    bundle: Bundle, weights: tuple[float, float], regional: bool, source: random.Random
) -> None:
    """All 56 portfolios of eight candidates: w₁ · mean relevance + w₂ · mean pair similarity."""
    environment = bundle.environment()
    oracle = Oracle(environment)
    anchor, *candidates = source.sample(environment.items, 9)
    region = source.choice(environment.regions)
    if regional:
        projections = oracle.projections(region)
        relevance = {name: projections[name] for name in candidates}
        column = environment.projections[:, environment.regions.index(region)]
    else:
        relevance = {name: oracle.cosine(anchor, name) for name in candidates}
        column = environment.similarity[environment.index[anchor]]
    portfolios = [*combinations(candidates, 3)]
    ids = np.array([environment.ids(portfolio) for portfolio in portfolios])
    every = batch.portfolio_utilities(environment, column, ids, weights).tolist()
    of = {"region": region} if regional else {"anchor": anchor}
    for portfolio, utility in zip(portfolios, every, strict=True):
        a, b, c = portfolio
        mean = (relevance[a] + relevance[b] + relevance[c]) / 3
        coherence = (oracle.cosine(a, b) + oracle.cosine(a, c) + oracle.cosine(b, c)) / 3
        exact = Fraction(weights[0]) * mean + Fraction(weights[1]) * coherence
        assert utility == pytest.approx(float(exact), rel=0, abs=1e-15)
        for order in permutations(portfolio):
            assert environment.portfolio_utility(order, weights=weights, **of) == utility


@pytest.mark.parametrize("apart", [0.1, 0.01, 0.001])
def test_morph_toward_a_close_item(apart: float) -> None:
    """The plane of two rows that nearly agree is that of the rows, not of their rounding."""
    source = np.random.default_rng(8)
    for _ in range(10):
        row, away, *others = source.normal(size=(6, 8))
        rows = dict(zip("abcdef", [row, row + apart * away, *others], strict=True))
        environment = made(rows)
        oracle = Oracle(environment)
        a, b = unit(oracle.rows["a"]), unit(oracle.rows["b"])
        turned = rotated(a, b, 30)
        wanted = {name: dot(turned, unit(oracle.rows[name])) for name in "bcdef"}
        found = {hit.name: hit.similarity for hit in environment.morph("a", "b", 30)}
        slack = 2e-7 / math.dist(a, b)
        assert found == pytest.approx(wanted, rel=0, abs=slack)


# --- ties, categories, regions, sizes --------------------------------------------------------


def ties() -> Environment:
    """Rows on axes and diagonals: every cosine is one of a handful, each met many times."""
    axes = np.eye(4, dtype=np.float32)
    rows = [*axes, *-axes, *(a + b for a, b in combinations(axes, 2)), *axes]
    source = random.Random(5)
    words = source.sample([a + b for a in "abcdef" for b in "uvwxyz"], len(rows))
    core = [CORE[at % len(CORE)] for at in range(len(rows))]
    tags = {w: Tags(c, ("universal",), True, True, 1) for w, c in zip(words, core, strict=True)}
    return made(dict(zip(words, rows, strict=True)), **tags)


def test_equal_similarities_are_in_the_order_of_names() -> None:
    environment = ties()
    oracle = Oracle(environment)
    assert len({*oracle.dots.values()}) < 10
    for item in environment.items:
        for k in (1, 2, 3, 5, 8, 40):
            assert environment.neighbors(item, k) == oracle.neighbors(item, k)
            assert environment.substitutes(item, k) == oracle.substitutes(item, k)
            hits = environment.pairings([item], k).hits
            assert [*hits] == oracle.pairings([item], k, None, None)[0]


def test_equal_means_are_in_the_order_of_names() -> None:
    environment = ties()
    oracle = Oracle(environment)
    for query in combinations(environment.items, 2):
        for k in (1, 4, 40):
            hits = environment.pairings(query, k).hits
            assert [*hits] == oracle.pairings(query, k, None, None)[0]


def test_equal_projections_are_in_the_order_of_names() -> None:
    """Two regions tagged on the same items have one direction."""
    both = Tags("Meat", ("Southeast_Asian", "Latin_American"), True, True, 1)
    other = Tags("Meat", ("Japanese",), True, True, 1)
    rows = {"a": [1.0, 0.2], "b": [0.3, 1.0], "c": [1.0, 1.0]}
    profile = made(rows, a=both, b=other, c=both).region_profile("b")
    found = [score.region for score in profile]
    assert found == ["Japanese", "Latin_American", "Southeast_Asian"]
    assert profile[1].projection == profile[2].projection


def test_complements_are_those_of_the_specification() -> None:
    stated = {(one, other) for one, others in COMPLEMENTS.items() for other in others}
    assert stated == PAIRS
    assert sum(map(len, COMPLEMENTS.values())) == len(PAIRS)
    assert [*COMPLEMENTS] == CORE


@pytest.mark.parametrize("category", OTHER)
def test_other_categories_take_no_part_in_pairings(category: str) -> None:
    """They are no complements, have none, and do not make a core item's pairings refused."""
    rows = {"a": [1.0, 0.0], "b": [1.0, 0.1], "c": [1.0, 0.5], "d": [0.2, 1.0]}
    other = Tags(category, ("universal",), True, True, 1)
    environment = made(rows, b=other, c=Tags("Meat", ("Japanese",), False, False, 4), d=other)
    assert environment.pairings(["c"]).hits[0].name == "a"
    assert len(environment.pairings(["c"]).hits) == 1
    assert [hit.name for hit in environment.pairings(["b", "c"]).hits] == ["a"]
    assert [hit.name for hit in environment.substitutes("b")] == ["d"]
    with pytest.raises(InputError, match=rf"b \({category}\), d \({category}\).*no complements"):
        environment.pairings(["b", "d"])


def test_regions_of_substitutes() -> None:
    def at(*regions: str) -> Tags:
        return Tags("Meat", regions, True, True, 1)

    tags = {
        "asian": at("Japanese", "East_Asian"),
        "eastern": at("Eastern_European"),
        "japanese": at("Japanese"),
        "latin": at("East_Asian", "Latin_American"),
        "anywhere": at("universal"),
    }
    rows = {name: [1.0, at / 10] for at, name in enumerate(tags)}
    environment = made(rows, **tags)
    found = {name: {hit.name for hit in environment.substitutes(name)} for name in tags}
    assert found == {
        "asian": {"japanese", "latin", "anywhere"},
        "eastern": {"anywhere"},
        "japanese": {"asian", "anywhere"},
        "latin": {"asian", "anywhere"},
        "anywhere": {"asian", "eastern", "japanese", "latin"},
    }


@pytest.mark.parametrize(
    "present", [(), ("Japanese",), ("Japanese", "Mediterranean")], ids=["none", "one", "two"]
)
def test_a_region_needs_items_and_others(present: tuple[str, ...]) -> None:
    """Universal items make no direction, nor does a region that all regional items have."""
    regions = [(region,) for region in present] + [("universal",)] * 2
    rows = {f"item_{at}": [1.0, at / 3] for at in range(len(regions))}
    tags = {name: Tags("Meat", r, True, True, 1) for name, r in zip(rows, regions, strict=True)}
    environment = made(rows, **tags)
    expected = present if len(present) > 1 else ()
    assert environment.regions == expected
    assert [s.region for s in environment.region_profile("item_0")] == sorted(
        expected, key=lambda region: -environment.projections[0][expected.index(region)]
    )
    for region in {*REGIONS} - {*expected}:
        with pytest.raises(InputError, match=region):
            environment.morph("item_0", region)


def test_an_environment_of_one_item() -> None:
    environment = made({"a": [1.0, 2.0]})
    assert environment.neighbors("a") == environment.substitutes("a") == []
    assert environment.pairings(["a"]).hits == ()
    assert environment.region_profile("a") == []


@pytest.mark.parametrize("k", [10**6, sys.maxsize])
def test_more_than_there_is_gives_all(environment: Environment, k: int) -> None:
    item = core_items(environment)[0]
    limit = len(environment)
    assert environment.neighbors(item, k) == environment.neighbors(item, limit)
    assert environment.substitutes(item, k) == environment.substitutes(item, limit)
    assert environment.pairings([item], k) == environment.pairings([item], limit)
    region = environment.regions[0]
    assert environment.morph(item, region, 30, k) == environment.morph(item, region, 30, limit)


def test_batches_of_none(environment: Environment) -> None:
    none = np.zeros(0, np.int64)
    assert batch.neighbors(environment, none, 3).ids.shape == (0, 3)
    ranked, dropped = batch.pairings(environment, none.reshape(0, 2), 3, "vegan")
    assert (ranked.ids.shape, dropped.shape) == ((0, 3), (0,))


def test_a_batch_has_gaps_where_fewer_are_allowed(environment: Environment) -> None:
    ranked = batch.substitutes(environment, batch.all_items(environment), 30)
    assert ranked.ids.shape == ranked.similarity.shape == (len(environment), 30)
    gaps = ranked.ids < 0
    assert (ranked.ids[gaps] == -1).all()
    assert np.array_equal(np.isnan(ranked.similarity), gaps)
    # Gaps come last.
    assert not (gaps[:, :-1] & ~gaps[:, 1:]).any()
    assert 0 < gaps.sum() < gaps.size


# --- refusals --------------------------------------------------------------------------------

Call = Callable[[Environment, str, str], object]
Calls = dict[str, tuple[Call, str]]

UNKNOWN: dict[str, Call] = {
    "neighbors": lambda e, a, b: e.neighbors("xqzzq"),
    "substitutes": lambda e, a, b: e.substitutes("xqzzq"),
    "pairings": lambda e, a, b: e.pairings([a, "xqzzq"]),
    "pairing_score": lambda e, a, b: e.pairing_score(a, "xqzzq"),
    "feasible": lambda e, a, b: e.feasible([a, "xqzzq"]),
    "region_profile": lambda e, a, b: e.region_profile("xqzzq"),
    "morph": lambda e, a, b: e.morph("xqzzq", a),
    "morph toward": lambda e, a, b: e.morph(a, "xqzzq"),
    "portfolio": lambda e, a, b: e.portfolio_utility([a, b, "xqzzq"], weights=(0.8, 0.2), anchor=a),
    "anchor": lambda e, a, b: e.portfolio_utility(e.items[:3], weights=(0.8, 0.2), anchor="xqzzq"),
    "region": lambda e, a, b: e.portfolio_utility(e.items[:3], weights=(0.8, 0.2), region="xqzzq"),
}


@pytest.mark.parametrize("call", UNKNOWN.values(), ids=UNKNOWN)
def test_unknown_names_are_refused(environment: Environment, call: Call) -> None:
    with pytest.raises(InputError, match="xqzzq"):
        call(environment, *core_items(environment)[:2])


NO_NUMBERS: list[Any] = [0, -1, -(2**70), 2.5, True, None]
NO_ANGLES = [math.nan, -1, -1e-9, 180.001, 181, math.inf, -math.inf, np.float64("nan")]
NO_ANGLES += ["30", "", None, True, False, np.True_, 30j, [30], np.array([30.0, 40.0])]
NO_CAPS = [0, 5, -1, 2.5, 2.0, math.nan, True, np.True_, "2", "", [2], np.array([1, 2])]
REFUSED: Calls = {
    **{f"neighbors {k}": (lambda e, a, b, k=k: e.neighbors(a, k), str(k)) for k in NO_NUMBERS},
    **{f"substitutes {k}": (lambda e, a, b, k=k: e.substitutes(a, k), str(k)) for k in NO_NUMBERS},
    **{f"pairings {k}": (lambda e, a, b, k=k: e.pairings([a], k), str(k)) for k in NO_NUMBERS},
    **{f"morph {k}": (lambda e, a, b, k=k: e.morph(a, b, 30, k), str(k)) for k in NO_NUMBERS},
    **{f"angle {x!r}": (lambda e, a, b, x=x: e.morph(a, b, x), repr(x)) for x in NO_ANGLES},
    **{
        f"cap {cap!r}": (lambda e, a, b, cap=cap: e.feasible([a], None, cap), repr(cap))
        for cap in NO_CAPS
    },
    **{
        f"pairings {cap!r}": (lambda e, a, b, cap=cap: e.pairings([a], 3, None, cap), repr(cap))
        for cap in NO_CAPS
    },
    **{
        f"diet {diet!r}": (lambda e, a, b, diet=diet: e.feasible([a], diet), diet)
        for diet in ("", "Vegan", "keto", "vegan ")
    },
    "one text for many": (lambda e, a, b: e.pairings(a, 3), "pass a list"),
    "pairings diet": (lambda e, a, b: e.pairings([a], 3, "keto"), "keto"),
    "pairings of nothing": (lambda e, a, b: e.pairings([]), "at least one item"),
    "a pair of one": (lambda e, a, b: e.pairing_score(a, a), "itself"),
    "two items": (
        lambda e, a, b: e.portfolio_utility([a, b], weights=(0.8, 0.2), anchor=a),
        "three different",
    ),
    "four items": (
        lambda e, a, b: e.portfolio_utility(e.items[:4], weights=(0.8, 0.2), anchor=a),
        "three different",
    ),
    "an item twice": (
        lambda e, a, b: e.portfolio_utility([a, b, a], weights=(0.8, 0.2), anchor=a),
        "three different",
    ),
    "no relevance": (
        lambda e, a, b: e.portfolio_utility(e.items[:3], weights=(0.8, 0.2)),
        "anchor or a region",
    ),
    "both relevances": (
        lambda e, a, b: e.portfolio_utility(
            e.items[:3], weights=(0.8, 0.2), anchor=a, region="Japanese"
        ),
        "anchor or a region",
    ),
}


@pytest.mark.parametrize(("call", "says"), REFUSED.values(), ids=REFUSED)
def test_values_out_of_range_are_refused(environment: Environment, call: Call, says: str) -> None:
    with pytest.raises(InputError) as caught:
        call(environment, *core_items(environment)[:2])
    assert says in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("number", [int, np.int8, np.int64, np.uint16])
def test_numbers_of_any_type_are_taken(environment: Environment, number: Any) -> None:
    item, other = core_items(environment)[:2]
    caps = [environment.feasible([item], None, number(cap)) for cap in (1, 2, 3, 4)]
    assert caps == [environment.feasible([item], None, cap) for cap in (1, 2, 3, 4)]
    for kind in (number, float, np.float32, np.float64):
        assert environment.morph(item, other, kind(30)) == environment.morph(item, other, 30.0)


@pytest.mark.parametrize("similarity", [-1.0, 0.0, 1.0])
def test_one_item_has_no_pairs_to_compare_with(similarity: float) -> None:
    alone = synthetic(3, 1, 4).environment("alone")
    assert alone.pair_percentiles == {}
    with pytest.raises(InputError, match="alone has one item"):
        alone.share_below(similarity)


def test_no_item_is_turned_toward_itself(environment: Environment) -> None:
    """There is no plane to turn in, whichever way the norm of the row was rounded."""
    for item in environment.items:
        with pytest.raises(InputError, match=item):
            environment.morph(item, item)


@pytest.mark.parametrize("sign", [1, -1], ids=["equal", "opposite"])
def test_no_item_is_turned_toward_an_equal_or_opposite_row(sign: int) -> None:
    source = np.random.default_rng(4)
    for _ in range(20):
        row = source.normal(size=16)
        environment = made({"a": row, "b": sign * row, "c": source.normal(size=16)})
        with pytest.raises(InputError, match="a lies"):
            environment.morph("a", "b")


# --- the published bundle --------------------------------------------------------------------


@pytest.fixture(scope="module")
def published() -> Environment:
    tags = reference("epicure-mcp/ingredient_tags.csv")
    return read_bundle(reference("epicure-cooc"), tags, "epicure-cooc")


def test_published_items_join_by_name(published: Environment) -> None:
    assert (len(published), published.dimensions) == (1790, 300)
    path = reference("epicure-mcp/ingredient_tags.csv")
    with path.open(encoding="utf-8", newline="") as handle:
        rows = {row["name"]: row for row in csv.DictReader(handle)}
    assert {*rows} == {*published.items}
    for name, tags in zip(published.items, published.tags, strict=True):
        row = rows[name]
        assert tags.category == row["primary_category"]
        assert {*tags.regions} == {*row["cuisine_region"].split(";")}
        assert (str(tags.vegetarian), str(tags.vegan)) == (row["is_vegetarian"], row["is_vegan"])
        assert (f"{tags.nova}.0" if tags.nova else "") == row["nova_level"]


def test_published_neighbors_of_chicken(published: Environment) -> None:
    hits = [(hit.name, round(hit.similarity, 2)) for hit in published.neighbors("chicken", 5)]
    assert hits == [
        ("garlic", 0.39),
        ("onion", 0.37),
        ("black_pepper", 0.36),
        ("turkey", 0.35),
        ("carrot", 0.34),
    ]


def test_published_percentiles_of_pairs(published: Environment) -> None:
    found = published.pairing_score("chicken", "garlic").percentiles
    rounded = {percent: round(value, 3) for percent, value in found.items()}
    assert rounded == {10: 0.018, 25: 0.051, 50: 0.091, 75: 0.138, 90: 0.188}


def test_published_steering_toward_regions(published: Environment) -> None:
    """The six cases of one region each; lists passed a filter, so cosines count, not ranks."""
    path = reference("epicure-cooc/paper_slerp_results.csv")
    with path.open(encoding="utf-8", newline="") as handle:
        rows = [
            row
            for row in csv.DictReader(handle)
            if (parts := row["test_case"].split(" + "))[1:]
            and parts[1:] == [parts[-1]]
            and parts[-1] in REGIONS
        ]
    assert len(rows) == 90
    assert len({row["test_case"] for row in rows}) == 6
    for row in rows:
        region = row["test_case"].split(" + ")[1]
        hits = published.morph(row["seed"], region, float(row["angle_deg"]), len(published))
        found = {hit.name: hit.similarity for hit in hits}
        assert found[row["hit_name"]] == pytest.approx(float(row["hit_sim"]), rel=0, abs=5e-5)


@pytest.mark.parametrize("operation", ["neighbors", "substitutes"])
def test_published_batches_are_the_single_answers(published: Environment, operation: str) -> None:
    ids = batch.all_items(published)
    every = published.hits(getattr(batch, operation)(published, ids, 10))
    for at in range(0, len(published), 37):
        assert getattr(published, operation)(published.items[at], 10) == every[at]

"""Laws of the environment: its identity, its exact rows, and that nobody can write them."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import hashlib
import itertools
import json
import math
import pickle
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal, localcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from bundles import (
    Bundle,
    Form,
    bundles,
    forms,
    synthetic,
    write_server,
    write_snapshot,
    write_tags,
)
from hypothesis import given
from numpy.typing import NDArray
from references import reference
from strategies import bits, few

from flavourbench.environment import Environment, batch, read_bundle
from flavourbench.environment.space import Tags, unit_rows
from flavourbench.environment.taxonomy import CATEGORIES
from flavourbench.errors import InputError

places = st.integers(0, 2**20)


def read_as_snapshot(bundle: Bundle, form: Form) -> Environment:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        tags = write_tags(bundle, path / "tags.csv", form)
        return read_bundle(write_snapshot(bundle, path / "snapshot", form), tags)


def read_as_server(bundle: Bundle, form: Form) -> Environment:
    with tempfile.TemporaryDirectory() as folder:
        return read_bundle(write_server(bundle, Path(folder), form))


LAYOUTS = {"snapshot": read_as_snapshot, "server": read_as_server}
each_layout = pytest.mark.parametrize("layout", LAYOUTS)


# --- identity: what may not matter -----------------------------------------------------------


@each_layout
@few(40)
@given(bundles(), forms)
def test_files_of_any_form_give_the_same_environment(
    layout: str, bundle: Bundle, form: Form
) -> None:
    """Row, line and node order, line ending, mark, digits, ``2.0`` or ``2``, either layout."""
    found, expected = LAYOUTS[layout](bundle, form), bundle.environment()
    assert found.items == expected.items
    assert bits(found.units) == bits(expected.units)
    assert found.tags == expected.tags
    assert found.identity == expected.identity


@few(10)
@given(bundles())
def test_name_and_provenance_are_outside_the_identity(bundle: Bundle) -> None:
    environment = bundle.environment()
    other = replace(environment, name="other", provenance={"layout": "a rumour"})
    assert (other.name, other.provenance["layout"]) == ("other", "a rumour")
    assert other.identity == environment.identity


@few(10)
@given(bundles(), st.integers(-20, 20))
def test_the_length_of_a_row_does_not_matter(bundle: Bundle, power: int) -> None:
    """Times a power of two, which float32 holds exactly."""
    scaled = replace(bundle, vectors=bundle.vectors * np.float32(2.0**power))
    assert scaled.environment().identity == bundle.environment().identity


# --- identity: what matters ------------------------------------------------------------------


@few(30)
@given(bundles(), places, places, st.sampled_from([1e-6, -1e-6, 0.5]))
def test_any_changed_value_changes_the_identity(
    bundle: Bundle, row: int, column: int, step: float
) -> None:
    vectors = bundle.vectors.copy()
    at = row % len(vectors), column % vectors.shape[1]
    # In parts of the row's length: 67 units of 2**-26 survive the rounding of rows.
    vectors[at] += np.float32(step * np.linalg.norm(vectors[at[0]]))
    changed = replace(bundle, vectors=vectors).environment()
    assert (changed.units != bundle.environment().units).any()
    assert changed.identity != bundle.environment().identity


@few(20)
@given(bundles(), places)
def test_any_changed_tag_changes_the_identity(bundle: Bundle, place: int) -> None:
    at = place % len(bundle.names)
    tags = bundle.tags[at]
    seen = {bundle.environment().identity}
    others: list[dict[str, Any]] = [
        *({"category": name} for name in CATEGORIES if name != tags.category),
        {"regions": ("universal",) if tags.regions != ("universal",) else ("Japanese",)},
        {"vegetarian": not tags.vegetarian},
        {"vegan": not tags.vegan},
        *({"nova": nova} for nova in (None, 1, 2, 3, 4) if nova != tags.nova),
    ]
    for change in others:
        seen.add(bundle.retagged(at, **change).environment().identity)
    assert len(seen) == 1 + len(others)


@few(20)
@given(bundles(), places)
def test_names_rows_and_their_pairing_change_the_identity(bundle: Bundle, place: int) -> None:
    at = place % (len(bundle.names) - 1)
    names, vectors = [*bundle.names], bundle.vectors.copy()
    names[at] += "_z"
    renamed = replace(bundle, names=tuple(names))
    vectors[[at, at + 1]] = vectors[[at + 1, at]]
    swapped = replace(bundle, vectors=vectors)
    negated = replace(bundle, vectors=-bundle.vectors)
    shorter = Bundle(bundle.names[1:], bundle.vectors[1:], bundle.tags[1:])
    found = [b.environment().identity for b in (bundle, renamed, swapped, negated, shorter)]
    assert len({*found}) == len(found)


@few(10)
@given(bundles())
def test_the_identity_is_the_specified_digest(bundle: Bundle) -> None:
    """Computed anew from the truth, with nothing of the package."""
    order = sorted(range(len(bundle.names)), key=bundle.names.__getitem__)
    tags = [bundle.tags[at] for at in order]
    count, dimensions = bundle.vectors.shape
    rows = [quantised(bundle.vectors[at].tolist()) for at in order]
    known = [tag.nova is None for tag in tags]

    def text(values: list[str]) -> bytes:
        return b"".join(len(v).to_bytes(4, "little") + v.encode("ascii") for v in values)

    columns = {
        "name": ("string", [count], text([bundle.names[at] for at in order])),
        "category": ("string", [count], text([tag.category for tag in tags])),
        "regions": ("string", [count], text([";".join(tag.regions) for tag in tags])),
        "vegetarian": ("bool", [count], bytes(tag.vegetarian for tag in tags)),
        "vegan": ("bool", [count], bytes(tag.vegan for tag in tags)),
        "nova": ("int8?", [count], bytes(tag.nova or 0 for tag in tags) + bytes(known)),
        "row": (
            "int32",
            [count, dimensions],
            b"".join(x.to_bytes(4, "little", signed=True) for row in rows for x in row),
        ),
    }
    described = [
        {"dtype": kind, "name": name, "sha256": hashlib.sha256(data).hexdigest(), "shape": shape}
        for name, (kind, shape, data) in sorted(columns.items())
    ]
    recipe = "flavourbench-environment-identity/1"
    text_of = json.dumps({"columns": described, "recipe": recipe}, separators=(",", ":"))
    assert bundle.environment().identity == hashlib.sha256(text_of.encode()).hexdigest()


def quantised(row: list[float]) -> list[int]:
    """A row over its norm in multiples of 2**-26, from sixty digits."""
    with localcontext() as context:
        context.prec = 60
        exact = [Decimal(x) for x in row]
        norm = sum((x * x for x in exact), Decimal(0)).sqrt()
        return [int((x / norm * 2**26).to_integral_value()) for x in exact]


# --- exact arithmetic ------------------------------------------------------------------------


@few(15)
@given(bundles())
def test_dot_products_are_the_same_bits_in_any_order(bundle: Bundle) -> None:
    """BLAS, a loop, a reversed loop, and integers."""
    environment = bundle.environment()
    rows, units = environment.rows.tolist(), environment.units.tolist()
    product = (environment.rows @ environment.rows.T).tolist()
    assert bits(environment.similarity) == bits(np.array(product))
    for i, j in itertools.combinations_with_replacement(range(len(rows)), 2):
        terms = [*zip(rows[i], rows[j], strict=True)]
        forward = backward = 0.0
        for x, y in terms:
            forward += x * y
        for x, y in reversed(terms):
            backward += x * y
        exact = sum(x * y for x, y in zip(units[i], units[j], strict=True)) / 2**52
        assert product[i][j] == product[j][i] == forward == backward == exact


def dots_are_exact(environment: Environment, ids: NDArray[np.int64]) -> None:
    units = environment.units.astype(object)
    exact = (units[ids] @ units.T / 2**52).astype(np.float64)
    assert bits(environment.similarities(ids)) == bits(exact)
    assert bits(environment.similarity[ids]) == bits(exact)


@pytest.mark.parametrize("dimensions", [1, 2, 300, 2000])
def test_dot_products_are_exact_at_any_length(dimensions: int) -> None:
    environment = synthetic(2, 30, dimensions).environment()
    dots_are_exact(environment, np.arange(30))


def test_dot_products_of_the_published_bundle_are_exact() -> None:
    environment = published()
    dots_are_exact(environment, np.arange(0, len(environment), 199))


def published() -> Environment:
    tags = reference("epicure-mcp/ingredient_tags.csv")
    return read_bundle(reference("epicure-cooc"), tags)


def published_vectors() -> tuple[list[str], NDArray[np.float64]]:
    """Names in the order of rows, and the vectors as they were published."""
    folder = reference("epicure-cooc")
    rows = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    data = (folder / "embeddings.safetensors").read_bytes()
    head = 8 + int.from_bytes(data[:8], "little")
    vectors = np.frombuffer(data[head:], "<f4").reshape(len(rows), -1).astype(np.float64)
    return sorted(rows, key=rows.__getitem__), vectors


def largest_change(vectors: NDArray[np.floating], similarity: NDArray[np.float64]) -> float:
    """Of a cosine against float64 rows that were normalised and not rounded."""
    rows = vectors.astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    return float(np.abs(rows @ rows.T - similarity).max())


def test_rounding_changes_a_published_cosine_by_3e_8_at_most() -> None:
    """To the one digit that is stated."""
    environment = published()
    names, vectors = published_vectors()
    order = sorted(range(len(names)), key=names.__getitem__)
    assert largest_change(vectors[order], environment.similarity) < 3.5e-8


@few(20)
@given(bundles())
def test_rounding_changes_a_cosine_by_3e_8_at_most(bundle: Bundle) -> None:
    order = np.argsort(np.array(bundle.names))
    change = largest_change(bundle.vectors[order], bundle.environment().similarity)
    assert change < 3.5e-8


@pytest.mark.parametrize("dimensions", [3, 16, 300, 1000])
def test_the_worst_rows_change_a_cosine_by_a_known_bound(dimensions: int) -> None:
    """All coordinates rounded the same way: √d units of 2**-26, and no more for any row."""
    source = np.random.default_rng(dimensions)
    rows = np.ones((40, dimensions), np.float32)
    rows[1:] += source.normal(0, 1e-3, (39, dimensions)).astype(np.float32)
    names = [f"a{at:02}" for at in range(40)]
    units = unit_rows(rows, names) * 2.0**-26
    assert largest_change(rows, units @ units.T) <= math.sqrt(dimensions) * 2**-26 + 1e-15


@few(10)
@given(bundles())
def test_three_cosines_have_one_sum(bundle: Bundle) -> None:
    three_cosines_have_one_sum(bundle.environment())


def test_three_cosines_of_rows_that_nearly_agree_have_one_sum() -> None:
    """Norms are rounded, so that their cosines lie on either side of one."""
    source = np.random.default_rng(6)
    row = source.normal(size=300)
    rows = (row + source.normal(0, 1e-4, (20, 300))).astype(np.float32)
    names = tuple(f"a{at:02}" for at in range(20))
    tags = (Tags("Meat", ("universal",), True, True, 1),) * 20
    environment = Environment(names, unit_rows(rows, names), tags)
    assert (environment.similarity > 1).any()
    three_cosines_have_one_sum(environment)


def three_cosines_have_one_sum(environment: Environment) -> None:
    """Whatever the order of a portfolio, its utility has the same bits."""
    triples = np.array([*itertools.combinations(range(min(len(environment), 25)), 3)])
    relevance = environment.similarity[-1]
    found = {
        batch.portfolio_utilities(environment, relevance, triples[:, order], (0.65, 0.35)).tobytes()
        for order in itertools.permutations(range(3))
    }
    assert len(found) == 1


@few(15)
@given(bundles(), st.lists(places, max_size=12))
def test_rows_of_the_matrix_need_not_be_made_at_once(bundle: Bundle, chosen: list[int]) -> None:
    environment = bundle.environment()
    ids = np.array([at % len(environment) for at in chosen], np.int64)
    before = environment.similarities(ids)
    assert "similarity" not in vars(environment), "the whole matrix was made"
    assert bits(before) == bits(environment.similarity[ids])
    assert bits(environment.similarities(ids)) == bits(before)


@few(20)
@given(bundles(), st.randoms(use_true_random=False), st.integers(2, 7))
def test_the_order_of_a_query_changes_no_bit(bundle: Bundle, source: Any, size: int) -> None:
    environment = bundle.environment()
    meat = [tags.category for tags in environment.tags].index("Meat")
    sample = source.sample(environment.items, size)
    query = [*dict.fromkeys([environment.items[meat], *sample])][:size]
    first = environment.pairings(query, 12, "vegetarian", 4)
    ids = environment.ids(query)
    for _ in range(5):
        source.shuffle(query)
        assert bits(environment.pairings(query, 12, "vegetarian", 4)) == bits(first)
    shuffled = np.array([source.sample(ids.tolist(), len(ids)) for _ in range(5)])
    ranked, _ = batch.pairings(environment, shuffled, 12, "vegetarian", 4)
    assert len({row.tobytes() for row in ranked.similarity}) == 1
    assert len({row.tobytes() for row in ranked.ids}) == 1


# --- nobody can write ------------------------------------------------------------------------


def arrays_in(value: object) -> Iterator[NDArray[Any]]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from arrays_in(part)
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from arrays_in(part)


KEPT = sorted(
    name
    for kind in Environment.__mro__
    for name, value in vars(kind).items()
    if isinstance(value, cached_property)
    and [*arrays_in(getattr(synthetic(3).environment(), name))]
)


def test_kept_arrays_are_found() -> None:
    assert {"rows", "similarity", "directions", "projections", "nova"} <= {*KEPT}


@pytest.mark.parametrize("name", ["units", *KEPT])
def test_kept_arrays_cannot_be_written(name: str) -> None:
    for array in arrays_in(getattr(synthetic(3).environment(), name)):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_fields_cannot_be_set() -> None:
    environment = synthetic(3).environment()
    for field in dataclasses.fields(environment):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(environment, field.name, None)


def test_arrays_of_the_caller_are_not_kept() -> None:
    bundle = synthetic(3)
    names = tuple(sorted(bundle.names))
    units = unit_rows(bundle.vectors, names)
    environment = Environment(names, units, bundle.tags)
    before, identity = environment.neighbors(names[0]), environment.identity
    units[:] = 0
    fresh = replace(environment)
    assert (fresh.neighbors(names[0]), fresh.identity) == (before, identity)


def test_answers_can_be_changed_without_harm() -> None:
    """What an operation hands out is the caller's."""
    environment = synthetic(3).environment()
    a, b = environment.items[:2]
    ids = np.arange(2)
    before = bits([environment.pairing_score(a, b), environment.similarities(ids)])
    environment.similarity  # noqa: B018 - from here on it is kept
    environment.similarities(ids)[:] = 0
    environment.neighbors(a).clear()
    for array in arrays_in(environment.columns()):
        if array.flags.writeable:
            array[...] = 0
    with contextlib.suppress(AttributeError):  # a view that cannot be changed does as well
        environment.pairing_score(a, b).percentiles.clear()  # type: ignore[attr-defined]
    assert bits([environment.pairing_score(a, b), environment.similarities(ids)]) == before
    assert environment.identity == synthetic(3).environment().identity


@pytest.mark.parametrize(
    "copied",
    [lambda e: pickle.loads(pickle.dumps(e)), copy.copy, copy.deepcopy, replace],
    ids=["pickle", "copy", "deepcopy", "replace"],
)
def test_copies_are_equal_and_cannot_be_written(
    copied: Callable[[Environment], Environment],
) -> None:
    """Also when all that is kept has been made."""
    environment = synthetic(3).environment()
    for name in KEPT:
        getattr(environment, name)
    _ = environment.pair_percentiles
    found = copied(environment)
    assert found.identity == environment.identity
    assert (found.name, found.provenance) == (environment.name, environment.provenance)
    for name in ("units", *KEPT):
        assert not any(array.flags.writeable for array in arrays_in(getattr(found, name)))


def test_an_environment_prints_in_a_line() -> None:
    text = repr(synthetic(3).environment())
    assert "40 items" in text
    assert len(text) < 80


# --- what is no environment ------------------------------------------------------------------


def parts() -> dict[str, Any]:
    """Items, units and tags of a small environment."""
    environment = synthetic(3).environment()
    return {"items": environment.items, "units": environment.units, "tags": environment.tags}


def spoilt(**changes: Any) -> dict[str, Any]:
    return parts() | changes


WRONG_TAGS = {
    "unknown region": {"regions": ("Atlantis",)},
    "no region": {"regions": ()},
    "a region twice": {"regions": ("Japanese", "Japanese")},
    "regions in another order": {"regions": ("East_Asian", "Japanese")},
    "NOVA 0": {"nova": 0},
    "NOVA 5": {"nova": 5},
}


@pytest.mark.parametrize("change", WRONG_TAGS.values(), ids=WRONG_TAGS)
def test_tags_that_are_none_are_refused(change: dict[str, Any]) -> None:
    """Equal tags have one form, or equal environments would not have one identity."""
    tags = [*parts()["tags"]]
    tags[4] = replace(tags[4], **change)
    with pytest.raises(InputError, match=parts()["items"][4]):
        Environment(**spoilt(tags=tuple(tags)))


UNITS = parts()["units"]
WRONG_PARTS = {
    "descending": {"items": parts()["items"][::-1]},
    "upper case": {"items": ("A", *parts()["items"][1:])},
    "a name twice": {"items": (parts()["items"][1], *parts()["items"][1:])},
    "a name fewer": {"items": parts()["items"][1:]},
    "tags fewer": {"tags": parts()["tags"][1:]},
    "float rows": {"units": UNITS * 2.0**-26},
    "int64 rows": {"units": UNITS.astype(np.int64)},
    "a vector": {"units": UNITS.ravel()},
    "zero rows": {"units": UNITS * 0},
    "double rows": {"units": UNITS * 2},
    "a coordinate less": {"units": UNITS[:, 1:]},
    "nothing": {"items": (), "units": UNITS[:0], "tags": ()},
}


@pytest.mark.parametrize("change", WRONG_PARTS.values(), ids=WRONG_PARTS)
def test_parts_that_make_no_environment_are_refused(change: dict[str, Any]) -> None:
    Environment(**parts())
    with pytest.raises(InputError) as caught:
        Environment(**spoilt(**change))
    assert str(caught.value).isprintable()

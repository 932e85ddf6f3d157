"""The open pantry as an environment: built naively, rebuilt, frozen, and good enough."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from itertools import combinations
from math import log
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from references import reference

from flavourbench.environment import Environment, open_environment, read_environment
from flavourbench.environment.names import Resolver
from flavourbench.environment.pantry.build import (
    DIMENSIONS,
    LABEL,
    METHOD,
    METHODS,
    build_environment,
    evidence_of,
)
from flavourbench.environment.pantry.tables import (
    ATTRIBUTES,
    FOLDER,
    PantryTables,
    read_tables,
)
from flavourbench.environment.store import BUILT_IN, BUILT_IN_FOLDER
from flavourbench.environment.words import data_lines
from flavourbench.errors import InputError
from flavourbench.tasks.agreement import agreement
from flavourbench.tasks.files import BUNDLED, read_all

TABLES = read_tables()
FROZEN = open_environment()
#: Everything that is compiled, stored or ranked with the pantry names it by this.
IDENTITY = "280752935b4fb970b9736c0e6fc4d22d049def112b3b026c1803503df0e7478f"
#: Bytes of tables, environment and panels in the wheel.
LARGEST = 6_000_000


def few(count: int = 60) -> PantryTables:
    """The packaged tables for every so many-th ingredient."""
    step = len(TABLES.names) // count
    kept = {name for at, name in enumerate(TABLES.names) if at % step == 0}
    ingredients = tuple(row for row in TABLES.ingredients if row.name in kept)
    dishes = [replace(d, ingredients=tuple(sorted(kept & {*d.ingredients}))) for d in TABLES.dishes]
    recipes = [
        replace(r, ingredients=tuple(sorted(kept & {*r.ingredients}))) for r in TABLES.recipes
    ]
    return PantryTables(
        ingredients,
        tuple(d for d in dishes if len(d.ingredients) > 1),
        tuple(r for r in recipes if len(r.ingredients) > 1),
        (),
    )


def naive_kernel(tables: PantryTables) -> np.ndarray:
    """0.7 first order + 1 second order + 0.2 attributes, from loops over pairs and words."""
    names = tables.names
    together: dict[tuple[str, str], float] = {}
    sets = [(1.0, row.ingredients) for row in tables.recipes]
    sets += [(0.3, row.ingredients) for row in tables.dishes]
    for weight, basket in sets:
        for a, b in combinations(basket, 2):
            together[a, b] = together.get((a, b), 0) + weight
            together[b, a] = together.get((b, a), 0) + weight
    margin = {name: sum(together.get((name, other), 0) for other in names) for name in names}
    total = sum(margin.values())
    npmi = np.zeros((len(names), len(names)))
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            if (a, b) in together:
                pmi = log(together[a, b] * total / (margin[a] * margin[b]))
                npmi[i, j] = max(pmi, 0) / -log(together[a, b] / total)
    words = [
        {(key, word): len(cell) ** -0.5 for key, cell in cells.items() for word in cell}
        for cells in (
            {key: row.attributes[key] for key in ATTRIBUTES}
            | {"category": (row.tags.category,), "region": row.tags.regions}
            for row in tables.ingredients
        )
    ]
    holders: dict[tuple[str, str], int] = {}
    for row in words:
        for word in row:
            holders[word] = holders.get(word, 0) + 1
    order = sorted(holders)
    attributes = np.array(
        [[row.get(w, 0) * log(len(names) / holders[w]) ** 0.5 for w in order] for row in words]
    )

    def cosine(rows: np.ndarray) -> np.ndarray:
        norms = np.linalg.norm(rows, axis=1)
        rows = np.where(norms[:, None] > 1e-6, rows, 0)  # no partner: rounding alone
        norms[norms <= 1e-6] = 1
        return rows @ rows.T / np.outer(norms, norms)

    values, vectors = scipy.linalg.eigh(npmi)
    largest = np.argsort(-values)[:DIMENSIONS]
    first = cosine(vectors[:, largest] * np.sqrt(np.maximum(values[largest], 0)))
    return 0.7 * first + cosine(npmi) + 0.2 * cosine(attributes)


def test_rows_are_those_of_a_naive_build() -> None:
    """Fewer ingredients than dimensions: cosines are those of the kernel itself."""
    tables = few()
    built = build_environment(tables)
    kernel = naive_kernel(tables)
    scale = np.sqrt(np.diagonal(kernel))
    assert METHOD == "npmi-blend"
    assert np.abs(built.similarity - kernel / np.outer(scale, scale)).max() < 1e-6


def test_rows_are_the_best_approximation_of_their_rank() -> None:
    """More ingredients than dimensions: the leading part of the spectrum, by another solver."""
    tables = few(400)
    kernel = naive_kernel(tables)
    size = len(tables.names)
    assert size > DIMENSIONS
    values, vectors = scipy.linalg.eigh(kernel, subset_by_index=(size - DIMENSIONS, size - 1))
    rows = vectors * np.sqrt(np.maximum(values, 0))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    built = build_environment(tables)
    assert np.abs(built.similarity - rows @ rows.T).max() < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_unit_rows_for_every_ingredient(method: str) -> None:
    tables = few(400)
    found = evidence_of(tables)
    rows = METHODS[method](found)
    assert rows.shape == (len(tables.names), min(DIMENSIONS, len(tables.names)))
    norms = np.linalg.norm(rows, axis=1)
    assert np.all((np.abs(norms - 1) < 1e-9) | (norms == 0))
    # Without a partner there is nothing but attributes to go by.
    alone = ~found.positive_pmi.any(axis=1)
    assert alone.any()
    zero = norms == 0
    with_attributes = "attributes" in method or "blend" in method
    assert not zero.any() if with_attributes else zero[alone].all()
    if "second" in method:
        assert not zero[~alone].any()


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match="method 'best': use npmi-blend, "):
        build_environment(few(), method="best")


@pytest.fixture(scope="module")
def rebuilt() -> Environment:
    return build_environment(TABLES, BUILT_IN)


def test_the_frozen_rows_follow_from_the_tables(rebuilt: Environment) -> None:
    assert rebuilt.items == FROZEN.items
    assert rebuilt.tags == FROZEN.tags
    assert np.abs(rebuilt.similarity - FROZEN.similarity).max() < 1e-3
    assert rebuilt.provenance == FROZEN.provenance


def test_rounding_elsewhere_would_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine's rounding, exaggerated: all that is factorised is off by 1e-9."""
    source = np.random.default_rng(2)
    eigh = np.linalg.eigh

    def noisy(kernel: np.ndarray) -> object:
        noise = source.normal(size=kernel.shape)
        return eigh(kernel * (1 + 1e-9 * (noise + noise.T)))

    monkeypatch.setattr(np.linalg, "eigh", noisy)
    again = build_environment(TABLES, BUILT_IN)
    assert again.identity != FROZEN.identity
    assert np.abs(again.similarity - FROZEN.similarity).max() < 1e-6


def test_building_twice_gives_the_same_bits(rebuilt: Environment) -> None:
    assert build_environment(read_tables(), BUILT_IN).identity == rebuilt.identity


def test_the_frozen_file_is_the_one_that_everything_pins() -> None:
    assert FROZEN.identity == IDENTITY
    assert FROZEN.name == BUILT_IN
    assert FROZEN.title == "Open Pantry"
    assert LABEL in FROZEN.described


@pytest.mark.timed
def test_it_loads_fast_and_is_small() -> None:
    times = []
    for _ in range(7):
        began = time.perf_counter()
        read_environment(BUILT_IN_FOLDER)
        times.append(time.perf_counter() - began)
    assert sorted(times)[3] < 0.050
    places = (BUILT_IN_FOLDER, FOLDER, BUNDLED)
    files = [path for place in places for path in place.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LARGEST


def test_what_names_suggest_are_items() -> None:
    """Every suggestion of the table for kinds and brands is understood here."""
    resolver = Resolver(FROZEN.items)
    suggested = [line.split(":")[1].split(",") for line in data_lines("suggestions.txt")]
    names = {name.strip() for line in suggested for name in line}
    assert len(names) > 200
    assert {name for name in names if resolver.find(name).name is None} == set()


def test_published_names_resolve_to_one_item_each() -> None:
    published = json.loads(reference("epicure-cooc/vocab.json").read_text())
    resolver = Resolver(FROZEN.items)
    found = [resolver.find(name).name for name in published]
    share = sum(name is not None for name in found) / len(published)
    assert share >= 0.9


def test_agreement_with_the_released_tasks_stays() -> None:
    """Far above chance (31) and word vectors (49); measured, never built upon."""
    folder: Path = reference("flavourbench-lab")
    tasks = read_all([folder / "train_tasks.jsonl", folder / "validation_tasks.jsonl"])
    found = agreement(tasks, FROZEN)
    assert found["resolved"] == found["tasks"] == 426
    assert found["mean"] > 65

"""Speed of the environment: all operations for 1,790 items, and loading a stored one.

The yardstick answers item by item in plain NumPy: one product, one mask, one stable sort.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benches.report import say, timed
from flavourbench.environment import (
    Environment,
    batch,
    open_environment,
    read_environment,
    write_environment,
)
from flavourbench.environment.pantry.build import build_environment
from flavourbench.environment.pantry.tables import read_tables
from flavourbench.environment.space import Tags, unit_rows
from flavourbench.environment.taxonomy import COMPLEMENTS, REGIONS, UNIVERSAL

ITEMS, DIMENSIONS, K = 1790, 300, 10


def synthetic_environment() -> Environment:
    """Random rows and tags of the published size and proportions."""
    rng = np.random.default_rng(20260811)
    words = ["".join(letters) for letters in product("abcdefghij", repeat=3)][:900]
    names = sorted(
        {f"{words[a]}_{words[b]}" for a, b in rng.integers(0, len(words), (ITEMS + 200, 2))}
    )[:ITEMS]
    categories = [*COMPLEMENTS, "Pantry"]
    tags = []
    for _ in names:
        some = rng.choice(len(REGIONS), rng.integers(1, 3), replace=False)
        regions = tuple(REGIONS[at] for at in sorted(some)) if rng.random() < 0.55 else (UNIVERSAL,)
        vegan = bool(rng.random() < 0.8)
        nova = [None, 1, 2, 3, 4][rng.choice(5, p=[0.13, 0.4, 0.1, 0.23, 0.14])]
        category = categories[rng.integers(len(categories))]
        tags.append(Tags(category, regions, vegan or bool(rng.random() < 0.3), vegan, nova))
    rows = rng.normal(size=(ITEMS, DIMENSIONS)) + 0.3 * rng.normal(size=DIMENSIONS)
    return Environment(tuple(names), unit_rows(rows, names), tuple(tags), "synthetic")


def one_by_one(
    environment: Environment, allowed: Callable[[int], NDArray[np.bool_]]
) -> NDArray[np.int64]:
    """The best items of every item, int64 [n, K], -1 where fewer are allowed."""
    best = np.full((len(environment), K), -1, np.int64)
    for at in range(len(environment)):
        scores = environment.rows @ environment.rows[at]
        order = np.argsort(-scores, kind="stable")
        found = order[allowed(at)[order]][:K]
        best[at, : len(found)] = found
    return best


def masks(environment: Environment) -> dict[str, Callable[[int], NDArray[np.bool_]]]:
    """What each operation allows for one item, from the tags."""
    tags = environment.tags
    category = np.array([tag.category for tag in tags])
    region = np.array([[name in tag.regions for name in REGIONS] for tag in tags])
    universal = np.array([UNIVERSAL in tag.regions for tag in tags])
    vocabulary = sorted({word for name in environment.items for word in name.split("_")})
    words = np.array([np.isin(vocabulary, name.split("_")) for name in environment.items])
    passes: NDArray[np.bool_] = np.array([tag.vegan and (tag.nova or 9) <= 3 for tag in tags])

    def others(at: int) -> NDArray[np.bool_]:
        return np.not_equal(np.arange(len(tags)), at)

    def substitutes(at: int) -> NDArray[np.bool_]:
        near: NDArray[np.bool_] = universal | universal[at] | (region & region[at]).any(axis=1)
        near &= (category == category[at]) & ~words[:, words[at]].any(axis=1)
        return near

    def pairings(at: int) -> NDArray[np.bool_]:
        fits: NDArray[np.bool_] = np.isin(category, COMPLEMENTS.get(tags[at].category, ()))
        fits &= passes
        return fits

    return {"neighbors": others, "substitutes": substitutes, "pairings": pairings}


def everything(environment: Environment) -> dict[str, NDArray[np.int64]]:
    """All similarities and every operation for all items, on a fresh copy without caches."""
    fresh = Environment(environment.items, environment.units, environment.tags)
    ids = batch.all_items(fresh)
    found = {
        "neighbors": batch.neighbors(fresh, ids, K),
        "substitutes": batch.substitutes(fresh, ids, K),
        "pairings": batch.pairings(fresh, ids[:, None], K, "vegan", 3)[0],
        "morph": batch.morph(fresh, ids, fresh.directions[REGIONS[0]], 30, K),
    }
    batch.standings(fresh, np.array([*fresh.pair_percentiles.values()]))
    batch.infeasible(fresh, "vegan", 2)
    _ = fresh.region_spread
    return {name: ranked.ids for name, ranked in found.items()}


def bench_environment(rounds: int) -> None:
    """All operations in one go, and loading from disk."""
    environment = synthetic_environment()
    everything(environment)
    wall, found = timed(lambda: everything(environment), rounds)
    slow = 0.0
    for name, allowed in masks(environment).items():
        seconds, expected = timed(partial(one_by_one, environment, allowed), 1)
        np.testing.assert_array_equal(found[name], expected)
        slow += seconds
    say("item by item in NumPy: 3 of the operations", f"{1000 * slow:.0f} ms")
    say(
        "environment, similarities and all operations, all items",
        f"{1000 * wall:.0f} ms, {slow / wall:.0f} x",
        "< 300 ms",
        wall < 0.3,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "environment"
        write_environment(environment, path)
        read_environment(path)
        loaded: Any
        wall, loaded = timed(lambda: read_environment(path), 3 * rounds)
        assert loaded.identity == environment.identity
    say("loading a stored environment", f"{1000 * wall:.0f} ms", "< 50 ms", wall < 0.05)
    _bench_pantry(rounds)


def _bench_pantry(rounds: int) -> None:
    """The environment that ships with the package: loaded, and built from its tables."""
    pantry: Any
    wall, pantry = timed(open_environment, 3 * rounds)
    say("loading the pantry", f"{1000 * wall:.0f} ms", "< 50 ms", wall < 0.05)
    built: Any
    wall, built = timed(lambda: build_environment(read_tables()), 1)
    assert np.abs(built.similarity - pantry.similarity).max() < 1e-3
    say("the pantry built from its tables", f"{wall:.1f} s", "< 10 s", wall < 10)

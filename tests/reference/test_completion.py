"""Completion of recipes beside a naive one: every hidden ingredient ranked by a sorted list."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pytest

from flavourbench.environment.pantry.completion import (
    FOLDS,
    LEAST_VISIBLE,
    Affinity,
    complete,
    fold_of,
)
from flavourbench.environment.space import Indices
from flavourbench.errors import InputError

ITEMS = 40


def made_up(seed: int = 3) -> dict[str, Indices]:
    source = np.random.default_rng(seed)

    def one() -> Indices:
        size = int(source.integers(2, 9))
        return np.sort(source.choice(ITEMS, size, replace=False)).astype(np.int64)

    return {f"page {at}": one() for at in range(60)}


def counts(sets: list[Indices]) -> np.ndarray:
    found = np.zeros((ITEMS, ITEMS))
    for ids in sets:
        for i in ids:
            for j in ids:
                found[i, j] += i != j
    return found


def by_counts(sets: list[Indices]) -> Affinity:
    # Few different values, so that ties occur; a prior that breaks some of them.
    return Affinity(np.floor(counts(sets) / 2), 1e-3 * (np.arange(ITEMS) % 3))


def by_index(sets: list[Indices]) -> Affinity:
    return Affinity(np.zeros((ITEMS, ITEMS)), -np.arange(ITEMS, dtype=np.float64))


def both(training: list[Indices]) -> Iterator[tuple[tuple[str, str], Affinity]]:
    yield ("methods", "counts"), by_counts(training)
    yield ("methods", "index"), by_index(training)


def naive(recipes: dict[str, Indices], method) -> list[tuple[float, float]]:  # type: ignore[no-untyped-def]
    found = []
    for page in sorted(recipes):
        ids = recipes[page].tolist()
        if len(ids) <= LEAST_VISIBLE:
            continue
        training = [recipes[other] for other in sorted(recipes) if fold_of(other) != fold_of(page)]
        affinity = method(training)
        ranks = []
        for hidden in ids:
            visible = [item for item in ids if item != hidden]
            scores = {
                item: np.mean([affinity.pairs[v, item] for v in visible]) + affinity.prior[item]
                for item in range(ITEMS)
                if item not in visible
            }
            above = sum(score > scores[hidden] + 1e-12 for score in scores.values())
            level = sum(abs(score - scores[hidden]) <= 1e-12 for score in scores.values())
            ranks.append(above + (level + 1) / 2)
        found.append((np.mean([1 / r for r in ranks]), np.mean([r <= 10 for r in ranks])))
    return found


def test_against_the_naive_one() -> None:
    recipes = made_up()
    found = complete(recipes, both, ITEMS)
    for name, method in {"counts": by_counts, "index": by_index}.items():
        mrr, recall = np.mean(naive(recipes, method), axis=0)
        assert found["methods"][name]["mrr"]["value"] == pytest.approx(mrr, abs=1e-12)
        assert found["methods"][name]["recall"]["value"] == pytest.approx(recall, abs=1e-12)
    large = [ids for ids in recipes.values() if len(ids) > LEAST_VISIBLE]
    assert found["recipes"] == len(large)
    assert found["hidden"] == sum(map(len, large))
    assert found["left_out"] == len(recipes) - len(large)


def test_a_method_never_sees_the_recipe_it_completes() -> None:
    recipes = made_up()
    seen = []

    def methods(training: list[Indices]) -> Iterator[tuple[tuple[str, str], Affinity]]:
        seen.append({tuple(ids.tolist()) for ids in training})
        yield ("methods", "counts"), by_counts(training)

    complete(recipes, methods, ITEMS)
    assert len(seen) == FOLDS
    own = {page: tuple(ids.tolist()) for page, ids in recipes.items()}
    for fold, sets in enumerate(seen):
        held = {ids for page, ids in own.items() if fold_of(page) == fold}
        kept = {ids for page, ids in own.items() if fold_of(page) != fold}
        assert sets == kept
        assert held - kept
        assert not (held - kept) & sets


def test_intervals_hold_means_and_leads_are_paired() -> None:
    recipes = made_up()
    found = complete(recipes, both, ITEMS)["methods"]
    assert found["counts"]["behind"] is None
    for measure in ("mrr", "recall"):
        lead = found["index"]["behind"][measure]
        values = [found[name][measure]["value"] for name in ("counts", "index")]
        assert lead["value"] == pytest.approx(values[0] - values[1], abs=1e-12)
        for figure in (lead, found["counts"][measure], found["index"][measure]):
            assert figure["low"] <= figure["value"] <= figure["high"]
            assert figure["low"] < figure["high"]
    # The interval of a mean over recipes, as the textbook has it.
    values = np.array(naive(recipes, by_counts))[:, 0]
    half = 1.96 * values.std() / np.sqrt(len(values))
    own = found["counts"]["mrr"]
    assert own["high"] - own["low"] == pytest.approx(2 * half, rel=0.1)


@pytest.mark.parametrize("count", range(FOLDS))
def test_too_few_recipes_are_refused(count: int) -> None:
    few = {f"page {at}": np.arange(4 if at < count else 3) for at in range(20)}
    with pytest.raises(InputError, match=f"{count} recipes with more than 3 known ingredients"):
        complete(few, both, ITEMS)


def test_folds_depend_on_the_page_alone() -> None:
    # First eight bytes of the SHA-256 of the page, modulo 5.
    digests = [hashlib.sha256(f"page {at}".encode()).hexdigest() for at in range(50)]
    assert [fold_of(f"page {at}") for at in range(50)] == [int(d[:16], 16) % 5 for d in digests]
    shares = np.bincount([fold_of(f"page {at}") for at in range(5000)]) / 5000
    assert np.abs(shares - 1 / FOLDS).max() < 0.02

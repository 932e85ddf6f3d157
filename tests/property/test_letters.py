"""Laws of the compact letter display: it says what pair decisions say, and no letter is idle."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from strategies import few

from fbcore.letters import letters
from flavourbench.analysis.result import letter_names

Relation = NDArray[np.bool_]


def symmetric(upper: Relation) -> Relation:
    """The relation that holds one way or the other, and between nobody and themselves."""
    one: Relation = np.triu(upper, 1)
    return one | one.T


@st.composite
def relations(draw: st.DrawFn) -> Relation:
    """Decisions of up to 60 models: any, or those that a distance on a line makes."""
    models = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    if draw(st.booleans()):
        return symmetric(rng.random((models, models)) < draw(st.floats(0, 1)))
    place = rng.normal(size=models)
    reach = draw(st.floats(0, 3)) * (1 + draw(st.floats(0, 1)) * rng.random((models, models)))
    return symmetric(np.abs(place[:, None] - place) > reach)


def check(order: NDArray[np.int64], resolved: Relation) -> Relation:
    """Letters that reproduce every decision, of which none could go."""
    held = letters(order, resolved)
    shared = held.astype(np.int64) @ held.T.astype(np.int64)
    np.testing.assert_array_equal(shared > 0, ~resolved)
    for column in held.T:
        others = shared - np.outer(column, column)
        assert ((others > 0) != (shared > 0)).any(), "what this letter says, others say too"
    return held


@few(150)
@given(relations(), st.randoms(use_true_random=False))
def test_letters_reproduce_every_decision(resolved: Relation, random: object) -> None:
    order = np.arange(len(resolved))
    random.shuffle(order)  # type: ignore[attr-defined]
    held = check(order, resolved)
    first = [int(np.flatnonzero(column[order])[0]) for column in held.T]
    assert first == sorted(first), "letters begin with the best models"


@few(60)
@given(relations(), st.randoms(use_true_random=False))
def test_numbers_of_models_do_not_matter(resolved: Relation, random: object) -> None:
    """Only the order of scores does: renumbered models keep their letters."""
    models = len(resolved)
    number = np.arange(models)
    random.shuffle(number)  # type: ignore[attr-defined]
    expected = letters(np.arange(models), resolved)
    moved = np.empty_like(resolved)
    moved[np.ix_(number, number)] = resolved
    np.testing.assert_array_equal(letters(number, moved)[number], expected)


def matching(models: int) -> Relation:
    """Only neighbours are resolved: there are 2**(models / 2) largest sets without such a pair."""
    at = np.arange(models)
    return (at[:, None] // 2 == at // 2) & (at[:, None] != at)


ODD = {
    "nothing resolved": np.zeros((60, 60), np.bool_),
    "everything resolved": ~np.eye(60, dtype=np.bool_),
    "neighbours": matching(60),
    "two camps": (np.arange(60)[:, None] % 2) != (np.arange(60) % 2),
    "one camp of many": ((np.arange(60)[:, None] % 2) == (np.arange(60) % 2))
    & ~np.eye(60, dtype=np.bool_),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_relations(name: str) -> None:
    held = check(np.arange(60), ODD[name])
    known = {"nothing resolved": 1, "everything resolved": 60, "two camps": 2}
    if name in known:
        assert held.shape[1] == known[name]
    if name == "neighbours":
        assert held.shape[1] <= 60, "of 2**30 largest sets a few will do"


def test_names_part_all_letters() -> None:
    names = letter_names(np.ones(80, np.bool_))
    assert names[:2] + names[25:28] + names[52:53] == ["a", "b", "z", "a2", "b2", "a3"]
    assert len({*names}) == 80
    joined = "".join(letter_names(np.arange(80) % 13 == 0))
    assert joined == "ana2n2a3n3a4"

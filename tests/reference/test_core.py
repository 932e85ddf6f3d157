"""The common core against a plain computation, and what it is blind to."""

from __future__ import annotations

import ast
import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flavourbench.analysis import core as module
from flavourbench.analysis.core import Place, freeze
from flavourbench.collect.outcomes import ANSWERED, OUTCOMES
from flavourbench.errors import InputError

PLACES = [Place(f"t{n}", f"p{n % 2}", f"f{n % 3}") for n in range(60)]
cells = st.dictionaries(
    st.sampled_from([place.task_id for place in PLACES]), st.sampled_from(OUTCOMES[:-2])
)


def outcomes_with(wrong: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Everything answered but for these cells."""
    whole = {place.task_id: ANSWERED for place in PLACES}
    return {slot: whole | cells_ for slot, cells_ in wrong.items()}


def plain(outcomes: dict[str, dict[str, str]], seed: str) -> dict[tuple[str, str], list[str]]:
    """By hand: valid for all, by digest, as many as the poorest panel and family has."""
    found: dict[tuple[str, str], list[str]] = {}
    for place in PLACES:
        names = found.setdefault((place.panel, place.family), [])
        if all(of.get(place.task_id) == "answered" for of in outcomes.values()):
            names.append(place.task_id)
    for (panel, family), names in found.items():
        digests = {}
        for name in names:
            row = json.dumps(["fb-core-1", seed, panel, family, name], separators=(",", ":"))
            digests[name] = hashlib.sha256(row.encode()).hexdigest()
        names.sort(key=digests.__getitem__)
    size = min(map(len, found.values()))
    return {key: names[:size] for key, names in found.items()}


@given(st.dictionaries(st.sampled_from("abc"), cells, min_size=1), st.text("0123456789"))
def test_it_is_what_everybody_answered_by_digest(
    wrong: dict[str, dict[str, str]], seed: str
) -> None:
    outcomes = outcomes_with(wrong)
    expected = plain(outcomes, seed)
    if not all(expected.values()):
        with pytest.raises(InputError, match="0 tasks are valid"):
            freeze(outcomes, PLACES, seed)
        return
    found = freeze(outcomes, PLACES, seed)
    assert {key: list(names) for key, names in found.tasks.items()} == expected
    assert found.size == len(found.ids) // 6
    assert not found.ids & found.left_out.keys()
    for name, why in found.left_out.items():
        assert why == {slot: of[name] for slot, of in outcomes.items() if of[name] != ANSWERED}


def test_the_order_of_tasks_and_models_changes_nothing() -> None:
    outcomes = outcomes_with({"a": {"t3": "refused"}, "b": {"t7": "empty"}})
    found = freeze(outcomes, PLACES, "1")
    turned = freeze(dict(reversed(outcomes.items())), PLACES[::-1], "1")
    assert dict(turned.tasks) == dict(found.tasks)
    assert freeze(outcomes, PLACES, "2").tasks != found.tasks


def test_a_task_that_nobody_asked_a_model_is_missing() -> None:
    outcomes = outcomes_with({"a": {}, "b": {}})
    del outcomes["b"]["t5"]
    assert freeze(outcomes, PLACES, "1").left_out == {"t5": {"b": "missing"}}


def test_a_size_may_be_chosen_up_to_what_there_is() -> None:
    outcomes = outcomes_with({"a": {"t0": "refused"}})
    found = freeze(outcomes, PLACES, "1", 4)
    assert {len(names) for names in found.tasks.values()} == {4}
    assert all(set(names) <= {p.task_id for p in PLACES} - {"t0"} for names in found.tasks.values())
    with pytest.raises(
        InputError, match=r"panel p0, family f0: 9 tasks are valid.*10 are needed.*a"
    ):
        freeze(outcomes, PLACES, "1", 10)
    for empty in ({}, {"a": {}}):
        with pytest.raises(InputError, match=r"nothing to freeze|0 tasks are valid"):
            freeze(empty, PLACES if empty else [], "1")


def test_nothing_in_it_can_hold_a_score() -> None:
    """It imports outcomes, errors and digests, and knows no task, answer or number of one."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    ours = {
        node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("flavourbench")
    }
    assert ours == {
        "flavourbench.collect.outcomes",
        "flavourbench.errors",
        "flavourbench.identity",
    }

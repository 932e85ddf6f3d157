"""The common core against a plain computation, and what it is blind to."""

from __future__ import annotations

import ast
import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flavourbench.analysis import core as module
from flavourbench.analysis.core import Core, Coverage, Place, freeze, parse_core
from flavourbench.collect.outcomes import ANSWERED, OUTCOMES
from flavourbench.errors import InputError
from flavourbench.identity import canonical_json

PLACES = sorted(Place(f"t{n}", f"p{n % 2}", f"f{n % 3}") for n in range(60))
Outcomes = dict[str, dict[str, str]]
cells = st.dictionaries(
    st.sampled_from([place.task_id for place in PLACES]), st.sampled_from(OUTCOMES[:-2])
)


def outcomes_with(wrong: Outcomes) -> Outcomes:
    """Everything answered but for these cells."""
    whole = {place.task_id: ANSWERED for place in PLACES}
    return {slot: whole | cells_ for slot, cells_ in wrong.items()}


def coverage(outcomes: Outcomes, places: list[Place] | None = None) -> Coverage:
    """Cells that are not there were never asked."""
    order = PLACES if places is None else places
    return Coverage(
        tuple((slot, f"route of {slot}") for slot in outcomes),
        tuple(order),
        tuple(tuple(of.get(p.task_id, "missing") for p in order) for of in outcomes.values()),
    )


def frozen(outcomes: Outcomes, seed: str = "1", size: int | None = None) -> Core:
    return freeze(coverage(outcomes), seed, size)


def plain(outcomes: Outcomes, seed: str) -> dict[tuple[str, str], list[str]]:
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
def test_it_is_what_everybody_answered_by_digest(wrong: Outcomes, seed: str) -> None:
    outcomes = outcomes_with(wrong)
    expected = plain(outcomes, seed)
    if not all(expected.values()):
        with pytest.raises(InputError, match="0 tasks are valid"):
            frozen(outcomes, seed)
        return
    found = frozen(outcomes, seed)
    assert {key: list(names) for key, names in found.tasks.items()} == expected
    assert found.size == len(found.ids) // 6
    assert not found.ids & found.left_out.keys()
    for name, why in found.left_out.items():
        assert why == {slot: of[name] for slot, of in outcomes.items() if of[name] != ANSWERED}
    # Every task is in the core, left because of somebody, or was not needed.
    assert found.ids | {*found.left_out} | {*found.surplus} == {p.task_id for p in PLACES}
    for slot, of in outcomes.items():
        counts = Counter(outcome for outcome in of.values() if outcome != ANSWERED)
        assert found.invalid[slot] == counts
    assert parse_core(json.loads(canonical_json(found.content))) == found


def test_the_order_of_tasks_and_models_changes_nothing() -> None:
    outcomes = outcomes_with({"a": {"t3": "refused"}, "b": {"t7": "empty"}})
    found = frozen(outcomes)
    turned = freeze(coverage(dict(reversed(outcomes.items())), PLACES[::-1]), "1")
    assert turned.content == found.content
    assert frozen(outcomes, "2").tasks != found.tasks


@given(st.sampled_from("ab"), st.sampled_from(PLACES), st.sampled_from(OUTCOMES))
def test_an_outcome_that_changes_changes_the_core(slot: str, place: Place, outcome: str) -> None:
    """Its record always, its tasks where validity changed."""
    before = outcomes_with({"a": {"t3": "refused"}, "b": {}})
    after = {name: dict(of) for name, of in before.items()}
    after[slot][place.task_id] = outcome
    first, second = frozen(before), frozen(after)
    assert (first.sha256 == second.sha256) == (before == after)
    was, now = (
        all(of[place.task_id] == ANSWERED for of in outcomes.values())
        for outcomes in (before, after)
    )
    valid = [core.ids | {*core.surplus} for core in (first, second)]
    assert (valid[0] != valid[1]) == (was != now)


def test_a_task_that_nobody_asked_a_model_is_missing() -> None:
    outcomes = outcomes_with({"a": {}, "b": {}})
    del outcomes["b"]["t5"]
    assert frozen(outcomes).left_out == {"t5": {"b": "missing"}}


def test_a_size_may_be_chosen_up_to_what_there_is() -> None:
    outcomes = outcomes_with({"a": {"t0": "refused"}, "b": {}})
    found = frozen(outcomes, size=4)
    assert {len(names) for names in found.tasks.values()} == {4}
    assert all(set(names) <= {p.task_id for p in PLACES} - {"t0"} for names in found.tasks.values())
    # One model is one short, and it is said which.
    says = r"panel p0, family f0: 9 tasks are valid.*10 are needed \(valid of 10: a 9\)"
    with pytest.raises(InputError, match=says):
        frozen(outcomes, size=10)
    nobody = outcomes_with({"a": {p.task_id: "empty" for p in PLACES if p.family == "f1"}})
    with pytest.raises(InputError, match=r"family f1: 0 tasks are valid.*1 are needed.*a 0"):
        frozen(nobody)
    with pytest.raises(InputError, match="nothing to freeze"):
        Coverage((), (), ())


@pytest.mark.parametrize("score", [0.0, 73.5, 100, None, "73.5", "", "Answered", True])
def test_no_score_passes_for_an_outcome(score: object) -> None:
    row = (score, *("answered",) * (len(PLACES) - 1))
    with pytest.raises(InputError, match="is no outcome"):
        Coverage((("a", "r"),), tuple(PLACES), (row,))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ((("a", "r1"), ("a", "r2")), "occurs twice.*r1 and r2.*never pooled"),
        ((("a", "r1"), ("b", "r1")), "a and b are one route"),
    ],
)
def test_a_model_has_one_route_and_a_route_one_model(
    models: tuple[tuple[str, str], ...], says: str
) -> None:
    row = ("answered",) * len(PLACES)
    with pytest.raises(InputError, match=says):
        Coverage(models, tuple(PLACES), (row, row))


def test_a_task_counts_once() -> None:
    with pytest.raises(InputError, match="task t0 occurs twice"):
        Coverage((("a", "r"),), (PLACES[0], PLACES[0]), (("answered",) * 2,))


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

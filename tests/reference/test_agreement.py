"""Agreement with released tasks beside a float one written from the definitions."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations

import numpy as np
import pytest
from panels import small_environment, small_panels
from references import reference
from scipy.stats import spearmanr

from flavourbench.environment import Environment, read_bundle
from flavourbench.environment.space import unit_rows
from flavourbench.environment.tagfile import read_tags
from flavourbench.errors import InputError
from flavourbench.tasks.agreement import agreement, with_flags
from flavourbench.tasks.files import read_all
from flavourbench.tasks.taskset import Task, TaskSet

WEIGHTS = {"substitution": (0.8, 0.2), "pairing": (0.65, 0.35), "constraint": (0.7, 0.3)}
WEIGHTS |= {"regional": (0.75, 0.25)}


def other_environment() -> Environment:
    """The same items, other rows, some other flags."""
    own = small_environment()
    source = np.random.default_rng(8)
    rows = own.rows + 0.3 * source.normal(size=own.rows.shape)
    tags = tuple(
        replace(tag, vegan=not tag.vegan, vegetarian=True) if at % 5 == 0 else tag
        for at, tag in enumerate(own.tags)
    )
    return replace(own, units=unit_rows(rows, own.items), tags=tags)


def naive(task: Task, environment: Environment) -> tuple[int, float]:
    at = environment.index
    rows = environment.rows
    choices = [at[name] for name in task.choices]
    broken, utility = [], []
    for three in combinations(choices, 3):
        if task.region is None:
            relevance = np.mean([rows[at[task.anchor]] @ rows[item] for item in three])
        else:
            place = environment.regions.index(task.region)
            relevance = np.mean([environment.projections[item, place] for item in three])
        coherence = np.mean([rows[a] @ rows[b] for a, b in combinations(three, 2)])
        a, b = WEIGHTS[task.family]
        utility.append(a * relevance + b * coherence)
        tags = [environment.tags[item] for item in three]
        if task.family == "regional":
            broken.append(0 if len({tag.category for tag in tags}) == 3 else 1)
        else:
            broken.append(
                sum(
                    (task.diet is not None and not getattr(tag, task.diet))
                    or (task.max_nova is not None and (tag.nova or 9) > task.max_nova)
                    for tag in tags
                )
            )
    kept = [p for p in range(56) if broken[p] == min(broken)]
    best = max(kept, key=lambda p: utility[p])
    low, high = min(utility[p] for p in kept), max(utility[p] for p in kept)
    own = [
        round(10_000 * (utility[p] - low) / (high - low)) if p in kept and high > low else 0
        for p in range(56)
    ]
    rho = spearmanr(own, task.scores)[0] if len({*own}) > 1 else np.nan
    return task.scores[best], rho


@pytest.mark.parametrize("panel", range(3))
def test_against_the_naive_one(panel: int) -> None:
    tasks, environment = small_panels()[panel], other_environment()
    found = agreement(tasks, environment)
    scores = {}
    for family in tasks.families:
        chosen = [task for task in tasks.tasks if task.family == family]
        pairs = [naive(task, environment) for task in chosen]
        scores[family] = [score / 100 for score, _ in pairs]
        own = found["families"][family]
        assert own["score"] == pytest.approx(np.mean(scores[family]), abs=1e-9)
        rhos = [rho for _, rho in pairs if np.isfinite(rho)]
        assert own["spearman"] == pytest.approx(np.mean(rhos), abs=2e-4)
        assert own["chance"] == pytest.approx(np.mean([task.chance for task in chosen]) / 100)
        assert own["tasks"] == len(chosen)
    assert found["mean"] == pytest.approx(np.mean([*chain(*scores.values())]), abs=1e-9)
    assert (found["tasks"], found["resolved"]) == (len(tasks), len(tasks))


def test_an_environment_agrees_with_its_own_tasks() -> None:
    for tasks in small_panels():
        found = agreement(tasks, small_environment())
        assert found["mean"] == 100
        assert {entry["spearman"] for entry in found["families"].values()} == {1.0}


def test_unknown_names_count_as_chance_and_are_listed() -> None:
    tasks = small_panels()[0]
    lost = tasks.tasks[0]
    renamed = replace(lost, choices=("no_such_thing", *lost.choices[1:]))
    # Two names of one item leave fewer portfolios than were scored.
    other = tasks.tasks[1]
    doubled = replace(other, choices=(*other.choices[:7], f"{other.choices[0]}s"))
    changed = TaskSet((renamed, doubled, *tasks.tasks[2:]), {}, None, ())
    found = agreement(changed, small_environment())
    assert found["unresolved"] == {
        lost.id: ["no_such_thing"],
        other.id: [other.choices[0]],
    }
    assert found["resolved"] == len(tasks) - 2
    expected = 100 * (len(tasks) - 2) + float(lost.chance + other.chance) / 100
    assert found["mean"] == pytest.approx(expected / len(tasks))


def test_flags_of_another_environment() -> None:
    own, other = small_environment(), other_environment()
    flags = dict(zip(other.items, other.tags, strict=True))
    taken = with_flags(own, flags)
    assert [tag.vegan for tag in taken.tags] == [tag.vegan for tag in other.tags]
    assert [tag.category for tag in taken.tags] == [tag.category for tag in own.tags]
    assert np.array_equal(taken.units, own.units)
    with pytest.raises(InputError, match="no name of the flags, as nothing_here"):
        with_flags(own, {"nothing_here": other.tags[0]})


def test_of_two_names_of_an_item_its_own_counts() -> None:
    own = small_environment()
    name, tags = own.items[0], own.tags[0]
    typed = name.upper().replace("_", "-")
    opposite = replace(tags, vegan=not tags.vegan, vegetarian=True)
    for flags in ({typed: opposite, name: tags}, {name: tags, typed: opposite}):
        assert with_flags(own, flags).tags[0] == tags
    assert with_flags(own, {typed: opposite}).tags[0].vegan is opposite.vegan


def test_a_candidate_that_is_the_anchor_is_unresolved() -> None:
    tasks = small_panels()[0]
    task = tasks.tasks[0]
    own = replace(task, choices=(f"{task.anchor}s", *task.choices[1:]))
    found = agreement(TaskSet((own, *tasks.tasks[1:]), {}, None, ()), small_environment())
    assert found["unresolved"] == {task.id: [task.anchor]}


@pytest.mark.parametrize(
    ("family", "lack", "told"),
    [
        ("constraint", {"diet": None}, "no diet or no NOVA cap"),
        ("constraint", {"max_nova": None}, "no diet or no NOVA cap"),
        ("regional", {"region": None}, "has no direction here"),
    ],
)
def test_a_task_without_what_its_family_demands_is_refused(
    family: str, lack: dict[str, None], told: str
) -> None:
    tasks = small_panels()[0]
    task = next(task for task in tasks.tasks if task.family == family)
    alone = TaskSet((replace(task, **lack),), {}, None, ())
    with pytest.raises(InputError, match=f"{task.id}.*{told}"):
        agreement(alone, small_environment())


def test_the_figures_of_the_published_snapshot() -> None:
    """Its own tasks: 70 where flags are taken as all free, 85 with the published ones."""
    folder = reference("flavourbench-lab")
    tasks = read_all([folder / "train_tasks.jsonl", folder / "validation_tasks.jsonl"])
    tags = reference("epicure-mcp/ingredient_tags.csv")
    snapshot = read_bundle(reference("epicure-cooc"), tags)
    found = agreement(tasks, snapshot)
    assert found["tasks"] == found["resolved"] == 426
    assert found["chance"] == pytest.approx(31.5, abs=0.05)
    assert found["mean"] == pytest.approx(84.75, abs=0.05)
    free = tuple(replace(tag, vegan=True, vegetarian=True, nova=1) for tag in snapshot.tags)
    without = replace(snapshot, tags=free)
    assert agreement(tasks, without)["mean"] == pytest.approx(70.04, abs=0.05)
    assert agreement(tasks, with_flags(without, read_tags(tags).tags))["mean"] == found["mean"]

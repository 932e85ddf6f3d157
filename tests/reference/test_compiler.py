"""The compiler against its naive twin, and its panels against what they have to be."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bundles import Bundle, synthetic
from naive_compiler import ONE, Naive
from panels import Content, family_of, small_content
from references import reference
from running import tree

from flavourbench.environment import Environment, read_bundle
from flavourbench.environment.taxonomy import COMPLEMENTS, REGIONS
from flavourbench.errors import InputError
from flavourbench.tasks.compiler import compile_panels
from flavourbench.tasks.design import parse_design, read_design
from flavourbench.tasks.diagnostics import statistics
from flavourbench.tasks.taskset import Task, TaskSet

RANKED = ("substitution", "pairing", "constraint")
TRIOS = [*combinations(range(8), 3)]


def differences(panels: list[TaskSet], naive: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Every field in which two compilations differ."""
    assert [tasks.panels for tasks in panels] == [(name,) for name in naive]
    found = []
    for tasks in panels:
        rows = naive[tasks.panels[0]]
        assert len(tasks) == len(rows)
        for task, row in zip(tasks.tasks, rows, strict=True):
            found += [
                f"{task.id} {key}: {getattr(task, key)!r}, not {value!r}"
                for key, value in row.items()
                if getattr(task, key) != value
            ]
    return found


# --- made-up environments --------------------------------------------------------------------


def with_twins(bundle: Bundle) -> Bundle:
    """The bundle with every third row equal to the one before: cosines tie everywhere."""
    vectors = bundle.vectors.copy()
    vectors[1::3] = vectors[::3][: len(vectors[1::3])]
    return replace(bundle, vectors=vectors)


def as_is(content: Content) -> None:
    """Two panels that fill, and one apart."""


def starved(content: Content) -> None:
    """Panels that want all there is: later ones ask anchors again, strata fall short."""
    content["selection"] = {"strata": 4, "per_category": 60, "categories": 1}
    for panel in content["panels"]:
        panel |= {"per_stratum": 15, "regions": ["Japanese", "Mediterranean", "East_Asian"]}
    content["panels"][2]["per_stratum"] = 2
    content["panels"].insert(1, content["panels"].pop())
    family_of(content, "constraint")["vegetarian_step"] = "1"
    family_of(content, "pairing").update(weights=["0.5", "0.25"], least_pool=50)


def tied(content: Content) -> None:
    """Equal difficulties of several variants of an anchor, one stratum."""
    content["selection"] |= {"strata": 1, "per_category": 9, "categories": 1}
    for panel in content["panels"]:
        panel |= {"per_stratum": 20, "apart": panel["name"] == "test-2"}
    family_of(content, "constraint").update(nova_caps=[4, 1], vegetarian_step=0)
    family_of(content, "substitution").update(weights=[1, 0], least_spread=0)


def strict(content: Content) -> None:
    """Limits that bar many, other pools, another order of families, one more not ranked."""
    content["selection"]["categories"] = 2
    content["prompt"]["layout"] = f"\n\n{content['prompt']['layout']}\n"
    content["acceptance"] = {"feasible_portfolios": 30, "utility_range": "0.15"}
    content["excluded"] = ["green_onion", "dried_miso", "cumin", "basil_sauce"]
    families = {family["name"]: family for family in content["families"]}
    families["substitution"] |= {"least_spread": "0.15", "pool": ["shared_region"]}
    families["pairing"] |= {
        "feasible": "distinct_categories",
        "pool": ["nova_known", "no_shared_word"],
        "ranked": False,
        "among": 33,
    }
    families["regional"]["least_spread"] = "0.5"
    content["families"] = [families[name] for name in ("regional", "pairing", "substitution")]


@pytest.mark.parametrize(
    ("seed", "items", "twins", "change"),
    [
        (0, 300, False, as_is),
        (1, 360, False, starved),
        (2, 330, True, tied),
        (3, 400, False, strict),
        (4, 360, True, starved),
    ],
)
def test_made_up_panels_are_those_of_the_naive_compiler(
    seed: int, items: int, twins: bool, change: Callable[[Content], None]
) -> None:
    bundle = synthetic(seed, items, 12)
    environment = (with_twins(bundle) if twins else bundle).environment(f"made up, {seed}")
    content = small_content()
    change(content)
    design = parse_design(content)
    panels = compile_panels(environment, design)
    assert differences(panels, Naive(environment, design.content).panels()) == []
    assert all({*tasks.families} == {f.name for f in design.families} for tasks in panels)


@pytest.mark.parametrize("spare", range(-7, 2))
def test_poles_of_few_items_do_not_overlap(spare: int) -> None:
    """The low ones are drawn from so many that the high ones are among them."""
    environment = synthetic(5, 90, 12).environment()
    content = small_content()
    content["selection"] = {"strata": 1, "per_category": 9, "categories": 1}
    content["families"] = [family_of(content, "regional")]
    content["families"][0]["among"] = spare + sum(
        tags.category in COMPLEMENTS and not re.search(r"\d", name)
        for name, tags in zip(environment.items, environment.tags, strict=True)
    )
    content["panels"] = [content["panels"][0] | {"per_stratum": 50, "regions": [*REGIONS]}]
    design = parse_design(content)
    panels = compile_panels(environment, design)
    assert differences(panels, Naive(environment, design.content).panels()) == []


def test_starved_panels_ask_anchors_again_but_not_the_one_apart() -> None:
    """The case above is one in which the order of used anchors and the bar matter."""
    content = small_content()
    starved(content)
    panels = compile_panels(synthetic(1, 360, 12).environment(), parse_design(content))
    first, apart, second = (
        {task.anchor for task in tasks.tasks if task.family in RANKED} for tasks in panels
    )
    assert second & first
    assert second & apart
    assert second - first - apart
    assert not first & apart
    strata = Counter((task.panel, task.family, task.stratum) for t in panels for task in t.tasks)
    assert min(strata.values()) < 15 == max(strata.values())


def test_a_panel_that_cannot_be_filled_is_refused_with_its_numbers() -> None:
    environment = synthetic(0, 300, 12).environment()
    content = small_content()
    content["selection"]["categories"] = 14
    with pytest.raises(InputError, match=r"test-1: 9 tasks of family substitution, .* are 14: use"):
        compile_panels(environment, parse_design(content))
    content = small_content()
    family_of(content, "regional")["least_spread"] = 2
    with pytest.raises(InputError, match=r"test-1: 0 tasks of family regional, .* 1: use"):
        compile_panels(environment, parse_design(content))


# --- the real environment --------------------------------------------------------------------


def read_epicure() -> Environment:
    folder = reference("epicure-cooc")
    return read_bundle(folder, reference("epicure-mcp/ingredient_tags.csv"), "Epicure")


@pytest.fixture(scope="session")
def epicure() -> Environment:
    return read_epicure()


@pytest.fixture(scope="session")
def panels(epicure: Environment) -> list[TaskSet]:
    return compile_panels(epicure, read_design())


@pytest.fixture(scope="session")
def tasks(panels: list[TaskSet]) -> list[Task]:
    return [task for panel in panels for task in panel.tasks]


def test_real_panels_are_those_of_the_naive_compiler(
    epicure: Environment, panels: list[TaskSet]
) -> None:
    assert differences(panels, Naive(epicure, read_design().content).panels()) == []


def test_every_task_keeps_the_rules_of_acceptance(epicure: Environment, tasks: list[Task]) -> None:
    for task in tasks:
        mask = task.feasible
        assert mask is not None
        kept = [score for p, score in enumerate(task.scores) if mask >> p & 1]
        assert len(kept) >= 4
        assert (min(kept), max(kept), sorted(kept)[-2] < 10_000) == (0, 10_000, True)
        assert sum(kept) == sum(task.scores)
        utility = utilities(epicure, task)[[p for p in range(56) if mask >> p & 1]]
        assert np.ptp(utility) >= 1e-6
        points = (utility - utility.min()) / np.ptp(utility) * 10_000
        assert np.abs(points - kept).max() < 0.5001


def utilities(epicure: Environment, task: Task) -> Any:
    """Weighted means of all portfolios in floats, [56]."""
    at = [epicure.index[name] for name in task.choices]
    rows = epicure.rows[at]
    if task.region is None:
        relevance = rows @ epicure.rows[epicure.index[task.anchor]]
    else:
        relevance = epicure.projections[at, epicure.regions.index(task.region)]
    weight = {"substitution": 0.8, "pairing": 0.65, "constraint": 0.7, "regional": 0.75}
    first = weight[task.family]
    pair = rows @ rows.T
    return np.array(
        [
            first * relevance[[*trio]].mean()
            + (1 - first) * np.mean([pair[i, j] for i, j in combinations(trio, 2)])
            for trio in TRIOS
        ]
    )


def test_every_task_shows_what_its_family_asks_for(epicure: Environment, tasks: list[Task]) -> None:
    tags = dict(zip(epicure.items, epicure.tags, strict=True))
    excluded = {"sweet_potato_starch", "birds_eye_chili", "perilla_oil", "squid", "adjika"}
    for task in tasks:
        mine, others = tags[task.anchor], [tags[name] for name in task.choices]
        names = [task.anchor, *task.choices]
        assert len({*names}) == 9
        assert not excluded & {*names}
        assert all(re.fullmatch("[a-z]+(_[a-z]+)*", name) for name in names)
        assert {tags[name].category for name in names} <= {*COMPLEMENTS}
        assert task.category == mine.category
        if task.family == "substitution":
            assert {other.category for other in others} == {mine.category}
        elif task.family != "regional":
            assert {other.category for other in others} <= {*COMPLEMENTS[mine.category]}
        if task.family in ("substitution", "pairing"):
            regions = {*mine.regions, "universal"}
            universal = "universal" in mine.regions
            assert universal or all(regions & {*other.regions} for other in others)
        if task.family in RANKED:
            words = {*task.anchor.split("_")}
            assert not any(words & {*name.split("_")} for name in task.choices)
        if task.family == "constraint":
            assert task.diet is not None
            assert task.max_nova in (2, 3)
            passes = [
                getattr(o, task.diet) and o.nova is not None and o.nova <= task.max_nova
                for o in others
            ]
            assert sum(passes) == 4
            assert all(other.nova for other in others)
        if task.family == "regional":
            assert mine.regions == (task.region,)


def test_limits_of_anchors_categories_and_strata(panels: list[TaskSet]) -> None:
    for panel, size in zip(panels, (40, 40, 24), strict=True):
        chosen = panel.tasks
        assert len({task.anchor for task in chosen}) == len(chosen)
        categories = Counter((task.family, task.category) for task in chosen)
        assert max(categories.values()) <= 24
        strata = Counter((task.family, task.stratum) for task in chosen)
        for family in RANKED:
            assert len({c for f, c in categories if f == family}) >= 8
            assert [strata[family, stratum] for stratum in (1, 2, 3, 4)] == [size] * 4
        assert [*dict.fromkeys(task.family for task in chosen)] == [*RANKED, "regional"]
        asked = [frozenset(task.choices) for task in chosen if task.family == "regional"]
        assert len(asked) == len({*asked})
    ranked = [{t.anchor for t in panel.tasks if t.family in RANKED} for panel in panels]
    assert all(not a & b for a, b in combinations(ranked, 2))
    regions = [{t.region for t in panel.tasks if t.region is not None} for panel in panels]
    assert not (regions[0] | regions[1]) & regions[2]


def test_difficulty_falls_from_stratum_to_stratum(epicure: Environment, tasks: list[Task]) -> None:
    for family in (*RANKED, "regional"):
        found = {
            stratum: [difficulty(epicure, t) for t in tasks if (t.family, t.stratum) == key]
            for stratum in (1, 2, 3, 4)
            for key in [(family, stratum)]
        }
        for harder, easier in pairwise(found.values()):
            assert min(harder) >= max(easier)
        assert max(found[1]) > min(found[4])


def difficulty(epicure: Environment, task: Task) -> Fraction:
    """As the specification has it; exact."""
    if task.family == "constraint":
        assert task.max_nova is not None
        return task.max_nova + Fraction(task.diet == "vegetarian", 5)
    at = [epicure.index[name] for name in task.choices]
    if task.region is None:
        rows = epicure.units.astype(np.int64)
        values = sorted((rows[at] @ rows[epicure.index[task.anchor]]).tolist())
        return 1 / Fraction(values[-1] - values[0], ONE)
    column = epicure.projections[at, epicure.regions.index(task.region)]
    low = sorted(int(value * ONE) for value in column)
    return 1 / Fraction(sum(low[4:]) - sum(low[:4]), 4 * ONE)


def test_statistics_are_those_of_the_trial(panels: list[TaskSet]) -> None:
    ranges = {
        "substitution": ((44.9, 46), (5, 7.5), (56, 56)),
        "pairing": ((44, 46), (5, 7.5), (56, 56)),
        "constraint": ((3.4, 3.6), (29, 40), (4, 4)),
        "regional": ((35, 39), (0.5, 2.5), (43, 50)),
    }
    for panel in panels:
        for found in statistics(panel)["families"]:
            chance, gap, distinct = ranges[found["family"]]
            assert chance[0] <= found["chance"] <= chance[1]
            assert gap[0] <= found["median_top_gap"] <= gap[1]
            assert distinct[0] <= found["median_distinct_scores"] <= distinct[1]


def test_statistics_count_what_is_there(panels: list[TaskSet]) -> None:
    for panel in panels:
        found = statistics(panel)
        assert (found["tasks"], found["anchors"]) == (len(panel), len(panel))
        for entry in found["families"]:
            chosen = [task for task in panel.tasks if task.family == entry["family"]]
            gaps = sorted(10_000 - sorted(task.scores)[-2] for task in chosen)
            middle = (gaps[(len(gaps) - 1) // 2] + gaps[len(gaps) // 2]) / 200
            mean = sum(Fraction(sum(task.scores), 56) for task in chosen) / len(chosen)
            assert entry["tasks"] == entry["questions"] == len(chosen)
            assert entry["chance"] == pytest.approx(float(mean) / 100, abs=1e-9)
            assert entry["median_top_gap"] == pytest.approx(middle, abs=1e-9)
            assert entry["categories"] == len({task.category for task in chosen})
            assert sum(entry["strata"].values()) == len(chosen)


def test_no_prompt_shows_an_answer(tasks: list[Task]) -> None:
    triplet = re.compile(r"FINAL_SELECTION\s*:\s*[A-H]\s*,\s*[A-H]\s*,\s*[A-H]", re.IGNORECASE)
    for task in tasks:
        assert not triplet.search(task.prompt)
        assert "FINAL_SELECTION:" in task.prompt.splitlines()[-1]
        assert "Epicure" in task.prompt.splitlines()[0]
        assert not re.search("[{}_]", task.prompt.replace("FINAL_SELECTION", ""))
        for label, name in zip("ABCDEFGH", task.choices, strict=True):
            assert f"\n{label}. {name.replace('_', ' ')}\n" in task.prompt


@pytest.mark.timed
def test_all_panels_compile_in_three_seconds(panels: list[TaskSet]) -> None:
    """Kernels are there; the environment is as just read. The best of some, for a busy machine."""
    best = float("inf")
    for _ in range(4):
        fresh = read_epicure()
        start = time.perf_counter()
        again = compile_panels(fresh, read_design())
        best = min(best, time.perf_counter() - start)
        assert [panel.tasks for panel in again] == [panel.tasks for panel in panels]
        if best < 3:
            return
    pytest.fail(f"all panels took {best:.2f} s")


_COMPILE = """
import sys
from pathlib import Path
from flavourbench.environment import read_bundle
from flavourbench.tasks.compiler import compile_panels
from flavourbench.tasks.design import read_design
from flavourbench.tasks.panel import write_panels
environment = read_bundle(Path(sys.argv[1]), Path(sys.argv[2]), "Epicure")
write_panels(compile_panels(environment, read_design()), Path(sys.argv[3]))
"""


def test_bytes_do_not_depend_on_the_process(tmp_path: Path) -> None:
    inputs = [str(reference("epicure-cooc")), str(reference("epicure-mcp/ingredient_tags.csv"))]
    for number in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", _COMPILE, *inputs, str(tmp_path / number)],
            env=os.environ | {"PYTHONHASHSEED": number, "OPENBLAS_NUM_THREADS": number},
            check=True,
            timeout=120,
        )
    first, second = tree(tmp_path / "1"), tree(tmp_path / "2")
    assert len(first) == 3 * 4
    assert first == second


def test_the_development_panel_is_apart_from_the_others(panels: list[TaskSet]) -> None:
    *ranking, development = panels
    taken = {task.anchor for panel in ranking for task in panel.tasks}
    assert not taken & {task.anchor for task in development.tasks if task.ranked}
    regions = [{t.region for t in p.of_family("regional").tasks} for p in panels]
    assert not (regions[0] | regions[1]) & regions[2]
    assert len(regions[2]) == 2

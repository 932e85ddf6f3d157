"""The released development tasks: read, scored, written again, and told apart as published."""

from __future__ import annotations

import csv
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from panels import write_rows
from references import reference

from flavourbench.environment import Environment, read_bundle
from flavourbench.errors import InputError
from flavourbench.tasks.compiler import label_order
from flavourbench.tasks.diagnostics import statistics
from flavourbench.tasks.labels import PORTFOLIOS
from flavourbench.tasks.panel import read_panel, write_panel
from flavourbench.tasks.published import read_published
from flavourbench.tasks.reward import rewards
from flavourbench.tasks.taskset import Task, TaskSet, joined
from flavourbench.tasks.verify import imported, verify

SIZES = {
    "train_tasks.jsonl": 342,
    "validation_tasks.jsonl": 84,
    "supplemental_cultural_composition.jsonl": 283,
}
#: Published: panel → seed of the orders.
SEEDS = {
    "panel_1": "flavourbench-executable-selection-20260811",
    "panel_2": "flavourbench-executable-selection-replication-2-20260815",
}
each_file = pytest.mark.parametrize("name", SIZES)


def released(name: str) -> Path:
    return reference("flavourbench-lab") / name


@cache
def rows_of(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in released(name).read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def sets() -> dict[str, TaskSet]:
    return {name: read_published(released(name)) for name in SIZES}


@pytest.fixture(scope="module")
def environment() -> Environment:
    return read_bundle(reference("epicure-cooc"), reference("epicure-mcp/ingredient_tags.csv"))


@pytest.fixture(scope="module")
def tags() -> dict[str, dict[str, str]]:
    with reference("epicure-mcp/ingredient_tags.csv").open(encoding="utf-8", newline="") as lines:
        return {row["name"]: row for row in csv.DictReader(lines)}


@each_file
def test_every_row_is_read_as_it_stands(sets: dict[str, TaskSet], name: str) -> None:
    tasks = sets[name].tasks
    assert len(tasks) == SIZES[name]
    assert {task.parser for task in tasks} == {"published-v3"}
    for task, row in zip(tasks, rows_of(name), strict=True):
        assert (task.id, task.panel, task.split) == (
            row["task_id"],
            row["source_panel"],
            row["split"],
        )
        assert task.family == row["family"].replace("cultural_composition", "regional")
        assert (task.anchor, task.stratum) == (row["anchor_ingredient"], row["validation_stratum"])
        assert {**dict(zip("ABCDEFGH", task.choices, strict=True))} == row["choices"]
        assert (task.region, task.max_nova, task.diet) == tuple(
            row["oracle_reference"][key]
            for key in ("target_region", "maximum_nova", "constraint_variant")
        )
        assert task.feasible is None


@each_file
def test_look_up_gives_every_released_score(sets: dict[str, TaskSet], name: str) -> None:
    tasks = sets[name].tasks
    asked = [task for task in tasks for _ in PORTFOLIOS]
    texts = [f"FINAL_SELECTION: {', '.join(three)}" for three in PORTFOLIOS] * len(tasks)
    found = (rewards(asked, texts) * 100).round().astype(int).reshape(-1, 56).tolist()
    stated = [[r["selection_scores_bps"][three] for three in PORTFOLIOS] for r in rows_of(name)]
    assert found == stated


@each_file
def test_label_orders_follow_from_the_published_seeds(sets: dict[str, TaskSet], name: str) -> None:
    panels = Counter()
    for task in sets[name].tasks:
        names = sorted(task.choices)
        assert ("rep2" in task.id) == (task.panel == "panel_2")
        order = label_order(SEEDS[task.panel], task.id, names)
        assert [names[at] for at in order] == [*task.choices]
        panels[task.panel] += 1
    assert {*panels} == {*SEEDS}


@each_file
def test_files_are_written_again_byte_by_byte(
    sets: dict[str, TaskSet], name: str, tmp_path: Path
) -> None:
    original = released(name).read_bytes()
    assert write_rows(sets[name], tmp_path / "direct.jsonl").read_bytes() == original
    write_panel(sets[name], tmp_path / "panel")
    again = read_panel(tmp_path / "panel")
    assert again.tasks == sets[name].tasks
    assert [dict(t.extra) for t in again.tasks] == [dict(t.extra) for t in sets[name].tasks]
    assert write_rows(again, tmp_path / "folder.jsonl").read_bytes() == original


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("prompt", "Choose."),
        ("prompt_sha256", "0" * 64),
        ("selection_size", 4),
        ("optimal_selection", "ABD"),
        ("chance_score_bps", 1),
        ("optimal_margin_bps", 1),
        ("oracle_reference", {}),
        ("oracle_reference_sha256", "0" * 64),
    ],
)
def test_rows_that_contradict_themselves_are_refused(key: str, value: Any, tmp_path: Path) -> None:
    rows = [dict(row) for row in rows_of("validation_tasks.jsonl")[:3]]
    assert rows[1][key] != value
    rows[1][key] = value
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    told = {"prompt": "prompt_sha256", "oracle_reference": "oracle_reference_sha256"}
    with pytest.raises(InputError, match=f"line 2: .*{told.get(key, key)} is ") as refused:
        read_published(path)
    assert str(refused.value).isprintable()


def test_feasible_portfolios_follow_from_the_tags(
    environment: Environment, tags: dict[str, dict[str, str]]
) -> None:
    tasks, checks = imported([released(name) for name in SIZES], environment)
    assert [check for check in checks if check["passed"] is False] == []
    assert len(tasks) == sum(SIZES.values())
    seen: Counter[str] = Counter()
    for task in tasks.tasks:
        mask = task.feasible
        if task.family in ("substitution", "pairing"):
            assert mask in (None, 2**56 - 1)
            continue
        assert mask is not None
        seen[task.family] += 1
        kept = [bool(mask >> p & 1) for p in range(56)]
        assert kept == feasible(task, tags)
        scores = [score for score, ok in zip(task.scores, kept, strict=True) if ok]
        assert len(scores) >= 4
        assert (min(scores), max(scores), sum(scores)) == (0, 10_000, sum(task.scores))
    assert seen["regional"] == 283
    assert seen["constraint"] > 100


def feasible(task: Task, tags: dict[str, dict[str, str]]) -> list[bool]:
    """By the words of the specification, from the tags file."""
    items = dict(zip("ABCDEFGH", (tags[name] for name in task.choices), strict=True))
    if task.family == "regional":
        return [len({items[c]["primary_category"] for c in three}) == 3 for three in PORTFOLIOS]
    cap = float(task.max_nova or 0)
    passes = {
        label: item[f"is_{task.diet}"] == "True" and float(item["nova_level"] or "inf") <= cap
        for label, item in items.items()
    }
    return [all(passes[label] for label in three) for three in PORTFOLIOS]


def test_masks_live_through_a_panel_folder_and_are_verified(
    environment: Environment, tmp_path: Path
) -> None:
    tasks, _ = imported([released(name) for name in SIZES], environment)
    write_panel(tasks, tmp_path / "panel")
    assert read_panel(tmp_path / "panel").tasks == tasks.tasks
    checks = {c["check"]: c["passed"] for c in verify(tmp_path / "panel", lambda _: environment)}
    assert False not in checks.values()
    assert checks["feasible portfolios"] is True
    # Nobody says which environment scored these, so that no score can be derived anew.
    assert (checks["scores"], checks["environment"]) == (None, None)


def test_tags_that_contradict_the_scores_are_told(environment: Environment, tmp_path: Path) -> None:
    """One optimum that the tags forbid is enough."""
    names = [name for name in SIZES if name.startswith("val")]
    source = read_published(released(names[0]))
    task = next(task for task in source.tasks if task.family == "constraint")
    at = environment.index[task.choices["ABCDEFGH".index(task.optimum[0])]]
    other = [*environment.tags]
    other[at] = type(other[at])(other[at].category, other[at].regions, False, False, 4)
    changed = Environment(environment.items, environment.units, tuple(other), "changed")
    path = write_rows(source, tmp_path / "tasks.jsonl")
    checks = {check["check"]: check for check in verify(path, lambda _: changed)}
    assert checks["feasible portfolios"]["passed"] is False
    assert task.id in checks["feasible portfolios"]["detail"]


def test_statistics_are_near_the_published_ones(sets: dict[str, TaskSet]) -> None:
    """Chance, median top gap and distinct scores of the published core: other tasks, one rule."""
    core = statistics(joined([sets["train_tasks.jsonl"], sets["validation_tasks.jsonl"]]))
    published = {
        "substitution": (45.2, 5.6, 56),
        "pairing": (45.0, 5.6, 56),
        "constraint": (3.4, 37.3, 4),
    }
    found = {entry["family"]: entry for entry in core["families"]}
    assert {*found} == {*published}
    assert core["tasks"] == 426
    for family, (chance, gap, distinct) in published.items():
        assert found[family]["chance"] == pytest.approx(chance, abs=1)
        assert found[family]["median_top_gap"] == pytest.approx(gap, rel=0.25)
        assert found[family]["median_distinct_scores"] == distinct
        assert found[family]["largest_category"] <= 2 * 24


def test_statistics_agree_with_the_files(sets: dict[str, TaskSet]) -> None:
    for name, tasks in sets.items():
        for entry in statistics(tasks)["families"]:
            theirs = entry["family"].replace("regional", "cultural_composition")
            rows = [row for row in rows_of(name) if row["family"] == theirs]
            chance = sum(row["chance_score_bps"] for row in rows) / len(rows) / 100
            gaps = sorted(row["optimal_margin_bps"] for row in rows)
            middle = (gaps[(len(gaps) - 1) // 2] + gaps[len(gaps) // 2]) / 200
            # Stated chance levels are whole basis points.
            assert entry["chance"] == pytest.approx(chance, abs=0.005)
            assert entry["median_top_gap"] == pytest.approx(middle, abs=1e-9)
            assert entry["tasks"] == len(rows)

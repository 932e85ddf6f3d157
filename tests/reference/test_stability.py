"""Ranks under other choices, against plain computations and scenarios whose answer is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from panels import small_environment
from references import reference
from release_files import often_best, scattered, small_tasks
from scipy.stats import rankdata, spearmanr
from strategies import Table, few, plans, tables

from flavourbench.analysis.answers import Answer, Answers, Evidence, Model, evidence_of
from flavourbench.analysis.core import freeze
from flavourbench.analysis.inference import infer
from flavourbench.analysis.matrix import ScoreMatrix, Stratum, build_matrix
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.release import Release
from flavourbench.analysis.result import leaderboard_object, pair_rows
from flavourbench.analysis.stability import KINDS, stability
from flavourbench.environment import Environment, open_environment, read_bundle
from flavourbench.environment.space import unit_rows
from flavourbench.errors import InputError
from flavourbench.tasks.compiler import compile_panels
from flavourbench.tasks.design import read_design
from flavourbench.tasks.files import BUNDLED, read_all
from flavourbench.tasks.labels import PORTFOLIOS
from flavourbench.tasks.remapped import DESIGNED, WEIGHINGS, Weighing, parse_weighing
from flavourbench.tasks.taskset import Task, TaskSet, joined

PLAN = Plan(40, 300)
Object = dict[str, Any]
Choose = Callable[[int, int, Task], str]


def release_of(matrix: ScoreMatrix, plan: Plan = PLAN, evidence: Evidence | None = None) -> Release:
    """A release as it is read, without a folder."""
    inference = infer(matrix, plan, 1)
    pairs = pa.Table.from_pylist(pair_rows(inference))
    root = {"kind": "score-table" if evidence is None else "answers", "says": "made up"}
    return Release(leaderboard_object(inference), matrix, pairs, plan, root, evidence)


def collected(tasks: TaskSet, choosers: Sequence[Choose], plan: Plan = PLAN) -> Release:
    """A release of models that choose as they are told to; slots a, b, c, …"""
    models = tuple(
        Model(slot, slot.upper(), slot * 64, {}, {"kind": "answers", "content_sha256": slot})
        for slot in "abcdefgh"[: len(choosers)]
    )
    rows = [
        Answer(model.slot, task.id, 0, "answered", "", f"FINAL_SELECTION: {three}", None)
        for m, (model, choose) in enumerate(zip(models, choosers, strict=True))
        for t, task in enumerate(sorted(tasks.tasks, key=lambda task: task.id))
        for three in [", ".join(choose(m, t, task))]
    ]
    answers = Answers(models, tuple(rows))
    evidence = evidence_of(answers, tasks, freeze(answers.coverage(tasks), "seed"))
    return release_of(evidence.matrix, plan, evidence)


@cache
def small_release() -> Release:
    return collected(small_tasks(), [often_best, often_best, often_best])


def variants(found: Object, kind: str) -> dict[str, Object]:
    return {v["name"]: v for v in found["variants"] if v["kind"] == kind}


def scores(variant: Object) -> dict[str, float]:
    return {row["id"]: row["score"] for row in variant["models"]}


def ranks(variant: Object) -> dict[str, int]:
    return {row["id"]: row["rank"] for row in variant["models"]}


def plain(matrix: ScoreMatrix, kept: Iterable[int]) -> tuple[dict[str, Fraction], dict[str, int]]:
    """Scores and ranks over some tasks, from the definition."""
    own: dict[str, Fraction] = {}
    columns = [*kept]
    strata = sorted({int(matrix.design.stratum[t]) for t in columns})
    for model, row in zip(matrix.models, matrix.scores.values.tolist(), strict=True):
        means = []
        for s in strata:
            inside = [row[t] for t in columns if matrix.design.stratum[t] == s]
            means.append(Fraction(sum(inside), len(inside)))
        own[model] = sum(means, Fraction(0)) / len(means) / 10**matrix.scores.exponent
    return own, {m: 1 + sum(other > own[m] for other in own.values()) for m in own}


# --- parts left out ------------------------------------------------------------------------


@few(25)
@given(table=tables(), plan=plans())
def test_without_a_family_or_a_panel(table: Table, plan: Plan) -> None:
    """Scores, ranks, ranges and what is said of each variant, from the definitions."""
    matrix = table.matrix()
    release = release_of(matrix, plan)
    found = stability(release, WEIGHINGS, {}, None)
    ordered = [row["id"] for row in release.board["models"]]
    assert [row["id"] for row in found["models"]] == ordered
    resolved = [r for r in release.pairs.to_pylist() if r["resolved"]]
    assert found["resolved_pairs"] == len(resolved)
    released = found["variants"][0]
    assert released["kind"] == "released"
    before, before_ranks = plain(matrix, range(len(matrix.tasks)))
    for row in release.board["models"]:
        assert scores(released)[row["id"]] == row["score"]
        assert ranks(released)[row["id"]] == row["rank"]
    for kind in ("family", "panel"):
        names = {getattr(stratum, kind) for stratum in matrix.strata}
        made = variants(found, kind)
        unmade = [entry for entry in found["not_made"] if entry["kind"] == kind]
        assert ({*made}, len(unmade)) == ((names, 0) if len(names) > 1 else (set(), 1))
        for name, variant in made.items():
            strata = [getattr(matrix.strata[s], kind) for s in matrix.design.stratum]
            kept = [t for t, other in enumerate(strata) if other != name]
            own, own_ranks = plain(matrix, kept)
            assert variant["tasks"] == len(kept)
            assert ranks(variant) == own_ranks
            scale = float(np.abs(matrix.scores.values).max()) / matrix.unit
            for model, score in scores(variant).items():
                assert score == pytest.approx(float(own[model]), abs=1e-12 * scale)
            moves = {m: abs(own_ranks[m] - before_ranks[m]) for m in ordered}
            assert variant["largest_move"] == max(moves.values())
            most = [m for m in ordered if moves[m] == max(moves.values()) > 0]
            assert [entry["id"] for entry in variant["moved"]] == most
            assert [e["rank"] for e in variant["moved"]] == [
                [before_ranks[m], own_ranks[m]] for m in most
            ]
            turned = [
                row
                for row in resolved
                if (own[row["left"]] - own[row["right"]])
                * (before[row["left"]] - before[row["right"]])
                < 0
            ]
            assert variant["reversed"] == len(turned)
            both = [rankdata([side[m] for m in ordered]) for side in (own_ranks, before_ranks)]
            if all(len({*side}) > 1 for side in both):
                assert variant["spearman"] == pytest.approx(spearmanr(*both)[0], abs=1e-12)
            else:
                assert variant["spearman"] is None


@few(25)
@given(table=tables(), plan=plans(), data=st.data())
def test_order_plays_no_part(table: Table, plan: Plan, data: st.DataObject) -> None:
    rows = data.draw(st.permutations(range(len(table.models))))
    columns = data.draw(st.permutations(range(len(table.tasks))))
    one, other = (
        stability(release_of(matrix, plan), WEIGHINGS, {}, None)
        for matrix in (table.matrix(), table.matrix(rows, columns))
    )
    assert one == other


def test_ranges_are_those_of_the_variants() -> None:
    found = stability(
        small_release(), WEIGHINGS, {"other": other_environment()}, small_environment()
    )
    assert {v["kind"] for v in found["variants"]} == {"released", *KINDS}
    assert found["not_made"] == []
    for model in found["models"]:
        every = {
            kind: [ranks(v)[model["id"]] for v in variants(found, kind).values()] for kind in KINDS
        }
        assert model["ranks"] == {kind: [min(own), max(own)] for kind, own in every.items()}
        flat = [model["rank"], *(rank for own in every.values() for rank in own)]
        assert model["all"] == [min(flat), max(flat)]


def by_hand(cells: Mapping[str, tuple[str, str, list[float]]]) -> ScoreMatrix:
    """Task → panel, family and the scores of models a, b, …"""
    count = len(next(iter(cells.values()))[2])
    return build_matrix(
        [*"abcdef"[:count]],
        [*"ABCDEF"[:count]],
        [*cells],
        [Stratum(f"{panel}/{family}", panel, family) for panel, family, _ in cells.values()],
        [f"anchor of {task}" for task in cells],
        np.array([row for _, _, row in cells.values()]).T,
    )


def test_one_family_and_one_panel_carry_a_model() -> None:
    """Model a leads by family f and by panel p alone; a tie in what is left stays one."""
    rows = {
        f"{panel}{family}{n}": (
            panel,
            family,
            [(90.0 if family == "f" else 10.0) + (-1) ** n, 20.0, 20.0],
        )
        for panel in "pq"
        for family in "fg"
        for n in range(8)
    }
    found = stability(release_of(by_hand(rows)), WEIGHINGS, {}, None)
    family, panel = variants(found, "family"), variants(found, "panel")
    assert ranks(family["f"]) == {"a": 3, "b": 1, "c": 1}
    assert scores(family["f"]) == {"a": 10, "b": 20, "c": 20}
    assert scores(family["g"]) == {"a": 90, "b": 20, "c": 20}
    assert ranks(panel["p"]) == ranks(panel["q"]) == {"a": 1, "b": 2, "c": 2}
    assert family["f"]["moved"] == [{"id": "a", "rank": [1, 3]}]
    assert family["f"]["spearman"] == -1
    assert family["f"]["reversed"] == found["resolved_pairs"] == 2
    assert family["g"]["reversed"] == panel["p"]["reversed"] == 0
    assert {m["id"]: m["ranks"]["family"] for m in found["models"]} == {
        "a": [1, 3],
        "b": [1, 2],
        "c": [1, 2],
    }


def test_the_range_over_all_holds_the_rank_of_the_release() -> None:
    """Model a is second without either family, and first with both."""
    rows = {
        f"{family}{n}": ("p", family, [60.0, at * 100.0 + n, (1 - at) * 100.0 + n])
        for at, family in enumerate("fg")
        for n in (-2, -1, 0, 1, 2)
    }
    found = stability(release_of(by_hand(rows)), WEIGHINGS, {}, None)
    first = found["models"][0]
    assert (first["id"], first["rank"], first["ranks"]["family"]) == ("a", 1, [2, 2])
    assert first["all"] == [1, 2]


def test_a_table_has_no_selections() -> None:
    rows = {f"t{n}": ("p", "f", [float(n), 50.0]) for n in range(12)}
    found = stability(release_of(by_hand(rows)), WEIGHINGS, {"own": small_environment()}, None)
    assert [v["kind"] for v in found["variants"]] == ["released"]
    assert {(e["kind"], e["name"]) for e in found["not_made"]} == {(kind, None) for kind in KINDS}
    why = {e["kind"]: e["why"] for e in found["not_made"]}
    assert why["family"] == "of this kind the release has only f"
    assert why["weights"] == why["environment"] == why["category"]
    assert "a score table" in why["weights"]


def with_categories(tasks: TaskSet, of: Callable[[int, Task], str]) -> TaskSet:
    """The tasks with other categories of their anchors."""
    changed = (replace(task, category=of(at, task)) for at, task in enumerate(tasks.tasks))
    return replace(tasks, tasks=tuple(changed))


def test_one_category_carries_a_model() -> None:
    """Model a is right where the anchor is a herb, b at half of the others, c at another tenth."""
    tasks = with_categories(small_tasks(), lambda at, _: "Herb" if at % 3 == 0 else "Meat")
    herbs = {task.id for task in tasks.tasks if task.category == "Herb"}

    def choose(m: int, t: int, task: Task) -> str:
        right = task.id in herbs if m == 0 else task.id not in herbs and t % (2, 10)[m - 1] == 0
        return task.optimum if right else PORTFOLIOS[task.scores.index(min(task.scores))]

    release = collected(tasks, [choose] * 3)
    found = stability(release, WEIGHINGS, {}, None)
    made = variants(found, "category")
    assert {*made} == {"Herb", "Meat"}
    assert (scores(made["Herb"])["a"], ranks(made["Herb"])["a"]) == (0, 3)
    assert scores(made["Meat"]) == {"a": 100, "b": 0, "c": 0}
    assert ranks(made["Meat"]) == {"a": 1, "b": 2, "c": 2}
    for name, variant in made.items():
        by_id = tasks.by_id
        kept = [t for t, task in enumerate(release.matrix.tasks) if by_id[task].category != name]
        own, own_ranks = plain(release.matrix, kept)
        assert ranks(variant) == own_ranks
        assert scores(variant) == pytest.approx({m: float(s) for m, s in own.items()})


def test_a_category_that_holds_a_stratum_is_not_left_out() -> None:
    def category(at: int, task: Task) -> str:
        return (
            "Herb"
            if (task.panel, task.family) == ("test-1", "pairing")
            else "Meat"
            if at % 2
            else "Fish"
        )

    release = collected(with_categories(small_tasks(), category), [often_best, scattered])
    found = stability(release, (), {}, small_environment())
    assert {*variants(found, "category")} == {"Meat", "Fish"}
    (entry,) = (e for e in found["not_made"] if e["kind"] == "category")
    assert entry["name"] == "Herb"
    assert "test-1/pairing" in entry["why"]


@few(8)
@given(data=st.data())
def test_what_is_no_part_of_the_core_plays_none(data: st.DataObject) -> None:
    """Tasks of families that are never ranked, in whatever order and of whatever category."""
    release = small_release()
    evidence = release.evidence
    assert evidence is not None
    ordered = data.draw(st.permutations(evidence.tasks.tasks))
    changed = tuple(t if t.ranked else replace(t, category="Nothing else") for t in ordered)
    other = replace(evidence, tasks=replace(evidence.tasks, tasks=changed))
    arguments = (WEIGHINGS, {"other": other_environment()}, small_environment())
    assert stability(release, *arguments) == stability(replace(release, evidence=other), *arguments)


# --- other score maps ----------------------------------------------------------------------


@cache
def other_environment() -> Environment:
    """The same items, other rows."""
    own = small_environment()
    rows = own.rows + 0.4 * np.random.default_rng(8).normal(size=own.rows.shape)
    return replace(own, units=unit_rows(rows, own.items), name="other")


def utilities(task: Task, environment: Environment, share: float) -> list[float]:
    """The weighted means of all portfolios, in floats."""
    at, rows = environment.index, environment.rows
    found = []
    for three in combinations([at[name] for name in task.choices], 3):
        relevance = np.mean([rows[at[task.anchor]] @ rows[item] for item in three])
        coherence = np.mean([rows[a] @ rows[b] for a, b in combinations(three, 2)])
        found.append(float(share * relevance + (1 - share) * coherence))
    return found


def best_by(environment: Environment, share: float | None) -> Choose:
    """Chooses the best feasible portfolio under other weights, or by another environment."""
    own = {family.name: family.weights for family in read_design().families}

    def choose(_m: int, _t: int, task: Task) -> str:
        if task.region is not None:
            return task.optimum
        first, second = own[task.family]
        found = utilities(task, environment, first / (first + second) if share is None else share)
        assert task.feasible is not None
        kept = [p for p in range(56) if task.feasible >> p & 1]
        return PORTFOLIOS[max(kept, key=lambda p: found[p])]

    return choose


def test_who_follows_one_part_of_utility_is_right_by_it() -> None:
    """And whoever follows another environment is by that one."""
    environment, other = small_environment(), other_environment()
    choosers = [best_by(environment, share) for share in (None, 1.0, 0.0, 0.5)]
    choosers.append(best_by(other, None))
    found = stability(collected(small_tasks(), choosers), WEIGHINGS, {"o": other}, environment)
    first = {
        "a": variants(found, "released")["as released"],
        "b": variants(found, "weights")["relevance only"],
        "c": variants(found, "weights")["coherence only"],
        "d": variants(found, "weights")["equal"],
        "e": variants(found, "environment")["o"],
    }
    for model, variant in first.items():
        assert ranks(variant)[model] == 1
        assert scores(variant)[model] == 100
        assert sum(score == 100 for score in scores(variant).values()) == 1
    for name, step in (("relevance +0.1", 0.1), ("relevance -0.1", -0.1)):
        for family, shares in variants(found, "weights")[name]["weights"].items():
            weights = next(f.weights for f in read_design().families if f.name == family)
            assert shares == pytest.approx(
                [weights[0] / sum(weights) + step, weights[1] / sum(weights) - step]
            )


def test_scores_on_other_maps_are_shares_of_the_range() -> None:
    """Every selection of every model, in floats from the definition."""
    environment, share = small_environment(), 0.3
    release = collected(small_tasks(), [scattered, often_best, scattered])
    found = stability(release, [parse_weighing("0.3,0.7")], {}, environment)
    (variant,) = variants(found, "weights").values()
    assert variant["name"] == "0.3, 0.7"
    assert variant["feasible"] == "tasks"
    evidence = release.evidence
    assert evidence is not None
    chosen = {(row.slot, row.task_id): row.selection for row in evidence.observations}
    for model in release.matrix.models:
        parts: dict[str, list[float]] = {}
        for t, name in enumerate(release.matrix.tasks):
            task = evidence.tasks.by_id[name]
            own = utilities(task, environment, share)
            assert task.feasible is not None
            kept = [own[p] for p in range(56) if task.feasible >> p & 1]
            p = PORTFOLIOS.index(str(chosen[model, name]))
            above = (own[p] - min(kept)) / (max(kept) - min(kept))
            stratum = release.matrix.strata[release.matrix.design.stratum[t]].id
            parts.setdefault(stratum, []).append(100 * above if task.feasible >> p & 1 else 0.0)
        expected = np.mean([np.mean(part) for part in parts.values()])
        assert scores(variant)[model] == pytest.approx(expected, abs=0.006)


def test_feasible_is_what_the_tasks_say_under_other_weights() -> None:
    """And what the environment's tags allow where its score maps are taken."""
    own = small_environment()
    tags = tuple(replace(tag, vegan=at % 4 > 0, nova=1 + at % 4) for at, tag in enumerate(own.tags))
    flagged = replace(own, tags=tags)
    one, other = (
        stability(small_release(), WEIGHINGS, {"other": environment}, environment)
        for environment in (own, flagged)
    )
    for name, variant in variants(one, "weights").items():
        assert variants(other, "weights")[name]["models"] == variant["models"]
    seen, changed = (variants(found, "environment")["other"] for found in (one, other))
    assert seen["models"] == one["variants"][0]["models"]
    assert changed["models"] != seen["models"]
    # Alone in its demands, a portfolio has nothing to be better than.
    assert changed["tasks"] + changed["flat"] == seen["tasks"]


def test_demands_that_nothing_meets_bind_nobody() -> None:
    """Where all candidates break them, all portfolios are compared: none is flat."""
    own = small_environment()
    none = replace(own, tags=tuple(replace(t, vegan=False, vegetarian=False) for t in own.tags))
    found = stability(small_release(), (), {"none": none}, None)
    (seen,) = variants(found, "environment").values()
    assert (seen["tasks"], seen["flat"]) == (found["variants"][0]["tasks"], 0)
    assert seen["models"] != found["variants"][0]["models"]


def same_as_released(release: Release, environment: Environment) -> None:
    """The weights of the design, and the environment itself, change no bit."""
    found = stability(release, [DESIGNED], {"own": environment}, environment)
    (designed,) = variants(found, "weights").values()
    (seen,) = variants(found, "environment").values()
    for variant in (designed, seen):
        assert variant["models"] == found["variants"][0]["models"]
        assert (variant["largest_move"], variant["moved"], variant["reversed"]) == (0, [], 0)
        assert (variant["unknown"], variant["flat"]) == (0, 0)
    for row in release.board["models"]:
        assert (scores(designed)[row["id"]], ranks(designed)[row["id"]]) == (
            row["score"],
            row["rank"],
        )


def test_the_weights_of_the_design_give_back_the_release() -> None:
    same_as_released(small_release(), small_environment())
    bundled = read_all([BUNDLED / "test-1", BUNDLED / "test-2"])
    same_as_released(collected(bundled, [scattered, often_best, often_best]), open_environment())


def test_the_weights_of_the_design_give_back_a_release_on_released_embeddings() -> None:
    environment = read_bundle(
        reference("epicure-cooc"), reference("epicure-mcp/ingredient_tags.csv")
    )
    tasks = joined(compile_panels(environment, read_design())[:2])
    same_as_released(collected(tasks, [scattered, often_best, often_best]), environment)


def test_released_tasks_say_nothing_of_who_scored_them() -> None:
    """So that weights cannot be changed, unless an environment gives back their scores."""
    lab = reference("flavourbench-lab")
    tasks = read_all([lab / "train_tasks.jsonl", lab / "validation_tasks.jsonl"])
    environment = read_bundle(
        reference("epicure-cooc"), reference("epicure-mcp/ingredient_tags.csv")
    )
    found = stability(
        collected(tasks, [scattered, often_best]), WEIGHINGS, {"cooc": environment}, None
    )
    (entry,) = found["not_made"]
    assert (entry["kind"], entry["name"]) == ("weights", None)
    assert "no environment at hand gives back the scores" in entry["why"]
    (seen,) = variants(found, "environment").values()
    assert (seen["unknown"], seen["feasible"]) == (0, "environment")
    assert len(variants(found, "category")) > 5


# --- what cannot be done -------------------------------------------------------------------


def renamed(environment: Environment, lost: Iterable[str]) -> Environment:
    """The environment with names that nobody knows for some items."""
    unknown = {*lost}
    items = tuple(f"zzz_{at:04d}" if n in unknown else n for at, n in enumerate(environment.items))
    order = sorted(range(len(items)), key=items.__getitem__)
    return Environment(
        tuple(items[at] for at in order),
        environment.units[order],
        tuple(environment.tags[at] for at in order),
        "renamed",
    )


def test_tasks_that_an_environment_does_not_know_are_left_out_and_counted() -> None:
    release = small_release()
    evidence = release.evidence
    assert evidence is not None
    core = [evidence.tasks.by_id[name] for name in release.matrix.tasks]
    lost = {core[0].anchor, core[5].choices[3]}
    kept = [t for t, task in enumerate(core) if not lost & {task.anchor, *task.choices}]
    found = stability(release, (), {"part": renamed(small_environment(), lost)}, None)
    (seen,) = variants(found, "environment").values()
    assert 0 < seen["unknown"] == len(core) - len(kept)
    own, own_ranks = plain(release.matrix, kept)
    assert ranks(seen) == own_ranks
    assert scores(seen) == pytest.approx({m: float(s) for m, s in own.items()})


def test_an_environment_that_empties_a_stratum_makes_no_variant() -> None:
    release = small_release()
    evidence = release.evidence
    assert evidence is not None
    core = [evidence.tasks.by_id[name] for name in release.matrix.tasks]
    lost = {task.anchor for task in core if (task.panel, task.family) == ("test-2", "pairing")}
    found = stability(
        release, (), {"part": renamed(small_environment(), lost)}, small_environment()
    )
    assert not variants(found, "environment")
    (entry,) = (e for e in found["not_made"] if e["kind"] == "environment")
    assert entry["name"] == "part"
    assert entry["why"].startswith("no task of test-2/pairing is left: ")


def test_maps_that_tell_nothing_apart_do_not_count() -> None:
    """All items alike: every choice is worth the same."""
    own = small_environment()
    alike = replace(own, units=np.repeat(own.units[:1], len(own), axis=0))
    release = small_release()
    found = stability(release, (), {"alike": alike}, own)
    (entry,) = (e for e in found["not_made"] if e["kind"] == "environment")
    assert f"0 unknown, {len(release.matrix.tasks)} flat" in entry["why"]


def test_weights_need_the_environment_that_scored_the_tasks() -> None:
    release, own, other = small_release(), small_environment(), other_environment()
    for at_hand in (None, other):
        found = stability(release, WEIGHINGS, {"other": other}, at_hand)
        assert not variants(found, "weights")
        (entry,) = found["not_made"]
        assert "gives back the scores of the tasks, which name made up & small" in entry["why"]
    # One that does will do, whatever it is called.
    told = stability(release, WEIGHINGS, {"other": other, "own": own}, None)
    assert variants(told, "weights") == variants(stability(release, WEIGHINGS, {}, own), "weights")


def test_families_that_no_design_knows() -> None:
    tasks = small_tasks()
    named = tuple(replace(task, family=f"my {task.family}") for task in tasks.tasks)
    release = collected(TaskSet(named, {}, None, ()), [scattered, often_best])
    found = stability(release, WEIGHINGS, {"own": small_environment()}, small_environment())
    why = {e["kind"]: e["why"] for e in found["not_made"]}
    assert {*why} == {"weights", "environment"}
    assert all("no design knows the family my constraint" in told for told in why.values())
    assert variants(found, "category")


@pytest.mark.parametrize(
    ("typed", "shares"),
    [
        ("0.5,0.5", (1, 1)),
        ("0.8, 0.2", (4, 1)),
        ("0.3,0.3", (1, 1)),
        ("1,0", (1, 0)),
        ("0,0.2", (0, 1)),
    ],
)
def test_weights_as_typed(typed: str, shares: tuple[int, int]) -> None:
    assert {parse_weighing(typed).of(family) for family in read_design().families} == {shares}


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "0.5",
        "0.5;0.5",
        "0.5,0.5,0",
        "0,0",
        "-0.1,0.5",
        "0.7,0.7",
        "0.333,0.5",
        "nan,1",
        "1e999999,0",
        "a,b",
    ],
)
def test_what_is_no_weights(typed: str) -> None:
    with pytest.raises(InputError, match="write two, of relevance and coherence"):
        parse_weighing(typed)


def test_a_step_ends_at_the_whole() -> None:
    family = read_design().families[0]
    assert Weighing("", step=Fraction(1, 2)).of(family) == (1, 0)
    assert Weighing("", step=Fraction(-9, 10)).of(family) == (0, 1)

"""Laws of compiled tasks: what may not matter, what has to come back, what has to be found."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bundles import CORE, Bundle, Form, forms, synthetic, write_server, write_snapshot, write_tags
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from panels import (
    family_of,
    hashed_environment,
    packaged_content,
    small_content,
    small_environment,
    small_panels,
    write_rows,
)
from running import tree
from strategies import few

from fbcore.portfolios import PAIRS, portfolio_scores
from flavourbench.environment import Environment, read_bundle
from flavourbench.errors import CheckError, FlavourBenchError, InputError
from flavourbench.tasks.compiler import compile_panels
from flavourbench.tasks.design import parse_design, read_design
from flavourbench.tasks.labels import LABELS, PORTFOLIOS
from flavourbench.tasks.panel import read_panel, write_panel, write_panels
from flavourbench.tasks.published import published_rows, read_published
from flavourbench.tasks.taskset import Task, TaskSet
from flavourbench.tasks.verify import imported, verify

seeds = st.integers(0, 2**32 - 1)
TRIOS = [*combinations(range(8), 3)]


def compiled(environment: Environment, **panel: Any) -> list[TaskSet]:
    """Small panels, ``panel`` changing the first."""
    content = small_content()
    content["panels"][0] |= panel
    return compile_panels(environment, parse_design(content))


# --- what may not matter ---------------------------------------------------------------------


def as_snapshot(bundle: Bundle, folder: Path, form: Form) -> Environment:
    tags = write_tags(bundle, folder / "tags.csv", form)
    return read_bundle(write_snapshot(bundle, folder / "snapshot", form), tags, "files")


def as_server(bundle: Bundle, folder: Path, form: Form) -> Environment:
    return read_bundle(write_server(bundle, folder / "server", form), None, "files")


@pytest.mark.parametrize("layout", [as_snapshot, as_server])
@given(form=forms)
@few(4)
def test_order_and_form_of_a_bundle_change_no_byte(
    layout: Callable[[Bundle, Path, Form], Environment], form: Form
) -> None:
    bundle = synthetic(0, 300, 12)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        write_panels(compiled(bundle.environment("files")), path / "plain")
        write_panels(compiled(layout(bundle, path, form)), path / "other")
        assert tree(path / "plain") == tree(path / "other")


def by_names(task: Task) -> dict[frozenset[str], tuple[int, bool]]:
    """Score and feasibility of every set of three names."""
    mask = task.feasible or 0
    return {
        frozenset(task.choices[at] for at in trio): (task.scores[p], bool(mask >> p & 1))
        for p, trio in enumerate(TRIOS)
    }


def question(task: Task) -> tuple[Any, ...]:
    return (task.family, task.anchor, task.diet, task.max_nova, frozenset(task.choices))


@pytest.mark.parametrize("family", ["substitution", "pairing", "constraint", "regional"])
@given(seed=seeds)
@few(2)
def test_labels_do_not_change_scores(family: str, seed: int) -> None:
    """Under another seed the same question has other labels, and each set its score."""
    content = small_content()
    content["selection"] |= {"per_category": 10_000, "categories": 1}
    content["families"] = [family_of(content, family)]
    asked = []
    for name in ("one seed", f"another {seed}"):
        content["panels"] = [content["panels"][0] | {"seed": name, "per_stratum": 10_000}]
        tasks = compile_panels(small_environment(), parse_design(content))[0].tasks
        asked.append({question(task): task for task in tasks})
    both = [(asked[0][key], asked[1][key]) for key in {*asked[0]} & {*asked[1]}]
    if family in ("substitution", "pairing"):  # others choose between variants or anchors
        assert {*asked[0]} == {*asked[1]}
    assert any(one.choices != other.choices for one, other in both)
    for one, other in both:
        assert by_names(one) == by_names(other)
        assert (one.stratum, one.category) == (other.stratum, other.category)


@given(title=st.text(min_size=1, max_size=20))
@few(8)
def test_the_title_is_in_prompts_and_ids_only(title: str) -> None:
    environment, design = small_environment(), parse_design(small_content())
    if not title.strip() or not title.isprintable():
        with pytest.raises(InputError, match="title"):
            compile_panels(environment, design, title)
        return
    for panel, own in zip(compile_panels(environment, design, title), small_panels(), strict=True):
        assert panel.environment == {"name": title, "identity": environment.identity}
        for task, other in zip(panel.tasks, own.tasks, strict=True):
            assert f"given by {title}, a fixed model" in task.prompt
            assert by_names(task) == by_names(other)
            assert (title == environment.name) == (task.id == other.id)


@given(seed=seeds)
@few(3)
def test_an_environment_gives_its_panels_whoever_asked_before(seed: int) -> None:
    """Matrices made by other operations change nothing, nor do other designs."""
    fresh = synthetic(0, 300, 12).environment("made up & small")
    source = np.random.default_rng(seed)
    if source.random() < 0.5:
        fresh.neighbors(fresh.items[int(source.integers(len(fresh)))], 5)
    compiled(fresh, seed=f"any {seed}")
    assert [p.tasks for p in compiled(fresh)] == [p.tasks for p in small_panels()]


# --- score maps ------------------------------------------------------------------------------


def map_inputs(seed: int, tasks: int = 6) -> tuple[NDArray[Any], ...]:
    """Relevance, pairs, weights and feasibility; coarse enough to tie now and then."""
    source = np.random.default_rng(seed)
    top = int(source.choice([3, 100, 2**40]))
    weights = source.integers(1, 20, (tasks, 2))
    feasible = source.random((tasks, 56)) < source.choice([0.1, 0.5, 1.0])
    relevance = source.integers(-top, top, (tasks, 8), endpoint=True)
    return relevance, source.integers(-top, top, (tasks, 28), endpoint=True), weights, feasible


@given(
    seed=seeds,
    scale=st.integers(1, 1000),
    shift=st.integers(-(2**40), 2**40),
    other=st.integers(-(2**40), 2**40),
)
@few(60)
def test_basis_points_keep_under_affine_change(
    seed: int, scale: int, shift: int, other: int
) -> None:
    relevance, pairs, weights, feasible = map_inputs(seed)
    before = portfolio_scores(relevance, pairs, weights, feasible)
    after = portfolio_scores(relevance * scale + shift, pairs * scale + other, weights, feasible)
    assert after.bps.tolist() == before.bps.tolist()
    assert after.span.tolist() == (before.span * scale).tolist()


@given(seed=seeds)
@few(60)
def test_basis_points_fill_their_scale(seed: int) -> None:
    found = portfolio_scores(*(inputs := map_inputs(seed)))
    for bps, allowed, span, utility in zip(
        found.bps.tolist(), inputs[3].tolist(), found.span, found.utility, strict=True
    ):
        kept = [score for score, ok in zip(bps, allowed, strict=True) if ok]
        assert sum(kept) == sum(bps)
        if span:
            assert (min(kept), max(kept)) == (0, 10_000)
            values = utility[np.flatnonzero(allowed)].tolist()
            low = min(values)
            # Python rounds fractions half to even.
            assert kept == [round(Fraction(10_000 * (v - low), int(span))) for v in values]
        else:
            assert set(bps) == {0}


@given(seed=seeds, twins=st.permutations(range(8)))
@few(60)
def test_equal_candidates_tie(seed: int, twins: list[int]) -> None:
    """Two candidates with equal similarities to everything are worth the same in any trio."""
    a, b = sorted(twins[:2])
    relevance, pairs, weights, feasible = map_inputs(seed)
    place = {(int(i), int(j)): at for at, (i, j) in enumerate(PAIRS)}

    def pair(i: int, j: int) -> int:
        return place[min(i, j), max(i, j)]

    relevance[:, b] = relevance[:, a]
    for c in {*range(8)} - {a, b}:
        pairs[:, pair(b, c)] = pairs[:, pair(a, c)]
    found = portfolio_scores(relevance, pairs, weights, np.ones_like(feasible)).bps
    for p, trio in enumerate(TRIOS):
        if a in trio and b not in trio:
            twin = tuple(sorted({*trio} - {a} | {b}))
            assert found[:, p].tolist() == found[:, TRIOS.index(twin)].tolist()


def test_equal_rows_tie_in_tasks_and_their_names_decide() -> None:
    """Items with one row: every trio with either scores the same; the earlier name is drawn."""
    bundle = synthetic(0, 300, 12)
    vectors = bundle.vectors.copy()
    vectors[1::2] = vectors[::2]
    environment = replace(bundle, vectors=vectors).environment()
    twin = {}
    order = {
        row.tobytes(): name for row, name in zip(environment.units, environment.items, strict=True)
    }
    for row, name in zip(environment.units, environment.items, strict=True):
        if order[row.tobytes()] != name:
            twin[name] = order[row.tobytes()]
    content = small_content()
    content["selection"] = {"strata": 1, "per_category": 50, "categories": 1}
    content["families"] = [family_of(content, "substitution")]
    content["panels"] = [content["panels"][0] | {"per_stratum": 100}]
    # All of the pool is shown, so that twins are.
    content["families"][0] |= {"pool": ["shared_region"], "least_spread": 0, "among": 8}
    met = 0
    for task in compile_panels(environment, parse_design(content))[0].tasks:
        scores = by_names(task)
        for one, other in combinations(task.choices, 2):
            if twin.get(one) != other and twin.get(other) != one:
                continue
            met += 1
            for third in combinations({*task.choices} - {one, other}, 2):
                assert scores[frozenset({one, *third})] == scores[frozenset({other, *third})]
    assert met > 20


# --- what has to come back -------------------------------------------------------------------


@pytest.mark.parametrize("at", range(3))
def test_tasks_come_back_from_published_rows(at: int, tmp_path: Path) -> None:
    tasks = small_panels()[at]
    path = write_rows(tasks, tmp_path / "tasks.jsonl")
    again = read_published(path)
    assert tuple(replace(task, extra={}) for task in again.tasks) == tasks.tasks
    # The design is none that the file could name.
    assert (again.environment, again.design) == (tasks.environment, None)
    assert {key for task in again.tasks for key in task.extra} == {
        "compiled",
        "feasible_mask",
        "oracle_reference",
        "parser",
        "ranked",
        "source_panel",
    }
    assert "".join(row + "\n" for row in published_rows(again)).encode() == path.read_bytes()


_texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_texts, inner, max_size=2),
    max_leaves=5,
)


@given(extra=st.dictionaries(_texts.map("own {}".format), _values, max_size=4), prompt=_texts)
@few(25)
def test_unknown_keys_and_any_prompt_come_back(extra: dict[str, Any], prompt: str) -> None:
    """Through a published file, a panel folder, and a published file again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        first = read_published(write_rows(small_panels()[0], path / "compiled.jsonl"))
        changed = tuple(
            replace(task, prompt=f"{prompt}{at}", extra={**task.extra, **extra})
            for at, task in enumerate(first.tasks)
        )
        tasks = replace(first, tasks=changed)
        written = write_rows(tasks, path / "own.jsonl")
        read = read_published(written)
        assert read.tasks == changed
        write_panel(read, path / "panel")
        again = read_panel(path / "panel")
        assert (again.tasks, again.sources) == (changed, read.sources)
        assert write_rows(again, path / "again.jsonl").read_bytes() == written.read_bytes()


@pytest.mark.parametrize("at", range(3))
def test_sets_come_back_from_panel_folders(at: int, tmp_path: Path) -> None:
    tasks = small_panels()[at]
    write_panel(tasks, tmp_path / "panel")
    again = read_panel(tmp_path / "panel")
    assert again.tasks == tasks.tasks
    assert (again.environment, again.design) == (tasks.environment, tasks.design)
    assert again.sources == tasks.sources
    assert again.scores.tolist() == tasks.scores.tolist()
    write_panel(again, tmp_path / "again")
    assert tree(tmp_path / "panel") == tree(tmp_path / "again")


def test_a_design_lives_in_the_manifest(tmp_path: Path) -> None:
    write_panel(small_panels()[0], tmp_path / "panel")
    again = read_panel(tmp_path / "panel").design
    assert again == parse_design(small_content())
    assert compile_panels(small_environment(), again)[0].tasks == small_panels()[0].tasks


def test_chance_gap_and_optimum_are_those_of_the_scores() -> None:
    for task in (task for panel in small_panels() for task in panel.tasks):
        ranked = sorted(zip(task.scores, PORTFOLIOS, strict=True), reverse=True)
        assert task.optimum == ranked[0][1]
        assert task.top_gap == 10_000 - ranked[1][0]
        assert task.chance == Fraction(sum(task.scores), 56)
        assert task.distinct_scores == len(dict(ranked))
        # Regional prompts do not show the anchor: what is asked again is the region.
        assert task.cluster == (task.region if task.family == "regional" else task.anchor)


# --- what has to be found --------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("panels") / "panel"
    write_panel(small_panels()[0], path)
    return path


@given(
    name=st.sampled_from(["tasks.parquet", "manifest.json", "PANEL.sha256"]),
    place=st.floats(0, 1, exclude_max=True),
    flip=st.integers(1, 255),
)
@few(80)
def test_any_altered_byte_is_found(folder: Path, name: str, place: float, flip: int) -> None:
    file = folder / name
    whole = file.read_bytes()
    at = int(place * len(whole))
    altered = whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :]
    try:
        for data in (altered, whole[:at], whole + bytes([flip]), whole[:at] + whole[at + 1 :]):
            file.write_bytes(data)
            with pytest.raises(CheckError):
                read_panel(folder)
            assert [(c["check"], c["passed"]) for c in verify(folder)] == [("files", False)]
    finally:
        file.write_bytes(whole)
    assert read_panel(folder).tasks == small_panels()[0].tasks


def passes(checks: list[dict[str, Any]]) -> dict[str, bool | None]:
    found = {check["check"]: check["passed"] for check in checks}
    assert len(found) == len(checks)
    return found


@pytest.mark.parametrize("at", range(3))
def test_every_compiled_panel_is_verified(at: int, tmp_path: Path) -> None:
    write_panel(small_panels()[at], tmp_path / "panel")
    checks = passes(verify(tmp_path / "panel", lambda _: small_environment()))
    assert {*checks.values()} == {True}
    assert {"files", "prompts", "labels", "scores", "compilation"} <= {*checks}
    without = passes(verify(tmp_path / "panel"))
    assert without.pop("scores") is None
    assert without.pop("compilation") is None
    assert {*without.values()} == {True}


def relabelled(task: Task) -> Task:
    """Labels A and B exchanged, scores and mask with them."""
    trios = [*combinations([1, 0, *range(2, 8)], 3)]
    places = [TRIOS.index(tuple(sorted(trio))) for trio in trios]
    mask = sum(((task.feasible or 0) >> q & 1) << p for p, q in enumerate(places))
    choices = (task.choices[1], task.choices[0], *task.choices[2:])
    prompt = task.prompt
    for at, label in enumerate(LABELS):
        prompt = prompt.replace(
            f"\n{label}. {task.choices[at].replace('_', ' ')}\n",
            f"\n{label}. {choices[at].replace('_', ' ')}\n",
        )
    scores = tuple(task.scores[q] for q in places)
    return replace(task, choices=choices, scores=scores, feasible=mask, prompt=prompt)


def one_score_off(task: Task) -> Task:
    """The smallest lie: a basis point."""
    scores = [*task.scores]
    at = next(p for p, score in enumerate(scores) if 0 < score < 9_999)
    scores[at] += 1
    return replace(task, scores=tuple(scores))


def other_mask(task: Task) -> Task:
    """One infeasible portfolio called feasible, which no score gives away; or the reverse."""
    mask = task.feasible or 0
    free = [p for p in range(56) if not task.scores[p]]
    return replace(task, feasible=mask ^ 1 << free[-1])


#: What is changed in one task, and the checks that fail for it besides "compilation".
LIES: dict[str, tuple[Callable[[Task], Task], set[str]]] = {
    "score": (one_score_off, {"scores"}),
    "prompt": (lambda task: replace(task, prompt=task.prompt + " "), {"prompts"}),
    "answer in prompt": (
        lambda task: replace(task, prompt=task.prompt + "\nFINAL_SELECTION: A, B, C"),
        {"prompts", "no answer in prompts"},
    ),
    "labels": (relabelled, {"labels"}),
    "mask": (other_mask, {"feasible portfolios"}),
    "split": (lambda task: replace(task, split="other"), {"ids"}),
    "stratum": (lambda task: replace(task, stratum=task.stratum % 3 + 1), {"selection rules"}),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("family", ["substitution", "pairing", "constraint", "regional"])
def test_a_lie_with_a_right_seal_is_found(lie: str, family: str, tmp_path: Path) -> None:
    change, expected = LIES[lie]
    panel = small_panels()[0]
    at = next(at for at, task in enumerate(panel.tasks) if task.family == family)
    check_lie(panel, {at: change(panel.tasks[at])}, expected, tmp_path / "panel")


def check_lie(panel: TaskSet, changed: dict[int, Task], expected: set[str], path: Path) -> None:
    """Write tasks with the changed ones among them; exactly the expected checks fail."""
    tasks = [changed.get(at, task) for at, task in enumerate(panel.tasks)]
    assert tuple(tasks) != panel.tasks
    write_panel(replace(panel, tasks=tuple(tasks)), path)
    checks = passes(verify(path, lambda _: small_environment()))
    failed = {name for name, passed in checks.items() if not passed}
    assert failed == {*expected, "compilation"}


def test_a_wrong_category_is_found(tmp_path: Path) -> None:
    """The prompt of a substitution says the category as well."""
    panel = small_panels()[0]
    lies = {}
    for family in panel.families:
        at, task = next((at, t) for at, t in enumerate(panel.tasks) if t.family == family)
        taken = {t.category for t in panel.tasks if t.family == family}
        lies[at] = replace(task, category=min({*CORE} - taken))
    check_lie(panel, lies, {"categories", "prompts"}, tmp_path / "panel")


def test_a_task_left_out_or_out_of_place_is_found(tmp_path: Path) -> None:
    panel = small_panels()[0]
    for name, tasks in (
        ("left out", panel.tasks[1:]),
        ("out of place", (panel.tasks[1], panel.tasks[0], *panel.tasks[2:])),
    ):
        write_panel(replace(panel, tasks=tasks), tmp_path / name)
        checks = passes(verify(tmp_path / name, lambda _: small_environment()))
        failed = [check for check, passed in checks.items() if not passed]
        assert failed == ["ids", "compilation"]


def test_an_anchor_that_serves_twice_breaks_the_rules(tmp_path: Path) -> None:
    panel = small_panels()[0]
    twice = replace(panel.tasks[1], anchor=panel.tasks[0].anchor)
    write_panel(replace(panel, tasks=(panel.tasks[0], twice, *panel.tasks[2:])), tmp_path / "panel")
    assert passes(verify(tmp_path / "panel"))["selection rules"] is False


def test_a_category_beyond_its_limit_breaks_the_rules(tmp_path: Path) -> None:
    panel = small_panels()[0]
    tasks = [replace(t, category="Sweet") if t.family == "regional" else t for t in panel.tasks]
    write_panel(replace(panel, tasks=tuple(tasks)), tmp_path / "panel")
    rule = next(c for c in verify(tmp_path / "panel") if c["check"] == "selection rules")
    assert (rule["passed"], "Sweet has 7 tasks, allowed are 3" in rule["detail"]) == (False, True)


def test_another_environment_is_named_and_not_scored_with(tmp_path: Path) -> None:
    write_panel(small_panels()[0], tmp_path / "panel")
    other = synthetic(1, 300, 12).environment()
    checks = verify(tmp_path / "panel", lambda _: other)
    assert passes(checks)["environment"] is False
    assert "scores" not in passes(checks)
    assert other.identity in checks[-1]["detail"]


def test_another_design_in_the_manifest_is_found(tmp_path: Path) -> None:
    """Same tasks, said to come from other numbers or seeds."""
    panel = small_panels()[0]
    for change, check in (("seed", "labels"), ("layout", "prompts"), ("among", "compilation")):
        content = small_content()
        if change == "seed":
            content["panels"][0]["seed"] = "another"
        elif change == "layout":
            content["prompt"]["layout"] = content["prompt"]["layout"].replace("Family", "Kind")
        else:
            family_of(content, "constraint")["among"] = 31
        lying = replace(panel, design=parse_design(content))
        write_panel(lying, tmp_path / change)
        try:
            found = passes(verify(tmp_path / change, lambda _: small_environment()))
        except FlavourBenchError as error:
            pytest.fail(f"{change}: {error}")
        assert found[check] is False
        assert found["scores"] is True


def test_the_packaged_design_refuses_to_fill_from_so_few_items() -> None:
    with pytest.raises(InputError, match="use a larger environment or a --design"):
        compile_panels(small_environment(), parse_design(packaged_content()))


def other_design(panel: TaskSet) -> TaskSet:
    """The same tasks under a design with another number."""
    assert panel.design is not None
    content = copy.deepcopy(dict(panel.design.content))
    content["selection"]["per_category"] += 1
    return replace(panel, design=parse_design(content))


#: What is changed in a whole panel; all of it shows without the environment.
WHOLE_LIES: dict[str, Callable[[TaskSet], TaskSet]] = {
    "identity": lambda p: replace(p, environment={**p.environment, "identity": "0" * 64}),
    "title": lambda p: replace(p, environment={**p.environment, "name": "another"}),
    "no environment": lambda p: replace(p, environment={}),
    "design": other_design,
    "parser": lambda p: replace(
        p, tasks=tuple(replace(task, parser="published-v3") for task in p.tasks)
    ),
    "reversed": lambda p: replace(p, tasks=p.tasks[::-1]),
}


@pytest.mark.parametrize("lie", WHOLE_LIES)
def test_a_lie_about_a_whole_panel_is_found_without_the_environment(
    lie: str, tmp_path: Path
) -> None:
    write_panel(WHOLE_LIES[lie](small_panels()[0]), tmp_path / "panel")
    assert passes(verify(tmp_path / "panel"))["ids"] is False


@pytest.mark.parametrize("key", ["optimal_selection", "selection_scores_bps", "task_id", "x"])
def test_no_other_key_passes_for_a_field(key: str, tmp_path: Path) -> None:
    """Neither in an export nor unseen."""
    panel = small_panels()[0]
    first = replace(panel.tasks[0], extra={key: "lie", "oracle_reference": {}})
    changed = replace(panel, tasks=(first, *panel.tasks[1:]))
    write_panel(changed, tmp_path / "panel")
    assert passes(verify(tmp_path / "panel"))["other keys"] is False
    if key != "x":
        assert json.loads(published_rows(changed)[0])[key] != "lie"


def test_an_export_that_is_imported_verifies_as_the_panel_does(tmp_path: Path) -> None:
    """With a design that the file cannot name, what depends on it stays open."""
    environment, panel = small_environment(), small_panels()[0]
    path = write_rows(panel, tmp_path / "tasks.jsonl")
    tasks, checks = imported([path], environment)
    assert tasks.environment == panel.environment
    found = passes(checks)
    assert (found["scores"], found["feasible portfolios"], found["environment"]) == (
        None,
        None,
        True,
    )
    assert [task.feasible for task in tasks.tasks] == [task.feasible for task in panel.tasks]


def test_an_export_of_the_packaged_design_verifies_in_full(tmp_path: Path) -> None:
    environment = hashed_environment()
    panel = compile_panels(environment, read_design())[2]
    path = write_rows(panel, tmp_path / "tasks.jsonl")
    checks = passes(verify(path, lambda _: environment))
    assert set(checks.values()) == {True}
    assert {"ids", "prompts", "labels", "scores", "compilation"} <= set(checks)
    tasks, _ = imported([path], environment)
    write_panel(tasks, tmp_path / "panel")
    assert set(passes(verify(tmp_path / "panel", lambda _: environment)).values()) == {True}

"""Two models and one task of a release, against computations of their own on its files."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from release_files import often_best, small_matrix, write_collected
from scipy import stats
from strategies import Table, bits, few, plans, tables

from flavourbench.analysis.comparison import compare
from flavourbench.analysis.inference import infer
from flavourbench.analysis.item import item
from flavourbench.analysis.matrix import ScoreMatrix
from flavourbench.analysis.naming import named
from flavourbench.analysis.plain.analysis import Problem, analyse
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.release import Release, read_evidence, read_release, write_release
from flavourbench.errors import InputError
from flavourbench.tasks.labels import PORTFOLIOS
from flavourbench.tasks.taskset import TaskSet


def stored(matrix: ScoreMatrix, plan: Plan) -> Release:
    """A release as it is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "r"
        write_release(infer(matrix, plan, 1), path)
        return read_release(path)


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collected(tmp_path_factory.mktemp("collected") / "r", often_best)


# --- two models ----------------------------------------------------------------------------


@few(15)
@given(table=tables(), plan=plans())
def test_parts_are_analyses_of_their_strata_alone(table: Table, plan: Plan) -> None:
    """By the plain twin, to the bit; the whole is the mean of its parts by number of strata."""
    matrix = table.matrix()
    found = compare(stored(matrix, plan), *matrix.models[:2])
    design, strata = matrix.design, matrix.strata
    for kind, attribute in (("families", "family"), ("panels", "panel")):
        for part in found[kind]:
            inside = np.array(
                [getattr(strata[s], attribute) == part["name"] for s in design.stratum]
            )
            stratum = np.unique(design.stratum[inside], return_inverse=True)[1]
            cluster = np.unique(design.cluster[inside], return_inverse=True)[1]
            problem = Problem(
                np.ascontiguousarray(matrix.scores.values[:2, inside]),
                stratum.astype(np.int32),
                cluster.astype(np.int32),
                None,
                matrix.scores.exponent,
                {},
                {},
                plan.draws,
                plan.flips,
                plan.seed,
                plan.alpha,
            )
            sizes = (stratum.max() + 1, inside.sum(), cluster.max() + 1)
            assert (part["strata"], part["tasks"], part["clusters"]) == sizes
            plain = analyse(problem)
            assert bits(part["scores"]) == bits(plain.score.tolist())
            assert bits(part["interval"]) == bits(plain.resampled.pair_interval[0].tolist())
            assert part["p"] == plain.flipped.pairs.p[0]
        whole = sum(part["strata"] * part["difference"] for part in found[kind])
        scale = np.abs(matrix.scores.values).max() / matrix.unit
        assert whole / len(strata) == pytest.approx(found["difference"], abs=1e-12 * scale)


@few(15)
@given(table=tables(), plan=plans())
def test_the_other_order_is_the_mirror_image(table: Table, plan: Plan) -> None:
    matrix = table.matrix()
    release = stored(matrix, plan)
    one, other = (compare(release, *pair) for pair in (matrix.models[:2], matrix.models[1::-1]))
    assert one["models"] == other["models"][::-1]
    for a, b in zip(
        [one, *one["families"], *one["panels"]],
        [other, *other["families"], *other["panels"]],
        strict=True,
    ):
        assert a["p"] == b["p"]
        assert a["difference"] == -b["difference"]
        assert a["interval"] == [-bound for bound in b["interval"][::-1]]
        assert a["interval"][0] <= a["interval"][1]
    assert (one["holm_p"], one["resolved"]) == (other["holm_p"], other["resolved"])
    assert one["dz"] == (None if other["dz"] is None else -other["dz"])
    counts, turned = one["counts"], other["counts"]
    assert counts["first_better"] == turned["second_better"]
    assert counts["equal"] == turned["equal"]
    assert not re.search(r"-0\.0\b", json.dumps([one, other]))


def test_the_pair_is_that_of_the_release(collected: Path) -> None:
    release = read_release(collected)
    rows = pq.read_table(collected / "pairs.parquet").to_pylist()
    assert len(rows) == 3
    for row in rows:
        found = compare(release, row["left"], row["right"])
        for key in (
            "difference",
            "se",
            "dz",
            "p",
            "exceedances",
            "holm_p",
            "stepdown_p",
            "resolved",
        ):
            assert found[key] == row[key], key
        for key in ("interval", "simultaneous"):
            assert found[key] == [row[f"{key}_low"], row[f"{key}_high"]]


def test_p_of_a_family_is_the_exact_permutation_test() -> None:
    """SciPy's, where all sign vectors are enumerated: clusters are what is flipped."""
    matrix = small_matrix()
    found = compare(stored(matrix, Plan(40, 5000)), "cedar", "alder")
    design = matrix.design
    for part in found["families"]:
        inside = [matrix.strata[s].family == part["name"] for s in design.stratum]
        own = matrix.scores.values[:, inside]
        gap = (own[2] - own[0]) / matrix.unit
        sizes = np.bincount(design.stratum[inside])
        share = gap / sizes[design.stratum[inside]] / np.count_nonzero(sizes)
        sums = [share[design.cluster[inside] == c].sum() for c in range(design.clusters)]
        test = stats.permutation_test(
            (np.array([s for s in sums if s]),),
            lambda x: abs(x.sum()),
            permutation_type="samples",
            alternative="greater",
            n_resamples=np.inf,
        )
        assert part["p"] == pytest.approx(test.pvalue, rel=1e-12)


@pytest.mark.parametrize("pair", [("ant", "bee"), ("cat", "ant")])
def test_tasks_and_counts_by_hand(collected: Path, pair: tuple[str, str]) -> None:
    found = compare(read_release(collected), *pair)
    scores = pq.read_table(collected / "scores.parquet").to_pylist()
    strata = {
        r["task"]: r["stratum"] for r in pq.read_table(collected / "tasks.parquet").to_pylist()
    }
    seen = pq.read_table(collected / "observations.parquet").to_pylist()
    chosen = {(row["model"], row["task"]): row["selection"] for row in seen}
    score = {(row["model"], row["task"]): row["score"] for row in scores}
    sizes = Counter(strata.values())
    rows = found["tasks"]
    assert {row["task_id"] for row in rows} == {*strata}
    for row in rows:
        name = row["task_id"]
        assert row["scores"] == [score[model, name] for model in pair]
        assert row["selections"] == [chosen[model, name] for model in pair]
        expected = (row["scores"][0] - row["scores"][1]) / len(sizes) / sizes[strata[name]]
        assert row["contribution"] == pytest.approx(expected, rel=1e-12)
        assert row["stratum"] == strata[name]
    parts = [row["contribution"] for row in rows]
    assert parts == sorted(parts, reverse=True)
    assert sum(parts) == pytest.approx(found["difference"], abs=1e-10)
    gaps = [score[pair[0], t] - score[pair[1], t] for t in strata]
    assert [*found["counts"].values()] == [
        sum(g > 0 for g in gaps),
        sum(g < 0 for g in gaps),
        gaps.count(0),
    ]
    best = [(score[pair[0], t] == 100, score[pair[1], t] == 100) for t in strata]
    which = {"both": (True, True), "only_first": (True, False), "only_second": (False, True)}
    assert found["right"] == {
        key: best.count(kind) for key, kind in (which | {"neither": (False, False)}).items()
    }
    assert sum(found["right"].values()) == len(strata)
    assert min(found["right"].values()) > 0


def test_a_score_table_does_not_say_who_was_right() -> None:
    found = compare(stored(small_matrix(), Plan(40, 300)), "alder", "birch")
    assert found["right"] is None
    assert {row["selections"] for row in found["tasks"]} == {None}
    assert found["root"]["kind"] == "score-table"


# --- names ---------------------------------------------------------------------------------

MODELS = {
    "cook-6": ("Simulated cook 6",),
    "cook-8-5": ("Simulated cook 8.5",),
    "z/opus-5": ("Opus 5 (low)",),
    "z/opus-5-mini": ("Opus 5 mini",),
    "glm": ("GLM: «é» \x1b[31m",),
    "Opus 5 mini": ("x",),
}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        *((name, name) for name in MODELS),
        ("cook 6", "cook-6"),
        ("cook 8.5", "cook-8-5"),
        ("COOK-8", "cook-8-5"),
        ("cook 8 5", "cook-8-5"),
        ("simulated  cook_6", "cook-6"),
        ("opus 5 (", "z/opus-5"),
        ("mini", "z/opus-5-mini"),
        ("glm: «é» \x1b[31m", "glm"),
        ("GLM: «É»", "glm"),
    ],
)
def test_names_that_are_understood(typed: str, meant: str) -> None:
    if typed == "mini":  # the end of two of them
        with pytest.raises(InputError, match="may be z/opus-5-mini, Opus 5 mini"):
            named(typed, MODELS, "model")
        return
    assert named(typed, MODELS, "model") == meant


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("cook", "model 'cook' may be cook-6, cook-8-5: write more"),
        ("", "may be cook-6, cook-8-5"),
        ("ok-6", "no model 'ok-6' in the release: did you mean cook-6?"),
        ("cok-8-5", "did you mean cook-8-5"),
        ("qqqqq", "it has cook-6, cook-8-5, z/opus-5, z/opus-5-mini, glm and 1 more"),
        ("\x1b[31m\u202e", r"no model '\x1b[31m\u202e'"),
    ],
)
def test_names_that_are_not(typed: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        named(typed, MODELS, "model")
    assert says in str(caught.value)
    assert str(caught.value).isprintable()


@given(st.lists(st.text("ab-_ /1", min_size=1, max_size=6), min_size=1, max_size=8, unique=True))
def test_every_id_and_beginning_is_found(ids: list[str]) -> None:
    """An id always; a beginning that only one has, where it is no whole id; else all are told."""
    spellings: dict[str, tuple[str, ...]] = dict.fromkeys(ids, ())
    plain = {name: " ".join(filter(None, re.split("[-_ ]", name))) for name in ids}
    for name in ids:
        assert named(name, spellings, "task") == name
        for typed in {name[:end] for end in range(1, len(name))} - {*ids}:
            start = " ".join(filter(None, re.split("[-_ ]", typed)))
            whole = [other for other in ids if plain[other] == start]
            fitting = whole or [other for other in ids if plain[other].startswith(start)]
            if len(fitting) == 1:
                assert named(typed, spellings, "task") == fitting[0]
            else:
                with pytest.raises(InputError, match=" may be "):
                    named(typed, spellings, "task")


# --- one task ------------------------------------------------------------------------------


def test_every_task_holds_every_model_once(collected: Path) -> None:
    release, evidence = read_release(collected), read_evidence(collected)
    assert evidence is not None
    tasks: TaskSet = evidence.tasks
    rows = pq.read_table(collected / "observations.parquet").to_pylist()
    why = Counter()
    for task in tasks.tasks:
        found = item(release, task.id)
        seen = {row["model"]: row for row in rows if row["task"] == task.id}
        assert [rung["score"] for rung in found["ladder"]] == sorted(
            (score / 100 for score in task.scores), reverse=True
        )
        on: list[str] = []
        for rung in found["ladder"]:
            assert rung["score"] == task.scores[PORTFOLIOS.index(rung["portfolio"])] / 100
            for model in rung["models"]:
                assert seen[model]["selection"] == rung["portfolio"]
            on += rung["models"]
        off = [row["id"] for row in found["models"] if row["score"] is None]
        assert sorted(on + off) == sorted(seen)
        assert off == sorted(m for m, row in seen.items() if row["outcome"] != "answered")
        check_models(found, {m: row["score_bps"] for m, row in seen.items()})
        assert found["best"] == sum(row["score_bps"] == 10_000 for row in seen.values())
        assert found["chance"] == pytest.approx(np.mean(task.scores) / 100)
        core = found["core"]
        why[core["why"]] += 1
        assert core["inside"] == (task.id in evidence.core.ids)
        refused = {m: row["outcome"] for m, row in seen.items() if row["outcome"] != "answered"}
        assert core["invalid"] == (refused if task.ranked else {})
        assert (core["why"] == "not-ranked") == (not task.ranked)
        assert (core["why"] == "invalid") == bool(core["invalid"])
    regional = sum(not task.ranked for task in tasks.tasks)
    assert why == {"core": 6 * 8, "invalid": 1, "surplus": 5, "not-ranked": regional}


def check_models(found: dict[str, Any], bps: dict[str, int | None]) -> None:
    """Scores, ranks and mean; the best first, those without a score last."""
    scores = {m: v for m, v in bps.items() if v is not None}
    ranked = [row for row in found["models"] if row["score"] is not None]
    assert {row["id"]: row["score"] for row in ranked} == {m: v / 100 for m, v in scores.items()}
    for row in ranked:
        assert row["rank"] == 1 + sum(v > scores[row["id"]] for v in scores.values())
    assert [row["rank"] for row in ranked] == sorted(row["rank"] for row in ranked)
    assert found["models"][: len(ranked)] == ranked
    assert all(row["rank"] is None for row in found["models"][len(ranked) :])
    assert found["mean"] == pytest.approx(np.mean([*scores.values()]) / 100)


def test_a_task_of_a_score_table_has_scores_and_ranks() -> None:
    matrix = small_matrix()
    release = stored(matrix, Plan(40, 300))
    for t, task in enumerate(matrix.tasks):
        found = item(release, task)
        column = matrix.scores.values[:, t].tolist()
        check_models(found, dict(zip(matrix.models, column, strict=True)))
        assert found["ladder"] is found["task"] is found["core"] is found["best"] is None
        assert matrix.chance is not None
        assert found["chance"] == pytest.approx(matrix.chance[t] / 5600)
        assert f"{found['panel']}/{found['family']}" == matrix.strata[matrix.design.stratum[t]].id

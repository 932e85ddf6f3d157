"""Studies from the command line: cores, what is stale, and models that are added."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from running import Command, Run, tree
from studies import SLOTS, STUDY, choice, panel, ranked_ids, write_answers, write_study

from flavourbench.analysis.bundled import bundled_matrix
from flavourbench.analysis.study import find_study
from flavourbench.tasks.labels import PORTFOLIOS


@pytest.fixture
def study(fb: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study with frozen core and release; the current folder is in it."""
    folder = write_study(fb.folder / "mine")
    monkeypatch.chdir(folder)
    assert fb("freeze").code == 0
    assert fb("infer").code == 0
    return folder


def only(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


def board_of(release: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((release / "leaderboard.json").read_bytes())
    return found


def test_a_new_study_runs_as_it_is(fb: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fb("new", "mine").code == 0
    fb.refused("new", "mine", says="exists")
    inner = fb.folder / "mine" / "notes"
    inner.mkdir()
    monkeypatch.chdir(inner)
    path = fb.folder / "mine" / "study.toml"
    text = path.read_text().replace("50000", "200").replace("100000", "300")
    path.write_text(text.replace('"test-1", "test-2"', '"test-1"'))
    fb.refused("freeze", says=("journal.sqlite", "fb collect"))
    assert fb("collect").code == 0
    fb.refused("infer", says=("no frozen core", "fb freeze"))
    assert fb("status", "--json").json["left"] == 0
    record = fb.json("freeze")
    assert record["size"] == 160
    assert fb("infer").code == 0
    board = board_of(only(fb.folder / "mine" / "releases"))
    assert board["plan"]["draws"] == 200  # type: ignore[index]
    assert fb.json("leaderboard") == board
    scored = fb.json("score", "../journal.sqlite", "--model", "popularity")
    row = next(r for r in board["models"] if r["id"] == "popularity")  # type: ignore[attr-defined]
    assert scored["score"] == row["score"]


def test_where_it_is_called_from_changes_nothing(fb: Command, study: Path) -> None:
    before = tree(study)
    os.chdir(fb.folder)
    assert find_study(Path()) is None
    assert fb("freeze", study).code == 0
    assert fb("infer", study, "--threads", "1").code == 0
    assert fb("infer", study, "--threads", "3", "--out", "r").code == 0
    assert tree(study) == before
    assert tree(fb.folder / "r") == tree(only(study / "releases"))


def test_a_core_is_kept_and_never_overwritten(fb: Command, study: Path) -> None:
    first = tree(study / "cores")
    again = fb("freeze")
    assert "nothing has changed" in again.out
    assert tree(study / "cores") == first
    write_answers(study / "answers", "cumin", {ranked_ids("pairing")[0]: "no idea"})
    record = fb.json("freeze")
    assert record["new"]
    assert {**tree(study / "cores"), **first} == tree(study / "cores")
    left = [row for row in record["left_out"] if row["why"] == "invalid"]
    assert [row["invalid"] for row in left] == [{"cumin": "unparseable"}]
    assert record["size"] == 159
    # Back again: the first core holds once more.
    write_answers(study / "answers", "cumin")
    assert not fb.json("freeze")["new"]
    assert fb("infer").code == 0


def _another_seed(study: Path) -> None:
    (study / "study.toml").write_text(STUDY.replace('seed = "7"', 'seed = "8"'))


def _another_size(study: Path) -> None:
    (study / "study.toml").write_text(STUDY.replace('seed = "7"', 'seed = "7"\nsize = 89'))


def _other_panels(study: Path) -> None:
    (study / "study.toml").write_text(STUDY.replace('"test-1"', '"test-1", "test-2"'))


def _a_model_less(study: Path) -> None:
    (study / "answers" / "cumin.jsonl").unlink()


def _another_outcome(study: Path) -> None:
    write_answers(study / "answers", "cumin", {ranked_ids("constraint")[3]: None})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_another_seed, ("core seed 8", "frozen with 7")),
        (_another_size, ("asks for 89", "frozen with the largest")),
        (_other_panels, ("panels have changed",)),
        (_a_model_less, ("cumin", "no model of the study")),
        (_another_outcome, ("outcomes have changed", "cumin", "answered, now missing")),
    ],
)
def test_a_stale_core_is_refused_by_name(
    fb: Command, study: Path, change: Callable[[Path], None], says: tuple[str, ...]
) -> None:
    change(study)
    name = only(study / "cores").name
    fb.refused("infer", says=(name, "stale", "run `fb freeze`", *says))


def test_a_core_that_is_one_task_short_is_refused(fb: Command, study: Path) -> None:
    (study / "study.toml").write_text(STUDY.replace('seed = "7"', 'seed = "7"\nsize = 89'))
    wrong = dict.fromkeys(ranked_ids("pairing")[:72])
    write_answers(study / "answers", "dill", wrong)
    fb.refused(
        "freeze",
        says=("family pairing: 88 tasks are valid", "89 are needed", "valid of 160: dill 88"),
    )
    write_answers(study / "answers", "dill", dict.fromkeys(ranked_ids("pairing")[:71]))
    record = fb.json("freeze")
    assert [len(row["tasks"]) for row in record["strata"]] == [89, 89, 89]
    surplus = [row for row in record["left_out"] if row["why"] == "surplus"]
    assert len(surplus) == 2 * 71
    write_answers(study / "answers", "dill", dict.fromkeys(ranked_ids("pairing")))
    fb.refused("freeze", says=("family pairing: 0 tasks are valid", "dill 0"))


def added(fb: Command, *arguments: str | Path) -> Run:
    run = fb("add", *arguments)
    assert run.code == 0, run
    return run


def test_adding_is_an_analysis_of_all(fb: Command, study: Path) -> None:
    """Byte for byte, for one model or two, with the cache and without."""
    earlier = only(study / "releases")
    kept = tree(earlier)
    fb.refused("add", says="every model of the study is in the release")
    for slot in ("anise", "mint"):
        write_answers(study / "answers", slot)
    out = added(fb, "--out", "../added")
    assert "anise" in out.out
    assert tree(earlier) == kept
    assert fb("infer", "--out", "../all").code == 0
    assert tree(fb.folder / "added") == tree(fb.folder / "all")
    # One after the other, the second from the cache; from files without a study; and again.
    added(fb, "--model", "anise", "--out", "../one", "--threads", "1")
    added(fb, "../one", "--model", "mint", "--out", "../two")
    assert tree(fb.folder / "two") == tree(fb.folder / "all")
    shutil.rmtree(study / "cache")
    files = [study / "answers" / f"{slot}.jsonl" for slot in ("mint", "anise")]
    os.chdir(fb.folder)
    options = [option for file in files for option in ("--responses", file)]
    added(fb, earlier, *options, "--out", "files")
    assert tree(fb.folder / "files") == tree(fb.folder / "all")


def test_what_moved_is_told(fb: Command, study: Path) -> None:
    before = board_of(only(study / "releases"))
    write_answers(study / "answers", "zaatar")
    found = fb.json("add")
    after = board_of(Path(found["release"]))
    assert found["added"] == ["zaatar"]
    assert found["changed"] == []
    assert found["hypotheses"] == [3, 6]
    assert found["max_t_critical"] == [before["max_t_critical"], after["max_t_critical"]]
    old = {row["id"]: row for row in before["models"]}  # type: ignore[attr-defined]
    new = {row["id"]: row for row in after["models"]}  # type: ignore[attr-defined]
    own = ("score", "se", "pointwise", "family_scores", "panel_scores")
    assert all(old[slot][key] == new[slot][key] for slot in SLOTS for key in own)
    moved = {row["id"]: row for row in found["models"]}
    for slot in SLOTS:
        for key in ("rank", "rank_interval", "group", "simultaneous"):
            pair = [old[slot][key], new[slot][key]]
            assert moved[slot][key] == pair if slot in moved else pair[0] == pair[1]
    # 3 models of 9 numbers each, 3 pairs of 5.
    assert found["kept"] == 3 * 9 + 3 * 6


@pytest.mark.parametrize("text", [None, "no idea"])
def test_a_model_that_is_not_valid_on_the_core_is_refused(
    fb: Command, study: Path, text: str | None
) -> None:
    ids = ranked_ids("substitution")[:12]
    write_answers(study / "answers", "anise", dict.fromkeys(ids, text))
    outcome = "missing" if text is None else "unparseable"
    says = ("anise", "12 of 480 tasks", f"{ids[0]} {outcome}", "and 9 more")
    for command in (("add",), ("infer",)):
        fb.refused(*command, says=says, code=1)
    # Outside of the core nothing is asked of it.
    regional = dict.fromkeys(ranked_ids("regional"), text)
    write_answers(study / "answers", "anise", regional)
    added(fb)


def test_what_cannot_be_added_is_refused(fb: Command, study: Path) -> None:
    release = only(study / "releases")
    fb.refused("add", "--model", "nobody", says=("nobody", "basil"))
    fb.refused("add", "--model", "basil", says=("basil", "in the release already"))
    fb.refused(
        "add",
        "--responses",
        study / "answers" / "basil.jsonl",
        says=("basil", "in the release already"),
    )
    fb.refused("add", "--scores", "t.csv", says="--responses")
    fb.refused("add", "--scores", "t.csv", "--model", "x", says="one of them")
    write_answers(study / "answers", "anise")
    (study / "study.toml").write_text(STUDY.replace('"test-1"', '"test-2"'))
    fb.refused("add", release, says=("stale", "study.toml has other panels"))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('panels = ["test-1"]', "panels = []", ("panels",)),
        ('panels = ["test-1"]', 'panels = ["nowhere"]', ("nowhere",)),
        ('panels = ["test-1"]', 'panels = ["test-1", "test-1"]', ("panels",)),
        ('responses = "answers"', 'responses = "empty"', ("empty", "SLOT.jsonl")),
        ('responses = "answers"', 'responses = "answers"\nroster = "r"', ("responses and roster",)),
        ('responses = "answers"', 'respones = "answers"', ("respones", "responses")),
        ('environment = "pantry"', 'environment = "nowhere"', ("nowhere",)),
        ('seed = "7"', "seed = 7", ("core.seed", "7")),
        ('seed = "7"', 'seed = "7"\nsize = "big"', ("core.size", "big", "largest")),
        ('seed = "7"', 'seed = "7"\nsize = 0', ("core.size", "0")),
        ("draws = 200", "draws = 1", ("plan.draws", "1")),
        ("draws = 200", "draw = 200", ("plan.draw", "draws")),
        ("draws = 200", "alpha = 1.5", ("plan.alpha", "1.5")),
        ("[plan]", "[plan", ("study.toml", "TOML")),
    ],
)
def test_what_is_wrong_in_a_study_is_named(
    fb: Command, monkeypatch: pytest.MonkeyPatch, old: str, new: str, says: tuple[str, ...]
) -> None:
    assert STUDY.count(old) == 1
    folder = write_study(fb.folder / "mine", text=STUDY.replace(old, new))
    monkeypatch.chdir(folder)
    fb.refused("freeze", says=says)


def test_commands_of_a_collection_know_a_study_without_one(fb: Command, study: Path) -> None:
    for command in ("collect", "status"):
        fb.refused(command, says=("answers", "there is no"))
    os.chdir(fb.folder)
    fb.refused("freeze", says=("no study here", "fb new"))
    fb.refused("freeze", "mine/answers", says=("mine/answers", "no study"))
    fb.refused("score", "x.jsonl", says="--tasks")


def test_a_route_that_changed_is_refused(fb: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of two routes are never pooled: not in the journal, nor in a core."""
    assert fb("new", "mine").code == 0
    folder = fb.folder / "mine"
    monkeypatch.chdir(folder)
    text = (folder / "study.toml").read_text().replace("50000", "200").replace("100000", "300")
    (folder / "study.toml").write_text(text.replace('"test-1", "test-2"', '"test-1"'))
    roster = '[[model]]\nslot = "{}"\ndialect = "local:{}"\n'
    asked = [("a", "chance"), ("b", "first-three")]
    (folder / "roster.toml").write_text("".join(roster.format(*model) for model in asked))
    assert fb("collect").code == 0
    assert fb("freeze").code == 0
    asked[1] = ("b", "last-three")
    (folder / "roster.toml").write_text("".join(roster.format(*model) for model in asked))
    fb.refused("infer", says=("slot b has route", "--new-block b"))
    assert fb("collect", "--new-block", "b").code == 0
    fb.refused("infer", says=("stale", "slot b was asked over route", "fb freeze"))
    assert fb("freeze").code == 0
    assert fb("infer").code == 0


def test_a_release_on_an_older_core_is_told(fb: Command, study: Path) -> None:
    release = only(study / "releases")
    write_answers(study / "answers", "cumin", {ranked_ids("pairing")[0]: None})
    assert fb("freeze").code == 0
    for command in (("leaderboard",), ("verify", "--quick")):
        run = fb(*command)
        assert run.code == 0
        assert release.name in run.err[0]
        assert "stale" in run.err[0]
        assert "fb infer" in run.err[0]
    assert fb("leaderboard", release).err == []
    assert fb("infer").code == 0
    assert fb("leaderboard").err == []
    # The earlier core again: the earlier release is the newest on it.
    write_answers(study / "answers", "cumin")
    assert not fb.json("freeze")["new"]
    assert "stale" in fb("leaderboard").err[0]
    assert fb("infer").code == 0
    run = fb("leaderboard")
    assert run.err == []
    assert run.out.splitlines()[-1].endswith(release.name)


def test_what_the_core_left_out_is_bounded(fb: Command, study: Path) -> None:
    """By hand: sums over all 480 ranked tasks, three strata of 160."""
    tasks = {task.id: task for task in panel().tasks}
    wrong = ranked_ids("pairing")[:16] + ranked_ids("constraint")[:4]
    write_answers(study / "answers", "cumin", dict.fromkeys(wrong, "no idea"))
    write_answers(study / "answers", "dill", dict.fromkeys(ranked_ids("pairing")[:2]))
    assert fb("freeze").code == 0
    assert fb("infer").code == 0
    found = fb.json("leaderboard", "--sensitivity")
    assert found["core_tasks"] == 3 * (160 - 16)
    rows = {row["id"]: row for row in found["models"]}
    lacks = {"basil": [], "cumin": wrong, "dill": ranked_ids("pairing")[:2]}
    lows = {}
    for slot, missing in lacks.items():
        families: dict[str, list[float]] = {}
        for task in tasks.values():
            if task.ranked and task.id not in missing:
                score = task.scores[PORTFOLIOS.index(choice(slot, task))] / 100
                families.setdefault(task.family, []).append(score)
        low = sum(sum(scores) / 160 for scores in families.values()) / 3
        high = low + 100 * len(missing) / 160 / 3
        own = sum(sum(scores) / len(scores) for scores in families.values()) / 3
        assert rows[slot]["bounds"] == pytest.approx([low, high])
        assert rows[slot]["available_cases"]["score"] == pytest.approx(own)
        assert rows[slot]["valid"] == 480 - len(missing)
        lows[slot] = low
    order = sorted(lows, key=lambda slot: -lows[slot])
    assert [rows[slot]["invalid_as_zero"]["rank"] for slot in order] == [1, 2, 3]
    table = fb("leaderboard", "--sensitivity").out
    assert all(slot in table for slot in SLOTS)
    os.chdir(fb.folder)
    assert fb("infer", "--draws", "200", "--flips", "300", "--out", "bundled").code == 0
    fb.refused("leaderboard", "bundled", "--sensitivity", says=("bundled", "score table"))


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """The bundled scores of 27 models, long."""
    matrix = bundled_matrix()
    tasks = len(matrix.tasks)
    return pa.table(
        {
            "model": [model for model in matrix.models for _ in range(tasks)],
            "task": [*matrix.tasks] * len(matrix.models),
            "score": (matrix.scores.values / matrix.unit).ravel(),
            "panel": [matrix.strata[s].panel for s in matrix.design.stratum] * len(matrix.models),
            "family": [matrix.strata[s].family for s in matrix.design.stratum] * len(matrix.models),
            "anchor": [matrix.clusters[c] for c in matrix.design.cluster] * len(matrix.models),
            "chance": (matrix.chance / 56 / matrix.unit).tolist() * len(matrix.models),  # type: ignore[operator]
        }
    )


def test_a_28th_model_leaves_27_as_they_were(fb: Command, table: pa.Table) -> None:
    """In a release of scores; the new one has fewer decimals, and no chance levels of its own."""
    own = table.filter(pc.equal(table["model"], table["model"][0]))
    new = own.set_column(0, "model", pa.array(["a new one"] * len(own)))
    new = new.set_column(2, "score", pa.array(np.rint(new["score"].to_numpy() * 10 + 30) / 10))
    pq.write_table(table, "old.parquet")
    pq.write_table(new.drop_columns("chance"), "new.parquet")
    pq.write_table(pa.concat_tables([table, new]), "all.parquet")
    sizes = ("--draws", "1000", "--flips", "1000")
    assert fb("infer", "old.parquet", "--out", "before", *sizes).code == 0
    assert fb("infer", "all.parquet", "--out", "all", *sizes).code == 0
    found = fb.json("add", "before", "--scores", "new.parquet", "--out", "after")
    assert tree(fb.folder / "after") == tree(fb.folder / "all")
    assert found["changed"] == []
    assert found["kept"] == 27 * 9 + 351 * 6
    assert found["hypotheses"] == [351, 378]
    draws = [pq.read_table(f"{name}/draws.parquet") for name in ("before", "after")]
    for model in draws[0].column_names:
        assert draws[0][model].equals(draws[1][model])
    # Other chance levels are another benchmark.
    odd = new.set_column(6, "chance", pc.add(new["chance"], 1.0))
    pq.write_table(odd, "odd.parquet")
    fb.refused("add", "before", "--scores", "odd.parquet", says="chance levels")
    pq.write_table(new.slice(1), "short.parquet")
    fb.refused("add", "before", "--scores", "short.parquet", says=str(new["task"][0]))


def test_choices_are_nothing_to_a_core(fb: Command, study: Path) -> None:
    """Other valid answers, and with them other scores, leave every byte of it."""
    before = tree(study / "cores")
    first = only(study / "releases")
    tasks = panel().tasks
    turned = {
        task.id: f"FINAL_SELECTION: {', '.join(choice('cumin', other))}"
        for task, other in zip(tasks, tasks[::-1], strict=True)
    }
    write_answers(study / "answers", "cumin", turned)
    assert not fb.json("freeze")["new"]
    assert tree(study / "cores") == before
    assert fb("infer", "--out", "other").code == 0
    scores = [pq.read_table(path / "scores.parquet") for path in (first, study / "other")]
    assert not scores[0].equals(scores[1])
    for name in ("core.json", "tasks.parquet"):
        assert (first / name).read_bytes() == (study / "other" / name).read_bytes()


def test_half_a_character_in_an_answer_is_no_text(fb: Command, study: Path) -> None:
    path = study / "answers" / "cumin.jsonl"
    text = path.read_text().replace('"response": "', '"response": "\\ud800 ', 1)
    path.write_text(text)
    assert fb("freeze").code == 0
    assert fb("infer").code == 0
    assert fb("verify").code == 0


def test_an_empty_folder_becomes_a_study(fb: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    (fb.folder / "empty").mkdir()
    monkeypatch.chdir(fb.folder / "empty")
    assert fb("new", ".").code == 0
    assert {path.name for path in Path().iterdir()} == {"study.toml", "roster.toml"}
    fb.refused("new", ".", says="exists: choose another")


def test_a_study_stands_for_its_newest_release(fb: Command, study: Path) -> None:
    board = fb.json("leaderboard")
    os.chdir(fb.folder)
    assert fb.json("leaderboard", "mine") == board
    assert fb("verify", "mine", "--quick").code == 0
    pair = ("basil", "dill", "--release")
    assert fb.json("compare", *pair, "mine") == fb.json("compare", *pair, only(study / "releases"))

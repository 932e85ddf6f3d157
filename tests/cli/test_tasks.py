"""``fb tasks``: views and JSON of panels and task files, import and export, verification."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import statistics
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from references import reference
from running import Command, tree
from task_files import (
    FAMILIES,
    LABELS,
    PORTFOLIOS,
    best,
    compact,
    larder,
    row,
    sealed,
    small_design,
    store,
    study,
    write_rows,
)

from flavourbench.artifact import write_parquet
from flavourbench.identity import table_sha256
from flavourbench.tasks.files import read_tasks
from flavourbench.tasks.panel import PANEL, TASKS, columns_of, write_panel
from flavourbench.tasks.taskset import TaskSet

ROWS = study(3, regional=2)
LONG = row(77, "pairing", anchor_ingredient="a" * 60, prompt="word " * 2000 + "end")
#: Keys that every row has.
NEEDED = sorted({*ROWS[0]} - {"source_panel", "unknown key", "oracle_reference_sha256"})
LAB = ("train_tasks", "validation_tasks", "supplemental_cultural_composition")


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder with one environment, and panels of it in its folder ``panels``."""
    from flavourbench.cli.main import main

    folder = tmp_path_factory.mktemp("compiled")
    store(folder, "larder", larder())
    (folder / "design.toml").write_text(small_design(), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLAVOURBENCH_CACHE", str(folder))
        given = ["--design", str(folder / "design.toml"), "--out", str(folder / "panels")]
        assert main(["compile", *given, "--env", "larder"]) == 0
    return folder


@pytest.fixture
def tasks(fb: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """``fb`` with no environment stored, beside one task file, ``tasks.jsonl``."""
    monkeypatch.setenv("FLAVOURBENCH_CACHE", str(fb.folder / "cache"))
    write_rows(fb.folder / "tasks.jsonl", ROWS)
    return fb


@pytest.fixture
def compiled(tasks: Command, compiled_once: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """``fb`` beside compiled panels in ``panels``, their environment stored."""
    monkeypatch.setenv("FLAVOURBENCH_CACHE", str(compiled_once))
    shutil.copytree(compiled_once / "panels", tasks.folder / "panels")
    return tasks


# --- JSON ------------------------------------------------------------------------------------


def test_stats_are_those_of_the_scores(tasks: Command) -> None:
    found = tasks.json("tasks", "stats", "tasks.jsonl")
    assert {key: found[key] for key in ("tasks", "anchors")} == {"tasks": 11, "anchors": 11}
    assert [entry["family"] for entry in found["families"]] == [*FAMILIES, "regional"]
    for entry in found["families"]:
        name = {"regional": "cultural_composition"}.get(entry["family"], entry["family"])
        chosen = [made for made in ROWS if made["family"] == name]
        scores = [made["selection_scores_bps"].values() for made in chosen]
        chance = statistics.mean(Fraction(sum(values), 5600) for values in scores)
        gaps = [(10_000 - sorted(values)[-2]) / 100 for values in scores]
        assert entry["tasks"] == len(chosen)
        assert entry["chance"] == pytest.approx(float(chance), abs=1e-9)
        assert entry["median_top_gap"] == statistics.median(gaps)
        assert entry["median_distinct_scores"] == statistics.median(len({*v}) for v in scores)
        assert entry["categories"] == 1
        strata = [str(made["validation_stratum"]) for made in chosen]
        assert entry["strata"] == {name: strata.count(name) for name in sorted({*strata})}


def test_list_has_one_object_a_task(tasks: Command) -> None:
    found = tasks.json("tasks", "list", "tasks.jsonl")
    assert [entry["task_id"] for entry in found] == [made["task_id"] for made in ROWS]
    for entry, made in zip(found, ROWS, strict=True):
        assert entry["anchor"] == made["anchor_ingredient"]
        assert entry["stratum"] == made["validation_stratum"]
        assert round(entry["chance"] * 100) == made["chance_score_bps"]
        assert entry["top_gap"] == made["optimal_margin_bps"] / 100
    pairing = tasks.json("tasks", "list", "tasks.jsonl", "--family", "pairing")
    assert pairing == [entry for entry in found if entry["family"] == "pairing"]
    tasks.refused("tasks", "list", "tasks.jsonl", "--family", "paring", says=("paring", "pairing"))


def test_list_of_a_folder_tells_its_panels_and_what_is_wrong(compiled: Command) -> None:
    found = compiled.json("tasks", "list")
    assert [entry["panel"] for entry in found] == ["p1", "p2", "p3"]
    assert found == compiled.json("tasks", "list", "panels")
    assert sum(found[0]["families"].values()) == found[0]["tasks"]
    compiled.refused("tasks", "list", "--family", "pairing", says="--family needs one panel")
    (compiled.folder / "panels/p2/extra").write_text("", encoding="utf-8")
    (compiled.folder / "panels/notes").mkdir()
    again = compiled.json("tasks", "list")
    assert again[0] == found[0]
    assert again[1] == {"panel": "p2", "folder": "p2", "problem": again[1]["problem"]}
    assert "extra is not listed" in again[1]["problem"]
    assert "extra is not" in " ".join(compiled("tasks", "list").out.split())


def test_show_has_all_portfolios_by_score(tasks: Command) -> None:
    made = ROWS[4]
    found = tasks.json(
        "tasks", "show", made["task_id"], "--tasks", "tasks.jsonl", "--mark", "h,b a"
    )
    scores = made["selection_scores_bps"]
    assert {r["portfolio"]: round(r["score"] * 100) for r in found["portfolios"]} == scores
    ladder = [rung["score"] for rung in found["portfolios"]]
    assert ladder == sorted(ladder, reverse=True)
    assert (found["optimum"], found["marked"]) == (best(made), "ABH")
    assert (found["prompt"], found["prompt_sha256"]) == (made["prompt"], made["prompt_sha256"])
    assert found["choices"] == made["choices"]
    assert found["tags"] is None
    assert found["portfolios"][0]["feasible"] is None


def test_show_finds_a_task_in_any_panel_with_its_tags(compiled: Command) -> None:
    (entry,) = compiled.json("tasks", "list", "panels/p3", "--family", "constraint")[:1]
    found = compiled.json("tasks", "show", entry["task_id"])
    assert found["panel"] == "p3"
    assert (found["diet"], found["max_nova"]) != (None, None)
    passing = [
        tags[found["diet"]] and tags["nova"] is not None and tags["nova"] <= found["max_nova"]
        for tags in (found["tags"][name] for name in found["choices"].values())
    ]
    fits = dict(zip(LABELS, passing, strict=True))
    for rung in found["portfolios"]:
        assert rung["feasible"] == all(fits[label] for label in rung["portfolio"])
    other = "x" + found["task_id"]
    compiled.refused("tasks", "show", other, says=(other, "did you mean", found["task_id"]))
    compiled.refused("tasks", "show", found["task_id"], "--env", "lardr", says="lardr")


@pytest.mark.parametrize("mark", ["", "AAB", "AB", "ABCD", "XYZ", "ßA", "\x1b", "A;B;C"])
def test_a_mark_that_is_no_portfolio_is_refused(tasks: Command, mark: str) -> None:
    given = ("tasks", "show", ROWS[0]["task_id"], "--tasks", "tasks.jsonl", "--mark", mark)
    tasks.refused(*given, says="three different labels")


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


# --- views -----------------------------------------------------------------------------------


def views(place: str, task_id: str) -> list[tuple[str, ...]]:
    """Every view of a panel or a task file."""
    show = ("tasks", "show", task_id, "--tasks", place, "--mark", "BCD")
    return [(*("tasks", name), place) for name in ("list", "stats", "verify")] + [show]


def rungs(text: str) -> dict[str, float]:
    """What a ladder shows of each portfolio."""
    return {
        label: float(score) for label, score in re.findall(r"\b([A-H]{3}) +(\d+\.\d\d)\b", text)
    }


def test_the_ladder_shows_every_portfolio_and_marks_one(tasks: Command) -> None:
    made = ROWS[4]
    run = tasks("tasks", "show", made["task_id"], "--tasks", "tasks.jsonl", "--mark", "CBA")
    assert rungs(run.out) == {
        label: round(score / 100, 2) for label, score in made["selection_scores_bps"].items()
    }
    assert re.findall(r"([A-H]{3}) +\d+\.\d\d [^A-H]*<", run.out) == ["ABC"]
    assert re.findall(r"([A-H]{3}) 100\.00 \*", run.out) == [best(made)]
    names = [made["choices"][label] for label in "ABC"]
    assert f"marked: ABC – {', '.join(names)} – " in " ".join(run.out.split())


def test_the_ladder_tells_what_is_infeasible(compiled: Command) -> None:
    (entry,) = compiled.json("tasks", "list", "panels/p1", "--family", "constraint")[:1]
    text = compiled("tasks", "show", entry["task_id"]).out
    crossed = re.findall(r"([A-H]{3}) +0\.00 x", text)
    found = compiled.json("tasks", "show", entry["task_id"])["portfolios"]
    assert sorted(crossed) == sorted(r["portfolio"] for r in found if not r["feasible"])
    assert len(crossed) == 52


@pytest.mark.parametrize("columns", ["80", "40", "24", "1"])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_views_fit_any_terminal_and_cut_nothing(
    tasks: Command, monkeypatch, columns: str, encoding: str
) -> None:
    import io
    import sys

    write_rows(tasks.folder / "tasks.jsonl", [*ROWS, LONG])
    monkeypatch.setenv("COLUMNS", columns)
    width = max(int(columns), 24)
    for arguments in views("tasks.jsonl", LONG["task_id"]):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
        monkeypatch.setattr(sys, "stdout", stream)
        assert tasks(*arguments).code == 0
        text = stream.buffer.getvalue().decode(encoding)
        monkeypatch.undo()
        monkeypatch.chdir(tasks.folder)
        monkeypatch.setenv("COLUMNS", columns)
        assert not re.search("[…\x1b]", text)
        if "verify" in arguments:  # its lines are prose, which the terminal wraps
            continue
        long = [line for line in text.splitlines() if len(line) > width]
        assert all("tasks.jsonl" in line for line in long)
        if "show" in arguments:
            assert rungs(text).keys() == {*PORTFOLIOS}
            assert " ".join(text.split()).count("word") == 2000
            assert "".join(text.split()).count("a" * 60) == 1


def test_a_pipe_gets_whole_lines(tasks: Command, monkeypatch) -> None:
    monkeypatch.delenv("COLUMNS")
    write_rows(tasks.folder / "tasks.jsonl", [*ROWS, LONG])
    lines = tasks("tasks", "list", "tasks.jsonl").out.splitlines()
    for made in [*ROWS, LONG]:
        assert sum(made["task_id"] in line for line in lines) == 1
        (own,) = (line for line in lines if made["task_id"] in line)
        assert made["anchor_ingredient"] in own


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_output_that_is_no_terminal_has_no_colour(shell, tasks: Command, variables) -> None:
    run = shell(*views("tasks.jsonl", ROWS[0]["task_id"])[-1], **variables)
    assert run.code == 0
    assert rungs(run.out).keys() == {*PORTFOLIOS}
    assert "\x1b" not in run.out


def test_no_view_obeys_a_task_file(tasks: Command) -> None:
    odd = row(1, prompt="\x1b[2Jred\u202e\x07\r\n[bold]x[/bold]", split="[red]")
    write_rows(tasks.folder / "tasks.jsonl", [odd])
    for arguments in views("tasks.jsonl", odd["task_id"]):
        run = tasks(*arguments)
        assert run.code == 0
        assert all(line.isprintable() for line in run.out.split("\n"))
    assert r"\x1b[2Jred\u202e\x07\r" in run.out
    assert "[bold]x[/bold]" in run.out


def test_a_folder_of_panels_has_to_be_narrowed(compiled: Command) -> None:
    for name in ("stats", "verify", "template", "export"):
        compiled.refused("tasks", name, "panels", says=("p1, p2, p3", "name one"))


# --- import and export -----------------------------------------------------------------------


def test_what_was_imported_comes_out_as_the_same_bytes(tasks: Command) -> None:
    given = (tasks.folder / "tasks.jsonl").read_bytes()
    told = tasks.json("tasks", "import", "tasks.jsonl", "--out", "panel")
    assert (told["path"], told["tasks"]) == ("panel", len(ROWS))
    verdicts = {check["check"]: check["passed"] for check in told["checks"]}
    assert (verdicts["rows"], verdicts["scores"]) == (True, None)
    assert tasks("tasks", "export", "panel", "out.jsonl").out == ""
    assert (tasks.folder / "out.jsonl").read_bytes() == given
    assert tasks("tasks", "export", "panel").out.encode() == given
    assert tasks("tasks", "import", "out.jsonl", "--out", "again").code == 0
    assert tasks("tasks", "export", "again").out.encode() == given


def test_what_was_compiled_comes_back_with_all_its_fields(compiled: Command) -> None:
    assert compiled("tasks", "export", "panels/p1", "own.jsonl").code == 0
    assert compiled("tasks", "import", "own.jsonl", "--out", "again").code == 0
    assert read_tasks(compiled.folder / "again").tasks != ()
    for old, new in zip(
        read_tasks(compiled.folder / "panels/p1").tasks,
        read_tasks(compiled.folder / "again").tasks,
        strict=True,
    ):
        names = [name for name in old.__slots__ if name != "extra"]
        assert {n: getattr(old, n) for n in names} == {n: getattr(new, n) for n in names}
    data = (compiled.folder / "own.jsonl").read_bytes()
    assert compiled("tasks", "export", "again").out.encode() == data


@pytest.mark.parametrize("name", LAB)
def test_released_tasks_come_out_as_the_same_bytes(tasks: Command, name: str) -> None:
    path = reference(f"flavourbench-lab/{name}.jsonl")
    assert tasks("tasks", "import", path, "--out", "panel").code == 0
    assert tasks("tasks", "export", "panel").out.encode() == path.read_bytes()
    assert tasks("tasks", "verify", "panel").code == 0


def test_released_files_become_one_panel(tasks: Command) -> None:
    paths = [reference(f"flavourbench-lab/{name}.jsonl") for name in LAB]
    told = tasks.json("tasks", "import", *paths, "--out", "panel")
    stats = tasks.json("tasks", "stats", "panel")
    assert told["tasks"] == stats["tasks"] == 709
    sizes = {entry["family"]: entry["tasks"] for entry in stats["families"]}
    assert sizes == {"substitution": 142, "pairing": 142, "constraint": 142, "regional": 283}
    both = b"".join(path.read_bytes() for path in paths)
    assert tasks("tasks", "export", "panel").out.encode() == both


@pytest.mark.parametrize("name", ["export", "template"])
def test_a_file_is_replaced_on_demand_only(tasks: Command, name: str) -> None:
    given = ("tasks", name, "tasks.jsonl")
    (tasks.folder / "out.jsonl").write_text("mine", encoding="utf-8")
    tasks.refused(*given, "out.jsonl", says=("out.jsonl exists", "--force"))
    tasks.refused(*given, ".", "--force", says="is no file")
    tasks.refused(*given, "tasks.jsonl/x", says="tasks.jsonl is no folder")
    tasks.refused(*given, "--force", says="--force")
    assert tasks(*given, "out.jsonl", "--force").code == 0
    assert tasks(*given, "new/folder/out.jsonl").code == 0
    printed = tasks(*given).out.encode()
    assert (tasks.folder / "out.jsonl").read_bytes() == printed
    assert (tasks.folder / "new/folder/out.jsonl").read_bytes() == printed


def test_import_replaces_nothing_but_a_panel(tasks: Command) -> None:
    given = ("tasks", "import", "tasks.jsonl", "--out")
    assert tasks(*given, "panel").code == 0
    tasks.refused(*given, "panel", says=("panel exists", "--force"))
    before = tree(tasks.folder / "panel")
    assert tasks(*given, "panel", "--force").code == 0
    assert tree(tasks.folder / "panel") == before
    (tasks.folder / "panel/notes").write_text("mine", encoding="utf-8")
    tasks.refused(*given, "panel", "--force", says="notes")
    tasks.refused(*given, ".", "--force", says="current folder")
    tasks.refused(*given, "tasks.jsonl", "--force", says="not replaced")


def test_a_template_asks_each_prompt(tasks: Command) -> None:
    lines = tasks("tasks", "template", "tasks.jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == [
        {"task_id": made["task_id"], "prompt": made["prompt"], "response": None} for made in ROWS
    ]


def test_any_terminal_takes_tasks_as_they_are(shell, tasks: Command) -> None:
    """JSONL is UTF-8, whatever the encoding of the terminal."""
    run = shell("tasks", "export", "tasks.jsonl", "x", PYTHONIOENCODING="ascii")
    assert run.code == 0
    with (tasks.folder / "out").open("wb") as out:
        assert (
            shell("tasks", "export", "tasks.jsonl", stdout=out, PYTHONIOENCODING="ascii").code == 0
        )
    assert (tasks.folder / "out").read_bytes() == (tasks.folder / "x").read_bytes()


# --- verify ----------------------------------------------------------------------------------


def test_verify_passes_what_was_written(compiled: Command) -> None:
    report = compiled.json("tasks", "verify", "panels/p2")
    assert report["passed"]
    assert all(check["passed"] for check in report["checks"])
    assert {c["check"] for c in report["checks"]} >= {"scores", "compilation", "prompts", "labels"}
    imported = compiled.json("tasks", "verify", "tasks.jsonl")
    assert imported["passed"]


def failed(fb: Command, *arguments: str) -> list[str]:
    """Names of the checks that fail; the command says so in one line and ends with 1."""
    run = fb("tasks", "verify", *arguments, "--json")
    names = [check["check"] for check in run.json["checks"] if check["passed"] is False]
    assert (run.code, run.json["passed"], len(run.err)) == (1, False, 1)
    assert f"{', '.join(names)} failed" in run.err[0]
    view = fb("tasks", "verify", *arguments)
    assert (view.code, view.err) == (1, run.err)
    assert view.out.count("FAILED") == len(names)
    return names


def _altered(path: Path) -> None:
    data = bytearray((path / "tasks.parquet").read_bytes())
    data[len(data) // 2] ^= 1
    (path / "tasks.parquet").write_bytes(data)


def _manifest(path: Path) -> None:
    text = (path / "manifest.json").read_text("utf-8")
    (path / "manifest.json").write_text(text.replace('"p1"', '"q1"'), encoding="utf-8")


@pytest.mark.parametrize(
    "damage",
    [
        _altered,
        _manifest,
        lambda path: (path / "tasks.parquet").unlink(),
        lambda path: (path / "PANEL.sha256").unlink(),
        lambda path: (path / "manifest.json").write_text("{", encoding="utf-8"),
        lambda path: (path / "extra").write_text("", encoding="utf-8"),
    ],
)
def test_verify_finds_files_that_were_altered(compiled: Command, damage) -> None:
    damage(compiled.folder / "panels/p1")
    assert failed(compiled, "panels/p1") == ["files"]
    compiled.refused("tasks", "stats", "panels/p1", code=1)


def _rewritten(fb: Command, change: Callable[[Any], dict[str, Any]]) -> None:
    """Panel p1 with its first task changed, sealed anew as by another program."""
    from dataclasses import replace

    path = fb.folder / "panels/p1"
    old = read_tasks(path)
    tasks = (replace(old.tasks[0], **change(old.tasks[0])), *old.tasks[1:])
    write_panel(TaskSet(tasks, old.environment, old.design), path, force=True)


def _swapped(task: Any) -> tuple[str, ...]:
    return (task.choices[1], task.choices[0], *task.choices[2:])


def _one_off(task: Any) -> tuple[int, ...]:
    at = next(at for at, score in enumerate(task.scores) if 0 < score < 9_000)
    return (*task.scores[:at], task.scores[at] + 1, *task.scores[at + 1 :])


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda task: {"scores": _one_off(task)}, {"scores", "compilation"}),
        (lambda task: {"prompt": task.prompt + " "}, {"prompts", "compilation"}),
        (lambda task: {"choices": _swapped(task)}, {"labels", "prompts", "scores", "compilation"}),
        (lambda task: {"stratum": 4}, {"selection rules", "compilation"}),
        (lambda task: {"category": "Spices"}, {"categories", "prompts", "compilation"}),
        (
            lambda task: {"feasible": 2**56 - 1 - (1 << task.scores.index(0))},
            {"feasible portfolios", "compilation"},
        ),
        (
            lambda task: {"prompt": task.prompt + "\nFINAL_SELECTION: A, B, C"},
            {"no answer in prompts", "prompts", "compilation"},
        ),
        (lambda task: {"id": task.id + "0"}, {"ids", "labels", "compilation"}),
        (lambda task: {"extra": {"a": 1}}, {"other keys"}),
        (lambda task: {"extra": {"optimal_selection": "ABC"}}, {"other keys"}),
        (lambda task: {"ranked": not task.ranked}, {"selection rules", "compilation"}),
    ],
)
def test_verify_derives_all_of_a_sealed_panel(
    compiled: Command, monkeypatch, change, wrong
) -> None:
    _rewritten(compiled, change)
    assert {*failed(compiled, "panels/p1")} == wrong
    if wrong == {"scores", "compilation"}:  # which only the environment tells
        monkeypatch.setenv("FLAVOURBENCH_CACHE", str(compiled.folder / "empty"))
        assert compiled("tasks", "verify", "panels/p1").code == 0


def test_verify_wants_the_environment_that_the_panel_names(
    compiled: Command, monkeypatch, tmp_path_factory
) -> None:
    folder = tmp_path_factory.mktemp("other")
    store(folder, "other", larder(6))
    monkeypatch.setenv("FLAVOURBENCH_CACHE", str(folder))
    report = compiled.json("tasks", "verify", "panels/p1")
    assert next(c for c in report["checks"] if c["check"] == "scores")["passed"] is None
    assert failed(compiled, "panels/p1", "--env", "other") == ["environment"]
    compiled.refused("tasks", "verify", "panels/p1", "--env", "nope", says="nope")


# --- bad task files --------------------------------------------------------------------------


def changed(path: str, value: Any) -> Callable[[Any], Any]:
    """A row with another value at a dotted path, its digests right."""

    def change(made: Any) -> Any:
        *parents, last = path.split("/")
        inner = made
        for key in parents:
            inner = inner[key]
        inner[last] = value
        return sealed(made)

    return change


def tampered(path: str, value: Any) -> Callable[[Any], Any]:
    """A row with another value at a path, and its digests as they were."""

    def change(made: Any) -> Any:
        changed(path, value)(inner := json.loads(json.dumps(made)))
        return inner

    return change


def without(path: str) -> Callable[[Any], Any]:
    """A row without a key."""

    def change(made: Any) -> Any:
        *parents, last = path.split("/")
        inner = made
        for key in parents:
            inner = inner[key]
        del inner[last]
        return made

    return change


def scored(**scores: Any) -> Callable[[Any], Any]:
    """A row with other scores of some portfolios, its digests right."""

    def change(made: Any) -> Any:
        made["selection_scores_bps"] |= scores
        return sealed(made)

    return change


def two_optima(made: Any) -> Any:
    other = next(label for label in PORTFOLIOS if label != best(made))
    return scored(**{other: 10_000})(made)


BAD_ROWS: list[tuple[Callable[[Any], Any], tuple[str, ...]]] = [
    (without("selection_scores_bps/ABC"), ("55 scores", "ABC")),
    (scored(ABX=5), ("57 scores", "ABX")),
    (scored(CBA=5), ("57 scores", "CBA")),
    (two_optima, ("2 portfolios", "10,000")),
    (lambda made: scored(**{best(made): 9_999})(made), ("no optimum",)),
    (scored(ABC=10_001), ("ABC", "10001", "10,000")),
    (scored(ABC=-1), ("ABC", "-1")),
    (scored(ABC=1.5), ("ABC", "1.5")),
    (scored(ABC=1.0), ("ABC", "1.0")),
    (scored(ABC=True), ("ABC", "True")),
    (scored(ABC="5"), ("ABC", "5")),
    (scored(ABC=None), ("ABC", "None")),
    (scored(ABC=10**30), ("ABC", "1" + "0" * 30)),
    (changed("choices/B", "PAI_item_1_A"), ("PAI_item_1_A", "pai_item_1_a", "one name")),
    (changed("choices/B", " pai item  1 a "), ("pai_item_1_a", "one name")),
    (changed("choices/B", "pai_item_1_a"), ("pai_item_1_a", "one name")),
    (changed("choices/B", ""), ("choice B",)),
    (changed("choices/B", "_ _"), ("'_ _'", "no name")),
    (changed("choices/B", "a\x1bb"), ("choice B", r"a\x1bb")),
    (changed("choices/B", "a\nb"), ("choice B", r"a\nb")),
    (changed("choices/B", "a\u202eb"), ("choice B", r"a\u202eb")),
    (changed("choices/B", 5), ("choice B", "5")),
    (changed("choices/I", "x"), ("labels", "I")),
    (without("choices/H"), ("labels", "A to H")),
    (changed("choices", ["a"] * 8), ("choices", "dict")),
    (tampered("prompt", "Choose A."), ("prompt_sha256", "the prompt was altered")),
    (tampered("prompt_sha256", "0" * 64), ("prompt_sha256", "0" * 40)),
    (tampered("chance_score_bps", 4_000), ("chance_score_bps is 4000",)),
    (tampered("chance_score_bps", 4_000.0), ("chance_score_bps is 4000.0",)),
    (tampered("optimal_margin_bps", 1), ("optimal_margin_bps is 1",)),
    (tampered("optimal_selection", "FGH"), ("optimal_selection is FGH",)),
    (tampered("selection_size", 4), ("selection_size is 4",)),
    (tampered("oracle_reference/method", "x"), ("oracle_reference_sha256",)),
    (tampered("oracle_reference_sha256", "0"), ("oracle_reference_sha256 is 0",)),
    (changed("oracle_reference", None), ("oracle_reference is None",)),
    (changed("oracle_reference/maximum_nova", 5), ("NOVA cap", "5", "1, 2, 3 or 4")),
    (changed("oracle_reference/maximum_nova", 0), ("NOVA cap", "0")),
    (changed("oracle_reference/maximum_nova", 500), ("NOVA cap", "500")),
    (changed("oracle_reference/maximum_nova", True), ("maximum_nova", "True")),
    (changed("oracle_reference/constraint_variant", "keto"), ("diet", "keto", "vegan")),
    (changed("oracle_reference/constraint_variant", ""), ("diet", "vegan")),
    (changed("oracle_reference/target_region", ""), ("target_region", "no name")),
    (changed("oracle_reference/target_region", 3), ("target_region", "3")),
    (changed("task_id", ""), ("task_id", "no name")),
    (changed("task_id", "a\x07"), ("task_id", r"a\x07")),
    (changed("task_id", 5), ("task_id is 5",)),
    (changed("anchor_ingredient", "\x9b"), ("anchor_ingredient", r"\x9b")),
    (changed("family", "a\tb"), ("family", r"a\tb")),
    (changed("primary_category", "\x1b[31m"), ("primary_category", r"\x1b[31m")),
    (changed("split", " "), ("split", "no name")),
    (changed("validation_stratum", 0), ("stratum is 0",)),
    (changed("validation_stratum", 128), ("stratum is 128",)),
    (changed("validation_stratum", "1"), ("validation_stratum", "1")),
    (changed("source_panel", None), ("panel", "None")),
    (changed("source_panel", "p\x00"), ("panel", r"p\x00")),
    (without("source_panel"), ("names no panel", "do not mix")),
    (changed("parser", "fb-2"), ("parser", "fb-2", "fb-1")),
    (changed("parser", ["fb-1"]), ("parser", "fb-1")),
    (changed("parser", "fb-1"), ("fb-1", "published-v3", "do not mix")),
    (changed("feasible_mask", 5), ("feasible_mask", "5", "14")),
    (changed("feasible_mask", "0x" + "f" * 12), ("feasible_mask", "0xff")),
    (changed("feasible_mask", "f" * 15), ("feasible_mask", "f" * 15)),
    (changed("feasible_mask", "0" * 14), ("is infeasible but has a score",)),
    (lambda made: made | {"task_id": ROWS[1]["task_id"]}, (ROWS[1]["task_id"], "line 2")),
    *((without(key), (key, "missing")) for key in NEEDED),
]


@pytest.mark.parametrize(("change", "says"), BAD_ROWS)
def test_a_bad_row_is_refused_with_its_line_and_value(tasks: Command, change, says) -> None:
    rows = json.loads(json.dumps(ROWS))
    rows[4] = change(rows[4])
    text = "".join(json.dumps(entry) + "\n" for entry in rows)
    (tasks.folder / "tasks.jsonl").write_text(text, encoding="utf-8")
    says = ("tasks.jsonl line 5: ", *says)
    tasks.refused("tasks", "import", "tasks.jsonl", "--out", "panel", says=says)


def test_every_command_refuses_a_bad_row_in_the_same_words(tasks: Command) -> None:
    bad = ROWS[4] | {"optimal_margin_bps": 1}
    write_rows(tasks.folder / "tasks.jsonl", [*ROWS[:4], bad])
    line = tasks.refused("tasks", "import", "tasks.jsonl", "--out", "panel", says="line 5: task")
    for name in ("stats", "export", "list", "template"):
        assert tasks.refused("tasks", name, "tasks.jsonl") == line
    run = tasks("tasks", "verify", "tasks.jsonl", "--json")
    assert (run.code, run.err) == (1, ["fb: panel tasks.jsonl: rows failed"])
    assert run.json["checks"] == [
        {"check": "rows", "passed": False, "detail": line.removeprefix("fb: ")}
    ]
    assert tasks.refused("tasks", "show", "x", "--tasks", "tasks.jsonl") == line
    write_rows(tasks.folder / "answers.jsonl", [])
    assert tasks.refused("score", "answers.jsonl", "--tasks", "tasks.jsonl") == line


BAD_LINES: list[tuple[bytes, tuple[str, ...]]] = [
    (b"{", ("no JSON",)),
    (b"task_id", ("no JSON",)),
    (b"[1, 2]", ("[1, 2]", "object")),
    (b'"text"', ("text", "object")),
    (b"null", ("None", "object")),
    (b"{}", ("task_id is missing",)),
    (b"\x00", ("no JSON",)),
    (b'{"a": "\xff"}', ("no JSON in UTF-8",)),
    ('{"a": "ä"}'.encode("latin-1"), ("no JSON in UTF-8",)),
    ('{"a": 1}'.encode("utf-16"), ("no JSON in UTF-8",)),
    (b'{"a": NaN}', ("NaN",)),
    (b'{"a": -Infinity}', ("Infinity",)),
    (b'{"a": 1e999}', ("1e999",)),
    (b'{"a": 1, "a": 1}', ("key a occurs twice",)),
    (b'{"b": {"\\u001b[31m": 1, "\\u001b[31m": 2}}', (r"\x1b[31m", "twice")),
    (b'{"a": ' + b"[" * 101 + b"]" * 101 + b"}", ("100 levels",)),
    (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", ("no JSON",)),
    (b'{"a": ' * 100_000, ("no JSON",)),
    (b'{"a": "\\ud800"}', ("half of a surrogate pair",)),
    (b'{"\\udfff": 1}', ("half of a surrogate pair",)),
    (b'{"a": ' + b"9" * 5000 + b"}", ("no JSON",)),
]


@pytest.mark.parametrize(("line", "says"), BAD_LINES, ids=range(len(BAD_LINES)))
def test_a_bad_line_is_refused_with_its_number(tasks: Command, line: bytes, says) -> None:
    head = (tasks.folder / "tasks.jsonl").read_bytes()
    (tasks.folder / "tasks.jsonl").write_bytes(head + b"\n" + line + b"\n")
    says = (f"tasks.jsonl line {len(ROWS) + 2}", *says)
    tasks.refused("tasks", "import", "tasks.jsonl", "--out", "panel", says=says)
    (tasks.folder / "answers.jsonl").write_bytes(b"\n\n" + line)
    write_rows(tasks.folder / "tasks.jsonl", ROWS)
    says = says[1:] if says[1].startswith(("no JSON", "key a")) else ()
    given = ("score", "answers.jsonl", "--tasks", "tasks.jsonl")
    tasks.refused(*given, says=("answers.jsonl line 3", *says))


@pytest.mark.parametrize("form", ["mark", "returns", "blank", "unended", "spaced", "ascii"])
def test_lines_may_be_written_in_any_sound_way(tasks: Command, form: str) -> None:
    text = "".join(compact(made) + "\n" for made in ROWS)
    other = {
        "mark": "\ufeff" + text,
        "returns": text.replace("\n", "\r\n"),
        "blank": "\n \n" + text.replace("\n", "\n\t\n"),
        "unended": text.rstrip("\n"),
        "spaced": "".join(" " + json.dumps(made, ensure_ascii=False) + " \n" for made in ROWS),
        "ascii": "".join(json.dumps(made) + "\n" for made in ROWS),
    }[form]
    assert other != text
    (tasks.folder / "other.jsonl").write_bytes(other.encode())
    assert tasks("tasks", "import", "other.jsonl", "--out", "panel").code == 0
    assert tasks("tasks", "export", "panel").out == text


def test_any_unknown_key_is_kept(tasks: Command) -> None:
    """As deep as lines may be, and with numbers as they are."""
    deep: Any = "bottom"
    for _ in range(99):
        deep = [deep]
    odd = {"deep": deep, "numbers": [1e308, -0.0, 2**70, 1e-9], "": "\u2028\x00\x1b", "ä": {}}
    text = compact(row(1) | odd) + "\n"
    (tasks.folder / "tasks.jsonl").write_text(text, encoding="utf-8")
    assert tasks("tasks", "import", "tasks.jsonl", "--out", "panel").code == 0
    assert tasks("tasks", "export", "panel").out == text
    assert tasks("tasks", "verify", "panel").code == 0


def test_files_that_are_none_are_refused(tasks: Command) -> None:
    (tasks.folder / "empty.jsonl").write_bytes(b"")
    (tasks.folder / "blank.jsonl").write_bytes(b"\n \n\n")
    (tasks.folder / "folder").mkdir()
    for place, says in {
        "empty.jsonl": "no lines",
        "blank.jsonl": "no lines",
        "absent.jsonl": "no such file",
        "x" * 300: "no such file",
    }.items():
        tasks.refused("tasks", "stats", place, says=(place[-40:], says))
    tasks.refused("tasks", "stats", "folder", says="no panel folder")
    tasks.refused("tasks", "import", "folder", "--out", "panel", says="folder: is a directory")
    tasks.refused("tasks", "import", "empty.jsonl", "--out", "panel", says="no lines")
    tasks.refused("tasks", "stats", "/dev/null", says="neither a folder nor a plain file")
    tasks.refused("tasks", "list", "panels", says=("panels", "no such file"))


def test_a_task_in_two_files_is_refused_with_both(tasks: Command) -> None:
    write_rows(tasks.folder / "other.jsonl", [row(50), ROWS[2], row(51)])
    says = ("tasks.jsonl", "other.jsonl", ROWS[2]["task_id"])
    tasks.refused("tasks", "import", "tasks.jsonl", "other.jsonl", "--out", "panel", says=says)
    says = ("tasks.jsonl and tasks.jsonl", "8 more")
    tasks.refused("tasks", "import", "tasks.jsonl", "tasks.jsonl", "--out", "panel", says=says)


def test_tags_that_contradict_the_scores_are_refused(compiled: Command) -> None:
    """Names of the environment, scores of another: what is infeasible has some."""
    assert compiled("tasks", "export", "panels/p1", "own.jsonl").code == 0
    rows = [without("compiled")(made) for made in rows_of(compiled.folder / "own.jsonl")]
    (at,) = [n for n, made in enumerate(rows) if made["family"] == "constraint"][:1]
    drawn = row(1)["selection_scores_bps"]
    wrong = sealed(rows[at] | {"selection_scores_bps": drawn, "feasible_mask": "f" * 14})
    write_rows(compiled.folder / "own.jsonl", [*rows[:at], wrong, *rows[at + 1 :]])
    given = ("tasks", "import", "own.jsonl", "--out", "panel", "--env", "larder")
    compiled.refused(*given, says=("own.jsonl", "feasible portfolios", wrong["task_id"]))
    given = ("tasks", "import", "tasks.jsonl", "--out", "panel", "--env", "larder")
    compiled.refused(*given, says=("larder has no", "con_item_0_a"))


def test_import_learns_what_is_feasible_from_the_tags(compiled: Command) -> None:
    assert compiled("tasks", "export", "panels/p1", "own.jsonl").code == 0
    rows = rows_of(compiled.folder / "own.jsonl")
    left_out = {"feasible_mask", "compiled"}
    bare = [{k: v for k, v in made.items() if k not in left_out} for made in rows]
    write_rows(compiled.folder / "bare.jsonl", bare)
    for place, env in (("without", ()), ("with", ("--env", "larder"))):
        assert compiled("tasks", "import", "bare.jsonl", "--out", place, *env).code == 0
    masks = [
        [t.feasible for t in read_tasks(compiled.folder / p).tasks] for p in ("without", "with")
    ]
    assert masks[0] == [None] * len(rows)
    assert masks[1] == [int(made["feasible_mask"], 16) for made in rows]


# --- hostile files ---------------------------------------------------------------------------


def test_a_pipe_is_read_once(tasks: Command, shell) -> None:
    data = (tasks.folder / "tasks.jsonl").read_bytes()
    os.mkfifo(tasks.folder / "pipe")
    writer = threading.Thread(target=(tasks.folder / "pipe").write_bytes, args=(data,))
    writer.start()
    assert tasks("tasks", "import", "pipe", "--out", "panel").code == 0
    writer.join()
    (source,) = read_tasks(tasks.folder / "panel").sources
    assert source == {"name": "pipe", "sha256": hashlib.sha256(data).hexdigest()}


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
@pytest.mark.parametrize(
    "command",
    [
        ("tasks", "import", "/dev/zero", "--out", "panel"),
        ("score", "/dev/zero", "--tasks", "tasks.jsonl"),
    ],
)
def test_an_endless_line_is_refused(tasks: Command, command: tuple[str, ...]) -> None:
    tasks.refused(*command, says=("/dev/zero line 1", "longer than 64 MiB"))


def test_many_keys_take_linear_time(tasks: Command) -> None:
    keys = ", ".join(f'"k{at}": 0' for at in range(100_000))
    (tasks.folder / "many.jsonl").write_text(f'{{{keys}, "k99999": 1}}\n', encoding="utf-8")
    began = time.process_time()
    tasks.refused("tasks", "stats", "many.jsonl", says="key k99999 occurs twice")
    assert time.process_time() - began < 5


def test_no_name_in_a_panel_can_command_a_terminal(compiled: Command) -> None:
    """A program that seals what it likes cannot make a family of control characters."""
    path = compiled.folder / "panels/p1"
    columns = columns_of(read_tasks(path))
    _sealed_by_another(path, columns | {"family": ["\x1b[31m\n"] * len(columns["family"])})
    run = compiled("tasks", "list")
    assert (run.code, run.err) == (0, [])
    assert run.out.replace("\n", "").isprintable()
    assert r"family '\x1b[31m\n' is no name" in " ".join(run.out.split())


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("stratum", np.array([1000], np.int16)),
        ("stratum", np.array([2**63 - 1], np.int64)),
        ("stratum", np.array([True])),
        ("ranked", np.array([1], np.int8)),
        ("extra", ["[1]"]),
        ("extra", ['"abc"']),
        ("extra", ["5"]),
        ("extra", ["{"]),
        ("extra", ['{"a": "\\ud800"}']),
        ("family", ["a\u202eb"]),
        ("region", ["\n"]),
    ],
)
def test_sealed_columns_that_hold_no_tasks_are_refused(compiled: Command, column, value) -> None:
    path = compiled.folder / "panels/p1"
    columns = columns_of(read_tasks(path))
    rows = len(columns["task_id"])
    many = value * rows if isinstance(value, list) else np.repeat(value, rows)
    _sealed_by_another(path, columns | {column: many})
    for command in ("stats", "export", "list", "template"):
        compiled.refused("tasks", command, "panels/p1", says="holds no tasks", code=1)
    assert failed(compiled, "panels/p1") == ["files"]


def _sealed_by_another(path: Path, columns: dict[str, Any]) -> None:
    """A panel folder with these columns and right digests, whatever they hold."""
    manifest = json.loads((path / "manifest.json").read_bytes())
    write_parquet(path / TASKS, columns)
    _reseal(path, manifest, table_sha256(columns))


def _reseal(path: Path, manifest: dict[str, Any], digest: str | None = None) -> None:
    """Give a panel folder this manifest, and the seal that belongs to it."""
    body = {key: value for key, value in manifest.items() if key not in ("format", "files")}
    PANEL.write(path, body, {TASKS: digest or manifest["files"][TASKS]["content_sha256"]})


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: manifest | {"more": 1},
        lambda manifest: manifest | {"counts": {"p1": 1}},
        lambda manifest: manifest | {"seeds": {}},
    ],
)
def test_a_manifest_that_says_something_else_is_found(compiled: Command, change) -> None:
    path = compiled.folder / "panels/p1"
    _reseal(path, change(json.loads((path / "manifest.json").read_bytes())))
    assert failed(compiled, "panels/p1") == ["manifest"]


@pytest.mark.parametrize(
    "change",
    [
        {"environment": {"name": "larder"}},
        {"environment": {"name": "larder", "identity": "0", "more": "x"}},
        {"environment": {"name": "a\nb", "identity": "0"}},
        {"environment": {}},
        {"environment": []},
        {"environment": "larder"},
        {"sources": [{"name": "x"}]},
        {"sources": ["x"]},
        {"sources": None},
        {"parser": "fb-2"},
        {"parser": ["fb-1"]},
        {"design": {}},
        {"design": []},
    ],
)
def test_a_manifest_of_another_shape_is_found(compiled: Command, change) -> None:
    path = compiled.folder / "panels/p1"
    _reseal(path, json.loads((path / "manifest.json").read_bytes()) | change)
    assert failed(compiled, "panels/p1") == ["files"]
    compiled.refused("tasks", "stats", "panels/p1", code=1)

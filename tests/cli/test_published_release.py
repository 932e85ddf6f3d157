"""Releases in the published layout: what comes in, what goes out, and what is refused."""

from __future__ import annotations

import csv
import json
import random
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from published_release import FILES, MODELS, ROWS, invalid, observations, write_folder
from references import reference
from release_files import write_collected, write_small
from running import SMALL, Command, tree
from studies import write_answers, write_study
from task_files import Row, chosen_at_random, write_rows

from flavourbench.analysis.inference import infer
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.published.compare import compared
from flavourbench.analysis.published.importing import import_folder
from flavourbench.analysis.published.tables import read_table

BOARD, PAIRS = "leaderboard.csv", "pairwise.csv"
PLAN = Plan(200, 300)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def json_rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_table(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def board_of(release: Path) -> Any:
    return json.loads((release / "leaderboard.json").read_bytes())


def imported(fb: Command, folder: Path | str, out: str = "r") -> Any:
    """The checks of an import that succeeds, by name."""
    found = fb.json("release", "import", folder, "--out", out, *SMALL)
    assert found["passed"] is True
    return {check["check"]: check["passed"] for check in found["checks"]}


# --- there and back ---------------------------------------------------------------------------


def same_evidence(first: Path, second: Path) -> None:
    """Equal but for answers, and what says where things are from."""
    for name in ("leaderboard.json", "diagnostics.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    for name in ("observations", "scores", "draws", "counts", "pairs", "chance"):
        one, other = (pq.read_table(folder / f"{name}.parquet") for folder in (first, second))
        assert one.equals(other), name
    cores = [json.loads((folder / "core.json").read_bytes()) for folder in (first, second)]
    assert cores[0]["strata"] == cores[1]["strata"]


def test_what_went_out_comes_in_again(fb: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """With invalid cells, a model that was added later, and names that CSV has to quote."""
    study = write_study(fb.folder / "s", ("basil", "cumin"))
    names = '\n[names]\nbasil = "Basil, \\"B\\" é"\n'
    path = study / "study.toml"
    path.write_text(path.read_text("utf-8") + names, encoding="utf-8")
    ids = [row["task_id"] for row in json_rows(study / "answers/basil.jsonl")]
    write_answers(study / "answers", "cumin", {ids[0]: None, ids[1]: "no idea"})
    monkeypatch.chdir(study)
    assert fb("freeze").code == 0
    assert fb("infer", "--out", "first").code == 0
    write_answers(study / "answers", "dill", {ids[1]: "no idea"})
    assert fb("add", "first", "--out", "both", "--model", "dill").code == 0
    assert {m["name"] for m in board_of(study / "both")["models"]} == {
        *('Basil, "B" é', "cumin", "dill"),
    }
    told = fb.json("release", "export", "both", "--out", "out")
    assert told["files"] == sorted([BOARD, PAIRS, *FILES])
    again = ("release", "import", "out", "--out", "back", *SMALL)
    assert fb(*again, "--core-seed", told["core_seed"]).code == 0
    same_evidence(study / "both", study / "back")
    assert fb("verify", "back").code == 0
    # What was imported goes out as the same bytes.
    assert fb("release", "export", "back", "--out", "out-2").code == 0
    assert tree(study / "out-2") == tree(study / "out")
    # The tasks that were ranked are stated, so another choice of them is no silent one.
    shutil.rmtree("back")
    fb.refused(*again, "--core-seed", "7", "--size", "30", says=("another core", "--core-seed"))


def test_what_is_simulated_stays_so(fb: Command) -> None:
    def simulate(rows: list[Row]) -> None:
        for row in rows[: len(ROWS)]:
            row["simulated"] = True

    imported(fb, write_folder(fb.folder / "in", change=simulate))
    label = board_of(fb.folder / "r")["label"]
    assert "simulated" in label
    assert fb("verify", "r").code == 0
    told = fb("release", "export", "r", "--out", "out").out
    assert label in " ".join(told.split())
    assert (fb.folder / "out" / "NOTE.txt").read_text("utf-8") == f"{label}\n"
    imported(fb, "out", "r2")
    assert board_of(fb.folder / "r2")["label"] == label


def test_a_panel_that_only_its_file_named_keeps_its_name(fb: Command) -> None:
    tasks = [{k: v for k, v in row.items() if k != "source_panel"} for row in ROWS]
    cells = [row | {"release_panel": None} for row in observations()]
    folder = write_folder(fb.folder / "in", cells, tasks=tasks)
    (folder / "tasks.jsonl").rename(folder / "kitchen_tasks.jsonl")
    imported(fb, folder)
    assert fb("release", "export", "r", "--out", "out").code == 0
    imported(fb, "out", "r2")
    panels = [row["panel_scores"] for row in board_of(fb.folder / "r2")["models"]]
    assert {*panels[0]} == {"kitchen_tasks"}
    same_evidence(fb.folder / "r", fb.folder / "r2")


def test_scores_are_those_of_the_selections(fb: Command) -> None:
    """By hand: means of panel and family, over the tasks that all answered."""
    refused = ROWS[0]["task_id"]

    def refuse(rows: list[Row]) -> None:
        rows[len(ROWS)] = invalid(rows[len(ROWS)])

    folder = write_folder(fb.folder / "in", change=refuse)
    options = ("--size", "6", "--core-seed", "a")
    assert fb("release", "import", folder, "--out", "r", *SMALL, *options).code == 0
    core = json.loads((fb.folder / "r" / "core.json").read_bytes())
    strata = [entry["tasks"] for entry in core["strata"]]
    assert [len(tasks) for tasks in strata] == [6] * 6
    assert not any(refused in tasks for tasks in strata)
    points = {(row["model_id"], row["task_id"]): row["score_bps"] for row in observations()}
    for model in board_of(fb.folder / "r")["models"]:
        means = [sum(points[model["id"], task] for task in tasks) / 600 for tasks in strata]
        assert model["score"] == pytest.approx(sum(means) / 6, abs=1e-9)


def test_sensible_spellings_are_one(fb: Command) -> None:
    def spell(rows: list[Row]) -> None:
        for at, row in enumerate(rows):
            labels = row["selection"][::-1]
            row["selection"] = [labels, list(labels), ", ".join(labels)][at % 3]
            row["model"] = row.pop("model_id")
            row["source_panel"] = row.pop("release_panel")
            row["status"] = ["completed", "success", None][at % 3]
            row["family"] = "unknown here"
            for key in [("outcome",), ("outcome", "valid"), ("outcome", "score_bps", "repeat")][
                at % 3
            ]:
                del row[key]
        rows += [row | {"repeat": 1, "selection": "ABC", "score_bps": None} for row in rows[:5]]
        random.Random(1).shuffle(rows)

    imported(fb, write_folder(fb.folder / "in"))
    imported(fb, write_folder(fb.folder / "spelled", change=spell), "r2")
    same_evidence(fb.folder / "r", fb.folder / "r2")


def test_several_task_files_are_read(fb: Command) -> None:
    folder = write_folder(fb.folder / "in")
    imported(fb, folder)
    (folder / "tasks.jsonl").unlink()
    for panel in ("panel_1", "panel_2"):
        rows = [row for row in ROWS if row["source_panel"] == panel]
        write_rows(folder / f"{panel}_tasks.jsonl", rows)
    imported(fb, folder, "r2")
    same_evidence(fb.folder / "r", fb.folder / "r2")


def test_released_tasks_can_be_ranked_on(fb: Command) -> None:
    lab = reference("flavourbench-lab")
    folder = fb.folder / "in"
    folder.mkdir()
    rows: list[Row] = []
    for name in ("train_tasks.jsonl", "validation_tasks.jsonl"):
        shutil.copy(lab / name, folder)
        rows += map(json.loads, (lab / name).read_text("utf-8").splitlines())
    cells = [
        {"model_id": model, "task_id": row["task_id"], "selection": chosen}
        for seed, model in enumerate(MODELS)
        for row, chosen in zip(rows, chosen_at_random(rows, seed), strict=True)
    ]
    write_rows(folder / FILES[1], cells)
    checks = imported(fb, folder)
    assert checks == {"tasks": True, "score maps": None, "observations": True, "core": None}
    assert board_of(fb.folder / "r")["design"]["tasks"] == len(rows)


# --- refused ----------------------------------------------------------------------------------

Change = Callable[[list[Row]], None]
T = len(ROWS)


def at(number: int, **values: Any) -> Change:
    """Other values in one row."""
    return lambda rows: rows[number].update(values)


def wrong(number: int, outcome: str = "refused", **values: Any) -> Change:
    return lambda rows: rows.__setitem__(number, invalid(rows[number], outcome, **values))


def no_valid_constraint(rows: list[Row]) -> None:
    for number, row in enumerate(rows[:T]):
        if "constraint" in row["task_id"]:
            rows[number] = invalid(row)


def each(**values: Any) -> Change:
    def change(rows: list[Row]) -> None:
        for row in rows:
            row.update(values)

    return change


def in_core(rule: Callable[[Row], bool]) -> Change:
    """Rows that say which tasks are ranked, of the families that may be."""

    def change(rows: list[Row]) -> None:
        for row in rows:
            row["in_core"] = "cultural" not in row["task_id"] and rule(row)

    return change


REFUSED: Mapping[str, tuple[Change, tuple[str, ...]]] = {
    "a family without valid tasks": (no_valid_constraint, ("constraint", "0 tasks are valid")),
    "two served models": (
        at(3, served_model="other"),
        ("line 4", "org/herb", "served_model", "other", "line 1", "never pooled"),
    ),
    "two digests": (
        lambda rows: (each(route_digest="a")(rows), at(1, route_digest="b")(rows)),
        ("line 2", "org/herb", "route_digest b", "line 1 a"),
    ),
    "one route for two models": (
        each(route_digest="same"),
        ("org/herb", "org/leek", "one route"),
    ),
    "a cell twice": (
        lambda rows: rows.append(rows[2]),
        (f"line {3 * T + 1}", "line 3", "repeat 0"),
    ),
    "an unknown task": (at(5, task_id="nope"), ("line 6", "nope")),
    "a task that is no text": (at(5, task_id=None), ("line 6", "task_id")),
    "another panel": (at(5, release_panel="p9"), ("line 6", "p9")),
    "a model without a name": (at(5, model_id=" "), ("line 6", "model_id")),
    "a name that terminals obey": (at(5, model_id="a\x1b[2J"), ("line 6", "model_id", "\\x1b")),
    "two labels": (at(5, selection="AB", score_bps=None), ("line 6", "AB", "no portfolio")),
    "a label twice": (at(5, selection="AAB", score_bps=None), ("line 6", "AAB")),
    "an unknown label": (at(5, selection="ABX", score_bps=None), ("line 6", "ABX")),
    "numbers for labels": (at(5, selection=[1, 2, 3], score_bps=None), ("line 6", "[1,2,3]")),
    "no selection": (at(5, selection=None), ("line 6", "without a selection")),
    "a selection of none": (wrong(5, selection="ABC"), ("line 6", "invalid", "ABC")),
    "a score of none": (wrong(5, score_bps=0), ("line 6", "score_bps is 0", "invalid")),
    "another score": (at(5, score_bps=10_001), ("line 6", "10001", "score map")),
    "a score that is a flag": (
        at(5, score_bps=True),
        ("line 6", "true"),
    ),
    "valid, and refused": (at(5, outcome="refused"), ("line 6", "refused", "true")),
    "invalid, and answered": (at(5, valid=False), ("line 6", "answered", "false")),
    "an unknown outcome": (at(5, outcome="odd"), ("line 6", "odd", "unparseable")),
    "valid in words": (at(5, valid="yes"), ("line 6", "valid", "yes")),
    "a repeat in words": (at(5, repeat="first"), ("line 6", "repeat", "first")),
    "a repeat below 0": (at(5, repeat=-1), ("line 6", "repeat", "-1")),
    "a reason that is none": (wrong(5, reason=[1]), ("line 6", "reason")),
    "no first answer": (
        each(repeat=1),
        ("repeat 0",),
    ),
    "a task ranked for one model only": (
        in_core(lambda row: row["model_id"] != MODELS[1]),
        (f"line {T + 1}", "in_core"),
    ),
    "a regional task in the core": (
        lambda rows: rows[T - 1].update(in_core=True),
        (f"line {T}", "regional", "never ranked"),
    ),
    "a core of unequal parts": (
        in_core(lambda row: row["task_id"] != "t-pairing-003"),
        ("in_core has 7", "6 of"),
    ),
    "a family without its part": (
        in_core(lambda row: "pairing" not in row["task_id"]),
        ("another core", "the core has 14"),
    ),
    "another core": (
        in_core(lambda row: int(row["task_id"][-3:]) % 7 < 3),
        ("another core", "size 3", "--core-seed"),
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_row_that_cannot_be_is_refused(fb: Command, kind: str) -> None:
    change, says = REFUSED[kind]
    folder = write_folder(fb.folder / "in", change=change)
    line = fb.refused("release", "import", folder, "--out", "r", *SMALL, says=says)
    assert len(line) < 600


def test_half_a_character_is_refused(fb: Command) -> None:
    folder = write_folder(fb.folder / "in", change=at(5, reason="half"))
    path = folder / FILES[1]
    path.write_text(path.read_text("utf-8").replace('"half"', '"\\ud800"'), encoding="utf-8")
    fb.refused("release", "import", folder, "--out", "r", says=("line 6", "surrogate"))


def test_a_model_short_of_a_size_is_refused(fb: Command) -> None:
    folder = write_folder(fb.folder / "in", change=wrong(T))
    options = ("--out", "r", "--size", "7", *SMALL)
    says = ("6 tasks are valid", "7 are needed", MODELS[1])
    fb.refused("release", "import", folder, *options, says=says)


@pytest.mark.parametrize("name", FILES)
def test_a_folder_without_one_of_the_files_is_refused(fb: Command, name: str) -> None:
    folder = write_folder(fb.folder / "in")
    (folder / name).unlink()
    fb.refused("release", "import", folder, "--out", "r", says=name)
    fb.refused("release", "import", folder / FILES[0], "--out", "r", says="no folder")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", ("no column model_id", BOARD)),
        ("name,score\na,1\n", "no column model_id"),
        ("model_id,score,score\n", "a column twice"),
        ("model_id,score\norg/herb\n", ("line 2", "1 cells")),
        ("model_id,score\norg/herb,1\n\norg/herb,1\n", ("line 4", "org/herb")),
        ("model_id,score\norg/herb,much\n", ("line 2", "much", "score")),
        ("model_id,score\norg/herb,nan\n", ("line 2", "nan")),
        ("model_id,score\norg/herb,1e999\n", ("line 2", "1e999")),
        ("model_id,score\norg/herb,1e-999999999\n", ("line 2", "1e-999999999")),
        ("model_id,name\norg/herb,a\x1b[2J\n", ("line 2", "\\x1b")),
        ('model_id,score\n"org/herb\n', "no CSV"),
    ],
)
def test_a_table_that_is_none_is_refused(fb: Command, text: str, says: Any) -> None:
    folder = write_folder(fb.folder / "in")
    (folder / BOARD).write_text(text, encoding="utf-8")
    fb.refused("release", "import", folder, "--out", "r", *SMALL, says=says)


def test_only_an_export_is_replaced(fb: Command) -> None:
    write_small(fb.folder / "r")
    export = ("release", "export", "r", "--out", "out")
    assert fb(*export).code == 0
    first = tree(fb.folder / "out")
    fb.refused(*export, says=("exists", "--force"))
    assert fb(*export, "--force").code == 0
    assert tree(fb.folder / "out") == first
    (fb.folder / "out" / "mine.txt").write_text("x")
    fb.refused(*export, "--force", says="mine.txt")
    fb.refused("release", "export", "r", "--out", "r", "--force", says="no export")
    fb.refused("release", "export", "out", "--out", "out-2", says="no release folder")


# --- stated figures -----------------------------------------------------------------------------

CHECKS = {
    BOARD: {
        **dict.fromkeys(("score", "panel_1", "panel_2", "chance_score"), "scores"),
        **dict.fromkeys(("substitution", "pairing", "constraint"), "scores"),
        "se": "standard errors",
        "rank": "ranks",
        "group": "groups",
        "chance_p": "chance tests",
        **dict.fromkeys(("pointwise_low", "pointwise_high"), "pointwise intervals"),
        **dict.fromkeys(("simultaneous_low", "simultaneous_high"), "simultaneous intervals"),
        **dict.fromkeys(("rank_low", "rank_high"), "rank intervals"),
    },
    PAIRS: {
        "mean_difference": "differences",
        "cohen_dz": "effect sizes",
        "sign_flip_p": "p values",
        "holm_p": "Holm p values",
        "resolved": "decisions",
    },
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export with both tables, and its own release beside it."""
    from flavourbench.analysis.published import export_release
    from flavourbench.analysis.release import write_release

    folder = tmp_path_factory.mktemp("exported")
    cells = observations(models=[f"m{n}" for n in range(6)])
    found = import_folder(write_folder(folder / "in", cells), "s")
    write_release(infer(found.evidence.matrix, Plan(2000, 3000), 1), folder / "r", found.evidence)
    export_release(folder / "r", folder / "out")
    return folder / "out"


def failed(folder: Path, plan: Plan) -> list[str]:
    found = import_folder(folder, "s")
    inference = infer(found.evidence.matrix, plan, 1)
    checks = compared(found.leaderboard, found.pairwise, inference)
    assert len(checks) == 15
    return [check["check"] for check in checks if not check["passed"]]


@pytest.mark.parametrize("seed", range(8))
def test_another_seed_differs_within_the_tolerances(exported: Path, seed: int) -> None:
    assert failed(exported, Plan(2000, 3000, seed)) == []


def test_every_column_is_compared(exported: Path, tmp_path: Path) -> None:
    for name, columns in CHECKS.items():
        assert {*columns} == {*table(exported / name)[0]} - {"model_id", "name", "left", "right"}
        for column, check in columns.items():
            folder = shutil.copytree(exported, tmp_path / column)
            rows = table(folder / name)
            for row in rows:
                value = row[column]
                flags = {"True": "False", "False": "True"}
                row[column] = flags[value] if value in flags else f"{float(value) + 9}"
            write_table(folder / name, rows)
            assert f"{name} {check}" in failed(folder, Plan(2000, 3000)), column


@pytest.mark.parametrize("name", [BOARD, PAIRS])
def test_the_last_digit_of_a_score_counts(exported: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(exported, tmp_path / "f")
    column = "score" if name == BOARD else "cohen_dz"
    rows = table(folder / name)
    digits = len(rows[0][column].split(".")[1])
    rows[0][column] = f"{float(rows[0][column]) + 10**-digits:.{digits}f}"
    write_table(folder / name, rows)
    what = "scores" if name == BOARD else "effect sizes"
    assert failed(folder, Plan(2000, 3000)) == [f"{name} {what}"]
    # Of fewer digits, all have to be right.
    rows = table(exported / name)
    for row in rows:
        row[column] = f"{float(row[column]):.2f}"
    write_table(folder / name, rows)
    assert failed(folder, Plan(2000, 3000)) == []


def test_pairs_are_found_either_way_round(exported: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(exported, tmp_path / "f")
    rows = table(folder / PAIRS)
    for row in rows[::2]:
        row["left"], row["right"] = row["right"], row["left"]
        for column in ("mean_difference", "cohen_dz"):
            row[column] = str(-float(row[column]))
    write_table(folder / PAIRS, rows[::-1])
    assert failed(folder, Plan(2000, 3000)) == []


def test_rows_that_lack_or_are_of_others_are_told(
    fb: Command, exported: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(exported, tmp_path / "f")
    rows = table(folder / BOARD)
    rows[0]["model_id"] = "somebody"
    write_table(folder / BOARD, rows)
    write_table(folder / PAIRS, table(folder / PAIRS)[1:])
    run = fb("release", "import", folder, "--out", "r", "--core-seed", "s", *SMALL)
    assert run.code == 1
    assert "somebody" in run.out
    assert f"{BOARD} models" in run.err[0]
    assert f"{PAIRS} pairs" in run.err[0]
    assert board_of(fb.folder / "r")["design"]["models"] == 6


# --- score tables and the publication ---------------------------------------------------------


def test_a_release_of_scores_gives_the_tables_alone(fb: Command) -> None:
    write_small(fb.folder / "r", chance=False)
    told = fb.json("release", "export", "r", "--out", "out")
    assert told["files"] == [BOARD, PAIRS]
    assert told["core_seed"] is None
    assert "score table" in told["root"]["says"]
    rows = table(fb.folder / "out" / BOARD)
    assert {row["chance_p"] for row in rows} == {""}
    assert "" in {row["cohen_dz"] for row in table(fb.folder / "out" / PAIRS)}  # identical models
    shutil.rmtree("out")
    run = fb("release", "export", "r", "--out", "out")
    assert "No task file and no observations" in run.out
    fb.refused("release", "import", "out", "--out", "r2", says=("tasks.jsonl", "fb infer"))


def test_a_family_may_not_hide_a_column(fb: Command) -> None:
    text = "model,task,family,anchor,score\n" + "".join(
        f"{model},t{task},rank,a{task},{task * number % 7}\n"
        for number, model in enumerate("abc", 1)
        for task in range(20)
    )
    (fb.folder / "t.csv").write_text(text)
    assert fb("infer", "t.csv", "--out", "r", *SMALL).code == 0
    fb.refused("release", "export", "r", "--out", "out", says=("family rank", BOARD))


def test_the_bundled_release_in_the_columns_of_the_publication(fb: Command) -> None:
    folder = reference("published-2026-08")
    assert fb("infer", "--out", "r").code == 0
    assert fb("release", "export", "--out", "out", "r").code == 0
    for name, theirs, ids in (
        (BOARD, folder / "models.csv", ["model_id"]),
        (PAIRS, folder / "pairs.csv", ["left", "right"]),
    ):
        ours = table(fb.folder / "out" / name)
        stated = table(theirs)
        assert [*ours[0]] == [*stated[0]]
        found = {frozenset(row[i] for i in ids): row for row in ours}
        assert len(found) == len(stated)
        for row in stated:
            own = found[frozenset(row[i] for i in ids)]
            for column, text in row.items():
                assert digits(own[column]) == digits(text), (column, text, own[column])
    board = {row["model_id"]: row for row in table(fb.folder / "out" / BOARD)}
    for row in table(folder / "models.csv"):
        own = board[row["model_id"]]
        assert own["name"] == row["name"]
        for column in ("score", "substitution", "pairing", "constraint", "panel_1", "panel_2"):
            assert float(own[column]) == pytest.approx(float(row[column]), abs=0.01)
        assert float(own["se"]) == pytest.approx(float(row["se"]), rel=0.015)
    lines = read_table(folder / "models.csv", ["model_id"])
    pairs = read_table(folder / "pairs.csv", ["left", "right"])
    from flavourbench.analysis.bundled import bundled_matrix

    checks = compared(lines, pairs, infer(bundled_matrix(), Plan()))
    exact = {f"{BOARD} scores", f"{PAIRS} differences", f"{PAIRS} effect sizes"}
    # A reconstruction has other scores in the fourth digit; all else is Monte-Carlo error.
    assert {check["check"] for check in checks if not check["passed"]} == exact


def digits(text: str) -> Any:
    """The form of a cell: digits after the point, or what it is."""
    if re.fullmatch(r"-?\d+\.\d+", text):
        return len(text.split(".")[1])
    return "integer" if text.isdigit() else text in ("True", "False")


def test_the_release_of_answers_goes_out_without_them(fb: Command) -> None:
    write_collected(fb.folder / "r")
    assert fb("release", "export", "r", "--out", "out").code == 0
    rows = json_rows(fb.folder / "out" / FILES[1])
    assert [row["outcome"] for row in rows if not row["valid"]] == ["refused"]
    assert not any("FINAL_SELECTION" in text for text in map(json.dumps, rows))
    options = ("--draws", "40", "--flips", "300", "--core-seed", "seed")
    assert fb("release", "import", "out", "--out", "r2", *options).code == 0
    same_evidence(fb.folder / "r", fb.folder / "r2")


def test_files_keys_and_columns_are_documented(exported: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "release-format.md").read_text("utf-8")
    section = text[text.index("## The published layout") :]
    for name in (*FILES, BOARD, PAIRS, "NOTE.txt"):
        assert f"| `{name}` |" in section
    for name in (BOARD, PAIRS):
        row = next(line for line in section.splitlines() if line.startswith(f"| `{name}` |"))
        told = {column for part in re.findall("`([^`]+)`", row) for column in part.split(", ")}
        families = {"substitution", "pairing", "constraint"}
        assert {*table(exported / name)[0]} - families == told - {name, "…"}
    keys = {key for row in json_rows(exported / FILES[1]) for key in row}
    assert keys <= {*re.findall("`([a-z_]+)`", section)}

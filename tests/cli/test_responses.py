"""Answers from elsewhere: files of responses as a study, from the template to the ranking."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from running import SMALL, Command
from studies import STUDY, choice, panel, write_answers

#: Slots of models, in no order of merit.
SLOTS = ("aniseed", "basil", "cumin v2.1")


@pytest.fixture
def study(fb: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of filled-in templates; the current folder is in it."""
    folder = fb.folder / "mine"
    (folder / "answers").mkdir(parents=True)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    monkeypatch.chdir(folder)
    for slot in SLOTS:
        path = folder / "answers" / f"{slot}.jsonl"
        assert fb("tasks", "template", "test-1", path).code == 0
        fill(path)
    return folder


def fill(path: Path) -> None:
    """What a user's script does."""
    tasks = panel().by_id
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [row["response"] for row in rows] == [None] * len(tasks)
    for row in rows:
        task = tasks[row["task_id"]]
        assert row["prompt"] == task.prompt
        row["response"] = f"FINAL_SELECTION: {', '.join(choice(path.stem, task))}"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def ranking(fb: Command, *arguments: str) -> Mapping[str, str]:
    """Names of the models by id, by rank."""
    board = fb.json("infer", *arguments, *SMALL)
    return {model["id"]: model["name"] for model in board["models"]}


def test_filled_in_templates_are_ranked(fb: Command, study: Path) -> None:
    record = fb.json("freeze")
    assert record["size"] == 160
    assert [entry["slot"] for entry in record["models"]] == sorted(SLOTS)
    found = ranking(fb)
    assert [*found] == ["cumin v2.1", "basil", "aniseed"]  # see choice()
    assert [*found.values()] == [*found]
    # Each alone has the score that it has among the others.
    board = fb.json("leaderboard")
    for model in board["models"]:
        scored = fb.json("score", f"answers/{model['id']}.jsonl")
        assert scored["score"] == model["score"]
    assert fb("verify").code == 0


def test_models_have_the_names_of_the_study(fb: Command, study: Path) -> None:
    path = study / "study.toml"
    path.write_text(f'{STUDY}\n[names]\nbasil = "Basil 2 (low)"\n"cumin v2.1" = "Cumin"\n')
    assert fb("freeze").code == 0
    names = {"cumin v2.1": "Cumin", "basil": "Basil 2 (low)", "aniseed": "aniseed"}
    assert ranking(fb) == names
    # A name is no part of what was frozen.
    path.write_text(STUDY)
    assert ranking(fb)["basil"] == "basil"
    path.write_text(f'{STUDY}\n[names]\nbasil = "Basil"\ndill = "Dill"\n')
    write_answers(study / "answers", "dill")
    assert fb("add", "--out", "r").code == 0
    assert fb.json("leaderboard", "r")["models"][0]["name"] == "Dill"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f'{STUDY}\n[names]\nbasill = "B"\n', ("study.toml", "names", "basill", "answers")),
        (f"{STUDY}\n[names]\nbasil = 2\n", ("study.toml", "names.basil", "2")),
        (f'names = "B"\n{STUDY}', ("study.toml", "names", "use a table")),
        (STUDY.replace("responses", "journal") + '\n[names]\nbasil = "B"', ("names", "roster")),
    ],
)
def test_a_name_of_nobody_is_refused(
    fb: Command, study: Path, text: str, says: tuple[str, ...]
) -> None:
    (study / "study.toml").write_text(text)
    fb.refused("freeze", says=says)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"task_id": "nope", "response": "x"}', ("line 3", "nope", "panels in study.toml")),
        ('{"task_id": 5, "response": "x"}', ("line 3", "task_id")),
        ("no JSON", ("line 3", "no JSON")),
        ('{"response": "x"}', ("line 3", "no task_id")),
    ],
)
@pytest.mark.parametrize("command", ["freeze", "infer"])
def test_errors_name_file_and_line(
    fb: Command, study: Path, command: str, line: str, says: tuple[str, ...]
) -> None:
    assert fb("freeze").code == 0
    path = study / "answers" / "basil.jsonl"
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([*lines[:2], line, *lines[3:]]), encoding="utf-8")
    fb.refused(command, says=("basil.jsonl", *says))


def test_a_template_that_nobody_filled_in_is_told(fb: Command, study: Path) -> None:
    path = study / "answers" / "dill.jsonl"
    assert fb("tasks", "template", "test-1", path).code == 0
    fb.refused("freeze", says=("0 tasks are valid", "dill 0"))


def test_hidden_files_are_no_models(fb: Command, study: Path) -> None:
    (study / "answers" / "._basil.jsonl").write_bytes(b"\0")
    assert len(fb.json("freeze")["models"]) == len(SLOTS)


def test_a_file_whose_name_a_terminal_obeys_is_refused(fb: Command, study: Path) -> None:
    (study / "answers" / "a\x1b[2J.jsonl").write_text("{}")
    fb.refused("freeze", says=("slot", "\\x1b", "no name"))

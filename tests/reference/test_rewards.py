"""Rewards of answers: those of ``fb score``, and fast enough for training."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import numpy as np
import pytest
from answers import NAMES, any_answer, labels
from running import Command
from task_files import LABELS, row, sealed, write_rows

from flavourbench.tasks.files import read_tasks
from flavourbench.tasks.reward import reward, rewards, score_of
from flavourbench.tasks.taskset import TaskSet

PARSERS = ("fb-1", "published-v3")
#: Short answers a second.
FLOOR = 200_000


def panel(path: Path, count: int, parser: str) -> TaskSet:
    """A task file whose candidates are those of the made-up answers."""
    names = dict(zip(LABELS, NAMES, strict=True))
    rows = [sealed(row(at) | {"choices": names, "parser": parser}) for at in range(count)]
    return read_tasks(write_rows(path, rows))


@pytest.mark.parametrize("parser", PARSERS)
def test_a_reward_is_the_score_of_the_task(fb: Command, parser: str) -> None:
    """On 10,000 answers of any kind, by either parser; an invalid one is worth nothing."""
    tasks = panel(fb.folder / "tasks.jsonl", 500, parser).tasks
    source = random.Random(parser)
    seen = set()
    for _ in range(10):
        texts = [any_answer(source) for _ in tasks]
        lines = [
            json.dumps({"task_id": task.id, "response": text}) + "\n"
            for task, text in zip(tasks, texts, strict=True)
        ]
        (fb.folder / "answers.jsonl").write_text("".join(lines), encoding="utf-8")
        run = fb("score", "answers.jsonl", "--tasks", "tasks.jsonl", "--json")
        assert run.code == 1
        told = run.json["per_task"]
        found = rewards(tasks, texts)
        assert (found.dtype, found.shape) == (np.float64, (500,))
        assert found.tolist() == [entry["score"] or 0.0 for entry in told]
        assert found.tolist() == [reward(t, text) for t, text in zip(tasks, texts, strict=True)]
        seen |= {entry["reason"] for entry in told}
    assert len(seen) > 4
    assert None in seen


def test_a_reward_is_what_the_portfolio_scores(tmp_path: Path) -> None:
    (task,) = panel(tmp_path / "tasks.jsonl", 1, "fb-1").tasks
    assert reward(task, f"FINAL_SELECTION: {', '.join(task.optimum)}") == 100
    for label, score in row(0)["selection_scores_bps"].items():
        assert reward(task, f"FINAL_SELECTION: {', '.join(reversed(label))}") == score / 100
    for nothing in ("", "No.", "FINAL_SELECTION: A, A, B", "\ud800"):
        assert reward(task, nothing) == 0


def test_a_task_is_read_by_its_own_parser(tmp_path: Path) -> None:
    """A marker in mid-sentence counts for the published parser only."""
    text = "So FINAL_SELECTION: A, B, C"
    tasks = [panel(tmp_path / name, 1, name).tasks[0] for name in PARSERS]
    score = row(0)["selection_scores_bps"]["ABC"] / 100
    assert score > 0
    assert rewards(tasks, [text, text]).tolist() == [0, score]


def test_as_many_texts_as_tasks_are_needed(tmp_path: Path) -> None:
    tasks = panel(tmp_path / "tasks.jsonl", 3, "fb-1").tasks
    for count in (0, 2, 4):
        with pytest.raises(ValueError, match="answers to"):
            rewards(tasks, [""] * count)
    assert rewards([], []).shape == (0,)


@pytest.mark.timed
@pytest.mark.parametrize("parser", PARSERS)
def test_rewards_keep_up_with_training(tmp_path: Path, parser: str) -> None:
    tasks = panel(tmp_path / "tasks.jsonl", 20, parser).tasks * 1000
    source = random.Random(1)
    chosen = [sorted(labels(source)) for _ in tasks]
    texts = [f"FINAL_SELECTION: {', '.join(three)}" for three in chosen]
    best = float("inf")
    for _ in range(10):
        start = time.perf_counter()
        found = rewards(tasks, texts)
        best = min(best, time.perf_counter() - start)
    looked_up = [score_of(t, "".join(three)) / 100 for t, three in zip(tasks, chosen, strict=True)]
    assert found.tolist() == looked_up
    assert len(texts) / best > FLOOR, f"{len(texts) / best:,.0f} answers a second"

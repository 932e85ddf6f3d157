"""A real language model behind a real server, asked by the collector like any other.

SmolLM2 with 135 million parameters does not follow the format on its own; under a grammar it does.
Texts are not pinned: they differ between processors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from collecting import outcomes, roster, rows, run, some_tasks, table
from llama_server import CAP, GRAMMAR, MODEL, absent, llama_server

from flavourbench.analysis.collected import graded_journal
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.scoring import score_model
from flavourbench.collect.plan import Job
from flavourbench.collect.roster import read_roster
from flavourbench.tasks.taskset import TaskSet

REASON = absent()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(REASON is not None, reason=str(REASON))]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with llama_server() as url:
        yield url


def entry(url: str, slot: str, **more: object) -> dict[str, object]:
    return {
        "slot": slot,
        "dialect": "openai-chat",
        "base_url": f"{url}/v1",
        "model": MODEL,
        "max_output_tokens": CAP,
        "temperature": 0,
        "concurrency": 1,
        **more,
    }


@pytest.fixture(scope="module")
def tasks() -> TaskSet:
    return some_tasks(480, "test-1").smoke(24)


def test_it_is_asked_journaled_and_scored(server: str, tasks: TaskSet, tmp_path: Path) -> None:
    """Under a grammar and free-form: what is valid is scored, what is not says why."""
    path = tmp_path / "journal.sqlite"
    # What all prompts begin with is read once.
    quick = {"cache_prompt": True}
    guided = entry(server, "guided", extra={"grammar": GRAMMAR, **quick})
    run(path, Job(roster(guided), tasks))
    run(path, Job(roster(entry(server, "free", extra=quick)), tasks.smoke(6)))
    found = outcomes(path)
    assert {slot: len(cells) for slot, cells in found.items()} == {"guided": 24, "free": 6}
    assert {cell.outcome for cell in found["guided"]} == {"answered"}
    assert {cell.outcome for cell in found["free"]} <= {"truncated", "unparseable", "answered"}
    for flags, served, inside, output in rows(
        path, "SELECT flags, served, input_tokens + cached_tokens, output_tokens FROM reading"
    ):
        assert (flags, served) == ("", MODEL)
        assert 100 < inside < 400
        assert 0 < output <= CAP
    scored = score_model(graded_journal(path, "guided", tasks)[0], Plan(500, 500))
    assert scored.comparable
    assert scored.score is not None
    # It knows as little of food as chance does: 24 tasks have a standard error of 7 points.
    assert abs(scored.score - scored.chance) < 28
    assert len({grade.selection for grade in scored.grades}) > 1


def test_the_example_asks_what_is_asked_here() -> None:
    free, guided = read_roster(Path(__file__).parents[2] / "examples" / "smollm2.toml").routes
    assert guided.parameters["extra"] == {"grammar": GRAMMAR}
    assert (free.model, free.cap, guided.cap) == (MODEL, CAP, CAP)


def test_another_name_is_a_mismatch(server: str, tasks: TaskSet, tmp_path: Path) -> None:
    """The server answers to any name, and says in each answer which model it is."""
    path = tmp_path / "journal.sqlite"
    other = entry(server, "other", model="some-larger-model", max_output_tokens=4)
    run(path, Job(roster(other), tasks.smoke(2)))
    assert [row[3] for row in table(path)] == ["route_mismatch"] * 2
    assert all(MODEL in row[4] for row in table(path))


def test_it_speaks_other_dialects(server: str, tasks: TaskSet, tmp_path: Path) -> None:
    """The same server answers to Responses and to Anthropic's Messages."""
    path = tmp_path / "journal.sqlite"
    others = [
        entry(server, dialect, dialect=dialect, max_output_tokens=8)
        for dialect in ("openai-responses", "anthropic")
    ]
    run(path, Job(roster(*others), tasks.smoke(2)))
    # Under Responses it calls an answer completed that was cut.
    assert [row[3] for row in table(path)] == ["truncated"] * 2 + ["unparseable"] * 2
    usage = rows(path, "SELECT output_tokens, estimated FROM reading")
    assert usage == [(8, 0)] * 4

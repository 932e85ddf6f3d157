"""Words of the providers: how an answer ended, what refuses, what waiting helps against.

The words are those of the providers' own clients (openai 3.57, anthropic 2.14, google-genai 3.6).
"""

from __future__ import annotations

import copy
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from collecting import GOOD, QUICK, model, outcomes, roster, rows, run, some_tasks
from simulator import Simulator

from flavourbench.collect.collector import Collector
from flavourbench.collect.outcomes import Raw, read_attempt
from flavourbench.collect.plan import Job
from flavourbench.collect.route_state import asked_delay

CHAT, RESPONSES, ANTHROPIC, GEMINI = GOOD
TASK = some_tasks(1).tasks[0]
UNKNOWN = "answered"  # judged by what was said, and flagged
ENDS = {
    CHAT: {
        "answered": ("stop", "eos"),
        "truncated": ("length", "max_tokens"),
        "refused": ("content_filter", "refusal", "sensitive", "guardrail_intervened"),
        None: ("error", "abort", "network_error", "insufficient_system_resource"),
        "flagged": ("tool_calls", "function_call", "something_new"),
    },
    RESPONSES: {
        "answered": ("completed",),
        "truncated": ("incomplete max_output_tokens", "incomplete max_messages"),
        "refused": ("incomplete content_filter",),
        None: ("failed", "cancelled", "queued", "in_progress"),
        "flagged": ("incomplete", "incomplete something_new", "something_new"),
    },
    ANTHROPIC: {
        "answered": ("end_turn", "stop_sequence"),
        "truncated": ("max_tokens", "model_context_window_exceeded", "pause_turn"),
        "refused": ("refusal",),
        "flagged": ("tool_use", "something_new"),
    },
    GEMINI: {
        "answered": ("STOP",),
        "truncated": ("MAX_TOKENS",),
        "refused": ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
        "flagged": ("OTHER", "MALFORMED_FUNCTION_CALL", "FINISH_REASON_UNSPECIFIED"),
    },
}
CASES = [
    (dialect, word, outcome)
    for dialect, words in ENDS.items()
    for outcome, those in words.items()
    for word in those
]


def ended(dialect: str, word: str) -> dict[str, Any]:
    """A good answer that ended with that word."""
    answer = copy.deepcopy(GOOD[dialect])
    if dialect == CHAT:
        answer["choices"][0]["finish_reason"] = word
    elif dialect == RESPONSES:
        status, _, reason = word.partition(" ")
        answer |= {"status": status, "incomplete_details": {"reason": reason} if reason else None}
    elif dialect == ANTHROPIC:
        answer["stop_reason"] = word
    else:
        answer["candidates"][0]["finishReason"] = word
    return answer


def read(dialect: str, body: object, status: int = 200, **headers: str) -> Any:
    route = roster(model("http://localhost:1", "one", dialect=dialect)).routes[0]
    return read_attempt(Raw(status, headers, json.dumps(body).encode()), route, TASK, b"{}")


@pytest.mark.parametrize(("dialect", "word", "outcome"), CASES)
def test_a_word_for_the_end_means_that(dialect: str, word: str, outcome: str | None) -> None:
    reading = read(dialect, ended(dialect, word))
    if outcome == "flagged":
        assert (reading.outcome, reading.flags) == (UNKNOWN, ("unknown_finish",))
    else:
        assert reading.outcome == outcome
        assert "unknown_finish" not in reading.flags
    assert (reading.kind == "answer") == (outcome is not None)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, {"code": "content_filter"}, "answer"),
        (400, {"code": "bad", "innererror": {"code": "ResponsibleAIPolicyViolation"}}, "answer"),
        (400, {"code": "invalid_prompt"}, "answer"),
        (200, {"code": "content_policy_violation", "message": "no"}, "answer"),
        (400, {"code": "unsupported_parameter"}, "stop"),
        (429, {"code": "insufficient_quota"}, "stop"),
        (429, {"code": "rate_limit_exceeded"}, "busy"),
    ],
)
def test_codes_of_errors(status: int, error: dict[str, object], kind: str) -> None:
    for dialect in (CHAT, RESPONSES):
        reading = read(dialect, {"error": error}, status)
        assert reading.kind == kind
        assert reading.outcome == ("refused" if kind == "answer" else None)


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "7"}, {}, 7),
        ({"retry-after": "1.5"}, {}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, {}, 0.25),
        ({}, {"error": {"details": [{"reason": "x"}, {"retryDelay": "34.5s"}]}}, 34.5),
        ({}, [{"error": {"details": [{"retryDelay": "3s"}]}}], 3),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, {}, 0),
        *(({"retry-after": odd}, {}, None) for odd in ("soon", "-1", "1e9", "nan", "inf", "1_0")),
    ],
)
def test_a_wait_that_is_asked_for(
    headers: dict[str, str], body: object, seconds: float | None
) -> None:
    assert asked_delay(Raw(429, headers, json.dumps(body).encode())) == seconds


def test_only_the_final_answer_is_read_where_it_is_marked() -> None:
    answer = copy.deepcopy(GOOD[RESPONSES])
    early = {"type": "message", "phase": "commentary", "content": answer["output"][1]["content"]}
    last = {"type": "output_text", "text": "FINAL_SELECTION: D, E, F"}
    answer["output"] = [early, {"type": "message", "phase": "final_answer", "content": [last]}]
    assert read(RESPONSES, answer).reply.text == last["text"]


def collected(
    path: Path, simulator: Simulator, behaviour: str, cells: int, **more: Any
) -> Collector:
    entry = model(simulator.url, "one", behaviour, concurrency=2, **more)
    return run(path, Job(roster(entry), some_tasks(cells)), QUICK)


def test_another_model_ends_its_route_before_much_is_spent(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with Simulator() as simulator:
        (state,) = collected(path, simulator, "sim+wrong-model:sim-2026-09", 100).states
        assert state.stopped is not None
        for part in ("sim-2026-09", "add its name to served", "--new-block one"):
            assert part in state.stopped
        assert 3 <= len(simulator.requests) <= 5
        named = {"served": ["sim-2026-09"], "model": "sim+wrong-model:sim-2026-09"}
        job = Job(roster(model(simulator.url, "one", **named)), some_tasks(5), new_blocks=("one",))
        run(path, job, QUICK)
    assert [cell.outcome for cell in outcomes(path)["one"]] == ["answered"] * 5


def test_a_server_that_is_gone_ends_its_route_for_now(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with Simulator() as simulator:
        (state,) = collected(path, simulator, "sim+cut", 100).states
        assert state.stopped is not None
        assert "20 cells in a row failed" in state.stopped
        assert 20 <= state.done <= 22


def test_a_long_wait_ends_a_route_for_now(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with Simulator() as simulator:
        (state,) = collected(path, simulator, "sim+429-after:5000", 10).states
        assert state.stopped is not None
        assert "asks to wait 5,000 s" in state.stopped
        assert len(simulator.requests) <= 2
    assert rows(path, "SELECT count(*) FROM claim") == [(0,)]


def test_requests_per_minute_are_kept(tmp_path: Path) -> None:
    with Simulator() as simulator:
        collected(tmp_path / "j.sqlite", simulator, "sim", 6, requests_per_minute=600)
        times = sorted(seen.at for seen in simulator.requests)
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert len(gaps) == 5
    assert min(gaps) > 0.05
    assert sum(gaps) > 0.45


def test_no_more_than_asked_for_are_under_way(tmp_path: Path) -> None:
    with Simulator(latency=0.02) as simulator:
        collected(tmp_path / "j.sqlite", simulator, "sim", 20)
        assert simulator.busiest == 2

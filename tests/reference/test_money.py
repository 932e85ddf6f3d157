"""What requests cost: prices, the token tables of the dialects, estimates, and a dry run."""

from __future__ import annotations

import datetime
import json
import time
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from collecting import BASES, model, roster, run, some_tasks
from hypothesis import given
from hypothesis import strategies as st
from simulator import Simulator
from strategies import few

from flavourbench.collect.estimate import estimate_object
from flavourbench.collect.money import price, reserve
from flavourbench.collect.outcomes import Raw, Reading, read_attempt
from flavourbench.collect.plan import Job, request_bytes
from flavourbench.collect.route import Prices, Route
from flavourbench.collect.wire import Tokens
from flavourbench.tasks.taskset import Task, TaskSet

CHAT, RESPONSES, ANTHROPIC, GEMINI = DIALECTS = tuple(BASES)
PRICED = {
    "date": datetime.date(2026, 11, 1),
    "input": Decimal("0.3"),
    "output": Decimal("2.5"),
    "cached_input": Decimal("0.03"),
    "cache_write": Decimal("0.375"),
    "request": Decimal("0.000007"),
}
COUNTS = st.integers(0, 10**7)
DOLLARS = st.decimals(0, 1000, places=4)


# --- prices ----------------------------------------------------------------------------------


@given(counts=st.tuples(*[COUNTS] * 4), dollars=st.tuples(*[DOLLARS] * 5), requests=COUNTS)
@few(200)
def test_a_price_is_the_sum_of_its_parts_to_the_nearest_micro_dollar(
    counts: tuple[int, ...], dollars: tuple[Decimal, ...], requests: int
) -> None:
    """Prices as a roster has them: dollars a million tokens, and dollars a request."""
    each, cached, write, output, request = dollars
    parts = zip(counts, (each, cached, write, output), strict=True)
    exact = sum((Decimal(n) * cost for n, cost in parts), requests * request * 10**6)
    prices = {
        **dict(zip(("input", "cached_input", "cache_write", "output"), dollars, strict=False)),
        "request": request,
        "date": "2026-11-01",
    }
    prices["cache_write"], prices["output"] = write, output
    found = roster(model("http://localhost", "a", prices=prices)).routes[0].prices
    assert found is not None
    tokens = Tokens(counts[0], counts[1], counts[2], counts[3])
    nearest = exact.quantize(Decimal(1), ROUND_HALF_EVEN)
    assert price(tokens, found, requests) == int(nearest)


def test_reasoning_is_inside_output_and_costs_nothing_more() -> None:
    prices = Prices(datetime.date(2026, 11, 1), *map(Fraction, (1, 2, 3, 4, 5)))
    # The order of the fields: input, output, cached input, cache write, request.
    assert price(Tokens(1000, 100, 10, 1), prices) == 1000 + 300 + 40 + 2 + 5
    assert price(Tokens(1000, 100, 10, 1, reasoning=1), prices) == 1347
    assert price(Tokens(0, 0, 0, 0), prices, 3) == 15


# --- what answers state ----------------------------------------------------------------------


def chat(usage: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1760000000,
        "model": "sim",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "FINAL_SELECTION: A, B, C"},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": usage,
        **more,
    }


def responses(usage: Any) -> dict[str, Any]:
    text = {"type": "output_text", "text": "FINAL_SELECTION: A, B, C", "annotations": []}
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "sim",
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "role": "assistant", "status": "completed", "content": [text]},
        ],
        "usage": usage,
    }


def messages(usage: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "sim",
        "content": [{"type": "text", "text": "FINAL_SELECTION: A, B, C"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


def generated(usage: Any) -> dict[str, Any]:
    return {
        "candidates": [
            {
                "content": {"parts": [{"text": "FINAL_SELECTION: A, B, C"}], "role": "model"},
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "usageMetadata": usage,
        "modelVersion": "sim",
    }


SHAPES = {CHAT: chat, RESPONSES: responses, ANTHROPIC: messages, GEMINI: generated}


def route(dialect: str, **more: Any) -> Route:
    return roster(model("http://localhost", "a", dialect=dialect, **more)).routes[0]


@cache
def task() -> Task:
    return some_tasks(1).tasks[0]


def reading(dialect: str, body: dict[str, Any], **more: Any) -> Reading:
    raw = Raw(200, {}, json.dumps(body).encode())
    return read_attempt(raw, route(dialect, **more), task(), b"x" * 301)


#: Dialect, usage as the provider's reference shows it, and tokens: input, cached, written,
#: output, reasoning.
TABLE: list[tuple[str, dict[str, Any], tuple[int, int, int, int, int]]] = [
    (  # OpenAI: cached input is inside the prompt, reasoning inside the completion
        CHAT,
        {
            "prompt_tokens": 2006,
            "completion_tokens": 300,
            "total_tokens": 2306,
            "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 256,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        },
        (86, 1920, 0, 300, 256),
    ),
    (  # vLLM
        CHAT,
        {
            "prompt_tokens": 17,
            "total_tokens": 29,
            "completion_tokens": 12,
            "prompt_tokens_details": None,
        },
        (17, 0, 0, 12, 0),
    ),
    (
        RESPONSES,
        {
            "input_tokens": 328,
            "input_tokens_details": {"cached_tokens": 128},
            "output_tokens": 52,
            "output_tokens_details": {"reasoning_tokens": 40},
            "total_tokens": 380,
        },
        (200, 128, 0, 52, 40),
    ),
    (  # Anthropic: the cache stands beside the input; thinking is inside the output
        ANTHROPIC,
        {
            "input_tokens": 21,
            "cache_creation_input_tokens": 188086,
            "cache_read_input_tokens": 1024,
            "cache_creation": {
                "ephemeral_5m_input_tokens": 188086,
                "ephemeral_1h_input_tokens": 0,
            },
            "output_tokens": 393,
            "service_tier": "standard",
        },
        (21, 1024, 188086, 393, 0),
    ),
    (
        ANTHROPIC,
        {
            "input_tokens": 21,
            "cache_creation_input_tokens": None,
            "cache_read_input_tokens": None,
            "output_tokens": 3,
        },
        (21, 0, 0, 3, 0),
    ),
    (  # Gemini: thoughts stand beside the candidates, the cache inside the prompt
        GEMINI,
        {
            "promptTokenCount": 400,
            "cachedContentTokenCount": 100,
            "candidatesTokenCount": 12,
            "thoughtsTokenCount": 88,
            "totalTokenCount": 500,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 400}],
        },
        (300, 100, 0, 100, 88),
    ),
    (  # all of it was thoughts
        GEMINI,
        {"promptTokenCount": 400, "thoughtsTokenCount": 88, "totalTokenCount": 488},
        (400, 0, 0, 88, 88),
    ),
    (GEMINI, {"promptTokenCount": 400, "totalTokenCount": 400}, (400, 0, 0, 0, 0)),
    (CHAT, {"prompt_tokens": 0, "completion_tokens": 0}, (0, 0, 0, 0, 0)),
]


@pytest.mark.parametrize(("dialect", "usage", "tokens"), TABLE)
def test_tokens_and_cost_of_documented_answers(
    dialect: str, usage: dict[str, Any], tokens: tuple[int, ...]
) -> None:
    found = reading(dialect, SHAPES[dialect](usage), prices=PRICED)
    assert found.outcome == "answered"
    assert found.charge.tokens == Tokens(*tokens)
    assert found.reply.usage == usage
    assert not found.charge.estimated
    assert "estimated" not in found.flags
    each = [Decimal(text) for text in ("0.3", "0.03", "0.375", "2.5")]
    exact = sum((n * cost for n, cost in zip(tokens, each, strict=False)), Decimal(7))
    assert found.charge.micro_dollars == int(exact.quantize(Decimal(1), ROUND_HALF_EVEN))
    assert found.charge.due == found.charge.micro_dollars
    assert found.charge.gateway is None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_cached_token_is_counted_once(dialect: str) -> None:
    """The same request, read from a cache and not: all its input is there both times."""
    rows = [(usage, tokens) for name, usage, tokens in TABLE if name == dialect]
    usage, tokens = rows[0]
    stated = {
        CHAT: usage.get("prompt_tokens"),
        RESPONSES: usage.get("input_tokens"),
        GEMINI: usage.get("promptTokenCount"),
        ANTHROPIC: 21 + 1024 + 188086,
    }
    found = reading(dialect, SHAPES[dialect](usage)).charge.tokens
    assert found.input + found.cached_input + found.cache_write == stated[dialect]
    assert tokens[1] > 0


@pytest.mark.parametrize("dialect", [CHAT, RESPONSES])
@pytest.mark.parametrize(
    ("said", "micro_dollars"),
    [(0.0123456, 12346), (0, 0), (1e-7, 0), (3, 3_000_000), (0.00014, 140)],
)
def test_the_cost_of_a_gateway_wins_and_both_are_kept(
    dialect: str, said: float, micro_dollars: int
) -> None:
    usage = {**next(usage for name, usage, _ in TABLE if name == dialect), "cost": said}
    for prices in ({"prices": PRICED}, {}):
        charge = reading(dialect, SHAPES[dialect](usage), **prices).charge
        assert charge.gateway == micro_dollars
        assert charge.due == micro_dollars
        assert (charge.micro_dollars is None) == (not prices)
        assert charge.micro_dollars != charge.gateway


@pytest.mark.parametrize("cost", ["0.01", True, -1, None, [], {}, float("nan"), float("inf"), 1e9])
def test_a_cost_that_is_none_is_ignored(cost: Any) -> None:
    usage = {**TABLE[0][1], "cost": cost}
    charge = reading(CHAT, chat(usage), prices=PRICED).charge
    assert charge.gateway is None
    assert charge.due == charge.micro_dollars is not None


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("usage", [None, {}, [], "none", {"total_tokens": 5}, 7])
def test_missing_usage_is_a_flagged_estimate_on_the_high_side(dialect: str, usage: Any) -> None:
    found = reading(dialect, SHAPES[dialect](usage), prices=PRICED)
    assert found.outcome == "answered"
    assert found.charge.estimated
    assert "estimated" in found.flags
    # Three bytes a token, rounded up: 301 of the request, 24 of the text.
    assert found.charge.tokens == Tokens(101, 0, 0, 8)
    assert found.charge.due == int((Decimal(101) * 3 / 10 + 20 + 7).to_integral_value())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_unknown_price_is_null(dialect: str) -> None:
    for usage in (next(u for name, u, _ in TABLE if name == dialect), None):
        charge = reading(dialect, SHAPES[dialect](usage)).charge
        assert (charge.micro_dollars, charge.gateway, charge.due) == (None, None, None)
        assert charge.tokens.input > 0
    assert reserve(route(dialect), b"x") is None


def failed(status: int | None, error: str | None = None) -> Reading:
    raw = Raw(status, {}, b'{"error":{"message":"no"}}', error)
    return read_attempt(raw, route(CHAT, prices=PRICED), task(), b"x" * 301)


def test_what_failed_attempts_are_charged() -> None:
    """Nothing where the provider turned it away; all that it could cost where nobody knows."""
    for reading_ in (failed(429), failed(500), failed(400), failed(None, "unreachable")):
        assert reading_.charge.tokens == Tokens(0, 0, 0, 0)
        assert reading_.charge.due == 0
    most = reserve(route(CHAT, prices=PRICED), b"x" * 301)
    assert most == round(Decimal(101) * 3 / 10 + 512 * Decimal("2.5") + 7)
    for reading_ in (failed(None, "timeout"), failed(200, "cut")):
        assert reading_.charge.due == most
        assert reading_.charge.estimated


# --- dry runs --------------------------------------------------------------------------------


def test_an_estimate_is_the_sum_over_its_cells(tmp_path: Path) -> None:
    tasks = some_tasks(40)
    extra = {"extra": {"note": "ü" * 5}}
    models = [
        model("https://a.example", f"m{number}", dialect=dialect, prices=PRICED, **more)
        for number, (dialect, more) in enumerate(
            [(name, given) for name in DIALECTS for given in ({}, extra, {"max_output_tokens": 9})]
        )
    ]
    chosen = roster(*models, {"slot": "c", "dialect": "local:chance"})
    found = estimate_object(Job(chosen, tasks, repeats=3), tmp_path / "none.sqlite")
    assert [row["slot"] for row in found["models"]] == [r.slot for r in chosen.routes]
    total = Decimal(0)
    for one, row in zip(chosen.routes[:-1], found["models"][:-1], strict=True):
        sizes = [-(-len(request_bytes(one, task.prompt)) // 3) for task in tasks.tasks]
        assert (row["cells"], row["requests"]) == (120, 120)
        assert row["input_tokens"] == 3 * sum(sizes)
        assert row["most_output_tokens"] == 120 * one.cap
        exact = 3 * sum(sizes) * Decimal("0.3") + 120 * (one.cap * Decimal("2.5") + 7)
        micro = exact.to_integral_value(ROUND_HALF_EVEN)
        assert row["most_dollars"] == float(micro / 10**6)
        # No less than what is kept for them one by one, but for rounding.
        kept = sum(reserve(one, request_bytes(one, t.prompt)) or 0 for t in tasks.tasks)
        assert abs(int(micro) - 3 * kept) <= 60
        assert (row["output_tokens"], row["dollars"]) == (None, None)
        total += micro
    assert found["requests"] == 13 * 120
    assert found["most_dollars"] == float(total / 10**6)
    assert found["models"][-1]["most_dollars"] == 0
    assert not [*tmp_path.iterdir()]


def test_an_estimate_of_what_is_left(tmp_path: Path) -> None:
    """Cells that ended are not asked again; answers so far say how long the others will be."""
    path, tasks = tmp_path / "journal.sqlite", some_tasks(9)
    with Simulator() as simulator:
        one = model(simulator.url, "a", prices=PRICED)
        two = model(simulator.url, "b", "sim+flaky:1")
        three = model(simulator.url, "c", "sim+no-usage", prices=PRICED)
        first = TaskSet(tasks.tasks[:4], tasks.environment, tasks.design, tasks.sources)
        run(path, Job(roster(one, two, three), first))
        outputs = [24 + len(task.prompt) % 13 for task in first.tasks]  # as the simulator states
    found = estimate_object(Job(roster(one, two, three), tasks, repeats=2), path)
    a, b, c = found["models"]
    left = [*tasks.tasks[4:], *tasks.tasks]
    inside = sum(-(-len(request_bytes(roster(one).routes[0], t.prompt)) // 3) for t in left)
    usual = round(Fraction(sum(outputs), 4) * 14)
    assert (a["cells"], a["requests"], a["input_tokens"]) == (18, 14, inside)
    assert a["output_tokens"] == b["output_tokens"] == usual
    exact = inside * Decimal("0.3") + usual * Decimal("2.5") + 14 * 7
    assert a["dollars"] == float(exact.to_integral_value(ROUND_HALF_EVEN) / 10**6)
    assert (b["requests"], b["most_dollars"], b["dollars"]) == (14, None, None)
    assert (c["requests"], c["output_tokens"], c["dollars"]) == (14, None, None)
    assert found["requests"] == 42
    assert found["most_dollars"] is None


@pytest.mark.timed
def test_a_dry_run_of_200_routes_and_1280_tasks_takes_seconds(tmp_path: Path) -> None:
    some = some_tasks(64)
    tasks = [
        replace(task, id=f"{task.id}-{copy}", panel=f"p{copy}")
        for copy in range(20)
        for task in some.tasks
    ]
    many = TaskSet(tuple(tasks), some.environment, some.design, some.sources)
    models = [model("https://a.example", f"m{n}", f"m-{n}", prices=PRICED) for n in range(200)]
    job = Job(roster(*models), many)
    began = time.perf_counter()
    found = estimate_object(job, tmp_path / "none.sqlite")
    assert time.perf_counter() - began < 10
    assert found["requests"] == 200 * 1280
    assert found["most_dollars"] > 0

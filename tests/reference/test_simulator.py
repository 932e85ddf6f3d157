"""The simulator of providers, seen by clients of the standard library and by plain sockets."""

from __future__ import annotations

import gzip
import json
import re
import signal
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from pathlib import Path
from typing import Any

import pytest
import simulated_behaviours
from answers import NAMES
from simulated_behaviours import NAMES as BEHAVIOURS
from simulated_wire import portfolio, usage_of
from simulator import Simulator

from flavourbench.tasks.labels import PORTFOLIOS
from flavourbench.tasks.parsing import parse

DIALECTS = ("chat", "responses", "messages", "gemini")
KEY = "sk-test-0123456789"
HEADERS = {
    "Authorization": f"Bearer {KEY}",
    "X-Api-Key": KEY,
    "X-Goog-Api-Key": KEY,
    "Anthropic-Version": "2023-06-01",
    "Content-Type": "application/json",
}
each_dialect = pytest.mark.parametrize("dialect", DIALECTS)


@pytest.fixture(scope="module")
def shared() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


def request(dialect: str, model: str, prompt: str = "Which?", cap: int = 300) -> tuple[str, bytes]:
    """Path and body of a request."""
    turns = [{"role": "user", "content": prompt}]
    part = {"role": "user", "parts": [{"text": prompt}]}
    bodies: dict[str, tuple[str, dict[str, Any]]] = {
        "chat": ("/v1/chat/completions", {"messages": turns, "max_completion_tokens": cap}),
        "responses": ("/v1/responses", {"input": turns, "max_output_tokens": cap}),
        "messages": ("/v1/messages", {"messages": turns, "max_tokens": cap}),
        "gemini": (
            f"/v1beta/models/{model.replace('+', '%2B')}:generateContent",
            {"contents": [part], "generationConfig": {"maxOutputTokens": cap}},
        ),
    }
    path, body = bodies[dialect]
    named = {} if dialect == "gemini" else {"model": model}
    return path, json.dumps({**named, **body}).encode()


def ask(
    simulator: Simulator, dialect: str, model: str, prompt: str = "Which?", timeout: float = 10
) -> tuple[HTTPResponse, bytes]:
    with closing(HTTPConnection("127.0.0.1", simulator.port, timeout=timeout)) as connection:
        connection.request("POST", *request(dialect, model, prompt), HEADERS)
        response = connection.getresponse()
        return response, response.read()


def said(simulator: Simulator, dialect: str, model: str, prompt: str = "Which?") -> Any:
    response, body = ask(simulator, dialect, model, prompt)
    assert response.status == 200, body
    return json.loads(body)


def text_of(dialect: str, answer: Any) -> str | None:
    """Visible text, by the shape that the provider's reference gives."""
    if dialect == "chat":
        content: str | None = answer["choices"][0]["message"]["content"]
        return content
    if dialect == "responses":
        items = [item for item in answer["output"] if item["type"] == "message"]
        parts = [part for item in items for part in item["content"]]
        return "".join(part["text"] for part in parts if part["type"] == "output_text")
    if dialect == "messages":
        return "".join(part["text"] for part in answer["content"] if part["type"] == "text")
    parts = answer["candidates"][0]["content"].get("parts", [])
    return "".join(part["text"] for part in parts if not part.get("thought"))


def finish_of(dialect: str, answer: Any) -> Any:
    if dialect == "chat":
        return answer["choices"][0]["finish_reason"]
    if dialect == "responses":
        return (answer["incomplete_details"] or {}).get("reason", answer["status"])
    if dialect == "messages":
        return answer["stop_reason"]
    return answer["candidates"][0]["finishReason"]


def tokens_of(dialect: str, answer: Any) -> tuple[int, int, int]:
    """All of the prompt, the cached part of it, and all that was generated."""
    if dialect == "gemini":
        use = answer["usageMetadata"]
        generated = use.get("candidatesTokenCount", 0) + use.get("thoughtsTokenCount", 0)
        assert use["totalTokenCount"] == use["promptTokenCount"] + generated
        return use["promptTokenCount"], use["cachedContentTokenCount"], generated
    use = answer["usage"]
    if dialect == "messages":
        cached, written = use["cache_read_input_tokens"], use["cache_creation_input_tokens"]
        return use["input_tokens"] + cached + written, cached, use["output_tokens"]
    first, second = ("prompt", "completion") if dialect == "chat" else ("input", "output")
    cached = use[f"{first}_tokens_details"]["cached_tokens"]
    return use[f"{first}_tokens"], cached, use[f"{second}_tokens"]


def test_the_table_holds_every_behaviour() -> None:
    table = (simulated_behaviours.__doc__ or "").split("====\n")[1]
    named = set(re.findall(r"[a-z0-9]+(?:-[a-z0-9]+)*", table))
    suffixed = {f"{status}-{form}" for status in (429, 503, 529) for form in ("after", "date")}
    assert named | suffixed >= BEHAVIOURS
    columns = [line[:20].replace(",", " ").split() for line in table.splitlines()]
    listed = {name.split(":")[0] for column in columns for name in column}
    assert listed - {"====================", "flaky-X"} <= BEHAVIOURS


@each_dialect
def test_good_answers_are_the_prompts(shared: Simulator, dialect: str) -> None:
    prompt = f"Which of these? {dialect} é"
    answer = said(shared, dialect, "sim", prompt)
    usage = usage_of(prompt)
    assert parse(text_of(dialect, answer) or "", NAMES, "fb-1").selection == portfolio(prompt)
    assert answer["modelVersion" if dialect == "gemini" else "model"] == "sim"
    assert tokens_of(dialect, answer) == (usage.input, usage.cached, usage.output)
    seen = shared.requests[-1]
    assert (seen.dialect, seen.model, seen.prompt) == (dialect, "sim", prompt)
    assert (seen.status, seen.answered, seen.headers["x-api-key"]) == (200, True, KEY)


def test_answers_spread_over_all_portfolios() -> None:
    assert {portfolio(str(number)) for number in range(1000)} == set(PORTFOLIOS)


@each_dialect
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 408, 409, 425, 429, 500, 503, 529])
def test_errors_are_the_providers_own(shared: Simulator, dialect: str, status: int) -> None:
    response, body = ask(shared, dialect, f"sim+{status}")
    assert (response.status, response.headers["Retry-After"]) == (status, None)
    error = json.loads(body)["error"]
    assert (KEY in error["message"]) == (status == 401)
    if dialect == "gemini":
        assert error["code"] == status
        assert error["status"].isupper()
    else:
        assert error["type"].islower()
    assert json.loads(body).get("type") == ("error" if dialect == "messages" else None)


def test_retry_after_has_both_forms(shared: Simulator) -> None:
    assert ask(shared, "chat", "sim+429-after:2")[0].headers["Retry-After"] == "2"
    date = ask(shared, "gemini", "sim+529-date:3")[0].headers["Retry-After"]
    assert 2 < parsedate_to_datetime(date).timestamp() - time.time() <= 4


@each_dialect
def test_broken_connections(shared: Simulator, dialect: str) -> None:
    for fault, whole in (("cut", False), ("cut-chunked", False), ("cut-last-chunk", True)):
        with pytest.raises(IncompleteRead) as cut:
            ask(shared, dialect, f"sim+{fault}")
        assert cut.value.partial.endswith(b"}") == whole
    for fault in ("cut-headers", "reset"):
        with pytest.raises((ConnectionError, HTTPException)):
            ask(shared, dialect, f"sim+{fault}")
    for fault in ("hang", "hang-body"):
        with pytest.raises(TimeoutError):
            ask(shared, dialect, f"sim+{fault}", timeout=0.05)
    assert not any(seen.answered for seen in shared.requests[-7:])


def test_a_plain_socket_sees_the_bytes(shared: Simulator) -> None:
    path, body = request("chat", "sim+drip:0.001")
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
    with socket.create_connection(("127.0.0.1", shared.port), 5) as plain:
        # In pieces, and the second one while the first is being answered.
        for fields in ("", "Connection: close\r\n"):
            whole = f"{head}{fields}\r\n".encode() + body
            for at in range(0, len(whole), 100):
                plain.sendall(whole[at : at + 100])
            time.sleep(0.05)
        pieces = list(iter(lambda: plain.recv(1 << 16), b""))
    answers = b"".join(pieces).split(b"HTTP/1.1 200 OK\r\n")[1:]
    assert [json.loads(answer.split(b"\r\n\r\n")[1])["object"] for answer in answers] == [
        "chat.completion",
        "chat.completion",
    ]
    assert len(pieces) > 500


@each_dialect
def test_bodies_that_are_no_answers(shared: Simulator, dialect: str) -> None:
    for kind, value in (("list", []), ("null", None), ("number", 17), ("string", "ok")):
        assert said(shared, dialect, f"sim+not-object:{kind}") == value
    with pytest.raises(json.JSONDecodeError):
        said(shared, dialect, "sim+malformed")
    for fault, status in (("html", 200), ("html-502", 502)):
        response, body = ask(shared, dialect, f"sim+{fault}")
        assert (response.status, response.headers["Content-Type"]) == (status, "text/html")
        assert body.startswith(b"<!DOCTYPE html>")
    assert "error" in said(shared, dialect, "sim+error-200")
    assert ask(shared, dialect, "sim+empty-body")[1] == b""
    with pytest.raises(RecursionError):
        said(shared, dialect, "sim+deep")
    with pytest.raises(UnicodeDecodeError):
        said(shared, dialect, "sim+bad-utf8")
    assert ask(shared, dialect, "sim+bom")[1].startswith(b"\xef\xbb\xbf{")


@each_dialect
def test_sizes(shared: Simulator, dialect: str) -> None:
    assert len(ask(shared, dialect, "sim+huge:3000000")[1]) == 3_000_000
    assert (text_of(dialect, said(shared, dialect, "sim+huge:99999")) or "").startswith("xxx")
    response, small = ask(shared, dialect, "sim+gzip")
    assert response.headers["Content-Encoding"] == "gzip"
    assert text_of(dialect, json.loads(gzip.decompress(small)))
    _, bomb = ask(shared, dialect, "sim+bomb")
    assert len(bomb) < 300_000
    unpacked, size = zlib.decompressobj(wbits=31), 0
    while bomb and not unpacked.eof:
        size += len(unpacked.decompress(bomb, 1 << 24))
        bomb = unpacked.unconsumed_tail
    assert unpacked.eof
    assert size > 256 << 20


STOPS = ("stop", "completed", "end_turn", "STOP")
LENGTHS = ("length", "max_output_tokens", "max_tokens", "MAX_TOKENS")


@pytest.mark.parametrize(
    ("behaviour", "finishes", "verdict"),
    [
        ("sorry", STOPS, "no_marker"),
        ("prose", STOPS, "no_marker"),
        ("empty", STOPS, "empty"),
        ("length", LENGTHS, "valid"),
        ("reasoning-budget", LENGTHS, "empty"),
        ("reasoning-stop", STOPS, "empty"),
        ("duplicate", STOPS, "ambiguous"),
        ("duplicate-same", STOPS, "valid"),
        ("thinking", STOPS, "valid"),
        ("think-tags", STOPS, "valid"),
        ("nul", STOPS, "valid"),
        ("surrogate", STOPS, "valid"),
        ("unknown-finish", ("moonrise", "moonrise", "moonrise", "MOONRISE"), "valid"),
    ],
)
def test_texts_and_finishes(
    shared: Simulator, behaviour: str, finishes: tuple[str, ...], verdict: str
) -> None:
    for dialect, finish in zip(DIALECTS, finishes, strict=True):
        answer = said(shared, dialect, f"sim+{behaviour}")
        assert finish_of(dialect, answer) == finish
        parsed = parse(text_of(dialect, answer) or "", NAMES, "fb-1")
        assert (parsed.reason or "valid") == verdict
        if verdict == "valid":
            assert parsed.selection == portfolio("Which?")
        if behaviour in ("length", "reasoning-budget", "reasoning-stop"):
            assert tokens_of(dialect, answer)[2] == 300
        assert (json.dumps(answer).count("FINAL_SELECTION") > 1) == (
            behaviour in ("duplicate", "duplicate-same", "thinking", "think-tags")
        )


def test_refusals_are_the_providers_own(shared: Simulator) -> None:
    chat = said(shared, "chat", "sim+refusal")["choices"][0]
    assert chat["message"]["refusal"]
    assert (chat["message"]["content"], chat["finish_reason"]) == (None, "stop")
    (item,) = (i for i in said(shared, "responses", "sim+refusal")["output"] if "content" in i)
    assert [part["type"] for part in item["content"]] == ["refusal"]
    assert said(shared, "messages", "sim+refusal")["stop_reason"] == "refusal"
    gemini = said(shared, "gemini", "sim+refusal")
    assert gemini["promptFeedback"]["blockReason"]
    assert "candidates" not in gemini
    finishes = ("content_filter", "content_filter", "refusal", "SAFETY")
    for dialect, finish in zip(DIALECTS, finishes, strict=True):
        assert finish_of(dialect, said(shared, dialect, "sim+content-filter")) == finish
        assert ask(shared, dialect, "sim+filter-400")[0].status == 400
    assert b'"code":"content_filter"' in ask(shared, "chat", "sim+filter-400")[1]


@each_dialect
def test_what_is_stated_beside_the_text(shared: Simulator, dialect: str) -> None:
    model, usage = ("modelVersion", "usageMetadata") if dialect == "gemini" else ("model", "usage")
    assert said(shared, dialect, "sim+wrong-model:other")[model] == "other"
    assert model not in said(shared, dialect, "sim+no-model")
    assert usage not in said(shared, dialect, "sim+no-usage")
    assert said(shared, dialect, "sim+cost:0.00125")[usage]["cost"] == 0.00125
    counts = said(shared, dialect, "sim+odd-usage:negative")[usage].values()
    assert all(count == -5 for count in counts if isinstance(count, int))
    assert "-5" in json.dumps(said(shared, dialect, "sim+odd-usage"))
    assert said(shared, dialect, "sim+provider:Elsewhere")["provider"] == "Elsewhere"
    assert said(shared, dialect, "sim+fallback")["fallback"] is True
    response, body = ask(shared, dialect, "sim+fallback:header")
    assert response.headers["X-LiteLLM-Attempted-Fallbacks"] == "1"
    assert b"fallback" not in body.replace(b"sim+fallback", b"")
    lists = {"chat": "choices", "responses": "output", "messages": "content"}
    assert said(shared, dialect, "sim+no-choices")[lists.get(dialect, "candidates")] == []
    response, body = ask(shared, dialect, "sim+echo-key")
    assert response.headers["X-Echo"] == KEY
    assert KEY.encode() in body


def test_null_in_place_of_the_text(shared: Simulator) -> None:
    chat, responses, messages, gemini = (said(shared, d, "sim+null-content") for d in DIALECTS)
    assert chat["choices"][0]["message"]["content"] is None
    assert responses["output"][-1]["content"] is None
    assert messages["content"] is None
    assert gemini["candidates"][0]["content"] is None


def test_requests_are_refused_as_by_the_providers(shared: Simulator) -> None:
    with closing(HTTPConnection("127.0.0.1", shared.port, timeout=5)) as connection:
        for dialect, missing, status in (
            ("messages", "X-Api-Key", 401),
            ("messages", "Anthropic-Version", 400),
            ("gemini", "X-Goog-Api-Key", 403),
        ):
            headers = {name: value for name, value in HEADERS.items() if name != missing}
            connection.request("POST", *request(dialect, "sim"), headers)
            response = connection.getresponse()
            assert (response.status, "error" in json.loads(response.read())) == (status, True)
        wrong = {"/v1/messages": (b'{"model": "sim", "messages": []}', 400), "/v1/x": (b"{}", 404)}
        for path, (body, status) in wrong.items():
            connection.request("POST", path, body, HEADERS)
            response = connection.getresponse()
            assert (response.status, "error" in json.loads(response.read())) == (status, True)


def test_redirects_lead_elsewhere(shared: Simulator) -> None:
    response, _ = ask(shared, "chat", "sim+redirect")
    assert response.status == 307
    assert response.headers["Location"] == f"http://localhost:{shared.port}/elsewhere"


@each_dialect
def test_flaky_ones_recover(shared: Simulator, dialect: str) -> None:
    prompt = f"flaky {dialect}"
    seen = [ask(shared, dialect, "sim+flaky:2", prompt)[0].status for _ in range(4)]
    assert seen == [503, 503, 200, 200]
    assert ask(shared, dialect, "sim+flaky:2", prompt + "!")[0].status == 503
    assert ask(shared, dialect, "sim+flaky-429:1", prompt)[0].status == 429
    with pytest.raises(IncompleteRead):
        ask(shared, dialect, "sim+flaky-cut:1", prompt)
    assert text_of(dialect, said(shared, dialect, "sim+flaky-cut:1", prompt))
    assert [request.nth for request in shared.requests[-2:]] == [1, 2]


def test_a_test_may_choose() -> None:
    def choose(dialect: str, model: str, prompt: str, nth: int) -> str:
        return "500" if nth == 1 else f"sim+wrong-model:{dialect}-{model}-{prompt}"

    with Simulator(choose) as simulator:
        assert ask(simulator, "chat", "m", "p")[0].status == 500
        assert said(simulator, "chat", "m", "p")["model"] == "chat-m-p"
        assert simulator.busiest == 1


@pytest.mark.parametrize(
    ("model", "chosen", "says"),
    [
        ("sim+no-such", None, "'no-such'"),
        ("sim+drip:x", None, "could not convert"),
        ("sim", "flakey:1", "'flakey:1'"),
    ],
)
def test_mistakes_of_a_test_are_loud(model: str, chosen: str | None, says: str) -> None:
    choose = None if chosen is None else lambda *_: chosen
    with pytest.raises(RuntimeError, match=says), Simulator(choose) as simulator:
        assert ask(simulator, "chat", model)[0].status == 404


@pytest.mark.timed
def test_many_at_once_wait_side_by_side() -> None:
    with Simulator(latency=0.4) as simulator, ThreadPoolExecutor(16) as pool:
        start = time.monotonic()
        list(pool.map(lambda n: said(simulator, "chat", "sim", str(n)), range(16)))
        assert 0.4 <= time.monotonic() - start < 16 * 0.4
        assert 8 < simulator.busiest <= 16
        start = time.monotonic()
        said(simulator, "chat", "sim+latency:0")
        assert time.monotonic() - start < 0.4


@pytest.mark.timed
def test_throughput() -> None:
    """Far below what it does, since the client shares the interpreter."""
    with (
        Simulator() as simulator,
        closing(HTTPConnection("127.0.0.1", simulator.port, timeout=5)) as connection,
    ):
        start = time.perf_counter()
        for number in range(500):
            connection.request("POST", *request("chat", "sim", str(number)), HEADERS)
            assert connection.getresponse().read()
        print(f"{500 / (time.perf_counter() - start):,.0f} requests a second, one at a time")
        assert time.perf_counter() - start < 5


def test_as_a_process_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "tests.simulator", "--latency", "0", "--log", str(log)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        for model in ("sim", "sim+cut", "sim"):
            with closing(HTTPConnection(url.removeprefix("http://"), timeout=5)) as connection:
                connection.request("POST", *request("messages", model), HEADERS)
                connection.getresponse()
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=10) == ("", "")
        assert process.returncode == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    events = [(line["n"], line["event"]) for line in lines]
    assert [event for event in events if event[0] != 1] == [
        (0, "request"),
        (0, "answered"),
        (2, "request"),
        (2, "answered"),
    ]
    assert (1, "request") in events
    assert (1, "answered") not in events

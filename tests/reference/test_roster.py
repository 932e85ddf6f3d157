"""Rosters: what is taken, what is refused, what a route's digest covers, and what is sent."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from collecting import BASES, PLANTED, roster
from hypothesis import given
from hypothesis import strategies as st
from strategies import few

from flavourbench.collect.contestants import NAMES
from flavourbench.collect.plan import request_bytes
from flavourbench.collect.roster import parse_roster, read_roster
from flavourbench.collect.route import Route
from flavourbench.errors import InputError

CHAT, RESPONSES, ANTHROPIC, GEMINI = DIALECTS = tuple(BASES)
PINNING = (CHAT, RESPONSES)
PRICES = {
    "date": datetime.date(2026, 11, 1),
    "input": Decimal("0.25"),
    "output": 2,
    "cached_input": Decimal("0.025"),
    "cache_write": Decimal("0.3125"),
    "request": Decimal("0.0001"),
}
#: Every key of a model with two values, neither of them its default.
INSIDE: dict[str, tuple[Any, Any]] = {
    "dialect": (CHAT, RESPONSES),
    "base_url": ("https://api.example.com/v1", "https://api.example.com/v2"),
    "model": ("herb-1", "herb-1-mini"),
    "served": (["herb-1", "herb-1-2026"], ["herb-1-2026"]),
    "max_output_tokens": (512, 513),
    "effort": ("low", "minimal"),
    "temperature": (0, Decimal("0.7")),
    "cap_key": ("max_completion_tokens", "max_tokens"),
    "extra": ({"top_p": Decimal("0.9")}, {"top_p": Decimal("0.9"), "seed": 3}),
    "provider": ("deep-kitchen", "deep-kitchen/fast"),
}
OUTSIDE: dict[str, tuple[Any, Any]] = {
    "slot": ("herb", "herb-b"),
    "name": ("Herb One", "Herb (one)"),
    "key_env": ("HERB_KEY", "OTHER_KEY"),
    "key_header": ("api-key", "x-key"),
    "concurrency": (3, 4),
    "requests_per_minute": (60, 61),
    "timeout": (30, Decimal("30.5")),
    "prices": (PRICES, PRICES | {"input": Decimal("0.26")}),
}
NEEDED = ("slot", "dialect", "base_url", "model", "max_output_tokens")
OPTIONAL = sorted({*INSIDE, *OUTSIDE} - {*NEEDED})
FULL = {key: first for key, (first, _) in {**OUTSIDE, **INSIDE}.items()}
LEAST = {key: FULL[key] for key in NEEDED}


def route(**values: Any) -> Route:
    return parse_roster({"model": [values]}).routes[0]


def refusal(*models: dict[str, Any], **top: Any) -> str:
    """The line with which a roster is refused."""
    with pytest.raises(InputError) as caught:
        parse_roster({"model": list(models), **top})
    line = str(caught.value)
    assert line.isprintable()
    return line


def without(values: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in keys}


# --- what is taken ---------------------------------------------------------------------------

FILE = """
[[model]]
slot = "herb"
name = "Herb One"
dialect = "openai-chat"
base_url = "https://api.example.com/v1/"
model = "herb-1"
served = ["herb-1", "herb-1-2026"]
max_output_tokens = 512
effort = "low"
temperature = 0.7
cap_key = "max_completion_tokens"
extra = { top_p = 0.9, stop = ["END"], nested = { deep = true } }
provider = "deep-kitchen"
key_env = "HERB_KEY"
key_header = "api-key"
concurrency = 3
requests_per_minute = 60
timeout = 30.5

[model.prices]
date = 2026-11-01
input = 0.25
output = "2"
cached_input = 0.025
cache_write = 0.3125
request = 0.0001

[[model]]
slot = "plain"
dialect = "gemini"
base_url = "http://localhost:8080/v1beta"
model = "g-1"
max_output_tokens = 1
prices = { date = "2026-11-02", input = 1, output = 2 }

[[model]]
slot = "cook"
dialect = "local:cook"
parameters = { temperature = 12.5, refusals = 1 }
"""


def test_a_file_with_every_key(tmp_path: Path) -> None:
    path = tmp_path / "roster.toml"
    path.write_text(FILE)
    herb, plain, cook = read_roster(path).routes
    assert dataclasses.asdict(herb) == {
        "slot": "herb",
        "name": "Herb One",
        "dialect": "openai-chat",
        "base_url": "https://api.example.com/v1",
        "model": "herb-1",
        "served": ("herb-1", "herb-1-2026"),
        "parameters": {
            "max_output_tokens": 512,
            "effort": "low",
            "temperature": 0.7,
            "cap_key": "max_completion_tokens",
            "extra": {"top_p": 0.9, "stop": ["END"], "nested": {"deep": True}},
        },
        "provider": "deep-kitchen",
        "key_env": "HERB_KEY",
        "key_header": "api-key",
        "concurrency": 3,
        "requests_per_minute": 60,
        "timeout": 30.5,
        "prices": {
            "date": datetime.date(2026, 11, 1),
            "input": Fraction(1, 4),
            "output": 2,
            "cached_input": Fraction(1, 40),
            "cache_write": Fraction(5, 16),
            "request": 100,
        },
        "simulated": False,
    }
    # What is left out: the slot for a name, the model for who may answer, input for caches.
    assert (plain.name, plain.served, plain.parameters) == (
        "plain",
        ("g-1",),
        {"max_output_tokens": 1},
    )
    assert (plain.provider, plain.key_env, plain.key_header) == (None, None, None)
    assert (plain.concurrency, plain.requests_per_minute, plain.timeout) == (8, None, 120.0)
    assert plain.prices is not None
    assert (plain.prices.cached_input, plain.prices.cache_write, plain.prices.request) == (1, 1, 0)
    assert (cook.local, cook.simulated, cook.model, cook.cap) == (True, True, "cook", 0)
    assert cook.parameters == {
        "version": 1,
        "temperature": 12.5,
        "refusals": 1,
        "format_errors": 0,
    }


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_takes_every_key_that_it_has(dialect: str) -> None:
    more = {} if dialect in PINNING else {"provider": FULL["provider"]}
    more |= {} if dialect == CHAT else {"cap_key": FULL["cap_key"]}
    values = without(FULL, *more) | {"dialect": dialect}
    found = route(**values)
    assert found.dialect == dialect
    for key, value in more.items():
        assert key in refusal(values | {key: value})


@pytest.mark.parametrize("name", NAMES)
def test_every_contestant_has_a_route(name: str) -> None:
    found = route(slot="one", dialect=f"local:{name}")
    assert (found.model, found.local, found.served) == (name, True, (name,))
    assert found.simulated == (name == "cook")
    assert found.prices is None


# --- what the digest covers ------------------------------------------------------------------


def test_the_digest_is_of_dialect_address_model_names_parameters_and_provider() -> None:
    values = without(FULL, "temperature", "extra")
    parameters = {
        "cap_key": "max_completion_tokens",
        "effort": "low",
        "max_output_tokens": 512,
    }
    content = {
        "base_url": "https://api.example.com/v1",
        "dialect": "openai-chat",
        "model": "herb-1",
        "parameters": parameters,
        "provider": "deep-kitchen",
        "recipe": "flavourbench-route/1",
        "served": ["herb-1", "herb-1-2026"],
    }
    text = json.dumps(content, separators=(",", ":"), sort_keys=True)
    assert route(**values).digest == hashlib.sha256(text.encode()).hexdigest()
    beside = {"slot", "name", "key_env", "key_header", "concurrency", "requests_per_minute"}
    beside |= {"timeout", "prices", "simulated"}
    fields = {field.name for field in dataclasses.fields(Route)}
    assert fields == {*route(**values).content} | beside


@given(
    kept=st.sets(st.sampled_from(OPTIONAL)),
    changed=st.sampled_from([*INSIDE, *OUTSIDE]),
)
@few(200)
def test_another_digest_means_another_way_to_be_asked(kept: set[str], changed: str) -> None:
    before = {**LEAST, **{key: FULL[key] for key in kept}}
    if changed == "dialect":
        before.pop("cap_key", None)  # one dialect alone has it
    after = before | {changed: {**INSIDE, **OUTSIDE}[changed][1]}
    assert (route(**before).digest != route(**after).digest) == (changed in INSIDE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {"served": ["herb-1"]}),
        ({}, {"base_url": "https://api.example.com/v1/"}),
        ({"temperature": 1}, {"temperature": Decimal("1.00")}),
        ({"extra": {"a": 1, "b": 2}}, {"extra": {"b": 2, "a": 1}}),
    ],
)
def test_what_asks_the_same_has_one_digest(one: dict[str, Any], other: dict[str, Any]) -> None:
    first, second = LEAST | one, LEAST | other
    assert route(**first).digest == route(**second).digest
    line = refusal(first, second | {"slot": "other"})
    assert "herb" in line
    assert "other" in line
    assert "one route" in line


def test_the_digest_of_a_contestant_covers_its_parameters() -> None:
    def digest(**parameters: Any) -> str:
        return route(slot="c", dialect="local:cook", parameters=parameters).digest

    assert digest() == digest(refusals=0)
    assert len({digest(), digest(refusals=1), digest(temperature=11)}) == 3


def test_the_digest_of_a_roster_covers_slots_names_routes_and_order() -> None:
    one, two = LEAST, LEAST | {"slot": "two", "model": "herb-2"}
    base = parse_roster({"model": [one, two]}).sha256
    assert parse_roster({"model": [one | {"concurrency": 2}, two]}).sha256 == base
    changed = [[two, one], [one], [one | {"name": "N"}, two], [one | {"model": "herb-3"}, two]]
    assert len({base, *(parse_roster({"model": models}).sha256 for models in changed)}) == 5


# --- what is refused -------------------------------------------------------------------------

_TEXTS = [5, True, [], {}, "", " ", "bell\x07"]
_BELOW_ABOVE = {
    "max_output_tokens": (0, 10**6 + 1),
    "concurrency": (0, 1025),
    "requests_per_minute": (0, 10**6 + 1),
    "timeout": (Decimal("0.9"), Decimal("3600.1")),
    "temperature": (Decimal("-0.1"), Decimal("2.01")),
}
_COUNTS = [*map(Decimal, ("1.5", "nan")), True, "eight", [], {}]
_NUMBERS = [*map(Decimal, ("nan", "inf", "-inf", "1e400")), True, "warm", [], {}]
WRONG: dict[str, list[Any]] = {
    "slot": [*_TEXTS, "Herb", "a b", "-a", "a" * 41, "é"],
    "name": _TEXTS,
    "dialect": [*_TEXTS, "openai", "OpenAI-chat", "local:", "local:nobody"],
    "base_url": [*_TEXTS, "api.example.com", "ftp://a.example", "https://", "https://:80/v1"],
    "model": _TEXTS,
    "served": [5, True, {}, "herb-1", [], ["a", "a"], [5]],
    "max_output_tokens": [*_COUNTS, *_BELOW_ABOVE["max_output_tokens"]],
    "effort": [*_TEXTS, "Low", "very low"],
    "temperature": [*_NUMBERS, *_BELOW_ABOVE["temperature"]],
    "cap_key": [*_TEXTS, "max_output_tokens"],
    "extra": [5, True, [], "", {"day": datetime.date(2026, 11, 1)}, {"a": [Decimal("nan")]}],
    "provider": _TEXTS,
    "key_env": [*_TEXTS, "A B", "1A", "A-B", "$A"],
    "key_header": [*_TEXTS, "x key", "x:key", "schlüssel"],
    "concurrency": [*_COUNTS, *_BELOW_ABOVE["concurrency"]],
    "requests_per_minute": [*_COUNTS, *_BELOW_ABOVE["requests_per_minute"]],
    "timeout": [*_NUMBERS, *_BELOW_ABOVE["timeout"]],
    "prices": [5, True, [], "", {}, *(PRICES | {key: -1} for key in PRICES)],
}


def test_every_key_is_tried() -> None:
    assert WRONG.keys() == FULL.keys()


@pytest.mark.parametrize(
    ("key", "value"),
    [(key, value) for key, values in WRONG.items() for value in values],
    ids=lambda value: repr(value)[:40],
)
def test_a_wrong_value_is_refused_with_its_key(key: str, value: Any) -> None:
    line = refusal(FULL | {key: value})
    assert key in line or (key == "dialect" and "contestant" in line)
    assert "model" in line  # of which one


@pytest.mark.parametrize("key", [k for k in _BELOW_ABOVE if k != "temperature"])
def test_the_bounds_themselves_are_taken(key: str) -> None:
    least = 1
    most = {"concurrency": 1024, "timeout": 3600}.get(key, 10**6)
    for value in (least, most):
        found = route(**FULL | {key: value})
        assert {**found.parameters, **dataclasses.asdict(found)}[key] == value


@pytest.mark.parametrize("key", NEEDED)
def test_a_missing_key_is_named(key: str) -> None:
    assert f"{key} is missing" in refusal(without(FULL, key))


@pytest.mark.parametrize("key", ["date", "input", "output"])
def test_a_missing_price_is_named(key: str) -> None:
    assert f"prices.{key} is missing" in refusal(FULL | {"prices": without(PRICES, key)})


@pytest.mark.parametrize(
    "models",
    [
        [FULL | {"tempreature": 0}],
        [FULL | {"prices": PRICES | {"tempreature": 0}}],
        [FULL | {"parameters": {"tempreature": 0}}],  # those are of contestants
        [{"slot": "c", "dialect": "local:cook", "parameters": {"tempreature": 1}}],
        [{"slot": "c", "dialect": "local:chance", "tempreature": 1}],
    ],
)
def test_an_unknown_key_is_named(models: list[dict[str, Any]]) -> None:
    line = refusal(*models)
    assert "tempreature" in line or "parameters is unknown" in line


@pytest.mark.parametrize("key", sorted({*FULL} - {"slot", "name", "dialect"}))
def test_a_contestant_has_no_key_of_the_wire(key: str) -> None:
    line = refusal({"slot": "c", "dialect": "local:chance", key: FULL[key]})
    assert f"{key} is unknown" in line


def test_unknown_tables_and_empty_rosters_are_refused() -> None:
    assert "modles" in refusal(LEAST, modles=[])
    assert "model" in refusal()
    with pytest.raises(InputError, match="model is missing"):
        parse_roster({})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"dialect": "local:cooks"}, "did you mean cook?"),
        ({"dialect": "local:nobody"}, "nobody"),
        ({"parameters": {"heat": 3}}, "heat"),
        ({"parameters": {"refusals": 51}}, "refusals"),
        ({"parameters": {"refusals": Decimal("0.001")}}, "refusals"),
        ({"parameters": {"temperature": "hot"}}, "temperature"),
        ({"dialect": "local:npmi", "parameters": {"demands": 1}}, "demands"),
        ({"dialect": "local:npmi", "parameters": {"sets": "dishes"}}, "sets"),
        ({"parameters": 3}, "parameters"),
    ],
)
def test_a_contestant_that_is_none(given: dict[str, Any], says: str) -> None:
    line = refusal({"slot": "c", "dialect": "local:cook"} | given)
    assert says in line
    assert "model c" in line


def test_a_slot_twice_is_refused() -> None:
    line = refusal(LEAST, LEAST | {"model": "other"})
    assert "herb" in line
    assert "twice" in line


HERE = ["localhost", "LOCALHOST", "localhost:8080", "127.0.0.1:1", "127.9.9.9", "[::1]:11434"]
AWAY = [
    *("api.example.com", "10.0.0.1", "192.168.1.2", "0.0.0.0", "[::]", "[fe80::1]"),
    *("localhost.example.com", "127.0.0.1.example.com", "xlocalhost", "2130706433", "[::2]"),
]


@pytest.mark.parametrize("host", [*HERE, *AWAY])
def test_plain_http_is_for_this_machine_only(host: str) -> None:
    assert route(**LEAST | {"base_url": f"https://{host}/v1"}).base_url == f"https://{host}/v1"
    plain = LEAST | {"base_url": f"http://{host}/v1"}
    if host in HERE:
        assert route(**plain).base_url == f"http://{host}/v1"
    else:
        line = refusal(plain)
        assert host in line
        assert "https" in line


@pytest.mark.parametrize("after", ["?", "#", "?key=1", "#part", "/v1?", " ", "\n", "/a b"])
def test_an_address_is_host_and_path_alone(after: str) -> None:
    """A path is put behind it, which would become part of a query."""
    assert "base_url" in refusal(LEAST | {"base_url": f"https://api.example.com{after}"})


SECRET = "s3cretSECRETs3cret"


@pytest.mark.parametrize(
    "address",
    [
        "https://user:{}@api.example.com/v1",
        "https://{}@api.example.com/v1",
        "https://:{}@api.example.com/v1",
        "http://user:{}@localhost/v1",
        "http://user:{}@api.example.com/v1",
        "ftp://user:{}@api.example.com/v1",
        "https://api.example.com/v1?key={}",
        "https://api.example.com/v1#{}",
        "https://user:{}@[bad/v1",
        "https://user:{}@api.example.com:99999/v1",
        "https://user:{}@api.example.com:port/v1",
        "user:{}@api.example.com/v1",
        "api.example.com/v1?key={}",
        "//user:{}@api.example.com/v1",
        "https:/user:{}@api.example.com/v1",
        "https://api.example.com:99999/v1?key={}",
    ],
)
def test_a_key_in_an_address_is_refused_and_not_repeated(address: str) -> None:
    line = refusal(LEAST | {"base_url": address.format(SECRET)})
    assert "base_url" in line
    assert SECRET not in line


@pytest.mark.parametrize("key", ["key_env", "key_header"])
@pytest.mark.parametrize(
    "pasted",
    [
        PLANTED,
        "sk-ant-api03-aBcDeF0123456789_-xyzXYZ",
        "Bearer abcdefghijklmnop",
        "AIza.SyD-9tSrke72PouQMnMX",
        "$HERB_KEY=abcdefgh",
        "0123456789abcdef0123456789abcdef/",
    ],
)
def test_a_key_in_place_of_a_name_is_refused_and_not_repeated(key: str, pasted: str) -> None:
    if key == "key_header":
        pasted = f"{pasted}=="
    line = refusal(LEAST | {key: pasted})
    assert key in line
    assert all(part not in line for part in (pasted, pasted[:12], pasted[-12:]))


@pytest.mark.parametrize(
    "pasted",
    [
        "gsk_aBcDeF0123456789aBcDeF0123456789",
        "hf_aBcDeFgHiJkLmNoPqRsTuVwXyZ",
        "AIzaSyD9tSrke72PouQMnMX0aBcDeF012345678",
        "aBcDeF0123456789aBcDeF0123456789aBcDeF01",
        "abcdef0123456789abcdef0123456789",
    ],
)
def test_a_key_that_looks_like_a_variable_is_refused_and_not_repeated(pasted: str) -> None:
    """Else the variable of that name would be said not to be set."""
    assert pasted not in refusal(LEAST | {"key_env": pasted})


RESERVED = [
    *("stream", "stream_options", "n", "candidateCount", "candidate_count", "background"),
    *("system", "instructions", "systemInstruction", "system_instruction", "messages", "input"),
    *("contents", "previous_response_id", "conversation", "prompt", "cachedContent"),
]
SET_BY_ROUTE = {
    CHAT: [*("model", "messages", "max_tokens", "temperature", "reasoning_effort")],
    RESPONSES: [*("model", "input", "max_output_tokens", "temperature", "store")],
    ANTHROPIC: [*("model", "messages", "max_tokens", "temperature")],
    GEMINI: ["contents"],
}
SET_DEEPER = {
    CHAT: {"provider": "order"},
    RESPONSES: {"reasoning": "effort", "provider": "allow_fallbacks"},
    ANTHROPIC: {"output_config": "effort"},
    GEMINI: {"generationConfig": "maxOutputTokens", "thinkingConfig": "thinkingLevel"},
}


def bare(dialect: str) -> dict[str, Any]:
    """All keys but ``extra`` that a dialect has."""
    values = without(FULL, "extra", "cap_key") | {"dialect": dialect}
    return values if dialect in PINNING else without(values, "provider")


@pytest.mark.parametrize("key", RESERVED)
def test_extra_may_not_change_what_is_asked(key: str) -> None:
    for dialect in DIALECTS:
        for extra in ({key: 2}, {"deep": {key: 2}}):
            line = refusal(bare(dialect) | {"extra": extra})
            assert f"extra.{key}" in line
            assert "model herb" in line


@pytest.mark.parametrize("dialect", DIALECTS)
def test_extra_may_not_set_what_the_route_sets(dialect: str) -> None:
    for key in SET_BY_ROUTE[dialect]:
        assert key in refusal(bare(dialect) | {"extra": {key: "other"}})
    for table, key in SET_DEEPER[dialect].items():
        inner: Any = {table: {key: "other"}}
        if table == "thinkingConfig":
            inner = {"generationConfig": inner}
        assert key in refusal(bare(dialect) | {"extra": inner})


def test_a_file_that_is_no_roster_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    for content in ("[[model]\n", "model = 3\n", "", "[[model]]\nslot = 1\n"):
        path.write_text(content)
        with pytest.raises(InputError, match=r"mine\.toml"):
            read_roster(path)
    path.unlink()
    with pytest.raises(InputError, match=r"mine\.toml: no such file"):
        read_roster(path)


def test_some_slots_of_a_roster() -> None:
    all_ = roster(*(LEAST | {"slot": slot, "model": slot} for slot in "abc"))
    assert [r.slot for r in all_.only(["c", "a", "c"]).routes] == ["c", "a"]
    with pytest.raises(InputError, match="no model d in the roster: use one of a, b, c"):
        all_.only(["a", "d"])


# --- what is sent ----------------------------------------------------------------------------

PROMPT = 'Pick "three" – für\n`crème`'
SENT = r"\"three\" – für\n`crème`"  # as JSON writes its end
DEEP = {"top_p": Decimal("0.9"), "reasoning": {"summary": "none"}, "stop": ["END"]}
GOLDEN: list[tuple[str, dict[str, Any], str]] = [
    (
        CHAT,
        {},
        '{"model":"herb-1","messages":[{"role":"user","content":"Pick %s"}],"max_tokens":512}',
    ),
    (
        CHAT,
        {
            "effort": "low",
            "temperature": Decimal("0.7"),
            "cap_key": "max_completion_tokens",
            "provider": "deep-kitchen",
            "extra": {**DEEP, "provider": {"quantizations": ["fp8"]}},
        },
        '{"model":"herb-1","messages":[{"role":"user","content":"Pick %s"}],'
        '"max_completion_tokens":512,"temperature":0.7,"reasoning_effort":"low",'
        '"provider":{"order":["deep-kitchen"],"allow_fallbacks":false,"require_parameters":true,'
        '"quantizations":["fp8"]},"top_p":0.9,"reasoning":{"summary":"none"},"stop":["END"]}',
    ),
    (
        RESPONSES,
        {},
        '{"model":"herb-1","input":[{"role":"user","content":"Pick %s"}],'
        '"max_output_tokens":512,"store":false}',
    ),
    (
        RESPONSES,
        {"effort": "minimal", "temperature": 0, "provider": "deep-kitchen", "extra": DEEP},
        '{"model":"herb-1","input":[{"role":"user","content":"Pick %s"}],'
        '"max_output_tokens":512,"store":false,"temperature":0.0,'
        '"reasoning":{"effort":"minimal","summary":"none"},'
        '"provider":{"order":["deep-kitchen"],"allow_fallbacks":false,"require_parameters":true},'
        '"top_p":0.9,"stop":["END"]}',
    ),
    (
        ANTHROPIC,
        {},
        '{"model":"herb-1","max_tokens":512,"messages":[{"role":"user","content":"Pick %s"}]}',
    ),
    (
        ANTHROPIC,
        {
            "effort": "low",
            "temperature": 1,
            "extra": {"thinking": {"type": "disabled"}, "output_config": {"format": "x"}},
        },
        '{"model":"herb-1","max_tokens":512,"messages":[{"role":"user","content":"Pick %s"}],'
        '"temperature":1.0,"output_config":{"effort":"low","format":"x"},'
        '"thinking":{"type":"disabled"}}',
    ),
    (
        GEMINI,
        {},
        '{"contents":[{"role":"user","parts":[{"text":"Pick %s"}]}],'
        '"generationConfig":{"maxOutputTokens":512}}',
    ),
    (
        GEMINI,
        {
            "effort": "low",
            "temperature": Decimal("0.5"),
            "extra": {
                "generationConfig": {"topK": 1, "thinkingConfig": {"includeThoughts": False}},
                "safetySettings": [{"category": "C", "threshold": "T"}],
            },
        },
        '{"contents":[{"role":"user","parts":[{"text":"Pick %s"}]}],"generationConfig":{'
        '"maxOutputTokens":512,"temperature":0.5,'
        '"thinkingConfig":{"thinkingLevel":"low","includeThoughts":false},"topK":1},'
        '"safetySettings":[{"category":"C","threshold":"T"}]}',
    ),
]


@pytest.mark.parametrize(("dialect", "given", "sent"), GOLDEN)
def test_exactly_what_is_sent(dialect: str, given: dict[str, Any], sent: str) -> None:
    found = route(**LEAST | {"dialect": dialect} | given)
    assert request_bytes(found, PROMPT).decode() == sent.replace("%s", SENT)


@given(
    prompt=st.text(st.characters(exclude_categories=["Cs"])),
    dialect=st.sampled_from(DIALECTS),
    most=st.booleans(),
)
@few(60)
def test_one_user_message_and_no_other(prompt: str, dialect: str, most: bool) -> None:
    values = bare(dialect) if most else LEAST | {"dialect": dialect}
    body = json.loads(request_bytes(route(**values), prompt))
    where = {CHAT: "messages", RESPONSES: "input", ANTHROPIC: "messages", GEMINI: "contents"}
    (message,) = body.pop(where[dialect])
    said = {"parts": [{"text": prompt}]} if dialect == GEMINI else {"content": prompt}
    assert message == {"role": "user", **said}
    # Nothing else could carry words to the model.
    known = {"model", "max_tokens", "max_output_tokens", "store", "temperature", "provider"}
    known |= {"reasoning_effort", "reasoning", "output_config", "generationConfig"}
    assert body.keys() <= known

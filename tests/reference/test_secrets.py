"""Keys: read from the environment, sent in one header, found in nothing that comes back."""

from __future__ import annotations

import base64
import json
import random
import re
import string
import time
from collections.abc import Callable
from urllib.parse import quote, unquote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import few

from flavourbench.collect.dialects import DIALECTS
from flavourbench.collect.route import Route
from flavourbench.collect.secret import REMOVED, Scrubber, key_header, read_keys
from flavourbench.errors import InputError

SIGNS = "".join(chr(code) for code in range(33, 127))
KEYS = st.text(SIGNS, min_size=8, max_size=60)
#: Much of what keys are made of, and all that some form writes in another way.
HARD = st.text("aZ09-_+/=.\\\"'<>&%~:?", min_size=8, max_size=40)


def route(key_env: str | None, slot: str = "herb", **more: str) -> Route:
    return Route(slot, slot, "openai-chat", "https://a.example/v1", "m", key_env=key_env, **more)  # type: ignore[arg-type]


# --- from the environment --------------------------------------------------------------------

#: Values that are refused, by why.
REFUSED = {
    "is not set": st.just(""),
    "holds spaces": st.text(SIGNS, min_size=1, max_size=40).flatmap(
        lambda text: st.sampled_from(" \t\n\r\x0b\x7f\x1b\u00a0é–").map(
            lambda sign: text[: len(text) // 2] + sign + text[len(text) // 2 :]
        )
    ),
    "fewer than 8": st.text(SIGNS, min_size=1, max_size=7),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_refusal_is_the_same_whatever_the_variable_holds(
    why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = set()

    @given(value=REFUSED[why])
    @few(60)
    def refused(value: str) -> None:
        monkeypatch.setenv("HERB_KEY", value)
        with pytest.raises(InputError) as caught:
            read_keys([route("HERB_KEY")])
        lines.add(str(caught.value))

    refused()
    (line,) = lines
    assert why in line
    assert "model herb" in line
    assert "HERB_KEY" in line


def test_keys_are_read_by_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERB_KEY", "x" * 8)
    monkeypatch.setenv("OTHER_KEY", SIGNS)
    routes = [route("HERB_KEY"), route(None, "b"), route("OTHER_KEY", "c"), route("HERB_KEY", "d")]
    assert read_keys(routes) == {"herb": "x" * 8, "b": None, "c": SIGNS, "d": "x" * 8}
    monkeypatch.delenv("OTHER_KEY")
    with pytest.raises(InputError, match="model c: the variable OTHER_KEY is not set"):
        read_keys(routes)


@pytest.mark.parametrize(
    ("dialect", "header"),
    [
        ("openai-chat", {"authorization": "Bearer k-12345678"}),
        ("openai-responses", {"authorization": "Bearer k-12345678"}),
        ("anthropic", {"x-api-key": "k-12345678"}),
        ("gemini", {"x-goog-api-key": "k-12345678"}),
    ],
)
def test_the_header_of_a_key(dialect: str, header: dict[str, str]) -> None:
    own = DIALECTS[dialect]

    def sent(**more: str) -> dict[str, str]:
        return key_header(route("HERB_KEY", **more), own.KEY_HEADER, own.KEY_FORM, "k-12345678")

    assert sent() == header
    assert sent(key_header="api-key") == {"api-key": "k-12345678"}
    assert key_header(route(None), own.KEY_HEADER, own.KEY_FORM, None) == {}


# --- what comes back -------------------------------------------------------------------------

Form = Callable[[str, random.Random], str]


def in_json(key: str, chance: random.Random) -> str:
    """A text within JSON: each sign as it is or escaped, in any of the ways there are."""

    def sign(c: str) -> str:
        code = f"{ord(c):02x}"
        ways = ["\\u00" + code, "\\u00" + code.upper(), "\\u00" + code[0].upper() + code[1]]
        ways += {'"': ['\\"'], "\\": ["\\\\"], "/": ["/", "\\/"]}.get(c, [c])
        return chance.choice(ways)

    written = "".join(map(sign, key))
    assert json.loads(f'"{written}"') == key
    return written


def in_address(key: str, chance: random.Random) -> str:
    """A text within an address: each sign as it is or encoded, in either case."""
    kept = string.ascii_letters + string.digits + "-._~!*'()/:@$,;=+"

    def sign(c: str) -> str:
        ways = [f"%{ord(c):02x}", f"%{ord(c):02X}", *([c] if c in kept else [])]
        return chance.choice(ways)

    written = "".join(map(sign, key))
    assert unquote(written) == key
    return written


def base64_of(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


def urlsafe(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode()


FORMS: dict[str, Form] = {
    "plain": lambda key, _: key,
    "json": lambda key, _: json.dumps(key)[1:-1],
    "json escaped": in_json,
    "json with slashes": lambda key, _: json.dumps(key)[1:-1].replace("/", "\\/"),
    "json in json": lambda key, chance: json.dumps(in_json(key, chance))[1:-1],
    "address": lambda key, _: quote(key, safe=""),
    "address, lower case": lambda key, _: re.sub(
        "%..", lambda found: found[0].lower(), quote(key, safe="")
    ),
    "path": lambda key, _: quote(key),
    "address, in any way": in_address,
    "base64": lambda key, _: base64_of(key),
    "base64, unpadded": lambda key, _: base64_of(key).rstrip("="),
    "base64, urlsafe": lambda key, _: urlsafe(key),
    "base64, urlsafe, unpadded": lambda key, _: urlsafe(key).rstrip("="),
    "base64 in json": lambda key, chance: in_json(base64_of(key), chance),
    "base64 with slashes": lambda key, _: base64_of(key).replace("/", "\\/"),
    "base64 in an address": lambda key, _: quote(base64_of(key), safe=""),
}
AROUND = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


#: Padding of base 64, and the sign before it, that holds bits of the last byte alone.
REST = "[^>]{0,18}"


@pytest.mark.parametrize("form", FORMS)
def test_a_key_is_removed_in_every_form(form: str) -> None:
    @given(
        key=st.one_of(KEYS, HARD),
        around=st.lists(AROUND, min_size=2, max_size=4),
        seed=st.integers(0, 10**6),
    )
    @few(25)
    def removed(key: str, around: list[str], seed: int) -> None:
        # Between brackets, so that nothing around it is part of a form.
        parts = [f">{text}<" for text in around]
        assume(key not in "".join([*parts, REMOVED]))
        chance = random.Random(seed)
        said = "".join(part + FORMS[form](key, chance) for part in parts[:-1]) + parts[-1]
        scrubber = Scrubber(key)
        clean = scrubber.of_text(said)
        rest = REST if "base64" in form else ""
        assert re.fullmatch((re.escape(REMOVED) + rest).join(map(re.escape, parts)), clean)
        assert scrubber.of_bytes(said.encode()) == clean.encode()
        assert scrubber.of_text(clean) == clean

    removed()


@given(
    key=st.one_of(KEYS, HARD),
    before=st.text(string.ascii_letters + ": ", max_size=9),
    after=st.text(string.ascii_letters + ":\n", max_size=9),
    coded=st.sampled_from([base64_of, urlsafe]),
)
@few(60)
def test_a_key_within_a_text_in_base_64_is_removed(
    key: str, before: str, after: str, coded: Callable[[str], str]
) -> None:
    """As name and password are sent: of "user:key", and of "key:"."""
    assume(key not in REMOVED)
    clean = Scrubber(key).of_text(f"<{coded(before + key + after)}>")
    # Signs that the key shares with what stands around it may stay, which is a byte at most.
    start, removed, end = clean[1:-1].partition(REMOVED)
    assert removed
    assume(REMOVED not in end)  # what stands around it may be a key too
    assert len(start) <= len(before) * 4 / 3 + 1
    assert len(end) <= len(after) * 4 / 3 + 5


@given(key=KEYS, text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
@few(60)
def test_other_texts_are_left_as_they_are(key: str, text: str) -> None:
    assume(key not in text)
    scrubber = Scrubber(key)
    assert scrubber.of_text(text) == text
    assert scrubber.of_bytes(text.encode()) == text.encode()


@given(key=KEYS, at=st.integers(0, 59), other=st.sampled_from(SIGNS))
@few(80)
def test_a_text_that_is_nearly_a_key_stays(key: str, at: int, other: str) -> None:
    at %= len(key)
    for near in (key[:at] + other + key[at + 1 :], key[:at] + key[at + 1 :], key.swapcase()):
        assume(key not in near)
        # A sign may be one that escapes the next.
        if not {*"\\%"} & {*near, *key}:
            assert Scrubber(key).of_text(f"<{near}>") == f"<{near}>"


@given(body=st.binary(max_size=200), key=KEYS)
@few(60)
def test_bytes_that_are_no_text(body: bytes, key: str) -> None:
    assume(key.encode() not in body)
    scrubber = Scrubber(key)
    assert scrubber.of_bytes(body) == body
    around = b"\xff" + body + b"\xfe\x00"
    said = around + key.encode() + around
    assert scrubber.of_bytes(said) == around + REMOVED.encode() + around


def test_without_a_key_nothing_is_removed() -> None:
    scrubber = Scrubber(None)
    assert scrubber.of_text("sk-1") == "sk-1"
    assert scrubber.of_bytes(b"sk-1") == b"sk-1"


@pytest.mark.timed
def test_long_answers_take_little_time() -> None:
    """Runs of signs that begin a key or escape one must not be tried in all ways."""
    for key in ("a" * 60, "%" * 30 + "a", "a\\" * 20 + "b", '"u00' * 20 + "b"):
        for run in ("\\", "a", "%", "a\\", '\\"u00', "%61", "\\u0061"):
            body = (run * (20_000 // len(run))).encode()
            began = time.perf_counter()
            Scrubber(key).of_bytes(body)
            assert time.perf_counter() - began < 1, (key, run)


SECRETS = [
    *("authorization", "proxy-authorization", "www-authenticate", "set-cookie", "cookie"),
    *("x-api-key", "api-key", "apikey", "x-goog-api-key", "x-client-secret", "x-credential"),
    *("authentication-info", "x-auth-token", "x-amz-security-token"),
]
PLAIN = [
    *("content-type", "retry-after", "request-id", "x-request-id", "date", "server"),
    *("x-ratelimit-remaining-tokens", "x-ratelimit-limit-tokens", "x-author"),
    *("anthropic-ratelimit-tokens-remaining", "openai-processing-ms", "cf-aig-step"),
]


@pytest.mark.parametrize("name", [*SECRETS, *PLAIN])
@pytest.mark.parametrize("spelled", [str.lower, str.title, str.upper])
def test_headers_of_secrets_are_dropped(name: str, spelled: Callable[[str], str]) -> None:
    found = Scrubber("k-12345678").of_headers([(spelled(name), "anything"), ("Date", "today")])
    kept = {name: "anything"} if name in PLAIN else {}
    if name == "date":
        kept = {"date": "anything, today"}
    assert found == {"date": "today", **kept}


@given(key=KEYS, form=st.sampled_from(sorted(FORMS)))
@few(60)
def test_other_headers_hold_no_key(key: str, form: str) -> None:
    assume(key not in REMOVED)
    said = FORMS[form](key, random.Random(7))
    found = Scrubber(key).of_headers(
        [("X-Echo", f"a {said} b"), ("X-Twice", "one"), ("x-twice", f"two {said}")]
    )
    assert list(found) == ["x-echo", "x-twice"]
    assert found["x-echo"].startswith(f"a {REMOVED}")
    assert found["x-twice"].startswith(f"one, two {REMOVED}")


def test_a_key_in_the_name_of_a_header_is_removed() -> None:
    found = Scrubber("Key-ABCdef-1").of_headers(
        [("X-Key-ABCdef-1-Left", "3"), ("X-Key-ABCdef-1-Left", "4")]
    )
    assert found == {f"x-{REMOVED}-left": "3, 4"}

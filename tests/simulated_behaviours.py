"""What the simulated providers can be told to do, each in every dialect's own form.

A behaviour is a name of any kind, then what goes wrong: ``sim+latency:0.05+flaky:2``.

==================== ==============================================================================
latency:S            answers after S seconds
400 401 402 403 404  the provider's error object; 401 holds the key that came with the request
408 409 425 429 500
503 529              the same; -after:S (429-after:2) adds Retry-After in seconds, -date:S as a date
filter-400           400 with code content_filter, as on Azure
html-502, html       an HTML page
redirect             307 to another host (localhost), which answers 404 and counts the request
hang, hang-body      never answers; stops amid the body, connection open
cut, reset           closes amid the body, Content-Length stated in full; the same with a TCP reset
cut-headers          closes before any byte
chunked, cut-chunked a good answer in chunks; the same, closed after half of the body
cut-last-chunk       the same, closed after the whole body: only the empty last chunk is missing
drip:S               one byte of the body every S seconds
huge:BYTES           an answer of that size (64 MiB)
bomb, gzip           256 MiB gzipped to 0.3 MB; a good answer gzipped
malformed            200, JSON broken off; empty-body: 200, no bytes
not-object:KIND      200, and JSON is a list, null, number, string or bool
error-200            200 with the provider's error object
failed               200, and the generation failed (chat: choice with an error; responses: status)
wrong-model:NAME     another model answered; no-model: not said which
provider:NAME        ``provider`` as gateways add it
fallback:WHERE       header x-litellm-attempted-fallbacks (``header``) or true under a key of the
                     body named WHERE; without WHERE the header and ``fallback``
empty, null-content  success with empty text; with null in its place
no-choices           success with an empty list of choices, output, blocks or candidates
length               stopped at the cap, good text
reasoning-budget     no text, all tokens up to the cap are reasoning, stopped at the cap
reasoning-stop       the same, but it says that it stopped by itself
refusal              the provider's own signal; content-filter: its other one
sorry, prose         refuses in words, no marker; talks about food, no marker
duplicate            two marker lines that differ; duplicate-same: that do not
unknown-finish       a good answer, finished for a reason that nobody knows
thinking:KEY         hidden reasoning that holds another marker line (KEY of it, chat only)
think-tags           the same within the text, in <think> tags
no-usage             tokens are not stated
odd-usage:KIND       counts are negative, string, float, huge, nan, bool or null (default: all but
                     nan in turn); with ``list`` or ``nothing`` that is in place of the object
cost:DOLLARS         a gateway's own ``cost`` in the usage
echo-key             the key in a header and in the text, or in the error's message
bad-utf8, bom        bytes that are no UTF-8 in the text; a byte order mark before the JSON
nul, surrogate       ``\\u0000`` or a lone ``\\ud800`` in the text, as JSON escapes
deep                 a good answer beside a list nested 100,000 levels
flaky:N              the first N requests for a model and prompt get 503, later ones the rest
flaky-X:N            the same with any X from above that needs no argument: flaky-429, flaky-cut
==================== ==============================================================================
"""

from __future__ import annotations

import functools
import gzip
import json
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import simulated_wire as wire
from simulated_http import ENDS, FILLED, MEBIBYTE, Reply, delivered
from simulated_wire import Answer, Asked, Json

_DEPTH = 100_000
_BOMB = 256
_PAGE = b"<!DOCTYPE html><html><body><h1>Bad gateway</h1></body></html>"
_ERRORS = (400, 401, 402, 403, 404, 408, 409, 425, 429, 500, 503, 529)
#: Status and form of the Retry-After header by behaviour.
_STATUSES: dict[str, tuple[int, str]] = {
    **{str(status): (status, "") for status in _ERRORS},
    **{f"{s}-{hint}": (s, hint) for s in (429, 503, 529) for hint in ("after", "date")},
    "filter-400": (400, ""),
    "html-502": (502, ""),
    "redirect": (307, ""),
}


# --- what is said ----------------------------------------------------------------------------


def _good(asked: Asked, faults: dict[str, str]) -> Answer:
    text = f"These three go best with it.\n{wire.marker(asked.prompt)}"
    answer = Answer(text, wire.usage_of(asked.prompt), asked.model)
    for name, argument in faults.items():
        if name in _SAYS:
            _SAYS[name](answer, asked, argument)
    return answer


def _says(text: str | None) -> Callable[[Answer, Asked, str], None]:
    def say(answer: Answer, asked: Asked, argument: str) -> None:
        answer.text = text
        answer.usage = replace(answer.usage, output=2, reasoning=0)

    return say


def _finishes(finish: str) -> Callable[[Answer, Asked, str], None]:
    def say(answer: Answer, asked: Asked, argument: str) -> None:
        answer.finish = finish
        if finish in (wire.REFUSAL, wire.FILTER):
            answer.text = "I cannot help with this request."
        if finish == wire.LENGTH:
            answer.usage = replace(answer.usage, output=asked.cap or wire.UNSTATED_CAP)

    return say


def _budget(finish: str) -> Callable[[Answer, Asked, str], None]:
    def say(answer: Answer, asked: Asked, argument: str) -> None:
        cap = asked.cap or wire.UNSTATED_CAP
        answer.text, answer.hidden, answer.finish = "", "Let me see.", finish
        answer.usage = replace(answer.usage, output=cap, reasoning=cap)

    return say


def _adds(before: Callable[[str], str]) -> Callable[[Answer, Asked, str], None]:
    def say(answer: Answer, asked: Asked, argument: str) -> None:
        answer.text = f"{before(asked.prompt)}\n{answer.text}"

    return say


def _thinks(answer: Answer, asked: Asked, argument: str) -> None:
    answer.hidden = f"Perhaps\n{wire.marker(asked.prompt, 5)}\nor not."
    answer.hidden_key = argument or answer.hidden_key
    usage = answer.usage
    answer.usage = replace(usage, output=usage.output + 12, reasoning=usage.reasoning + 12)


def _served_by(answer: Answer, asked: Asked, argument: str) -> None:
    answer.model = argument or "another-model"


def _no_choices(answer: Answer, asked: Asked, argument: str) -> None:
    answer.parts = False


_SAYS: dict[str, Callable[[Answer, Asked, str], None]] = {
    "empty": _says(""),
    "null-content": _says(None),
    "sorry": _says("I'm sorry, but I can't help with choosing ingredients."),
    "prose": _says("Basil goes with nearly everything, so I would take it twice."),
    "no-choices": _no_choices,
    "length": _finishes(wire.LENGTH),
    "refusal": _finishes(wire.REFUSAL),
    "content-filter": _finishes(wire.FILTER),
    "unknown-finish": _finishes(wire.UNKNOWN),
    "reasoning-budget": _budget(wire.LENGTH),
    "reasoning-stop": _budget(wire.STOP),
    "duplicate": _adds(lambda prompt: wire.marker(prompt, 1)),
    "duplicate-same": _adds(wire.marker),
    "thinking": _thinks,
    "think-tags": _adds(lambda prompt: f"<think>\n{wire.marker(prompt, 5)}\n</think>"),
    "nul": _adds(lambda prompt: "before \0 after"),
    "surrogate": _adds(lambda prompt: "before \ud800 after"),
    "huge": _adds(lambda prompt: FILLED),
    "wrong-model": _served_by,
}

# --- what is stated beside it ----------------------------------------------------------------

_ODD: dict[str, Any] = {
    "negative": -5,
    "string": "12",
    "float": 7.5,
    "huge": 10**30,
    "nan": float("nan"),
    "bool": True,
    "null": None,
}


def _odd(value: Any, kinds: Iterator[Any]) -> Any:
    """``value`` with another thing in place of each count."""
    if isinstance(value, dict):
        return {key: _odd(inner, kinds) for key, inner in value.items()}
    return next(kinds) if isinstance(value, int) else value


def _odd_usage(document: Json, asked: Asked, argument: str) -> None:
    key = wire.USAGE_KEYS[asked.dialect]
    # By default without NaN: it is no JSON.
    kinds = [_ODD[argument]] if argument in _ODD else [v for v in _ODD.values() if v == v]
    usage = _odd(document[key], (kind for _ in range(99) for kind in kinds))
    document[key] = {"list": [usage], "nothing": None}.get(argument, usage)


def _without(keys: dict[str, str]) -> Callable[[Json, Asked, str], None]:
    def state(document: Json, asked: Asked, argument: str) -> None:
        del document[keys[asked.dialect]]

    return state


def _cost(document: Json, asked: Asked, argument: str) -> None:
    document.setdefault(wire.USAGE_KEYS[asked.dialect], {})["cost"] = float(argument or 0.0123)


def _provider(document: Json, asked: Asked, argument: str) -> None:
    document["provider"] = argument or "Elsewhere"


def _fallback(document: Json, asked: Asked, argument: str) -> None:
    if argument != "header":
        document[argument or "fallback"] = True


def _failed(document: Json, asked: Asked, argument: str) -> None:
    if asked.dialect == wire.CHAT:
        told = {"code": 502, "message": "upstream failed"}
        document["choices"][0] |= {"finish_reason": "error", "error": told}
    elif asked.dialect == wire.RESPONSES:
        told = {"code": "server_error", "message": "the generation failed"}
        document |= {"status": "failed", "error": told, "output": []}
    else:
        error = wire.error(asked.dialect, 500, "the generation failed", "0")
        document.clear()
        document |= error


_STATES: dict[str, Callable[[Json, Asked, str], None]] = {
    "no-usage": _without(wire.USAGE_KEYS),
    "odd-usage": _odd_usage,
    "no-model": _without(wire.MODEL_KEYS),
    "cost": _cost,
    "provider": _provider,
    "fallback": _fallback,
    "failed": _failed,
}

# --- bytes -----------------------------------------------------------------------------------

_KINDS = {"list": b"[]", "null": b"null", "number": b"17", "string": b'"ok"', "bool": b"true"}


def _bomb(body: bytes, argument: str) -> bytes:
    """``body`` and white space, gzipped; blocks after a full flush are equal, so made once."""
    squeeze = zlib.compressobj(9, wbits=-15)
    blank = b" " * MEBIBYTE
    first = squeeze.compress(body) + squeeze.flush(zlib.Z_FULL_FLUSH)
    block = squeeze.compress(blank) + squeeze.flush(zlib.Z_FULL_FLUSH)
    crc = zlib.crc32(body)
    for _ in range(_BOMB):
        crc = zlib.crc32(blank, crc)
    size = len(body) + _BOMB * MEBIBYTE
    end = crc.to_bytes(4, "little") + size.to_bytes(4, "little")
    start = bytes((31, 139, 8, 0, 0, 0, 0, 0, 2, 255))
    return start + first + block * _BOMB + squeeze.flush() + end


_BYTES: dict[str, Callable[[bytes, str], bytes]] = {
    "html": lambda body, _: _PAGE,
    "malformed": lambda body, _: body[: len(body) // 2],
    "empty-body": lambda body, _: b"",
    "not-object": lambda body, kind: _KINDS[kind or "list"],
    "bad-utf8": lambda body, _: body.replace(b"\\nFINAL", b" \xff\xfe\\nFINAL"),
    "bom": lambda body, _: b"\xef\xbb\xbf" + body,
    "deep": lambda body, _: body[:-1] + b',"deep":' + b"[" * _DEPTH + b"]" * _DEPTH + b"}",
    "gzip": lambda body, _: gzip.compress(body, mtime=0),
    "bomb": _bomb,
}
_PLAIN = ("latency", "drip", "chunked", "echo-key", "error-200", "flaky")
NAMES = frozenset((*_PLAIN, *_STATUSES, *_SAYS, *_STATES, *_BYTES, *ENDS))


@functools.lru_cache(4096)
def parsed(behaviour: str) -> dict[str, str]:
    """Names and arguments, not to be changed; the first part may be any name.

    Raises
    ------
    ValueError : a later part is unknown
    """
    found = {}
    for at, part in enumerate(behaviour.split("+")):
        name, _, argument = part.partition(":")
        if name in NAMES or name.removeprefix("flaky-") in NAMES:
            found[name] = argument
        elif at and part:
            raise ValueError(f"the simulator knows no behaviour {part!r}")
    return found


def reply(asked: Asked, behaviour: str, nth: int, key: str, port: int) -> Reply:
    """The answer to the ``nth`` request for a model and prompt, which came with ``key``."""
    faults = parsed(behaviour)
    for name, argument in faults.items():
        if name.startswith("flaky"):
            times = int(argument or 1)
            faults = {k: v for k, v in faults.items() if k == "latency" or nth > times}
            if nth <= times:
                faults[name.removeprefix("flaky").removeprefix("-") or "503"] = ""
            break
    status, document, headers = _document(asked, faults, key, port)
    body = json.dumps(document, separators=(",", ":")).encode() if document else b""
    if status == 502:
        body = _PAGE
    for name, argument in faults.items():
        if name in _BYTES:
            body = _BYTES[name](body, argument)
    if "gzip" in faults or "bomb" in faults:
        headers["content-encoding"] = "gzip"
    if body is _PAGE:
        headers["content-type"] = "text/html"
    return delivered(status, headers, body, faults)


def _document(
    asked: Asked, faults: dict[str, str], key: str, port: int
) -> tuple[int, Json, dict[str, str]]:
    """Status, JSON and headers."""
    ident = wire.ident(asked)
    headers = {"content-type": "application/json", "x-request-id": f"req_{ident}"}
    if asked.dialect == wire.MESSAGES:
        headers["request-id"] = headers.pop("x-request-id")
    echo = "echo-key" in faults
    if echo:
        headers["x-echo"] = key
    fault = next((name for name in faults if name in _STATUSES), None)
    if fault is not None or "error-200" in faults:
        status, hint = _STATUSES[fault] if fault else (500, "")
        if status == 307:
            return status, {}, {"location": f"http://localhost:{port}/elsewhere"}
        if status == 502:
            return status, {}, headers
        if hint:
            seconds = float(faults[fault or ""] or 1)
            date = formatdate(time.time() + seconds + 0.999, usegmt=True)
            headers["retry-after"] = date if hint == "date" else f"{seconds:g}"
        message = f"simulated error {status}"
        if echo or status == 401:
            message = f"Incorrect API key provided: {key}. You can find yours elsewhere."
        document = wire.error(asked.dialect, status, message, ident)
        if fault == "filter-400":
            document = wire.filtered(asked.dialect)
        return status if fault else 200, document, headers
    answer = _good(asked, faults)
    if echo:
        answer.text = f"Your key is {key}.\n{answer.text}"
    document = wire.ANSWERS[asked.dialect](answer, asked, ident)
    for name, argument in faults.items():
        if name in _STATES:
            _STATES[name](document, asked, argument)
    if faults.get("fallback") in ("", "header"):
        headers["x-litellm-attempted-fallbacks"] = "1"
    return 200, document, headers

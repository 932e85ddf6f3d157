"""What became of an attempt, and with it of its cell: pure functions of what was stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from flavourbench.collect.dialects import dialect_of
from flavourbench.collect.money import Charge, charge, estimated_tokens, largest
from flavourbench.collect.route import Route
from flavourbench.collect.wire import (
    MalformedError,
    Reply,
    Tokens,
    at,
    error_reply,
    fallback_marked,
    items_at,
    text_at,
)
from flavourbench.errors import shown
from flavourbench.tasks.parsing import parse
from flavourbench.tasks.taskset import Task

#: Every outcome of a cell, in the order in which they are tried; ``answered`` alone is valid.
OUTCOMES = (
    "transport",
    "route_mismatch",
    "refused",
    "truncated",
    "empty",
    "answered",
    "unparseable",
)
ANSWERED, UNPARSEABLE = "answered", "unparseable"
TRANSPORT, MISMATCH = "transport", "route_mismatch"
#: The kind of an attempt that brought an answer, whatever it says.
ANSWER = "answer"
#: Kinds of failed attempts that are tried again; each has its own bound.
CONNECTION, BUSY, SERVER = "connection", "busy", "server"
#: An attempt that ended a route, and those that their own collector ended or lost.
STOP, DROPPED, LOST = "stop", "dropped", "lost"
#: Why an answer is not complete.
UNREACHABLE, TIMEOUT, CUT, TOO_LARGE = "unreachable", "timeout", "cut", "too large"
ENCODING = "encoding"
_BUSY = (408, 409, 425, 429)
#: Codes of a 429 that waiting does not help.
_SPENT = frozenset(
    {"insufficient_quota", "enforced_spend_limit_reached", "contract_spend_limit_reached"}
)


@dataclass(frozen=True, slots=True)
class Raw:
    """What came back for one request, as it was stored.

    Attributes
    ----------
    status : HTTP status, or None where none arrived
    headers : names in lower case, secrets removed
    body : as far as it arrived
    error : why the answer is not complete ("timeout", "cut", …), or None
    message : the words for it
    """

    status: int | None
    headers: Mapping[str, str]
    body: bytes
    error: str | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What an attempt was found to be.

    Attributes
    ----------
    kind : ``ANSWER``, or the kind of its failure (``CONNECTION`` … ``LOST``)
    outcome : of the cell if the attempt ends it, else None
    reason : detail: a parser's reason, what differs, what failed; may be empty
    flags : what is odd without deciding: unknown_finish, model_unstated, estimated
    reply : what was said; an empty one where nothing was
    charge : what it cost
    """

    kind: str
    outcome: str | None
    reason: str
    flags: tuple[str, ...]
    reply: Reply
    charge: Charge


def read_attempt(raw: Raw, route: Route, task: Task, request: bytes) -> Reading:
    """Read one attempt. An outcome of ``transport`` is for the caller, who counts the tries."""
    kind, reason, reply = _said(raw, route)
    outcome: str | None = None
    flags: list[str] = []
    if kind == ANSWER:
        outcome, reason, flags = _outcome(reply, route, task)
    elif raw.error is None and dialect_of(route.dialect).refusal(_error_body(raw) or {}):
        kind, outcome = ANSWER, "refused"
    if reply.tokens is not None:
        due = charge(route, reply.tokens, reply.cost)
    else:
        flags.append("estimated")
        due = charge(route, _estimate(kind, reply, route, request, raw), reply.cost, estimated=True)
    return Reading(kind, outcome, reason, tuple(flags), reply, due)


def _said(raw: Raw, route: Route) -> tuple[str, str, Reply]:
    """Kind, words of a failure, and the reply."""
    failure = _failure_of(raw)
    if failure is not None:
        return *failure, Reply()
    try:
        reply = read_reply(raw, route.dialect)
    except MalformedError as malformed:
        return CONNECTION, f"malformed: {malformed}", Reply()
    if reply.error is None:
        return ANSWER, "", reply
    kind = _kind_of_status(reply.error_code) if reply.error_code else CONNECTION
    # Under HTTP 200 an error is no word of the server on the whole route.
    return CONNECTION if kind == STOP else kind, f"error: {reply.error}", reply


def _failure_of(raw: Raw) -> tuple[str, str] | None:
    """Kind and words of a failure that shows without reading the body."""
    if raw.error in (DROPPED, LOST):
        return raw.error, raw.message
    if raw.error is not None:
        return CONNECTION, f"{raw.error}: {raw.message}" if raw.message else raw.error
    if raw.status == 200:
        return None
    kind = _kind_of_status(raw.status or 0)
    if raw.status == 429 and _hopeless(raw):
        kind = STOP
    return kind, f"HTTP {raw.status}: {server_message(raw)}"


def _kind_of_status(status: int) -> str:
    if status in _BUSY:
        return BUSY
    if 300 <= status < 500:
        return STOP
    return SERVER if status >= 500 else CONNECTION


def _hopeless(raw: Raw) -> bool:
    """Whether a server says that waiting does not help."""
    error = at(_error_body(raw), "error")
    return bool(_SPENT & {text_at(error, "code"), text_at(error, "details", "error_code")})


def server_message(raw: Raw) -> str:
    """What a server says of an error, on one line."""
    found = _error_body(raw)
    for path in (("error", "message"), ("message",), ("error",), ("detail",)):
        text = text_at(found, *path)
        if text:
            return shown(text, 300)
    if "location" in raw.headers:
        return f"moved to {shown(raw.headers['location'], 200)}: change base_url"
    return shown(raw.body[:300].decode("utf-8", "replace").strip() or "no message", 300)


def read_reply(raw: Raw, dialect: str) -> Reply:
    """The reply in a complete answer.

    Raises
    ------
    MalformedError
        There is none.
    """
    found = _object(raw.body)
    if found is None:
        kind = raw.headers.get("content-type", "of unknown type").split(";")[0]
        raise MalformedError(f"no JSON object, {shown(kind)}")
    error = found.get("error")
    if error in (None, False, ""):
        reply = dialect_of(dialect).read(found)
        marked = fallback_marked(found, raw.headers)
        return replace(reply, fallback=True) if marked else reply
    return error_reply(error)


def stated_delay(raw: Raw) -> str | None:
    """The wait that an error of Google states within its body ("34.07s"), or None."""
    kept = items_at(_error_body(raw), "error", "details")
    delays = [text_at(each, "retryDelay") for each in kept]
    return next((delay for delay in delays if delay), None)


def _error_body(raw: Raw) -> dict[str, Any] | None:
    """The object of an error; Google's other endpoints put it into a list."""
    found = _json(raw.body)
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    return found if isinstance(found, dict) else None


def _object(body: bytes) -> dict[str, Any] | None:
    found = _json(body)
    return found if isinstance(found, dict) else None


def _json(body: bytes) -> Any:
    try:
        # As text: of bytes the parser would take UTF-16 too, where no key has been looked for.
        return json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def _outcome(reply: Reply, route: Route, task: Task) -> tuple[str, str, list[str]]:
    """Outcome, reason and flags of an answer: the first rule that holds."""
    flags: list[str] = []
    mismatch = _mismatch(reply, route)
    if mismatch:
        return MISMATCH, mismatch, flags
    if reply.served is None:
        flags.append("model_unstated")
    if reply.finish == "unknown":
        flags.append("unknown_finish")
    if reply.finish == "refused":
        return "refused", shown(reply.finish_reason or "", 200), flags
    visible = bool(reply.text.strip())
    at_cap = reply.tokens is not None and 0 < route.cap <= reply.tokens.output
    if reply.finish == "length" or (not visible and at_cap):
        return "truncated", "" if visible else "no visible text", flags
    if not visible:
        return "empty", "", flags
    parsed = parse(reply.text, task.choices, task.parser)
    if parsed.selection is None:
        return UNPARSEABLE, parsed.reason or "", flags
    return ANSWERED, "", flags


def _mismatch(reply: Reply, route: Route) -> str | None:
    if reply.served is not None and reply.served not in route.served:
        return f"model {shown(reply.served)} answered for {shown(route.model)}"
    if route.provider is not None and _provider(reply.provider) != _provider(route.provider):
        stated = "an unstated one" if reply.provider is None else shown(reply.provider)
        return f"provider {shown(route.provider)} is pinned, {stated} answered"
    return "a fallback was taken" if reply.fallback else None


def _provider(name: str | None) -> str | None:
    """A provider's slug or display name in one form; a variant after a slash is not stated."""
    if name is None:
        return None
    return "".join(c for c in name.split("/")[0].casefold() if c.isalnum())


def _estimate(kind: str, reply: Reply, route: Route, request: bytes, raw: Raw) -> Tokens | None:
    """Tokens of an attempt that states none; None where nothing can have been charged."""
    if kind == ANSWER:
        return Tokens(estimated_tokens(request), 0, 0, estimated_tokens(reply.text))
    if raw.status is not None and raw.status != 200:
        return None  # providers do not charge for what they turned away
    if raw.error == UNREACHABLE:
        return None
    return largest(route, request)  # it may have been written to the end

"""What every wire dialect speaks of: a request, and what a provider's answer says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from flavourbench.collect.route import Route
from flavourbench.errors import InputError, shown

#: How an answer ended. An unknown reason is judged by what was said.
Finish = Literal["stop", "length", "refused", "unknown"]
MICRO = 1_000_000
#: Token counts beyond this are no counts.
_MOST_TOKENS = 10**9
#: Headers by which gateways say how many fallbacks they took.
_FALLBACK_HEADERS = (
    "x-litellm-attempted-fallbacks",
    "x-portkey-last-used-option-index",
    "cf-aig-step",
)
_FALLBACK_KEYS = ("fallback", "fallback_used", "is_fallback", "used_fallback")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one answer, each counted once.

    Attributes
    ----------
    input, cached_input, cache_write : what was read, by price
    output : what was written, hidden reasoning included
    reasoning : the hidden part of ``output``, where it is stated
    """

    input: int
    cached_input: int
    cache_write: int
    output: int
    reasoning: int = 0


NO_TOKENS = Tokens(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a complete answer says, in the same words for all dialects.

    Attributes
    ----------
    text : what is visible, hidden reasoning left out
    finish : how it ended
    finish_reason : the provider's word for that, or None
    served, provider : the model and the gateway's provider that answered, where stated
    fallback : whether a gateway says that it turned to another one
    usage : as sent, or None
    tokens : None where usage is missing or says nothing
    cost : the gateway's own, in micro-dollars, or None
    error : message of an error that came as an answer, or None
    error_code : its HTTP-like number, or None
    """

    text: str = ""
    finish: Finish = "unknown"
    finish_reason: str | None = None
    served: str | None = None
    provider: str | None = None
    fallback: bool = False
    usage: Mapping[str, Any] | None = None
    tokens: Tokens | None = None
    cost: int | None = None
    error: str | None = None
    error_code: int | None = None


class Dialect(Protocol):
    """One wire dialect; each is a module."""

    #: Header of the key, and how it stands there ("Bearer {key}").
    KEY_HEADER: str
    KEY_FORM: str
    #: Other headers of every request.
    HEADERS: Mapping[str, str]

    def path(self, route: Route) -> str:
        """What follows the base URL."""

    def body(self, route: Route, prompt: str) -> dict[str, Any]:
        """The request: one user message, no system message.

        Raises
        ------
        InputError
            ``extra`` sets what is set here.
        """

    def read(self, answer: Mapping[str, Any]) -> Reply:
        """What an answer says. Raises :class:`MalformedError`."""

    def refusal(self, answer: Mapping[str, Any]) -> bool:
        """Whether an error object says that the provider refused the content."""


class MalformedError(ValueError):
    """An answer that is none in its dialect."""


def at(value: Any, *path: str | int) -> Any:
    """What stands at a path of keys and positions in JSON; None where the path ends early."""
    for step in path:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def text_at(value: Any, *path: str | int) -> str | None:
    """A text at a path that is not empty, or None."""
    found = at(value, *path)
    return found if isinstance(found, str) and found else None


def items_at(value: Any, *path: str | int) -> list[Any]:
    """The list at a path, or an empty one."""
    found = at(value, *path)
    return found if isinstance(found, list) else []


def listed_at(answer: Mapping[str, Any], key: str) -> list[Any]:
    """The list at ``key``, also where null stands for an empty one.

    Raises
    ------
    MalformedError
        There is none.
    """
    found = answer.get(key)
    if found is None and key in answer:
        return []
    if not isinstance(found, list):
        raise MalformedError(f"no {key}")
    return found


def count(value: Any, *path: str | int) -> int | None:
    """A number of tokens at a path, or None where none or none that can be is stated."""
    found = at(value, *path)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= _MOST_TOKENS:
        return None
    return found


def split_tokens(
    inside: int | None,
    output: int | None,
    cached: int | None,
    reasoning: int | None = None,
    written: int | None = None,
) -> Tokens | None:
    """Tokens of a dialect whose input count holds those read from and written to a cache."""
    if inside is None or output is None:
        return None
    cached = min(cached or 0, inside)
    written = min(written or 0, inside - cached)
    return Tokens(inside - cached - written, cached, written, output, reasoning or 0)


def gateway_cost(usage: Any) -> int | None:
    """Micro-dollars that a gateway states as its own cost, or None."""
    cost = at(usage, "cost")
    if isinstance(cost, bool) or not isinstance(cost, (int, float)):
        return None
    return round(cost * MICRO) if 0 <= cost < MICRO else None


def error_reply(error: Any) -> Reply:
    """The reply that an error object, or text, makes."""
    code = at(error, "code")
    message = text_at(error, "message") or (error if isinstance(error, str) else "no message")
    number = code if isinstance(code, int) and not isinstance(code, bool) else None
    return Reply(error=shown(message, 300), error_code=number)


def finish_of(reason: str | None, table: Mapping[str, Finish]) -> Finish:
    """How a provider's word for the end is meant."""
    return table.get(reason or "", "unknown")


def merged(body: dict[str, Any], extra: Mapping[str, Any], place: str = "extra") -> dict[str, Any]:
    """``body`` with ``extra`` parameters, tables merged into tables.

    Raises
    ------
    InputError
        ``extra`` sets what ``body`` already has.
    """
    out = dict(body)
    for key, value in extra.items():
        if key in out and isinstance(out[key], dict) and isinstance(value, Mapping):
            out[key] = merged(out[key], value, f"{place}.{key}")
        elif key in out:
            raise InputError(f"{place}.{shown(key)} is set by the route itself: leave it out")
        else:
            out[key] = value
    return out


def fallback_marked(answer: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    """Whether a gateway says that another model or provider stood in."""
    if any(answer.get(key) and answer[key] != "false" for key in _FALLBACK_KEYS):
        return True
    return any(headers.get(name, "0").strip() not in ("0", "") for name in _FALLBACK_HEADERS)


def joined_text(parts: Sequence[Any], kinds: tuple[str, ...]) -> str:
    """The texts of content parts of some kinds, one after the other."""
    texts = [
        text for part in parts if at(part, "type") in kinds and (text := text_at(part, "text"))
    ]
    return "".join(texts)

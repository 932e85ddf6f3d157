"""Anthropic Messages."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from flavourbench.collect.route import Route
from flavourbench.collect.wire import (
    Finish,
    Reply,
    Tokens,
    at,
    count,
    finish_of,
    joined_text,
    listed_at,
    merged,
    text_at,
)

KEY_HEADER, KEY_FORM = "x-api-key", "{key}"
HEADERS: Mapping[str, str] = MappingProxyType({"anthropic-version": "2023-06-01"})
_FINISH: Mapping[str, Finish] = MappingProxyType(
    {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "pause_turn": "length",
        "compaction": "length",
        "model_context_window_exceeded": "length",
        "refusal": "refused",
    }
)


def path(route: Route) -> str:  # noqa: ARG001
    """See :class:`.Dialect`."""
    return "/messages"


def body(route: Route, prompt: str) -> dict[str, Any]:
    """See :class:`.Dialect`."""
    given = route.parameters
    sent: dict[str, Any] = {
        "model": route.model,
        "max_tokens": given["max_output_tokens"],
        "messages": [{"role": "user", "content": prompt}],
    }
    if "temperature" in given:
        sent["temperature"] = given["temperature"]
    if "effort" in given:
        sent["output_config"] = {"effort": given["effort"]}
    return merged(sent, given.get("extra", {}))


def read(answer: Mapping[str, Any]) -> Reply:
    """See :class:`.Dialect`."""
    blocks = listed_at(answer, "content")
    reason = text_at(answer, "stop_reason")
    usage = at(answer, "usage")
    return Reply(
        text=joined_text(blocks, ("text",)),
        finish=finish_of(reason, _FINISH),
        finish_reason=reason,
        served=text_at(answer, "model"),
        usage=usage if isinstance(usage, Mapping) else None,
        tokens=_tokens(usage),
    )


def _tokens(usage: Any) -> Tokens | None:
    # What was read from or written to a cache is not in input_tokens.
    fresh, output = count(usage, "input_tokens"), count(usage, "output_tokens")
    if fresh is None or output is None:
        return None
    cached = count(usage, "cache_read_input_tokens") or 0
    written = count(usage, "cache_creation_input_tokens") or 0
    hidden = count(usage, "output_tokens_details", "thinking_tokens") or 0
    return Tokens(fresh, cached, written, output, hidden)


def refusal(answer: Mapping[str, Any]) -> bool:  # noqa: ARG001
    """See :class:`.Dialect`; this provider refuses by its stop reason alone."""
    return False

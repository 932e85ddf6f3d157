"""OpenAI Responses."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from flavourbench.collect.dialects.openai_chat import (
    HEADERS,
    KEY_FORM,
    KEY_HEADER,
    provider_pin,
    refusal,
    tokens_in,
)
from flavourbench.collect.route import Route
from flavourbench.collect.wire import (
    Finish,
    Reply,
    at,
    finish_of,
    gateway_cost,
    items_at,
    joined_text,
    listed_at,
    merged,
    text_at,
)

__all__ = ["HEADERS", "KEY_FORM", "KEY_HEADER", "body", "path", "read", "refusal"]

_INCOMPLETE: Mapping[str, Finish] = MappingProxyType(
    {"max_output_tokens": "length", "content_filter": "refused"}
)


def path(route: Route) -> str:  # noqa: ARG001
    """See :class:`.Dialect`."""
    return "/responses"


def body(route: Route, prompt: str) -> dict[str, Any]:
    """See :class:`.Dialect`."""
    given = route.parameters
    sent: dict[str, Any] = {
        "model": route.model,
        "input": [{"role": "user", "content": prompt}],
        "max_output_tokens": given["max_output_tokens"],
        "store": False,
    }
    if "temperature" in given:
        sent["temperature"] = given["temperature"]
    if "effort" in given:
        sent["reasoning"] = {"effort": given["effort"]}
    if route.provider is not None:
        sent["provider"] = provider_pin(route.provider)
    return merged(sent, given.get("extra", {}))


def read(answer: Mapping[str, Any]) -> Reply:
    """See :class:`.Dialect`."""
    items = listed_at(answer, "output")
    parts = [
        part
        for item in items
        if at(item, "type") == "message"
        for part in items_at(item, "content")
    ]
    status = text_at(answer, "status")
    reason = text_at(answer, "incomplete_details", "reason") if status == "incomplete" else status
    finish = "stop" if status == "completed" else finish_of(reason, _INCOMPLETE)
    if any(at(part, "type") == "refusal" for part in parts):
        finish = "refused"
    usage = at(answer, "usage")
    return Reply(
        text=joined_text(parts, ("output_text",)),
        finish=finish,
        finish_reason=reason,
        served=text_at(answer, "model"),
        provider=text_at(answer, "provider"),
        usage=usage if isinstance(usage, Mapping) else None,
        tokens=tokens_in(usage, "input_tokens", "output_tokens"),
        cost=gateway_cost(usage),
    )

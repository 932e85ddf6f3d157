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
    MalformedError,
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
    {"max_output_tokens": "length", "max_messages": "length", "content_filter": "refused"}
)
#: Nothing was answered, or not yet.
_FAILED = ("failed", "cancelled", "queued", "in_progress")


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
    status = text_at(answer, "status")
    if status in _FAILED:
        raise MalformedError(f"status {status}")
    said = [item for item in listed_at(answer, "output") if at(item, "type") == "message"]
    # What a model says on its way is marked, where there is some.
    final = [item for item in said if at(item, "phase") == "final_answer"]
    parts = [part for item in final or said for part in items_at(item, "content")]
    reason = text_at(answer, "incomplete_details", "reason") or status
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

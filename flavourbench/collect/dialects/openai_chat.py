"""OpenAI Chat Completions, and every server that speaks it: vLLM, llama.cpp, gateways."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from flavourbench.collect.route import Route
from flavourbench.collect.wire import (
    Finish,
    MalformedError,
    Reply,
    Tokens,
    at,
    count,
    error_reply,
    finish_of,
    gateway_cost,
    joined_text,
    listed_at,
    merged,
    split_tokens,
    text_at,
)

KEY_HEADER, KEY_FORM = "authorization", "Bearer {key}"
HEADERS: Mapping[str, str] = MappingProxyType({})
_FINISH: Mapping[str, Finish] = MappingProxyType(
    {
        "stop": "stop",
        "eos": "stop",
        "length": "length",
        "max_tokens": "length",
        "content_filter": "refused",
        "refusal": "refused",
        "sensitive": "refused",
        "content_filtered": "refused",
        "guardrail_intervened": "refused",
    }
)
#: The server gave up amid the generation: no word of the model.
_FAILED = ("error", "abort", "network_error", "insufficient_system_resource")
#: Codes of errors by which content is refused, of OpenAI and of Azure.
_REFUSALS = frozenset(
    {
        *("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"),
        *("invalid_prompt", "cyber_policy", "bio_policy", "misalignment_policy_violation"),
    }
)


def path(route: Route) -> str:  # noqa: ARG001
    """See :class:`.Dialect`."""
    return "/chat/completions"


def body(route: Route, prompt: str) -> dict[str, Any]:
    """See :class:`.Dialect`."""
    given = route.parameters
    sent: dict[str, Any] = {
        "model": route.model,
        "messages": [{"role": "user", "content": prompt}],
        given.get("cap_key", "max_tokens"): given["max_output_tokens"],
    }
    if "temperature" in given:
        sent["temperature"] = given["temperature"]
    if "effort" in given:
        sent["reasoning_effort"] = given["effort"]
    if route.provider is not None:
        sent["provider"] = provider_pin(route.provider)
    return merged(sent, given.get("extra", {}))


def provider_pin(provider: str) -> dict[str, Any]:
    """A gateway may use this provider alone, and has to pass all parameters on."""
    return {"order": [provider], "allow_fallbacks": False, "require_parameters": True}


def read(answer: Mapping[str, Any]) -> Reply:
    """See :class:`.Dialect`."""
    choices = listed_at(answer, "choices")
    choice = choices[0] if choices else {}
    if not isinstance(choice, Mapping):
        raise MalformedError("a choice that is no object")
    if isinstance(error := at(choice, "error"), dict):  # of a gateway, amid the generation
        return error_reply(error)
    reason = text_at(choice, "finish_reason")
    if reason in _FAILED:
        raise MalformedError(f"finish reason {reason}")
    finish = finish_of(reason, _FINISH)
    if text_at(choice, "message", "refusal"):
        finish = "refused"
    usage = at(answer, "usage")
    return Reply(
        text=_text(at(choice, "message", "content")),
        finish=finish,
        finish_reason=reason,
        served=text_at(answer, "model"),
        provider=text_at(answer, "provider"),
        usage=usage if isinstance(usage, Mapping) else None,
        tokens=tokens_in(usage, "prompt_tokens", "completion_tokens"),
        cost=gateway_cost(usage),
    )


def tokens_in(usage: Any, inside: str, output: str) -> Tokens | None:
    """Tokens of a usage object, under the names that a dialect of OpenAI has for them."""
    return split_tokens(
        count(usage, inside),
        count(usage, output),
        count(usage, f"{inside}_details", "cached_tokens"),
        count(usage, f"{output}_details", "reasoning_tokens"),
        count(usage, f"{inside}_details", "cache_write_tokens"),
    )


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        return joined_text(content, ("text", "output_text"))
    raise MalformedError("content that is no text")


def refusal(answer: Mapping[str, Any]) -> bool:
    """See :class:`.Dialect`; Azure tells of its content filter by an error."""
    error = at(answer, "error")
    paths = (("code",), ("innererror", "code"), ("inner_error", "code"))
    return any(text_at(error, *path) in _REFUSALS for path in paths)

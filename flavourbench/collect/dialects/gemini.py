"""Gemini generateContent."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from flavourbench.collect.dialects.anthropic import refusal
from flavourbench.collect.route import Route
from flavourbench.collect.wire import (
    Finish,
    MalformedError,
    Reply,
    Tokens,
    at,
    count,
    finish_of,
    items_at,
    merged,
    split_tokens,
    text_at,
)

__all__ = ["HEADERS", "KEY_FORM", "KEY_HEADER", "body", "path", "read", "refusal"]

KEY_HEADER, KEY_FORM = "x-goog-api-key", "{key}"
HEADERS: Mapping[str, str] = MappingProxyType({})
_REFUSALS = (
    *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR", "ESCALATION"),
)
_FINISH: Mapping[str, Finish] = MappingProxyType(
    {
        "STOP": "stop",
        "MAX_TOKENS": "length",
        "CONTINUATION": "length",
        **dict.fromkeys(_REFUSALS, "refused"),
    }
)
#: The account was limited: no word of the model.
_FAILED = ("PUP_LIMITED_DISABLED",)


def path(route: Route) -> str:
    """See :class:`.Dialect`."""
    return f"/models/{quote(route.model, safe='')}:generateContent"


def body(route: Route, prompt: str) -> dict[str, Any]:
    """See :class:`.Dialect`."""
    given = route.parameters
    config: dict[str, Any] = {"maxOutputTokens": given["max_output_tokens"]}
    if "temperature" in given:
        config["temperature"] = given["temperature"]
    if "effort" in given:
        config["thinkingConfig"] = {"thinkingLevel": given["effort"]}
    sent = {
        "contents": [{"role": "user", "parts": [{"text": prompt}]}],
        "generationConfig": config,
    }
    return merged(sent, given.get("extra", {}))


def read(answer: Mapping[str, Any]) -> Reply:
    """See :class:`.Dialect`."""
    candidates = answer.get("candidates", [])
    if not isinstance(candidates, list) or not {"candidates", "promptFeedback"} & answer.keys():
        raise MalformedError("no candidates")
    reason = text_at(candidates, 0, "finishReason")
    if reason in _FAILED:
        raise MalformedError(f"finish reason {reason}")
    blocked = text_at(answer, "promptFeedback", "blockReason")
    parts = items_at(candidates, 0, "content", "parts")
    # A part that is a thought is hidden reasoning.
    texts = [text_at(part, "text") or "" for part in parts if not at(part, "thought")]
    usage = at(answer, "usageMetadata")
    return Reply(
        text="".join(texts),
        finish="refused" if blocked else finish_of(reason, _FINISH),
        finish_reason=blocked or reason,
        served=text_at(answer, "modelVersion"),
        usage=usage if isinstance(usage, Mapping) else None,
        tokens=_tokens(usage),
    )


def _tokens(usage: Any) -> Tokens | None:
    thoughts = count(usage, "thoughtsTokenCount") or 0
    visible = count(usage, "candidatesTokenCount")
    if visible is None and not thoughts:
        # A blocked prompt has no candidates, and says nothing of their tokens.
        visible = 0 if count(usage, "promptTokenCount") is not None else None
    output = None if visible is None and not thoughts else (visible or 0) + thoughts
    cached = count(usage, "cachedContentTokenCount")
    return split_tokens(count(usage, "promptTokenCount"), output, cached, thoughts)

"""The four wire dialects as their providers speak them: requests read, answers and errors written.

Written by hand from the providers' references, not with the project's own code, so that tests
compare two readings of them. Keys that no reader may rely on are there too.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

Json = dict[str, Any]

CHAT, RESPONSES, MESSAGES, GEMINI = "chat", "responses", "messages", "gemini"
PATHS = {"/v1/chat/completions": CHAT, "/v1/responses": RESPONSES, "/v1/messages": MESSAGES}
_GEMINI_PATH = re.compile(r"/v1beta/models/(.+):generateContent")
_PORTFOLIOS = tuple("".join(three) for three in combinations("ABCDEFGH", 3))
#: Seconds since 1970 in every answer: answers depend on their requests alone.
CREATED = 1760000000
#: Output tokens of an answer that is cut off, where the request states no cap.
UNSTATED_CAP = 4096

STOP, LENGTH, REFUSAL, FILTER, UNKNOWN = "stop", "length", "refusal", "filter", "unknown"
#: An unknown finish reason in the spelling of a provider.
_ODD = "moonrise"
_CHAT_WORDS = {LENGTH: "length", FILTER: "content_filter", UNKNOWN: _ODD}
_MESSAGES_WORDS = {LENGTH: "max_tokens", REFUSAL: "refusal", FILTER: "refusal", UNKNOWN: _ODD}
_GEMINI_WORDS = {LENGTH: "MAX_TOKENS", FILTER: "SAFETY", UNKNOWN: _ODD.upper()}


class BadRequest(ValueError):
    """A request that the provider would refuse; ``status`` and the message of its error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of an answer.

    Attributes
    ----------
    input : all of the prompt, ``cached`` and ``written`` (to the cache, Anthropic only) among it
    output : all that was generated, hidden ``reasoning`` among it
    """

    input: int
    cached: int
    written: int
    output: int
    reasoning: int


@dataclass(slots=True)
class Answer:
    """What a model says; ``text`` None is JSON's null, ``parts`` False an empty list of choices.

    Attributes
    ----------
    hidden : reasoning beside the answer, and ``hidden_key`` its key in the chat dialect
    finish : one of the five constants
    model : the one that is said to have answered; None where that is not said
    """

    text: str | None
    usage: Usage
    model: str | None
    finish: str = STOP
    hidden: str | None = None
    hidden_key: str = "reasoning_content"
    parts: bool = True


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as read: what it asks for and how many tokens it allows."""

    dialect: str
    model: str
    prompt: str
    cap: int | None


def portfolio(prompt: str, step: int = 0) -> str:
    """The labels that answer a prompt, as "ACF"; other ones for other steps below 56."""
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).digest()
    return _PORTFOLIOS[(int.from_bytes(digest[:8], "big") + step) % len(_PORTFOLIOS)]


def marker(prompt: str, step: int = 0) -> str:
    """The line that answers a prompt."""
    return f"FINAL_SELECTION: {', '.join(portfolio(prompt, step))}"


def usage_of(prompt: str) -> Usage:
    """Tokens of a good answer to a prompt."""
    size = len(prompt)
    tokens = size // 4 + 8
    return Usage(tokens, tokens // 4, tokens // 8, 24 + size % 13, size % 7)


# --- requests --------------------------------------------------------------------------------


def dialect_of(path: str) -> str | None:
    return PATHS.get(path) or (GEMINI if _GEMINI_PATH.fullmatch(path) else None)


def key_of(headers: Mapping[str, str]) -> str:
    """The key that a client sent, in whichever header; empty without any."""
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or bearer


def read(dialect: str, path: str, body: Any) -> Asked:
    """What a request asks for.

    Raises
    ------
    BadRequest : it is not what the provider's reference says
    """
    if not isinstance(body, dict):
        raise BadRequest(400, "the request body is no JSON object")
    if body.get("stream"):
        raise BadRequest(400, "stream is not supported here")
    try:
        match dialect:
            case "chat":
                turns, cap = body["messages"], body.get("max_completion_tokens")
                cap = body.get("max_tokens") if cap is None else cap
            case "responses":
                turns, cap = body["input"], body.get("max_output_tokens")
            case "messages":
                turns, cap = body["messages"], body["max_tokens"]
            case _:
                turns, cap = body["contents"], body.get("generationConfig", {})
                cap = cap.get("maxOutputTokens")
        found = _GEMINI_PATH.fullmatch(path)
        model = found[1] if found else body["model"]
        prompt = turns if isinstance(turns, str) else "\n".join(map(_text, turns))
    except (KeyError, TypeError, AttributeError) as error:
        raise BadRequest(400, f"missing or wrong: {error}") from None
    if not isinstance(model, str) or not isinstance(cap, int | None) or not prompt:
        raise BadRequest(400, "model, cap or prompt is not of its type")
    return Asked(dialect, model, prompt, cap)


def _text(turn: Json) -> str:
    content = turn["parts"] if "parts" in turn else turn["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def check_headers(dialect: str, headers: Mapping[str, str]) -> None:
    """Refuse what the two providers with headers of their own would."""
    if dialect == MESSAGES:
        if "x-api-key" not in headers:
            raise BadRequest(401, "x-api-key header is required")
        if "anthropic-version" not in headers:
            raise BadRequest(400, "anthropic-version: header is required")
    if dialect == GEMINI and "x-goog-api-key" not in headers:
        raise BadRequest(403, "Method doesn't allow unregistered callers (x-goog-api-key).")


# --- answers ---------------------------------------------------------------------------------


def _chat(answer: Answer, asked: Asked, ident: str) -> Json:
    refused = answer.finish == REFUSAL
    message: Json = {
        "role": "assistant",
        "content": None if refused else answer.text,
        "refusal": answer.text if refused else None,
        "annotations": [],
    }
    if answer.hidden is not None:
        message[answer.hidden_key] = answer.hidden
    finish = _CHAT_WORDS.get(answer.finish, "stop")
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    usage = answer.usage
    return {
        "id": f"chatcmpl-{ident}",
        "object": "chat.completion",
        "created": CREATED,
        "model": answer.model,
        "choices": [choice] if answer.parts else [],
        "usage": {
            "prompt_tokens": usage.input,
            "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
            "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": usage.reasoning,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        },
        "service_tier": "default",
        "system_fingerprint": "fp_44709d6fcb",
    }


def _responses(answer: Answer, asked: Asked, ident: str) -> Json:
    reason = {LENGTH: "max_output_tokens", FILTER: "content_filter"}.get(answer.finish)
    status = "incomplete" if reason else "completed"
    if answer.finish == UNKNOWN:
        status = _ODD
    part: Json = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
    if answer.finish == REFUSAL:
        part = {"type": "refusal", "refusal": answer.text}
    output: list[Json] = []
    if answer.hidden is not None or answer.usage.reasoning:
        item: Json = {"id": f"rs_{ident}", "type": "reasoning", "summary": []}
        if answer.hidden is not None:
            item["summary"] = [{"type": "summary_text", "text": answer.hidden}]
            item["content"] = [{"type": "reasoning_text", "text": answer.hidden}]
        output.append(item)
    if answer.text != "" or answer.usage.reasoning < answer.usage.output:
        message = {"id": f"msg_{ident}", "type": "message", "status": status, "role": "assistant"}
        output.append({**message, "content": None if answer.text is None else [part]})
    usage = answer.usage
    return {
        "id": f"resp_{ident}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "instructions": None,
        "max_output_tokens": asked.cap,
        "max_tool_calls": None,
        "model": answer.model,
        "output": output if answer.parts else [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": "low", "summary": None},
        "service_tier": "default",
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": {
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.input + usage.output,
        },
        "user": None,
        "metadata": {},
    }


def _messages(answer: Answer, asked: Asked, ident: str) -> Json:
    content: list[Json] = []
    if answer.hidden is not None:
        content.append({"type": "thinking", "thinking": answer.hidden, "signature": "EqQBCgIYAhIM"})
    if answer.finish != FILTER and (answer.text != "" or answer.hidden is None):
        content.append({"type": "text", "text": answer.text})
    usage = answer.usage
    return {
        "id": f"msg_01{ident}",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": None if answer.text is None else content if answer.parts else [],
        "stop_reason": _MESSAGES_WORDS.get(answer.finish, "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": usage.input - usage.cached - usage.written,
            "cache_creation_input_tokens": usage.written,
            "cache_read_input_tokens": usage.cached,
            "cache_creation": {
                "ephemeral_5m_input_tokens": usage.written,
                "ephemeral_1h_input_tokens": 0,
            },
            "output_tokens": usage.output,
            "service_tier": "standard",
        },
    }


def _gemini(answer: Answer, asked: Asked, ident: str) -> Json:
    usage = answer.usage
    # A prompt that is blocked never reaches the model.
    thoughts = 0 if answer.finish == REFUSAL else usage.reasoning
    visible = usage.output - usage.reasoning
    counts: Json = {"promptTokenCount": usage.input, "candidatesTokenCount": visible}
    if answer.finish in (REFUSAL, FILTER) or not visible:
        counts.pop("candidatesTokenCount")  # left out where it is zero
        visible = 0
    counts["totalTokenCount"] = usage.input + visible + thoughts
    counts["cachedContentTokenCount"] = usage.cached
    counts["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": usage.input}]
    counts["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": usage.cached}]
    if thoughts:
        counts["thoughtsTokenCount"] = thoughts
    about = {"usageMetadata": counts, "modelVersion": answer.model, "responseId": ident}
    if answer.finish == REFUSAL:
        return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, **about}
    parts: list[Json] = []
    if answer.hidden is not None:
        parts.append({"text": answer.hidden, "thought": True})
    if visible:
        parts.append({"text": answer.text, "thoughtSignature": "CpQBAdHtig=="})
    candidate: Json = {
        "content": {"role": "model"},
        "finishReason": _GEMINI_WORDS.get(answer.finish, "STOP"),
    }
    candidate["index"] = 0
    if parts:
        candidate["content"] = {"parts": parts, "role": "model"}
    if answer.text is None:
        candidate["content"] = None
    if answer.finish == FILTER:
        del candidate["content"]
        rated = {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH"}
        candidate["safetyRatings"] = [{**rated, "blocked": True}]
    return {"candidates": [candidate] if answer.parts else [], **about}


ANSWERS: dict[str, Callable[[Answer, Asked, str], Json]] = {
    CHAT: _chat,
    RESPONSES: _responses,
    MESSAGES: _messages,
    GEMINI: _gemini,
}
MODEL_KEYS = {CHAT: "model", RESPONSES: "model", MESSAGES: "model", GEMINI: "modelVersion"}
USAGE_KEYS = {CHAT: "usage", RESPONSES: "usage", MESSAGES: "usage", GEMINI: "usageMetadata"}

# --- errors ----------------------------------------------------------------------------------

#: By status: what OpenAI calls the type and the code, Anthropic the type, Google the status.
_ERRORS: dict[int, tuple[str, str | None, str, str]] = {
    400: ("invalid_request_error", None, "invalid_request_error", "INVALID_ARGUMENT"),
    401: ("invalid_request_error", "invalid_api_key", "authentication_error", "UNAUTHENTICATED"),
    402: ("insufficient_quota", "insufficient_quota", "billing_error", "FAILED_PRECONDITION"),
    403: ("invalid_request_error", "forbidden", "permission_error", "PERMISSION_DENIED"),
    404: ("invalid_request_error", "model_not_found", "not_found_error", "NOT_FOUND"),
    408: ("timeout", None, "timeout_error", "DEADLINE_EXCEEDED"),
    409: ("conflict", None, "conflict_error", "ABORTED"),
    425: ("too_early", None, "api_error", "UNAVAILABLE"),
    429: ("requests", "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED"),
    500: ("server_error", None, "api_error", "INTERNAL"),
    503: ("server_error", "overloaded", "api_error", "UNAVAILABLE"),
    529: ("server_error", "overloaded", "overloaded_error", "UNAVAILABLE"),
}


def error(dialect: str, status: int, message: str, ident: str) -> Json:
    """The provider's error object for a status."""
    kind, code, anthropic, google = _ERRORS[status]
    if dialect == MESSAGES:
        told = {"type": anthropic, "message": message}
        return {"type": "error", "error": told, "request_id": f"req_{ident}"}
    if dialect == GEMINI:
        return {"error": {"code": status, "message": message, "status": google}}
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def filtered(dialect: str) -> Json:
    """The error of a content filter before the model: Azure's in the two dialects of OpenAI."""
    if dialect in (MESSAGES, GEMINI):
        return error(dialect, 400, "Output blocked by content filtering policy", "filtered")
    rated = {"filtered": True, "severity": "high"}
    told = {
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content "
        "management policy. Please modify your prompt and retry.",
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "status": 400,
        "innererror": {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {"violence": rated},
        },
    }
    return {"error": told}


def ident(asked: Asked) -> str:
    """What identifies an answer, the same for the same model and prompt."""
    text = f"{asked.model}\n{asked.prompt}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:24]

"""Contestants in this process, in a form of their own: ``{"text": …, "refused": …}``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from flavourbench.collect.route import Route
from flavourbench.collect.wire import NO_TOKENS, Reply, at, text_at

KEY_HEADER, KEY_FORM = "", ""
HEADERS: Mapping[str, str] = MappingProxyType({})


def path(route: Route) -> str:  # noqa: ARG001
    """See :class:`.Dialect`."""
    return ""


def body(route: Route, prompt: str) -> dict[str, Any]:
    """See :class:`.Dialect`."""
    return {"contestant": route.model, "parameters": dict(route.parameters), "prompt": prompt}


def read(answer: Mapping[str, Any]) -> Reply:
    """See :class:`.Dialect`."""
    return Reply(
        text=text_at(answer, "text") or "",
        finish="refused" if at(answer, "refused") else "stop",
        finish_reason="refused" if at(answer, "refused") else "stop",
        served=text_at(answer, "contestant"),
        tokens=NO_TOKENS,
    )


def refusal(answer: Mapping[str, Any]) -> bool:  # noqa: ARG001
    """See :class:`.Dialect`."""
    return False

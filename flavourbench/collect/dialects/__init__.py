"""The wire dialects, one module each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from flavourbench.collect.dialects import (
    anthropic,
    gemini,
    local,
    openai_chat,
    openai_responses,
)
from flavourbench.collect.route import LOCAL
from flavourbench.collect.wire import Dialect

DIALECTS: Mapping[str, Dialect] = MappingProxyType(
    {
        "openai-chat": cast("Dialect", openai_chat),
        "openai-responses": cast("Dialect", openai_responses),
        "anthropic": cast("Dialect", anthropic),
        "gemini": cast("Dialect", gemini),
    }
)


def dialect_of(name: str) -> Dialect:
    """The dialect of that name, or that of contestants."""
    return cast("Dialect", local) if name.startswith(LOCAL) else DIALECTS[name]

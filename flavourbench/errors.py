"""Errors a user can mend. Each message holds the offending value and what to do."""

from __future__ import annotations

import os
from pathlib import Path


class FlavourBenchError(Exception):
    """Root of all errors of this package; the command line prints it as one line."""

    exit_code = 2


class InputError(FlavourBenchError, ValueError):
    """An input, option or place that cannot be used (exit code 2)."""


class CheckError(FlavourBenchError):
    """A check ran and failed (exit code 1)."""

    exit_code = 1


def shown(value: object, limit: int = 60) -> str:
    """``value`` for an error line: control characters escaped, long texts cut.

    Paths lose their beginning, since they say most at their end.
    """
    text = str(value)
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    if len(safe) <= limit:
        return safe
    return "…" + safe[1 - limit :] if isinstance(value, Path) else safe[: limit - 1] + "…"


def listed(values: list[str], limit: int = 10) -> str:
    """The first ``limit`` values, comma-separated, and how many more there are."""
    # Quotes show the spaces that make a value differ from what it looks like.
    plain = [value == value.strip() != "" for value in values[:limit]]
    parts = [shown(v) if p else f"'{shown(v)}'" for v, p in zip(values, plain, strict=False)]
    text = ", ".join(parts)
    return text if len(values) <= limit else f"{text} and {len(values) - limit} more"


def os_reason(error: OSError, path: Path | str) -> str:
    """One line for a failed file operation."""
    # By number: libraries put whole sentences into the text of their errors.
    reason = os.strerror(error.errno) if error.errno else str(error) or type(error).__name__
    return f"{shown(path, 200)}: {shown(reason, 200).lower()}"

"""Checks of what an artifact states, and how they came out."""

from __future__ import annotations

from typing import Any

#: ``check``, ``passed`` (None where it could not be made) and ``detail``.
Check = dict[str, Any]


def passed(check: str, detail: str) -> Check:
    """A check that came out well."""
    return {"check": check, "passed": True, "detail": detail}


def failed(check: str, detail: str) -> Check:
    """A check that found something wrong."""
    return {"check": check, "passed": False, "detail": detail}


def unmade(check: str, detail: str) -> Check:
    """A check that could not be made."""
    return {"check": check, "passed": None, "detail": detail}


def result(check: str, good: bool, detail: str, problem: str) -> Check:
    """A check with what to say in either case."""
    return passed(check, detail) if good else failed(check, problem)

"""Collections for tests: rosters that speak to simulated providers, and what a journal holds."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from flavourbench.collect.collector import Collector, collect
from flavourbench.collect.journal.queries import Ended, blocks, endings
from flavourbench.collect.plan import Job
from flavourbench.collect.roster import Roster, parse_roster
from flavourbench.collect.route_state import Retries
from flavourbench.tasks.files import located, read_all
from flavourbench.tasks.taskset import TaskSet

#: Base URL of a simulated provider, by dialect.
BASES = {
    "openai-chat": "/v1",
    "openai-responses": "/v1",
    "anthropic": "/v1",
    "gemini": "/v1beta",
}
#: So that failing takes no time.
QUICK = Retries(bounds={"connection": 2, "busy": 3, "server": 3}, first=0.01, longest=0.02)
PLANTED = "sk-planted+Key/with=signs_0123456789"
TEXT = "They go well.\nFINAL_SELECTION: A, B, C"
#: A good answer in every dialect, with all that is read of it.
GOOD: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "model": "sim",
        "provider": "Kitchen",
        "fallback": False,
        "error": None,
        "choices": [
            {
                "finish_reason": "stop",
                "error": None,
                "message": {"content": [{"type": "text", "text": TEXT}], "refusal": None},
            }
        ],
        "usage": {
            "prompt_tokens": 200,
            "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 8},
            "completion_tokens_details": {"reasoning_tokens": 4},
            "cost": 0.001,
        },
    },
    "openai-responses": {
        "model": "sim",
        "status": "completed",
        "incomplete_details": {"reason": None},
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "content": [{"type": "output_text", "text": TEXT}]},
        ],
        "usage": {
            "input_tokens": 200,
            "output_tokens": 20,
            "input_tokens_details": {"cached_tokens": 8},
            "output_tokens_details": {"reasoning_tokens": 4},
        },
    },
    "anthropic": {
        "model": "sim",
        "stop_reason": "end_turn",
        "content": [{"type": "thinking", "thinking": "…"}, {"type": "text", "text": TEXT}],
        "usage": {
            "input_tokens": 200,
            "output_tokens": 20,
            "cache_read_input_tokens": 8,
            "cache_creation_input_tokens": 0,
        },
    },
    "gemini": {
        "modelVersion": "sim",
        "promptFeedback": {"blockReason": None},
        "candidates": [
            {
                "finishReason": "STOP",
                "content": {"parts": [{"text": "…", "thought": True}, {"text": TEXT}]},
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 200,
            "candidatesTokenCount": 16,
            "thoughtsTokenCount": 4,
            "cachedContentTokenCount": 8,
        },
    },
}


def model(url: str, slot: str, behaviour: str = "sim", **more: Any) -> dict[str, Any]:
    """A model of a roster; ``more`` are its other keys."""
    dialect = more.pop("dialect", "openai-chat")
    return {
        "slot": slot,
        "dialect": dialect,
        "base_url": url + BASES[dialect],
        "model": behaviour,
        "max_output_tokens": 512,
        "timeout": 20,
        **more,
    }


def roster(*models: Mapping[str, Any]) -> Roster:
    """A roster of such models."""
    return parse_roster({"model": list(models)})


def some_tasks(count: int, *panels: str) -> TaskSet:
    """The first tasks of bundled panels."""
    found = read_all([located(Path(name)) for name in panels or ("test-1", "test-2")])
    assert len(found) >= count
    return TaskSet(found.tasks[:count], found.environment, found.design, found.sources)


def run(path: Path, job: Job, retries: Retries = QUICK) -> Collector:
    """Collect to the end."""
    return asyncio.run(collect(path, job, retries))


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A journal to look into."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        yield connection
    finally:
        connection.close()


def rows(path: Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """Rows of a query on a journal."""
    with opened(path) as connection:
        return connection.execute(query, values).fetchall()


def outcomes(path: Path) -> dict[str, list[Ended]]:
    """How the cells of each slot ended."""
    with opened(path) as connection:
        return {b.slot: list(endings(connection, b.route_id)) for b in blocks(connection)}


def table(path: Path) -> Sequence[tuple[str, str, int, str, str]]:
    """The final table of a journal: one row a cell, in an order of its own."""
    found = []
    for slot, cells in outcomes(path).items():
        found += [(slot, c.task_id, c.repeat, c.outcome, c.reason) for c in cells]
    return sorted(found)


def everything(folder: Path) -> bytes:
    """All bytes below a folder, and all that journals there hold once decompressed."""
    import zlib

    found = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    for path in folder.rglob("*.sqlite"):
        found += [zlib.decompress(data) for (data,) in rows(path, "SELECT data FROM blob")]
        for (name,) in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'"):
            found += [repr(row).encode() for row in rows(path, f"SELECT * FROM {name}")]
    return b"\n".join(found)

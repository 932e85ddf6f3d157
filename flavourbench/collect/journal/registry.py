"""Routes, blocks and tasks of a journal. Each function is one change within a transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from typing import Any

from flavourbench.collect.journal.process import now
from flavourbench.collect.route import Route
from flavourbench.errors import InputError, shown
from flavourbench.identity import canonical_json
from flavourbench.tasks.taskset import Task


def register_routes(
    database: sqlite3.Connection, routes: Sequence[Route], new_blocks: Collection[str]
) -> dict[str, int]:
    """Row of each route by slot; a slot that is new, or a new block of it, is written down.

    Parameters
    ----------
    new_blocks : slots whose route may differ from the one they had

    Raises
    ------
    InputError
        A slot with another route than before, not among ``new_blocks``.
    """
    found = {}
    for route in routes:
        row = _route_row(database, route)
        latest = database.execute(
            "SELECT b.number, b.route_id, r.content FROM block b JOIN route r ON r.id = b.route_id"
            " WHERE slot = ? ORDER BY number DESC LIMIT 1",
            (route.slot,),
        ).fetchone()
        number = 1 if latest is None else latest[0]
        if latest is not None and latest[1] != row:
            if route.slot not in new_blocks:
                raise InputError(
                    f"slot {shown(route.slot)} had another route in this journal"
                    f" ({changes(json.loads(latest[2]), route.content)}): answers of two routes"
                    f" are never pooled. Begin a new block with --new-block {shown(route.slot)},"
                    " or use another journal"
                )
            number += 1
        database.execute(
            "INSERT OR IGNORE INTO block VALUES (?, ?, ?, ?, ?, ?)",
            (route.slot, number, row, route.name, route.simulated, now()),
        )
        found[route.slot] = row
    return found


def _route_row(database: sqlite3.Connection, route: Route) -> int:
    content = canonical_json(route.content).decode()
    database.execute(
        "INSERT OR IGNORE INTO route (digest, content) VALUES (?, ?)", (route.digest, content)
    )
    row = database.execute("SELECT id FROM route WHERE digest = ?", (route.digest,)).fetchone()
    return int(row[0])


def changes(before: dict[str, Any], after: dict[str, Any]) -> str:
    """What differs between two routes, as words."""
    parts = []
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            if old != new:
                parts.append(changes(old, new))
        elif old != new:
            parts.append(f"{key}: {_short(old)} → {_short(new)}")
    return ", ".join(parts)


def _short(value: Any) -> str:
    return shown(json.dumps(value, ensure_ascii=False), 40)


def register_tasks(database: sqlite3.Connection, tasks: Sequence[Task]) -> dict[str, int]:
    """Row of each task by its id."""
    found = {}
    for task in tasks:
        key = (task.id, task.prompt_sha256)
        database.execute(
            "INSERT OR IGNORE INTO task (task_id, prompt_sha256, panel, family)"
            " VALUES (?, ?, ?, ?)",
            (*key, task.panel, task.family),
        )
        row = database.execute(
            "SELECT id FROM task WHERE task_id = ? AND prompt_sha256 = ?", key
        ).fetchone()
        found[task.id] = int(row[0])
    return found

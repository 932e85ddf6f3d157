"""Routes, blocks and tasks of a journal. Each function is one change within a transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from itertools import product
from typing import Any

from flavourbench.collect.journal.process import now
from flavourbench.collect.journal.queries import blocks
from flavourbench.collect.route import Route
from flavourbench.errors import InputError, shown
from flavourbench.identity import canonical_json
from flavourbench.tasks.taskset import Task


def register_routes(
    database: sqlite3.Connection, routes: Sequence[Route], new_blocks: Collection[str]
) -> dict[str, int]:
    """Row of each route by slot; a slot that is new, or a new block of it, is written down.

    Raises
    ------
    InputError
        See :func:`check_routes`.
    """
    check_routes(database, routes, new_blocks)
    found = {}
    for route in routes:
        row = _route_row(database, route)
        number, latest = database.execute(
            "SELECT coalesce(max(number), 0), route_id FROM block WHERE slot = ?", (route.slot,)
        ).fetchone()
        if latest != row:
            database.execute(
                "INSERT INTO block VALUES (?, ?, ?, ?, ?)",
                (route.slot, number + 1, row, route.simulated, now()),
            )
        named = database.execute(
            "SELECT name FROM name WHERE slot = ? ORDER BY id DESC LIMIT 1", (route.slot,)
        ).fetchone()
        if named != (route.name,):
            database.execute(
                "INSERT INTO name (slot, name) VALUES (?, ?)", (route.slot, route.name)
            )
        found[route.slot] = row
    return found


def check_routes(
    database: sqlite3.Connection, routes: Sequence[Route], new_blocks: Collection[str]
) -> None:
    """Refuse routes that a journal has in another place; nothing is written.

    Parameters
    ----------
    new_blocks : slots whose route may differ from the one they had

    Raises
    ------
    InputError
        A slot with another route than before, not among ``new_blocks``; a route that is
        another slot's.
    """
    known = {block.slot: block for block in blocks(database)}
    owners = {block.digest: block.slot for block in known.values()}
    for route in routes:
        owner = owners.get(route.digest, route.slot)
        if owner != route.slot:
            raise InputError(
                f"slot {shown(route.slot)} has the route of slot {shown(owner)} in this journal:"
                " keep that name, or use another journal"
            )
        before = known.get(route.slot)
        if before and before.digest != route.digest and route.slot not in new_blocks:
            after = json.loads(canonical_json(route.content))
            raise InputError(
                f"slot {shown(route.slot)} had another route in this journal"
                f" ({changes(before.content, after)}): answers of two routes are never"
                f" pooled. Begin a new block with --new-block {shown(route.slot)}, or use another"
                " journal"
            )


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


def register_cells(
    database: sqlite3.Connection, routes: Sequence[int], tasks: Sequence[int], repeats: int
) -> None:
    """Write down what is to be asked: all tasks over all routes, so often."""
    rows = product(routes, range(repeats), tasks)
    database.executemany(
        "INSERT OR IGNORE INTO cell (route_id, repeat, task) VALUES (?, ?, ?)", rows
    )

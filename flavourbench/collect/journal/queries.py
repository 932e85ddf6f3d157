"""What a journal holds, for those who read it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flavourbench.collect.journal.records import unpacked
from flavourbench.collect.outcomes import Raw


@dataclass(frozen=True, slots=True)
class Block:
    """A slot and the route it has now.

    Attributes
    ----------
    slot, name : id and display name
    number : how many routes it had, this one included
    route_id, digest, content : the route; ``content`` is what its digest covers
    simulated : whether its answers are made from the scores
    """

    slot: str
    name: str
    number: int
    route_id: int
    digest: str
    content: dict[str, Any]
    simulated: bool


@dataclass(frozen=True, slots=True)
class Unread:
    """An attempt whose collector ended before it was read."""

    attempt_id: int
    route_id: int
    task: int
    request: bytes
    raw: Raw


@dataclass(frozen=True, slots=True)
class Ended:
    """How a cell ended.

    Attributes
    ----------
    task_id, prompt_sha256 : str
    repeat : int
    outcome, reason : str
    """

    task_id: str
    prompt_sha256: str
    repeat: int
    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A cell that ended, the answer of the attempt that ended it, and the cost of all of them.

    Attributes
    ----------
    ended : how it ended
    raw : what came back
    micro_dollars : int, or None where the cost of an attempt is unknown
    """

    ended: Ended
    raw: Raw
    micro_dollars: int | None


def blocks(database: sqlite3.Connection) -> list[Block]:
    """The current block of every slot, in the order in which slots came."""
    rows = database.execute(
        "SELECT b.slot, (SELECT n.name FROM name n WHERE n.slot = b.slot ORDER BY n.id DESC),"
        " b.number, b.route_id, r.digest, r.content, b.simulated"
        " FROM block b JOIN route r ON r.id = b.route_id WHERE b.number ="
        " (SELECT max(number) FROM block x WHERE x.slot = b.slot)"
        " ORDER BY (SELECT min(rowid) FROM block x WHERE x.slot = b.slot)"
    )
    return [
        Block(slot, name, number, row, digest, json.loads(content), bool(simulated))
        for slot, name, number, row, digest, content, simulated in rows
    ]


def unread(database: sqlite3.Connection) -> Iterator[Unread]:
    """Attempts that were stored but not read, of cells that nobody claims."""
    rows = database.execute(
        "SELECT a.id, c.route_id, c.task, q.sha256, q.data, a.status, a.headers, b.sha256, b.data,"
        " a.error, a.message FROM attempt a JOIN cell c ON c.id = a.cell_id"
        " JOIN blob q ON q.id = a.request_id JOIN blob b ON b.id = a.body_id"
        " WHERE NOT EXISTS (SELECT 1 FROM reading r WHERE r.attempt_id = a.id)"
        " AND NOT EXISTS (SELECT 1 FROM claim k WHERE k.cell_id = a.cell_id)"
    ).fetchall()
    for (
        attempt_id,
        route_id,
        task,
        asked,
        request,
        status,
        headers,
        told,
        body,
        error,
        words,
    ) in rows:
        raw = Raw(status, json.loads(headers), unpacked(told, body), error, words)
        yield Unread(attempt_id, route_id, task, unpacked(asked, request), raw)


def ended_cells(database: sqlite3.Connection, route_id: int) -> dict[tuple[int, int], str]:
    """Outcomes of the cells of a route that ended, by row of the task and repeat."""
    rows = database.execute(
        "SELECT c.task, c.repeat, e.outcome FROM cell c JOIN ending e ON e.cell_id = c.id"
        " WHERE c.route_id = ?",
        (route_id,),
    )
    return {(task, repeat): outcome for task, repeat, outcome in rows}


def endings(database: sqlite3.Connection, route_id: int) -> Iterator[Ended]:
    """How the cells of a route ended, by task id and repeat. Nothing here knows an answer."""
    rows = database.execute(
        "SELECT t.task_id, t.prompt_sha256, c.repeat, e.outcome, e.reason FROM cell c"
        " JOIN ending e ON e.cell_id = c.id JOIN task t ON t.id = c.task"
        " WHERE c.route_id = ? ORDER BY t.task_id, t.prompt_sha256, c.repeat",
        (route_id,),
    )
    for row in rows:
        yield Ended(*row)


def answers(database: sqlite3.Connection, route_id: int) -> Iterator[Answered]:
    """How the cells of a route ended, in the order of :func:`endings`, and what was said."""
    rows = database.execute(
        "SELECT t.task_id, t.prompt_sha256, c.repeat, e.outcome, e.reason,"
        " a.status, a.headers, b.sha256, b.data,"
        " (SELECT CASE WHEN count(*) = count(coalesce(r.gateway_micro_dollars, r.micro_dollars))"
        "  THEN sum(coalesce(r.gateway_micro_dollars, r.micro_dollars)) END"
        "  FROM attempt x JOIN reading r ON r.attempt_id = x.id WHERE x.cell_id = c.id)"
        " FROM cell c JOIN ending e ON e.cell_id = c.id JOIN task t ON t.id = c.task"
        " JOIN attempt a ON a.id = e.attempt_id JOIN blob b ON b.id = a.body_id"
        " WHERE c.route_id = ? ORDER BY t.task_id, t.prompt_sha256, c.repeat",
        (route_id,),
    )
    for task_id, prompt, repeat, outcome, reason, status, headers, sha256, data, cost in rows:
        raw = Raw(status, json.loads(headers), unpacked(sha256, data))
        yield Answered(Ended(task_id, prompt, repeat, outcome, reason), raw, cost)

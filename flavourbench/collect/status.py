"""How a collection stands: coverage, outcomes, spend and what is left, as JSON objects."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

from flavourbench.collect.journal.opening import explained, read_journal
from flavourbench.collect.journal.queries import Block, blocks
from flavourbench.collect.outcomes import ANSWERED, OUTCOMES
from flavourbench.collect.wire import MICRO

Status = dict[str, Any]
#: How cells count that were asked and have not ended.
OPEN = "open"


def journal_status(path: Path) -> Status:
    """How every model of a journal stands.

    Raises
    ------
    InputError, CheckError
        See :func:`.opening.read_journal`.
    """
    database = read_journal(path)
    try:
        with explained(path):
            database.execute("BEGIN")  # one moment for all that is read
            return _status(database, path)
    finally:
        database.close()


def _status(database: sqlite3.Connection, path: Path) -> Status:
    models = [_model(database, block) for block in blocks(database)]
    requests, spent = database.execute("SELECT requests, micro_dollars FROM total").fetchone()
    (claimed,) = database.execute("SELECT count(*) FROM claim").fetchone()
    return {
        "journal": str(path),
        "cells": sum(model["cells"] for model in models),
        "ended": sum(model["ended"] for model in models),
        "answered": sum(model["outcomes"].get(ANSWERED, 0) for model in models),
        "left": sum(model["left"] for model in models),
        "under_way": claimed,
        "requests": requests,
        "earlier_requests": requests - sum(model["requests"] for model in models),
        "requests_without_price": sum(model["requests_without_price"] for model in models),
        "dollars": spent / MICRO,
        "models": models,
    }


def _model(database: sqlite3.Connection, block: Block) -> Status:
    rows = database.execute(
        "SELECT t.panel, t.family, c.repeat, e.outcome, e.reason, count(*) FROM cell c"
        " JOIN task t ON t.id = c.task LEFT JOIN ending e ON e.cell_id = c.id"
        " WHERE c.route_id = ? GROUP BY 1, 2, 3, 4, 5 ORDER BY min(t.id)",
        (block.route_id,),
    ).fetchall()
    outcomes: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    asked: Counter[tuple[str, str]] = Counter()
    valid: Counter[tuple[str, str]] = Counter()
    for panel, family, repeat, outcome, reason, count in rows:
        asked[panel, family] += count if repeat == 0 else 0
        if outcome is not None:
            outcomes[outcome] += count
        if outcome == ANSWERED:
            valid[panel, family] += count if repeat == 0 else 0
        elif outcome is not None:
            reasons[outcome, reason] += count
    for reason, count in _troubles(database, block):
        reasons[OPEN, reason] += count
    cells = sum(count for *_, count in rows)
    return {
        "slot": block.slot,
        "name": block.name,
        "simulated": block.simulated,
        "block": block.number,
        "route_digest": block.digest,
        "cells": cells,
        "repeats": 1 + max((repeat for _, _, repeat, *_ in rows), default=0),
        "ended": outcomes.total(),
        "left": cells - outcomes.total(),
        "outcomes": {name: outcomes[name] for name in OUTCOMES if outcomes[name]},
        "reasons": [
            {"outcome": outcome, "reason": reason, "cells": count}
            for (outcome, reason), count in sorted(reasons.items(), key=lambda r: (-r[1], r[0]))
        ],
        "coverage": [
            {"panel": panel, "family": family, "tasks": count, "valid": valid[panel, family]}
            for (panel, family), count in asked.items()
        ],
        **_spend(database, block),
    }


def _troubles(database: sqlite3.Connection, block: Block) -> list[tuple[str, int]]:
    """Why the latest requests of cells failed that have not ended, and how many cells."""
    return database.execute(
        "SELECT r.reason, count(*) FROM reading r JOIN cell c ON c.id = r.cell_id"
        " WHERE c.route_id = ? AND r.outcome IS NULL AND r.attempt_id ="
        " (SELECT max(x.id) FROM attempt x WHERE x.cell_id = r.cell_id)"
        " AND NOT EXISTS (SELECT 1 FROM ending e WHERE e.cell_id = r.cell_id) GROUP BY 1",
        (block.route_id,),
    ).fetchall()


def _spend(database: sqlite3.Connection, block: Block) -> Status:
    """What the attempts over a route took."""
    row = database.execute(
        "SELECT count(*), total(r.input_tokens + r.cached_tokens + r.cache_write_tokens),"
        " total(r.output_tokens), total(r.reasoning_tokens), total(r.estimated),"
        " total(coalesce(r.gateway_micro_dollars, r.micro_dollars)),"
        " count(*) FILTER (WHERE coalesce(r.gateway_micro_dollars, r.micro_dollars) IS NULL),"
        " count(*) FILTER (WHERE r.outcome IS NULL),"
        " avg(a.latency) FILTER (WHERE r.kind = 'answer')"
        " FROM cell c JOIN attempt a ON a.cell_id = c.id JOIN reading r ON r.attempt_id = a.id"
        " WHERE c.route_id = ?",
        (block.route_id,),
    ).fetchone()
    requests, inside, output, reasoning, estimated, spent, unknown, again, latency = row
    return {
        "requests": requests,
        "retried": again,
        "input_tokens": int(inside),
        "output_tokens": int(output),
        "reasoning_tokens": int(reasoning),
        "estimated_requests": int(estimated),
        "dollars": None if requests and unknown == requests else spent / MICRO,
        "requests_without_price": unknown,
        "seconds_an_answer": None if latency is None else latency / MICRO,
    }


def usual_output(database: sqlite3.Connection, route_id: int) -> float | None:
    """Mean output tokens of the answers over a route, or None without any."""
    found = database.execute(
        "SELECT avg(r.output_tokens) FROM cell c JOIN attempt a ON a.cell_id = c.id"
        " JOIN reading r ON r.attempt_id = a.id"
        " WHERE c.route_id = ? AND r.kind = 'answer' AND r.estimated = 0",
        (route_id,),
    ).fetchone()[0]
    return None if found is None else float(found)

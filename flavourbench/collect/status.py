"""How a collection stands: coverage, outcomes, spend and what is left, as JSON objects."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flavourbench.collect.journal.opening import explained, read_journal
from flavourbench.collect.journal.queries import Block, blocks
from flavourbench.collect.outcomes import ANSWERED, OUTCOMES
from flavourbench.collect.wire import MICRO

Status = dict[str, Any]


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
    tasks = database.execute(
        "SELECT panel, family, count(*) FROM task GROUP BY panel, family ORDER BY min(id)"
    ).fetchall()
    models = [_model(database, block, tasks) for block in blocks(database)]
    requests, spent = database.execute("SELECT requests, micro_dollars FROM total").fetchone()
    (claimed,) = database.execute("SELECT count(*) FROM claim").fetchone()
    return {
        "journal": str(path),
        "tasks": sum(count for *_, count in tasks),
        "cells": sum(model["cells"] for model in models),
        "ended": sum(model["ended"] for model in models),
        "answered": sum(model["outcomes"].get(ANSWERED, 0) for model in models),
        "left": sum(model["left"] for model in models),
        "under_way": claimed,
        "requests": requests,
        "dollars": spent / MICRO,
        "models": models,
    }


def _model(
    database: sqlite3.Connection, block: Block, tasks: Sequence[tuple[str, str, int]]
) -> Status:
    rows = database.execute(
        "SELECT t.panel, t.family, c.repeat, e.outcome, e.reason, count(*) FROM cell c"
        " JOIN ending e ON e.cell_id = c.id JOIN task t ON t.id = c.task WHERE c.route_id = ?"
        " GROUP BY 1, 2, 3, 4, 5",
        (block.route_id,),
    ).fetchall()
    outcomes: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    valid: Counter[tuple[str, str]] = Counter()
    for panel, family, repeat, outcome, reason, count in rows:
        outcomes[outcome] += count
        if outcome != ANSWERED:
            reasons[outcome, reason] += count
        elif repeat == 0:
            valid[panel, family] += count
    repeats = 1 + max((repeat for _, _, repeat, *_ in rows), default=0)
    cells = sum(count for *_, count in tasks) * repeats
    return {
        "slot": block.slot,
        "name": block.name,
        "simulated": block.simulated,
        "block": block.number,
        "route_digest": block.digest,
        "cells": cells,
        "repeats": repeats,
        "ended": outcomes.total(),
        "left": cells - outcomes.total(),
        "outcomes": {name: outcomes[name] for name in OUTCOMES if outcomes[name]},
        "reasons": [
            {"outcome": outcome, "reason": reason, "cells": count}
            for (outcome, reason), count in sorted(reasons.items(), key=lambda r: (-r[1], r[0]))
        ],
        "coverage": [
            {"panel": panel, "family": family, "tasks": count, "valid": valid[panel, family]}
            for panel, family, count in tasks
        ],
        **_spend(database, block),
    }


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

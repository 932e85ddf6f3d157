"""The canonical export of a journal, whose digest stands for what it holds."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np

from flavourbench.identity import Column, table_sha256

RECIPE = "flavourbench-journal-export/1"
#: Columns that are numbers; those with a mark may be null.
_NUMBERS = ("repeat", "round", "estimated")
_OPTIONAL = (
    *("status", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens"),
    *("reasoning_tokens", "micro_dollars", "gateway_micro_dollars"),
)
_TEXTS = (
    *("route", "task", "prompt_sha256", "request_sha256", "body_sha256", "error"),
    *("message", "kind", "outcome", "reason", "flags", "served", "provider", "finish_reason"),
    *("usage",),
)
_QUERY = """
SELECT r.digest AS route, t.task_id AS task, t.prompt_sha256, c.repeat, a.round,
  lower(hex(q.sha256)) AS request_sha256, a.status,
  lower(hex(b.sha256)) AS body_sha256, a.error, a.message, e.kind, e.outcome, e.reason, e.flags,
  e.served, e.provider, e.finish_reason, e.usage, e.input_tokens, e.cached_tokens,
  e.cache_write_tokens, e.output_tokens, e.reasoning_tokens, coalesce(e.estimated, 0) AS estimated,
  e.micro_dollars, e.gateway_micro_dollars
FROM attempt a JOIN cell c ON c.id = a.cell_id JOIN route r ON r.id = c.route_id
  JOIN task t ON t.id = c.task JOIN blob q ON q.id = a.request_id JOIN blob b ON b.id = a.body_id
  LEFT JOIN reading e ON e.attempt_id = a.id
WHERE c.route_id = ? ORDER BY r.digest, t.task_id, t.prompt_sha256, c.repeat, a.id
"""


def route_export(database: sqlite3.Connection, route_id: int) -> dict[str, Column]:
    """Every attempt over a route, by (route, task, prompt, repeat, attempt), as columns.

    Requests and answers stand as the digests of their bytes. When, by whom and in which order
    they were asked stays out, and so do headers, which state the time: two journals with the
    same requests and answers have one export. Texts that are null are empty.
    """
    cursor = database.execute(_QUERY, (route_id,))
    names = [column[0] for column in cursor.description]
    rows = cursor.fetchall()
    columns = dict(zip(names, zip(*rows, strict=True), strict=True)) if rows else {}
    found: dict[str, Column] = {}
    for name in _TEXTS:
        found[name] = [value or "" for value in columns.get(name, ())]
    for name in (*_NUMBERS, *_OPTIONAL):
        found[name] = _numbers(columns.get(name, ()), name in _OPTIONAL)
    return found


def _numbers(values: tuple[Any, ...], optional: bool) -> Column:
    numbers = np.array([value or 0 for value in values], np.int64)
    if not optional:
        return numbers
    return np.ma.MaskedArray(numbers, np.array([value is None for value in values], np.bool_))


def export_sha256(database: sqlite3.Connection, route_id: int) -> str:
    """Digest of :func:`route_export`."""
    return table_sha256(route_export(database, route_id), RECIPE)

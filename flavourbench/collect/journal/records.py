"""What is written of attempts: requests and answers as they were, then what they were found to be.

Each function is one change within a transaction.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from flavourbench.collect.outcomes import TRANSPORT, Raw, Reading
from flavourbench.errors import CheckError, shown

#: Requests and answers are short, and there are many: a small window saves most of the time of
#: setting up, which costs more than compressing.
_LEVEL, _WINDOW, _MEMORY = 3, 12, 5


@dataclass(frozen=True, slots=True)
class Claimed:
    """A cell that is ours to ask.

    Attributes
    ----------
    cell_id, round : of the cell, and how often it was reopened before
    collector_id : whose it is
    request_id : the stored request
    """

    cell_id: int
    round: int
    collector_id: int
    request_id: int


def unpacked(sha256: bytes, data: bytes) -> bytes:
    """Stored bytes.

    Raises
    ------
    CheckError
        They are not those that were stored.
    """
    try:
        content = zlib.decompress(data)
    except zlib.error as error:
        raise CheckError(f"the journal is damaged: {shown(error)}") from error
    if hashlib.sha256(content).digest() != sha256:
        raise CheckError(f"the journal is damaged: blob {sha256.hex()[:12]} has another digest")
    return content


def keep_blob(database: sqlite3.Connection, content: bytes) -> int:
    """Id of stored bytes."""
    press = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY)
    values = (hashlib.sha256(content).digest(), press.compress(content) + press.flush())
    made = database.execute("INSERT INTO blob (sha256, data) VALUES (?, ?)", values)
    return int(made.lastrowid or 0)


def keep_request(database: sqlite3.Connection, cell_id: int, content: bytes) -> int:
    """Id of a request: that of an earlier attempt at the cell, if it was the same."""
    found = database.execute(
        "SELECT b.id FROM attempt a JOIN blob b ON b.id = a.request_id"
        " WHERE a.cell_id = ? AND b.sha256 = ? LIMIT 1",
        (cell_id, hashlib.sha256(content).digest()),
    ).fetchone()
    return keep_blob(database, content) if found is None else int(found[0])


def keep_attempt(
    database: sqlite3.Connection, claimed: Claimed, raw: Raw, began_at: int, latency: int
) -> int:
    """Id of an attempt at a cell, which is durable before it is read.

    Parameters
    ----------
    began_at, latency : microseconds
    """
    made = database.execute(
        "INSERT INTO attempt (cell_id, round, collector_id, request_id, began_at, latency, status,"
        " headers, body_id, error, message) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(claimed.cell_id, claimed.round, claimed.collector_id, claimed.request_id),
            *(began_at, latency, raw.status, json.dumps(dict(raw.headers))),
            *(keep_blob(database, raw.body), raw.error, raw.message),
        ),
    )
    return int(made.lastrowid or 0)


@dataclass(frozen=True, slots=True)
class Settled:
    """What a reading did to its cell.

    Attributes
    ----------
    outcome : how the cell ended, or None where it is to be asked again
    tries : attempts of this kind in this round so far
    """

    outcome: str | None
    tries: int


def keep_reading(
    database: sqlite3.Connection, attempt_id: int, reading: Reading, bounds: Mapping[str, int]
) -> Settled:
    """Write what an attempt was found to be; a kind that reached its bound ends the cell.

    Two collectors may read the attempt that a third one left, and an answer may come when its
    claim was given up and the cell has ended: what is written first counts.
    """
    cell_id, round_, owner = database.execute(
        "SELECT cell_id, round, collector_id FROM attempt WHERE id = ?", (attempt_id,)
    ).fetchone()
    outcome, tries = reading.outcome, 1
    if outcome is None:
        tries += database.execute(
            "SELECT count(*) FROM reading r JOIN attempt a ON a.id = r.attempt_id"
            " WHERE a.cell_id = ? AND a.round = ? AND r.kind = ?",
            (cell_id, round_, reading.kind),
        ).fetchone()[0]
        if tries >= bounds.get(reading.kind, tries + 1):
            outcome = TRANSPORT
    if not _insert(database, attempt_id, cell_id, round_, reading, outcome):
        (outcome,) = database.execute(
            "SELECT outcome FROM reading WHERE cell_id = ? AND round = ? AND outcome IS NOT NULL"
            " UNION ALL SELECT NULL LIMIT 1",
            (cell_id, round_),
        ).fetchone()
        late = replace(reading, flags=(*reading.flags, "late"))
        _insert(database, attempt_id, cell_id, round_, late, None)
    if outcome is None:  # held while it waits to be asked again, but nothing is under way
        change = "UPDATE claim SET sent_at = 0, reserved = 0"
    else:
        change = "DELETE FROM claim"
    database.execute(f"{change} WHERE cell_id = ? AND collector_id = ?", (cell_id, owner))
    return Settled(outcome, tries)


def _insert(
    database: sqlite3.Connection,
    attempt_id: int,
    cell_id: int,
    round_: int,
    reading: Reading,
    outcome: str | None,
) -> bool:
    """Whether it was written: the attempt was not read yet, nor the cell ended in its round."""
    reply, charge = reading.reply, reading.charge
    tokens = charge.tokens
    made = database.execute(
        f"INSERT OR IGNORE INTO reading VALUES ({', '.join('?' * 19)})",
        (
            *(attempt_id, cell_id, round_, reading.kind, outcome, shown(reading.reason, 400)),
            " ".join(reading.flags),
            *map(_safe, (reply.served, reply.provider, reply.finish_reason)),
            None if reply.usage is None else json.dumps(reply.usage),
            *(tokens.input, tokens.cached_input, tokens.cache_write),
            *(tokens.output, tokens.reasoning, charge.estimated),
            *(charge.micro_dollars, charge.gateway),
        ),
    )
    if made.rowcount:
        database.execute(
            "UPDATE total SET requests = requests + 1, micro_dollars = micro_dollars + ?",
            (charge.due or 0,),
        )
    return bool(made.rowcount)


def _safe(text: str | None) -> str | None:
    """Without half characters, which SQLite refuses, or a length that nobody needs."""
    return None if text is None else shown(text, 200)

"""Claims: which process asks which cell now, so that no cell is asked twice.

Each function is one change within a transaction.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from enum import Enum

from flavourbench.collect.journal.process import Process, now, this_process
from flavourbench.collect.journal.records import (
    Claimed,
    keep_attempt,
    keep_blob,
    keep_reading,
    keep_request,
)
from flavourbench.collect.money import Charge
from flavourbench.collect.outcomes import LOST, TRANSPORT, Raw, Reading
from flavourbench.collect.wire import MICRO, NO_TOKENS, Reply
from flavourbench.errors import InputError

_SECOND = 1_000_000


class Denied(Enum):
    """Why a cell is not to be asked."""

    TAKEN = "another collector asks it"
    LIMIT = "the budget is reached"


@dataclass(frozen=True, slots=True)
class Limits:
    """What all collectors of a journal together may spend.

    Attributes
    ----------
    micro_dollars : in money, or None
    requests : in attempts, or None
    """

    micro_dollars: int | None = None
    requests: int | None = None

    @classmethod
    def of(cls, dollars: float | None, requests: int | None) -> Limits:
        """Limits as they are typed.

        Raises
        ------
        InputError
            Dollars that are no amount.
        """
        if dollars is None:
            return cls(None, requests)
        if not 0 <= dollars < MICRO:
            raise InputError(f"--budget {dollars:g}: use 0 to {MICRO:,} dollars")
        return cls(round(dollars * MICRO), requests)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A cell to be asked.

    Attributes
    ----------
    route_id, task, repeat : the cell, which has been registered
    request : what is sent
    reserve : micro-dollars to keep for it
    """

    route_id: int
    task: int
    repeat: int
    request: bytes
    reserve: int


@dataclass(frozen=True, slots=True)
class Over:
    """A cell that has ended, be it through another collector."""

    outcome: str


def enrol(database: sqlite3.Connection, patience: float) -> int:
    """Id of this process among the collectors of a journal.

    Parameters
    ----------
    patience : seconds of silence after which other hosts give this process up
    """
    me = this_process()
    made = database.execute(
        "INSERT INTO collector (host, boot, pid, started, patience, seen_at)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (me.host, me.boot, me.pid, me.started, patience, now()),
    )
    return int(made.lastrowid or 0)


def beat(database: sqlite3.Connection, collector_id: int) -> None:
    """Say that this collector is alive."""
    database.execute("UPDATE collector SET seen_at = ? WHERE id = ?", (now(), collector_id))


def leave(database: sqlite3.Connection, collector_id: int) -> None:
    """Give up what is claimed and not under way."""
    database.execute("DELETE FROM claim WHERE collector_id = ?", (collector_id,))


def release(database: sqlite3.Connection, claimed: Claimed) -> None:
    """Give a cell up that is not under way."""
    database.execute(
        "DELETE FROM claim WHERE cell_id = ? AND collector_id = ?",
        (claimed.cell_id, claimed.collector_id),
    )


def claim(
    database: sqlite3.Connection,
    collector_id: int,
    wanted: Wanted,
    limits: Limits,
    *,
    reopen: bool = False,
) -> Claimed | Over | Denied:
    """Claim a cell, or say why not.

    Parameters
    ----------
    reopen : whether a cell that ended in ``transport`` may be asked again
    """
    if not _within(database, limits, wanted.reserve):
        return Denied.LIMIT
    cell_id, touched = database.execute(
        "SELECT c.id, EXISTS (SELECT 1 FROM attempt a WHERE a.cell_id = c.id)"
        " OR EXISTS (SELECT 1 FROM claim k WHERE k.cell_id = c.id) FROM cell c"
        " WHERE c.route_id = ? AND c.task = ? AND c.repeat = ?",
        (wanted.route_id, wanted.task, wanted.repeat),
    ).fetchone()
    round_ = 0
    if not touched:
        request_id = keep_blob(database, wanted.request)
    else:
        ended = database.execute(
            "SELECT outcome, round FROM ending WHERE cell_id = ?", (cell_id,)
        ).fetchone()
        if ended is not None:
            if not (reopen and ended[0] == TRANSPORT):
                return Over(ended[0])
            round_ = ended[1] + 1
        if _busy(database, cell_id):
            return Denied.TAKEN
        request_id = keep_request(database, cell_id, wanted.request)
    database.execute(
        "INSERT INTO claim VALUES (?, ?, ?, ?, ?, ?)",
        (cell_id, collector_id, round_, request_id, now(), wanted.reserve),
    )
    return Claimed(cell_id, round_, collector_id, request_id)


def claim_again(
    database: sqlite3.Connection, claimed: Claimed, reserve: int, limits: Limits
) -> Denied | None:
    """Keep money for another request of a claimed cell, or say why not."""
    if not _within(database, limits, reserve):
        return Denied.LIMIT
    kept = database.execute(
        "UPDATE claim SET sent_at = ?, reserved = ? WHERE cell_id = ? AND collector_id = ?",
        (now(), reserve, claimed.cell_id, claimed.collector_id),
    )
    return None if kept.rowcount else Denied.TAKEN


def _busy(database: sqlite3.Connection, cell_id: int) -> bool:
    """Whether a cell is claimed, or has an attempt that nobody has read yet."""
    return (
        database.execute(
            "SELECT 1 FROM claim WHERE cell_id = ?1 UNION ALL SELECT 1 FROM attempt a"
            " WHERE a.cell_id = ?1 AND NOT EXISTS"
            " (SELECT 1 FROM reading r WHERE r.attempt_id = a.id)",
            (cell_id,),
        ).fetchone()
        is not None
    )


def _within(database: sqlite3.Connection, limits: Limits, reserve: int) -> bool:
    if limits.requests is None and limits.micro_dollars is None:
        return True
    requests, spent = database.execute("SELECT requests, micro_dollars FROM total").fetchone()
    sent, reserved = database.execute(
        "SELECT count(*) FILTER (WHERE sent_at > 0), total(reserved) FROM claim"
    ).fetchone()
    if limits.requests is not None and requests + sent + 1 > limits.requests:
        return False
    return limits.micro_dollars is None or spent + reserved + reserve <= limits.micro_dollars


def take_over(database: sqlite3.Connection, collector_id: int) -> int:
    """Free the claims of collectors that are dead; the number of them.

    A request that was under way is written down as lost, unless its answer was stored: that
    one is to be read by :func:`~.queries.unread`.
    """
    holders = database.execute(
        "SELECT DISTINCT c.id, host, boot, pid, started, patience, seen_at FROM claim"
        " JOIN collector c ON c.id = collector_id WHERE c.id <> ?",
        (collector_id,),
    ).fetchall()
    freed = 0
    for holder, host, boot, pid, started, patience, seen_at in holders:
        silent = (now() - seen_at) / _SECOND
        if Process(host, boot, pid, started).dead(silent, patience):
            rows = database.execute(
                "SELECT cell_id, round, collector_id, request_id, sent_at, reserved FROM claim"
                " WHERE collector_id = ?",
                (holder,),
            ).fetchall()
            for *claimed, sent_at, reserved in rows:
                if sent_at and not _stored(database, claimed[0], sent_at):
                    _lose(database, Claimed(*claimed), sent_at, reserved)
            freed += len(rows)
            leave(database, holder)
    return freed


def _stored(database: sqlite3.Connection, cell_id: int, sent_at: int) -> bool:
    return (
        database.execute(
            "SELECT 1 FROM attempt WHERE cell_id = ? AND began_at >= ?", (cell_id, sent_at)
        ).fetchone()
        is not None
    )


def _lose(database: sqlite3.Connection, claimed: Claimed, sent_at: int, reserved: int) -> None:
    """Write down a request whose answer nobody will see; it may have been charged for."""
    raw = Raw(None, {}, b"", LOST, "its collector ended before an answer came")
    attempt = keep_attempt(database, claimed, raw, sent_at, now() - sent_at)
    due = Charge(NO_TOKENS, reserved or None, None, True)
    reading = Reading(LOST, None, raw.message, ("estimated",), Reply(), due)
    keep_reading(database, attempt, reading, {})

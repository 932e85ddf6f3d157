"""An open journal of one collector: changes to wait for."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

from flavourbench.collect.journal import claims, queries, records, registry
from flavourbench.collect.journal.claims import Denied, Limits, Over, Wanted
from flavourbench.collect.journal.opening import explained, open_journal
from flavourbench.collect.journal.records import Claimed
from flavourbench.collect.journal.writer import Writer
from flavourbench.collect.outcomes import Raw, Reading
from flavourbench.collect.route import Route
from flavourbench.tasks.taskset import Task


class Session:
    """A collector's part in a journal; made by :func:`open_session`.

    Every method returns when its change is on disk, and raises what :class:`.Writer` says.
    """

    def __init__(self, writer: Writer, collector_id: int) -> None:
        self._writer, self._id = writer, collector_id

    async def register(
        self,
        routes: Sequence[Route],
        new_blocks: Collection[str],
        tasks: Sequence[Task],
        repeats: int,
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Rows of routes by slot and of tasks by id; see :mod:`.registry`."""

        def make(database: sqlite3.Connection) -> tuple[dict[str, int], dict[str, int]]:
            by_slot = registry.register_routes(database, routes, new_blocks)
            by_id = registry.register_tasks(database, tasks)
            registry.register_cells(database, [*by_slot.values()], [*by_id.values()], repeats)
            return by_slot, by_id

        return await self._writer.do(make)

    async def claim(
        self, wanted: Wanted, limits: Limits, *, reopen: bool
    ) -> Claimed | Over | Denied:
        """See :func:`.claims.claim`."""
        make = partial(
            claims.claim, collector_id=self._id, wanted=wanted, limits=limits, reopen=reopen
        )
        return await self._writer.do(make)

    async def claim_again(self, claimed: Claimed, reserve: int, limits: Limits) -> Denied | None:
        """See :func:`.claims.claim_again`."""
        make = partial(claims.claim_again, claimed=claimed, reserve=reserve, limits=limits)
        return await self._writer.do(make)

    async def keep_attempt(self, claimed: Claimed, raw: Raw, began_at: int, latency: int) -> int:
        """See :func:`.records.keep_attempt`."""
        make = partial(
            records.keep_attempt,
            claimed=claimed,
            raw=raw,
            began_at=began_at,
            latency=latency,
        )
        return await self._writer.do(make)

    def keep_reading(
        self, attempt_id: int, reading: Reading, bounds: Mapping[str, int]
    ) -> asyncio.Future[records.Settled]:
        """See :func:`.records.keep_reading`."""
        make = partial(records.keep_reading, attempt_id=attempt_id, reading=reading, bounds=bounds)
        return self._writer.do(make)

    async def release(self, claimed: Claimed) -> None:
        """Give a claimed cell up."""
        await self._writer.do(partial(claims.release, claimed=claimed))

    async def ended_cells(self, route_id: int) -> dict[tuple[int, int], str]:
        """See :func:`.queries.ended_cells`."""
        return await self._writer.do(partial(queries.ended_cells, route_id=route_id))

    async def unread(self) -> list[queries.Unread]:
        """See :func:`.queries.unread`."""
        return await self._writer.do(lambda database: list(queries.unread(database)))

    async def beat(self) -> int:
        """Say that this collector is alive; the number of claims freed from dead ones."""

        def make(database: sqlite3.Connection) -> int:
            claims.beat(database, self._id)
            return claims.take_over(database, self._id)

        return await self._writer.do(make)


@contextlib.asynccontextmanager
async def open_session(path: Path, patience: float) -> AsyncIterator[Session]:
    """Open a journal to collect into, and leave it with nothing claimed.

    Parameters
    ----------
    patience : seconds of silence after which other hosts give this collector up

    Raises
    ------
    InputError, CheckError
        See :func:`.opening.open_journal`.
    """
    # It may wait for another process, while a signal to stop has to be heard.
    connection = await asyncio.to_thread(open_journal, path)
    try:
        writer = Writer(connection, path)
        try:
            collector = await writer.do(partial(claims.enrol, patience=patience))
            try:
                yield Session(writer, collector)
            finally:
                await writer.do(partial(claims.leave, collector_id=collector))
        finally:
            await writer.close()
    finally:
        with explained(path):
            connection.close()

"""One claimed cell, from its first request to its outcome."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from flavourbench.collect.journal.claims import Limits
from flavourbench.collect.journal.process import now
from flavourbench.collect.journal.records import Claimed, Settled
from flavourbench.collect.journal.session import Session
from flavourbench.collect.money import reserve
from flavourbench.collect.outcomes import BUSY, DROPPED, STOP, Raw, Reading, read_attempt
from flavourbench.collect.route_state import Cell, Retries, RouteState, asked_delay

if TYPE_CHECKING:
    from flavourbench.collect.http import HttpCaller


@dataclass(frozen=True)
class Asker:
    """Asks claimed cells, and writes down what comes back before reading it.

    Attributes
    ----------
    session, caller : journal, and network if there is a route over one
    retries, limits : when to try again, and what may be spent
    ending : set once the run is to end
    """

    session: Session
    caller: HttpCaller | None
    retries: Retries
    limits: Limits
    ending: asyncio.Event

    async def ask(
        self, state: RouteState, cell: Cell, request: bytes, claimed: Claimed
    ) -> asyncio.Future[Settled] | None:
        """Ask a claimed cell until it ends, its route does, or the run.

        Of a cell that ended the reading may be still on its way to the disk: that is returned,
        since the next cell need not wait for it.
        """
        while True:
            raw, attempt = await self._attempt(state, cell, request, claimed)
            reading = read_attempt(raw, state.route, cell[0], request)
            state.requests += 1
            state.micro_dollars += reading.charge.due or 0
            kept = self.session.keep_reading(attempt, reading, self.retries.bounds)
            if reading.outcome is not None:
                state.ended(reading.outcome, reading.reason)
                return kept
            settled = await kept
            if settled.outcome is not None:
                state.ended(settled.outcome, reading.reason)
                return None
            state.trouble = reading.reason
            if reading.kind == STOP:
                state.stop(f"{reading.reason} ({state.url})")
            if not await self._pause(state, raw, reading, settled.tries):
                await self.session.release(claimed)
                return None
            cost = reserve(state.route, request) or 0
            denied = await self.session.claim_again(claimed, cost, self.limits)
            if denied is not None:  # without money it is asked when there is some
                await self.session.release(claimed)
                state.put_back(cell)
                return None

    async def _attempt(
        self, state: RouteState, cell: Cell, request: bytes, claimed: Claimed
    ) -> tuple[Raw, int]:
        began, route = now(), state.route
        if state.contestant is not None:
            said = state.contestant.answer(*cell)
            answer = {"contestant": route.model, "text": said.text, "refused": said.refused}
            raw = Raw(200, {}, json.dumps(answer, ensure_ascii=False).encode())
        else:  # there is one wherever a route needs it
            caller = cast("HttpCaller", self.caller)
            raw = await caller.post(
                state.url, state.headers, request, route.timeout, state.scrubber
            )
        return raw, await self.session.keep_attempt(claimed, raw, began, now() - began)

    async def _pause(self, state: RouteState, raw: Raw, reading: Reading, tries: int) -> bool:
        """Wait until the cell may be asked again; False if it may not in this run."""
        if reading.kind == DROPPED or state.stopped is not None:
            return False
        wait, asked = self.retries.delay(tries), asked_delay(raw)
        if asked is not None:
            if asked > self.retries.patience:
                state.stop(f"the server asks to wait {asked:,.0f} s ({reading.reason}): try then")
                return False
            wait = max(wait, asked)
        if reading.kind == BUSY:  # what is too much for one request is too much for all
            state.wait_until(wait)
        try:
            await asyncio.wait_for(self.ending.wait(), wait)
        except TimeoutError:
            await state.turn()
        return not self.ending.is_set() and state.stopped is None

"""One route while it is collected: what is left, when the next request may go, how it fares."""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from flavourbench.collect.contestants import Contestant, contestant
from flavourbench.collect.dialects import dialect_of
from flavourbench.collect.outcomes import (
    ANSWERED,
    BUSY,
    CONNECTION,
    MISMATCH,
    SERVER,
    TRANSPORT,
    Raw,
    stated_delay,
)
from flavourbench.collect.route import Route
from flavourbench.collect.secret import Scrubber, key_header
from flavourbench.tasks.taskset import Task

if TYPE_CHECKING:
    from aiolimiter import AsyncLimiter

_SECONDS = re.compile(r"[0-9]{1,12}(\.[0-9]+)?")
#: So many cells in a row that end in ``transport``, or that another model answers, end their
#: route for now.
_HOPELESS, _STRANGERS = 20, 3


@dataclass(frozen=True)
class Retries:
    """How often and when a failed request is tried again.

    Attributes
    ----------
    bounds : kind of failure → tries of a cell in all
    first, longest : seconds before the second try, doubled at each later one, up to a limit
    patience : a server that asks for a longer wait ends its route for now, seconds
    """

    bounds: Mapping[str, int] = field(default_factory=lambda: {CONNECTION: 4, BUSY: 8, SERVER: 5})
    first: float = 1.0
    longest: float = 60.0
    patience: float = 600.0

    def delay(self, tries: int) -> float:
        """Seconds to wait after so many tries, partly at random: not all come back at once."""
        return random.uniform(0.5, 1.0) * min(self.longest, self.first * 2.0 ** (tries - 1))


def asked_delay(raw: Raw) -> float | None:
    """Seconds that a server asks to wait, in whichever way, or None."""
    exact = raw.headers.get("retry-after-ms", "").strip()
    if _SECONDS.fullmatch(exact):
        return float(exact) / 1000
    value = raw.headers.get("retry-after", "").strip()
    if not value and raw.status not in (None, 200):
        value = (stated_delay(raw) or "").removesuffix("s")
    if not value:
        return None
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


Cell = tuple[Task, int]


def contestant_of(route: Route) -> Contestant:
    """The contestant of a local route."""
    given = {key: value for key, value in route.parameters.items() if key != "version"}
    return contestant(route.model, given)


def _limiter(requests_per_minute: int) -> AsyncLimiter:
    from aiolimiter import AsyncLimiter

    # One request at a time, so that no burst meets a limit that is counted by seconds.
    return AsyncLimiter(1, 60.0 / requests_per_minute)


class RouteState:
    """What is left of a route, and how it fares.

    Attributes
    ----------
    route, route_id : the route and its row
    contestant : who answers where nobody is asked over a network, or None
    url, headers, scrubber : where requests go, with which headers, and what removes the key
    total : cells in all
    outcomes : outcome → number of cells that ended so, before this run too
    requests, micro_dollars : attempts of this run, and what they cost as far as that is known
    stopped : why the route was given up for now, or None
    trouble : why the last request failed, until one is answered
    elsewhere : cells that another collector asks
    """

    def __init__(
        self,
        route: Route,
        route_id: int,
        key: str | None,
        total: int,
        ended: Counter[str],
        cells: Iterator[Cell],
    ) -> None:
        self.route, self.route_id, self.total = route, route_id, total
        self.contestant = contestant_of(route) if route.local else None
        dialect = dialect_of(route.dialect)
        self.url = route.base_url + dialect.path(route)
        named = key_header(route, dialect.KEY_HEADER, dialect.KEY_FORM, key)
        self.headers = {**dialect.HEADERS, **named}
        self.scrubber = Scrubber(key)
        self.outcomes = ended
        self.requests = self.micro_dollars = 0
        self.stopped: str | None = None
        self.elsewhere: list[Cell] = []
        self._cells, self._again = cells, deque[Cell]()
        self.trouble: str | None = None
        self._failing = self._others = 0
        self._not_before = 0.0
        rate = route.requests_per_minute
        self._limiter = None if rate is None else _limiter(rate)

    @property
    def done(self) -> int:
        """Cells that ended."""
        return self.outcomes.total()

    @property
    def valid(self) -> int:
        """Cells that were answered."""
        return self.outcomes[ANSWERED]

    @property
    def left(self) -> int:
        """Cells that may still be asked in this run."""
        return 0 if self.stopped is not None else self.left_over

    @property
    def left_over(self) -> int:
        """Cells that were not asked in the end, those aside that another collector asks."""
        return self.total - self.done - len(self.elsewhere)

    def next_cell(self) -> Cell | None:
        """A cell that nobody was given, or None at the end."""
        if self.stopped is not None:
            return None
        return self._again.popleft() if self._again else next(self._cells, None)

    def put_back(self, *cells: Cell) -> None:
        """Cells to be given again."""
        self._again.extend(cells)

    def ended(self, outcome: str, reason: str) -> None:
        """Count a cell that ended now; many failures in a row end the route for now."""
        self.outcomes[outcome] += 1
        self.trouble = reason if outcome == TRANSPORT else None
        self._failing = self._failing + 1 if outcome == TRANSPORT else 0
        self._others = self._others + 1 if outcome == MISMATCH else 0
        if self._failing >= _HOPELESS:
            self.stop(f"{self._failing} cells in a row failed, the last with {reason}")
        if self._others >= _STRANGERS:
            self.stop(
                f"{reason}, {self._others} times in a row: if that is what you mean, add its name"
                f" to served in the roster, and go on with --new-block {self.route.slot}"
            )

    def stop(self, reason: str) -> None:
        """Give the route up for now; the first reason stays."""
        self.stopped = self.stopped or reason

    def wait_until(self, seconds: float) -> None:
        """No request of this route before so many seconds from now."""
        loop = asyncio.get_running_loop()
        self._not_before = max(self._not_before, loop.time() + seconds)

    async def turn(self) -> None:
        """Wait until the next request may go."""
        loop = asyncio.get_running_loop()
        while (wait := self._not_before - loop.time()) > 0:
            await asyncio.sleep(wait)
        if self._limiter is not None:
            await self._limiter.acquire()

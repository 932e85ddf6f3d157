"""The collector: asks every open cell over its route, and writes down all that comes back."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flavourbench.collect.asking import Asker
from flavourbench.collect.journal.claims import Denied, Over, Wanted
from flavourbench.collect.journal.records import Claimed, Settled
from flavourbench.collect.journal.session import open_session
from flavourbench.collect.money import reserve
from flavourbench.collect.outcomes import TRANSPORT, read_attempt
from flavourbench.collect.plan import Job, request_bytes
from flavourbench.collect.route import Route
from flavourbench.collect.route_state import Cell, Retries, RouteState
from flavourbench.collect.secret import read_keys
from flavourbench.errors import InputError

if TYPE_CHECKING:
    from flavourbench.collect.http import HttpCaller

#: Seconds that requests under way get to finish once the run is to end.
GRACE = 0.8
#: Seconds between looks at how it goes, and between signs of life in the journal.
_LOOK, _BEAT = 0.2, 10.0
#: Seconds that collectors of other hosts wait beyond the timeout of a request.
_SILENCE = 60.0
#: Looks at the routes now and then.
Watch = Callable[[Sequence[RouteState]], None]


class Collector:
    """Collects the cells of a job into a journal; runs once.

    Must be made within a running event loop.

    Parameters
    ----------
    path : of the journal
    job : what is to be done
    retries : when failed requests are tried again
    watch : called now and then, and at the end

    Attributes
    ----------
    states : one for each route, once it runs
    out_of_budget : whether a limit ended the run

    Raises
    ------
    InputError
        The variable of a key is missing or holds none.
    """

    def __init__(
        self, path: Path, job: Job, retries: Retries | None = None, watch: Watch | None = None
    ) -> None:
        self._path, self._job, self._watch = path, job, watch
        self._retries = retries or Retries()
        self._keys = read_keys(job.roster.routes)
        self.states: list[RouteState] = []
        self.out_of_budget = False
        self._ending, self._freed = asyncio.Event(), asyncio.Event()
        self._under_way = 0
        self._settling: set[asyncio.Future[Settled]] = set()
        self._failure: BaseException | None = None

    def stop(self) -> None:
        """End soon: nothing new is asked, and what is under way gets a moment."""
        self._ending.set()
        self._freed.set()

    async def run(self) -> None:
        """Collect until nothing is left that can be asked.

        Raises
        ------
        InputError
            The journal cannot be used, or a slot has another route in it.
        CheckError
            The journal is damaged.
        """
        job = self._job
        caller = _http_caller() if any(not r.local for r in job.roster.routes) else None
        patience = max(route.timeout for route in job.roster.routes) + _SILENCE
        async with AsyncExitStack() as stack:
            if caller is not None:
                await stack.enter_async_context(caller)
            self._session = await stack.enter_async_context(open_session(self._path, patience))
            self._asker = Asker(
                self._session,
                caller,
                self._retries,
                job.limits,
                self._ending,
            )
            routes = job.roster.routes
            self._rows, self._tasks = await self._session.register(
                routes, job.new_blocks, job.tasks.tasks, job.repeats
            )
            await self._tidy()
            self.states = [await self._state(route) for route in routes]
            try:
                await self._collect()
            finally:
                if self._watch is not None:
                    self._watch(self.states)

    async def _collect(self) -> None:
        others = [asyncio.ensure_future(turn) for turn in (self._live(), self._look())]
        for other in others:
            other.add_done_callback(self._note)
        try:
            again = True
            while again and not self._ending.is_set():
                await self._supervise(
                    self._work(state)
                    for state in self.states
                    for _ in range(min(state.route.concurrency, state.left))
                )
                # What others asked is ours to ask if they are gone by now.
                again = not self._ending.is_set() and await self._tidy() > 0
                for state in self.states if again else ():
                    state.put_back(*state.elsewhere)
                    state.elsewhere.clear()
        finally:
            for other in others:
                other.cancel()
        if self._failure is not None:
            raise self._failure

    async def _state(self, route: Route) -> RouteState:
        """What is left of a route."""
        row = self._rows[route.slot]
        ended = await self._session.ended_cells(row)
        keys = {
            (task.id, repeat): (self._tasks[task.id], repeat) for task, repeat in self._job.cells()
        }
        over = {
            cell: ended[key]
            for cell, key in keys.items()
            if key in ended and not (self._job.retry_transport and ended[key] == TRANSPORT)
        }
        cells = (cell for cell in self._job.cells() if (cell[0].id, cell[1]) not in over)
        key = self._keys[route.slot]
        return RouteState(route, row, key, len(keys), Counter(over.values()), cells)

    async def _supervise(self, workers: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Run workers to their end, or to ours, which some may miss by a moment."""
        tasks = [asyncio.ensure_future(worker) for worker in workers]
        for task in tasks:
            task.add_done_callback(self._note)
        ending: asyncio.Future[Any] = asyncio.ensure_future(self._ending.wait())
        together: asyncio.Future[Any] = asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.wait({together, ending}, return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        await asyncio.wait({together}, timeout=GRACE)
        for task in tasks:
            task.cancel()
        await asyncio.wait({together})
        if self._settling:
            await asyncio.wait(set(self._settling))

    def _note(self, done: asyncio.Future[Any]) -> None:
        """Keep the first error, and end."""
        if not done.cancelled() and (error := done.exception()) is not None:
            self._failure = self._failure or error
            self.stop()

    async def _live(self) -> None:
        """Show signs of life, and free what dead collectors claimed."""
        while True:
            await asyncio.sleep(_BEAT)
            await self._tidy()

    async def _look(self) -> None:
        while self._watch is not None:
            self._watch(self.states)
            await asyncio.sleep(_LOOK)

    async def _tidy(self) -> int:
        """Free the claims of dead collectors, and read answers that they only stored.

        The number of cells freed.
        """
        freed = await self._session.beat()
        routes = {self._rows[route.slot]: route for route in self._job.roster.routes}
        tasks = {self._tasks[task.id]: task for task in self._job.tasks.tasks}
        for left in await self._session.unread():
            route, task = routes.get(left.route_id), tasks.get(left.task)
            if route is not None and task is not None:
                reading = read_attempt(left.raw, route, task, left.request)
                await self._session.keep_reading(left.attempt_id, reading, self._retries.bounds)
        return freed

    async def _work(self, state: RouteState) -> None:
        """Ask one open cell of a route after the other."""
        while not self._ending.is_set() and (cell := state.next_cell()) is not None:
            await state.turn()
            if self._ending.is_set() or state.stopped is not None:
                return
            request = request_bytes(state.route, cell[0].prompt)
            claimed = await self._claim(state, cell, request)
            if claimed is Denied.LIMIT:
                return
            if claimed is Denied.TAKEN:
                state.elsewhere.append(cell)
            elif isinstance(claimed, Over):
                state.outcomes[claimed.outcome] += 1
            elif isinstance(claimed, Claimed):
                await self._ask(state, cell, request, claimed)

    async def _claim(
        self, state: RouteState, cell: Cell, request: bytes
    ) -> Claimed | Over | Denied:
        """Claim a cell, as soon as there is money for it."""
        wanted = Wanted(
            state.route_id,
            self._tasks[cell[0].id],
            cell[1],
            request,
            reserve(state.route, request) or 0,
        )
        while True:
            claimed = await self._session.claim(
                wanted, self._job.limits, reopen=self._job.retry_transport
            )
            if claimed is not Denied.LIMIT or not await self._room():
                return claimed

    async def _ask(self, state: RouteState, cell: Cell, request: bytes, claimed: Claimed) -> None:
        self._under_way += 1
        try:
            kept = await self._asker.ask(state, cell, request, claimed)
        finally:
            self._under_way -= 1
            self._freed.set()
        if kept is not None:
            self._settling.add(kept)
            kept.add_done_callback(self._settling.discard)
            kept.add_done_callback(self._note)

    async def _room(self) -> bool:
        """Wait until a request ends, which may have cost less than was kept for it.

        False when none is under way: the budget is used up, and the run ends.
        """
        if self._under_way == 0:
            self.out_of_budget = True
            self.stop()
        else:
            self._freed.clear()
            await self._freed.wait()
        return not self._ending.is_set()


def _http_caller() -> HttpCaller:
    """What sends requests; its packages are an extra, which contestants do not need."""
    try:
        from flavourbench.collect.http import HttpCaller
    except ModuleNotFoundError as error:
        raise InputError(
            f'asking models needs {error.name}: pip install "flavourbench[collect]"'
        ) from error
    return HttpCaller()


async def collect(
    path: Path, job: Job, retries: Retries | None = None, watch: Watch | None = None
) -> Collector:
    """Collect the cells of a job into a journal; see :class:`Collector`."""
    collector = Collector(path, job, retries, watch)
    await collector.run()
    return collector

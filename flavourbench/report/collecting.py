"""Progress of a collection on standard error: a bar a model on a terminal, else plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from flavourbench.collect.route_state import RouteState
from flavourbench.collect.wire import MICRO
from flavourbench.errors import shown

#: Seconds between plain lines.
_INTERVAL = 10.0
#: Rows of a terminal that are kept for other things.
_SPARE_ROWS = 3


class Meter:
    """Watches the routes of a collector; a context manager.

    Give its :meth:`look` to the collector.

    Parameters
    ----------
    console : where to draw; by default standard error
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._began = self._said = time.monotonic()
        self._first: dict[str, int] = {}
        self._bars: Progress | None = None
        self._ids: dict[str, TaskID] = {}
        if self._console.is_terminal:
            self._bars = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(20),
                MofNCompleteColumn(),
                TextColumn("{task.fields[words]}", markup=False),
                console=self._console,
                transient=True,
                auto_refresh=False,
            )

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def look(self, states: Sequence[RouteState]) -> None:
        """Show how the routes stand."""
        for state in states:
            self._first.setdefault(state.route.slot, state.done)
        if self._bars is not None:
            self._draw(self._bars, states)
        elif time.monotonic() - self._said >= _INTERVAL:
            self._said = time.monotonic()
            print(f"fb: {self.line(states)}", file=sys.stderr, flush=True)  # noqa: T201

    def line(self, states: Sequence[RouteState]) -> str:
        """All routes together, on one line."""
        total = sum(state.total for state in states)
        done = sum(state.done for state in states)
        return f"{done:,} of {total:,} cells, {self._words(states)}"

    def _words(self, states: Sequence[RouteState]) -> str:
        """Valid and failed cells, rate, spend and time left."""
        total, done, valid = (
            sum(getattr(state, what) for state in states) for what in ("total", "done", "valid")
        )
        since = sum(state.done - self._first[state.route.slot] for state in states)
        rate = since / max(time.monotonic() - self._began, 1e-9)
        dollars = sum(state.micro_dollars for state in states) / MICRO
        parts = [f"{valid:,} valid", f"{done - valid:,} invalid"]
        if done < total:
            parts.append(f"{rate:,.1f}/s")
        if dollars:
            parts.append(f"${dollars:,.2f}")
        if since and done < total:
            parts.append(f"{_clock((total - done) / rate)} left")
        troubles = [f"{s.route.slot} waits, {s.trouble}" for s in states if s.trouble and s.left]
        return ", ".join([*parts, *troubles[:1]])

    def _draw(self, bars: Progress, states: Sequence[RouteState]) -> None:
        room = max(2, self._console.size.height - _SPARE_ROWS)
        rows = [(s.route.slot, s.route.name, [s]) for s in states]
        if len(rows) > room:
            # Those at work, and all together; only what is shown costs time.
            rows = [row for row in rows if row[2][0].left][: room - 1]
            rows.append(("", f"all {len(states):,} models", [*states]))
        for slot in self._ids.keys() - {slot for slot, *_ in rows}:
            bars.remove_task(self._ids.pop(slot))
        for slot, name, group in rows:
            total, done = (sum(getattr(s, what) for s in group) for what in ("total", "done"))
            if slot not in self._ids:
                self._ids[slot] = bars.add_task(shown(name, 24), total=total, words="")
            stopped = group[0].stopped if slot else None
            words = self._words(group) if stopped is None else f"stopped: {stopped}"
            bars.update(self._ids[slot], completed=done, words=shown(words, 60))
        bars.refresh()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

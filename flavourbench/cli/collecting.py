"""Running a collector from a command: progress, and signals that end it in order."""

from __future__ import annotations

import asyncio
import signal
import threading
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from flavourbench.cli.common import note
from flavourbench.cli.entry import STOPS, Stopped, leave, signals_wait
from flavourbench.errors import FlavourBenchError

if TYPE_CHECKING:
    from flavourbench.collect.collector import Collector
    from flavourbench.collect.plan import Job


#: Seconds after a signal to stop until the process ends in any case.
_PATIENCE = 1.7


def run_collector(journal: Path, job: Job) -> Collector:
    """Collect, with progress on standard error.

    A signal to stop lets requests under way finish for a moment, and leaves a journal to go on
    with; a second one ends at once, which costs those requests.

    Raises
    ------
    KeyboardInterrupt, Stopped
        After such a signal, once all is written.
    """
    with signals_wait():
        from flavourbench.collect.collector import Collector
        from flavourbench.report.collecting import Meter

    received: list[signal.Signals] = []
    last: list[threading.Timer] = []

    async def collect() -> Collector:
        with Meter() as meter:
            collector = Collector(journal, job, watch=meter.look)

            def stop(number: int, _: FrameType | None) -> None:
                number = signal.Signals(number)
                if received:
                    meter.__exit__(None, None, None)  # a terminal gets its cursor back
                    leave(number)
                received.append(number)
                loop.call_soon_threadsafe(collector.stop)
                # A lock, a name server or a slow disk may hold what ends in order; whatever was
                # stored by then is safe.
                last.append(threading.Timer(_PATIENCE, leave, (number,)))
                last[0].daemon = True
                last[0].start()

            loop = asyncio.get_running_loop()
            before = {number: signal.getsignal(number) for number in STOPS}
            heeded = [number for number in STOPS if before[number] is not signal.SIG_IGN]
            for number in heeded:  # not by the loop, which may lose one while it is busy
                signal.signal(number, stop)
            try:
                await collector.run()
            except FlavourBenchError:
                if not received:  # else it is no news
                    raise
            finally:
                for number in heeded:
                    signal.signal(number, before[number])
                if received:
                    note(f"{meter.line(collector.states)}; the same command goes on from here")
        return collector

    try:
        collector = asyncio.run(collect())
    finally:
        for timer in last:
            timer.cancel()
    if received:
        raise KeyboardInterrupt if received[0] == signal.SIGINT else Stopped(received[0])
    return collector

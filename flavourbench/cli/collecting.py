"""Running a collector from a command: progress, and signals that end it in order."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from flavourbench.cli.common import note
from flavourbench.cli.entry import STOPS, Stopped, signals_wait

if TYPE_CHECKING:
    from flavourbench.collect.collector import Collector
    from flavourbench.collect.plan import Job


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

    async def collect() -> Collector:
        with Meter() as meter:
            collector = Collector(journal, job, watch=meter.look)

            def stop(number: signal.Signals) -> None:
                if received:
                    meter.__exit__(None, None, None)  # a terminal gets its cursor back
                    os._exit(128 + number)
                received.append(number)
                collector.stop()

            loop = asyncio.get_running_loop()
            before = {number: signal.getsignal(number) for number in STOPS}
            heeded = [number for number in STOPS if before[number] is not signal.SIG_IGN]
            for number in heeded:
                loop.add_signal_handler(number, stop, number)
            try:
                await collector.run()
            finally:
                for number in heeded:
                    loop.remove_signal_handler(number)
                    signal.signal(number, before[number])
                if received:
                    note(f"{meter.line(collector.states)}; the same command goes on from here")
        return collector

    collector = asyncio.run(collect())
    if received:
        raise KeyboardInterrupt if received[0] == signal.SIGINT else Stopped(received[0])
    return collector

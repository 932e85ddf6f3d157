"""The console script, and the signals that end it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType

#: Signals that end the process once what was begun is undone, and how that is called. Python
#: makes an exception of the first itself.
STOPS = {
    signal.SIGINT: "interrupted",
    signal.SIGTERM: "terminated",
    signal.SIGHUP: "hung up",
}
_OTHERS = (signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal other than an interrupt asked this process to end."""

    def __init__(self, number: int) -> None:
        self.signal = signal.Signals(number)


@contextlib.contextmanager
def signals_wait() -> Iterator[None]:
    """Signals that end the process wait for the end of the block: for imports.

    Amid them C code swallows an exception at times, or makes another of it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*STOPS})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run() -> None:
    """Load and run ``fb``; a signal while loading exits like one later."""
    for number in _OTHERS:
        if signal.getsignal(number) is signal.SIG_DFL:  # else it is for the caller, as of nohup
            signal.signal(number, _stop)
    try:
        with signals_wait():
            from flavourbench.cli.main import run as loaded
        loaded()
    except KeyboardInterrupt:
        leave(signal.SIGINT)
    except Stopped as stopped:
        leave(stopped.signal)
    finally:
        for number in STOPS:  # nothing is left to undo: a signal may end Python at once
            if signal.getsignal(number) in (_stop, signal.default_int_handler):
                signal.signal(number, signal.SIG_DFL)


def _stop(number: int, _: FrameType | None) -> None:
    for other in _OTHERS:
        signal.signal(other, signal.SIG_IGN)  # a second one would stop the clearing up
    raise Stopped(number)


def leave(number: signal.Signals) -> None:
    """End the process at once, as after that signal."""
    with contextlib.suppress(OSError, AttributeError):  # standard error is closed
        sys.stderr.write(f"fb: {STOPS[number]}\n")
        sys.stderr.flush()
    os._exit(128 + number)

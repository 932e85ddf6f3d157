"""Who holds a claim: a process on a host, and whether it is still alive."""

from __future__ import annotations

import os
import socket
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

#: Where the system computes a start from the clock, it may differ by so much.
_DRIFT = 2.0


@dataclass(frozen=True, slots=True)
class Process:
    """A process that no other one can be taken for.

    Attributes
    ----------
    host : name of the host, and of the process namespace where there are several
    boot : id of the boot of the host
    pid : its number
    started : when it started, as the system counts
    """

    host: str
    boot: str
    pid: int
    started: float

    def dead(self, silent: float, patience: float) -> bool:
        """Whether it has ended; of another host, whether it was silent beyond its patience.

        Parameters
        ----------
        silent : seconds since it was last seen
        """
        here = this_process()
        if self.host != here.host:
            return silent > patience
        if self.boot != here.boot:
            return True
        try:
            started = _started(self.pid)
        except (PermissionError, psutil.AccessDenied):  # it is there, but not ours to look at
            return False
        return started is None or abs(started - self.started) > _DRIFT


def this_process() -> Process:
    """The process that asks."""
    return _of(os.getpid())


@cache
def _of(pid: int) -> Process:
    return Process(_host(), _boot(), pid, _started(pid) or 0.0)


def _started(pid: int) -> float | None:
    """When a process started; None where there is none (any more)."""
    try:
        if sys.platform == "linux":
            # In ticks since the boot: what is computed from the clock moves when that is set.
            state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            return None if state[0] == b"Z" else float(state[19])
        found = psutil.Process(pid)
        return None if found.status() == psutil.STATUS_ZOMBIE else float(found.create_time())
    except (FileNotFoundError, ProcessLookupError, psutil.NoSuchProcess):
        return None


def _host() -> str:
    name = socket.gethostname()
    if sys.platform != "linux":
        return name
    try:  # containers of one host may share its name, not its process numbers
        return f"{name}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return name


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return str(round(psutil.boot_time() / 60))  # other systems state a time alone


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000

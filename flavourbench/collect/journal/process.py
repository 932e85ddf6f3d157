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

#: A clock that is set changes what the system says of a start by so many seconds.
_DRIFT = 2.0


@dataclass(frozen=True, slots=True)
class Process:
    """A process that no other one can be taken for.

    Attributes
    ----------
    host : name of the host, and of the process namespace where there are several
    boot : id of the boot of the host
    pid : its number
    started : when it started, seconds since 1970
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
            found = psutil.Process(self.pid)
            other = abs(found.create_time() - self.started) > _DRIFT
            return other or found.status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True
        except psutil.Error:  # it is there, but not ours to look at
            return False


def this_process() -> Process:
    """The process that asks."""
    return _of(os.getpid())


@cache
def _of(pid: int) -> Process:
    return Process(_host(), _boot(), pid, psutil.Process(pid).create_time())


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

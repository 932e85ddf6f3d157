"""Lines of the report, and timing."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any


def say(what: str, figure: str, target: str = "", met: bool | None = None) -> None:
    """One line of the report."""
    verdict = "" if met is None else "met" if met else "MISSED"
    print(f"{what:<58} {figure:>18}  {target:<20} {verdict}", flush=True)


def timed(run: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Median wall time and the last result."""
    times = []
    result = None
    for _ in range(repeats):
        began = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - began)
    return median(times), result

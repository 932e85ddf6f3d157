"""What was verified, on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from flavourbench.report.screen import Screen, show

#: Passed, failed, could not be made.
_VERDICTS = {True: ("ok", "green"), False: ("FAILED", "bold red"), None: ("open", "yellow")}


def print_checks(checks: Sequence[Mapping[str, Any]], what: str, place: str) -> None:
    """Print checks and how they came out, and what was checked: its kind and its place."""

    def draw(out: Console, screen: Screen) -> None:
        for check in checks:
            verdict, style = _VERDICTS[check["passed"]]
            line = Text(f"{verdict:6} ", style=style)
            line.append(screen.text(f"{check['check']}: {check['detail']}", 4096), style="none")
            out.print(line, soft_wrap=True)
        out.print(Text(screen.text(f"{what}: {place}", 4096), style="dim"), soft_wrap=True)

    show(draw, whole=True)

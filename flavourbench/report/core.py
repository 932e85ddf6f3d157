"""The common core on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from flavourbench.analysis.core import Core
from flavourbench.report.screen import Screen, print_rows, show

#: Tasks that are told one by one.
_MOST = 8


def print_core(core: Core, place: str, *, new: bool) -> None:
    """Print how many tasks every panel and family has, and why the others left."""

    def draw(out: Console, screen: Screen) -> None:
        rows = [
            [*stratum, f"{core.valid[stratum]:,}", f"{len(names):,}"]
            for stratum, names in core.tasks.items()
        ]
        heads = (
            ("panel", False),
            ("family", False),
            ("valid for all", True),
            ("in the core", True),
        )
        print_rows(out, screen, heads, rows)
        _print_models(out, screen, core)
        _print_left(out, screen, core)
        told = (
            f"core: {core.size:,} tasks in each of {len(core.tasks)} panels and families,"
            f" {len(core.models)} models, seed {core.seed}"
        )
        out.print(Text(screen.text(told), style="bold"))
        state = "" if new else " (nothing has changed: it was frozen before)"
        out.print(Text(screen.text(f"Core: {place}{state}", 4096), style="dim"), soft_wrap=True)

    show(draw, whole=True)


def _print_models(out: Console, screen: Screen, core: Core) -> None:
    """Models with cells that are not valid, and how these ended."""
    rows = []
    for slot, outcomes in sorted(core.invalid.items(), key=lambda m: (-sum(m[1].values()), m[0])):
        if outcomes:
            told = ", ".join(f"{name} {count:,}" for name, count in sorted(outcomes.items()))
            rows.append([slot, f"{sum(outcomes.values()):,}", told])
    if rows:
        out.print()
        heads = (("model", False), ("invalid", True), ("outcomes", False))
        print_rows(out, screen, heads, rows)
        out.print()


def _print_left(out: Console, screen: Screen, core: Core) -> None:
    """Tasks that left, and because of whom."""
    left = sorted(core.left_out.items(), key=lambda task: (-len(task[1]), task[0]))
    out.print(f"{len(left):,} tasks are left out, not valid for every model", style="dim")
    for name, cells in left[:_MOST]:
        whose = ", ".join(f"{slot} {outcome}" for slot, outcome in sorted(cells.items()))
        out.print(Text(screen.text(f"  {name}: {whose}"), style="dim"), soft_wrap=True)
    if len(left) > _MOST:
        out.print(f"  and {len(left) - _MOST:,} more (--json has all)", style="dim")
    if core.surplus:
        fewest = min(core.valid, key=lambda stratum: core.valid[stratum])
        told = (
            f"{len(core.surplus):,} more are valid for all, but every panel and family has"
            f" {core.size:,} ({' '.join(fewest)} has the fewest: {core.valid[fewest]:,})"
        )
        out.print(Text(screen.text(told), style="dim"))

"""What the core left out, on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from flavourbench.report.screen import Screen, print_rows, show
from flavourbench.report.strips import shorten

_HEADS = (
    ("#", True),
    ("model", False),
    ("on core", True),
    ("valid", True),
    ("worst, best", True),
    ("ranks", True),
    ("0: rank", True),
    ("own", True),
    ("rank", True),
)
#: What gives way on a narrow screen.
_DROPPED = (3, 7)
_LONGEST_NAME = 26


def print_sensitivity(found: Mapping[str, Any], board: Mapping[str, Any], place: str) -> None:
    """Print rank and score on the core beside bounds and rankings on all ranked tasks.

    Parameters
    ----------
    found : ``diagnostics.json`` of a release
    board : its ``leaderboard.json``
    """
    rows = {row["id"]: row for row in found["models"]}
    told = (
        "# and on core: the ranking. The rest is about all ranked tasks. worst, best: the score if"
        " what is not valid counted 0, or 100, and the ranks that go with these. 0: the rank if it"
        " counted 0 for everybody. own: score and rank over each model's own valid answers.",
    )

    def draw(out: Console, screen: Screen) -> None:
        cells = [_cells(screen, m, rows[m["id"]]) for m in board["models"]]
        print_rows(out, screen, _HEADS, cells, _DROPPED)
        size = (
            f"{found['core_tasks']:,} of {found['ranked_tasks']:,} ranked tasks are in the core,"
            f" {len(rows)} models"
        )
        out.print(Text(size))
        for line in told:
            out.print(Text(line, style="dim"))
        out.print(Text(screen.text(f"Release: {place}", 4096), style="dim"), soft_wrap=True)

    show(draw, whole=True)


def _cells(screen: Screen, model: Mapping[str, Any], row: Mapping[str, Any]) -> list[str]:
    zero, own = row["invalid_as_zero"], row["available_cases"]
    low, high = row["bounds"]
    dash = screen.glyphs.dash
    missing = own["score"] is None
    return [
        str(model["rank"]),
        shorten(model["name"], _LONGEST_NAME, screen.glyphs.cut),
        f"{model['score']:.2f}",
        f"{row['valid']:,}",
        f"{low:.2f}{dash}{high:.2f}",
        dash.join(map(str, row["rank_bounds"])),
        str(zero["rank"]),
        dash if missing else f"{own['score']:.2f}",
        dash if missing else str(own["rank"]),
    ]

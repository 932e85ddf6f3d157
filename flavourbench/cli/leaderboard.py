"""``fb leaderboard``: the ranking of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flavourbench.cli.common import Json, echo_json

# The lone \b keeps the help from rewrapping the lines under it.
EXAMPLES = """\b
Examples:
  fb leaderboard                   the newest release in ./releases
  fb leaderboard release --json    another one, as JSON"""


def command(
    result: Annotated[
        Path | None,
        typer.Argument(
            metavar="RESULT",
            help="Release folder. Without it: this folder, or the newest one in ./releases.",
        ),
    ] = None,
    json_output: Json = False,
) -> None:
    """Show ranks, scores, simultaneous intervals, family scores and groups."""
    from flavourbench.analysis.release import find_release, read_leaderboard

    path = find_release(Path()) if result is None else result
    board = read_leaderboard(path)
    if json_output:
        echo_json(board)
        return
    from flavourbench.report.terminal import print_leaderboard

    print_leaderboard(board, footer=None if result is not None else f"Release: {path}")

"""``fb leaderboard``: the ranking of a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from flavourbench.cli.common import Json, echo_json, load_arrow
from flavourbench.cli.studies import MarginOption, reading, release_named
from flavourbench.errors import InputError

# The lone \b keeps the help from rewrapping the lines under it.
EXAMPLES = """\b
Examples:
  fb leaderboard                   the newest release here
  fb leaderboard --margin 3        and which pairs are within 3 points
  fb leaderboard release --json    another one, as JSON"""


def command(
    result: Annotated[
        Path | None,
        typer.Argument(
            metavar="RESULT",
            help="Release folder.  [default: this folder, else the newest one of the study or in"
            " ./releases]",
        ),
    ] = None,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity", help="Bounds and other rankings, for what the core left out."
        ),
    ] = False,
    margin: MarginOption = None,
    json_output: Json = False,
) -> None:
    """Show ranks, scores, simultaneous intervals, family scores, groups and letters.

    A pair that is not resolved may differ or not. With --margin those are counted that are
    shown to differ by less.
    """
    from flavourbench.analysis.equivalence import checked_margin, equivalence
    from flavourbench.analysis.release import read_core_share, read_leaderboard, read_pairs

    if margin is not None:
        checked_margin(margin)
        if sensitivity:
            raise InputError("--margin and --sensitivity are two views: give one of them")
    path = release_named(result)
    with reading(path):
        board = read_leaderboard(path)
        if margin is not None:
            load_arrow()
            board["equivalence"] = equivalence(read_pairs(path), margin)
        if sensitivity:
            _tell_sensitivity(path, board, json_output)
            return
        if json_output:
            echo_json(board)
            return
        from flavourbench.report.terminal import print_leaderboard

        footer = None if result is not None else f"Release: {path}"
        print_leaderboard(board, footer, core_share=read_core_share(path))


def _tell_sensitivity(path: Path, board: dict[str, Any], json_output: bool) -> None:
    from flavourbench.analysis.release import read_diagnostics

    found = read_diagnostics(path)
    if json_output:
        echo_json(found)
        return
    from flavourbench.report.sensitivity import print_sensitivity

    print_sensitivity(found, board, str(path))

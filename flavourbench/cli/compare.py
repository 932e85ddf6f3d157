"""``fb compare``: what parts two models of a release."""

from __future__ import annotations

from typing import Annotated

import typer

from flavourbench.cli.common import Json, echo_json, load_arrow, progress_bar
from flavourbench.cli.studies import MarginOption, ReleaseOption, reading, release_named

EXAMPLES = """\b
Examples:
  fb compare cook-6 cook-8-5          the newest release here, by id
  fb compare "GLM 5.2" opus           by display name, or a part of one
  fb compare a b --margin 3           are they within 3 points of each other?
  fb compare a b --release r --json   another one, with all tasks, as JSON"""

_HELP = "Id or display name of a model, or a part of one that no other has."


def command(
    first: Annotated[str, typer.Argument(metavar="A", help=_HELP)],
    second: Annotated[str, typer.Argument(metavar="B", help="The model to compare it with.")],
    release: ReleaseOption = None,
    margin: MarginOption = None,
    json_output: Json = False,
) -> None:
    """Show the difference of two models, its tests, families and panels, and what decides it.

    The difference and its tests are those of the release. Families and panels are analysed by
    themselves, with the draws, flips and seed of the release; they are descriptive.
    """
    load_arrow()
    from flavourbench.analysis.comparison import compare
    from flavourbench.analysis.equivalence import checked_margin
    from flavourbench.analysis.release import read_release

    if margin is not None:
        checked_margin(margin)
    path = release_named(release)
    with reading(path):
        stored = read_release(path)
        with progress_bar() as progress:
            found = compare(stored, first, second, margin, progress)
        if json_output:
            echo_json(found)
            return
        from flavourbench.report.comparison import print_comparison

        print_comparison(found, footer=None if release is not None else f"Release: {path}")

"""``fb item``: one task of a release, and what every model chose there."""

from __future__ import annotations

from typing import Annotated

import typer

from flavourbench.cli.common import Json, echo_json, load_arrow
from flavourbench.cli.studies import ReleaseOption, reading, release_named

EXAMPLES = """\b
Examples:
  fb item test-1-pairing-007          the newest release here, by end of id
  fb item t03 --release r --json      another one, as JSON"""


def command(
    task: Annotated[
        str,
        typer.Argument(metavar="TASK", help="Id of a task, or a part of one that no other has."),
    ],
    release: ReleaseOption = None,
    json_output: Json = False,
) -> None:
    """Show the ladder of a task's 56 portfolios with every model's choice on it.

    A release of a score table knows no portfolios: it has the models' scores at the task.
    """
    load_arrow()
    from flavourbench.analysis.item import item
    from flavourbench.analysis.release import read_release

    path = release_named(release)
    with reading(path):
        found = item(read_release(path), task)
        if json_output:
            echo_json(found)
            return
        from flavourbench.report.item import print_item

        print_item(found, footer=None if release is not None else f"Release: {path}")

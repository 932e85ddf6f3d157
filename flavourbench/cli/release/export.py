"""``fb release export``: a release in the published layout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flavourbench.cli.common import Json, echo_json, load_arrow
from flavourbench.cli.studies import ReleaseArgument, reading, release_named

EXAMPLES = """\b
Examples:
  fb release export --out published             the newest release
  fb release export releases/x-1 --out published --json"""


def command(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write.")],
    release: ReleaseArgument = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the export at --out.")] = False,
    json_output: Json = False,
) -> None:
    """Write tasks.jsonl, primary_observations.jsonl, leaderboard.csv and pairwise.csv.

    A release of a score table has neither tasks nor observations: it gives the two tables of
    figures alone.
    """
    load_arrow()
    from flavourbench.analysis.published import export_release

    path = release_named(release)
    with reading(path):
        made = export_release(path, out, force=force)
    if json_output:
        echo_json(made)
        return
    from flavourbench.report.published import print_export

    print_export(made)

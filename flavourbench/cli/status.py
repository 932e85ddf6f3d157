"""``fb status``: how a collection stands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flavourbench.cli.common import Json, echo_json

EXAMPLES = """\b
Examples:
  fb status                        journal.sqlite of this folder
  fb status study.sqlite --json"""


def command(
    journal: Annotated[
        Path, typer.Argument(metavar="JOURNAL", help="Journal, also one that is being written.")
    ] = Path("journal.sqlite"),
    json_output: Json = False,
) -> None:
    """Show coverage, outcomes with reasons, spend, and what is left."""
    from flavourbench.collect.status import journal_status

    status = journal_status(journal)
    if json_output:
        echo_json(status)
        return
    from flavourbench.report.collect import print_status

    print_status(status)

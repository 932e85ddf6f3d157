"""``fb status``: how a collection stands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flavourbench.cli.common import Json, echo_json
from flavourbench.cli.studies import journal_named

EXAMPLES = """\b
Examples:
  fb status                        the journal of the study, or journal.sqlite
  fb status study.sqlite --json"""


def command(
    journal: Annotated[
        Path | None,
        typer.Argument(
            metavar="JOURNAL",
            help="Journal, also one that is being written."
            "  [default: that of the study, else journal.sqlite]",
        ),
    ] = None,
    json_output: Json = False,
) -> None:
    """Show coverage, outcomes with reasons, spend, and what is left."""
    from flavourbench.collect.status import journal_status

    status = journal_status(journal_named(journal))
    if json_output:
        echo_json(status)
        return
    from flavourbench.report.collect import print_status

    print_status(status)

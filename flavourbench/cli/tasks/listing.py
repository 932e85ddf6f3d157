"""``fb tasks list``: the panels of a folder, or the tasks of a panel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flavourbench.cli.common import Json, echo_json, load_arrow
from flavourbench.cli.tasks.shared import PLACE_HELP
from flavourbench.errors import InputError

EXAMPLES = """\b
Examples:
  fb tasks list                                       the panels in ./panels, or bundled
  fb tasks list panels/test-1 --family constraint     tasks of one panel
  fb tasks list train_tasks.jsonl --json"""


def command(
    place: Annotated[Path | None, typer.Argument(metavar="PLACE", help=PLACE_HELP)] = None,
    family: Annotated[str | None, typer.Option(help="Only tasks of this family.")] = None,
    json_output: Json = False,
) -> None:
    """List the panels of a folder, or the tasks of one panel."""
    load_arrow()
    from flavourbench.tasks.answers import task_rows
    from flavourbench.tasks.files import default_place, located, read_tasks, summaries

    place = default_place() if place is None else located(place)
    panels = summaries(place)
    if panels is not None:
        if family is not None:
            raise InputError(f"--family needs one panel: name one of those in {place}")
        if json_output:
            echo_json(panels)
            return
        from flavourbench.report.tasks import print_panels

        print_panels(panels, str(place))
        return
    tasks = read_tasks(place)
    if family is not None:
        tasks = tasks.of_family(family)
    rows = task_rows(tasks)
    if json_output:
        echo_json(rows)
        return
    from flavourbench.report.tasks import print_task_list

    print_task_list(rows, str(place))

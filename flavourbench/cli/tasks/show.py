"""``fb tasks show``: one task, with the scores of all its portfolios."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flavourbench.cli.common import Json, echo_json, load_arrow
from flavourbench.cli.tasks.shared import PLACE_HELP, Scorer, scoring_environment
from flavourbench.errors import InputError, listed

EXAMPLES = """\b
Examples:
  fb tasks show fb-294e1b29-test-1-pairing-007
  fb tasks show fb-executable-pairing-002 --tasks train_tasks.jsonl --mark ABC"""


def command(
    task_id: Annotated[str, typer.Argument(metavar="TASK_ID", help="Id of the task.")],
    tasks: Annotated[Path | None, typer.Option(metavar="PLACE", help=PLACE_HELP)] = None,
    mark: Annotated[
        str | None, typer.Option(metavar="LABELS", help="Portfolio to mark, as ACF.")
    ] = None,
    env: Scorer = None,
    json_output: Json = False,
) -> None:
    """Show prompt, candidates with their tags, and the ladder of all 56 portfolios."""
    load_arrow()
    from flavourbench.tasks.answers import portfolio, task_object
    from flavourbench.tasks.files import default_place, find_task, located
    from flavourbench.tasks.verify import unknown_items

    marked = None if mark is None else portfolio(mark)
    place = default_place() if tasks is None else located(tasks)
    found, task = find_task(place, task_id)
    environment = scoring_environment(found, env)
    unknown = [] if environment is None else unknown_items([task], environment)
    if environment is not None and unknown:
        raise InputError(f"environment {environment.name} has no {listed(unknown)}: use another")
    described = task_object(task, environment, marked)
    if json_output:
        echo_json(described)
        return
    from flavourbench.report.tasks import print_task

    print_task(described)

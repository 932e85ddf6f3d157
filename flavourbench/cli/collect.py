"""``fb collect``: ask the models of a roster, and write every answer into a journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flavourbench.cli.common import Json, echo_json, load_arrow
from flavourbench.cli.studies import journal_named, roster_named, tasks_named

if TYPE_CHECKING:
    from flavourbench.collect.plan import Job

EXAMPLES = """\b
Examples:
  fb collect roster.toml --dry-run              requests, tokens and cost
  fb collect roster.toml --limit 6              a smoke run
  fb collect roster.toml --budget 25            go on, up to 25 dollars in all
  fb collect roster.toml --tasks test-1 --model my-model
  fb status                                     how it stands, also meanwhile"""

RosterFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="ROSTER",
        help="TOML file of models (see docs/collect.md)."
        "  [default: that of the study, else roster.toml]",
    ),
]
Panels = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="PANEL",
        help="Panel folder, published task file or bundled panel. Repeatable."
        "  [default: those of the study, else the test panels in ./panels, else the bundled"
        " ones]",
    ),
]
Journal = Annotated[
    Path | None,
    typer.Option(
        help="Journal to write; one that exists is continued."
        "  [default: that of the study, else journal.sqlite]"
    ),
]


def command(
    roster: RosterFile = None,
    tasks: Panels = None,
    journal: Journal = None,
    model: Annotated[
        list[str] | None, typer.Option(metavar="SLOT", help="Only this model. Repeatable.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only so many tasks, of all families in turn.")
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, max=1000, help="Ask each task so many times (test-retest).")
    ] = 1,
    budget: Annotated[
        float | None,
        typer.Option(metavar="DOLLARS", min=0, help="Most that this journal may cost in all."),
    ] = None,
    max_requests: Annotated[
        int | None, typer.Option(min=1, help="Most requests that this journal may hold.")
    ] = None,
    retry_transport: Annotated[
        bool, typer.Option("--retry-transport", help="Ask cells that ended in transport again.")
    ] = False,
    new_block: Annotated[
        list[str] | None,
        typer.Option(metavar="SLOT", help="This model's route was changed on purpose. Repeatable."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it takes; nothing is sent.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Collect responses of the models in a roster.

    Every request and answer is on disk before it is read, so nothing that was answered is
    asked again: interrupt it, and run the same command to go on. Exit code 1 when cells are
    left, or failed.
    """
    load_arrow()
    from flavourbench.collect.journal.claims import Limits
    from flavourbench.collect.plan import Job

    chosen = roster_named(roster)
    asked = tasks_named(tasks)
    place = journal_named(journal)
    job = Job(
        chosen.only(model) if model else chosen,
        asked if limit is None else asked.smoke(limit),
        repeats=repeat,
        limits=Limits.of(budget, max_requests),
        retry_transport=retry_transport,
        new_blocks=tuple(new_block or ()),
    )
    if dry_run:
        _tell_estimates(job, place, json_output)
        return
    _collect(job, place, json_output)


def _tell_estimates(job: Job, journal: Path, json_output: bool) -> None:
    from flavourbench.collect.estimate import estimate_object

    found = estimate_object(job, journal)
    if json_output:
        echo_json(found)
        return
    from flavourbench.report.collect import print_estimates

    print_estimates(found)


def _collect(job: Job, journal: Path, json_output: bool) -> None:
    from flavourbench.cli.collecting import run_collector
    from flavourbench.collect.completeness import check_complete
    from flavourbench.collect.status import journal_status

    collector = run_collector(journal, job)
    status = journal_status(journal)
    if json_output:
        echo_json(status)
    else:
        from flavourbench.report.collect import print_status

        print_status(status)
    check_complete(collector, job.limits, status)

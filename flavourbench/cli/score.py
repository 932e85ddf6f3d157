"""``fb score``: answers in hand against a panel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flavourbench.analysis.plan import Plan
from flavourbench.cli.common import Json, echo_json, load_arrow, progress_bar
from flavourbench.cli.studies import study_here, tasks_named
from flavourbench.errors import CheckError, InputError, shown

if TYPE_CHECKING:
    from flavourbench.tasks.reward import Grade
    from flavourbench.tasks.taskset import TaskSet

DEFAULT = Plan()
EXAMPLES = """\b
Examples:
  fb tasks template test-1 answers.jsonl              the file to fill in
  fb score answers.jsonl --tasks test-1
  fb score answers.jsonl --tasks test-1 --tasks test-2 --json
  fb score journal.sqlite --model my-model --tasks test-1"""


def command(
    responses: Annotated[
        Path,
        typer.Argument(
            metavar="RESPONSES",
            help='JSONL, one answer a line: {"task_id": …, "response": "…"}; null is missing.'
            " Or a journal of fb collect.",
        ),
    ],
    tasks: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PANEL",
            help="Panel folder, published task file or bundled panel. Repeatable: panels count"
            " the same.  [default: those of the study]",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="SLOT", help="Which model of a journal.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="As of fb collect, with the same --tasks."),
    ] = None,
    draws: Annotated[int, typer.Option(help="Bootstrap draws.")] = DEFAULT.draws,
    flips: Annotated[int, typer.Option(help="Sign flips.")] = DEFAULT.flips,
    seed: Annotated[int, typer.Option(help="Seed of all random words.")] = DEFAULT.seed,
    json_output: Json = False,
) -> None:
    """Score one model's answers: by task and family, with an interval and a test.

    There is a comparable score only if every task has a valid answer; else the exit code is
    1, and it says what is missing.
    """
    plan = Plan(draws, flips, seed)
    load_arrow()
    from flavourbench.analysis.scoring import score_model, score_object

    if not tasks and study_here() is None:
        raise InputError("no panel, and no study here or above: name panels with --tasks")
    chosen = tasks_named(tasks)
    some = chosen if limit is None else chosen.smoke(limit)
    graded, notes = _graded(responses, model, some)
    if len(some) < len(chosen):
        notes.append(
            f"Only {len(some)} of {len(chosen)} tasks: comparable with the same --limit alone."
        )
    with progress_bar():
        found = score_model(graded, plan, notes=notes)
    if json_output:
        echo_json(score_object(found))
    else:
        from flavourbench.report.tasks import print_score

        print_score(score_object(found), ", ".join(map(str, tasks or chosen.panels)))
    if not found.comparable:
        raise CheckError(found.lacking)


def _graded(responses: Path, model: str | None, tasks: TaskSet) -> tuple[list[Grade], list[str]]:
    from flavourbench.collect.journal.opening import is_journal
    from flavourbench.tasks.responses import read_responses
    from flavourbench.tasks.reward import grades

    if is_journal(responses):
        from flavourbench.analysis.collected import graded_journal

        return graded_journal(responses, model, tasks)
    if model is not None:
        raise InputError(f"--model chooses from a journal, which {shown(responses)} is not")
    return grades(tasks, read_responses(responses, tasks)), []

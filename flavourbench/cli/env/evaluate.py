"""``fb env evaluate``: how good an environment is, measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flavourbench.cli.common import Json, echo_json, load_arrow, progress_bar
from flavourbench.cli.env.shared import Tables
from flavourbench.errors import InputError

if TYPE_CHECKING:
    from flavourbench.environment import Environment

EXAMPLES = """\b
Examples:
  fb env evaluate                                   completion of real recipes
  fb env evaluate --tasks train_tasks.jsonl --tasks validation_tasks.jsonl
  fb env evaluate --env epicure-cooc --tasks train_tasks.jsonl --json
  fb env evaluate --all --tasks train_tasks.jsonl   every way to build the pantry"""


def command(
    tables: Tables = None,
    env: Annotated[
        str | None,
        typer.Option(
            "--env",
            metavar="NAME",
            help="Environment to take as it is: a stored one, or a folder.  [default: pantry]",
        ),
    ] = None,
    tasks: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Released tasks to agree with (JSONL); may be repeated."),
    ] = None,
    flags: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Take diet and NOVA flags from this tags file (CSV) instead."
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Measure every method tried for building, side by side.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Measure how an environment completes recipes, or agrees with released tasks.

    Without --tasks each ingredient of every recipe of the tables is hidden once and ranked
    among all others. What is built from the tables is built anew without the recipes of each
    fold; what --env names is taken as it is. About half a minute; --all some minutes.

    With --tasks the environment answers released tasks by itself and is scored by their score
    maps, which never enter a build. With --all both are measured.
    """
    if env is not None and every:
        raise InputError("--all builds the tables in every way: it takes no --env")
    if env is not None and tasks and tables is not None:
        raise InputError("--env answers the tasks by itself: give no tables")
    if flags is not None and not tasks:
        raise InputError("--flags belongs to tasks: name them with --tasks")
    load_arrow()
    from flavourbench.environment.pantry.build import METHOD, METHODS, build_environment
    from flavourbench.environment.pantry.evaluate import completion
    from flavourbench.environment.pantry.tables import FOLDER, read_tables
    from flavourbench.environment.store import BUILT_IN, is_built_in, open_environment

    found: dict[str, Any] = {}
    label = BUILT_IN if tables is None else tables.resolve().name
    methods = {name: name for name in METHODS} if every else {label: METHOD}
    if every or tables is not None or not tasks:
        read = read_tables(FOLDER if tables is None else tables)
    if tasks:
        if every or tables is not None:
            made = [build_environment(read, name, method) for name, method in methods.items()]
        else:
            made = [open_environment(env)]
        found |= _agreements(made, tasks, flags)
    if every or not tasks:
        own = env is None or (is_built_in(env) and tables is None)
        fixed = None if own else open_environment(env)
        with progress_bar() as progress:
            found["completion"] = completion(read, methods, fixed, progress)
    if json_output:
        echo_json(found)
        return
    from flavourbench.report.pantry import print_evaluation

    print_evaluation(found)


def _agreements(made: list[Environment], tasks: list[Path], flags: Path | None) -> dict[str, Any]:
    from flavourbench.environment.tagfile import read_tags
    from flavourbench.tasks.agreement import agreement, with_flags
    from flavourbench.tasks.files import located, read_all

    released = read_all([located(path) for path in tasks])
    if flags is not None:
        theirs = read_tags(flags).tags
        made = [with_flags(environment, theirs) for environment in made]
    found = {environment.name: agreement(released, environment) for environment in made}
    about = {"flags": "own" if flags is None else str(flags)}
    if len(made) > 1:
        return about | {"agreements": found}
    return about | {"environment": made[0].name, "agreement": found[made[0].name]}

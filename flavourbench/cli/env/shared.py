"""What the commands of ``fb env`` share: options, and opening an environment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flavourbench.cli.common import echo_json, load_arrow

if TYPE_CHECKING:
    from flavourbench.environment import Environment

Items = Annotated[
    list[str],
    typer.Argument(
        metavar="ITEM",
        help="Ingredients as you would type them: case, plural, spaces and common synonyms"
        " are understood.",
    ),
]
#: Names the environment of commands that are not told one.
VARIABLE = "FLAVOURBENCH_ENV"
Env = Annotated[
    str | None,
    typer.Option(
        "--env",
        metavar="NAME",
        envvar=VARIABLE,
        help="Stored environment, or an environment folder.  [default: the built-in pantry]",
    ),
]
EnvArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="NAME",
        envvar=VARIABLE,
        help="Stored environment, or an environment folder.  [default: the built-in pantry]",
    ),
]
TagsFile = Annotated[
    Path | None,
    typer.Option(
        "--tags",
        metavar="FILE",
        help="Tags of a snapshot (CSV).  [default: ingredient_tags.csv in the folder]",
    ),
]
Tables = Annotated[
    Path | None,
    typer.Argument(
        metavar="TABLES",
        help="Folder with ingredients.csv, dishes.csv and recipes.csv.  [default: the package's]",
    ),
]
Name = Annotated[
    str | None,
    typer.Option("--name", help="Name to store it under.  [default: that of the source]"),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a stored one of that name.")]
Count = Annotated[int, typer.Option("-k", "--k", min=1, max=10_000, help="Results for each item.")]
Diet = Annotated[
    str | None,
    typer.Option(
        "--diet",
        help="vegan or vegetarian.",
        callback=lambda text: text if text is None else text.strip().lower(),
    ),
]
MaxNova = Annotated[
    int | None, typer.Option("--max-nova", help="Highest NOVA level, 1 to 4; unknown fails.")
]


def opened(env: str | None) -> Environment:
    """The environment to ask.

    Raises
    ------
    InputError
        There is none of that name, or none at all.
    """
    load_arrow()
    from flavourbench.environment import open_environment

    return open_environment(env)


def print_or_echo(answers: Sequence[dict[str, Any]], environment: Environment, json: bool) -> None:
    """Print answers as JSON, or as one table for each query."""
    if json:
        echo_json([*answers])
        return
    from flavourbench.report.environment import print_answers

    print_answers(answers, environment.described)


def store(
    environment: Environment,
    force: bool,
    json: bool,
    out: Path | None = None,
    about: dict[str, Any] | None = None,
) -> None:
    """Store an environment under its name, or write it to the folder ``out``, and say so.

    ``about`` is more to say, printed in JSON alone.
    """
    from flavourbench.environment.store import store_folder, write_environment

    path = store_folder() / environment.name if out is None else out
    write_environment(environment, path, force=force)
    stored = {
        "name": environment.name,
        "identity": environment.identity,
        "items": len(environment),
        "dimensions": environment.dimensions,
        "path": str(path),
    }
    if json:
        echo_json(stored | (about or {}))
        return
    from flavourbench.report.environment import print_stored

    print_stored(stored)

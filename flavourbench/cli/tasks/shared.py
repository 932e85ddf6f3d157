"""What the commands of ``fb tasks`` share."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from flavourbench.environment import Environment
    from flavourbench.tasks.taskset import TaskSet


def located(path: Path) -> Path:
    """The panel that a typed path means: its place, or a bundled one of that name."""
    from flavourbench.tasks.files import located

    return located(path)


Panel = Annotated[
    Path,
    typer.Argument(
        metavar="PANEL",
        help="Panel folder, published task file (JSONL), or a bundled panel by name (test-1).",
        callback=located,
    ),
]
PLACE_HELP = (
    "Folder of panels, panel folder, published task file or bundled panel.  [default: ./panels,"
    " else the bundled ones]"
)
Scorer = Annotated[
    str | None,
    typer.Option(
        "--env",
        metavar="NAME",
        help="Environment that scored the tasks.  [default: the stored one that the panel names]",
    ),
]
OutFile = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="File to write; else standard output.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]


def write_or_print(lines: list[str], out: Path | None, force: bool) -> None:
    """Write lines of JSON to a file, or to standard output.

    Raises
    ------
    InputError
        The file exists (and ``force`` is not given), or cannot be written.
    """
    from flavourbench.errors import InputError
    from flavourbench.folders import new_file

    data = "".join(f"{line}\n" for line in lines).encode()
    if out is not None:
        new_file(out, data, force=force)
    elif force:
        raise InputError("--force replaces a file: name it")
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)


def tell_panel(panel: Path, env: str | None, json_output: bool) -> None:
    """Verify a panel folder or a published task file, and print what was checked.

    Raises
    ------
    CheckError
        A check failed.
    """
    from flavourbench.cli.common import load_arrow, tell_checks

    load_arrow()
    from flavourbench.tasks.verify import verify

    checks = verify(panel, lambda tasks: scoring_environment(tasks, env))
    tell_checks("panel", panel, checks, json_output)


def scoring_environment(tasks: TaskSet, env: str | None) -> Environment | None:
    """The environment of that name, else the stored one that a panel names, if there is one.

    Raises
    ------
    InputError
        There is none of that name.
    """
    from flavourbench.environment.store import open_environment, open_identity

    if env is not None:
        return open_environment(env)
    return open_identity(tasks.environment.get("identity", ""))

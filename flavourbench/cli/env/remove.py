"""``fb env remove``: delete a stored environment."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from flavourbench.cli.common import Json, echo_json, note
from flavourbench.errors import InputError, shown

EXAMPLES = """\b
Examples:
  fb env remove epicure-cooc
  fb env remove epicure-cooc --yes --json"""


def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Stored environment.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False,
    json_output: Json = False,
) -> None:
    """Delete a stored environment, be it a damaged one.

    Asks on a terminal; elsewhere --yes is needed. Environment folders of your own stay.
    """
    from flavourbench.environment.store import remove_environment, stored_path

    stored_path(name)  # no question about none
    if not yes:
        if not (sys.stdin and sys.stdin.isatty()):
            raise InputError(f"{shown(name)} is not removed without being asked: pass --yes")
        if not typer.confirm(f"Remove the environment {shown(name)}?", err=True):
            note("nothing is removed")
            return
    path = remove_environment(name)
    if json_output:
        echo_json({"name": name, "path": str(path)})
        return
    from flavourbench.report.environment import print_removed

    print_removed(name, str(path))

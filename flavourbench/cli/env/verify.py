"""``fb env verify``: derive an environment's digests again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flavourbench.cli.common import Json, load_arrow, tell_checks
from flavourbench.cli.env.shared import EnvArgument, TagsFile
from flavourbench.errors import InputError

EXAMPLES = """\b
Examples:
  fb env verify epicure-cooc
  fb env verify epicure-cooc --source SNAPSHOT_DIR --tags TAGS.csv"""


def command(
    env: EnvArgument = None,
    source: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Bundle to read anew and compare with."),
    ] = None,
    tags: TagsFile = None,
    json_output: Json = False,
) -> None:
    """Check an environment's files, content and identity.

    The exit code is 1 if anything is wrong.
    """
    if tags is not None and source is None:
        raise InputError("--tags belongs to a bundle: name it with --source")
    load_arrow()
    from flavourbench.environment import read_bundle
    from flavourbench.environment.store import find, verify

    path = find(env)
    bundle = None if source is None else read_bundle(source, tags)
    tell_checks("environment", path, verify(path, bundle), json_output)

"""``fb env import``: a published bundle becomes a stored environment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from flavourbench.cli.common import Json, load_arrow
from flavourbench.cli.env.shared import Force, Name, TagsFile, store

EXAMPLES = """\b
Examples:
  fb env import epicure-cooc --tags ingredient_tags.csv
  fb env import server/data --name epicure-core --json"""


def command(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="A model snapshot (embeddings.safetensors, vocab.json) or a server data folder"
            " (embeddings.csv, ingredient_tags.csv).",
        ),
    ],
    tags: TagsFile = None,
    name: Name = None,
    force: Force = False,
    json_output: Json = False,
) -> None:
    """Store a published Epicure bundle as an environment.

    Rows and tags are joined by name. Nothing is stored unless all of it is right.
    """
    load_arrow()
    from flavourbench.environment import read_bundle
    from flavourbench.environment.store import check_free

    label = Path(os.path.realpath(folder)).name.lower() if name is None else name
    check_free(label, force=force)
    store(read_bundle(folder, tags, label), force, json_output)

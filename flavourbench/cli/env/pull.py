"""``fb env pull``: download a published snapshot and store it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from flavourbench.cli.common import Json, load_arrow
from flavourbench.cli.env.shared import Force, Name, TagsFile, store
from flavourbench.errors import InputError

EXAMPLES = """\b
Examples:
  fb env pull --tags ingredient_tags.csv
  fb env pull Kaikaku/epicure-core --revision COMMIT --tags ingredient_tags.csv"""


def command(
    repository: Annotated[
        str | None,
        typer.Argument(
            metavar="REPOSITORY",
            help="Model repository on the Hugging Face hub.  [default: Kaikaku/epicure-cooc]",
        ),
    ] = None,
    revision: Annotated[
        str | None,
        typer.Option(metavar="COMMIT", help="Full commit. Needed where no content is pinned."),
    ] = None,
    tags: TagsFile = None,
    name: Name = None,
    force: Force = False,
    json_output: Json = False,
) -> None:
    """Download a published snapshot and store it.

    Needs the extra `flavourbench[hub]`. A snapshot has no tags: pass the tags file
    published with the Epicure server.
    """
    load_arrow()
    from flavourbench.environment import read_bundle
    from flavourbench.environment.hub import DEFAULT_REPOSITORY, download
    from flavourbench.environment.store import check_free
    from flavourbench.environment.tagfile import TAGS_FILE, read_tags

    if tags is None:
        raise InputError(
            f"a snapshot has no tags: pass --tags FILE, the {TAGS_FILE} published with the"
            " Epicure server"
        )
    read_tags(tags)  # before the download that would be in vain
    source = repository or DEFAULT_REPOSITORY
    label = source.rpartition("/")[2].lower() if name is None else name
    check_free(label, force=force)
    found = download(source, revision)
    environment = read_bundle(found.folder, tags, label)
    origin = {**found.origin, **environment.provenance}
    store(replace(environment, provenance=origin), force, json_output)

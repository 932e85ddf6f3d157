"""``fb env build``: tables of ingredients, dishes and recipes become an environment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flavourbench.cli.common import Json, load_arrow, note
from flavourbench.cli.env.shared import Force, Tables, store

EXAMPLES = """\b
Examples:
  fb env build                                   the pantry anew, stored as pantry-rebuilt
  fb env build my-tables --name my-kitchen       from tables of your own
  fb env build my-tables --out environment       into a folder instead of the store"""


def command(
    tables: Tables = None,
    name: Annotated[str, typer.Option("--name", help="Name to store it under.")] = "pantry-rebuilt",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write it here, not to the store.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="How rows are made, see `fb env evaluate --all`.  [default: the best]"),
    ] = None,
    force: Force = False,
    json_output: Json = False,
) -> None:
    """Build an environment from tables, by default those of the package.

    The tables are ingredients.csv, dishes.csv and recipes.csv in one folder: copy those of the
    package, change them, build. The build is deterministic; on another machine cosines may
    differ in the last digits, so the frozen environment of the package stays the truth.
    """
    load_arrow()
    from flavourbench.environment.pantry.build import METHOD, build_environment
    from flavourbench.environment.pantry.tables import FOLDER, read_tables, unmet
    from flavourbench.environment.store import check_free, check_name, check_target
    from flavourbench.errors import listed

    if out is None:
        check_free(name, force=force)
    else:
        check_name(name)
        check_target(out, force=force)
    read = read_tables(FOLDER if tables is None else tables)
    alone = unmet(read)
    if alone and not json_output:
        note(f"{len(alone)} ingredients of no dish and no recipe: {listed(alone, 5)}")
    environment = build_environment(
        read, name, METHOD if method is None else method, own=tables is not None
    )
    store(environment, force, json_output, out, {"unmet": alone})

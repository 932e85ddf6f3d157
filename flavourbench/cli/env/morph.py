"""``fb env morph``: items turned toward a region or another item."""

from __future__ import annotations

from typing import Annotated

import typer

from flavourbench.cli.common import Json
from flavourbench.cli.env.shared import Count, Env, Items, opened, print_or_echo

EXAMPLES = """\b
Examples:
  fb env morph chicken --to Japanese
  fb env morph rice pasta --to South_Asian --angle 45 -k 5
  fb env morph butter --to "olive oil" --json"""


def command(
    items: Items,
    target: Annotated[str, typer.Option("--to", metavar="TARGET", help="A region or an item.")],
    angle: Annotated[float, typer.Option(help="Degrees of the rotation, 0 to 180.")] = 30.0,
    k: Count = 10,
    env: Env = None,
    json_output: Json = False,
) -> None:
    """Turn each item toward a target and show the nearest.

    Its row is rotated by a fixed angle toward a region's direction or another item.
    """
    environment = opened(env)
    from flavourbench.environment import answers

    found = answers.morph(environment, items, target, angle, k)
    print_or_echo(found, environment, json_output)

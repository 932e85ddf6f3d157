"""``fb env pairings``: what goes well with items."""

from __future__ import annotations

from typing import Annotated

import typer

from flavourbench.cli.common import Json
from flavourbench.cli.env.shared import Count, Diet, Env, Items, MaxNova, opened, print_or_echo

EXAMPLES = """\b
Examples:
  fb env pairings chicken
  fb env pairings tomato basil --together      what goes with both
  fb env pairings salmon --diet vegan --max-nova 2 --json"""


def command(
    items: Items,
    k: Count = 10,
    diet: Diet = None,
    max_nova: MaxNova = None,
    together: Annotated[
        bool, typer.Option("--together", help="Ask for all items at once, by mean similarity.")
    ] = False,
    env: Env = None,
    json_output: Json = False,
) -> None:
    """Show the best items of complementary categories.

    With --diet or --max-nova infeasible ones are dropped and counted. These flags are rules
    of the benchmark, not dietary or allergen advice.
    """
    environment = opened(env)
    from flavourbench.environment import answers

    found = answers.pairings(environment, items, k, diet, max_nova, together=together)
    print_or_echo(found, environment, json_output)

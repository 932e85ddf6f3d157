"""``fb env substitutes``: what can stand in for an item."""

from __future__ import annotations

from flavourbench.cli.common import Json
from flavourbench.cli.env.shared import Count, Env, Items, opened, print_or_echo

EXAMPLES = """\b
Examples:
  fb env substitutes butter
  fb env substitutes prawns cilantro -k 5 --json"""


def command(items: Items, k: Count = 10, env: Env = None, json_output: Json = False) -> None:
    """Show similar items that could stand in for each one.

    They have the same category, share a region (universal shares all) and no word of the
    name.
    """
    environment = opened(env)
    from flavourbench.environment import answers

    print_or_echo(answers.substitutes(environment, items, k), environment, json_output)

"""``fb env neighbors``: the most similar items."""

from __future__ import annotations

from flavourbench.cli.common import Json
from flavourbench.cli.env.shared import Count, Env, Items, opened, print_or_echo

EXAMPLES = """\b
Examples:
  fb env neighbors chicken
  fb env neighbors "bay leaf" aubergine -k 5 --json"""


def command(items: Items, k: Count = 10, env: Env = None, json_output: Json = False) -> None:
    """Show the items most similar to each one (cosine)."""
    environment = opened(env)
    from flavourbench.environment import answers

    print_or_echo(answers.neighbors(environment, items, k), environment, json_output)

"""``fb env region``: how typical items are of each region."""

from __future__ import annotations

from flavourbench.cli.common import Json
from flavourbench.cli.env.shared import Env, Items, opened, print_or_echo

EXAMPLES = """\b
Examples:
  fb env region miso
  fb env region oregano cumin --json"""


def command(items: Items, env: Env = None, json_output: Json = False) -> None:
    """Show how typical each item is of every region.

    The figure is its projection on the region's direction: the cosine with it.

    p10 and p90 are over all items. "tag" says whether the item carries the region's tag.
    """
    environment = opened(env)
    from flavourbench.environment import answers

    print_or_echo(answers.regions(environment, items), environment, json_output)

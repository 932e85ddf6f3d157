"""``fb env feasible``: whether items pass a diet and a NOVA cap."""

from __future__ import annotations

from flavourbench.cli.common import Json, echo_json
from flavourbench.cli.env.shared import Diet, Env, Items, MaxNova, opened

EXAMPLES = """\b
Examples:
  fb env feasible honey tofu --diet vegan
  fb env feasible bread --max-nova 2 --json"""


def command(
    items: Items,
    diet: Diet = None,
    max_nova: MaxNova = None,
    env: Env = None,
    json_output: Json = False,
) -> None:
    """Show whether each item is feasible, and why not.

    Diet and NOVA flags are rules of the benchmark, not dietary or allergen advice.
    """
    environment = opened(env)
    from flavourbench.environment import answers

    found = answers.feasible(environment, items, diet, max_nova)
    if json_output:
        echo_json([*found])
        return
    from flavourbench.report.environment import print_verdicts

    print_verdicts(found, environment.described)

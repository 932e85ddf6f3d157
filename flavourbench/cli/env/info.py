"""``fb env info``: what an environment holds."""

from __future__ import annotations

from flavourbench.cli.common import Json, echo_json
from flavourbench.cli.env.shared import EnvArgument, opened

EXAMPLES = """\b
Examples:
  fb env info
  fb env info epicure-cooc --json"""


def command(env: EnvArgument = None, json_output: Json = False) -> None:
    """Show size, identity, origin, tags and flags.

    Diet and NOVA flags are rules of the benchmark, not dietary or allergen advice.
    """
    environment = opened(env)
    from flavourbench.environment.answers import description

    described = description(environment)
    if json_output:
        echo_json(described)
        return
    from flavourbench.report.environment import print_description

    print_description(described)

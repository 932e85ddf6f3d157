"""``fb env resolve``: which items typed names stand for."""

from __future__ import annotations

from flavourbench.cli.common import Json, echo_json
from flavourbench.cli.env.shared import Env, Items, opened
from flavourbench.errors import InputError, listed

EXAMPLES = """\b
Examples:
  fb env resolve Tomatoes "spring onion" aubergine
  fb env resolve cheddar --json"""


def command(items: Items, env: Env = None, json_output: Json = False) -> None:
    """Show the item that each typed name stands for.

    Exact names come first, then case, plural and separators, then synonyms. A name that
    stands for nothing is shown with suggestions, and the exit code is 2.
    """
    environment = opened(env)
    from flavourbench.environment import answers

    found = answers.resolutions(environment, items)
    if json_output:
        echo_json([*found])
    else:
        from flavourbench.report.environment import print_verdicts

        print_verdicts(found, environment.described)
    missed = [answer["query"] for answer in found if answer["item"] is None]
    if missed:
        what = f"{len(missed)} of {len(items)} names stand for no item"
        raise InputError(f"{what}: {listed(missed, 5)}")

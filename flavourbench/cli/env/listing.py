"""``fb env list``: the environments."""

from __future__ import annotations

from flavourbench.cli.common import Json, echo_json

EXAMPLES = """\b
Examples:
  fb env list
  fb env list --json"""


def command(json_output: Json = False) -> None:
    """List the built-in and the stored environments, and where these are."""
    from flavourbench.environment.store import store_folder, summaries

    found = summaries()
    if json_output:
        echo_json(found)
        return
    from flavourbench.report.environment import print_list

    print_list(found, str(store_folder()))

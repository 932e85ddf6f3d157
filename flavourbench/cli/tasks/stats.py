"""``fb tasks stats``: what a panel is like, family by family."""

from __future__ import annotations

from flavourbench.cli.common import Json, echo_json, load_arrow
from flavourbench.cli.tasks.shared import Panel

EXAMPLES = """\b
Examples:
  fb tasks stats test-1                        a bundled panel
  fb tasks stats train_tasks.jsonl --json"""


def command(panel: Panel, json_output: Json = False) -> None:
    """Show tasks, chance level, top gap, distinct scores and strata of each family."""
    load_arrow()
    from flavourbench.tasks.diagnostics import statistics
    from flavourbench.tasks.files import read_tasks

    found = statistics(read_tasks(panel))
    if json_output:
        echo_json(found)
        return
    from flavourbench.report.tasks import print_statistics

    print_statistics(found, str(panel))

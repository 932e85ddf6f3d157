"""``fb tasks export``: a panel in the published format."""

from __future__ import annotations

from flavourbench.cli.common import load_arrow
from flavourbench.cli.tasks.shared import Force, OutFile, Panel, write_or_print

EXAMPLES = """\b
Examples:
  fb tasks export test-1 tasks.jsonl
  fb tasks export panels/test-1 | head -1"""


def command(panel: Panel, out: OutFile = None, force: Force = False) -> None:
    """Write a panel as published task file, one task a line.

    What was imported comes out as the same bytes.
    """
    load_arrow()
    from flavourbench.tasks.files import read_tasks
    from flavourbench.tasks.published import published_rows

    write_or_print(published_rows(read_tasks(panel)), out, force)

"""``fb tasks template``: the file of answers to fill in."""

from __future__ import annotations

from flavourbench.cli.common import load_arrow
from flavourbench.cli.tasks.shared import Force, OutFile, Panel, write_or_print

EXAMPLES = """\b
Examples:
  fb tasks template test-1 answers.jsonl
  fb tasks template panels/test-1 | my-model > answers.jsonl"""


def command(panel: Panel, out: OutFile = None, force: Force = False) -> None:
    """Write one line a task: its id, its prompt, and a response of null to fill in.

    Then: fb score FILE --tasks PANEL.
    """
    load_arrow()
    from flavourbench.tasks.files import read_tasks
    from flavourbench.tasks.responses import template_lines

    write_or_print(template_lines(read_tasks(panel)), out, force)

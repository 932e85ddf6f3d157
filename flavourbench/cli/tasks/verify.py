"""``fb tasks verify``: derive again what a panel states."""

from __future__ import annotations

from flavourbench.cli.common import Json
from flavourbench.cli.tasks.shared import Panel, Scorer, tell_panel

EXAMPLES = """\b
Examples:
  fb tasks verify test-1
  fb tasks verify panels/test-1 --env epicure-cooc --json
  fb tasks verify train_tasks.jsonl --env epicure-cooc"""


def command(panel: Panel, env: Scorer = None, json_output: Json = False) -> None:
    """Check files, prompts, labels and rules; with the environment every score too.

    The exit code is 1 if anything is wrong.
    """
    tell_panel(panel, env, json_output)

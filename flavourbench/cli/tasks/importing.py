"""``fb tasks import``: published task files become a panel folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flavourbench.cli.common import Json, echo_json, load_arrow
from flavourbench.cli.tasks.shared import Force

EXAMPLES = """\b
Examples:
  fb tasks import train_tasks.jsonl validation_tasks.jsonl --out lab
  fb tasks import tasks.jsonl --env epicure-core --out panel"""


def command(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Published task files (JSONL).")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Panel folder to write.")],
    env: Annotated[
        str | None,
        typer.Option(
            "--env",
            metavar="NAME",
            help="Environment whose tags tell what is feasible.",
        ),
    ] = None,
    force: Force = False,
    json_output: Json = False,
) -> None:
    """Import published tasks: ids, prompts and scores as they are, all digests checked.

    It says what could not be checked.
    """
    load_arrow()
    from flavourbench.environment import open_environment
    from flavourbench.folders import check_place
    from flavourbench.tasks.panel import PANEL, write_panel
    from flavourbench.tasks.verify import imported

    check_place(out, force=force, kept=PANEL.foreign)
    tasks, checks = imported(files, None if env is None else open_environment(env))
    write_panel(tasks, out, force=force)
    if json_output:
        echo_json({"path": str(out), "tasks": len(tasks), "checks": checks})
        return
    from flavourbench.report.checks import print_checks

    print_checks(checks, "Panel", str(out))

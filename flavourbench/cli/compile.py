"""``fb compile``: an environment and a design give the panels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flavourbench.cli.common import Json, echo_json, progress_bar
from flavourbench.cli.env.shared import Env, opened

EXAMPLES = """\b
Examples:
  fb compile                               three panels of the pantry, in panels/
  fb compile --env epicure-cooc --title Epicure --out panels
  fb compile --print-design > design.toml  the design, to change and pass with --design"""


def command(
    env: Env = None,
    design: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Task design (TOML).  [default: that of the package]"),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the panels.")] = Path(
        "panels"
    ),
    title: Annotated[
        str | None,
        typer.Option(help="What prompts call the environment.  [default: its title]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the panels at --out.")] = False,
    print_design: Annotated[
        bool, typer.Option("--print-design", help="Print the packaged design and stop.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Compile the task panels: two for the ranking, one for development.

    Every task shows eight ingredients, and all 56 choices of three are scored beforehand.
    The same environment and design give the same bytes.
    """
    from flavourbench.tasks.design import design_text, read_design

    if print_design:
        typer.echo(design_text(), nl=False)
        return
    from flavourbench.tasks.panel import check_panels_target, write_panels

    check_panels_target(out, force=force)
    chosen = read_design(design)
    environment = opened(env)
    from flavourbench.tasks.answers import panel_summary
    from flavourbench.tasks.compiler import compile_panels

    with progress_bar() as progress:
        panels = compile_panels(environment, chosen, title, progress)
    paths = write_panels(panels, out, force=force)
    rows = [panel_summary(panel, path) for panel, path in zip(panels, paths, strict=True)]
    if json_output:
        echo_json(rows)
        return
    from flavourbench.report.tasks import print_panels

    print_panels(rows, str(out))

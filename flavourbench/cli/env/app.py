"""The subcommands of ``fb env``."""

from __future__ import annotations

import typer

from flavourbench.cli.env import (
    feasible,
    importing,
    info,
    listing,
    morph,
    neighbors,
    pairings,
    pull,
    region,
    remove,
    resolve,
    substitutes,
    verify,
)

app = typer.Typer(
    help="Import environments and ask them: neighbours, substitutes, pairings, regions.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
for name, module in {
    "list": listing,
    "info": info,
    "neighbors": neighbors,
    "substitutes": substitutes,
    "pairings": pairings,
    "feasible": feasible,
    "region": region,
    "morph": morph,
    "resolve": resolve,
    "import": importing,
    "pull": pull,
    "verify": verify,
    "remove": remove,
}.items():
    app.command(name, epilog=module.EXAMPLES)(module.command)


@app.callback()
def _main(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())

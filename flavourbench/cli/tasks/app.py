"""The subcommands of ``fb tasks``."""

from __future__ import annotations

import typer

from flavourbench.cli.tasks import export, importing, listing, show, stats, template, verify

app = typer.Typer(
    help="Look at panels and their tasks; import, export and verify them.",
    invoke_without_command=True,
    rich_markup_mode=None,
)
for name, module in {
    "list": listing,
    "show": show,
    "stats": stats,
    "verify": verify,
    "template": template,
    "import": importing,
    "export": export,
}.items():
    app.command(name, epilog=module.EXAMPLES)(module.command)


@app.callback()
def _main(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())

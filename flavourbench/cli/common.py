"""What commands share: options, JSON output, progress."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flavourbench.cli.entry import signals_wait

if TYPE_CHECKING:
    from fbcore.blocks import Progress
    from flavourbench.analysis.matrix import ScoreMatrix
    from flavourbench.analysis.plan import Plan

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of the view.")]
#: Shorter work shows no bar.
_PATIENCE = 1.0


def command_group(purpose: str, commands: dict[str, ModuleType]) -> typer.Typer:
    """Subcommands by name, each a module with ``command`` and ``EXAMPLES``; alone it shows help."""
    app = typer.Typer(help=purpose, invoke_without_command=True, rich_markup_mode=None)
    for name, module in commands.items():
        app.command(name, epilog=module.EXAMPLES)(module.command)

    @app.callback()
    def _alone(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    return app


def echo_json(value: dict[str, Any] | list[dict[str, Any]]) -> None:
    """Print JSON on standard output, in ASCII.

    So names hold nothing that a terminal obeys, whatever the encoding of the stream.
    """
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


class _WithoutPandas:
    """An import finder that finds no pandas."""

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def load_arrow() -> None:
    """Import Arrow so that no signal to stop is lost.

    While Arrow reads a CSV file it handles them in a thread of its own, which may come too
    late: they are left to Python.
    """
    with signals_wait():
        import pyarrow as pa
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.parquet

        pa.enable_signal_handlers(False)
        finder = _WithoutPandas()
        sys.meta_path.insert(0, finder)
        try:
            pa.array([0])  # the first conversion
        finally:
            sys.meta_path.remove(finder)


def parse_columns(pairs: list[str]) -> dict[str, str]:
    """``ROLE=NAME`` options as a mapping.

    Raises
    ------
    InputError
        An entry without ``=``, or a role given twice.
    """
    from flavourbench.errors import InputError, shown

    columns: dict[str, str] = {}
    for pair in pairs:
        role, equals, name = pair.partition("=")
        if not (role and equals and name):
            raise InputError(f"--column {shown(pair)}: write ROLE=NAME, as in anchor=ingredient")
        if role in columns:
            raise InputError(f"--column {shown(role)} is given twice")
        columns[role] = name
    return columns


def tell_checks(what: str, path: Path, checks: list[dict[str, Any]], json: bool) -> None:
    """Print what was checked of a ``what`` at ``path``.

    Raises
    ------
    CheckError
        A check failed.
    """
    from flavourbench.errors import CheckError, shown

    failed = [check["check"] for check in checks if check["passed"] is False]
    if json:
        echo_json({what: path.name, "passed": not failed, "checks": checks})
    else:
        from flavourbench.report.checks import print_checks

        print_checks(checks, what.capitalize(), str(path))
    if failed:
        raise CheckError(f"{what} {shown(path.name)}: {', '.join(failed)} failed")


@contextlib.contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """Progress on standard error: a bar on a terminal, after a second; else nothing.

    A first run that compiles kernels says so in either case.
    """
    from fbcore import _jit
    from flavourbench.errors import InputError

    try:
        _jit.route()
    except ValueError as error:
        raise InputError(str(error)) from error
    _jit.announce = lambda: note("compiling kernels for this machine (first use, about 10 s) …")
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    tasks: dict[str, Any] = {}
    began = time.monotonic()
    shown = False

    def advance(stage: str, done: int, total: int) -> None:
        nonlocal shown
        if stage not in tasks:
            tasks[stage] = bar.add_task(stage, total=total)
        bar.advance(tasks[stage], done)
        if not shown and time.monotonic() - began > _PATIENCE:
            shown = True
            bar.start()

    try:
        yield advance
    finally:
        if shown:
            bar.stop()


def warn_before(matrix: ScoreMatrix, plan: Plan) -> None:
    """Say before computing, on a terminal, that nothing can be resolved.

    The view and ``--json`` say it among the warnings.

    Raises
    ------
    InputError
        The analysis is to be refused (see :func:`flavourbench.analysis.preflight.check`).
    """
    from flavourbench.analysis.preflight import check, floor_warning

    if not sys.stderr.isatty():
        return
    check(matrix, plan)
    warning = floor_warning(matrix, plan)
    if warning is not None:
        note(f"warning: {warning}")


def note(message: str) -> None:
    """One line on standard error."""
    print(f"fb: {message}", file=sys.stderr, flush=True)  # noqa: T201

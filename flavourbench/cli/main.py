"""The ``fb`` command: its subcommands, and the one place that turns errors into exit codes."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from flavourbench import __version__
from flavourbench.cli import infer, leaderboard
from flavourbench.errors import FlavourBenchError

app = typer.Typer(
    name="fb",
    help="Rank language models against executable ground truth.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 a check failed, 2 bad input or usage, 130 interrupted.",
)
app.command("infer", epilog=infer.EXAMPLES)(infer.command)
app.command("leaderboard", epilog=leaderboard.EXAMPLES)(leaderboard.command)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"flavourbench {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Rank language models against executable ground truth."""


def run() -> None:
    """Entry point of the console script."""
    # BLAS must not start threads of its own beside ours: it collapses when they contend.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.exit(main(sys.argv[1:]))


def main(arguments: list[str]) -> int:
    """Run ``fb`` with ``arguments`` and return its exit code."""
    from typer.exceptions import Abort, TyperException

    try:
        code = app(arguments, standalone_mode=False, prog_name="fb")
        sys.stdout.flush()
    except FlavourBenchError as error:
        return _say(str(error), error.exit_code)
    except TyperException as error:
        return _say(_usage_message(error), 2)
    except (KeyboardInterrupt, Abort):
        return _say("interrupted", 130)
    except BrokenPipeError:
        # The reader has gone (as in `fb … | head`): not an error, and nothing left to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code if isinstance(code, int) else 0


def _say(message: str, code: int) -> int:
    line = " ".join(message.split())
    print(f"fb: {line}", file=sys.stderr)  # noqa: T201
    return code


def _usage_message(error: Exception) -> str:
    formatted = getattr(error, "format_message", None)
    return str(formatted() if formatted is not None else error)

"""The ``fb`` command: its subcommands, and the one place that turns errors into exit codes."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import ModuleType
from typing import Annotated, TextIO

import typer

from flavourbench import __version__
from flavourbench.cli import (
    add,
    calibrate,
    collect,
    compare,
    demo,
    freeze,
    infer,
    item,
    leaderboard,
    new,
    plan,
    score,
    stability,
    status,
    verify,
)
from flavourbench.cli import compile as compiling
from flavourbench.cli.entry import STOPS, Stopped
from flavourbench.cli.env.app import app as env_app
from flavourbench.cli.release.app import app as release_app
from flavourbench.cli.tasks.app import app as tasks_app
from flavourbench.errors import FlavourBenchError, os_reason, shown

#: Exit codes of a shell for what a signal ended.
_STOPPED = {128 + number: word for number, word in STOPS.items()}
INTERRUPTED = 128 + signal.SIGINT

app = typer.Typer(
    name="fb",
    help="Rank language models against executable ground truth.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 a check failed, 2 bad input or usage, 130 interrupted, 143"
    " terminated.",
)
#: Commands in the order of a study, and what each does, on one line.
_COMMANDS: tuple[tuple[str, ModuleType, str], ...] = (
    ("demo", demo, "The whole pipeline, offline, in a study to go on with."),
    ("new", new, "Make a study: study.toml and a roster that runs as it is."),
    ("plan", plan, "Before spending: power, detectable difference, sizes, cost."),
    ("collect", collect, "Ask the models of a roster; every answer is journaled."),
    ("status", status, "Coverage, outcomes, spend, and what is left."),
    ("freeze", freeze, "The common core: tasks all answered, blind to scores."),
    ("infer", infer, "Intervals, tests, ranks and groups; writes a release."),
    ("add", add, "Models on a frozen core, and what they moved."),
    ("leaderboard", leaderboard, "The ranking of a release."),
    ("compare", compare, "Two models: difference, families, deciding tasks."),
    ("item", item, "One task: every model's choice on the ladder of 56."),
    ("stability", stability, "Ranks under other choices, from the stored selections."),
    ("verify", verify, "Derive a release or a panel again, by other code."),
    ("score", score, "One model's answers against panels."),
    ("compile", compiling, "Compile the task panels of an environment."),
    ("calibrate", calibrate, "How often the analysis is right, by simulated studies."),
)
for _name, _module, _short in _COMMANDS:
    app.command(_name, epilog=_module.EXAMPLES, short_help=_short)(_module.command)
app.add_typer(env_app, name="env", short_help="Environments: ask, import, build, measure them.")
app.add_typer(tasks_app, name="tasks", short_help="Panels and tasks: show, import, export.")
app.add_typer(release_app, name="release")


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
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: what goes there is not wanted
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115
    code = main(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    # What was begun is done, or undone, by now. Threads may still be at work, though, or about to
    # start: an ordinary exit would wait for them, for ever where a signal met their start, and
    # Arrow's abort the process if it ends amid that.
    os._exit(code)


def main(arguments: list[str]) -> int:
    """Run ``fb`` with ``arguments`` and return its exit code."""
    from typer.exceptions import Abort, TyperException

    try:
        code = app(arguments or ["--help"], standalone_mode=False, prog_name="fb")
        sys.stdout.flush()
    except FlavourBenchError as error:
        return _say(str(error), error.exit_code)
    except TyperException as error:
        return _say(_usage_message(error), 2)
    except (KeyboardInterrupt, Abort):
        code = INTERRUPTED
    except Stopped as stopped:
        code = 128 + stopped.signal
    except BrokenPipeError:
        return _reader_gone()
    except OSError as error:
        if isinstance(error, FileNotFoundError) and error.filename is None:
            # Only what asks for the current folder fails in this way.
            return _say("the current folder is gone: change to another", 2)
        _drop(sys.stdout)
        return _say(f"cannot use {os_reason(error, error.filename or 'standard output')}", 2)
    except MemoryError as error:
        what = "use a smaller input or, with fb infer, fewer --draws"
        return _say(f"not enough memory ({shown(error, 120)}): {what}", 2)
    except SystemExit as error:
        # Typer turns a closed pipe into an exit of its own.
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        return _reader_gone()
    if code in _STOPPED:  # Typer returns that of an interrupt inside a command
        return _say(_STOPPED[code], code)
    return code if isinstance(code, int) else 0


def _reader_gone() -> int:
    """The reader has left (as in ``fb … | head``): not an error, and nothing left to say."""
    _drop(sys.stdout)
    return 0


def _drop(stream: TextIO) -> None:
    """Let a stream lead nowhere: what it still holds would fail again at the end of Python."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _say(message: str, code: int) -> int:
    line = " ".join(part.strip() for part in message.splitlines())
    try:
        print(f"fb: {line}", file=sys.stderr, flush=True)  # noqa: T201
    except OSError:
        _drop(sys.stderr)
    return code


def _usage_message(error: Exception) -> str:
    formatted = getattr(error, "format_message", None)
    message = str(formatted() if formatted is not None else error).rstrip(".")
    details = getattr(error.__cause__, "errors", None)  # a pydantic error knows the value
    if details is not None:
        message += f", got '{shown(details()[0]['input'])}'"
    command = getattr(getattr(error, "ctx", None), "command_path", "fb")
    return f"{message} (see `{command} --help`)"

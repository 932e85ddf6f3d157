"""Fixtures that all tests share: the command line in this process and as the installed script."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main
from running import Command, Run, launch, lines_of

from fbcore import _objects


@pytest.fixture(scope="session", autouse=True)
def kernels_stay_where_they_are() -> None:
    """Settled before tests move the cache: they would be compiled anew in each place."""
    _objects._folder()


#: Typer derives all commands anew for every call, which takes longer than most of them.
_derived = functools.cache(typer.main.get_command)


@pytest.fixture
def fb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """``fb`` in this process, in an empty folder, as if its output were 80 columns wide."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("typer.main.get_command", _derived)
    return Command(tmp_path, capsys)


@pytest.fixture(scope="session")
def script() -> str:
    """Path of the installed ``fb``."""
    path = Path(sys.executable).with_name("fb")
    assert path.is_file(), f"{path} is missing: install the package into this environment"
    return str(path)


@pytest.fixture
def shell(script: str, tmp_path: Path) -> Callable[..., Run]:
    """The installed ``fb`` in a process of its own, in ``tmp_path``.

    ``before`` is Python that runs in the new process before it becomes ``fb``.
    """

    def run(
        *arguments: str | Path, before: str = "", stdout: Any = subprocess.PIPE, **env: str
    ) -> Run:
        done = subprocess.run(
            launch(script, *arguments, before=before),
            cwd=tmp_path,
            env=os.environ | {"COLUMNS": "80", "PYTHONUNBUFFERED": ""} | env,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
        encoding = env.get("PYTHONIOENCODING", "utf-8")
        out = "" if done.stdout is None else done.stdout.decode(encoding)
        return Run(done.returncode, out, lines_of(done.stderr.decode(encoding)))

    return run

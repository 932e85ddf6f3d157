"""Running ``fb`` from tests, and what it must and must not leave behind."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flavourbench.cli.main import main

#: Sizes at which ``fb infer`` takes some milliseconds.
SMALL = ("--draws", "200", "--flips", "300")
#: Said once, when this machine has not compiled the kernels yet.
_NOTE = "fb: compiling kernels"


@dataclass(frozen=True)
class Run:
    """What a command left: exit code, standard output, lines of standard error."""

    code: int
    out: str
    err: list[str]

    @property
    def json(self) -> Any:
        """Standard output as strict JSON: no NaN, no key twice."""
        return strict_json(self.out)


def strict_json(text: str) -> Any:
    """Parse JSON and refuse what the standard does not know."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        assert len(found) == len(pairs), f"a key occurs twice: {pairs}"
        return found

    return json.loads(text, parse_constant=refuse, object_pairs_hook=unique)


def lines_of(text: str) -> list[str]:
    """Lines of standard error without the note on compiling."""
    return [line for line in text.splitlines() if not line.startswith(_NOTE)]


def tree(folder: Path) -> dict[str, bytes | str | None]:
    """Everything below a folder, hidden files too: bytes, link targets, None for folders."""
    found: dict[str, bytes | str | None] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = str(path.readlink())
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found


class Command:
    """``fb`` in this process, run in a folder of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys

    def __call__(self, *arguments: str | Path) -> Run:
        self._capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = self._capsys.readouterr()
        return Run(code, out, lines_of(err))

    def json(self, *arguments: str | Path) -> Any:
        """The object that a successful ``--json`` run prints."""
        run = self(*arguments, "--json")
        assert (run.code, run.err) == (0, []), run
        return run.json

    def refused(
        self, *arguments: str | Path, says: tuple[str, ...] | str = (), code: int = 2
    ) -> str:
        """Run what must be refused: one line that holds ``says``, nothing printed or written."""
        before = tree(self.folder)
        run = self(*arguments)
        assert (run.code, run.out) == (code, ""), run
        assert len(run.err) == 1, run.err
        line = run.err[0]
        assert line.startswith("fb: ")
        assert line.isprintable(), f"a terminal would obey {line!r}"
        for part in (says,) if isinstance(says, str) else says:
            assert part in line, f"{part!r} is not in {line!r}"
        assert tree(self.folder) == before
        return line


def launch(script: str, *arguments: str | Path, before: str = "") -> list[str]:
    """The arguments of a process that runs ``before`` and then becomes ``script``.

    Interrupts work in it whatever the process that runs the tests does with them.
    """
    start = f"""
import os, resource, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
{before}
os.execv(sys.argv[1], sys.argv[1:])
"""
    return [sys.executable, "-c", start, script, *map(str, arguments)]

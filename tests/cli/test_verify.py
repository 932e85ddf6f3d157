"""``fb verify``: what it takes, prints and ends with."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from release_files import (
    BOARD,
    replace_board,
    replace_table,
    seal_bytes,
    tables_of,
    write_collected,
    write_small,
)
from running import Command, tree

from flavourbench.tasks.files import BUNDLED

OPEN = "scores were given directly; answers and tasks were not seen"


@pytest.fixture
def release(fb: Command) -> Path:
    return write_small(fb.folder / "r")


def forge(release: Path) -> str:
    """Another p-value under right digests, and what is to be said of it."""
    table = tables_of(release)["pairs.parquet"]
    p = np.array(table["p"])
    right = p[2].item()
    p[2] = 0.125
    replace_table(release, "pairs.parquet", table | {"p": p})
    return f"pairs.parquet: row alder, dogwood: p is 0.125, derived {right!r}"


def test_a_right_release(fb: Command, release: Path) -> None:
    before = tree(fb.folder)
    run = fb("verify", "r")
    assert (run.code, run.err) == (0, [])
    lines = run.out.splitlines()
    assert [line.split()[0] for line in lines] == ["ok"] * 10 + ["open", "Release:"]
    assert lines[-2] == f"open   origin: {OPEN}"
    assert lines[-1] == "Release: r"
    report = fb.json("verify", "r")
    assert (report["release"], report["passed"]) == ("r", True)
    told = [f"{check['check']}: {check['detail']}" for check in report["checks"]]
    assert told == [line[7:] for line in lines[:-1]]
    assert tree(fb.folder) == before


def test_a_forged_number(fb: Command, release: Path) -> None:
    told = forge(release)
    run = fb("verify", "r")
    assert (run.code, run.err) == (1, ["fb: release r: pairs failed"])
    assert f"FAILED pairs: {told}" in run.out
    run = fb("verify", "r", "--json")
    assert run.code == 1
    (failed,) = [check for check in run.json["checks"] if check["passed"] is False]
    assert (failed["check"], failed["detail"]) == ("pairs", told)
    run = fb("verify", "r", "--quick")
    assert run.code == 0
    assert "open   numbers: not derived again" in run.out


def test_an_altered_file(fb: Command, release: Path) -> None:
    (release / "draws.parquet").write_bytes(b"")
    for options in ((), ("--quick",)):
        run = fb("verify", "r", *options)
        assert (run.code, run.err) == (1, ["fb: release r: files failed"])
        assert "draws.parquet is not the file that was written" in run.out


@pytest.mark.parametrize("name", ["RELEASE.sha256", "manifest.json"])
def test_a_folder_without_seal_or_manifest_is_still_a_release(
    fb: Command, release: Path, name: str
) -> None:
    (release / name).unlink()
    run = fb("verify", "r")
    assert (run.code, run.err) == (1, ["fb: release r: files failed"])
    assert f"{name} is missing" in run.out


def test_without_a_path_it_is_the_newest_release(
    fb: Command, release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, age in (("old", 1), ("new", 2)):
        copy = shutil.copytree(release, fb.folder / "releases" / name)
        os.utime(copy / "RELEASE.sha256", ns=(0, age * 10**9))
    assert fb.json("verify", "--quick")["release"] == "new"
    monkeypatch.chdir(release)
    assert fb.json("verify", "--quick")["release"] == "r"
    assert fb.json("verify", ".", "--quick")["release"] == "r"


def test_panels_are_verified_as_fb_tasks_verify_does(
    fb: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without an environment, which would take most of the time.
    monkeypatch.setattr("flavourbench.environment.store.named_by", lambda _: None)
    assert fb("verify", "test-1") == fb("tasks", "verify", "test-1")
    shutil.copytree(BUNDLED / "test-1", fb.folder / "p")
    assert fb("tasks", "export", "p", "tasks.jsonl").code == 0
    for place in ("p", "tasks.jsonl"):
        expected = fb("tasks", "verify", place, "--json")
        assert expected.code == 0
        assert fb("verify", place, "--json") == expected
    (fb.folder / "p" / "PANEL.sha256").unlink()
    run = fb("verify", "p")
    assert (run.code, run.err) == (1, ["fb: panel p: files failed"])
    fb.refused("verify", "test-2", "--quick", says=("--quick", "releases"))


def test_what_is_neither(fb: Command) -> None:
    fb.refused("verify", says=("no release", "fb infer"))
    fb.refused("verify", "missing", says=("missing", "no such file"))
    (fb.folder / "folder").mkdir()
    says = ("folder is neither a release nor a panel", "RELEASE.sha256", "PANEL.sha256")
    fb.refused("verify", "folder", says=says)
    (fb.folder / "folder" / "manifest.json").write_text('{"format":"flavourbench-environment/1"}')
    fb.refused("verify", "folder", says=says)
    fb.refused("verify", "a", "b", says="fb verify --help")


def test_another_format_is_bad_input(fb: Command, release: Path) -> None:
    seal_bytes(release, b'{"format":"flavourbench-release/999"}')
    fb.refused("verify", "r", says=("release/999", "this version reads"))


def test_names_from_a_release_obey_nobody(fb: Command, release: Path) -> None:
    board = json.loads((release / BOARD).read_bytes())
    replace_board(release, board | {"\x1b[31m\n": "\x1b[2J"})
    run = fb("verify", "r")
    assert run.code == 1
    assert "\x1b" not in run.out + "".join(run.err)
    assert r"\x1b[31m\n is unknown" in run.out


@pytest.mark.parametrize("write", [write_small, write_collected])
def test_no_compiled_code_is_loaded(fb: Command, write: Callable[[Path], Path]) -> None:
    """Neither the compiler nor a kernel: the check must not lean on what it checks."""
    write(fb.folder / "r")
    code = (
        "import sys; from fbcore import _jit, _objects\n"
        "def never(*_): raise AssertionError('a kernel ran')\n"
        "_jit.Kernel.__call__ = never\n"
        "from flavourbench.cli.main import main; code = main(['verify', 'r'])\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'numba', 'llvmlite', 'scipy'}), code, file=sys.stderr)"
    )
    path = os.pathsep.join(part for part in sys.path if part)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=fb.folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == "[] 0\n"

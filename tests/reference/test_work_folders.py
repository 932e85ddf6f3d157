"""Folders written whole or not at all: what a kill leaves, and what stands in the way."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from running import tree

from flavourbench import folders
from flavourbench.errors import InputError
from flavourbench.folders import check_place, named_folder, new_folder
from flavourbench.identity import canonical_json

#: Writes a folder and is killed at the call of the function in its last argument.
KILLED = """
import os, signal, sys
from pathlib import Path
from flavourbench import folders

def kill(*_): os.kill(os.getpid(), signal.SIGKILL)
def fill(folder):
    (folder / "file").write_text("new")
    if sys.argv[2] == "fill": kill()
    return "place"
setattr(folders, sys.argv[2], kill)
parent = Path(sys.argv[1])
if sys.argv[3] == "named":
    folders.named_folder(parent, fill)
else:
    with folders.new_folder(parent / "place", force=True, kept=lambda _: None) as folder:
        fill(folder)
"""


def write(path: Path, text: str = "new") -> None:
    with new_folder(path, force=True, kept=lambda _: None) as folder:
        (folder / "file").write_text(text)


def nothing(place: Path) -> None:
    pass


def a_folder(place: Path) -> None:
    write(place, "old")


def a_link(place: Path) -> None:
    (place.parent.parent / "linked").mkdir()
    (place.parent.parent / "linked" / "file").write_text("old")
    place.symlink_to(place.parent.parent / "linked")


def a_dangling_link(place: Path) -> None:
    place.symlink_to("nowhere")


def a_read_only_folder(place: Path) -> None:
    write(place, "old")
    place.chmod(0o555)


BEFORE = [nothing, a_folder, a_link, a_dangling_link, a_read_only_folder]


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("how", ["new", "named"])
@pytest.mark.parametrize("step", ["fill", "_remove"])
def test_what_a_kill_leaves_is_gone_after_the_next_write(
    step: str, how: str, before: Callable[[Path], None], tmp_path: Path
) -> None:
    """Killed with half a folder, or with the old one not yet removed."""
    parent = tmp_path / "parent"
    parent.mkdir()
    before(parent / "place")
    command = [sys.executable, "-c", KILLED, str(parent), step, how]
    assert subprocess.run(command, check=False, timeout=60).returncode == -signal.SIGKILL
    write(parent / "other")
    assert {path.name for path in parent.iterdir()} - {"place"} == {"other"}
    write(parent / "place")
    assert (parent / "place" / "file").read_text() == "new"


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("one_step", [True, False], ids=["in one step", "by two renames"])
def test_nothing_is_left_of_what_was_replaced(
    before: Callable[[Path], None],
    one_step: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not one_step:
        monkeypatch.setattr(folders, "_rename", lambda *_: None)
    place = tmp_path / "parent" / "place"
    place.parent.mkdir()
    before(place)
    write(place)
    assert tree(place.parent) == {"place": None, "place/file": b"new"}
    assert not place.is_symlink()
    if before is a_link:
        assert tree(tmp_path / "linked") == {"file": b"old"}


def test_the_folder_of_a_living_owner_is_not_swept(tmp_path: Path) -> None:
    """Neither by another write in its parent, nor after it was moved."""
    with new_folder(tmp_path / "a") as folder:
        (folder / "file").write_text("a")
        write(tmp_path / "b")
        named_folder(tmp_path, lambda _: "c")
        assert tree(folder) == {"file": b"a"}
    write(tmp_path / "b")
    assert {*tree(tmp_path)} == {"a", "a/file", "b", "b/file", "c"}


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("how", ["removed", "locked"])
def test_a_folder_that_is_swept_before_it_is_locked_is_made_again(
    how: str, times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, held = tempfile.mkdtemp, []

    def made(*arguments: str, **options: str) -> str:
        folder = make(*arguments, **options)
        if len(held) < times:
            held.append(os.open(folder, os.O_RDONLY))
            fcntl.flock(held[-1], fcntl.LOCK_EX)
            if how == "removed":
                Path(folder).rmdir()
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", made)
    write(tmp_path / "place")
    for descriptor in held:
        os.close(descriptor)
    assert len(held) == times
    assert {*tree(tmp_path)} == {"place", "place/file"}


def test_a_folder_that_was_moved_before_it_is_locked_is_not_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweeper opened it by its old name, and holds what is now in place."""
    left, flock = tmp_path / ".flavourbench-aaaaaaaa", fcntl.flock
    left.mkdir()
    (left / "file").write_text("kept")

    def moved(held: int, how: int) -> None:
        left.rename(tmp_path / "place")
        left.mkdir()
        flock(held, how)

    monkeypatch.setattr(fcntl, "flock", moved)
    folders._sweep(tmp_path)
    assert {*tree(tmp_path)} == {left.name, "place", "place/file"}


def test_nothing_is_swept_where_there_are_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: int) -> None:
        raise OSError(errno.ENOLCK, "x")

    (tmp_path / ".flavourbench-aaaaaaaa").mkdir()
    monkeypatch.setattr(fcntl, "flock", no_locks)
    write(tmp_path / "place")
    assert {*tree(tmp_path)} == {".flavourbench-aaaaaaaa", "place", "place/file"}


def test_what_only_looks_like_a_work_folder_is_not_swept(tmp_path: Path) -> None:
    names = [".fb-aaaaaaaa", ".flavourbench-", ".flavourbench-AAAAAAAA", "flavourbench-aaaaaaaa"]
    names += [".flavourbench-aaaaaaaa.old", ".flavourbench-aaaaaaaaa", ".flavourbench-x"]
    for name in names:
        (tmp_path / name).mkdir()
    (tmp_path / ".flavourbench-aaaaaaaa").touch()
    before = tree(tmp_path)
    write(tmp_path / "place")
    assert tree(tmp_path) == before | {"place": None, "place/file": b"new"}


# --- places and texts ------------------------------------------------------------------------


@pytest.mark.parametrize("force", [False, True])
def test_a_deleted_current_folder(
    force: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is within no target; a relative target is nowhere."""
    write(tmp_path / "place")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for place in ("a", "a/b", ".", "..", "../place"):
        with pytest.raises(InputError, match=r"^[^\n]+$") as caught:
            check_place(Path(place), force=force, kept=lambda _: None)
        assert "exists" in str(caught.value) or "current folder is gone" in str(caught.value)
    check_place(tmp_path / "new", force=force, kept=lambda _: None)
    if force:
        write(tmp_path / "place", "newer")
        assert (tmp_path / "place" / "file").read_text() == "newer"


@pytest.mark.parametrize("odd", [os.fsdecode(b"a\xff"), "\ud800", "\udfff b", "a\udc0a"])
def test_texts_that_are_no_unicode_are_refused(odd: str) -> None:
    for value in (
        odd,
        [odd],
        {odd: 1},
        {"a": 1, odd: 2},
        {"a": [1, {"b": odd}]},
        ["\U0001f600", odd],
    ):
        with pytest.raises(InputError, match="no Unicode text") as caught:
            canonical_json(value)
        assert str(caught.value).isprintable()
        assert ascii(odd)[1:-1] in str(caught.value)

"""Folders that are written, replaced and removed whole or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from flavourbench.errors import InputError, os_reason, shown

#: Names of work folders: this and what :func:`tempfile.mkdtemp` adds to it.
_WORK = ".flavourbench-"
_WORK_NAME = re.compile(re.escape(_WORK) + r"[a-z0-9_]{8}")
#: Kinds of renames.
_NO_REPLACE, _SWAP = "no replace", "swap"


def is_file(path: Path) -> bool:
    """Whether ``path`` is a file; False too where that cannot be told."""
    return os.path.isfile(path)  # noqa: PTH113  (Path.is_file raises for long and closed paths)


def is_folder(path: Path) -> bool:
    """Whether ``path`` is a folder; False too where that cannot be told."""
    return os.path.isdir(path)  # noqa: PTH112  (Path.is_dir raises for long and closed paths)


def existing_part(path: Path) -> Path:
    """``path``, or the nearest place above it that exists, absolute.

    Raises
    ------
    InputError
        A relative path, and the current folder is gone.
    """
    path = _absolute(path)
    return next(place for place in (path, *path.parents) if os.path.lexists(place))


def check_place(
    path: Path, *, force: bool = False, kept: Callable[[Path], str | None] | None = None
) -> None:
    """Refuse a place for a new folder, before the work that fills it.

    Parameters
    ----------
    force : bool
        Replace what is at ``path``, if there is a ``kept`` and it allows that.
    kept : callable, optional
        Why what is at a path has to stay there, or None where it may be replaced.

    Raises
    ------
    InputError
        ``path`` exists and may not be replaced, or nothing can be written there.
    """
    if os.path.lexists(path):
        if kept is None:
            raise InputError(f"{shown(path, 200)} exists: choose another")
        if not force:
            raise InputError(_exists(path))
        if _holds_current(path):
            raise InputError(f"{shown(path, 200)} holds the current folder: choose another")
        reason = kept(path)
        if reason is not None:
            raise InputError(f"{shown(path, 200)} is not replaced, {reason}: choose another")
    check_parent(_absolute(path).parent)


def _absolute(path: Path) -> Path:
    try:
        return path.absolute()
    except OSError as error:
        raise InputError(
            f"{shown(path, 200)} is relative, and the current folder is gone: change to another"
        ) from error


def _holds_current(path: Path) -> bool:
    """Whether the current folder is ``path`` or below; it is not once it was deleted."""
    full = _absolute(path)
    try:
        return Path.cwd().is_relative_to(os.path.realpath(full))
    except OSError:
        return False


def check_parent(folder: Path) -> None:
    """Refuse a folder, or the one it would be made in, where nothing can be written.

    Raises
    ------
    InputError
        It is no folder, or not writable.
    """
    above = existing_part(folder)
    if not is_folder(above):
        reason = "is no folder"
    elif not os.access(above, os.W_OK | os.X_OK):
        reason = "is not writable"
    else:
        return
    raise InputError(f"cannot write into {shown(folder, 200)}: {shown(above, 200)} {reason}")


@contextlib.contextmanager
def new_folder(
    path: Path, *, force: bool = False, kept: Callable[[Path], str | None] | None = None
) -> Iterator[Path]:
    """A folder to fill that appears at ``path`` only when the block ends without an error.

    Parameters and refusals are those of :func:`check_place`.

    Raises
    ------
    InputError
        ``path`` is refused, or writing fails.
    """
    check_place(path, force=force, kept=kept)
    with _work_folder(path.parent, path) as work:
        yield work
        _move_into_place(work, path, force)


def check_file(path: Path, *, force: bool = False) -> None:
    """Refuse a place for a new file, before the work that makes its content.

    Raises
    ------
    InputError
        ``path`` exists (and ``force`` is not given or it is no file), or nothing can be
        written there.
    """
    if os.path.lexists(path):
        if not is_file(path):
            raise InputError(f"{shown(path, 200)} is no file: choose another")
        if not force:
            raise InputError(_exists(path))
    check_parent(_absolute(path).parent)


def _exists(path: Path) -> str:
    return f"{shown(path, 200)} exists: choose another or pass --force"


def new_file(path: Path, data: bytes, *, force: bool = False) -> None:
    """Write a file that appears whole or not at all.

    Raises
    ------
    InputError
        As :func:`check_file`, or writing fails.
    """
    check_file(path, force=force)
    with _work_folder(path.parent, path) as work:
        made = work / "file"
        made.write_bytes(data)
        if not force and _rename(made, path, _NO_REPLACE) is False:
            raise InputError(_exists(path))
        if made.exists():  # it may be replaced, or there is no such rename here
            made.replace(path)


def remove_folder(path: Path) -> None:
    """Remove a folder, or a link to one, so that nobody finds half of it.

    Raises
    ------
    InputError
        It cannot be removed.
    """
    try:
        if path.is_symlink():
            path.unlink()
            return
        with _claimed_folder(path.parent) as work:
            path.rename(work)  # POSIX renames onto an empty folder
    except OSError as error:
        raise InputError(f"cannot remove {os_reason(error, path)}") from error


def named_folder(parent: Path, fill: Callable[[Path], str]) -> tuple[Path, bool]:
    """Fill a folder and put it under ``parent`` by the name that ``fill`` returns.

    The name must stand for the content: a folder of that name is kept as it is.

    Returns
    -------
    The folder, and whether it is new.

    Raises
    ------
    InputError
        Writing fails.
    """
    with _work_folder(parent, parent) as work:
        path = parent / fill(work)
        try:
            work.rename(path)
        except OSError:  # POSIX renames onto an empty folder, and refuses any other
            if not path.is_dir():
                raise
            return path, False
    return path, True


@contextlib.contextmanager
def _work_folder(parent: Path, target: Path) -> Iterator[Path]:
    """A temporary folder in ``parent``; what was not moved away is gone at the end.

    So is what processes that were killed left there.
    """
    # Folders above that this call has to make: they go again if nothing arrives in them.
    made = [folder for folder in (parent, *parent.parents) if not os.path.lexists(folder)]
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with _claimed_folder(parent) as work:
            work.chmod(0o777 & ~_umask())
            yield work
    except OSError as error:
        raise InputError(f"cannot write {os_reason(error, target)}") from error
    finally:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()


@contextlib.contextmanager
def _claimed_folder(parent: Path) -> Iterator[Path]:
    """A new folder whose lock tells others that its owner lives."""
    while True:
        work = Path(tempfile.mkdtemp(prefix=_WORK, dir=parent))
        try:
            with _locked(work) as locked:
                if locked is False:  # another process came first and is sweeping it away
                    continue
                if locked:
                    _sweep(parent)
                yield work
                return
        finally:
            _remove(work)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool | None]:
    """Lock a folder for the block, or until this process ends.

    Yields whether that worked; None where the file system has no locks. The lock stays
    with the folder when it is renamed.
    """
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        yield False
        return
    try:
        yield _lock(held, folder)
    finally:
        os.close(held)


def _lock(held: int, folder: Path) -> bool | None:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    try:  # it may have been removed, or moved, since it was opened
        return os.path.samestat(os.fstat(held), os.lstat(folder))
    except FileNotFoundError:
        return False


def _sweep(parent: Path) -> None:
    """Remove work folders whose owners are dead, as after a kill."""
    with contextlib.suppress(OSError):
        for path in parent.iterdir():
            if not _WORK_NAME.fullmatch(path.name):
                continue
            if path.is_symlink():  # replaced already, and not yet removed
                _remove(path)
                continue
            with contextlib.suppress(OSError), _locked(path) as free:
                if free:
                    _remove(path)


def _remove(path: Path) -> None:
    """Remove a link, or a folder of files even if it is read-only; what cannot go stays."""
    with contextlib.suppress(OSError):
        if path.is_symlink():
            path.unlink()
        else:
            path.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)


def _move_into_place(work: Path, path: Path, force: bool) -> None:
    """``work`` becomes ``path``; what stood there is left under the name of ``work``.

    Without ``force`` nothing is replaced, were it made since the place was checked.
    """
    moved = _rename(work, path, _NO_REPLACE)
    if moved is None and not os.path.lexists(path):  # no such rename here
        work.rename(path)
        moved = True
    if moved:
        return
    if not force:
        raise InputError(f"{shown(path, 200)} exists: choose another or pass --force")
    if not _exchange(work, path):
        # No exchange here: two renames, with the old folder put back if the second fails.
        old = work.with_name(f"{work.name}.old")  # a name that is never swept
        path.rename(old)
        try:
            work.rename(path)
        except BaseException:
            old.rename(path)
            raise
        old.rename(work)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two folders in one step, so that a kill finds one or the other; False if unable."""
    return bool(_rename(first, second, _SWAP))


def _rename(first: Path, second: Path, how: str) -> bool | None:
    """Rename in one step; whether it worked, None where there is no such rename.

    False is certain to mean, without replacing, that ``second`` exists.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(first), os.fsencode(second)
    here = -100  # AT_FDCWD
    linux, mac = {_NO_REPLACE: (1, 4), _SWAP: (2, 2)}[how]
    if hasattr(libc, "renameat2"):
        failed = libc.renameat2(here, names[0], here, names[1], linux)
    elif hasattr(libc, "renamex_np"):
        failed = libc.renamex_np(*names, mac)
    else:
        return None
    if not failed:
        return True
    return False if ctypes.get_errno() == errno.EEXIST else None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask

"""Opening a journal: what it may stand on, and whether it is one and whole."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psutil

from flavourbench.collect.journal.schema import APPLICATION, FORMAT, schema
from flavourbench.errors import CheckError, InputError, os_reason, shown
from flavourbench.folders import check_parent, existing_part, is_file

#: Seconds to wait for another process that writes.
_PATIENCE = 60.0
#: File systems whose locks do not hold between hosts, by their names or the beginning of them.
_NETWORKED = (
    *("nfs", "cifs", "smb", "afs", "9p", "ceph", "lustre", "gpfs", "glusterfs", "beegfs"),
    *("fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.glusterfs", "davfs"),
    *("webdav", "ncpfs", "orangefs", "pvfs"),
)


def open_journal(path: Path) -> sqlite3.Connection:
    """Open a journal to write, or begin one where nothing is.

    Every commit is on disk before the call that made it returns.

    Raises
    ------
    InputError
        The place cannot be written, is on a network, or holds something else.
    CheckError
        The journal is damaged. Nothing is written then.
    """
    check_journal(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {os_reason(error, path)}") from error
    connection = _connect(path, "rwc")
    try:
        with explained(path):
            connection.execute(f"PRAGMA busy_timeout = {int(_PATIENCE * 1000)}")
            if _blank(connection):
                connection.execute("PRAGMA journal_mode = WAL")
                _begin(connection)
            _check_content(path, connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def is_journal(path: Path) -> bool:
    """Whether a file is a journal, be it a damaged one: by the mark in its first bytes."""
    try:
        with path.open("rb") as file:
            head = file.read(72)
    except OSError:
        return False
    return head.startswith(b"SQLite format 3") and head[68:] == APPLICATION.to_bytes(4, "big")


def read_journal(path: Path) -> sqlite3.Connection:
    """Open a journal to read, also while others write it.

    Raises
    ------
    InputError
        There is none, or something else.
    CheckError
        It is damaged.
    """
    if not begun(path):
        raise InputError(f"{shown(path, 200)}: no such journal (fb collect begins one)")
    if not is_file(path):
        raise InputError(f"{shown(path, 200)} is no journal: it is no plain file")
    # Only who may write clears away the log and the index that reading needs, too; where nothing
    # can be written, and nobody has it open, SQLite reads the file alone.
    writable = os.access(path.parent, os.W_OK) and os.access(path, os.W_OK)
    alone = not writable and not is_file(Path(f"{path}-wal"))
    connection = _connect(path, "rw" if writable else "ro", immutable=alone)
    try:
        with explained(path):
            connection.execute("PRAGMA query_only = ON")
            connection.execute(f"PRAGMA busy_timeout = {int(_PATIENCE * 1000)}")
            _check_content(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_length(path: Path) -> None:
    """Refuse a journal whose last page is cut: SQLite would fill it with zeros, silently."""
    log = Path(f"{path}-wal")
    try:
        if not is_file(path) or (is_file(log) and log.stat().st_size):  # it may hold what lacks
            return
        with path.open("rb") as file:
            head = file.read(18)
        size = int.from_bytes(head[16:18], "big")
        if size and head.startswith(b"SQLite format 3") and path.stat().st_size % size:
            raise in_our_words(path, sqlite3.DatabaseError("its last page is cut"))
    except OSError as error:
        raise InputError(f"cannot read {os_reason(error, path)}") from error


def _connect(path: Path, mode: str, *, immutable: bool = False) -> sqlite3.Connection:
    _check_length(path)
    name = quote(os.fsencode(path.absolute()))
    address = f"file:{name}?mode={mode}{'&immutable=1' if immutable else ''}"
    try:
        return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise InputError(f"cannot open {shown(path, 200)}: {error}") from error


def _blank(connection: sqlite3.Connection) -> bool:
    """Whether nothing has been made there, by nobody."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return bool(mark == tables == 0)


def _begin(connection: sqlite3.Connection) -> None:
    """Make the tables, unless another process just did."""
    try:
        connection.executescript(schema())
    except sqlite3.OperationalError:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if _blank(connection):
            raise


def begun(path: Path) -> bool:
    """Whether anything is at the place of a journal, other than an empty file."""
    return os.path.lexists(path) and not (is_file(path) and path.stat().st_size == 0)


def check_journal(path: Path) -> None:
    """Refuse a place where no journal can be; nothing is written.

    Raises
    ------
    InputError
        Nothing can be written there, it is no plain file, or it is on a network.
    """
    try:
        check_parent(path.parent)
        if os.path.lexists(path) and not is_file(path):
            raise InputError(f"{shown(path, 200)} is no journal: it is no plain file")
        if is_file(path) and not os.access(path, os.W_OK):
            raise InputError(f"{shown(path, 200)} is not writable: use another journal")
    except OSError as error:
        raise InputError(f"cannot write {os_reason(error, path)}") from error
    kind = file_system(path)
    if kind.startswith(_NETWORKED):
        raise InputError(
            f"{shown(path, 200)} is on a network ({kind}), where locks do not hold:"
            " use a disk of this machine"
        )


def file_system(path: Path) -> str:
    """Kind of the file system that holds a path, in lower case; empty where unknown."""
    place = os.path.realpath(existing_part(path))
    best, kind = "", ""
    try:
        mounts = psutil.disk_partitions(all=True)
    except (OSError, psutil.Error):
        return ""
    for mount in mounts:
        below = place == mount.mountpoint or place.startswith(mount.mountpoint.rstrip("/") + "/")
        if below and len(mount.mountpoint) >= len(best):
            best, kind = mount.mountpoint, mount.fstype.lower()
    return kind


def _check_content(path: Path, connection: sqlite3.Connection) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if application != APPLICATION:
        raise InputError(f"{shown(path, 200)} is a database, but no journal: use another file")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != FORMAT:
        raise InputError(
            f"{shown(path, 200)} has journal format {version}: this version reads {FORMAT}"
        )
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(found)


@contextlib.contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns errors of SQLite within the block into ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise in_our_words(path, error) from error


def in_our_words(path: Path, error: sqlite3.Error) -> InputError | CheckError:
    """An error of SQLite in our words."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    where, words = shown(path, 200), shown(error, 200)
    if code == sqlite3.SQLITE_NOTADB:
        return InputError(f"{where} is no journal: {words}; it was left as it is")
    if code == sqlite3.SQLITE_FULL:
        return InputError(
            f"cannot write {where}: the disk is full. What was stored is safe: make room, and run"
            " the same command again"
        )
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        return InputError(f"cannot write {where}: {words}. What was stored is safe")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return InputError(f"{where} is held by another process for {_PATIENCE:.0f} s: try again")
    return CheckError(
        f"{where} is damaged ({words}); nothing was written. Restore a copy, or begin another"
        " journal"
    )

"""The one thread that writes a journal, and commits in groups.

Each commit waits for the disk; what came in meanwhile shares the next one. A caller goes on
only when its own change is on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from flavourbench.collect.journal.opening import in_our_words
from flavourbench.errors import InputError, shown

_T = TypeVar("_T")
#: Changes that share one commit at most, so that another collector gets its turn.
_GROUP = 256


@dataclass(slots=True)
class _Change:
    """Something to do within a transaction, and who waits for it."""

    make: Callable[[sqlite3.Connection], Any]
    waiting: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class Writer:
    """Runs changes in the order in which they are given.

    Must be made within a running event loop.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        self._file = os.stat(path)  # noqa: PTH116
        self._loop = asyncio.get_running_loop()
        self._changes: queue.SimpleQueue[_Change | None] = queue.SimpleQueue()
        self._lock, self._made = threading.Lock(), list[_Change]()
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def do(self, make: Callable[[sqlite3.Connection], _T]) -> asyncio.Future[_T]:
        """Make a change; the future holds its result once that is on disk.

        Raises (through the future)
        ---------------------------
        InputError, CheckError
            The journal cannot be written.
        """
        change = _Change(make, self._loop.create_future())
        self._changes.put(change)
        return change.waiting

    async def close(self) -> None:
        """Make all changes given before, and end the thread."""
        self._changes.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        ended = False
        while not ended:
            group: list[_Change] = []
            change = self._changes.get()
            while change is not None:
                group.append(change)
                if len(group) == _GROUP:
                    break
                try:
                    change = self._changes.get_nowait()
                except queue.Empty:
                    break
            ended = change is None
            if group:
                self._commit(group)
                self._hand_over(group)

    def _commit(self, group: list[_Change]) -> None:
        database = self._connection
        try:
            self._check_file()
            database.execute("BEGIN IMMEDIATE")
            for change in group:
                change.result = change.make(database)
            database.execute("COMMIT")
        except BaseException as error:
            with contextlib.suppress(sqlite3.Error):
                if database.in_transaction:
                    database.execute("ROLLBACK")
            ours = in_our_words(self._path, error) if isinstance(error, sqlite3.Error) else error
            for change in group:
                change.error = ours

    def _check_file(self) -> None:
        """Refuse to go on where the journal was moved away: all would be lost, and paid for."""
        try:
            there = os.path.samestat(self._file, os.stat(self._path))  # noqa: PTH116
        except OSError:
            there = False
        if not there:
            raise InputError(
                f"{shown(self._path, 200)} was moved or removed while it was written: nothing more"
                " is asked"
            )

    def _hand_over(self, group: list[_Change]) -> None:
        """Give results to the loop, which is woken once for all that it has not fetched yet.

        Each waking is a byte in a pipe that signals need too, and that holds few hundred.
        """
        with self._lock:
            waking = not self._made
            self._made += group
        if waking:
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits
                self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            made, self._made = self._made, []
        for change in made:
            if change.waiting.cancelled():
                continue
            if change.error is None:
                change.waiting.set_result(change.result)
            else:
                change.waiting.set_exception(change.error)

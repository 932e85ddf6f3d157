"""The journal: what it refuses, who holds a claim, and what happens to the claims of the dead."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from collecting import QUICK, model, outcomes, roster, rows, run, some_tasks, table
from running import Run, launch
from simulator import Simulator

from flavourbench.collect.collector import collect
from flavourbench.collect.journal import opening, process
from flavourbench.collect.journal.claims import (
    Denied,
    Limits,
    Over,
    Wanted,
    claim,
    claim_again,
    enrol,
    take_over,
)
from flavourbench.collect.journal.opening import open_journal, read_journal
from flavourbench.collect.journal.process import Process, now, this_process
from flavourbench.collect.journal.queries import unread
from flavourbench.collect.journal.records import Claimed, keep_attempt, keep_reading
from flavourbench.collect.journal.registry import register_cells, register_routes, register_tasks
from flavourbench.collect.outcomes import LOST, Raw, Reading, read_attempt
from flavourbench.collect.plan import Job
from flavourbench.errors import InputError

TASKS = some_tasks(4).tasks
ROUTE = roster(model("http://localhost:1", "one")).routes[0]
REQUEST = b'{"asked": 1}'
GOOD = Raw(
    200,
    {},
    b'{"model": "sim", "choices": [{"finish_reason": "stop", "message": {"content":'
    b' "FINAL_SELECTION: A, B, C"}}], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}',
)
FAILED = Raw(503, {}, b"{}")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = open_journal(tmp_path / "journal.sqlite")
    yield connection
    connection.close()


def wanted(database: sqlite3.Connection, task: int = 0, reserve: int = 5) -> Wanted:
    row = register_routes(database, [ROUTE], [])["one"]
    tasks = register_tasks(database, TASKS)
    register_cells(database, [row], [*tasks.values()], 1)
    return Wanted(row, tasks[TASKS[task].id], 0, REQUEST, reserve)


def claimed(database: sqlite3.Connection, collector: int, task: int = 0) -> Claimed:
    found = claim(database, collector, wanted(database, task), Limits())
    assert isinstance(found, Claimed)
    return found


def reading(raw: Raw = GOOD) -> Reading:
    return read_attempt(raw, ROUTE, TASKS[0], REQUEST)


def age(database: sqlite3.Connection, collector: int, **values: object) -> None:
    """Make a collector another one: of another host, dead, long silent."""
    for key, value in values.items():
        database.execute(f"UPDATE collector SET {key} = ? WHERE id = ?", (value, collector))


# --- claims ----------------------------------------------------------------------------------


def test_a_cell_is_claimed_once_and_asked_until_it_ends(journal: sqlite3.Connection) -> None:
    first, second = enrol(journal, 60.0), enrol(journal, 60.0)
    mine = claimed(journal, first)
    assert claim(journal, second, wanted(journal), Limits()) is Denied.TAKEN
    attempt = keep_attempt(journal, mine, FAILED, now(), 1)
    assert claim(journal, second, wanted(journal), Limits()) is Denied.TAKEN
    settled = keep_reading(journal, attempt, reading(FAILED), QUICK.bounds)
    assert (settled.outcome, settled.tries) == (None, 1)
    assert claim(journal, second, wanted(journal), Limits()) is Denied.TAKEN
    assert claim_again(journal, mine, 5, Limits()) is None
    attempt = keep_attempt(journal, mine, GOOD, now(), 1)
    assert keep_reading(journal, attempt, reading(), QUICK.bounds).outcome == "answered"
    assert claim(journal, second, wanted(journal), Limits()) == Over("answered")
    assert claim(journal, first, wanted(journal), Limits(), reopen=True) == Over("answered")


def test_a_cell_that_failed_is_reopened_only_on_demand(journal: sqlite3.Connection) -> None:
    me = enrol(journal, 60.0)
    mine = claimed(journal, me)
    attempt = keep_attempt(journal, mine, FAILED, now(), 1)
    assert keep_reading(journal, attempt, reading(FAILED), {"server": 1}).outcome == "transport"
    assert claim(journal, me, wanted(journal), Limits()) == Over("transport")
    again = claim(journal, me, wanted(journal), Limits(), reopen=True)
    assert isinstance(again, Claimed)
    assert again.round == 1
    attempt = keep_attempt(journal, again, GOOD, now(), 1)
    assert keep_reading(journal, attempt, reading(), {"server": 1}).outcome == "answered"
    ended = journal.execute("SELECT outcome, round FROM ending").fetchall()
    assert ended == [("answered", 1)]


def test_limits_count_what_is_under_way(journal: sqlite3.Connection) -> None:
    me = enrol(journal, 60.0)
    assert claim(journal, me, wanted(journal, 0), Limits(requests=0)) is Denied.LIMIT
    assert isinstance(claim(journal, me, wanted(journal, 0), Limits(12, 2)), Claimed)
    assert isinstance(claim(journal, me, wanted(journal, 1), Limits(12, 2)), Claimed)
    assert claim(journal, me, wanted(journal, 2), Limits(12)) is Denied.LIMIT
    assert claim(journal, me, wanted(journal, 2), Limits(None, 2)) is Denied.LIMIT
    assert journal.execute("SELECT count(*) FROM claim").fetchone() == (2,)


@pytest.mark.parametrize(
    ("change", "dead"),
    [
        ({}, False),
        ({"pid": 2**22 + 1}, True),
        ({"started": 1.0}, True),
        ({"boot": "another"}, True),
        ({"host": "elsewhere"}, False),
        ({"host": "elsewhere", "seen_at": 1}, True),
        ({"seen_at": 1}, False),  # it is stopped for a while, or busy: it will go on
    ],
)
def test_claims_of_the_dead_are_taken_over(
    journal: sqlite3.Connection, change: dict[str, object], dead: bool
) -> None:
    other, me = enrol(journal, 60.0), enrol(journal, 60.0)
    claimed(journal, other)
    age(journal, other, **change)
    assert take_over(journal, me) == int(dead)
    found = claim(journal, me, wanted(journal), Limits())
    assert isinstance(found, Claimed) == dead
    # What was under way is on record as lost, and paid for as was kept for it.
    kept = journal.execute("SELECT kind, micro_dollars, estimated FROM reading").fetchall()
    assert kept == ([(LOST, 5, 1)] if dead else [])
    assert journal.execute("SELECT requests, micro_dollars FROM total").fetchone() == (
        (1, 5) if dead else (0, 0)
    )


def test_an_answer_that_the_dead_stored_is_not_lost(journal: sqlite3.Connection) -> None:
    other, me = enrol(journal, 60.0), enrol(journal, 60.0)
    keep_attempt(journal, claimed(journal, other), GOOD, now(), 1)
    age(journal, other, pid=2**22 + 1)
    assert list(unread(journal)) == []
    assert take_over(journal, me) == 1
    (left,) = unread(journal)
    assert (left.raw.body, left.request) == (GOOD.body, REQUEST)
    assert claim(journal, me, wanted(journal), Limits()) is Denied.TAKEN
    for _ in range(2):  # another collector may read it at the same time
        assert keep_reading(journal, left.attempt_id, reading(), {}).outcome == "answered"
    assert journal.execute("SELECT requests FROM total").fetchone() == (1,)


def test_a_collector_that_was_given_up_ends_no_other_cell(journal: sqlite3.Connection) -> None:
    """Its claims were freed though it lives: what it brings late is kept, and decides nothing."""
    slow, quick = enrol(journal, 60.0), enrol(journal, 60.0)
    late = claimed(journal, slow)
    age(journal, slow, host="elsewhere", seen_at=1)
    take_over(journal, quick)
    mine = claimed(journal, quick)
    assert claim_again(journal, late, 5, Limits()) is Denied.TAKEN
    first = keep_attempt(journal, mine, GOOD, now(), 1)
    assert keep_reading(journal, first, reading(), {}).outcome == "answered"
    other = GOOD.body.replace(b"A, B, C", b"D, E, F")
    second = keep_attempt(journal, late, Raw(200, {}, other), now(), 1)
    assert keep_reading(journal, second, reading(Raw(200, {}, other)), {}).outcome == "answered"
    ending = journal.execute("SELECT attempt_id, outcome FROM ending").fetchall()
    assert ending == [(first, "answered")]
    flags = dict(journal.execute("SELECT attempt_id, flags FROM reading").fetchall())
    assert flags[second] == "late"
    assert list(unread(journal)) == []


@pytest.mark.timed
def test_a_process_knows_itself_and_the_dead() -> None:
    me = this_process()
    assert me.pid == os.getpid()
    assert not me.dead(1e9, 0.0)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        started = process._started(child.pid)
        assert started is not None
        other = Process(me.host, me.boot, child.pid, started)
        assert not other.dead(0.0, 0.0)
        child.send_signal(signal.SIGSTOP)
        assert not other.dead(1e9, 0.0)
        child.kill()
        deadline = time.monotonic() + 5
        while not other.dead(0.0, 0.0):  # a zombie already counts
            assert time.monotonic() < deadline
    finally:
        child.kill()
        child.communicate()


# --- history ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["route", "block", "name", "task", "cell", "attempt", "reading"])
def test_what_happened_cannot_be_changed(journal: sqlite3.Connection, name: str) -> None:
    mine = claimed(journal, enrol(journal, 60.0))
    keep_reading(journal, keep_attempt(journal, mine, GOOD, now(), 1), reading(), {})
    assert journal.execute(f"SELECT count(*) FROM {name}").fetchone()[0] > 0
    column = journal.execute(f"SELECT name FROM pragma_table_info('{name}')").fetchone()[0]
    for change in (f"DELETE FROM {name}", f"UPDATE {name} SET {column} = {column}"):
        with pytest.raises(sqlite3.IntegrityError, match="only added to"):
            journal.execute(change)


def test_a_route_is_of_one_slot_and_a_name_may_change(journal: sqlite3.Connection) -> None:
    register_routes(journal, [ROUTE], [])
    renamed = roster(model("http://localhost:1", "two")).routes[0]
    with pytest.raises(InputError, match="slot two has the route of slot one"):
        register_routes(journal, [renamed], ["two"])
    titled = roster(model("http://localhost:1", "one", name="A better title")).routes[0]
    register_routes(journal, [titled], [])
    assert journal.execute("SELECT count(*) FROM block").fetchone() == (1,)
    from flavourbench.collect.journal.queries import blocks

    assert [block.name for block in blocks(journal)] == ["A better title"]


def test_a_route_may_come_back(journal: sqlite3.Connection) -> None:
    other = roster(model("http://localhost:1", "one", "other")).routes[0]
    first = register_routes(journal, [ROUTE], [])
    with pytest.raises(InputError, match=r"model: \"sim\" → \"other\".*--new-block one"):
        register_routes(journal, [other], [])
    assert register_routes(journal, [other], ["one"]) != first
    assert register_routes(journal, [ROUTE], ["one"]) == first
    assert journal.execute("SELECT number FROM block").fetchall() == [(1,), (2,), (3,)]


# --- places ----------------------------------------------------------------------------------


def test_a_journal_that_was_hardly_begun_is_begun(tmp_path: Path) -> None:
    """As a kill leaves it: an empty file, or one that SQLite has marked and no more."""
    (tmp_path / "empty.sqlite").touch()
    marked = sqlite3.connect(tmp_path / "marked.sqlite")
    marked.execute("PRAGMA journal_mode = WAL")
    marked.close()
    for name in ("empty", "marked"):
        open_journal(tmp_path / f"{name}.sqlite").close()
        read_journal(tmp_path / f"{name}.sqlite").close()


def test_collectors_begin_a_journal_together(tmp_path: Path) -> None:
    begin = (
        "import sys; from pathlib import Path;"
        "from flavourbench.collect.journal.opening import open_journal;"
        "input(); open_journal(Path(sys.argv[1])).close()"
    )
    for number in range(5):
        path = tmp_path / f"{number}.sqlite"
        together = [
            subprocess.Popen(
                [sys.executable, "-c", begin, path], stdin=subprocess.PIPE, stderr=subprocess.PIPE
            )
            for _ in range(4)
        ]
        ends = [starting.communicate(b"\n") for starting in together]
        assert [starting.returncode for starting in together] == [0] * 4, ends


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff?#%.sqlite"))
    open_journal(path).close()
    assert path.is_file()
    read_journal(path).close()


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "9p"])
def test_a_network_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    class Mount:
        mountpoint, fstype = str(tmp_path), kind

    class Root:
        mountpoint, fstype = "/", "ext4"

    monkeypatch.setattr(opening.psutil, "disk_partitions", lambda **_: [Root(), Mount(), Root()])
    with pytest.raises(InputError, match=rf"on a network \({kind}\)"):
        open_journal(tmp_path / "sub" / "journal.sqlite")
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(opening.psutil, "disk_partitions", lambda **_: [Root()])
    open_journal(tmp_path / "journal.sqlite").close()


def test_a_full_disk_loses_nothing(script: str, tmp_path: Path) -> None:
    """The file may not grow beyond a size; afterwards the same command goes on."""
    limit = (
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (900_000, 900_000))"
    )
    with Simulator() as simulator:
        entry = model(simulator.url, "one", concurrency=4)
        path = tmp_path / "roster.toml"
        lines = ["[[model]]", *(f"{key} = {value!r}" for key, value in entry.items())]
        path.write_text("\n".join(lines))
        arguments = ("collect", path, "--tasks", "test-1")
        done = subprocess.run(
            launch(script, *arguments, before=limit),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert "What was stored is safe" in line
        stored = len(table(tmp_path / "journal.sqlite"))
        assert 0 < stored < 494
        again = subprocess.run(
            launch(script, *arguments), cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert again.returncode == 0, again.stderr
        assert len(table(tmp_path / "journal.sqlite")) == 494
        # Four requests were under way when it ended.
        assert len(simulator.requests) <= 494 + 4


def test_a_journal_that_is_moved_away_ends_the_run(tmp_path: Path) -> None:
    """What is written from then on would be lost, and paid for."""
    path = tmp_path / "journal.sqlite"

    async def moved(url: str) -> None:
        job = Job(roster(model(url, "one", concurrency=4)), some_tasks(400))
        running = asyncio.ensure_future(collect(path, job, QUICK))
        while not path.is_file() or not simulator.requests:
            await asyncio.sleep(0.01)
        path.rename(tmp_path / "elsewhere.sqlite")
        await running

    with Simulator(latency=0.02) as simulator:
        with pytest.raises(InputError, match="was moved or removed while it was written"):
            asyncio.run(moved(simulator.url))
        assert len(simulator.requests) < 100


@pytest.mark.timed
def test_a_lock_of_another_process_does_not_hold_an_interrupt(script: str, tmp_path: Path) -> None:
    with Simulator(latency=0.05) as simulator:
        entry = model(simulator.url, "one", concurrency=4)
        lines = ["[[model]]", *(f"{key} = {value!r}" for key, value in entry.items())]
        (tmp_path / "roster.toml").write_text("\n".join(lines))
        running = subprocess.Popen(
            launch(script, "collect"), cwd=tmp_path, stderr=subprocess.PIPE, text=True
        )
        while len(simulator.requests) < 8:
            time.sleep(0.01)
        holder = sqlite3.connect(tmp_path / "journal.sqlite", isolation_level=None)
        holder.execute("PRAGMA busy_timeout = 5000")
        holder.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        running.send_signal(signal.SIGINT)
        _, err = running.communicate(timeout=20)
        assert time.monotonic() - began < 2.0
        assert running.returncode == 130
        assert "Traceback" not in err
        holder.close()


def test_status_while_it_runs(tmp_path: Path, shell: Callable[..., Run]) -> None:
    """A journal can be read while it is written, and where nothing can be written."""
    path = tmp_path / "journal.sqlite"
    with Simulator() as simulator:
        run(path, Job(roster(model(simulator.url, "one")), some_tasks(5)))
    writing = open_journal(path)
    writing.execute("BEGIN IMMEDIATE")
    done = shell("status", path, "--json")
    assert done.code == 0
    assert done.json["answered"] == 5
    writing.close()
    assert shell("status", path).code == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["journal.sqlite"]
    assert outcomes(path)["one"][0].outcome == "answered"
    assert rows(path, "SELECT count(*) FROM claim") == [(0,)]

"""A collection that is killed, interrupted or shared loses nothing and asks nothing twice."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from collecting import model, roster, rows, run, some_tasks, table
from running import Run, launch
from simulator import Simulator

from flavourbench.collect.plan import Job


#: Fails at first for one prompt in five, then answers.
def uneven(dialect: str, name: str, prompt: str, nth: int) -> str:
    sign = sum(prompt.encode()) % 10
    return "sim" + {0: "+flaky:1", 1: "+flaky-cut:1"}.get(sign, "")


def write_roster(folder: Path, *models: dict[str, object]) -> Path:
    """The roster file of such models."""
    lines = []
    for entry in models:
        lines.append("[[model]]")
        lines += [f"{key} = {value!r}" for key, value in entry.items()]
    path = folder / "roster.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def start(script: str, folder: Path, *arguments: str | Path) -> subprocess.Popen[str]:
    """``fb collect`` in a process of its own."""
    return subprocess.Popen(
        launch(script, "collect", *arguments),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def check_whole(path: Path, simulator: Simulator, cells: int) -> None:
    """Each cell ended once; what was answered was asked no more; all requests are on record."""
    endings = rows(
        path, "SELECT cell_id, count(*) FROM reading WHERE outcome IS NOT NULL GROUP BY cell_id"
    )
    assert len(endings) == cells
    assert {count for _, count in endings} == {1}
    # The attempt that ended a cell is its last one: nothing was sent after its answer was stored.
    assert rows(
        path,
        "SELECT count(*) FROM reading r JOIN attempt a USING (cell_id) WHERE r.outcome IS NOT NULL"
        " AND a.id > r.attempt_id",
    ) == [(0,)]
    assert rows(path, "SELECT count(*) FROM claim") == [(0,)]
    assert rows(path, "SELECT count(*) FROM attempt") == rows(path, "SELECT count(*) FROM reading")
    kept = Counter(
        dict(
            rows(
                path,
                "SELECT json_extract(t.content, '$.model') || c.task, count(*) FROM attempt a"
                " JOIN cell c ON c.id = a.cell_id JOIN route t ON t.id = c.route_id GROUP BY 1",
            )
        )
    )
    sent = len(simulator.requests)
    lost = rows(path, "SELECT count(*) FROM reading WHERE kind IN ('lost', 'dropped')")[0][0]
    assert kept.total() - lost <= sent <= kept.total()
    totals = rows(
        path,
        "SELECT count(*), total(coalesce(gateway_micro_dollars, micro_dollars)) FROM reading",
    )
    assert rows(path, "SELECT requests, micro_dollars FROM total") == totals
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]
    assert rows(path, "PRAGMA foreign_key_check") == []


PRICES = {"prices": {"date": "2026-11-01", "input": 3, "output": 15}}


@pytest.mark.slow
def test_killed_at_twenty_moments(script: str, tmp_path: Path) -> None:
    """1,000 cells with failures among them: the table is that of an uninterrupted run."""
    random_ = random.Random(20261130)
    with Simulator(uneven, latency=0.15) as simulator:
        path = write_roster(
            tmp_path,
            model(simulator.url, "one", "sim-1", concurrency=8),
            model(simulator.url, "two", "sim-2", concurrency=8),
        )
        options = (path, "--limit", "500", "--journal", "killed.sqlite")
        kills = 0
        while kills < 20:
            process = start(script, tmp_path, *options)
            began = len(simulator.requests)
            while len(simulator.requests) == began and process.poll() is None:
                time.sleep(0.01)  # its imports are no moment of the run
            time.sleep(random_.uniform(0.0, 0.6))
            assert process.poll() is None, process.communicate()
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
        ended = len(table(tmp_path / "killed.sqlite"))
        assert 100 < ended < 1000, "the kills came too early or too late"
        process = start(script, tmp_path, *options)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert "1,000 of 1,000 cells ended" in out
        check_whole(tmp_path / "killed.sqlite", simulator, 1000)
        again = start(script, tmp_path, *options)
        sent = len(simulator.requests)
        again.communicate(timeout=60)
        assert (again.returncode, len(simulator.requests)) == (0, sent)
    with Simulator(uneven) as simulator:
        fresh = write_roster(
            tmp_path, model(simulator.url, "one", "sim-1"), model(simulator.url, "two", "sim-2")
        )
        process = start(script, tmp_path, fresh, "--limit", "500", "--journal", "whole.sqlite")
        process.communicate(timeout=120)
        assert process.returncode == 0
    assert table(tmp_path / "killed.sqlite") == table(tmp_path / "whole.sqlite")


def test_two_collectors_ask_no_cell_twice(script: str, tmp_path: Path) -> None:
    with Simulator(uneven, latency=0.02) as simulator:
        path = write_roster(
            tmp_path,
            model(simulator.url, "one", "sim-1", concurrency=8),
            model(simulator.url, "two", "sim-2", concurrency=8),
        )
        both = [start(script, tmp_path, path, "--limit", "300") for _ in range(2)]
        for process in both:
            _, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
        journal = tmp_path / "journal.sqlite"
        # One may leave while the other still asks.
        check_whole(journal, simulator, 600)
        asked = Counter(
            (seen.model, seen.prompt)
            for seen in simulator.requests
            if seen.answered and seen.status == 200
        )
        assert set(asked.values()) == {1}
        shares = rows(journal, "SELECT collector_id, count(*) FROM attempt GROUP BY 1")
        assert len(shares) == 2, "both have to take part for this to say anything"
    assert {row[3] for row in table(journal)} == {"answered"}


@pytest.mark.timed
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("behaviour", ["sim+latency:0.1", "sim+hang", "sim+429"])
def test_an_interrupt_ends_it_in_two_seconds(
    script: str, tmp_path: Path, number: signal.Signals, code: int, behaviour: str
) -> None:
    with Simulator() as simulator:
        entry = model(simulator.url, "one", behaviour, concurrency=4)
        process = start(script, tmp_path, write_roster(tmp_path, entry))
        while len(simulator.requests) < 4:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        time.sleep(0.2)
        began = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
        assert time.monotonic() - began < 2.0
        assert (process.returncode, out) == (code, "")
        lines = err.splitlines()
        assert len(lines) == 2
        assert "the same command goes on" in lines[0]
        sent = len(simulator.requests)
    journal = tmp_path / "journal.sqlite"
    assert rows(journal, "SELECT count(*) FROM claim") == [(0,)]
    assert rows(journal, "SELECT count(*) FROM attempt") == [(sent,)]
    if behaviour == "sim+hang":
        assert {kind for (kind,) in rows(journal, "SELECT kind FROM reading")} == {"dropped"}


def test_it_goes_on_after_an_interrupt(
    script: str, tmp_path: Path, shell: Callable[..., Run]
) -> None:
    with Simulator(latency=0.05) as simulator:
        entry = model(simulator.url, "one", concurrency=4)
        path = write_roster(tmp_path, entry)
        process = start(script, tmp_path, path, "--limit", "100")
        while len(simulator.requests) < 20:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        done = shell("collect", path, "--limit", "100")
        assert done.code == 0
        check_whole(tmp_path / "journal.sqlite", simulator, 100)
        answered = Counter(seen.prompt for seen in simulator.requests if seen.answered)
        assert max(answered.values()) == 1


def test_answers_stored_by_a_dead_collector_are_read_not_asked(tmp_path: Path) -> None:
    """As if it was killed between the two commits of an answer."""
    path, tasks = tmp_path / "journal.sqlite", some_tasks(30)
    with Simulator() as simulator:
        job = Job(roster(model(simulator.url, "one")), tasks)
        run(path, job)
        before = table(path)
        connection = sqlite3.connect(path)
        connection.executescript(
            "DROP TRIGGER reading_delete; DELETE FROM reading; UPDATE total SET requests = 0;"
        )
        connection.close()
        assert table(path) == []
        run(path, job)
        assert table(path) == before
        assert len(simulator.requests) == 30


@pytest.mark.timed
def test_the_demonstration_hears_an_interrupt_while_it_is_busy(script: str, tmp_path: Path) -> None:
    """Answers in this process keep the loop busy, and wake it often."""
    small = ("demo", "--draws", "200", "--flips", "300")
    process = subprocess.Popen(
        launch(script, *small),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    journal = tmp_path / "flavourbench-demo" / "journal.sqlite"
    while not journal.is_file() or not rows(journal, "SELECT count(*) FROM sqlite_master")[0][0]:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    while rows(journal, "SELECT count(*) FROM attempt")[0][0] < 500:
        time.sleep(0.05)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 2.0
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert 500 <= rows(journal, "SELECT count(*) FROM ending")[0][0] < 20_000
    assert rows(journal, "SELECT count(*) FROM claim") == [(0,)]

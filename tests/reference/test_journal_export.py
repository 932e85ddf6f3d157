"""The canonical export: what the digest of a journal stands for, and what it does not."""

from __future__ import annotations

import hashlib
import sqlite3
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from collecting import rows, run, some_tasks

from flavourbench.analysis.collected import journal_answers
from flavourbench.analysis.skeleton import roster_text
from flavourbench.analysis.study import read_study
from flavourbench.collect.contestants import ENTRIES
from flavourbench.collect.journal.export import RECIPE, export_sha256, route_export
from flavourbench.collect.journal.queries import blocks
from flavourbench.collect.plan import Job
from flavourbench.collect.roster import Roster, parse_roster
from flavourbench.identity import table_sha256

TASKS = some_tasks(12)


def contestants(*slots: str) -> Roster:
    text = roster_text(entry for entry in ENTRIES if entry.slot in slots)
    return parse_roster(tomllib.loads(text, parse_float=Decimal))


def digests(path: Path) -> dict[str, str]:
    connection = sqlite3.connect(path)
    found = {b.slot: export_sha256(connection, b.route_id) for b in blocks(connection)}
    connection.close()
    return found


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal.sqlite"
    run(path, Job(contestants("chance", "cook-50"), TASKS, repeats=2))
    return path


def test_equal_answers_have_one_digest(journal: Path, tmp_path: Path) -> None:
    """In another order, at another time, in pieces, beside other models."""
    other = tmp_path / "other.sqlite"
    run(other, Job(contestants("cook-50", "first-three"), TASKS))
    run(other, Job(contestants("chance", "cook-50"), TASKS, repeats=2))
    first, second = digests(journal), digests(other)
    assert second.pop("first-three") not in first.values()
    assert first == second
    assert len({*first.values()}) == 2
    began = [
        row[0]
        for path in (journal, other)
        for row in rows(path, "SELECT min(began_at) FROM attempt")
    ]
    assert began[0] != began[1]


def test_it_holds_every_attempt_in_order(journal: Path) -> None:
    connection = sqlite3.connect(journal)
    block = next(b for b in blocks(connection) if b.slot == "cook-50")
    columns = route_export(connection, block.route_id)
    connection.close()
    found = [*zip(columns["task"], np.asarray(columns["repeat"]).tolist(), strict=True)]
    assert found == [(task, repeat) for task in sorted(TASKS.by_id) for repeat in (0, 1)]
    assert {*columns["route"]} == {block.digest}
    (body,) = rows(
        journal,
        "SELECT b.sha256 FROM blob b JOIN attempt a ON a.body_id = b.id JOIN cell c ON c.id ="
        " a.cell_id JOIN task t ON t.id = c.task WHERE c.route_id = ? AND t.task_id = ?"
        " AND c.repeat = 1",
        block.route_id,
        found[0][0],
    )
    assert columns["body_sha256"][1] == body[0].hex()
    answers = journal_answers(journal, ["cook-50"], TASKS)
    assert answers.models[0].source["content_sha256"] == table_sha256(columns, RECIPE)


def _changes() -> Iterator[tuple[str, str]]:
    """Every column of what happened at one attempt: table and column."""
    texts = ("kind", "outcome", "reason", "flags", "served", "provider", "finish_reason", "usage")
    numbers = (
        *("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens"),
        *("reasoning_tokens", "estimated", "micro_dollars", "gateway_micro_dollars"),
    )
    yield from (("reading", column) for column in (*texts, *numbers))
    yield from (("attempt", column) for column in ("status", "error", "message", "round"))
    yield from (("blob", "sha256"), ("cell", "repeat"), ("task", "task_id"), ("route", "digest"))


@pytest.mark.parametrize(("table", "column"), [*_changes()])
def test_whatever_happened_otherwise_changes_it(journal: Path, table: str, column: str) -> None:
    before = digests(journal)
    connection = sqlite3.connect(journal)
    connection.execute(f"DROP TRIGGER IF EXISTS {table}_update")
    (old,) = connection.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchone()
    new = old + 7 if isinstance(old, int) else hashlib.sha256(str(old).encode()).hexdigest()
    if table == "blob":
        new = hashlib.sha256(old).digest()
    elif old is None and column in ("status", "micro_dollars", "gateway_micro_dollars"):
        new = 7
    connection.execute(
        f"UPDATE {table} SET {column} = ? WHERE rowid = (SELECT min(rowid) FROM {table})", (new,)
    )
    connection.commit()
    connection.close()
    assert digests(journal) != before


def test_a_study_reads_its_own_models_alone(journal: Path, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('panels = ["test-1"]\n')
    (tmp_path / "roster.toml").write_text('[[model]]\nslot = "chance"\ndialect = "local:chance"\n')
    study = read_study(tmp_path)
    tasks = study.read_tasks()
    assert study.read_coverage(tasks).slots == ("chance",)
    answers = study.read_answers(tasks, ["chance"])
    assert {row.slot for row in answers.rows} == {"chance"}
    assert len(answers.rows) == 2 * len(TASKS)
    assert all(row.text for row in answers.rows)

"""No answer, however odd, ends a collection: each is read as something, and can be written down."""

from __future__ import annotations

import copy
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from collecting import BASES, GOOD, TEXT, model, roster, some_tasks
from hypothesis import given, settings
from hypothesis import strategies as st

from flavourbench.collect.journal.claims import Limits, Wanted, claim, enrol
from flavourbench.collect.journal.records import Claimed, keep_attempt, keep_reading
from flavourbench.collect.journal.registry import register_cells, register_routes, register_tasks
from flavourbench.collect.journal.schema import schema
from flavourbench.collect.outcomes import ANSWER, OUTCOMES, Raw, read_attempt
from flavourbench.collect.route import Route

TASK = some_tasks(1).tasks[0]
#: Any JSON, with texts that no encoding knows and numbers of any size.
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(st.characters(), max_size=20)
    | st.sampled_from(["\ud800", "\x1b[2J", "[/b]", "a" * 5000, TEXT, "stop", "length", "STOP"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "type", "code", "message", "error"]), inner)
    ),
    max_leaves=6,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all that is in a JSON value."""
    yield path
    if isinstance(value, (dict, list)):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(entry, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """``value`` with something else at a path; ``...`` leaves it out."""
    if not path:
        return new
    out = copy.copy(value)
    if new is ... and len(path) == 1:
        del out[path[0]]
    else:
        out[path[0]] = replaced(value[path[0]], path[1:], new)
    return out


def route(dialect: str) -> Route:
    return roster(model("http://localhost:1", "one", dialect=dialect)).routes[0]


@pytest.fixture(scope="module")
def journal() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(schema())
    yield connection
    connection.close()


def odd_answers(dialect: str) -> st.SearchStrategy[Any]:
    good = GOOD[dialect]
    paths = st.sampled_from(list(places(good)))
    one = st.tuples(paths, values | st.just(...))
    return st.lists(one, min_size=1, max_size=2).map(lambda changes: _changed(good, changes))


def _changed(good: Any, changes: list[tuple[tuple[Any, ...], Any]]) -> Any:
    for path, new in changes:
        try:
            good = replaced(good, path, None if new is ... and not path else new)
        except (LookupError, TypeError):  # the first change took the place of the second
            continue
    return good


@pytest.mark.parametrize("dialect", BASES)
def test_good_answers_are_answered(dialect: str) -> None:
    raw = Raw(200, {}, json.dumps(GOOD[dialect]).encode())
    reading = read_attempt(raw, route(dialect), TASK, b"{}")
    assert (reading.kind, reading.outcome, reading.flags) == (ANSWER, "answered", ())
    tokens = reading.charge.tokens
    assert (tokens.cached_input, tokens.output) == (8, 20)
    assert tokens.input == (200 if dialect == "anthropic" else 192)


@pytest.mark.parametrize("dialect", BASES)
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_every_answer_is_read_and_kept(
    dialect: str, data: st.DataObject, journal: sqlite3.Connection
) -> None:
    answer = data.draw(odd_answers(dialect))
    one = route(dialect)
    raw = Raw(200, {}, json.dumps(answer).encode())
    reading = read_attempt(raw, one, TASK, b"{}")
    assert reading.outcome in {*OUTCOMES, None} - {"transport"}
    assert reading.kind in ("answer", "connection", "busy", "server")
    assert (reading.outcome is None) == (reading.kind != ANSWER)
    assert reading.reason.isprintable()
    tokens = reading.charge.tokens
    assert min(tokens.input, tokens.cached_input, tokens.cache_write, tokens.output) >= 0
    journal.execute("BEGIN")
    row = register_routes(journal, [one], [])["one"]
    task = register_tasks(journal, [TASK])[TASK.id]
    register_cells(journal, [row], [task], 1)
    found = claim(journal, enrol(journal, 60.0), Wanted(row, task, 0, b"{}", 0), Limits())
    assert isinstance(found, Claimed)
    attempt = keep_attempt(journal, found, raw, 1, 1)
    settled = keep_reading(journal, attempt, reading, {})
    assert settled.outcome == reading.outcome
    (kept,) = journal.execute("SELECT served, provider, reason FROM reading").fetchall()
    assert all(text is None or text.isprintable() for text in kept)
    journal.execute("ROLLBACK")


@pytest.mark.parametrize("dialect", BASES)
@settings(max_examples=100, deadline=None)
@given(body=st.binary(max_size=200), status=st.integers(100, 599), error=st.none() | st.text())
def test_every_body_is_read(dialect: str, body: bytes, status: int, error: str | None) -> None:
    reading = read_attempt(Raw(status, {}, body, error), route(dialect), TASK, b"{}")
    assert (reading.outcome is None) == (reading.kind != ANSWER)

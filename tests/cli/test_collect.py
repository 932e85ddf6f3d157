"""``fb collect`` and ``fb status``: what is asked, told, refused, and never told."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from collecting import BASES, PLANTED, everything, model, outcomes, rows
from running import Command, Run, tree
from simulator import Simulator

PRICES = {"date": "2026-11-01", "input": 1, "output": 2, "request": "0.0001"}
TASKS = ("--tasks", "test-1")
SMOKE = (*TASKS, "--limit", "8")
STATUS = {
    *("journal", "cells", "ended", "answered", "left", "under_way", "requests"),
    *("dollars", "models", "earlier_requests", "requests_without_price"),
}
MODEL = {
    *("slot", "name", "simulated", "block", "route_digest", "cells", "repeats", "ended", "left"),
    *("outcomes", "reasons", "coverage", "requests", "retried", "input_tokens", "output_tokens"),
    *("reasoning_tokens", "estimated_requests", "dollars", "requests_without_price"),
    "seconds_an_answer",
}


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def write_roster(fb: Command, *models: dict[str, Any], name: str = "roster.toml") -> None:
    parts = [
        "[[model]]\n" + "".join(f"{key} = {toml(value)}\n" for key, value in one.items())
        for one in models
    ]
    (fb.folder / name).write_text("\n".join(parts))


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator() as running:
        yield running


@pytest.fixture
def keyed(fb: Command, simulator: Simulator, monkeypatch: pytest.MonkeyPatch) -> Command:
    """``fb`` beside a roster of two models that have a key."""
    monkeypatch.setenv("PLANTED_KEY", PLANTED)
    write_roster(
        fb,
        model(simulator.url, "herb", name="Herb One", key_env="PLANTED_KEY", prices=PRICES),
        model(simulator.url, "root", "sim+prose", dialect="anthropic", key_env="PLANTED_KEY"),
    )
    return fb


def collected(fb: Command, *options: str, code: int = 0) -> Run:
    run = fb("collect", *options)
    assert run.code == code, run
    assert len(run.err) == (code > 0), run
    return run


# --- what is asked ---------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["collect", "status", "demo"])
def test_help_shows_examples(fb: Command, command: str) -> None:
    run = fb(command, "--help")
    assert run.code == 0
    examples = run.out.split("Examples:")[1].split("Arguments")[0]
    assert len(re.findall(rf"fb {command}\b", examples)) >= 2


def test_a_collection_asks_each_cell_once(keyed: Command, simulator: Simulator) -> None:
    run = collected(keyed, *SMOKE)
    asked = [(seen.model, seen.prompt) for seen in simulator.requests]
    assert len(asked) == len(set(asked)) == 16
    assert {seen.dialect for seen in simulator.requests} == {"chat", "messages"}
    found = outcomes(keyed.folder / "journal.sqlite")
    assert {slot: {cell.outcome for cell in cells} for slot, cells in found.items()} == {
        "herb": {"answered"},
        "root": {"unparseable"},
    }
    assert "16 of 16 cells ended · 8 answered · nothing left · 16 requests" in run.out
    again = collected(keyed, *SMOKE)
    assert again.out == run.out
    assert len(simulator.requests) == 16
    more = keyed.json("collect", *TASKS, "--limit", "9")
    assert (more["requests"], len(simulator.requests)) == (18, 18)


def test_a_limit_is_spread_over_families_and_panels(keyed: Command) -> None:
    tasks = ("--tasks", "test-1", "--tasks", "test-2")
    found = keyed.json("collect", *tasks, "--limit", "11", "--model", "herb")
    cover = {(c["panel"], c["family"]): c["tasks"] for c in found["models"][0]["coverage"]}
    assert len(cover) == 8
    assert sorted(cover.values()) == [1] * 5 + [2] * 3
    # A larger limit holds the smaller one.
    ids = {row[0] for row in rows(keyed.folder / "journal.sqlite", "SELECT task_id FROM task")}
    found = keyed.json("collect", *tasks, "--limit", "16", "--model", "herb")
    more = {row[0] for row in rows(keyed.folder / "journal.sqlite", "SELECT task_id FROM task")}
    assert ids < more
    assert found["requests"] == 16


def test_repeats_are_cells_of_their_own(keyed: Command, simulator: Simulator) -> None:
    found = keyed.json("collect", *SMOKE, "--repeat", "3", "--model", "herb")
    (herb,) = found["models"]
    assert (herb["repeats"], herb["cells"], herb["ended"]) == (3, 24, 24)
    assert {seen.nth for seen in simulator.requests} == {1, 2, 3}
    # Coverage is of the first repeat, which alone is ranked.
    assert sum(c["valid"] for c in herb["coverage"]) == 8
    assert [r[0] for r in rows(keyed.folder / "journal.sqlite", "SELECT repeat FROM cell")] == (
        [0] * 8 + [1] * 8 + [2] * 8
    )


def test_a_limit_of_requests_stops_and_resumes(keyed: Command, simulator: Simulator) -> None:
    for most, code in ((5, 1), (12, 1), (16, 0)):
        run = collected(keyed, *SMOKE, "--max-requests", str(most), code=code)
        assert len(simulator.requests) == most
        if code:
            assert f"the limit is reached with {16 - most} cells left" in run.err[0]
            assert f"--max-requests {most} allows no other" in run.err[0]
            assert f"{most} requests" in run.out
    assert len({(s.model, s.prompt) for s in simulator.requests}) == 16


def test_a_budget_stops_before_it_is_spent(keyed: Command, simulator: Simulator) -> None:
    options = (*SMOKE, "--model", "herb")
    (herb,) = keyed.json("collect", *options, "--dry-run")["models"]
    one = herb["most_dollars"] / 8
    run = collected(keyed, *options, "--budget", f"{one * 1.3:.6f}", code=1)
    assert "the limit is reached" in run.err[0]
    found = keyed.json("status")
    assert 0 < found["requests"] == len(simulator.requests) < 8
    assert 0 < found["dollars"] <= one * 1.3
    collected(keyed, *options, "--budget", f"{one * 8:.6f}")
    assert len(simulator.requests) == 8


def test_a_dry_run_sends_and_writes_nothing(keyed: Command, simulator: Simulator) -> None:
    before = tree(keyed.folder)
    empty = keyed.json("collect", *SMOKE, "--dry-run")
    assert tree(keyed.folder) == before
    assert empty["requests"] == 16
    assert empty["most_dollars"] is None
    assert [row["most_dollars"] is None for row in empty["models"]] == [False, True]
    run = keyed("collect", *SMOKE, "--dry-run")
    assert "16 requests · cost unknown: no prices for root · nothing was sent" in run.out
    assert f"{empty['models'][0]['input_tokens']:,}" in run.out
    assert not simulator.requests
    collected(keyed, *SMOKE, "--max-requests", "6", code=1)
    database = (keyed.folder / "journal.sqlite").read_bytes()
    partial = keyed.json("collect", *SMOKE, "--dry-run")
    assert partial["requests"] == 10
    assert len(simulator.requests) == 6
    assert (keyed.folder / "journal.sqlite").read_bytes() == database


def test_a_dry_run_needs_no_keys(keyed: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PLANTED_KEY")
    assert keyed.json("collect", *SMOKE, "--dry-run")["requests"] == 16


# --- where a route fails ---------------------------------------------------------------------


@pytest.mark.parametrize("dialect", BASES)
def test_401_stops_its_route_with_the_message_of_the_server(
    fb: Command, simulator: Simulator, monkeypatch: pytest.MonkeyPatch, dialect: str
) -> None:
    monkeypatch.setenv("PLANTED_KEY", PLANTED)
    bad = model(simulator.url, "bad", "sim+401", dialect=dialect, key_env="PLANTED_KEY")
    write_roster(fb, bad | {"concurrency": 1}, model(simulator.url, "good"))
    run = collected(fb, *SMOKE, code=1)
    assert "stopped with 8 cells left: bad: HTTP 401: Incorrect API key provided" in run.err[0]
    assert sum(seen.model == "sim+401" for seen in simulator.requests) == 1
    assert len(outcomes(fb.folder / "journal.sqlite")["good"]) == 8
    assert PLANTED not in run.out + run.err[0]
    assert PLANTED.encode() not in everything(fb.folder)
    # With another key it goes on where it was.
    run = fb("collect", *SMOKE, "--json")
    assert run.code == 1
    assert run.json["left"] == 8


def test_what_ended_in_transport_is_asked_again_on_demand(
    fb: Command, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from collecting import QUICK

    monkeypatch.setattr("flavourbench.collect.collector.Retries", lambda: QUICK)
    write_roster(fb, model(simulator.url, "herb", "sim+flaky-cut:2"))
    for _ in range(2):  # the second time nothing is asked, and still it is not done
        run = fb("collect", *SMOKE, "--json")
        assert run.code == 1
        assert run.err == ["fb: 8 cells ended in transport: ask them again with --retry-transport"]
        assert run.json["models"][0]["outcomes"] == {"transport": 8}
        assert (run.json["requests"], len(simulator.requests)) == (16, 16)
    assert fb.json("collect", *SMOKE, "--retry-transport", "--dry-run")["requests"] == 8
    again = fb.json("collect", *SMOKE, "--retry-transport")
    assert again["models"][0]["outcomes"] == {"answered": 8}
    assert again["requests"] == 24


# --- what is refused -------------------------------------------------------------------------


def sent_to(url: str, **more: Any) -> dict[str, Any]:
    return model("http://127.0.0.1:9", "herb", **more) | {"base_url": url}


GOOD = model("http://127.0.0.1:9", "herb")
BAD_ROSTERS: list[tuple[list[dict[str, Any]], tuple[str, ...]]] = [
    ([sent_to("http://api.example.com/v1")], ("base_url", "api.example.com", "https")),
    ([GOOD | {"dialect": "openia-chat"}], ("openia-chat", "openai-chat")),
    ([{"slot": "c", "dialect": "local:cooc"}], ("cooc", "co-occurrence")),
    ([GOOD, GOOD | {"model": "other"}], ("herb", "twice")),
    ([GOOD, GOOD | {"slot": "other"}], ("herb", "other", "one route")),
    ([GOOD | {"tempreature": 1}], ("tempreature", "unknown")),
    ([GOOD | {"temperature": 3}], ("temperature", "3", "0 to 2")),
    ([GOOD | {"extra": {"stream": True}}], ("extra.stream",)),
    ([GOOD | {"key_env": "NOT_THERE"}], ("herb", "NOT_THERE", "is not set")),
    ([GOOD | {"name": "red\x1b[31m"}], ("name", "\\u001b")),
]


@pytest.mark.parametrize(("models", "says"), BAD_ROSTERS)
def test_rosters_that_are_refused(
    fb: Command, models: list[dict[str, Any]], says: tuple[str, ...]
) -> None:
    write_roster(fb, *models)
    fb.refused("collect", *SMOKE, says=says)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("none.toml",), ("none.toml", "no such file")),
        (("--model", "herbs"), ("no model herbs", "herb", "root")),
        (("--new-block", "herbs"), ("--new-block herbs",)),
        (("--tasks", "test-9"), ("test-9",)),
        (("--budget", "5"), ("root has no prices", "budget")),
        (("--journal", "roster.toml"), ("roster.toml is no journal",)),
        (("--journal", "roster.toml", "--dry-run"), ("roster.toml is no journal",)),
        (("--journal", "."), ("no plain file",)),
        (("--journal", "roster.toml/journal.sqlite"), ("roster.toml",)),
        (("--budget", "nan"), ("--budget", "nan")),
        (("--budget", "inf"), ("--budget", "inf")),
        (("--budget", "-1"), ("--budget",)),
        (("--repeat", "0"), ("--repeat",)),
        (("--limit", "0"), ("--limit",)),
        (("--max-requests", "0"), ("--max-requests",)),
    ],
)
def test_options_that_are_refused(
    keyed: Command, options: tuple[str, ...], says: tuple[str, ...]
) -> None:
    keyed.refused("collect", *SMOKE, *options, says=says)


def test_a_model_in_an_empty_value_is_refused(keyed: Command) -> None:
    for value in ("", " ", "herb,root"):
        keyed.refused("collect", *SMOKE, "--model", value, says="no model")


@pytest.mark.parametrize("value", ["sh0rt", "with space", "line\nbreak", "ключ-ключ"])
def test_a_key_that_is_none_is_refused_and_not_shown(
    keyed: Command, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("PLANTED_KEY", value)
    line = keyed.refused("collect", *SMOKE, says=("herb", "PLANTED_KEY"))
    assert value not in line


def test_a_folder_that_cannot_be_written(keyed: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may write everywhere is told otherwise."""
    real: Callable[..., bool] = os.access
    monkeypatch.setattr(
        os,
        "access",
        lambda path, mode, **more: not mode & os.W_OK and real(path, mode, **more),
    )
    keyed.refused("collect", *SMOKE, says="not writable")
    keyed.refused("collect", *SMOKE, "--journal", "new/deep/journal.sqlite", says="not writable")


# --- a route that was changed ----------------------------------------------------------------


def test_a_changed_route_needs_a_block_of_its_own(fb: Command, simulator: Simulator) -> None:
    journal = fb.folder / "journal.sqlite"
    before = model(simulator.url, "herb", temperature=1, concurrency=2)
    write_roster(fb, before)
    first = fb.json("collect", *SMOKE)
    write_roster(fb, before | {"concurrency": 3, "name": "New name", "prices": PRICES})
    assert fb.json("collect", *SMOKE)["requests"] == 8  # that is no other route
    after = before | {"temperature": 0.5, "model": "sim+prose"}
    write_roster(fb, after)
    history = ("route", "block", "task", "cell", "attempt", "reading", "blob")
    held = [rows(journal, f"SELECT * FROM {table}") for table in history]
    run = fb("collect", *SMOKE)
    assert (run.code, run.out, len(run.err)) == (2, "", 1)
    for part in ("slot herb", "temperature: 1", "0.5", "model:", "sim+prose", "--new-block herb"):
        assert part in run.err[0]
    assert len(simulator.requests) == 8
    assert [rows(journal, f"SELECT * FROM {table}") for table in history] == held
    second = fb.json("collect", *SMOKE, "--new-block", "herb")
    (one,), (two,) = first["models"], second["models"]
    assert (one["block"], two["block"]) == (1, 2)
    assert one["route_digest"] != two["route_digest"]
    assert two["outcomes"] == {"unparseable": 8}
    # Both are kept, each over its own route.
    kept = rows(
        journal,
        "SELECT b.number, e.outcome, count(*) FROM block b JOIN cell c ON c.route_id = b.route_id"
        " JOIN ending e ON e.cell_id = c.id GROUP BY 1, 2 ORDER BY 1",
    )
    assert kept == [(1, "answered", 8), (2, "unparseable", 8)]
    assert "(block 2)" in fb("status").out
    assert fb.json("collect", *SMOKE)["requests"] == 16  # needs no word any more
    write_roster(fb, before)
    run = fb("collect", *SMOKE)
    assert run.code == 2
    assert "--new-block herb" in run.err[0]
    back = fb.json("collect", *SMOKE, "--new-block", "herb")["models"][0]
    assert (back["block"], back["outcomes"]) == (3, {"answered": 8})
    assert len(simulator.requests) == 16  # it was asked over this route before


# --- journals that are none ------------------------------------------------------------------


def _text(path: Path) -> None:
    path.write_text("Dear diary,\n" * 500)


def _foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE route (id INTEGER)")
    other.close()


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def _cut_in_a_page(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _header_only(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def _flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    page = int.from_bytes(content[16:18], "big")
    for at in range(page * 2, len(content), page):
        content[at : at + 64] = bytes(byte ^ 0xFF for byte in content[at : at + 64])
    path.write_bytes(content)


def _zeroed(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 6] = bytes(4096 * 3)
    path.write_bytes(content)


def _later_format(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[60:64] = (2).to_bytes(4, "big")  # user_version
    path.write_bytes(content)


SPOILED: list[tuple[Callable[[Path], None], str]] = [
    (_text, "is no journal"),
    (_foreign, "is a database, but no journal"),
    (_truncated, "damaged"),
    (_cut_in_a_page, "damaged"),
    (_header_only, ""),
    (_flipped, "damaged"),
    (_zeroed, "damaged"),
    (_later_format, "format 2: this version reads 1"),
]


@pytest.mark.parametrize(("spoil", "says"), SPOILED)
def test_a_journal_that_is_none_is_left_as_it_is(
    keyed: Command, simulator: Simulator, spoil: Callable[[Path], None], says: str
) -> None:
    path = keyed.folder / "journal.sqlite"
    collected(keyed, *TASKS, "--limit", "40")
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    for side in ("-wal", "-shm"):
        path.with_name(path.name + side).unlink(missing_ok=True)
    spoil(path)
    content, asked = path.read_bytes(), len(simulator.requests)
    for command in (
        ("collect", *TASKS),
        ("collect", *TASKS, "--new-block", "herb", "--json"),
        ("collect", *TASKS, "--dry-run"),
        ("status",),
        ("status", "--json"),
    ):
        run = keyed(*command)
        assert (run.code in (1, 2), run.out, len(run.err)) == (True, "", 1), run
        assert "journal.sqlite" in run.err[0]
        assert says in run.err[0]
        assert run.err[0].isprintable()
        assert path.read_bytes() == content
    assert len(simulator.requests) == asked


def test_an_empty_file_becomes_a_journal(keyed: Command) -> None:
    (keyed.folder / "journal.sqlite").touch()
    assert keyed.json("collect", *SMOKE)["ended"] == 16


# --- how it stands ---------------------------------------------------------------------------


def test_status_without_a_journal(fb: Command) -> None:
    fb.refused("status", says=("journal.sqlite", "fb collect"))
    (fb.folder / "folder").mkdir()
    fb.refused("status", "folder", says="folder")


def test_status_while_nothing_some_and_all_is_asked(keyed: Command) -> None:
    keyed.refused("status", says="no such journal")
    collected(keyed, *SMOKE, "--max-requests", "1", "--model", "herb", code=1)
    some = keyed.json("status")
    assert some.keys() == STATUS
    assert (some["cells"], some["ended"], some["left"], some["requests"]) == (8, 1, 7, 1)
    collected(keyed, *SMOKE)
    whole = keyed.json("status")
    assert (whole["cells"], whole["ended"], whole["left"]) == (16, 16, 0)
    assert (whole["answered"], whole["under_way"]) == (8, 0)
    for found in whole["models"]:
        assert found.keys() == MODEL
        assert sum(found["outcomes"].values()) == found["ended"] == 8
        assert sum(entry["cells"] for entry in found["reasons"]) == 8 - found["outcomes"].get(
            "answered", 0
        )
        assert sum(c["tasks"] for c in found["coverage"]) == 8
    herb, root = whole["models"]
    assert (herb["name"], herb["dollars"] > 0, root["dollars"]) == ("Herb One", True, None)
    assert whole["dollars"] == herb["dollars"]
    assert (root["requests_without_price"], herb["requests_without_price"]) == (8, 0)
    assert keyed.json("collect", *SMOKE) == whole
    assert root["reasons"] == [{"outcome": "unparseable", "reason": "no_marker", "cells": 8}]


def test_status_of_a_journal_without_cells(keyed: Command) -> None:
    """A run that ended before its first request."""
    keyed("collect", *SMOKE, "--max-requests", "1", "--model", "root")
    path = keyed.folder / "begun.sqlite"
    from flavourbench.collect.journal.opening import open_journal

    open_journal(path).close()
    found = keyed.json("status", path)
    assert (found["cells"], found["models"], found["dollars"]) == (0, [], 0)
    run = keyed("status", path)
    assert (run.code, run.err) == (0, [])
    assert "0 of 0 cells ended" in run.out


def words(text: str) -> str:
    """A view without the breaks that a narrow screen makes."""
    return " ".join(text.split())


@pytest.mark.parametrize("width", [40, 80, 200])
def test_views_hold_the_numbers_at_any_width(
    keyed: Command, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    dry = keyed("collect", *TASKS, "--dry-run")
    run = collected(keyed, *SMOKE)
    status = keyed("status")
    assert run.out == status.out
    found = keyed.json("status")
    for view in (dry, status):
        assert max(map(len, view.out.splitlines())) <= width
        assert re.search(r"^ *Herb\b", view.out, re.MULTILINE)  # a long name may be folded
    told = words(status.out)
    for part in (
        "16 of 16 cells ended",
        "8 answered",
        "nothing left",
        "16 requests",
        f"${found['dollars']:.4f}",
        "unparseable",
        "no_marker",
        "journal.sqlite",
    ):
        assert part in told, part
    for entry in found["models"]:
        valid = entry["outcomes"].get("answered", 0)
        # valid, invalid, left
        numbers = rf"{valid}/8 +{8 - valid} +0\b"
        assert re.search(numbers, status.out), status.out
    if width == 200:
        for entry in found["models"]:
            assert f"{entry['input_tokens']:,}" in status.out
            assert f"{entry['output_tokens']:,}" in status.out
        for family in ("substitution", "pairing", "constraint", "regional"):
            assert re.search(rf"\b{family[:4]}\b", status.out)
    else:
        assert "--json has all columns" in told
    amounts = keyed.json("collect", *TASKS, "--journal", "new.sqlite", "--dry-run")
    assert f"{amounts['requests']:,} requests" in words(dry.out)
    for row in amounts["models"]:
        assert re.search(rf"\b{row['requests']:,}\b", dry.out)
    # A column is whole or left out: a part of a number would be read as all of it.
    assert not re.search(r"\d,\d{0,2}(?!\d)", dry.out + status.out)


def test_names_never_reach_the_terminal_raw(fb: Command, simulator: Simulator) -> None:
    write_roster(fb, model(simulator.url, "herb", name="[red]Herb[/] 名前"))
    run = collected(fb, *SMOKE)
    assert "[red]Herb[/]" in run.out
    assert "名前" in run.out
    assert fb.json("status")["models"][0]["name"] == "[red]Herb[/] 名前"


# --- keys ------------------------------------------------------------------------------------

TOLD = ["sim+echo-key", "sim+echo-key+400", "sim+401", "sim+redirect", "sim+error-200+echo-key"]


def test_a_planted_key_is_in_no_output(
    fb: Command, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_KEY", PLANTED)
    monkeypatch.setattr("flavourbench.collect.route_state.random.uniform", lambda a, b: 0.0)
    write_roster(
        fb,
        *(
            model(simulator.url, f"{dialect}-{n}", says, dialect=dialect, key_env="PLANTED_KEY")
            for dialect in BASES
            for n, says in enumerate(TOLD)
        ),
    )
    runs = [
        fb("collect", *TASKS, "--limit", "2"),
        fb("collect", *TASKS, "--limit", "3", "--json"),
        fb("collect", *TASKS, "--limit", "3", "--dry-run"),
        fb("collect", *TASKS, "--limit", "2", "--max-requests", "1"),
        fb("status"),
        fb("status", "--json"),
    ]
    assert [run.code for run in runs] == [1, 1, 0, 1, 0, 0]
    sent = [seen for seen in simulator.requests if PLANTED in repr(seen.headers)]
    assert len(sent) == len(simulator.requests) > 40
    # Nothing of it: not even a part that a message was cut to.
    parts = {PLANTED[at : at + 12] for at in range(len(PLANTED) - 11)}
    told = "\n".join(run.out + "\n".join(run.err) for run in runs)
    held = everything(fb.folder).decode("utf-8", "replace")
    assert not [part for part in parts if part in told]
    assert not [part for part in parts if part in held]
    assert "[key removed]" in told + held


def test_copies_of_a_journal_are_whole(keyed: Command) -> None:
    """Once a run has ended, one file holds everything."""
    collected(keyed, *SMOKE)
    shutil.copy(keyed.folder / "journal.sqlite", keyed.folder / "copy.sqlite")
    first, second = keyed.json("status"), keyed.json("status", "copy.sqlite")
    assert first | {"journal": ""} == second | {"journal": ""}


# --- simulated models, names, places --------------------------------------------------------


def test_a_simulated_model_is_marked_wherever_it_appears(fb: Command) -> None:
    cook = {"slot": "cook", "name": "GPT-7", "dialect": "local:cook"}
    write_roster(fb, cook)
    views = [
        fb("collect", *SMOKE, "--dry-run"),
        fb("collect", *SMOKE),
        fb("status"),
        fb("score", "journal.sqlite", "--tasks", "test-1", "--limit", "8"),
    ]
    for view in views:
        assert view.code == 0
        assert "simulated" in view.out
    (model_,) = fb.json("status")["models"]
    assert (model_["name"], model_["simulated"]) == ("GPT-7 (simulated)", True)
    scored = fb.json("score", "journal.sqlite", "--tasks", "test-1", "--limit", "8")
    assert "GPT-7 (simulated) is simulated" in scored["warnings"][0]
    assert "Only 8 of 494 tasks" in scored["warnings"][1]


def test_scores_of_a_journal(keyed: Command) -> None:
    """By slot or name; what was not answered says why, and keeps a comparable score away."""
    collected(keyed, *SMOKE)
    score = ("score", "journal.sqlite", "--tasks", "test-1", "--limit", "8")
    for name in ("herb", "Herb One"):
        found = keyed.json(*score, "--model", name)
        assert (found["comparable"], found["coverage"]["valid"]) == (True, 8)
    run = keyed(*score, "--model", "root", "--json")
    assert (run.code, run.json["comparable"]) == (1, False)
    assert run.json["invalid_reasons"] == {"unparseable": 8}
    keyed.refused(*score, says=("2 models", "--model", "herb, root"))
    keyed.refused(*score, "--model", "basil", says="no model basil")
    missing = keyed("score", "journal.sqlite", "--tasks", "test-2", "--model", "herb", "--json")
    assert missing.json["coverage"]["missing"] == 495
    (keyed.folder / "answers.jsonl").write_text("")
    other = ("score", "answers.jsonl", "--tasks", "test-1", "--model", "herb")
    keyed.refused(*other, says=("--model", "answers.jsonl is not"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[model]\nslot = "a"\n', ("[model]", "[[model]]")),
        (
            '[[model]]\nslot = "a"\n[model.prices]\ninput = 1\nserved = ["b"]\n',
            ("model a", "served stands below [model.prices]", "above"),
        ),
        (
            '[[model]]\nslot = "a"\n[model.extra]\ntop_p = 1\nmodel = "b"\n',
            ("model stands below [model.extra]",),
        ),
        (
            '[[model]]\nslot = "a"\ndialect = "gemini"\nmodel = "m"\nmax_output_tokens = 9\n'
            'base_url = "https://x.com"\ntemprature = 0\n',
            ("temprature is unknown", "is it temperature?"),
        ),
        (
            '[[model]]\nslot = "a"\ndialect = "openai-chat"\nmodel = "m"\nmax_output_tokens = 9\n'
            'base_url = "https://x.com/v1/chat/completions"\n',
            ("/chat/completions", "which is added"),
        ),
    ],
)
def test_usual_slips_in_rosters_are_named(fb: Command, text: str, says: tuple[str, ...]) -> None:
    (fb.folder / "roster.toml").write_text(text)
    fb.refused("collect", says=says)


def test_a_dry_run_says_what_is_missing(keyed: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert keyed.json("collect", *SMOKE, "--dry-run")["before"] == []
    monkeypatch.delenv("PLANTED_KEY")
    run = keyed("collect", *SMOKE, "--dry-run")
    assert run.code == 0
    assert "Before sending: model herb: the variable PLANTED_KEY is not set" in words(run.out)


def test_without_the_extra_contestants_still_answer(
    keyed: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for name in [*sys.modules]:
        if name == "aiohttp" or name.startswith("aiohttp.") or name.endswith("collect.http"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    keyed.refused("collect", *SMOKE, says=("aiohttp", 'pip install "flavourbench[collect]"'))
    write_roster(keyed, {"slot": "first", "dialect": "local:first-three"})
    assert keyed("collect", *SMOKE).code == 0


def test_a_proxy_that_is_none_ends_the_run_before_anything_is_sent(
    fb: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no fault of a provider: no cell fails for it. The variable may hold a password."""
    monkeypatch.setenv("https_proxy", "http://user:pass-word@[odd")
    write_roster(fb, sent_to("https://api.invalid/v1"))
    run = fb("collect", *SMOKE)
    assert run.code == 2
    assert run.err == ["fb: the variable https_proxy holds no address of a proxy: set it anew"]
    assert rows(fb.folder / "journal.sqlite", "SELECT count(*) FROM attempt") == [(0,)]
    assert rows(fb.folder / "journal.sqlite", "SELECT count(*) FROM claim") == [(0,)]

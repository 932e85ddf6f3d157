"""``fb demo``: the whole pipeline on a few contestants, the same at every run."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from collecting import outcomes, rows
from running import SMALL, Command, Run

from flavourbench.analysis.release import read_release
from flavourbench.analysis.skeleton import roster_text
from flavourbench.analysis.stability import stability
from flavourbench.collect.contestants import ENTRIES
from flavourbench.collect.roster import demo_roster
from flavourbench.environment import open_environment
from flavourbench.errors import InputError
from flavourbench.tasks.remapped import DESIGNED

#: From chance to the best; the simulated ones refuse and slip now and then.
SLOTS = ("chance", "co-occurrence", "cook-6", "cook-24")
SOME = tuple(entry for entry in ENTRIES if entry.slot in SLOTS)


@pytest.fixture
def demo(fb: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """``fb`` whose demonstration has a few contestants, and one panel."""
    monkeypatch.setattr("flavourbench.collect.roster.ENTRIES", SOME)
    monkeypatch.setattr("flavourbench.analysis.skeleton.PANELS", ("test-1",))
    return fb


def release_in(folder: Path) -> dict[str, bytes]:
    """The only release of a demonstration, by file."""
    (made,) = (folder / "releases").iterdir()
    return {path.name: path.read_bytes() for path in made.iterdir()}


def attempts(folder: Path) -> list[tuple[Any, ...]]:
    return rows(folder / "journal.sqlite", "SELECT * FROM attempt ORDER BY id")


def done(run: Run) -> Run:
    assert run.code == 0, run
    return run


def test_the_demonstration_is_the_same_with_its_journal_and_without(
    demo: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = demo.folder / "flavourbench-demo"
    monkeypatch.setenv("COLUMNS", "120")
    first = done(demo("demo", *SMALL))
    digest, asked = release_in(folder), attempts(folder)
    assert len(asked) == 4 * 494
    cells = outcomes(folder / "journal.sqlite")
    assert {slot: len(found) for slot, found in cells.items()} == dict.fromkeys(SLOTS, 494)

    # What is printed: each contestant, the core, and where the release is.
    for entry in SOME:
        assert entry.name in first.out
    assert f"Release: {next((folder / 'releases').iterdir()).relative_to(demo.folder)}" in (
        first.out.replace("\n", "")
    )
    core, after = first.err
    assert "cd flavourbench-demo" in after
    size = int(re.findall(r"core: (\d+) tasks in each of 3 panels × families", core)[0])
    table = json.loads(digest["leaderboard.json"])
    assert 100 < size < 164  # what some refused or garbled is left to all
    assert [s["tasks"] for s in table["design"]["strata"]] == [size] * 3
    invalid = {c.task_id for found in cells.values() for c in found if c.outcome != "answered"}
    assert invalid
    scored = pq.read_table(next((folder / "releases").iterdir()) / "tasks.parquet")
    assert not invalid & {*scored["task"].to_pylist()}

    # Those that see the scores are marked, by name and by a note on all.
    simulated = [entry.name for entry in SOME if entry.contestant == "cook"]
    assert len(simulated) == 2
    assert all(name.startswith("Simulated ") for name in simulated)
    assert len(re.findall(r"^ *\d+ .* Simulated ", first.out, re.MULTILINE)) == 2
    assert "some of these are simulated" in first.out
    assert b"some of these are simulated" in digest["manifest.json"]
    assert "tasks left out, not valid for every model" in core

    monkeypatch.setenv("COLUMNS", "80")
    narrow = done(demo("demo", *SMALL))
    assert len(re.findall(r"^ *\d+ .* Simul", narrow.out, re.MULTILINE)) == 2
    monkeypatch.setenv("COLUMNS", "120")

    # Again: nothing is asked, and nothing changes.
    again = done(demo("demo", *SMALL))
    assert (again.out, again.err) == (first.out, first.err)
    assert attempts(folder) == asked
    assert release_in(folder) == digest

    # Its own weights and its own environment give back its ranking, to the bit.
    release = read_release(next((folder / "releases").iterdir()))
    pantry = open_environment()
    found = stability(release, [DESIGNED], {"pantry": pantry}, pantry)
    assert [v["kind"] for v in found["variants"][-2:]] == ["weights", "environment"]
    for variant in found["variants"][-2:]:
        assert variant["models"] == found["variants"][0]["models"]
    for row, own in zip(table["models"], found["variants"][0]["models"], strict=True):
        assert own == {key: row[key] for key in ("id", "score", "rank")}

    # Without its journal: all is asked anew, and nothing changes.
    for path in folder.glob("journal.sqlite*"):
        path.unlink()
    anew = done(demo("demo", *SMALL))
    assert anew.out == first.out
    assert len(attempts(folder)) == len(asked)
    assert attempts(folder) != asked  # at other times
    assert release_in(folder) == digest


def test_the_demonstration_goes_on_where_it_was(
    demo: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flavourbench.collect.roster.ENTRIES", SOME[:2])
    done(demo("demo", "here", *SMALL))
    before = attempts(demo.folder / "here")
    assert len(before) == 2 * 494
    (demo.folder / "here" / "roster.toml").write_text(roster_text(SOME))
    more = demo("demo", "here", *SMALL, "--json")
    found = done(more).json
    after = attempts(demo.folder / "here")
    assert after[: len(before)] == before
    assert len(after) == 4 * 494
    assert len([*(demo.folder / "here" / "releases").iterdir()]) == 2
    assert {row["id"] for row in found["models"]} == set(SLOTS)


def test_contestants_whose_packages_are_missing_are_named(
    demo: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = next(entry for entry in ENTRIES if entry.slot == "word-vectors")
    monkeypatch.setattr("flavourbench.collect.roster.ENTRIES", (*SOME[:2], vectors))
    module = import_module("flavourbench.collect.contestants.contestant")
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    run = done(demo("demo", *SMALL))
    assert 'without word-vectors: pip install "flavourbench[pantry]" adds them' in run.err[0]
    assert set(outcomes(demo.folder / "flavourbench-demo" / "journal.sqlite")) == {
        entry.slot for entry in SOME[:2]
    }
    assert [*Path("flavourbench-demo/releases").iterdir()]
    # What lacks for another reason is no package to install.
    broken = replace(SOME[0], slot="odd", contestant="no-such-contestant")
    monkeypatch.setattr("flavourbench.collect.roster.ENTRIES", (*SOME[:2], broken))
    with pytest.raises(InputError, match="no-such-contestant"):
        demo_roster()


@pytest.mark.parametrize(
    ("options", "says"),
    [(("--draws", "0"), "0"), (("--flips", "-5"), "-5"), (("taken",), "taken")],
)
def test_what_cannot_be_is_refused_before_anything_is_asked(
    demo: Command, options: tuple[str, ...], says: str
) -> None:
    (demo.folder / "taken").write_text("a file")
    demo.refused("demo", *options, says=says)

"""Releases that another program sealed: whatever they hold, a view says one line or shows it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from release_files import changed, places, replace_bytes, reseal, write_collected
from running import Command

from flavourbench.artifact import MANIFEST
from flavourbench.identity import canonical_json

VIEWS = (
    ("leaderboard", "r"),
    ("leaderboard", "r", "--sensitivity"),
    ("compare", "ant", "cat", "--release", "r"),
    ("item", "test-1-pairing-001", "--release", "r"),
    ("add", "r", "--responses", "dog.jsonl", "--out", "added", "--force"),
    ("release", "export", "r", "--out", "exported", "--force"),
    ("infer", "r", "--out", "again", "--force", "--draws", "40", "--flips", "40"),
)
#: What stands for a value of every kind.
ODD: tuple[Any, ...] = (None, "odd", 7, [], {"odd": 1})


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collected(tmp_path_factory.mktemp("odd") / "r")


@pytest.fixture
def views(fb: Command, original: Path) -> Command:
    shutil.copytree(original, fb.folder / "r")
    tasks = pq.read_table(original / "panels.parquet", columns=["task_id"])["task_id"].to_pylist()
    answers = [{"task_id": task, "response": "FINAL_SELECTION: A, B, C"} for task in tasks]
    text = "".join(json.dumps(answer) + "\n" for answer in answers)
    (fb.folder / "dog.jsonl").write_text(text)
    for view in VIEWS:
        assert fb(*view).code == 0, view
    return fb


def check_views(views: Command, what: object) -> None:
    """No traceback, and one line where a view fails."""
    for view in VIEWS:
        run = views(*view)
        assert run.code in (0, 1, 2), (what, view, run)
        if run.code:
            assert len(run.err) == 1, (what, view, run.err)


def _sampled(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every third place, each with another odd value."""
    for number, place in enumerate(list(places(value))[::3]):
        yield place, ODD[number % len(ODD)]


@pytest.mark.parametrize("name", ["leaderboard.json", MANIFEST, "core.json", "diagnostics.json"])
def test_odd_values_anywhere_in_json(views: Command, original: Path, name: str) -> None:
    value = json.loads((original / name).read_bytes())
    value.pop("files", None)
    for place, odd in _sampled(value):
        if place[0] == "format":
            continue
        shutil.rmtree(views.folder / "r")
        shutil.copytree(original, views.folder / "r")
        forged = changed(json.loads((original / name).read_bytes()), place, lambda _, odd=odd: odd)
        if name == MANIFEST:
            reseal(views.folder / "r", manifest=forged)
        else:
            replace_bytes(views.folder / "r", name, canonical_json(forged))
        check_views(views, (place, odd))


def _odd_tables(table: pa.Table) -> Iterator[pa.Table]:
    yield table.slice(1)
    yield table.select([])
    for place in (0, table.num_columns - 1):
        yield table.remove_column(place)
        nulls = pa.nulls(table.num_rows, table.schema.field(place).type)
        yield table.set_column(place, table.column_names[place], nulls)


@pytest.mark.parametrize(
    "name", ["pairs.parquet", "draws.parquet", "scores.parquet", "observations.parquet"]
)
def test_odd_tables(views: Command, original: Path, name: str) -> None:
    for forged in _odd_tables(pq.read_table(original / name)):
        shutil.rmtree(views.folder / "r")
        shutil.copytree(original, views.folder / "r")
        sink = pa.BufferOutputStream()
        pq.write_table(forged, sink)
        replace_bytes(views.folder / "r", name, sink.getvalue().to_pybytes())
        check_views(views, (name, forged.schema.names))

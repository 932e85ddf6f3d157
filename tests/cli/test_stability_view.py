"""``fb stability``: what it prints on any screen and to programs, and what it refuses."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from panels import small_environment
from release_files import often_best, write_collected, write_small
from rich.cells import cell_len
from rich.console import Console
from running import Command
from test_docs import rows

from flavourbench.environment.store import write_environment
from flavourbench.report.stability import print_stability

DOCS = (Path(__file__).parents[2] / "docs" / "studies.md").read_text("utf-8")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Releases of answers and of a table, and the environment that scored the tasks."""
    folder = tmp_path_factory.mktemp("places")
    write_environment(small_environment(), folder / "own")
    return {
        "own": folder / "own",
        "answers": write_collected(folder / "a", often_best),
        "table": write_small(folder / "t"),
    }


def arguments(places: dict[str, Path], root: str) -> list[str | Path]:
    other = ["--env", places["own"], "--env", "pantry"] if root == "answers" else []
    return ["stability", places[root], *other]


each = pytest.mark.parametrize("root", ["answers", "table"])


@each
@pytest.mark.parametrize("columns", [24, 40, 80, 120, 200])
def test_lines_fit(
    fb: Command,
    places: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    root: str,
    columns: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    run = fb(*arguments(places, root))
    assert (run.code, run.err) == (0, [])
    for line in run.out.splitlines():
        assert cell_len(line) <= columns, line
        assert line.isprintable()


@each
def test_a_pipe_shows_every_number_of_the_json(
    fb: Command, places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    monkeypatch.delenv("COLUMNS")
    run, found = fb(*arguments(places, root)), fb.json(*arguments(places, root), "--json")
    assert "…" not in run.out
    lines = run.out.splitlines()
    kinds = [k for k in found["models"][0]["ranks"] if found["models"][0]["ranks"][k]]
    for model in found["models"]:
        spans = [*(model["ranks"][kind] for kind in kinds), model["all"]]
        told = [str(low) if low == high else f"{low}–{high}" for low, high in spans]
        assert [str(model["rank"]), model["name"], *told] in [line.split() for line in lines]
    names = {model["id"]: model["name"] for model in found["models"]}
    for variant in found["variants"][1:]:
        (line,) = (
            line for line in lines if re.search(rf" {re.escape(variant['name'])} +\d+ +[01]", line)
        )
        rho = f"{variant['spearman']:.3f}"
        cells = line[line.index(variant["name"]) + len(variant["name"]) :].split()
        assert cells[:3] == [f"{variant['tasks']}", rho, str(variant["reversed"])]
        if variant["moved"]:
            first, *others = variant["moved"]
            before, after = map(str, first["rank"])
            more = [f"+{len(others)}", "more"] if others else []
            assert cells[3:] == [before, "→", after, names[first["id"]], *more]
        else:
            assert cells[3:] == ["none"]
    for entry in found["not_made"]:
        assert entry["why"] in run.out
    assert "no variant takes its place" in run.out


def test_what_could_not_be_made_is_said(fb: Command, places: dict[str, Path]) -> None:
    table = fb("stability", places["table"]).out
    assert "Not made: categories, weights, environments: a score table holds no tasks" in table
    alone = " ".join(fb("stability", places["answers"]).out.split())
    assert "Not made: weights: no environment at hand gives back the scores" in alone
    assert "Not made: environments: none is named: use --env" in alone
    told = " ".join(fb(*arguments(places, "answers")).out.split())
    assert "scored by pantry: no task of " in told


def test_weights_replace_the_usual_ones(fb: Command, places: dict[str, Path]) -> None:
    typed = ["--weights", "0.5,0.5", "--weights", "0.25, 0.75", "--weights", "0.3,0.3"]
    found = fb.json(*arguments(places, "answers"), *typed, "--json")
    names = [v["name"] for v in found["variants"] if v["kind"] == "weights"]
    assert names == ["0.5, 0.5", "0.25, 0.75"]
    usual = fb.json(*arguments(places, "answers"), "--json")
    assert sum(v["kind"] == "weights" for v in usual["variants"]) == 5


def test_the_release_here_is_the_default(
    fb: Command, places: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fb("stability", places["answers"])
    monkeypatch.chdir(places["answers"])
    assert fb("stability").out == f"{expected.out}Release: .\n"


def test_refusals(fb: Command, places: dict[str, Path]) -> None:
    release = places["answers"]
    fb.refused("stability", release, "--weights", "half", says=["weights 'half'", "as in 0.5,0.5"])
    fb.refused("stability", release, "--env", "nowhere", says="no environment 'nowhere'")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_encodings(fb: Command, places: dict[str, Path], encoding: str) -> None:
    found = fb.json(*arguments(places, "answers"), "--json")
    found["models"][0]["name"] = "\x1b[31mred\x07 日本語の名前"
    data = io.BytesIO()
    stream = io.TextIOWrapper(data, encoding=encoding, newline="")
    print_stability(found, console=Console(file=stream, width=80))
    stream.flush()
    assert "\x1b" not in data.getvalue().decode(encoding)


def named_in(cells: Iterable[str]) -> set[str]:
    return {key for cell in cells for key in re.findall("`([a-z_]+)`", cell)}


def inner(value: Any) -> set[str]:
    """Keys of an object and of those in it, but for names of kinds and families."""
    if isinstance(value, list):
        return set().union(*map(inner, value))
    if not isinstance(value, dict):
        return set()
    parts = [
        inner(entry) for key, entry in value.items() if key not in ("ranks", "weights", "root")
    ]
    return set(value).union(*parts)


@each
def test_json_has_the_documented_keys(fb: Command, places: dict[str, Path], root: str) -> None:
    section = DOCS[DOCS.index("## Rank stability") :]
    table = rows(section, "| key | |")
    found = fb.json(*arguments(places, root), "--json")
    of_variants = {
        key for keys, told in table if told.startswith("of a variant") for key in named_in([keys])
    }
    assert set(found) == named_in(row[0] for row in table) - of_variants | {"models"}
    known = named_in(cell for row in table for cell in row)
    assert inner(found) <= known
    if root == "answers":
        assert known <= inner(found) | {"released", "tasks"}
    kinds = {*found["models"][0]["ranks"], "released"}
    assert kinds - {"released"} == named_in(row[0] for row in rows(section, "| kind | what"))
    assert {variant["kind"] for variant in found["variants"]} <= kinds

"""``fb compare`` and ``fb item``: what they print on any screen, and to programs."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from release_files import often_best, write_collected, write_small
from rich.cells import cell_len
from rich.console import Console
from running import SMALL, Command
from tables import long, scores, write
from test_docs import rows

from flavourbench.analysis.answers import Answers
from flavourbench.analysis.comparison import compare
from flavourbench.analysis.core import freeze
from flavourbench.analysis.item import item
from flavourbench.analysis.naming import named
from flavourbench.analysis.release import Release, read_evidence, read_release
from flavourbench.cli.demo import EXAMPLES
from flavourbench.collect.contestants import ENTRIES
from flavourbench.report.comparison import print_comparison
from flavourbench.report.item import print_item
from flavourbench.report.strips import WIDEST_STRIP

DOCS = (Path(__file__).parents[2] / "docs" / "studies.md").read_text("utf-8")
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
TASK = "test-1-pairing-007"
#: What a terminal would obey, and what takes two cells.
HOSTILE = ["\x1b[31mred\x07", "line\nbreak\r", "\u202eleft \x9b1m", "日本語の名前" * 9, "[bold]a"]


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A release of answers, and one of a score table."""
    folder = tmp_path_factory.mktemp("roots")
    return {
        "answers": write_collected(folder / "a", often_best),
        "table": write_small(folder / "t"),
    }


COMMANDS = {
    "answers": (("compare", "ant", "cat"), ("item", TASK)),
    "table": (("compare", "elm", "Birch"), ("item", "t03")),
}
each = pytest.mark.parametrize(
    ("root", "command"), [(root, c) for root, several in COMMANDS.items() for c in several]
)


@each
@pytest.mark.parametrize("columns", [24, 40, 60, 80, 120, 200])
def test_lines_fit(
    fb: Command,
    roots: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    root: str,
    command: tuple[str, ...],
    columns: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    run = fb(*command, "--release", roots[root])
    assert (run.code, run.err) == (0, [])
    for line in run.out.splitlines():
        assert cell_len(line) <= columns, line
        assert line.isprintable()


@each
def test_a_pipe_cuts_nothing_and_colour_is_optional(
    fb: Command,
    roots: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    root: str,
    command: tuple[str, ...],
) -> None:
    monkeypatch.delenv("COLUMNS")
    plain = fb(*command, "--release", roots[root]).out
    assert "…" not in plain
    assert "\x1b" not in plain
    monkeypatch.setenv("COLUMNS", "80")
    narrow = fb(*command, "--release", roots[root]).out
    for variable in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.setenv(variable, "1")
        monkeypatch.setenv("TERM", "xterm-256color")
        coloured = fb(*command, "--release", roots[root]).out
        assert ESCAPE.sub("", coloured) == narrow
        assert ("\x1b[3" in coloured) <= (variable == "FORCE_COLOR")


@each
def test_the_release_here_is_the_default(
    fb: Command,
    roots: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    root: str,
    command: tuple[str, ...],
) -> None:
    expected = fb(*command, "--release", roots[root])
    monkeypatch.chdir(roots[root])
    run = fb(*command)
    assert run.out == f"{expected.out}Release: .\n"


def drawn(view: object, found: object, encoding: str, width: int) -> str:
    data = io.BytesIO()
    stream = io.TextIOWrapper(data, encoding=encoding, newline="")
    view(found, console=Console(file=stream, width=width))  # type: ignore[operator]
    stream.flush()
    return data.getvalue().decode(encoding)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_encodings(roots: dict[str, Path], monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for root, ((_, *pair), (_, task)) in COMMANDS.items():
        release = read_release(roots[root])
        out = drawn(print_comparison, compare(release, *pair), encoding, 80)
        assert ("●" in out) == (encoding == "utf-8")
        assert re.search(r"● |o ", out), "intervals are drawn"
        drawn(print_item, item(release, task), encoding, 80)


def test_strips_lie_where_the_numbers_say(roots: dict[str, Path]) -> None:
    """Ends, point and zero of every part, to a cell of the common axis."""
    found = compare(read_release(roots["answers"]), "ant", "cat")
    whole = {"interval": found["interval"], "difference": found["difference"]}
    parts = [whole, *found["families"], *found["panels"]]
    lines = [x for x in drawn(print_comparison, found, "utf-8", 200).splitlines() if "●" in x]
    ends = [0.0, *(end for part in parts for end in part["interval"])]
    low, high = min(ends), max(ends)
    # The axis begins at its lowest end, or at zero.
    starts = [at for line in lines for at in [re.search("[├●┤┊┼]", line)] if at is not None]
    start = min(at.start() for at in starts)
    last = max(at for line in lines for at, sign in enumerate(line) if sign in "├●┤┊┼")
    assert last - start == WIDEST_STRIP - 1
    assert len(lines) == len(parts) == 1 + 3 + 2
    for line, part in zip(lines, parts, strict=True):
        values = {"●": part["difference"], "├": part["interval"][0], "┤": part["interval"][1]}
        values |= dict.fromkeys("┊┼", 0.0)
        seen = {sign: line.index(sign) for sign in values if sign in line}
        assert len(seen) >= 3
        for sign, at in seen.items():
            place = start + (values[sign] - low) / (high - low) * (last - start)
            assert abs(at - place) <= 0.5 + 1e-9, sign


def test_a_ladder_shows_every_model_once_and_counts_the_rest(roots: dict[str, Path]) -> None:
    evidence = read_evidence(roots["answers"])
    assert evidence is not None
    release = read_release(roots["answers"])
    for task in evidence.tasks.tasks[::5]:
        found = item(release, task.id)
        out = drawn(print_item, found, "utf-8", 80)
        for model in found["models"]:
            assert len(re.findall(rf"\b{model['name']}\b", out)) == 1, "on a rung, or without one"
        shown = len(re.findall(r"^[A-H]{3} ", out, re.MULTILINE))
        gaps = [int(n) for n in re.findall(r" (\d+) that nobody chose", out)]
        assert shown + sum(gaps) == 56
        assert out.count("  chance\n") == 1
        assert f"{task.optimum} 100.00 *" in out, "the best one, whoever chose it"


def test_invalid_answers_and_what_left_the_core(fb: Command, roots: dict[str, Path]) -> None:
    release = roots["answers"]
    evidence = read_evidence(release)
    assert evidence is not None
    (left,) = evidence.core.left_out
    out = fb("item", left, "--release", release).out
    assert "Not in the core: not valid for every model (ant refused)." in out
    assert re.search(r"^Ant +refused", out, re.MULTILINE)
    unranked = next(task.id for task in evidence.tasks.tasks if not task.ranked)
    assert "is never ranked" in fb("item", unranked, "--release", release).out
    assert evidence.answers is not None
    said = Answers(evidence.models, evidence.answers).coverage(evidence.tasks)
    small = replace(evidence, core=freeze(said, "seed", 5))
    stored: Release = replace(read_release(release), evidence=small)
    found = item(stored, small.core.surplus[0])
    assert found["core"] == {"inside": False, "why": "surplus", "invalid": {}}
    assert "had enough" in drawn(print_item, found, "utf-8", 80)


# --- JSON ----------------------------------------------------------------------------------


def named_in(cells: Iterable[str]) -> set[str]:
    return {key for cell in cells for key in re.findall("`([a-z_]+)`", cell)}


def inner(value: object) -> set[str]:
    """Keys of an object and of the objects in it; not of those that are documented elsewhere."""
    if isinstance(value, list):
        return set().union(*map(inner, value))
    if not isinstance(value, dict):
        return set()
    parts = [inner(entry) for key, entry in value.items() if key not in ("plan", "task")]
    return set(value).union(*parts)


@pytest.mark.parametrize("position", [0, 1])
def test_json_has_the_documented_keys(fb: Command, roots: dict[str, Path], position: int) -> None:
    """The first column has those of the object, both have those of the objects in it too."""
    section = DOCS[DOCS.index("### Two") :].split("### One task")[position]
    table = [*rows(section, "| key | |")]
    for root in COMMANDS:
        found = fb.json(*COMMANDS[root][position], "--release", roots[root])
        assert set(found) == named_in(row[0] for row in table)
        if root == "answers":
            known = named_in(cell for row in table for cell in row)
            values = {"core", "invalid", "surplus", "says", "kind"}
            assert inner(found) <= known | {"says", "kind"}
            assert known <= inner(found) | values


def test_the_example_of_the_demonstration_names_its_contestants() -> None:
    spellings = {entry.slot: (entry.name,) for entry in ENTRIES}
    (pair,) = re.findall(r'fb compare "(.*?)" "(.*?)"', EXAMPLES)
    assert [named(typed, spellings, "model") for typed in pair] == ["cook-6", "cook-8-5"]


# --- refusals ------------------------------------------------------------------------------


def test_refusals(fb: Command, roots: dict[str, Path]) -> None:
    at = ("--release", roots["answers"])
    fb.refused("compare", "ant", "elk", *at, says="no model 'elk' in the release")
    fb.refused("compare", "ant", "ANT", *at, says="ant is compared with itself")
    fb.refused("item", "pairing-00", *at, says=("task 'pairing-00' may be ", "more"))
    fb.refused("item", "\x1b[31m", *at, says=r"no task '\x1b[31m'")
    fb.refused("compare", "ant", "cat", says="no release here")
    fb.refused("item", TASK, "--release", "gone", says="no such file")


def test_hostile_names(fb: Command) -> None:
    """Ids of models, tasks, families and panels: whole in JSON, harmless in views."""
    table = scores(len(HOSTILE), families=2).named(HOSTILE)
    roles = ("tasks", "families", "panels")
    odd = {role: [f"{v}\x1b[31m\n\u202e[b]" for v in getattr(table, role)] for role in roles}
    path = write(fb.folder / "t.csv", long(replace(table, **odd)))
    assert fb("infer", path, *SMALL, "--out", "r").code == 0
    pairs = (HOSTILE[:2], HOSTILE[3:])
    for command in (*(("compare", *pair) for pair in pairs), ("item", odd["tasks"][0])):
        run = fb(*command, "--release", "r")
        assert (run.code, run.err) == (0, [])
        for line in run.out.split("\n"):
            assert line.isprintable(), f"a terminal would obey {line!r}"
            assert cell_len(line) <= 80, line
    found = fb.json("compare", *HOSTILE[:2], "--release", "r")
    assert [model["id"] for model in found["models"]] == HOSTILE[:2]


def test_the_least_margin_is_not_rounded_down(fb: Command, roots: dict[str, Path]) -> None:
    """Two are never said to be close from a margin on at which they are not."""
    for root in roots.values():
        rows = fb.json("leaderboard", root)["models"]
        for first, second in itertools.combinations([row["id"] for row in rows], 2):
            least = fb.json("compare", first, second, "--release", root)["least_margin"]
            if least is None:
                continue
            shown = " ".join(fb("compare", first, second, "--release", root).out.split())
            (told,) = re.findall(r"at any margin from ([0-9.]+) on", shown)
            assert least <= float(told) < least * 1.1 + 0.1
            assert fb.json("compare", first, second, "--release", root, "--margin", told)["close"]

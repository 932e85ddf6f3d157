"""``fb plan`` from the command line: sizes, sources, refusals, views and help."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from rich.cells import cell_len
from running import Command
from studies import write_study
from tables import long, scores, write
from test_docs import rows

from flavourbench.analysis.planning.inputs import PUBLISHED
from flavourbench.analysis.planning.scenario import SCENARIOS
from flavourbench.cli.plan import EXAMPLES

DOCS = (Path(__file__).parents[2] / "docs" / "planning.md").read_text("utf-8")
#: A design that takes some milliseconds.
SMALL = ("--models", "3", "--clusters", "24", "--strata", "2", "--studies", "20")


@pytest.fixture
def pilot(fb: Command) -> Path:
    return write(fb.folder / "pilot.csv", long(scores(4, tasks=12)))


def keys(value: object, prefix: str = "") -> set[str]:
    """Dotted keys of an object and of the objects in its lists."""
    if isinstance(value, list):
        return set().union(*(keys(item, prefix) for item in value)) if value else set()
    if not isinstance(value, dict):
        return {prefix}
    return set().union(*(keys(v, f"{prefix}.{k}".strip(".")) for k, v in value.items()))


# --- sizes ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sizes"),
    [
        ((), PUBLISHED),
        (("--models", "5"), (5, *PUBLISHED[1:])),
        (("--clusters", "267"), (27, 267, 267, 6)),
        (("--tasks", "1068"), (27, 1068, 1068, 6)),
        (("--tasks", "1068", "--clusters", "178"), (27, 1068, 178, 6)),
        (("--strata", "3"), (27, 534, 534, 3)),
        (("--clusters", "24", "--strata", "2"), (27, 24, 24, 2)),
    ],
)
def test_what_is_not_given_is_as_published(
    fb: Command, options: tuple[str, ...], sizes: tuple[int, ...]
) -> None:
    found = fb.json("plan", *options, "--studies", "20", "--flips", "19")
    assert tuple(found["design"].values()) == sizes
    given = {option.strip("-") for option in options[::2]}
    assert {key for key, where in found["sources"].items() if where == "given"} == given


def test_a_study_gives_sizes_plan_and_cost(fb: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fb("new", "mine").code == 0
    text = (fb.folder / "mine" / "study.toml").read_text()
    text = text.replace("flips = 100000", "flips = 500").replace("20260811\nalpha", "7\nalpha")
    (fb.folder / "mine" / "study.toml").write_text(text)
    outside = fb.json("plan", "mine", "--studies", "20")
    monkeypatch.chdir(fb.folder / "mine")
    found = fb.json("plan", "--studies", "20")
    assert found == outside
    assert found["design"] == {"models": 4, "tasks": 960, "clusters": 960, "strata": 6}
    assert found["plan"] == {"flips": 500, "seed": 7, "alpha": 0.05}
    assert found["cost"] == fb.json("collect", "--dry-run")
    half = fb.json("plan", "--clusters", "480", "--seed", "8", "--studies", "20")
    assert half["design"] == {"models": 4, "tasks": 480, "clusters": 480, "strata": 6}
    assert half["plan"]["seed"] == 8
    assert "requests left" in fb("plan", "--studies", "20").out


def test_answers_in_hand_cost_nothing_more(fb: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_study(fb.folder / "mine"))
    found = fb.json("plan", "--studies", "20")
    assert (found["design"]["models"], found["cost"]) == (3, None)
    assert found["sources"]["clusters"] == "study"


def test_a_pilot_is_a_table_or_what_fb_infer_made_of_it(fb: Command, pilot: Path) -> None:
    assert fb("infer", pilot, "--draws", "50", "--flips", "50", "--out", "release").code == 0
    found = [fb.json("plan", "--pilot", p, "--studies", "20") for p in (pilot, "release")]
    assert found[0] == found[1]
    assert found[0]["noise"]["kind"] == "pilot"
    assert found[0]["design"] == {"models": 4, "tasks": 48, "clusters": 48, "strata": 4}
    more = fb.json("plan", "--pilot", pilot, "--clusters", "96", "--models", "2", "--studies", "20")
    assert more["design"] == {"models": 2, "tasks": 96, "clusters": 96, "strata": 4}
    assert more["noise"]["pair_se"] == pytest.approx(found[0]["noise"]["pair_se"] / 2**0.5)


def test_floors_are_told(fb: Command) -> None:
    few = fb("plan", "--models", "4", "--tasks", "30", "--clusters", "5", "--strata", "2")
    text = " ".join(few.out.split())
    assert few.code == 0
    assert "no number of flips suffices with 5 clusters" in text
    assert "step-down cannot resolve any pair either" in text
    many = fb("plan", "--models", "12", "--clusters", "24", "--strata", "1", "--flips", "1000")
    text = " ".join(many.out.split())
    assert "--flips 1319" in text
    assert "Holm: none: it can resolve nothing" in text


# --- refusals ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--models", "1"), ("--models 1", "2 to 1000")),
        (("--models", "1001"), ("--models 1001", "1000")),
        (("--clusters", "0"), ("--clusters 0",)),
        (("--tasks", "-3"), ("--tasks -3",)),
        (("--clusters", "9" * 30), ("--clusters 999",)),
        (("--clusters", "50", "--tasks", "40"), ("--clusters 50", "40 tasks")),
        (("--strata", "50", "--tasks", "40"), ("--strata 50", "40 tasks")),
        (("--clusters", "12", "--strata", "6"), ("12 clusters", "6 strata", "refuse")),
        (("--models", "1000", "--clusters", "100000"), ("100,000 tasks", "20,000,000")),
        (("--sd", "0"), ("--sd 0", "0.1")),
        (("--sd", "nan"), ("--sd nan",)),
        (("--correlation", "1.5"), ("--correlation 1.5",)),
        (("--power", "1"), ("--power 1", "0.99")),
        (("--power", "nan"), ("--power nan",)),
        (("--difference", "0"), ("--difference 0", "0.01")),
        (("--difference", "-4"), ("--difference -4",)),
        (("--difference", "inf"), ("--difference inf",)),
        (("--scenario", "x\x1b"), (r"--scenario x\x1b", *SCENARIOS)),
        (("--studies", "19"), ("--studies", "19")),
        (("--alpha", "1"), ("--alpha 1",)),
        (("--pilot", "nope.csv"), ("nope.csv",)),
        (("nowhere",), ("nowhere", "study.toml")),
    ],
)
def test_what_cannot_be_planned(
    fb: Command, options: tuple[str, ...], says: tuple[str, ...]
) -> None:
    fb.refused("plan", *options, says=says)


@pytest.mark.parametrize("option", ["tasks", "strata", "sd", "correlation"])
def test_a_pilot_gives_shape_and_noise(fb: Command, pilot: Path, option: str) -> None:
    fb.refused("plan", "--pilot", pilot, f"--{option}", "1", says=(f"--{option}", "--pilot"))


def test_a_pilot_has_so_many_models(fb: Command, pilot: Path) -> None:
    fb.refused("plan", "--pilot", pilot, "--models", "5", says=("5 models", "pilot has 4", "--sd"))


def test_a_pilot_that_never_differs(fb: Command) -> None:
    table = scores(2, tasks=12)
    same = write(fb.folder / "same.csv", long(table.with_row(1, table.values[0])))
    fb.refused("plan", "--pilot", same, says=("never differ", "--sd"))


# --- views ---------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [24, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("scenario", list(SCENARIOS))
def test_lines_fit(
    fb: Command, monkeypatch: pytest.MonkeyPatch, scenario: str, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    run = fb("plan", *SMALL, "--scenario", scenario, "--difference", "30")
    assert (run.code, run.err) == (0, [])
    for line in run.out.splitlines():
        assert cell_len(line) <= columns, line
        assert line.isprintable()


def test_every_key_is_documented(fb: Command, pilot: Path) -> None:
    stated = {key for row in rows(DOCS, "| key | |") for key in re.findall("`([a-z_.]+)`", row[0])}
    found = keys(fb.json("plan", *SMALL, "--difference", "30"))
    assert {key for key in found if not key.startswith("cost.")} == stated


def test_examples_run(fb: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = fb("plan", "--help")
    assert all(len(line) <= 80 for line in told.out.splitlines())
    write(fb.folder / "table.csv", long(scores(12, tasks=12)))
    fb("infer", "table.csv", "--draws", "50", "--flips", "50", "--out", "release")
    lines = [line for line in EXAMPLES.splitlines() if line.startswith("  fb ")]
    assert len(lines) > 3
    for line in lines:
        assert line in told.out
        command = re.split(r"\s{2,}", line.strip())[0]
        quick = ("--models", "4", "--studies", "20", "--json")
        run = fb(*shlex.split(command)[1:], *quick)
        assert (run.code, run.err) == (0, []), line


@pytest.mark.parametrize(
    "options",
    [
        ("--models", "2", "--scenario", "ahead"),
        ("--models", "2", "--seed", "5"),
        ("--models", "3", "--scenario", "ahead"),
    ],
)
def test_few_studies_find_what_their_curve_shows(fb: Command, options: tuple[str, ...]) -> None:
    """A curve that reaches the power has a detectable difference, with few studies too."""
    found = fb.json("plan", *options, "--studies", "20")
    for name in ("holm", "step_down"):
        reached = [row["difference"] for row in found["curve"] if row[name]["power"] >= 0.8]
        assert min(reached) / 2 <= found["detectable"][name]["difference"] <= max(reached)

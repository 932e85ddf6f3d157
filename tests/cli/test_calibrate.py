"""``fb calibrate``: the quick check, what it prints and writes, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from running import Command
from test_docs import rows

from flavourbench import folders
from flavourbench.analysis.calibration import LEAST_CLUSTERS, LEAST_POINTWISE
from flavourbench.analysis.calibration.counting import MEASURES
from flavourbench.analysis.calibration.scenarios import QUICK, QUICK_STUDIES, SCENARIOS
from flavourbench.cli.calibrate import EXAMPLES
from flavourbench.errors import InputError

DOCS = (Path(__file__).parents[2] / "docs" / "calibration.md").read_text("utf-8")
KINDS = {"coverage": "**Coverage", "error": "**Family-wise errors", "power": "**Power"}
TWO = ("--scenario", "skewed-10", "--scenario", "mixed-10", "--studies", "8")


def figures(text: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Rates and standard errors in percent of a Markdown page, by scenario and measure."""
    found = {}
    for kind, title in KINDS.items():
        part = text[text.index(title) :]
        head = part[part.index("| scenario") :].splitlines()[0]
        heads = [cell.strip() for cell in head.strip("|").split("|")]
        names = {m.head: m.name for m in MEASURES if m.kind == kind}
        for name, *cells in rows(part, head):
            for column, cell in zip(heads[1:], cells, strict=True):
                if cell:
                    share, se = re.fullmatch(r"\**([0-9.]+) \(([0-9.]+)\)\**", cell).groups()
                    found[name, names[column]] = float(share), float(se)
    return found


@pytest.mark.slow
def test_the_quick_check_passes_and_agrees_with_the_page(fb: Command) -> None:
    """Its studies are among those of the page, so that both differ by less than its error."""
    found = fb.json("calibrate", "--quick", "--threads", "2")
    assert {row["name"] for row in found["scenarios"]} == {*QUICK}
    assert found["studies"] == QUICK_STUDIES
    stated = figures(DOCS)
    for row in found["scenarios"]:
        assert row["outside"] == []
        assert {key for name, key in stated if name == row["name"]} == {*row["rates"]}
        for key, rate in row["rates"].items():
            share, se = stated[row["name"], key]
            assert abs(100 * rate["share"] - share) <= 3 * max(100 * rate["se"], se) + 0.06, key


def test_the_page_has_all_scenarios_and_how_it_was_made() -> None:
    assert {name for name, _ in figures(DOCS)} == {*SCENARIOS}
    assert re.search(r"`fb calibrate --studies \d+ --seed \d+ --markdown FILE`", DOCS)
    about = {row[0]: row[1:5] for row in rows(DOCS, "| scenario | what |")}
    for name, scenario in SCENARIOS.items():
        told = [scenario.about, str(len(scenario.models)), str(scenario.clusters)]
        assert about[name][:3] == told


@pytest.mark.parametrize(
    ("least", "keys"),
    [(LEAST_POINTWISE, ("pointwise", "pair")), (LEAST_CLUSTERS, ("simultaneous", "pairs"))],
)
def test_the_least_numbers_of_clusters_are_those_of_the_page(
    least: int, keys: tuple[str, str]
) -> None:
    """From there on within 1.5 points of 95 %, or of what Monte Carlo error allows; below, not."""
    stated = figures(DOCS)
    series = [s.clusters for s in SCENARIOS.values() if s.name.startswith("mixed-")]
    assert least in series
    for clusters in series:
        held = [stated[f"mixed-{clusters}", key] for key in keys]
        if clusters >= least:
            assert all(share + 2 * se >= 93.5 for share, se in held), clusters
    below = max(clusters for clusters in series if clusters < least)
    assert min(stated[f"mixed-{below}", key][0] for key in keys) < 93.5


def test_what_it_writes_is_what_it_prints(fb: Command) -> None:
    found = fb.json("calibrate", *TWO, "--markdown", "page.md")
    text = (fb.folder / "page.md").read_text("utf-8")
    options = "--scenario skewed-10 --scenario mixed-10 --studies 8 --seed 1"
    assert f"`fb calibrate {options} --markdown FILE`" in text
    stated = figures(text)
    shown = {
        (row["name"], key): (100 * rate["share"], 100 * rate["se"])
        for row in found["scenarios"]
        for key, rate in row["rates"].items()
    }
    assert {*stated} == {*shown}
    for key, pair in shown.items():
        np.testing.assert_allclose(pair, stated[key], atol=0.051)
    refused = fb.refused("calibrate", *TWO, "--markdown", "page.md", says="page.md")
    assert "--force" in refused
    assert fb("calibrate", *TWO, "--markdown", "page.md", "--force").code == 0


def test_what_is_off_is_marked(fb: Command) -> None:
    run = fb("calibrate", *TWO)
    assert run.code == 0
    assert max(map(len, run.out.splitlines())) <= 80
    skewed = next(line for line in run.out.splitlines() if line.startswith("skewed-10"))
    assert "!" in skewed  # with ten clusters the bands miss in most studies
    assert "8 studies a scenario, seed 1" in run.out


def test_a_rate_out_of_bounds_fails(fb: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flavourbench.analysis.inference.holm", lambda p: p)
    run = fb("calibrate", "--scenario", "equal-20", "--studies", "60")
    assert run.code == 1
    assert run.err == ["fb: equal-20: rates outside of what holds there"]
    assert "equal-20: holm outside of what holds there" in run.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--scenario", "mixed"), ("'mixed'", "did you mean mixed-", "published-equal")),
        (("--scenario", "zzz\x1b"), ("zzz", "use one of", "published-equal")),
        (("--studies", "1"), ("--studies 1",)),
        (("--studies", "1000001"), ("--studies 1000001",)),
        (("--seed", "-1", "--quick"), ("--seed -1",)),
        (("--seed", "9" * 30, "--quick"), ("--seed 999",)),
        (("--quick", "--studies", "10"), ("--quick",)),
        (("--quick", "--scenario", "mixed-10"), ("--quick",)),
        (("--quick", "--markdown", "no/where/page.md/x"), ("no",)),
    ],
)
def test_what_is_refused(fb: Command, arguments: tuple[str, ...], says: tuple[str, ...]) -> None:
    (fb.folder / "no").write_text("a file")
    fb.refused("calibrate", *arguments, says=says)


def test_an_example_runs(fb: Command) -> None:
    line = next(line for line in EXAMPLES.splitlines() if "--json" in line)
    found = fb(*line.split()[1:]).json
    assert found["studies"] == 100
    assert all(len(line) <= 80 for line in EXAMPLES.splitlines())


def test_a_file_that_cannot_be_written_loses_no_table(
    fb: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found out only at the end, since the disk is full by then."""

    def full(path: Path, data: bytes, *, force: bool = False) -> None:
        raise InputError(f"cannot write {path}: no space left on device")

    whole = fb("calibrate", *TWO)
    monkeypatch.setattr(folders, "new_file", full)
    late = fb("calibrate", *TWO, "--markdown", "page.md")
    assert (late.code, late.out) == (2, whole.out)
    assert "cannot write page.md" in late.err[0]

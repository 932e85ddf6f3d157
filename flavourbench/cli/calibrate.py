"""``fb calibrate``: how often the analysis is right, by simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flavourbench.cli.common import Json, echo_json, load_arrow, progress_bar

STUDIES, SEED = 1_000, 1
EXAMPLES = """\b
Examples:
  fb calibrate --quick                          two scenarios, checked; 10 s
  fb calibrate --scenario mixed-20 --scenario skewed-20
  fb calibrate --scenario equal-20 --studies 100 --json
  fb calibrate --markdown calibration.md        all of them; some minutes"""


def command(
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Scenario to run; may be repeated.  [default: all of them]"
        ),
    ] = None,
    studies: Annotated[
        int | None, typer.Option(help=f"Studies of each scenario.  [default: {STUDIES}]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the studies.")] = SEED,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two scenarios and fewer studies, as a check.")
    ] = False,
    markdown: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the tables to a Markdown file too."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace that file.")] = False,
    threads: Annotated[
        int | None, typer.Option(min=1, max=256, help="Threads. Changes no result.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Analyse simulated studies of known truth, and count what holds.

    Scores come from the score maps of the bundled panels, chosen by models whose true scores
    are known. Counted is how often intervals, bands and rank sets hold the truth, how often
    tests resolve what is equal, and how often what differs. Fails where a rate leaves the
    bounds that docs/calibration.md states for it.
    """
    load_arrow()
    from flavourbench.analysis.calibration.bounds import calibration_object
    from flavourbench.analysis.calibration.running import calibrate
    from flavourbench.analysis.calibration.scenarios import QUICK, QUICK_STUDIES, chosen
    from flavourbench.errors import CheckError, InputError
    from flavourbench.folders import check_file, new_file
    from flavourbench.report.calibration import calibration_markdown, print_calibration

    if quick and (scenario or studies is not None):
        raise InputError("--quick has scenarios and studies of its own: give no others")
    names = [*QUICK] if quick else scenario or []
    count = QUICK_STUDIES if quick else STUDIES if studies is None else studies
    if markdown is not None:
        check_file(markdown, force=force)
    with progress_bar() as progress:
        results = calibrate(chosen(names), count, seed, threads, progress)
    found = calibration_object(results, count, seed)
    if json_output:
        echo_json(found)
    else:
        print_calibration(found)
    if markdown is not None:  # last: should it fail, the tables are not lost
        new_file(markdown, calibration_markdown(found, scenario or []).encode(), force=force)
    failed = [row["name"] for row in found["scenarios"] if row["outside"]]
    if failed:
        raise CheckError(f"{', '.join(failed)}: rates outside of what holds there")

"""``fb demo``: the whole pipeline, offline, on what ships with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flavourbench.analysis.plan import Plan
from flavourbench.cli.common import Json, echo_json, load_arrow, note, progress_bar

DEFAULT = Plan()
EXAMPLES = """\b
Examples:
  fb demo                  writes flavourbench-demo/
  fb demo /tmp/demo --json"""


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder for journal and release.")
    ] = Path("flavourbench-demo"),
    draws: Annotated[int, typer.Option(help="Bootstrap draws.")] = DEFAULT.draws,
    flips: Annotated[int, typer.Option(help="Sign flips.")] = DEFAULT.flips,
    json_output: Json = False,
) -> None:
    """Run the whole pipeline on the bundled panels: no network, no key.

    More than twenty contestants answer through prompt and parser, from chance to nearly
    perfect; some are simulated from the scores and marked so. Their answers are journaled, the
    common core is frozen, analysed and released. Run again, it goes on with its journal.
    """
    plan = Plan(draws, flips)
    load_arrow()
    from flavourbench.analysis.collected import core_and_scores
    from flavourbench.analysis.inference import infer
    from flavourbench.analysis.release import write_named_release
    from flavourbench.analysis.result import leaderboard_object, result_object
    from flavourbench.cli.collecting import run_collector
    from flavourbench.collect.plan import Job
    from flavourbench.collect.roster import demo_roster
    from flavourbench.tasks.files import BUNDLED, panel_folders, read_all

    roster, missing = demo_roster()
    if missing:
        note(f'without {", ".join(missing)}: pip install "flavourbench[pantry]" adds them')
    tasks = read_all([path for path in panel_folders(BUNDLED) if path.name.startswith("test")])
    journal = folder / "journal.sqlite"
    # A contestant of another version begins a new block, which nobody has to ask for here.
    slots = tuple(route.slot for route in roster.routes)
    run_collector(journal, Job(roster, tasks, new_blocks=slots))
    core, matrix = core_and_scores(journal, slots, tasks, str(plan.seed))
    note(
        f"core: {core.size} tasks in each of {len(core.tasks)} panels × families;"
        f" {len(core.left_out)} tasks left out, not valid for every model"
    )
    with progress_bar() as progress:
        inference = infer(matrix, plan, progress=progress)
    written = write_named_release(inference, folder / "releases", "demo")
    if json_output:
        echo_json(result_object(inference))
        return
    from flavourbench.report.terminal import print_leaderboard

    print_leaderboard(leaderboard_object(inference), footer=f"Release: {written}")

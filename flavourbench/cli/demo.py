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
  fb demo /tmp/demo --json
  cd flavourbench-demo && fb compare "cook 6" "cook 8.5"
  fb verify                in it: everything derived again"""


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the study.")] = Path(
        "flavourbench-demo"
    ),
    draws: Annotated[int, typer.Option(help="Bootstrap draws.")] = DEFAULT.draws,
    flips: Annotated[int, typer.Option(help="Sign flips.")] = DEFAULT.flips,
    json_output: Json = False,
) -> None:
    """Run the whole pipeline on the bundled panels: no network, no key.

    More than twenty contestants answer through prompt and parser, from chance to nearly
    perfect; some are simulated from the scores and marked so. Their answers are journaled, the
    common core is frozen, analysed and released, in a study to go on with. Run again, it goes
    on with its journal.
    """
    plan = Plan(draws, flips)
    load_arrow()
    from flavourbench.analysis.cores import freeze_study, study_evidence
    from flavourbench.analysis.inference import infer
    from flavourbench.analysis.release import write_named_release
    from flavourbench.analysis.result import leaderboard_object, result_object
    from flavourbench.analysis.skeleton import demo_study
    from flavourbench.cli.collecting import run_collector
    from flavourbench.collect.plan import Job

    study, missing = demo_study(folder, plan)
    if missing:
        note(f'without {", ".join(missing)}: pip install "flavourbench[pantry]" adds them')
    tasks, roster = study.read_tasks(), study.read_roster()
    # A contestant of another version begins a new block, which nobody has to ask for here.
    slots = tuple(route.slot for route in roster.routes)
    run_collector(study.journal_path(), Job(roster, tasks, new_blocks=slots))
    core, _, _ = freeze_study(study, tasks)
    note(
        f"core: {core.size} tasks in each of {len(core.tasks)} panels × families;"
        f" {len(core.left_out)} tasks left out, not valid for every model"
    )
    evidence = study_evidence(study)
    with progress_bar() as progress:
        inference = infer(evidence.matrix, plan, progress=progress)
    written = write_named_release(inference, study.releases, study.stem, evidence)
    if json_output:
        echo_json(result_object(inference))
        return
    from flavourbench.report.terminal import print_leaderboard

    board = leaderboard_object(inference)
    print_leaderboard(board, footer=f"Release: {written}", core_share=evidence.core_share)
    note(f"it is a study: cd {folder}, then fb compare, fb item, fb verify …")

"""``fb release import``: a folder in the published layout becomes a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flavourbench.analysis.plan import Plan
from flavourbench.cli.common import Json, load_arrow, progress_bar, tell_checks, warn_before

DEFAULT = Plan()
EXAMPLES = """\b
Examples:
  fb release import published --out release
  fb release import published --out release --size 89 --core-seed 7"""


def command(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="Folder with tasks.jsonl (or several …tasks.jsonl), primary_observations.jsonl"
            " and, where known, leaderboard.csv and pairwise.csv.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="RELEASE", help="Release folder to write.")],
    draws: Annotated[int, typer.Option(help="Bootstrap draws.")] = DEFAULT.draws,
    flips: Annotated[int, typer.Option(help="Sign flips.")] = DEFAULT.flips,
    seed: Annotated[int, typer.Option(help="Seed of all random words.")] = DEFAULT.seed,
    alpha: Annotated[float, typer.Option(help="Level of the pair decisions.")] = DEFAULT.alpha,
    size: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Tasks of each panel and family in the core.  [default: as many as in_core"
            " states, else the largest number]",
        ),
    ] = None,
    core_seed: Annotated[str, typer.Option(help="Seed of the core.")] = str(DEFAULT.seed),
    force: Annotated[bool, typer.Option("--force", help="Replace the release at --out.")] = False,
    json_output: Json = False,
) -> None:
    """Analyse published observations: the core is frozen, scores are looked up anew.

    Figures that the folder states are compared with those found; the exit code is 1 if one
    differs. Answers are not in this layout, so the release goes back to selections.
    """
    plan = Plan(draws, flips, seed, alpha)
    load_arrow()
    from flavourbench.analysis.inference import infer
    from flavourbench.analysis.published import compared, import_folder
    from flavourbench.analysis.release import check_target, write_release

    check_target(out, force=force)
    found = import_folder(folder, core_seed, size)
    matrix = found.evidence.matrix
    warn_before(matrix, plan)
    with progress_bar() as progress:
        inference = infer(matrix, plan, progress=progress)
    checks = [*found.checks, *compared(found.leaderboard, found.pairwise, inference)]
    write_release(inference, out, found.evidence, force=force)
    tell_checks("release", out, checks, json_output)

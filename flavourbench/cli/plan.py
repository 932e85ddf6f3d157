"""``fb plan``: what a study could find, before money is spent on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flavourbench.analysis.plan import Plan
from flavourbench.cli.common import Json, echo_json, load_arrow, progress_bar
from flavourbench.cli.infer import Alpha, Flips, Seed
from flavourbench.cli.studies import StudyFolder, study_here, study_of

if TYPE_CHECKING:
    from flavourbench.analysis.matrix import ScoreMatrix

EXAMPLES = """\b
Examples:
  fb plan                                   this study, or one as published
  fb plan --models 40 --clusters 800        other sizes
  fb plan --tasks 1000 --clusters 250 --correlation 0.3
  fb plan --difference 4 --power 0.9        clusters that resolve 4 points
  fb plan --pilot release --models 10       noise as in a release or table"""


Models = Annotated[int | None, typer.Option(help="Models.")]
Tasks = Annotated[int | None, typer.Option(help="Tasks.")]
Clusters = Annotated[int | None, typer.Option(help="Clusters: anchors whose tasks go together.")]
Strata = Annotated[int | None, typer.Option(help="Strata: panels times families.")]
PilotPath = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Release, study with one, or score table: noise as in it, instead of --sd.",
    ),
]
Deviation = Annotated[
    float | None,
    typer.Option(
        help="SD of the difference of two models on a task, in points."
        "  [default: that of the published study, 31.8]"
    ),
]
Correlation = Annotated[
    float | None,
    typer.Option(help="Correlation of differences on tasks of a cluster.  [default: 0]"),
]
Difference = Annotated[
    float | None,
    typer.Option(help="True difference that is to be resolved: how many clusters it takes."),
]
Scenario = Annotated[
    str, typer.Option(help="True scores: a ladder of even steps, or one model ahead of equals.")
]
Studies = Annotated[
    int | None,
    typer.Option(
        min=20,
        max=1_000_000,
        help="Simulated studies.  [default: what some seconds allow, 60 to 1000]",
    ),
]


def command(
    study: StudyFolder = None,
    models: Models = None,
    tasks: Tasks = None,
    clusters: Clusters = None,
    strata: Strata = None,
    pilot: PilotPath = None,
    sd: Deviation = None,
    correlation: Correlation = None,
    difference: Difference = None,
    power: Annotated[float, typer.Option(help="Power wanted.")] = 0.8,
    scenario: Scenario = "ladder",
    flips: Flips = None,
    alpha: Alpha = None,
    seed: Seed = None,
    studies: Studies = None,
    threads: Annotated[
        int | None, typer.Option(min=1, max=256, help="Threads. Changes no result.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Plan a study: floors, power, detectable difference, clusters needed, cost.

    Whole studies with known true scores are simulated and tested as fb infer does. Sizes that are
    not given are those of the pilot or the study, else of the published study. Nothing is sent or
    written.
    """
    from flavourbench.analysis.planning.inputs import Given, basis, cost
    from flavourbench.analysis.planning.question import Question
    from flavourbench.analysis.planning.result import plan_object
    from flavourbench.analysis.planning.scenario import check_scenario

    given = Given(models, tasks, clusters, strata, sd, correlation)
    chosen = study_of(study) if study is not None else study_here()
    if chosen is not None or pilot is not None:
        load_arrow()
    default = Plan() if chosen is None else chosen.plan
    asked = {"flips": flips, "seed": seed, "alpha": alpha}
    plan = replace(default, **{key: v for key, v in asked.items() if v is not None})  # type: ignore[arg-type]
    found = basis(given, chosen, None if pilot is None else _pilot(pilot))
    question = Question(
        found.models,
        found.clusters,
        found.noise,
        plan,
        check_scenario(scenario),
        power,
        difference,
        studies,
    )
    price = None if chosen is None else cost(chosen)
    with progress_bar() as progress:
        told = plan_object(found, question, price, threads, progress)
    if json_output:
        echo_json(told)
        return
    from flavourbench.report.planning import print_plan

    print_plan(told)


def _pilot(path: Path) -> ScoreMatrix:
    """The scores of a release, of the newest one of a study, or of a table."""
    from flavourbench.analysis.release import is_release, read_matrix
    from flavourbench.analysis.study import is_study
    from flavourbench.analysis.tables import ReadOptions, read_scores
    from flavourbench.cli.studies import reading, release_named

    if not (is_release(path) or is_study(path)):
        return read_scores(path, ReadOptions())
    release = release_named(path)
    with reading(release):
        return read_matrix(release)

"""``fb infer``: the analysis of a score table, a release, or the bundled summary."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flavourbench.analysis.plan import Plan
from flavourbench.cli.common import (
    Json,
    echo_json,
    load_arrow,
    note,
    parse_columns,
    progress_bar,
    warn_before,
)
from flavourbench.cli.studies import reading, study_here, study_of
from flavourbench.errors import InputError, listed, shown

if TYPE_CHECKING:
    from flavourbench.analysis.answers import Evidence
    from flavourbench.analysis.matrix import ScoreMatrix
    from flavourbench.analysis.study import Study
    from flavourbench.analysis.tables import ReadOptions

RELEASES = Path("releases")
_PLANNED = {
    key: f"[default: that of the study, else {getattr(Plan(), key)}]"
    for key in ("draws", "flips", "seed", "alpha")
}
# The lone \b keeps the help from rewrapping the lines under it.
EXAMPLES = """\b
Examples:
  fb infer                                   this study, or bundled figures
  fb infer scores.csv --out release          a table, long or wide
  fb infer t.parquet --column anchor=item    a column of another name
  fb infer release --seed 7 --json           a release again"""


Draws = Annotated[int | None, typer.Option(help=f"Bootstrap draws.  {_PLANNED['draws']}")]
Flips = Annotated[int | None, typer.Option(help=f"Sign flips.  {_PLANNED['flips']}")]
Seed = Annotated[int | None, typer.Option(help=f"Seed of all random words.  {_PLANNED['seed']}")]
Alpha = Annotated[
    float | None,
    typer.Option(
        help=f"Level of the pair decisions; intervals have 1 - alpha.  {_PLANNED['alpha']}"
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ROLE=NAME",
        help="Column that plays a role: model, task, score, stratum, panel, family,"
        " anchor, chance, name. Repeatable.",
    ),
]
Ignored = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Column to leave out. In a wide table every column without a role is a model."
        " Repeatable.",
    ),
]


def command(
    source: Annotated[
        Path | None,
        typer.Argument(
            metavar="INPUT",
            help="Study or release folder, or score table (Parquet or CSV, long or wide)."
            "  [default: the study here or above, else the bundled published summary]",
        ),
    ] = None,
    draws: Draws = None,
    flips: Flips = None,
    seed: Seed = None,
    alpha: Alpha = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Release folder to write.  [default: a new one in releases/]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the release at --out.")] = False,
    column: Columns = None,
    ignore: Ignored = None,
    layout: Annotated[str, typer.Option(help="auto, long or wide.")] = "auto",
    cluster: Annotated[
        str,
        typer.Option(
            help="What is resampled together: tasks of one anchor, or each task by itself."
        ),
    ] = "anchor",
    single_stratum: Annotated[
        bool,
        typer.Option("--single-stratum", help="The table has no strata: all tasks weigh the same."),
    ] = False,
    threads: Annotated[
        int | None, typer.Option(min=1, max=256, help="Threads. Changes no result.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Analyse scores: intervals, pair tests, ranks and groups. Writes a release.

    A study is analysed on its frozen core. Scores of a table need a stratum (or panel and
    family) and an anchor for each task. The result depends on scores, seed and sizes only:
    threads and input order change no bit.
    """
    from flavourbench.analysis.inference import infer
    from flavourbench.analysis.release import write_named_release, write_release
    from flavourbench.analysis.result import leaderboard_object, result_object

    options = _read_options(column, ignore, layout, cluster, single_stratum)
    study = _study(source)
    plan = _plan(Plan() if study is None else study.plan, draws, flips, seed, alpha)
    parent = RELEASES if study is None else study.releases
    check_output(out, force, parent)
    load_arrow()
    with _guard(source, study):
        matrix, evidence = _load(source, options, study)
        warn_before(matrix, plan)
        with progress_bar() as progress:
            inference = infer(matrix, plan, threads, progress=progress)
        if out is None:
            stem = _stem(source) if study is None else study.stem
            out = write_named_release(inference, parent, stem, evidence)
        else:
            write_release(inference, out, evidence, force=force)
        if json_output:
            echo_json(result_object(inference))
            return
        from flavourbench.report.terminal import print_leaderboard

        share = None if evidence is None else evidence.core_share
        print_leaderboard(leaderboard_object(inference), f"Release: {out}", core_share=share)


def _guard(source: Path | None, study: Study | None) -> contextlib.AbstractContextManager[None]:
    """Around the use of what is analysed."""
    from flavourbench.analysis.release import is_release

    given = source is not None and study is None and is_release(source)
    return reading(source) if given and source is not None else contextlib.nullcontext()


def _plan(
    default: Plan, draws: int | None, flips: int | None, seed: int | None, alpha: float | None
) -> Plan:
    """What was asked for, else the default."""
    return Plan(
        default.draws if draws is None else draws,
        default.flips if flips is None else flips,
        default.seed if seed is None else seed,
        default.alpha if alpha is None else alpha,
    )


def _study(source: Path | None) -> Study | None:
    """The study to analyse, if it is one."""
    from flavourbench.analysis.study import is_study

    if source is None:
        return study_here()
    return study_of(source) if is_study(source) else None


def check_output(out: Path | None, force: bool, parent: Path) -> None:
    """Say before computing what would be said after it: of ``out``, or of its default place."""
    from flavourbench.analysis.release import check_target
    from flavourbench.folders import check_parent

    if out is not None:
        check_target(out, force=force)
    elif force:
        raise InputError("--force replaces the release at --out: name one")
    else:
        check_parent(parent)


def _stem(source: Path | None) -> str:
    """First part of a release's name; short, since file systems limit names to 255 bytes."""
    return "bundled" if source is None else source.resolve().stem[:40]


def _read_options(
    column: list[str] | None,
    ignore: list[str] | None,
    layout: str,
    cluster: str,
    single_stratum: bool,
) -> ReadOptions:
    from flavourbench.analysis.tables import ReadOptions

    if layout not in ("auto", "long", "wide"):
        raise InputError(f"--layout {shown(layout)}: use auto, long or wide")
    if cluster not in ("anchor", "task"):
        raise InputError(f"--cluster {shown(cluster)}: use anchor or task")
    columns = parse_columns(column or [])
    return ReadOptions(columns, layout, cluster, single_stratum, tuple(ignore or ()))  # type: ignore[arg-type]


def _load(
    source: Path | None, options: ReadOptions, study: Study | None
) -> tuple[ScoreMatrix, Evidence | None]:
    """The scores, and what they were made from where that is known."""
    from flavourbench.analysis.bundled import bundled_matrix
    from flavourbench.analysis.release import is_release, read_evidence, read_matrix
    from flavourbench.analysis.tables import ReadOptions, read_scores

    if study is None and source is not None and not is_release(source):
        return read_scores(source, options), None
    if options != ReadOptions():
        what = "the bundled summary" if source is None else "a release"
        what = what if study is None else "a study"
        raise InputError(
            f"--column, --ignore, --layout, --cluster and --single-stratum describe tables,"
            f" not {what}:"
            " leave them out"
        )
    if study is not None:
        from flavourbench.analysis.cores import study_evidence

        evidence = study_evidence(study)
        matrix = evidence.matrix
        if evidence.added:
            names = listed(sorted(evidence.added))
            note(f"not of the models that the core was frozen for: {names} (see `fb add`)")
        return matrix, evidence
    if source is None:
        return bundled_matrix(), None
    return read_matrix(source), read_evidence(source)

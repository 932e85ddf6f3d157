"""``fb add``: more models in a release, and what they moved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flavourbench.cli.common import Json, echo_json, load_arrow, progress_bar
from flavourbench.cli.studies import reading, release_named, study_here
from flavourbench.errors import InputError

if TYPE_CHECKING:
    from flavourbench.analysis.answers import Evidence
    from flavourbench.analysis.extension import Earlier
    from flavourbench.analysis.matrix import ScoreMatrix
    from flavourbench.analysis.study import Study

#: Folder in a study that keeps sums under sign flips; it can be deleted at any time.
CACHE = "cache"
EXAMPLES = """\b
Examples:
  fb collect && fb add              models that roster.toml has and the release not
  fb add --model herb-2             only this one
  fb add release --responses answers/herb-2.jsonl
  fb add release --scores new.csv   a release of a score table"""

ReleaseFolder = Annotated[
    Path | None,
    typer.Argument(
        metavar="RELEASE", help="Release folder.  [default: the newest one of the study]"
    ),
]
Slots = Annotated[
    list[str] | None,
    typer.Option(metavar="SLOT", help="Only this model of the study. Repeatable."),
]
Files = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="Answers in hand: SLOT.jsonl, as for fb score. Repeatable."),
]
Table = Annotated[
    Path | None,
    typer.Option(metavar="TABLE", help="Scores on the same tasks, as for fb infer."),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Folder that keeps sums of sign flips for the next time; it can be deleted."
        "  [default: cache/ of the study]",
    ),
]


def command(
    release: ReleaseFolder = None,
    model: Slots = None,
    responses: Files = None,
    scores: Table = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Release folder to write.  [default: a new one in releases/]"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the release at --out.")] = False,
    cache: Cache = None,
    threads: Annotated[
        int | None, typer.Option(min=1, max=256, help="Threads. Changes no result.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Add models to a release, on its frozen core, and say what moved and why.

    A new model has to be valid on every task of the core. Scores, standard errors, pointwise
    intervals, tests and draws of the models that are there stay as they are, to the bit; only
    new pairs are computed. The result is that of an analysis of all models.
    """
    from flavourbench.analysis.adding import stem_of
    from flavourbench.analysis.extension import extend
    from flavourbench.analysis.moved import moved
    from flavourbench.analysis.release import read_earlier, write_named_release, write_release
    from flavourbench.analysis.result import result_object
    from flavourbench.cli.infer import RELEASES, check_output

    if sum(map(bool, (model, responses, scores))) > 1:
        raise InputError("--model, --responses and --scores: use one of them at a time")
    study = study_here()
    path = release_named(release, adding=True)
    parent = RELEASES if study is None else study.releases
    check_output(out, force, parent)
    load_arrow()
    if cache is None and study is not None:
        cache = study.folder / CACHE
    with reading(path):
        earlier, before, evidence = read_earlier(path)
        matrix, evidence = _enlarged(earlier, evidence, study, model or [], responses, scores)
        with progress_bar() as progress:
            inference = extend(earlier, matrix, earlier.plan, cache, threads, progress)
        after = result_object(inference)
        found = moved(before, after)
        if out is None:
            out = write_named_release(inference, parent, stem_of(path), evidence)
        else:
            write_release(inference, out, evidence, force=force)
        if json_output:
            echo_json({**found, "release": str(out), "before": str(path)})
            return
        from flavourbench.report.moved import print_moved

        print_moved(found, after, str(out), str(path))


def _enlarged(
    earlier: Earlier,
    evidence: Evidence | None,
    study: Study | None,
    slots: list[str],
    responses: list[Path] | None,
    scores: Path | None,
) -> tuple[ScoreMatrix, Evidence | None]:
    """The scores of all models, and what they were made from where that is known."""
    from flavourbench.analysis.adding import added_from_study, added_scores
    from flavourbench.analysis.answers import with_models
    from flavourbench.analysis.collected import response_answers
    from flavourbench.analysis.tables import read_scores

    if scores is not None:
        if evidence is not None:
            raise InputError("the release has answers, no scores can be added: use --responses")
        return added_scores(earlier.matrix, read_scores(scores)), None
    if responses:
        if evidence is None:
            raise InputError(
                "the release was made from a score table, no answers can be added: use --scores"
            )
        grown = with_models(evidence, response_answers(responses, evidence.tasks))
    elif study is None or evidence is None:
        raise InputError(
            "nothing to add: give --responses FILE or, for a release of a score table, --scores"
            " TABLE; without them models are from a study"
        )
    else:
        grown = added_from_study(study, evidence, slots)
    return grown.matrix, grown

"""The study that a command works in: the one named, else the one here or above."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from flavourbench.analysis.study import Study
    from flavourbench.collect.roster import Roster
    from flavourbench.tasks.taskset import TaskSet

StudyFolder = Annotated[
    Path | None,
    typer.Argument(
        metavar="STUDY", help="Folder with study.toml.  [default: this folder or one above it]"
    ),
]

ReleaseOption = Annotated[
    Path | None,
    typer.Option(
        "--release",
        metavar="PATH",
        help="Release folder, or study: its newest one.  [default: this folder, else the study"
        " here or above, else ./releases]",
    ),
]

ReleaseArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="RELEASE",
        help="Release folder.  [default: this folder, else the newest one of the study or in"
        " ./releases]",
    ),
]

MarginOption = Annotated[
    float | None,
    typer.Option(
        metavar="POINTS",
        help="Margin of equivalence: which differences are shown to be smaller.",
    ),
]


def study_here() -> Study | None:
    """The study that the current folder is in, or None."""
    from flavourbench.analysis.study import find_study, read_study

    folder = find_study(Path())
    return None if folder is None else read_study(folder)


def study_of(path: Path | None) -> Study:
    """The study at a path, or the one that the current folder is in.

    Raises
    ------
    InputError
        There is none.
    """
    from flavourbench.analysis.study import read_study
    from flavourbench.errors import InputError

    if path is not None:
        return read_study(path)
    found = study_here()
    if found is None:
        raise InputError("no study here or above (no study.toml): name one, or `fb new` makes one")
    return found


def release_named(path: Path | None, *, adding: bool = False) -> Path:
    """A release folder, or the newest release of a study.

    Without a path it is this folder, else the newest release of the study here or above, else
    that in ``./releases``. Of a study, a line on standard error says whether it has moved on
    (models that are about to be added are no reason).

    Raises
    ------
    InputError
        There is none.
    """
    from flavourbench.analysis.release.layout import find_release, is_release
    from flavourbench.analysis.study import is_study
    from flavourbench.cli.common import note

    here = path or Path()
    if is_release(here) or not (path is None or is_study(path)):
        return here
    study = study_of(path) if path is not None else study_here()
    if study is None:
        return find_release(here)
    from flavourbench.analysis.cores import stale_release

    found = find_release(study.folder)
    stale = stale_release(study, found, adding=adding)
    if stale is not None:
        note(stale)
    return found


@contextlib.contextmanager
def reading(release: Path) -> Iterator[None]:
    """Within the block a release is used; what fails because of what it holds is said on a line.

    Its digests were right, so another program wrote it. Whatever fails with a release that
    can be verified is an error of ours, and stays one.

    Raises
    ------
    CheckError
        With the first check of :func:`.verify.verify_release` that fails.
    """
    from flavourbench.errors import CheckError, FlavourBenchError, shown

    try:
        yield
    except (FlavourBenchError, OSError, MemoryError):
        raise
    except Exception as error:
        from flavourbench.analysis.verify import verify_release

        failed = [check for check in verify_release(release) if check["passed"] is False]
        if not failed:
            raise
        raise CheckError(f"{shown(release, 200)} cannot be used: {failed[0]['detail']}") from error


def tasks_named(paths: list[Path] | None) -> TaskSet:
    """The tasks of the panels named, else of the study, else of the test panels."""
    from flavourbench.tasks.files import located, read_all, test_panels

    if paths:
        return read_all([located(path) for path in paths])
    study = study_here()
    return read_all(test_panels()) if study is None else study.read_tasks()


def roster_named(path: Path | None) -> Roster:
    """The roster at a path, else that of the study, else ``roster.toml``."""
    from flavourbench.collect.roster import read_roster

    study = study_here() if path is None else None
    return read_roster(path or Path("roster.toml")) if study is None else study.read_roster()


def journal_named(path: Path | None) -> Path:
    """A path of a journal or of a study, else the journal of the study here, else a default."""
    from flavourbench.analysis.study import is_study

    if path is not None and is_study(path):
        return study_of(path).journal_path()
    study = study_here() if path is None else None
    return path or Path("journal.sqlite") if study is None else study.journal_path()

"""``verify``: derive again what a release states, and say how far back that went."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from flavourbench.analysis.plain.analysis import Progress
from flavourbench.analysis.release.layout import RELEASE
from flavourbench.analysis.verify.evidence import evidence_checks
from flavourbench.analysis.verify.files import Release, read_checked
from flavourbench.analysis.verify.numbers import number_checks
from flavourbench.artifact import Kind, stated_format
from flavourbench.checks import Check, unmade
from flavourbench.folders import is_file
from flavourbench.tasks.panel import PANEL

#: What is derived again, in this order.
_PARTS: tuple[Callable[[Release, Progress | None], list[Check]], ...] = (
    evidence_checks,
    number_checks,
)
#: What lies before that which was derived again, by the root of a release.
_UNSEEN = {
    "score-table": "scores were given directly; answers and tasks were not seen",
    "observations": "selections of models were given; their answers were not seen",
    "answers": "answers are taken as they stand: that the models gave them is not seen here",
}


def verify_release(
    path: Path, quick: bool = False, progress: Progress | None = None
) -> list[Check]:
    """Derive again what a release folder states.

    Parameters
    ----------
    quick : only digests of files and content; no number is derived
    progress : told as the stages of the analysis advance

    Returns
    -------
    One object a check: ``check``, ``passed`` (None where it could not be made), ``detail``.
    Only the first ones where the folder is damaged.

    Raises
    ------
    InputError
        It is no release of a known format, or cannot be read.
    """
    checks, release = read_checked(path)
    if release is None:
        return checks
    if quick:
        return [*checks, unmade("numbers", "not derived again: leave out --quick")]
    for part in _PARTS:
        checks += part(release, progress)
    return [*checks, unmade("origin", _UNSEEN[release.root])]


def kind_at(path: Path) -> Kind | None:
    """Whether a folder is a release or a panel, be it a damaged one; None if neither."""
    kinds = (RELEASE, PANEL)
    for kind in kinds:
        if is_file(path / kind.seal):
            return kind
    name = stated_format(path)  # its seal is missing
    return next((kind for kind in kinds if kind.format.partition("/")[0] == name), None)

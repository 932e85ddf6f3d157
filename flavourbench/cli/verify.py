"""``fb verify``: derive again what a release or a panel states."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flavourbench.cli.common import Json, load_arrow, progress_bar, tell_checks
from flavourbench.cli.studies import release_named
from flavourbench.cli.tasks.shared import tell_panel
from flavourbench.errors import InputError, shown

# The lone \b keeps the help from rewrapping the lines under it.
EXAMPLES = """\b
Examples:
  fb verify                       the newest release of the study or here
  fb verify release --json        another one, as JSON
  fb verify release --quick       digests only
  fb verify test-1                a panel, as `fb tasks verify` does"""


def command(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="PATH",
            help="Release folder, panel folder, published task file (JSONL), or a bundled panel"
            " by name.  [default: this folder, else the newest release of the study or in"
            " ./releases]",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Check a release's digests, derive no number.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Derive every number of a release again, by other code, and name the first difference.

    The exit code is 1 if anything is wrong.
    """
    load_arrow()
    from flavourbench.analysis.release.layout import RELEASE
    from flavourbench.analysis.study import is_study
    from flavourbench.analysis.verify import kind_at, verify_release
    from flavourbench.folders import is_folder
    from flavourbench.tasks.files import located
    from flavourbench.tasks.panel import PANEL

    place = release_named(path) if path is None or is_study(path) else located(path)
    kind = kind_at(place)
    if kind is RELEASE:
        with progress_bar() as progress:
            checks = verify_release(place, quick, progress)
        # The current folder has no name as it was found.
        tell_checks("release", place if place.name else place.absolute(), checks, json_output)
        return
    if kind is None and is_folder(place):
        seals = f"no {RELEASE.seal}, no {PANEL.seal}"
        raise InputError(f"{shown(place, 200)} is neither a release nor a panel folder ({seals})")
    if quick:
        raise InputError("--quick is for releases: leave it out")
    tell_panel(place, None, json_output)

"""``fb new``: the skeleton of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """\b
Examples:
  fb new my-study && cd my-study
  fb collect               ask the models of roster.toml
  fb freeze                the tasks that all of them answered validly
  fb infer                 the analysis, and a release
  fb verify                derive every number of it again"""


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to make.")],
) -> None:
    """Make a study: study.toml and roster.toml, both commented and ready to run.

    Commands look for study.toml in this folder and above, so that none needs a path.
    """
    from flavourbench.analysis.skeleton import skeleton
    from flavourbench.analysis.study import new_study

    new_study(folder, skeleton())
    typer.echo(
        f"cd {folder}; it runs as it is: fb collect, fb freeze, fb infer, fb leaderboard.\n"
        "study.toml and roster.toml say who is ranked, on what, and how."
    )

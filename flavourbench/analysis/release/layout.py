"""Names of the files of a release, and where releases are."""

from __future__ import annotations

from pathlib import Path

from flavourbench.artifact import Kind, newest_first
from flavourbench.errors import InputError

RELEASE = Kind(
    "release",
    "flavourbench-release/3",
    "RELEASE.sha256",
    ("parents", "root", "label", "models", "design", "plan", "rounding", "warnings"),
    earlier=("flavourbench-release/2",),
    renewed="`fb infer` on it makes one from its scores and answers",
)
#: Results, in every release.
BOARD, TASKS, SCORES = "leaderboard.json", "tasks.parquet", "scores.parquet"
DRAWS, COUNTS, PAIRS, CHANCE = "draws.parquet", "counts.parquet", "pairs.parquet", "chance.parquet"
#: What scores were made from, where that was seen.
PANELS, PANEL_TASKS, ROSTER, CORE = "panels.json", "panels.parquet", "roster.json", "core.json"
ANSWERS, OBSERVATIONS = "answers.parquet", "observations.parquet"
DIAGNOSTICS = "diagnostics.json"
#: How far back a release goes.
ROOTS = {
    "answers": "answers of models to tasks: outcomes, core and scores follow from them",
    "observations": "selections of models at tasks: answers were not seen",
    "score-table": "a score table given directly: answers and tasks were not seen",
}


def is_release(path: Path) -> bool:
    """Whether ``path`` is a release folder, be it a damaged one."""
    return RELEASE.at(path)


def find_release(folder: Path) -> Path:
    """``folder`` itself, or the newest release in its ``releases``.

    Raises
    ------
    InputError
        There is none.
    """
    if (folder / RELEASE.seal).is_file():
        return folder
    found = newest_first(folder / "releases", RELEASE)
    if not found:
        raise InputError("no release here or in ./releases: name one, or make one with `fb infer`")
    return found[0]

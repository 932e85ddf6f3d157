"""Every number of a release, derived again on the plain twin and compared bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flavourbench.analysis.answers import EXPONENT
from flavourbench.analysis.matrix import ScoreMatrix
from flavourbench.analysis.plain.analysis import Analysis, Progress, analyse
from flavourbench.analysis.plain.design import quantise
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.preflight import check, unmoved_warning
from flavourbench.analysis.release.layout import (
    BOARD,
    CHANCE,
    COUNTS,
    DRAWS,
    PAIRS,
    SCORES,
    TASKS,
)
from flavourbench.analysis.verify.derived import board_of, manifest_of, parents_of, tables_of
from flavourbench.analysis.verify.differences import json_difference, table_difference
from flavourbench.analysis.verify.files import Release
from flavourbench.analysis.verify.given import matrix_of, plan_of, problem_of
from flavourbench.artifact import MANIFEST
from flavourbench.checks import Check, failed, passed, result
from flavourbench.errors import CheckError, InputError

#: What both JSON files state; every other number follows from scores, design and plan.
_TWICE = ("plan", "design", "label", "warnings")
#: Derived number files, and the columns that name a row.
_DERIVED = {
    DRAWS: (),
    COUNTS: ("left", "right"),
    PAIRS: ("left", "right"),
    CHANCE: ("model",),
}


def number_checks(release: Release, progress: Progress | None = None) -> list[Check]:
    """Checks of the input, of what is stated twice, and of every number file.

    Only those up to the first that makes the others impossible.
    """
    try:
        plan, matrix = plan_of(release), matrix_of(release)
        _check_rounding(matrix, made=release.evidence is not None)
        warnings = check(matrix, plan)[1]
    except (CheckError, InputError) as error:
        return [failed("input", str(error))]
    checks = [_input(release, matrix), _twice(release)]
    if checks[-1]["passed"] is False:
        return checks
    try:
        found = analyse(problem_of(matrix, plan), progress)
    except (ValueError, RuntimeError) as error:
        return [*checks, failed("analysis", f"{SCORES} and {TASKS}: {error}")]
    warnings += unmoved_warning(matrix, found.resampled.se)
    return [*checks, *_compared(release, matrix, plan, found, warnings)]


def _check_rounding(matrix: ScoreMatrix, made: bool) -> None:
    """Refuse an exponent or a rounding that no table, or no scores made of answers, lead to."""
    scores, unit = matrix.scores, matrix.unit
    expected = EXPONENT if made else quantise(scores.values / unit)[1]
    if scores.largest_error == 0 and scores.exponent != expected:
        told = f"plan.exponent is {scores.exponent}"
        raise CheckError(f"{MANIFEST}: {told}, derived from {SCORES} {expected}")
    for key, error, least, most in (
        ("scores", scores.largest_error, 6, 0 if made else 0.5),
        ("chance", matrix.chance_error, 0, 0 if matrix.chance is None else 1),
    ):
        # Rounding is only seen where the table is; here it is bounded by the grid.
        if error and not (0 < error * unit <= most * (1 + 2**-20) and scores.exponent >= least):
            told = f"{MANIFEST}: rounding.{key} is {error:g}"
            raise CheckError(f"{told}, which no table of exponent {scores.exponent} leads to")


def _input(release: Release, matrix: ScoreMatrix) -> Check:
    """The digest of the table that the release was made from, as its parent."""
    stated = release.manifest.get("parents")
    problem = json_difference(stated, parents_of(release, matrix), "parents")
    return result(
        "input",
        problem is None,
        f"{SCORES} and {TASKS} are the scores that the manifest names",
        f"{SCORES} (score), {TASKS} (stratum, anchor, chance_56ths) or {MANIFEST}: {problem}",
    )


def _twice(release: Release) -> Check:
    """Whether both JSON files state the same of what they both state."""
    board, manifest = release.board, release.manifest
    rows = board.get("models")
    named = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    models = [{key: row.get(key) for key in ("id", "name")} for row in named]
    stated = board | {"models": sorted(models, key=lambda model: str(model["id"]))}
    for key in ("models", *_TWICE):
        problem = json_difference(stated.get(key), manifest[key], key, f"in {MANIFEST}")
        if problem is not None:
            return failed("statements", f"{BOARD} beside {MANIFEST}: {problem}")
    return passed("statements", f"{BOARD} and {MANIFEST} agree")


def _compared(
    release: Release, matrix: ScoreMatrix, plan: Plan, found: Analysis, warnings: list[str]
) -> list[Check]:
    """What is stated beside what was found, file by file."""
    checks = []
    derived = manifest_of(release, matrix, plan, found, warnings)
    problems: Mapping[str, str | None] = {
        MANIFEST: json_difference(release.manifest, derived),
        **_table_problems(release, matrix, found),
        BOARD: json_difference(release.board, board_of(matrix, derived, found)),
    }
    for name, problem in problems.items():
        told = "all follow" if name in (MANIFEST, BOARD) else _size(release.tables.get(name, {}))
        check_name = name.partition(".")[0]
        checks.append(result(check_name, problem is None, told, f"{name}: {problem}"))
    return checks


def _table_problems(
    release: Release, matrix: ScoreMatrix, found: Analysis
) -> dict[str, str | None]:
    derived = tables_of(matrix, found)
    problems: dict[str, str | None] = {}
    for name, ids in _DERIVED.items():
        stated, expected = release.tables.get(name), derived.get(name)
        if stated is not None and expected is not None:
            problems[name] = table_difference(stated, expected, ids)
        elif expected is not None:
            problems[name] = f"it is missing, though {TASKS} has chance levels"
        elif stated is not None:
            problems[name] = f"it is there, though {TASKS} has no chance levels"
    return problems


def _size(table: Mapping[str, Any]) -> str:
    rows = len(next(iter(table.values()))) if table else 0
    return f"all {rows * len(table):,} values follow"

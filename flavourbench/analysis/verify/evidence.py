"""What scores were made from, derived again: tasks, routes, answers, observations, core, scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from flavourbench.analysis.answers import SIMULATED, Answer, Evidence, Model
from flavourbench.analysis.core import MISSING
from flavourbench.analysis.plain import evidence as plain
from flavourbench.analysis.plain.analysis import Progress
from flavourbench.analysis.plain.portfolios import portfolio_scores
from flavourbench.analysis.release import layout
from flavourbench.analysis.verify.differences import json_difference
from flavourbench.analysis.verify.files import Release
from flavourbench.analysis.verify.frozen import (
    core_problem,
    diagnostics_problem,
    scores_problem,
)
from flavourbench.artifact import MANIFEST
from flavourbench.checks import Check, failed, passed, result, unmade
from flavourbench.collect.contestants import is_simulated
from flavourbench.collect.outcomes import ANSWERED, OUTCOMES, UNPARSEABLE
from flavourbench.collect.route import LOCAL, ROUTE_RECIPE
from flavourbench.environment import Environment
from flavourbench.environment.store import open_identity
from flavourbench.errors import listed, shown
from flavourbench.identity import json_sha256
from flavourbench.tasks.labels import PORTFOLIOS
from flavourbench.tasks.maps import by_family, candidates_of, feasible_portfolios, weighed
from flavourbench.tasks.panel import manifest_of
from flavourbench.tasks.parsing import parser_named
from flavourbench.tasks.taskset import TaskSet
from flavourbench.tasks.verify import content_checks, unknown_items


def evidence_checks(release: Release, progress: Progress | None = None) -> list[Check]:
    """Checks from the tasks to the scores; none where a score table was given directly."""
    evidence = release.evidence
    if evidence is None:
        return []
    del progress  # it takes a second
    checks = _task_checks(release, evidence)
    problem = _roster(release, evidence)
    told = f"{len(evidence.models)} models, each with its route"
    checks.append(result("roster", problem is None, told, str(problem)))
    problem = _cells(evidence)
    told = "no cell twice, none of another model or task"
    checks.append(result("cells", problem is None, told, str(problem)))
    if problem is not None:  # what follows needs every cell
        return checks
    problems = [
        *_reading_problems(evidence),
        ("core", "frozen again from the outcomes, the same", core_problem(release, evidence)),
        ("look-up", "every score of the core follows", scores_problem(release, evidence)),
        ("diagnostics", "bounds and rankings follow", diagnostics_problem(release, evidence)),
    ]
    return checks + [
        result(name, problem is None, detail, str(problem)) for name, detail, problem in problems
    ]


def _task_checks(release: Release, evidence: Evidence) -> list[Check]:
    """What is stated of the tasks, and the tasks themselves."""
    tasks = evidence.tasks
    problem = json_difference(release.objects[layout.PANELS], manifest_of(tasks))
    told = f"{layout.PANELS}: {problem}"
    checks = [result("panels", problem is None, f"{len(tasks)} tasks as they are stated", told)]
    environment = open_identity(tasks.environment.get("identity", ""))
    for check in content_checks(tasks, lambda _: environment):
        detail = check["detail"]
        if check["passed"] is False:
            detail = f"{layout.PANEL_TASKS}: {check['check']}: {detail}"
        checks.append(check | {"check": f"tasks: {check['check']}", "detail": detail})
    return [*checks, _maps(tasks, environment)]


def _maps(tasks: TaskSet, environment: Environment | None) -> Check:
    """Score maps on the plain twin, if the environment is the built-in one or stored."""
    if environment is None or tasks.design is None:
        lacking = "the environment that scored them" if environment is None else "their design"
        return unmade("score maps", f"follow only with {lacking}, which is not here")
    unknown = unknown_items(tasks.tasks, environment)
    if unknown:
        told = f"{layout.PANEL_TASKS}: {environment.name} has no {listed(unknown)}"
        return failed("score maps", told)
    for family, chosen in by_family(tasks):
        rows = candidates_of(family, chosen, environment)
        feasible = feasible_portfolios(environment, family, rows)
        points = portfolio_scores(*weighed(environment, family, rows), feasible)[2].tolist()
        for task, derived in zip(chosen, points, strict=True):
            for portfolio, stated, score in zip(PORTFOLIOS, task.scores, derived, strict=True):
                if stated != score:
                    told = f"task {shown(task.id)}: {portfolio} has {stated}, derived {score}"
                    return failed("score maps", f"{layout.PANEL_TASKS}: {told}")
    return passed("score maps", f"all {len(tasks) * len(PORTFOLIOS):,} scores follow")


def _roster(release: Release, evidence: Evidence) -> str | None:
    """Digests of routes, who was added, who is simulated, and the names of the models."""
    derived = [_model(model, evidence) for model in evidence.models]
    problem = json_difference(release.objects[layout.ROSTER], {"models": derived})
    if problem is not None:
        return f"{layout.ROSTER}: {problem}"
    listing = [{"id": model.slot, "name": model.name} for model in evidence.models]
    problem = json_difference(release.manifest["models"], listing, "models", layout.ROSTER)
    if problem is not None:
        return f"{MANIFEST}: {problem}"
    label = SIMULATED if any(model["simulated"] for model in derived) else None
    problem = json_difference(release.manifest["label"], label, "label")
    return None if problem is None else f"{MANIFEST}: {problem}"


def _model(model: Model, evidence: Evidence) -> dict[str, Any]:
    route = dict(model.route)
    stated = {"recipe": ROUTE_RECIPE, **route}
    dialect = str(route.get("dialect", ""))
    local = dialect.startswith(LOCAL)
    return {
        "slot": model.slot,
        "name": model.name,
        "route_digest": json_sha256(stated),
        "route": route,
        "source": dict(model.source),
        # Of a route that was imported no more is known than it says.
        "simulated": (local and is_simulated(dialect.removeprefix(LOCAL)))
        or route.get("simulated") is True,
        "added": model.slot in evidence.added,
    }


def _cells(evidence: Evidence) -> str | None:
    """Whether answers and observations are of models and tasks, each once and in order."""
    slots = [model.slot for model in evidence.models]
    if slots != sorted({*slots}):
        return f"{layout.ROSTER}: slots {listed(slots)} do not ascend"
    tasks = sorted(evidence.tasks.by_id)
    grid = [(slot, task) for slot in slots for task in tasks]
    found = [(row.slot, row.task_id) for row in evidence.observations]
    if found != grid:
        return f"{layout.OBSERVATIONS}: {_odd(found, grid)}"
    answers = evidence.answers or ()
    rows = [row[:3] for row in answers]
    if rows != sorted({*rows}):
        twice = [
            f"{slot} {task} {repeat}" for (slot, task, repeat), n in Counter(rows).items() if n > 1
        ]
        told = f"duplicate cell {listed(twice)}" if twice else "rows do not ascend"
        return f"{layout.ANSWERS}: {told}"
    alien = sorted({(slot, task) for slot, task, _ in rows} - {*grid})
    if alien:
        return f"{layout.ANSWERS}: {listed([' '.join(cell) for cell in alien])}"
    below = [f"{row.slot} {row.task_id}" for row in answers if _negative(row)]
    return f"{layout.ANSWERS}: repeat or cost below 0: {listed(below)}" if below else None


def _negative(row: Answer) -> bool:
    return row.repeat < 0 or (row.micro_dollars or 0) < 0


def _odd(found: Sequence[tuple[str, str]], grid: Sequence[tuple[str, str]]) -> str:
    """What keeps cells from being each model at each task, once and in order."""
    counts = Counter(found)
    for what, cells in (
        ("duplicate cell", [cell for cell, count in counts.items() if count > 1]),
        ("no cell", sorted({*grid} - {*found})),
        ("no model and task", sorted({*found} - {*grid})),
    ):
        if cells:
            return f"{what} {listed([' '.join(cell) for cell in cells])}"
    return "rows do not ascend"


def _reading_problems(evidence: Evidence) -> Iterator[tuple[str, str, str | None]]:
    """Answers to outcomes and selections, selections to scores."""
    if evidence.answers is not None:
        told = "every selection that can be read is the one observed"
        yield "parse", told, _first(_unlike_answers(evidence, evidence.answers))
    told = "every selection has the score of its map"
    yield "observations", told, _first(_unlike_maps(evidence))


def _first(problems: Iterator[str]) -> str | None:
    found = [*problems]
    more = f", the first of {len(found):,} differences" if len(found) > 1 else ""
    return f"{found[0]}{more}" if found else None


def _unlike_answers(evidence: Evidence, answers: Sequence[Answer]) -> Iterator[str]:
    """Answers that come to another outcome or selection than is stated."""
    parse = parser_named(evidence.tasks.parser)
    observed = {(row.slot, row.task_id): row for row in evidence.observations}
    asked = set()
    for row in answers:
        place = f"{shown(row.slot)}, {shown(row.task_id)}"
        if row.outcome not in OUTCOMES:
            yield f"{layout.ANSWERS}: {place}: {shown(row.outcome)} is no outcome"
        task = evidence.tasks.by_id[row.task_id]
        read = parse(row.text, task.choices)
        judged = row.outcome in (ANSWERED, UNPARSEABLE)
        if judged and (read.selection is not None) != (row.outcome == ANSWERED):
            yield f"{layout.ANSWERS}: {place} is {row.outcome}, its text says otherwise"
        if judged and row.reason != (read.reason or ""):
            yield f"{layout.ANSWERS}: {place}: reason is {shown(row.reason)}, derived {read.reason}"
        if row.repeat:
            continue
        asked.add((row.slot, row.task_id))
        selection = read.selection if row.outcome == ANSWERED else None
        stated = observed[row.slot, row.task_id]
        derived = (row.outcome, row.reason, selection)
        if stated[2:5] != derived:
            told = f"{place} is {_told(stated[2:5])}, derived {_told(derived)}"
            yield f"{layout.OBSERVATIONS}: {told}"
    for cell, seen in observed.items():
        if cell not in asked and (seen.outcome, seen.reason) != (MISSING, ""):
            place = f"{shown(seen.slot)}, {shown(seen.task_id)}"
            yield f"{layout.OBSERVATIONS}: {place} is {_told(seen[2:5])}, but nobody asked"


def _told(values: Sequence[str | None]) -> str:
    return " ".join(shown(value) for value in values if value) or "nothing"


def _unlike_maps(evidence: Evidence) -> Iterator[str]:
    """Observations whose score is not that of their selection, or that have one without."""
    for row in evidence.observations:
        place = f"{layout.OBSERVATIONS}: {shown(row.slot)}, {shown(row.task_id)}"
        if row.outcome not in (*OUTCOMES, MISSING):
            yield f"{place}: {shown(row.outcome)} is no outcome"
        if (row.outcome == ANSWERED) != (row.selection is not None):
            yield f"{place} is {row.outcome} with selection {shown(row.selection or 'none')}"
        scores = evidence.tasks.by_id[row.task_id].scores
        derived = None if row.selection is None else plain.points_of(row.selection, scores)
        if row.selection is not None and derived is None:
            yield f"{place}: {shown(row.selection)} is no portfolio"
        if row.bps != derived:
            yield f"{place}: score_bps is {row.bps}, derived {derived}"

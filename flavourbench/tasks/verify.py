"""Deriving again what a panel states: texts, labels, scores, and with the environment all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from flavourbench.checks import Check, failed, passed, result, unmade
from flavourbench.environment import Environment
from flavourbench.errors import CheckError, InputError, listed, shown
from flavourbench.folders import is_file
from flavourbench.identity import table_sha256
from flavourbench.tasks.compiler import (
    COMPILED_PARSER,
    code_of,
    compile_panels,
    label_order,
    task_id,
)
from flavourbench.tasks.design import (
    ANCHORING,
    TaskDesign,
)
from flavourbench.tasks.files import read_tasks
from flavourbench.tasks.labels import PORTFOLIOS
from flavourbench.tasks.maps import (
    bits_of,
    by_family,
    candidates_of,
    feasible_portfolios,
    score_maps,
)
from flavourbench.tasks.panel import PANEL, TASKS, columns_of, manifest_of, read_with_manifest
from flavourbench.tasks.prompt import render
from flavourbench.tasks.published import origin_of, own_keys, read_published
from flavourbench.tasks.taskset import Task, TaskSet, joined

#: What reading published rows has checked.
_ROWS = "{} tasks: prompt digests, optima, chance levels and margins follow"
Scorer = Callable[[TaskSet], Environment | None]


def verify(path: Path, scorer: Scorer | None = None) -> list[Check]:
    """Derive again what a panel folder or a published task file states.

    Parameters
    ----------
    scorer : finds the environment that scored some tasks, or None; with it every score and
        the selection itself follow

    Returns
    -------
    One object a check: ``check``, ``passed`` (None where it could not be made), ``detail``.
    Only the first, ``files`` or ``rows``, where the folder or the file is damaged.

    Raises
    ------
    InputError
        Neither of both, or it cannot be read.
    """
    if not PANEL.at(path):
        try:
            tasks = read_tasks(path)
        except InputError as error:
            if not is_file(path):
                raise
            return [failed("rows", str(error))]
        return [passed("rows", _ROWS.format(len(tasks))), *content_checks(tasks, scorer)]
    try:
        tasks, manifest = read_with_manifest(path)
    except CheckError as error:
        return [failed("files", str(error))]
    checks = [
        passed("files", f"{len(manifest['files'])} listed and sealed, none altered"),
        passed("rows", f"{len(tasks)} tasks, each with 56 scores, one optimum, 8 candidates"),
    ]
    digest = table_sha256(columns_of(tasks))
    stated = manifest["files"][TASKS]["content_sha256"]
    checks.append(result("content", digest == stated, digest, f"{digest}, not {stated}"))
    derived = manifest_of(tasks)
    wrong = [key for key, value in derived.items() if manifest[key] != value]
    wrong += sorted(set(manifest) - {*derived, "format", "files", "software"})
    checks.append(
        result("manifest", not wrong, "states what follows", f"{listed(wrong)} do not follow")
    )
    return checks + content_checks(tasks, scorer)


def imported(files: Sequence[Path], environment: Environment | None) -> tuple[TaskSet, list[Check]]:
    """Published task files as one set, and what was and could not be checked.

    Parameters
    ----------
    environment : whose tags tell which portfolios are feasible, or None

    Raises
    ------
    InputError
        A row that is no task (see :func:`read_published`), or tags that its scores contradict.
    """
    tasks = joined([read_published(path) for path in files])
    checks = [passed("rows", _ROWS.format(len(tasks)))]
    checks += content_checks(tasks, lambda _: environment)
    wrong = [f"{c['check']}: {c['detail']}" for c in checks if c["passed"] is False]
    if wrong:
        raise InputError(f"{listed([path.name for path in files])}: {'; '.join(wrong)}")
    if environment is not None:
        masks = feasible_masks(tasks, environment)
        known = [replace(t, feasible=masks.get(t.id, t.feasible)) for t in tasks.tasks]
        tasks = replace(tasks, tasks=tuple(known))
    return tasks, checks


def content_checks(tasks: TaskSet, scorer: Scorer | None) -> list[Check]:
    """What follows from the tasks themselves and, where it is found, from their environment."""
    checks = [_anchoring(tasks)]
    design = tasks.design
    if design is None:
        checks.append(unmade("prompts", "no design to render them anew: imported as they are"))
        checks.append(unmade("labels", "no seed to order them anew"))
    else:
        checks += [_ids(tasks, design), _prompts(tasks, design), _labels(tasks, design)]
        checks += [_rules(tasks, design), _extra_keys(tasks)]
    environment = None if scorer is None else scorer(tasks)
    if environment is None:
        checks.append(unmade("scores", _unseen(tasks)))
        checks.append(unmade("compilation", "that none is left out follows only with it, too"))
        return checks
    try:
        return checks + _with_environment(tasks, environment)
    except InputError as error:  # its tasks, or its design, ask for what the environment lacks
        return [*checks, failed("compilation", str(error))]


def _unseen(tasks: TaskSet) -> str:
    """Why no score is derived where no environment is at hand."""
    if not tasks.environment:
        return "follow only in the environment that scored them, which the tasks do not name"
    return (
        f"pass --env, or store the environment {shown(tasks.environment['name'])} that scored them"
    )


def _anchoring(tasks: TaskSet) -> Check:
    bad = [task.id for task in tasks.tasks if ANCHORING.search(task.prompt)]
    return result("no answer in prompts", not bad, "none shows a triplet", listed(bad))


def _ids(tasks: TaskSet, design: TaskDesign) -> Check:
    """Ids as the design makes them of environment, title and number; splits and parser too."""
    if not tasks.environment:
        return failed("ids", "a design is stated, but no environment")
    code = code_of(tasks.environment["identity"], design, tasks.environment["name"])
    splits = {panel.name: panel.split for panel in design.panels}
    numbers: Counter[tuple[str, str]] = Counter()
    bad = []
    for task in tasks.tasks:
        numbers[task.panel, task.family] += 1
        expected = task_id(design, code, task.panel, task.family, numbers[task.panel, task.family])
        if task.id != expected or splits.get(task.panel) != task.split:
            bad.append(task.id)
    if tasks.parser != COMPILED_PARSER:
        bad.append(f"parser {tasks.parser}, not {COMPILED_PARSER}")
    told = "those of environment, design and title; numbers without a gap"
    return result("ids", not bad, told, listed(bad))


def _extra_keys(tasks: TaskSet) -> Check:
    """Compiled tasks have no keys but those that an export of them has."""
    origin = origin_of(tasks)
    bad = [task.id for task in tasks.tasks if task.extra not in ({}, own_keys(task, origin))]
    return result("other keys", not bad, "none but those of exports", listed(bad))


def _prompts(tasks: TaskSet, design: TaskDesign) -> Check:
    families = {family.name: family for family in design.families}
    title = tasks.environment.get("name", "")
    bad = [
        task.id
        for task in tasks.tasks
        if task.family not in families
        or render(design.prompt, families[task.family], title, task) != task.prompt
    ]
    return result("prompts", not bad, "all as the design renders them", listed(bad))


def _labels(tasks: TaskSet, design: TaskDesign) -> Check:
    seeds = {panel.name: panel.seed for panel in design.panels}
    bad = [
        task.id
        for task in tasks.tasks
        if task.panel not in seeds
        or label_order(seeds[task.panel], task.id, [*task.choices]) != [*range(len(task.choices))]
    ]
    return result("labels", not bad, "all in the order of their hashes", listed(bad))


def _rules(tasks: TaskSet, design: TaskDesign) -> Check:
    """What can be seen of the selection without the environment."""
    wrong = []
    counts: Counter[tuple[str, ...]] = Counter()
    for task in tasks.tasks:
        counts["anchor", task.panel, task.anchor] += 1
        counts["category", task.panel, task.family, task.category] += 1
        counts["stratum", task.panel, task.family, str(task.stratum)] += 1
        if task.feasible is None or task.feasible.bit_count() < design.least_feasible:
            wrong.append(f"{task.id} has fewer than {design.least_feasible} feasible portfolios")
    ranked = {family.name: family.ranked for family in design.families}
    odd = [task.id for task in tasks.tasks if ranked.get(task.family) != task.ranked]
    if odd:
        wrong.append(f"whether they are ranked is not as in the design: {listed(odd, 3)}")
    size = {panel.name: panel.per_stratum for panel in design.panels}
    for key, count in counts.items():
        most = {"anchor": 1, "category": design.per_category}.get(key[0], size.get(key[1], 0))
        if count > most:
            wrong.append(f"{' '.join(key)} has {count} tasks, allowed are {most}")
    told = "anchors, categories and strata within the limits"
    return result("selection rules", not wrong, told, listed(wrong, 3))


def _with_environment(tasks: TaskSet, environment: Environment) -> list[Check]:
    stated = tasks.environment.get("identity")
    checks = []
    if stated is None:
        checks.append(unmade("environment", "the tasks do not say which environment scored them"))
    else:
        same = stated == environment.identity
        told = f"{environment.identity}, not {stated}: use the one the panel names"
        checks.append(result("environment", same, stated, told))
        if not same:
            return checks
    unknown = unknown_items(tasks.tasks, environment)
    if unknown:
        return [*checks, failed("items", f"{environment.name} has no {listed(unknown)}")]
    checks += [_categories(tasks, environment), _feasible(tasks, environment)]
    if stated is None or tasks.design is None:
        told = "the design that weighs them is not known" if stated else _unseen(tasks)
        checks.append(unmade("scores", told))
        return checks
    again = _compiled(tasks, tasks.design, environment)
    return [*checks, _scores(tasks, environment), again]


def unknown_items(tasks: Sequence[Task], environment: Environment) -> list[str]:
    """Names in tasks that are no items, sorted; regions without a direction among them."""
    names = {name for task in tasks for name in (task.anchor, *task.choices)}
    regions = {task.region for task in tasks if task.region is not None}
    return sorted(names - {*environment.items}) + sorted(regions - {*environment.regions})


def feasible_masks(tasks: TaskSet, environment: Environment) -> dict[str, int]:
    """Feasible portfolios by task id, from the tags; of families that a design knows.

    All names must be items of the environment.
    """
    found: dict[str, int] = {}
    if tasks.environment and tasks.design is None:
        return found  # compiled with a design that is not at hand
    for family, chosen in by_family(tasks):
        rows = candidates_of(family, chosen, environment)
        masks = bits_of(feasible_portfolios(environment, family, rows)).tolist()
        found |= dict(zip([task.id for task in chosen], masks, strict=True))
    return found


def _categories(tasks: TaskSet, environment: Environment) -> Check:
    index, tags = environment.index, environment.tags
    bad = [t.id for t in tasks.tasks if tags[index[t.anchor]].category != t.category]
    return result("categories", not bad, "those of the anchors", listed(bad))


def _feasible(tasks: TaskSet, environment: Environment) -> Check:
    """Masks as the tags give them; where a task has none, scores that they allow."""
    masks = feasible_masks(tasks, environment)
    if not masks:
        return unmade("feasible portfolios", "follow only with the design of the tasks")
    bad = []
    for task in tasks.tasks:
        mask = masks.get(task.id)
        if mask is None:
            continue
        if task.feasible is not None:
            fits = task.feasible == mask
        else:  # the worst feasible portfolio has 0, as all infeasible ones have
            kept = [score for p, score in enumerate(task.scores) if mask >> p & 1]
            fits = 0 in kept and sum(kept) == sum(task.scores)
        if not fits:
            bad.append(task.id)
    told = f"{len(masks)} of {len(tasks)} tasks as the tags give them"
    return result("feasible portfolios", not bad, told, listed(bad))


def _scores(tasks: TaskSet, environment: Environment) -> Check:
    bad = []
    for family, chosen in by_family(tasks):
        maps = score_maps(environment, family, candidates_of(family, chosen, environment))
        for task, scores in zip(chosen, maps.scores.bps.tolist(), strict=True):
            wrong = [p for p, score in enumerate(scores) if score != task.scores[p]]
            if wrong:
                p = wrong[0]
                bad.append(f"{task.id} {PORTFOLIOS[p]} {task.scores[p]}, not {scores[p]}")
    count = len(tasks) * len(PORTFOLIOS)
    return result("scores", not bad, f"all {count:,} follow from the environment", listed(bad, 3))


def _compiled(tasks: TaskSet, design: TaskDesign, environment: Environment) -> Check:
    """The panel itself, compiled anew."""
    again = compile_panels(environment, design, tasks.environment["name"])
    found = {panel.panels[0]: _without_extra(panel) for panel in again}
    other = []
    for name in tasks.panels:
        own = replace(tasks, tasks=tuple(task for task in tasks.tasks if task.panel == name))
        if found.get(name) != _without_extra(own):
            other.append(name)
    told = f"{listed([*tasks.panels])} compiled anew, the same"
    return result("compilation", not other, told, f"{listed(other)} compiled anew, not the same")


def _without_extra(tasks: TaskSet) -> str:
    """Digest of the tasks, whether they came through a published file or not."""
    columns = columns_of(tasks)
    del columns["extra"]
    return table_sha256(columns)

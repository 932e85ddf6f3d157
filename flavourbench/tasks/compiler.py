"""The compiler: an environment and a design give the panels, the same bytes everywhere."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from flavourbench.environment import Environment
from flavourbench.environment.taxonomy import DIETS
from flavourbench.errors import InputError, listed, shown
from flavourbench.identity import json_sha256
from flavourbench.tasks.design import Family, PanelDesign, TaskDesign
from flavourbench.tasks.labels import LABELS
from flavourbench.tasks.maps import accepted, bits_of, score_maps
from flavourbench.tasks.pools import Candidates, candidates, eligible
from flavourbench.tasks.prompt import render
from flavourbench.tasks.taskset import Task, TaskSet

_CODE_RECIPE = "flavourbench-task-code/1"
#: Told as work advances: stage, units done since the last call, units in all.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class _Ready:
    """Accepted candidates of a family by falling difficulty, and the stratum of each."""

    family: Family
    candidates: Candidates
    strata: list[int]


@dataclass(slots=True)
class _Used:
    """What earlier panels asked: anchors of ranked families, and those of each other one."""

    anchors: dict[str, set[int]] = field(default_factory=dict)

    def of(self, family: Family) -> set[int]:
        """Anchors that count for a family; one that is not ranked has its own."""
        return self.anchors.setdefault("" if family.ranked else family.name, set())


def compile_panels(
    environment: Environment,
    design: TaskDesign,
    title: str | None = None,
    progress: Progress | None = None,
) -> list[TaskSet]:
    """The panels of a design, in its order.

    Parameters
    ----------
    title : str, optional
        What prompts call the environment; its name by default.

    Raises
    ------
    InputError
        A panel of which a family has no task, or a ranked family too few categories.
    """
    title = environment.name if title is None else title
    if not title.strip() or not title.isprintable():
        raise InputError(f"title '{shown(title)}' is no printable text: choose another")
    steps = len(design.families) + len(design.panels)
    ready = []
    allowed = eligible(environment, design)
    for family in design.families:
        ready.append(_ready(environment, design, family, candidates(environment, family, allowed)))
        if progress is not None:
            progress("candidates", 1, steps)
    code = task_code(environment, design, title)
    used = _Used()
    found = []
    for panel in design.panels:
        chosen = _select(environment, design, panel, ready, used)
        tasks = [
            task
            for family, picked, strata in chosen
            for task in _tasks(environment, design, panel, family, picked, strata, code, title)
        ]
        for family, picked, _ in chosen:
            used.of(family).update(picked.anchors.tolist())
        found.append(
            TaskSet(
                tuple(tasks),
                {"name": title, "identity": environment.identity},
                design.content,
            )
        )
        if progress is not None:
            progress("candidates", 1, steps)
    return found


def task_code(environment: Environment, design: TaskDesign, title: str) -> str:
    """Eight hex digits that stand for everything a prompt and its scores depend on."""
    made_of = [_CODE_RECIPE, environment.identity, title, design.sha256]
    return json_sha256(made_of)[:8]


def hashed(*parts: object) -> str:
    """Hex SHA-256 of texts joined by zero characters: what orders anchors and candidates."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def _ready(
    environment: Environment, design: TaskDesign, family: Family, found: Candidates
) -> _Ready:
    """Accepted candidates by falling difficulty; equal ones by anchor, then by variant."""
    found = found.take(accepted(score_maps(environment, family, found), family, design))
    order = np.lexsort((found.region, found.max_nova, found.diet, found.anchors, found.ease))
    size = len(order)
    strata = [min(design.strata, design.strata * at // size + 1) for at in range(size)]
    return _Ready(family, found.take(order), strata)


def _select(
    environment: Environment,
    design: TaskDesign,
    panel: PanelDesign,
    families: list[_Ready],
    used: _Used,
) -> list[tuple[Family, Candidates, list[int]]]:
    """Tasks of a panel and their strata, family by family, in the order of their numbers."""
    taken: set[int] = set()
    found = []
    for ready in families:
        rows = _rows(environment, design, panel, ready, used.of(ready.family), taken)
        picked = ready.candidates.take(np.array(rows, np.int64))
        taken.update(picked.anchors.tolist())
        categories = {environment.tags[at].category for at in picked.anchors.tolist()}
        if len(categories) < (design.least_categories if ready.family.ranked else 1):
            raise InputError(
                f"panel {panel.name}: {len(rows)} tasks of family {ready.family.name} with anchors"
                f" of {len(categories)} categories ({listed(sorted(categories))}); needed are"
                f" {design.least_categories}: use a larger environment, or another --design"
            )
        found.append((ready.family, picked, [ready.strata[row] for row in rows]))
    return found


def _rows(
    environment: Environment,
    design: TaskDesign,
    panel: PanelDesign,
    ready: _Ready,
    used: set[int],
    taken: set[int],
) -> list[int]:
    """Rows of the candidates of one family that a panel takes."""
    family, found = ready.family, ready.candidates
    by_category: Counter[str] = Counter()
    seen = {*taken}
    asked: set[tuple[int, ...]] = set()
    rows: list[int] = []
    for stratum in range(1, design.strata + 1):
        size = len(rows)
        for row in _ordered(environment, panel, ready, stratum, used):
            if len(rows) == size + panel.per_stratum:
                break
            anchor = int(found.anchors[row])
            category = environment.tags[anchor].category
            if anchor in seen or by_category[category] == design.per_category:
                continue
            if family.rule == "poles":  # the prompt does not show the anchor
                question = tuple(sorted(found.choices[row].tolist()))
                if question in asked:
                    continue
                asked.add(question)
            seen.add(anchor)
            by_category[category] += 1
            rows.append(row)
    return rows


def _ordered(
    environment: Environment, panel: PanelDesign, ready: _Ready, stratum: int, used: set[int]
) -> list[int]:
    """Candidates of a stratum in the order in which a panel considers them."""
    family, found = ready.family, ready.candidates
    keys = []
    for row, own in enumerate(ready.strata):
        anchor, region = int(found.anchors[row]), int(found.region[row])
        barred = panel.apart and anchor in used
        if own != stratum or barred:
            continue
        if region >= 0 and environment.regions[region] not in panel.regions:
            continue
        name = environment.items[anchor]
        digest = hashed(panel.seed, "select", family.name, stratum, name)
        keys.append((anchor in used, digest, row))
    return [row for _, _, row in sorted(keys)]


def _tasks(
    environment: Environment,
    design: TaskDesign,
    panel: PanelDesign,
    family: Family,
    picked: Candidates,
    strata: list[int],
    code: str,
    title: str,
) -> Iterator[Task]:
    """The tasks of one family, labels given and prompts written."""
    ids = [
        design.task_id.format(code=code, panel=panel.name, family=family.name, number=f"{n:03}")
        for n in range(1, len(picked) + 1)
    ]
    labelled = _labelled(environment, panel, picked, ids)
    maps = score_maps(environment, family, labelled)
    masks = bits_of(maps.feasible).tolist()
    for row, (task_id, scores) in enumerate(zip(ids, maps.scores.bps.tolist(), strict=True)):
        anchor, diet, cap, region = (
            int(column[row])
            for column in (labelled.anchors, labelled.diet, labelled.max_nova, labelled.region)
        )
        task = Task(
            id=task_id,
            panel=panel.name,
            split=panel.split,
            family=family.name,
            stratum=strata[row],
            anchor=environment.items[anchor],
            category=environment.tags[anchor].category,
            prompt="",
            choices=tuple(environment.items[at] for at in labelled.choices[row].tolist()),
            scores=tuple(scores),
            feasible=masks[row],
            diet=DIETS[diet] if diet >= 0 else None,
            max_nova=cap if cap >= 0 else None,
            region=environment.regions[region] if region >= 0 else None,
        )
        yield replace(task, prompt=render(design.prompt, family, title, task))


def _labelled(
    environment: Environment, panel: PanelDesign, picked: Candidates, ids: list[str]
) -> Candidates:
    """Candidates in the order of their labels."""
    orders = [
        label_order(panel.seed, task_id, [environment.items[at] for at in choices])
        for task_id, choices in zip(ids, picked.choices.tolist(), strict=True)
    ]
    order = np.array(orders, np.int64).reshape(-1, len(LABELS))
    return replace(picked, choices=np.take_along_axis(picked.choices, order, axis=1))


def label_order(seed: str, task_id: str, names: list[str]) -> list[int]:
    """Indices of ``names`` in the order of their labels A to H."""
    return sorted(range(len(names)), key=lambda at: hashed(seed, "choice", task_id, names[at]))

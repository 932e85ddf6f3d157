"""The compiler: an environment and a design give the panels, the same bytes everywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fbcore.blocks import Progress
from flavourbench.environment import Environment
from flavourbench.environment.taxonomy import DIETS
from flavourbench.errors import InputError, shown
from flavourbench.identity import json_sha256
from flavourbench.tasks.design import PanelDesign, TaskDesign, check_no_answer
from flavourbench.tasks.labels import LABELS
from flavourbench.tasks.maps import bits_of, score_maps
from flavourbench.tasks.pools import Candidates
from flavourbench.tasks.prompt import render
from flavourbench.tasks.selection import Possible, Selector, hashed, possible_tasks
from flavourbench.tasks.taskset import Task, TaskSet

#: How answers to compiled tasks are read.
COMPILED_PARSER = "fb-1"
_CODE_RECIPE = "flavourbench-task-code/1"


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
        What prompts call the environment; its title, else its name, by default.

    Raises
    ------
    InputError
        A title that cannot be printed, a panel of which a family has no task, or a ranked
        family too few categories.
    """
    title = environment.title if title is None else title
    if not title.strip() or not title.isprintable():
        raise InputError(f"title '{shown(title)}' is no printable text: choose another")
    steps = len(design.families) + len(design.panels)

    def told() -> None:
        if progress is not None:
            progress("compiling", 1, steps)

    possible = []
    for family in possible_tasks(environment, design):
        possible.append(family)
        told()
    selector = Selector(environment, design, possible)
    origin = {"name": title, "identity": environment.identity}
    found = []
    for panel in design.panels:
        tasks: list[Task] = []
        for chosen in selector.panel(panel):
            tasks += _tasks(environment, design, panel, chosen, title)
        found.append(TaskSet(tuple(tasks), origin, design))
        told()
    return found


def code_of(identity: str, design: TaskDesign, title: str) -> str:
    """Eight hex digits that stand for everything a prompt and its scores depend on.

    Parameters
    ----------
    identity, title : str, of the environment
    """
    return json_sha256([_CODE_RECIPE, identity, title, design.sha256])[:8]


def task_id(design: TaskDesign, code: str, panel: str, family: str, number: int) -> str:
    """The id of a task; numbers count from 1 in each family of a panel."""
    return design.task_id.format(code=code, panel=panel, family=family, number=f"{number:03}")


def _tasks(
    environment: Environment, design: TaskDesign, panel: PanelDesign, chosen: Possible, title: str
) -> list[Task]:
    """The tasks of one family, labels given and prompts written."""
    family = chosen.family
    code = code_of(environment.identity, design, title)
    numbers = range(1, len(chosen.strata) + 1)
    ids = [task_id(design, code, panel.name, family.name, number) for number in numbers]
    labelled = _labelled(environment, panel, chosen.candidates, ids)
    maps = score_maps(environment, family, labelled)
    masks, scores = bits_of(maps.feasible).tolist(), maps.scores.bps.tolist()
    found = []
    for row, own_id in enumerate(ids):
        anchor, diet, cap, region = (
            int(column[row])
            for column in (labelled.anchors, labelled.diet, labelled.max_nova, labelled.region)
        )
        task = Task(
            id=own_id,
            panel=panel.name,
            split=panel.split,
            family=family.name,
            ranked=family.ranked,
            stratum=chosen.strata[row],
            anchor=environment.items[anchor],
            category=environment.tags[anchor].category,
            prompt="",
            choices=tuple(environment.items[at] for at in labelled.choices[row].tolist()),
            scores=tuple(scores[row]),
            feasible=masks[row],
            diet=DIETS[diet] if diet >= 0 else None,
            max_nova=cap if cap >= 0 else None,
            region=environment.regions[region] if region >= 0 else None,
            parser=COMPILED_PARSER,
        )
        prompt = render(design.prompt, family, title, task)
        check_no_answer(prompt)
        found.append(replace(task, prompt=prompt))
    return found


def _labelled(
    environment: Environment, panel: PanelDesign, found: Candidates, ids: list[str]
) -> Candidates:
    """Candidates in the order of their labels."""
    orders = [
        label_order(panel.seed, own_id, [environment.items[at] for at in choices])
        for own_id, choices in zip(ids, found.choices.tolist(), strict=True)
    ]
    order = np.array(orders, np.int64).reshape(-1, len(LABELS))
    return replace(found, choices=np.take_along_axis(found.choices, order, axis=1))


def label_order(seed: str, own_id: str, names: list[str]) -> list[int]:
    """Indices of ``names`` in the order of their labels A to H, in the task of that id."""
    return sorted(range(len(names)), key=lambda at: hashed(seed, "choice", own_id, names[at]))

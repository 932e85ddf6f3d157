"""What the commands say of tasks, as JSON objects; scores in points."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from flavourbench.environment import Environment
from flavourbench.errors import InputError, shown
from flavourbench.tasks.diagnostics import POINT
from flavourbench.tasks.labels import LABELS, PORTFOLIO_INDEX, PORTFOLIOS
from flavourbench.tasks.taskset import Task, TaskSet

Answer = dict[str, Any]


def panel_summary(tasks: TaskSet, folder: Path) -> Answer:
    """Sizes of a panel folder, what scored it, and what it lacks."""
    families = Counter(task.family for task in tasks.tasks)
    return {
        "panel": ", ".join(tasks.panels),
        "folder": folder.name,
        "path": str(folder),
        "tasks": len(tasks),
        "anchors": len({task.anchor for task in tasks.tasks}),
        "families": dict(families),
        "parser": tasks.parser,
        "environment": tasks.environment.get("name"),
        "warnings": shortfalls(tasks),
    }


def shortfalls(tasks: TaskSet) -> list[str]:
    """Strata of ranked families that the environment could not fill, as sentences."""
    design = tasks.design
    if design is None:
        return []
    counts = Counter((t.panel, t.family, t.stratum) for t in tasks.tasks)
    return [
        f"panel {panel.name}, {family.name}: stratum {stratum} has"
        f" {counts[panel.name, family.name, stratum]} of {panel.per_stratum} tasks"
        for panel in design.panels
        if panel.name in tasks.panels
        for family in design.families
        if family.ranked
        for stratum in range(1, design.strata + 1)
        if counts[panel.name, family.name, stratum] < panel.per_stratum
    ]


def task_rows(tasks: TaskSet) -> list[Answer]:
    """One object a task: what it is about, and how hard it is."""
    return [
        {
            "task_id": task.id,
            "panel": task.panel,
            "family": task.family,
            "stratum": task.stratum,
            "anchor": task.anchor,
            "category": task.category,
            "chance": float(task.chance) / POINT,
            "top_gap": task.top_gap / POINT,
            "distinct_scores": task.distinct_scores,
        }
        for task in tasks.tasks
    ]


def task_object(task: Task, environment: Environment | None, marked: str | None) -> Answer:
    """Everything about a task: prompt, choices with tags, and all portfolios by score.

    Parameters
    ----------
    environment : where tags are looked up; None for none
    marked : labels of a portfolio, or None
    """
    order = sorted(range(len(PORTFOLIOS)), key=lambda p: (-task.scores[p], p))
    return {
        "task_id": task.id,
        "panel": task.panel,
        "split": task.split,
        "family": task.family,
        "stratum": task.stratum,
        "anchor": task.anchor,
        "category": task.category,
        "diet": task.diet,
        "max_nova": task.max_nova,
        "region": task.region,
        "parser": task.parser,
        "prompt": task.prompt,
        "prompt_sha256": task.prompt_sha256,
        "choices": dict(zip(LABELS, task.choices, strict=True)),
        "tags": None
        if environment is None
        else {name: asdict(environment.tags[environment.index[name]]) for name in task.choices},
        "chance": float(task.chance) / POINT,
        "top_gap": task.top_gap / POINT,
        "distinct_scores": task.distinct_scores,
        "optimum": task.optimum,
        "marked": None if marked is None else portfolio(marked),
        "portfolios": [
            {
                "portfolio": PORTFOLIOS[p],
                "score": task.scores[p] / POINT,
                "feasible": None if task.feasible is None else bool(task.feasible >> p & 1),
            }
            for p in order
        ],
    }


def portfolio(text: str) -> str:
    """The portfolio that typed labels stand for, as "ACF".

    Raises
    ------
    InputError
        Not three different labels.
    """
    letters = "".join(sorted(text.upper().replace(",", "").replace(" ", "")))
    if letters not in PORTFOLIO_INDEX:
        raise InputError(f"portfolio {shown(text)}: use three different labels, as in ACF")
    return letters

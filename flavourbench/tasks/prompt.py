"""Prompts: texts of the design, filled in."""

from __future__ import annotations

from flavourbench.tasks.design import Family, PromptTexts
from flavourbench.tasks.labels import LABELS
from flavourbench.tasks.taskset import Task


def render(texts: PromptTexts, family: Family, title: str, task: Task) -> str:
    """The prompt of a task, from everything but its ``prompt``.

    Parameters
    ----------
    title : str, the name of the environment as the context line shows it
    """
    question = family.question.format(
        anchor=spaced(task.anchor),
        category=task.category,
        diet=task.diet,
        max_nova=task.max_nova,
        region=spaced(task.region or ""),
    )
    candidates = zip(LABELS, task.choices, strict=True)
    text = texts.layout.format(
        context=texts.context.format(environment=title),
        family=family.title,
        question=question,
        candidates="\n".join(f"{label}. {spaced(name)}" for label, name in candidates),
        instruction=texts.instruction,
    )
    return text.strip("\n")


def spaced(name: str) -> str:
    """A name of an item or region as prompts show it."""
    return name.replace("_", " ")

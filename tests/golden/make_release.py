"""Makes ``release-3``, a small release of answers that every later version has to read.

    PYTHONPATH=tests python tests/golden/make_release.py

Run it only with a new format: format 2 stays as it is, a new one gets another folder. Its tasks
are of an environment made of hashes, its answers are digests, so that no generator of numbers
plays a part.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache
from pathlib import Path

from panels import hashed_environment

from flavourbench.analysis.answers import Answer, Answers, Evidence, Model, evidence_of
from flavourbench.analysis.core import freeze
from flavourbench.analysis.inference import Inference, infer
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.release import write_release
from flavourbench.collect.route import ROUTE_RECIPE
from flavourbench.identity import json_sha256
from flavourbench.tasks.compiler import compile_panels
from flavourbench.tasks.design import read_design
from flavourbench.tasks.labels import PORTFOLIOS
from flavourbench.tasks.taskset import TaskSet

FOLDER = Path(__file__).with_name("release-3")
SLOTS = ("ant", "bee", "cat", "dog")


@cache
def build() -> tuple[Evidence, Inference]:
    """Four models on eight tasks of each family, the last one added to the core of the others."""
    first = compile_panels(hashed_environment(), read_design())[0]
    few = tuple(t for f in first.families for t in first.of_family(f).tasks[:8])
    tasks = replace(first, tasks=few)
    answers = [_answers(slot, tasks) for slot in SLOTS]
    core = freeze(_together(answers[:3]).coverage(tasks), "golden", 6)
    evidence = evidence_of(_together(answers), tasks, core)
    return evidence, infer(evidence.matrix, Plan(300, 500, seed=7), 1)


def _answers(slot: str, tasks: TaskSet) -> Answers:
    route = {"dialect": "openai-chat", "model": slot}
    digest = json_sha256({"recipe": ROUTE_RECIPE, **route})
    source = {"kind": "responses", "content_sha256": json_sha256(slot)}
    rows = []
    for number, task in enumerate(tasks.tasks):
        choice = PORTFOLIOS[hashlib.sha256(f"{slot} {task.id}".encode()).digest()[0] % 56]
        text = f"FINAL_SELECTION: {', '.join(choice)}"
        rows.append(Answer(slot, task.id, 0, "answered", "", text, 12))
        if slot == "bee" and number == 9:
            rows[-1] = Answer(slot, task.id, 0, "unparseable", "no_marker", "Well.", None)
    return Answers((Model(slot, slot.title(), digest, route, source),), tuple(rows))


def _together(parts: list[Answers]) -> Answers:
    models = tuple(model for part in parts for model in part.models)
    return Answers(models, tuple(row for part in parts for row in part.rows))


def main() -> None:
    evidence, inference = build()
    write_release(inference, FOLDER, evidence, force=True)


if __name__ == "__main__":
    main()

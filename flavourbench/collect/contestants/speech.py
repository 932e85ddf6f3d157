"""How contestants come to their answers: what each may see, and its random words."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from flavourbench.collect.contestants.blind import strategy
from flavourbench.collect.contestants.cook import cook
from flavourbench.collect.contestants.draws import Draws
from flavourbench.collect.contestants.reading import read_prompt
from flavourbench.collect.contestants.said import Said
from flavourbench.identity import canonical_json
from flavourbench.tasks.taskset import Task


def speech(
    name: str, version: int, simulated: bool, parameters: Mapping[str, Any]
) -> Callable[[Task, int], Said]:
    """The answers of a contestant; simulated ones see the task, all others its prompt alone."""
    identity = canonical_json(["fb-contestant-1", name, version, dict(parameters)])
    seed = hashlib.sha256(identity).digest()
    if simulated:
        say = cook(parameters)
        return lambda task, repeat: say(task, Draws(seed, task.id, repeat))
    answer = strategy(name, parameters)

    def blind(prompt: str, repeat: int) -> Said:
        return Said(answer(read_prompt(prompt), Draws(seed, prompt, repeat)))

    return lambda task, repeat: blind(task.prompt, repeat)

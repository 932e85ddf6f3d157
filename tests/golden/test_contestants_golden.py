"""The frozen answers of the contestants: a release says which version of one it holds."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import make_contestants
import pytest

from flavourbench.collect.contestants import ENTRIES, Entry
from flavourbench.tasks.taskset import TaskSet

FROZEN: dict[str, Any] = json.loads(make_contestants.FILE.read_text(encoding="ascii"))
tasks = cache(make_contestants.ranked_panels)


def test_every_slot_is_frozen() -> None:
    assert [*FROZEN] == [entry.slot for entry in ENTRIES]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.slot)
def test_answers_are_those_of_the_version(entry: Entry) -> None:
    if entry.extra is not None:
        pytest.importorskip("ingredient_parser")
    assert make_contestants.entry_digest(entry, tasks()) == FROZEN[entry.slot]


def test_digests_see_every_repeat() -> None:
    chance = next(entry for entry in ENTRIES if entry.contestant == "chance")
    few = TaskSet(tasks().tasks[:50])
    found = [make_contestants.entry_digest(chance, few, repeat)["sha256"] for repeat in range(3)]
    assert len({*found}) == 3

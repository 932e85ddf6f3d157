"""The frozen random words: whoever changes one changes every released number."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import make_words
import numpy as np
import pytest

from fbcore import counter
from flavourbench.analysis.plain import counter as plain_counter
from flavourbench.analysis.plan import DEFAULT_SEED

FROZEN: dict[str, Any] = json.loads(make_words.FILE.read_text(encoding="ascii"))
BOTH = pytest.mark.parametrize("module", [counter, plain_counter], ids=["fbcore", "plain"])


def test_the_generator_gives_the_file() -> None:
    assert make_words.FILE.read_text(encoding="ascii") == make_words.text(make_words.build())
    assert len(FROZEN["words"]) == 10


def test_purposes_and_default_seed_are_those_of_the_project() -> None:
    assert counter.BOOTSTRAP == plain_counter.BOOTSTRAP == make_words.BOOTSTRAP
    assert counter.SIGN_FLIP == plain_counter.SIGN_FLIP == make_words.SIGN_FLIP
    assert DEFAULT_SEED == make_words.DEFAULT_SEED


@BOTH
@pytest.mark.parametrize("entry", FROZEN["words"])
def test_words(module: ModuleType, entry: dict[str, Any]) -> None:
    third = entry["attempt"] + 2**16 * entry["retry"]
    words = np.array([[entry["block"], entry["draw"], third, entry["purpose"]]], np.uint32)
    key = entry["seed"] % 2**32, entry["seed"] // 2**32
    assert f"{module.philox(words, key)[0, entry['lane']]:08x}" == entry["word"]


@BOTH
@pytest.mark.parametrize("entry", FROZEN["picks"])
def test_picks(module: ModuleType, entry: dict[str, Any]) -> None:
    draw, first, expected = entry["draw"], entry["first"], entry["picks"]
    attempts = np.array([entry["attempt"]])
    found = module.picks(entry["seed"], draw, draw + 1, entry["clusters"], attempts)[0]
    assert found[first : first + len(expected)].tolist() == expected


@BOTH
@pytest.mark.parametrize("entry", FROZEN["signs"])
def test_signs(module: ModuleType, entry: dict[str, Any]) -> None:
    draw, first, expected = entry["draw"], entry["first"], entry["signs"]
    found = module.signs(entry["seed"], draw, draw + 1, entry["clusters"])[0]
    shown = "".join("-+"[sign > 0] for sign in found[first : first + len(expected)].tolist())
    assert shown == expected

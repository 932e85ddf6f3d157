"""Frozen panels: whoever changes what the compiler gives changes every task id and score."""

from __future__ import annotations

import json

import make_panels
import pytest
from panels import hashed_environment
from references import reference

from flavourbench.environment import read_bundle
from flavourbench.tasks.compiler import compile_panels
from flavourbench.tasks.design import read_design
from flavourbench.tasks.panel import read_panel
from flavourbench.tasks.verify import verify

FROZEN: dict[str, str] = json.loads(make_panels.FILE.read_text(encoding="ascii"))
#: Panels of the published snapshot and tags, titled "Epicure".
EPICURE = {
    "test-1": "86d60826508381f963262b9eef8991ea44b8fe55020a4ac96be4f0b3ac603ae9",
    "test-2": "859f266ac37598374e49e3c2377c8f6154cce88577d73cf4e35de7b865609909",
    "development": "e718d0d04c10c314e86cc5c97d8b738838fbcd6163645e2a7c89de8e56f321f2",
}


def test_the_compiler_gives_the_frozen_panels() -> None:
    panels, few, digests = make_panels.build()
    assert digests == FROZEN
    assert [panel.panels[0] for panel in panels] == [*EPICURE]
    assert len(few) == 8


def test_the_frozen_folder_stays_readable() -> None:
    read = read_panel(make_panels.PANEL)
    assert make_panels.content(read) == FROZEN["panel-1"]
    assert {task.family for task in read.tasks} == {
        "substitution",
        "pairing",
        "constraint",
        "regional",
    }


def test_the_frozen_folder_verifies() -> None:
    environment = hashed_environment()
    checks = {
        check["check"]: check["passed"]
        for check in verify(make_panels.PANEL, lambda _: environment)
    }
    # Some tasks of a panel are not the panel.
    assert checks.pop("compilation") is False
    assert set(checks.values()) == {True}


@pytest.mark.slow
def test_panels_of_the_published_environment() -> None:
    tags = reference("epicure-mcp/ingredient_tags.csv")
    environment = read_bundle(reference("epicure-cooc"), tags)
    panels = compile_panels(environment, read_design(), "Epicure")
    assert {panel.panels[0]: make_panels.content(panel) for panel in panels} == EPICURE

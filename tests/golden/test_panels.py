"""Frozen panels: whoever changes what the compiler gives changes every task id and score."""

from __future__ import annotations

import json

import make_panels
import pytest
from references import reference

from flavourbench.environment import read_bundle
from flavourbench.tasks.compiler import compile_panels
from flavourbench.tasks.design import read_design
from flavourbench.tasks.panel import read_panel
from flavourbench.tasks.verify import verify

FROZEN: dict[str, str] = json.loads(make_panels.FILE.read_text(encoding="ascii"))
#: Panels of the published snapshot and tags, titled "Epicure".
EPICURE = {
    "test-1": "b07e2adc68b39bc982607710f07d8106851d3ec995278a2f1a8b1e8e93f203e9",
    "test-2": "6001b8367c65a3503cd204b9acb927b79236dcad18f1848654f8b3dfef15cdcc",
    "development": "c05818e2cfaabe9f25d28c9a18f01783393d5d95addd38b0618d733420e3b512",
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
    environment = make_panels.hashed_environment()
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

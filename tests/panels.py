"""Designs small enough for made-up environments, and panels compiled with them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bundles import synthetic

from flavourbench.environment import Environment
from flavourbench.tasks.compiler import compile_panels
from flavourbench.tasks.design import parse_design, read_design
from flavourbench.tasks.published import published_rows
from flavourbench.tasks.taskset import TaskSet

Content = dict[str, Any]


def packaged_content() -> Content:
    """A copy of the values in the design of the package."""
    return copy.deepcopy(dict(read_design().content))


def small_content() -> Content:
    """The packaged design with numbers that 300 items can fill."""
    content = packaged_content()
    content["selection"] = {"strata": 3, "per_category": 3, "categories": 4}
    for family in content["families"]:
        family["among"] = 8 if family["rule"] == "sparse" else 12
        if "least_pool" in family:
            family["least_pool"] = 8
    for panel, size in zip(content["panels"], (3, 3, 2), strict=True):
        panel["per_stratum"] = size
    return content


def family_of(content: Mapping[str, Any], name: str) -> Content:
    """The table of one family."""
    return next(family for family in content["families"] if family["name"] == name)


@cache
def small_environment() -> Environment:
    """300 made-up items."""
    return synthetic(0, 300, 12).environment("made up & small")


@cache
def small_panels() -> tuple[TaskSet, ...]:
    """Three panels of that environment, all four families in each."""
    return tuple(compile_panels(small_environment(), parse_design(small_content())))


def write_rows(tasks: TaskSet, path: Path) -> Path:
    """A published task file; returns ``path``."""
    path.write_bytes("".join(row + "\n" for row in published_rows(tasks)).encode())
    return path

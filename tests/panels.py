"""Designs small enough for made-up environments, and panels compiled with them."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from bundles import synthetic

from flavourbench.environment import Environment
from flavourbench.environment.space import Tags, unit_rows
from flavourbench.environment.taxonomy import COMPLEMENTS, NOVA_LEVELS, REGIONS, UNIVERSAL
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
def hashed_environment() -> Environment:
    """Names, tags and rows out of SHA-256, so that no generator of numbers plays a part."""
    names = sorted("_".join(pair) for pair in product(_words("a"), _words("b")))[:1500]
    categories = [*COMPLEMENTS]
    tags, rows = [], []
    for name in names:
        digest = hashlib.sha256(name.encode()).digest()
        category = categories[digest[0] % len(categories)]
        regions = tuple(r for at, r in enumerate(REGIONS) if digest[1] >> at & 1 and digest[2] % 2)
        vegan = digest[3] % 4 > 0
        level = (*NOVA_LEVELS, None)[digest[4] % 5]
        tags.append(
            Tags(category, regions or (UNIVERSAL,), vegan or digest[5] % 2 > 0, vegan, level)
        )
        lean = hashlib.sha256(category.encode()).digest()
        rows.append([digest[8 + at] - 128 + (lean[at] - 128) / 2 for at in range(12)])
    units = unit_rows(np.array(rows, np.float32), names)
    return Environment(tuple(names), units, tuple(tags), "hashed")


def _words(first: str) -> list[str]:
    return [f"{first}{a}{b}" for a, b in product("abcdefgh", "abcde")]


@cache
def small_panels() -> tuple[TaskSet, ...]:
    """Three panels of that environment, all four families in each."""
    return tuple(compile_panels(small_environment(), parse_design(small_content())))


def write_rows(tasks: TaskSet, path: Path) -> Path:
    """A published task file; returns ``path``."""
    path.write_bytes("".join(row + "\n" for row in published_rows(tasks)).encode())
    return path

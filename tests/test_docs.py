"""What the documents state of the code is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bundles import synthetic

from flavourbench.environment import answers
from flavourbench.environment.taxonomy import COMPLEMENTS

DOCS = Path(__file__).parent.parent / "docs"


def rows(text: str, head: str) -> list[list[str]]:
    """Cells of the table under the line ``head``."""
    lines = text[text.index(head) :].splitlines()[2:]
    table = lines[: next((at for at, line in enumerate(lines) if not line.startswith("|")), None)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_the_table_of_complements() -> None:
    text = (DOCS / "environment.md").read_text("utf-8")
    stated = {
        category: tuple(others.split(", "))
        for categories, others in rows(text, "| category | complements |")
        for category in categories.split(", ")
    }
    assert stated == COMPLEMENTS


ENVIRONMENT = synthetic(seed=3, items=60, dimensions=8).environment()
CORE = [n for n in ENVIRONMENT.items if ENVIRONMENT.tags[ENVIRONMENT.index[n]].category == "Herb"]
PANTRY = next(
    n for n in ENVIRONMENT.items if ENVIRONMENT.tags[ENVIRONMENT.index[n]].category == "Pantry"
)
ANSWERS = {
    "neighbors": answers.neighbors(ENVIRONMENT, CORE[:1], 2),
    "substitutes": answers.substitutes(ENVIRONMENT, CORE[:1], 2),
    "pairings": [
        *answers.pairings(ENVIRONMENT, CORE[:1], 2, "vegan", 4),
        *answers.pairings(ENVIRONMENT, [*CORE[:1], PANTRY], 2, together=True),
    ],
    "feasible": answers.feasible(ENVIRONMENT, CORE[:1], "vegan"),
    "region": answers.regions(ENVIRONMENT, CORE[:1]),
    "morph": answers.morph(ENVIRONMENT, CORE[:1], "Japanese", 30, 2),
    "resolve": answers.resolutions(ENVIRONMENT, ["xqz", *CORE[:1]]),
}


@pytest.mark.parametrize("command", ANSWERS)
def test_every_json_key_is_documented_where_it_is(command: str) -> None:
    text = (DOCS / "environment.md").read_text("utf-8")
    stated: set[str] = set()
    for keys, where, _ in rows(text, "| key | in | |"):
        named = set(re.findall("`([a-z0-9_]+)", keys))
        commands, without = set(re.findall("`([a-z]+)`", where)), where.startswith("not ")
        if where == "all" or (command in commands) != without:
            stated |= named
    found = {key for answer in ANSWERS[command] for key in answer}
    found |= {k for answer in ANSWERS[command] for result in answer["results"] for k in result}
    assert found | {"name"} == stated | {"name"}

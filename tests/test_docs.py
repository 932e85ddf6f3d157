"""What the documents state of the code is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bundles import synthetic
from references import reference

from flavourbench.analysis.plan import Plan
from flavourbench.analysis.scoring import score_model, score_object
from flavourbench.environment import answers, read_bundle
from flavourbench.environment.taxonomy import COMPLEMENTS
from flavourbench.tasks import compile_panels, grades, read_design, read_tasks
from flavourbench.tasks.design import Family

DOCS = Path(__file__).parent.parent / "docs"
PANEL = Path(__file__).parent / "golden" / "panel-1"


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


@pytest.mark.parametrize("family", read_design().families, ids=lambda family: family.name)
def test_weights_of_families(family: Family) -> None:
    text = (DOCS / "tasks.md").read_text("utf-8")
    stated = {row[0]: row[1] for row in rows(text, "| family | utility of three |")}
    share = family.weights[0] / sum(family.weights)
    assert stated[family.name] == f"{share:g} relevance + {1 - share:.2g} coherence"


def test_every_key_of_a_score_is_documented() -> None:
    tasks = read_tasks(PANEL)
    texts = {task.id: f"FINAL_SELECTION: {', '.join(task.optimum)}" for task in tasks.tasks}
    found = score_object(score_model(grades(tasks, texts), Plan(50, 50)))
    table = rows((DOCS / "tasks.md").read_text("utf-8"), "| key | |")
    assert {key for keys, _ in table for key in re.findall("`([a-z0-9_]+)`", keys)} == set(found)
    stated = {keys.strip("`"): set(re.findall("`([a-z_]+)`", told)) for keys, told in table}
    assert set(found["coverage"]) == stated["coverage"]
    assert set(found["per_task"][0]) == stated["per_task"] - {"missing"}


def test_task_ids_are_those_of_the_published_snapshot() -> None:
    tags = reference("epicure-mcp/ingredient_tags.csv")
    environment = read_bundle(reference("epicure-cooc"), tags)
    panels = compile_panels(environment, read_design(), "Epicure")
    known = {task.id for panel in panels for task in panel.tasks}
    for path in (DOCS / "tasks.md", DOCS.parent / "README.md"):
        stated = set(re.findall(r"fb-[0-9a-f]{8}-[a-z0-9-]+", path.read_text("utf-8")))
        assert stated
        assert stated <= known
    sizes = [len(panel) for panel in panels[:2]]
    assert f"({sizes[0]} and {sizes[1]} tasks)" in (DOCS.parent / "README.md").read_text("utf-8")

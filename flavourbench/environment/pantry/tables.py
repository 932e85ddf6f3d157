"""The three tables an environment is built from: ingredients, dishes, recipes.

Each is a CSV file with one row a line; cells with several values join them by ``;``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from flavourbench.environment.space import Tags, check_names
from flavourbench.environment.tagfile import BundleFile, named, read_file, rows_by_key
from flavourbench.environment.taxonomy import (
    CATEGORIES,
    NOVA_LEVELS,
    REGION_TAGS,
    REGIONS,
    UNIVERSAL,
)
from flavourbench.environment.words import singulars
from flavourbench.errors import InputError, listed, shown

INGREDIENTS, DISHES, RECIPES = "ingredients.csv", "dishes.csv", "recipes.csv"
FOLDER = Path(__file__).parents[2] / "data" / "pantry"
#: Descriptive columns of the ingredients table, each with one or more words a cell.
ATTRIBUTES = ("taste", "aroma", "texture", "family", "role", "processing")
COLUMNS = {
    INGREDIENTS: (
        *("name", "category", "regions", "vegan", "vegetarian", "nova", "aliases"),
        *ATTRIBUTES,
    ),
    DISHES: ("name", "region", "course", "ingredients"),
    RECIPES: ("page", "ingredients"),
}
#: A cell without a value: no alias.
NONE = "-"
#: Fewer say nothing of what goes together.
LEAST_INGREDIENTS = 2
#: Values of a cell, and ingredients of a table: kernels of all pairs are held in memory.
MOST_VALUES, MOST_INGREDIENTS = 200, 5000
_WORD = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
_FLAGS = {"yes": True, "no": False}
_Row = TypeVar("_Row")


@dataclass(frozen=True, slots=True)
class Ingredient:
    """A row of the ingredients table.

    Attributes
    ----------
    name : snake_case
    tags : category, regions, flags
    aliases : other names that recipes list it under: synonyms, cuts, usual forms
    attributes : column of :data:`ATTRIBUTES` → its words
    """

    name: str
    tags: Tags
    aliases: tuple[str, ...]
    attributes: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Dish:
    """A row of the dishes table; ``ingredients`` are names of the ingredients table, sorted."""

    name: str
    region: str
    course: str
    ingredients: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A row of the recipes table: the title of a page, and names of ingredients, sorted."""

    page: str
    ingredients: tuple[str, ...]


@dataclass(frozen=True)
class PantryTables:
    """The tables, each sorted by its first column, and the files they were read from."""

    ingredients: tuple[Ingredient, ...]
    dishes: tuple[Dish, ...]
    recipes: tuple[Recipe, ...]
    files: tuple[BundleFile, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all ingredients, ascending."""
        return tuple(ingredient.name for ingredient in self.ingredients)


def read_tables(folder: Path = FOLDER) -> PantryTables:
    """Read and check the tables of a folder; by default those of the package.

    Raises
    ------
    InputError
        A file is missing or no table; a name is no name or occurs twice; a category, region,
        flag, level or word is none; a dish or recipe has an unknown ingredient, one twice, or
        fewer than two. With file, line and value.
    """
    files = tuple(read_file(folder / name) for name in COLUMNS)
    ingredients = _ingredients(files[0])
    names = frozenset(ingredients)

    def dish(row: Mapping[str, str]) -> Dish:
        region = _one_of("region", row["region"], REGIONS)
        course = _words("course", row["course"])[0]
        check_names([row["name"]])
        return Dish(row["name"], region, course, _known(row["ingredients"], names))

    def recipe(row: Mapping[str, str]) -> Recipe:
        if not row["page"] or not row["page"].isprintable():
            raise InputError(f"page '{shown(row['page'])}' is no title that can be printed")
        return Recipe(row["page"], _known(row["ingredients"], names))

    dishes = rows_by_key(files[1], COLUMNS[DISHES], dish)
    recipes = rows_by_key(files[2], COLUMNS[RECIPES], recipe)
    return PantryTables(_sorted(ingredients), _sorted(dishes), _sorted(recipes), files)


def read_ingredients(path: Path) -> tuple[Ingredient, ...]:
    """Read the ingredients table alone, sorted; errors as :func:`read_tables`."""
    return _sorted(_ingredients(read_file(path)))


def _ingredients(file: BundleFile) -> dict[str, Ingredient]:
    found = rows_by_key(file, COLUMNS[INGREDIENTS], _ingredient)
    with named(file.path):
        if len(found) > MOST_INGREDIENTS:
            raise InputError(f"{len(found):,} ingredients: at most {MOST_INGREDIENTS:,} are built")
        _check_aliases(found)
        _check_forms(found)
    return found


def _sorted(rows: Mapping[str, _Row]) -> tuple[_Row, ...]:
    return tuple(rows[key] for key in sorted(rows))


def _ingredient(row: Mapping[str, str]) -> Ingredient:
    name = row["name"]
    check_names([name])
    regions = _words("regions", row["regions"], REGION_TAGS)
    if UNIVERSAL in regions and len(regions) > 1:
        raise InputError(f"regions '{shown(row['regions'])}': {UNIVERSAL} stands alone")
    flags = {key: _FLAGS[_one_of(key, row[key], _FLAGS)] for key in ("vegan", "vegetarian")}
    if flags["vegan"] and not flags["vegetarian"]:
        raise InputError(f"{name} is vegan but not vegetarian: no food is")
    tags = Tags(
        category=_one_of("category", row["category"], CATEGORIES),
        regions=tuple(region for region in REGION_TAGS if region in regions),
        vegetarian=flags["vegetarian"],
        vegan=flags["vegan"],
        nova=int(_one_of("nova", row["nova"], [str(level) for level in NOVA_LEVELS])),
    )
    aliases = () if row["aliases"] == NONE else _words("aliases", row["aliases"])
    return Ingredient(name, tags, aliases, {key: _words(key, row[key]) for key in ATTRIBUTES})


def _check_aliases(ingredients: Mapping[str, Ingredient]) -> None:
    """Refuse an alias that is the name or an alias of another ingredient."""
    owner = {name: name for name in ingredients}
    for name, ingredient in ingredients.items():
        for alias in ingredient.aliases:
            if owner.setdefault(alias, name) != name or alias == name:
                raise InputError(
                    f"alias {alias} of {name} is a name or an alias of {owner[alias]} too: keep one"
                )


def _check_forms(names: Iterable[str]) -> None:
    """Refuse names that differ in number or separators alone: each is typed for the other."""
    joined: dict[str, str] = {}
    for name in names:
        other = joined.setdefault(name.replace("_", ""), name)
        if other != name:
            raise InputError(f"{name} and {other} are forms of one name: keep one")
    for name in names:
        *head, last = name.split("_")
        for form in singulars(last):
            other = joined.get("".join([*head, form]), name)
            if other != name:
                raise InputError(f"{name} and {other} are forms of one name: keep one")


def _one_of(column: str, value: str, known: Sequence[str] | Mapping[str, object]) -> str:
    if value not in known:
        raise InputError(f"{column} '{shown(value)}': use {', '.join(known)}")
    return value


def _words(column: str, cell: str, known: Sequence[str] | None = None) -> tuple[str, ...]:
    """Values of a cell, in their order: of ``known``, or any snake_case words."""
    words = cell.split(";")
    for word in words:
        if known is not None:
            _one_of(column, word, known)
        elif not _WORD.fullmatch(word):
            raise InputError(f"{column} '{shown(cell)}': use snake_case words joined by ;")
    _check_once(column, words)
    return tuple(words)


def _known(cell: str, names: frozenset[str]) -> tuple[str, ...]:
    """Ingredients of a cell, sorted."""
    found = cell.split(";")
    unknown = [name for name in found if name not in names]
    if unknown:
        raise InputError(f"ingredient {listed(unknown)} is not in the ingredients table")
    _check_once("ingredients", found)
    if len(found) < LEAST_INGREDIENTS:
        raise InputError(f"ingredients '{shown(cell)}': at least {LEAST_INGREDIENTS} go together")
    return tuple(sorted(found))


def _check_once(column: str, values: Sequence[str]) -> None:
    if len(values) > MOST_VALUES:
        raise InputError(f"{column} holds {len(values):,} values: at most {MOST_VALUES}")
    twice = sorted(value for value, count in Counter(values).items() if count > 1)
    if twice:
        raise InputError(f"{column} holds {listed(twice)} twice")


def baskets(tables: PantryTables) -> Iterator[tuple[str, ...]]:
    """Ingredient sets of all recipes, then of all dishes."""
    yield from (recipe.ingredients for recipe in tables.recipes)
    yield from (dish.ingredients for dish in tables.dishes)


def unmet(tables: PantryTables) -> list[str]:
    """Ingredients of no dish and no recipe, ascending: their attributes are all there is."""
    return sorted({*tables.names}.difference(*baskets(tables)))

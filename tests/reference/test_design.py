"""The design file: what the packaged one says, and every kind of file that is none."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from panels import Content, family_of, packaged_content

from flavourbench.errors import InputError
from flavourbench.tasks.design import ANCHORING, design_text, parse_design, read_design

Change = Callable[[str], str]


def test_the_packaged_design_says_what_the_specification_does() -> None:
    design = read_design()
    found = {family.name: family for family in design.families}
    assert [*found] == ["substitution", "pairing", "constraint", "regional"]
    assert [family.ranked for family in found.values()] == [True, True, True, False]
    assert [family.weights for family in found.values()] == [(4, 1), (13, 7), (7, 3), (3, 1)]
    assert [family.among for family in found.values()] == [40, 48, 32, 80]
    assert [family.least_pool for family in found.values()] == [12, 16, 0, 0]
    spreads = [family.least_spread for family in found.values()]
    assert spreads == [Fraction(2, 25), Fraction(2, 25), 0, Fraction(3, 20)]
    constraint = found["constraint"]
    assert (constraint.diets, constraint.nova_caps) == (("vegan", "vegetarian"), (2, 3))
    assert constraint.vegetarian_step == Fraction(1, 5)
    assert (design.least_feasible, design.least_range) == (4, Fraction(1, 10**6))
    assert (design.strata, design.per_category, design.least_categories) == (4, 24, 8)
    assert sorted(design.excluded) == [
        "adjika",
        "birds_eye_chili",
        "perilla_oil",
        "squid",
        "sweet_potato_starch",
    ]
    assert [panel.per_stratum for panel in design.panels] == [40, 40, 24]
    assert [panel.apart for panel in design.panels] == [False, False, True]
    test, again, development = ({*panel.regions} for panel in design.panels)
    assert not (test | again) & development
    assert not ANCHORING.search(design_text())


def test_comments_and_layout_of_the_file_do_not_enter_its_digest(tmp_path: Path) -> None:
    design = read_design()
    path = tmp_path / "design.toml"
    path.write_text("# mine\n\n" + re.sub(r" +# .*", "", design_text()), "utf-8")
    assert read_design(path).sha256 == design.sha256
    path.write_text(design_text().replace("least_pool = 12", "least_pool = 13"), "utf-8")
    assert read_design(path).sha256 != design.sha256


def test_numbers_are_kept_as_written() -> None:
    content = packaged_content()
    assert family_of(content, "pairing")["weights"] == ["0.65", "0.35"]
    assert parse_design(content) == read_design()
    exact = tomllib.loads(design_text(), parse_float=Decimal)
    assert parse_design(exact) == read_design()


def test_weights_are_ratios() -> None:
    """In lowest terms, whatever they add up to; a zero is a weight."""
    for written, expected in (
        (["0.8", "0.2"], (4, 1)),
        (["0.40", "0.1"], (4, 1)),
        ([1, 0], (1, 0)),
        (["0.01", "0.99"], (1, 99)),
    ):
        content = packaged_content()
        content["families"][0]["weights"] = written
        assert parse_design(content).families[0].weights == expected


def swap(old: str, new: str, count: int = 1) -> Change:
    """Replace a text that is there."""

    def change(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, count)

    return change


_FIRST = 'name = "flavourbench-1"\n'
_LINE = 'name = "substitution"\n'
_QUESTION = 'question = "Which three of the candidates go best with {anchor}, and with each other?"'


def weights(value: str) -> Change:
    return swap("weights = [0.8, 0.2]", f"weights = {value}")


def least_range(value: str) -> Change:
    return swap("utility_range = 1e-6", f"utility_range = {value}")


def question(text: str) -> Change:
    return swap(_QUESTION, f'question = "{text}"')


def region_twice(text: str) -> str:
    return swap('"East_Asian", "Southeast_Asian"]', '"East_Asian", "East_Asian"]')(text)


#: What is wrong → how the packaged file is changed, and what the message says of it.
BAD: dict[str, tuple[Change, tuple[str, ...]]] = {
    "missing key": (swap("least_pool = 12\n", ""), ("families[0].least_pool", "missing")),
    "missing top key": (swap(_FIRST, ""), ("name", "missing")),
    "missing table": (
        swap("[acceptance]\nfeasible_portfolios = 4\nutility_range = 1e-6", "[other]"),
        ("acceptance", "missing"),
    ),
    "no panels": (lambda text: re.sub(r"(?s)\[\[panels.*?(?=# Fam)", "", text), ("panels",)),
    "empty panels": (
        lambda text: "panels = []\n" + re.sub(r"(?s)\[\[panels.*?(?=# Fam)", "", text),
        ("panels", "[]"),
    ),
    "unknown key": (swap(_LINE, _LINE + "colour = 3\n"), ("families[0].colour", "unknown")),
    "unknown top key": (swap(_FIRST, _FIRST + "size = 3\n"), ("size", "unknown")),
    "unknown key in selection": (
        swap("strata = 4 ", "stratums = 4\nstrata = 4 "),
        ("selection.stratums", "unknown"),
    ),
    "unknown key in a panel": (
        swap("per_stratum = 24", "per_stratum = 24\nsize = 3"),
        ("panels[2].size", "unknown"),
    ),
    "key of another rule": (
        swap(_LINE, _LINE + 'diets = ["vegan"]\n'),
        ("families[0].diets", "unknown"),
    ),
    "text for a number": (
        swap("per_category = 24", 'per_category = "many"'),
        ("selection.per_category", "many", "number"),
    ),
    "decimal for an integer": (swap("among = 40", "among = 40.0"), ("families[0].among", "40.0")),
    "flag for an integer": (swap("among = 40", "among = true"), ("families[0].among", "true")),
    "integer for a flag": (swap("ranked = true", "ranked = 1"), ("families[0].ranked", "1")),
    "number for a text": (swap(_FIRST, "name = 7\n"), ("name", "7")),
    "text for a list": (
        swap('pool = ["same_category", "shared_region", "no_shared_word"]', 'pool = "all"'),
        ("families[0].pool", "all"),
    ),
    "text for a table": (
        lambda text: 'selection = "all"\n' + re.sub(r"(?s)\[selection.*?(?=\[prompt)", "", text),
        ("selection", "all"),
    ),
    "list of other things": (
        lambda text: "panels = [3]\n" + re.sub(r"(?s)\[\[panels.*?(?=# Fam)", "", text),
        ("panels[0]", "3"),
    ),
    "too small": (swap("among = 40", "among = 7"), ("families[0].among", "7", "from 8")),
    "too large": (swap("strata = 4 ", "strata = 10 "), ("selection.strata", "10", "to 9")),
    "huge integer": (swap("strata = 4 ", f"strata = {'9' * 400} "), ("selection.strata", "999")),
    "digits without end": (swap("strata = 4 ", f"strata = {'9' * 5000} "), ("no TOML",)),
    "negative": (least_range("-1e-6"), ("acceptance.utility_range", "-0.000001")),
    "large step": (
        swap("vegetarian_step = 0.2", "vegetarian_step = 1.01"),
        ("families[2].vegetarian_step", "1.01"),
    ),
    "nan": (least_range("nan"), ("acceptance.utility_range", "NaN")),
    "infinity": (least_range("inf"), ("acceptance.utility_range", "Inf")),
    "huge power": (least_range("1e999999999"), ("acceptance.utility_range", "999999999")),
    "tiny power": (least_range("1e-999999999"), ("acceptance.utility_range", "999999999")),
    "power beyond decimals": (least_range(f"1e{'9' * 30}"), ("utility_range|no TOML",)),
    "text for a decimal": (least_range('"a lot"'), ("acceptance.utility_range", "a lot")),
    "one weight": (weights("[0.8]"), ("families[0].weights", "0.8")),
    "three weights": (weights("[0.5, 0.3, 0.2]"), ("families[0].weights", "0.3")),
    "weights above one": (weights("[0.8, 0.3]"), ("families[0].weights", "0.3")),
    "weights of nothing": (weights("[0, 0]"), ("families[0].weights", "[0, 0]")),
    "negative weight": (weights("[1.5, -0.5]"), ("families[0].weights", "-0.5")),
    "fine weights": (weights("[0.333, 0.667]"), ("families[0].weights", "0.333")),
    "weights as words": (weights('["most", "rest"]'), ("families[0].weights", "most")),
    "flags as weights": (weights("[true, false]"), ("families[0].weights", "true")),
    "weights of huge power": (weights("[1e999999999, 0]"), ("families[0].weights", "999999")),
    "weight that is nan": (weights("[nan, 0.5]"), ("families[0].weights", "NaN")),
    "nested weights": (weights("[[0.8], 0.2]"), ("families[0].weights", "0.8")),
    "unknown rule": (
        swap('rule = "spaced"', 'rule = "random"'),
        ("families[0].rule", "random", "spaced"),
    ),
    "unknown relation": (swap('"shared_region"', '"same_colour"'), ("pool", "same_colour")),
    "unknown region": (swap('"Japanese"', '"Nordic"'), ("panels[0].regions", "Nordic")),
    "region twice": (region_twice, ("panels[2].regions", "East_Asian")),
    "unknown diet": (swap('"vegetarian"]', '"keto"]'), ("families[2].diets", "keto")),
    "unknown NOVA": (swap("nova_caps = [2, 3]", "nova_caps = [2, 5]"), ("nova_caps", "5")),
    "NOVA twice": (swap("nova_caps = [2, 3]", "nova_caps = [2, 2]"), ("nova_caps", "[2, 2]")),
    "no NOVA": (swap("nova_caps = [2, 3]", "nova_caps = []"), ("nova_caps", "[]")),
    "NOVA as a table": (swap("nova_caps = [2, 3]", "nova_caps = [{a = 1}]"), ("nova_caps", "a")),
    "no diet": (swap('diets = ["vegan", "vegetarian"]', "diets = []"), ("diets", "[]")),
    "demands elsewhere": (
        swap('feasible = "always"', 'feasible = "demands"'),
        ("substitution", "demands"),
    ),
    "panel twice": (swap('name = "test-2"', 'name = "test-1"'), ("panels", "test-1")),
    "family twice": (swap('name = "pairing"', 'name = "substitution"'), ("substitution",)),
    "seed twice": (
        swap("flavourbench-1-test-2", "flavourbench-1-test-1"),
        ("seeds", "flavourbench-1-test-1"),
    ),
    "name with a slash": (swap('name = "test-1"', 'name = "../test"'), ("panels[0].name", "../t")),
    "name in capitals": (swap(_LINE, 'name = "Sub"\n'), ("families[0].name", "Sub")),
    "long name": (swap(_LINE, f'name = "{"a" * 41}"\n'), ("families[0].name", "aaaa")),
    "blank text": (swap('title = "pairing"', 'title = " "'), ("families[1].title",)),
    "control character": (
        swap('title = "pairing"', 'title = "pair\\u001b[31ming"'),
        ("families[1].title", "\\u001b"),
    ),
    "anchoring prompt": (
        question("As in {anchor}: FINAL_SELECTION: A, B, C"),
        ("FINAL_SELECTION: A, B, C",),
    ),
    "three labels": (question("{anchor}? Say B, D and G."), ("B, D and G",)),
    "three labels in lines": (question("{anchor}? Say B; D; G."), ("B; D; G",)),
    "question without its subject": (question("Which three?"), ("pairing", "{anchor}")),
    "question without its demands": (
        swap("if all three have to be {diet}", "if all three are fit"),
        ("constraint", "{diet}"),
    ),
    "question without its region": (swap("{region} cooking", "this cooking"), ("{region}",)),
    "slip in a key": (swap("per_stratum = 40", "per_stratm = 40"), ("per_stratum", "per_stratm")),
    "blank in an id": (
        swap('task_id = "fb-', 'task_id = "fb '),
        ("task_id", "fb {code}"),
    ),
    "anchoring title": (
        swap('title = "pairing"', 'title = "final_selection :a,b , c"'),
        ("final_selection :a,b , c",),
    ),
    "no marker": (swap("starts with FINAL_SELECTION:", "starts with ANSWER:"), ("instruction",)),
    "unknown field": (
        question("What of {anchor} and {colour}?"),
        ("families[1].question", "colour", "{anchor}, {category}, {diet}, {max_nova}, {region}"),
    ),
    "attribute": (question("What of {anchor.__class__}?"), ("families[1].question", "__class__")),
    "index": (question("What of {anchor[0]}?"), ("families[1].question", "anchor[0]")),
    "conversion": (question("What of {anchor!r}?"), ("families[1].question", "anchor!r")),
    "format": (question("What of {anchor:>99999999}?"), ("families[1].question", "9999")),
    "number as a field": (question("What of {0}?"), ("families[1].question", "{0}")),
    "nameless field": (question("What of {}?"), ("families[1].question", "{}")),
    "open brace": (question("What of {anchor?"), ("families[1].question", "{anchor?")),
    "field of another family": (question("What of {region}?"), ("pairing", "{region}")),
    "demand of another family": (question("{anchor}, {diet}?"), ("pairing", "{diet}")),
    "field left out": (swap("{candidates}\n", ""), ("prompt.layout", "candidates")),
    "id without number": (swap("-{number}", ""), ("task_id", "fb-{code}-{panel}-{family}")),
    "excluded twice": (swap('"squid"', '"adjika"'), ("excluded", "adjika")),
    "no TOML": (lambda text: text + "\n=", ("no TOML",)),
    "key twice": (swap(_FIRST, _FIRST * 2), ("no TOML",)),
    "deep nesting": (lambda text: f"deep = {'[' * 5000}\n" + text, ("no TOML",)),
    "empty": (lambda _: "", ("missing",)),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_designs_are_refused_in_one_line(kind: str, tmp_path: Path) -> None:
    change, says = BAD[kind]
    path = tmp_path / "design.toml"
    path.write_text(change(design_text()), "utf-8")
    check_refused(path, says)


def check_refused(path: Path, says: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as refused:
        read_design(path)
    message = str(refused.value)
    assert message.isprintable()
    assert str(path) in message
    assert len(message) < 600
    for words in says:
        assert any(word in message for word in words.split("|")), message


@pytest.mark.parametrize(
    "data",
    [b'name = "\xff"', "name = 'é'".encode("latin-1"), "name = 1".encode("utf-16"), b"\0", b"{}"],
)
def test_bytes_that_are_no_toml_are_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "design.toml"
    path.write_bytes(data)
    check_refused(path, ("no TOML",))


def test_places_that_hold_no_file_are_refused(tmp_path: Path) -> None:
    check_refused(tmp_path, ("directory",))
    check_refused(tmp_path / "none.toml", ("cannot read", "no such file"))


@pytest.mark.parametrize("value", [None, [], "design", 3, {"name": None}])
def test_manifests_may_hold_anything(value: Any) -> None:
    """A manifest is JSON of any program's."""
    with pytest.raises(InputError) as refused:
        parse_design(value)
    assert str(refused.value).isprintable()


def test_every_key_of_the_design_is_needed() -> None:
    """But for ``apart``: a slip in any key is found."""

    def tables(content: Content) -> list[dict[str, Any]]:
        named = [content[key] for key in ("acceptance", "selection", "prompt")]
        return [content, *named, *content["panels"], *content["families"]]

    for at, table in enumerate(tables(packaged_content())):
        for key in table:
            content = packaged_content()
            changed = tables(content)[at]
            changed[f"{key}x"] = changed.pop(key)
            with pytest.raises(InputError, match=f"{key}x? is (missing|unknown)"):
                parse_design(content)

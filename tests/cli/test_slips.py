"""Column names that are nearly right must not change an analysis in silence."""

from __future__ import annotations

import pytest
from running import SMALL
from tables import long, scores, wide, write

LONG, WIDE = long(scores()), wide(scores())
SLIPS = {
    "panel": ("pannel", "Panel", "panle", "panels", " panel"),
    "family": ("famliy", "FAMILY", "familiy", "famly"),
    "anchor": ("ancor", "Anchor", "anchors"),
    "chance": ("chanse", "Chance", "chances"),
}
CASES = [(role, slip) for role, slips in SLIPS.items() for slip in slips]


def renamed(columns, old, new):
    return {new if name == old else name: values for name, values in columns.items()}


def with_chance(columns):
    rows = len(next(iter(columns.values())))
    return columns | {"chance": [25.0] * rows}


@pytest.mark.parametrize("table", [LONG, WIDE], ids=["long", "wide"])
@pytest.mark.parametrize(("role", "slip"), CASES)
def test_a_slip_in_a_role_is_refused(fb, table, role, slip):
    columns = renamed(with_chance(table), role, slip)
    path = write(fb.folder / "t.parquet", columns)
    line = fb.refused("infer", path, *SMALL, says=(slip.strip(),))
    assert f"--column {role}=" in line


@pytest.mark.parametrize("table", [LONG, WIDE], ids=["long", "wide"])
def test_a_slip_that_is_none_can_be_ignored(fb, table):
    rows = len(next(iter(table.values())))
    plain = {name: values for name, values in table.items() if name != "panel"}
    expected = fb.json("infer", write(fb.folder / "a.csv", plain), *SMALL, "--json")
    path = write(fb.folder / "b.csv", plain | {"panels": ["x"] * rows})
    fb.refused("infer", path, *SMALL, says=("panels", "--ignore panels"))
    assert fb.json("infer", path, *SMALL, "--ignore", "panels", "--json") == expected


def test_a_displaced_role_is_no_model(fb):
    """With the clusters read from another column, numeric anchors would rank first."""
    rows = len(WIDE["task"])
    columns = renamed(WIDE, "anchor", "topic") | {"anchor": list(range(rows))}
    path = write(fb.folder / "t.csv", columns)
    named = ("infer", path, *SMALL, "--column", "anchor=topic")
    fb.refused(*named, says=("anchor", "--ignore anchor"))
    found = fb.json(*named, "--ignore", "anchor", "--json")
    assert {model["id"] for model in found["models"]} == set(scores().models)


def test_a_numeric_column_of_a_wide_table_can_be_left_out(fb):
    rows = len(WIDE["task"])
    path = write(fb.folder / "t.csv", WIDE | {"tokens": [900 + row for row in range(rows)]})
    ids = {model["id"] for model in fb.json("infer", path, *SMALL, "--json")["models"]}
    assert "tokens" in ids
    found = fb.json("infer", path, *SMALL, "--ignore", "tokens", "--json")
    assert {model["id"] for model in found["models"]} == ids - {"tokens"}


def test_a_column_to_ignore_must_exist(fb):
    path = write(fb.folder / "t.csv", LONG)
    fb.refused("infer", path, *SMALL, "--ignore", "nothing", says=("nothing",))


def test_a_column_of_a_role_can_be_ignored(fb):
    path = write(fb.folder / "t.csv", LONG)
    fb.refused("infer", path, *SMALL, "--ignore", "anchor", says=("anchor",))
    found = fb.json("infer", path, *SMALL, "--ignore", "anchor", "--cluster", "task", "--json")
    assert found["design"]["clusters"] == found["design"]["tasks"]


def test_chance_tests_are_in_the_view(fb):
    path = write(fb.folder / "t.csv", with_chance(LONG))
    found = fb.json("infer", path, *SMALL, "--json")
    above = sum(
        row["chance"]["holm_p"] <= 0.05 and row["chance"]["difference"] > 0
        for row in found["models"]
    )
    run = fb("infer", path, "--draws", "200", "--flips", "300", "--out", "again")
    assert f"{above} of 3 models above chance (25, Holm)" in run.out
    plain = fb("infer", write(fb.folder / "u.csv", LONG), *SMALL, "--out", "plain")
    assert "above chance" not in plain.out

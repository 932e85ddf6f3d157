"""Unusual but sane input: small designs, ties, constants, large values and hostile names.

Oracles are independent of the package: sums of exact fractions, and all sign vectors of
small designs one by one.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from fractions import Fraction

import pytest
from running import SMALL, strict_json
from tables import Scores, long, rows_where, scores, wide, write


def infer(fb, table, *options, sizes=SMALL):
    columns = long(table) if isinstance(table, Scores) else table
    return fb.json("infer", write(fb.folder / "t.csv", columns), *sizes, *options)


def strata_of(table):
    """Tasks of each stratum, as indices."""
    strata = {}
    for t, key in enumerate(zip(table.panels, table.families, strict=True)):
        strata.setdefault(key, []).append(t)
    return strata


def contributions(table, row):
    """``Σ Y / (S n_s)`` over the tasks of each anchor, as fractions."""
    strata = strata_of(table)
    sums = dict.fromkeys(table.anchors, Fraction(0))
    for tasks in strata.values():
        for t in tasks:
            sums[table.anchors[t]] += Fraction(str(row[t])) / (len(strata) * len(tasks))
    return [sums[anchor] for anchor in sorted(sums)]


def exceedances(differences):
    """Sign vectors with the first sign fixed whose sum is as far from zero as observed."""
    observed = abs(sum(differences))
    first, *rest = differences
    return sum(
        abs(first + sum(s * d for s, d in zip(signs, rest, strict=True))) >= observed
        for signs in itertools.product((1, -1), repeat=len(rest))
    )


def mean(values):
    return sum(values) / len(values)


def uneven(clusters, models=4, seed=3):
    """A table whose four strata have 3, 2, 1 and 1 tasks for every cluster, in turn."""
    full = scores(models, anchors=clusters, tasks=3 * clusters, chance=True, seed=seed)
    keep = []
    for tasks, times in zip(strata_of(full).values(), (3, 2, 1, 1), strict=True):
        keep += tasks[: times * clusters]
    parts = {k: [getattr(full, k)[t] for t in keep] for k in ("tasks", "panels", "families")}
    # The same anchors in every stratum, whatever its first task was.
    anchors = [f"a{int(task[-3:]) % clusters:03d}" for task in parts["tasks"]]
    values = [[row[t] for t in keep] for row in full.values]
    chance = [full.chance[t] for t in keep]
    return replace(full, **parts, anchors=anchors, values=values, chance=chance)


# --- small designs -------------------------------------------------------------------------


@pytest.mark.parametrize("clusters", [3, 8])
def test_few_clusters_are_enumerated(fb, clusters):
    """Unequal strata, shared anchors: exceedances of all sign vectors, by fractions."""
    table = uneven(clusters)
    found = infer(fb, table)
    assert found["design"]["clusters"] == clusters
    assert [s["tasks"] for s in found["design"]["strata"]] == [clusters * k for k in (3, 2, 1, 1)]
    assert found["plan"]["flips_exact"] is True
    assert found["plan"]["flips_drawn"] == 2 ** (clusters - 1)
    z = {m: contributions(table, row) for m, row in zip(table.models, table.values, strict=True)}
    assert len(found["pairs"]) == 6
    for pair in found["pairs"]:
        differences = [a - b for a, b in zip(z[pair["left"]], z[pair["right"]], strict=True)]
        assert pair["exceedances"] == exceedances(differences)
        assert pair["p"] == pair["exceedances"] / 2 ** (clusters - 1)
        assert pair["difference"] == pytest.approx(float(sum(differences)), abs=1e-9)
    level = contributions(table, table.chance)
    for model in found["models"]:
        differences = [a - b for a, b in zip(z[model["id"]], level, strict=True)]
        assert model["chance"]["exceedances"] == exceedances(differences)
        assert model["chance"]["score"] == pytest.approx(float(sum(level)), abs=1e-9)
        assert model["chance"]["difference"] == pytest.approx(float(sum(differences)), abs=1e-9)


def test_three_clusters_cannot_resolve_and_say_so(fb):
    found = infer(fb, uneven(3))
    assert found["resolved_pairs"] == 0
    assert any("3 clusters" in w and "more clusters" in w for w in found["warnings"])


def test_strata_of_unequal_size_weigh_the_same(fb):
    table = uneven(8)
    found = infer(fb, table)
    strata = strata_of(table)
    rows = dict(zip(table.models, table.values, strict=True))
    for model in found["models"]:
        row = [Fraction(str(v)) for v in rows[model["id"]]]
        means = {key: mean([row[t] for t in tasks]) for key, tasks in strata.items()}
        assert model["score"] == pytest.approx(float(mean(means.values())), rel=1e-14)
        for at, part in ((0, "panel_scores"), (1, "family_scores")):
            for name, value in model[part].items():
                expected = mean([m for key, m in means.items() if key[at] == name])
                assert value == pytest.approx(float(expected), rel=1e-14)


def test_two_models(fb):
    found = infer(fb, scores(2, spread=30))
    (pair,) = found["pairs"]
    assert pair["p"] == pair["holm_p"]
    assert [m["rank"] for m in found["models"]] == [1, 2]
    assert found["top_model"] == found["models"][0]["id"]
    assert [m["group"] for m in found["models"]] == [1, 2]


def test_one_stratum(fb):
    table = scores()
    columns = {k: v for k, v in long(table).items() if k not in ("panel", "family")}
    found = infer(fb, columns, "--single-stratum")
    assert len(found["design"]["strata"]) == 1
    assert found["panels"] == {"pearson": None, "spearman": None}
    for model in found["models"]:
        row = table.values[table.models.index(model["id"])]
        assert model["score"] == pytest.approx(math.fsum(row) / len(row), rel=1e-14)


def test_anchors_shared_by_many_tasks_widen_the_intervals(fb):
    """Tasks of one anchor that go together are one observation, not ten."""
    table = scores(anchors=8, tasks=40)
    shift = {a: 40 * (i % 2) for i, a in enumerate(sorted(set(table.anchors)))}
    row = [5 + shift[a] for a in table.anchors]
    table = table.with_row(0, row)
    shared = infer(fb, table, sizes=("--draws", "2000", "--flips", "10"))
    own = infer(fb, table, "--cluster", "task", sizes=("--draws", "2000", "--flips", "10"))
    errors = [
        next(m["se"] for m in found["models"] if m["id"] == table.models[0])
        for found in (shared, own)
    ]
    # 160 tasks of variance 400: 20 / √160 alone, 20 / √8 as clusters of twenty.
    assert errors[1] == pytest.approx(20 / math.sqrt(160), rel=0.1)
    assert errors[0] == pytest.approx(20 / math.sqrt(8), rel=0.1)


# --- constants and ties --------------------------------------------------------------------


def test_a_constant_model(fb):
    table = scores(4)
    flat = [5.0 if panel == "panel0" else 7.0 for panel in table.panels]
    table = table.with_row(1, flat)
    found = infer(fb, table)
    (model,) = [m for m in found["models"] if m["id"] == "model-001"]
    assert model["se"] == 0
    assert model["score"] == 6
    assert model["simultaneous"] == model["pointwise"] == [6, 6]
    (warning,) = [w for w in found["warnings"] if "model-001" in w]
    assert "onstant" in warning
    others = infer(fb, rows_where(long(table), [*range(40), *range(80, 160)]))
    assert found["max_t_critical"] == others["max_t_critical"], "it takes no part in the band"
    shown = fb("infer", "t.csv", *SMALL)
    assert shown.code == 0


def test_all_models_but_one_constant(fb):
    table = scores(3)
    for m in (0, 1):
        table = table.with_row(m, [float(m)] * 40)
    found = infer(fb, table)
    assert sorted(m["se"] > 0 for m in found["models"]) == [False, False, True]
    shown = fb("infer", "t.csv", *SMALL)
    assert (shown.code, shown.err) == (0, [])


def test_identical_models(fb):
    table = scores(4)
    table = table.with_row(2, table.values[1])
    found = infer(fb, table)
    (pair,) = [p for p in found["pairs"] if (p["left"], p["right"]) == ("model-001", "model-002")]
    assert (pair["p"], pair["holm_p"], pair["dz"], pair["resolved"]) == (1, 1, None, False)
    assert (pair["difference"], pair["se"], pair["interval"]) == (0, 0, [0, 0])
    assert (pair["stepdown_p"], pair["directed_p"], pair["simultaneous"]) == (1, 1, [0, 0])
    assert pair["exceedances"] == 300
    models = {m["id"]: m for m in found["models"]}
    twins = [models["model-001"], models["model-002"]]
    assert {**twins[0], "id": "", "name": ""} == {**twins[1], "id": "", "name": ""}
    order = [m["id"] for m in found["models"]]
    assert order.index("model-001") + 1 == order.index("model-002"), "equal ones by id"
    assert any("model-001 = model-002" in w for w in found["warnings"])


def test_equal_scores_share_the_better_rank(fb):
    """Permuted tasks give equal scores but not equal models."""
    table = scores(4, spread=0)
    rows = [list(table.values[0]) for _ in range(3)]
    rows[1][:10] = rows[0][:10][::-1]
    rows[2][10:20] = rows[0][10:20][::-1]
    for m, row in enumerate(rows):
        table = table.with_row(m, row)
    table = table.with_row(3, [v + 1 for v in rows[0]])
    found = infer(fb, table)
    assert [m["rank"] for m in found["models"]] == [1, 2, 2, 2]
    assert [m["id"] for m in found["models"]] == [f"model-00{m}" for m in (3, 0, 1, 2)]


# --- values --------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [10_000, 100_000_000])
def test_a_change_of_unit_changes_nothing_else(fb, scale):
    """Values of 10⁶ and 10¹⁰: exact sums keep every p, rank and group."""
    table = scores(5, chance=True)
    large = replace(
        table,
        values=[[round(v * scale) for v in row] for row in table.values],
        chance=[round(v * scale) for v in table.chance],
    )
    small, found = infer(fb, table), infer(fb, large)
    for one, other in zip(small["models"], found["models"], strict=True):
        for key in ("id", "rank", "rank_interval", "rank_set", "group", "letters"):
            assert one[key] == other[key]
        for key in ("exceedances", "p", "holm_p", "stepdown_p"):
            assert one["chance"][key] == other["chance"][key]
        for key in ("score", "se"):
            assert other[key] == pytest.approx(one[key] * scale, rel=1e-9)
    for one, other in zip(small["pairs"], found["pairs"], strict=True):
        for key in ("left", "right", "p", "exceedances", "holm_p", "resolved"):
            assert one[key] == other[key]
        for key in ("stepdown_p", "directed_p"):
            assert one[key] == other[key]
        assert other["dz"] == pytest.approx(one["dz"], rel=1e-9)
    shown = fb("infer", "t.csv", *SMALL)
    assert shown.code == 0
    assert str(round(found["models"][0]["score"])) in shown.out


def test_values_that_fit_no_decimal_grid_are_rounded_and_said(fb):
    table = scores(3)
    table = table.with_row(0, [v + 1 / 3 for v in table.values[0]])
    found = infer(fb, table)
    assert found["plan"]["exponent"] == 6
    assert any("rounded to 6 decimals" in w for w in found["warnings"])
    release = next((fb.folder / "releases").iterdir())
    again = fb.json("infer", release, *SMALL)
    assert again == found, "a release read again says what was rounded in it"


def test_chance_levels_that_fit_no_grid_are_rounded_and_said(fb):
    """56ths of 1/3 lie between the hundredths of the scores."""
    table = scores(3, chance=True)
    found = infer(fb, replace(table, chance=[level + 1 / 3 for level in table.chance]))
    assert any("Chance levels were rounded" in w for w in found["warnings"])
    release = next((fb.folder / "releases").iterdir())
    assert fb.json("infer", release, *SMALL) == found


def test_a_release_keeps_the_grid_it_was_computed_on(fb):
    """Noise of one ulp needs the finest grid; the rounded scores alone would fit a coarser."""
    table = scores(3, decimals=1)
    row = list(table.values[0])
    row[0] = 0.1 + 0.2
    found = infer(fb, table.with_row(0, row))
    assert found["plan"]["exponent"] == 6
    release = next((fb.folder / "releases").iterdir())
    assert fb.json("infer", release, *SMALL) == found


def test_negative_and_tiny_values(fb):
    table = scores(3)
    rows = [[(v - 50) / 100_000 for v in row] for row in table.values]
    for m, row in enumerate(rows):
        table = table.with_row(m, [round(v, 6) for v in row])
    found = infer(fb, table)
    shown = fb("infer", "t.csv", *SMALL)
    assert (shown.code, shown.err) == (0, [])
    assert found["models"][-1]["score"] < 0 < found["models"][0]["score"]


# --- names ---------------------------------------------------------------------------------

HOSTILE = [
    "[bold]loud[/bold] [link=http://x]",
    "emoji 😀 :smile: 👩‍👩‍👧 e\u0301",
    "line\nbreak\r\ttab",
    "\x1b[31mred\x1b]0;title\x07",
    "\x9b31m\x90 c1",
    "right \u202eto left\u202c \u2066x\u2069 \u200b \u2028",
    "日本語の名前",
    " spaces  inside and around ",
    "-", "--json", "nul\0", "\ufeffbom", "\ue000private",
]  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_names_survive_and_never_reach_the_terminal_raw(fb, form, monkeypatch):
    table = scores(len(HOSTILE)).named(HOSTILE)
    table = table.with_row(4, [1.0] * 40).with_row(3, table.values[2])  # named in warnings
    path = write(fb.folder / f"t.{form}", wide(table))
    found = fb.json("infer", path, *SMALL, "--out", "r")
    assert {m["id"] for m in found["models"]} == set(HOSTILE)
    for run in (
        fb("infer", path, *SMALL),
        fb("leaderboard", "r"),
        fb("leaderboard", "r", "--json"),
        fb("infer", path, *SMALL, "--json"),
    ):
        assert (run.code, run.err) == (0, [])
        for line in run.out.split("\n"):
            assert line.isprintable(), f"a terminal would obey {line!r}"
    assert strict_json(run.out) == found
    monkeypatch.setenv("COLUMNS", "200")
    shown = fb("leaderboard", "r").out
    for part in ("[bold]loud[/bold] [link=http://x]", ":smile:", "日本語の名前", r"\x1b[31mred"):
        assert part in shown


def test_other_ids_may_be_hostile_too(fb):
    columns = long(scores())
    for role in ("task", "panel", "family", "anchor"):
        columns[role] = [f"{value}\x1b[31m\n\u202e[b]" for value in columns[role]]
    path = write(fb.folder / "t.csv", columns)
    found = fb.json("infer", path, *SMALL, "--out", "r")
    assert set(found["models"][0]["family_scores"]) == set(columns["family"])
    run = fb("leaderboard", "r")
    assert run.code == 0
    assert all(line.isprintable() for line in run.out.split("\n"))


# --- the floor of the p-values -------------------------------------------------------------


def separated(models, clusters):
    """Every model better than the next on every task: no other signs reach the observed sum."""
    table = scores(models, panels=1, families=1, tasks=clusters)
    for m in range(models):
        table = table.with_row(m, [100 * m + t % 7 + (m * t) % 3 for t in range(clusters)])
    return table


def of_flips(found):
    """Warnings, but for the one of few clusters."""
    return [warning for warning in found["warnings"] if not warning.startswith("Few clusters")]


def test_101_models_outgrow_the_default_number_of_flips(fb):
    """5050 pairs at level 0.05 need 5050/(1 + B) ≤ 0.05, so B ≥ 100 999; float64, in which p
    is formed, may need one more. The number named is the first with which one is resolved.
    """
    draws = ("--draws", "20")
    path = write(fb.folder / "t.csv", wide(separated(101, 40)))
    needed = next(b for b in range(100_990, 101_010) if 5050 * (1.0 / (1 + b)) <= 0.05)
    assert abs(needed - (Fraction(5050) / Fraction("0.05") - 1)) <= 1
    found = fb.json("infer", path, *draws)
    assert found["plan"]["flips"] == 100_000
    (warning,) = of_flips(found)
    assert re.findall(r"--flips (\d+)", warning) == [str(needed)]
    assert "5050 pairs" in warning
    assert found["resolved_pairs"] == 0
    enough = fb.json("infer", path, *draws, "--flips", str(needed))
    assert of_flips(enough) == []
    assert enough["resolved_pairs"] > 0
    short = fb.json("infer", path, *draws, "--flips", str(needed - 1))
    assert short["resolved_pairs"] == 0
    assert of_flips(short) != []


def test_100_models_do_not(fb):
    found = fb.json("infer", write(fb.folder / "t.csv", wide(separated(100, 40))), "--draws", "20")
    assert of_flips(found) == []
    assert found["resolved_pairs"] > 0


def test_where_clusters_bind_no_number_of_flips_is_named(fb):
    """190 pairs need p ≤ 0.05/190, and 12 clusters reach 2**-11 at best."""
    path = write(fb.folder / "t.csv", wide(separated(20, 12)))
    assert 190 * 2.0**-11 > 0.05 > 190 * 2.0**-12
    for flips in ("1000", "100000"):
        found = fb.json("infer", path, "--draws", "20", "--flips", flips)
        (warning,) = of_flips(found)
        assert "12 clusters" in warning
        assert "more clusters" in warning
        assert "--flips" not in warning
        assert found["resolved_pairs"] == 0
    path = write(fb.folder / "t.csv", wide(separated(20, 13)))
    found = fb.json("infer", path, "--draws", "20", "--flips", "100000")
    assert of_flips(found) == []
    assert found["resolved_pairs"] > 0


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ([200], None),
        ([199], "(199 clusters)"),
        ([50], "about 200 clusters on;"),
        ([49], "about 200 clusters on (and the others from about 50);"),
        ([100, 100], None),
        ([900, 60], None),
        ([900, 50], "(950 clusters, worth 189 because of thin strata)"),
    ],
)
def test_few_clusters_are_said(fb, sizes, says):
    """k_1 … k_S are worth S² / Σ 1 / k_s clusters; 200 are enough, and 50 for one interval."""
    rows = [(f"t{s}-{t:04d}", f"s{s}") for s, size in enumerate(sizes) for t in range(size)]
    lines = ["task,stratum,anchor,a,b"]
    lines += [
        f"{task},{stratum},{task},{at % 7},{at % 5}" for at, (task, stratum) in enumerate(rows)
    ]
    (fb.folder / "t.csv").write_text("\n".join(lines))
    found = fb.json("infer", "t.csv", *SMALL)
    few = [warning for warning in found["warnings"] if warning.startswith("Few clusters")]
    assert len(few) == (says is not None)
    assert says is None or says in few[0]

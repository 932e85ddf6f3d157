"""The bundled run gives back the released analysis, within the tolerances of section 11.

Against the figures that the package ships where they suffice, and against the published
tables, which it does not ship, for rank intervals, groups and pair decisions.
"""

from __future__ import annotations

import csv
import json
from typing import Any

import numpy as np
import pytest
from references import reference

from flavourbench.analysis.bundled import FOLDER, LABEL, bundled_matrix
from flavourbench.analysis.inference import Inference, infer
from flavourbench.analysis.plan import Plan

Row = dict[str, str]


@pytest.fixture(scope="module")
def run() -> Inference:
    return infer(bundled_matrix(), Plan())


@pytest.fixture(scope="module")
def figures() -> dict[str, dict[str, Any]]:
    content = json.loads((FOLDER / "figures.json").read_text(encoding="utf-8"))
    return {model["id"]: model for model in content["models"]}


def published(name: str) -> list[Row]:
    path = reference(f"published-2026-08/{name}")
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


@pytest.fixture(scope="module")
def models() -> dict[str, Row]:
    return {row["model_id"]: row for row in published("models.csv")}


@pytest.fixture(scope="module")
def pairs() -> dict[frozenset[str], Row]:
    return {frozenset((row["left"], row["right"])): row for row in published("pairs.csv")}


# --- against the figures in the package ------------------------------------------------------


def test_the_plan_is_the_published_one(run: Inference) -> None:
    assert (run.plan.draws, run.plan.flips, run.plan.alpha) == (50_000, 100_000, 0.05)
    design = run.matrix.design
    assert (len(run.matrix.models), design.tasks, design.clusters) == (27, 534, 534)
    assert design.sizes.tolist() == [89] * 6
    assert run.redraws == 0


def test_scores(run: Inference, figures: dict[str, dict[str, Any]]) -> None:
    expected = np.array([figures[model]["score"] for model in run.matrix.models])
    assert np.abs(run.score - expected).max() <= 0.01


def test_family_and_panel_scores(run: Inference, figures: dict[str, dict[str, Any]]) -> None:
    content = json.loads((FOLDER / "figures.json").read_text(encoding="utf-8"))
    for part, columns in (("families", run.families), ("panels", run.panels)):
        assert set(columns) == set(content[part])
        for at, name in enumerate(content[part]):
            expected = [figures[model][part][at] for model in run.matrix.models]
            assert np.abs(columns[name] - expected).max() <= 0.01


def test_standard_errors(run: Inference, figures: dict[str, dict[str, Any]]) -> None:
    expected = np.array([figures[model]["se"] for model in run.matrix.models])
    assert np.abs(run.se / expected - 1).max() <= 0.015


def test_critical_value(run: Inference) -> None:
    assert abs(run.critical - 2.943) <= 0.04


def test_resolved_pairs(run: Inference) -> None:
    assert abs(int(run.pairs.resolved.sum()) - 101) <= 4


def test_panel_agreement(run: Inference) -> None:
    assert run.panel_pearson == pytest.approx(0.885, abs=0.01)
    assert run.panel_spearman is not None


def test_three_groups_and_no_single_best_model(run: Inference) -> None:
    assert sorted(set(run.group.tolist())) == [1, 2, 3]
    assert run.top is None


def test_it_is_called_a_reconstruction(run: Inference) -> None:
    assert run.matrix.label == LABEL
    assert "not the raw responses" in LABEL
    assert any(LABEL in warning for warning in run.warnings)


# --- against the published tables ------------------------------------------------------------


def test_ranks_and_rank_intervals(run: Inference, models: dict[str, Row]) -> None:
    for m, model in enumerate(run.matrix.models):
        row = models[model]
        assert run.rank[m] == int(row["rank"])
        assert abs(run.rank_interval[m, 0] - int(row["rank_low"])) <= 1
        assert abs(run.rank_interval[m, 1] - int(row["rank_high"])) <= 1


def test_groups(run: Inference, models: dict[str, Row]) -> None:
    expected = [int(models[model]["group"]) for model in run.matrix.models]
    assert sum(np.array(expected) != run.group) <= 1


def test_pointwise_and_simultaneous_intervals(run: Inference, models: dict[str, Row]) -> None:
    """Ends are score ± factor · SE, SE about 1.45 points, so the tolerances add up.

    0.01 of the score, 1.5 % of the SE times its factor, and for the band 0.04 · SE of the
    critical value; for the quantiles four standard errors, 0.012 · SE · √2 each, since both
    sides are 50,000 draws.
    """
    for name, slack in (("simultaneous", 0.135), ("pointwise", 0.15)):
        for m, model in enumerate(run.matrix.models):
            for end, value in zip(("low", "high"), getattr(run, name)[m], strict=True):
                assert abs(value - float(models[model][f"{name}_{end}"])) <= slack


def test_chance_tests(run: Inference, models: dict[str, Row]) -> None:
    assert run.chance is not None
    for m, model in enumerate(run.matrix.models):
        assert abs(run.chance.score - float(models[model]["chance_score"])) <= 0.05
        assert run.chance.p[m] == pytest.approx(float(models[model]["chance_p"]), abs=1e-8)


def test_decisions_of_pairs(run: Inference, pairs: dict[frozenset[str], Row]) -> None:
    """Only pairs near the limit may be decided the other way."""
    ids = run.matrix.models
    assert len(pairs) == run.pairs.p.size
    turned = 0
    for k, (i, j) in enumerate(zip(run.pairs.left, run.pairs.right, strict=True)):
        row = pairs[frozenset((ids[i], ids[j]))]
        sign = 1 if row["left"] == ids[i] else -1
        assert abs(run.pairs.difference[k] - sign * float(row["mean_difference"])) <= 0.02
        assert abs(run.pairs.dz[k] - sign * float(row["cohen_dz"])) <= 1e-3
        if bool(run.pairs.resolved[k]) != (row["resolved"] == "True"):
            turned += 1
            assert 0.02 < float(row["holm_p"]) < 0.12, row
    assert turned <= 8

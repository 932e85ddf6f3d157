"""The frozen analysis: a later version that changes any of its numbers fails here."""

from __future__ import annotations

import json
from typing import Any

import make_analysis
import numpy as np
import pytest

from flavourbench.analysis.inference import Inference, infer
from flavourbench.analysis.matrix import Stratum, build_matrix
from flavourbench.analysis.plan import Plan

FROZEN: dict[str, Any] = json.loads(make_analysis.FILE.read_text(encoding="ascii"))
GIVEN, RESULTS = FROZEN["problem"], FROZEN["results"]


@pytest.fixture(scope="module")
def inference() -> Inference:
    unit = 10.0 ** GIVEN["exponent"]
    strata = [Stratum(name, *name.split("/")) for name in GIVEN["strata"]]
    matrix = build_matrix(
        GIVEN["models"],
        GIVEN["models"],
        [f"task {t:02d}" for t in range(len(strata))],
        strata,
        [f"anchor {c:02d}" for c in GIVEN["clusters"]],
        np.array(GIVEN["scores"]) / unit,
        np.array(GIVEN["chance_56ths"]) / 56 / unit,
    )
    assert matrix.scores.exponent == GIVEN["exponent"]
    assert matrix.chance is not None
    assert matrix.chance.tolist() == GIVEN["chance_56ths"]
    return infer(matrix, Plan(**GIVEN["plan"]))


def test_the_generator_gives_the_file() -> None:
    frozen = make_analysis.FILE.read_text(encoding="ascii")
    assert make_analysis.text(make_analysis.build()) == frozen


def test_the_problem_is_worth_freezing() -> None:
    """Redraws, ties and decisions of both kinds are in it."""
    assert len(set(make_analysis.SIZES.values())) > 2
    assert RESULTS["redraws"] > 0
    assert RESULTS["weights"]["power"] is None
    assert RESULTS["flips"] == {"drawn": GIVEN["plan"]["flips"], "exact": False}
    holm = np.array(RESULTS["pairs"]["holm_p"])
    assert 0 < (holm <= GIVEN["plan"]["alpha"]).sum() < holm.size


@pytest.mark.parametrize(
    "name",
    ["score", "se", "pointwise", "critical", "rank", "rank_interval", "group", "redraws"],
)
def test_numbers_of_models(name: str, inference: Inference) -> None:
    assert np.asarray(getattr(inference, name)).tolist() == RESULTS[name]


@pytest.mark.parametrize("name", ["interval", "dz", "exceedances", "p", "holm_p"])
def test_numbers_of_pairs(name: str, inference: Inference) -> None:
    assert getattr(inference.pairs, name).tolist() == RESULTS["pairs"][name]


def test_draws_weights_and_chance(inference: Inference) -> None:
    assert inference.draws[:, :3].tolist() == RESULTS["first_draws"]
    assert inference.draws[:, -3:].tolist() == RESULTS["last_draws"]
    weights = inference.weights
    assert weights.values.tolist() == RESULTS["weights"]["values"]
    assert (weights.scale, weights.power) == (
        RESULTS["weights"]["scale"],
        RESULTS["weights"]["power"],
    )
    used = {"drawn": inference.flips_drawn, "exact": inference.flips_exact}
    assert used == RESULTS["flips"]
    assert inference.chance is not None
    assert inference.chance.exceedances.tolist() == RESULTS["chance_exceedances"]

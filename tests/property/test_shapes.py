"""Malformed arguments meet one deliberate error, and never a kernel.

A kernel trusts its arguments: an array too short is memory that is not ours. So the thin
public functions have to look first. These calls run in a process of its own as plain Python
(``NUMBA_DISABLE_JIT``), where a missing check is an IndexError and not a crash.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from flavourbench.analysis.matrix import Stratum, build_matrix
from flavourbench.errors import InputError

#: Name → expression. ``scores`` fits ``design`` (4 tasks), ``draws`` is [3, 50].
CALLS = {
    "bootstrap: a task too many": "bootstrap.bootstrap(wide, design, 0, 5, 1)",
    "bootstrap: a task too few": "bootstrap.bootstrap(narrow, design, 0, 5, 1)",
    "bootstrap: one task for all": "bootstrap.bootstrap(narrow[:, :1], design, 0, 5, 1)",
    "bootstrap: a vector": "bootstrap.bootstrap(scores[0], design, 0, 5, 1)",
    "bootstrap: no draw": "bootstrap.bootstrap(scores, design, 0, 0, 1)",
    "bootstrap: sums beyond 64 bits": "bootstrap.bootstrap(scores + 2**62, design, 0, 5, 1)",
    "bootstrap: fractional scores": "bootstrap.bootstrap(scores + 0.5, design, 0, 5, 1)",
    "point scores: a task too many": "bootstrap.point_scores(wide, design, 0)",
    "stratum means: a task too few": "bootstrap.stratum_means(narrow, design)",
    "stratum means: one task for all": "bootstrap.stratum_means(narrow[:, :1], design)",
    "standard errors: one draw": "bootstrap.standard_errors(draws[:, :1].copy())",
    "standard errors: a vector": "bootstrap.standard_errors(draws[0])",
    "max t: a score too few": "bootstrap.max_t(draws, draws[:2, 0].copy(), np.ones(3))",
    "max t: an error too few": "bootstrap.max_t(draws, draws[:, 0].copy(), np.ones(2))",
    "max t: an error too many": "bootstrap.max_t(draws, draws[:, 0].copy(), np.ones(4))",
    "intervals: a right too few": "quantiles.intervals(draws, index, index[:2], 0.05)",
    "intervals: no such left": "quantiles.intervals(draws, index + 1, index, 0.05)",
    "intervals: no such right": "quantiles.intervals(draws, index, index + 1, 0.05)",
    "intervals: a negative left": "quantiles.intervals(draws, index - 1, index, 0.05)",
    "intervals: no draws": "quantiles.intervals(draws[:, :0].copy(), index, index, 0.05)",
    "intervals: a vector": "quantiles.intervals(draws[0], index, index, 0.05)",
    "quantile: no values": "quantiles.quantile(draws[0, :0], 0.5)",
    "rank intervals: no draws": "ranks.rank_intervals(draws[:, :0].copy(), 0.05)",
    "rank intervals: a vector": "ranks.rank_intervals(draws[0], 0.05)",
    "rank groups: a smaller square": "ranks.rank_groups(index, np.zeros((2, 2), bool))",
    "contributions: a task too many": "shapes.contributions(wide, design, weights)",
    "contributions: one task for all": "shapes.contributions(narrow[:, :1], design, weights)",
    "contributions: a weight too few": "shapes.contributions(scores, design, one_weight)",
    "weights: an empty stratum": "shapes.stratum_weights(np.array([3, 0]), 5)",
    "weights: no stratum": "shapes.stratum_weights(np.array([], int), 5)",
    "design: unequal lengths": "shapes.Design(index.astype('i4'), design.cluster)",
    "design: a square": "shapes.Design(np.zeros((2, 2), 'i4'), design.cluster)",
    "design: no tasks": "shapes.Design(np.zeros(0, 'i4'), np.zeros(0, 'i4'))",
    "design: an unused index": "shapes.Design(np.array([0, 2], 'i4'), np.array([0, 1], 'i4'))",
    "design: a negative index": "shapes.Design(np.array([0, -1], 'i4'), np.array([0, 1], 'i4'))",
    "letters: a smaller square": "letters.letters(index, np.zeros((2, 2), bool))",
    "letters: no such model": "letters.letters(index + 1, np.zeros((3, 3), bool))",
    "rank sets: no such model": "ranks.rank_sets(index, index + 1, 3)",
    "rank sets: a negative model": "ranks.rank_sets(index - 1, index, 3)",
    "difference errors: one draw": "differences.difference_errors(draws[:, :1], index, index)",
    "difference errors: no such row": "differences.difference_errors(draws, index, index + 1)",
    "difference errors: a right too few": "differences.difference_errors(draws, index, index[:2])",
    "difference max t: a negative row": "differences.difference_max_t(draws, index - 1, *three)",
    "difference max t: an error too few": (
        "differences.difference_max_t(draws, index, index, draws[:, 0].copy(), np.ones(2))"
    ),
    "step-down: no flip": "stepdown.step_down(z, 0, 1)",
    "step-down: a vector": "stepdown.step_down(z[0], 5, 1)",
    "step-down: no clusters": "stepdown.step_down(z[:, :0], 5, 1)",
    "step-down: a chance too few": "stepdown.step_down(z, 5, 1, z[0, :3])",
    "step-down: fractional": "stepdown.step_down(z + 0.5, 5, 1)",
    "squares: a vector": "effects.squares(z[0])",
    "squared distances: fractional": "effects.squared_distances(z + 0.5)",
    "sign flips: no flip": "signflip.sign_flips(z, 0, 1)",
    "sign flips: a vector": "signflip.sign_flips(z[0], 5, 1)",
    "sign flips: no clusters": "signflip.sign_flips(z[:, :0], 5, 1)",
    "sign flips: a chance too few": "signflip.sign_flips(z, 5, 1, z[0, :3])",
    "sign flips: a square of chances": "signflip.sign_flips(z, 5, 1, z[:1])",
    "sign flips: fractional": "signflip.sign_flips(z + 0.5, 5, 1)",
    "flip sums: no flip": "signflip.flip_sums(z, 0, 1)",
    "flip sums: no row": "signflip.flip_sums(z[:0], 5, 1)",
    "flip sums: no clusters": "signflip.flip_sums(z[:, :0], 5, 1)",
    "flip sums: fractional": "signflip.flip_sums(z + 0.5, 5, 1)",
    "exceedances: a draw too few": "signflip.exceedances(z, z[:, 1:], z[:, 0], z[:, 0])",
    "exceedances: no draws": "signflip.exceedances(z[:, :0], z[:, :0], z[:, 0], z[:, 0])",
    "exceedances: a vector": "signflip.exceedances(z[0], z, z[0], z[:, 0])",
    "exceedances: an observed too few": "signflip.exceedances(z, z, z[:1, 0], z[:, 0])",
    "exceedances: an observed too many": "signflip.exceedances(z, z[:1], z[:, 0], z[:, 0])",
    "exceedances: fractional": "signflip.exceedances(z, z + 0.5, z[:, 0], z[:, 0])",
    "exceedances: 16 bits": "signflip.exceedances(z.astype('i2'), z, z[:, 0], z[:, 0])",
    "exceedances: beyond 64 bits": "signflip.exceedances(z + 2**62, z - 2**62, z[:, 0], z[:, 0])",
    "exceedances: beyond it by 56": "signflip.exceedances(z + 2**58, z, z[:, 0], z[:, 0], 56)",
    "picks: an attempt too few": "counter.picks(1, 0, 3, 4, np.zeros(2, int))",
    "picks: no clusters": "counter.picks(1, 0, 2, 0)",
    "picks: beyond 32 bits": "counter.picks(1, 2**32, 2**32 + 1, 4)",
    "philox: three columns": "counter.philox(np.zeros((2, 3), 'u4'), (1, 2))",
    "philox: a vector": "counter.philox(np.zeros(4, 'u4'), (1, 2))",
    "cohen dz: a vector": "effects.cohen_dz(scores[0])",
    "cohen dz: no such row": "effects.cohen_dz(scores, np.array([2]))",
    "cohen dz: a negative row": "effects.cohen_dz(scores, np.array([-1]))",
    "pearson: unequal lengths": "effects.pearson([1.0, 2.0], [1.0, 1.0, 2.0])",
    "pearson: a constant and a shorter": "effects.pearson([1.0, 2.0], [1.0])",
    "spearman: unequal lengths": "effects.spearman([1.0, 2.0], [1.0, 1.0, 2.0])",
}

#: Prints, by name, the error met, and whether a ``raise`` of fbcore's own code met it.
SCRIPT = """
import json, linecache, sys, warnings
import numpy as np
from fbcore import bootstrap, counter, differences, effects, letters, multiplicity
from fbcore import quantiles, ranks, signflip, stepdown
from fbcore import design as shapes
warnings.simplefilter("ignore")
design = shapes.Design(np.array([0, 0, 1, 1], "i4"), np.array([0, 1, 2, 3], "i4"))
scores, wide, narrow = (np.arange(2 * t).reshape(2, t) for t in (4, 5, 3))
weights = shapes.stratum_weights(design.sizes, 10)
one_weight = shapes.Weights(weights.values[:1], weights.scale, None)
z = shapes.contributions(scores, design, weights)
draws = np.random.default_rng(1).random((3, 50))
index = np.arange(3)
three = index, np.zeros(3), np.ones(3)
found = {}
for name, call in json.load(sys.stdin).items():
    try:
        found[name] = ["returned", repr(eval(call))[:80]]
    except Exception as error:
        at = error.__traceback__
        while at.tb_next:
            at = at.tb_next
        code = at.tb_frame.f_code
        line = linecache.getline(code.co_filename, at.tb_lineno).strip()
        own = "fbcore" in code.co_filename and line.startswith("raise")
        found[name] = [type(error).__name__ if own else f"stray {type(error).__name__}", str(error)]
json.dump(found, sys.stdout)
"""


@pytest.fixture(scope="module")
def met() -> dict[str, list[str]]:
    environment = {
        **os.environ,
        "NUMBA_DISABLE_JIT": "1",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps(CALLS),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=Path.home().anchor,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, list[str]] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("name", CALLS)
def test_malformed_arguments_are_refused(name: str, met: dict[str, list[str]]) -> None:
    kind, message = met[name]
    assert kind in ("ValueError", "TypeError"), f"{CALLS[name]}: {kind}: {message}"
    assert message
    assert "\n" not in message


A = Stratum("a", None, None)
GOOD: dict[str, object] = {
    "models": ["x", "y"],
    "names": ["X", "Y"],
    "tasks": list("abcd"),
    "strata": [A] * 4,
    "clusters": list("pqrs"),
    "values": np.arange(8.0).reshape(2, 4),
    "chance": np.ones(4),
}


def test_a_well_formed_matrix_is_accepted() -> None:
    assert build_matrix(**GOOD).tasks == tuple("abcd")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("models", ["x"]),
        ("models", []),
        ("models", ["x", "x"]),
        ("models", ["x", "y", "z"]),
        ("names", ["X"]),
        ("names", ["X", "Y", "Z"]),
        ("tasks", list("abc")),
        ("tasks", list("abcde")),
        ("tasks", list("aabc")),
        ("strata", [A] * 3),
        ("strata", [A] * 5),
        ("strata", [A, A, A, Stratum("a", "panel", None)]),
        ("clusters", list("pqr")),
        ("clusters", list("pqrst")),
        ("values", np.zeros((3, 4))),
        ("values", np.zeros((2, 5))),
        ("values", np.zeros((2, 3))),
        ("values", np.zeros(8)),
        ("values", np.full((2, 4), np.nan)),
        ("values", np.full((2, 4), np.inf)),
        ("values", np.full((2, 4), 1e18)),
        ("chance", np.ones(3)),
        ("chance", np.ones(5)),
        ("chance", np.full(4, np.nan)),
        ("chance", np.full(4, 1e18)),
    ],
)
def test_malformed_tables_are_refused(field: str, value: object) -> None:
    with pytest.raises(InputError) as caught:
        build_matrix(**{**GOOD, field: value})
    assert str(caught.value)
    assert "\n" not in str(caught.value)

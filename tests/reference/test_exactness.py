"""Where rounding once decided what integers have to decide."""

from __future__ import annotations

import math
from fractions import Fraction

import numba
import numpy as np
import pytest

from fbcore import bootstrap, effects, ranks
from fbcore import design as designs
from flavourbench.analysis.inference import infer
from flavourbench.analysis.matrix import Stratum, build_matrix
from flavourbench.analysis.plan import Plan
from flavourbench.errors import InputError
from flavourbench.folders import new_folder

SMALL = Plan(400, 500, 7)


def table(values, strata, clusters=None, panels=None):
    """A score matrix from [M, T] values and stratum numbers; every task a cluster by default."""
    values = np.asarray(values, float)
    tasks = [f"t{t:05d}" for t in range(values.shape[1])]
    kinds = [Stratum(f"s{s}", None if panels is None else panels[s], None) for s in strata]
    anchors = tasks if clusters is None else [f"c{c:05d}" for c in clusters]
    models = [f"m{m}" for m in range(values.shape[0])]
    return build_matrix(models, models, tasks, kinds, anchors, values)


def exact_scores(values, strata):
    """Equal mean of the strata means as Fractions."""
    groups = sorted(set(strata))
    return [
        sum(
            (
                Fraction(sum(Fraction(str(v)) for v, s in zip(row, strata, strict=True) if s == g))
                / list(strata).count(g)
                for g in groups
            ),
            start=Fraction(0),
        )
        for row in values
    ]


def competition(scores):
    return [1 + sum(other > score for other in scores) for score in scores]


@pytest.mark.parametrize("largest", [2e12, 2e15])
def test_weights_too_coarse_are_refused(largest):
    """Strata of 6 and 12 weigh 2:1; with 1:1 the order of these two models turns round."""
    strata = [0] * 6 + [1] * 12
    left = [largest] * 6 + [0] * 12
    right = [0] * 6 + [0.7 * largest] * 12
    left[0], right[6] = 0.95 * largest + 0.001 * (largest < 1e14), 0.65 * largest
    with pytest.raises(InputError, match="rescale"):
        infer(table([left, right], strata), SMALL)
    found = infer(table(np.array([left, right]) / largest * 10, strata), SMALL)
    assert found.rank.tolist() == [1, 2]


def test_coarse_weights_are_spoken_of():
    rng = np.random.default_rng(3)
    sizes = [83, 89, 97, 101, 103, 107]
    strata = np.repeat(np.arange(6), sizes)
    values = rng.integers(0, 10**8, (3, strata.size)) + 0.01
    found = infer(table(values, strata), SMALL)
    assert found.weights.power is not None
    said = [line for line in found.warnings if "weights" in line]
    assert len(said) == (0.5 / found.weights.values.min() >= 1e-6)


@pytest.mark.parametrize("noise", [1.0, 0.25])
def test_equal_scores_share_the_better_rank_whatever_the_strata_are(noise):
    """100 on one whole stratum is the same score for each stratum; noise sets the grid."""
    sizes = [83, 89, 97, 101, 103, 107]
    strata = np.repeat(np.arange(6), sizes)
    values = np.zeros((4, strata.size))
    for m in range(3):
        values[m, strata == m] = 100
    values[3, ::9] = 100
    values[3, 0] = noise
    found = infer(table(values, strata), SMALL)
    assert found.rank.tolist() == competition(exact_scores(values.tolist(), strata.tolist()))
    assert found.rank[:3].tolist() == [1, 1, 1]


def test_codes_order_models_as_fractions_do():
    rng = np.random.default_rng(5)
    for _ in range(60):
        strata = np.sort(np.concatenate([np.arange(4), rng.integers(0, 4, 9)]))
        scores = rng.integers(-2, 3, (9, strata.size))
        design = designs.Design(strata.astype(np.int32), np.arange(strata.size, dtype=np.int32))
        exact = exact_scores(scores.tolist(), strata.tolist())
        ordered = sorted(set(exact))
        assert designs.score_codes(scores, design).tolist() == [ordered.index(x) for x in exact]


@pytest.mark.parametrize("seed", [278, 1, 2, 3])
def test_a_score_that_no_draw_moves_has_no_error_and_no_part_in_the_band(seed):
    """Three strata over the same anchors whose scores add up to 90 on every anchor."""
    rng = np.random.default_rng(seed)
    y, z = rng.integers(0, 51, 10), rng.integers(0, 41, 10)
    others = rng.integers(0, 101, (2, 30))
    strata, clusters = np.repeat([0, 1, 2], 10), np.tile(np.arange(10), 3)
    still = np.concatenate([y, z, 90 - y - z])
    alone = infer(table(others, strata, clusters), SMALL)
    found = infer(table(np.vstack([others, still]), strata, clusters), SMALL)
    assert found.se[2] == 0
    assert found.critical == alone.critical
    assert found.simultaneous[2].tolist() == [found.score[2]] * 2
    assert sum("m2" in line and "exactly 0" in line for line in found.warnings) == 1


def test_spearman_sees_ties_that_float64_parts():
    """0.15 is reached as (0.1 + 0.2) / 2 and as (0.3 + 0) / 2."""
    ones = [(1, 2, 1, 1), (3, 0, 2, 2), (4, 4, 3, 3)]
    strata = np.repeat(np.arange(4), 10)
    values = [[float(t % 10 < row[s]) for t, s in enumerate(strata)] for row in ones]
    found = infer(table(values, strata, panels=["p0", "p0", "p1", "p1"]), SMALL)
    assert found.panel_spearman == pytest.approx(math.sqrt(3) / 2, abs=1e-12)


def test_correlations_stay_within_one():
    rng = np.random.default_rng(11)
    for _ in range(3000):
        x, y = rng.integers(0, 1000, (2, 2 + rng.integers(0, 2))) / 7
        r = effects.pearson(x.tolist(), y.tolist())
        assert r is None or -1 <= r <= 1


@pytest.mark.parametrize("alpha", ["0.9", "0.58", "0.05", "0.3", "0.001"])
def test_rank_bounds_are_those_of_alpha_as_written(alpha):
    rng = np.random.default_rng(2)
    half = Fraction(alpha) / 2
    for size in (101, 181, 201, 221, 341, 500):
        draws = rng.random((12, size))
        order = np.sort(1 + (draws[:, None] < draws[None]).sum(axis=1), axis=1)
        low, high = math.floor((size - 1) * half), math.ceil((size - 1) * (1 - half))
        found = ranks.rank_intervals(draws, float(alpha))
        assert found.tolist() == order[:, [low, high]].tolist()


@pytest.mark.parametrize("kind", ["counts", "integers", "floats"])
def test_quotients_are_those_of_a_division(kind):
    """Five multiply-adds in the place of a division must not change a bit."""

    def rows_of(quotient):
        def run(a, b, out):
            for i in range(a.shape[0]):
                out[i] = quotient(a[i], b[i], 1.0 / b[i])

        return run

    rng = np.random.default_rng(4)
    size = 300_000
    a, b = {
        "counts": (rng.integers(0, 2**24, size), rng.integers(1, 2000, size)),
        "integers": (rng.integers(-(2**53), 2**53, size), rng.integers(1, 2**31, size)),
        "floats": (rng.normal(0, 1, size), np.exp(rng.normal(0, 20, size))),
    }[kind]
    a, b = a.astype(np.float64), b.astype(np.float64)
    found = np.empty(size)
    numba.njit(rows_of(bootstrap.quotient.compiled()))(a, b, found)
    np.testing.assert_array_equal(found, a / b)
    plain = [bootstrap.quotient(x, y, 1.0 / y) for x, y in zip(a[:200], b[:200], strict=True)]
    assert plain == (a / b)[:200].tolist()


def test_a_forced_replacement_never_leaves_the_place_empty(tmp_path, monkeypatch):
    """A kill between two renames would lose the release: there is one step, not two."""
    place = tmp_path / "release"
    place.mkdir()
    (place / "seal").write_text("old")
    if not hasattr(__import__("ctypes").CDLL(None), "renameat2"):
        pytest.skip("this system cannot exchange folders in one step")

    def forbidden(*_args):
        raise AssertionError("a rename where an exchange was possible")

    with new_folder(place, force=True, kept=lambda _folder: None) as work:
        (work / "seal").write_text("new")
        monkeypatch.setattr(type(place), "rename", forbidden)
    assert (place / "seal").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["release"]

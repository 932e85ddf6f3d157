"""What is counted of one analysed study whose truth is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flavourbench.analysis.calibration.population import Truth
from flavourbench.analysis.equivalence import is_close
from flavourbench.analysis.inference import Inference

#: True scores that differ by less, in points, are equal: they differ by rounding alone.
_EQUAL = 1e-9
COVERAGE, ERROR, POWER = "coverage", "error", "power"


@dataclass(frozen=True)
class Seen:
    """A study beside the truth. Pairs i < j as in the analysis.

    Attributes
    ----------
    difference : float64 [P], true difference of each pair, exactly 0 where scores are equal
    """

    found: Inference
    truth: Truth
    difference: NDArray[np.float64]

    @property
    def claimed(self) -> NDArray[np.float64]:
        """Signs of the estimated differences."""
        return np.sign(self.found.pairs.difference)


def seen(found: Inference, truth: Truth) -> Seen:
    """A study beside the truth."""
    exact = truth.score[found.pairs.left] - truth.score[found.pairs.right]
    return Seen(found, truth, np.where(np.abs(exact) < _EQUAL, 0.0, exact))


def rank_bounds(score: NDArray[np.float64]) -> NDArray[np.int64]:
    """Ranks that models may have by their true scores, int64 [M, 2].

    From 1 + the models strictly better to M - the models strictly worse: models that are
    equally good share all of their places.
    """
    ahead = score[None, :] - score[:, None]
    better, worse = (ahead > _EQUAL).sum(axis=1), (ahead < -_EQUAL).sum(axis=1)
    return np.stack([1 + better, score.size - worse], axis=1).astype(np.int64)


# --- coverage ------------------------------------------------------------------------------


def _inside(intervals: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.bool_]:
    low, high = intervals.T
    return np.asarray((low <= values + _EQUAL) & (values - _EQUAL <= high))


def _pointwise(s: Seen) -> float:
    return float(_inside(s.found.pointwise, s.truth.score).mean())


def _simultaneous(s: Seen) -> float:
    return float(_inside(s.found.simultaneous, s.truth.score).all())


def _pair(s: Seen) -> float:
    return float(_inside(s.found.pairs.interval, s.difference).mean())


def _pairs(s: Seen) -> float:
    return float(_inside(s.found.pairs.simultaneous, s.difference).all())


def _rank_meets(s: Seen) -> float:
    found, true = s.found.rank_interval, rank_bounds(s.truth.score)
    return float(((found[:, 0] <= true[:, 1]) & (true[:, 0] <= found[:, 1])).mean())


def _rank_holds(s: Seen) -> float:
    return float(_holds(s.found.rank_interval, s.truth).mean())


def _rank_sets(s: Seen) -> float:
    return float(_holds(s.found.rank_set, s.truth).all())


def _holds(found: NDArray[np.int64], truth: Truth) -> NDArray[np.bool_]:
    """Whether each model's bounds hold all ranks that it may have."""
    true = rank_bounds(truth.score)
    return np.asarray((found[:, 0] <= true[:, 0]) & (true[:, 1] <= found[:, 1]))


# --- decisions -----------------------------------------------------------------------------


def _holm(s: Seen) -> NDArray[np.bool_]:
    return s.found.pairs.resolved


def _stepdown(s: Seen) -> NDArray[np.bool_]:
    return np.asarray(s.found.pairs.stepdown_p <= s.found.plan.alpha)


def _pair_error(decide: Callable[[Seen], NDArray[np.bool_]]) -> Callable[[Seen], float | None]:
    """Whether some pair of equally good models is resolved."""

    def count(s: Seen) -> float | None:
        null = s.difference == 0
        return float(decide(s)[null].any()) if null.any() else None

    return count


def _pair_power(decide: Callable[[Seen], NDArray[np.bool_]]) -> Callable[[Seen], float | None]:
    """Share of the pairs of different models that are resolved, the right way round."""

    def count(s: Seen) -> float | None:
        real = s.difference != 0
        right = decide(s) & (s.claimed == np.sign(s.difference))
        return float(right[real].mean()) if real.any() else None

    return count


def _wrong_way(s: Seen) -> float | None:
    """Whether some pair is resolved the wrong way round, by Holm or by the step-down."""
    real = s.difference != 0
    wrong = (_holm(s) | _stepdown(s)) & (s.claimed == -np.sign(s.difference))
    return float(wrong[real].any()) if real.any() else None


def _chance(key: str, real: bool) -> Callable[[Seen], float | None]:
    """Error and power of the chance tests."""

    def count(s: Seen) -> float | None:
        tests = s.found.chance
        of_interest = (np.abs(s.truth.score - s.truth.chance) >= _EQUAL) == real
        if tests is None or not of_interest.any():
            return None
        rejected = (getattr(tests, key) <= s.found.plan.alpha)[of_interest]
        return float(rejected.mean() if real else rejected.any())

    return count


def _margin(s: Seen) -> float | None:
    """The smallest true difference: models this far apart are not close, if only just."""
    sizes = np.abs(s.difference[s.difference != 0])
    return float(sizes.min()) if sizes.size else None


def _close(s: Seen, margin: float) -> NDArray[np.bool_]:
    """Pairs that are called close."""
    intervals = s.found.pairs.simultaneous.tolist()
    return np.array([is_close(interval, margin) for interval in intervals])


def _close_error(s: Seen) -> float | None:
    margin = _margin(s)
    if margin is None:
        return None
    return float(_close(s, margin)[s.difference != 0].any())


def _close_power(s: Seen) -> float | None:
    margin, null = _margin(s), s.difference == 0
    return None if margin is None or not null.any() else float(_close(s, margin)[null].mean())


@dataclass(frozen=True, slots=True)
class Measure:
    """Something counted in every study.

    Attributes
    ----------
    name, head, about : str, head is that of its column
    kind : COVERAGE, ERROR or POWER
    count : a share of 0 … 1, or None where a study has nothing to count
    """

    name: str
    head: str
    kind: str
    count: Callable[[Seen], float | None]
    about: str


MEASURES = (
    Measure("pointwise", "score", COVERAGE, _pointwise, "pointwise intervals of scores"),
    Measure("simultaneous", "bands", COVERAGE, _simultaneous, "all bands of scores at once"),
    Measure("pair", "pair", COVERAGE, _pair, "pointwise intervals of differences"),
    Measure(
        "pairs", "pairs", COVERAGE, _pairs, "all simultaneous intervals of differences at once"
    ),
    Measure(
        "rank", "rank", COVERAGE, _rank_meets, "bootstrap rank intervals that hold a true rank"
    ),
    Measure(
        "rank_whole", "ranks", COVERAGE, _rank_holds, "those that hold all true ranks of a model"
    ),
    Measure(
        "rank_sets", "rank sets", COVERAGE, _rank_sets, "all rank sets at once hold all true ranks"
    ),
    Measure("holm", "Holm", ERROR, _pair_error(_holm), "some pair of equals resolved"),
    Measure("stepdown", "step-down", ERROR, _pair_error(_stepdown), "the same by the step-down"),
    Measure(
        "chance",
        "chance",
        ERROR,
        _chance("holm_p", False),
        "some model at chance told from it, Holm",
    ),
    Measure(
        "chance_stepdown",
        "ch. step",
        ERROR,
        _chance("stepdown_p", False),
        "the same by the step-down",
    ),
    Measure(
        "wrong_way",
        "reversed",
        ERROR,
        _wrong_way,
        "some pair resolved the wrong way round, by either",
    ),
    Measure(
        "close",
        "close",
        ERROR,
        _close_error,
        "some pair called close that is not, at the smallest difference as margin",
    ),
    Measure("holm_power", "Holm", POWER, _pair_power(_holm), "different pairs resolved"),
    Measure(
        "stepdown_power", "step-down", POWER, _pair_power(_stepdown), "the same by the step-down"
    ),
    Measure(
        "chance_power",
        "chance",
        POWER,
        _chance("holm_p", True),
        "models not at chance told from it, Holm",
    ),
    Measure(
        "close_power", "close", POWER, _close_power, "pairs of equals called close at that margin"
    ),
)


def counts(found: Inference, truth: Truth) -> NDArray[np.float64]:
    """All measures of one study, float64 [len(MEASURES)]; NaN where there is nothing to count."""
    study = seen(found, truth)
    values = [measure.count(study) for measure in MEASURES]
    return np.array([np.nan if value is None else value for value in values])

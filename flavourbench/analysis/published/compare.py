"""The stated figures of a published release beside those of the analysis.

Figures that follow from the scores have to agree to the digits printed. Those of the bootstrap and
the sign flips come from other random words, so they may differ by Monte-Carlo error: here five of
its standard deviations, as if both had been made with the draws and flips of the plan. The
published analysis also pools its panels, which moves a standard error by 0.3 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fbcore.bootstrap import max_t
from fbcore.ranks import rank_groups
from flavourbench.analysis.inference import Inference
from flavourbench.analysis.published.layout import LEADERBOARD, PAIRWISE, panel_columns
from flavourbench.analysis.published.tables import Line
from flavourbench.checks import Check, failed, passed, result, unmade
from flavourbench.errors import listed, shown

_SILENT = "not stated"
_DEVIATIONS = 5.0
#: Relative difference of a standard error between six strata and three pooled families of 178.
_POOLING = 0.003
#: Half of the last printed digit, and a little for the rounding of float64.
_HALF = 0.501
#: Ranks by which the end of a bootstrap rank interval may differ.
_RANKS = 1


class Cell(NamedTuple):
    """A stated figure, and between which two values it has to be."""

    what: str
    stated: float
    unit: float
    low: float
    high: float

    @property
    def agrees(self) -> bool:
        """Whether it is, to the printed digit."""
        slack = _HALF * self.unit
        return self.low - slack <= self.stated <= self.high + slack


class _Numbers(NamedTuple):
    """Columns of a leaderboard: lowest and highest that may stand there, float64 [M] each."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


def compared(
    leaderboard: Sequence[Line] | None, pairwise: Sequence[Line] | None, inference: Inference
) -> list[Check]:
    """Checks of two tables of figures; of one that is None there is none.

    Returns
    -------
    One object a check: ``check``, ``passed`` (None where nothing is stated), ``detail``.

    Raises
    ------
    InputError
        A cell holds no number.
    """
    checks = []
    if leaderboard is not None:
        checks += _board_checks(leaderboard, inference)
        checks.append(_groups(leaderboard, _stated_decisions(pairwise or (), inference), inference))
    if pairwise is not None:
        checks += _pair_checks(pairwise, inference)
    return checks


# --- models ----------------------------------------------------------------------------------


def _board_checks(lines: Sequence[Line], inference: Inference) -> list[Check]:
    index = {model: m for m, model in enumerate(inference.matrix.models)}
    known = [line for line in lines if line.cells["model_id"] in index]
    checks = [_same(LEADERBOARD, "models", [line.cells["model_id"] for line in lines], index)]
    for what, columns in _board_columns(inference).items():
        cells = []
        for line in known:
            at = index[line.cells["model_id"]]
            for column, numbers in columns.items():
                figure = line.figure(column)
                if figure is not None:
                    name = f"{line.cells['model_id']} {column}"
                    low, high = float(numbers.low[at]), float(numbers.high[at])
                    cells.append(Cell(name, *figure, low, high))
        checks.append(_judged(f"{LEADERBOARD} {what}", cells))
    return checks


def _board_columns(inference: Inference) -> dict[str, dict[str, _Numbers]]:
    """What may stand in each column, by the check that it belongs to."""
    score, se = inference.score, inference.se
    rank = inference.rank.astype(np.float64)
    ends = inference.rank_interval.astype(np.float64)
    panels = panel_columns(inference.panels)
    points = {"score": score, **inference.families}
    points |= {panels[name]: values for name, values in inference.panels.items()}
    chance = inference.chance
    if chance is not None:
        points["chance_score"] = np.full_like(score, chance.score)
    spread = _DEVIATIONS / math.sqrt(inference.plan.draws) + _POOLING
    errors = _Numbers(se * (1 - spread), se * (1 + spread))
    found = {
        "scores": {column: _Numbers(values, values) for column, values in points.items()},
        "ranks": {"rank": _Numbers(rank, rank)},
        "standard errors": {"se": errors},
        "pointwise intervals": _pointwise(inference),
        "simultaneous intervals": _simultaneous(inference, errors),
        "rank intervals": {
            column: _Numbers(ends[:, side] - _RANKS, ends[:, side] + _RANKS)
            for side, column in enumerate(("rank_low", "rank_high"))
        },
    }
    if chance is not None:
        slack = _p_slack(chance.p, inference)
        found["chance tests"] = {"chance_p": _Numbers(chance.p - slack, chance.p + slack)}
    return found


def _reach(probability: float, draws: int) -> tuple[float, float]:
    """Between which quantiles of our draws the same quantile of other draws has to be."""
    slack = _DEVIATIONS * math.sqrt(2 * probability * (1 - probability) / draws)
    return max(0.0, probability - slack), min(1.0, probability + slack)


def _pointwise(inference: Inference) -> dict[str, _Numbers]:
    alpha, draws = inference.plan.alpha, inference.draws
    found = {}
    sides = (("pointwise_low", alpha / 2), ("pointwise_high", 1 - alpha / 2))
    for side, (column, probability) in enumerate(sides):
        reach = _reach(probability, inference.plan.draws)
        low, high = np.quantile(draws, reach, axis=1)
        pooling = _POOLING * np.abs(inference.pointwise[:, side] - inference.score)
        # Where the reach ends with the draws, others may go further.
        low = low if reach[0] else np.full_like(low, -np.inf)
        high = high if reach[1] < 1 else np.full_like(high, np.inf)
        found[column] = _Numbers(low - pooling, high + pooling)
    return found


def _simultaneous(inference: Inference, errors: _Numbers) -> dict[str, _Numbers]:
    score = inference.score
    largest = max_t(inference.draws, score, inference.se)
    reach = _reach(1 - inference.plan.alpha, inference.plan.draws)
    low, high = np.quantile(largest, reach)
    high = high if reach[1] < 1 else np.inf
    # A model without spread has no width, however wide the others are.
    wide = np.where(inference.se > 0, high, 0.0) * np.where(inference.se > 0, errors.high, 0.0)
    narrow = low * errors.low
    return {
        "simultaneous_low": _Numbers(score - wide, score - narrow),
        "simultaneous_high": _Numbers(score + narrow, score + wide),
    }


def _p_slack(p: NDArray[np.float64], inference: Inference) -> NDArray[np.float64]:
    """How far another p may be from one of ours; both count exceedances of random signs."""
    flips = inference.plan.flips
    # The variance of either is p (1 - p) / flips; with one count in reserve where p is small.
    root = _DEVIATIONS**2 / flips
    return root / 2 + np.sqrt(root * (2 * p + 2 / flips) + root**2 / 4)


def _groups(
    lines: Sequence[Line], decisions: NDArray[np.bool_] | None, inference: Inference
) -> Check:
    """Groups follow from decisions: from those stated, or else from ours, which may differ."""
    check = f"{LEADERBOARD} groups"
    stated = {line.cells["model_id"]: line.figure("group") for line in lines}
    told = {model: figure.value for model, figure in stated.items() if figure is not None}
    if not told:
        return unmade(check, _SILENT)
    groups = inference.group if decisions is None else rank_groups(inference.order, decisions)
    found = dict(zip(inference.matrix.models, groups.tolist(), strict=True))
    moved = [
        f"{model} in {value:g}, not {found[model]}"
        for model, value in told.items()
        if value != found.get(model, value)
    ]
    source = "those found" if decisions is None else "the decisions stated"
    detail = f"{len(told)} stated, {len(moved)} of them other than by {source}"
    if not moved:
        return passed(check, detail)
    detail = f"{detail}: {listed(moved, 3)}"
    if decisions is None and _near(inference).any():
        return unmade(check, f"{detail}; some decisions are near the level")
    return failed(check, detail)


# --- pairs -----------------------------------------------------------------------------------


def _pair_numbers(inference: Inference) -> dict[frozenset[str], int]:
    """Index of each pair by its two ids."""
    models, pairs = inference.matrix.models, inference.pairs
    both = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
    return {frozenset((models[left], models[right])): at for at, (left, right) in enumerate(both)}


def _stated_decisions(lines: Sequence[Line], inference: Inference) -> NDArray[np.bool_] | None:
    """Which pairs are stated as resolved: bool [M, M], or None unless all are there."""
    number, pairs = _pair_numbers(inference), inference.pairs
    stated = {
        number.get(frozenset((line.cells["left"], line.cells["right"]))): line.flag("resolved")
        for line in lines
    }
    flags = [stated.get(at) for at in range(len(number))]
    if None in flags:
        return None
    square = np.zeros((len(inference.matrix.models),) * 2, np.bool_)
    square[pairs.left, pairs.right] = square[pairs.right, pairs.left] = flags
    return square


def _near(inference: Inference) -> NDArray[np.bool_]:
    """Pairs so near the level that other random signs may decide otherwise: bool [P]."""
    pairs, flips = inference.pairs, inference.plan.flips
    spread = pairs.p.size * np.sqrt(2 * pairs.p / flips)
    return np.abs(pairs.holm_p - inference.plan.alpha) <= _DEVIATIONS * spread


def _pair_checks(lines: Sequence[Line], inference: Inference) -> list[Check]:
    pairs, models, number = inference.pairs, inference.matrix.models, _pair_numbers(inference)
    names = {" and ".join(sorted(key)): at for key, at in number.items()}
    known = [
        (line, number[key], line.cells["left"] == models[pairs.left[number[key]]])
        for line in lines
        if (key := frozenset((line.cells["left"], line.cells["right"]))) in number
    ]
    stated = [" and ".join(sorted((line.cells["left"], line.cells["right"]))) for line in lines]
    checks = [_same(PAIRWISE, "pairs", stated, names)]
    slack = _p_slack(pairs.p, inference)
    exact = {"differences": ("mean_difference", pairs.difference)}
    exact["effect sizes"] = ("cohen_dz", pairs.dz)
    for what, (column, values) in exact.items():
        signed = [(line, at, values[at] if same else -values[at]) for line, at, same in known]
        cells = _pair_cells(column, [(line, value, value) for line, _, value in signed])
        checks.append(_judged(f"{PAIRWISE} {what}", cells))
    for what, column, values, error in (
        ("p values", "sign_flip_p", pairs.p, slack),
        ("Holm p values", "holm_p", pairs.holm_p, slack * len(number)),
    ):
        spans = [(line, values[at] - error[at], values[at] + error[at]) for line, at, _ in known]
        checks.append(_judged(f"{PAIRWISE} {what}", _pair_cells(column, spans)))
    return [*checks, _decisions([(line, at) for line, at, _ in known], inference)]


def _pair_cells(column: str, spans: Iterable[tuple[Line, float, float]]) -> list[Cell]:
    """The cells of one column; NaN, where differences do not vary, stands for an empty one."""
    cells = []
    for line, low, high in spans:
        figure = line.figure(column)
        if figure is not None:
            what = f"{line.cells['left']} and {line.cells['right']} {column}"
            cells.append(Cell(what, *figure, float(low), float(high)))
    return cells


def _decisions(lines: Sequence[tuple[Line, int]], inference: Inference) -> Check:
    """Whether the same pairs are resolved; one whose Holm p is near the level may differ."""
    resolved, near = inference.pairs.resolved, _near(inference)
    told = [(line, at, flag) for line, at in lines if (flag := line.flag("resolved")) is not None]
    moved = [(line, at) for line, at, flag in told if flag != resolved[at]]
    wrong = [
        f"{line.cells['left']} and {line.cells['right']}" for line, at in moved if not near[at]
    ]
    check = f"{PAIRWISE} decisions"
    if not told:
        return unmade(check, _SILENT)
    count = sum(flag for _, _, flag in told)
    detail = f"{count} of {len(told)} stated as resolved, {len(moved)} decided otherwise"
    far = f"{detail}, {len(wrong)} of them not near the level: {listed(wrong, 3)}"
    return result(check, not wrong, detail, far)


# --- both ------------------------------------------------------------------------------------


def _same(file: str, what: str, stated: Sequence[str], known: Mapping[str, int]) -> Check:
    """Whether a table has the rows that it has to have."""
    more = [name for name in stated if name not in known]
    lacks = sorted(known.keys() - {*stated})
    parts = [
        f"{len(names)} {which} ({listed(names, 3)})"
        for names, which in ((more, "without observations"), (lacks, "not stated"))
        if names
    ]
    return result(f"{file} {what}", not parts, f"{len(known)}, each once", "; ".join(parts))


def _judged(check: str, cells: Sequence[Cell]) -> Check:
    if not cells:
        return unmade(check, _SILENT)
    wrong = [cell for cell in cells if not cell.agrees]
    if not wrong:
        exact = all(cell.low == cell.high for cell in cells)
        how = "to the digits stated" if exact else "within Monte-Carlo error"
        return passed(check, f"{len(cells)} agree {how}")
    first = wrong[0]
    span = f"{first.low:.8g} to {first.high:.8g}"
    derived = f"{first.low:.8g}" if first.low == first.high else span
    return failed(
        check,
        f"{len(wrong)} of {len(cells)} differ, as {shown(first.what, 120)}:"
        f" {first.stated:.8g} stated, {derived} derived",
    )

"""What is refused or has to be said before a number is computed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fbcore.design import PORTFOLIOS, THIN_LIMIT, Weights, stratum_weights, sum_by
from fbcore.multiplicity import flips_needed, smallest_p
from fbcore.signflip import enumerates
from flavourbench.analysis.matrix import ScoreMatrix
from flavourbench.analysis.plan import Plan
from flavourbench.errors import InputError, listed, shown

#: Relative rounding of a stratum weight from which on a release speaks of it.
_WORTH_SAYING = 1e-6


def check(matrix: ScoreMatrix, plan: Plan) -> tuple[Weights, list[str]]:
    """Refuse what cannot be analysed, and collect what has to be said before computing.

    Raises
    ------
    InputError
        One model, a thin stratum, no model that varies, or sizes beyond the limits.
    """
    if len(matrix.models) < 2:
        raise InputError("1 model in the table: a comparison needs at least two")
    plan.check_size(len(matrix.models))
    design = matrix.design
    thin = thin_stratum(matrix)
    if thin is not None:
        raise InputError(f"{thin}; add clusters to it or merge it")
    varies = matrix.varies
    if not varies.any():
        raise InputError(
            "no model's scores vary inside any stratum: nothing can be estimated;"
            " check the score and stratum columns"
        )
    if not _moves(matrix):
        raise InputError(
            "no model's score varies between clusters: nothing can be estimated;"
            " check the anchor column"
        )
    try:
        weights = stratum_weights(design.sizes, matrix.largest)
    except ValueError as error:
        raise InputError(str(error)) from error
    return weights, _warnings(matrix, plan, varies) + _coarse(weights)


def thin_stratum(matrix: ScoreMatrix) -> str | None:
    """What keeps the strata from being resampled: one that too few clusters touch."""
    design = matrix.design
    empty = design.empty_probabilities()
    if empty.sum() <= THIN_LIMIT:
        return None
    thin = int(empty.argmax())
    return (
        f"stratum {shown(matrix.strata[thin].id)} is touched by only {design.touching[thin]} of"
        f" {design.clusters} clusters: a bootstrap draw would leave a stratum empty with"
        f" probability {min(1.0, empty.sum()):.2g} (limit {THIN_LIMIT})"
    )


def _coarse(weights: Weights) -> list[str]:
    """What rounded stratum weights cost the sign flips, where it is worth saying."""
    error = 0.0 if weights.power is None else 0.5 / int(weights.values.min())
    if error < _WORTH_SAYING:
        return []
    return [
        "The scores are so large that stratum weights of the sign-flip tests are rounded,"
        f" by up to {error:.1g} of their size; rescale the scores to avoid it."
    ]


def _moves(matrix: ScoreMatrix) -> bool:
    """Whether any model's mean differs between clusters inside a stratum."""
    cells = matrix.design.cells()
    sums = sum_by(matrix.scores.values, cells.of_task, cells.cluster.size)
    for first, last in pairwise(cells.bounds):
        filled = np.flatnonzero(cells.size[first:last]) + first
        means = sums[:, filled] / cells.size[filled]
        if (means != means[:, :1]).any():
            return True
    return False


def floor_warning(matrix: ScoreMatrix, plan: Plan) -> str | None:
    """What to say when Holm can resolve no pair, whatever the scores are."""
    return floor_of(len(matrix.models), matrix.design.clusters, plan)


def floor_of(models: int, clusters: int, plan: Plan) -> str | None:
    """The same of a study of that many models and clusters."""
    hypotheses = models * (models - 1) // 2
    exact = enumerates(clusters, plan.flips)
    if hypotheses * smallest_p(plan.flips, clusters, exact) <= plan.alpha:
        return None
    needed = flips_needed(hypotheses, plan.alpha, clusters)
    remedy = (
        f"at least {needed} flips are needed (--flips {needed})"
        if needed is not None
        else f"no number of flips suffices with {clusters} clusters: more clusters are needed"
    )
    used = "all sign vectors" if exact else f"{plan.flips} sign flips"
    return (
        f"Holm cannot resolve any of the {hypotheses} pairs with {used}"
        f" at alpha {plan.alpha:g}: {remedy}."
    )


def unmoved_warning(matrix: ScoreMatrix, se: NDArray[np.float64]) -> list[str]:
    """What to say of models that vary, but whose standard errors [M] came out as 0."""
    still = [matrix.models[m] for m in np.flatnonzero((se == 0) & matrix.varies)]
    if not still:
        return []
    return [
        "The strata cancel in every draw, so the standard error is exactly 0 and they are"
        f" not part of the simultaneous band: {listed(still)}."
    ]


def _warnings(matrix: ScoreMatrix, plan: Plan, varies: NDArray[np.bool_]) -> list[str]:
    found = []
    if matrix.label:
        found.append(f"About these scores: {matrix.label}.")
    floor = floor_warning(matrix, plan)
    if floor is not None:
        found.append(floor)
    constant = [matrix.models[m] for m in np.flatnonzero(~varies)]
    if constant:
        found.append(
            f"Constant inside every stratum, standard error exactly 0, not part of the"
            f" simultaneous band: {listed(constant)}."
        )
    same = _identical(matrix)
    if same:
        found.append(f"Identical scores on every task: {listed(same)}.")
    if matrix.scores.largest_error:
        found.append(
            f"Scores were rounded to {matrix.scores.exponent} decimals;"
            f" largest change {matrix.scores.largest_error:.2g}."
        )
    if matrix.chance_error:
        found.append(
            f"Chance levels were rounded to the score grid over {PORTFOLIOS};"
            f" largest change {matrix.chance_error / PORTFOLIOS:.2g}."
        )
    return found


def _identical(matrix: ScoreMatrix) -> list[str]:
    seen: dict[bytes, str] = {}
    found = []
    for model, row in zip(matrix.models, matrix.scores.values, strict=True):
        first = seen.setdefault(row.tobytes(), model)
        if first != model:
            found.append(f"{first} = {model}")
    return found

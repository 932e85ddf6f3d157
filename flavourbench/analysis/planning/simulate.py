"""Whole studies with known true scores, tested by the kernels of the analysis."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fbcore.blocks import Progress, map_ranges
from fbcore.design import contributions, stratum_weights
from fbcore.multiplicity import holm, smallest_p
from fbcore.quantiles import pair_index
from fbcore.signflip import p_values, sign_flips, sign_vectors
from fbcore.stepdown import step_down
from flavourbench.analysis.plan import MAX_SEED, Plan
from flavourbench.analysis.planning.curve import Power
from flavourbench.analysis.planning.noise import Noise

#: Sign vectors that may reach a statistic that is just significant. Fewer blur the limit: with
#: ten, Holm's detectable difference is 0.2 % larger than with 100,000 flips for 27 models, with
#: two 2 %; the step-down's is 0.1 % larger with a hundred.
_HOLM, _STEP = 10, 100


@dataclass(frozen=True, slots=True)
class Flips:
    """Sign vectors of simulated studies; 0 for Holm where it can resolve nothing."""

    holm: int
    step_down: int


def flips_for(plan: Plan, models: int, clusters: int) -> Flips:
    """As few flips as decide like those of the plan do, never more than these.

    Where the plan's flips enumerate all sign vectors, so do those of simulated studies.
    """
    hypotheses = models * (models - 1) // 2
    drawn, exact = sign_vectors(clusters, plan.flips)
    resolves = hypotheses * smallest_p(plan.flips, clusters, exact) <= plan.alpha
    if exact:
        return Flips(drawn if resolves else 0, drawn)
    needed = math.ceil(max(_HOLM * hypotheses, _STEP) / plan.alpha) - 1 if resolves else 0
    return Flips(min(plan.flips, needed), min(plan.flips, math.ceil(_STEP / plan.alpha) - 1))


@dataclass(frozen=True, slots=True)
class Trial:
    """One kind of study: true scores, and the number of clusters.

    Attributes
    ----------
    truth : int64 [M], in units of the noise's grid
    clusters : int
    column : int64 [P], at which value of the power curve a pair counts, or -1
    """

    truth: NDArray[np.int64]
    clusters: int
    column: NDArray[np.int64]


def simulate(
    noise: Noise,
    plan: Plan,
    trials: list[Trial],
    at: NDArray[np.float64],
    studies: int,
    number: int,
    threads: int,
    progress: Progress | None,
) -> tuple[Power, Power]:
    """Power of Holm and of the step-down, from ``studies`` studies of the trials in turn.

    Parameters
    ----------
    at : float64 [K], the values of the curve
    number : of the first study; random numbers depend on the plan's seed and on this

    Returns
    -------
    A pair counts as resolved where the sign of its difference is the true one too.
    """

    def task(start: int, stop: int) -> NDArray[np.int64]:
        found = np.zeros((stop - start, 3, at.size), np.int64)
        for study in range(start, stop):
            trial = trials[study % len(trials)]
            counted = trial.column >= 0
            resolved = _decide(noise, plan, trial, number + study)
            for row, kept in enumerate((counted, *(counted & part for part in resolved))):
                found[study - start, row] = np.bincount(trial.column[kept], minlength=at.size)
        return found

    def told(done: int) -> None:
        if progress is not None:
            progress("simulated studies", done, studies)

    pieces = [(study, study + 1) for study in range(studies)]
    found = np.concatenate(map_ranges(task, pieces, threads, progress=told))
    return Power(at, found[:, 0], found[:, 1]), Power(at, found[:, 0], found[:, 2])


def _decide(
    noise: Noise, plan: Plan, trial: Trial, number: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which pairs Holm and the step-down resolve the right way round: bool [P] each."""
    source = np.random.Generator(np.random.Philox(key=[plan.seed, number]))
    models = trial.truth.size
    design, around = noise.draw(source, models, trial.clusters)
    scores = np.rint(around + trial.truth[:, np.newaxis]).astype(np.int64)
    weights = stratum_weights(design.sizes, int(np.abs(scores).max()))
    sums = contributions(scores, design, weights)
    seed = int(source.integers(MAX_SEED + 1))
    flips = flips_for(plan, models, trial.clusters)
    left, right = pair_index(models)
    score = sums.sum(axis=1)
    ahead = np.sign(score[left] - score[right]) == np.sign(trial.truth[left] - trial.truth[right])
    stepped = step_down(sums, flips.step_down, seed).p
    by_holm = np.zeros_like(ahead)
    if flips.holm:
        flipped = sign_flips(sums, flips.holm, seed)
        by_holm = holm(p_values(flipped.pairs, flipped.draws, flipped.exact)) <= plan.alpha
    return ahead & by_holm, ahead & (stepped <= plan.alpha)

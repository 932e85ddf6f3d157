"""A scenario made ready: its pool, what is true in it, and the studies drawn from it."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from fbcore.design import Quantised
from flavourbench.analysis.calibration.choosers import Chooser, Law
from flavourbench.analysis.calibration.layouts import Pool, bundled_maps
from flavourbench.analysis.calibration.scenarios import Scenario
from flavourbench.analysis.matrix import ScoreMatrix, build_matrix
from flavourbench.tasks.diagnostics import POINT

#: Pools do not depend on the seed of the studies.
_POOL_SEED = 1
_EXPONENT = 2  # basis points are hundredths


@dataclass(frozen=True)
class Truth:
    """What studies of a scenario estimate.

    Attributes
    ----------
    score : float64 [M], equal mean over strata of the mean expected score of the pool's tasks
    chance : float, the same of the chance levels
    """

    score: NDArray[np.float64]
    chance: float


@dataclass(frozen=True)
class Population:
    """Everything that studies of one scenario share.

    Attributes
    ----------
    knowledge : float64 [M]
    laws : int64 [M, 2], indices of each model's laws, where it knows a cluster and where not
    steps : float64 [L, R * 56], row + cumulated probability of each law's portfolios, so that
        one search in a sorted vector finds the portfolio of any task
    """

    scenario: Scenario
    pool: Pool
    truth: Truth
    knowledge: NDArray[np.float64]
    laws: NDArray[np.int64]
    steps: NDArray[np.float64]

    def study(self, source: np.random.Generator) -> ScoreMatrix | None:
        """Scores of one study, or None where no cluster of some stratum was drawn."""
        pool = self.pool
        task, cluster = pool.draw(source)
        if np.unique(pool.stratum[task]).size < len(pool.strata):
            return None
        row = pool.row[task]
        models = len(self.scenario.models)
        known = self._common(source, models, int(cluster[-1]) + 1) < self.knowledge[:, None]
        choice = self._common(source, models, task.size)
        values = np.empty((models, task.size), np.int64)
        law = np.where(known[:, cluster], self.laws[:, :1], self.laws[:, 1:])
        for index, steps in enumerate(self.steps):
            model, at = np.nonzero(law == index)
            values[model, at] = self._scores(steps, row[at], choice[model, at])
        names = [f"m{m:02d}" for m in range(models)]
        return build_matrix(
            names,
            names,
            [f"t{t:05d}" for t in range(task.size)],
            [pool.strata[s] for s in pool.stratum[task]],
            [f"c{c:05d}" for c in cluster],
            Quantised(values, _EXPONENT, 0.0),
            pool.scores[row].mean(axis=1) / POINT,
        )

    def _common(self, source: np.random.Generator, models: int, size: int) -> NDArray[np.float64]:
        """Uniform numbers [models, size], of which a share is the same for all models."""
        own, base = source.random((models, size)), source.random(size)
        return np.where(source.random((models, size)) < self.scenario.common, base, own)

    def _scores(
        self, steps: NDArray[np.float64], row: NDArray[np.int64], at: NDArray[np.float64]
    ) -> NDArray[np.int16]:
        """Scores of portfolios drawn by uniform numbers from one law: int16 [n]."""
        width = self.pool.scores.shape[1]
        found = np.searchsorted(steps, row + at, side="right")
        # The sum may round up to the next row.
        return np.asarray(self.pool.scores[row, np.minimum(found - row * width, width - 1)])


def populate(scenario: Scenario) -> Population:
    """The population of a scenario."""
    source = np.random.Generator(np.random.Philox(key=[_POOL_SEED, crc32(scenario.name.encode())]))
    pool = scenario.layout(bundled_maps(), source, scenario.clusters)
    laws = list(dict.fromkeys(law for m in scenario.models for law in (m.known, m.other)))
    tables = [law.probabilities(pool.scores) for law in laws]
    expected = {
        law: _mean(pool, (table * pool.scores).sum(axis=1) / POINT)
        for law, table in zip(laws, tables, strict=True)
    }
    knowledge = [_knowledge(scenario.models, model, expected) for model in scenario.models]
    score = [
        k * expected[model.known] + (1 - k) * expected[model.other]
        for k, model in zip(knowledge, scenario.models, strict=True)
    ]
    rows = np.arange(pool.scores.shape[0])[:, None]
    return Population(
        scenario,
        pool,
        Truth(np.array(score), _mean(pool, pool.scores.mean(axis=1) / POINT)),
        np.array(knowledge),
        np.array([[laws.index(m.known), laws.index(m.other)] for m in scenario.models]),
        np.array([(rows + np.cumsum(table, axis=1)).ravel() for table in tables]),
    )


def _mean(pool: Pool, of_row: NDArray[np.float64]) -> float:
    """Equal mean over strata of the mean over the pool's tasks of a value of score maps [R].

    Studies draw clusters evenly inside of a part, and all tasks of a stratum are drawn equally
    often: a ratio mean of a study estimates the mean of the tasks.
    """
    totals = np.bincount(pool.stratum, of_row[pool.row])
    return float((totals / np.bincount(pool.stratum)).mean())


def _knowledge(models: tuple[Chooser, ...], model: Chooser, expected: dict[Law, float]) -> float:
    """Probability that a model knows a cluster."""
    if model.knowledge is not None:
        return model.knowledge
    if model.like is None:
        raise ValueError("a model has knowledge of its own or is like another one")
    same, low = models[model.like], expected[model.other]
    share = _knowledge(models, same, expected)
    goal = share * expected[same.known] + (1 - share) * expected[same.other]
    return (goal - low) / (expected[model.known] - low)

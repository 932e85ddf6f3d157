"""Simulated studies, analysed and counted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from fbcore.blocks import Progress, default_threads, even_ranges, map_ranges
from flavourbench.analysis.calibration.counting import MEASURES, counts
from flavourbench.analysis.calibration.population import Population, Truth, populate
from flavourbench.analysis.calibration.scenarios import Scenario
from flavourbench.analysis.inference import infer
from flavourbench.analysis.plan import MAX_SEED, Plan
from flavourbench.errors import InputError, shown

ALPHA = 0.05
DRAWS = 2_000
MAX_STUDIES = 1_000_000
#: Studies that a thread takes at once: an interrupt waits for them.
_BLOCK = 8
#: Standard errors of an interval of 95 %.
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happened over simulated studies.

    Attributes
    ----------
    share : float, mean over studies
    se : float, its Monte Carlo standard error
    studies : int, those that had something to count
    """

    share: float
    se: float
    studies: int

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Rate:
        """The rate of what studies counted, float64 [n] from 0 to 1."""
        share = math.fsum(values.tolist()) / values.size
        return cls(share, float(values.std(ddof=1)) / math.sqrt(values.size), values.size)

    def interval(self, z: float = _Z) -> tuple[float, float]:
        """Wilson's interval (1927, J. Am. Stat. Assoc. 22:209), z standard errors wide.

        Where a study counts a share (of models or pairs) rather than yes or no, it takes as
        many studies as would have the standard error found.
        """
        spread = self.share * (1 - self.share)
        size = spread / self.se**2 if self.se > 0 else float(self.studies)
        middle = (self.share + z**2 / (2 * size)) / (1 + z**2 / size)
        half = z / (1 + z**2 / size) * math.sqrt(spread / size + (z / size / 2) ** 2)
        return max(middle - half, 0.0), min(middle + half, 1.0)


@dataclass(frozen=True)
class Calibrated:
    """Rates of one scenario.

    Attributes
    ----------
    rates : name of a measure → Rate, without those that no study counts
    refused : int, studies that the analysis refused; they are not counted
    """

    scenario: Scenario
    truth: Truth
    strata: int
    rates: dict[str, Rate]
    refused: int


def calibrate(
    scenarios: list[Scenario],
    studies: int,
    seed: int,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[Calibrated]:
    """Rates of several scenarios; threads change nothing.

    Raises
    ------
    InputError
        Fewer than two studies, more than a million, or a seed out of range.
    """
    for name, value, low, high in (
        ("studies", studies, 2, MAX_STUDIES),
        ("seed", seed, 0, MAX_SEED),
    ):
        if not low <= value <= high:
            raise InputError(f"--{name} {shown(value, 30)} is outside {low} to {high}")
    total = studies * len(scenarios)
    told = None if progress is None else lambda done: progress("studies", done, total)
    pieces = even_ranges(studies, threads or default_threads(), _BLOCK, multiple=1)
    found = []
    for scenario in scenarios:
        population = populate(scenario)

        def task(start: int, stop: int, of: Population = population) -> NDArray[np.float64]:
            return np.array([_counted(of, seed, number) for number in range(start, stop)])

        rows = np.concatenate(map_ranges(task, pieces, threads or default_threads(), None, told))
        found.append(_calibrated(population, rows))
    return found


def source_of(scenario: Scenario, seed: int, number: int) -> np.random.Generator:
    """Random numbers of one study: other scenarios and studies do not enter."""
    word = crc32(scenario.name.encode()) << 32 | number
    # Stated as unsigned: NumPy would make floats of what does not fit int64.
    return np.random.Generator(np.random.Philox(key=np.array([seed, word], np.uint64)))


def _counted(population: Population, seed: int, number: int) -> NDArray[np.float64]:
    """Counts of one study; all NaN where it is refused."""
    source = source_of(population.scenario, seed, number)
    plan = Plan(DRAWS, population.scenario.flips, int(source.integers(MAX_SEED + 1)), ALPHA)
    matrix = population.study(source)
    refused = np.full(len(MEASURES), np.nan)
    if matrix is None:
        return refused
    try:
        return counts(infer(matrix, plan, threads=1), population.truth)
    except InputError:  # nothing varies, or a stratum is too thin
        return refused


def _calibrated(population: Population, rows: NDArray[np.float64]) -> Calibrated:
    rates = {}
    for measure, column in zip(MEASURES, rows.T, strict=True):
        values = column[~np.isnan(column)]
        if values.size > 1:
            rates[measure.name] = Rate.of(values)
    refused = int(np.isnan(rows).all(axis=1).sum())
    scenario, strata = population.scenario, len(population.pool.strata)
    return Calibrated(scenario, population.truth, strata, rates, refused)

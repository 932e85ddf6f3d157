"""Power as a function of one quantity, from simulated studies, with its Monte Carlo error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

_NORMAL = NormalDist()
_STEPS, _SETTLED = 60, 1e-9
#: Linear predictors beyond this give a power of 0 or 1 to six digits.
_FAR = 5.0


@dataclass(frozen=True, slots=True)
class Power:
    """Pairs resolved in N simulated studies, at K values of a quantity.

    Pairs of a study share its scores, so that studies, not pairs, are what counts in errors.

    Attributes
    ----------
    at : float64 [K], ascending
    pairs, resolved : int64 [N, K]
    """

    at: NDArray[np.float64]
    pairs: NDArray[np.int64]
    resolved: NDArray[np.int64]

    @classmethod
    def joined(cls, parts: Sequence[Power]) -> Power:
        """Curves over different values, of different studies, as one."""
        at = np.concatenate([part.at for part in parts])
        shape = (sum(len(part.pairs) for part in parts), at.size)
        pairs, resolved = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        row = column = 0
        for part in parts:
            here = np.s_[row : row + len(part.pairs), column : column + part.at.size]
            pairs[here], resolved[here] = part.pairs, part.resolved
            row, column = here[0].stop, here[1].stop
        order = np.argsort(at)
        return cls(at[order], pairs[:, order], resolved[:, order])

    def shares(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Power at each value, and its standard error: float64 [K] each.

        Where all studies agree the error is that of a share half a study away.
        """
        total = self.pairs.sum(axis=0)
        studies = (self.pairs > 0).sum(axis=0)
        share = self.resolved.sum(axis=0) / total
        left = self.resolved - share * self.pairs
        spread = (left**2).sum(axis=0) * studies / np.maximum(studies - 1, 1)
        least = 0.5 / (studies + 1)
        agreed = np.sqrt(least * (1 - least) / studies)
        return share, np.where(spread > 0, np.sqrt(spread) / total, agreed)

    def needed(self, power: float) -> tuple[float, float] | None:
        """The value at which a power is reached, and its standard error, or None.

        A probit line is fitted to all pairs; the error is a delta method on its sandwich
        covariance over studies (Liang & Zeger 1986, Biometrika 73:13). None where no rising
        line fits: the power is 0, or jumps, at the values there are.
        """
        fitted = self._fit()
        if fitted is None or fitted[0][1] <= 0:
            return None
        (start, slope), covariance = fitted
        at = (_NORMAL.inv_cdf(power) - start) / slope
        gradient = np.array([-1.0, -at]) / slope
        return float(at), math.sqrt(float(gradient @ covariance @ gradient))

    def bracket(self, power: float) -> tuple[float, float] | None:
        """The smallest value from which on the power is reached, and the step before it, or None.

        For curves that jump from none to all between two values, to which no line can be fitted.
        """
        short = np.flatnonzero(self.shares()[0] < power)
        first = int(short[-1]) + 1 if short.size else 0
        if first == self.at.size:
            return None
        return float(self.at[first]), float(self.at[first] - (self.at[first - 1] if first else 0))

    def _fit(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Intercept and slope by Fisher scoring, and their covariance [2, 2]."""
        total, hits = self.pairs.sum(axis=0), self.resolved.sum(axis=0)
        x = np.stack([np.ones_like(self.at), self.at / self.at[-1]])
        line = np.zeros(2)
        for _ in range(_STEPS):
            mean, score = _probit(line @ x)
            bread = (x * (total * score**2 * mean * (1 - mean))) @ x.T
            if np.linalg.cond(bread) > 1e12:
                return None
            step = np.linalg.solve(bread, x @ (score * (hits - total * mean)))
            line = line + step * min(1.0, 3.0 / float(np.abs(step).max()))
            if np.abs(step).max() < _SETTLED:
                break
        else:
            return None
        each = (self.resolved - self.pairs * mean) @ (x * score).T
        inverse = np.linalg.inv(bread)
        scale = np.array([1.0, self.at[-1]])
        return line / scale, inverse @ (each.T @ each) @ inverse / np.outer(scale, scale)


def _probit(line: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """``Φ(line)``, and the derivative over ``Φ (1 - Φ)``."""
    near = np.clip(line, -_FAR, _FAR)
    mean = np.array([_NORMAL.cdf(value) for value in near])
    slope = np.exp(-(near**2) / 2) / math.sqrt(2 * math.pi)
    return mean, slope / (mean * (1 - mean))

"""The plan of an analysis: everything that has to be fixed before a number is computed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flavourbench.errors import InputError, shown

DEFAULT_SEED = 20260811
MAX_SEED = 2**53 - 1  # fbcore's limit; named here, since the command line loads no kernels
MAX_DRAWS = 10_000_000
MAX_FLIPS = 1_000_000_000
#: Memory that the bootstrap draws of all models may take.
MAX_DRAW_BYTES = 8 * 2**30


@dataclass(frozen=True, slots=True)
class Plan:
    """Resampling sizes, seed and level.

    Attributes
    ----------
    draws : int, bootstrap draws B, 2 … 10 million
    flips : int, sign flips, 1 … 1 billion
    seed : int, 0 … 2**53 - 1
    alpha : float, 0 < α < 1

    Raises
    ------
    InputError
        A value outside its range.
    """

    draws: int = 50_000
    flips: int = 100_000
    seed: int = DEFAULT_SEED
    alpha: float = 0.05

    def __post_init__(self) -> None:
        for name, low, high in (
            ("draws", 2, MAX_DRAWS),
            ("flips", 1, MAX_FLIPS),
            ("seed", 0, MAX_SEED),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise InputError(f"--{name} {shown(value, 30)} is outside {low} to {high}")
        if not (math.isfinite(self.alpha) and 0 < self.alpha < 1):
            raise InputError(f"--alpha {self.alpha} is not between 0 and 1")

    def check_size(self, models: int) -> None:
        """Refuse draws that would not fit into memory.

        Raises
        ------
        InputError
            ``models * draws`` float64 values take more than 8 GiB.
        """
        need = models * self.draws * 8
        if need > MAX_DRAW_BYTES:
            most = MAX_DRAW_BYTES // (8 * models)
            raise InputError(
                f"{self.draws} draws of {models} models take {need / 2**30:.0f} GiB:"
                f" use at most {most} draws"
            )

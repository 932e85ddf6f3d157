"""Runs every public function of fbcore once and prints the bits of all results as JSON.

A script for ``test_jit.py``, which runs it in processes that compile in different ways. With
function names as arguments it runs only those. Also told: which of them called, whether
Numba was imported, whether compilation was announced, and the warnings.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from fbcore import (
    _jit,
    bootstrap,
    counter,
    differences,
    effects,
    letters,
    multiplicity,
    portfolios,
    quantiles,
    ranks,
    signflip,
    stepdown,
)
from fbcore import design as shapes

SEED = 2**40 + 12345
RNG = np.random.default_rng(1)
STRATUM = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2], np.int32)
CLUSTER = np.array([0, 1, 2, 3, 4, 0, 0, 5, 2, 1, 5], np.int32)
DESIGN = shapes.Design(STRATUM, CLUSTER)  # the last stratum is thin: some draws are repeated
SCORES = RNG.integers(-500, 10_001, (3, 11))
CHANCE = RNG.integers(0, 560_000, 11)
DRAWS = np.round(RNG.normal(50, 3, (3, 300)), 1)
LONG = np.round(RNG.normal(50, 3, (2, 8500)), 2)
COSINES = RNG.integers(-(2**52), 2**52, (5, 36))
LEFT, RIGHT = quantiles.pair_index(3)


def resampled() -> Any:
    found = bootstrap.bootstrap(SCORES, DESIGN, 2, 100, SEED, 2)
    return found.draws, found.redraws


def flipped() -> Any:
    weights = shapes.stratum_weights(DESIGN.sizes, 10_000)
    z = np.hstack([shapes.contributions(SCORES, DESIGN, weights)] * 6)
    chance = np.hstack([shapes.contributions(CHANCE[None], DESIGN, weights)[0]] * 6)
    found = signflip.sign_flips(z, 300, SEED, chance, 2)
    return found.pairs, found.chance, found.draws


def stepped_down() -> Any:
    chance = np.hstack([CHANCE] * 6)
    found = []
    for scale, flips in ((1, 300), (2**40, 300), (1, 2**11)):
        z = SCORES if flips > 300 else np.hstack([SCORES * scale] * 6)
        against = CHANCE if flips > 300 else chance
        part = stepdown.step_down(z, flips, SEED, against, 2)
        found += [part.p, part.directed_p, part.chance_p]
    return found


def compared() -> Any:
    wide = CHANCE[None].repeat(2, axis=0)
    observed = np.array([5, 700])
    return [
        signflip.exceedances(side, side, observed, observed, factor)
        for side in (wide.astype(np.int32), wide)
        for factor in (1, 56)
    ]


def valued() -> Any:
    feasible = np.arange(280).reshape(5, 56) % 3 > 0
    weights = np.full((5, 2), (13, 7))
    found = portfolios.portfolio_scores(COSINES[:, :8], COSINES[:, 8:], weights, feasible)
    return found.utility, found.span, found.bps


CALLS: dict[str, Callable[[], Any]] = {
    "bootstrap.bootstrap": resampled,
    "bootstrap.point_scores": lambda: bootstrap.point_scores(SCORES, DESIGN, 2),
    "bootstrap.stratum_means": lambda: bootstrap.stratum_means(SCORES, DESIGN),
    "bootstrap.means_over": lambda: bootstrap.means_over(DRAWS[:, :4], 100.0),
    "bootstrap.standard_errors": lambda: bootstrap.standard_errors(DRAWS, 2),
    "bootstrap.max_t": lambda: bootstrap.max_t(DRAWS, np.full(3, 50.0), np.array([3.0, 0, 2.5])),
    "counter.philox": lambda: counter.philox(np.arange(8, dtype=np.uint32).reshape(2, 4), (5, 6)),
    "counter.picks": lambda: counter.picks(SEED, 3, 8, 41),
    "counter.signs": lambda: counter.signs(SEED, 3, 8, 131),
    "counter.split_seed": lambda: counter.split_seed(SEED),
    "design.score_codes": lambda: shapes.score_codes(SCORES, DESIGN),
    "design.contributions": lambda: shapes.contributions(
        SCORES, DESIGN, shapes.stratum_weights(DESIGN.sizes, 10_000)
    ),
    "design.quantise": lambda: shapes.quantise(DRAWS).values,
    "design.stratum_weights": lambda: shapes.stratum_weights(DESIGN.sizes, 10_000).values,
    "design.sum_by": lambda: shapes.sum_by(SCORES, CLUSTER, 6),
    "differences.difference_errors": lambda: differences.difference_errors(DRAWS, LEFT, RIGHT, 2),
    "differences.difference_max_t": lambda: differences.difference_max_t(
        DRAWS, LEFT, RIGHT, np.array([0.5, 0, -0.5]), np.array([3.0, 0, 2.5])
    ),
    "letters.letters": lambda: letters.letters(np.arange(4), np.eye(4, k=2) + np.eye(4, k=-2) > 0),
    "effects.squares": lambda: effects.squares(SCORES * 2**40),
    "effects.squared_distances": lambda: effects.squared_distances(SCORES),
    "effects.cohen_dz": lambda: [effects.cohen_dz(SCORES), effects.cohen_dz(SCORES, LEFT[:1])],
    "effects.pearson": lambda: effects.pearson(DRAWS[0].tolist(), DRAWS[1].tolist()),
    "effects.spearman": lambda: effects.spearman(DRAWS[0].tolist(), DRAWS[1].tolist()),
    "multiplicity.flips_needed": lambda: multiplicity.flips_needed(351, 0.05, 534),
    "multiplicity.holm": lambda: multiplicity.holm(np.round(DRAWS[0] / 100, 2)),
    "multiplicity.smallest_p": lambda: multiplicity.smallest_p(99, 534, False),
    "portfolios.portfolio_scores": valued,
    "quantiles.intervals": lambda: [
        quantiles.intervals(DRAWS, LEFT, RIGHT, 0.1),
        quantiles.intervals(DRAWS, LEFT, np.full(3, -1), 0.1),
        quantiles.intervals(LONG, np.array([0, 1]), np.array([1, -1]), 0.05),
    ],
    "quantiles.pair_index": lambda: quantiles.pair_index(5),
    "quantiles.position": lambda: quantiles.position(300, 0.025),
    "quantiles.quantile": lambda: quantiles.quantile(DRAWS[0], 0.95),
    "ranks.competition_ranks": lambda: ranks.competition_ranks(np.array([5, 9, 9, 1])),
    "ranks.rank_sets": lambda: ranks.rank_sets(LEFT, RIGHT, 3),
    "ranks.rank_groups": lambda: ranks.rank_groups(np.arange(4), ~np.eye(4, dtype=bool)),
    "ranks.rank_intervals": lambda: ranks.rank_intervals(DRAWS, 0.1, 2),
    "signflip.enumerates": lambda: signflip.enumerates(10, 512),
    "signflip.exceedances": compared,
    "signflip.flip_sums": lambda: signflip.flip_sums(CHANCE[None], 300, SEED, 2),
    "signflip.p_values": lambda: signflip.p_values(np.array([0, 5]), 99, False),
    "signflip.sign_flips": flipped,
    "signflip.sign_vectors": lambda: signflip.sign_vectors(10, 512),
    "signflip.with_chance": lambda: signflip.with_chance(SCORES, CHANCE),
    "stepdown.step_down": stepped_down,
}


def digest(value: Any) -> str:
    """Type, shape and bytes of all arrays and numbers of a result, hashed."""
    if isinstance(value, (tuple, list)):
        text = "".join(digest(item) for item in value)
    elif isinstance(value, np.ndarray):
        text = f"{value.dtype.str}{value.shape}{np.ascontiguousarray(value).tobytes().hex()}"
    else:
        text = value.hex() if isinstance(value, float) else repr(value)
    return hashlib.sha256(text.encode()).hexdigest()


def main(names: list[str]) -> None:
    announced: list[bool] = []
    _jit.announce = lambda: announced.append(True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = {name: digest(CALLS[name]()) for name in names or CALLS}
    told = {
        "results": results,
        "numba": "numba" in sys.modules,
        "announced": bool(announced),
        "warnings": [str(warning.message) for warning in caught],
    }
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Every public function of fbcore against its plain twin, to the last bit.

One table, :data:`TWINS`, over many designs, :data:`CASES`. Bits are bytes of arrays: type,
shape and signed zeros count. What the twin itself is held against stands in
``test_plain.py``; oracles of the compiled side that share no code with the twin stand in
``test_kernel_oracles.py``.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from strategies import bits

import fbcore
from fbcore import (
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
from fbcore import design as designs
from fbcore.design import Design, Weights
from flavourbench.analysis.plain import bootstrap as plain_bootstrap
from flavourbench.analysis.plain import counter as plain_counter
from flavourbench.analysis.plain import decisions as plain_decisions
from flavourbench.analysis.plain import design as plain_design
from flavourbench.analysis.plain import portfolios as plain_portfolios
from flavourbench.analysis.plain import signflip as plain_signflip
from flavourbench.analysis.plain import stepdown as plain_stepdown

SEED = 2**40 + 12345  # both key words in use


@dataclass(frozen=True)
class Case:
    """One problem: int64 [M, T] scores on a design, and the sizes of the resampling."""

    name: str
    stratum: np.ndarray
    cluster: np.ndarray
    scores: np.ndarray
    chance: np.ndarray | None = None
    exponent: int = 2
    draws: int = 300
    flips: int = 300
    alpha: float = 0.05
    threads: int = 1

    @cached_property
    def design(self) -> Design:
        return Design(self.stratum.astype(np.int32), self.cluster.astype(np.int32))

    @cached_property
    def largest(self) -> int:
        top = int(np.abs(self.scores).max())
        return top if self.chance is None else max(top, -(-int(np.abs(self.chance).max()) // 56))

    @cached_property
    def plain_draws(self) -> tuple[np.ndarray, int]:
        return plain_bootstrap.bootstrap(
            self.scores, self.stratum, self.cluster, self.exponent, self.draws, SEED
        )

    @property
    def boot(self) -> np.ndarray:
        return self.plain_draws[0]

    @cached_property
    def points(self) -> np.ndarray:
        return plain_bootstrap.point_scores(self.scores, self.stratum, self.exponent)

    @cached_property
    def errors(self) -> np.ndarray:
        return plain_bootstrap.standard_errors(self.boot)

    @cached_property
    def weights(self) -> tuple[np.ndarray, int, int | None]:
        return plain_design.stratum_weights(np.bincount(self.stratum), self.largest)

    def sums(self, rows: np.ndarray) -> np.ndarray:
        return plain_design.contributions(rows, self.stratum, self.cluster, self.weights[0])

    @cached_property
    def z(self) -> np.ndarray:
        return self.sums(self.scores)

    @cached_property
    def chance_z(self) -> np.ndarray | None:
        return None if self.chance is None else self.sums(self.chance[np.newaxis])[0]

    @cached_property
    def flipped(self) -> tuple[np.ndarray, np.ndarray | None, int, bool]:
        return plain_signflip.sign_flips(self.z, self.flips, SEED, self.chance_z)

    @property
    def some(self) -> np.ndarray:
        """Rows of some models: the last and one of the middle."""
        return np.unique([len(self.scores) - 1, len(self.scores) // 2])

    @cached_property
    def rows(self) -> np.ndarray:
        """Contributions of some models, and to the chance level."""
        chance = self.chance_z
        return self.z[self.some] if chance is None else np.vstack([self.z[self.some], chance])

    @cached_property
    def flip_sums(self) -> np.ndarray:
        return plain_signflip.flip_sums(self.rows, self.flips, SEED)

    @cached_property
    def sides(self) -> tuple[np.ndarray, ...]:
        """Sums of models, in a type of their own, beside those with the chance row."""
        models = self.some.size
        left = plain_signflip.flip_sums(self.z[self.some], self.flips, SEED)
        observed = self.rows.sum(axis=1)
        return left, self.flip_sums, observed[:models], observed

    @cached_property
    def p(self) -> np.ndarray:
        counts, _, draws, exact = self.flipped
        return plain_signflip.p_values(counts, draws, exact)

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        return np.triu_indices(len(self.scores), 1)

    @property
    def point_differences(self) -> np.ndarray:
        left, right = self.pairs
        return self.points[left] - self.points[right]

    @cached_property
    def difference_errors(self) -> np.ndarray:
        return plain_bootstrap.difference_errors(self.boot)

    @property
    def directions(self) -> tuple[np.ndarray, np.ndarray]:
        """The better and the worse model of some pairs."""
        left, right = self.pairs
        some = self.p <= np.quantile(self.p, 0.4) if self.p.size else np.zeros(0, bool)
        ahead = self.point_differences >= 0
        return np.where(ahead, left, right)[some], np.where(ahead, right, left)[some]

    @property
    def varying(self) -> np.ndarray:
        return self.errors > 0

    @cached_property
    def hypotheses(self) -> int:
        return max(1, len(self.p))

    @cached_property
    def order_and_resolved(self) -> tuple[np.ndarray, np.ndarray]:
        """Models by falling score, and decisions at a level at which some pairs differ."""
        models = len(self.scores)
        resolved = np.zeros((models, models), np.bool_)
        if models > 1:
            resolved[np.triu_indices(models, 1)] = self.p <= np.quantile(self.p, 0.4)
        return np.argsort(-self.z.sum(axis=1), kind="stable"), resolved | resolved.T


# --- designs -------------------------------------------------------------------------------


def make(
    name: str,
    models: int,
    tasks: int,
    strata: int,
    clusters: int,
    *,
    low: int = 0,
    high: int = 10_001,
    with_chance: bool = False,
    **sizes: Any,
) -> Case:
    """Random scores on unequal strata and shared clusters, none of them thin."""
    rng = np.random.default_rng(len(name) + tasks)
    extra = tasks - strata
    stratum = np.concatenate([np.arange(strata), rng.integers(0, strata, extra)])
    cluster = np.arange(tasks) % clusters
    rng.shuffle(cluster)
    chance = rng.integers(0, 56 * high, tasks) if with_chance else None
    scores = rng.integers(low, high, (models, tasks))
    return Case(name, stratum, cluster, scores, chance, **sizes)


def released() -> Case:
    rng = np.random.default_rng(0)
    stratum, cluster = np.repeat(np.arange(6), 89), rng.permutation(534)
    chance = rng.integers(0, 560_000, 534)
    scores = rng.integers(0, 10_001, (27, 534))
    return Case("released", stratum, cluster, scores, chance, draws=601, threads=2)


def thin() -> Case:
    """Three strata of which the last is in two clusters of six: redraws are common."""
    stratum = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2])
    cluster = np.array([0, 1, 2, 3, 4, 0, 0, 5, 2, 1, 5])
    scores = np.random.default_rng(1).integers(-500, 10_001, (4, 11))
    return Case("thin", stratum, cluster, scores, draws=700, threads=3)


def permutations_only() -> Case:
    """Five strata of one cluster each: only 120 of 3125 draws are complete."""
    five = np.arange(5)
    scores = np.random.default_rng(2).integers(0, 100, (2, 5))
    return Case("permutations-only", five, five[::-1].copy(), scores, draws=65, threads=2)


def power_weights() -> Case:
    """Eight prime strata: the least common multiple is far beyond the bound."""
    sizes = [101, 103, 107, 109, 113, 127, 131, 137]
    rng = np.random.default_rng(3)
    stratum = np.repeat(np.arange(8), sizes)
    cluster = rng.permutation(np.arange(sum(sizes)) % 100)
    scores = rng.integers(-(10**9), 10**9, (3, sum(sizes)))
    chance = rng.integers(0, 56 * 10**9, sum(sizes))
    return Case("power-weights", stratum, cluster, scores, chance, exponent=6)


def at_the_bound() -> Case:
    """Scores as large as exact sums allow: Σ|z| of the chance row reaches 2**61."""
    rng = np.random.default_rng(4)
    largest = 2**61 // 56 // 40
    scores = rng.choice([-largest, 0, 1, largest], (4, 40))
    scores[0] = largest
    chance = 56 * rng.choice([0, largest], 40)
    chance[:] = np.where(rng.random(40) < 0.5, chance, 56 * largest)
    return Case(
        "at-the-bound", np.repeat([0, 1], 20), np.arange(40), scores, chance, exponent=0, flips=500
    )


def at_chance() -> Case:
    """Models that are at chance on every task stand between models that are not."""
    rng = np.random.default_rng(5)
    levels = rng.integers(0, 101, 40)
    scores = rng.integers(0, 101, (5, 40))
    scores[[0, 3]] = levels
    clusters = np.arange(40) % 25
    return Case("at-chance", np.arange(40) % 2, clusters, scores, 56 * levels, exponent=0)


def edge_of_a_type(power: int, below: int) -> Case:
    """Sums over 16 clusters that just fit a type of ``power`` bits, or just do not.

    Kernels take the narrowest type that holds all sums exactly.
    """
    rng = np.random.default_rng(power)
    top = 2**power // 16 - below
    near = top - rng.integers(0, 4, 16)
    mixed = rng.choice([-top, 1 - top, 0, top - 1, top], 16)
    # Opposite rows: their difference is twice the largest sum.
    scores = np.stack([np.full(16, top), near, mixed, -near, np.full(16, -top)])
    name = f"below-2**{power}" if below else f"at-2**{power}"
    return Case(name, np.zeros(16, int), rng.permutation(16), scores, exponent=0)


def edge_of_the_chance_row(power: int, below: int) -> Case:
    """The same where it is the chance row that decides, the scores being small beside it."""
    chance = np.full(16, 2**power // 16 - below)
    scores = np.random.default_rng(power).integers(-2, 3, (3, 16))
    name = f"chance-{'below' if below else 'at'}-2**{power}"
    return Case(name, np.zeros(16, int), np.arange(16), scores, chance, exponent=0)


def against_chance(power: int, below: int) -> Case:
    """The same where scores and chance decide alike, and one row is their opposite."""
    case = edge_of_the_chance_row(power, below)
    scores = np.full((3, 16), case.chance[0] // 56) - np.arange(16) % 3
    scores[2] *= -1
    name = f"against-{case.name}"
    return Case(name, case.stratum, case.cluster, scores, case.chance, exponent=0)


def near_chance() -> Case:
    """Scores that differ from chance by little, so that 56 T and K nearly cancel."""
    case = make("near-chance", 4, 60, 3, 20, high=40)
    chance = 56 * case.scores[0] + np.random.default_rng(5).integers(-1, 2, 60)
    return Case(case.name, case.stratum, case.cluster, case.scores, chance, flips=2000)


CASES = [
    released(),
    thin(),
    permutations_only(),
    power_weights(),
    at_chance(),
    at_the_bound(),
    near_chance(),
    # Sums of 30 bits that 56 takes beyond 32.
    replace(edge_of_a_type(29, 0), name="small-chance", chance=np.arange(16)),
    *(edge_of_a_type(p, below) for p in (15, 16, 24, 25, 30, 31, 32, 53, 54) for below in (1, 0)),
    *(edge_of_the_chance_row(p, below) for p in (24, 30, 31, 32, 53) for below in (1, 0)),
    *(against_chance(p, below) for p in (24, 30, 31, 53) for below in (1, 0)),
    make("unequal-shared", 5, 40, 3, 30, with_chance=True, draws=1000, flips=2000, threads=2),
    make("ties", 6, 60, 4, 30, low=-2, high=3, with_chance=True, draws=1025, flips=1000),
    make("zero-one", 5, 48, 2, 16, high=2, draws=513, flips=1000, alpha=0.5),
    make("wide", 4, 60, 4, 20, high=2**41, low=-(2**41), exponent=6, with_chance=True, threads=2),
    make("million", 4, 60, 4, 20, high=10**12, exponent=6, alpha=0.001),
    make("one-model", 1, 30, 2, 15, with_chance=True),
    make("one-stratum", 2, 30, 1, 30, alpha=0.9),
    make("models-32", 32, 60, 3, 40, draws=257),
    make("models-33", 33, 60, 3, 40, draws=257, with_chance=True, threads=2),
    make("models-65", 65, 50, 2, 40, draws=255),
    make("clusters-128", 3, 300, 3, 128),
    make("clusters-129", 3, 300, 3, 129, with_chance=True),
    make("clusters-513", 3, 600, 3, 513, flips=257),
    make("clusters-1030", 2, 1030, 3, 1030, flips=100),
    # More clusters than 16 bits count.
    make("clusters-66000", 2, 66_000, 2, 66_000, draws=33, flips=33),
    *(
        make(f"draws-{b}", 3, 40, 2, 20, draws=b)
        for b in (2, 3, 31, 255, 256, 2049, 4100, 8193, 9300)
    ),
    *(make(f"flips-{b}", 3, 40, 2, 20, flips=b) for b in (1, 31, 255, 257, 8193, 20_001)),
    *(
        make(f"enumerated-{c}", 4, 3 * c, 1 + (c > 6), c, flips=2048, with_chance=c % 2 == 0)
        for c in range(1, 13)
    ),
    # The last B that is drawn, and the first that is enumerated.
    make("before-enumeration", 3, 30, 1, 11, flips=1023),
    make("at-enumeration", 3, 30, 1, 11, flips=1024),
]

# --- the table -----------------------------------------------------------------------------

Side = Callable[[Case], Any]
LEVELS = (0.001, 0.05, 0.3, 0.5, 0.95)


def fast_bootstrap(case: Case) -> Any:
    found = bootstrap.bootstrap(
        case.scores, case.design, case.exponent, case.draws, SEED, case.threads
    )
    return found.draws, found.redraws


def fast_flips(case: Case) -> Any:
    found = signflip.sign_flips(case.z, case.flips, SEED, case.chance_z, case.threads)
    return found.pairs, found.chance, found.draws, found.exact


def fast_max_t(case: Case) -> Any:
    values = bootstrap.max_t(case.boot, case.points, case.errors, case.threads)
    criticals = [quantiles.quantile(values, 1 - level) for level in LEVELS]
    return values[:40].tolist(), criticals if case.varying.any() else []


def plain_max_t(case: Case) -> Any:
    if not case.varying.any():
        return [0.0] * min(40, case.draws), []
    rest = (case.points, case.errors, case.varying)
    single = [
        plain_bootstrap.max_t_critical(case.boot[:, b : b + 1], *rest, 0.5)
        for b in range(min(40, case.draws))
    ]
    return single, [plain_bootstrap.max_t_critical(case.boot, *rest, level) for level in LEVELS]


def fast_intervals(case: Case) -> Any:
    models = np.arange(len(case.scores))
    pairs = quantiles.pair_index(models.size)
    return (
        quantiles.intervals(case.boot, *pairs, case.alpha, case.threads),
        quantiles.intervals(case.boot, models, np.full_like(models, -1), case.alpha),
    )


def plain_intervals(case: Case) -> Any:
    ends = (case.alpha / 2, 1 - case.alpha / 2)
    rows = np.stack([plain_bootstrap.quantile(case.boot, end) for end in ends], axis=1)
    return plain_bootstrap.pair_intervals(case.boot, case.alpha), rows


def plain_stratum_means(case: Case) -> np.ndarray:
    """The point score of a design of that stratum alone."""
    columns = []
    for s in range(case.design.strata):
        part = case.scores[:, case.stratum == s]
        columns.append(plain_bootstrap.point_scores(part, np.zeros(part.shape[1], int), 0))
    return np.stack(columns, axis=1)


def panel_columns(case: Case) -> tuple[list[float], list[float]]:
    """Two columns to correlate, the second one coarse, so that it has ties."""
    return case.points.tolist(), np.round(case.boot[:, 0], -1).tolist()


def plain_twin_quantised(case: Case) -> Any:
    values, exponent, error = plain_design.quantise(case.scores / 10.0**case.exponent)
    return values, exponent, error


def fast_quantised(case: Case) -> Any:
    found = designs.quantise(case.scores / 10.0**case.exponent)
    return found.values, found.exponent, found.largest_error


def fast_weights(case: Case) -> Any:
    found = designs.stratum_weights(case.design.sizes, case.largest)
    return found.values, found.scale, found.power


def portfolio_problem(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Twenty tasks: cosines, tiny integers full of ties and half points, the largest values.

    In some all portfolios are feasible, in some a few, one or none.
    """
    rng = np.random.default_rng(case.flips + len(case.name))
    scale = rng.choice([1, 3, 40, 10_000, 2**52], 20)
    weights = rng.choice([(4, 1), (13, 7), (7, 3), (3, 1), (0, 1), (1, 0)], 20)
    values = rng.integers(-scale, scale + 1, (36, 20)).T
    values[0], weights[0] = rng.choice([-1, 1], 36) * (2**59 // 3), (1, 2)
    values[1] = 7
    share = rng.choice([1, 0.5, 0.08, 0.02, 0], 20)
    feasible = rng.random((20, 56)) < share[:, None]
    return values[:, :8], values[:, 8:], weights, feasible


def fast_effects(case: Case) -> Any:
    return effects.cohen_dz(case.scores), effects.cohen_dz(case.scores, case.some)


def plain_effects(case: Case) -> Any:
    found = plain_decisions.cohen_dz(case.scores)
    left, right = np.triu_indices(len(case.scores), 1)
    return found, found[np.isin(left, case.some) | np.isin(right, case.some)]


def plain_squared_distances(case: Case) -> np.ndarray:
    rows = case.z.tolist()
    pairs = itertools.combinations(rows, 2)
    squares = [sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) for x, y in pairs]
    return np.array(squares, np.float64)


def fast_step_down(case: Case) -> Any:
    found = stepdown.step_down(case.z, case.flips, SEED, case.chance_z, case.threads)
    return found.p, found.directed_p, found.chance_p


def plain_step_down(case: Case) -> Any:
    return tuple(plain_stepdown.step_down(case.z, case.flips, SEED, case.chance_z))


def fast_difference_max_t(case: Case) -> Any:
    given = case.point_differences, case.difference_errors
    values = differences.difference_max_t(case.boot, *case.pairs, *given, case.threads)
    return [quantiles.quantile(values, 1 - level) for level in LEVELS]


def plain_difference_max_t(case: Case) -> Any:
    given = case.point_differences, case.difference_errors
    return [plain_bootstrap.difference_critical(case.boot, *given, level) for level in LEVELS]


def fast_portfolios(case: Case) -> Any:
    found = portfolios.portfolio_scores(*portfolio_problem(case))
    return found.utility, found.span, found.bps


def plain_twin_portfolios(case: Case) -> Any:
    return plain_portfolios.portfolio_scores(*portfolio_problem(case))


COUNTERS = np.array(
    [[0] * 4, [2**32 - 1] * 4, [5, 77, 65536 * 3 + 9, 1], [1, 2**32 - 1, 255, 2]], np.uint32
)
ATTEMPTS = np.array([0, 255, 1, 0, 7])

TWINS: dict[str, tuple[Side, Side]] = {
    "bootstrap.bootstrap": (fast_bootstrap, lambda c: c.plain_draws),
    "bootstrap.point_scores": (
        lambda c: bootstrap.point_scores(c.scores, c.design, c.exponent),
        lambda c: c.points,
    ),
    "bootstrap.stratum_means": (
        lambda c: bootstrap.stratum_means(c.scores, c.design),
        plain_stratum_means,
    ),
    "bootstrap.means_over": (
        lambda c: bootstrap.means_over(plain_stratum_means(c), 10.0**c.exponent),
        lambda c: c.points,
    ),
    "bootstrap.standard_errors": (
        lambda c: bootstrap.standard_errors(c.boot, c.threads),
        lambda c: c.errors,
    ),
    "bootstrap.max_t": (fast_max_t, plain_max_t),
    "differences.difference_errors": (
        lambda c: differences.difference_errors(c.boot, *c.pairs, c.threads),
        lambda c: c.difference_errors,
    ),
    "differences.difference_max_t": (fast_difference_max_t, plain_difference_max_t),
    "quantiles.intervals": (fast_intervals, plain_intervals),
    "quantiles.quantile": (
        lambda c: [quantiles.quantile(c.boot[0], level) for level in LEVELS],
        lambda c: [plain_bootstrap.quantile(c.boot[:1], level)[0] for level in LEVELS],
    ),
    "ranks.competition_ranks": (
        lambda c: ranks.competition_ranks(c.z.sum(axis=1)),
        lambda c: plain_decisions.ranks(c.z.sum(axis=1)),
    ),
    "ranks.rank_intervals": (
        lambda c: ranks.rank_intervals(c.boot, c.alpha, c.threads),
        lambda c: plain_bootstrap.rank_intervals(c.boot, c.alpha),
    ),
    "ranks.rank_sets": (
        lambda c: ranks.rank_sets(*c.directions, len(c.scores)),
        lambda c: plain_decisions.rank_sets(*c.directions, len(c.scores)),
    ),
    "letters.letters": (
        lambda c: letters.letters(*c.order_and_resolved),
        lambda c: plain_decisions.letters(*c.order_and_resolved),
    ),
    "ranks.rank_groups": (
        lambda c: ranks.rank_groups(*c.order_and_resolved),
        lambda c: plain_decisions.rank_groups(*c.order_and_resolved),
    ),
    "design.quantise": (fast_quantised, plain_twin_quantised),
    "design.stratum_weights": (fast_weights, lambda c: c.weights),
    "design.score_codes": (
        lambda c: designs.score_codes(c.scores, c.design),
        lambda c: plain_design.score_codes(c.scores, c.stratum),
    ),
    "design.contributions": (
        lambda c: designs.contributions(c.scores, c.design, Weights(*c.weights)),
        lambda c: c.z,
    ),
    "design.sum_by": (
        lambda c: designs.sum_by(c.scores, c.cluster, c.design.clusters),
        lambda c: plain_design.contributions(
            c.scores, c.stratum, c.cluster, np.ones(c.design.strata, np.int64)
        ),
    ),
    "signflip.sign_flips": (fast_flips, lambda c: c.flipped),
    "signflip.flip_sums": (
        lambda c: signflip.flip_sums(c.rows, c.flips, SEED, c.threads),
        lambda c: c.flip_sums,
    ),
    "signflip.exceedances": (
        lambda c: [signflip.exceedances(*c.sides, factor, c.threads) for factor in (1, 56)],
        lambda c: [plain_signflip.exceedances(*c.sides, factor) for factor in (1, 56)],
    ),
    "stepdown.step_down": (fast_step_down, plain_step_down),
    "signflip.p_values": (
        lambda c: signflip.p_values(c.flipped[0], *c.flipped[2:]),
        lambda c: c.p,
    ),
    "multiplicity.holm": (
        lambda c: multiplicity.holm(c.p),
        lambda c: plain_decisions.holm(c.p),
    ),
    "multiplicity.smallest_p": (
        lambda c: multiplicity.smallest_p(c.flips, c.design.clusters, c.flipped[3]),
        lambda c: plain_design.smallest_p(c.flips, c.design.clusters, c.flipped[3]),
    ),
    "multiplicity.flips_needed": (
        lambda c: multiplicity.flips_needed(c.hypotheses, c.alpha, c.design.clusters),
        lambda c: plain_design.flips_needed(c.hypotheses, c.alpha, c.design.clusters),
    ),
    "effects.cohen_dz": (
        fast_effects,
        plain_effects,
    ),
    "effects.squares": (
        lambda c: effects.squares(c.z),
        lambda c: np.array([float(sum(x * x for x in row)) for row in c.z.tolist()]),
    ),
    "effects.squared_distances": (
        lambda c: effects.squared_distances(c.z),
        plain_squared_distances,
    ),
    "effects.pearson": (
        lambda c: effects.pearson(*panel_columns(c)),
        lambda c: plain_decisions.pearson(*panel_columns(c)),
    ),
    "effects.spearman": (
        lambda c: effects.spearman(*panel_columns(c)),
        lambda c: plain_decisions.spearman(*panel_columns(c)),
    ),
    "portfolios.portfolio_scores": (fast_portfolios, plain_twin_portfolios),
    "counter.philox": (
        lambda c: counter.philox(COUNTERS, (c.flips, 2**32 - 1)),
        lambda c: plain_counter.philox(COUNTERS, (c.flips, 2**32 - 1)),
    ),
    "counter.picks": (
        lambda c: counter.picks(SEED, 9, 14, c.design.clusters, ATTEMPTS),
        lambda c: plain_counter.picks(SEED, 9, 14, c.design.clusters, ATTEMPTS),
    ),
    "counter.signs": (
        lambda c: counter.signs(SEED, 9, 14, c.design.clusters),
        lambda c: plain_counter.signs(SEED, 9, 14, c.design.clusters),
    ),
}

#: Public functions that are no kernel and have no twin, and what tests them.
WITHOUT_TWIN = {
    "counter.split_seed": "every word of picks and signs, and the test of refused seeds",
    "signflip.enumerates": "whether sign flips report that they were exact",
    "signflip.with_chance": "every sign flip and step-down with chance levels",
    "signflip.sign_vectors": "what sign flips report",
    "quantiles.pair_index": "the order of pairs in intervals, sign flips and effects",
    "quantiles.position": "every quantile",
}
#: Modules without numbers of their own.
MACHINERY = {"_jit", "_objects", "blocks", "checks"}


def marked(case: Case) -> Any:
    """The case as a parameter; small ones also run where kernels are plain Python."""
    work = case.draws * int(case.cluster.max() + 1) * case.scores.shape[0]
    marks = [pytest.mark.plain_python] if work < 40_000 else []
    return pytest.param(case, id=case.name, marks=marks)


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_twins_agree_to_the_bit(case: Case, name: str) -> None:
    fast, plain = TWINS[name]
    assert bits(fast(case)) == bits(plain(case))


def public_functions() -> set[str]:
    """``module.function`` of every public function that fbcore defines."""
    found = set()
    for info in pkgutil.iter_modules(fbcore.__path__):
        if info.name in MACHINERY:
            continue
        module = importlib.import_module(f"fbcore.{info.name}")
        for name, value in vars(module).items():
            own = inspect.isfunction(value) and value.__module__ == module.__name__
            if own and not name.startswith("_"):
                found.add(f"{info.name}.{name}")
    return found


def test_every_public_function_has_a_twin() -> None:
    assert set(TWINS) | set(WITHOUT_TWIN) == public_functions()
    assert not set(TWINS) & set(WITHOUT_TWIN)


def rejections(draws: int, clusters: int) -> int:
    """Picks of the first attempts that multiply-and-reject rejects."""
    rows = np.zeros((draws, clusters // 4, 4), np.uint32)
    rows[:, :, 0], rows[:, :, 3] = np.arange(clusters // 4), plain_counter.BOOTSTRAP
    rows[:, :, 1] = np.arange(draws)[:, np.newaxis]
    words = plain_counter.philox(rows.reshape(-1, 4), (SEED % 2**32, SEED // 2**32))
    low = words.astype(np.uint64) * np.uint64(clusters) % np.uint64(2**32)
    return int((low < 2**32 % clusters).sum())


def test_cases_reach_what_they_are_for() -> None:
    case = {case.name: case for case in CASES}
    assert case["thin"].plain_draws[1] > 50
    assert case["permutations-only"].plain_draws[1] > 20 * 65
    assert case["power-weights"].weights[2] is not None
    assert case["unequal-shared"].weights[2] is None
    assert len(set(case["unequal-shared"].design.sizes.tolist())) == 3
    for name, c in case.items():
        if name.startswith("enumerated"):
            assert c.flipped[2:] == (2 ** (c.design.clusters - 1), True)
    assert case["before-enumeration"].flipped[2:] == (1023, False)
    assert case["at-enumeration"].flipped[2:] == (1024, True)
    top = case["at-the-bound"]
    assert 2**61 * 0.99 < 56 * int(np.abs(top.z[0]).sum()) <= 2**61
    assert 2**61 * 0.5 < int(np.abs(top.chance_z).sum()) <= 2**61
    many = case["clusters-66000"]
    assert rejections(many.draws, 66_000) > 0
    assert (case["enumerated-1"].boot == case["enumerated-1"].boot[:, :1]).all()


# --- what the cases cannot reach -----------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("clusters", "draws"), [(30, 3), (6, 300)])
def test_draws_that_fail_all_attempts_are_an_error(clusters: int, draws: int, threads: int) -> None:
    """Every stratum in one cluster: a draw has to be a permutation.

    Of 30 clusters none ever is (30! / 30**30 is 1e-12); of 6 each attempt succeeds with 1.5 %,
    and 256 attempts fail in one draw of 50, so that most draws of that run succeed.
    """
    index = np.arange(clusters)
    scores = np.ones((2, clusters), np.int64)
    design = Design(index.astype(np.int32), index.astype(np.int32))
    with pytest.raises(ArithmeticError, match="left a stratum empty"):
        bootstrap.bootstrap(scores, design, 0, draws, SEED, threads)
    with pytest.raises(RuntimeError, match="left a stratum empty 256 times"):
        plain_bootstrap.bootstrap(scores, index, index, 0, draws, SEED)


def test_the_last_attempt_counts() -> None:
    """The first draw of this seed is complete at attempt 255, and not before."""
    seed, seven = 2156, np.arange(7)
    scores = np.random.default_rng(1).integers(0, 100, (2, 7))
    design = Design(seven.astype(np.int32), seven.astype(np.int32))
    found = bootstrap.bootstrap(scores, design, 0, 1, seed)
    assert found.redraws == 255
    expected = plain_bootstrap.bootstrap(scores, seven, seven, 0, 1, seed)
    assert bits((found.draws, found.redraws)) == bits(expected)


def test_empty_probabilities_are_the_twins() -> None:
    """Not to the bit: NumPy's power of an array may differ from the C library's in the last."""
    for case in CASES:
        total, terms = plain_design.thin_strata(case.stratum, case.cluster)
        found = case.design.empty_probabilities()
        np.testing.assert_allclose(found, terms, rtol=1e-13, atol=1e-300)
        assert found.sum() == pytest.approx(total, rel=1e-13, abs=1e-300)


#: A generator of two words: three picks in four take cluster 0, one takes another cluster.
CRAFTED_PICKS = """
import sys
import numpy as np
from fbcore import bootstrap, counter, design

def crafted(c0, c1, c2, c3, k0, k1):
    return np.uint64(7), np.uint64(7), np.uint64(7), np.uint64(8388617)

counter.philox_word4.function = crafted
clusters, other = map(int, sys.argv[1:])
picked = counter.picks(1, 0, 1, clusters)[0]
assert np.bincount(picked)[[0, other]].tolist() == [clusters * 3 // 4, clusters // 4]
scores = np.full((1, clusters), 9_999)
scores[0, 0], scores[0, other] = 100, 20
shape = design.Design(np.zeros(clusters, np.int32), np.arange(clusters, dtype=np.int32))
print(bootstrap.bootstrap(scores, shape, 0, 2, 1).draws.tolist())
"""


@pytest.mark.parametrize(
    ("clusters", "other", "route"),
    [(512, 1, {"NUMBA_DISABLE_JIT": "1"}), (100_000, 195, {"FBCORE_JIT": "dispatch"})],
    ids=["beyond-8-bits", "beyond-16-bits"],
)
def test_multiplicities_do_not_wrap(clusters: int, other: int, route: dict[str, str]) -> None:
    """A cluster drawn 384 and 75,000 times counts so often.

    No seed gives that (300 picks of 300 clusters meet one cluster about six times), so the
    random words are replaced, in a process of its own that stores no kernel. A counter of
    8 or 16 bits would hold 128 or 9,464 and move the mean of 100 and 20 from 80.
    """
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "FBCORE"))}
    path = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CRAFTED_PICKS, str(clusters), str(other)],
        env={**inherited, "PYTHONPATH": path, **route},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[[80.0, 80.0]]\n"


def hard_rows(size: int) -> dict[str, np.ndarray]:
    """Rows that a sample of them misjudges, or in which most values tie."""
    rng = np.random.default_rng(size)
    normal = rng.normal(50, 1, size)
    rows = {
        "normal": normal,
        "other": rng.normal(49, 2, size),
        "constant": np.full(size, 0.1),
        "coarse": np.round(normal),
        "two values, rare": np.where(rng.random(size) < 0.001, 1.0, 0.0),
        "two values, at the quantile": np.where(rng.random(size) < 0.025, -1.0, 0.0),
        "two values, even": np.where(rng.random(size) < 0.5, 1.0, 0.0),
        "heavy tail": np.exp(np.abs(rng.standard_cauchy(size)).clip(max=300)),
        "both tails": rng.standard_cauchy(size) ** 3,
        "rising": np.arange(size, dtype=float),
        "falling": -np.arange(size, dtype=float) / 7,
        "one far out": np.where(np.arange(size) == size - 1, 1e18, normal),
        "signed zeros": np.where(rng.random(size) < 0.5, 0.0, -0.0),
        "tiny": normal * 1e-310,
    }
    for share in (256, 1024, 4096):
        # A sample of every n-th value, or of the first n, that sees one end only, or a middle
        # without tails.
        step = max(1, size // share)
        for name, value in (("high", 1e6), ("low", -1e6), ("middle", 50.0)):
            every, first = rng.normal(50, 20, (2, size))
            every[::step] = value
            first[:share] = value
            rows[f"every {step}. {name}"] = every
            rows[f"first {share} {name}"] = first
    rows["first half narrow"] = np.where(
        np.arange(size) < size // 2, 50 + (normal - 50) / 9, normal
    )
    return rows


@pytest.mark.parametrize("size", [1, 2, 3, 255, 257, 2049, 8191, 8193, 9300, 50_000])
def test_intervals_of_hard_rows(size: int) -> None:
    rows = hard_rows(size)
    draws = np.array(list(rows.values()))
    left, right = quantiles.pair_index(len(draws))
    if size > 300:  # two rows against all others are enough there
        left, right = left[: 2 * len(draws) - 3], right[: 2 * len(draws) - 3]
    differences = draws[left] - draws[right]
    alone = np.arange(len(draws))
    for alpha in (0.05, 0.001, 0.5, 0.95) if size < 9000 else (0.05, 0.2):
        ends = [alpha / 2, 1 - alpha / 2]
        pairs = quantiles.intervals(draws, left, right, alpha, 2)
        single = quantiles.intervals(draws, alone, np.full_like(alone, -1), alpha)
        # Equality of values: which zero of two signs a selection meets is not defined.
        for name, found, expected in zip(
            rows, single, np.quantile(draws, ends, axis=1).T, strict=True
        ):
            assert found.tolist() == expected.tolist(), (name, alpha)
        assert np.array_equal(pairs, np.quantile(differences, ends, axis=1).T)
        if size < 300:
            plain = [plain_bootstrap.quantile(differences, end) for end in ends]
            assert np.array_equal(pairs, np.stack(plain, axis=1))


@pytest.mark.parametrize("size", [2, 3, 255, 256, 257, 511, 513, 2049])
def test_reductions_of_hard_rows(size: int) -> None:
    rows = hard_rows(size)
    del rows["heavy tail"], rows["both tails"]  # their squares overflow
    draws = np.array(list(rows.values()))
    errors = plain_bootstrap.standard_errors(draws)
    assert bits(bootstrap.standard_errors(draws, 2)) == bits(errors)
    points = draws[:, 0].copy()
    expected = [
        max(
            abs(value - point) / error
            for value, point, error in zip(column, points, errors, strict=True)
            if error > 0
        )
        for column in draws.T
    ]
    assert bootstrap.max_t(draws, points, errors).tolist() == expected


@pytest.mark.parametrize("models", [1, 2, 17])
@pytest.mark.parametrize("size", [1, 63, 64, 65, 257, 2049])
def test_rank_intervals_with_ties(models: int, size: int) -> None:
    draws = np.random.default_rng(size).integers(0, 4, (models, size)) / 2
    for alpha in (0.05, 0.3, 1.0 - 1e-9):
        found = ranks.rank_intervals(draws, alpha, 2)
        assert bits(found) == bits(plain_bootstrap.rank_intervals(draws, alpha))


@pytest.mark.parametrize("top", [1, 2**15, 2**16, 2**31, 2**32, 2**47, 2**52, 2**61])
def test_effect_sizes_are_exact_at_any_size(top: int) -> None:
    """Around powers of two of the limbs that the exact products are cut into."""
    edge = [-top, -top + 1, -1, 0, 1, top - 1, top]
    scores = np.random.default_rng(6).choice(edge, (5, 40))
    if top == 2**61:
        scores //= 40  # sums of 40 tasks fit 64 bits
    scores[4] = scores[0] + 1
    found = effects.cohen_dz(scores)
    assert bits(found) == bits(plain_decisions.cohen_dz(scores))
    assert np.isnan(found[3])


def test_groups_of_arbitrary_decisions() -> None:
    rng = np.random.default_rng(7)
    for models, share in itertools.product((1, 2, 5, 12), (0.0, 0.2, 0.6, 1.0)):
        resolved = np.triu(rng.random((models, models)) < share, 1)
        resolved |= resolved.T
        order = rng.permutation(models)
        expected = plain_decisions.rank_groups(order, resolved)
        assert bits(ranks.rank_groups(order, resolved)) == bits(expected)


def test_holm_of_tied_and_extreme_p() -> None:
    rng = np.random.default_rng(8)
    for p in ([], [0.0], [1.0] * 3, rng.random(351) ** 5, rng.integers(0, 5, 351) / 1e4):
        values = np.array(p, np.float64)
        assert bits(multiplicity.holm(values)) == bits(plain_decisions.holm(values))


@pytest.mark.parametrize("largest", [1, 10**4, 10**9, 2**53 // 1000])
def test_weights_of_many_designs(largest: int) -> None:
    rng = np.random.default_rng(9)
    for strata in (1, 2, 6, 30):
        for _ in range(20):
            sizes = rng.integers(1, 300, strata)
            try:
                expected = plain_design.stratum_weights(sizes, largest)
            except ValueError:
                with pytest.raises(ValueError, match="too large"):
                    designs.stratum_weights(sizes, largest)
                continue
            found = designs.stratum_weights(sizes, largest)
            assert bits((found.values, found.scale, found.power)) == bits(expected)

"""What property tests draw from: designs, score tables, and what they do with them.

One place, so that every law meets the same shapes: one stratum or several, of unequal
size, clusters that span strata, scores full of ties or of 10^6, names in any script.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from flavourbench.analysis.matrix import ScoreMatrix, Stratum, build_matrix
from flavourbench.analysis.plan import Plan

Ints = NDArray[np.int64]


def few(examples: int) -> settings:
    """Settings of one test: the same examples in every run, no files, no clock.

    The first example may compile kernels, which no deadline allows for.
    """
    return settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


@dataclass(frozen=True)
class Table:
    """Integer scores with their design; ``values / 10**exponent`` is what users have.

    Attributes
    ----------
    values : int64 [M, T]
    stratum, cluster : int64 [T]
    chance : int64 [T] or None, 56 times the chance level, on the same grid
    models, tasks, anchors : ids [M], [T] and [C]
    """

    values: Ints
    stratum: Ints
    cluster: Ints
    chance: Ints | None
    exponent: int
    models: tuple[str, ...]
    tasks: tuple[str, ...]
    anchors: tuple[str, ...]

    def matrix(
        self, models: Sequence[int] | None = None, tasks: Sequence[int] | None = None
    ) -> ScoreMatrix:
        """The matrix, given its rows and columns in another order or only some rows."""
        rows = list(range(len(self.models)) if models is None else models)
        columns = list(range(len(self.tasks)) if tasks is None else tasks)
        unit = 10.0**self.exponent
        return build_matrix(
            [self.models[m] for m in rows],
            [f"name of {self.models[m]}" for m in rows],
            [self.tasks[t] for t in columns],
            [strata_names(int(self.stratum[t])) for t in columns],
            [self.anchors[self.cluster[t]] for t in columns],
            self.values[np.ix_(rows, columns)] / unit,
            None if self.chance is None else self.chance[columns] / unit / 56,
        )

    def with_row(self, model: str, row: Ints) -> Table:
        """The same table with one more model."""
        return replace(self, values=np.vstack([self.values, row]), models=(*self.models, model))


def strata_names(index: int) -> Stratum:
    """Stratum ``index`` of two panels: families a, b, c, …"""
    panel, family = f"panel {index % 2}", f"family {'abcdef'[index // 2]}"
    return Stratum(f"{panel}/{family}", panel, family)


seeds = st.integers(0, 2**53 - 1)
#: Sizes that are no multiple of a leaf or of a block of lanes.
#: (With a handful of draws they may all be equal, which an analysis refuses.)
draw_counts = st.sampled_from([31, 255, 257, 300, 700, 2100])
alphas = st.sampled_from([0.05, 0.01, 0.2, 0.5, 0.9])
_letters = st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"])
names = st.text(_letters, min_size=1, max_size=6)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Small plans."""
    return Plan(
        draws=draw(draw_counts),
        flips=draw(st.sampled_from([1, 100, 300, 513])),
        seed=draw(seeds),
        alpha=draw(alphas),
    )


@st.composite
def designs(draw: st.DrawFn, max_clusters: int = 14) -> tuple[Ints, Ints]:
    """``(stratum, cluster)`` of a design that no check refuses, in any task order.

    With at least seven clusters in each of four strata, or all of them, a draw leaves a
    stratum empty with probability below 4 exp(-7) < 0.01.
    """
    clusters = draw(st.integers(1, max_clusters))
    strata = draw(st.integers(1, 4))
    source = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cells = []
    for s in range(strata):
        touched = draw(st.integers(min(7, clusters), clusters)) if s else clusters
        chosen = source.choice(clusters, touched, replace=False)
        again = source.choice(chosen, draw(st.integers(0, 5)))
        cells += [(s, c) for c in [*chosen, *again]]
    order = source.permutation(len(cells))
    stratum, cluster = np.array(cells, np.int64)[order].T
    return np.ascontiguousarray(stratum), np.ascontiguousarray(cluster)


@st.composite
def score_rows(draw: st.DrawFn, models: int, tasks: int) -> Ints:
    """int64 [models, tasks]: coarse and full of ties, ordinary, negative, or large."""
    low, high = draw(
        st.sampled_from([(0, 1), (0, 4), (0, 10_000), (-500, 10_500), (-(10**9), 10**9)])
    )
    source = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return source.integers(low, high, (models, tasks), endpoint=True)


@st.composite
def tables(draw: st.DrawFn, max_models: int = 5) -> Table:
    """Score tables in which at least one model varies between clusters."""
    stratum, cluster = draw(designs().filter(lambda design: design[1].max() > 0))
    models, tasks = draw(st.integers(2, max_models)), stratum.size
    values = draw(score_rows(models, tasks))
    # One row without ties, so that no table is refused for standing still.
    values[draw(st.integers(0, models - 1))] = np.random.default_rng(tasks).permutation(tasks) ** 2
    top = int(np.abs(values).max())
    chance = None
    if draw(st.booleans()):
        chance = np.random.default_rng(top).integers(0, 56 * top, tasks, endpoint=True)
    unique = st.lists(names, min_size=models, max_size=models, unique=True)
    return Table(
        values,
        stratum,
        cluster,
        chance,
        exponent=draw(st.integers(0, 2)),
        models=tuple(draw(unique)),
        tasks=tuple(f"t{t}" for t in range(tasks)),
        anchors=tuple(f"a{c}" for c in range(int(cluster.max()) + 1)),
    )


def bits(value: Any) -> Any:
    """``value`` with every float and array as type, shape and bytes: equal means equal bits."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: bits(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, np.ndarray):
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, dict):
        return {key: bits(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [bits(item) for item in value]
    if isinstance(value, (float, np.floating)):
        return float(value).hex()
    return value

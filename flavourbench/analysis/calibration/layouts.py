"""What studies are drawn from: large finite pools of clusters, made of the bundled score maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from flavourbench.analysis.matrix import Stratum
from flavourbench.tasks import read_tasks
from flavourbench.tasks.files import BUNDLED
from flavourbench.tasks.taskset import joined

PANELS = ("test-1", "test-2")
FAMILIES = ("constraint", "pairing", "substitution")
#: Clusters of a pool that is put together at random.
_SIZE = 4000
#: Tasks of a cluster in :func:`spread`, and its strata: panels × families.
_MOST = 6


@dataclass(frozen=True)
class Pool:
    """Clusters with their tasks. A study draws with replacement, so that the pool is the truth.

    Attributes
    ----------
    scores : int16 [R, 56], score maps in basis points
    strata : tuple of S Stratum
    row, stratum : int64 [T], score map and stratum of each task, cluster by cluster
    first : int64 [N + 1], first task of each cluster
    parts : int64 [G + 1], first cluster of each part that is drawn from by itself
    drawn : tuple of G int, clusters that a study draws from each part
    """

    scores: NDArray[np.int16]
    strata: tuple[Stratum, ...]
    row: NDArray[np.int64]
    stratum: NDArray[np.int64]
    first: NDArray[np.int64]
    parts: NDArray[np.int64]
    drawn: tuple[int, ...]

    def draw(self, source: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Tasks of one study, as indices of the pool's, and the cluster of each from 0."""
        picks = np.concatenate(
            [
                source.integers(low, high, count)
                for low, high, count in zip(
                    self.parts[:-1], self.parts[1:], self.drawn, strict=True
                )
            ]
        )
        sizes = self.first[picks + 1] - self.first[picks]
        cluster = np.repeat(np.arange(picks.size), sizes)
        inside = np.arange(cluster.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self.first[picks][cluster] + inside, cluster


@dataclass(frozen=True)
class Maps:
    """Score maps of the bundled panels.

    Attributes
    ----------
    scores : int16 [R, 56]
    rows : (panel, family) → int64, rows of ``scores``, by rising mean of the map
    """

    scores: NDArray[np.int16]
    rows: Mapping[tuple[str, str], NDArray[np.int64]]

    def family(self, family: str) -> NDArray[np.int64]:
        """Rows of a family in all panels, by rising mean."""
        both = np.concatenate([self.rows[panel, family] for panel in PANELS])
        return both[np.argsort(self.scores[both].mean(axis=1), kind="stable")]


@cache
def bundled_maps() -> Maps:
    """The maps of the ranked tasks of both test panels."""
    tasks = joined([read_tasks(BUNDLED / panel) for panel in PANELS])
    scores = tasks.scores
    mean = scores.mean(axis=1)
    rows = {}
    for panel in PANELS:
        for family in FAMILIES:
            at = [t for t, x in enumerate(tasks.tasks) if (x.panel, x.family) == (panel, family)]
            rows[panel, family] = np.array(sorted(at, key=mean.__getitem__), np.int64)
    return Maps(scores, rows)


def _pool(
    maps: Maps,
    strata: Sequence[Stratum],
    row: NDArray[np.int64],
    stratum: NDArray[np.int64],
    sizes: NDArray[np.int64],
    parts: Sequence[int],
    drawn: Sequence[int],
) -> Pool:
    first = np.concatenate([[0], np.cumsum(sizes)])
    return Pool(maps.scores, tuple(strata), row, stratum, first, np.array(parts), tuple(drawn))


def apart(maps: Maps, _: np.random.Generator, clusters: int) -> Pool:
    """Panels × families as published: a cluster has one task, strata of one fixed size."""
    keys = list(maps.rows)
    rows = [maps.rows[key] for key in keys]
    sizes = [part.size for part in rows]
    return _pool(
        maps,
        [Stratum(f"{panel}/{family}", panel, family) for panel, family in keys],
        np.concatenate(rows),
        np.repeat(np.arange(len(keys)), sizes),
        np.ones(sum(sizes), np.int64),
        [0, *np.cumsum(sizes).tolist()],
        [clusters // len(keys)] * len(keys),
    )


def crossed(maps: Maps, source: np.random.Generator, clusters: int) -> Pool:
    """Every cluster has a task of each of the three families."""
    columns = [source.choice(maps.family(family), _SIZE) for family in FAMILIES]
    return _pool(
        maps,
        [Stratum(family, None, family) for family in FAMILIES],
        np.stack(columns, axis=1).ravel(),
        np.tile(np.arange(len(FAMILIES)), _SIZE),
        np.full(_SIZE, len(FAMILIES), np.int64),
        [0, _SIZE],
        [clusters],
    )


def sparse(maps: Maps, _: np.random.Generator, clusters: int) -> Pool:
    """Constraint tasks alone, one a cluster: 95 % of their portfolios have score 0."""
    rows = maps.family("constraint")
    return _pool(
        maps,
        [Stratum("constraint", None, "constraint")],
        rows,
        np.zeros(rows.size, np.int64),
        np.ones(rows.size, np.int64),
        [0, rows.size],
        [clusters],
    )


def uneven(maps: Maps, source: np.random.Generator, clusters: int) -> Pool:
    """A cluster has one task; families have shares of 60, 30 and 10 %, so their sizes vary."""
    stratum = np.repeat(np.arange(3), [_SIZE * 6 // 10, _SIZE * 3 // 10, _SIZE // 10])
    row = np.concatenate(
        [source.choice(maps.family(f), (stratum == s).sum()) for s, f in enumerate(FAMILIES)]
    )
    return _pool(
        maps,
        [Stratum(family, None, family) for family in FAMILIES],
        row,
        stratum,
        np.ones(_SIZE, np.int64),
        [0, _SIZE],
        [clusters],
    )


def spread(maps: Maps, source: np.random.Generator, clusters: int) -> Pool:
    """A cluster has one to six tasks in strata at random; larger ones have harder tasks.

    Sizes of strata vary, and a ratio mean differs from the mean of cluster means.
    """
    keys = list(maps.rows)
    sizes = source.integers(1, _MOST + 1, _SIZE)
    stratum = source.integers(0, len(keys), sizes.sum())
    # A power of a uniform number leans towards the first, the harder ones.
    lean = source.random(sizes.sum()) ** np.repeat(sizes / 2, sizes)
    row = np.array(
        [
            maps.rows[keys[s]][int(at * maps.rows[keys[s]].size)]
            for s, at in zip(stratum.tolist(), lean.tolist(), strict=True)
        ],
        np.int64,
    )
    return _pool(
        maps,
        [Stratum(f"{panel}/{family}", panel, family) for panel, family in keys],
        row,
        stratum,
        sizes,
        [0, _SIZE],
        [clusters],
    )

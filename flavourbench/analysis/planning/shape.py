"""The shape of a study: how many tasks of each stratum its clusters hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fbcore.design import THIN_LIMIT, Design
from flavourbench.errors import InputError
from flavourbench.tasks.taskset import TaskSet


@dataclass(frozen=True, slots=True)
class Shape:
    """Clusters by what they hold, so that those of a kind are neighbours.

    Attributes
    ----------
    tasks : int64 [C, S], tasks of each stratum in each cluster, rows in ascending order
    """

    tasks: NDArray[np.int64]

    @classmethod
    def of(cls, design: Design) -> Shape:
        """The shape of a design."""
        return cls(np.array(sorted(held(design).tolist()), np.int64))

    @property
    def clusters(self) -> int:
        """Number of clusters C."""
        return int(self.tasks.shape[0])

    @property
    def strata(self) -> int:
        """Number of strata S."""
        return int(self.tasks.shape[1])

    @property
    def total(self) -> int:
        """Number of tasks."""
        return int(self.tasks.sum())

    def places(self, clusters: int) -> NDArray[np.int64]:
        """Which clusters stand for those of a study of another size: int64 [clusters].

        They are evenly spaced, so that all kinds keep their shares; all of them, each once, for
        a study of the same size.
        """
        return ((2 * np.arange(clusters, dtype=np.int64) + 1) * self.clusters) // (2 * clusters)

    def design(self, clusters: int) -> Design | None:
        """The design of a study of another size, or None where a stratum is left without tasks."""
        rows = self.tasks[self.places(clusters)]
        if not rows.any(axis=0).all():
            return None
        stratum = np.repeat(np.tile(np.arange(self.strata), clusters), rows.ravel())
        cluster = np.repeat(np.arange(clusters), rows.sum(axis=1))
        return Design(stratum.astype(np.int32), cluster.astype(np.int32))


def held(design: Design) -> NDArray[np.int64]:
    """Tasks of each stratum in each cluster: int64 [C, S]."""
    found = np.zeros((design.clusters, design.strata), np.int64)
    np.add.at(found, (design.cluster, design.stratum), 1)
    return found


def even_shape(tasks: int, clusters: int, strata: int) -> Shape:
    """Strata and clusters of equal size, or as nearly so as the numbers allow.

    Tasks of a cluster are of different strata as far as there are enough.

    Raises
    ------
    InputError
        More clusters or strata than tasks.
    """
    for name, count in (("clusters", clusters), ("strata", strata)):
        if count > tasks:
            raise InputError(f"--{name} {count} for {tasks} tasks: use at most {tasks}")
    each = np.arange(tasks)
    return Shape.of(
        Design((each % strata).astype(np.int32), (each * clusters // tasks).astype(np.int32))
    )


def shape_of_tasks(tasks: TaskSet) -> Shape:
    """The shape of the ranked tasks of some panels, were all of them answered validly.

    Raises
    ------
    InputError
        No task is ranked.
    """
    ranked = [task for task in tasks.tasks if task.ranked]
    if not ranked:
        raise InputError("the panels hold no ranked task: nothing to plan")
    strata = {key: at for at, key in enumerate(sorted({(t.panel, t.family) for t in ranked}))}
    clusters = {key: at for at, key in enumerate(sorted({t.cluster for t in ranked}))}
    return Shape.of(
        Design(
            np.array([strata[task.panel, task.family] for task in ranked], np.int32),
            np.array([clusters[task.cluster] for task in ranked], np.int32),
        )
    )


def is_thin(design: Design | None) -> bool:
    """Whether ``fb infer`` would refuse a design, since draws would leave a stratum empty."""
    return design is None or float(design.empty_probabilities().sum()) > THIN_LIMIT

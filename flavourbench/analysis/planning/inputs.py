"""What a plan starts from: a study, a pilot, the published study, and sizes given by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flavourbench.analysis.matrix import ScoreMatrix
from flavourbench.analysis.planning.noise import TYPICAL_SD, Assumed, Noise, Pilot
from flavourbench.analysis.planning.shape import Shape, even_shape, shape_of_tasks
from flavourbench.analysis.study import Study
from flavourbench.collect.estimate import estimate_object
from flavourbench.collect.plan import Job
from flavourbench.errors import InputError

#: Models, tasks, clusters and strata of the published study.
PUBLISHED = (27, 534, 534, 6)
_MOST_TASKS = 1_000_000


@dataclass(frozen=True, slots=True)
class Given:
    """Options by hand; None where they are not.

    Attributes
    ----------
    models, tasks, clusters, strata : int
    sd, correlation : see :class:`.noise.Assumed`
    """

    models: int | None = None
    tasks: int | None = None
    clusters: int | None = None
    strata: int | None = None
    sd: float | None = None
    correlation: float | None = None

    def __post_init__(self) -> None:
        for name in ("tasks", "clusters", "strata"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= _MOST_TASKS:
                raise InputError(f"--{name} {value} is outside 1 to {_MOST_TASKS}")


@dataclass(frozen=True, slots=True)
class Basis:
    """What is planned, and where each part of it comes from.

    Attributes
    ----------
    models, clusters : int
    noise : Noise, with the shape of the clusters
    sources : part → where it comes from
    notes : what has to be said beside the numbers
    """

    models: int
    clusters: int
    noise: Noise
    sources: dict[str, str]
    notes: tuple[str, ...]


def basis(given: Given, study: Study | None, pilot: ScoreMatrix | None) -> Basis:
    """Sizes and noise: by hand, else of the pilot and the study, else as published.

    With a study and a pilot, models and clusters are as many as the study has; what a cluster
    holds is as in the pilot.

    Raises
    ------
    InputError
        Options that contradict each other, or more models than the pilot has.
    """
    start = None if study is None else shape_of_tasks(study.read_tasks())
    noise: Noise
    if pilot is None:
        shape, clusters = _shape(given, start or even_shape(*PUBLISHED[1:]))
        noise = Assumed(
            shape, TYPICAL_SD if given.sd is None else given.sd, given.correlation or 0.0
        )
    else:
        noise = _pilot(given, pilot)
        clusters = given.clusters or (start or noise.shape).clusters
    if given.models is not None:
        models = given.models
    elif study is not None:
        models = len(study.slots())
    else:
        models = PUBLISHED[0] if pilot is None else len(pilot.models)
    if isinstance(noise, Pilot) and models > noise.models:
        raise InputError(
            f"{models} models, but the pilot has {noise.models}, and each stands for one at most:"
            f" plan fewer with --models, or leave the pilot out and use its SD, --sd {noise.sd:.3g}"
        )
    sources = _sources(given, pilot is not None, study is not None)
    return Basis(models, clusters, noise, sources, _notes(noise, given))


def _shape(given: Given, start: Shape) -> tuple[Shape, int]:
    """Shape and number of clusters of an assumed study that starts from another one."""
    if given.tasks is None and given.strata is None:
        return start, given.clusters or start.clusters
    if given.tasks is None:
        clusters = given.clusters or start.clusters
        tasks = max(1, round(start.total * clusters / start.clusters))
    else:
        tasks = given.tasks
        clusters = given.clusters or max(1, round(start.clusters * tasks / start.total))
    return even_shape(tasks, clusters, given.strata or start.strata), clusters


def _pilot(given: Given, pilot: ScoreMatrix) -> Pilot:
    for name in ("tasks", "strata", "sd", "correlation"):
        if getattr(given, name) is not None:
            raise InputError(f"--{name} and --pilot: the pilot decides it; leave one of them out")
    return Pilot.of(pilot)


def _sources(given: Given, pilot: bool, study: bool) -> dict[str, str]:
    origin = "study" if study else "published study"
    shape = "pilot" if pilot else origin
    number = origin if study or not pilot else "pilot"
    return {
        "models": number if given.models is None else "given",
        "tasks": shape if given.tasks is None else "given",
        "clusters": number if given.clusters is None else "given",
        "strata": shape if given.strata is None else "given",
        "noise": "pilot" if pilot else "typical" if given.sd is None else "given",
    }


def _notes(noise: Noise, given: Given) -> tuple[str, ...]:
    found = ["All tasks are taken to be answered validly by all models."]
    if isinstance(noise, Pilot):
        found.append(
            f"Noise is that of the pilot: {noise.models} models, {noise.shape.clusters} clusters,"
            " drawn with replacement. Errors are of the simulation alone, not of the pilot."
        )
        return tuple(found)
    if given.sd is None:
        found.append(
            f"SD {TYPICAL_SD:g} of a task difference is the median over pairs of the bundled"
            " reconstruction of the published study; --sd or --pilot give another."
        )
    if given.correlation is None and noise.shape.total > noise.shape.clusters:
        found.append(
            "Clusters hold several tasks, and their differences are taken to be independent;"
            " --correlation says how far they are not."
        )
    return tuple(found)


def cost(study: Study) -> dict[str, Any] | None:
    """What `fb collect --dry-run` says of a study, or None where answers are in hand.

    Raises
    ------
    InputError, CheckError
        Roster, panels or journal cannot be read.
    """
    if study.roster is None:
        return None
    return estimate_object(Job(study.read_roster(), study.read_tasks()), study.journal_path())

"""How many clusters a pair with a given true difference takes to be resolved."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fbcore.blocks import Progress
from fbcore.multiplicity import smallest_p
from flavourbench.analysis.planning.curve import Power
from flavourbench.analysis.planning.question import MAX_CELLS, Question
from flavourbench.analysis.planning.scenario import trials_over_clusters, truth_with
from flavourbench.analysis.planning.shape import is_thin
from flavourbench.analysis.planning.simulate import simulate

#: No more clusters than these are tried.
LIMIT = 20_000
#: Cluster numbers that are simulated, as shares of where the answer is expected.
_SPREAD = (0.65, 0.8, 1.0, 1.2, 1.45)
_ROUNDS = 5
#: What is expected beyond this many times the limit is not looked for.
_FAR = 1.4
#: Simulated studies of one number: this part of those of the power curve, but no fewer than.
_PART, _FEWEST = 8, 25
#: Study numbers of the search: the power curve does not reach them.
_FIRST = 2**32


def clusters_needed(
    question: Question,
    detectable: dict[str, dict[str, float] | None],
    studies: int,
    threads: int,
    progress: Progress | None,
) -> dict[str, Any]:
    """Clusters with which a pair that differs by ``question.difference`` has the power wanted.

    Power is simulated at several numbers of clusters and fitted over their square root, again
    around the answer until that lies among them.
    """
    search = _Search(question, max(studies // _PART, _FEWEST), threads, progress)
    guesses = {
        name: question.clusters
        * ((found["difference"] if found else question.usual_difference()) / search.difference) ** 2
        for name, found in detectable.items()
    }
    settled: dict[str, dict[str, Any]] = {}
    if (
        smallest_p(question.plan.flips, search.most, False) * question.hypotheses
        > question.plan.alpha
    ):
        settled["holm"] = _none("Holm can resolve nothing with so few flips")
    for name, guess in guesses.items():
        if guess > _FAR * search.most:
            settled.setdefault(name, search.beyond(guess))
    for _ in range(_ROUNDS):
        if len(settled) == len(guesses):
            break
        left = [name for name in guesses if name not in settled]
        # The procedures need about the same: one look serves both.
        search.simulate(math.prod(guesses[name] for name in left) ** (1 / len(left)))
        for name in left:
            answer = search.answer(name)
            if isinstance(answer, float):
                guesses[name] = answer
            else:
                settled[name] = answer
    return {
        "difference": search.difference,
        "limit": search.most,
        "simulated": search.rows(),
        **{
            name: settled.get(name, _none(f"the search did not settle; it was near {guess:,.0f}"))
            for name, guess in guesses.items()
        },
    }


def _none(why: str) -> dict[str, Any]:
    return {"clusters": None, "tasks": None, "se": None, "why": why}


class _Search:
    """Numbers of clusters that were simulated so far, and what they say.

    Attributes
    ----------
    difference : float, the difference on the grid of the scores
    least, most : int, numbers of clusters that can be analysed and simulated
    """

    def __init__(
        self, question: Question, studies: int, threads: int, progress: Progress | None
    ) -> None:
        self.question, self.studies = question, studies
        self.threads, self.progress = threads, progress
        self.units = round((question.difference or 0.0) * question.noise.unit)
        self.difference = self.units / question.noise.unit
        shape = question.noise.shape
        self.most = min(LIMIT, MAX_CELLS * shape.clusters // (question.models * shape.total))
        self.least = next(
            n
            for n in range(2, self.most + 1)
            if 2.0 ** (1 - n) <= question.plan.alpha and not is_thin(shape.design(n))
        )
        self.curves: dict[str, list[Power]] = {"holm": [], "step_down": []}
        self.numbers: list[int] = []

    def simulate(self, guess: float) -> None:
        """Simulate studies around a number of clusters, those not simulated yet."""
        around = {min(max(round(guess * s), self.least), self.most) for s in _SPREAD}
        numbers = sorted(around - set(self.numbers))
        if not numbers:
            return
        question = self.question
        truth = truth_with(question.scenario, question.models, self.units)
        holm, stepped = simulate(
            question.noise,
            question.plan,
            trials_over_clusters(truth, self.units, numbers),
            np.sqrt(np.array(numbers, np.float64)),
            self.studies * len(numbers),
            _FIRST + self.studies * len(self.numbers),
            self.threads,
            self.progress,
        )
        self.curves["holm"].append(holm)
        self.curves["step_down"].append(stepped)
        self.numbers += numbers

    def answer(self, name: str) -> dict[str, Any] | float:
        """The answer of a procedure, or around which number to look next."""
        curve = Power.joined(self.curves[name])
        low, high = min(self.numbers), max(self.numbers)
        share = curve.shares()[0]
        found = curve.needed(self.question.power)
        if found is None:
            root = math.sqrt(high * 2 if share[-1] < self.question.power else low / 2)
            found = root, 0.0
        number = max(found[0], 0.0) ** 2
        if low <= number <= high:
            clusters = math.ceil(number)
            return {
                "clusters": clusters,
                "tasks": self.question.tasks(clusters),
                "se": 2 * found[0] * found[1],
                "why": None,
            }
        if number < low == self.least:
            return {
                "clusters": low,
                "tasks": self.question.tasks(low),
                "se": None,
                "why": f"with {low}, the fewest that can be analysed, the power is larger",
            }
        if number > high == self.most:
            return self.beyond(number)
        return number

    def beyond(self, number: float) -> dict[str, Any]:
        """What is said where more clusters are needed than are tried."""
        return _none(f"no number up to {self.most:,} has it; about {number:,.0f} might")

    def rows(self) -> list[dict[str, Any]]:
        """Power at every number of clusters that was simulated."""
        if not self.numbers:
            return []
        shares = {name: Power.joined(parts).shares() for name, parts in self.curves.items()}
        return [
            {"clusters": number, "tasks": self.question.tasks(number)}
            | {
                name: {"power": float(power[k]), "se": float(se[k])}
                for name, (power, se) in shares.items()
            }
            for k, number in enumerate(sorted(self.numbers))
        ]

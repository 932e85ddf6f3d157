"""Simulated cooks: they see the scores of a task and choose by softmax.

A cook chooses portfolio p with probability proportional to exp(score / temperature), scores in
points. Weights are integers, made from exponentials that :mod:`decimal` rounds correctly, so
that a cook chooses the same on every machine.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cache
from itertools import accumulate
from typing import Any

from fbcore.portfolios import FULL
from flavourbench.collect.contestants.draws import Draws
from flavourbench.collect.contestants.said import Said
from flavourbench.collect.contestants.wording import closed, named
from flavourbench.tasks.labels import LABELS, PORTFOLIOS
from flavourbench.tasks.taskset import Task

#: Basis points of a point.
_POINT = 100
#: Rates have two decimals in percent.
_ALL = 10_000
#: What each random word decides.
_FATE, _CHOICE, _WORDS, _FAULT = range(4)
_OPENINGS = (
    "{names} suit the question best, and each other.",
    "I would take {names}. They go well together and fit what is asked.",
    "Of the eight, {names} make the most convincing set.",
    "Thinking of how these are cooked, my choice is {names}.",
)
_REFUSALS = (
    "I can't help with choosing ingredients.",
    "I'm not able to make this selection.",
)
_Fault = Callable[[str, Sequence[str]], str]


def _another(labels: str) -> str:
    """The first label that is not among these."""
    return next(label for label in LABELS if label not in labels)


#: Answers that neither parser reads, by the reason that ``fb-1`` gives.
FAULTS: dict[str, _Fault] = {
    "no_marker": lambda labels, names: f"My selection is {named(labels, names)}.",
    "count": lambda labels, _: closed("These two stand out.", labels[:2]),
    "duplicate": lambda labels, _: closed("These stand out.", labels[0] + labels[:2]),
    "separator": lambda labels, _: f"These go together.\nFINAL_SELECTION: {' '.join(labels)}",
    "trailing_text": lambda labels, _: f"{closed('I am sure.', labels)} since they go together",
    "ambiguous": lambda labels, _: (
        f"{closed('At first sight', labels)}\n{closed('Or rather', labels[:2] + _another(labels))}"
    ),
    "reasoning_unclosed": lambda labels, names: f"<think>Perhaps {named(labels, names)}, but",
}


def cook(parameters: Mapping[str, Any]) -> Callable[[Task, Draws], Said]:
    """A cook of the temperature in points, and of the rates in percent, that are stated."""
    weigh = _weights(Decimal(str(parameters["temperature"])))
    refused = round(parameters["refusals"] * 100)
    faulty = refused + round(parameters["format_errors"] * 100)

    def say(task: Task, draws: Draws) -> Said:
        fate = draws.below(_ALL, _FATE)
        if fate < refused:
            return Said(draws.one(_REFUSALS, _WORDS), refused=True)
        sums = [*accumulate(map(weigh, task.scores))]
        labels = PORTFOLIOS[bisect_right(sums, draws.below(sums[-1], _CHOICE))]
        if fate < faulty:
            return Said(draws.one([*FAULTS.values()], _FAULT)(labels, task.choices))
        opening = draws.one(_OPENINGS, _WORDS)
        sentence = opening.format(names=named(labels, task.choices))
        return Said(closed(sentence[0].upper() + sentence[1:], labels))

    return say


@cache
def _weights(temperature: Decimal) -> Callable[[int], int]:
    """Score in basis points → weight, an integer; 2**80 for the best portfolio.

    The exponential of a gap is that of its whole points times that of the rest, each in units
    of 2**-40. At temperature 0 the best portfolio alone has a weight.
    """
    # A context of its own: that of the thread may be anyone's.
    context = Context(prec=28, rounding=ROUND_HALF_EVEN)
    degree = context.multiply(temperature, Decimal(_POINT))

    def factor(gap: int) -> int:
        if not temperature:
            return int(gap == 0) << 40
        power = context.exp(context.divide(Decimal(-gap), degree))
        return int(context.to_integral_value(context.multiply(power, Decimal(2**40))))

    points = [factor(gap * _POINT) for gap in range(FULL // _POINT + 1)]
    rest = [factor(gap) for gap in range(_POINT)]

    def weight(score: int) -> int:
        gap = FULL - score
        return points[gap // _POINT] * rest[gap % _POINT]

    return weight

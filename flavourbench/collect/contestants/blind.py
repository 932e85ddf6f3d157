"""Blind contestants: functions of what a prompt says and of random words, never of a task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from math import prod
from typing import Any

from flavourbench.collect.contestants import knowledge
from flavourbench.collect.contestants.draws import Draws
from flavourbench.collect.contestants.knowledge import UNIT, Pairs, pantry
from flavourbench.collect.contestants.reading import Question
from flavourbench.collect.contestants.wording import closed, named, told
from flavourbench.tasks.labels import LABELS, PORTFOLIOS

#: A blind contestant: it has no other way to a task than the question.
Strategy = Callable[[Question, Draws], str]
#: Candidates of the portfolios, by position.
_THREES = tuple(combinations(range(len(LABELS)), 3))
#: How fond the label-biased one is of the labels A to H.
_FONDNESS = (8, 7, 6, 5, 4, 3, 2, 1)
_HUNDRED = 100


@dataclass(frozen=True, slots=True)
class Opinion:
    """What somebody thinks of eight candidates, in integers of one unit.

    Attributes
    ----------
    suits : eight, how well each suits the question
    together : 8 × 8, how well two go together
    """

    suits: Sequence[int]
    together: Sequence[Sequence[int]]


#: An opinion on a question with candidates; None where nothing is known.
Source = Callable[[Question], Opinion | None]
_STRANGERS = ((0,) * len(LABELS),) * len(LABELS)


def strategy(name: str, parameters: Mapping[str, Any]) -> Strategy:
    """The strategy of that name; what it knows is loaded when first needed."""
    if name in _BY_LABEL:
        return _BY_LABEL[name]
    basis, source = _SOURCES[name](parameters)
    coherence = round(parameters.get("coherence", 0) * _HUNDRED)
    return _judging(basis, source, coherence, parameters.get("demands", False))


# --- by label alone ------------------------------------------------------------------------


def _chance(_: Question, draws: Draws) -> str:
    return closed("Any three will do: at random.", draws.one(PORTFOLIOS))


def _always(reasoning: str, labels: str) -> Strategy:
    return lambda _question, _draws: closed(reasoning, labels)


def _biased(_: Question, draws: Draws) -> str:
    """A portfolio with probability proportional to the product of how it likes its labels."""
    sums = [*accumulate(prod(_FONDNESS[at] for at in three) for three in _THREES)]
    drawn = draws.below(sums[-1])
    chosen = next(p for p, total in enumerate(sums) if drawn < total)
    return closed("At random, the earlier the better.", PORTFOLIOS[chosen])


_BY_LABEL: dict[str, Strategy] = {
    "chance": _chance,
    "first-three": _always("The first three look good.", LABELS[:3]),
    "last-three": _always("The last three look good.", LABELS[-3:]),
    "label-biased": _biased,
}

# --- by an opinion -------------------------------------------------------------------------


def _judging(basis: str, source: Source, coherence: int, demands: bool) -> Strategy:
    """The best portfolio of an opinion; ties, and what is unknown, are left to chance.

    Parameters
    ----------
    basis : what the opinion goes by, for the text
    coherence : weight in hundredths of how the three go together; the rest is how they suit
    demands : whether portfolios that break a demand of the question are left out, by the tags
    """

    def answer(question: Question, draws: Draws) -> str:
        if not question.choices:
            return closed(
                "I cannot tell the candidates of this prompt: at random.", draws.one(PORTFOLIOS)
            )
        left = [*range(len(_THREES))]
        if demands:
            left = [p for p in left if _meets(question, _THREES[p])] or left
        subject = told(question.anchor or question.region or "") or "what is asked"
        opinion = source(question)
        if opinion is None:
            chosen = PORTFOLIOS[draws.one(left)]
            limits = " among what meets the demands" if len(left) < len(_THREES) else ""
            return closed(f"By {basis}, nothing is known here: at random{limits}.", chosen)
        values = [_value(opinion, coherence, _THREES[p]) for p in left]
        best = max(values)
        tied = [p for p, value in zip(left, values, strict=True) if value == best]
        chosen = PORTFOLIOS[draws.one(tied)]
        sentence = f"By {basis}, {named(chosen, question.choices)} suit {subject} best."
        if len(tied) > 1:
            sentence += f" This was drawn from {len(tied)} equal choices."
        return closed(sentence, chosen)

    return answer


def _value(opinion: Opinion, coherence: int, three: tuple[int, int, int]) -> int:
    a, b, c = three
    suits, together = opinion.suits, opinion.together
    return (_HUNDRED - coherence) * (suits[a] + suits[b] + suits[c]) + coherence * (
        together[a][b] + together[a][c] + together[b][c]
    )


def _meets(question: Question, three: tuple[int, int, int]) -> bool:
    """Whether three candidates meet the demands by their tags; unknown ones meet none."""
    if question.family not in ("constraint", "regional"):
        return True
    found = [pantry().find(question.choices[at]) for at in three]
    tags = [pantry().tags[at] for at in found if at is not None]
    if question.family == "regional":
        return len({tag.category for tag in tags}) == len(three)
    return len(tags) == len(three) and all(
        getattr(tag, str(question.diet))
        and tag.nova is not None
        and tag.nova <= (question.max_nova or 0)
        for tag in tags
    )


# --- opinions ------------------------------------------------------------------------------


def _known(opinion: Opinion, question: Question) -> Opinion | None:
    """The opinion, or None where it says nothing of the anchor, or without one of anything."""
    if any(opinion.suits):
        return opinion
    silent = question.anchor is not None or not any(map(any, opinion.together))
    return None if silent else opinion


def _overlap(question: Question) -> Opinion | None:
    """Shared runs of three letters over all of either: Jaccard's coefficient."""
    if question.anchor is None:
        return None
    runs = [_runs(name) for name in (question.anchor, *question.choices)]
    values = [[UNIT * len(a & b) // len(a | b) for b in runs] for a in runs]
    return _known(_opinion(values), question)


def _runs(name: str) -> set[str]:
    text = f"  {name.casefold()} "
    return {text[at : at + 3] for at in range(len(text) - 2)}


def _popular(question: Question) -> Opinion | None:
    counts = knowledge.popularity()
    found = [pantry().find(name) for name in question.choices]
    suits = [0 if at is None else counts[at] for at in found]
    return Opinion(suits, _STRANGERS) if any(suits) else None


def _paired(load: Callable[[], Pairs]) -> Source:
    """An opinion from values of pairs: of the anchor with a candidate, and of candidates."""

    def opinion(question: Question) -> Opinion | None:
        # Without an anchor how candidates go together is all that is known.
        names = ("" if question.anchor is None else question.anchor, *question.choices)
        found = [pantry().find(name) for name in names]
        known = [(at, item) for at, item in enumerate(found) if item is not None]
        values = [[0] * len(names) for _ in names]
        inner = load()([item for _, item in known]) if known else []
        for (a, _), row in zip(known, inner, strict=True):
            for (b, _), value in zip(known, row, strict=True):
                values[a][b] = value
        return _known(_opinion(values), question)

    return opinion


def _opinion(values: Sequence[Sequence[int]]) -> Opinion:
    """From the values of pairs of the anchor and the candidates, 9 × 9."""
    return Opinion(values[0][1:], [row[1:] for row in values[1:]])


def _tagged(question: Question) -> Opinion | None:
    """Shared regions; where a region is asked for, candidates at home there and nowhere else."""
    opinion = _paired(lambda: knowledge.regions)(question)
    if question.region is None:
        return opinion
    asked = question.region.replace(" ", "_")
    found = [pantry().find(name) for name in question.choices]
    held = [() if at is None else pantry().tags[at].regions for at in found]
    suits = [UNIT // len(regions) if asked in regions else 0 for regions in held]
    together = _STRANGERS if opinion is None else opinion.together
    return Opinion(suits, together) if any(suits) else opinion


#: Name → what it goes by, and its opinions.
_SOURCES: dict[str, Callable[[Mapping[str, Any]], tuple[str, Source]]] = {
    "lexical-overlap": lambda _: ("the letters of their names", _overlap),
    "tag-rules": lambda _: ("their regions and what is asked", _tagged),
    "popularity": lambda _: ("how many recipes have them", _popular),
    "co-occurrence": lambda p: (
        f"how many {_sets(p)} have both",
        _paired(lambda: knowledge.co_occurrence(p["sets"])),
    ),
    "npmi": lambda p: (
        f"how much more often than by chance {_sets(p)} have both",
        _paired(lambda: knowledge.association(p["sets"])),
    ),
    "shared-company": lambda p: (
        f"what they go with in {_sets(p)}",
        _paired(lambda: knowledge.company(p["sets"])),
    ),
    "attributes": lambda _: ("taste, aroma, texture and role", _paired(knowledge.attributes)),
    "word-vectors": lambda _: ("vectors of their words", _paired(knowledge.vectors)),
}


def _sets(parameters: Mapping[str, Any]) -> str:
    return str(parameters["sets"]).replace("-", " ")

"""Answers of the operations as plain objects: what ``--json`` prints and the views draw.

Each operation takes typed names and gives a list with one object a query, of ``query`` (as
typed), ``item`` (the name it stands for), what else was asked, and ``results``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from flavourbench.environment import batch
from flavourbench.environment.environment import Environment, Hit
from flavourbench.environment.space import Indices
from flavourbench.environment.taxonomy import COMPLEMENTS, DIETS, REGION_TAGS
from flavourbench.errors import InputError

Answer = dict[str, Any]


def neighbors(environment: Environment, texts: Sequence[str], k: int) -> list[Answer]:
    """The k most similar items of each."""
    ids = environment.ids(texts)
    return _ranked(environment, texts, ids, batch.neighbors(environment, ids, k))


def substitutes(environment: Environment, texts: Sequence[str], k: int) -> list[Answer]:
    """The k best substitutes of each."""
    ids = environment.ids(texts)
    return _ranked(environment, texts, ids, batch.substitutes(environment, ids, k))


def morph(
    environment: Environment, texts: Sequence[str], target: str, angle: float, k: int
) -> list[Answer]:
    """The k items nearest to each, rotated toward a region or an item."""
    ids = environment.ids(texts)
    found = batch.morph(environment, ids, environment.direction(target), angle, k)
    asked = {"target": environment.target(target), "angle": angle}
    return _ranked(environment, texts, ids, found, asked)


def pairings(
    environment: Environment,
    texts: Sequence[str],
    k: int,
    diet: str | None = None,
    max_nova: int | None = None,
    *,
    together: bool = False,
) -> list[Answer]:
    """The k best complements of each, or of all together.

    ``above`` is there for a single item: the share of all pairs that are less similar.
    """
    names = [environment.items[at] for at in environment.ids(texts)]
    queries = (
        [(", ".join(texts), names)]
        if together
        else [(text, [name]) for text, name in zip(texts, names, strict=True)]
    )
    answers = []
    for query, items in queries:
        found = environment.pairings(items, k, diet, max_nova)
        answer: Answer = {"query": query, "item": ", ".join(dict.fromkeys(items))}
        if diet is not None or max_nova is not None:
            answer |= {"diet": diet, "max_nova": max_nova, "dropped": found.dropped}
            answer["note"] = environment.note
        categories = {name: environment.tags[environment.index[name]].category for name in items}
        lone = [name for name, category in categories.items() if category not in COMPLEMENTS]
        if lone:
            answer["without_complements"] = lone
        answer["results"] = [_described(environment, hit) for hit in found.hits]
        if len(categories) == 1:  # the mean with several is no similarity of a pair
            for result in answer["results"]:
                result["above"] = environment.share_below(result["similarity"])
        answers.append(answer)
    return answers


def feasible(
    environment: Environment,
    texts: Sequence[str],
    diet: str | None = None,
    max_nova: int | None = None,
) -> list[Answer]:
    """Whether each passes, why not, and its flags.

    Raises
    ------
    InputError
        Also: neither a diet nor a cap to pass.
    """
    if diet is None and max_nova is None:
        raise InputError("nothing to pass: give a diet (--diet) or a NOVA cap (--max-nova)")
    verdicts = environment.feasible(texts, diet, max_nova)
    answers = []
    for text, verdict in zip(texts, verdicts, strict=True):
        tags = environment.tags[environment.index[verdict.name]]
        result = {
            "name": verdict.name,
            "feasible": verdict.feasible,
            "reason": verdict.reason,
            "vegan": tags.vegan,
            "vegetarian": tags.vegetarian,
            "nova": tags.nova,
        }
        answers.append(
            {"query": text, "item": verdict.name, "diet": diet, "max_nova": max_nova}
            | {"note": environment.note, "results": [result]}
        )
    return answers


def regions(environment: Environment, texts: Sequence[str]) -> list[Answer]:
    """Projections of each on the region directions, highest first.

    ``similarity`` is the projection: the cosine with the direction.
    """
    answers = []
    for text, at in zip(texts, environment.ids(texts).tolist(), strict=True):
        name = environment.items[at]
        results = [
            {
                "name": score.region,
                "similarity": score.projection,
                "p10": score.p10,
                "p90": score.p90,
                "tagged": score.region in environment.tags[at].regions,
            }
            for score in environment.region_profile(name)
        ]
        answers.append({"query": text, "item": name, "results": results})
    return answers


def resolutions(environment: Environment, texts: Sequence[str]) -> list[Answer]:
    """What each typed name stands for; a miss has no results but suggestions."""
    answers = []
    for text in texts:
        match = environment.resolver.find(text)
        results = []
        if match.name is not None:
            hit = {"name": match.name, "how": match.how}
            results = [hit | _tags(environment, match.name)]
        answers.append(
            {"query": text, "item": match.name}
            | {"results": results, "suggestions": [*match.suggestions]}
        )
    return answers


def description(environment: Environment) -> Answer:
    """What an environment holds, for ``fb env info``."""
    tags = environment.tags
    regional = Counter(region for tag in tags for region in tag.regions)
    by_level = Counter("unknown" if tag.nova is None else str(tag.nova) for tag in tags)
    by_category = Counter(tag.category for tag in tags)
    percentiles = environment.pair_percentiles
    return {
        "name": environment.name,
        "identity": environment.identity,
        "items": len(environment),
        "dimensions": environment.dimensions,
        "categories": {
            name: {"items": count, "core": name in COMPLEMENTS}
            for name, count in sorted(by_category.items(), key=lambda pair: (-pair[1], pair[0]))
        },
        "regions": {
            region: {"items": regional[region], "direction": region in environment.regions}
            for region in REGION_TAGS
        },
        "diets": {diet: sum(getattr(tag, diet) for tag in tags) for diet in DIETS},
        "nova": dict(sorted(by_level.items())),
        "pair_percentiles": {str(percent): value for percent, value in percentiles.items()},
        "provenance": environment.provenance,
        "note": environment.note,
    }


def _ranked(
    environment: Environment,
    texts: Sequence[str],
    ids: Indices,
    ranked: batch.Ranked,
    asked: Answer | None = None,
) -> list[Answer]:
    answers = []
    for text, at, hits in zip(texts, ids.tolist(), environment.hits(ranked), strict=True):
        answer = {"query": text, "item": environment.items[at], **(asked or {})}
        answers.append(answer | {"results": [_described(environment, hit) for hit in hits]})
    return answers


def _described(environment: Environment, hit: Hit) -> Answer:
    return {"name": hit.name, "similarity": hit.similarity, **_tags(environment, hit.name)}


def _tags(environment: Environment, name: str) -> Answer:
    tags = environment.tags[environment.index[name]]
    return {"category": tags.category, "regions": [*tags.regions]}

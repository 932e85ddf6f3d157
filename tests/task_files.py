"""Small designs, made-up task files and answers to them.

Rows of task files are made here with no code of the product: scores are drawn, and what
follows from them is derived anew.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from bundles import Bundle, synthetic

from flavourbench.environment.store import write_environment
from flavourbench.tasks.design import design_text

LABELS = "ABCDEFGH"
PORTFOLIOS = ["".join(three) for three in combinations(LABELS, 3)]
FAMILIES = ("substitution", "pairing", "constraint")
Row = dict[str, Any]


# --- environments and designs ----------------------------------------------------------------


def larder(seed: int = 5, parts: int = 1) -> Bundle:
    """A bundle of 400 items a part, with a word of its own for each.

    One part is enough for :func:`small_design`, three for the packaged design.
    """
    made = [synthetic(seed + at, items=400, dimensions=12) for at in range(parts)]
    source = random.Random(seed)
    words = ["".join(letters) for letters in product("bdfgklmnprstv", "aeiou", repeat=2)]
    names = tuple(f"{word}_{word[::-1]}" for word in source.sample(words, 400 * parts))
    vectors = np.concatenate([part.vectors for part in made])
    return Bundle(names, vectors, tuple(tags for part in made for tags in part.tags))


def store(cache: Path, name: str, bundle: Bundle) -> None:
    """Store the environment of a bundle in a cache folder."""
    write_environment(bundle.environment(name), cache / "environments" / name)


def small_design(panels: int = 3, per_stratum: int = 2) -> str:
    """The packaged design for a larder: fewer tasks of fewer categories in each panel."""
    head, *parts = design_text().split("[[panels]]\n")
    families = "[[families]]" + parts[-1].split("[[families]]", 1)[1]
    head = head.replace("categories = 8 ", "categories = 4 ")
    assert "categories = 4 " in head
    blocks = [
        "[[panels]]\n"
        f'name = "p{number}"\nsplit = "test"\nseed = "seed {number}"\n'
        f'per_stratum = {per_stratum}\nregions = ["Japanese", "Mediterranean", "East_Asian"]\n\n'
        for number in range(1, panels + 1)
    ]
    return head + "".join(blocks) + families


# --- published rows --------------------------------------------------------------------------


def row(number: int = 0, family: str = "pairing", **changes: Any) -> Row:
    """A published task; equal arguments give equal rows, ``changes`` come before the digests."""
    source = random.Random(f"{number} {family}")
    scores = {label: source.randrange(9_000) for label in PORTFOLIOS}
    scores[source.choice(PORTFOLIOS)] = 10_000
    words = [f"{family[:3]}_item_{number}_{label.lower()}" for label in LABELS]
    region = "Japanese" if family == "cultural_composition" else None
    made: Row = {
        "task_id": f"t-{family}-{number:03}",
        "split": "test",
        "family": family,
        "validation_stratum": number % 4 + 1,
        "anchor_ingredient": f"{family}_anchor_{number}",
        "primary_category": "Vegetable",
        "prompt": f"Task {number} of {family}.\n\nChoose three of A to H.",
        "choices": dict(zip(LABELS, words, strict=True)),
        "selection_size": 3,
        "selection_scores_bps": scores,
        "oracle_reference": {"maximum_nova": None, "target_region": region, "method": "made up"},
        "source_panel": "panel_1",
        "unknown key": [1, 2.5, {"é": None}],
    }
    return sealed(made | changes)


def sealed(made: Row) -> Row:
    """A row with its digests, optimum, chance level and margin, as far as they can be told."""
    scores = made["selection_scores_bps"]
    values = [value for value in scores.values() if type(value) is int]
    best = max(values)
    derived = {
        "prompt_sha256": sha256(made["prompt"]),
        "oracle_reference_sha256": sha256(compact(made["oracle_reference"])),
        "optimal_selection": next(label for label, value in scores.items() if value == best),
        "chance_score_bps": round(Fraction(sum(values), len(PORTFOLIOS))),
        "optimal_margin_bps": best - sorted(values)[-2],
    }
    return made | derived


def sha256(text: str) -> str:
    """Hex SHA-256 of a text in UTF-8; of what can be encoded of it."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def compact(value: Any) -> str:
    """A line of a published file."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def study(
    tasks: int = 12, families: Sequence[str] = FAMILIES, panels: int = 1, regional: int = 0
) -> list[Row]:
    """Rows of every family, so many in each panel; and regional ones in the first panel."""
    made = [
        row(panel * tasks + at, family, source_panel=f"panel_{panel + 1}")
        for panel in range(panels)
        for family in families
        for at in range(tasks)
    ]
    return made + [row(at, "cultural_composition") for at in range(regional)]


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """A published task file, or one of answers; returns ``path``."""
    path.write_text("".join(compact(entry) + "\n" for entry in rows), encoding="utf-8")
    return path


# --- answers ---------------------------------------------------------------------------------


def answer(portfolio: str) -> str:
    """A sound answer, as a model writes it."""
    return f"I weighed them.\n\nFINAL_SELECTION: {', '.join(portfolio)}"


def answers(rows: Iterable[Row], portfolios: Iterable[str]) -> list[Row]:
    """One line an answer, in the plain form."""
    return [
        {"task_id": entry["task_id"], "response": answer(portfolio)}
        for entry, portfolio in zip(rows, portfolios, strict=True)
    ]


def best(entry: Row) -> str:
    """The portfolio of the highest score."""
    return max(PORTFOLIOS, key=entry["selection_scores_bps"].__getitem__)


def worst(entry: Row) -> str:
    """A portfolio of the lowest score."""
    return min(PORTFOLIOS, key=entry["selection_scores_bps"].__getitem__)


def chosen_at_random(rows: Sequence[Row], seed: int) -> list[str]:
    """A portfolio for each row."""
    source = random.Random(seed)
    return [source.choice(PORTFOLIOS) for _ in rows]

"""The task compiler written a second time: loops over anchors, whole numbers, nothing shared.

It follows the words of docs/tasks.md and the numbers of a design, one anchor at a time. Cosines
are dot products of unit rows as Python integers in units of 2**-52; weights and limits are
fractions; the only rounding is that of the basis points.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import isqrt
from typing import Any

import numpy as np

from flavourbench.environment import Environment
from flavourbench.environment.taxonomy import COMPLEMENTS, REGIONS

Row = dict[str, Any]
#: A cosine of 1.
ONE = 2**52


def digest(*parts: object) -> str:
    """What orders are drawn by."""
    return hashlib.sha256("\0".join(str(part) for part in parts).encode()).hexdigest()


def sha256_of(values: Any) -> str:
    """Of JSON without floats and in ASCII."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def spaced_out(things: Sequence[Any], wanted: int) -> list[Any]:
    """``wanted`` evenly spaced ones, the first and the last among them."""
    last = len(things) - 1
    return [things[round(Fraction(i * last, wanted - 1))] for i in range(wanted)]


class Naive:
    """One environment and one design, as the manifest of a panel holds it."""

    def __init__(self, environment: Environment, content: Mapping[str, Any]) -> None:
        self.environment, self.design = environment, content
        self.items, self.tags = environment.items, environment.tags
        self.rows = environment.units.astype(np.int64)
        self.eligible = [
            at
            for at, name in enumerate(self.items)
            if self.tags[at].category in COMPLEMENTS
            and name not in content["excluded"]
            and not any(digit in name for digit in "0123456789")
        ]
        self.words = [set(name.split("_")) for name in self.items]
        self.projected = {region: self.projections(region) for region in REGIONS}
        self.known: dict[int, list[int]] = {}

    def cosines(self, anchor: int) -> list[int]:
        """Of one item with every item, in units of 2**-52."""
        if anchor not in self.known:
            self.known[anchor] = (self.rows @ self.rows[anchor]).tolist()
        return self.known[anchor]

    def projections(self, region: str) -> list[int] | None:
        """Of every item on the direction of a region, in units of 2**-52."""
        inside = [at for at, tags in enumerate(self.tags) if region in tags.regions]
        inside = [at for at in inside if "universal" not in self.tags[at].regions]
        outside = [
            at
            for at, tags in enumerate(self.tags)
            if region not in tags.regions and "universal" not in tags.regions
        ]
        if not inside or not outside:
            return None
        first, second = self.rows[inside].sum(axis=0), self.rows[outside].sum(axis=0)
        between = [
            int(a) * len(outside) - int(b) * len(inside) for a, b in zip(first, second, strict=True)
        ]
        # The norm to thirty binary places: the direction is rounded to multiples of 2**-26.
        norm = Fraction(isqrt(sum(value * value for value in between) << 60), 2**30)
        unit = [round(value * 2**26 / norm) for value in between]
        return [int(value) for value in self.rows @ np.array(unit, np.int64)]

    # --- candidates of one anchor --------------------------------------------------------

    def relates(self, relation: str, a: int, b: int) -> bool:
        """Whether item b may be a candidate of anchor a, as one word of a design has it."""
        mine, other = self.tags[a], self.tags[b]
        if relation == "same_category":
            return other.category == mine.category
        if relation == "complementary":
            return other.category in COMPLEMENTS[mine.category]
        if relation == "shared_region":
            return "universal" in mine.regions + other.regions or any(
                region in other.regions for region in mine.regions
            )
        if relation == "no_shared_word":
            return not self.words[a] & self.words[b]
        return {"nova_known": other.nova is not None}[relation]

    def pool(self, family: Mapping[str, Any], anchor: int) -> list[int]:
        """What may be a candidate, the most similar first; equal ones by name."""
        found = [at for at in self.eligible if at != anchor]
        for relation in family["pool"]:
            found = [at for at in found if self.relates(relation, anchor, at)]
        cosines = self.cosines(anchor)
        # Items ascend by name, and sorting keeps the order of equal ones.
        return sorted(found, key=lambda at: -cosines[at])

    def spaced(self, family: Mapping[str, Any], anchor: int) -> Iterator[Row]:
        """Candidates evenly spaced among the most similar."""
        pool = self.pool(family, anchor)
        if len(pool) < family["least_pool"]:
            return
        chosen = spaced_out(pool[: family["among"]], 8)
        cosines = self.cosines(anchor)
        spread = Fraction(cosines[chosen[0]] - cosines[chosen[-1]], ONE)
        if spread >= Fraction(family["least_spread"]):
            yield {"chosen": chosen, "relevance": cosines, "ease": spread}

    def sparse(self, family: Mapping[str, Any], anchor: int) -> Iterator[Row]:
        """Four feasible candidates and four infeasible ones, by diet and cap."""
        pool = self.pool(family, anchor)
        for diet in family["diets"]:
            for cap in family["nova_caps"]:
                passes = [
                    at
                    for at in pool
                    if getattr(self.tags[at], diet) and (self.tags[at].nova or 9) <= cap
                ]
                kept = {*passes}
                fails = [at for at in pool if at not in kept]
                if len(passes) < 4 or len(fails) < 4:
                    continue
                step = Fraction(family["vegetarian_step"]) if diet == "vegetarian" else 0
                yield {
                    "chosen": passes[:4] + spaced_out(fails[: family["among"]], 4),
                    "passes": passes[:4],
                    "relevance": self.cosines(anchor),
                    "ease": -(cap + step),
                    "diet": diet,
                    "max_nova": cap,
                }

    def poles(self, family: Mapping[str, Any], anchor: int) -> Iterator[Row]:
        """The highest projections of different categories, and low ones evenly spaced."""
        regions = self.tags[anchor].regions
        if len(regions) != 1 or self.projected.get(regions[0]) is None:
            return
        values = self.projected[regions[0]]
        assert values is not None
        others = sorted((at for at in self.eligible if at != anchor), key=lambda at: -values[at])
        high: list[int] = []
        for at in others:
            if len(high) < 4 and self.tags[at].category not in {
                self.tags[h].category for h in high
            }:
                high.append(at)
        low = [at for at in others if at not in high][-family["among"] :]
        if len(high) < 4 or len(low) < 4:
            return
        low = spaced_out(low, 4)
        spread = Fraction(sum(values[at] for at in high) - sum(values[at] for at in low), 4 * ONE)
        if spread >= Fraction(family["least_spread"]):
            yield {
                "chosen": high + low,
                "relevance": values,
                "ease": spread,
                "region": regions[0],
            }

    # --- scores --------------------------------------------------------------------------

    def scored(self, family: Mapping[str, Any], row: Row) -> Row | None:
        """Basis points by set of candidates; None where the task is not accepted."""
        first, second = (Fraction(weight) for weight in family["weights"])
        unit = first.denominator * second.denominator
        a, b = int(first * unit), int(second * unit)
        values, passes = row["relevance"], {*row.get("passes", ())}
        cosines = {at: self.cosines(at) for at in row["chosen"]}
        utility, feasible = {}, set()
        for trio in combinations(sorted(row["chosen"]), 3):
            i, j, k = trio
            sides = cosines[i][j] + cosines[i][k] + cosines[j][k]
            utility[trio] = a * (values[i] + values[j] + values[k]) + b * sides
            if {
                "always": True,
                "demands": passes.issuperset(trio),
                "distinct_categories": len({self.tags[at].category for at in trio}) == 3,
            }[family["feasible"]]:
                feasible.add(trio)
        accepted = self.design["acceptance"]
        if len(feasible) < accepted["feasible_portfolios"]:
            return None
        low = min(utility[trio] for trio in feasible)
        span = max(utility[trio] for trio in feasible) - low
        if not span or Fraction(span, 3 * (a + b) * ONE) < Fraction(accepted["utility_range"]):
            return None
        points = {
            trio: round(Fraction(10_000 * (value - low), span)) if trio in feasible else 0
            for trio, value in utility.items()
        }
        if [*points.values()].count(10_000) != 1:
            return None
        return row | {"points": points, "allowed": feasible}

    def candidates(self, family: Mapping[str, Any]) -> list[Row]:
        """Accepted tasks of a family with their strata, the hardest first."""
        draw = {"spaced": self.spaced, "sparse": self.sparse, "poles": self.poles}[family["rule"]]
        found = []
        for anchor in self.eligible:
            for row in draw(family, anchor):
                accepted = self.scored(family, row | {"anchor": anchor})
                if accepted:
                    found.append(accepted)
        found.sort(key=lambda row: (row["ease"], self.items[row["anchor"]]))
        strata = self.design["selection"]["strata"]
        for at, row in enumerate(found):
            row["stratum"] = min(strata, strata * at // len(found) + 1)
        return found

    # --- selection -----------------------------------------------------------------------

    def panels(self) -> dict[str, list[Row]]:
        """Panel → rows as :func:`described` makes them."""
        limits = self.design["selection"]
        of_family = {f["name"]: self.candidates(f) for f in self.design["families"]}
        before: dict[str, set[int]] = {}
        made: dict[str, list[Row]] = {}
        for panel in self.design["panels"]:
            taken: set[int] = set()
            rows = []
            used: dict[str, set[int]] = {}
            for family in self.design["families"]:
                name = family["name"]
                # One that is not ranked has its own record of used anchors.
                record = "ranked" if family["ranked"] else f"only {name}"
                earlier = before.get(record, set())
                # Ranked families keep off the anchors of every family, the others off their own.
                barred = set().union(*before.values()) if family["ranked"] else earlier
                picked: list[Row] = []
                per_category: Counter[str] = Counter()
                sets = set()
                for stratum in range(1, limits["strata"] + 1):
                    here = [row for row in of_family[name] if row["stratum"] == stratum]
                    here.sort(
                        key=lambda row: (
                            row["anchor"] in earlier,
                            digest(
                                panel["seed"],
                                "select",
                                name,
                                row["stratum"],
                                self.items[row["anchor"]],
                            ),
                        )
                    )
                    count = 0
                    for row in here:
                        anchor = row["anchor"]
                        category = self.tags[anchor].category
                        if (
                            count == panel["per_stratum"]
                            or anchor in taken
                            or (panel.get("apart") and anchor in barred)
                            or per_category[category] == limits["per_category"]
                        ):
                            continue
                        if "region" in row:
                            if row["region"] not in panel["regions"]:
                                continue
                            if frozenset(row["chosen"]) in sets:
                                continue
                            sets.add(frozenset(row["chosen"]))
                        count += 1
                        taken.add(anchor)
                        used.setdefault(record, set()).add(anchor)
                        per_category[category] += 1
                        picked.append(row)
                rows += [
                    self.described(panel, family, number, row)
                    for number, row in enumerate(picked, 1)
                ]
            for record, anchors in used.items():
                before[record] = before.get(record, set()) | anchors
            made[panel["name"]] = rows
        return made

    def described(
        self, panel: Mapping[str, Any], family: Mapping[str, Any], number: int, row: Row
    ) -> Row:
        """A task with its id, labels, scores by label and prompt."""
        task_id = self.design["task_id"].format(
            code=self.code(), panel=panel["name"], family=family["name"], number=f"{number:03}"
        )
        ordered = sorted(
            row["chosen"], key=lambda at: digest(panel["seed"], "choice", task_id, self.items[at])
        )
        trios = [tuple(sorted(trio)) for trio in combinations(ordered, 3)]
        anchor = row["anchor"]
        made = {
            "id": task_id,
            "panel": panel["name"],
            "split": panel["split"],
            "family": family["name"],
            "stratum": row["stratum"],
            "anchor": self.items[anchor],
            "category": self.tags[anchor].category,
            "choices": tuple(self.items[at] for at in ordered),
            "scores": tuple(row["points"][trio] for trio in trios),
            "feasible": sum(1 << p for p, trio in enumerate(trios) if trio in row["allowed"]),
            "diet": row.get("diet"),
            "max_nova": row.get("max_nova"),
            "region": row.get("region"),
        }
        return made | {"prompt": self.prompt(family, made)}

    def prompt(self, family: Mapping[str, Any], row: Row) -> str:
        """Texts of the design with their fields replaced."""
        texts = self.design["prompt"]
        words = {
            "anchor": row["anchor"],
            "category": row["category"],
            "diet": row["diet"],
            "max_nova": row["max_nova"],
            "region": row["region"],
        }
        question = family["question"]
        for key, word in words.items():
            question = question.replace(f"{{{key}}}", str(word).replace("_", " "))
        lines = []
        for label, name in zip("ABCDEFGH", row["choices"], strict=True):
            lines.append(label + ". " + " ".join(name.split("_")))
        text = texts["layout"]
        for key, value in {
            "context": texts["context"].replace("{environment}", self.environment.name),
            "family": family["title"],
            "question": question,
            "candidates": "\n".join(lines),
            "instruction": texts["instruction"],
        }.items():
            text = text.replace(f"{{{key}}}", value)
        return str(text).strip("\n")

    def code(self) -> str:
        """Eight digits that stand for design, environment and its name."""
        made_of = ["flavourbench-task-code/1", self.environment.identity, self.environment.name]
        text = json.dumps([*made_of, sha256_of(self.design)], separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:8]

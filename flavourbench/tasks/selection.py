"""Selection: which of all possible tasks a panel takes, and in which order."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from flavourbench.environment import Environment
from flavourbench.errors import InputError, listed
from flavourbench.tasks.design import Family, PanelDesign, TaskDesign
from flavourbench.tasks.maps import accepted, score_maps
from flavourbench.tasks.pools import Candidates, candidates, eligible


@dataclass(frozen=True, slots=True)
class Possible:
    """Accepted tasks of a family by falling difficulty, and the stratum of each.

    The tasks of a panel are a part of them, in the order of their numbers.
    """

    family: Family
    candidates: Candidates
    strata: tuple[int, ...]

    def take(self, rows: list[int]) -> Possible:
        """Some of them, in the order of ``rows``."""
        chosen = self.candidates.take(np.array(rows, np.int64))
        return Possible(self.family, chosen, tuple(self.strata[row] for row in rows))


def possible_tasks(environment: Environment, design: TaskDesign) -> Iterator[Possible]:
    """What each family of the design can ask, in its order."""
    allowed = eligible(environment, design)
    for family in design.families:
        found = candidates(environment, family, allowed)
        found = found.take(accepted(score_maps(environment, family, found), family, design))
        # By falling difficulty; equal ones by anchor, then by variant.
        order = np.lexsort((found.region, found.max_nova, found.diet, found.anchors, found.ease))
        size, strata = len(order), design.strata
        cut = tuple(min(strata, strata * at // size + 1) for at in range(size))
        yield Possible(family, found.take(order), cut)


class Selector:
    """Takes the tasks of one panel after the other; remembers whose anchors were used."""

    def __init__(
        self, environment: Environment, design: TaskDesign, possible: list[Possible]
    ) -> None:
        self._environment, self._design, self._possible = environment, design, possible
        #: Anchors of earlier panels. A family that is not ranked has a set of its own.
        self._used: dict[str, set[int]] = {}

    def panel(self, panel: PanelDesign) -> list[Possible]:
        """Tasks of the next panel by family.

        Raises
        ------
        InputError
            A family has no task, or a ranked one too few categories.
        """
        taken: set[int] = set()
        found = []
        for possible in self._possible:
            chosen = possible.take(self._rows(panel, possible, taken))
            self._check(panel, chosen)
            taken.update(chosen.candidates.anchors.tolist())
            found.append(chosen)
        for chosen in found:
            self._used_by(chosen.family).update(chosen.candidates.anchors.tolist())
        return found

    def _used_by(self, family: Family) -> set[int]:
        return self._used.setdefault("" if family.ranked else family.name, set())

    def _rows(self, panel: PanelDesign, possible: Possible, taken: set[int]) -> list[int]:
        """Rows of one family: stratum by stratum, no anchor twice, no question twice."""
        design, found = self._design, possible.candidates
        by_category: Counter[int] = Counter()
        seen = {*taken}
        asked: set[tuple[int, ...]] = set()
        rows: list[int] = []
        for stratum in range(1, design.strata + 1):
            full = len(rows) + panel.per_stratum
            for row in self._ordered(panel, possible, stratum):
                if len(rows) == full:
                    break
                anchor = int(found.anchors[row])
                category = int(self._environment.category[anchor])
                if anchor in seen or by_category[category] == design.per_category:
                    continue
                if possible.family.rule == "poles":  # the prompt does not show the anchor
                    question = tuple(sorted(found.choices[row].tolist()))
                    if question in asked:
                        continue
                    asked.add(question)
                seen.add(anchor)
                by_category[category] += 1
                rows.append(row)
        return rows

    def _ordered(self, panel: PanelDesign, possible: Possible, stratum: int) -> list[int]:
        """Rows of a stratum by hash of the anchor, those of unused anchors first."""
        environment, found = self._environment, possible.candidates
        used = self._used_by(possible.family)
        barred = self._barred(panel, possible.family)
        keys = []
        for row, own in enumerate(possible.strata):
            anchor, region = int(found.anchors[row]), int(found.region[row])
            if own != stratum or anchor in barred:
                continue
            if region >= 0 and environment.regions[region] not in panel.regions:
                continue
            name = environment.items[anchor]
            digest = hashed(panel.seed, "select", possible.family.name, stratum, name)
            keys.append((anchor in used, digest, row))
        return [row for _, _, row in sorted(keys)]

    def _barred(self, panel: PanelDesign, family: Family) -> set[int]:
        """Anchors that a panel must not use because earlier ones did.

        A family that is not ranked is set apart by its regions; its anchors are never shown.
        """
        if not panel.apart:
            return set()
        return set[int]().union(*self._used.values()) if family.ranked else self._used_by(family)

    def _check(self, panel: PanelDesign, chosen: Possible) -> None:
        family, anchors = chosen.family, chosen.candidates.anchors.tolist()
        categories = sorted({self._environment.tags[at].category for at in anchors})
        least = self._design.least_categories if family.ranked else 1
        if len(categories) < least:
            have = f" ({listed(categories)})" if categories else ""
            raise InputError(
                f"panel {panel.name}: {len(anchors)} tasks of family {family.name}, anchors of"
                f" {len(categories)} categories{have}, needed are {least}: use a larger"
                " environment or a --design that asks for less"
            )


def hashed(*parts: object) -> str:
    """Hex SHA-256 of texts joined by zero characters: what orders anchors and candidates."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()

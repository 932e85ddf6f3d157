"""Tables → environment, and how the rows of one are made.

The methods that were tried are kept and named, so that ``fb env evaluate --all`` measures
them again; :data:`METHOD` made the environment that ships.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from flavourbench.environment.environment import Environment
from flavourbench.environment.pantry.evidence import (
    Evidence,
    attribute_rows,
    evidence,
    pair_counts,
    positions,
    positive_pmi,
    unit,
)
from flavourbench.environment.pantry.tables import PantryTables
from flavourbench.environment.space import Floats, unit_rows
from flavourbench.environment.tagfile import file_facts
from flavourbench.errors import InputError, shown

DIMENSIONS = 300
LABEL = (
    "Open Pantry, built from open recipes and tables written for this project; not Epicure and"
    " not a measure of human taste"
)
FLAGS_NOTE = (
    "Diet and NOVA flags are the project's own judgement of the usual product, not dietary or"
    " allergen advice."
)
LICENCE = "CC-BY-SA-4.0"
RECIPE = "flavourbench-pantry/1"

#: Of two negative samples a pair (Levy & Goldberg 2014).
SHIFT = math.log(2)
#: What has to be said of an environment built from tables of one's own.
OWN_LABEL = "built from tables of one's own, not the Open Pantry"
OWN_FLAGS_NOTE = "Diet and NOVA flags are those of its tables, not dietary or allergen advice."

#: Unit rows [n, d] from the evidence of the tables, d up to :data:`DIMENSIONS`.
Rows = Callable[[Evidence], Floats]


def factorised(kernel: Floats, power: float = 0.5) -> Floats:
    """Unit rows from the leading eigenpairs of a symmetric kernel [n, n]: U λ^power.

    With power 1/2 the rows' dot products are the best approximation of the kernel that rows of
    so many dimensions can give (Eckart & Young 1936; negative eigenvalues have no part in it).
    Signs and the basis of equal eigenvalues are those of the machine; cosines do not depend on
    them.
    """
    values, vectors = np.linalg.eigh(kernel)  # ascending
    leading = np.maximum(values[::-1][:DIMENSIONS], 0.0)
    return unit(vectors[:, ::-1][:, :DIMENSIONS] * leading**power)


def cosines(rows: Floats) -> Floats:
    """Cosines of all pairs of rows."""
    made = unit(rows)
    return made @ made.T


def _blend(
    associated: Callable[[Evidence], Floats],
    first: float,
    second: float,
    attributes: float,
    power: float = 0.5,
) -> Rows:
    """Rows from a weighted sum of three kernels of cosines.

    First order is what goes together: rows whose products approximate the association of
    pairs. Second order is what goes with the same: rows of associations themselves.
    """

    def rows(found: Evidence) -> Floats:
        pairs = associated(found)
        kernel = attributes * cosines(found.attributes)
        if first:
            kernel += first * cosines(factorised(pairs))
        if second:
            kernel += second * cosines(pairs)
        return factorised(kernel, power)

    return rows


def _npmi(found: Evidence) -> Floats:
    return found.normalised_pmi


def _ppmi(found: Evidence) -> Floats:
    return found.positive_pmi


#: Name → how rows are made: the ways that were measured (see docs/pantry.md).
METHODS: dict[str, Rows] = {
    "npmi-blend": _blend(_npmi, 0.7, 1.0, 0.2),
    "ppmi-blend": _blend(_ppmi, 0.7, 1.0, 0.2),
    "npmi-blend-attributes": _blend(_npmi, 0.7, 1.0, 0.3),
    "npmi-blend-equal": _blend(_npmi, 1.0, 1.0, 0.2),
    "npmi-blend-second": _blend(_npmi, 0.3, 1.0, 0.2),
    "npmi-both-orders": _blend(_npmi, 0.7, 1.0, 0.0),
    "npmi-first": lambda found: factorised(found.normalised_pmi),
    "ppmi-first": lambda found: factorised(found.positive_pmi),
    "ppmi-first-shifted": lambda found: factorised(positive_pmi(found.together, SHIFT)),
    "npmi-first-attributes": _blend(_npmi, 1.0, 0.0, 0.2),
    "npmi-second": _blend(_npmi, 0.0, 1.0, 0.0),
    "ppmi-second": _blend(_ppmi, 0.0, 1.0, 0.0),
    "npmi-second-attributes": _blend(_npmi, 0.0, 1.0, 0.2),
    "npmi-second-attributes-peaked": _blend(_npmi, 0.0, 1.0, 0.3, 0.75),
    "attributes": _blend(_npmi, 0.0, 0.0, 1.0),
}
#: The one whose rows alone complete recipes best: operations use nothing else. No task and no
#: score map had a part in the choice.
METHOD = "npmi-blend"


def rows_by(method: str) -> Rows:
    """The method of a name.

    Raises
    ------
    InputError
        There is none.
    """
    if method not in METHODS:
        raise InputError(f"method '{shown(method)}': use {', '.join(METHODS)}")
    return METHODS[method]


def evidence_of(tables: PantryTables) -> Evidence:
    """Counts over all recipes and dishes, and attributes."""
    index = {name: at for at, name in enumerate(tables.names)}
    recipes, dishes = (
        pair_counts(positions([row.ingredients for row in part], index), len(index))
        for part in (tables.recipes, tables.dishes)
    )
    return evidence(recipes, dishes, attribute_rows(tables.ingredients))


def build_environment(
    tables: PantryTables, name: str = "pantry", method: str = METHOD, *, own: bool = False
) -> Environment:
    """The environment of tables; deterministic.

    Parameters
    ----------
    own : whether the tables are not those of the package, and so no Open Pantry

    Raises
    ------
    InputError
        There is no such method, or an ingredient has neither a partner nor an attribute.
    """
    rows = rows_by(method)(evidence_of(tables))
    about = {"title": "Open Pantry", "label": LABEL, "licence": LICENCE}
    provenance = {
        **({"label": OWN_LABEL} if own else about),
        "flags": OWN_FLAGS_NOTE if own else FLAGS_NOTE,
        "recipe": RECIPE,
        "method": method,
        "files": file_facts(tables.files),
    }
    tags = tuple(ingredient.tags for ingredient in tables.ingredients)
    return Environment(tables.names, unit_rows(rows, tables.names), tags, name, provenance)

"""The bundled table: a reconstruction of the released 27-model analysis."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from flavourbench.analysis.matrix import ScoreMatrix
from flavourbench.analysis.tables import read_scores
from flavourbench.errors import CheckError

FOLDER = Path(__file__).parents[1] / "data" / "published"
LABEL = (
    "moment-matched reconstruction of the released 27-model analysis from its published"
    " figures, not the raw responses"
)


def bundled_matrix() -> ScoreMatrix:
    """The frozen reconstruction, with display names and its label.

    Raises
    ------
    CheckError
        The frozen table differs from its recorded digest.
    """
    table = FOLDER / "reconstruction.csv"
    recorded = (FOLDER / "reconstruction.sha256").read_text().split()[0]
    found = hashlib.sha256(table.read_bytes()).hexdigest()
    if found != recorded:
        raise CheckError(f"{table.name} has digest {found}, recorded is {recorded}: reinstall")
    figures = json.loads((FOLDER / "figures.json").read_text(encoding="utf-8"))
    names = {model["id"]: model["name"] for model in figures["models"]}
    matrix = read_scores(table)
    return replace(matrix, names=tuple(names[model] for model in matrix.models), label=LABEL)

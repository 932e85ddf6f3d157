"""Made-up folders in the published layout, written with no code of the product."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from task_files import PORTFOLIOS, Row, study, write_rows

MODELS = ("org/herb", "org/leek", "org/sage")
ROWS = study(tasks=7, panels=2, regional=2)
FILES = ("tasks.jsonl", "primary_observations.jsonl")


def observations(rows: Sequence[Row] = ROWS, models: Sequence[str] = MODELS) -> list[Row]:
    """A valid answer of each model to each task; later models choose better ones."""
    found = []
    for number, model in enumerate(models):
        source = random.Random(number)
        for task in rows:
            scores = task["selection_scores_bps"]
            choice = max(source.choices(PORTFOLIOS, k=1 + number), key=scores.__getitem__)
            found.append(
                {
                    "model_id": model,
                    "task_id": task["task_id"],
                    "release_panel": task["source_panel"],
                    "repeat": 0,
                    "served_model": f"{model}-2026",
                    "outcome": "answered",
                    "valid": True,
                    "selection": choice,
                    "score_bps": scores[choice],
                }
            )
    return found


def invalid(row: Row, outcome: str = "refused", **more: Any) -> Row:
    """The row of an answer that does not count."""
    return row | {"outcome": outcome, "valid": False, "selection": None, "score_bps": None} | more


def write_folder(
    folder: Path,
    cells: Sequence[Row] | None = None,
    change: Callable[[list[Row]], None] | None = None,
    tasks: Sequence[Row] = ROWS,
) -> Path:
    """A folder with task file and observations; ``change`` works on a copy of their rows."""
    folder.mkdir()
    made: list[Row] = json.loads(json.dumps(observations() if cells is None else cells))
    if change is not None:
        change(made)
    write_rows(folder / FILES[0], tasks)
    write_rows(folder / FILES[1], made)
    return folder

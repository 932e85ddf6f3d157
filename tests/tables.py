"""Small score tables for tests: one set of scores, written in any form users have.

A :class:`Scores` is the truth; :func:`long` and :func:`wide` give its columns, and
:func:`write` puts columns into a CSV or Parquet file by the suffix of the path.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Scores:
    """Scores with their design; ``values[m][t]`` is the score of model m on task t.

    ``panels``, ``families`` and ``anchors`` have an entry for each task, ``chance`` too
    where there is one.
    """

    models: list[str]
    tasks: list[str]
    panels: list[str]
    families: list[str]
    anchors: list[str]
    values: list[list[float]]
    chance: list[float] | None = None

    def named(self, models: Sequence[str]) -> Scores:
        """The same scores under other model ids."""
        return replace(self, models=list(models))

    def with_row(self, model: int, row: Iterable[float]) -> Scores:
        """The same table with other scores of one model."""
        values = [list(r) for r in self.values]
        values[model] = list(row)
        return replace(self, values=values)


def scores(
    models: int = 3,
    *,
    panels: int = 2,
    families: int = 2,
    tasks: int = 10,
    anchors: int | None = None,
    spread: float = 4.0,
    decimals: int = 2,
    scale: float = 1.0,
    chance: bool = False,
    seed: int = 1,
) -> Scores:
    """Random scores of ``panels × families`` strata with ``tasks`` tasks each.

    Parameters
    ----------
    anchors : int, optional
        Anchors that the tasks share in turn; by default every task has its own.
    spread : float
        Difference of the expected scores of neighbouring models.
    """
    source = random.Random(seed)
    ids, panel, family, anchor = [], [], [], []
    for p in range(panels):
        for f in range(families):
            for t in range(tasks):
                anchor.append(f"a{len(ids) % anchors if anchors else len(ids):03d}")
                ids.append(f"t{p}{f}-{t:03d}")
                panel.append(f"panel{p}")
                family.append(f"family{f}")
    values = [
        [round((50 + spread * m + source.uniform(-30, 30)) * scale, decimals) for _ in ids]
        for m in range(models)
    ]
    levels = [round(source.uniform(5, 50), 1) for _ in ids] if chance else None
    names = [f"model-{m:03d}" for m in range(models)]
    return Scores(names, ids, panel, family, anchor, values, levels)


def long(table: Scores) -> Columns:
    """One row a score: ``model, task, panel, family, anchor[, chance], score``."""
    count = len(table.models)
    columns: Columns = {
        "model": [model for model in table.models for _ in table.tasks],
        "task": table.tasks * count,
        "panel": table.panels * count,
        "family": table.families * count,
        "anchor": table.anchors * count,
        "score": [value for row in table.values for value in row],
    }
    return columns if table.chance is None else columns | {"chance": table.chance * count}


def wide(table: Scores) -> Columns:
    """One row a task: ``task, panel, family, anchor[, chance]`` and one column a model."""
    columns: Columns = {
        "task": list(table.tasks),
        "panel": list(table.panels),
        "family": list(table.families),
        "anchor": list(table.anchors),
    }
    if table.chance is not None:
        columns["chance"] = list(table.chance)
    return columns | dict(zip(table.models, (list(row) for row in table.values), strict=True))


def rows_where(columns: Mapping[str, Sequence[Any]], keep: Iterable[int]) -> Columns:
    """The rows ``keep`` of a table, in that order."""
    index = list(keep)
    return {name: [values[i] for i in index] for name, values in columns.items()}


def shuffled(columns: Mapping[str, Sequence[Any]], seed: int = 2) -> Columns:
    """The same table with its rows and its columns in another order."""
    source = random.Random(seed)
    rows = list(range(len(next(iter(columns.values())))))
    names = list(columns)
    source.shuffle(rows)
    source.shuffle(names)
    table = rows_where(columns, rows)
    return {name: table[name] for name in names}


def csv_text(columns: Mapping[str, Sequence[Any]], **options: Any) -> str:
    """The table as CSV; ``options`` go to :func:`csv.writer`, None is an empty cell."""
    import io

    out = io.StringIO()
    writer = csv.writer(out, **({"lineterminator": "\n"} | options))
    writer.writerow(columns)
    writer.writerows(
        ["" if value is None else value for value in row]
        for row in zip(*columns.values(), strict=True)
    )
    return out.getvalue()


def write(path: Path, columns: Mapping[str, Sequence[Any]]) -> Path:
    """Write a table as CSV or Parquet, by the suffix of ``path``, and return ``path``.

    Columns of Arrow type are written to Parquet as they are.
    """
    if path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        arrays = [
            values if isinstance(values, pa.Array) else pa.array(values)
            for values in columns.values()
        ]
        pq.write_table(pa.Table.from_arrays(arrays, names=list(columns)), path)
    else:
        path.write_text(csv_text(columns), encoding="utf-8", newline="")
    return path

"""Observations, however their file is ordered, are read as what they say; written, as they were."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from published_release import ROWS
from strategies import few
from task_files import PORTFOLIOS, write_rows

from flavourbench.analysis.answers import Evidence, Observation, coverage_of, routes_of
from flavourbench.analysis.core import MISSING, freeze
from flavourbench.analysis.published.observations import observation_lines, read_observations
from flavourbench.collect.outcomes import ANSWERED, OUTCOMES
from flavourbench.tasks.files import read_tasks
from flavourbench.tasks.reward import score_of
from flavourbench.tasks.taskset import TaskSet

_names = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=8)
_stated = st.dictionaries(st.sampled_from(("requested_model", "served_model", "provider")), _names)
_reasons = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


SOURCE = {"kind": "observations", "content_sha256": "0"}


def tasks_at(folder: Path) -> TaskSet:
    return read_tasks(write_rows(folder / "tasks.jsonl", ROWS))


@few(15)
@given(st.dictionaries(_names, _stated, min_size=1, max_size=4), st.data())
def test_what_is_written_is_read_again(
    models: dict[str, dict[str, str]], data: st.DataObject
) -> None:
    """Any outcomes, names, reasons and routes, in any order of lines."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        tasks = tasks_at(folder)
        always = {task.id for task in tasks.tasks[::3]}  # a core needs some of each family
        rows = []
        for slot, stated in models.items():
            for task in tasks.tasks:
                valid = task.id in always or data.draw(st.booleans())
                outcome = ANSWERED if valid else data.draw(st.sampled_from((*OUTCOMES, MISSING)))
                row = {"model_id": slot, "task_id": task.id, "outcome": outcome, **stated}
                if outcome == ANSWERED:
                    row["selection"] = data.draw(st.sampled_from(PORTFOLIOS))
                elif outcome != MISSING:
                    row["reason"] = data.draw(_reasons)
                rows.append(row)
        path = write_rows(folder / "o.jsonl", rows)
        seen = read_observations(path, tasks)
        found = seen.observations(tasks)
        assert found == tuple(
            Observation(
                row["model_id"],
                row["task_id"],
                row["outcome"],
                row.get("reason", ""),
                row.get("selection"),
                score_of(tasks.by_id[row["task_id"]], row["selection"])
                if "selection" in row
                else None,
            )
            for row in sorted(rows, key=lambda row: (row["model_id"], row["task_id"]))
        )
        known = seen.models({}, SOURCE)
        ended = {(row.slot, row.task_id): row.outcome for row in found}
        core = freeze(coverage_of(routes_of(known), ended, tasks), "1")
        lines = [*observation_lines(Evidence(tasks, known, None, found, core))]
        random.Random(len(lines)).shuffle(lines)
        again = folder / "again.jsonl"
        again.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        back = read_observations(again, tasks)
        assert back.observations(tasks) == found
        assert back.models({}, SOURCE) == known
        assert {name for name, ranked in back.ranked.items() if ranked} == core.ids

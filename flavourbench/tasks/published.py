"""The published task file: one task a line, compact JSON with sorted keys.

Import keeps ids, prompts, scores and unknown keys as they are, so that export gives the same
bytes again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flavourbench.errors import InputError, listed, shown
from flavourbench.tasks.design import TaskDesign, read_design
from flavourbench.tasks.jsonl import check_unicode, compact, json_lines
from flavourbench.tasks.labels import LABELS, PORTFOLIOS
from flavourbench.tasks.parsing import PARSERS
from flavourbench.tasks.taskset import REGIONAL, Task, TaskSet, check_scores, check_text

#: What the published files call our families.
PUBLISHED_NAMES = {REGIONAL: "cultural_composition"}
_OUR_NAMES = {theirs: ours for ours, theirs in PUBLISHED_NAMES.items()}
_PARSER = "published-v3"
_SIZE = 3
#: Keys of a published row that have a field of their own, and their types.
_KEYS: dict[str, type] = {
    "task_id": str,
    "split": str,
    "family": str,
    "validation_stratum": int,
    "anchor_ingredient": str,
    "primary_category": str,
    "prompt": str,
    "prompt_sha256": str,
    "choices": dict,
    "selection_size": int,
    "selection_scores_bps": dict,
    "optimal_selection": str,
    "chance_score_bps": int,
    "optimal_margin_bps": int,
}
_ORACLE = "oracle_reference"
#: Where a row says which panel it belongs to, the first that is there.
PANEL_KEYS = ("release_panel", "source_panel")
#: Keys of our own, in exports of compiled panels only.
_MASK_KEY, _PARSER_KEY, _RANKED_KEY, _ORIGIN_KEY = "feasible_mask", "parser", "ranked", "compiled"
_HEX = re.compile("[0-9a-f]{14}")


def read_published(path: Path) -> TaskSet:
    """Read a published task file, every row checked.

    Raises
    ------
    InputError
        A line that is no task, with its number: a key is missing, a digest, optimum, chance
        level or margin does not follow from the row, an id occurs twice, or only some rows
        name a panel or another parser.
    """
    rows: list[tuple[int, dict[str, Any], Task]] = []
    lines: dict[str, int] = {}
    digest = hashlib.sha256()
    for number, row in json_lines(path, digest):
        try:
            task = _task(row, path.stem)
            first = lines.setdefault(task.id, number)
            if first != number:
                raise InputError(
                    f"task id {shown(task.id)} is that of line {first} too: keep one task of each"
                )
            if rows and task.parser != rows[0][2].parser:
                raise InputError(
                    f"answers are read by {task.parser}, those of line {rows[0][0]} by"
                    f" {rows[0][2].parser}: do not mix both"
                )
        except InputError as error:
            raise InputError(f"{shown(path, 200)} line {number}: {error}") from error
        rows.append((number, row, task))
    named = [any(key in row for key in PANEL_KEYS) for _, row, _ in rows]
    if any(named) and not all(named):
        number = rows[named.index(False)][0]
        raise InputError(
            f"{shown(path, 200)} line {number}: names no panel ({' or '.join(PANEL_KEYS)}), other"
            " lines do: do not mix panels"
        )
    environment, design = _origin(path, rows)
    source = {"name": path.name, "sha256": digest.hexdigest()}
    return TaskSet(tuple(task for _, _, task in rows), environment, design, (source,))


def _origin(
    path: Path, rows: Sequence[tuple[int, Mapping[str, Any], Task]]
) -> tuple[dict[str, str], TaskDesign | None]:
    """Environment and design of tasks that were compiled here, else nothing.

    A design other than the packaged one is not in the file, and so stays unknown.
    """
    first = rows[0][1].get(_ORIGIN_KEY)
    for number, row, _ in rows:
        if row.get(_ORIGIN_KEY) != first:
            raise InputError(
                f"{shown(path, 200)} line {number}: {_ORIGIN_KEY} is not that of line"
                f" {rows[0][0]}: do not mix panels"
            )
    if first is None:
        return {}, None
    keys = ("name", "identity", "design_sha256")
    if not isinstance(first, dict) or not all(isinstance(first.get(key), str) for key in keys):
        raise InputError(
            f"{shown(path, 200)} line {rows[0][0]}: {_ORIGIN_KEY} is {shown(first)}: it holds"
            f" the texts {', '.join(keys)}"
        )
    design = read_design()
    known = design if first["design_sha256"] == design.sha256 else None
    return {key: first[key] for key in keys[:2]}, known


def _task(row: Mapping[str, Any], stem: str) -> Task:
    check_unicode(row)
    for key, kind in (*_KEYS.items(), (_ORACLE, dict)):
        if key not in row:
            raise InputError(f"key {key} is missing: a published task has {', '.join(_KEYS)}")
        if not isinstance(row[key], kind) or isinstance(row[key], bool):
            raise InputError(f"{key} is {shown(row[key])}, not of type {kind.__name__}")
    oracle = row[_ORACLE]
    extra = {key: value for key, value in row.items() if key not in _KEYS}
    parser = row.get(_PARSER_KEY, _PARSER)
    if not isinstance(parser, str) or parser not in PARSERS:
        raise InputError(f"parser is {shown(parser)}: known are {', '.join(PARSERS)}")
    panel = next((row[key] for key in PANEL_KEYS if key in row), stem)
    task = Task(
        id=check_text("task_id", row["task_id"]),
        panel=check_text("panel", panel),
        split=check_text("split", row["split"]),
        family=_OUR_NAMES.get(row["family"], check_text("family", row["family"])),
        stratum=row["validation_stratum"],
        anchor=check_text("anchor_ingredient", row["anchor_ingredient"]),
        category=check_text("primary_category", row["primary_category"]),
        prompt=row["prompt"],
        choices=_choices(row["choices"]),
        scores=_scores(row["selection_scores_bps"]),
        feasible=_mask(row.get(_MASK_KEY)),
        diet=_optional(oracle, "constraint_variant", str),
        max_nova=_optional(oracle, "maximum_nova", int),
        region=_region(oracle),
        ranked=_ranked(row),
        parser=parser,
        extra=extra,
    )
    _check_derived(row, task)
    return task


def _choices(choices: Mapping[str, Any]) -> tuple[str, ...]:
    if sorted(choices) != [*LABELS]:
        raise InputError(f"choices have the labels {listed(sorted(choices))}, not A to H")
    return tuple(choices[label] for label in LABELS)


def _scores(scores: Mapping[str, Any]) -> tuple[int, ...]:
    missing = [label for label in PORTFOLIOS if label not in scores]
    unknown = [label for label in scores if label not in PORTFOLIOS]
    if missing or unknown:
        what = f"without {listed(missing)}" if missing else f"with {listed(unknown)}"
        raise InputError(
            f"selection_scores_bps has {len(scores)} scores, {what}: a task has one for each of"
            f" the {len(PORTFOLIOS)} portfolios ABC to FGH"
        )
    found = tuple(scores[label] for label in PORTFOLIOS)
    check_scores(found)
    return found


def _mask(value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise InputError(f"{_MASK_KEY} is '{shown(value)}': use 14 hexadecimal digits in a text")
    return int(value, 16)


def _optional(oracle: Mapping[str, Any], key: str, kind: type) -> Any:
    value = oracle.get(key)
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
        raise InputError(f"{_ORACLE}.{key} is {shown(value)}, not of type {kind.__name__}")
    return value


def _ranked(row: Mapping[str, Any]) -> bool:
    value = row.get(_RANKED_KEY, row["family"] != PUBLISHED_NAMES[REGIONAL])
    if not isinstance(value, bool):
        raise InputError(f"{_RANKED_KEY} is {shown(value)}: use true or false")
    return value


def _region(oracle: Mapping[str, Any]) -> str | None:
    value = oracle.get("target_region")
    return None if value is None else check_text(f"{_ORACLE}.target_region", value)


def _check_derived(row: Mapping[str, Any], task: Task) -> None:
    """Refuse a row whose digests, optimum, chance level or margin say something else."""
    derived = {
        "prompt_sha256": task.prompt_sha256,
        "selection_size": _SIZE,
        "optimal_selection": task.optimum,
        "chance_score_bps": round(task.chance),
        "optimal_margin_bps": task.top_gap,
    }
    if f"{_ORACLE}_sha256" in row:
        text = compact(row[_ORACLE])
        derived[f"{_ORACLE}_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    for key, value in derived.items():
        if row[key] != value:
            what = "the prompt was altered" if key == "prompt_sha256" else "the row says otherwise"
            raise InputError(
                f"task {shown(task.id)}: {key} is {shown(row[key])}, not {value}: {what}"
            )


def published_rows(tasks: TaskSet) -> list[str]:
    """The lines of a published task file, without line ends."""
    compiled = origin_of(tasks)
    return [compact(_row(task, compiled)) for task in tasks.tasks]


def origin_of(tasks: TaskSet) -> dict[str, str] | None:
    """What an export says of environment and design of compiled tasks; None for others."""
    if tasks.design is None:
        return None
    return {**tasks.environment, "design_sha256": tasks.design.sha256}


def _row(task: Task, compiled: Mapping[str, str] | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "task_id": task.id,
        "split": task.split,
        "family": PUBLISHED_NAMES.get(task.family, task.family),
        "validation_stratum": task.stratum,
        "anchor_ingredient": task.anchor,
        "primary_category": task.category,
        "prompt": task.prompt,
        "prompt_sha256": task.prompt_sha256,
        "choices": dict(zip(LABELS, task.choices, strict=True)),
        "selection_size": _SIZE,
        "selection_scores_bps": dict(zip(PORTFOLIOS, task.scores, strict=True)),
        "optimal_selection": task.optimum,
        "chance_score_bps": round(task.chance),
        "optimal_margin_bps": task.top_gap,
    }
    return (dict(task.extra) or own_keys(task, compiled)) | row


def own_keys(task: Task, compiled: Mapping[str, str] | None) -> dict[str, Any]:
    """What a task that was not imported says beyond its fields."""
    oracle = {
        "all_combinations_scored": len(PORTFOLIOS),
        "anchor": task.anchor,
        "constraint_variant": task.diet,
        "invalid_selection_score_bps": 0,
        "maximum_nova": task.max_nova,
        "normalization": "within_task_min_max_over_valid_selections",
        "selection_size": _SIZE,
        "target_region": task.region,
    }
    found = {
        "source_panel": task.panel,
        _PARSER_KEY: task.parser,
        _RANKED_KEY: task.ranked,
        _ORACLE: oracle,
    }
    if compiled is not None:
        found[_ORIGIN_KEY] = compiled
    if task.feasible is not None:
        found[_MASK_KEY] = f"{task.feasible:014x}"
    return found

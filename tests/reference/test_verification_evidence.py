"""What a forger changes in what scores were made from, and seals again, is found and named."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from panels import small_environment
from release_files import changed, places, replace_bytes, write_collected

from flavourbench.analysis.answers import Answer, Answers, Evidence, Observation
from flavourbench.analysis.core import Core, freeze
from flavourbench.analysis.inference import Inference, infer
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.release import read_evidence, write_release
from flavourbench.analysis.verify import verify_release
from flavourbench.environment.store import write_environment
from flavourbench.errors import InputError
from flavourbench.identity import canonical_json
from flavourbench.tasks.labels import PORTFOLIOS

Forge = Callable[[Evidence], Evidence]


@pytest.fixture(scope="module", autouse=True)
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The environment that scored the tasks is here, so that all of them can be derived."""
    folder = tmp_path_factory.mktemp("environments")
    write_environment(small_environment(), folder / "small")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flavourbench.environment.store.store_folder", lambda: folder)
        yield


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collected(tmp_path_factory.mktemp("evidence") / "r")


@pytest.fixture(scope="module")
def evidence(original: Path) -> Evidence:
    found = read_evidence(original)
    assert found is not None
    coverage = Answers(found.models, found.answers or ()).coverage(found.tasks)
    return replace(found, core=freeze(coverage, "seed", 7))


@pytest.fixture(scope="module")
def inference(evidence: Evidence) -> Inference:
    return infer(evidence.matrix, Plan(40, 300), 1)


def failures(path: Path) -> str:
    return "; ".join(c["detail"] for c in verify_release(path) if c["passed"] is False)


def at(rows: tuple[Any, ...], place: int, **change: Any) -> tuple[Any, ...]:
    return (*rows[:place], rows[place]._replace(**change), *rows[place + 1 :])


def observation(**change: Any) -> Forge:
    """Another value in an observation on the core."""

    def forge(e: Evidence) -> Evidence:
        row = next(n for n, o in enumerate(e.observations) if o.task_id in e.core.ids)
        return replace(e, observations=at(e.observations, row, **change))

    return forge


def answer(**change: Any) -> Forge:
    return lambda e: replace(e, answers=at(e.answers or (), 0, **change))


def core(**change: Any) -> Forge:
    return lambda e: replace(e, core=replace(e.core, **change))


def core_by(change: Callable[[Core], dict[str, Any]]) -> Forge:
    return lambda e: replace(e, core=replace(e.core, **change(e.core)))


def first(core_: Core) -> tuple[str, str]:
    return min(core_.tasks)


def with_tasks(key: int, names: Callable[[Core, tuple[str, ...]], tuple[str, ...]]) -> Forge:
    """Other tasks in a stratum of the core."""

    def change(core_: Core) -> dict[str, Any]:
        stratum = sorted(core_.tasks)[key]
        return {"tasks": {**core_.tasks, stratum: names(core_, core_.tasks[stratum])}}

    return core_by(change)


def model(**change: Any) -> Forge:
    return lambda e: replace(e, models=(replace(e.models[0], **change), *e.models[1:]))


def task(**change: Any) -> Forge:
    def forge(e: Evidence) -> Evidence:
        tasks = list(e.tasks.tasks)
        tasks[2] = replace(tasks[2], **{k: v(tasks[2]) for k, v in change.items()})
        return replace(e, tasks=replace(e.tasks, tasks=tuple(tasks)))

    return forge


def other_scores(t: Any) -> tuple[int, ...]:
    place = next(p for p, score in enumerate(t.scores) if 0 < score < 10_000)
    return (*t.scores[:place], t.scores[place] - 1, *t.scores[place + 1 :])


FORGERIES: dict[str, tuple[Forge, str, str]] = {
    "selection": (observation(selection="FGH"), "observations.parquet", "derived"),
    "no selection": (observation(selection=None), "observations.parquet", "derived"),
    "no portfolio": (observation(selection="XYZ"), "observations.parquet", "XYZ"),
    "score": (observation(bps=10_000), "observations.parquet", "score_bps"),
    "outcome": (observation(outcome="refused"), "observations.parquet", "refused"),
    "no outcome": (observation(outcome="fine"), "observations.parquet", "fine"),
    "reason": (observation(reason="whim"), "observations.parquet", "whim"),
    "cell twice": (
        lambda e: replace(e, observations=(e.observations[0], *e.observations)),
        "observations.parquet",
        "duplicate cell",
    ),
    "cell gone": (
        lambda e: replace(e, observations=e.observations[1:]),
        "observations.parquet",
        "no cell",
    ),
    "cells turned": (
        lambda e: replace(e, observations=e.observations[::-1]),
        "observations.parquet",
        "ascend",
    ),
    "text": (answer(text="FINAL_SELECTION: F, G, H"), "observations.parquet", "FGH"),
    "unreadable text": (answer(text="well"), "answers.parquet", "says otherwise"),
    "answer's outcome": (answer(outcome="unparseable"), "answers.parquet", "says otherwise"),
    "answer's reason": (answer(reason="whim"), "answers.parquet", "whim"),
    "answer of nobody": (answer(slot="aaa"), "answers.parquet", "aaa"),
    "answer to nothing": (answer(task_id="a"), "answers.parquet", "ant a"),
    "answer twice": (
        lambda e: replace(e, answers=((e.answers or ())[0], *(e.answers or ()))),
        "answers.parquet",
        "duplicate cell ant",
    ),
    "answer gone": (
        lambda e: replace(e, answers=(e.answers or ())[1:]),
        "observations.parquet",
        "nobody asked",
    ),
    "seed": (core(seed="another"), "core.json", "strata"),
    "size": (core_by(lambda c: {"size": c.size + 1}), "core.json", "7 entries, derived 8"),
    "a task short": (with_tasks(0, lambda _, names: names[:-1]), "core.json", "strata"),
    "no task": (with_tasks(1, lambda _, names: ()), "core.json", "strata"),
    "another task": (
        with_tasks(2, lambda c, names: (*names[:-1], c.surplus[0])),
        "core.json",
        "strata",
    ),
    "another order": (with_tasks(0, lambda _, names: names[::-1]), "core.json", "strata"),
    "a family less": (
        core_by(lambda c: {"tasks": {k: v for k, v in c.tasks.items() if k != first(c)}}),
        "core.json",
        "strata",
    ),
    "who was invalid": (
        core_by(lambda c: {"left_out": {k: {"bee": "empty"} for k in c.left_out}}),
        "core.json",
        "left",
    ),
    "surplus": (core_by(lambda c: {"surplus": c.surplus[1:]}), "core.json", "left"),
    "counts": (core(invalid={"bee": {"empty": 3}}), "core.json", "invalid_cells"),
    "coverage": (core(coverage_sha256="0" * 64), "core.json", "coverage_sha256"),
    "another route": (
        core_by(lambda c: {"models": ((c.models[0][0], "0" * 64), *c.models[1:])}),
        "core.json",
        "route_digest",
    ),
    "a model less": (core_by(lambda c: {"models": c.models[1:]}), "core.json", ""),
    "a model more": (
        core_by(lambda c: {"models": (*c.models, ("dog", "0" * 64))}),
        "core.json",
        "dog",
    ),
    "route digest": (model(route_digest="0" * 64), "roster.json", "route_digest"),
    "route": (model(route={"dialect": "openai-chat", "model": "x"}), "roster.json", "route_digest"),
    "simulated": (model(simulated=True), "roster.json", "simulated"),
    "prompt": (task(prompt=lambda t: t.prompt + " "), "panels.parquet", "prompts"),
    "score map": (task(scores=other_scores), "panels.parquet", "derived"),
    "category": (task(category=lambda _: "Made up"), "panels.parquet", "categories"),
    "difficulty": (task(stratum=lambda t: t.stratum % 3 + 1), "panels.parquet", "not the same"),
    "feasible": (
        task(feasible=lambda t: t.feasible ^ (1 << t.scores.index(0))),
        "panels.parquet",
        "feasible portfolios",
    ),
    "not ranked": (task(ranked=lambda t: not t.ranked), "panels.parquet", "whether they"),
    "task gone": (
        lambda e: replace(e, tasks=replace(e.tasks, tasks=e.tasks.tasks[:-1])),
        "panels.parquet",
        "not the same",
    ),
    "a repeat below 0": (answer(repeat=-1), "answers.parquet", "below 0"),
    "a cost below 0": (answer(micro_dollars=-5), "answers.parquet", "below 0"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_is_forged_and_sealed_is_named(
    evidence: Evidence, inference: Inference, tmp_path: Path, name: str
) -> None:
    forge, file, says = FORGERIES[name]
    forged = forge(evidence)
    assert forged != evidence
    write_release(inference, tmp_path / "r", forged)
    found = failures(tmp_path / "r")
    assert file in found, found
    assert says in found, found
    quick = verify_release(tmp_path / "r", quick=True)
    assert not any(check["passed"] is False for check in quick)


def test_nothing_forged_is_nothing_found(
    evidence: Evidence, inference: Inference, tmp_path: Path
) -> None:
    write_release(inference, tmp_path / "r", evidence)
    assert failures(tmp_path / "r") == ""
    again = read_evidence(tmp_path / "r")
    assert again is not None
    for part in ("models", "answers", "observations", "core"):
        assert getattr(again, part) == getattr(evidence, part)


@pytest.mark.parametrize("name", ["core.json", "roster.json", "panels.json", "diagnostics.json"])
def test_every_key_of_the_evidence_is_derived(original: Path, tmp_path: Path, name: str) -> None:
    """But for where answers came from, and what the models are called."""
    value = json.loads((original / name).read_bytes())
    free = {"source", "kind", "content_sha256"} if name == "roster.json" else set()
    at_hand = tmp_path / "r"
    for place in places(value):
        if free & {*place}:
            continue
        shutil.rmtree(at_hand, ignore_errors=True)
        shutil.copytree(original, at_hand)
        forged = changed(value, place, _other)
        replace_bytes(at_hand, name, canonical_json(forged))
        found = failures(at_hand)
        # Tasks that no longer follow from their design are named, too.
        assert name in found or (name == "panels.json" and "panels.parquet" in found), place


def _odd_columns(table: Any) -> Iterator[tuple[str, Any]]:
    """The table with one column of another type, with a null, renamed, or gone."""
    for place, column in enumerate(table.column_names):
        values = table[column]
        kind = values.type
        other = pa.string() if not pa.types.is_string(kind) else pa.large_string()
        if pa.types.is_integer(kind):
            other = pa.int64() if kind != pa.int64() else pa.int32()
        if not pa.types.is_list(kind):
            yield f"{column} is", table.set_column(place, column, values.cast(other))
        nulls = pa.nulls(1, kind)
        with_null = pa.chunked_array([nulls, *values.slice(1).chunks], kind)
        yield column, table.set_column(place, column, with_null)
        yield (
            "columns",
            table.rename_columns(
                [*table.column_names[:place], "x", *table.column_names[place + 1 :]]
            ),
        )
        yield "columns", table.remove_column(place)


@pytest.mark.parametrize("name", ["answers.parquet", "observations.parquet", "panels.parquet"])
def test_evidence_of_other_columns_is_refused(original: Path, tmp_path: Path, name: str) -> None:
    table = pq.read_table(original / name)
    nullable = ("micro_dollars", "score_bps", "max_nova", "feasible")
    for says, forged in _odd_columns(table):
        shutil.rmtree(tmp_path / "r", ignore_errors=True)
        shutil.copytree(original, tmp_path / "r")
        sink = pa.BufferOutputStream()
        pq.write_table(forged, sink)
        replace_bytes(tmp_path / "r", name, sink.getvalue().to_pybytes())
        found = failures(tmp_path / "r")
        assert name in found, (says, found)
        if says not in nullable:
            assert says in found or "null" in found or "holds" in found, (says, found)


def test_a_model_that_stands_twice_is_named(original: Path, tmp_path: Path) -> None:
    shutil.copytree(original, tmp_path / "r")
    roster = json.loads((original / "roster.json").read_bytes())
    roster["models"].insert(1, roster["models"][0])
    replace_bytes(tmp_path / "r", "roster.json", canonical_json(roster))
    found = failures(tmp_path / "r")
    assert "roster.json" in found
    assert "ant, ant, bee, cat" in found


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}x" if isinstance(value, str) else None


def test_a_score_never_meets_an_outcome_before_the_core(evidence: Evidence) -> None:
    """Neither the record of a core nor what it is frozen from has a field for one."""
    fields = {field.name for field in dataclasses.fields(Core)}
    assert not fields & {*Observation._fields, *Answer._fields} - {"slot", "task_id", "outcome"}
    assert all(name in PORTFOLIOS for name in {o.selection for o in evidence.observations if o.bps})


def test_a_cell_is_answered_once(evidence: Evidence) -> None:
    rows = evidence.answers or ()
    with pytest.raises(InputError, match=r"slot ant, task .*: 2 answers to one cell"):
        Answers(evidence.models, (*rows, rows[0]))
    with pytest.raises(InputError, match="slot ant occurs twice"):
        Answers((*evidence.models, replace(evidence.models[0], route_digest="0")), rows)
    with pytest.raises(InputError, match="ant and zebra are one route"):
        Answers((*evidence.models, replace(evidence.models[0], slot="zebra")), rows)
    with pytest.raises(InputError, match="answers of ant, which is no model"):
        Answers(evidence.models[1:], rows)

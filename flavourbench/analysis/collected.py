"""Answers where they are kept: journals of a collection, and files of responses."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from flavourbench.analysis.answers import Answer, Answers, Model, coverage_of
from flavourbench.analysis.core import Coverage
from flavourbench.collect.journal.export import export_sha256
from flavourbench.collect.journal.opening import explained, read_journal
from flavourbench.collect.journal.queries import Answered, Block, answers, blocks, endings
from flavourbench.collect.outcomes import ANSWERED, TRANSPORT, UNPARSEABLE, read_reply
from flavourbench.collect.wire import MalformedError
from flavourbench.errors import InputError, listed, shown
from flavourbench.identity import file_sha256, json_sha256
from flavourbench.tasks.parsing import parser_named
from flavourbench.tasks.responses import read_responses
from flavourbench.tasks.reward import Grade, grades
from flavourbench.tasks.taskset import TaskSet, check_text

_FILE_RECIPE = "flavourbench-responses/1"


def journal_coverage(path: Path, slots: Sequence[str], tasks: TaskSet) -> Coverage:
    """How the cells of some models of a journal ended; no answer is read.

    Raises
    ------
    InputError
        There is no journal, or a model is not in it.
    CheckError
        The journal is damaged.
    """
    with _reading(path) as database:
        chosen = _chosen(database, slots)
        ended = {
            (block.slot, cell.task_id): cell.outcome
            for block in chosen
            for cell in endings(database, block.route_id)
            if cell.repeat == 0 and _asked(tasks, cell.task_id, cell.prompt_sha256)
        }
        return coverage_of([(block.slot, block.digest) for block in chosen], ended, tasks)


def journal_answers(path: Path, slots: Sequence[str], tasks: TaskSet) -> Answers:
    """Everything that some models of a journal answered to these tasks.

    Errors as :func:`journal_coverage`.
    """
    with _reading(path) as database:
        chosen = _chosen(database, slots)
        rows = [
            Answer(
                block.slot,
                cell.ended.task_id,
                cell.ended.repeat,
                cell.ended.outcome,
                cell.ended.reason,
                _text(cell, str(block.content["dialect"])),
                cell.micro_dollars,
            )
            for block in chosen
            for cell in answers(database, block.route_id)
            if _asked(tasks, cell.ended.task_id, cell.ended.prompt_sha256)
        ]
        return Answers(tuple(_model(database, block) for block in chosen), tuple(rows))


def response_answers(
    files: Sequence[Path], tasks: TaskSet, names: Mapping[str, str] = MappingProxyType({})
) -> Answers:
    """Answers in hand: one file of responses a model, whose slot is the stem of its name.

    Parameters
    ----------
    names : display names by slot; by default the slot

    Raises
    ------
    InputError
        A name of a file that cannot be printed, or see :func:`.responses.read_responses`.
    """
    parse = parser_named(tasks.parser)
    models, rows = [], []
    for file in files:
        slot = check_text(f"slot of {shown(file, 200)}", file.stem)
        for task_id, said in read_responses(file, tasks).items():
            text = _whole(said)
            read = parse(text, tasks.by_id[task_id].choices)
            outcome = ANSWERED if read.selection is not None else UNPARSEABLE
            rows.append(Answer(slot, task_id, 0, outcome, read.reason or "", text, None))
        route = {"recipe": _FILE_RECIPE, "slot": slot}
        source = {"kind": "responses", "content_sha256": file_sha256(file)}
        models.append(Model(slot, names.get(slot, slot), json_sha256(route), route, source))
    return Answers(tuple(models), tuple(rows))


def graded_journal(path: Path, slot: str | None, tasks: TaskSet) -> tuple[list[Grade], list[str]]:
    """Grades of one model of a journal at all tasks, and what has to be said of them.

    Parameters
    ----------
    slot : of the model; None if there is no other

    Raises
    ------
    InputError
        There is no such model, or several and none is named.
    """
    with _reading(path) as database:
        known = blocks(database)
        if slot is None and len(known) != 1:
            names = listed([block.slot for block in known])
            raise InputError(
                f"the journal has {len(known)} models: name one with --model ({names})"
            )
        block = known[0] if slot is None else _chosen(database, [slot])[0]
    found = journal_answers(path, [block.slot], tasks)
    first = [row for row in found.rows if row.repeat == 0]
    texts = {row.task_id: row.text for row in first if row.outcome == ANSWERED}
    reasons = {row.task_id: row.outcome for row in first}
    simulated = f"{block.name} is simulated: it chooses by the scores themselves."
    return grades(tasks, texts, reasons), [simulated] if block.simulated else []


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    database = read_journal(path)
    try:
        with explained(path):
            database.execute("BEGIN")  # one moment for all that is read
            yield database
    finally:
        database.close()


def _chosen(database: sqlite3.Connection, slots: Iterable[str]) -> list[Block]:
    """Blocks by slot or name."""
    known = blocks(database)
    named = {block.name: block for block in known} | {block.slot: block for block in known}
    for slot in slots:
        if slot not in named:
            names = listed([block.slot for block in known])
            raise InputError(
                f"no model {shown(slot)} in the journal, it has {names}: `fb collect` asks it"
            )
    return [named[slot] for slot in slots]


def _model(database: sqlite3.Connection, block: Block) -> Model:
    source = {"kind": "journal", "content_sha256": export_sha256(database, block.route_id)}
    return Model(block.slot, block.name, block.digest, block.content, source, block.simulated)


def _asked(tasks: TaskSet, task_id: str, prompt_sha256: str) -> bool:
    task = tasks.by_id.get(task_id)
    return task is not None and task.prompt_sha256 == prompt_sha256


def _text(cell: Answered, dialect: str) -> str:
    """The visible text of an answer, if there was one."""
    if cell.ended.outcome == TRANSPORT:
        return ""
    try:
        text = read_reply(cell.raw, dialect).text
    except MalformedError:  # an error that refuses
        return ""
    return _whole(text)


def _whole(text: str) -> str:
    """A text without halves of characters, which cannot be written."""
    return text.encode("utf-8", "replace").decode()

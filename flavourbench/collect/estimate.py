"""What a collection would take, given what its journal already holds, as one JSON object."""

from __future__ import annotations

from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from flavourbench.collect.journal.opening import begun, check_journal, explained, read_journal
from flavourbench.collect.journal.queries import blocks, endings
from flavourbench.collect.journal.registry import check_routes
from flavourbench.collect.outcomes import TRANSPORT
from flavourbench.collect.plan import Estimate, Job, estimates
from flavourbench.collect.secret import read_keys
from flavourbench.collect.status import usual_output
from flavourbench.collect.wire import MICRO
from flavourbench.errors import InputError


def estimate_object(job: Job, journal: Path) -> dict[str, Any]:
    """Requests, tokens and cost by model; nothing is sent or written.

    Raises
    ------
    InputError, CheckError
        The journal exists and cannot be read.
    """
    ended: dict[str, set[tuple[str, int]]] = {}
    usual: dict[str, float] = {}
    check_journal(journal)
    if begun(journal):
        prompts = {(task.id, task.prompt_sha256) for task in job.tasks.tasks}
        routes = {route.digest: route.slot for route in job.roster.routes}
        database = read_journal(journal)
        try:
            with explained(journal):
                check_routes(database, job.roster.routes, job.new_blocks)
                for block in blocks(database):
                    slot = routes.get(block.digest)
                    if slot is None:
                        continue
                    ended[slot] = {
                        (cell.task_id, cell.repeat)
                        for cell in endings(database, block.route_id)
                        if (cell.task_id, cell.prompt_sha256) in prompts
                        and not (job.retry_transport and cell.outcome == TRANSPORT)
                    }
                    length = usual_output(database, block.route_id)
                    if length is not None:
                        usual[slot] = length
        finally:
            database.close()
    rows = estimates(job, ended, usual)
    costs = [row.most_micro_dollars for row in rows]
    return {
        "requests": sum(row.requests for row in rows),
        "most_dollars": None if None in costs else sum(cost or 0 for cost in costs) / MICRO,
        "before": _needs(job),
        "models": [_row(row) for row in rows],
    }


def _needs(job: Job) -> list[str]:
    """What has to be done before anything can be sent."""
    asked = [route for route in job.roster.routes if not route.local]
    found = []
    if asked and (find_spec("aiohttp") is None or find_spec("aiolimiter") is None):
        found.append('pip install "flavourbench[collect]"')
    try:
        read_keys(asked)
    except InputError as error:
        found.append(str(error))
    return found


def _row(row: Estimate) -> dict[str, Any]:
    found = asdict(row)
    for key in ("most_micro_dollars", "micro_dollars"):
        value = found.pop(key)
        found[key.replace("micro_", "")] = None if value is None else value / MICRO
    return found

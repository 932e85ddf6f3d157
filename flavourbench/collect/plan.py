"""What is to be collected: cells of routes, tasks and repeats; what is left; what it may cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from flavourbench.collect.dialects import dialect_of
from flavourbench.collect.journal.claims import Limits
from flavourbench.collect.money import price, tokens_of
from flavourbench.collect.roster import Roster
from flavourbench.collect.route import Route
from flavourbench.collect.wire import Tokens
from flavourbench.errors import InputError, shown
from flavourbench.tasks.taskset import Task, TaskSet


@dataclass(frozen=True)
class Job:
    """What a run of the collector has to do.

    Attributes
    ----------
    roster, tasks : who is asked what
    repeats : how often each task is asked, from 1
    limits : what may be spent
    retry_transport : whether cells that ended in ``transport`` are asked again
    new_blocks : slots whose route may differ from the one in the journal
    """

    roster: Roster
    tasks: TaskSet
    repeats: int = 1
    limits: Limits = field(default_factory=Limits)
    retry_transport: bool = False
    new_blocks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        known = {route.slot for route in self.roster.routes}
        for slot in self.new_blocks:
            if slot not in known:
                raise InputError(f"--new-block {shown(slot)}: no such slot in the roster")
        if self.limits.micro_dollars is not None:
            for route in self.roster.routes:
                if route.prices is None and not route.local:
                    raise InputError(
                        f"model {shown(route.slot)} has no prices, so a budget in money cannot be"
                        " kept: add them to the roster, or limit requests"
                    )

    def cells(self) -> Iterator[tuple[Task, int]]:
        """Each task and repeat of a route, in the order in which they are asked."""
        for repeat in range(self.repeats):
            for task in self.tasks.tasks:
                yield task, repeat


def request_bytes(route: Route, prompt: str) -> bytes:
    """Exactly what is sent for a prompt."""
    body = dialect_of(route.dialect).body(route, prompt)
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is left of a route, and what it takes.

    Attributes
    ----------
    slot, name : of the model
    cells, requests : all cells, and those that have not ended
    input_tokens : of those requests, about
    most_output_tokens : if every answer fills its cap
    output_tokens : if they are as long as those so far; None without any
    most_micro_dollars, micro_dollars : the same in money; None without prices
    """

    slot: str
    name: str
    cells: int
    requests: int
    input_tokens: int
    most_output_tokens: int
    output_tokens: int | None
    most_micro_dollars: int | None
    micro_dollars: int | None


def estimates(
    job: Job,
    ended: Mapping[str, set[tuple[str, int]]],
    usual_output: Mapping[str, float],
) -> list[Estimate]:
    """What is left of every route, by its order in the roster.

    Parameters
    ----------
    ended : slot → task id and repeat of the cells that need nothing
    usual_output : slot → mean tokens of its answers so far, where there are some
    """
    sizes = {
        task.id: len(json.dumps(task.prompt, ensure_ascii=False).encode()) - 2
        for task in job.tasks.tasks
    }
    return [
        _estimate(job, route, sizes, ended.get(route.slot, set()), usual_output.get(route.slot))
        for route in job.roster.routes
    ]


def _estimate(
    job: Job,
    route: Route,
    sizes: Mapping[str, int],
    ended: set[tuple[str, int]],
    usual: float | None,
) -> Estimate:
    """``sizes`` are bytes of the prompts in JSON, which all routes share."""
    left = [task.id for task, repeat in job.cells() if (task.id, repeat) not in ended]
    around = len(request_bytes(route, ""))
    asked = 0 if route.local else sum(tokens_of(around + sizes[name]) for name in left)
    most, output = len(left) * route.cap, None if usual is None else round(usual * len(left))

    def cost(written: int | None) -> int | None:
        if route.local:
            return 0
        if route.prices is None or written is None:
            return None
        return price(Tokens(asked, 0, 0, written), route.prices, len(left))

    return Estimate(
        route.slot,
        route.name,
        len(job.tasks) * job.repeats,
        len(left),
        asked,
        most,
        output,
        cost(most),
        cost(output),
    )

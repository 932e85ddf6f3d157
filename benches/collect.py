"""Speed of collection: 5,000 cells against a simulated provider of 20 ms, 64 at once.

The yardstick sends the same requests with the same HTTP client, and keeps nothing. The simulated
provider is another process, so the two share what processors there are.
"""

from __future__ import annotations

import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import aiohttp

from benches.report import say, timed
from flavourbench.collect.collector import collect
from flavourbench.collect.estimate import estimate_object
from flavourbench.collect.plan import Job, request_bytes
from flavourbench.collect.roster import demo_roster, parse_roster
from flavourbench.collect.route import Route
from flavourbench.tasks.files import located, read_all
from flavourbench.tasks.taskset import TaskSet

CELLS, TOGETHER, LATENCY = 5_000, 64, 0.02
IDEAL = CELLS / TOGETHER * LATENCY
MEBIBYTE = 2**20


def many_tasks(count: int) -> TaskSet:
    """Bundled tasks, repeated under other ids."""
    found = read_all([located(Path(name)) for name in ("test-1", "test-2")])
    copies = -(-count // len(found))
    tasks = [replace(t, id=f"{t.id}-{n}") for n in range(copies) for t in found.tasks]
    return TaskSet(tuple(tasks[:count]))


def route_to(url: str, slot: str = "one") -> dict[str, object]:
    """A model of a roster."""
    return {
        "slot": slot,
        "dialect": "openai-chat",
        "base_url": f"{url}/v1",
        "model": f"sim-{slot}",
        "max_output_tokens": 512,
        "concurrency": TOGETHER,
    }


async def bare(route: Route, tasks: TaskSet) -> int:
    """Requests alone; the number of whole answers."""
    left, whole = iter(tasks.tasks), 0
    headers = {"content-type": "application/json"}

    async def work(session: aiohttp.ClientSession) -> None:
        nonlocal whole
        for task in left:
            body = request_bytes(route, task.prompt)
            url = f"{route.base_url}/chat/completions"
            async with session.post(url, data=body, headers=headers) as response:
                whole += len(await response.read()) > 0

    connector = aiohttp.TCPConnector(limit=TOGETHER)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(work(session) for _ in range(TOGETHER)))
    return whole


def bench_throughput(rounds: int) -> None:
    """Cells a second, all of them durable, and memory."""
    command = [sys.executable, "-m", "tests.simulator", "--latency", str(LATENCY)]
    with (
        tempfile.TemporaryDirectory() as place,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as simulator,
    ):
        assert simulator.stdout is not None
        url = simulator.stdout.readline().strip()
        roster, tasks = parse_roster({"model": [route_to(url)]}), many_tasks(CELLS)
        route = roster.routes[0]
        runs = iter(range(100))

        def ours(count: int) -> float:
            job = Job(roster, TaskSet(tasks.tasks[:count]))
            path = Path(place) / f"{next(runs)}.sqlite"
            began = time.perf_counter()
            (state,) = asyncio.run(collect(path, job)).states
            assert dict(state.outcomes) == {"answered": count}
            return time.perf_counter() - began

        ours(CELLS // 5)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        walls, bases = [], []
        for _ in range(rounds):
            walls.append(ours(CELLS))
            base, whole = timed(lambda: asyncio.run(bare(route, tasks)), 1)
            assert whole == CELLS
            bases.append(base)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        simulator.terminate()
    wall, base = sorted(walls)[rounds // 2], sorted(bases)[rounds // 2]
    say(
        f"{CELLS:,} cells of 20 ms, {TOGETHER} at once, all durable (ideal {IDEAL:.1f} s)",
        f"{wall:.1f} s, bare client {base:.1f} s",
        "< 2 x ideal",
        wall < 2 * IDEAL,
    )
    say("memory from 1,000 to 5,000 cells", f"+{grown:.0f} MiB", "< 30 MiB", grown < 30)


def bench_planning(rounds: int) -> None:
    """What 200 routes on 1,280 tasks would take, as ``--dry-run`` says it."""
    roster = parse_roster({"model": [route_to("http://localhost:1", f"m{n}") for n in range(200)]})
    job = Job(roster, many_tasks(1280))
    with tempfile.TemporaryDirectory() as place:
        wall, found = timed(lambda: estimate_object(job, Path(place) / "none.sqlite"), rounds)
    assert found["requests"] == 200 * 1280
    say("200 routes x 1,280 tasks planned", f"{wall:.2f} s", "< 2 s", wall < 2)


def bench_contestants() -> None:
    """The demonstration: contestants on both bundled test panels, journaled."""
    roster, _ = demo_roster()
    tasks = read_all([located(Path(name)) for name in ("test-1", "test-2")])
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "journal.sqlite"
        wall, done = timed(lambda: asyncio.run(collect(path, Job(roster, tasks))), 1)
    cells = sum(state.done for state in done.states)
    assert cells == len(roster.routes) * len(tasks)
    say(f"{cells:,} answers of contestants, journaled", f"{wall:.1f} s", "< 30 s", wall < 30)


def bench_collect(rounds: int) -> None:
    """All of it."""
    bench_throughput(rounds)
    bench_planning(rounds)
    bench_contestants()

"""Speed of tasks: compiling three panels, scoring portfolios, reading answers.

The yardstick scores portfolios task by task in plain NumPy.
"""

from __future__ import annotations

import random
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benches.environment import synthetic_environment
from benches.report import say, timed
from fbcore.portfolios import MEMBERS, PAIRS, portfolio_scores
from flavourbench.tasks.compiler import compile_panels
from flavourbench.tasks.design import read_design
from flavourbench.tasks.parsing import parser_named
from flavourbench.tasks.reward import rewards
from flavourbench.tasks.taskset import Task

TASKS = 1280
ANSWERS = 50_000
MEBIBYTE = 2**20


def task_by_task(
    relevance: NDArray[np.int64], pairs: NDArray[np.int64], weights: tuple[float, float]
) -> NDArray[np.int64]:
    """Basis points of all portfolios, int64 [T, 56], all feasible, in float64."""
    side = np.zeros((8, 8), np.int64)
    rows = []
    for values, similar in zip(relevance / 2.0**52, pairs / 2.0**52, strict=True):
        square = side.astype(np.float64)
        square[PAIRS[:, 0], PAIRS[:, 1]] = similar
        utility = weights[0] * values[MEMBERS].mean(axis=1)
        a, b, c = MEMBERS.T
        utility += weights[1] * (square[a, b] + square[a, c] + square[b, c]) / 3
        spread = utility - utility.min()
        rows.append(np.rint(10_000 * spread / spread.max()).astype(np.int64))
    return np.array(rows)


def bench_portfolios(rounds: int) -> None:
    """All portfolios of as many tasks as two panels have."""
    rng = np.random.default_rng(20260811)
    values = rng.integers(-(2**50), 2**52, (TASKS, 36))
    weights = np.tile(np.array([4, 1]), (TASKS, 1))
    feasible = np.ones((TASKS, len(MEMBERS)), np.bool_)
    job = partial(portfolio_scores, values[:, :8], values[:, 8:], weights, feasible)
    wall, found = timed(job, 3 * rounds)
    base, expected = timed(partial(task_by_task, values[:, :8], values[:, 8:], (0.8, 0.2)), 3)
    np.testing.assert_array_equal(found.bps, expected)
    say(
        f"scores of 56 portfolios, {TASKS:,} tasks",
        f"{1000 * wall:.1f} ms, {base / wall:.0f} x",
        "< 5 ms",
        wall < 0.005,
    )


def bench_compile(rounds: int) -> tuple[Task, ...]:
    """Three panels of an environment of the published size; tasks of the first."""
    environment, design = synthetic_environment(), read_design()
    _ = environment.similarity
    wall, panels = timed(lambda: compile_panels(environment, design), rounds)
    anchors = [task.anchor for panel in panels for task in panel.tasks if task.ranked]
    assert len({*anchors}) == len(anchors) == 3 * (160 + 160 + 96)
    say("compiling three panels", f"{wall:.2f} s", "< 3 s", wall < 3)
    tasks: tuple[Task, ...] = panels[0].tasks
    return tasks


def bench_answers(tasks: tuple[Task, ...], rounds: int) -> None:
    """Answers a second, and a mebibyte of text."""
    source = random.Random(20260811)
    chosen = source.choices(tasks, k=ANSWERS)
    labels = [source.sample("ABCDEFGH", 3) for _ in chosen]
    texts = ["These go well together.\n\nFINAL_SELECTION: " + ", ".join(three) for three in labels]
    wall, found = timed(partial(rewards, chosen, texts), rounds)
    portfolios = ["".join(sorted(three)) for three in labels]
    places = {"".join("ABCDEFGH"[i] for i in row): at for at, row in enumerate(MEMBERS)}
    expected = [
        task.scores[places[three]] / 100 for task, three in zip(chosen, portfolios, strict=True)
    ]
    np.testing.assert_array_equal(found, expected)
    rate = ANSWERS / wall
    say("answers read and scored", f"{rate:,.0f} a second", ">= 200,000", rate >= 200_000)
    parse = parser_named("fb-1")
    reasoning = "Basil and mint are close, thyme less so.\n" * (MEBIBYTE // 41)
    long = reasoning + "FINAL_SELECTION: A, C, F"
    wall, parsed = timed(partial(parse, long, tasks[0].choices), 3 * rounds)
    assert parsed.selection == "ACF"
    say("an answer of 1 MiB", f"{1000 * wall:.0f} ms", "< 50 ms", wall < 0.05)


def bench_tasks(rounds: int) -> None:
    """All of it."""
    bench_portfolios(rounds)
    bench_answers(bench_compile(rounds), rounds)

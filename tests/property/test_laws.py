"""Laws of the analysis: what may not matter does not, to the last bit."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import CellType, FunctionType
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given
from strategies import Table, alphas, bits, designs, few, plans, score_rows, seeds, tables

from fbcore import blocks, bootstrap, multiplicity, quantiles, ranks, signflip
from fbcore.blocks import LEAF
from fbcore.design import Design, quantise
from flavourbench.analysis.inference import Inference, infer
from flavourbench.analysis.plain import bootstrap as plain_bootstrap
from flavourbench.analysis.plain import signflip as plain_signflip
from flavourbench.analysis.plan import Plan


def rows_of(inference: Inference) -> dict[str, Any]:
    """What belongs to one model alone, by its id: bits of score, SE, interval and parts."""
    chance = inference.chance
    return {
        model: bits(
            [
                inference.score[m],
                inference.se[m],
                inference.pointwise[m],
                [column[m] for column in inference.families.values()],
                [column[m] for column in inference.panels.values()],
                inference.draws[m],
                None if chance is None else (chance.p[m], int(chance.exceedances[m])),
            ]
        )
        for m, model in enumerate(inference.matrix.models)
    }


def pairs_of(inference: Inference) -> dict[tuple[str, str], Any]:
    """What belongs to one pair alone, by its ids."""
    models, pairs = inference.matrix.models, inference.pairs
    return {
        (models[i], models[j]): bits(
            [
                pairs.difference[k],
                pairs.interval[k],
                pairs.dz[k],
                pairs.p[k],
                int(pairs.exceedances[k]),
            ]
        )
        for k, (i, j) in enumerate(zip(pairs.left, pairs.right, strict=True))
    }


# --- order ---------------------------------------------------------------------------------


@few(25)
@given(tables(), plans(), st.randoms(use_true_random=False))
def test_input_order_changes_nothing(table: Table, plan: Plan, random) -> None:
    models, tasks = list(range(len(table.models))), list(range(len(table.tasks)))
    random.shuffle(models)
    random.shuffle(tasks)
    first, second = table.matrix(), table.matrix(models, tasks)
    assert second.content_sha256 == first.content_sha256
    assert bits(infer(second, plan)) == bits(infer(first, plan))


@few(15)
@given(tables(), plans(), st.randoms(use_true_random=False))
def test_other_task_ids_change_nothing(table: Table, plan: Plan, random) -> None:
    """Tasks in another canonical order: strata, clusters and scores move along."""
    renamed = list(table.tasks)
    random.shuffle(renamed)
    first = infer(table.matrix(), plan)
    second = infer(dataclasses.replace(table, tasks=tuple(renamed)).matrix(), plan)
    for field in dataclasses.fields(Inference):
        if field.name != "matrix":
            assert bits(getattr(second, field.name)) == bits(getattr(first, field.name)), field


@few(20)
@given(tables(), plans(), st.randoms(use_true_random=False))
def test_other_model_ids_move_the_numbers_along(table: Table, plan: Plan, random) -> None:
    renamed = list(table.models)
    random.shuffle(renamed)
    new_id = dict(zip(table.models, renamed, strict=True))
    first = infer(table.matrix(), plan)
    second = infer(dataclasses.replace(table, models=tuple(renamed)).matrix(), plan)
    moved = rows_of(second)
    assert {new_id[model]: row for model, row in rows_of(first).items()} == moved
    assert second.critical == first.critical
    place = [second.matrix.models.index(new_id[model]) for model in first.matrix.models]
    for name in ("simultaneous", "rank", "rank_interval"):
        assert bits(getattr(second, name)[place]) == bits(getattr(first, name)), name
    if len(set(first.rank.tolist())) == len(place):  # equal scores are listed by id
        assert second.group[place].tolist() == first.group.tolist()
    pairs = {
        frozenset((second.matrix.models[i], second.matrix.models[j])): k
        for k, (i, j) in enumerate(zip(second.pairs.left, second.pairs.right, strict=True))
    }
    for k, (i, j) in enumerate(zip(first.pairs.left, first.pairs.right, strict=True)):
        other = pairs[frozenset((new_id[first.matrix.models[i]], new_id[first.matrix.models[j]]))]
        for name in ("exceedances", "p", "holm_p", "resolved"):
            assert getattr(second.pairs, name)[other] == getattr(first.pairs, name)[k], name
        for name in ("difference", "dz"):  # only the sign may turn
            old, new = getattr(first.pairs, name)[k], getattr(second.pairs, name)[other]
            assert bits(abs(new)) == bits(abs(old)), name


# --- models --------------------------------------------------------------------------------


@few(25)
@given(tables(), plans(), st.data())
def test_one_more_model_moves_no_other(table: Table, plan: Plan, data: st.DataObject) -> None:
    row = data.draw(score_rows(1, len(table.tasks)))
    place = data.draw(st.sampled_from(["\x01", "~~~", "\U0001f9c2"]))  # first, between, last
    small, large = table.matrix(), table.with_row(place, row).matrix()
    assume(large.scores.exponent == small.scores.exponent)  # the grid is part of the plan
    alone, together = infer(small, plan), infer(large, plan)
    assume(alone.weights.power is None and together.weights.power is None)
    found = rows_of(together)
    del found[place]
    assert found == rows_of(alone)
    pairs = pairs_of(together)
    assert {ids: pairs[ids] for ids in pairs if place not in ids} == pairs_of(alone)
    assert together.redraws == alone.redraws


@few(20)
@given(tables(), plans(), st.data())
def test_equal_scores_have_no_difference(table: Table, plan: Plan, data: st.DataObject) -> None:
    twin = data.draw(st.integers(0, len(table.models) - 1))
    found = infer(table.with_row("\U0001f9c2 twin", table.values[twin]).matrix(), plan)
    models = found.matrix.models
    i, j = models.index(table.models[twin]), models.index("\U0001f9c2 twin")
    for name in ("score", "se", "pointwise", "simultaneous", "rank", "rank_interval", "draws"):
        values = getattr(found, name)
        assert bits(values[i]) == bits(values[j]), name
    k = next(
        at
        for at, pair in enumerate(zip(found.pairs.left, found.pairs.right, strict=True))
        if set(map(int, pair)) == {i, j}
    )
    pairs = found.pairs
    assert pairs.difference[k] == 0
    assert pairs.interval[k].tolist() == [0, 0]
    assert pairs.p[k] == pairs.holm_p[k] == 1
    assert pairs.exceedances[k] == found.flips_drawn
    assert np.isnan(pairs.dz[k])
    assert not pairs.resolved[k]
    assert any(warning.startswith("Identical scores") for warning in found.warnings)


@few(20)
@given(tables(), plans(), st.integers(-2, 3))
def test_powers_of_ten_keep_ranks_and_p(table: Table, plan: Plan, power: int) -> None:
    """The unit is the table's own: other units change numbers by their factor, decisions not."""
    first = infer(table.matrix(), plan)
    if power < 0:
        other = dataclasses.replace(table, exponent=table.exponent - power)
    else:
        chance = None if table.chance is None else table.chance * 10**power
        other = dataclasses.replace(table, values=table.values * 10**power, chance=chance)
    second = infer(other.matrix(), plan)
    assume(first.weights.power is None and second.weights.power is None)
    factor = 10.0**power
    slack = 1e-12 * factor * float(np.abs(first.draws).max())
    np.testing.assert_allclose(second.score, first.score * factor, rtol=0, atol=slack)
    np.testing.assert_allclose(second.se, first.se * factor, rtol=1e-9)
    assert second.critical == pytest.approx(first.critical, rel=1e-9)
    for name in ("rank", "rank_interval", "group", "order"):
        assert bits(getattr(second, name)) == bits(getattr(first, name)), name
    for name in ("exceedances", "p", "holm_p", "resolved"):
        assert bits(getattr(second.pairs, name)) == bits(getattr(first.pairs, name)), name
    if first.chance is not None:
        assert bits(second.chance.p) == bits(first.chance.p)


# --- threads, blocks, engines ---------------------------------------------------------------


@few(8)
@given(tables(max_models=4), seeds, alphas)
def test_threads_change_no_bit(table: Table, seed: int, alpha: float) -> None:
    plan = Plan(3000, 20_000, seed, alpha)
    one = bits(infer(table.matrix(), plan, threads=1))
    for threads in (2, 3):
        assert bits(infer(table.matrix(), plan, threads=threads)) == one


class Cutter:
    """``map_ranges`` over pieces of another size than fbcore chose: so many leaves, or rows."""

    def __init__(self, leaves: int) -> None:
        self.leaves = leaves
        self.most = 0

    def __call__(
        self,
        task: Callable[[int, int], Any],
        pieces: list[tuple[int, int]],
        *rest: Any,
        **named: Any,
    ) -> list[Any]:
        total = pieces[-1][1]
        step = self.leaves * (LEAF if total > 2000 else 1)
        cut = [(start, min(start + step, total)) for start in range(0, total, step)]
        self.most = max(self.most, len(cut))
        return blocks.map_ranges(task, cut, *rest, **named)


@pytest.mark.parametrize("leaves", [1, 3, 1000])
def test_block_sizes_change_no_bit(leaves: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws, models and pairs in pieces of another size, the smallest ones included."""
    matrix, plan = fixed_table().matrix(), Plan(2900, 9001, 7)
    whole = bits(infer(matrix, plan, threads=2))
    cutter = Cutter(leaves)
    for module in (bootstrap, quantiles, ranks, signflip):
        monkeypatch.setattr(module, "map_ranges", cutter)
    assert bits(infer(matrix, plan, threads=2)) == whole
    assert cutter.most == (1 if leaves == 1000 else -(-9001 // (leaves * LEAF)))


@few(100)
@given(st.integers(0, 10**6), st.integers(1, 300), st.integers(1, 10**5), st.sampled_from([1, 256]))
def test_ranges_cover_all_once(total: int, threads: int, target: int, multiple: int) -> None:
    pieces = blocks.even_ranges(total, threads, target, multiple)
    edges = [0, *(stop for _, stop in pieces)]
    assert [start for start, _ in pieces] == edges[:-1]
    assert edges[-1] == total
    assert all(start < stop for start, stop in pieces)
    assert all(start % multiple == 0 for start, _ in pieces)


@pytest.mark.parametrize("module", [bootstrap, signflip])
@pytest.mark.parametrize("size", [1, 257, 100_000])
def test_block_constants_change_no_bit(
    module: Any, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = fixed_table()
    plan = Plan(2900, 9001, 7)
    whole = bits(infer(table.matrix(), plan, threads=2))
    monkeypatch.setattr(module, "_DRAW_BLOCK", size)
    assert bits(infer(table.matrix(), plan, threads=2)) == whole


def fixed_table() -> Table:
    rng = np.random.default_rng(1)
    return Table(
        rng.integers(0, 10_001, (5, 60)),
        np.arange(60) % 3,
        rng.permutation(60) % 20,
        rng.integers(0, 560_000, 60),
        2,
        tuple("abcde"),
        tuple(f"t{t}" for t in range(60)),
        tuple(f"a{c}" for c in range(20)),
    )


class Remote:
    """An engine that runs tasks on copies of all they hold, as another process would."""

    def map(
        self, function: Callable[[tuple[int, int]], Any], ranges: list[tuple[int, int]]
    ) -> Iterator[Any]:
        return (carried(function)(piece) for piece in ranges)


def carried(value: Any) -> Any:
    if isinstance(value, FunctionType) and value.__closure__:
        cells = tuple(CellType(carried(cell.cell_contents)) for cell in value.__closure__)
        return FunctionType(
            value.__code__, value.__globals__, value.__name__, value.__defaults__, cells
        )
    return value.copy() if isinstance(value, np.ndarray) else value


def test_a_pool_as_engine_changes_no_bit() -> None:
    matrix, plan = fixed_table().matrix(), Plan(2900, 9001, 7)
    expected = bits(infer(matrix, plan))
    with ThreadPoolExecutor(3) as pool:
        assert bits(infer(matrix, plan, engine=pool)) == expected


def test_an_engine_without_shared_memory_changes_no_bit() -> None:
    # A seed of its own, and first: memory left by another run must not pass for a result.
    matrix, plan = fixed_table().matrix(), Plan(2900, 9001, 4242)
    found = bits(infer(matrix, plan, engine=Remote()))
    assert found == bits(infer(matrix, plan))


@pytest.mark.parametrize("high", [1000, 2**40])
def test_sums_of_flips_depend_on_no_engine_or_block(
    high: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    z = np.random.default_rng(2).integers(-high, high, (35, 40))
    found = [signflip.flip_sums(z, 9001, 4243, engine=Remote())]  # first, as above
    found += [signflip.flip_sums(z, 9001, 4243, threads) for threads in (1, 2, 3)]
    monkeypatch.setattr(signflip, "_DRAW_BLOCK", 257)
    with ThreadPoolExecutor(3) as pool:
        found += [signflip.flip_sums(z, 9001, 4243, 3, engine) for engine in (None, pool)]
    assert len({str(bits(sums)) for sums in found}) == 1
    observed, rows = z.sum(axis=1), found[0]
    counts = [
        bits(signflip.exceedances(rows, rows[:3], observed, observed[:3], threads=threads))
        for threads in (1, 2, 3)
    ]
    assert counts[0] == counts[1] == counts[2]


def test_progress_adds_up_to_the_whole() -> None:
    done: dict[str, int] = {}
    totals: dict[str, int] = {}

    def tell(stage: str, units: int, total: int) -> None:
        done[stage] = done.get(stage, 0) + units
        totals[stage] = total

    infer(fixed_table().matrix(), Plan(2900, 9001, 7), threads=2, progress=tell)
    assert done == totals
    assert done["bootstrap"] == 2900
    assert done["sign flips"] == 9001


def test_progress_counts_the_pieces_of_every_thread() -> None:
    """The thread that reports is done first: what others still work on is reported too."""
    mine, seen = threading.get_ident(), []

    def task(start: int, stop: int) -> int:
        time.sleep(0.005 if threading.get_ident() == mine else 0.1)
        return stop - start

    pieces = [(k, k + 1) for k in range(8)]
    assert blocks.map_ranges(task, pieces, 2, progress=seen.append) == [1] * 8
    assert sum(seen) == 8
    assert min(seen) >= 0


FORKED = """
import os, signal
from fbcore.blocks import map_ranges

def run():
    return map_ranges(lambda start, stop: start, [(k, k + 1) for k in range(9)], 2)

expected = run()
child = os.fork()
if child == 0:
    signal.alarm(10)
    os._exit(0 if run() == expected else 1)
raise SystemExit(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_its_own_threads() -> None:
    """As workers of ``multiprocessing`` are: threads that the parent keeps do not exist there."""
    path = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", FORKED], env=environment, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_keep_the_order_of_ranges(threads: int) -> None:
    pieces = [(k, k + 2) for k in range(0, 40, 2)]

    def task(start: int, stop: int) -> tuple[int, int]:
        time.sleep(0.002 if start % 3 else 0.0)
        return start, stop

    assert blocks.map_ranges(task, pieces, threads) == pieces
    assert blocks.map_ranges(task, [], threads) == []


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("failing", [0, 1, 19])
def test_an_error_of_any_piece_comes_through(threads: int, failing: int) -> None:
    """From the calling thread or another one, without waiting for pieces not begun."""
    begun: list[int] = []

    def task(start: int, stop: int) -> None:
        begun.append(start)
        time.sleep(0.001)
        if start == failing:
            raise ArithmeticError(f"piece {start}")

    with pytest.raises(ArithmeticError, match=f"piece {failing}"):
        blocks.map_ranges(task, [(k, k + 1) for k in range(20)], threads)
    count = len(begun)
    time.sleep(0.01)
    assert len(begun) == count  # nothing runs on behind the error
    assert blocks.map_ranges(lambda a, b: b - a, [(0, 5)] * 4, threads) == [5] * 4


# --- kernels on any design ------------------------------------------------------------------


@few(30)
@given(designs(), st.data(), seeds, alphas)
def test_kernels_are_their_twins_on_any_design(
    design: tuple[np.ndarray, np.ndarray], data: st.DataObject, seed: int, alpha: float
) -> None:
    stratum, cluster = design
    scores = data.draw(score_rows(data.draw(st.integers(1, 5)), stratum.size))
    draws = data.draw(st.sampled_from([2, 33, 300]))
    shape = Design(stratum.astype(np.int32), cluster.astype(np.int32))
    found = bootstrap.bootstrap(scores, shape, 1, draws, seed, 2)
    expected = plain_bootstrap.bootstrap(scores, stratum, cluster, 1, draws, seed)
    assert bits((found.draws, found.redraws)) == bits(expected)
    left, right = quantiles.pair_index(len(scores))
    intervals = quantiles.intervals(found.draws, left, right, alpha)
    assert bits(intervals) == bits(plain_bootstrap.pair_intervals(found.draws, alpha))
    z = data.draw(score_rows(len(scores), shape.clusters))
    chance = 56 * data.draw(score_rows(1, shape.clusters))[0]
    flips = data.draw(st.sampled_from([1, 40, 300]))
    flipped = signflip.sign_flips(z, flips, seed, chance)
    assert bits(flipped) == bits(
        signflip.SignFlips(*plain_signflip.sign_flips(z, flips, seed, chance))
    )


# --- decisions -----------------------------------------------------------------------------


@few(100)
@given(st.lists(st.one_of(st.floats(0, 1), st.integers(0, 4).map(lambda k: k / 4)), max_size=30))
def test_holm_laws(values: list[float]) -> None:
    p = np.array(values, np.float64)
    adjusted = multiplicity.holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()
    order = np.argsort(p)
    assert (np.diff(adjusted[order]) >= 0).all()
    assert (adjusted <= np.minimum(p * p.size, 1)).all()  # never worse than Bonferroni
    if p.size:
        assert adjusted[order[0]] == min(p[order[0]] * p.size, 1)
    turned = multiplicity.holm(p[::-1].copy())[::-1]
    assert bits(np.ascontiguousarray(turned)) == bits(adjusted)


@few(60)
@given(st.integers(1, 9), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_groups_never_hold_a_resolved_pair(models: int, source: int, share: float) -> None:
    rng = np.random.default_rng(source)
    resolved = np.triu(rng.random((models, models)) < share, 1)
    resolved |= resolved.T
    order = rng.permutation(models)
    groups = ranks.rank_groups(order, resolved)
    walked = groups[order]
    assert walked[0] == 1
    assert set(np.diff(walked).tolist()) <= {0, 1}
    assert not (resolved & (groups[:, None] == groups[None, :])).any()
    # A group ends only where its next model is resolved from one of its members.
    for at in np.flatnonzero(np.diff(walked)):
        assert resolved[order[at + 1], order[walked == walked[at]]].any()


@few(15)
@given(tables(max_models=6), plans())
def test_published_groups_and_ranks_agree(table: Table, plan: Plan) -> None:
    found = infer(table.matrix(), plan)
    ordered_scores = found.score[found.order]
    assert (np.diff(ordered_scores) <= 1e-9 * np.abs(found.score).max()).all()
    assert (np.diff(found.rank[found.order]) >= 0).all()
    assert (np.diff(found.group[found.order]) >= 0).all()
    pairs = found.pairs
    same = found.group[pairs.left] == found.group[pairs.right]
    assert not (same & pairs.resolved).any()
    assert (pairs.resolved == (pairs.holm_p <= plan.alpha)).all()
    models = len(found.score)
    above = [pairs.resolved[(pairs.left == m) | (pairs.right == m)].all() for m in range(models)]
    assert found.top == (int(found.order[0]) if above[found.order[0]] else None)
    low, high = found.rank_interval.T
    assert (low >= 1).all()
    assert (low <= high).all()
    assert (high <= models).all()


@few(100)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=20))
def test_competition_rank_laws(values: list[int]) -> None:
    totals = np.array(values, np.int64)
    found = ranks.competition_ranks(totals).tolist()
    for value, rank in zip(values, found, strict=True):
        assert rank == 1 + sum(other > value for other in values)
    assert min(found) == 1


@few(100)
@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=20),
    st.integers(0, 6),
)
def test_quantise_round_trip(values: list[int], exponent: int) -> None:
    given_values = np.array(values, np.int64) / 10.0**exponent
    found = quantise(given_values)
    assert found.exponent <= exponent
    assert found.largest_error == 0
    assert bits(found.values / 10.0**found.exponent + 0.0) == bits(given_values + 0.0)
    assert found.values.tolist() == [v // 10 ** (exponent - found.exponent) for v in values]
    if found.exponent:  # the smallest one: the grid above holds some value not
        assert (found.values % 10).any()

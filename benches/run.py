"""All benchmarks: ``python -m benches.run [--quick]``.

Each line is a median of several runs and names its target. Answers are asserted: a wrong one
ends the run with exit code 1. A missed time is printed as missed and no error, since machines
differ. The yardstick is the published way in plain NumPy (``benches/baseline.py``), run beside
ours in this process; its first run, which pays for fresh memory, is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benches.baseline import BaselineResult, published_way
from benches.collect import bench_collect
from benches.environment import bench_environment
from benches.extension import bench_extension
from benches.report import say, timed
from benches.tasks import bench_tasks
from fbcore.blocks import default_threads
from fbcore.bootstrap import bootstrap
from fbcore.design import contributions, stratum_weights
from fbcore.differences import difference_max_t
from fbcore.letters import letters
from fbcore.quantiles import intervals, pair_index
from fbcore.ranks import rank_intervals
from fbcore.signflip import sign_flips
from flavourbench.analysis.bundled import bundled_matrix
from flavourbench.analysis.inference import Inference, infer, stepped_down
from flavourbench.analysis.matrix import ScoreMatrix, Stratum, build_matrix
from flavourbench.analysis.measured import Run, errors_of_differences
from flavourbench.analysis.plan import Plan

FB = Path(sys.executable).with_name("fb")


def same_answers(ours: Inference, theirs: BaselineResult) -> None:
    """Both ways must agree: exactly where nothing is drawn, within Monte Carlo error elsewhere."""
    pairs = ours.pairs
    np.testing.assert_allclose(ours.score, theirs.score, rtol=1e-12)
    np.testing.assert_allclose(pairs.dz, theirs.cohen_dz, rtol=1e-9)
    np.testing.assert_array_equal(ours.rank, theirs.rank)
    # The relative error of an SE is 1 / sqrt(2 B); six of them, for both sides.
    spread = 6 * np.sqrt(2 / (2 * ours.plan.draws))
    np.testing.assert_allclose(ours.se, theirs.se, rtol=spread)
    np.testing.assert_allclose(ours.critical, theirs.critical_value, rtol=0.02)
    np.testing.assert_allclose(ours.pointwise, theirs.pointwise, atol=0.1 * ours.se.max())
    np.testing.assert_allclose(pairs.interval, theirs.pair_interval, atol=0.15 * ours.se.max())
    error = np.sqrt(2 * pairs.p * (1 - pairs.p) / ours.plan.flips)
    assert (np.abs(pairs.p - theirs.pair_p) <= 6 * error + 3 / ours.plan.flips).all()
    assert abs(int(pairs.resolved.sum()) - int(theirs.resolved.sum())) <= 10


def bench_analysis(matrix: ScoreMatrix, plan: Plan, rounds: int) -> None:
    """The whole analysis against the yardstick, in turn, and its parts."""
    scores = matrix.scores.values / matrix.unit
    stratum = matrix.design.stratum.astype(np.int64)
    cluster = matrix.design.cluster.astype(np.int64)
    threads = min(2, default_threads())

    def yardstick() -> BaselineResult:
        return published_way(
            scores, stratum, cluster, plan.draws, plan.flips, plan.seed, plan.alpha
        )

    yardstick()
    infer(matrix, plan, threads)
    ratios: dict[int, list[float]] = {threads: [], 1: []}
    walls: dict[str, list[float]] = {"yardstick": [], str(threads): [], "1": []}
    added: dict[int, list[float]] = {threads: [], 1: []}
    for _ in range(rounds):
        began = time.perf_counter()
        theirs = yardstick()
        base = time.perf_counter() - began
        walls["yardstick"].append(base)
        for workers in ratios:
            whole, ours = timed(partial(infer, matrix, plan, workers), 5)
            more, _ = timed(partial(beyond_publication, ours, workers), 5)
            wall = whole - more
            ratios[workers].append(base / wall)
            walls[str(workers)].append(wall)
            added[workers].append(more)
            same_answers(ours, theirs)
    say("yardstick (published way, NumPy)", f"{median(walls['yardstick']):.2f} s")
    for workers, target in ((threads, 60), (1, 30)) if threads > 1 else ((1, 30),):
        ratio = median(ratios[workers])
        wall = median(walls[str(workers)])
        say(
            f"published analysis, {workers} thread{'s' * (workers > 1)}",
            f"{1000 * wall:.0f} ms, {ratio:.0f} x",
            f">= {target} x",
            ratio >= target,
        )
        more = median(added[workers])
        say(
            "  step-down, rank sets, letters, pair bands beside it",
            f"{1000 * more:.0f} ms",
            "< 300 ms",
            more < 0.3,
        )
    bench_parts(matrix, plan, theirs)


def beyond_publication(whole: Inference, threads: int) -> None:
    """What an analysis does that the published one does not."""
    run = Run(whole.matrix, whole.plan, whole.weights, threads, None, None)
    pairs, models = whole.pairs, len(whole.score)
    adjusted = stepped_down(run)
    np.testing.assert_array_equal(adjusted.p, pairs.stepdown_p)
    errors = errors_of_differences(run, whole.draws, pairs.left, pairs.right)
    difference_max_t(whole.draws, pairs.left, pairs.right, pairs.difference, errors, threads)
    square = np.zeros((models, models), np.bool_)
    square[pairs.left, pairs.right] = square[pairs.right, pairs.left] = pairs.resolved
    letters(whole.order, square)


def bench_parts(matrix: ScoreMatrix, plan: Plan, theirs: BaselineResult) -> None:
    """Each kernel, one thread, against the part of the yardstick that does its work."""
    scores, design, exponent = matrix.scores.values, matrix.design, matrix.scores.exponent
    sums = contributions(scores, design, stratum_weights(design.sizes, matrix.largest))
    left, right = pair_index(len(matrix.models))
    ends = [plan.alpha / 2, 1 - plan.alpha / 2]

    def line(name: str, wall: float) -> None:
        say(f"  {name}, 1 thread", f"{1000 * wall:.1f} ms, {theirs.seconds[name] / wall:.0f} x")

    wall, sample = timed(partial(bootstrap, scores, design, exponent, plan.draws, plan.seed), 5)
    line("bootstrap draws", wall)
    draws = sample.draws
    wall, found = timed(partial(intervals, draws, left, right, plan.alpha), 5)
    some = slice(None, None, 9)
    expected = np.quantile(draws[left[some]] - draws[right[some]], ends, axis=1).T
    np.testing.assert_array_equal(found[some], expected)
    line("pair intervals", wall)
    wall, found = timed(partial(rank_intervals, draws, plan.alpha), 5)
    np.testing.assert_allclose(found, theirs.rank_interval, atol=1)
    line("ranks", wall)
    wall, found = timed(partial(sign_flips, sums, plan.flips, plan.seed), 5)
    np.testing.assert_allclose(
        found.pairs / plan.flips,
        theirs.pair_exceedances / plan.flips,
        atol=6 * np.sqrt(0.5 / plan.flips),
    )
    line("sign flips", wall)


def command_wall(arguments: list[str], repeats: int, **more: str) -> tuple[float, str]:
    """Median wall time of a command, and its standard output."""
    output = ""

    def run() -> None:
        nonlocal output
        done = subprocess.run(
            arguments, check=True, capture_output=True, text=True, env={**os.environ, **more}
        )
        output = done.stdout

    return timed(run, repeats)[0], output


def bench_commands() -> None:
    """Whole processes: help, the main job with warm and with empty caches."""
    with tempfile.TemporaryDirectory() as folder:
        job = [str(FB), "infer", "--json", "--force", "--out", str(Path(folder) / "release")]
        command_wall(job, 1)
        wall, output = command_wall(job, 7)
        assert len(json.loads(output)["models"]) == 27
        say("fb infer, warm", f"{wall:.2f} s", "< 1.5 s, aim 0.6 s", wall < 1.5)
        wall_help, output = command_wall([str(FB), "--help"], 7)
        assert "infer" in output
        say("fb --help", f"{wall_help:.2f} s", "< 0.3 s", wall_help < 0.3)
        cold, output = command_wall(job, 1, FLAVOURBENCH_CACHE=str(Path(folder) / "cache"))
        assert len(json.loads(output)["models"]) == 27
        say("compilation on a fresh machine", f"{cold - wall:.1f} s", "< 15 s", cold - wall < 15)
    code = "import time; t = time.perf_counter(); import fbcore.bootstrap, fbcore.signflip; "
    code += "print(time.perf_counter() - t)"
    _, output = command_wall([sys.executable, "-c", code], 1)
    say("import of fbcore (NumPy included)", f"{float(output):.2f} s")


def bench_verify() -> None:
    """The bundled release at full draws, written and derived again on the plain twin."""
    with tempfile.TemporaryDirectory() as folder:
        release = str(Path(folder) / "release")
        command_wall([str(FB), "infer", "--out", release], 1)
        wall, output = command_wall([str(FB), "verify", release, "--json"], 1)
    assert json.loads(output)["passed"]
    say("fb verify, every number derived again", f"{wall:.1f} s", "< 15 s, aim 8 s", wall < 15)


def peak_memory(flips: int) -> float:
    """Peak resident memory of ``fb infer`` in MiB."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    with tempfile.TemporaryDirectory() as folder:
        job = [str(FB), "infer", "--flips", str(flips), "--out", str(Path(folder) / "release")]
        done = subprocess.run(
            [sys.executable, "-c", code, *job], check=True, capture_output=True, text=True
        )
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return int(done.stdout) / unit


def bench_memory() -> None:
    """Peak memory, and that it does not grow with the number of flips."""
    few, many = peak_memory(100_000), peak_memory(2_000_000)
    say("peak memory of fb infer", f"{few:.0f} MiB", "< 400 MiB", few < 400)
    say("  with 20 x the flips", f"{many:.0f} MiB", "flat", many < few + 20)
    assert many < few + 60, f"memory grows with flips: {few:.0f} to {many:.0f} MiB"


def synthetic(models: int, tasks: int) -> ScoreMatrix:
    """A table of 0-100 scores with two decimals: six strata, every task its own anchor."""
    rng = np.random.default_rng(20260811)
    level = rng.normal(55, 6, (models, 1))
    hard = rng.normal(0, 18, (1, tasks))
    values = np.clip(level + hard + rng.normal(0, 22, (models, tasks)), 0, 100).round(2)
    strata = [Stratum(f"p{t % 2}/f{t % 3}", f"p{t % 2}", f"f{t % 3}") for t in range(tasks)]
    ids = [f"t{t:05d}" for t in range(tasks)]
    names = [f"m{m:04d}" for m in range(models)]
    return build_matrix(names, names, ids, strata, ids, values)


def bench_scaling(quick: bool) -> None:
    """200 models x 5,000 tasks, and how work grows with models."""
    plan = Plan()
    threads = min(2, default_threads())
    walls = []
    for models in (25, 100):
        matrix = synthetic(models, 500)
        job = partial(bootstrap, matrix.scores.values, matrix.design, 2, plan.draws, plan.seed)
        walls.append(timed(job, 3)[0])
    growth = walls[1] / walls[0]
    say("bootstrap, 4 x the models", f"{growth:.1f} x the time", "at most 4 x", growth <= 4)
    if quick:
        return
    matrix = synthetic(200, 5000)
    infer(matrix, Plan(draws=256, flips=256), threads)  # these sizes have kernels of their own
    wall, found = timed(partial(infer, matrix, plan, threads), 1)
    i, j = 7, 151
    difference = (matrix.scores.values[i] - matrix.scores.values[j]) / matrix.unit
    # One task a cluster and near-equal strata: the closed form of the SE of a mean difference.
    spread = np.sqrt(
        sum(
            difference[matrix.design.stratum == s].var() / n / 36
            for s, n in enumerate(matrix.design.sizes)
        )
    )
    np.testing.assert_allclose((found.draws[i] - found.draws[j]).std(ddof=1), spread, rtol=0.05)
    say("200 models x 5,000 tasks, whole analysis", f"{wall:.1f} s", "< 60 s", wall < 60)
    run = Run(matrix, plan, found.weights, threads, None, None)
    wall, adjusted = timed(partial(stepped_down, run), 1)
    # The exceedances of a pair are among those of the maximum.
    assert (adjusted.p >= found.pairs.p).all()
    say("  of which step-down", f"{wall:.1f} s", "< 60 s", wall < 60)


def bench_peers(matrix: ScoreMatrix) -> None:
    """What the usual tools need for a part of the same job."""
    from scipy import stats

    a, b = matrix.scores.values[0] / 100, matrix.scores.values[1] / 100
    rng = np.random.default_rng(1)

    def mean_difference(x: NDArray[Any], y: NDArray[Any], axis: int) -> NDArray[Any]:
        return np.asarray((x - y).mean(axis=axis))

    permute = partial(
        stats.permutation_test,
        (a, b),
        mean_difference,
        permutation_type="samples",
        n_resamples=100_000,
        batch=2_000,
        vectorized=True,
        rng=rng,
    )
    wall, found = timed(permute, 1)
    ours = infer(matrix, Plan(draws=2), 1).pairs.p[0]
    assert abs(found.pvalue - ours) < 6 * np.sqrt(0.5 / 100_000)
    say("SciPy permutation_test, one pair of the 351", f"{wall:.1f} s")
    resample = partial(
        stats.bootstrap,
        (a,),
        np.mean,
        n_resamples=50_000,
        batch=2_000,
        method="percentile",
        rng=rng,
    )
    wall, _ = timed(resample, 1)
    say("SciPy bootstrap, one model of the 27, no strata", f"{wall:.1f} s")


def main() -> int:
    """Run all benchmarks and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, no 200 x 5,000")
    quick = parser.parse_args().quick
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()},"
        f" {default_threads()} processors; 27 models x 534 tasks, 50,000 draws, 100,000 flips\n"
    )
    matrix, plan = bundled_matrix(), Plan()
    bench_analysis(matrix, plan, 1 if quick else 3)
    bench_environment(3 if quick else 7)
    bench_tasks(3 if quick else 7)
    bench_commands()
    bench_verify()
    bench_memory()  # before anything large: a new process counts what the one before it held
    bench_collect(1 if quick else 3)
    bench_scaling(quick)
    bench_extension(synthetic(201, 600) if quick else synthetic(501, 2000))
    if not quick:
        bench_peers(matrix)
    return 0


if __name__ == "__main__":
    sys.exit(main())

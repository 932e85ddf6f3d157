"""Adding models gives what analysing all of them gives, to the last bit, whatever is stored."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given
from strategies import Table, bits, few, plans, score_rows, tables

from fbcore.signflip import flip_sums
from flavourbench.analysis import extension, flip_cache
from flavourbench.analysis.extension import Earlier, extend
from flavourbench.analysis.flip_cache import FlipCache
from flavourbench.analysis.inference import Inference, infer
from flavourbench.analysis.matrix import ScoreMatrix
from flavourbench.analysis.measured import Run, cluster_sums
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.preflight import check
from flavourbench.errors import InputError


def files(cache: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(cache.rglob("*")) if path.is_file()}


# --- what happens to stored sums -------------------------------------------------------------


def cut(path: Path, at: int) -> None:
    path.write_bytes(path.read_bytes()[: at % path.stat().st_size])


def altered(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= 1 + at % 255
    path.write_bytes(data)


def longer(path: Path, at: int) -> None:
    path.write_bytes(path.read_bytes() + bytes(1 + at % 9))


def blanked(path: Path, at: int) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: at % len(data)].ljust(len(data), b"\0"))


def another(path: Path, at: int) -> None:
    """The sums of another model, or of these plus one, in a sound file of any maker."""
    others = [other for other in files(path.parent) if other != path]
    if at % 2 and others:
        shutil.copyfile(others[at % len(others)], path)
    else:
        np.save(path, np.load(path) + 1)


def of_another_shape(path: Path, at: int) -> None:
    values = np.load(path)
    odd = [values[:-1], values[None], values.astype(np.float64), values.astype(">i8"), values[:0]]
    np.save(path, odd[at % len(odd)])


def removed(path: Path, _: int) -> None:
    path.unlink()


def a_folder(path: Path, _: int) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = (cut, altered, longer, blanked, another, of_another_shape, removed, a_folder)


# --- the law -------------------------------------------------------------------------------


@st.composite
def extensions(draw: st.DrawFn) -> tuple[Table, list[int]]:
    """A table, and which of its models are earlier ones; some row may be constant."""
    table = draw(tables(max_models=6))
    models = len(table.models)
    if draw(st.booleans()):
        table.values[draw(st.integers(0, models - 1))] = table.stratum * draw(st.integers(0, 2))
    if draw(st.booleans()):
        table = table.with_row("\x01", table.values[draw(st.integers(0, models - 1))])
    if draw(st.booleans()):
        table = table.with_row("\U0001f9c2", draw(score_rows(1, table.stratum.size))[0])
    earlier = st.sets(st.integers(0, len(table.models) - 1), min_size=2)
    return table, sorted(draw(earlier.filter(lambda some: len(some) < len(table.models))))


def both(table: Table, old: list[int], plan: Plan) -> tuple[Inference, Inference]:
    """The analyses of earlier and of all models, where the first allows the second."""
    try:
        before, after = infer(table.matrix(old), plan), infer(table.matrix(), plan)
    except InputError:  # no earlier model varies
        assume(False)
    assume(after.matrix.scores.exponent == before.matrix.scores.exponent)
    assume(after.weights.scale == before.weights.scale)
    return before, after


@few(40)
@given(extensions(), plans(), st.sampled_from([1, 2, 3]))
def test_adding_is_analysing_all(case: tuple[Table, list[int]], plan: Plan, threads: int) -> None:
    before, after = both(*case, plan)
    found = extend(Earlier.of(before), after.matrix, plan, threads=threads)
    assert bits(found) == bits(after)


@few(30)
@given(extensions(), plans(), st.data())
def test_stored_sums_change_nothing(
    case: tuple[Table, list[int]], plan: Plan, data: st.DataObject
) -> None:
    """No sums, all of them, and damaged ones, which are written again."""
    before, after = both(*case, plan)
    earlier, expected = Earlier.of(before), bits(after)
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "not yet" / "there"
        assert bits(extend(earlier, after.matrix, plan, cache)) == expected
        whole = files(cache)
        assert bits(extend(earlier, after.matrix, plan, cache)) == expected
        assert files(cache) == whole
        damages = st.lists(
            st.tuples(st.sampled_from(DAMAGES), st.integers(0, 2**20)),
            min_size=len(whole),
            max_size=len(whole),
        )
        for path, (damage, at) in zip(whole, data.draw(damages), strict=True):
            damage(path, at)
        assert bits(extend(earlier, after.matrix, plan, cache)) == expected
        assert files(cache) == {path: data for path, data in whole.items() if not path.is_dir()}


# --- stored sums -----------------------------------------------------------------------------


def table_of(models: str = "bdfhj", high: int = 10_000) -> Table:
    rng = np.random.default_rng(5)
    return Table(
        rng.integers(0, high, (len(models), 60)),
        np.repeat(np.arange(4), [11, 13, 17, 19]),  # weights over a large denominator
        rng.permutation(60) % 20,
        rng.integers(0, 56 * high, 60),
        2,
        tuple(models),
        tuple(f"t{t:02d}" for t in range(60)),
        tuple(f"a{c:02d}" for c in range(20)),
    )


PLAN = Plan(300, 257, 7)
#: A score, on the grid, with which stratum weights have to be rounded.
LARGE = 5 * 10**11


def cache_of(matrix: ScoreMatrix, plan: Plan, root: Path) -> tuple[FlipCache, np.ndarray]:
    """A cache, and the contributions of the models."""
    run = Run(matrix, plan, check(matrix, plan)[0], 1, None, None)
    return FlipCache.of(root, run), cluster_sums(run)[0]


def test_stored_sums_are_ordinary_array_files(tmp_path: Path) -> None:
    """Each in the narrowest type of its own, whatever is stored beside it."""
    table = table_of()
    table.values[1] *= 10**6
    cache, z = cache_of(table.matrix(), PLAN, tmp_path)
    cache.store(z, flip_sums(z, PLAN.flips, PLAN.seed))
    assert len(files(tmp_path)) == 5
    for row, kind in zip(z, ("i4", "i8", "i4", "i4", "i4"), strict=True):
        (expected,) = flip_sums(row[None], PLAN.flips, PLAN.seed)
        assert expected.dtype == kind
        found = cache.load(row)
        assert bits(found) == bits(expected)
        assert not found.flags.writeable
        mapped = [bits(np.load(path, mmap_mode="r")) for path in files(tmp_path)]
        assert bits(expected) in mapped


def test_no_altered_byte_is_believed(tmp_path: Path) -> None:
    cache, z = cache_of(table_of().matrix(), Plan(300, 12, 7), tmp_path)
    cache.store(z[:1], flip_sums(z[:1], 12, 7))
    ((path, content),) = files(tmp_path).items()
    for at in range(len(content)):
        altered(path, at)
        assert cache.load(z[0]) is None, at
        path.write_bytes(content)
        assert cache.load(z[0]) is not None
    for size in range(len(content)):
        path.write_bytes(content[:size])
        assert cache.load(z[0]) is None, size


def test_sums_in_another_byte_order_are_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a folder that two machines share."""
    cache, z = cache_of(table_of().matrix(), PLAN, tmp_path)
    header = flip_cache._header
    with monkeypatch.context() as patched:
        patched.setattr(flip_cache, "_header", lambda k, draws: header(k.newbyteorder(), draws))
        cache.store(z, flip_sums(z, PLAN.flips, PLAN.seed).byteswap())
    assert cache.load(z[0]) is None


def test_sums_of_another_plan_are_not_found(tmp_path: Path) -> None:
    """Whatever decides them: each has a folder of its own, and no file fits another one."""
    table = table_of()
    moved = table.cluster.copy()
    moved[:2] = moved[1::-1]
    cases = [
        (table, PLAN),
        (table, dataclasses.replace(PLAN, seed=8)),
        (table, dataclasses.replace(PLAN, flips=258)),
        (dataclasses.replace(table, exponent=3), PLAN),
        (dataclasses.replace(table, cluster=moved), PLAN),
        (dataclasses.replace(table, stratum=np.roll(table.stratum, 1)), PLAN),
        (with_task(table, chance=56 * LARGE), PLAN),
    ]
    caches = [cache_of(case.matrix(), plan, tmp_path)[0] for case, plan in cases]
    assert len({cache.folder for cache in caches}) == len(cases)
    z = cache_of(table.matrix(), PLAN, tmp_path)[1]
    caches[0].store(z, flip_sums(z, PLAN.flips, PLAN.seed))
    for cache in caches[1:]:
        assert cache.load(z[0]) is None
        shutil.copytree(caches[0].folder, cache.folder)
        assert cache.load(z[0]) is None
    again, _ = cache_of(table.matrix([3, 1]), dataclasses.replace(PLAN, draws=31), tmp_path)
    assert bits(again.load(z[1])) == bits(caches[0].load(z[1]))


@pytest.fixture
def flipped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many models were flipped, call by call."""
    counts: list[int] = []

    def counted(z: np.ndarray, *rest: Any) -> np.ndarray:
        counts.append(len(z))
        return flip_sums(z, *rest)

    monkeypatch.setattr(extension, "flip_sums", counted)
    return counts


def test_a_model_is_flipped_once(tmp_path: Path, flipped: list[int]) -> None:
    """Whatever other models there are, and in whichever order they are added."""
    table = table_of("bdfhj")
    first = infer(table.matrix([0, 1]), PLAN)
    second = extend(Earlier.of(first), table.matrix([0, 1, 3]), PLAN, tmp_path)
    assert sum(flipped) == 4  # h, b and d, the chance level
    third = extend(Earlier.of(second), table.matrix(), PLAN, tmp_path)
    assert sum(flipped) == 6
    assert bits(third) == bits(infer(table.matrix(), PLAN))
    extend(Earlier.of(first), table.matrix([4, 1, 0]), PLAN, tmp_path)
    assert sum(flipped) == 6


@pytest.mark.parametrize("held", [1, 2])
def test_more_models_than_are_held_at_once(
    held: int, tmp_path: Path, flipped: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_of()
    earlier, expected = Earlier.of(infer(table.matrix([1, 2, 3, 4]), PLAN)), None
    monkeypatch.setattr(extension, "_BATCH_BYTES", held * 8 * PLAN.flips)
    for threads in (1, 2):
        found = bits(extend(earlier, table.matrix(), PLAN, tmp_path, threads))
        assert found == (expected or bits(infer(table.matrix(), PLAN)))
    assert flipped == [1] + [held] * (4 // held) + [1]


def test_a_cache_that_cannot_be_written_is_not_used(tmp_path: Path, flipped: list[int]) -> None:
    """A file where it should be, and one above it: nobody may write there, not even root."""
    table, here = table_of(), tmp_path / "file"
    here.write_bytes(b"mine")
    earlier, expected = Earlier.of(infer(table.matrix([0, 2]), PLAN)), infer(table.matrix(), PLAN)
    for cache in (here, here / "below"):
        assert bits(extend(earlier, table.matrix(), PLAN, cache)) == bits(expected)
    assert files(tmp_path) == {here: b"mine"}
    assert sum(flipped) == 2 * 6


def test_progress_adds_up(tmp_path: Path) -> None:
    table, earlier = table_of(), None
    earlier = Earlier.of(infer(table.matrix([0, 2, 3]), PLAN))
    anew = {"pair errors": 7, "step-down": 257, "pair bands": 300}
    for stages in (
        {"bootstrap": 300, "intervals": 9, "stored sums": 3, "sign flips": 257} | anew,
        {"bootstrap": 300, "intervals": 9, "stored sums": 3} | anew,
    ):
        done: dict[str, int] = {}
        totals: dict[str, int] = {}

        def tell(stage: str, units: int, total: int, done=done, totals=totals) -> None:
            done[stage] = done.get(stage, 0) + units
            totals[stage] = total

        extend(earlier, table.matrix(), PLAN, tmp_path, 2, tell)
        assert done == totals == stages


# --- refusals --------------------------------------------------------------------------------


def with_values(table: Table, model: str, task: int, value: int) -> Table:
    values = table.values.copy()
    values[table.models.index(model), task] = value
    return dataclasses.replace(table, values=values)


def with_task(table: Table, **columns: np.ndarray) -> Table:
    """The first task in another place of the design."""
    moved = {name: getattr(table, name).copy() for name in columns}
    for name, value in columns.items():
        moved[name][0] = value
    return dataclasses.replace(table, **moved)


def renamed(table: Table, field: str) -> Table:
    return dataclasses.replace(table, **{field: (*getattr(table, field)[:-1], "odd one")})


#: Name → the table with new models (``b`` and ``f`` are earlier ones), and what is said.
REFUSED: dict[str, tuple[Callable[[Table], Table], str]] = {
    "task": (lambda t: renamed(t, "tasks"), "tasks .*: odd one, t59"),
    "cluster": (lambda t: renamed(t, "anchors"), "clusters .*: a19, odd one"),
    "stratum": (lambda t: with_task(t, stratum=4), "strata .*: panel 0/family c"),
    "stratum of a task": (lambda t: with_task(t, stratum=1), "another stratum .*: t00;"),
    "cluster of a task": (
        lambda t: with_task(t, cluster=(t.cluster[0] + 1) % 20),
        "another cluster .*: t00;",
    ),
    "chance of a task": (lambda t: with_task(t, chance=1), "another chance level .*: t00;"),
    "no chance": (lambda t: dataclasses.replace(t, chance=None), "only the earlier scores have"),
    "earlier score": (
        lambda t: with_values(t, "f", 7, 1234),
        "f now scores 12.34 on task t07, not",
    ),
    "earlier model gone": (lambda t: dataclasses.replace(t, models=tuple("bdghj")), "scores: f;"),
    "no new model": (
        lambda t: dataclasses.replace(t, values=t.values[[0, 2]], models=("b", "f")),
        "all 2 models",
    ),
    "finer grid": (
        lambda t: dataclasses.replace(
            t,
            values=np.vstack([10 * t.values[:4], t.values[4:]]),
            chance=10 * t.chance,
            exponent=3,
        ),
        "3 decimals .* grid of 2",
    ),
    "other weights": (
        lambda t: with_values(t, "j", 0, LARGE),
        "up to .* other stratum weights",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_scores_that_do_not_fit_are_refused(name: str, tmp_path: Path) -> None:
    change, says = REFUSED[name]
    table = table_of()
    earlier = Earlier.of(infer(table.matrix([0, 2]), PLAN))
    with pytest.raises(InputError, match=says) as caught:
        extend(earlier, change(table).matrix(), PLAN, tmp_path)
    assert "\n" not in str(caught.value)
    assert not files(tmp_path)


def test_chance_levels_that_were_not_there_are_refused() -> None:
    table = table_of()
    bare = dataclasses.replace(table, chance=None)
    earlier = Earlier.of(infer(bare.matrix([0, 2]), PLAN))
    with pytest.raises(InputError, match="only the new scores have chance levels"):
        extend(earlier, table.matrix(), PLAN)


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Plan)])
def test_another_plan_is_refused(field: str) -> None:
    table = table_of()
    other = dataclasses.replace(PLAN, **{field: getattr(PLAN, field) * 2})
    earlier = Earlier.of(infer(table.matrix([0, 2]), PLAN))
    with pytest.raises(InputError, match=f"--{field} .* made with {getattr(PLAN, field)}"):
        extend(earlier, table.matrix(), other)


def test_larger_scores_alone_are_no_reason_to_refuse() -> None:
    table = with_values(table_of(), "d", 3, 15_000)
    before, after = infer(table.matrix([0, 2]), PLAN), infer(table.matrix(), PLAN)
    assert after.matrix.largest > before.matrix.largest
    assert bits(extend(Earlier.of(before), after.matrix, PLAN)) == bits(after)


@pytest.mark.parametrize(
    "name",
    [
        *("draws", "se", "pointwise", "difference_se", "interval"),
        *("dz", "exceedances", "chance_exceedances"),
    ],
)
def test_numbers_of_other_models_are_refused(name: str) -> None:
    earlier = Earlier.of(infer(table_of().matrix([0, 2, 3]), PLAN))
    whole = getattr(earlier.measured, name)
    for odd in (whole[:-1], whole[..., None], None):
        measured = dataclasses.replace(earlier.measured, **{name: odd})
        with pytest.raises(InputError, match=f"earlier {name} of shape"):
            dataclasses.replace(earlier, measured=measured)


@pytest.mark.parametrize("name", ["redraws", "flips_drawn", "flips_exact"])
def test_numbers_of_another_plan_are_refused(name: str) -> None:
    table = table_of()
    earlier = Earlier.of(infer(table.matrix([0, 2]), PLAN))
    value = not earlier.measured.flips_exact if name == "flips_exact" else 5
    measured = dataclasses.replace(earlier.measured, **{name: value})
    with pytest.raises(InputError, match="in the earlier analysis"):
        extend(dataclasses.replace(earlier, measured=measured), table.matrix(), PLAN)


def test_sums_beyond_memory_are_refused() -> None:
    table = dataclasses.replace(
        table_of(), cluster=np.arange(60), anchors=tuple(f"a{c:02d}" for c in range(60))
    )
    earlier = Earlier.of(infer(table.matrix([0, 2]), PLAN))
    large = dataclasses.replace(PLAN, flips=10**9)
    measured = dataclasses.replace(earlier.measured, flips_drawn=10**9)
    with pytest.raises(InputError, match="1000000000 sign flips of 3 new models take 30 GiB"):
        extend(dataclasses.replace(earlier, plan=large, measured=measured), table.matrix(), large)

"""``fb verify``: no byte and no value of a release can change unseen, nor crash it."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from release_files import (
    BOARD,
    NUMBERS,
    Place,
    changed,
    places,
    replace_board,
    replace_bytes,
    replace_table,
    reseal,
    seal_bytes,
    small_matrix,
    tables_of,
    write_collected,
    write_small,
)
from running import tree

from flavourbench.analysis.inference import infer
from flavourbench.analysis.matrix import Stratum, build_matrix
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.release import read_matrix, write_release
from flavourbench.analysis.verify import verify_release
from flavourbench.artifact import MANIFEST
from flavourbench.checks import Check
from flavourbench.errors import InputError
from flavourbench.identity import Column, canonical_json

SEAL = "RELEASE.sha256"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small(tmp_path_factory.mktemp("verify") / "r")


@pytest.fixture
def release(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "r"))


def failures(checks: list[Check]) -> str:
    """All that failed, a line each."""
    return "\n".join(f"{c['check']}: {c['detail']}" for c in checks if c["passed"] is False)


def check_found(folder: Path, *says: str) -> str:
    """Full verification fails and says so; a quick one has no reason to."""
    assert failures(verify_release(folder, quick=True)) == ""
    return check_refused(folder, *says)


def check_refused(folder: Path, *says: str) -> str:
    found = failures(verify_release(folder))
    assert found
    assert all(line.isprintable() for line in found.splitlines())
    for part in says:
        assert part in found, f"{part} is not in {found!r}"
    return found


# --- what is right -------------------------------------------------------------------------


@pytest.mark.parametrize("chance", [True, False])
def test_every_check_of_a_release_passes(tmp_path: Path, chance: bool) -> None:
    path = write_small(tmp_path / "r", chance=chance)
    before = tree(path)
    checks = verify_release(path)
    assert failures(checks) == ""
    names = ["files", "content", "input", "statements", "manifest", "draws", "counts", "pairs"]
    names += ["chance"] * chance + ["leaderboard", "origin"]
    assert [check["check"] for check in checks] == names
    assert [check["passed"] for check in checks] == [True] * (len(names) - 1) + [None]
    assert "answers and tasks were not seen" in checks[-1]["detail"]
    assert tree(path) == before


def test_a_quick_verification_says_what_it_left_out(original: Path) -> None:
    checks = verify_release(original, quick=True)
    assert [(check["check"], check["passed"]) for check in checks] == [
        ("files", True),
        ("content", True),
        ("numbers", None),
    ]


def test_releases_of_rounded_scores_without_panels_or_families(tmp_path: Path) -> None:
    """Rounded scores and chance levels; strata that stand alone; and once more from itself."""
    source = np.random.default_rng(8)
    values, ids = source.random((3, 20)) / 3, [f"t{t:02d}" for t in range(20)]
    strata = [Stratum(f"s{t % 2}", None, None) for t in range(20)]
    names = ["a", "b", "c"]
    matrix = build_matrix(names, names, ids, strata, ids, values, values[0] / 7, "made of noise")
    assert matrix.scores.largest_error > 0 < matrix.chance_error
    write_release(infer(matrix, Plan(64, 128), 1), tmp_path / "r")
    assert failures(verify_release(tmp_path / "r")) == ""
    write_release(infer(read_matrix(tmp_path / "r"), Plan(64, 128, 7), 1), tmp_path / "again")
    assert failures(verify_release(tmp_path / "again")) == ""


@pytest.mark.parametrize("flips", [300, 9000])
def test_progress_adds_up(tmp_path: Path, flips: int) -> None:
    """With random signs and where all sign vectors are enumerated."""
    write_release(infer(small_matrix(), Plan(40, flips), 1), tmp_path / "r")
    done: dict[str, int] = {}
    totals: dict[str, int] = {}

    def progress(stage: str, units: int, total: int) -> None:
        done[stage] = done.get(stage, 0) + units
        totals[stage] = total

    verify_release(tmp_path / "r", progress=progress)
    assert done == totals
    assert {*done} == {"bootstrap", "pair intervals", "sign flips", "step-down"}


# --- bytes ---------------------------------------------------------------------------------


def test_any_changed_byte_is_found_and_its_file_named(release: Path) -> None:
    """Each byte of small JSON files and the seal, and some over the whole of the others."""
    before = tree(release)
    for path in sorted(release.iterdir()):
        data = path.read_bytes()
        step = 1 if len(data) < 4096 and path.suffix != ".parquet" else len(data) // 200
        ends = {*range(20), *range(len(data) - 20, len(data))}
        for at in sorted(ends | {*range(0, len(data), step)}):
            path.write_bytes(data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :])
            (check,) = verify_release(release, quick=at % 2 == 0)
            assert (check["check"], check["passed"]) == ("files", False), (path.name, at)
            assert path.name in check["detail"], (path.name, at)
        path.write_bytes(data)
    assert tree(release) == before
    assert failures(verify_release(release)) == ""


CHANGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\n"),
    "empty": lambda path: path.write_bytes(b""),
    "removed": lambda path: path.unlink(),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a dangling link": lambda path: (path.unlink(), path.symlink_to("nowhere")),
    "beside another": lambda path: path.with_name(f"{path.name}~").write_bytes(b""),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_cut_longer_gone_or_too_many(original: Path, tmp_path: Path, change: str) -> None:
    for number, name in enumerate(sorted(path.name for path in original.iterdir())):
        folder = Path(shutil.copytree(original, tmp_path / str(number)))
        CHANGES[change](folder / name)
        for quick in (True, False):
            (check,) = verify_release(folder, quick)
            assert (check["check"], check["passed"]) == ("files", False)
            assert name in check["detail"]


# --- coherent tampering --------------------------------------------------------------------


def other(value: Any) -> Any:
    """The nearest other value of the same type."""
    if isinstance(value, (bool, np.bool_)):
        return not value
    if isinstance(value, (int, np.integer)):
        return value + 1
    if isinstance(value, (float, np.floating)):
        return np.nextafter(value, np.inf).item()
    return f"{value}x"


def altered(column: Column, row: int) -> Column:
    """A column with another value in one row."""
    if not isinstance(column, np.ndarray):
        return [*column[:row], other(column[row]), *column[row + 1 :]]
    copy = column.copy()
    copy[row] = other(np.ma.getdata(column)[row])
    return copy


@pytest.mark.parametrize("name", NUMBERS)
def test_a_sealed_change_of_any_column_is_found(release: Path, name: str) -> None:
    """Last rows too: a change there leaves ids in order."""
    tables = tables_of(release)
    assert tables.keys() == NUMBERS.keys()
    assert NUMBERS[name] in tables[name]
    for column, values in tables[name].items():
        for row in (0, len(values) // 2, len(values) - 1):
            replace_table(release, name, tables[name] | {column: altered(values, row)})
            check_found(release, name, column)
    replace_table(release, name, tables[name])
    assert failures(verify_release(release)) == ""


def test_effects_that_come_or_go_are_found(release: Path) -> None:
    """Null and number are different, whatever stands under the mask; so are the two zeros."""
    table = tables_of(release)["pairs.parquet"]
    dz = np.ma.MaskedArray(table["dz"])
    (gone,) = np.flatnonzero(dz.mask)
    for row in (gone, 0):
        mask = dz.mask.copy()
        mask[row] = not mask[row]
        replace_table(release, "pairs.parquet", table | {"dz": np.ma.MaskedArray(dz.data, mask)})
        check_found(release, "pairs.parquet", "dz", "null")
    difference = np.array(table["difference"])
    (row,) = np.flatnonzero(difference == 0)
    difference[row] = -0.0
    replace_table(release, "pairs.parquet", table | {"difference": difference})
    check_found(release, "pairs.parquet", "difference is -0.0, derived 0.0")


def test_the_first_difference_is_named_with_its_row(release: Path) -> None:
    table = tables_of(release)["pairs.parquet"]
    counts, p = np.array(table["exceedances"]), np.array(table["p"])
    counts[7] += 3
    p[4] = p[9] = 0.5
    wrong = table | {"exceedances": counts, "p": p}
    replace_table(release, "pairs.parquet", wrong)
    told = f"pairs.parquet: row birch, cedar: p is 0.5, derived {table['p'][4].item()!r}"
    found = check_found(release, told, "the first of 3 differences")
    assert len(found.splitlines()) == 1


def test_scores_on_the_grid_are_part_of_the_digest(release: Path) -> None:
    """Not only values that no table could have."""
    tables = tables_of(release)
    score = np.array(tables["scores.parquet"]["score"])
    score[30] = np.round(score[30] + 0.01, 2)
    replace_table(release, "scores.parquet", tables["scores.parquet"] | {"score": score})
    check_found(release, "input: scores.parquet (score)", "draws.parquet: row", ": birch is")
    replace_table(release, "scores.parquet", tables["scores.parquet"])
    anchors = [*tables["tasks.parquet"]["anchor"]]
    anchors[3] = anchors[8]
    replace_table(release, "tasks.parquet", tables["tasks.parquet"] | {"anchor": anchors})
    check_found(release, "tasks.parquet (stratum, anchor")


def walked(value: Any, but: frozenset[str] = frozenset()) -> Iterator[Place]:
    """Places of a JSON file, without those below the keys ``but``."""
    return (at for at in places(value) if at[0] not in but)


def forged(value: Any) -> Any:
    """Another value in the place of a JSON value."""
    if value is None:
        return "x"
    if isinstance(value, list):
        return [*value, value[-1] if value else "x"]
    return value | {"x": 1} if isinstance(value, dict) else other(value)


def test_a_sealed_change_of_any_key_of_the_leaderboard_is_found(release: Path) -> None:
    board = json.loads((release / BOARD).read_bytes())
    for at in walked(board):
        replace_board(release, changed(board, at, forged))
        check_found(release, BOARD, *(key for key in at if isinstance(key, str)))
    for key in board:
        replace_board(release, {name: value for name, value in board.items() if name != key})
        check_found(release, BOARD, key)
    replace_board(release, board | {"notes": []})
    check_found(release, BOARD, "notes is unknown")


#: Nothing derives the versions of the software, and what format and files state is not of them.
NOT_DERIVED = frozenset({"software", "format", "files"})


def test_a_sealed_change_of_any_key_of_the_manifest_is_found(release: Path) -> None:
    manifest = json.loads((release / MANIFEST).read_bytes())
    for at in walked(manifest, NOT_DERIVED):
        forgery = changed(manifest, at, forged)
        reseal(release, manifest=forgery)
        check_refused(release, MANIFEST, str(at[0]))
    for key in manifest.keys() - {"format"}:
        reseal(release, manifest={k: v for k, v in manifest.items() if k != key})
        check_refused(release, MANIFEST, key)
    reseal(release, manifest=manifest | {"notes": []})
    check_found(release, MANIFEST, "notes is unknown")
    for software in (
        {},
        manifest["software"] | {"host": "x"},
        {**manifest["software"], "pyarrow": 1},
    ):
        reseal(release, manifest=manifest | {"software": software})
        check_found(release, MANIFEST, "software")


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("seed", 5, "draws.parquet"),
        ("alpha", 0.5, "leaderboard.json"),
        ("flips", 299, "counts.parquet"),
        ("draws", 39, "draws.parquet"),
        ("flips_exact", True, "manifest.json: plan.flips_exact is true, derived false"),
        ("weight_scale", 5, "plan.weight_scale"),
        ("redraws", 7, "plan.redraws"),
        ("generator", "pcg64", "plan.generator"),
    ],
)
def test_a_plan_changed_wherever_it_stands_is_found(
    release: Path, key: str, value: object, says: str
) -> None:
    for name in (BOARD, MANIFEST):
        content = json.loads((release / name).read_bytes())
        content["plan"][key] = value
        if name == BOARD:
            replace_board(release, content)
        else:
            reseal(release, manifest=content)
    check_found(release, says)


def test_a_rounding_that_no_table_leads_to_is_found(release: Path) -> None:
    manifest = json.loads((release / MANIFEST).read_bytes())
    for key, value in (("scores", 1e-7), ("scores", -1e-9), ("chance", 0.02), ("chance", -1.0)):
        reseal(release, manifest=changed(manifest, ("rounding", key), lambda _, v=value: v))
        check_found(release, MANIFEST, f"rounding.{key}")


def test_chance_tests_without_levels_and_levels_without_tests(tmp_path: Path) -> None:
    with_, without = (write_small(tmp_path / f"{c}", chance=c) for c in (True, False))
    shutil.copy(with_ / "chance.parquet", without)
    reseal(without, contents={"chance.parquet": file_content(with_, "chance.parquet")})
    check_found(without, "chance.parquet", "no chance levels")
    manifest = json.loads((with_ / MANIFEST).read_bytes())
    del manifest["files"]["chance.parquet"]
    (with_ / "chance.parquet").unlink()
    reseal(with_, manifest=manifest)
    check_found(with_, "chance.parquet", "missing")


def file_content(folder: Path, name: str) -> str:
    digest: str = json.loads((folder / MANIFEST).read_bytes())["files"][name]["content_sha256"]
    return digest


# --- what cannot be parsed -----------------------------------------------------------------


def as_arrow(values: Column) -> Any:
    import pyarrow as pa

    if not isinstance(values, np.ndarray):
        return pa.array(values)
    return pa.array(np.ma.getdata(values), mask=np.ma.getmaskarray(values))


def malformed(table: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Tables of Arrow arrays that no release holds."""
    import pyarrow as pa

    first, *rest = table
    rows = len(table[first])
    yield {name: table[name] for name in rest}
    yield table | {"more": pa.array(range(rows))}
    yield {name: table[name] for name in (*rest, first)}
    yield {name: column[:0] for name, column in table.items()}
    yield {name: column[:-1] for name, column in table.items()}
    yield {name: pa.concat_arrays([column, column[:1]]) for name, column in table.items()}
    for name, column in table.items():
        yield table | {name: pa.array([None, *column.to_pylist()[1:]], column.type)}
        yield table | {name: pa.array([[1]] * rows)}
        yield table | {name: pa.array([1] * rows, pa.int32())}
        if pa.types.is_floating(column.type):
            for value in (np.nan, np.inf, -np.inf):
                yield table | {name: pa.array([value, *column.to_pylist()[1:]])}
            yield table | {name: column.cast(pa.float32())}
        else:
            yield table | {name: pa.array([1.5] * rows)}
            yield table | {name: column.cast(pa.string()).cast(pa.binary())}


@pytest.mark.parametrize("name", NUMBERS)
def test_tables_that_are_none_are_refused(release: Path, name: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = {column: as_arrow(values) for column, values in tables_of(release)[name].items()}
    for wrong in malformed(table):
        pq.write_table(pa.table(wrong), release / name)
        replace_bytes(release, name, (release / name).read_bytes())
        for quick in (True, False):
            assert name in failures(verify_release(release, quick)), wrong


@pytest.mark.parametrize("name", [BOARD, *NUMBERS])
@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b"null", b"\xff", b"PAR1", b"PAR1" * 9, b'{"a":NaN}', b"[" * 100_000],
    ids=lambda data: str(data[:9]),
)
def test_sealed_files_of_other_bytes_are_refused(release: Path, name: str, data: bytes) -> None:
    replace_bytes(release, name, data)
    check_refused(release, name)


def test_damaged_parquet_under_right_digests_is_refused(release: Path) -> None:
    """Bytes that a reader of Parquet stumbles over, at any place of the file."""
    name = "tasks.parquet"
    data = (release / name).read_bytes()
    for at in range(0, len(data), 29):
        replace_bytes(release, name, data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        check_refused(release, name)


@pytest.mark.parametrize(
    "data", [b"[]", b"null", b"", b"{", b"{}", b'{"format":7}', b"\xff", b"[" * 10**5]
)
def test_a_sealed_manifest_that_is_none_is_refused(release: Path, data: bytes) -> None:
    seal_bytes(release, data)
    check_refused(release, MANIFEST)


def test_json_that_is_not_canonical_is_refused(release: Path) -> None:
    data = (release / BOARD).read_bytes()
    replace_bytes(release, BOARD, data.replace(b'":', b'": ', 1))
    check_refused(release, BOARD, "canonical")
    replace_bytes(release, BOARD, data[:-1] + b',"level":0.95}')
    check_refused(release, BOARD, "canonical")
    replace_bytes(release, BOARD, data)
    manifest = (release / MANIFEST).read_bytes()
    seal_bytes(release, manifest + b"\n")
    check_refused(release, MANIFEST, "canonical")


def test_other_formats_are_bad_input(release: Path) -> None:
    manifest = json.loads((release / MANIFEST).read_bytes())
    reseal(release, manifest=manifest | {"format": "flavourbench-release/999"})
    with pytest.raises(InputError, match="release/999"):
        verify_release(release)


def test_files_that_no_release_has_are_refused(release: Path) -> None:
    (release / "notes.txt").write_bytes(b"x")
    reseal(release, contents={"notes.txt": hashlib.sha256(b"x").hexdigest()})
    check_refused(release, "notes.txt is no file of a release")
    manifest = json.loads((release / MANIFEST).read_bytes())
    manifest["files"][f"../{release.name}/notes.txt"] = manifest["files"].pop("notes.txt")
    reseal(release, manifest=manifest)
    check_refused(release, "notes.txt")


HOSTILE = [None, True, -1, 0, 2**53 - 1, 1.5, 1e300, "", "x", [], [None], [[]], {}, {"id": None}]


def test_no_value_of_a_manifest_or_leaderboard_ends_in_a_traceback(release: Path) -> None:
    """Every failure is a check that failed, whatever stands in whatever place."""
    manifest = json.loads((release / MANIFEST).read_bytes())
    for at in places(manifest):
        for value in HOSTILE[len(str(at)) % 3 :: 3]:
            wrong = changed(manifest, at, lambda _, v=value: v)
            if wrong == manifest or at == ("format",) or at[0] == "software":
                continue
            seal_bytes(release, canonical_json(wrong))
            check_refused(release)
    large = json.dumps(changed(manifest, ("plan", "seed"), lambda _: 10**400))
    seal_bytes(release, large.encode())
    check_refused(release, MANIFEST)
    reseal(release, manifest=manifest)
    board = json.loads((release / BOARD).read_bytes())
    for at in places(board):
        value = HOSTILE[len(str(at)) % len(HOSTILE)]
        wrong = changed(board, at, lambda _, v=value: v)
        if wrong != board:
            replace_board(release, wrong)
            check_refused(release, BOARD)


def test_scores_that_no_analysis_takes_are_refused(tmp_path: Path) -> None:
    """A forger may leave too few clusters; the verification says so and stops."""
    path = write_small(tmp_path / "r")
    tables = tables_of(path)
    anchors = ["a"] * len(tables["tasks.parquet"]["anchor"])
    replace_table(path, "tasks.parquet", tables["tasks.parquet"] | {"anchor": anchors})
    check_found(path, "input: ", "anchor")


def test_the_helpers_leave_an_equal_release(release: Path) -> None:
    """Else the forgeries above could fail for the way they are written."""
    before = tree(release)
    for name, table in tables_of(release).items():
        replace_table(release, name, table)
    replace_board(release, json.loads((release / BOARD).read_bytes()))
    assert tree(release) == before
    assert read_matrix(release).content_sha256 == small_matrix().content_sha256


# --- releases of answers -------------------------------------------------------------------


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collected(tmp_path_factory.mktemp("collected") / "r")


def test_every_check_of_a_release_of_answers_passes(collected: Path) -> None:
    checks = verify_release(collected)
    assert failures(checks) == ""
    # The environment that scored the tasks is not here.
    unseen = [check["check"] for check in checks if check["passed"] is None]
    assert unseen == ["tasks: scores", "tasks: compilation", "score maps", "origin"]


def test_what_scores_were_made_from_must_be_readable(collected: Path, tmp_path: Path) -> None:
    """All of it, under right digests: other bytes, and bytes that end too soon."""
    others = {path.name for path in collected.iterdir()} - {MANIFEST, SEAL, BOARD, *NUMBERS}
    assert len(others) == 7
    release = Path(shutil.copytree(collected, tmp_path / "r"))
    for name in sorted(others):
        data = (release / name).read_bytes()
        for wrong in (b"", b"[]", b"null", b"PAR1", data[: len(data) // 2]):
            replace_bytes(release, name, wrong)
            check_refused(release, name)
        replace_bytes(release, name, data)
        reseal(release, contents={name: file_content(collected, name)})
    assert tree(release) == tree(collected)


def test_what_scores_were_made_from_is_that_of_the_manifest(
    collected: Path, tmp_path: Path
) -> None:
    """A release names tasks, answers, core and scores by their digests."""
    release = Path(shutil.copytree(collected, tmp_path / "r"))
    manifest = json.loads((release / MANIFEST).read_bytes())
    for at, parent in enumerate(manifest["parents"]):
        reseal(release, manifest=changed(manifest, ("parents", at, "content_sha256"), forged))
        check_found(release, f"parents[{at}].content_sha256", MANIFEST)
        assert parent["kind"] == ("tasks", "answers", "core", "scores")[at]
    listing = {k: v for k, v in manifest["files"].items() if k != "core.json"}
    reseal(release, manifest=manifest | {"files": listing})
    check_refused(release, "core.json")

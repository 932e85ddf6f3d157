"""Environment folders: what is written is read again, and whatever was done to it is found."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from bundles import Bundle, Form, synthetic, write_server, write_snapshot, write_tags
from running import tree
from strategies import bits

from flavourbench import folders
from flavourbench.artifact import Kind
from flavourbench.environment import (
    Environment,
    open_environment,
    read_bundle,
    read_environment,
    store,
    write_environment,
)
from flavourbench.errors import CheckError, FlavourBenchError, InputError

TRUTH = synthetic(3, 24, 5)
ITEMS, MANIFEST, SEAL = "items.parquet", "manifest.json", "ENVIRONMENT.sha256"
FILES = (ITEMS, MANIFEST, SEAL)

Manifest = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An environment, written."""
    path = tmp_path / "written"
    write_environment(TRUTH.environment(), path)
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of stored environments, which does not exist yet."""
    monkeypatch.setenv("FLAVOURBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache" / "environments"


def failed(path: Path, source: Environment | None = None) -> set[str]:
    """The checks that fail: ``{"files"}`` where nothing else could be checked."""
    checks = store.verify(path, source)
    for check in checks:
        assert check["detail"].isprintable(), f"a terminal would obey {check['detail']!r}"
        assert check["passed"] or len(checks) > 1 or path.name in check["detail"]
    return {check["check"] for check in checks if not check["passed"]}


def seal(folder: Path, change: Callable[[Manifest], object] = lambda _: None) -> None:
    """Give a folder a manifest and a seal that agree with its files."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    data = (folder / ITEMS).read_bytes()
    manifest["files"][ITEMS] |= {
        "file_sha256": hashlib.sha256(data).hexdigest(),
        "bytes": len(data),
    }
    change(manifest)
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode()
    (folder / MANIFEST).write_bytes(text)
    (folder / SEAL).write_text(f"{hashlib.sha256(text).hexdigest()}  {MANIFEST}\n")


# --- there and back --------------------------------------------------------------------------


@pytest.mark.parametrize("nova", [(), (None,), (2,)], ids=["mixed", "unknown", "known"])
@pytest.mark.parametrize(("items", "dimensions"), [(24, 5), (1, 1), (60, 300)])
def test_what_was_written_is_read(
    items: int, dimensions: int, nova: tuple[int | None, ...], tmp_path: Path
) -> None:
    bundle = synthetic(5, items, dimensions)
    for level in nova:
        tags = [replace(tags, nova=level) for tags in bundle.tags]
        bundle = Bundle(bundle.names, bundle.vectors, tuple(tags))
    provenance = {"layout": "made up", "files": {"a": {"bytes": 3}}, "note": "crème"}
    written = replace(bundle.environment("of tests"), provenance=provenance)
    write_environment(written, tmp_path / "a")
    found = read_environment(tmp_path / "a")
    assert found.items == written.items
    assert bits(found.units) == bits(written.units)
    assert found.tags == written.tags
    assert (found.name, found.provenance) == ("of tests", provenance)
    assert found.identity == written.identity
    assert found.neighbors(found.items[0]) == written.neighbors(found.items[0])
    assert failed(tmp_path / "a", written) == set()


def test_what_was_read_cannot_be_written_to(folder: Path) -> None:
    with pytest.raises(ValueError, match="read-only"):
        read_environment(folder).units[0, 0] = 1


def test_a_folder_holds_three_files(folder: Path) -> None:
    assert {*tree(folder)} == {*FILES}


def test_the_same_environment_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    """Written again, from what was read, and where another name says so."""
    write_environment(TRUTH.environment(), tmp_path / "again")
    write_environment(read_environment(folder), tmp_path / "read")
    assert tree(tmp_path / "again") == tree(tmp_path / "read") == tree(folder)


def test_both_layouts_give_the_same_table(folder: Path, tmp_path: Path) -> None:
    """Only the provenance differs, which lies in the manifest and names every file."""
    form = Form(order=4, newline="\r\n", mark=True)
    snapshot = write_snapshot(TRUTH, tmp_path / "snapshot", form)
    tags = write_tags(TRUTH, tmp_path / "tags.csv", form)
    server = write_server(TRUTH, tmp_path / "server", form)
    sources = {
        "a": (read_bundle(snapshot, tags), [tags, *snapshot.iterdir()]),
        "b": (read_bundle(server), [*server.iterdir()]),
    }
    for name, (environment, files) in sources.items():
        write_environment(environment, tmp_path / name)
        assert (tmp_path / name / ITEMS).read_bytes() == (folder / ITEMS).read_bytes()
        stated = json.loads((tmp_path / name / MANIFEST).read_bytes())
        assert stated["identity"] == TRUTH.environment().identity
        found = {file: entry["sha256"] for file, entry in stated["provenance"]["files"].items()}
        assert found == {path.name: sha256(path) for path in files}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- what was done to it ---------------------------------------------------------------------


@pytest.mark.parametrize("file", FILES)
def test_a_flipped_byte_is_found(file: str, folder: Path) -> None:
    data = (folder / file).read_bytes()
    for at in {*range(0, len(data), max(1, len(data) // 60)), len(data) - 1}:
        spoilt = bytearray(data)
        spoilt[at] ^= 1
        (folder / file).write_bytes(spoilt)
        assert failed(folder) == {"files"}
    (folder / file).write_bytes(data)
    assert failed(folder) == set()


@pytest.mark.parametrize("file", FILES)
def test_added_and_lost_bytes_are_found(file: str, folder: Path) -> None:
    data = (folder / file).read_bytes()
    for spoilt in (data + b"\n", data[:-1], b""):
        (folder / file).write_bytes(spoilt)
        assert failed(folder) == {"files"}


@pytest.mark.parametrize("file", FILES)
def test_a_missing_file_is_found(file: str, folder: Path) -> None:
    (folder / file).unlink()
    assert failed(folder) == {"files"}
    (folder / file).mkdir()
    assert failed(folder) == {"files"}


@pytest.mark.parametrize("name", ["extra.parquet", ".hidden", "two\nlines"])
@pytest.mark.parametrize("make", [Path.touch, Path.mkdir], ids=["file", "folder"])
def test_an_extra_entry_is_found(name: str, make: Callable[[Path], None], folder: Path) -> None:
    make(folder / name)
    assert failed(folder) == {"files"}


def test_files_of_another_environment_are_found(folder: Path, tmp_path: Path) -> None:
    write_environment(synthetic(4, 24, 5).environment(), tmp_path / "other")
    for file in FILES:
        data = (folder / file).read_bytes()
        (folder / file).write_bytes((tmp_path / "other" / file).read_bytes())
        assert failed(folder) == {"files"}
        (folder / file).write_bytes(data)


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (lambda m: m.update(identity="0" * 64), "identity"),
        (lambda m: m.update(identity=None), "identity"),
        (lambda m: m.update(items=25), "size"),
        (lambda m: m.update(dimensions=4), "size"),
        (lambda m: m["files"][ITEMS].update(content_sha256="0" * 64), "content"),
    ],
)
def test_a_manifest_that_was_sealed_again_is_found(
    change: Callable[[Manifest], object], check: str, folder: Path
) -> None:
    seal(folder, change)
    assert failed(folder) == {check}


WITHOUT: dict[str, Callable[[Manifest], object]] = {
    **{
        f"no {key}": lambda m, key=key: m.pop(key)
        for key in ("name", "identity", "items", "dimensions", "provenance", "files")
    },
    "no entry": lambda m: m["files"].pop(ITEMS),
    "no file digest": lambda m: m["files"][ITEMS].pop("file_sha256"),
    "no content digest": lambda m: m["files"][ITEMS].pop("content_sha256"),
    "an entry that is none": lambda m: m["files"].update({ITEMS: 3}),
    "files in a list": lambda m: m.update(files=[ITEMS]),
    "another file": lambda m: m["files"].update(other=m["files"][ITEMS]),
    "a file elsewhere": lambda m: m["files"].update({"../written/x": m["files"][ITEMS]}),
}


@pytest.mark.parametrize("change", WITHOUT.values(), ids=WITHOUT)
def test_a_manifest_without_its_parts_is_found(
    change: Callable[[Manifest], object], folder: Path
) -> None:
    """Sealed again, so that only its content gives it away."""
    seal(folder, change)
    assert failed(folder)


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", "{", "\xff", '{"format": 3}'])
def test_a_manifest_that_is_none_is_found(text: str, folder: Path) -> None:
    data = text.encode("latin-1")
    (folder / MANIFEST).write_bytes(data)
    (folder / SEAL).write_text(f"{hashlib.sha256(data).hexdigest()}  {MANIFEST}\n")
    for read in (read_environment, store.verify):
        with pytest.raises(FlavourBenchError) as caught:
            read(folder)
        assert str(caught.value).isprintable()


def test_another_format_is_no_damage(folder: Path) -> None:
    seal(folder, lambda m: m.update(format="flavourbench-environment/2"))
    with pytest.raises(InputError, match=r"flavourbench-environment/2.*reads.*environment/1"):
        read_environment(folder)


def changed(folder: Path, column: str, change: Callable[[list[Any]], object]) -> None:
    """Change the values of a column in place, and seal the folder again."""
    table = pq.ParquetFile(folder / ITEMS).read()
    at = table.column_names.index(column)
    values = table[column].to_pylist()
    change(values)
    kind = pa.string() if column in ("name", "category", "regions") else table.schema[at].type
    pq.write_table(table.set_column(at, column, pa.array(values, kind)), folder / ITEMS)
    seal(folder)


def set_first(value: object) -> Callable[[list[Any]], object]:
    return lambda values: values.__setitem__(0, value)


def swap(values: list[Any]) -> None:
    """Exchange the first value with the next one that differs."""
    at = next(at for at, value in enumerate(values) if value != values[0])
    values[0], values[at] = values[at], values[0]


CHANGED: dict[str, tuple[str, Callable[[list[Any]], object]]] = {
    "a name": ("name", set_first("a")),
    "a category": ("category", set_first("Bakery")),
    "another category": ("category", swap),
    "regions": ("regions", swap),
    "vegan": ("vegan", swap),
    "vegetarian": ("vegetarian", swap),
    "NOVA": ("nova", swap),
    "a row": ("row", swap),
    "the sign of a row": ("row", lambda rows: set_first([-x for x in rows[0]])(rows)),
    "a unit": ("row", lambda rows: rows[0].__setitem__(0, rows[0][0] + 1)),
}


@pytest.mark.parametrize(("column", "change"), CHANGED.values(), ids=CHANGED)
def test_a_table_that_was_sealed_again_is_found(
    column: str, change: Callable[[list[Any]], object], folder: Path
) -> None:
    changed(folder, column, change)
    assert failed(folder) == {"content", "identity"}


def test_a_forgery_without_fault_is_found_by_its_source(folder: Path) -> None:
    """Every digest agrees: only the bundle tells."""
    changed(folder, "vegan", swap)
    forged = read_environment(folder)
    write_environment(forged, folder, force=True)
    assert failed(folder) == set()
    assert failed(folder, forged) == set()
    assert failed(folder, TRUTH.environment()) == {"source"}


NONE: dict[str, tuple[str, Callable[[list[Any]], object]]] = {
    "a name that is none": ("name", set_first("A b")),
    "a name to obey": ("name", set_first("a\n\x1b[31m")),
    "a name twice": ("name", lambda names: set_first(names[1])(names)),
    "names out of order": ("name", set_first("zzz")),
    "an unknown region": ("regions", set_first("Atlantis")),
    "no region": ("regions", set_first("")),
    "a region twice": ("regions", set_first("Japanese;Japanese")),
    "NOVA 7": ("nova", set_first(7)),
    "a row of zeros": ("row", set_first([0] * 5)),
    "a row of doubles": ("row", lambda rows: set_first([2 * x for x in rows[0]])(rows)),
    "a null name": ("name", set_first(None)),
    "a null category": ("category", set_first(None)),
    "null regions": ("regions", set_first(None)),
    "a null flag": ("vegan", set_first(None)),
    "a null row": ("row", set_first(None)),
}


@pytest.mark.parametrize(("column", "change"), NONE.values(), ids=NONE)
def test_a_table_that_holds_no_environment_is_found(
    column: str, change: Callable[[list[Any]], object], folder: Path
) -> None:
    changed(folder, column, change)
    assert failed(folder)


Rewrite = Callable[[pa.Table], pa.Table]


def with_rows(kind: pa.DataType, convert: Callable[[list[int]], Any] = lambda row: row) -> Rewrite:
    def rewrite(table: pa.Table) -> pa.Table:
        rows = [convert(row) for row in table["row"].to_pylist()]
        return table.set_column(table.column_names.index("row"), "row", pa.array(rows, kind))

    return rewrite


def unequal() -> Callable[[list[int]], list[int]]:
    """The first row goes into the second, so that the numbers are the same in all."""
    kept: list[int] = []
    count = itertools.count()

    def convert(row: list[int]) -> list[int]:
        at = next(count)
        if at == 0:
            kept.extend(row)
            return []
        return [*kept, *row] if at == 1 else row

    return convert


TABLES: dict[str, Rewrite] = {
    **{
        f"no {name}": lambda table, name=name: table.drop_columns(name)
        for name in ("name", "category", "regions", "vegetarian", "vegan", "nova", "row")
    },
    "no rows": lambda table: table.slice(0, 0),
    "a column twice": lambda table: table.append_column("name", table["name"]),
    "rows of floats": with_rows(pa.list_(pa.float64()), lambda row: [x * 2.0**-26 for x in row]),
    "rows of texts": with_rows(pa.list_(pa.string()), lambda row: [*map(str, row)]),
    "rows of one number": with_rows(pa.int32(), lambda row: row[0]),
    "rows of unequal length with the right total": with_rows(pa.list_(pa.int32()), unequal()),
    "rows with a null": with_rows(pa.list_(pa.int32()), lambda row: [*row[:-1], None]),
    "rows of unequal length": with_rows(pa.list_(pa.int32()), lambda row: row[: row[0] % 5]),
    "flags as texts": lambda table: table.set_column(
        table.column_names.index("vegan"), "vegan", table["vegan"].cast(pa.string())
    ),
}


@pytest.mark.parametrize("rewrite", TABLES.values(), ids=TABLES)
def test_a_table_of_another_form_is_found(rewrite: Rewrite, folder: Path) -> None:
    pq.write_table(rewrite(pq.ParquetFile(folder / ITEMS).read()), folder / ITEMS)
    seal(folder)
    assert failed(folder)


@pytest.mark.parametrize("data", [b"", b"PAR1", b"text", b"PAR1" + b"\0" * 100 + b"PAR1"])
def test_a_table_that_is_none_is_found(data: bytes, folder: Path) -> None:
    (folder / ITEMS).write_bytes(data)
    seal(folder)
    assert failed(folder) == {"files"}


def test_damaged_tables_that_were_sealed_again_are_read_or_found(folder: Path) -> None:
    """A Parquet file is parsed by a large library: nothing it raises may come through."""
    data = (folder / ITEMS).read_bytes()
    source = np.random.default_rng(7)
    for _ in range(300):
        spoilt = bytearray(data)
        for at in source.integers(len(data), size=int(source.integers(1, 4))).tolist():
            spoilt[at] ^= 1 << int(source.integers(8))
        (folder / ITEMS).write_bytes(spoilt)
        seal(folder)
        failed(folder)


def test_what_is_no_environment(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    for name in ("absent", "file", "empty", "a\nb"):
        with pytest.raises(InputError) as caught:
            read_environment(tmp_path / name)
        assert str(caught.value).isprintable()
        assert ascii(name)[1:-1] in str(caught.value)


# --- names and places ------------------------------------------------------------------------

NO_NAMES = [
    *("", ".", "..", "../x", "a/b", "a\\b", "/a", ".hidden", "-a", "_a", "a.", "a-", "a..b"),
    *("A", "Cooc", "a b", "é", "a\n", "a\0", "a" * 65, "～", "a\x1b[31m"),
]


@pytest.mark.parametrize("name", NO_NAMES, ids=ascii)
@pytest.mark.parametrize("force", [False, True])
def test_names_that_are_refused(name: str, force: bool, cache: Path) -> None:
    for check in (store.check_name, lambda text: store.check_free(text, force=force)):
        with pytest.raises(InputError, match="environment name") as caught:
            check(name)
        assert str(caught.value).isprintable()
    assert not cache.exists()


@pytest.mark.parametrize("force", [False, True])
def test_the_name_of_what_is_built_in_is_refused(force: bool, cache: Path) -> None:
    """Even where a folder is stored under it."""
    says = r"^pantry is the environment that is built in: choose another --name$"
    with pytest.raises(InputError, match=says):
        store.check_free("pantry", force=force)
    assert not cache.exists()
    write_environment(TRUTH.environment(), cache / "pantry")
    before = tree(cache)
    with pytest.raises(InputError, match=says):
        store.check_free("pantry", force=force)
    assert tree(cache) == before


@pytest.mark.parametrize("name", ["a", "7", "epicure-cooc", "a.b", "a_b-c.1", "a" * 64])
def test_names_that_are_not(name: str, cache: Path) -> None:
    assert store.check_free(name) == cache / name


def test_what_exists_is_replaced_by_force_alone(cache: Path) -> None:
    path = store.check_free("made")
    write_environment(TRUTH.environment(), path)
    before = tree(cache)
    with pytest.raises(InputError, match=r"made exists.*--force"):
        store.check_free("made")
    other = synthetic(9, 20, 4).environment()
    with pytest.raises(InputError, match="exists"):
        write_environment(other, path)
    assert tree(cache) == before
    assert store.check_free("made", force=True) == path
    write_environment(other, path, force=True)
    assert read_environment(path).identity == other.identity
    assert {*tree(cache)} == {*before}


def test_a_damaged_environment_can_be_replaced(folder: Path) -> None:
    (folder / ITEMS).write_bytes(b"damaged")
    write_environment(TRUTH.environment(), folder, force=True)
    assert failed(folder) == set()


def foreign_folder(path: Path) -> None:
    path.mkdir()
    (path / "thesis.txt").write_text("dear")


def foreign_manifest(path: Path) -> None:
    path.mkdir()
    (path / MANIFEST).write_text("{}")


def foreign_file(path: Path) -> None:
    path.write_text("dear")


def one_more_file(path: Path) -> None:
    write_environment(TRUTH.environment(), path)
    (path / "thesis.txt").write_text("dear")


def no_seal(path: Path) -> None:
    write_environment(TRUTH.environment(), path)
    (path / SEAL).unlink()


def link_to_nothing(path: Path) -> None:
    path.symlink_to("gone")


@pytest.mark.parametrize(
    "make",
    [foreign_folder, foreign_manifest, foreign_file, one_more_file, no_seal, link_to_nothing],
)
@pytest.mark.parametrize("force", [False, True])
def test_what_is_something_else_is_never_replaced(
    make: Callable[[Path], None], force: bool, cache: Path
) -> None:
    cache.mkdir(parents=True)
    make(cache / "made")
    before = tree(cache)
    with pytest.raises(InputError, match="made"):
        store.check_free("made", force=force)
    with pytest.raises(InputError, match="made"):
        write_environment(TRUTH.environment(), cache / "made", force=force)
    assert tree(cache) == before


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "x"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("force", [False, True], ids=["new", "replaced"])
@pytest.mark.parametrize(
    ("owner", "step"),
    [(store, "write_parquet"), (Kind, "write"), (folders, "_move_into_place")],
    ids=["table", "manifest", "move"],
)
def test_an_interrupted_write_leaves_nothing(
    owner: Any,
    step: str,
    force: bool,
    error: BaseException,
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither half a folder nor the folders above it; what stood there still stands."""
    if force:
        write_environment(TRUTH.environment(), cache / "made")
    before = tree(cache.parents[1])

    def interrupted(*_: object) -> None:
        raise error

    monkeypatch.setattr(owner, step, interrupted)
    expected = InputError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected):
        write_environment(synthetic(9, 20, 4).environment(), cache / "made", force=force)
    assert tree(cache.parents[1]) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(InputError, match="not writable"):
            write_environment(TRUTH.environment(), tmp_path / "made")
    finally:
        tmp_path.chmod(0o700)


# --- the stored ones -------------------------------------------------------------------------


def test_none_stored(cache: Path) -> None:
    assert store.stored() == []
    assert store.find(None) == store.BUILT_IN_FOLDER
    with pytest.raises(InputError, match=r"'made'.*known are pantry \(see `fb env import`\)"):
        store.find("made")
    cache.mkdir(parents=True)
    assert store.stored() == []


def test_one_stored(cache: Path) -> None:
    write_environment(TRUTH.environment(), cache / "made")
    assert store.stored() == [cache / "made"]
    assert store.find("made") == cache / "made"
    assert store.find(None) == store.BUILT_IN_FOLDER
    assert open_environment("made").identity == TRUTH.environment().identity
    with pytest.raises(InputError, match=r"'mad'.*known are pantry, made \(see"):
        store.find("mad")


def test_several_stored(cache: Path) -> None:
    for at, name in enumerate(("b", "a", "c")):
        write_environment(synthetic(at, 20, 4).environment(), cache / name)
    assert [path.name for path in store.stored()] == ["a", "b", "c"]
    assert store.find(None) == store.BUILT_IN_FOLDER
    with pytest.raises(InputError, match=r"'d'.*known are pantry, a, b, c \(see"):
        store.find("d")
    assert open_environment("c").identity == synthetic(2, 20, 4).environment().identity


def test_the_pantry_is_one_like_others(cache: Path) -> None:
    pantry = open_environment()
    assert pantry.name == "pantry"
    assert failed(store.BUILT_IN_FOLDER) == set()
    assert pantry.identity == open_environment("pantry").identity
    (entry,) = store.summaries()
    assert (entry["name"], entry["built_in"], entry["items"]) == ("pantry", True, len(pantry))
    assert not cache.exists()


def test_the_pantry_is_found_before_all_else(folder: Path, cache: Path) -> None:
    """Its name means no stored folder and none here; a path may."""
    folder.rename("pantry")
    write_environment(synthetic(9, 20, 4).environment(), cache / "pantry")
    assert store.find("pantry") == store.find(None) == store.BUILT_IN_FOLDER
    assert store.find("./pantry") == Path("pantry")
    assert open_environment("./pantry").identity == TRUTH.environment().identity
    assert store.find(str(cache / "pantry")) == cache / "pantry"
    assert store.stored() == []
    assert [entry["name"] for entry in store.summaries()] == ["pantry"]


def test_the_pantry_needs_no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fbcore._objects.cache_roots", list)
    assert store.find(None) == store.find("pantry") == store.BUILT_IN_FOLDER
    assert open_environment().name == "pantry"
    with pytest.raises(InputError, match=r"no home folder.*FLAVOURBENCH_CACHE"):
        store.find("made")


def test_the_pantry_stays(cache: Path) -> None:
    """And what is stored under its name is not taken for it."""
    write_environment(TRUTH.environment(), cache / "pantry")
    before = tree(cache), tree(store.BUILT_IN_FOLDER)
    for take in (store.stored_path, store.remove_environment):
        with pytest.raises(InputError, match=r"^pantry is built in, .*: it stays$"):
            take("pantry")
    assert (tree(cache), tree(store.BUILT_IN_FOLDER)) == before


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("how", ["altered", "emptied", "missing"])
def test_a_damaged_pantry_is_to_be_reinstalled(
    file: str, how: str, folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BUILT_IN_FOLDER", folder)
    data = (folder / file).read_bytes()
    (folder / file).unlink()
    if how != "missing":
        (folder / file).write_bytes(data[:-1] + bytes([data[-1] ^ 1]) if how == "altered" else b"")
    for name in (None, "pantry", str(folder)):
        with pytest.raises(CheckError, match=r": reinstall flavourbench$"):
            open_environment(name)
    write_environment(TRUTH.environment(), cache / "made")
    first, second = store.summaries()
    assert (first["name"], first["built_in"], "problem" in first) == ("pantry", True, True)
    assert (second["name"], second["built_in"], "problem" in second) == ("made", False, False)


def test_an_environment_is_named_by_its_identity(cache: Path) -> None:
    """The one that is built in too, be others stored or not."""
    pantry, own = open_environment(), TRUTH.environment()
    assert store.named_by(pantry.identity) == "pantry"
    assert store.named_by(own.identity) is None
    write_environment(own, cache / "made")
    assert store.named_by(pantry.identity) == "pantry"
    assert store.named_by(own.identity) == "made"
    for nothing in ("", "0" * 64, pantry.identity[:16]):
        assert store.named_by(nothing) is None


def test_what_else_lies_there_is_not_stored(cache: Path) -> None:
    """Work folders of a process that was killed, files, and folders of something else."""
    write_environment(TRUTH.environment(), cache / "made")
    write_environment(TRUTH.environment(), cache / ".flavourbench-left")
    write_environment(TRUTH.environment(), cache / "Upper")
    (cache / "file").touch()
    (cache / "folder").mkdir()
    write_environment(TRUTH.environment(), cache / "pantry")
    assert store.stored() == [cache / "made"]
    assert [entry["name"] for entry in store.summaries()] == ["pantry", "made"]


def test_a_damaged_one_is_stored_still(cache: Path) -> None:
    """It is refused when it is read, and not passed over for another."""
    for name in ("a", "b"):
        write_environment(TRUTH.environment(), cache / name)
    (cache / "a" / SEAL).unlink()
    assert [path.name for path in store.stored()] == ["a", "b"]
    with pytest.raises(CheckError, match=rf"{SEAL}.*import it again"):
        open_environment("a")


@pytest.mark.parametrize("keys", ["identity", "items", "dimensions", "provenance"])
def test_a_summary_says_what_is_wrong(keys: str, cache: Path) -> None:
    for name in ("a", "b", "c"):
        write_environment(TRUTH.environment(), cache / name)
    (cache / "a" / ITEMS).write_bytes(b"damaged")
    seal(cache / "b", lambda m: m.pop(keys))
    built_in, first, second, third = store.summaries()
    assert [built_in["built_in"], first["built_in"], third["built_in"]] == [True, False, False]
    assert built_in["identity"] == open_environment().identity
    assert ITEMS in first["problem"]
    assert "problem" in second
    assert third["identity"] == TRUTH.environment().identity


def test_paths_are_found(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stored name goes first; a path may be relative, or be of a damaged environment."""
    assert store.find(str(folder)) == folder
    assert store.find("written") == Path("written")
    write_environment(synthetic(9, 20, 4).environment(), cache / "written")
    assert store.find("written") == cache / "written"
    assert store.find("./written") == Path("written")
    monkeypatch.chdir(folder)
    assert open_environment(".").identity == TRUTH.environment().identity
    (folder / SEAL).unlink()
    assert store.find(str(folder)) == folder


@pytest.mark.parametrize("text", ["nope", "", "a\nb", "a\0b", "x" * 300, "../nope", "\x1b[31m"])
def test_what_is_not_found(text: str, cache: Path) -> None:
    write_environment(TRUTH.environment(), cache / "made")
    with pytest.raises(InputError, match="no environment") as caught:
        store.find(text)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("one_step", [True, False], ids=["in one step", "looked up first"])
@pytest.mark.parametrize("made", ["folder", "full folder", "file", "link"])
def test_a_place_that_was_taken_meanwhile_is_not_replaced(
    made: str, one_step: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was first keeps it, and nothing else is left."""
    if not one_step:
        monkeypatch.setattr(folders, "_rename", lambda *_: None)
    here, there = tmp_path / "here", tmp_path / "there"

    def taken(folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        place = folder / "place"
        if made == "file":
            place.write_text("theirs")
        elif made == "link":
            place.symlink_to("nowhere")
        else:
            place.mkdir()
        if made == "full folder":
            (place / "theirs").touch()

    with pytest.raises(InputError, match="exists"), folders.new_folder(here / "place"):
        taken(here)
    taken(there)
    assert tree(here) == tree(there)

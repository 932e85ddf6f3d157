"""What ``read_bundle`` refuses, each kind of it in one line, and the forms it must read."""

from __future__ import annotations

import csv
import io
import json
import os
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bundles import (
    TAG_COLUMNS,
    npy,
    npy_head,
    npz,
    safetensors,
    synthetic,
    write_json,
    write_server,
    write_snapshot,
    write_tags,
    zipped,
)

from flavourbench.environment import read_bundle, tagfile
from flavourbench.errors import InputError

TENSORS, VOCABULARY, NUMBERING = "embeddings.safetensors", "vocab.json", "itos.json"
CONFIG, TAGS = "config.json", "ingredient_tags.csv"
VECTORS, DIRECTIONS = "embeddings.csv", "supervised_directions.npz"
SNAPSHOT = (TENSORS, VOCABULARY, NUMBERING, CONFIG, TAGS)
SERVER = (VECTORS, DIRECTIONS, TAGS)

TRUTH = synthetic(3, 20, 4)
ROWS = TRUTH.vectors
DIRECTION = np.full(4, 0.5, np.float32)
FIRST, SECOND = sorted(TRUTH.names)[:2]

#: Spoils a file; what it returns does not count, so that a lambda does.
Spoil = Callable[[Path], object]


def snapshot(folder: Path) -> Path:
    """A model snapshot that holds its tags file too."""
    write_snapshot(TRUTH, folder)
    write_tags(TRUTH, folder / TAGS)
    return folder


def server(folder: Path) -> Path:
    return write_server(TRUTH, folder)


LAYOUTS = {"snapshot": (snapshot, SNAPSHOT), "server": (server, SERVER)}
each_layout = pytest.mark.parametrize("layout", LAYOUTS)


def refused(folder: Path, *says: str, tags: Path | None = None) -> None:
    """Reading is refused soon, in one printable line that holds each of ``says``."""
    start = time.perf_counter()
    with pytest.raises(InputError) as caught:
        read_bundle(folder, tags)
    assert time.perf_counter() - start < 2
    line = str(caught.value)
    assert line.isprintable(), f"a terminal would obey {line!r}"
    assert len(line) < 1000
    # The path of the folder holds the name of the case, which proves nothing.
    line = line.replace(str(folder), "FOLDER")
    assert line.count("FOLDER") <= 1, f"{line!r} names the place twice"
    for part in says:
        assert part in line, f"{part!r} is not in {line!r}"


def kinds(cases: dict[str, tuple[Spoil, str]]) -> pytest.MarkDecorator:
    """A case for each way to spoil a file, with what the line has to hold."""
    return pytest.mark.parametrize(("spoil", "says"), cases.values(), ids=cases)


# --- ways to spoil a file --------------------------------------------------------------------


def bytes_(change: Callable[[bytes], bytes]) -> Spoil:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def become(data: bytes | str) -> Spoil:
    return bytes_(lambda _: data.encode() if isinstance(data, str) else data)


def object_(change: Callable[[dict[str, Any]], object]) -> Spoil:
    """Change a JSON object in place."""

    def spoil(path: Path) -> None:
        value = json.loads(path.read_text(encoding="utf-8"))
        change(value)
        write_json(path, value)

    return spoil


def entry(name: str, value: object) -> Spoil:
    return object_(lambda found: found.update({name: value}))


def raw_entry(name: str, text: str) -> Spoil:
    """A JSON value that :mod:`json` does not write."""

    def spoil(path: Path) -> None:
        entry(name, "#")(path)
        path.write_text(path.read_text(encoding="utf-8").replace('"#"', text), encoding="utf-8")

    return spoil


def cell(column: str, value: str, line: int = 7) -> Spoil:
    """One cell of a CSV file; line 1 is the head."""
    return rows_(lambda rows: rows[line - 1].__setitem__(rows[0].index(column), value))


def rows_(change: Callable[[list[list[str]]], object]) -> Spoil:
    """Change the rows of a CSV file in place."""

    def spoil(path: Path) -> None:
        with path.open(encoding="utf-8", newline="") as handle:
            rows = [*csv.reader(handle)]
        change(rows)
        with path.open("w", encoding="utf-8", newline="") as handle:
            csv.writer(handle).writerows(rows)

    return spoil


def without_column(rows: list[list[str]], column: str) -> None:
    at = rows[0].index(column)
    for row in rows:
        del row[at]


ANY_TEXT: dict[str, tuple[Spoil, str]] = {
    "empty": (become(b""), ""),
    "blank": (become(b"\n\n \n"), ""),
    "NUL bytes": (become(b"\0" * 100), ""),
    "Latin-1": (become("crème,brûlée\n".encode("latin-1")), "UTF-8"),
    "UTF-16": (bytes_(lambda data: data.decode().encode("utf-16")), "UTF-8"),
    "a picture": (become(b"\x89PNG\r\n\x1a\n" + bytes(range(256))), "UTF-8"),
    "noise": (become(bytes(range(33, 127)) * 50), ""),
    "only a head of one": (become("a\n"), ""),
}


# --- folders ---------------------------------------------------------------------------------


def test_no_folder(tmp_path: Path) -> None:
    refused(tmp_path / "absent", "FOLDER", "no folder")


def test_a_file_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file", "FOLDER", "no folder")


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 3000, "a\0b", "a\nb\x1b[31m"])
def test_odd_paths(name: str, tmp_path: Path) -> None:
    refused(tmp_path / name)
    refused(snapshot(tmp_path / "snapshot"), tags=tmp_path / name)


def test_an_empty_folder(tmp_path: Path) -> None:
    refused(tmp_path, "FOLDER", TENSORS, VECTORS)


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / TENSORS).mkdir()
    (tmp_path / "model.onnx").write_bytes(b"x")
    refused(tmp_path, "FOLDER", "no bundle")


def test_both_layouts_at_once(tmp_path: Path) -> None:
    server(snapshot(tmp_path))
    refused(tmp_path, "FOLDER", TENSORS, VECTORS)


@each_layout
def test_no_tags(layout: str, tmp_path: Path) -> None:
    folder = LAYOUTS[layout][0](tmp_path)
    (folder / TAGS).unlink()
    refused(folder, "FOLDER", "no tags", "--tags")
    refused(folder, "absent.csv", tags=tmp_path / "absent.csv")
    (folder / TAGS).mkdir()
    refused(folder, "FOLDER")
    refused(folder, TAGS, tags=folder / TAGS)


@pytest.mark.parametrize("file", [VOCABULARY])
def test_a_missing_file(file: str, tmp_path: Path) -> None:
    snapshot(tmp_path)
    (tmp_path / file).unlink()
    refused(tmp_path, file)
    (tmp_path / file).mkdir()
    refused(tmp_path, file)


@pytest.mark.parametrize("file", [NUMBERING, CONFIG])
def test_files_that_may_be_missing(file: str, tmp_path: Path) -> None:
    snapshot(tmp_path)
    (tmp_path / file).unlink()
    assert read_bundle(tmp_path).identity == TRUTH.environment().identity


def test_directions_may_be_missing(tmp_path: Path) -> None:
    server(tmp_path)
    (tmp_path / DIRECTIONS).unlink()
    assert read_bundle(tmp_path).identity == TRUTH.environment().identity


@each_layout
def test_a_line_names_its_file_in_a_deep_folder(layout: str, tmp_path: Path) -> None:
    make, files = LAYOUTS[layout]
    folder = make(tmp_path.joinpath(*["a_long_name_of_a_folder"] * 12))
    for file in files:
        data = (folder / file).read_bytes()
        (folder / file).write_bytes(b"")
        refused(folder, file)
        (folder / file).write_bytes(data)


@each_layout
def test_control_characters_in_a_path_are_escaped(layout: str, tmp_path: Path) -> None:
    make, files = LAYOUTS[layout]
    folder = make(tmp_path / "two\nlines\x1b[31m")
    for file in files:
        data = (folder / file).read_bytes()
        (folder / file).write_bytes(b"")
        refused(folder, file, "two\\nlines")
        (folder / file).write_bytes(data)


@each_layout
def test_every_file_is_read_once(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Digests in the provenance are of the bytes that were parsed, were the file to change."""
    make, files = LAYOUTS[layout]
    folder = make(tmp_path)
    unchanged, opened, plain = read_bundle(folder), [], Path.open

    def spoil(self: Path, *arguments: Any) -> io.BytesIO:
        opened.append(self.name)
        with plain(self, *arguments) as handle:
            data = handle.read()
        with plain(self, "w") as handle:
            handle.write("another")
        return io.BytesIO(data)

    monkeypatch.setattr(Path, "open", spoil)
    found = read_bundle(folder)
    assert sorted(opened) == sorted(files)
    assert found.identity == unchanged.identity
    assert found.provenance == unchanged.provenance


@each_layout
def test_links_are_followed(layout: str, tmp_path: Path) -> None:
    """A Hugging Face cache holds links into a folder of blobs."""
    make, files = LAYOUTS[layout]
    blobs, folder = make(tmp_path / "blobs"), tmp_path / "snapshots" / "5f3a"
    folder.mkdir(parents=True)
    for at, file in enumerate(files):
        (blobs / file).rename(blobs / f"{at:064x}")
        (folder / file).symlink_to(Path("../../blobs") / f"{at:064x}")
    assert read_bundle(folder).identity == TRUTH.environment().identity
    (tmp_path / "link").symlink_to(folder)
    environment = read_bundle(tmp_path / "link")
    assert environment.identity == TRUTH.environment().identity
    assert {*environment.provenance["files"]} == {*files}


def test_a_link_to_nothing(tmp_path: Path) -> None:
    snapshot(tmp_path)
    (tmp_path / VOCABULARY).unlink()
    (tmp_path / VOCABULARY).symlink_to("gone")
    refused(tmp_path, VOCABULARY)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
@each_layout
def test_unreadable_files(layout: str, tmp_path: Path) -> None:
    make, files = LAYOUTS[layout]
    folder = make(tmp_path / "bundle")
    for file in files:
        (folder / file).chmod(0)
        refused(folder, file, "permission denied")
        (folder / file).chmod(0o600)
    folder.chmod(0)
    try:
        refused(folder, "FOLDER")
    finally:
        folder.chmod(0o700)


@each_layout
def test_files_over_the_limit(layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, files = LAYOUTS[layout]
    folder = make(tmp_path)
    monkeypatch.setattr(tagfile, "LARGEST_FILE", 2**20)
    assert read_bundle(folder).identity == TRUTH.environment().identity
    for file in files:
        data = (folder / file).read_bytes()
        (folder / file).write_bytes(data + b" " * (2**20 + 1 - len(data)))
        refused(folder, file, "1 MiB")
        (folder / file).write_bytes(data)


def test_the_limit_is_far_above_a_published_file() -> None:
    """1,790 rows of 300 numbers of 25 characters."""
    assert tagfile.LARGEST_FILE > 2 * 1790 * 300 * 25


# --- every file ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "file"),
    [(layout, file) for layout, (_, files) in LAYOUTS.items() for file in files],
)
@kinds(ANY_TEXT)
def test_files_of_something_else(
    layout: str, file: str, spoil: Spoil, says: str, tmp_path: Path
) -> None:
    folder = LAYOUTS[layout][0](tmp_path)
    if file.endswith((".safetensors", ".npz")):
        says = ""
        (folder / file).write_text("text")
    spoil(folder / file)
    refused(folder, file, says)


@each_layout
def test_damaged_files_give_an_environment_or_a_refusal(layout: str, tmp_path: Path) -> None:
    """Random damage of every file: flipped, lost, doubled and foreign bytes."""
    make, files = LAYOUTS[layout]
    folder = make(tmp_path)
    source = np.random.default_rng(11)
    for file in files:
        data = (folder / file).read_bytes()
        wholes = [data]
        if file == DIRECTIONS:  # compressed members are damaged in other ways
            wholes.append(npz({"nova": DIRECTION, "diet": DIRECTION}, zipfile.ZIP_DEFLATED))
        for whole in wholes:
            for _ in range(200):
                (folder / file).write_bytes(damaged(whole, source))
                line = ""
                try:
                    read_bundle(folder)
                except InputError as error:
                    line = str(error)
                assert line.isprintable(), f"a terminal would obey {line!r}"
        (folder / file).write_bytes(data)


def damaged(data: bytes, source: np.random.Generator) -> bytes:
    spoilt = bytearray(data)
    for _ in range(int(source.integers(1, 4))):
        at, length = int(source.integers(len(spoilt))), int(source.integers(1, 9))
        match int(source.integers(4)):
            case 0:
                spoilt[at] ^= 1 << int(source.integers(8))
            case 1:
                del spoilt[at : at + length]
            case 2:
                spoilt[at:at] = spoilt[at : at + length]
            case _:
                spoilt[at : at + length] = source.bytes(length)
    return bytes(spoilt) or b"\0"


# --- embeddings.safetensors ------------------------------------------------------------------


def lies(**of_tensor: Any) -> Spoil:
    return become(safetensors({"embeddings": ROWS}, **of_tensor))


def tensor(array: np.ndarray[Any, Any], name: str = "embeddings") -> Spoil:
    return become(safetensors({name: array}))


def with_value(value: float) -> np.ndarray[Any, Any]:
    """The rows with one value replaced, as the snapshot of :data:`TRUTH` orders them."""
    rows = ROWS.copy()
    rows[5, 1] = value
    return rows


def signalling() -> np.ndarray[Any, Any]:
    """The rows with a NaN at whose conversion processors raise a flag."""
    rows = ROWS.copy()
    rows.view(np.uint32)[5, 1] = 0x7F800001
    return rows


def head_length(length: int) -> Spoil:
    return bytes_(lambda data: length.to_bytes(8, "little") + data[8:])


@kinds(
    {
        "trailing bytes": (bytes_(lambda data: data + b"\0" * 4), ""),
        "no head": (head_length(0), ""),
        "a head cut short": (head_length(10), ""),
        "a head into the data": (head_length(200), ""),
        "a head beyond the file": (head_length(10**6), ""),
        "the largest head": (head_length(2**64 - 1), ""),
        "a head that is no text": (bytes_(lambda data: data[:8] + b"\xff" * 8 + data[16:]), ""),
        "float16": (tensor(ROWS.astype(np.float16)), "F16"),
        "float64": (tensor(ROWS.astype(np.float64)), "F64"),
        "int32": (tensor(ROWS.astype(np.int32)), "I32"),
        "bfloat16 by its head": (lies(dtype="BF16", shape=[20, 8]), "BF16"),
        "an unknown dtype": (lies(dtype="F33"), ""),
        "one dimension": (tensor(ROWS.ravel()), "[80]"),
        "three dimensions": (tensor(ROWS.reshape(20, 2, 2)), "[20, 2, 2]"),
        "a row less": (tensor(ROWS[1:]), "[19, 4]"),
        "rows and columns swapped": (tensor(ROWS.T), "[4, 20]"),
        "no columns": (tensor(ROWS[:, :0]), "[20, 0]"),
        "a shape larger than the data": (lies(shape=[20, 5]), ""),
        "a shape beyond 64 bits": (lies(shape=[2**62, 2**62]), ""),
        "a negative shape": (lies(shape=[-20, -4]), ""),
        "offsets beyond the data": (lies(data_offsets=[0, 10**9]), ""),
        "offsets that leave a gap": (lies(data_offsets=[8, 328]), ""),
        "offsets the wrong way": (lies(data_offsets=[320, 0]), ""),
        "another name": (tensor(ROWS, "weight"), "weight"),
        "no tensors": (become(safetensors({})), "embeddings"),
        "NaN": (tensor(with_value(np.nan)), "NaN"),
        "a signalling NaN": (tensor(signalling()), "NaN"),
        "an infinity": (tensor(with_value(np.inf)), "infinity"),
        "a negative infinity": (tensor(with_value(-np.inf)), "infinity"),
        "a row of zeros": (tensor(np.vstack([ROWS[:5], 0 * ROWS[:1], ROWS[6:]])), "zero"),
        "all zeros": (tensor(0 * ROWS), "10 more"),
        "a row too short": (tensor(np.vstack([ROWS[:5], 1e-20 * ROWS[:1], ROWS[6:]])), "zero"),
        "a zip file": (become(npz({"embeddings": ROWS})), ""),
        "a pickle": (become(b"\x80\x04\x95" + b"a" * 200), ""),
    }
)
def test_tensor_files(spoil: Spoil, says: str, tmp_path: Path) -> None:
    snapshot(tmp_path)
    spoil(tmp_path / TENSORS)
    refused(tmp_path, TENSORS, says)


def test_rows_that_are_no_vectors_are_named(tmp_path: Path) -> None:
    """By the name of their item, whatever their place in the file."""
    snapshot(tmp_path)
    rows = json.loads((tmp_path / VOCABULARY).read_text(encoding="utf-8"))
    vectors = np.array(ROWS)
    vectors[rows[SECOND]] = np.nan
    tensor(vectors)(tmp_path / TENSORS)
    refused(tmp_path, SECOND)
    vectors[rows[SECOND]] = 0
    tensor(vectors)(tmp_path / TENSORS)
    refused(tmp_path, SECOND)


def test_truncated_tensor_files(tmp_path: Path) -> None:
    snapshot(tmp_path)
    data = (tmp_path / TENSORS).read_bytes()
    for length in range(len(data)):
        (tmp_path / TENSORS).write_bytes(data[:length])
        refused(tmp_path, TENSORS)


# --- vocab.json, itos.json, config.json ------------------------------------------------------

ANY_JSON: dict[str, tuple[Spoil, str]] = {
    "a list": (become("[1, 2]"), ""),
    "a number": (become("1"), ""),
    "null": (become("null"), ""),
    "cut short": (bytes_(lambda data: data[:-5]), ""),
    "two objects": (bytes_(lambda data: data + b"{}"), ""),
    "deep lists": (become("[" * 100_000), ""),
    "deep objects": (become('{"a":' * 100_000), ""),
    "deep and closed": (become('{"a":' * 50_000 + "1" + "}" * 50_000), ""),
    "a number of 5,000 digits": (raw_entry("x", "9" * 5000), ""),
    "a key twice": (bytes_(lambda data: data.rstrip()[:-1] + b',"q": 1, "q": 1}'), "q"),
    "a key twice in an inner object": (raw_entry("x", '{"q": 1, "q": 2}'), "q"),
}


@pytest.mark.parametrize("file", [VOCABULARY, NUMBERING, CONFIG])
@kinds(ANY_JSON)
def test_json_files(file: str, spoil: Spoil, says: str, tmp_path: Path) -> None:
    snapshot(tmp_path)
    spoil(tmp_path / file)
    refused(tmp_path, file, says)


@pytest.mark.parametrize("file", [VOCABULARY, NUMBERING])
def test_empty_objects(file: str, tmp_path: Path) -> None:
    snapshot(tmp_path)
    become("{}")(tmp_path / file)
    refused(tmp_path, file)


def test_a_config_need_not_state_sizes(tmp_path: Path) -> None:
    snapshot(tmp_path)
    become("{}")(tmp_path / CONFIG)
    assert read_bundle(tmp_path).identity == TRUTH.environment().identity


def test_many_keys_are_not_compared_with_each_other(tmp_path: Path) -> None:
    snapshot(tmp_path)
    keys = [f'"n{at}": {at}' for at in range(20_000)]
    become("{" + ",".join([*keys, '"n19999": 0']) + "}")(tmp_path / VOCABULARY)
    refused(tmp_path, VOCABULARY, "n19999")


def row_of_another(found: dict[str, Any]) -> None:
    """Two names at one row, so that another row has none."""
    found[FIRST] = found[SECOND]


def without_row(found: dict[str, Any]) -> None:
    """A name less, its row in the middle."""
    del found[next(name for name, row in found.items() if row == 7)]


@kinds(
    {
        "a row twice": (object_(row_of_another), ""),
        "a row less": (object_(without_row), ""),
        "a negative row": (entry(FIRST, -1), "-1"),
        "a row beyond": (entry(FIRST, 999), "999"),
        "true": (entry(FIRST, True), "True"),
        "a float": (entry(FIRST, 1.0), "1.0"),
        "text": (entry(FIRST, "1"), FIRST),
        "null": (entry(FIRST, None), FIRST),
        "a list": (entry(FIRST, [1]), FIRST),
        "NaN": (raw_entry(FIRST, "NaN"), "nan"),
        "1e0": (raw_entry(FIRST, "1e0"), FIRST),
        "from 1": (
            object_(lambda found: found.update({name: row + 1 for name, row in found.items()})),
            "0",
        ),
        "an item twice": (bytes_(lambda d: d.rstrip()[:-1] + f',"{FIRST}": 3}}'.encode()), FIRST),
    }
)
def test_vocabularies(spoil: Spoil, says: str, tmp_path: Path) -> None:
    snapshot(tmp_path)
    (tmp_path / NUMBERING).unlink()
    spoil(tmp_path / VOCABULARY)
    refused(tmp_path, VOCABULARY, says)


NO_NAMES = [
    "crème",
    "Garlic",
    "GARLIC",
    "black pepper",
    "black-pepper",
    "../../etc/passwd",
    "a/b",
    "a\\b",
    "",
    "_a",
    "a_",
    "a__b",
    "a.b",
    "a" * 81,
    "a\nb",
    "a\n",
    " a",
    "a\tb",
    "a\x1b[31mb",
    "a\0b",
    "ａ",
    "１",
    "a\u202eb",
]
each_name = pytest.mark.parametrize("name", NO_NAMES, ids=[ascii(n)[:20] for n in NO_NAMES])


@pytest.mark.parametrize("name", [*NO_NAMES, "\ud800"], ids=ascii)
@pytest.mark.parametrize("numbered", [True, False], ids=["itos", "no itos"])
def test_names_in_vocabularies(name: str, numbered: bool, tmp_path: Path) -> None:
    snapshot(tmp_path)
    rename = object_(lambda found: found.__setitem__(name, found.pop(FIRST)))
    rename(tmp_path / VOCABULARY)
    if not numbered:
        (tmp_path / NUMBERING).unlink()
    refused(tmp_path, VOCABULARY)


@each_name
@each_layout
def test_names_in_tags(layout: str, name: str, tmp_path: Path) -> None:
    folder = LAYOUTS[layout][0](tmp_path)
    # Spaces around a cell are not part of it,.
    cell("name", name if name == name.strip() else f"{name}B")(folder / TAGS)
    refused(folder, TAGS, "line ")


@kinds(
    {
        "two names swapped": (
            object_(lambda found: found.update({"0": found["1"], "1": found["0"]})),
            "row 0",
        ),
        "another name": (entry("4", "unheard_of"), "unheard_of"),
        "a row less": (object_(lambda found: found.pop("4")), "19"),
        "a row more": (entry("20", "unheard_of"), "21"),
        "another key": (object_(lambda found: found.update({"04": found.pop("4")})), "row 4"),
        "a number": (entry("4", 4), "row 4"),
        "null": (entry("4", None), "row 4"),
        "control characters": (entry("4", "a\n\x1b[31m"), "a\\n"),
    }
)
def test_numberings(spoil: Spoil, says: str, tmp_path: Path) -> None:
    snapshot(tmp_path)
    spoil(tmp_path / NUMBERING)
    refused(tmp_path, NUMBERING, says)


@kinds(
    {
        "other dimensions": (entry("d_model", 7), "7"),
        "other size": (entry("vocab_size", 21), "21"),
        "dimensions as text": (entry("d_model", "x"), "x"),
        "dimensions null": (entry("d_model", None), "d_model"),
        "size as a list": (entry("vocab_size", [20]), "[20]"),
        "size NaN": (raw_entry("vocab_size", "NaN"), "nan"),
        "control characters": (entry("d_model", "a\n\x1b[31m"), "a\\n"),
    }
)
def test_configs(spoil: Spoil, says: str, tmp_path: Path) -> None:
    snapshot(tmp_path)
    spoil(tmp_path / CONFIG)
    refused(tmp_path, CONFIG, says)


# --- tags ------------------------------------------------------------------------------------

LINE = "line 7"
NEEDED = [name for name in TAG_COLUMNS if name not in ("node_id", "food_group")]
TAG_KINDS: dict[str, tuple[Spoil, str]] = {
    **{
        f"region {text!r}": (cell("cuisine_region", text), LINE)
        for text in ("Japanese;", ";", "", "Japanese,East_Asian", "Japanese;;Mediterranean")
    },
    **{
        f"region {text!r}": (cell("cuisine_region", text), text.split(";")[-1])
        for text in ("Atlantis", "japanese", "Japanese;Atlantis", "Universal", "East Asian")
    },
    **{
        f"NOVA {text!r}": (cell("nova_level", text), f"'{text}'")
        for text in ("0", "5", "2.5", "-1", "abc", "nan", "1.0.0", "1e0", "٣", "None")
    },
    **{
        f"{column} {text!r}": (cell(column, text), f"'{text}'")
        for column in ("is_vegan", "is_vegetarian")
        for text in ("maybe", "", "2", "yes please", "None")
    },
    **{
        f"no column {column}": (rows_(lambda rows, c=column: without_column(rows, c)), column)
        for column in NEEDED
    },
    "a column twice": (cell("food_group", "name", line=1), "name"),
    "an unknown category": (cell("primary_category", "Vegtable"), "Vegetable"),
    "a blank category": (cell("primary_category", ""), LINE),
    "a category to obey": (cell("primary_category", "Meat\x1b[31m"), "Meat\\x1b"),
    "a NUL": (cell("primary_category", "Me\0at"), "Me\\x00at"),
    "an item twice": (rows_(lambda rows: rows.append(["99", *rows[6][1:]])), "line 22"),
    "an item twice, other tags": (
        rows_(
            lambda rows: rows.append(["99", rows[6][1], "", "Meat", *["True"] * 2, "Japanese", ""])
        ),
        "line 22",
    ),
    "a short line": (rows_(lambda rows: rows[6].pop()), LINE),
    "a long line": (rows_(lambda rows: rows[6].append("x")), LINE),
    "a short head": (rows_(lambda rows: rows[0].pop(0)), ""),
    "semicolons": (bytes_(lambda data: data.replace(b",", b";")), "name"),
    "tabs": (bytes_(lambda data: data.replace(b",", b"\t")), "name"),
    "an open quote": (bytes_(lambda data: data + b'21,"garlic,'), ""),
    "a quote within": (bytes_(lambda data: data.replace(b"\n", b'\n"1"x', 1)), "line 2"),
    "a cell without end": (become("name\n" + "x" * 200_000), ""),
    "only a head": (rows_(lambda rows: rows.__delitem__(slice(1, None))), "no rows"),
    "no head": (rows_(lambda rows: rows.pop(0)), ""),
    "a node id twice": (rows_(lambda rows: rows[6].__setitem__(0, rows[5][0])), LINE),
}


@each_layout
@kinds(TAG_KINDS)
def test_tags(layout: str, spoil: Spoil, says: str, tmp_path: Path) -> None:
    folder = LAYOUTS[layout][0](tmp_path)
    spoil(folder / TAGS)
    refused(folder, TAGS, says)


def test_many_columns_are_not_compared_with_each_other(tmp_path: Path) -> None:
    snapshot(tmp_path)
    become(",".join([*(f"column_{at}" for at in range(20_000)), "column_7"]))(tmp_path / TAGS)
    refused(tmp_path, TAGS, "column_7")


def extra_line(name: str) -> Spoil:
    return rows_(lambda rows: rows.append(["21", name, *rows[1][2:]]))


def test_tags_of_items_without_vectors(tmp_path: Path) -> None:
    snapshot(tmp_path)
    extra_line("unheard_of")(tmp_path / TAGS)
    refused(tmp_path, TAGS, "unheard_of")


def test_items_without_tags(tmp_path: Path) -> None:
    """Some are named, all are counted."""
    snapshot(tmp_path)
    rows_(lambda rows: rows.__delitem__(slice(1, 16)))(tmp_path / TAGS)
    refused(tmp_path, TAGS, "15 of 20", "5 more")
    write_tags(TRUTH, tmp_path / TAGS)
    rows_(lambda rows: rows.pop(next(at for at, r in enumerate(rows) if r[1] == SECOND)))(
        tmp_path / TAGS
    )
    refused(tmp_path, TAGS, SECOND)


def test_tags_of_another_bundle(tmp_path: Path) -> None:
    snapshot(tmp_path)
    other = write_tags(synthetic(4, 20, 4), tmp_path / "others.csv")
    refused(tmp_path, "others.csv", tags=other)


def test_tags_read_as_they_are_published(tmp_path: Path) -> None:
    """Spaces, blank lines, a quoted cell and other columns do no harm."""
    snapshot(tmp_path)

    def more(rows: list[list[str]]) -> None:
        rows[0] += ["note", ""]
        for row in rows[1:]:
            row[1:] = [f" {text} " for text in row[1:]]
            row += ['a "quoted", note', "\n"]

    rows_(more)(tmp_path / TAGS)
    bytes_(lambda data: b"\n" + data + b"\r\n\n")(tmp_path / TAGS)
    assert read_bundle(tmp_path).identity == TRUTH.environment().identity


def test_tags_need_no_node_ids(tmp_path: Path) -> None:
    """Those of a snapshot join by name; vectors of a server join by id."""
    snapshot(tmp_path / "snapshot")
    rows_(lambda rows: without_column(rows, "node_id"))(tmp_path / "snapshot" / TAGS)
    found = read_bundle(tmp_path / "snapshot")
    assert found.identity == TRUTH.environment().identity
    server(tmp_path / "server")
    rows_(lambda rows: without_column(rows, "node_id"))(tmp_path / "server" / TAGS)
    refused(tmp_path / "server", TAGS, "node_id")


# --- embeddings.csv --------------------------------------------------------------------------


@kinds(
    {
        **{
            f"value {text!r}": (cell("dim_2", text), LINE)
            for text in ("", "x", "1,5", "0x10", "1..0", "1_0", "١", "--1", "1 0", "(1)", "1e")
        },
        **{
            f"value {text}": (cell("dim_2", text), text)
            for text in ("nan", "inf", "-inf", "1e300", "-1e39", "NaN", "Infinity")
        },
        "a row of zeros": (
            rows_(lambda rows: rows[6].__setitem__(slice(1, None), ["0"] * 4)),
            "zero",
        ),
        "all zeros": (
            rows_(lambda rows: [r.__setitem__(slice(1, None), ["0"] * 4) for r in rows[1:]]),
            "zero",
        ),
        "a node id twice": (rows_(lambda rows: rows[6].__setitem__(0, rows[5][0])), LINE),
        "a node id of nothing": (cell("node_id", "999"), "999"),
        "a node id 0": (cell("node_id", "0"), "0"),
        "a blank node id": (cell("node_id", ""), "''"),
        "a row more": (rows_(lambda rows: rows.append(["21", *rows[6][1:]])), "21"),
        "no node ids": (rows_(lambda rows: without_column(rows, "node_id")), "node_id"),
        "no dim_1": (rows_(lambda rows: without_column(rows, "dim_1")), "dim_2"),
        "only node ids": (rows_(lambda rows: [row.__delitem__(slice(1, 5)) for row in rows]), ""),
        "a dimension twice": (cell("dim_2", "dim_1", line=1), "dim_1"),
        "a name for a dimension": (cell("dim_2", "name", line=1), "name"),
        "a short line": (rows_(lambda rows: rows[6].pop()), LINE),
        "a long line": (rows_(lambda rows: rows[6].append("1")), LINE),
        "only a head": (rows_(lambda rows: rows.__delitem__(slice(1, None))), "no rows"),
        "semicolons": (bytes_(lambda data: data.replace(b",", b";")), "node_id"),
        "commas for points": (bytes_(lambda data: data.replace(b".", b",")), ""),
    }
)
def test_csv_vectors(spoil: Spoil, says: str, tmp_path: Path) -> None:
    server(tmp_path)
    spoil(tmp_path / VECTORS)
    refused(tmp_path, VECTORS, says)


def test_a_vector_less(tmp_path: Path) -> None:
    server(tmp_path)
    rows_(lambda rows: rows.pop(6))(tmp_path / VECTORS)
    refused(tmp_path, TAGS, "1 ")


def test_dimensions_in_any_order_of_columns(tmp_path: Path) -> None:
    server(tmp_path)
    rows_(lambda rows: [row.reverse() for row in rows])(tmp_path / VECTORS)
    assert read_bundle(tmp_path).identity == TRUTH.environment().identity


# --- supervised_directions.npz ---------------------------------------------------------------

PICKLE = np.array([{"a": 1}], dtype=object)


def archive(**arrays: np.ndarray[Any, Any]) -> Spoil:
    return become(npz(arrays))


def member(data: bytes, name: str = "nova.npy", compression: int = zipfile.ZIP_STORED) -> Spoil:
    return become(zipped({name: data}, compression))


def pickled() -> bytes:
    made = io.BytesIO()
    np.savez(made, nova=PICKLE)
    return made.getvalue()


def heads(offset: int, value: int) -> Spoil:
    """Change a byte of what both heads of the first member of a zip file say of it."""

    def change(data: bytes) -> bytes:
        spoilt = bytearray(data)
        spoilt[offset] = value
        # The central one has two bytes more in front: the version that wrote it.
        spoilt[spoilt.index(b"PK\x01\x02") + offset + 2] = value
        return bytes(spoilt)

    return bytes_(change)


def bomb() -> bytes:
    """A small file that unpacks to more than the limit."""
    return zipped({"nova.npy": bytes(tagfile.LARGEST_FILE + 1)}, zipfile.ZIP_DEFLATED)


def spoilt_stream() -> bytes:
    """A compressed member whose stream is noise."""
    data = bytearray(npz({"nova": np.arange(4.0)}, zipfile.ZIP_DEFLATED))
    start = 30 + len("nova.npy")
    data[start : start + 20] = b"\xff" * 20
    return bytes(data)


@kinds(
    {
        "pickled objects": (become(pickled()), "pickle"),
        "a pickle for an array": (member(b"\x80\x04\x95" + b"a" * 50), ""),
        "a pickle for an archive": (become(b"\x80\x04\x95" + b"a" * 50), ""),
        **{
            f"a member {name}": (member(npy(DIRECTION), name), name.split(".npy")[0])
            for name in (
                "../nova.npy",
                "/etc/nova.npy",
                "a/nova.npy",
                "a\\nova.npy",
                "nova.npy/",
                "..npy",
                "nòva.npy",
                "C:nova.npy",
            )
        },
        "a member to obey": (member(npy(DIRECTION), "nova\x1b[31m.npy"), "\\x1b"),
        "a member that is no array": (member(b"hello", "nova"), "nova"),
        "other dimensions": (archive(nova=np.ones(5, np.float32)), "[5]"),
        "a matrix": (archive(nova=np.ones((1, 4), np.float32)), "[1, 4]"),
        "a number": (archive(nova=np.float32(1)), "[]"),
        "integers": (archive(nova=np.ones(4, np.int32)), "nova"),
        "complex numbers": (archive(nova=np.ones(4, np.complex64)), "nova"),
        "texts": (archive(nova=np.array(["a"] * 4)), "nova"),
        "NaN": (archive(diet=DIRECTION, nova=DIRECTION * np.nan), "nova"),
        "an infinity": (archive(nova=DIRECTION * np.inf), "nova"),
        "a zip bomb": (become(bomb()), "nova"),
        "an array of 4 EiB": (member(npy_head("'<f4'", f"({2**60},)")), ""),
        "an array beyond 64 bits": (member(npy_head("'<f4'", f"({2**70},)")), ""),
        "an array of 32 GiB": (member(npy_head("'<f4'", f"({2**33},)")), ""),
        "a negative shape": (member(npy_head("'<f4'", "(-4,)")), ""),
        "a true shape": (member(npy_head("'<f4'", "(True,)") + bytes(4)), ""),
        "a shape left open": (member(npy_head("'<f4'", "(4,")), ""),
        "a shape to compute": (member(npy_head("'<f4'", "-" * 9000 + "4")), ""),
        "brackets": (member(npy_head("'<f4'", "(" * 5000)), ""),
        "a dtype that is none": (member(npy_head("'<f5'", "(4,)") + bytes(16)), ""),
        "a dtype of parts": (member(npy_head("[('a', '<f4')]", "(4,)") + bytes(16)), "nova"),
        "a member cut short": (member(npy(DIRECTION)[:-1]), ""),
        "an empty member": (member(b""), ""),
        "an encrypted member": (heads(6, 1), ""),
        "a spoilt stream": (become(spoilt_stream()), ""),
        "an unknown compression": (heads(8, 99), ""),
        "an array before the archive": (bytes_(lambda data: npy(DIRECTION) + data), ""),
        "only an array": (become(npy(DIRECTION)), ""),
        "an archive cut short": (bytes_(lambda data: data[:-10]), ""),
    }
)
def test_direction_files(spoil: Spoil, says: str, tmp_path: Path) -> None:
    server(tmp_path)
    spoil(tmp_path / DIRECTIONS)
    refused(tmp_path, DIRECTIONS, says)


def test_truncated_direction_files(tmp_path: Path) -> None:
    server(tmp_path)
    data = (tmp_path / DIRECTIONS).read_bytes()
    for length in range(0, len(data), 5):
        (tmp_path / DIRECTIONS).write_bytes(data[:length])
        refused(tmp_path, DIRECTIONS)


def test_directions_of_either_precision_and_compression(tmp_path: Path) -> None:
    server(tmp_path)
    for array in (DIRECTION, DIRECTION.astype(np.float64)):
        for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            (tmp_path / DIRECTIONS).write_bytes(npz({"nova": array}, compression))
            assert read_bundle(tmp_path).identity == TRUTH.environment().identity

"""The two published layouts of Epicure, as environments.

A model snapshot holds vectors and vocabulary and takes its tags from another file; a
server data folder holds vectors and tags. Rows are joined by name, never by position:
one layout counts from 0, the other from 1. Vectors count as float32, the precision they
were published in, so that both layouts of one model give the same identity.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_array_header_2_0, read_magic
from numpy.typing import NDArray

from flavourbench.environment.environment import Environment
from flavourbench.environment.space import Tags, check_names, unit_rows
from flavourbench.environment.tagfile import (
    TAGS_FILE,
    BundleFile,
    TagTable,
    file_facts,
    lines_of,
    named,
    read_file,
    read_tags,
    text_of,
)
from flavourbench.errors import InputError, listed, shown
from flavourbench.folders import is_file, is_folder

VECTORS, VOCABULARY, NUMBERING = "embeddings.safetensors", "vocab.json", "itos.json"
CONFIG = "config.json"
SERVER_VECTORS, SERVER_DIRECTIONS = "embeddings.csv", "supervised_directions.npz"
_TENSOR = "embeddings"
_LARGEST = float(np.finfo(np.float32).max)
_MEMBER = re.compile(r"\w+(\.npy)?", re.ASCII)

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Source:
    """Names in file order, their float32 [n, d] vectors, tags, and the other files read."""

    layout: str
    names: Sequence[str]
    vectors: Vectors
    vector_file: BundleFile
    tags: TagTable
    files: Sequence[BundleFile]


def read_bundle(folder: Path, tags: Path | None = None, name: str = "unnamed") -> Environment:
    """Read a published bundle of either layout.

    Parameters
    ----------
    folder : model snapshot or server data folder
    tags : tags file of a snapshot; by default ``ingredient_tags.csv`` in the folder

    Raises
    ------
    InputError
        The folder is no bundle, a file is damaged, or names, vectors and tags do not
        belong together; in one line, with the file and the value.
    """
    if not is_folder(folder):
        raise InputError(f"{shown(folder, 200)} is no folder: name the folder of a bundle")
    snapshot, server = is_file(folder / VECTORS), is_file(folder / SERVER_VECTORS)
    if snapshot and server:
        raise InputError(
            f"{shown(folder, 200)} holds {VECTORS} and {SERVER_VECTORS}: keep one of them"
        )
    if not (snapshot or server):
        raise InputError(
            f"{shown(folder, 200)} is no bundle: a model snapshot has {VECTORS}, a server data"
            f" folder has {SERVER_VECTORS}"
        )
    tag_file = _tag_file(folder, tags)
    source = _snapshot(folder, tag_file) if snapshot else _server(folder, tag_file)
    return _environment(source, name)


def _tag_file(folder: Path, tags: Path | None) -> Path:
    if tags is None:
        tags = folder / TAGS_FILE
        if not is_file(tags):
            raise InputError(
                f"{shown(folder, 200)} has no tags: pass --tags FILE, the {TAGS_FILE} published"
                " with the Epicure server"
            )
    elif not is_file(tags):
        raise InputError(f"{shown(tags, 200)} is no file: --tags takes a tags file (CSV)")
    return tags


def _environment(source: _Source, name: str) -> Environment:
    order = sorted(range(len(source.names)), key=source.names.__getitem__)
    items = tuple(source.names[at] for at in order)
    tags = source.tags.tags
    with named(source.tags.file.path):
        _check_joined(items, tags)
    with named(source.vector_file.path):
        units = unit_rows(source.vectors[order], items)
    read = (source.vector_file, source.tags.file, *source.files)
    return Environment(
        items,
        units,
        tuple(tags[item] for item in items),
        name,
        {"layout": source.layout, "files": file_facts(read)},
    )


def _check_joined(items: Sequence[str], tags: Mapping[str, Tags]) -> None:
    """Refuse items without tags, and tags without an item."""
    untagged = [item for item in items if item not in tags]
    if untagged:
        raise InputError(
            f"{len(untagged)} of {len(items)} items have no tags: {listed(untagged)}:"
            " use the tags file that belongs to the vectors"
        )
    unknown = sorted(tags.keys() - set(items))
    if unknown:
        raise InputError(
            f"{len(unknown)} tags are for items without a vector: {listed(unknown)}:"
            " use the tags file that belongs to the vectors"
        )


# --- model snapshot --------------------------------------------------------------------------


def _snapshot(folder: Path, tag_file: Path) -> _Source:
    files = [read_file(folder / VOCABULARY)]
    rows = _json_object(files[0])
    with named(folder / VOCABULARY):
        names = _vocabulary(rows)
    vector_file = read_file(folder / VECTORS)
    vectors = _tensor(vector_file, len(names))
    checks: dict[str, Callable[[dict[str, Any]], None]] = {
        NUMBERING: lambda found: _check_numbering(found, names),
        CONFIG: lambda found: _check_config(found, vectors.shape),
    }
    for name, check in checks.items():
        if is_file(folder / name):
            files.append(read_file(folder / name))
            found = _json_object(files[-1])
            with named(folder / name):
                check(found)
    return _Source("model snapshot", names, vectors, vector_file, read_tags(tag_file), files)


def _vocabulary(rows: Mapping[str, Any]) -> list[str]:
    """Names in the order of their rows."""
    if not rows:
        raise InputError("it has no names")
    by_row: dict[int, str] = {}
    for name, row in rows.items():
        if type(row) is not int or not 0 <= row < len(rows):
            raise InputError(
                f"{shown(name)} has row {shown(row)}: rows of {len(rows)} names are 0 to"
                f" {len(rows) - 1}"
            )
        if by_row.setdefault(row, name) != name:
            raise InputError(f"{shown(name)} has row {row}, as {shown(by_row[row])} has")
    names = [by_row[row] for row in range(len(rows))]
    check_names(names)
    return names


def _check_numbering(numbering: Mapping[str, Any], names: Sequence[str]) -> None:
    if len(numbering) != len(names):
        raise InputError(f"it has {len(numbering)} names, {VOCABULARY} {len(names)}")
    for row, name in enumerate(names):
        if numbering.get(str(row)) != name:
            raise InputError(
                f"row {row} is {shown(numbering.get(str(row)))}, but {name} in {VOCABULARY}"
            )


def _check_config(config: Mapping[str, Any], shape: tuple[int, ...]) -> None:
    for key, value in (("vocab_size", shape[0]), ("d_model", shape[1])):
        if config.get(key, value) != value:
            raise InputError(f"{key} is {shown(config[key])}, but {VECTORS} has {value}")


def _tensor(file: BundleFile, count: int) -> Vectors:
    """The float32 tensor [count, d] of a safetensors file."""
    import safetensors

    path = file.path
    try:
        tensors = dict(safetensors.deserialize(file.data))  # type: ignore[no-untyped-call]
    except (safetensors.SafetensorError, ValueError) as error:
        reason = shown(str(error), 120)
        raise InputError(f"{shown(path, 200)} is no intact safetensors file: {reason}") from error
    if _TENSOR not in tensors:
        raise InputError(
            f"{shown(path, 200)} has no tensor '{_TENSOR}': it has"
            f" {listed(sorted(tensors)) or 'none'}"
        )
    tensor: dict[str, Any] = tensors[_TENSOR]
    kind, shape = tensor["dtype"], tuple(tensor["shape"])
    if kind != "F32":
        raise InputError(f"{shown(path, 200)}: '{_TENSOR}' is {shown(kind)}: it has to be F32")
    _check_shape(path, shape, count)
    return np.frombuffer(tensor["data"], "<f4").reshape(shape).astype(np.float32)


def _check_shape(path: Path, shape: tuple[int, ...], count: int) -> None:
    if len(shape) != 2 or shape[0] != count or shape[1] < 1:
        raise InputError(
            f"{shown(path, 200)}: the vectors have shape {list(shape)}, not [{count}, dimensions]"
            f" for the {count} names"
        )


def _json_object(file: BundleFile) -> dict[str, Any]:
    """A JSON object none of whose keys occurs twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            raise InputError(f"{listed([k for k, n in counts.items() if n > 1])} occurs twice")
        return found

    text = text_of(file)
    with named(file.path):
        try:
            value = json.loads(text, object_pairs_hook=unique)
        except InputError:
            raise
        except (ValueError, RecursionError) as error:
            raise InputError(f"it is no JSON: {shown(error, 120)}") from error
        if not isinstance(value, dict):
            raise InputError("it holds no JSON object")
    return value


# --- server data folder ----------------------------------------------------------------------


def _server(folder: Path, tag_file: Path) -> _Source:
    table = read_tags(tag_file)
    if "" in table.names_by_node:
        raise InputError(f"{shown(tag_file, 200)} needs a node_id on every line, as vectors have")
    vector_file = read_file(folder / SERVER_VECTORS)
    nodes, vectors = _csv_vectors(vector_file)
    absent = [node for node in nodes if node not in table.names_by_node]
    if absent:
        raise InputError(
            f"{shown(vector_file.path, 200)}: node_id {listed(absent)} is not in {tag_file.name}"
        )
    files = []
    if is_file(folder / SERVER_DIRECTIONS):
        files.append(read_file(folder / SERVER_DIRECTIONS))
        with named(files[0].path):
            _check_directions(files[0].data, vectors.shape[1])
    names = [table.names_by_node[node] for node in nodes]
    return _Source("server data folder", names, vectors, vector_file, table, files)


def _csv_vectors(file: BundleFile) -> tuple[list[str], Vectors]:
    """``node_id`` of each line, and the float32 vectors [n, d]."""
    path = file.path
    nodes: dict[str, int] = {}
    rows: list[list[float | None]] = []
    columns: list[str] = []
    for line, row in lines_of(file):
        if not rows:
            columns = [f"dim_{at}" for at in range(len(row) - 1)]
            if set(row) != {"node_id", *columns} or not columns:
                raise InputError(
                    f"{shown(path, 200)}: columns have to be node_id, dim_0, dim_1, …, not"
                    f" {listed([*row], 4)}"
                )
        node = row["node_id"]
        if nodes.setdefault(node, line) != line:
            raise InputError(
                f"{shown(path, 200)}, line {line}: node_id {shown(node)} occurs twice, first in"
                f" line {nodes[node]}"
            )
        numbers = {column: _number(row[column]) for column in columns}
        bad = next((column for column in columns if numbers[column] is None), None)
        if bad is not None:
            raise InputError(
                f"{shown(path, 200)}, line {line}: {bad} is '{shown(row[bad])}', no finite"
                " float32 number"
            )
        rows.append(list(numbers.values()))
    if not rows:
        raise InputError(f"{shown(path, 200)} has no rows")
    return list(nodes), np.array(rows, np.float64).astype(np.float32)


def _number(text: str) -> float | None:
    """A number that float32 can hold, else None."""
    try:
        value = float(text)
    except ValueError:
        return None
    # float() also takes 1_000 and the digits of other scripts.
    plain = text.isascii() and "_" not in text
    return value if plain and abs(value) <= _LARGEST else None


def _check_directions(data: bytes, dimensions: int) -> None:
    """Refuse an npz file that holds anything but finite vectors of the bundle's length.

    They are not used: those of regions are rebuilt from rows and tags, and the published
    ones may belong to the vectors of another bundle, in another basis.
    """
    if not data.startswith(b"PK"):  # an archive may follow other bytes, but no npz does
        raise InputError("it is no npz file")
    part = "it"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for member in archive.infolist():
                part = f"'{shown(member.filename)}'"
                if not _MEMBER.fullmatch(member.filename):
                    raise InputError(f"member {part} is no plain name")
                with archive.open(member) as handle:
                    _check_direction(part, handle, dimensions)
    except InputError:
        raise
    except Exception as error:  # headers of arrays are parsed as Python and raise anything
        raise InputError(f"{part} is not intact: {shown(error, 120)}") from error


def _check_direction(name: str, handle: IO[bytes], dimensions: int) -> None:
    """Check one member; nothing is unpickled, and no more is read than a vector has."""
    heads = {(1, 0): read_array_header_1_0, (2, 0): read_array_header_2_0}
    version = read_magic(handle)
    if version not in heads:
        raise InputError(f"{name} has the unknown version {shown(version)}")
    shape, _, kind = heads[version](handle)
    if kind.hasobject:
        raise InputError(f"{name} holds pickled objects, which are never loaded")
    if kind.kind != "f":
        raise InputError(f"{name} holds {shown(kind)}, no floats")
    if shape != (dimensions,):
        raise InputError(
            f"{name} has shape {shown(list(shape))}, but vectors have {dimensions} dimensions"
        )
    data = handle.read(dimensions * kind.itemsize + 1)
    if len(data) != dimensions * kind.itemsize:
        raise InputError(f"{name} is cut off, or longer than its head says")
    if not np.isfinite(np.frombuffer(data, kind)).all():
        raise InputError(f"{name} holds NaN or an infinity")

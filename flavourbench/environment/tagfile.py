"""The published tags file: one line an item, read strictly."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from flavourbench.environment.space import Tags, check_names
from flavourbench.environment.taxonomy import CATEGORIES, NOVA_LEVELS, REGION_TAGS
from flavourbench.errors import InputError, listed, os_reason, shown
from flavourbench.folders import is_file

TAGS_FILE = "ingredient_tags.csv"
#: No file of a bundle is larger.
LARGEST_FILE = 64 * 2**20
_COLUMNS = (
    "name",
    "primary_category",
    "is_vegetarian",
    "is_vegan",
    "cuisine_region",
    "nova_level",
)
_Row = TypeVar("_Row")
_TRUTH = {"true": True, "false": False, "1": True, "0": False}


@dataclass(frozen=True, slots=True)
class BundleFile:
    """A file of a bundle and its bytes, read once: they are what is parsed and digested."""

    path: Path
    data: bytes


@dataclass(frozen=True, slots=True)
class TagTable:
    """Tags by name, the names by ``node_id`` where the file has that column, and the file."""

    tags: Mapping[str, Tags]
    names_by_node: Mapping[str, str]
    file: BundleFile


def read_file(path: Path) -> BundleFile:
    """Read a file of a bundle.

    Raises
    ------
    InputError
        It cannot be read, or is larger than ``LARGEST_FILE``.
    """
    try:
        if path.exists() and not is_file(path):  # a pipe would wait for ever
            raise InputError(f"{shown(path, 200)} is no file")
        with path.open("rb") as handle:
            data = handle.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"cannot read {os_reason(error, path)}") from error
    if len(data) > LARGEST_FILE:
        raise InputError(
            f"{shown(path, 200)} is larger than {LARGEST_FILE // 2**20} MiB, the limit for a"
            " file of a bundle"
        )
    return BundleFile(path, data)


def file_facts(files: Iterable[BundleFile]) -> dict[str, dict[str, str | int]]:
    """What a provenance says of files: digest and size by name."""
    return {
        file.path.name: {"sha256": hashlib.sha256(file.data).hexdigest(), "bytes": len(file.data)}
        for file in sorted(files, key=lambda file: file.path)
    }


@contextlib.contextmanager
def named(path: Path) -> Iterator[None]:
    """Refusals in the block begin with the file they are about."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{shown(path, 200)}: {error}") from error


def text_of(file: BundleFile) -> str:
    """The text of a file, UTF-8 with or without a byte order mark."""
    try:
        return file.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = shown(file.path, 200)
        raise InputError(f"{where} is not UTF-8 text (byte {error.start})") from error


def lines_of(file: BundleFile) -> Iterator[tuple[int, dict[str, str]]]:
    """Of a CSV file, line number and cells by column name, stripped; any line ending.

    Raises
    ------
    InputError
        No CSV, a column twice, or a line with more or fewer cells than the head.
    """
    path = file.path
    reader = csv.reader(io.StringIO(text_of(file), newline=""), strict=True)
    head: list[str] | None = None
    try:
        for cells in reader:
            if not cells:
                continue
            stripped = [cell.strip() for cell in cells]
            if head is None:
                head = stripped
                twice = [name for name, count in Counter(head).items() if count > 1]
                if twice:
                    raise InputError(f"{shown(path, 200)}: column {listed(twice)} occurs twice")
                continue
            if len(cells) != len(head):
                raise InputError(
                    f"{shown(path, 200)}, line {reader.line_num}: {len(cells)} cells for"
                    f" {len(head)} columns"
                )
            yield reader.line_num, dict(zip(head, stripped, strict=True))
    except csv.Error as error:
        raise InputError(
            f"{shown(path, 200)}, line {reader.line_num}: no CSV ({shown(error)})"
        ) from error


def rows_by_key(
    file: BundleFile, columns: Sequence[str], make: Callable[[Mapping[str, str]], _Row]
) -> dict[str, _Row]:
    """Rows of a CSV file, made one by one, by the first of ``columns``, which is unique.

    Raises
    ------
    InputError
        A column is missing, a key occurs twice, there are no rows, or ``make`` refuses one;
        with file and line.
    """
    path = shown(file.path, 200)
    found: dict[str, _Row] = {}
    lines: dict[str, int] = {}
    for line, row in lines_of(file):
        missing = [column for column in columns if column not in row]
        if missing:
            raise InputError(
                f"{path}, line 1: the columns are {listed([*row])}; missing is {listed(missing)}"
            )
        key = row[columns[0]]
        try:
            if key in found:
                raise InputError(f"{shown(key)} occurs twice, first in line {lines[key]}")
            found[key] = make(row)
        except InputError as error:
            raise InputError(f"{path}, line {line}: {error}") from error
        lines[key] = line
    if not found:
        raise InputError(f"{path} has no rows")
    return found


def read_tags(path: Path) -> TagTable:
    """Read a tags file.

    Raises
    ------
    InputError
        A column is missing, a name is no name or occurs twice, or a cell holds no tag; with
        the line and the value.
    """
    file = read_file(path)
    nodes: dict[str, str] = {}

    def tags(row: Mapping[str, str]) -> Tags:
        name = row["name"]
        check_names([name])
        node = row.get("node_id", "")
        if nodes.setdefault(node, name) != name and "node_id" in row:
            raise InputError(f"node_id {shown(node)} is also that of {nodes[node]}")
        return _tags(row)

    return TagTable(rows_by_key(file, _COLUMNS, tags), nodes, file)


def _tags(row: Mapping[str, str]) -> Tags:
    category = row["primary_category"]
    if category not in CATEGORIES:
        raise InputError(f"primary_category '{shown(category)}': use {', '.join(CATEGORIES)}")
    return Tags(
        category=category,
        regions=_regions(row["cuisine_region"]),
        vegetarian=_truth(row, "is_vegetarian"),
        vegan=_truth(row, "is_vegan"),
        nova=_nova(row["nova_level"]),
    )


def _regions(text: str) -> tuple[str, ...]:
    found = [part.strip() for part in text.split(";")]
    unknown = [part for part in found if part not in REGION_TAGS]
    if unknown:
        raise InputError(
            f"cuisine_region '{shown(unknown[0])}': use {', '.join(REGION_TAGS)}, joined by ;"
        )
    return tuple(region for region in REGION_TAGS if region in found)


def _truth(row: Mapping[str, str], column: str) -> bool:
    value = _TRUTH.get(row[column].lower())
    if value is None:
        raise InputError(f"{column} '{shown(row[column])}': use True or False")
    return value


def _nova(text: str) -> int | None:
    """``1``-``4``, also as ``1.0``; blank is unknown."""
    if not text:
        return None
    known = {form: level for level in NOVA_LEVELS for form in (str(level), f"{level}.0")}
    if text not in known:
        raise InputError(f"nova_level '{shown(text)}': use 1, 2, 3, 4 or leave it blank")
    return known[text]

"""The files of a release: listed, sealed, unaltered, and of the content that is stated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flavourbench.analysis.release import RELEASE
from flavourbench.analysis.verify.stated import entries, stated
from flavourbench.analysis.verify.tables import (
    CHANCE,
    COUNTS,
    DRAWS,
    PAIRS,
    SCORES,
    TASKS,
    Table,
    read_table,
)
from flavourbench.artifact import MANIFEST, Contents
from flavourbench.checks import Check, failed, passed
from flavourbench.errors import CheckError, InputError, listed, shown
from flavourbench.identity import canonical_json, table_sha256

BOARD = "leaderboard.json"
#: Files that every release has; :data:`CHANCE` only where there are chance levels.
_TABLES = (SCORES, TASKS, DRAWS, COUNTS, PAIRS)
_ENTRY = {"content_sha256", "file_sha256", "bytes"}


@dataclass(frozen=True, slots=True)
class Release:
    """What was read of a release folder: the objects of its JSON files and its number files."""

    manifest: dict[str, Any]
    board: dict[str, Any]
    tables: Mapping[str, Table]


def read_checked(path: Path) -> tuple[list[Check], Release | None]:
    """The checks ``files`` and ``content``, and what was read, or None where one failed.

    Raises
    ------
    InputError
        It is no release, one of another format, or it cannot be read.
    """
    try:
        contents = _contents(path)
    except CheckError as error:
        return [failed("files", str(error))], None
    listing = contents.manifest["files"]
    checks = [passed("files", f"{len(listing)} listed and sealed, none altered")]
    try:
        release = _parsed(path, contents)
    except CheckError as error:
        return [*checks, failed("content", str(error))], None
    return [*checks, passed("content", "every digest follows from what the file holds")], release


def _contents(path: Path) -> Contents:
    """Manifest, and the bytes of all files whose content is looked at, under their digests."""
    try:
        listing = RELEASE.read(path).manifest["files"]
    except InputError:
        if RELEASE.at(path) and _says_no_format(path):
            raise CheckError(f"{MANIFEST} is no JSON object with a format") from None
        raise
    names = [BOARD, *_TABLES, *({CHANCE} & listing.keys())]
    absent = [name for name in names if name not in listing]
    if absent:
        raise CheckError(f"{MANIFEST} does not list {listed(absent)}")
    unknown = sorted(listing.keys() - {*names})
    if unknown:
        raise CheckError(f"{shown(unknown[0])} is no file of a release")
    for name, entry in listing.items():
        if entry.keys() != _ENTRY:
            raise CheckError(f"{MANIFEST}: files.{name} states {listed(sorted(entry))}")
    return RELEASE.read(path, *names)


def _says_no_format(path: Path) -> bool:
    """Whether a manifest can be read, but is no JSON object that names a format."""
    try:
        data = (path / MANIFEST).read_bytes()
    except OSError:
        return False
    try:
        return not isinstance(json_object(MANIFEST, data).get("format"), str)
    except CheckError:
        return True


def json_object(name: str, data: bytes) -> dict[str, Any]:
    """A JSON file that holds one object.

    Raises
    ------
    CheckError
        It does not, or holds NaN or an infinity.
    """
    try:
        found = json.loads(data, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise CheckError(f"{name} is no JSON: {shown(error, 160)}") from error
    if not isinstance(found, dict):
        raise CheckError(f"{name} is no JSON object")
    return found


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")


def _parsed(path: Path, contents: Contents) -> Release:
    """The content of all files, each with the digest that the manifest states.

    Raises
    ------
    CheckError
        One that cannot be parsed, is not written canonically, or has another digest.
    """
    manifest = contents.manifest
    _check_canonical(MANIFEST, manifest, (path / MANIFEST).read_bytes())
    board = json_object(BOARD, contents.files[BOARD])
    _check_canonical(BOARD, board, contents.files[BOARD])
    models = [stated(manifest, str, "models", at, "id") for at in entries(manifest, "models")]
    digests = {BOARD: hashlib.sha256(contents.files[BOARD]).hexdigest()}
    tables = {}
    for name, data in contents.files.items():
        if name != BOARD:
            tables[name] = read_table(name, data, models)
            digests[name] = table_sha256(tables[name])
    for name, digest in digests.items():
        told = manifest["files"][name]["content_sha256"]
        if told != digest:
            raise CheckError(f"{name} has the content_sha256 {digest}, not {shown(told, 64)}")
    return Release(manifest, board, tables)


def _check_canonical(name: str, value: dict[str, Any], data: bytes) -> None:
    try:
        same = canonical_json(value) == data
    except InputError as error:
        raise CheckError(f"{name}: {error}") from error
    if not same:
        raise CheckError(f"{name} is not written as canonical JSON (RFC 8785)")

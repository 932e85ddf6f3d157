"""The files of a release: listed, sealed, unaltered, and of the content that is stated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flavourbench.analysis.answers import (
    Evidence,
    answer_columns,
    observation_columns,
)
from flavourbench.analysis.release import layout
from flavourbench.analysis.release.layout import RELEASE
from flavourbench.analysis.release.read import evidence_from
from flavourbench.analysis.verify.stated import entries, stated
from flavourbench.analysis.verify.tables import Table, check_columns, read_table
from flavourbench.artifact import MANIFEST, Contents
from flavourbench.checks import Check, failed, passed
from flavourbench.errors import CheckError, InputError, listed, shown
from flavourbench.identity import canonical_json, table_sha256
from flavourbench.tasks.panel import columns_of

#: Number files that every release has; chance tests only where there are chance levels.
_TABLES = (layout.SCORES, layout.TASKS, layout.DRAWS, layout.COUNTS, layout.PAIRS)
_ENTRY = {"content_sha256", "file_sha256", "bytes"}
#: What a release holds of that which its scores were made from, by its root.
_OBSERVED = (
    *(layout.PANELS, layout.PANEL_TASKS, layout.ROSTER),
    *(layout.CORE, layout.OBSERVATIONS, layout.DIAGNOSTICS),
)
_EVIDENCE = {
    "score-table": (),
    "observations": _OBSERVED,
    "answers": (*_OBSERVED, layout.ANSWERS),
}


@dataclass(frozen=True, slots=True)
class Release:
    """What was read of a release folder, each file with the content that is stated of it.

    Attributes
    ----------
    root : how far back it goes, one of ``ROOTS``
    manifest, board : the objects of manifest and leaderboard
    objects : file name → object, of the other JSON files
    tables : file name → columns, of the number files
    evidence : what the scores were made from, or None
    contents : file name → ``content_sha256``, derived
    """

    root: str
    manifest: dict[str, Any]
    board: dict[str, Any]
    objects: Mapping[str, dict[str, Any]]
    tables: Mapping[str, Table]
    evidence: Evidence | None
    contents: Mapping[str, str]


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
    """Manifest, and the bytes of all files, under their digests."""
    try:
        manifest = RELEASE.read(path).manifest
    except InputError:
        if RELEASE.at(path) and _says_no_format(path):
            raise CheckError(f"{MANIFEST} is no JSON object with a format") from None
        raise
    listing, root = manifest["files"], _root_of(manifest)
    names = [layout.BOARD, *_TABLES, *({layout.CHANCE} & listing.keys()), *_EVIDENCE[root]]
    absent = [name for name in names if name not in listing]
    if absent:
        raise CheckError(f"{MANIFEST} does not list {listed(absent)}")
    unknown = sorted(listing.keys() - {*names})
    if unknown:
        raise CheckError(f"{shown(unknown[0])} is no file of a release of root {root}")
    for name, entry in listing.items():
        if entry.keys() != _ENTRY:
            raise CheckError(f"{MANIFEST}: files.{name} states {listed(sorted(entry))}")
    return RELEASE.read(path, *names)


def _root_of(manifest: Mapping[str, Any]) -> str:
    root: str = stated(manifest, str, "root", "kind")
    if root not in _EVIDENCE:
        known = ", ".join(_EVIDENCE)
        raise CheckError(f"{MANIFEST}: root.kind is {shown(root)}, which is none of {known}")
    return root


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
    manifest, files = contents.manifest, contents.files
    _check_canonical(MANIFEST, manifest, (path / MANIFEST).read_bytes())
    models = [stated(manifest, str, "models", at, "id") for at in entries(manifest, "models")]
    objects, tables, digests = {}, {}, {}
    for name, data in files.items():
        if name.endswith(".json"):
            objects[name] = json_object(name, data)
            _check_canonical(name, objects[name], data)
            digests[name] = hashlib.sha256(data).hexdigest()
        elif name in (*_TABLES, layout.CHANCE):
            tables[name] = read_table(name, data, models)
            digests[name] = table_sha256(tables[name])
    root, evidence = _root_of(manifest), None
    if _EVIDENCE[root]:
        evidence, found = _evidence(contents)
        digests |= found
    for name, digest in digests.items():
        told = manifest["files"][name]["content_sha256"]
        if told != digest:
            raise CheckError(f"{name} has the content_sha256 {digest}, not {shown(told, 64)}")
    board = objects.pop(layout.BOARD)
    return Release(root, manifest, board, objects, tables, evidence, digests)


def _evidence(contents: Contents) -> tuple[Evidence, dict[str, str]]:
    """What scores were made from, and the content digests of the Parquet files that hold it.

    Raises
    ------
    CheckError
        They hold none, or columns of other names or types, which reading passes over.
    """
    files = contents.files
    check_columns(layout.OBSERVATIONS, files[layout.OBSERVATIONS], observation_columns([]))
    if layout.ANSWERS in files:
        check_columns(layout.ANSWERS, files[layout.ANSWERS], answer_columns([]))
    evidence = evidence_from(contents)
    tables = {
        layout.PANEL_TASKS: columns_of(evidence.tasks),
        layout.OBSERVATIONS: observation_columns(evidence.observations),
    }
    if evidence.answers is not None:
        tables[layout.ANSWERS] = answer_columns(evidence.answers)
    check_columns(layout.PANEL_TASKS, files[layout.PANEL_TASKS], tables[layout.PANEL_TASKS])
    return evidence, {name: table_sha256(columns) for name, columns in tables.items()}


def _check_canonical(name: str, value: dict[str, Any], data: bytes) -> None:
    try:
        same = canonical_json(value) == data
    except InputError as error:
        raise CheckError(f"{name}: {error}") from error
    if not same:
        raise CheckError(f"{name} is not written as canonical JSON (RFC 8785)")

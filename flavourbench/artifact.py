"""Artifact folders: files, a canonical manifest with their digests, and its seal.

Every stage of the data is such a folder. Nothing in one depends on the time, the place,
the machine or the number of threads; unlisted or altered files are found on reading.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from flavourbench.errors import (
    CheckError,
    FlavourBenchError,
    InputError,
    listed,
    os_reason,
    shown,
)
from flavourbench.folders import is_file
from flavourbench.identity import Column, canonical_json, file_sha256, json_sha256

MANIFEST = "manifest.json"
#: A folder that is replaced while it is read is read again so many times.
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Contents:
    """What was read of an artifact folder, as it was checked.

    Attributes
    ----------
    manifest : the parsed manifest
    files : file name → bytes, of the files asked for
    """

    manifest: dict[str, Any]
    files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of artifact.

    Attributes
    ----------
    what : str, its name in messages
    format : str, name and version in the manifest
    seal : str, the file that holds the digest of the manifest
    keys : what its manifest has besides format and files
    earlier : formats of earlier versions, of which some files are still read
    renewed : what makes one of the present format from them
    """

    what: str
    format: str
    seal: str
    keys: tuple[str, ...]
    earlier: tuple[str, ...] = ()
    renewed: str = ""

    @property
    def _name(self) -> str:
        """The name of the format, without its version."""
        return self.format.partition("/")[0]

    def at(self, path: Path) -> bool:
        """Whether ``path`` is a folder of this kind, be it a damaged one."""
        return any(is_file(path / name) for name in (self.seal, MANIFEST))

    def foreign(self, path: Path) -> str | None:
        """Why a path is more than such a folder (or an empty one), so that it must stay."""
        if not path.is_dir():
            return "it is no folder"
        names = {entry.name for entry in path.iterdir()}
        if not names:
            return None
        try:
            files = set(json.loads((path / MANIFEST).read_bytes())["files"])
            ours = self.seal in names
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            ours = False
        if not ours:
            return f"it is no {self.what} (no {self.seal} with its {MANIFEST})"
        other = sorted(names - {MANIFEST, self.seal} - files)
        return f"it holds {listed(other)} beside the {self.what}" if other else None

    def write(self, folder: Path, body: Mapping[str, Any], contents: Mapping[str, str]) -> str:
        """Write manifest and seal for the files in ``folder``; the manifest's digest.

        Parameters
        ----------
        body : what the manifest says besides format and files
        contents : file name → ``content_sha256``
        """
        files = {
            name: {
                "content_sha256": digest,
                "file_sha256": file_sha256(folder / name),
                "bytes": (folder / name).stat().st_size,
            }
            for name, digest in contents.items()
        }
        manifest = {"format": self.format, "files": files, **body}
        (folder / MANIFEST).write_bytes(canonical_json(manifest))
        digest = json_sha256(manifest)
        (folder / self.seal).write_bytes(_seal(digest))
        return digest

    def read(
        self, path: Path, *names: str, also: Sequence[str] = (), earlier: bool = False
    ) -> Contents:
        """Read a folder whose seal and files agree with their digests.

        All is of one folder, even if another process replaces it meanwhile.

        Parameters
        ----------
        names : files whose bytes are wanted; the others are only checked
        also : files whose bytes are wanted too, where there are such
        earlier : whether an earlier format will do, since these files are as they were

        Raises
        ------
        InputError
            Not a folder of this kind, or of another format.
        CheckError
            A file is missing, altered or not listed.
        """
        for _ in range(_TRIES):
            with _watched(path) as replaced:
                try:
                    return self._read(path, names, also, earlier)
                except FlavourBenchError:
                    if not replaced():
                        raise
        raise InputError(f"{shown(path, 200)} is replaced again and again: read it later")

    def _read(
        self, path: Path, names: Sequence[str], also: Sequence[str], earlier: bool
    ) -> Contents:
        where = shown(path, 200)
        if not os.path.lexists(path):
            raise InputError(f"{where}: no such file or directory")
        other = not is_file(path / self.seal) and stated_format(path) not in (None, self._name)
        if other or not self.at(path):
            raise InputError(f"{where} is no {self.what} folder (no {self.seal})")
        try:
            manifest = self._sealed(path, earlier)
            missing = [key for key in ("files", *self.keys) if key not in manifest]
            if missing:
                raise CheckError(f"{where}: {MANIFEST} has no {listed(missing)}")
            listing = manifest["files"]
            wanted = (*names, *(name for name in also if name in listing))
            return Contents(manifest, self._checked(path, listing, wanted))
        except OSError as error:
            raise InputError(f"cannot read {os_reason(error, path)}") from error
        except (LookupError, TypeError, AttributeError) as error:
            raise CheckError(f"{where}: {MANIFEST} does not list files and digests") from error

    def _sealed(self, path: Path, earlier: bool) -> dict[str, Any]:
        for name in (self.seal, MANIFEST):
            if not (path / name).is_file():
                raise CheckError(f"{shown(path, 200)}: {name} is missing")
        data = (path / MANIFEST).read_bytes()
        if (path / self.seal).read_bytes() != _seal(hashlib.sha256(data).hexdigest()):
            raise CheckError(
                f"{shown(path, 200)}: {MANIFEST} does not have the digest in {self.seal}"
            )
        try:
            manifest: dict[str, Any] = json.loads(data, parse_constant=_refused)
            found = manifest["format"]
        except (ValueError, LookupError, TypeError, RecursionError):
            found = "unknown"
        if found != self.format and not (earlier and found in self.earlier):
            remedy = f"; {self.renewed}" if found in self.earlier else ""
            raise InputError(
                f"{shown(path, 200)} has format {shown(found)}: this version reads"
                f" {self.format}{remedy}"
            )
        return manifest

    def _checked(
        self, path: Path, files: Mapping[str, Mapping[str, Any]], names: tuple[str, ...]
    ) -> dict[str, bytes]:
        """Bytes of the files ``names``; every file is read once, and has its digest."""
        where = shown(path, 200)
        unlisted = [name for name in names if name not in files]
        if unlisted:
            raise CheckError(f"{where}: {MANIFEST} does not list {listed(unlisted)}")
        found = {}
        for name, entry in files.items():
            if name != Path(name).name:
                raise CheckError(f"{where}: {MANIFEST} lists {shown(name)}, which is no file in it")
            file = path / name
            if not file.is_file():
                raise CheckError(f"{where}: {shown(name)} is missing")
            digests = entry["content_sha256"], entry["file_sha256"]
            if name in names:
                found[name] = file.read_bytes()
                digest = hashlib.sha256(found[name]).hexdigest()
            else:  # it may be larger than the memory
                digest = file_sha256(file)
            if digest != digests[1]:
                raise CheckError(f"{where}: {shown(name)} is not the file that was written")
            if entry["bytes"] != file.stat().st_size:
                raise CheckError(f"{where}: {MANIFEST} states another size of {shown(name)}")
        extra = sorted({entry.name for entry in path.iterdir()} - {*files, MANIFEST, self.seal})
        if extra:
            raise CheckError(f"{where}: {shown(extra[0])} is not listed in {MANIFEST}")
        return found


def stated_format(path: Path) -> str | None:
    """The name of the format, without its version, that a folder's manifest states, if any does."""
    try:
        name: str = json.loads((path / MANIFEST).read_bytes())["format"].partition("/")[0]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return name


def newest_first(folder: Path, kind: Kind) -> list[Path]:
    """Artifacts of a kind in a folder, the latest first; hidden ones are being written."""
    seals = folder.glob(f"[!.]*/{kind.seal}")
    found = sorted((seal.stat().st_mtime_ns, seal.parent.name, seal.parent) for seal in seals)
    return [path for _, _, path in reversed(found)]


@contextlib.contextmanager
def _watched(path: Path) -> Iterator[Callable[[], bool]]:
    """Tells within the block whether another folder stands at ``path`` than at its start."""
    try:
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except (OSError, ValueError):  # reading it will say why
        yield lambda: False
        return

    def replaced() -> bool:
        try:
            return not os.path.samestat(os.fstat(held), os.stat(path))  # noqa: PTH116
        except OSError:  # it is gone, which the next try will say
            return True

    try:  # while it is open, no other folder gets its inode number
        yield replaced
    finally:
        os.close(held)


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _seal(digest: str) -> bytes:
    return f"{digest}  {MANIFEST}\n".encode("ascii")


def write_parquet(path: Path, columns: Mapping[str, Column]) -> None:
    """Write a table with fixed options.

    Equal content gives equal bytes under one pyarrow version. Masked arrays become columns
    with nulls, arrays [rows, k] columns of lists of k.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = []
    for values in columns.values():
        if not isinstance(values, np.ndarray):
            arrays.append(pa.array(values, pa.string()).dictionary_encode())
        elif isinstance(values, np.ma.MaskedArray):
            arrays.append(pa.array(values.filled(0), mask=np.ma.getmaskarray(values)))
        elif values.ndim == 2:
            flat = pa.array(np.ascontiguousarray(values).ravel())
            arrays.append(pa.FixedSizeListArray.from_arrays(flat, values.shape[1]))
        else:
            arrays.append(pa.array(values))
    table = pa.table(arrays, names=list(columns))
    texts = [name for name, values in columns.items() if not isinstance(values, np.ndarray)]
    with path.open("wb") as handle:  # Arrow takes some paths for addresses
        pq.write_table(
            table,
            handle,
            version="2.6",
            data_page_version="1.0",
            compression="none",
            use_dictionary=texts or False,
            write_statistics=False,
            store_schema=False,
            row_group_size=max(1, table.num_rows),
        )


def read_parquet(data: bytes, columns: list[str] | None = None) -> Any:
    """A Parquet file, or some of its columns, as an Arrow table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pq.ParquetFile(pa.BufferReader(data)).read(columns)

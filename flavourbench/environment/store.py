"""Environments on disk: the project's own compact form, and the folder that keeps them.

An environment is an artifact folder with one Parquet file (name, tags, unit row as a list
of int32). Stored ones lie in the user's cache folder under their names; one ships with the
package.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from flavourbench import __version__
from flavourbench.artifact import MANIFEST, Contents, Kind, read_parquet, write_parquet
from flavourbench.environment.environment import Environment
from flavourbench.environment.space import Tags
from flavourbench.errors import CheckError, FlavourBenchError, InputError, listed, shown
from flavourbench.folders import check_place, existing_part, is_folder, new_folder, remove_folder
from flavourbench.identity import table_sha256

#: What a manifest holds besides format and files.
_KINDS = {"name": str, "identity": object, "items": int, "dimensions": int, "provenance": dict}
ENVIRONMENT = Kind(
    "environment",
    "flavourbench-environment/1",
    "ENVIRONMENT.sha256",
    tuple(_KINDS),
)
ITEMS = "items.parquet"
#: The environment that ships with the package, and is taken where none is named.
BUILT_IN = "pantry"
BUILT_IN_FOLDER = Path(__file__).parents[1] / "data" / "environments" / BUILT_IN
_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?")


def store_folder() -> Path:
    """The folder of stored environments: ``environments`` in the user's cache folder.

    Raises
    ------
    InputError
        There is no home folder and ``FLAVOURBENCH_CACHE`` is not set.
    """
    from fbcore._objects import cache_roots

    roots = cache_roots()
    if not roots:
        raise InputError("no home folder to keep environments in: set FLAVOURBENCH_CACHE")
    return roots[0] / "environments"


def check_name(name: str) -> None:
    """Refuse a name that cannot be that of a stored environment.

    Raises
    ------
    InputError
        With the name.
    """
    if not _NAME.fullmatch(name) or ".." in name:
        raise InputError(
            f"environment name '{shown(name)}': use up to 64 of a-z, 0-9, '.', '_' and '-',"
            " with a letter or digit at both ends"
        )


def check_free(name: str, *, force: bool = False) -> Path:
    """Where an environment is to be stored, refused before the work.

    Raises
    ------
    InputError
        The name is none, or taken (and ``force`` is not given).
    """
    check_name(name)
    if name == BUILT_IN:
        raise InputError(f"{name} is the environment that is built in: choose another --name")
    path = store_folder() / name
    if os.path.lexists(path) and not force:
        raise InputError(
            f"environment {name} exists: choose another --name, or pass --force to replace it"
        )
    check_target(path, force=force)
    return path


def check_target(path: Path, *, force: bool = False) -> None:
    """Say before the work what :func:`write_environment` would say after it."""
    check_place(path, force=force, kept=ENVIRONMENT.foreign)


def write_environment(environment: Environment, path: Path, *, force: bool = False) -> None:
    """Write an environment folder.

    Raises
    ------
    InputError
        ``path`` exists (and ``force`` is not given or it is something else), or writing
        fails.
    """
    import pyarrow as pa

    columns = environment.columns()
    body: dict[str, Any] = {
        "software": {"flavourbench": __version__, "pyarrow": pa.__version__},
        "name": environment.name,
        "identity": environment.identity,
        "items": len(environment),
        "dimensions": environment.dimensions,
        "provenance": environment.provenance,
    }
    with new_folder(path, force=force, kept=ENVIRONMENT.foreign) as folder:
        write_parquet(folder / ITEMS, columns)
        ENVIRONMENT.write(folder, body, {ITEMS: table_sha256(columns)})


def read_environment(path: Path) -> Environment:
    """Read an environment folder.

    Raises
    ------
    InputError
        Not an environment of a known format.
    CheckError
        A file is missing, altered or not listed, or holds no environment.
    """
    return _read(path)[0]


def _read(path: Path) -> tuple[Environment, dict[str, Any]]:
    """An environment and its manifest."""
    contents = _contents(path, ITEMS)
    manifest = contents.manifest
    try:
        return _from_parquet(contents.files[ITEMS], manifest), manifest
    except (InputError, ValueError, LookupError, TypeError, OSError) as error:
        # The seal is right, so another program wrote this.
        reason = shown(str(error).split("\n")[0], 200)
        raise CheckError(f"{shown(path, 200)} holds no environment: {reason}") from error


def _contents(path: Path, *names: str) -> Contents:
    """Files of an environment folder, and its manifest with values of the right kinds.

    Raises
    ------
    InputError, CheckError
        See :func:`read_environment`.
    """
    contents = ENVIRONMENT.read(path, *names)
    manifest = contents.manifest
    for key, kind in _KINDS.items():
        if not isinstance(manifest[key], kind) or manifest[key] is True:
            raise CheckError(f"{shown(path, 200)}: {key} in the manifest is {shown(manifest[key])}")
    files = manifest["provenance"].get("files", {})
    if not isinstance(files, dict) or not all(isinstance(e, dict) for e in files.values()):
        raise CheckError(f"{shown(path, 200)}: files in the provenance are {shown(files)}")
    return contents


def _from_parquet(data: bytes, manifest: dict[str, Any]) -> Environment:
    table = read_parquet(data)
    _check_columns(table)
    rows = table["row"].combine_chunks()
    lengths = np.unique(np.diff(rows.offsets.to_numpy()))
    values = rows.flatten()
    if len(lengths) > 1 or values.null_count:
        raise InputError("rows differ in length, or hold nulls")
    units = np.asarray(values, np.int32).reshape(table.num_rows, -1)
    texts = {key: table[key].to_pylist() for key in ("name", "category", "regions", "nova")}
    flags = {key: table[key].to_pylist() for key in ("vegetarian", "vegan")}
    tags = zip(
        texts["category"],
        [tuple(text.split(";")) for text in texts["regions"]],
        flags["vegetarian"],
        flags["vegan"],
        texts["nova"],
        strict=True,
    )
    return Environment(
        tuple(texts["name"]),
        units,
        tuple(Tags(*values) for values in tags),
        manifest["name"],
        manifest["provenance"],
    )


def _check_columns(table: Any) -> None:
    """Refuse a table whose columns are not those of an environment."""
    from pyarrow import types

    kinds = {
        **dict.fromkeys(("name", "category", "regions"), types.is_string),
        **dict.fromkeys(("vegetarian", "vegan"), types.is_boolean),
        "nova": types.is_int8,
        "row": lambda kind: types.is_list(kind) and types.is_int32(kind.value_type),
    }
    if table.column_names != [*kinds]:
        raise InputError(f"columns are {listed(table.column_names)}, not {', '.join(kinds)}")
    for name, fits in kinds.items():
        column = table[name]
        if not fits(column.type) or (column.null_count and name != "nova"):
            raise InputError(f"column {name} is {shown(column.type)}, or has nulls")


def stored() -> list[Path]:
    """Folders of the stored environments, by name."""
    folder = store_folder()
    above = existing_part(folder)
    if not is_folder(above):
        raise InputError(f"{shown(above, 200)} is no folder: set FLAVOURBENCH_CACHE to another")
    if not is_folder(folder):
        return []
    names = [path for path in folder.iterdir() if path.name != BUILT_IN]
    found = [path for path in names if _NAME.fullmatch(path.name)]
    return sorted(path for path in found if ENVIRONMENT.at(path))


def find(text: str | None) -> Path:
    """The folder of an environment: a name or a path; the built-in one without.

    Raises
    ------
    InputError
        There is none.
    """
    if text is None or text == BUILT_IN:
        return BUILT_IN_FOLDER
    paths = {path.name: path for path in stored()}
    if text in paths:
        return paths[text]
    if ENVIRONMENT.at(Path(text)):
        return Path(text)
    if os.path.lexists(text):
        raise InputError(f"{shown(text, 200)} is no environment folder (no {ENVIRONMENT.seal})")
    raise InputError(f"{_not_stored(text, paths)}; or name an environment folder")


def is_built_in(text: str | None) -> bool:
    """Whether :func:`find` finds the built-in environment, by name or by path."""
    return os.path.realpath(find(text)) == os.path.realpath(BUILT_IN_FOLDER)


def stored_path(name: str) -> Path:
    """The folder of the stored environment of that very name.

    Raises
    ------
    InputError
        There is none, or it is the built-in one.
    """
    if name == BUILT_IN:
        raise InputError(f"{name} is built in, and belongs to the package: it stays")
    paths = {path.name: path for path in stored()}
    if name not in paths:
        raise InputError(_not_stored(name, paths))
    return paths[name]


def _not_stored(text: str, names: Iterable[str]) -> str:
    known = listed([BUILT_IN, *names])
    return f"no environment '{shown(text, 200)}': known are {known} (see `fb env import`)"


def remove_environment(name: str) -> Path:
    """Remove a stored environment, be it a damaged one; the folder that it was.

    Raises
    ------
    InputError
        None of that name is stored, or its folder holds something else too.
    """
    path = stored_path(name)
    ours = {ITEMS, MANIFEST, ENVIRONMENT.seal}
    other = sorted(entry.name for entry in path.iterdir() if entry.name not in ours)
    if other:
        raise InputError(f"{shown(path, 200)} is not removed, it holds {listed(other)} too")
    remove_folder(path)
    return path


def open_environment(text: str | None = None) -> Environment:
    """Read the environment that :func:`find` finds."""
    path = find(text)
    if path == BUILT_IN_FOLDER:
        try:
            return read_environment(path)
        except FlavourBenchError as error:
            raise CheckError(f"{error}: reinstall flavourbench") from error
    try:
        return read_environment(path)
    except CheckError as error:
        raise CheckError(f"{error}: import it again, with --force in its place") from error


def named_by(identity: str) -> str | None:
    """The name of an environment with that identity, built in or stored, or None."""
    if _summary(BUILT_IN, BUILT_IN_FOLDER).get("identity") == identity:
        return BUILT_IN  # without a look at the store, which may not be there
    return {entry.get("identity"): entry["name"] for entry in summaries()}.get(identity)


def open_identity(identity: str) -> Environment | None:
    """The environment with that identity, built in or stored, or None."""
    name = named_by(identity)
    return None if name is None else open_environment(name)


def summaries() -> list[dict[str, Any]]:
    """Name, size and identity of each environment, or what is wrong with it.

    The one that is built in comes first.
    """
    places = {BUILT_IN: BUILT_IN_FOLDER} | {path.name: path for path in stored()}
    return [_summary(name, path) for name, path in places.items()]


def _summary(name: str, path: Path) -> dict[str, Any]:
    about = {"name": name, "built_in": path == BUILT_IN_FOLDER}
    try:
        manifest = _contents(path).manifest
    except FlavourBenchError as error:
        return about | {"problem": str(error)}
    return about | {key: manifest[key] for key in ("identity", "items", "dimensions", "provenance")}


def verify(path: Path, source: Environment | None = None) -> list[dict[str, Any]]:
    """Derive again what an environment folder states.

    Parameters
    ----------
    source : the environment read anew from its bundle, to compare with

    Returns
    -------
    One object a check: ``check``, ``passed``, ``detail``. Only the first, ``files``, where
    the folder is damaged.

    Raises
    ------
    InputError
        It is no environment of a known format, or cannot be read.
    """
    try:
        environment, manifest = _read(path)
    except CheckError as error:
        return [{"check": "files", "passed": False, "detail": str(error)}]
    stated, size = manifest["identity"], [len(environment), environment.dimensions]
    said = [manifest["items"], manifest["dimensions"]]
    content = table_sha256(environment.columns())
    checks = [
        ("files", True, f"{len(manifest['files'])} listed and sealed, none altered"),
        ("rows", True, "names ascend, norms are 1, tags are known"),
        ("content", content == manifest["files"][ITEMS]["content_sha256"], content),
        (
            "identity",
            environment.identity == stated,
            environment.identity + _unlike(environment.identity, stated),
        ),
        ("size", size == said, "{} items × {}".format(*size) + _unlike(size, said)),
    ]
    if source is not None:
        same = source.identity == environment.identity
        told = f"the bundle gives {source.identity}"
        checks.append(("source", same, told + _unlike(source.identity, environment.identity)))
    return [{"check": what, "passed": passed, "detail": text} for what, passed, text in checks]


def _unlike(found: object, expected: object) -> str:
    return "" if found == expected else f", not {shown(expected, 100)}"

"""Three ways to run a kernel give the same bits, and no stored code is trusted blindly.

Stored machine code (the default), Numba's ordinary dispatch (``FBCORE_JIT=dispatch``) and
plain Python (``NUMBA_DISABLE_JIT=1``), each in a process of its own, on all public functions
(``jit_problem.py``). The cache folder is a temporary one throughout.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pkgutil
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import fbcore
from fbcore import _jit

PROBLEM = Path(__file__).with_name("jit_problem.py")
#: Two functions that take one small kernel each.
FEW = ("bootstrap.standard_errors", "bootstrap.max_t")


@dataclass
class Run:
    """``jit_problem.py`` in a process that has begun."""

    process: subprocess.Popen[str]
    told: dict[str, Any] = field(default_factory=dict)

    def result(self) -> dict[str, Any]:
        """What it told, once it has ended."""
        if not self.told:
            out, err = self.process.communicate()
            assert self.process.returncode == 0, err
            assert err == ""
            self.told = json.loads(out)
        return self.told


def start(cache: Path, *functions: str, umask: int = -1, **variables: str) -> Run:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "FBCORE"))}
    environment = {
        **inherited,
        "FLAVOURBENCH_CACHE": str(cache),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        **variables,
    }
    command = [sys.executable, str(PROBLEM), *functions]
    return Run(
        subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            umask=umask,
        )
    )


@pytest.fixture(scope="module")
def cold(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """All functions by each route, side by side; ``cache`` is left filled by the first."""
    cache = tmp_path_factory.mktemp("cold") / "cache"
    return {
        "objects": start(cache),
        "dispatch": start(cache / "unused", FBCORE_JIT="dispatch"),
        "plain": start(cache / "unused", NUMBA_DISABLE_JIT="1"),
    }


@pytest.fixture(scope="module")
def filled(cold: dict[str, Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    cold["objects"].result()
    return next(tmp_path_factory.getbasetemp().glob("cold*/cache"))


@pytest.fixture
def cache(filled: Path, tmp_path: Path) -> Path:
    """A filled cache folder to spoil."""
    copy = tmp_path / "cache"
    shutil.copytree(filled, copy)
    return copy


def objects(cache: Path) -> dict[str, Path]:
    """Stored files by the name of the kernel, any signature of it."""
    return {path.name.partition("-")[0]: path for path in sorted(cache.glob("kernels-*/*.o"))}


def contents(cache: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(cache)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in cache.rglob("*")
        if path.is_file()
    }


# --- the routes ----------------------------------------------------------------------------


def test_routes_give_the_same_bits(cold: dict[str, Run]) -> None:
    told = {route: run.result() for route, run in cold.items()}
    assert told["dispatch"]["results"] == told["objects"]["results"]
    assert told["plain"]["results"] == told["objects"]["results"]
    for route, run in told.items():
        assert run["warnings"] == [], route
        assert run["announced"] == (route != "plain")


def test_only_the_default_route_stores_code(cold: dict[str, Run], filled: Path) -> None:
    for run in cold.values():
        run.result()
    assert len(objects(filled)) >= 8
    assert not (filled / "unused").exists()
    folder = next(filled.glob("kernels-*"))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_problem_runs_every_public_function(cold: dict[str, Run]) -> None:
    public = set()
    for info in pkgutil.iter_modules(fbcore.__path__):
        module = importlib.import_module(f"fbcore.{info.name}")
        if info.name not in ("_jit", "_objects", "blocks", "checks"):
            public |= {
                f"{info.name}.{name}"
                for name, value in vars(module).items()
                if inspect.isfunction(value)
                and value.__module__ == module.__name__
                and not name.startswith("_")
            }
    assert set(cold["plain"].result()["results"]) == public


def test_the_second_process_compiles_nothing(cold: dict[str, Run], filled: Path) -> None:
    first = cold["objects"].result()
    before = contents(filled)
    second = start(filled).result()
    assert second["results"] == first["results"]
    assert not second["numba"]
    assert not second["announced"]
    assert second["warnings"] == []
    assert contents(filled) == before
    assert first["numba"]  # so that the test above can fail


@pytest.mark.parametrize("value", ["", "off", "OBJECTS"])
def test_an_unknown_route_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FBCORE_JIT", value)
    with pytest.raises(ValueError, match="use 'objects' or 'dispatch'"):
        _jit.route()


# --- spoilt caches -------------------------------------------------------------------------


def spoil(how: str, stored: Path, other: Path) -> None:
    data = stored.read_bytes()
    middle = len(data) // 2
    stored.write_bytes(
        {
            "empty": b"",
            "cut": data[:-1],
            "cut in the digest": data[:20],
            "longer": data + b"\0",
            "one bit": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
            "digest altered": bytes([data[0] ^ 1]) + data[1:],
            "not an object": b"#!/bin/sh\nexit 1\n" * 40,
            "another kernel's": other.read_bytes(),
        }[how]
    )


@pytest.mark.parametrize(
    "how",
    [
        "empty",
        "cut",
        "cut in the digest",
        "longer",
        "one bit",
        "digest altered",
        "not an object",
        "another kernel's",
    ],
)
def test_spoilt_objects_are_compiled_again(how: str, cold: dict[str, Run], cache: Path) -> None:
    """Whole and unaltered is not enough: a file that holds another kernel is not loaded."""
    stored, other = objects(cache)["_variance_rows"], objects(cache)["_max_t_range"]
    spoil(how, stored, other)
    spoilt = stored.read_bytes()
    expected = {name: cold["plain"].result()["results"][name] for name in FEW}
    found = start(cache, *FEW).result()
    assert found["results"] == expected
    assert found["warnings"] == []
    assert found["announced"]
    # Repaired in place, so that the next process loads again.
    assert stored.read_bytes() != spoilt
    again = start(cache, *FEW).result()
    assert again["results"] == expected
    assert not again["numba"]


def test_sources_and_versions_decide_the_folder(
    cold: dict[str, Run], cache: Path, tmp_path: Path
) -> None:
    """Code of another source or processor lies in a folder that is not looked into."""
    expected = {name: cold["plain"].result()["results"][name] for name in FEW}
    before = set(cache.glob("kernels-*"))
    other = start(cache, FEW[0], NUMBA_CPU_NAME="generic").result()
    assert other["numba"]
    assert other["results"][FEW[0]] == expected[FEW[0]]
    between = set(cache.glob("kernels-*"))
    assert between > before
    changed = tmp_path / "sources"
    shutil.copytree(Path(fbcore.__file__).parent, changed / "fbcore")
    with (changed / "fbcore" / "effects.py").open("a") as handle:
        handle.write("# a change\n")
    path = os.pathsep.join([str(changed), *(p for p in sys.path if p)])
    edited = start(cache, FEW[0], PYTHONPATH=path).result()
    assert edited["numba"]
    assert set(cache.glob("kernels-*")) > between


# --- folders that cannot or must not be used -----------------------------------------------


def test_an_unwritable_folder_costs_one_warning(cold: dict[str, Run], tmp_path: Path) -> None:
    """A file in the way, which stops every user, root too."""
    (tmp_path / "file").write_text("in the way")
    found = start(tmp_path / "file" / "cache", *FEW).result()
    expected = cold["plain"].result()["results"]
    assert found["results"] == {name: expected[name] for name in FEW}
    assert len(found["warnings"]) == 1
    assert "FLAVOURBENCH_CACHE" in found["warnings"][0]
    assert found["announced"]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners and modes here")
@pytest.mark.parametrize("place", ["the kernels' folder", "the folder above it"])
@pytest.mark.parametrize("bits", [0o020, 0o002])
def test_folders_that_others_may_write_are_not_used(
    place: str, bits: int, cold: dict[str, Run], cache: Path
) -> None:
    """Machine code is run from here: who can put a file or a folder there runs code as us."""
    folder = next(cache.glob("kernels-*")) if place == "the kernels' folder" else cache
    folder.chmod(0o700 | bits)
    before = contents(cache)
    found = start(cache, FEW[0]).result()
    assert found["results"][FEW[0]] == cold["plain"].result()["results"][FEW[0]]
    assert found["numba"], "stored code was loaded"
    assert contents(cache) == before
    assert len(found["warnings"]) == 1


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root gives folders away"
)
def test_folders_of_others_are_not_used(cold: dict[str, Run], cache: Path) -> None:
    folder = next(cache.glob("kernels-*"))
    os.chown(folder, 12345, 12345)
    found = start(cache, FEW[0]).result()
    assert found["results"][FEW[0]] == cold["plain"].result()["results"][FEW[0]]
    assert found["numba"], "stored code was loaded"


def test_a_wide_umask_does_not_open_the_folder(tmp_path: Path) -> None:
    start(tmp_path / "cache", FEW[0], umask=0).result()
    for path in [tmp_path / "cache", *(tmp_path / "cache").rglob("*")]:
        assert not path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH), path

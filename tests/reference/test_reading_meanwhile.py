"""Artifact folders that another process replaces or removes while they are read."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bundles import synthetic
from running import SMALL, Command
from tables import scores, wide, write

from flavourbench import artifact
from flavourbench.analysis.release import read_leaderboard, read_matrix
from flavourbench.artifact import Kind
from flavourbench.environment import read_environment, store, write_environment
from flavourbench.errors import CheckError, InputError
from flavourbench.folders import new_folder

KIND = Kind("thing", "thing/1", "THING.sha256", ("text",))
Reader = Callable[[Path], Any]
Step = Callable[[], None]


def things(folder: Path) -> list[Path]:
    """Two folders of one kind, each of whose files says which it is."""
    found = []
    for text in ("one", "two"):
        path = folder / text
        path.mkdir()
        for name in ("a", "b", "c"):
            (path / name).write_text(f"{name} of {text}")
        KIND.write(path, {"text": text}, dict.fromkeys("abc", "none"))
        found.append(path)
    return found


def environments(folder: Path) -> list[Path]:
    paths = [folder / "one", folder / "two"]
    for at, path in enumerate(paths):
        write_environment(synthetic(at, 20, 4).environment(path.name), path)
    return paths


def releases(folder: Path, fb: Command) -> list[Path]:
    paths = [folder / "one", folder / "two"]
    for at, path in enumerate(paths):
        table = write(folder / f"{path.name}.csv", wide(scores(3 + at)))
        assert fb("infer", table, *SMALL, "--out", path).code == 0
    return paths


def read_thing(path: Path) -> Any:
    contents = KIND.read(path, "a", "c")
    return contents.manifest, contents.files


def environment(path: Path) -> Any:
    found = read_environment(path)
    return found.name, found.identity


def matrix(path: Path) -> Any:
    found = read_matrix(path)
    return found.label, found.models, np.asarray(found.scores.values).tolist()


def replace(place: Path, source: Path) -> None:
    with new_folder(place, force=True, kept=lambda _: None) as folder:
        shutil.copytree(source, folder, dirs_exist_ok=True)


def at_each_step(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    """Call ``step`` before every look at a file of an artifact."""
    busy = False

    def after(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal busy
            if not busy:  # the step looks at files too
                busy = True
                try:
                    step()
                finally:
                    busy = False
            return function(*arguments)

        return call

    for name in ("is_file", "read_bytes", "iterdir"):
        monkeypatch.setattr(Path, name, after(getattr(Path, name)))
    for name in ("is_file", "file_sha256"):
        monkeypatch.setattr(artifact, name, after(getattr(artifact, name)))


@pytest.mark.parametrize(
    ("make", "read"),
    [
        (things, read_thing),
        (environments, environment),
        (environments, store.verify),
        (releases, read_leaderboard),
        (releases, matrix),
    ],
)
@pytest.mark.parametrize("times", [1, 2])
def test_what_is_read_is_of_one_folder(
    make: Callable[..., list[Path]],
    read: Reader,
    times: int,
    tmp_path: Path,
    fb: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Replaced before any step of reading, and before the one after it."""
    sources = make(tmp_path, fb) if make is releases else make(tmp_path)
    whole = [read(source) for source in sources]
    place = tmp_path / "place"
    for first in itertools.count():
        steps = itertools.count()
        replace(place, sources[0])

        def step(first: int = first, steps: itertools.count[int] = steps) -> None:
            at = next(steps) - first
            if 0 <= at < times:
                replace(place, sources[1 - at])

        with monkeypatch.context() as patch:
            at_each_step(step, patch)
            assert read(place) in whole
        if next(steps) <= first:
            break
    assert first > 6


def test_a_folder_that_is_always_replaced_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = itertools.cycle(things(tmp_path))
    place = tmp_path / "place"
    replace(place, next(sources))
    at_each_step(lambda: replace(place, next(sources)), monkeypatch)
    with pytest.raises(InputError, match="place is replaced again and again"):
        KIND.read(place)


def test_a_folder_that_is_removed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = things(tmp_path)[0]
    place = tmp_path / "place"
    for first in range(1, 7):
        steps = itertools.count()
        replace(place, source)

        def step(first: int = first, steps: itertools.count[int] = steps) -> None:
            if next(steps) == first:
                shutil.rmtree(place)

        with monkeypatch.context() as patch:
            at_each_step(step, patch)
            with pytest.raises(InputError, match="place: no such file"):
                KIND.read(place, "a")


def test_damage_is_found_although_the_folder_was_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = things(tmp_path)
    (two / "b").write_text("damaged")
    place = tmp_path / "place"
    replace(place, one)
    steps = itertools.count()
    at_each_step(lambda: replace(place, two) if next(steps) == 4 else None, monkeypatch)
    with pytest.raises(CheckError, match="b is not the file that was written"):
        KIND.read(place, "a")


def test_files_asked_for_have_to_be_listed(tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="does not list d, e"):
        KIND.read(things(tmp_path)[0], "a", "d", "e")


def test_every_file_is_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is opened twice may differ between check and use."""
    source, opened = things(tmp_path)[0], []

    def counted(function: Callable[[Path], Any]) -> Callable[[Path], Any]:
        return lambda path: opened.append(path.name) or function(path)

    monkeypatch.setattr(Path, "read_bytes", counted(Path.read_bytes))
    monkeypatch.setattr(artifact, "file_sha256", counted(artifact.file_sha256))
    KIND.read(source, "a")
    assert sorted(opened) == sorted(path.name for path in source.iterdir())

"""A frozen release: later versions read it, derive it again, and write the same content."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import make_release
import pytest

from flavourbench.analysis.cores import CORE
from flavourbench.analysis.inference import infer
from flavourbench.analysis.release import (
    read_earlier,
    read_evidence,
    read_leaderboard,
    read_matrix,
    read_release,
    write_release,
)
from flavourbench.analysis.release.layout import RELEASE
from flavourbench.analysis.verify import verify_release
from flavourbench.artifact import MANIFEST, Kind
from flavourbench.environment.store import ENVIRONMENT
from flavourbench.errors import CheckError, InputError
from flavourbench.tasks.panel import PANEL

KINDS = (RELEASE, PANEL, ENVIRONMENT, CORE)

#: The same evidence as an earlier version wrote it.
EARLIER = Path(__file__).with_name("release-2")


def test_it_is_derived_again() -> None:
    checks = verify_release(make_release.FOLDER)
    assert [check for check in checks if check["passed"] is False] == []
    unseen = [check["check"] for check in checks if check["passed"] is None]
    assert unseen == ["tasks: scores", "tasks: compilation", "score maps", "origin"]


def test_it_is_read() -> None:
    evidence, inference = make_release.build()
    found = read_evidence(make_release.FOLDER)
    assert found is not None
    assert found.added == {"dog"}
    for part in ("models", "answers", "observations", "core"):
        assert getattr(found, part) == getattr(evidence, part)
    matrix = read_matrix(make_release.FOLDER)
    assert matrix.content_sha256 == inference.matrix.content_sha256
    earlier, result, _ = read_earlier(make_release.FOLDER)
    assert (earlier.measured.draws == inference.draws).all()
    assert len(result["pairs"]) == 6


def test_an_earlier_format_is_analysed_anew(tmp_path: Path) -> None:
    matrix, evidence = read_matrix(EARLIER), read_evidence(EARLIER)
    assert matrix.content_sha256 == read_matrix(make_release.FOLDER).content_sha256
    kept = read_evidence(make_release.FOLDER)
    for part in ("models", "answers", "observations", "core"):
        assert getattr(evidence, part) == getattr(kept, part)
    plan = make_release.build()[1].plan
    write_release(infer(matrix, plan, 1), tmp_path / "r", evidence)
    assert read_leaderboard(tmp_path / "r") == read_leaderboard(make_release.FOLDER)


@pytest.mark.parametrize("read", [read_leaderboard, read_release, read_earlier, verify_release])
def test_what_an_earlier_format_lacks_is_not_read(read: Callable[[Path], object]) -> None:
    """Whatever needs the results says how they are made."""
    with pytest.raises(InputError, match=r"flavourbench-release/2.*`fb infer` on it"):
        read(EARLIER)


def test_the_same_evidence_gives_the_same_content(tmp_path: Path) -> None:
    """File by file; the bytes of Parquet depend on the version of Arrow."""
    evidence, inference = make_release.build()
    write_release(inference, tmp_path / "r", evidence)
    frozen, made = (
        json.loads((folder / MANIFEST).read_bytes())
        for folder in (make_release.FOLDER, tmp_path / "r")
    )
    digests = [
        {name: entry["content_sha256"] for name, entry in manifest["files"].items()}
        for manifest in (frozen, made)
    ]
    assert digests[0] == digests[1]
    assert frozen["parents"] == made["parents"]


@pytest.mark.parametrize("asked", KINDS)
def test_a_folder_of_another_kind_is_not_a_damaged_one(asked: Kind, tmp_path: Path) -> None:
    """Whose seal is missing is told by its manifest: nobody is to write over something else."""
    for kind in KINDS:
        folder = tmp_path / kind.what
        folder.mkdir()
        (folder / MANIFEST).write_text(json.dumps({"format": kind.format}))
        if kind is asked:
            with pytest.raises(CheckError, match=f"{kind.seal} is missing"):
                asked.read(folder)
        else:
            with pytest.raises(InputError, match=f"is no {asked.what} folder"):
                asked.read(folder)

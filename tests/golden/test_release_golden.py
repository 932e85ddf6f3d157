"""A frozen release: later versions read it, derive it again, and write the same content."""

from __future__ import annotations

import json
from pathlib import Path

import make_release

from flavourbench.analysis.release import read_earlier, read_evidence, read_matrix, write_release
from flavourbench.analysis.verify import verify_release
from flavourbench.artifact import MANIFEST


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

"""Real reference data, which the project does not hold: found, or the test is skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def reference(name: str) -> Path:
    """A file or folder of the reference data; skips the calling test where it is absent."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("FLAVOURBENCH_REFERENCE") or default)
    if not (folder / name).exists():
        pytest.skip(f"no {name} in {folder}: set FLAVOURBENCH_REFERENCE")
    return folder / name

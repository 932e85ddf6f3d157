"""The release folder: the one result format, an artifact sealed by ``RELEASE.sha256``."""

from flavourbench.analysis.release.layout import RELEASE, find_release, is_release
from flavourbench.analysis.release.read import (
    Release,
    read_core_share,
    read_diagnostics,
    read_earlier,
    read_evidence,
    read_leaderboard,
    read_matrix,
    read_pairs,
    read_release,
)
from flavourbench.analysis.release.write import (
    check_target,
    write_named_release,
    write_release,
)

__all__ = [
    "RELEASE",
    "Release",
    "check_target",
    "find_release",
    "is_release",
    "read_core_share",
    "read_diagnostics",
    "read_earlier",
    "read_evidence",
    "read_leaderboard",
    "read_matrix",
    "read_pairs",
    "read_release",
    "write_named_release",
    "write_release",
]

"""The release folder: the one result format, an artifact sealed by ``RELEASE.sha256``."""

from flavourbench.analysis.release.layout import RELEASE, find_release, is_release
from flavourbench.analysis.release.read import (
    read_earlier,
    read_evidence,
    read_leaderboard,
    read_matrix,
)
from flavourbench.analysis.release.write import (
    check_target,
    write_named_release,
    write_release,
)

__all__ = [
    "RELEASE",
    "check_target",
    "find_release",
    "is_release",
    "read_earlier",
    "read_evidence",
    "read_leaderboard",
    "read_matrix",
    "write_named_release",
    "write_release",
]

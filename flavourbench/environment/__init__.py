"""The executable ground truth: items with tags, exact unit rows and operations on them."""

from flavourbench.environment.bundles import read_bundle
from flavourbench.environment.environment import (
    Environment,
    Hit,
    Pairings,
    PairScore,
    RegionScore,
    Verdict,
)
from flavourbench.environment.store import open_environment, read_environment, write_environment

__all__ = [
    "Environment",
    "Hit",
    "PairScore",
    "Pairings",
    "RegionScore",
    "Verdict",
    "open_environment",
    "read_bundle",
    "read_environment",
    "write_environment",
]

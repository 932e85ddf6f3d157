"""Contestants that need no key: offline and deterministic, so that everything runs anywhere."""

from flavourbench.collect.contestants.contestant import NAMES, Contestant, contestant, is_simulated
from flavourbench.collect.contestants.entries import ENTRIES, Entry
from flavourbench.collect.contestants.said import Said

__all__ = ["ENTRIES", "NAMES", "Contestant", "Entry", "Said", "contestant", "is_simulated"]

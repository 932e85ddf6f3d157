"""Contestants that need no key: offline and deterministic, so that everything runs anywhere."""

from flavourbench.collect.contestants.contestant import NAMES, Contestant, contestant
from flavourbench.collect.contestants.entries import ENTRIES, Entry
from flavourbench.collect.contestants.said import Said

__all__ = ["ENTRIES", "NAMES", "Contestant", "Entry", "Said", "contestant"]

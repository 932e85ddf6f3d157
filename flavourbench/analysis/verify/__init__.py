"""Verification of releases: files, then every number, derived again on the plain twin."""

from flavourbench.analysis.verify.release import kind_at, verify_release

__all__ = ["kind_at", "verify_release"]

"""What a parser says of an answer: a selection, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass

from flavourbench.tasks.labels import PORTFOLIOS

#: Every reason a parser may give.
REASONS = (
    "empty",
    "reasoning_unclosed",
    "no_marker",
    "count",
    "duplicate",
    "unknown_label",
    "separator",
    "trailing_text",
    "name_mismatch",
    "ambiguous",
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """The verdict on one answer; exactly one of the two is None.

    Attributes
    ----------
    selection : three sorted labels, as ``"ACF"``
    reason : one of ``REASONS``
    """

    selection: str | None
    reason: str | None


#: All verdicts there are. Building one anew would take a third of the time of a short answer.
VALID: dict[str, Parsed] = {three: Parsed(three, None) for three in PORTFOLIOS}
INVALID: dict[str, Parsed] = {reason: Parsed(None, reason) for reason in REASONS}

"""Which pairs are shown to be close: "not resolved" and "close" are different statements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from flavourbench.errors import InputError

SAYS = (
    "close: the simultaneous interval of the difference lies within the margin. These intervals"
    " hold together, so the margin may be chosen after seeing them. A difference that no draw moves"
    " has an interval of no width, which shows nothing."
)


def checked_margin(margin: float) -> float:
    """A margin in the unit of the scores.

    Raises
    ------
    InputError
        It is not a positive number.
    """
    if not (math.isfinite(margin) and margin > 0):
        raise InputError(f"--margin {margin} is not a positive number of points")
    return margin


def least_margin(interval: Sequence[float]) -> float | None:
    """The smallest margin at which a pair with this simultaneous interval is close.

    None for an interval of no width: scores that did not vary do not tell how far they could.
    """
    low, high = interval
    return max(-low, high) if low < high else None


def is_close(interval: Sequence[float], margin: float) -> bool:
    """Whether both one-sided tests of a difference beyond the margin reject.

    They do where the simultaneous interval lies within -margin to margin (Schuirmann 1987,
    J. Pharmacokinet. Biopharm. 15:657), at a family-wise level of alpha over all pairs.
    """
    least = least_margin(interval)
    return least is not None and least <= margin


def equivalence(pairs: Sequence[Mapping[str, Any]], margin: float) -> dict[str, Any]:
    """Pairs of a release by whether they are resolved and whether they are close.

    Parameters
    ----------
    pairs : as :func:`.result.pair_rows` gives them
    margin : see :func:`checked_margin`
    """
    close = [row for row in pairs if is_close(row["simultaneous"], margin)]
    resolved = sum(row["resolved"] for row in pairs)
    both = sum(row["resolved"] for row in close)
    return {
        "margin": margin,
        "close": len(close),
        "resolved": resolved,
        "close_and_resolved": both,
        "open": len(pairs) - len(close) - resolved + both,
        "close_pairs": [[row["left"], row["right"]] for row in close],
        "says": SAYS,
    }

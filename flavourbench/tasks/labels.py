"""Labels of candidates and of portfolios, and how candidate names are compared."""

from __future__ import annotations

from itertools import combinations

LABELS = "ABCDEFGH"
#: The 56 sets of three labels, in the order of all score columns.
PORTFOLIOS: tuple[str, ...] = tuple("".join(three) for three in combinations(LABELS, 3))
PORTFOLIO_INDEX: dict[str, int] = {three: index for index, three in enumerate(PORTFOLIOS)}


def normalised(name: str) -> str:
    """``name`` as it is compared: underscores are spaces, case folded, white space collapsed."""
    return " ".join(name.replace("_", " ").casefold().split())

"""Compact letter display: models that share a letter are not resolved from each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fbcore.checks import indices


def letters(order: NDArray[np.int64], resolved: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Columns of a compact letter display: bool [M, L], who has which letter.

    Two models share a letter exactly if their pair is not resolved. Insert-and-absorb (Piepho
    2004, J. Comput. Graph. Stat. 13:456) may pass through exponentially many columns; here
    each pair not yet covered grows a clique in the order of the models instead, and what the
    others cover is dropped (Gramm, Guo, Hüffner, Niedermeier, Piepho & Schmid 2007, Comput.
    Stat. Data Anal. 52:725). So time is polynomial and every model has a letter.

    Parameters
    ----------
    order : int64 [M]
        Model indices by falling score. Letters begin with the best models.
    resolved : bool [M, M]
        Symmetric pair decisions.
    """
    models = order.size
    order = indices("order", order, 0, models)
    if resolved.shape != (models, models):
        raise ValueError(f"decisions of shape {resolved.shape} for {models} models")
    together = ~resolved[np.ix_(order, order)]
    near = [_bits(np.flatnonzero(row)) & ~(1 << m) for m, row in enumerate(together)]
    cliques = _without_needless(_cover(near), models)
    out = np.zeros((models, len(cliques)), np.bool_)
    for column, clique in enumerate(cliques):
        out[order[_members(clique)], column] = True
    return out


def _bits(members: NDArray[np.int64]) -> int:
    """A set of places as the bits of an integer."""
    return sum(1 << int(m) for m in members)


def _members(clique: int) -> list[int]:
    found = []
    while clique:
        low = clique & -clique
        found.append(low.bit_length() - 1)
        clique ^= low
    return found


def _cover(near: list[int]) -> list[int]:
    """Maximal cliques that hold every pair of neighbours; a model without any is one itself."""
    cliques = [1 << m for m, others in enumerate(near) if not others]
    open_pairs = [others >> (m + 1) << (m + 1) for m, others in enumerate(near)]
    for m in range(len(near)):
        while open_pairs[m]:
            first = open_pairs[m] & -open_pairs[m]
            clique = (1 << m) | first
            common = near[m] & near[first.bit_length() - 1]
            while common:
                # Those with a pair to cover come first, the best model among them.
                wanted = common & open_pairs[m] or common
                member = wanted & -wanted
                clique |= member
                common &= near[member.bit_length() - 1]
            for member in _members(clique):
                open_pairs[member] &= ~clique
            cliques.append(clique)
    return cliques


def _without_needless(cliques: list[int], models: int) -> list[int]:
    """Cliques of which each holds a pair (or model) that no other one holds, best first."""
    count = np.zeros((models, models), np.int64)
    for clique in cliques:
        members = _members(clique)
        count[np.ix_(members, members)] += 1
    kept = []
    for clique in sorted(cliques, key=lambda clique: clique.bit_count()):
        among = _members(clique)
        cells = np.ix_(among, among)
        if count[cells].min() > 1:
            count[cells] -= 1
        else:
            kept.append(clique)
    return sorted(kept, key=_members)

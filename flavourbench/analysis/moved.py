"""What moved when models were added, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]
#: Numbers of a model that no other model moves.
_OWN = ("score", "se", "pointwise", "family_scores", "panel_scores")
_OWN_CHANCE = ("score", "difference", "exceedances", "p")
#: Those that all models decide together.
_SHARED = ("simultaneous", "rank", "rank_interval", "rank_set", "group")
#: Numbers of a pair that no other model moves.
_OWN_PAIR = ("difference", "se", "interval", "dz", "p", "exceedances")


def moved(before: Object, after: Object) -> dict[str, Any]:
    """What differs between two results, the second with more models.

    Parameters
    ----------
    before, after : as :func:`.result.result_object` gives them

    Returns
    -------
    One JSON object: ``added`` models; ``kept``, how many numbers of earlier models and pairs are
    the same to the bit, ``changed`` those that are not (none, unless something is wrong);
    ``models`` and ``pairs`` that moved, each value with before and after; ``why``.
    """
    old, new = _by_id(before), _by_id(after)
    kept, changed = _compared(before, after, old, new)
    hypotheses = [len(rows) * (len(rows) - 1) // 2 for rows in (old, new)]
    critical = [before["max_t_critical"], after["max_t_critical"]]
    return {
        "added": [row["id"] for row in after["models"] if row["id"] not in old],
        "kept": kept,
        "changed": changed,
        "max_t_critical": critical,
        "pair_max_t_critical": [side["pair_max_t_critical"] for side in (before, after)],
        "hypotheses": hypotheses,
        "resolved_pairs": [before["resolved_pairs"], _still(after, old)],
        "models": [
            {
                "id": name,
                "name": old[name]["name"],
                **{key: [old[name][key], new[name][key]] for key in _SHARED},
            }
            for name in sorted(old, key=lambda m: (new[m]["rank"], m))
            if any(old[name][key] != new[name][key] for key in _SHARED)
        ],
        "pairs": _decisions(before, after),
        "why": _reasons(after, old, hypotheses, critical),
    }


def _by_id(result: Object) -> dict[str, Object]:
    return {row["id"]: row for row in result["models"]}


def _pairs(result: Object) -> dict[tuple[str, str], Object]:
    return {(row["left"], row["right"]): row for row in result["pairs"]}


def _compared(
    before: Object, after: Object, old: Mapping[str, Object], new: Mapping[str, Object]
) -> tuple[int, list[str]]:
    """How many numbers are the same, and which are not."""
    kept, changed = 0, []

    def compare(what: str, keys: Sequence[str], first: Object, second: Object) -> None:
        nonlocal kept
        for key in keys:
            if first[key] == second[key]:
                kept += 1
            else:
                changed.append(f"{what} {key}")

    for name, row in old.items():
        compare(name, _OWN, row, new[name])
        if row["chance"] is not None:
            compare(f"{name} chance", _OWN_CHANCE, row["chance"], new[name]["chance"])
    now = _pairs(after)
    for pair, row in _pairs(before).items():
        compare(" / ".join(pair), _OWN_PAIR, row, now[pair])
    return kept, changed


def _still(after: Object, old: Mapping[str, Object]) -> int:
    """Resolved pairs among the earlier models."""
    inside = [row for row in after["pairs"] if row["left"] in old and row["right"] in old]
    return sum(row["resolved"] for row in inside)


def _decisions(before: Object, after: Object) -> list[dict[str, Any]]:
    """Pairs that are no longer resolved, or now are."""
    now = _pairs(after)
    names = {row["id"]: row["name"] for row in before["models"]}
    return [
        {
            "left": left,
            "right": right,
            "names": [names[left], names[right]],
            "p": row["p"],
            "holm_p": [row["holm_p"], now[left, right]["holm_p"]],
            "resolved": [row["resolved"], now[left, right]["resolved"]],
        }
        for (left, right), row in _pairs(before).items()
        if row["resolved"] != now[left, right]["resolved"]
    ]


def _reasons(
    after: Object, old: Mapping[str, Object], hypotheses: list[int], critical: list[float]
) -> list[str]:
    models = len(after["models"])
    ranks = ", ".join(
        f"{row['name']} at {row['rank']}" for row in after["models"] if row["id"] not in old
    )
    return [
        f"ranks: new are {ranks}; every model below gives way",
        f"bands: the largest of {models} deviations in a draw is looked at instead of {len(old)},"
        f" max-t {critical[0]:.4f}, now {critical[1]:.4f}",
        f"Holm and step-down: {hypotheses[1]:,} pairs are tested together instead of"
        f" {hypotheses[0]:,}, so that the same p weighs less; so do intervals of all differences",
        "groups follow from ranks and resolved pairs, rank sets from resolved directions",
        "scores, standard errors, pointwise intervals, tests of pairs and their p-values do not"
        " depend on other models",
    ]

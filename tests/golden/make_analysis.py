"""Writes ``analysis.json``: a small design and all its numbers, frozen.

The numbers come from the plain twin alone. Run ``python tests/golden/make_analysis.py`` to
write the file again; it must come out as it is, on any machine (JSON numbers hold float64
exactly, since Python writes the shortest decimals that read back the same).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from flavourbench.analysis.plain import bootstrap, decisions, design, signflip

FILE = Path(__file__).with_name("analysis.json")

MODELS, TASKS, CLUSTERS = ["alder", "birch", "cedar", "dogwood", "elm"], 37, 12
#: Tasks of the strata "p/a" … "q/b": unequal, so that no common pool would do.
SIZES = {"p/a": 12, "p/b": 9, "q/a": 9, "q/b": 7}
DRAWS, FLIPS, SEED, ALPHA = 700, 1500, 2**33 + 7, 0.1


def problem() -> dict[str, Any]:
    """Scores in basis points by a rule that needs no random numbers; birch and elm are close.

    The last model repeats the second one but for two tasks, and the third has few distinct
    scores, so that there are ties.
    """
    strata = [name for name, size in SIZES.items() for _ in range(size)]
    scores = [
        [(7919 * (t + 1) * (m + 3) ** 2 + 104_729 * m) % 8001 + 400 * m for t in range(TASKS)]
        for m in range(4)
    ]
    scores[2] = [1000 * (score // 3000) for score in scores[2]]
    scores.append([score + (t in (3, 21)) * 150 for t, score in enumerate(scores[1])])
    return {
        "models": MODELS,
        "strata": strata,
        # The last stratum meets four clusters: 0.8 % of the draws leave it empty.
        "clusters": [(5 * t + t // 9) % CLUSTERS if t < 30 else t % 4 * 3 for t in range(TASKS)],
        "scores": scores,
        "chance_56ths": [56 * 2900 + 9_777 * t % 140_001 for t in range(TASKS)],
        "exponent": 2,
        "plan": {"draws": DRAWS, "flips": FLIPS, "seed": SEED, "alpha": ALPHA},
    }


def analyse(given: dict[str, Any]) -> dict[str, Any]:
    """Every number of the analysis, by the plain twin."""
    plan, exponent = given["plan"], given["exponent"]
    names = sorted(set(given["strata"]))
    stratum = np.array([names.index(name) for name in given["strata"]])
    cluster = np.array(given["clusters"])
    scores, chance = np.array(given["scores"]), np.array(given["chance_56ths"])
    draws, redraws = bootstrap.bootstrap(
        scores, stratum, cluster, exponent, plan["draws"], plan["seed"]
    )
    points = bootstrap.point_scores(scores, stratum, exponent)
    errors = bootstrap.standard_errors(draws)
    alpha = plan["alpha"]
    critical = bootstrap.max_t_critical(
        draws, points, errors, design.varies(scores, stratum), alpha
    )
    largest = max(int(np.abs(scores).max()), -(-int(chance.max()) // 56))
    weights, scale, power = design.stratum_weights(np.bincount(stratum), largest)
    sums = design.contributions(scores, stratum, cluster, weights)
    chance_sums = design.contributions(chance[np.newaxis], stratum, cluster, weights)[0]
    counts, against, used, exact = signflip.sign_flips(
        sums, plan["flips"], plan["seed"], chance_sums
    )
    p = signflip.p_values(counts, used, exact)
    holm = decisions.holm(p)
    resolved = np.zeros((len(scores), len(scores)), np.bool_)
    resolved[np.triu_indices(len(scores), 1)] = holm <= alpha
    totals = sums.sum(axis=1)
    order = np.argsort(-totals, kind="stable")
    ends = (alpha / 2, 1 - alpha / 2)
    return {
        "score": points.tolist(),
        "se": errors.tolist(),
        "pointwise": np.stack([bootstrap.quantile(draws, end) for end in ends], axis=1).tolist(),
        "critical": critical,
        "rank": decisions.ranks(totals).tolist(),
        "rank_interval": bootstrap.rank_intervals(draws, alpha).tolist(),
        "group": decisions.rank_groups(order, resolved | resolved.T).tolist(),
        "redraws": redraws,
        "first_draws": draws[:, :3].tolist(),
        "last_draws": draws[:, -3:].tolist(),
        "weights": {"values": weights.tolist(), "scale": scale, "power": power},
        "flips": {"drawn": used, "exact": exact},
        "chance_exceedances": None if against is None else against.tolist(),
        "pairs": {
            "interval": bootstrap.pair_intervals(draws, alpha).tolist(),
            "dz": decisions.cohen_dz(scores).tolist(),
            "exceedances": counts.tolist(),
            "p": p.tolist(),
            "holm_p": holm.tolist(),
        },
    }


def text(content: dict[str, Any]) -> str:
    """The file: one field a line."""
    parts = [
        f'  "{name}": {{\n    '
        + ",\n    ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in part.items())
        + "\n  }"
        for name, part in content.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def build() -> dict[str, Any]:
    """The content of the file."""
    given = problem()
    return {"problem": given, "results": analyse(given)}


if __name__ == "__main__":
    FILE.write_text(text(build()), encoding="ascii")

"""How good an environment is, and how recipes were read, on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from flavourbench.report.screen import Screen, print_rows, show

Answer = Mapping[str, Any]
#: So many phrases that stood for nothing are shown.
_SHOWN = 15
_FAMILY_COLUMNS = ("score", "chance", "spearman")


def print_evaluation(found: Answer) -> None:
    """Print completion of recipes, agreement with tasks, or both."""

    def draw(out: Console, screen: Screen) -> None:
        if "completion" in found:
            _completion(out, screen, found["completion"])
        agreements = found.get("agreements") or (
            {found["environment"]: found["agreement"]} if "agreement" in found else {}
        )
        if agreements:
            _agreement(out, screen, agreements, found["flags"])

    show(draw, whole=True)


def _completion(out: Console, screen: Screen, found: Answer) -> None:
    out.print(Text("Completion of real recipes", style="bold"))
    how = f"rows as they are, counts in {found['folds']} folds"
    if found["cross_validated"]:
        how = f"{found['folds']} folds, all learnt without the recipes of each"
    out.print(
        Text(
            f"{found['recipes']:,} recipes, {found['hidden']:,} ingredients hidden one at a time"
            f" and ranked among {found['items']:,}; {how}"
        )
    )
    if found["seen"]:
        told = "It was built from these very recipes: the figures are too good."
        out.print(Text(told, style="yellow"))
    rows = []
    for name, figures in (*found["methods"].items(), *found["baselines"].items()):
        cells = [name]
        for measure in ("mrr", "recall"):
            figure = figures[measure]
            cells += [f"{figure['value']:.3f}", f"{figure['low']:.3f}-{figure['high']:.3f}"]
        behind = figures["behind"]
        cells.append("" if behind is None else _signed(behind["mrr"]))
        rows.append(cells)
    heads = [("method", False), ("MRR", True), ("95 %", False)]
    heads += [(f"recall@{found['top']}", True), ("95 %", False), ("first is ahead by", False)]
    print_rows(out, screen, heads, rows, (5, 4, 2))
    out.print()


def _signed(figure: Answer) -> str:
    return f"{figure['value']:+.3f} ({figure['low']:+.3f} to {figure['high']:+.3f})"


def _agreement(out: Console, screen: Screen, agreements: Answer, flags: str) -> None:
    first = next(iter(agreements.values()))
    out.print(Text("Agreement with released tasks", style="bold"))
    told = f"{first['tasks']:,} tasks, {first['resolved']:,} with all names known; flags: {flags}"
    out.print(Text(screen.text(told, 1000)))
    heads = [("environment", False), ("mean", True), ("chance", True)]
    for family in first["families"]:
        heads += [(family, True), ("chance", True), ("rho", True)]
    rows = []
    for name, found in agreements.items():
        cells = [name, f"{found['mean']:.1f}", f"{found['chance']:.1f}"]
        for family in found["families"].values():
            cells += [f"{family['score']:.1f}", f"{family['chance']:.1f}"]
            rho = family["spearman"]
            cells.append("" if rho is None else f"{rho:.2f}")
        rows.append(cells)
    print_rows(out, screen, heads, rows, range(len(heads) - 1, 2, -1))
    for task, names in first["unresolved"].items():
        out.print(Text(screen.text(f"counts as chance: {task} ({', '.join(names)})", 400)))


def print_recipes(read: Answer) -> None:
    """Print what reading the recipes gave."""

    def draw(out: Console, screen: Screen) -> None:
        out.print(Text(screen.text(f"Written: {read['path']}", 4096)), soft_wrap=True)
        share = 1 - read["unresolved_phrases"] / max(read["phrases"], 1)
        out.print(
            Text(
                f"{read['kept']:,} of {read['recipes']:,} recipes kept; of {read['phrases']:,}"
                f" phrases in {read['lines']:,} lines {share:.1%} stand for an ingredient;"
                f" {len(read['failed'])} lines could not be parsed"
            )
        )
        frequent = [
            f"{phrase} ({count})" for phrase, count in [*read["unresolved"].items()][:_SHOWN]
        ]
        if frequent:
            out.print(Text(screen.text(f"most frequent others: {', '.join(frequent)}", 1000)))

    show(draw, whole=True)

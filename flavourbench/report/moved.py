"""What moved when models were added, on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from flavourbench.report.screen import Screen, print_rows, show
from flavourbench.report.strips import shorten

Object = Mapping[str, Any]
#: Pairs, and models, that are told one by one.
_MOST, _MOST_MODELS = 12, 60
_LONGEST_NAME = 28


def print_moved(found: Object, after: Object, place: str, before: str) -> None:
    """Print the new models, what moved of the others, and why.

    Parameters
    ----------
    found : of :func:`.analysis.moved.moved`
    after : the result with the new models
    place, before : of the new release and the earlier one
    """

    def draw(out: Console, screen: Screen) -> None:
        _print_added(out, screen, found, after)
        _print_models(out, screen, found)
        _print_pairs(out, screen, found)
        changed = found["changed"]
        if changed:
            told = f"Changed, though nothing may: {', '.join(changed[:3])} of {len(changed)}"
            out.print(Text(screen.text(told), style="bold red"))
        out.print(f"{found['kept']:,} numbers of earlier models and pairs are the same to the bit")
        for reason in found["why"]:
            out.print(Text(screen.text(reason, 1000), style="dim"))
        arrow = screen.glyphs.arrow
        told = f"Release: {before} {arrow} {place}"
        out.print(Text(screen.text(told, 4096), style="dim"), soft_wrap=True)

    show(draw, whole=True)


def _print_added(out: Console, screen: Screen, found: Object, after: Object) -> None:
    rows = []
    for row in after["models"]:
        if row["id"] in found["added"]:
            low, high = row["simultaneous"]
            band = f"{low:.2f}{screen.glyphs.dash}{high:.2f}"
            ranks = screen.glyphs.dash.join(map(str, row["rank_interval"]))
            cells = [str(row["rank"]), ranks, row["name"], f"{row['score']:.2f}", band]
            rows.append([*cells, str(row["group"])])
    heads = (("#", True), ("ranks", True), ("new model", False), ("score", True), ("band", True))
    print_rows(out, screen, (*heads, ("g", True)), rows)
    out.print()


def _print_models(out: Console, screen: Screen, found: Object) -> None:
    """Ranks, their intervals and sets, half widths of bands and groups, before and after."""
    rows = []
    for row in found["models"][:_MOST_MODELS]:
        ranks, sets = (
            [screen.glyphs.dash.join(map(str, ends)) for ends in row[key]]
            for key in ("rank_interval", "rank_set")
        )
        halves = [f"{(high - low) / 2:.2f}" for low, high in row["simultaneous"]]
        both = [map(str, row["rank"]), ranks, sets, halves, map(str, row["group"])]
        name = shorten(row["name"], _LONGEST_NAME, screen.glyphs.cut)
        rows.append([name, *(_change(screen, *pair) for pair in both)])
    if rows:
        heads = [("model", False), ("#", True), ("ranks", True), ("set", True), ("band ±", True)]
        print_rows(out, screen, [*heads, ("g", True)], rows, (3,))
        if len(found["models"]) > len(rows):
            more = len(found["models"]) - len(rows)
            out.print(f"and {more:,} more (--json has all)", style="dim")
    else:
        out.print("No rank, band or group moved.")
    out.print()


def _change(screen: Screen, before: str, after: str) -> str:
    return after if before == after else f"{before} {screen.glyphs.arrow} {after}"


def _print_pairs(out: Console, screen: Screen, found: Object) -> None:
    """Pairs whose decision changed."""
    resolved = found["resolved_pairs"]
    told = f"{resolved[0]:,} pairs of earlier models were resolved, {resolved[1]:,} are now"
    out.print(f"{told}{':' if found['pairs'] else ''}")
    for row in found["pairs"][:_MOST]:
        state = "now resolved" if row["resolved"][1] else "no longer resolved"
        p = f"Holm p {row['holm_p'][0]:.4f} {screen.glyphs.arrow} {row['holm_p'][1]:.4f}"
        told = f"  {' / '.join(row['names'])}: {state} ({p})"
        out.print(Text(screen.text(told)), soft_wrap=True)
    if len(found["pairs"]) > _MOST:
        out.print(f"  and {len(found['pairs']) - _MOST:,} more (--json has all)", style="dim")

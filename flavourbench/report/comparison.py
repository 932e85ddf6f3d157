"""Two models of a release on a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flavourbench.report.screen import (
    Screen,
    add_column,
    print_footer,
    print_label,
    print_rows,
    show,
)
from flavourbench.report.strips import (
    NARROWEST_STRIP,
    WIDEST_STRIP,
    Axis,
    axis_label,
    decimals_of,
    flow,
    number,
    shorten,
    strip,
)

Comparison = Mapping[str, Any]
#: Tasks that are listed for each of the two.
_MOST = 5
_LONGEST_PART = 24
#: Columns that give way as the screen narrows, in this order; the strip goes last.
_SPARE = ("B", "A", "p", "interval")
#: Columns of the table of parts.
_HEADS = {"part": "", "A": "A", "B": "B", "difference": "A - B", "interval": "interval", "p": "p"}
_STYLES = ("cyan", "magenta")


def print_comparison(
    found: Comparison, footer: str | None = None, console: Console | None = None
) -> None:
    """Print what parts two models: A is the first one named, B the other."""

    def draw(out: Console, screen: Screen) -> None:
        print_label(out, screen, found["label"])
        _print_models(out, screen, found)
        out.print()
        _print_parts(out, screen, found)
        out.print()
        _print_verdict(out, screen, found)
        _print_counts(out, screen, found)
        out.print()
        _print_tasks(out, screen, found)
        for warning in found["warnings"]:
            if not (found["label"] and found["label"] in warning):
                out.print(Text(screen.text(warning, 1000), style="dim"))
        print_footer(out, screen, footer)

    show(draw, console, whole=True)


def _print_models(out: Console, screen: Screen, found: Comparison) -> None:
    dash = screen.glyphs.dash
    rows = [
        [
            letter,
            shorten(screen.text(row["name"]), max(screen.width - 47, 12), screen.glyphs.cut),
            str(row["rank"]),
            f"{row['rank_interval'][0]}{dash}{row['rank_interval'][1]}",
            f"{row['rank_set'][0]}{dash}{row['rank_set'][1]}",
            f"{row['score']:.2f}",
            str(row["group"]),
        ]
        for letter, row in zip("AB", found["models"], strict=True)
    ]
    heads = [("", False), ("model", False)]
    heads += [(head, True) for head in ("rank", "ranks", "set", "score", "group")]
    print_rows(out, screen, heads, rows, (6, 4, 3, 2))


def _print_parts(out: Console, screen: Screen, found: Comparison) -> None:
    """A minus B in all, by family and by panel: numbers, and intervals on one axis."""
    whole = {
        "name": "all tasks",
        "scores": [row["score"] for row in found["models"]],
        **{key: found[key] for key in ("difference", "interval", "p")},
    }
    # One family or one panel is all there is.
    kinds = [found[kind] for kind in ("families", "panels") if len(found[kind]) > 1]
    rows = [row for group in ([whole], *kinds) for row in group]
    last = {id(group[-1]) for group in ([whole], *kinds)}
    ends = [0.0, *(end for row in rows for end in row["interval"])]
    decimals = decimals_of(max(ends) - min(ends), screen.width)
    texts = [_texts(screen, row, decimals) for row in rows]
    kept, width = _fit(texts, screen.width)
    axis = Axis(min(ends), max(ends), width)
    table = Table(box=screen.box, show_edge=False, padding=(0, 0, 0, 1), pad_edge=False)
    for key in kept:
        add_column(table, _HEADS[key], key != "part")
    if width:
        table.add_column(Text(axis_label(axis, decimals)), no_wrap=True)
    for row, text in zip(rows, texts, strict=True):
        style = _style(row)
        cells = [Text(text[key], style=style if key == "difference" else "") for key in kept]
        if width:
            drawn = strip(axis, screen.glyphs, row["interval"], row["difference"], zero=True)
            cells.append(Text(drawn, style=style))
        table.add_row(*cells, end_section=id(row) in last)
    out.print(table)
    if len(kept) < len(_HEADS) or not width:
        out.print(Text("Narrow screen: --json has all columns.", style="dim"))


def _fit(texts: Sequence[Mapping[str, str]], width: int) -> tuple[list[str], int]:
    """The columns that leave room for the strip, and its width; 0 where nothing does."""
    sizes = {
        key: max(cell_len(text) for text in (head, *(row[key] for row in texts))) + 2
        for key, head in _HEADS.items()
    }
    kept, spare = [*_HEADS], [*_SPARE]
    while spare and width - sum(sizes[key] for key in kept) < NARROWEST_STRIP:
        kept.remove(spare.pop(0))
    room = width - sum(sizes[key] for key in kept)
    return kept, min(room, WIDEST_STRIP) if room >= NARROWEST_STRIP else 0


def _texts(screen: Screen, row: Mapping[str, Any], decimals: int) -> dict[str, str]:
    """Cells of one row of the table of parts."""
    longest = min(_LONGEST_PART, screen.width // 2)
    first, second = (number(score, decimals) for score in row["scores"])
    return {
        "part": shorten(screen.text(row["name"]), longest, screen.glyphs.cut),
        "A": first,
        "B": second,
        "difference": _signed(row["difference"], decimals),
        "interval": " to ".join(_signed(bound, decimals) for bound in row["interval"]),
        "p": f"{row['p']:.2g}",
    }


def _signed(value: float, decimals: int) -> str:
    told = f"{value:+.{decimals}f}"
    return told if float(told) else told[1:]  # no sign of zero


def _style(row: Mapping[str, Any]) -> str:
    """The colour of the model whose side of zero the whole interval is on."""
    low, high = row["interval"]
    return _STYLES[0] if low > 0 else _STYLES[1] if high < 0 else ""


def _print_verdict(out: Console, screen: Screen, found: Comparison) -> None:
    """Whether the pair is resolved, and by which numbers."""
    better = "A" if found["difference"] > 0 else "B"
    worse = "B" if better == "A" else "A"
    told = (
        f"{better} is resolved above {worse}"
        if found["resolved"]
        else "A and B are not resolved from each other"
    )
    effect = screen.glyphs.dash if found["dz"] is None else f"{found['dz']:.2f}"
    plan = found["plan"]
    numbers = [
        f"Holm p {found['holm_p']:.2g} over all pairs, alpha {plan['alpha']:g}",
        f"step-down p {found['stepdown_p']:.2g}",
        f"p {found['p']:.2g}",
        f"d_z {effect}",
        f"interval {found['level']:.4g} pointwise",
    ]
    out.print(Text(f"{told}.", style="bold"))
    for line in (*flow(numbers, screen), *flow(_closeness(found), screen)):
        out.print(Text(line))


def _closeness(found: Comparison) -> list[str]:
    """The simultaneous interval, and what it says of a margin."""
    ends = [0.0, *found["simultaneous"]]
    decimals = decimals_of(max(ends) - min(ends), 0)
    low, high = (_signed(bound, decimals) for bound in found["simultaneous"])
    told = f"interval of all pairs at once {low} to {high}"
    least = "it has no width, so it shows no closeness"
    if found["least_margin"] is not None:
        upper = math.ceil(found["least_margin"] * 10**decimals) / 10**decimals
        least = f"shown to be close at any margin from {upper:.{decimals}f} on"
    if found["margin"] is None:
        return [told, least]
    verdict = "shown" if found["close"] else "not shown"
    return [f"{told}: {verdict} to be within {found['margin']:g} of each other", least]


def _print_counts(out: Console, screen: Screen, found: Comparison) -> None:
    counts, right = found["counts"], found["right"]
    tasks = [
        f"A better at {counts['first_better']:,} tasks",
        f"B better at {counts['second_better']:,}",
        f"equal at {counts['equal']:,}",
    ]
    lines = flow(tasks, screen)
    if right is not None:
        chose = [
            f"the best portfolio was chosen by both at {right['both']:,}",
            f"only A at {right['only_first']:,}",
            f"only B at {right['only_second']:,}",
            f"neither at {right['neither']:,}",
        ]
        lines += flow(chose, screen)
    for line in lines:
        out.print(Text(line))


def _print_tasks(out: Console, screen: Screen, found: Comparison) -> None:
    """The tasks that add most to the difference, for A and for B."""
    tasks: Sequence[Mapping[str, Any]] = found["tasks"]
    for_a = [row for row in tasks[:_MOST] if row["difference"] > 0]
    for_b = [row for row in tasks[: -_MOST - 1 : -1] if row["difference"] < 0]
    heads = [
        ("tasks that add most (ties by id)", False),
        ("adds", True),
        ("A", False),
        ("B", False),
    ]
    largest = max((abs(row["contribution"]) for row in for_a + for_b), default=0.0)
    decimals = decimals_of(largest, screen.width)
    rows = []
    for row in for_a + for_b:
        # What was chosen stands beside what it is worth.
        cells = [f"{score:6.2f}" for score in row["scores"]]
        if row["selections"] is not None:
            cells = [f"{a} {b}" for a, b in zip(cells, row["selections"], strict=True)]
        rows.append([row["task_id"], _signed(row["contribution"], decimals), *cells])
    if rows:
        print_rows(out, screen, heads, rows)

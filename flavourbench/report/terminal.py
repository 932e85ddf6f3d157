"""The ranking on a terminal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flavourbench.report.screen import Glyphs, Screen, print_footer, print_label, show
from flavourbench.report.strips import (
    NARROWEST_STRIP,
    WIDEST_STRIP,
    Axis,
    axis_label,
    decimals_of,
    flow,
    number,
    shorten,
    span,
    strip,
)

_GROUP_STYLES = ("cyan", "magenta", "green", "yellow", "blue")
_GOOD_STRIP = 20
_GOOD_NAME = 20
_NARROWEST_HEAD = 4
#: What gives way as the screen narrows, and the room that names must have with the rest.
_STEPS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("ranks", "set", "band", "strip", "families", "letters"), 14),
    (("ranks", "set", "band", "strip", "families"), 14),
    (("ranks", "band", "strip", "families"), 14),
    (("ranks", "band", "strip"), 12),
    (("ranks", "band"), 8),
    (("band",), 6),
    ((), 5),
)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which columns are shown, and the cells of those that can give and take."""

    shown: tuple[str, ...]
    name: int
    strip: int
    families: tuple[int, ...]


def print_leaderboard(
    board: dict[str, Any],
    footer: str | None = None,
    console: Console | None = None,
    core_share: tuple[int, int] | None = None,
) -> None:
    """Print the ranking of ``leaderboard.json``: one row a model, a rule between groups.

    Parameters
    ----------
    core_share : numbers of tasks in the core, and of all ranked ones, where that is known
    """
    show(lambda out, screen: _print_parts(out, board, screen, footer, core_share), console)


def _print_parts(
    out: Console,
    board: dict[str, Any],
    screen: Screen,
    footer: str | None,
    core_share: tuple[int, int] | None,
) -> None:
    print_label(out, screen, board["label"])
    table, complete = _leaderboard_table(board["models"], screen)
    out.print(table)
    for line in _summary(board, screen, lettered=complete):
        out.print(Text(line, style="dim"))
    if core_share is not None and core_share[0] < core_share[1]:
        told = (
            f"{core_share[0]:,} of {core_share[1]:,} ranked tasks are in the core, valid for every"
            " model; `fb leaderboard --sensitivity` shows what the others could change."
        )
        out.print(Text(told, style="dim"))
    if not complete:
        out.print(Text("Narrow screen: --json has all columns.", style="dim"))
    for warning in board["warnings"]:
        if not (board["label"] and board["label"] in warning):
            out.print(Text(f"Warning: {screen.text(warning, 1000)}", style="yellow"))
    print_footer(out, screen, footer)


def _leaderboard_table(rows: list[dict[str, Any]], screen: Screen) -> tuple[Table, bool]:
    """The table, and whether it has room for all columns."""
    low = min(row["simultaneous"][0] for row in rows)
    high = max(row["simultaneous"][1] for row in rows)
    decimals = decimals_of(high - low, screen.width)
    families = [screen.text(name) for name in rows[0]["family_scores"]]
    names = [screen.text(row["name"]) for row in rows]
    texts = [_row_texts(row, decimals, screen.glyphs) for row in rows]
    layout = _fit(texts, max(cell_len(name) for name in names), families, screen.width)
    axis = Axis(low, high, layout.strip)

    table = Table(box=screen.box, show_edge=False, padding=0, pad_edge=False)
    heads = {key: key for key in ("rank", "ranks", "set", "model", "score", "band")}
    heads["rank"] = "#"
    heads["strip"] = axis_label(axis, decimals)
    kept = [key for key in heads if key in ("rank", "model", "score", *layout.shown)]
    sides = {"model": "left", "strip": "left", "band": "center"}
    for key in kept:
        table.add_column(Text(heads[key]), justify=sides.get(key, "right"), no_wrap=True)  # type: ignore[arg-type]
    wide = "families" in layout.shown
    for head in _heads(families, layout.families, screen.glyphs.cut) if wide else ():
        table.add_column(Text(head), justify="right", no_wrap=True)
    table.add_column("g", justify="right", no_wrap=True)
    lettered = "letters" in layout.shown
    if lettered:
        table.add_column("letters", no_wrap=True)

    for index, (row, name, text) in enumerate(zip(rows, names, texts, strict=True)):
        last = index + 1 == len(rows) or rows[index + 1]["group"] != row["group"]
        style = _GROUP_STYLES[(row["group"] - 1) % len(_GROUP_STYLES)]
        drawn = strip(axis, screen.glyphs, row["simultaneous"], row["score"])
        cells = {
            "rank": Text(text[0]),
            "ranks": Text(text[1], style="dim"),
            "set": Text(text[5], style="dim"),
            "model": Text(shorten(name, layout.name, screen.glyphs.cut)),
            "score": Text(text[2], style="bold"),
            "band": Text(text[3], style="dim"),
            "strip": Text(drawn, style=style),
        }
        scores = [Text(value) for value in (text[7:] if wide else [])]
        ends = [Text(text[4], style=style), *([Text(text[6])] if lettered else [])]
        table.add_row(*(cells[key] for key in kept), *scores, *ends, end_section=last)
    return table, lettered


def _fit(texts: list[list[str]], longest: int, families: list[str], width: int) -> _Layout:
    """Columns and widths for a screen: whole numbers first, then names, then the strip."""
    cells = [max(cell_len(row[k]) for row in texts) for k in range(len(texts[0]))]
    rank, ranks, score, band, group, sets, letters = cells[:7]
    heads = [
        max(size, min(_NARROWEST_HEAD, cell_len(family)))
        for size, family in zip(cells[7:], families, strict=True)
    ]
    sizes = {
        "ranks": max(ranks, len("ranks")) + 1,
        "set": max(sets, len("set")) + 1,
        "letters": max(letters, len("letters")) + 1,
        "band": max(band, len("band")) + 1,
        "strip": NARROWEST_STRIP + 1,
        "families": sum(heads) + len(heads),
    }
    longest = max(longest, len("model"))
    room = width - (rank + max(score, len("score")) + group + 3)
    for columns, narrowest in _STEPS:
        name = min(longest, narrowest)
        spare = room - name - sum(sizes[key] for key in columns)
        if spare >= 0:
            break

    def grown(size: int, goal: int) -> int:
        nonlocal spare
        more = max(min(goal - size, spare), 0)
        spare -= more
        return size + more

    drawn = NARROWEST_STRIP
    name = grown(name, min(longest, _GOOD_NAME))
    if "strip" in columns:
        drawn = grown(drawn, _GOOD_STRIP)
    name = grown(name, longest)
    if "families" in columns:
        for goal in range(_NARROWEST_HEAD, max(map(cell_len, families), default=0) + 1):
            heads = [
                grown(size, min(goal, cell_len(family)))
                for size, family in zip(heads, families, strict=True)
            ]
    if "strip" in columns:
        drawn = grown(drawn, WIDEST_STRIP)
    return _Layout(columns, name, drawn, tuple(heads))


def _heads(families: list[str], widths: tuple[int, ...], cut: str) -> list[str]:
    """Column heads: the beginnings of the names where these differ."""
    pairs = list(zip(families, widths, strict=True))
    heads = [set_cell_size(f, w).rstrip() if cell_len(f) > w else f for f, w in pairs]
    if len(set(heads)) < len(heads):
        heads = [shorten(family, width, cut) for family, width in pairs]
    return heads


def _row_texts(row: dict[str, Any], decimals: int, glyphs: Glyphs) -> list[str]:
    """Rank, rank interval, score, band, group, rank set, letters, family scores."""
    low, high = row["simultaneous"]
    return [
        str(row["rank"]),
        glyphs.dash.join(map(str, row["rank_interval"])),
        number(row["score"], decimals),
        span(low, high, decimals, glyphs),
        str(row["group"]),
        glyphs.dash.join(map(str, row["rank_set"])),
        "".join(row["letters"]),
        *(number(value, decimals) for value in row["family_scores"].values()),
    ]


def _summary(board: dict[str, Any], screen: Screen, *, lettered: bool) -> list[str]:
    design, plan, panels = board["design"], board["plan"], board["panels"]
    models = design["models"]
    tests = "all sign vectors" if plan["flips_exact"] else f"{plan['flips']:,} sign flips"
    sizes = [
        f"{models} models",
        f"{design['tasks']:,} tasks",
        f"{design['clusters']:,} clusters",
        f"{len(design['strata'])} strata",
        f"{plan['draws']:,} draws",
        tests,
        f"seed {plan['seed']}",
    ]
    found = [
        f"{board['resolved_pairs']:,} of {models * (models - 1) // 2:,} pairs resolved"
        f" (Holm, alpha {plan['alpha']:g}; step-down {board['stepdown_resolved_pairs']:,})",
        f"band {board['level']:.4g} simultaneous, max-t {board['max_t_critical']:.3f}",
    ]
    if panels["pearson"] is not None:
        found.append(f"panels r = {panels['pearson']:.3f}")
    tested = [row["chance"] for row in board["models"] if row["chance"] is not None]
    if tested:
        above = sum(c["difference"] > 0 and c["holm_p"] <= plan["alpha"] for c in tested)
        found.append(f"{above} of {models} models above chance ({tested[0]['score']:.4g}, Holm)")
    legend = (
        "ranks: bootstrap interval, one model at a time. set: ranks that are left, for all models"
        " at once. g: a model opens a new group when it is resolved from a member of the group"
        " above it."
    )
    top = next((row for row in board["models"] if row["id"] == board["top_model"]), None)
    return [
        *flow(sizes, screen),
        *flow(found, screen),
        f"{legend} letters: models that share one are not resolved." if lettered else legend,
        "No model is resolved above all others."
        if top is None
        else f"{screen.text(top['name'], 200)} is resolved above every other model.",
        *_closeness(board),
    ]


def _closeness(board: dict[str, Any]) -> list[str]:
    """How many pairs are shown to be close, where a margin was given."""
    found = board.get("equivalence")
    if found is None:
        return []
    return [
        f"Within a margin of {found['margin']:g}: {found['close']:,} pairs are shown to be close,"
        f" {found['close_and_resolved']:,} of them resolved. {found['open']:,} pairs are neither"
        " resolved nor close (simultaneous intervals of all differences)."
    ]

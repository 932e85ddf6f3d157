"""Terminal views. Text from outside is escaped; width, NO_COLOR and pipes are respected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rich.box import Box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from flavourbench.errors import shown

#: Blank but for a rule under the head and a dashed one between groups.
_BOX = Box("    \n    \n ── \n    \n ╌╌ \n    \n    \n    \n")
_ASCII_BOX = Box("    \n    \n -- \n    \n .. \n    \n    \n    \n", ascii=True)
_GROUP_STYLES = ("cyan", "magenta", "green", "yellow", "blue")
_NARROWEST_STRIP, _WIDEST_STRIP = 10, 44
_NARROWEST_NAME = 14
_MAX_FAMILIES = 8


@dataclass(frozen=True, slots=True)
class _Glyphs:
    low: str
    line: str
    point: str
    high: str
    dash: str
    cut: str


_UNICODE = _Glyphs("├", "─", "●", "┤", "–", "…")
_ASCII = _Glyphs("|", "-", "o", "|", "-", "~")


@dataclass(frozen=True, slots=True)
class _Axis:
    """The common axis of the interval strips."""

    low: float
    high: float
    width: int

    def place(self, value: float) -> int:
        """Cell of ``value``, 0 … width - 1."""
        span = self.high - self.low
        share = 0.5 if span <= 0 else (value - self.low) / span
        return round(min(max(share, 0.0), 1.0) * (self.width - 1))


def print_leaderboard(
    board: dict[str, Any], footer: str | None = None, console: Console | None = None
) -> None:
    """Print the ranking of ``leaderboard.json``: one row a model, a rule between groups."""
    out = console or Console(highlight=False, markup=False, emoji=False)
    glyphs = _UNICODE if out.options.encoding.lower().startswith("utf") else _ASCII
    rows = board["models"]
    if board["label"]:
        out.print(Text(f"Note: {shown(board['label'], 400)}", style="bold yellow"))
    out.print(_leaderboard_table(rows, out.width, glyphs))
    for line in _summary(board, glyphs):
        out.print(Text(line, style="dim"))
    for warning in board["warnings"]:
        if not (board["label"] and board["label"] in warning):
            out.print(Text(f"Warning: {shown(warning, 1000)}", style="yellow"))
    if footer:
        out.print(Text(shown(footer, 300), style="dim"), soft_wrap=True)


def _leaderboard_table(rows: list[dict[str, Any]], width: int, glyphs: _Glyphs) -> Table:
    low = min(row["simultaneous"][0] for row in rows)
    high = max(row["simultaneous"][1] for row in rows)
    decimals = _decimals(high - low, width)
    texts = [_row_texts(row, decimals, glyphs) for row in rows]
    families = list(rows[0]["family_scores"])
    fixed = sum(max(cell_len(text[k]) for text in texts) + 1 for k in range(4))
    fixed += 2 + len(str(rows[-1]["group"]))
    family_width = max(cell_len(f) for text in texts for f in text[4:]) if families else 0
    room = width - fixed - len(families) * (family_width + 1)
    if len(families) > _MAX_FAMILIES or room < _NARROWEST_NAME + _NARROWEST_STRIP:
        families = []
        room = width - fixed
    longest = max(cell_len(shown(row["name"], 400)) for row in rows)
    strip = min(max(_NARROWEST_STRIP, room - 1 - longest, room * 2 // 5), _WIDEST_STRIP)
    name_width = max(min(longest, room - strip - 1), 6)
    axis = _Axis(low, high, strip)

    plain = glyphs is _ASCII
    table = Table(box=_ASCII_BOX if plain else _BOX, show_edge=False, padding=0, pad_edge=False)
    for name, side in (("#", "right"), ("ranks", "right")):
        table.add_column(name, justify=side, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("model", no_wrap=True)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("band", justify="center", no_wrap=True)
    table.add_column(_axis_label(axis, decimals), no_wrap=True)
    for family in families:
        head = set_cell_size(shown(family), family_width).rstrip()
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("g", justify="right", no_wrap=True)

    for index, (row, text) in enumerate(zip(rows, texts, strict=True)):
        last = index + 1 == len(rows) or rows[index + 1]["group"] != row["group"]
        style = _GROUP_STYLES[(row["group"] - 1) % len(_GROUP_STYLES)]
        cells = [
            Text(text[0]),
            Text(text[1], style="dim"),
            Text(shorten(row["name"], name_width, glyphs.cut)),
            Text(text[2], style="bold"),
            Text(text[3], style="dim"),
            Text(_strip(row, axis, glyphs), style=style),
            *(Text(value) for value in (text[4:] if families else [])),
            Text(str(row["group"]), style=style),
        ]
        table.add_row(*cells, end_section=last)
    return table


def _row_texts(row: dict[str, Any], decimals: int, glyphs: _Glyphs) -> list[str]:
    first, last = row["rank_interval"]
    low, high = row["simultaneous"]
    return [
        str(row["rank"]),
        f"{first}{glyphs.dash}{last}",
        f"{row['score']:.{decimals}f}",
        _span(low, high, decimals, glyphs),
        *(f"{value:.{decimals}f}" for value in row["family_scores"].values()),
    ]


def _span(low: float, high: float, decimals: int, glyphs: _Glyphs) -> str:
    dash = glyphs.dash if low >= 0 else " to "
    return f"{low:.{decimals}f}{dash}{high:.{decimals}f}"


def _decimals(span: float, width: int) -> int:
    """Enough decimals to tell neighbours apart: about 1/200 of the axis, 1/2000 where wide."""
    if span <= 0:
        return 2
    return min(max((2 if width < 110 else 3) - math.floor(math.log10(span) - 1e-9), 0), 8)


def _axis_label(axis: _Axis, decimals: int) -> str:
    left, right = f"{axis.low:.{max(decimals - 1, 0)}f}", f"{axis.high:.{max(decimals - 1, 0)}f}"
    gap = axis.width - len(left) - len(right)
    return left + " " * gap + right if gap > 0 else left[: axis.width]


def _strip(row: dict[str, Any], axis: _Axis, glyphs: _Glyphs) -> str:
    low, high = (axis.place(value) for value in row["simultaneous"])
    cells = [" "] * axis.width
    cells[low : high + 1] = glyphs.line * (high - low + 1)
    cells[low], cells[high] = glyphs.low, glyphs.high
    cells[axis.place(row["score"])] = glyphs.point
    return "".join(cells)


def shorten(name: str, width: int, cut: str = "…") -> str:
    """``name`` in at most ``width`` cells; the middle goes first, since names differ at the end."""
    text = shown(name, 400)
    if cell_len(text) <= width:
        return text
    head = set_cell_size(text, max((width - 1) // 3, 1)).rstrip()
    tail = text
    while tail and cell_len(head) + 1 + cell_len(tail) > width:
        tail = tail[1:]
    return head + cut + tail.lstrip()


def _summary(board: dict[str, Any], glyphs: _Glyphs) -> list[str]:
    design, plan, panels = board["design"], board["plan"], board["panels"]
    dot = "·" if glyphs is _UNICODE else "|"
    models = design["models"]
    tests = "all sign vectors" if plan["flips_exact"] else f"{plan['flips']:,} sign flips"
    lines = [
        f"{models} models {dot} {design['tasks']:,} tasks {dot} {design['clusters']:,} anchors"
        f" {dot} {len(design['strata'])} strata {dot} {plan['draws']:,} draws {dot} {tests}"
        f" {dot} seed {plan['seed']}",
        f"{board['resolved_pairs']:,} of {models * (models - 1) // 2:,} pairs resolved"
        f" (Holm, alpha {plan['alpha']:g}) {dot} band {board['level']:.4g} simultaneous,"
        f" max-t {board['max_t_critical']:.3f}"
        + (f" {dot} panels r = {panels['pearson']:.3f}" if panels["pearson"] is not None else ""),
        "ranks: bootstrap interval, one model at a time. g: a model opens a new group when it is"
        " resolved from a member of the group above it.",
    ]
    top = next((row for row in board["models"] if row["id"] == board["top_model"]), None)
    lines.append(
        "No model is resolved above all others."
        if top is None
        else f"{shown(top['name'], 200)} is resolved above every other model."
    )
    return lines

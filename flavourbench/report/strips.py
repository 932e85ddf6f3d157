"""Numbers, names and intervals in a given number of cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from flavourbench.errors import shown
from flavourbench.report.screen import Glyphs, Screen

#: Cells of a strip of intervals: with fewer it says nothing, with more nothing new.
NARROWEST_STRIP, WIDEST_STRIP = 10, 44


@dataclass(frozen=True, slots=True)
class Axis:
    """The common axis of the interval strips."""

    low: float
    high: float
    width: int

    def place(self, value: float) -> int:
        """Cell of ``value``, 0 … width - 1."""
        span = self.high - self.low
        share = 0.5 if span <= 0 else (value - self.low) / span
        return round(min(max(share, 0.0), 1.0) * (self.width - 1))


def number(value: float, decimals: int) -> str:
    """``value`` with that many decimals."""
    return f"{value:z.{decimals}f}"  # z: no negative zero


def span(low: float, high: float, decimals: int, glyphs: Glyphs) -> str:
    """An interval as text."""
    dash = glyphs.dash if low >= 0 else " to "
    return f"{number(low, decimals)}{dash}{number(high, decimals)}"


def decimals_of(span: float, width: int) -> int:
    """Enough decimals to tell neighbours apart: about 1/200 of the axis, 1/2000 where wide."""
    if span <= 0:
        return 2
    return min(max((2 if width < 110 else 3) - math.floor(math.log10(span) - 1e-9), 0), 8)


def axis_label(axis: Axis, decimals: int) -> str:
    """The ends of an axis, as the head of its strips."""
    left, right = (number(end, max(decimals - 1, 0)) for end in (axis.low, axis.high))
    gap = axis.width - len(left) - len(right)
    if gap > 0:
        return left + " " * gap + right
    return left if len(left) <= axis.width else ""


def strip(
    axis: Axis, glyphs: Glyphs, bounds: Sequence[float], point: float, *, zero: bool = False
) -> str:
    """An interval and its point on an axis.

    Parameters
    ----------
    zero : whether the place of 0, which is on the axis, is marked
    """
    low, high = (axis.place(value) for value in bounds)
    cells = [" "] * axis.width
    cells[low : high + 1] = glyphs.line * (high - low + 1)
    if zero:
        at = axis.place(0.0)
        cells[at] = glyphs.zero if cells[at] == " " else glyphs.cross
    cells[low], cells[high] = glyphs.low, glyphs.high
    cells[axis.place(point)] = glyphs.point
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


def flow(parts: list[str], screen: Screen) -> list[str]:
    """Parts joined by dots, broken into lines between them."""
    lines = parts[:1]
    for part in parts[1:]:
        longer = f"{lines[-1]} {screen.glyphs.dot} {part}"
        if cell_len(longer) <= screen.width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines

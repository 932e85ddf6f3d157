"""What a terminal can show. Text from outside is escaped; width, NO_COLOR, pipes respected."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.box import Box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from flavourbench.errors import shown

#: Narrower than this the terminal wraps, so that no number is cut.
_NARROWEST = 24
#: Where nothing limits it, as in a pipe.
WIDEST = 10_000
#: Blank but for a rule under the head and a dashed one between groups.
_BOX = Box("    \n    \n ── \n    \n ╌╌ \n    \n    \n    \n")
_ASCII_BOX = Box("    \n    \n -- \n    \n .. \n    \n    \n    \n", ascii=True)


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Signs of the views, in Unicode or ASCII."""

    low: str
    line: str
    point: str
    high: str
    dash: str
    cut: str
    dot: str
    arrow: str
    zero: str
    cross: str


_UNICODE = Glyphs("├", "─", "●", "┤", "–", "…", "·", "→", "┊", "┼")
_ASCII = Glyphs("|", "-", "o", "|", "-", "~", "|", "->", ":", "+")


@dataclass(frozen=True, slots=True)
class Screen:
    """What the output can show: its width in cells, and its encoding."""

    width: int
    encoding: str

    @property
    def unicode(self) -> bool:
        """Whether it knows more than ASCII."""
        return self.encoding.lower().startswith("utf")

    @property
    def glyphs(self) -> Glyphs:
        """The signs to use."""
        return _UNICODE if self.unicode else _ASCII

    @property
    def box(self) -> Box:
        """Lines of tables."""
        return _BOX if self.unicode else _ASCII_BOX

    def text(self, value: object, limit: int = 400) -> str:
        """``value`` without anything that a terminal obeys or the encoding lacks."""
        safe = shown(value, limit)
        if self.unicode:
            return safe
        safe = safe.replace("…", self.glyphs.cut)
        return safe.encode(self.encoding, "backslashreplace").decode(self.encoding)


def show(
    draw: Callable[[Console, Screen], None], console: Console | None = None, *, whole: bool = False
) -> None:
    """Draw a view and write it at once, to standard output by default.

    Parameters
    ----------
    whole : whether its lines may have any length where nobody limits them (a pipe without
        ``COLUMNS``), instead of the usual 80
    """
    out = console or Console(highlight=False, markup=False, emoji=False)
    if whole and not (out.is_terminal or os.environ.get("COLUMNS")):
        out.width = WIDEST
    out.width = max(out.width, _NARROWEST)
    # Written by ourselves: rich ends the process when the reader has left.
    with out.capture() as captured:
        draw(out, Screen(out.width, out.options.encoding))
    out.file.write(captured.get())


def print_label(out: Console, screen: Screen, label: str | None) -> None:
    """What has to be said wherever these scores are shown, if there is something."""
    if label:
        out.print(Text(f"Note: {screen.text(label)}", style="bold yellow"))


def print_footer(out: Console, screen: Screen, footer: str | None) -> None:
    """A last line, such as a path, which is not broken."""
    if footer:
        out.print(Text(screen.text(footer, 4096), style="dim"), soft_wrap=True)


def plain_table(screen: Screen) -> Table:
    """A table without a frame."""
    return Table(box=screen.box, show_edge=False, padding=(0, 1), pad_edge=False)


def add_column(table: Table, head: str, right: bool) -> None:
    """A column whose cells fold where the screen is narrow.

    rich would cut them with a sign that ASCII lacks.
    """
    table.add_column(Text(head), justify="right" if right else "left", overflow="fold")


def print_rows(
    out: Console,
    screen: Screen,
    heads: Sequence[tuple[str, bool]],
    rows: Sequence[Sequence[str]],
    spare: Sequence[int] = (),
) -> None:
    """Print a table with as many columns as the screen has room for.

    Parameters
    ----------
    heads : head of each column, and whether its cells stand to the right
    spare : columns that may be left out, in the order in which they go
    """
    kept, left = list(range(len(heads))), list(spare)
    table = _table_of(screen, heads, rows, kept)
    unbound = out.options.update(width=WIDEST)
    while left and Measurement.get(out, unbound, table).maximum > screen.width:
        kept.remove(left.pop(0))
        table = _table_of(screen, heads, rows, kept)
    out.print(table)
    if len(kept) < len(heads):
        out.print(Text("Narrow screen: --json has all columns.", style="dim"))


def _table_of(
    screen: Screen,
    heads: Sequence[tuple[str, bool]],
    rows: Sequence[Sequence[str]],
    kept: Sequence[int],
) -> Table:
    table = plain_table(screen)
    for at in kept:
        head, right = heads[at]
        add_column(table, screen.text(head), right)
    for row in rows:
        table.add_row(*(Text(screen.text(row[at])) for at in kept))
    return table

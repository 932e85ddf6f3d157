"""How often the analysis is right, on a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from flavourbench.report.screen import Screen, print_rows, show

Found = Mapping[str, Any]
#: Kinds of measures, in order, with the title of their table.
_TABLES = (
    ("coverage", "Coverage, % (nominal {level:g})"),
    ("error", "Family-wise errors, % (at most {alpha:g})"),
    ("power", "Power, %"),
)
#: Measures that give way on a narrow screen.
_SPARE = ("rank", "rank_whole", "pair", "chance_stepdown", "close", "wrong_way")


def print_calibration(found: Found) -> None:
    """Print three tables, of coverage, errors and power: a row a scenario."""

    def draw(out: Console, screen: Screen) -> None:
        for kind, title in _TABLES:
            measures = _measures(found, kind)
            rows = _rows(found, measures, "!{}")
            if not rows:
                continue
            out.print(Text(_titled(title, found), style="bold"))
            heads = [("scenario", False), *((m["head"], True) for m in measures)]
            spare = [1 + at for at, m in enumerate(measures) if m["name"] in _SPARE]
            print_rows(out, screen, heads, rows, spare)
            out.print()
        for line in _notes(found, "!"):
            out.print(Text(screen.text(line, 1000), style="dim"))
        for line in _faults(found):
            out.print(Text(screen.text(line, 1000), style="yellow"))

    show(draw, whole=True)


def calibration_markdown(found: Found, asked: Sequence[str]) -> str:
    """The same tables in Markdown, under the command that makes them.

    Parameters
    ----------
    asked : names of scenarios that were asked for; none where all were
    """
    options = [f"--scenario {name}" for name in asked]
    options += [f"--studies {found['studies']}", f"--seed {found['seed']}"]
    lines = [f"Made by `fb calibrate {' '.join(options)} --markdown FILE`.", ""]
    for kind, title in _TABLES:
        measures = _measures(found, kind)
        rows = _rows(found, measures, "**{}**")
        if rows:
            heads = ["scenario", *(m["head"] for m in measures)]
            lines += [f"**{_titled(title, found)}**", "", _line(heads)]
            lines += [_line(["---", *("---:" for _ in measures)]), *map(_line, rows), ""]
    lines += [f"{line}\n" for line in _notes(found, "bold")]
    lines += [_line(["scenario", "what", "models", "clusters", "strata", "refused studies"])]
    lines += [_line(["---", "---", "---:", "---:", "---:", "---:"])]
    for row in found["scenarios"]:
        sizes = [f"{row[key]:,}" for key in ("models", "clusters", "strata", "refused")]
        lines.append(_line([row["name"], row["about"], *sizes]))
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _titled(title: str, found: Found) -> str:
    return title.format(level=100 * (1 - found["alpha"]), alpha=100 * found["alpha"])


def _measures(found: Found, kind: str) -> list[Found]:
    """Measures of a kind that some scenario counted."""
    return [
        measure
        for measure in found["measures"]
        if measure["kind"] == kind
        and any(measure["name"] in row["rates"] for row in found["scenarios"])
    ]


def _rows(found: Found, measures: Sequence[Found], mark: str) -> list[list[str]]:
    """Cells of the scenarios that counted any of the measures."""
    rows = []
    for row in found["scenarios"]:
        cells = [_cell(row["rates"].get(m["name"]), mark) for m in measures]
        if any(cells):
            rows.append([row["name"], *cells])
    return rows


def _cell(rate: Found | None, mark: str) -> str:
    """A rate with its standard error, in percent."""
    if rate is None:
        return ""
    text = f"{100 * rate['share']:.1f} ({100 * rate['se']:.1f})"
    return mark.format(text) if rate["off"] else text


def _notes(found: Found, mark: str) -> list[str]:
    """What the figures and the columns of each table are."""
    slack = f"{100 * found['slack']:g}"
    lines = [
        f"{found['studies']:,} studies a scenario, seed {found['seed']},"
        f" {found['draws']:,} draws; in brackets the Monte Carlo standard error;"
        f" {mark}: off by more than {slack} points to the wrong side."
    ]
    for kind, _ in _TABLES:
        told = [f"{measure['head']}: {measure['about']}" for measure in _measures(found, kind)]
        if told:
            lines.append(f"{kind.capitalize()}. {'; '.join(told)}.")
    return lines


def _faults(found: Found) -> list[str]:
    return [
        f"{row['name']}: {', '.join(row['outside'])} outside of what holds there"
        for row in found["scenarios"]
        if row["outside"]
    ]

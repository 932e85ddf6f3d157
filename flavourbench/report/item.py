"""One task of a release on a terminal, with what every model chose or scored there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from flavourbench.analysis.core import SURPLUS
from flavourbench.analysis.item import INVALID
from flavourbench.report.screen import Screen, print_footer, print_label, print_rows, show
from flavourbench.report.strips import flow, shorten
from flavourbench.report.tasks import rung_text, task_head

Item = Mapping[str, Any]
#: Cells of a model's name in a list of names.
_LONGEST_NAME = 40


def print_item(found: Item, footer: str | None = None, console: Console | None = None) -> None:
    """Print a task: on the ladder of its portfolios all models, else their scores."""

    def draw(out: Console, screen: Screen) -> None:
        print_label(out, screen, found["label"])
        if found["task"] is None:
            _print_scores(out, screen, found)
        else:
            _print_choices(out, screen, found)
        print_footer(out, screen, footer)

    show(draw, console, whole=True)


def _print_scores(out: Console, screen: Screen, found: Item) -> None:
    """The models' scores at a task of which nothing else is known."""
    facts = [found["family"], found["panel"], f"anchor {found['anchor']}"]
    head = [found["task_id"], *(fact for fact in facts if fact is not None)]
    out.print(Text(screen.text(f" {screen.glyphs.dot} ".join(head)), style="bold"))
    _print_facts(out, screen, found)
    out.print()
    rows = [[str(row["rank"]), row["name"], f"{row['score']:.2f}"] for row in found["models"]]
    print_rows(out, screen, (("#", True), ("model", False), ("score", True)), rows)
    told = f"No portfolios: the release is of {found['root']['says']}."
    out.print(Text(screen.text(told), style="dim"))


def _print_choices(out: Console, screen: Screen, found: Item) -> None:
    task = found["task"]
    out.print(Text(task_head(screen, task), style="bold"))
    out.print(Text(screen.text(_core_line(found), 1000)))
    _print_facts(out, screen, found)
    out.print()
    choices = [screen.text(f"{label} {name}") for label, name in task["choices"].items()]
    for told in flow(choices, screen):
        out.print(Text(told))
    out.print()
    for line in _ladder(screen, found):
        out.print(line)
    dash = screen.glyphs.dash
    best = f"* best: {', '.join(task['choices'][letter] for letter in task['optimum'])}"
    signs = (
        [best, "x infeasible"] if any(r["feasible"] is False for r in found["ladder"]) else [best]
    )
    out.print(Text(screen.text(f" {dash} ".join(signs)), style="dim"))
    rows = [
        [row["name"], row["outcome"], row["reason"] or dash]
        for row in found["models"]
        if row["score"] is None
    ]
    if rows:
        out.print()
        heads = (("no valid answer", False), ("outcome", False), ("reason", False))
        print_rows(out, screen, heads, rows)


def _core_line(found: Item) -> str:
    """Whether the task counts, and why not."""
    core = found["core"]
    if core["inside"]:
        return "In the core: it counts for the ranking."
    if core["why"] == INVALID:
        cells = ", ".join(f"{slot} {outcome}" for slot, outcome in core["invalid"].items())
        return f"Not in the core: not valid for every model ({cells})."
    if core["why"] == SURPLUS:
        return (
            "Not in the core: every model answered it, but the core had enough tasks of its kind."
        )
    return f"Not in the core: family {found['family']} is never ranked."


def _print_facts(out: Console, screen: Screen, found: Item) -> None:
    """Chance, mean, and how many chose the optimum."""
    valid = sum(row["score"] is not None for row in found["models"])
    facts = []
    if found["mean"] is not None:
        facts.append(f"mean {found['mean']:.2f} of {valid:,} models")
    if found["chance"] is not None:
        facts.append(f"chance {found['chance']:.2f}")
    if found["best"] is not None:
        facts.append(f"{found['best']:,} of {valid:,} chose the best portfolio")
    for told in flow(facts, screen):
        out.print(Text(told))


def _ladder(screen: Screen, found: Item) -> Iterator[Text]:
    """Portfolios by falling score; several in a row that nobody chose are one line."""
    names = {row["id"]: screen.text(row["name"]) for row in found["models"]}
    chance, above = found["chance"], True

    def kind(rung: Item) -> tuple[bool, bool]:
        shown = rung["models"] or rung["score"] == 100
        return rung["score"] >= chance, bool(shown)

    # Of equal ones those that were chosen come first, so that the others are one line.
    ladder = sorted(found["ladder"], key=lambda rung: (-rung["score"], not rung["models"]))
    for (over, chosen), run in groupby(ladder, kind):
        if above and not over:
            above = False
            yield Text(f"    {chance:6.2f}  chance", style="dim")
        rungs = [*run]
        if not chosen and len(rungs) > 1:
            yield Text(f"    {_gap(rungs)}", style="dim")
            continue
        for rung in rungs:
            yield from _rung(screen, rung, [names[model] for model in rung["models"]])


def _gap(rungs: Sequence[Item]) -> str:
    high, low = rungs[0]["score"], rungs[-1]["score"]
    scores = f"{high:.2f}" if high == low else f"{high:.2f} to {low:.2f}"
    return f"{scores:>6}  {len(rungs)} that nobody chose"


def _rung(screen: Screen, rung: Item, names: Sequence[str]) -> Iterator[Text]:
    """One portfolio and who chose it, on as many lines as the names take."""
    text = rung_text(screen, rung)
    text.append(f"{len(names):3}" if names else "")
    indent = text.cell_len + 1
    room = max(screen.width - indent, 12)
    short = [shorten(name, min(room - 2, _LONGEST_NAME), screen.glyphs.cut) for name in names]
    for at, line in enumerate(flow(short, replace(screen, width=room)) or [""]):
        row = text if at == 0 else Text(" " * (indent - 1))
        row.append(f" {line}")
        row.rstrip()
        yield row

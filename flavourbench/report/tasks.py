"""Tasks, panels and scores of one model on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from rich.console import Console
from rich.text import Text

from flavourbench.report.screen import Screen, add_column, plain_table, show

Answer = Mapping[str, Any]
#: Cells of a ladder's bar.
_BAR = 8


def print_panels(panels: Sequence[Answer], folder: str) -> None:
    """Print panels with their sizes, and where they are."""

    def draw(out: Console, screen: Screen) -> None:
        table = plain_table(screen)
        for head in ("panel", "tasks", "anchors", "families", "parser", "environment"):
            add_column(table, head, head in ("tasks", "anchors"))
        for panel in panels:
            if "problem" in panel:
                problem = Text(screen.text(panel["problem"]))
                table.add_row(Text(screen.text(panel["panel"])), "", "", problem)
                continue
            cells = [panel["panel"], f"{panel['tasks']:,}", f"{panel['anchors']:,}"]
            families = [f"{family} {count}" for family, count in panel["families"].items()]
            cells += [", ".join(families), panel["parser"], panel["environment"] or "not stated"]
            table.add_row(*(Text(screen.text(cell)) for cell in cells))
        out.print(table)
        for warning in dict.fromkeys(w for panel in panels for w in panel.get("warnings", ())):
            out.print(Text(screen.text(f"Warning: {warning}"), style="yellow"))
        out.print(Text(screen.text(f"Folder: {folder}", 4096), style="dim"), soft_wrap=True)

    show(draw, whole=True)


def print_task_list(rows: Sequence[Answer], place: str) -> None:
    """Print one line a task."""

    def draw(out: Console, screen: Screen) -> None:
        table = plain_table(screen)
        for head in ("task", "stratum", "anchor", "category", "chance", "top gap"):
            add_column(table, head, head in ("stratum", "chance", "top gap"))
        for row in rows:
            numbers = (f"{row['chance']:.2f}", f"{row['top_gap']:.2f}")
            cells = [row["task_id"], str(row["stratum"]), row["anchor"], row["category"], *numbers]
            table.add_row(*(Text(screen.text(cell)) for cell in cells))
        out.print(table)
        out.print(Text(screen.text(f"{len(rows):,} tasks: {place}", 4096), style="dim"))

    show(draw, whole=True)


def print_statistics(stats: Answer, place: str) -> None:
    """Print the table of families; scores in points."""

    def draw(out: Console, screen: Screen) -> None:
        table = plain_table(screen)
        heads = ("family", "tasks", "chance", "top gap", "distinct", "categories", "strata")
        for head in heads:
            add_column(table, head, head not in ("family", "strata"))
        for row in stats["families"]:
            strata = " ".join(f"{name}:{count}" for name, count in row["strata"].items())
            cells = [
                row["family"],
                f"{row['tasks']:,}",
                f"{row['chance']:.1f}",
                f"{row['median_top_gap']:.1f}",
                f"{row['median_distinct_scores']:g}",
                str(row["categories"]),
                strata,
            ]
            table.add_row(*(Text(screen.text(cell)) for cell in cells))
        out.print(table)
        told = "chance: mean over all portfolios; top gap and distinct scores: medians of tasks"
        out.print(Text(told, style="dim"))
        for row in stats["families"]:
            if row["questions"] < row["tasks"]:
                same = f"{row['family']}: only {row['questions']} different questions"
                out.print(Text(screen.text(same), style="yellow"))
        size = f"{stats['tasks']:,} tasks, {stats['anchors']:,} anchors: {place}"
        out.print(Text(screen.text(size, 4096), style="dim"), soft_wrap=True)

    show(draw, whole=True)


def print_task(shown: Answer) -> None:
    """Print a task: prompt, tags of its candidates, and the ladder of all portfolios."""

    def draw(out: Console, screen: Screen) -> None:
        dot = f" {screen.glyphs.dot} "
        facts = [shown["family"], f"stratum {shown['stratum']}", f"anchor {shown['anchor']}"]
        demands = [shown["diet"], shown["region"]]
        if shown["max_nova"] is not None:
            demands.append(f"NOVA up to {shown['max_nova']}")
        head = dot.join([shown["task_id"], *facts, *(d for d in demands if d)])
        out.print(Text(screen.text(head), style="bold"))
        out.print()
        for line in shown["prompt"].split("\n"):
            # However long: what a model is asked is shown whole.
            out.print(Text(screen.text(line, 10 * len(line) + 1)))
        out.print()
        _print_choices(out, screen, shown)
        out.print()
        _print_ladder(out, screen, shown)

    show(draw)


def _print_choices(out: Console, screen: Screen, shown: Answer) -> None:
    table = plain_table(screen)
    tagged = shown["tags"] is not None
    for head in ("", "candidate", *(("category", "regions", "flags") if tagged else ())):
        add_column(table, head, False)
    for label, name in shown["choices"].items():
        cells = [label, name]
        if tagged:
            tags = shown["tags"][name]
            nova = "NOVA unknown" if tags["nova"] is None else f"NOVA {tags['nova']}"
            flags = [diet for diet in ("vegan", "vegetarian") if tags[diet]][:1]
            cells += [tags["category"], ", ".join(tags["regions"]), ", ".join([*flags, nova])]
        table.add_row(*(Text(screen.text(cell)) for cell in cells))
    out.print(table)
    if not tagged:
        told = "No tags: the environment that scored this task is not stored; --env names one."
        out.print(Text(told, style="dim"))


def _print_ladder(out: Console, screen: Screen, shown: Answer) -> None:
    """All portfolios by falling score, in columns, read downwards."""
    rungs = [_rung(screen, rung, shown["marked"]) for rung in shown["portfolios"]]
    width = max(rung.cell_len for rung in rungs)
    count = max(1, min(8, screen.width // (width + 2)))
    height = -(-len(rungs) // count)
    columns = [rungs[at : at + height] for at in range(0, len(rungs), height)]
    for row in zip_longest(*columns, fillvalue=Text("")):
        line = Text()
        for rung in row:
            line.append_text(rung)
            line.append(" " * (width + 2 - rung.cell_len))
        line.rstrip()
        out.print(line)
    dash = screen.glyphs.dash
    signs = f"* best   x infeasible   chance {shown['chance']:.2f}   top gap {shown['top_gap']:.2f}"
    out.print(Text(signs, style="dim"))
    for what, label in (("best", shown["optimum"]), ("marked", shown["marked"])):
        if label is None:
            continue
        names = ", ".join(shown["choices"][letter] for letter in label)
        score = next(r["score"] for r in shown["portfolios"] if r["portfolio"] == label)
        out.print(Text(screen.text(f"{what}: {label} {dash} {names} {dash} {score:.2f}")))


def _rung(screen: Screen, rung: Answer, marked: str | None) -> Text:
    infeasible = rung["feasible"] is False
    sign = "*" if rung["score"] == 100 else "x" if infeasible else " "
    full = round(rung["score"] / 100 * _BAR)
    bar = (screen.glyphs.line * full).ljust(_BAR)
    own = rung["portfolio"] == marked
    style = "bold reverse" if own else "dim" if infeasible else ""
    arrow = "<" if own else " "
    return Text(f"{rung['portfolio']} {rung['score']:6.2f} {sign}{bar}{arrow}", style=style)


def print_score(score: Answer, place: str) -> None:
    """Print what one model's answers are worth, by family, and what is missing."""

    def draw(out: Console, screen: Screen) -> None:
        _print_total(out, score)
        table = plain_table(screen)
        for head in ("family", "score", "chance", "valid", "tasks", "mean of valid"):
            add_column(table, head, head != "family")
        for row in score["diagnostics"]:
            own, mean = score["families"][row["family"]], row["mean_valid"]
            cells = [
                row["family"],
                screen.glyphs.dash if own is None else f"{own:.2f}",
                f"{row['chance']:.2f}",
                f"{row['valid']:,}",
                f"{row['tasks']:,}",
                screen.glyphs.dash if mean is None else f"{mean:.2f}",
            ]
            table.add_row(*(Text(screen.text(cell)) for cell in cells))
        out.print(table)
        coverage = score["coverage"]
        counts = ", ".join(f"{coverage[key]:,} {key}" for key in ("valid", "invalid", "missing"))
        out.print(Text(f"coverage: {counts} of {coverage['tasks']:,} tasks"))
        reasons = [f"{reason} {count:,}" for reason, count in score["invalid_reasons"].items()]
        if reasons:
            out.print(Text(screen.text(f"invalid: {', '.join(reasons)}")))
        for warning in score["warnings"]:
            out.print(Text(screen.text(warning, 400), style="yellow"))
        out.print(Text(screen.text(f"Tasks: {place}", 4096), style="dim"), soft_wrap=True)

    show(draw, whole=True)


def _print_total(out: Console, score: Answer) -> None:
    if not score["comparable"]:
        told = "No comparable score: every task needs a valid answer."
        out.print(Text(told, style="bold red"))
        return
    text = f"score {score['score']:.2f}"
    if score["interval_95"] is not None:
        text += " (95 % {:.2f} to {:.2f})".format(*score["interval_95"])
    out.print(Text(text, style="bold"))
    out.print(Text(f"chance {score['chance']:.2f}, p against chance {score['p_chance']:.2g}"))

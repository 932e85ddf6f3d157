"""Tasks, panels and scores of one model on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from rich.console import Console
from rich.text import Text

from flavourbench.report.screen import Screen, print_rows, show

Answer = Mapping[str, Any]
#: Cells of a ladder's bar.
_BAR = 8
#: Invalid answers that are listed.
_FIRST = 10


def print_panels(panels: Sequence[Answer], folder: str) -> None:
    """Print panels with their sizes, and where they are."""
    sound = [panel for panel in panels if "problem" not in panel]
    families = list(dict.fromkeys(family for panel in sound for family in panel["families"]))
    heads = [("folder", False), ("tasks", True), *((family, True) for family in families)]
    heads += [("anchors", True), ("environment", False), ("parser", False)]
    rows = [
        [
            panel["folder"],
            f"{panel['tasks']:,}",
            *(f"{panel['families'].get(family, 0):,}" for family in families),
            f"{panel['anchors']:,}",
            panel["environment"] or "not stated",
            panel["parser"],
        ]
        for panel in sound
    ]

    def draw(out: Console, screen: Screen) -> None:
        last = len(heads) - 1
        if rows:
            print_rows(out, screen, heads, rows, (last, last - 2, last - 1))
        for panel in panels:
            if "problem" in panel:
                problem = f"{panel['folder']}: {panel['problem']}"
                out.print(Text(screen.text(problem, 1000), style="bold red"))
        for warning in dict.fromkeys(w for panel in sound for w in panel["warnings"]):
            out.print(Text(screen.text(f"Warning: {warning}"), style="yellow"))
        out.print(Text(screen.text(f"Folder: {folder}", 4096), style="dim"), soft_wrap=True)

    show(draw, whole=True)


def print_task_list(rows: Sequence[Answer], place: str) -> None:
    """Print one line a task."""
    heads = (
        ("task", False),
        ("anchor", False),
        ("category", False),
        ("stratum", True),
        ("chance", True),
        ("top gap", True),
    )
    cells = [
        [
            row["task_id"],
            row["anchor"],
            row["category"],
            str(row["stratum"]),
            f"{row['chance']:.2f}",
            f"{row['top_gap']:.2f}",
        ]
        for row in rows
    ]

    def draw(out: Console, screen: Screen) -> None:
        print_rows(out, screen, heads, cells, (2, 3, 5, 4, 1))
        size = f"{len(rows):,} tasks: {place}"
        out.print(Text(screen.text(size, 4096), style="dim"), soft_wrap=True)

    show(draw, whole=True)


def print_statistics(stats: Answer, place: str) -> None:
    """Print the table of families; scores in points."""
    strata = sorted({int(name) for row in stats["families"] for name in row["strata"]})
    heads = (
        ("family", False),
        ("tasks", True),
        ("chance", True),
        ("top gap", True),
        ("distinct", True),
        ("categories", True),
        (f"strata {' '.join(map(str, strata))}", True),
    )
    rows = [
        [
            row["family"],
            f"{row['tasks']:,}",
            f"{row['chance']:.1f}",
            f"{row['median_top_gap']:.1f}",
            f"{row['median_distinct_scores']:g}",
            str(row["categories"]),
            " ".join(str(row["strata"].get(str(stratum), 0)) for stratum in strata),
        ]
        for row in stats["families"]
    ]
    told = (
        "chance: mean over all portfolios; top gap, distinct scores: medians of tasks; stratum 1"
        " is the hardest"
    )

    def draw(out: Console, screen: Screen) -> None:
        print_rows(out, screen, heads, rows, (5, 6))
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
        out.print(Text(task_head(screen, shown), style="bold"))
        out.print()
        for line in shown["prompt"].split("\n"):
            # However long: what a model is asked is shown whole.
            out.print(Text(screen.text(line, 10 * len(line) + 1)))
        out.print()
        _print_choices(out, screen, shown)
        out.print()
        _print_ladder(out, screen, shown)

    show(draw)


def task_head(screen: Screen, shown: Answer) -> str:
    """What a task is about and what it demands, in one line."""
    facts = [shown["family"], f"difficulty stratum {shown['stratum']}", f"anchor {shown['anchor']}"]
    demands = [shown["diet"], shown["region"]]
    if shown["max_nova"] is not None:
        demands.append(f"NOVA up to {shown['max_nova']}")
    parts = [shown["task_id"], *facts, *(d for d in demands if d)]
    return screen.text(f" {screen.glyphs.dot} ".join(parts))


def _print_choices(out: Console, screen: Screen, shown: Answer) -> None:
    tags, rows = shown["tags"], []
    for label, name in shown["choices"].items():
        cells = [label, name]
        if tags is not None:
            own = tags[name]
            nova = "NOVA unknown" if own["nova"] is None else f"NOVA {own['nova']}"
            flags = [diet for diet in ("vegan", "vegetarian") if own[diet]][:1]
            cells += [own["category"], ", ".join(own["regions"]), ", ".join([*flags, nova])]
        rows.append(cells)
    heads = ("", "candidate", "category", "regions", "flags")[: len(rows[0])]
    print_rows(out, screen, [(head, False) for head in heads], rows)
    if tags is None:
        told = "No tags: the environment that scored this task is not stored; --env names one."
        out.print(Text(told, style="dim"))


def _print_ladder(out: Console, screen: Screen, shown: Answer) -> None:
    """All portfolios by falling score, in columns, read downwards."""
    rungs = [rung_text(screen, rung, shown["marked"]) for rung in shown["portfolios"]]
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


def rung_text(screen: Screen, rung: Answer, marked: str | None = None) -> Text:
    """One portfolio with its score as a bar; the optimum, infeasible and marked ones show."""
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
        _print_families(out, screen, score)
        coverage = score["coverage"]
        counts = ", ".join(f"{coverage[key]:,} {key}" for key in ("valid", "invalid", "missing"))
        out.print(Text(f"coverage: {counts} of {coverage['tasks']:,} tasks"))
        _print_invalid(out, screen, score)
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
    p = score["p_chance"]
    tested = "" if p is None else f", two-sided p against chance {p:.2g}"
    out.print(Text(f"chance {score['chance']:.2f}{tested}"))


def _print_families(out: Console, screen: Screen, score: Answer) -> None:
    """Scores by family; without a comparable score, means of the valid answers instead."""
    complete = score["comparable"]
    rows = []
    for row in score["diagnostics"]:
        mean = score["families"][row["family"]] if complete else row["mean_valid"]
        told = screen.glyphs.dash if mean is None else f"{mean:.2f}"
        counts = (f"{row['valid']:,}", f"{row['tasks']:,}")
        rows.append([row["family"], told, f"{row['chance']:.2f}", *counts])
    heads = ["family", "score" if complete else "mean of valid", "chance", "valid", "tasks"]
    print_rows(out, screen, [(head, head != "family") for head in heads], rows)


def _print_invalid(out: Console, screen: Screen, score: Answer) -> None:
    """How often each reason occurs, and the first invalid answers."""
    reasons = [f"{reason} {count:,}" for reason, count in score["invalid_reasons"].items()]
    if not reasons:
        return
    out.print(Text(screen.text(f"invalid: {', '.join(reasons)}")))
    invalid = [row for row in score["per_task"] if row["reason"] in score["invalid_reasons"]]
    for row in invalid[:_FIRST]:
        out.print(Text(screen.text(f"  {row['task_id']}: {row['reason']}")))
    if len(invalid) > _FIRST:
        out.print(Text(f"  and {len(invalid) - _FIRST:,} more (--json has all)", style="dim"))

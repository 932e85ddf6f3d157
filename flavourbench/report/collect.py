"""Terminal views of a collection: how it stands, what it would cost, and bars while it runs."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from flavourbench.collect.outcomes import ANSWERED
from flavourbench.report.screen import Screen, print_rows, show

#: Shares of a model's cells that are shown as reasons.
_MOST_REASONS = 8


def print_status(status: dict[str, Any], *, reasons: bool = True) -> None:
    """Coverage by model and family, outcomes with reasons, spend and what is left."""

    def draw(out: Console, screen: Screen) -> None:
        dot = screen.glyphs.dot
        _models(out, screen, status)
        if reasons:
            _invalid(out, screen, status)
        left = f"{status['left']:,} left" if status["left"] else "nothing left"
        parts = [
            f"{status['ended']:,} of {status['cells']:,} cells ended",
            f"{status['answered']:,} answered",
            left,
            f"{status['requests']:,} requests",
            _dollars(status["dollars"]),
        ]
        if status["under_way"]:
            parts.append(f"{status['under_way']:,} under way")
        out.print(Text(f" {dot} ".join(parts)))
        out.print(Text(f"Journal: {screen.text(status['journal'])}", style="dim"))

    show(draw, whole=True)


def _models(out: Console, screen: Screen, status: dict[str, Any]) -> None:
    models = status["models"]
    places = list(
        dict.fromkeys((c["panel"], c["family"]) for model in models for c in model["coverage"])
    )
    heads = [("model", False), ("valid", True), ("of", True), ("invalid", True), ("left", True)]
    heads += [(f"{panel}/{family}", True) for panel, family in places]
    heads += [("requests", True), ("tokens in", True), ("out", True), ("cost", True), ("s", True)]
    rows = []
    for model in models:
        valid = model["outcomes"].get(ANSWERED, 0)
        cover = {(c["panel"], c["family"]): c for c in model["coverage"]}
        rows.append(
            [
                model["name"] + (f" (block {model['block']})" if model["block"] > 1 else ""),
                f"{valid:,}",
                f"{model['cells']:,}",
                f"{model['ended'] - valid:,}",
                f"{model['left']:,}",
                *(f"{cover[place]['valid']}/{cover[place]['tasks']}" for place in places),
                f"{model['requests']:,}",
                f"{model['input_tokens']:,}",
                f"{model['output_tokens']:,}",
                _dollars(model["dollars"]),
                _seconds(model["seconds_an_answer"]),
            ]
        )
    last = len(heads) - 1
    spare = [last, last - 3, last - 2, last - 4, last - 1, *range(5, 5 + len(places))]
    print_rows(out, screen, heads, rows, spare)


def _invalid(out: Console, screen: Screen, status: dict[str, Any]) -> None:
    rows = [
        [model["name"], entry["outcome"], entry["reason"], f"{entry['cells']:,}"]
        for model in status["models"]
        for entry in model["reasons"][:_MOST_REASONS]
    ]
    if rows:
        out.print()
        heads = [("model", False), ("outcome", False), ("reason", False), ("cells", True)]
        print_rows(out, screen, heads, rows)
    out.print()


def print_estimates(found: dict[str, Any]) -> None:
    """What a collection would take."""

    def draw(out: Console, screen: Screen) -> None:
        heads = [("model", False), ("requests", True), ("tokens in", True)]
        heads += [("out at most", True), ("cost at most", True)]
        heads += [("out as so far", True), ("cost as so far", True)]
        rows = [
            [
                row["name"],
                f"{row['requests']:,}",
                f"{row['input_tokens']:,}",
                f"{row['most_output_tokens']:,}",
                _dollars(row["most_dollars"]),
                "" if row["output_tokens"] is None else f"{row['output_tokens']:,}",
                "" if row["dollars"] is None else _dollars(row["dollars"]),
            ]
            for row in found["models"]
        ]
        print_rows(out, screen, heads, rows, [5, 6, 3, 2])
        total = "unknown: some prices are" if found["most_dollars"] is None else "at most"
        cost = "" if found["most_dollars"] is None else f" {_dollars(found['most_dollars'])}"
        dot = screen.glyphs.dot
        out.print(
            Text(f"{found['requests']:,} requests {dot} cost {total}{cost} {dot} nothing was sent")
        )
        out.print(Text("Tokens are estimates: three bytes each.", style="dim"))

    show(draw, whole=True)


def _dollars(value: float | None) -> str:
    if value is None:
        return "?"
    return f"${value:,.2f}" if value >= 1 or value == 0 else f"${value:.4f}"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"

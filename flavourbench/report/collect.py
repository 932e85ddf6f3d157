"""Terminal views of a collection: how it stands, what it would cost, and bars while it runs."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from flavourbench.collect.outcomes import ANSWERED
from flavourbench.errors import listed
from flavourbench.report.screen import Screen, print_rows, show
from flavourbench.report.strips import shorten

#: Shares of a model's cells that are shown as reasons.
_MOST_REASONS = 8
#: Letters of a family's name, and of a model's on screens that are not wide.
_FAMILY, _NAME, _WIDE = 4, 19, 120


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
            dollars(status["dollars"]),
        ]
        if status["requests_without_price"]:
            parts.append(f"{status['requests_without_price']:,} requests of unknown price")
        if status["earlier_requests"]:
            parts.append(f"{status['earlier_requests']:,} requests in earlier blocks")
        if status["under_way"]:
            parts.append(f"{status['under_way']:,} under way")
        out.print(Text(f" {dot} ".join(parts)))
        out.print(Text(f"Journal: {screen.text(status['journal'])}", style="dim"))

    show(draw, whole=True)


def _models(out: Console, screen: Screen, status: dict[str, Any]) -> None:
    models = status["models"]
    families = list(dict.fromkeys(c["family"] for model in models for c in model["coverage"]))
    heads = [("model", False), ("slot", False), ("valid", True)]
    heads += [("invalid", True), ("left", True), ("cost", True)]
    # Heads as on the leaderboard; panels together.
    heads += [(family[:_FAMILY], True) for family in families]
    heads += [("requests", True), ("tokens in", True), ("out", True), ("s each", True)]
    rows = []
    for model in models:
        valid = model["outcomes"].get(ANSWERED, 0)
        cover = [[c for c in model["coverage"] if c["family"] == family] for family in families]
        block = f" (block {model['block']})" if model["block"] > 1 else ""
        name = f"{model['name']}{block}"
        rows.append(
            [
                shorten(name, _NAME, screen.glyphs.cut) if screen.width < _WIDE else name,
                model["slot"],
                f"{valid:,}/{model['cells']:,}",
                f"{model['ended'] - valid:,}",
                f"{model['left']:,}",
                dollars(model["dollars"]),
                *(
                    f"{sum(c['valid'] for c in group)}/{sum(c['tasks'] for c in group)}"
                    for group in cover
                ),
                f"{model['requests']:,}",
                f"{model['input_tokens']:,}",
                f"{model['output_tokens']:,}",
                _seconds(model["seconds_an_answer"]),
            ]
        )
    last = len(heads) - 1
    spare = [last, last - 1, last - 2, last - 3, 1, *range(6 + len(families) - 1, 5, -1), 5]
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
                dollars(row["most_dollars"]),
                "" if row["output_tokens"] is None else f"{row['output_tokens']:,}",
                "" if row["dollars"] is None else dollars(row["dollars"]),
            ]
            for row in found["models"]
        ]
        print_rows(out, screen, heads, rows, [5, 6, 3, 2])
        unpriced = [row["slot"] for row in found["models"] if row["most_dollars"] is None]
        cost = f"at most {dollars(found['most_dollars'])}"
        if unpriced:
            cost = f"cost unknown: no prices for {listed(unpriced, 3)}"
        dot = screen.glyphs.dot
        out.print(Text(f"{found['requests']:,} requests {dot} {cost} {dot} nothing was sent"))
        out.print(Text("Tokens are estimates: three bytes each.", style="dim"))
        for need in found["before"]:
            out.print(Text(f"Before sending: {screen.text(need)}", style="bold yellow"))

    show(draw, whole=True)


def dollars(value: float | None) -> str:
    """An amount as views show it."""
    if value is None:
        return "?"
    return f"${value:,.2f}" if value >= 1 or value == 0 else f"${value:.4f}"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"

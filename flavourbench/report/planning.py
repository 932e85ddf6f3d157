"""A plan on a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from flavourbench.report.collect import dollars
from flavourbench.report.screen import Screen, print_rows, show
from flavourbench.report.strips import Axis, flow, number

#: Rows of the power curve.
_MOST_ROWS = 14
#: Standard errors on each side of a power that is drawn.
_SIDES = 2
#: Cells of the drawing, and of what stands beside it.
_NARROWEST, _WIDEST, _BESIDE = 10, 60, 50
_METHODS = {"holm": "Holm", "step_down": "step-down"}
_SCENARIOS = {
    "ladder": "models evenly spaced over {upto}{range:.3g}",
    "ahead": "one model ahead of {equals} equal ones",
}


def print_plan(found: dict[str, Any], console: Console | None = None) -> None:
    """Print floors, power, the detectable difference, clusters needed and cost."""

    def draw(out: Console, screen: Screen) -> None:
        for line in _given(found, screen):
            out.print(Text(line))
        out.print()
        _print_floor(out, screen, found)
        if found["curve"]:
            _print_curve(out, screen, found)
            _print_detectable(out, found)
        if found["needed"] is not None:
            _print_needed(out, screen, found["needed"], found["power"])
        if found["cost"] is not None:
            out.print(Text(_cost(found)))
        out.print()
        for line in _simulated(found, screen):
            out.print(Text(line, style="dim"))
        for note in found["notes"]:
            out.print(Text(screen.text(note, 1000), style="dim"))

    show(draw, console)


def _given(found: dict[str, Any], screen: Screen) -> list[str]:
    """Sizes and noise, with where they come from."""
    design, noise, plan, sources = (found[k] for k in ("design", "noise", "plan", "sources"))
    sizes = [
        ("1 stratum" if key == "strata" and count == 1 else f"{count:,} {key}", sources[key])
        for key, count in design.items()
    ]
    origins = dict.fromkeys(origin for _, origin in sizes)
    told = []
    for origin in origins:
        parts = ", ".join(text for text, where in sizes if where == origin)
        # What a pilot holds is scaled to the number of clusters.
        named = {"given": "as given", "pilot": "as in the pilot"}.get(origin, origin)
        told.append(f"{parts} ({named})")
    spread = f"SD of a task difference {noise['sd']:.3g}"
    if noise["correlation"]:
        spread += f", {noise['correlation']:g} correlated inside of a cluster"
    spread += {"typical": " (published study)", "given": " (as given)"}.get(
        sources["noise"], " (pilot)"
    )
    tests = [f"{plan['flips']:,} sign flips", f"alpha {plan['alpha']:g}", f"seed {plan['seed']}"]
    return [*flow(told, screen), *flow([spread, *tests], screen)]


def _print_floor(out: Console, screen: Screen, found: dict[str, Any]) -> None:
    floor = found["floor"]
    used = "all {:,} sign vectors" if floor["exact"] else "{:,} sign flips"
    parts = [
        f"smallest p {floor['smallest_p']:.2g} with {used.format(floor['sign_vectors'])}",
        f"times {floor['hypotheses']:,} (pairs) {floor['smallest_holm_p']:.2g}",
    ]
    if floor["says"] is None:
        parts.append(f"Holm needs at least {floor['flips_needed']:,} flips")
    for line in flow(parts, screen):
        out.print(Text(line))
    if floor["says"] is not None:
        out.print(Text(f"Warning: {screen.text(floor['says'], 1000)}", style="yellow"))
    if not floor["step_down_resolves"]:
        out.print(
            Text(
                "Warning: The step-down cannot resolve any pair either: its p is larger than"
                f" alpha {found['plan']['alpha']:g}.",
                style="yellow",
            )
        )


def _print_curve(out: Console, screen: Screen, found: dict[str, Any]) -> None:
    """Power by true difference: numbers, and both curves drawn from 0 to 1."""
    out.print()
    curve = found["curve"]
    width = min(max(screen.width - _BESIDE, _NARROWEST), _WIDEST)
    axis = Axis(0.0, 1.0, width)
    heads = [("difference", True), ("Holm", True), ("step-down", True)]
    heads.append((_scale(width), False))
    decimals = 2 if curve[-1]["difference"] < 100 else 1
    rows = [
        [
            number(row["difference"], decimals),
            *(_percent(row[name]) for name in _METHODS),
            _drawn(row, axis, screen),
        ]
        for row in _chosen(curve)
    ]
    print_rows(out, screen, heads, rows, [3])
    out.print(
        Text(
            "Power: share of pairs with that true difference which are resolved, with its Monte"
            " Carlo standard error.",
            style="dim",
        )
    )
    out.print()


def _chosen(curve: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the curve where something happens, evenly spaced, the last one included."""
    full = [k for k, row in enumerate(curve) if all(row[m]["power"] > 0.999 for m in _METHODS)]
    shown = curve[: full[0] + 1] if full else curve
    every = -(-len(shown) // _MOST_ROWS)
    return shown[(len(shown) - 1) % every :: every]


def _percent(power: dict[str, float]) -> str:
    if power["se"] == 0:  # decided, not simulated
        return "none"
    return f"{100 * power['power']:.1f} % ({100 * power['se']:.1f})"


def _scale(width: int) -> str:
    return "0" + "power".center(width - 2) + "1"


def _drawn(row: dict[str, Any], axis: Axis, screen: Screen) -> str:
    """Both powers on an axis from 0 to 1: a line to Holm's, which ends in a point."""
    at = axis.place(row["holm"]["power"])
    line = screen.glyphs.line * at + screen.glyphs.point
    over = axis.place(row["step_down"]["power"])
    return line.ljust(over) + screen.glyphs.high if over > at else line


def _print_detectable(out: Console, found: dict[str, Any]) -> None:
    for name, label in _METHODS.items():
        at = found["detectable"][name]
        if at is not None:
            text = f"{at['difference']:.3g} (standard error {_error(at['se'])})"
        elif name == "holm" and not found["floor"]["holm_resolves"]:
            text = "none: it can resolve nothing"
        else:
            text = f"none up to {found['simulation']['range']:.3g}"
        out.print(Text(f"Detectable with power {found['power']:g}, {label}: {text}", style="bold"))


def _print_needed(out: Console, screen: Screen, needed: dict[str, Any], power: float) -> None:
    out.print()
    for name, label in _METHODS.items():
        answer = needed[name]
        head = f"Clusters that resolve {needed['difference']:g} with power {power:g}, {label}: "
        if answer["clusters"] is None:
            text = f"none: {screen.text(answer['why'], 200)}"
        else:
            text = f"{answer['clusters']:,}"
            if answer["se"] is not None:
                text += f" (standard error {_error(answer['se'])})"
            text += f", {answer['tasks']:,} tasks"
            if answer["why"] is not None:
                text += f"; {answer['why']}"
        out.print(Text(head + text, style="bold"))


def _error(value: float) -> str:
    """One or two digits, or whole numbers."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1g}"


def _cost(found: dict[str, Any]) -> str:
    cost = found["cost"]
    price = cost["most_dollars"]
    told = "cost unknown, since prices lack" if price is None else f"at most {dollars(price)}"
    return (
        f"Collecting, as roster and panels stand: {cost['requests']:,} requests left,"
        f" {told} (`fb collect --dry-run`)"
    )


def _simulated(found: dict[str, Any], screen: Screen) -> list[str]:
    """How the numbers were found."""
    made = found["simulation"]
    if made is None:
        return []
    kind = _SCENARIOS[made["scenario"]].format(
        range=made["range"],
        upto="up to " if found["design"]["models"] == 2 else "",
        equals=found["design"]["models"] - 1,
    )
    flips = f"{made['flips']['holm']:,} and {made['flips']['step_down']:,} flips"
    return flow([f"{made['studies']:,} simulated studies", kind, f"{flips} in each"], screen)

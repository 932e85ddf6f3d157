"""How the ranks of a release move under other choices, on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from flavourbench.report.screen import Screen, print_footer, print_label, print_rows, show
from flavourbench.report.strips import flow, shorten

Object = Mapping[str, Any]
#: Of each kind of variants: the head of its column, what one is called, and what all are.
_KINDS = {
    "family": ("family", "without {}", "families"),
    "panel": ("panel", "without {}", "panels"),
    "category": ("category", "without {}", "categories"),
    "weights": ("weights", "weights {}", "weights"),
    "environment": ("env", "scored by {}", "environments"),
}
#: Kinds whose columns give way on a narrow screen, in this order.
_SPARE = ("panel", "category", "family", "environment", "weights")
#: Cells that other columns of the ranks take at most, without those of the kinds, and of each kind;
#: and those that other columns of the variants take.
_BESIDE, _EACH, _BESIDE_MOVE = 20, 8, 63
_SHORTEST_NAME = 12
_TOLD = (
    "#: the ranking of the release. Then the best and the worst rank over the variants of each"
    " kind, and over all of them: without a family, a panel, a category of anchors; with other"
    " weights of relevance and coherence; with the score maps of another environment.",
    "largest move: the model that moves most, from rank to rank. Spearman: of the scores with those"
    " of the release. reversed: pairs resolved in the release whose difference has the other sign.",
)


def print_stability(
    found: Object, footer: str | None = None, console: Console | None = None
) -> None:
    """Print ranks over the variants, what each variant does, and those that could not be made."""

    def draw(out: Console, screen: Screen) -> None:
        print_label(out, screen, found["label"])
        _print_models(out, screen, found)
        out.print()
        _print_variants(out, screen, found)
        out.print()
        _print_notes(out, screen, found)
        for line in (*_TOLD, f"{found['says'][:1].upper()}{found['says'][1:]}."):
            out.print(Text(line, style="dim"))
        print_footer(out, screen, footer)

    show(draw, console, whole=True)


def _print_models(out: Console, screen: Screen, found: Object) -> None:
    there = {variant["kind"] for variant in found["variants"]}
    kinds = [kind for kind in _KINDS if kind in there]
    room = screen.width - _BESIDE - _EACH * len(kinds)
    heads = [("#", True), ("model", False), *((_KINDS[kind][0], True) for kind in kinds)]
    rows = [
        [
            str(model["rank"]),
            _short(screen, model["name"], room),
            *(_range(screen, model["ranks"][kind]) for kind in kinds),
            _range(screen, model["all"]),
        ]
        for model in found["models"]
    ]
    spare = [2 + kinds.index(kind) for kind in _SPARE if kind in there]
    print_rows(out, screen, [*heads, ("all", True)], rows, spare)


def _range(screen: Screen, ranks: list[int]) -> str:
    low, high = ranks
    return str(low) if low == high else f"{low}{screen.glyphs.dash}{high}"


def _short(screen: Screen, name: str, room: int) -> str:
    return shorten(screen.text(name), max(room, _SHORTEST_NAME), screen.glyphs.cut)


def _print_variants(out: Console, screen: Screen, found: Object) -> None:
    names = {model["id"]: model["name"] for model in found["models"]}
    heads = [
        ("variant", False),
        ("tasks", True),
        ("Spearman", True),
        ("reversed", True),
        ("largest move", False),
    ]
    rows = [
        [
            _called(screen, variant["kind"], variant["name"]),
            f"{variant['tasks']:,}",
            screen.glyphs.dash if variant["spearman"] is None else f"{variant['spearman']:.3f}",
            f"{variant['reversed']:,}",
            _moved(screen, variant["moved"], names),
        ]
        for variant in found["variants"]
        if variant["kind"] in _KINDS
    ]
    print_rows(out, screen, heads, rows, (1, 2))


def _called(screen: Screen, kind: str, name: str | None) -> str:
    _, one, every = _KINDS[kind]
    return every if name is None else one.format(_short(screen, name, screen.width // 3))


def _moved(screen: Screen, moved: list[Object], names: Mapping[str, str]) -> str:
    """The first of the models that move most, and how many more there are."""
    if not moved:
        return "none"
    first, *others = moved
    before, after = first["rank"]
    name = _short(screen, names[first["id"]], screen.width - _BESIDE_MOVE)
    told = f"{before} {screen.glyphs.arrow} {after} {name}"
    return f"{told} +{len(others)} more" if others else told


def _print_notes(out: Console, screen: Screen, found: Object) -> None:
    """Sizes, tasks that variants leave out, and variants that could not be made."""
    released, *others = found["variants"]
    parts = [
        f"{len(found['models']):,} models",
        f"{released['tasks']:,} tasks",
        f"{len(others):,} variants",
        f"{found['resolved_pairs']:,} resolved pairs",
    ]
    for line in flow(parts, screen):
        out.print(Text(line))
    for variant in others:
        told = []
        if variant["unknown"]:
            told.append(f"{variant['unknown']:,} tasks left out, with names that it does not know")
        if variant["flat"]:
            told.append(f"{variant['flat']:,} tasks left out, where all choices score the same")
        if variant["feasible"] == "environment":
            told.append("feasible is what its own tags allow")
        if told:
            name = _called(screen, variant["kind"], variant["name"])
            out.print(Text(f"{name}: {'; '.join(told)}"))
    reasons: dict[str, list[str]] = {}
    for entry in found["not_made"]:
        name = _called(screen, entry["kind"], entry["name"])
        reasons.setdefault(entry["why"], []).append(name)
    for why, names in reasons.items():
        out.print(Text(screen.text(f"Not made: {', '.join(names)}: {why}", 1000)))

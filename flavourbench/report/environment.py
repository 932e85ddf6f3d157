"""Answers of an environment on a terminal (objects of ``flavourbench.environment.answers``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flavourbench.report.screen import Screen, add_column, plain_table, print_rows, show

Answer = Mapping[str, Any]
#: Key of a result → head of its column, and how its values are written.
_NUMBERS = {"similarity": "{:z.3f}", "p10": "{:z.3f}", "p90": "{:z.3f}", "above": "{:.2%}"}
#: Columns that answer the query; the others tell more.
_ANSWERS = ("query", "name", "similarity", "feasible", "reason", "how")
_HEADS = {"above": "of pairs below", "tagged": "tag", "how": "found", "nova": "NOVA"}


def print_answers(answers: Sequence[Answer], environment: str) -> None:
    """Print the results of each query as a table, best first."""

    def draw(out: Console, screen: Screen) -> None:
        for answer in answers:
            _print_answer(out, screen, answer)
            out.print()
        _print_foot(out, screen, answers, environment)

    show(draw, whole=True)


def print_verdicts(answers: Sequence[Answer], environment: str) -> None:
    """Print one table with a row for each query (``feasible`` and ``resolve``)."""
    rows = []
    for answer in answers:
        result = dict(answer["results"][0]) if answer["results"] else {"name": "(no such item)"}
        near = answer.get("suggestions")
        if near:
            result["how"] = f"did you mean {', '.join(near)}?"
        rows.append({"query": answer["query"], **result})

    def draw(out: Console, screen: Screen) -> None:
        _print_results(out, screen, rows, _flags_asked(answers[0]))
        out.print()
        _print_foot(out, screen, answers, environment)

    show(draw, whole=True)


def _flags_asked(answer: Answer) -> set[str]:
    """Columns of flags that belong to what was asked."""
    cap = "nova" if answer.get("max_nova") is not None else None
    return {key for key in (answer.get("diet"), cap) if key is not None}


def _print_foot(out: Console, screen: Screen, answers: Sequence[Answer], environment: str) -> None:
    out.print(Text(screen.text(f"Environment: {environment}", 4096), style="dim"))
    note = next((answer["note"] for answer in answers if "note" in answer), None)
    if note is not None:
        out.print(Text(screen.text(note, 1000), style="yellow"))


def _print_answer(out: Console, screen: Screen, answer: Answer) -> None:
    name, typed = answer["item"], answer["query"]
    asked = [name if typed == name else f"{typed} {screen.glyphs.arrow} {name}"]
    if "target" in answer:
        degrees = "°" if screen.unicode else " degrees"
        asked.append(f"{answer['angle']:g}{degrees} toward {answer['target']}")
    for key, form in (("diet", "{}"), ("max_nova", "NOVA up to {}")):
        if answer.get(key) is not None:
            asked.append(form.format(answer[key]))
    if "dropped" in answer:
        asked.append(f"{answer['dropped']} infeasible dropped")
    out.print(Text(screen.text(f" {screen.glyphs.dot} ".join(asked)), style="bold"))
    if answer.get("without_complements"):
        names = ", ".join(answer["without_complements"])
        told = f"Without complements of their own, but part of the mean: {names}"
        out.print(Text(screen.text(told)))
    if not answer["results"]:
        out.print(Text("  nothing fits"))
        return
    _print_results(out, screen, answer["results"], set())


def _print_results(
    out: Console, screen: Screen, results: Sequence[Answer], asked: set[str]
) -> None:
    """A table with as many columns as the screen has room for.

    Those that answer the query or were asked for are never left out.
    """
    keys = list(dict.fromkeys(key for result in results for key in result))
    keys.sort(key=lambda key: (key not in _ANSWERS, key not in asked))
    least = sum(key in _ANSWERS or key in asked for key in keys)
    print_rows(
        out,
        screen,
        [(_HEADS.get(key, key), key in _NUMBERS or key == "nova") for key in keys],
        [[_cell(key, result.get(key)) for key in keys] for result in results],
        range(len(keys) - 1, least - 1, -1),
    )


def _cell(key: str, value: Any) -> str:
    if key in _NUMBERS:
        return _NUMBERS[key].format(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value)
    if key == "nova" and value is None:
        return "unknown"
    return "" if value is None else str(value)


def print_description(description: Answer) -> None:
    """Print what an environment holds."""

    def draw(out: Console, screen: Screen) -> None:
        _print_head(out, screen, description)
        for key, value in _origin(description["provenance"]):
            out.print(Text(screen.text(f"{key} {value}", 1000)), soft_wrap=True)
        out.print()
        out.print(_counts_table(description, screen))
        out.print(Text(_flags(description)))
        percentiles = [
            f"p{percent} {value:.3f}" for percent, value in description["pair_percentiles"].items()
        ]
        if percentiles:
            out.print(Text(f"similarity of pairs: {', '.join(percentiles)}"))
        out.print(Text(screen.text(description["note"], 1000), style="yellow"))

    show(draw, whole=True)


def print_stored(stored: Answer) -> None:
    """Print what was stored, and where."""

    def draw(out: Console, screen: Screen) -> None:
        _print_head(out, screen, stored)
        out.print(Text(screen.text(f"Stored: {stored['path']}", 4096)), soft_wrap=True)

    show(draw, whole=True)


def print_removed(name: str, path: str) -> None:
    """Print what was removed, and from where."""

    def draw(out: Console, screen: Screen) -> None:
        out.print(Text(screen.text(f"Removed: {name} ({path})", 4096)), soft_wrap=True)

    show(draw)


def _print_head(out: Console, screen: Screen, described: Answer) -> None:
    size = f"{described['items']:,} items, {described['dimensions']} dimensions"
    out.print(Text(screen.text(f"{described['name']}: {size}"), style="bold"))
    out.print(Text(f"identity {described['identity']}"), soft_wrap=True)


def _origin(provenance: Mapping[str, Any]) -> list[tuple[str, str]]:
    told = {"files", "flags", "title"}  # further down, or in prompts
    lines = [(key, str(value)) for key, value in provenance.items() if key not in told]
    for name, file in provenance.get("files", {}).items():
        lines.append(("from", f"{name} ({', '.join(_file_facts(file))})"))
    return lines


def _file_facts(file: Mapping[str, Any]) -> list[str]:
    facts = {key: f"{key} {value}" for key, value in sorted(file.items())}
    if isinstance(file.get("bytes"), int):
        facts["bytes"] = f"{file['bytes']:,} bytes"
    return [*facts.values()]


def _counts_table(description: Answer, screen: Screen) -> Table:
    """Categories beside regions; what takes no part in tasks or has no direction is marked."""
    categories = [
        (name if entry["core"] else f"{name} (not core)", entry["items"])
        for name, entry in description["categories"].items()
    ]
    regions = [
        (name if entry["direction"] else f"{name} (no direction)", entry["items"])
        for name, entry in description["regions"].items()
    ]
    table = plain_table(screen)
    for head in ("category", "items", "region", "items"):
        add_column(table, head, head == "items")
    for at in range(max(len(categories), len(regions))):
        cells = []
        for column in (categories, regions):
            name, count = column[at] if at < len(column) else ("", "")
            cells += [Text(screen.text(name)), Text(f"{count:,}" if count != "" else "")]
        table.add_row(*cells)
    return table


def _flags(description: Answer) -> str:
    diets = [f"{count:,} {diet}" for diet, count in description["diets"].items()]
    levels = [f"{level}: {count:,}" for level, count in description["nova"].items()]
    return f"flags: {', '.join(diets)}; NOVA {', '.join(levels)}"


def print_list(environments: Sequence[Answer], folder: str) -> None:
    """Print the stored environments."""

    def draw(out: Console, screen: Screen) -> None:
        table = plain_table(screen)
        for head in ("name", "items", "dimensions", "identity"):
            add_column(table, head, head in ("items", "dimensions"))
        for entry in environments:
            name = Text(entry["name"] + (" (built in)" if entry["built_in"] else ""))
            if "problem" in entry:
                table.add_row(name, "", "", Text(screen.text(entry["problem"])))
                continue
            numbers = (f"{entry['items']:,}", f"{entry['dimensions']:,}")
            table.add_row(name, *numbers, Text(screen.text(str(entry["identity"])[:16])))
        out.print(table)
        out.print(Text(screen.text(f"Folder: {folder}", 4096), style="dim"), soft_wrap=True)

    show(draw, whole=True)

"""Progress of a collection: bars on a terminal, lines elsewhere, and no word of theirs obeyed."""

from __future__ import annotations

import io
import re
from collections import Counter
from typing import Any

import pytest
from collecting import model, roster
from rich.console import Console

from flavourbench.collect.route_state import RouteState
from flavourbench.report import collecting
from flavourbench.report.collecting import Meter


def state(slot: str, total: int = 100, **more: Any) -> RouteState:
    route = roster(model("http://localhost:1", slot, **more)).routes[0]
    return RouteState(route, 1, None, total, Counter(), iter(()))


def terminal(height: int) -> Console:
    """A terminal that writes into memory, in plain letters."""
    return Console(
        file=io.StringIO(), force_terminal=True, width=120, height=height, color_system=None
    )


def drawn(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())


def test_a_bar_for_every_model() -> None:
    console = terminal(20)
    good, bad = state("good", name="[/red] Herb"), state("bad")
    with Meter(console) as meter:
        meter.look([good, bad])
        good.outcomes.update(answered=40, refused=2)
        good.micro_dollars = 1_250_000
        bad.trouble = "HTTP 503: [bold]busy[/x] \x1b[2J"
        meter.look([good, bad])
        bad.stop("HTTP 401: no [key removed]")
        meter.look([good, bad])
    text = drawn(console)
    for part in ("[/red] Herb", "42/100", "40 valid", "2 invalid", "$1.25", " left"):
        assert part in text, part
    assert "bad waits, HTTP 503: [bold]busy" in text
    assert "stopped: HTTP 401: no [key removed]" in text
    assert "\x1b[2J" not in console.file.getvalue()  # type: ignore[attr-defined]


def test_what_does_not_fit_is_told_together() -> None:
    console = terminal(8)
    many = [state(f"m{n}") for n in range(3000)]
    many[0].outcomes["answered"] = 100
    with Meter(console) as meter:
        meter.look(many)
    rows = set(re.findall(r"(?m)^\r?(\S.*?) {2,}\d+/", drawn(console)))
    assert rows == {"m1", "m2", "m3", "m4", "all 3,000 models"}
    assert "100/300000" in drawn(console)


def test_plain_lines_elsewhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(collecting, "_INTERVAL", 0.0)
    one = state("one")
    with Meter(Console(file=io.StringIO())) as meter:
        meter.look([one])
        one.outcomes.update(answered=9, empty=1)
        meter.look([one])
    first, second = capsys.readouterr().err.splitlines()
    assert first == "fb: 0 of 100 cells, 0 valid, 0 invalid, 0.0/s"
    assert second.startswith("fb: 10 of 100 cells, 9 valid, 1 invalid, ")
    assert second.endswith(" left")

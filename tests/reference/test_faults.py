"""Every fault of a provider, in every dialect, ends in the right outcome and in nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from collecting import BASES, PLANTED, everything, model, outcomes, roster, rows, run, some_tasks
from simulator import Simulator

from flavourbench.collect.collector import Collector
from flavourbench.collect.plan import Job

ALL = tuple(BASES)
CHAT, RESPONSES, ANTHROPIC, GEMINI = ALL
OPENAI = (CHAT, RESPONSES)


@dataclass(frozen=True)
class Case:
    """A behaviour and what becomes of a cell under it.

    ``requests`` is how many are sent for it; ``reason`` a part of the reason; ``flags`` all of
    them.
    """

    behaviour: str
    outcome: str
    reason: str = ""
    requests: int = 1
    flags: str = ""
    dialects: tuple[str, ...] = ALL
    more: tuple[tuple[str, object], ...] = ()


def case(behaviour: str, outcome: str = "answered", reason: str = "", **more: object) -> Case:
    return Case(behaviour, outcome, reason, **more)  # type: ignore[arg-type]


PINNED = (("provider", "Deep-Kitchen"),)
IMPATIENT = (("timeout", 1),)
CASES = [
    case("sim"),
    case("sim+latency:0.05"),
    # --- tried again until it works
    *(case(f"sim+flaky-{what}:1", requests=2) for what in ("429", "408", "409", "425", "500")),
    *(case(f"sim+flaky-{what}:1", requests=2) for what in ("503", "529", "cut", "malformed")),
    *(case(f"sim+flaky-{what}:1", requests=2) for what in ("html", "error-200", "empty-body")),
    # --- tried again until the bound
    case("sim+429", "transport", "HTTP 429", requests=3),
    case("sim+408", "transport", "HTTP 408", requests=3),
    case("sim+409", "transport", "HTTP 409", requests=3),
    case("sim+425", "transport", "HTTP 425", requests=3),
    case("sim+500", "transport", "HTTP 500", requests=3),
    case("sim+503", "transport", "HTTP 503", requests=3),
    case("sim+529", "transport", "HTTP 529", requests=3),
    case("sim+html-502", "transport", "HTTP 502", requests=3),
    case("sim+hang", "transport", "timeout", requests=2, more=IMPATIENT),
    case("sim+hang-body", "transport", "timeout", requests=2, more=IMPATIENT),
    case("sim+drip:0.2", "transport", "timeout", requests=2, more=IMPATIENT),
    case("sim+cut", "transport", "cut", requests=2),
    case("sim+reset", "transport", "cut", requests=2),
    case("sim+cut-headers", "transport", "cut", requests=2),
    case("sim+cut-chunked", "transport", "cut", requests=2),
    case("sim+cut-last-chunk", "transport", "cut", requests=2),
    case("sim+malformed", "transport", "malformed", requests=2),
    case("sim+empty-body", "transport", "malformed", requests=2),
    *(
        case(f"sim+not-object:{kind}", "transport", "malformed", requests=2)
        for kind in ("list", "null", "number", "string", "bool")
    ),
    case("sim+html", "transport", "malformed", requests=2),
    case("sim+error-200", "transport", "error", requests=2, dialects=ALL[:3]),
    case("sim+error-200", "transport", "error", requests=3, dialects=(GEMINI,)),  # with code 503
    case("sim+failed", "transport", "error", requests=2, dialects=(RESPONSES,)),
    case("sim+failed", "transport", "error", requests=3, dialects=(CHAT,)),  # with code 502
    case("sim+huge:9000000", "transport", "too large", requests=2),
    case("sim+bomb", "transport", "too large", requests=2),
    case("sim+deep", "transport", "malformed", requests=2),
    # --- somebody else answered
    case("sim+wrong-model:other-model", "route_mismatch", "other-model"),
    case("sim+fallback:header", "route_mismatch", "fallback"),
    case("sim+fallback:fallback", "route_mismatch", "fallback"),
    case("sim", "route_mismatch", "unstated", dialects=OPENAI, more=PINNED),
    case("sim+provider:Elsewhere", "route_mismatch", "Elsewhere", dialects=(CHAT,), more=PINNED),
    case("sim+provider:DeepKitchen", dialects=(CHAT,), more=PINNED),
    case("sim+no-model", flags="model_unstated"),
    # --- refused, by the provider's own signal alone
    case("sim+refusal", "refused"),
    case("sim+content-filter", "refused"),
    case("sim+filter-400", "refused", "HTTP 400", dialects=OPENAI, flags="estimated"),
    case("sim+sorry", "unparseable", "no_marker"),
    # --- cut short
    case("sim+length", "truncated"),
    case("sim+reasoning-budget", "truncated", "no visible text"),
    case("sim+reasoning-stop", "truncated", "no visible text"),
    # --- nothing said
    case("sim+empty", "empty"),
    case("sim+null-content", "empty"),
    case("sim+no-choices", "empty", dialects=(RESPONSES, ANTHROPIC)),
    case("sim+no-choices", "empty", flags="unknown_finish", dialects=(CHAT, GEMINI)),
    # --- said, and read
    case("sim+prose", "unparseable", "no_marker"),
    case("sim+duplicate", "unparseable"),
    case("sim+thinking"),
    case("sim+think-tags"),
    case("sim+unknown-finish", flags="unknown_finish"),
    case("sim+gzip"),
    case("sim+chunked"),
    case("sim+nul"),
    # --- odd, but an answer
    case("sim+no-usage", flags="estimated"),
    case("sim+odd-usage:list", flags="estimated"),
    case("sim+odd-usage:nothing", flags="estimated"),
    case("sim+odd-usage:negative", flags="estimated"),
    case("sim+odd-usage:string", flags="estimated"),
    case("sim+odd-usage:huge", flags="estimated"),
    case("sim+odd-usage:bool", flags="estimated"),
    case("sim+cost:0.0123", dialects=(CHAT,)),
]
RUNS = [(each, dialect) for each in CASES for dialect in each.dialects]


@dataclass(frozen=True)
class Collected:
    """One collection over all cases."""

    folder: Path
    path: Path
    collector: Collector
    simulator: Simulator
    slots: dict[tuple[Case, str], str]


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collected]:
    folder = tmp_path_factory.mktemp("faults")
    slots = {run_: f"m{number}" for number, run_ in enumerate(RUNS)}
    with pytest.MonkeyPatch.context() as patch, Simulator() as simulator:
        patch.setenv("PLANTED_KEY", PLANTED)
        entries = [
            model(
                simulator.url,
                slot,
                f"{slot}-{each.behaviour}",
                dialect=dialect,
                key_env="PLANTED_KEY",
                **dict(each.more),
            )
            for (each, dialect), slot in slots.items()
        ]
        path = folder / "journal.sqlite"
        collector = run(path, Job(roster(*entries), some_tasks(2)))
        yield Collected(folder, path, collector, simulator, slots)


@pytest.mark.parametrize(
    ("each", "dialect"), RUNS, ids=[f"{dialect} {each.behaviour}" for each, dialect in RUNS]
)
def test_a_fault_ends_in_its_outcome(collected: Collected, each: Case, dialect: str) -> None:
    slot = collected.slots[each, dialect]
    cells = outcomes(collected.path)[slot]
    assert [cell.outcome for cell in cells] == [each.outcome] * 2
    for cell in cells:
        assert each.reason in cell.reason, cell
    kept = rows(
        collected.path,
        "SELECT r.flags, r.outcome FROM block b JOIN cell c ON c.route_id = b.route_id"
        " JOIN attempt a ON a.cell_id = c.id JOIN reading r ON r.attempt_id = a.id"
        " WHERE b.slot = ?",
        slot,
    )
    assert len(kept) == each.requests * 2
    assert sum(outcome is not None for _, outcome in kept) == 2
    ends = {flags for flags, outcome in kept if outcome is not None}
    if each.outcome != "transport":  # what failed states no usage in most forms
        assert ends == {each.flags}
    asked = [seen for seen in collected.simulator.requests if seen.model.startswith(f"{slot}-")]
    assert len(asked) == each.requests * 2


def test_no_route_was_given_up(collected: Collected) -> None:
    assert [s.stopped for s in collected.collector.states] == [None] * len(RUNS)


def test_the_key_is_sent_and_found_nowhere_else(collected: Collected) -> None:
    sent = [
        seen.headers.get("authorization", "")
        + seen.headers.get("x-api-key", "")
        + seen.headers.get("x-goog-api-key", "")
        for seen in collected.simulator.requests
    ]
    assert len(sent) > 400
    assert {value.removeprefix("Bearer ") for value in sent} == {PLANTED}
    assert all(PLANTED not in seen.target + seen.prompt for seen in collected.simulator.requests)
    assert PLANTED.encode() not in everything(collected.folder)

"""Both parsers against a second, hand-scanned implementation, and against the clock."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from random import Random

import handscanned
import pytest
from answers import HOSTILE, NAMES, any_answer, near, valid

from flavourbench.tasks.labels import PORTFOLIO_INDEX
from flavourbench.tasks.parsing import PARSERS, REASONS, Parsed

TWINS = {"fb-1": handscanned.fb1, "published-v3": handscanned.published}
MEBIBYTE = 1 << 20
each_parser = pytest.mark.parametrize("parser", PARSERS)
each_shape = pytest.mark.parametrize("shape", HOSTILE)


def agreed(parser: str, text: str) -> Parsed:
    """The verdict of both implementations."""
    found = PARSERS[parser](text, NAMES)
    assert (found.selection, found.reason) == TWINS[parser](text, NAMES), repr(text[:300])
    assert (found.selection is None) != (found.reason is None)
    assert found.reason is None or found.reason in REASONS
    assert found.selection is None or found.selection in PORTFOLIO_INDEX
    return found


@each_parser
def test_both_implementations_agree(parser: str) -> None:
    random = Random(20260901)
    said = Counter(agreed(parser, any_answer(random)) for _ in range(20_000))
    # The answers are of every kind: each reason and each selection occurs often.
    silent = {"reasoning_unclosed", "separator", "trailing_text", "name_mismatch"}
    reasons = set(REASONS) - (silent if parser == "published-v3" else set())
    assert {verdict.reason for verdict in said} == reasons | {None}
    assert min(said[Parsed(None, reason)] for reason in reasons) >= 20
    assert {verdict.selection for verdict in said} == {*PORTFOLIO_INDEX, None}


@each_parser
def test_both_agree_on_every_character(parser: str) -> None:
    """All that is cleaned away, mapped, blank or like a letter lies in these ranges."""
    for code in (*range(0x2100), *range(0x3000, 0x3100), *range(0xFE00, 0x10000)):
        c = chr(code)
        agreed(parser, f"{c}FINAL_SELECTION: A, C, F")
        agreed(parser, f"FINAL{c}SELECTION{c}: A, C, F")
        agreed(parser, f"FINAL_SELECTION:{c}A,{c} C, F{c}")


def test_valid_answers_are_valid() -> None:
    random = Random(20260902)
    for _ in range(5_000):
        text, selection = valid(random)
        assert PARSERS["fb-1"](text, NAMES) == Parsed(selection, None), text


@each_parser
@each_shape
def test_both_agree_on_hostile_texts(parser: str, shape: str) -> None:
    for size in (40, 999, 1030, 20_000):
        agreed(parser, HOSTILE[shape](size))


@each_parser
def test_both_agree_on_a_mebibyte(parser: str) -> None:
    random = Random(20260903)
    answers: list[str] = []
    while sum(map(len, answers)) < MEBIBYTE // 4:
        answers.append(near(random))
    # So many lists are ambiguous to fb-1 already; the first ones alone are not many.
    assert agreed(parser, "\n".join(answers)).reason == "ambiguous"
    agreed(parser, HOSTILE["marker, blanks in the list"](MEBIBYTE))


def test_an_endless_list_of_lists_is_ambiguous() -> None:
    lists = [f"FINAL_SELECTION: A, {n}" for n in range(2001)]
    last = "FINAL_SELECTION: A, C, F"
    for text in ("\n".join(lists), "\n".join([last, *lists[1:]])):
        assert agreed("fb-1", text) == Parsed(None, "ambiguous")
    # One fewer, and each is judged.
    assert agreed("fb-1", "\n".join(lists[1:])) == Parsed(None, "unknown_label")
    assert agreed("fb-1", "\n".join([last, *lists[2:]])) == Parsed("ACF", None)
    # What holds no comma is no list.
    assert agreed("fb-1", "\n".join([*lists, last]).replace(", ", " ", 2001)).reason is None


# --- time ----------------------------------------------------------------------------------


def seconds(run: Callable[[], object]) -> float:
    """Processor time of one run: other processes do not count."""
    start = time.thread_time()
    run()
    return time.thread_time() - start


def best(run: Callable[[], object], enough: float) -> float:
    """Best time of many runs, or of fewer where one is quick enough."""
    times = [seconds(run)]
    while min(times) > enough and len(times) < 40:
        times.append(seconds(run))
    return min(times)


@each_parser
@each_shape
def test_time_is_linear(parser: str, shape: str) -> None:
    parse = PARSERS[parser]
    small, large = (HOSTILE[shape](size) for size in (MEBIBYTE // 8, MEBIBYTE // 4))
    single = double = float("inf")
    for tries in range(40):
        single = min(single, seconds(lambda: parse(small, NAMES)))
        double = min(double, seconds(lambda: parse(large, NAMES)))
        # Fixed costs and the clock: half a millisecond is quick enough.
        if tries >= 4 and double <= max(2.6 * single, 5e-4):
            return
    raise AssertionError(f"{single * 1e3:.2f} ms, and {double * 1e3:.2f} ms for twice the text")


@each_shape
def test_a_mebibyte_takes_less_than_50_ms(shape: str) -> None:
    # In bytes: some shapes are not ASCII.
    size = MEBIBYTE**2 // len(HOSTILE[shape](MEBIBYTE).encode())
    text = HOSTILE[shape](size)
    assert 0.99 * MEBIBYTE < len(text.encode()) < 1.01 * MEBIBYTE
    assert best(lambda: PARSERS["fb-1"](text, NAMES), 0.05) <= 0.05


def test_a_short_answer_takes_less_than_2500_ns() -> None:
    parse, text = PARSERS["fb-1"], "Some words.\nFINAL_SELECTION: A, C, F"

    def thousand() -> None:
        for _ in range(1000):
            parse(text, NAMES)

    assert best(thousand, 2.5e-3) <= 2.5e-3

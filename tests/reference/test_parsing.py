"""What the two parsers say of an answer: every row of their rules, side by side.

Each case has the text, the verdict of ``fb-1`` and that of ``published-v3``; three letters are a
selection, anything else is a reason.
"""

from __future__ import annotations

from itertools import permutations

import pytest
from answers import NAMES

from flavourbench.errors import InputError
from flavourbench.tasks.labels import LABELS, PORTFOLIO_INDEX, PORTFOLIOS, normalised
from flavourbench.tasks.parsing import PARSERS, REASONS, Parsed, parse, parser_named

M = "FINAL_SELECTION:"
AND = "half and half"


def verdict(text: str, parser: str) -> str:
    found = parse(text, NAMES, parser)
    assert (found.selection is None) != (found.reason is None)
    return found.selection or found.reason or ""


def check(text: str, ours: str, published: str) -> None:
    assert (verdict(text, "fb-1"), verdict(text, "published-v3")) == (ours, published), text


def cases(*rows: tuple[str, str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("text", "ours", "published"), rows, ids=[r[0] for r in rows])


@pytest.mark.parametrize("comma", [",", ", ", " , ", " ,\t"])
@pytest.mark.parametrize("parser", PARSERS)
def test_three_labels_in_any_order_and_case(parser: str, comma: str) -> None:
    for three in permutations(LABELS, 3):
        for letters in (three, [letter.lower() for letter in three]):
            text = f"Some words.\n{M} {comma.join(letters)}"
            assert verdict(text, parser) == "".join(sorted(three))


@cases(
    (f"{M} A, C, F", "ACF", "ACF"),
    (f"**{M} A, C, F**", "ACF", "ACF"),
    (f"{M} **A, C, F**", "ACF", "unknown_label"),
    (f"**{M}** A, C, F", "ACF", "unknown_label"),
    (f"{M} **A**, **C**, **F**", "ACF", "unknown_label"),
    (f"{M} __A__, _C_ and __F__", "ACF", "count"),
    (f"{M} _A. basil_, _B. rice_milk_, and _C. mint_", "ABC", "unknown_label"),
    (f"{M} `A, C, F`", "ACF", "unknown_label"),
    (f"`{M} A, C, F`", "ACF", "ACF"),
    (f"__{M} A, C, F__", "ACF", "ACF"),
    (f"{M} A, C, F \t", "ACF", "ACF"),
    (f"{M} _*basil, rice milk, mint*_", "ABC", "ABC"),
    (f"```\n{M} A, C, F\n```", "ACF", "ACF"),
    (f"```text\n{M} A, C, F\n```\nDone.", "ACF", "ACF"),
    (f"{M}\n```\nA, C, F\n```", "ACF", "count"),
)
def test_emphasis_and_code(text: str, ours: str, published: str) -> None:
    check(text, ours, published)


@cases(
    (f"{M} A, C, F.", "ACF", "unknown_label"),
    (f"{M} A, C, F..", "trailing_text", "unknown_label"),
    (f"{M} A, C, F</s>", "ACF", "unknown_label"),
    (f"{M} A, C, F<|im_end|>", "ACF", "unknown_label"),
    (f"{M} A, C, F <|eot_id|>", "ACF", "unknown_label"),
    (f"{M} A, C, F<end_of_turn>", "ACF", "unknown_label"),
    (f"{M} A, C, F<|close|>", "ACF", "unknown_label"),
    (f"{M} A, C, F<|close|>response", "ACF", "ACF"),
    (f"{M} A, C, F**<|close|>response", "ACF", "ACF"),
    (f"{M} A, C, F<|close|>two words", "trailing_text", "unknown_label"),
    (f"{M} A, C, F.<|im_end|> </s>", "ACF", "unknown_label"),
    (f"{M} A, C, F<|endoftext|>", "trailing_text", "unknown_label"),
)
def test_full_stops_and_close_tokens(text: str, ours: str, published: str) -> None:
    check(text, ours, published)


@cases(
    (f"{M} A, C and F", "ACF", "count"),
    (f"{M} A, C, and F", "ACF", "unknown_label"),
    (f"{M} A, C & F", "ACF", "count"),
    (f"{M} A, C, & F", "ACF", "unknown_label"),
    (f"{M} a,c AND f", "ACF", "count"),
    (f"{M} A and C, F", "separator", "count"),
    (f"{M} basil, mint and thyme", "ACF", "count"),
    (f"{M} basil, {AND} and thyme", "ADF", "count"),
    (f"{M} basil, thyme and {AND}", "ADF", "count"),
    (f"{M} basil, thyme, and {AND}", "ADF", "unknown_label"),
    (f"{M} basil, {AND}", "count", "count"),
    (f"{M} {AND}, {AND} and {AND}", "duplicate", "count"),
    (f"{M} basil, half and mint", "unknown_label", "count"),
)
def test_a_word_as_the_last_separator(text: str, ours: str, published: str) -> None:
    check(text, ours, published)


@pytest.mark.parametrize(
    "wrapper",
    ["[*]", "(*)", "{*}", '"*"', "'*'", "“*”", "‘*’", "$*$", "\\boxed{*}", "\\text{*}", "[ * ]"],
)
def test_one_wrapper(wrapper: str) -> None:
    start, end = wrapper.split("*")
    for inner in ("A, C, F", "A, C and F.", "basil, mint, thyme", "A. basil, C. mint, F. thyme"):
        check(f"{M} {start}{inner}{end}", "ACF", "count" if "and" in inner else "unknown_label")
    check(f"{M} {start}A, C, F{end}.</s>", "ACF", "unknown_label")
    check(f"{M} {start}{start}A, C, F{end}{end}", "unknown_label", "unknown_label")
    check(f"{M} {start}A, C, F", "unknown_label", "unknown_label")


@cases(
    (f"{M} [A, C, F)", "unknown_label", "unknown_label"),
    (f"{M} ”A, C, F“", "unknown_label", "unknown_label"),
    (f"{M} $\\boxed{{A, C, F}}$", "unknown_label", "unknown_label"),
    (f"{M} [A], [C], [F]", "unknown_label", "unknown_label"),
    (f"{M} [A, C, F.].", "trailing_text", "unknown_label"),
    (f"{M} [_A, C, F_]", "ACF", "unknown_label"),
    (f"{M} []", "count", "count"),
    (f'{M} "', "unknown_label", "count"),
)
def test_wrappers_that_do_not_fit(text: str, ours: str, published: str) -> None:
    check(text, ours, published)


@cases(
    (f"{M} basil, rice milk, mint", "ABC", "ABC"),
    (f"{M} mint, Basil, RICE_MILK", "ABC", "ABC"),
    (f"{M} basil, rice   milk, Crème Fraîche", "ABE", "ABE"),
    (f"{M} **basil, rice milk, mint**", "ABC", "ABC"),
    (f"{M} **basil**, **rice milk**, **mint**", "ABC", "unknown_label"),
    (f"{M} basil, rice milks, mint", "unknown_label", "unknown_label"),
    (f"{M} basil, ricemilk, mint", "unknown_label", "unknown_label"),
    (f"{M} basil, basil, mint", "duplicate", "duplicate"),
    (f"{M} basil, mint", "count", "count"),
    (f"{M} basil, B, mint", "unknown_label", "unknown_label"),
    (f"{M} A. basil, C. mint, F. thyme", "ACF", "unknown_label"),
    (f"{M} f. Thyme, A. basil, and c. mint", "ACF", "unknown_label"),
    (f"{M} A. basil, C. mint, F. squid", "name_mismatch", "unknown_label"),
    (f"{M} A. basil, C. mint, F. anything", "name_mismatch", "unknown_label"),
    (f"{M} A. basil, A. basil, F. thyme", "duplicate", "unknown_label"),
    (f"{M} A. basil, C. mint", "count", "count"),
    (f"{M} A. basil, C, F", "unknown_label", "unknown_label"),
    (f"{M} A, C, F (basil, mint, thyme)", "ACF", "count"),
    (f"{M} F, A and C (thyme, basil and mint)", "ACF", "unknown_label"),
    (f"{M} (A, C, F (basil, mint, thyme))", "ACF", "count"),
    (f"{M} A, C, F (mint, basil, thyme)", "name_mismatch", "count"),
    (f"{M} A, C, F (basil, mint, salt)", "name_mismatch", "count"),
    (f"{M} A, C, C (basil, mint, thyme)", "duplicate", "count"),
    (f"{M} A, C, F (basil, mint)", "trailing_text", "count"),
)
def test_names(text: str, ours: str, published: str) -> None:
    check(text, ours, published)


@cases(
    (f"{M} A, C, F\n{M} F, C, A", "ACF", "ACF"),
    (f"{M} A, C, F\n{M} A, C, G", "ambiguous", "ambiguous"),
    (f"{M} A, C, F\n{M} A, C, G\n{M} A, C, F", "ambiguous", "ambiguous"),
    (f"{M} A, C\n{M} A, C, F", "ACF", "ACF"),
    (f"{M} A, C, F\nor rather\n{M} basil, mint, thyme", "ACF", "ACF"),
    (f"{M} A, C, F\n{M}", "ACF", "ACF"),
    (f"{M}\n{M} A, C, F", "ACF", "ACF"),
    (f"{M} A, C, C\n{M} A, C", "count", "count"),
    (f"{M} A, C\n{M} A, C, C", "duplicate", "duplicate"),
)
def test_several_marker_lines(text: str, ours: str, published: str) -> None:
    check(text, ours, published)


@cases(
    (f"{M} A, C, F because they fit", "trailing_text", "unknown_label"),
    (f"{M} A, C, F, since they fit", "trailing_text", "count"),
    (f"{M} A, C, F (my choice)", "trailing_text", "unknown_label"),
    (f"{M} A, C and F - basil", "trailing_text", "count"),
    (f"{M} A, C, Fennel", "unknown_label", "unknown_label"),
    (f"{M} A, C, C because", "unknown_label", "unknown_label"),
    (f"{M} I choose A, C, F", "unknown_label", "unknown_label"),
    (f"{M} A C F", "separator", "count"),
    (f"{M} ACF", "separator", "count"),
    (f"{M} acf", "separator", "count"),
    (f"{M} A/C/F", "separator", "count"),
    (f"{M} A;C;F", "separator", "count"),
    (f"{M} A, C F", "separator", "count"),
    (f"{M} A-C-F", "separator", "count"),
    (f"{M} A | C | F", "separator", "count"),
    (f"{M} A and C and F", "separator", "count"),
    (f"{M} A, C, F,", "separator", "count"),
    (f"{M} A", "count", "count"),
    (f"{M} AC", "count", "count"),
    (f"{M} A, C", "count", "count"),
    (f"{M} A, C, F, G", "count", "count"),
    (f"{M} A, C, F and G", "count", "unknown_label"),
    (f"{M}", "count", "count"),
    (f"{M} **", "count", "count"),
    (f"{M} ,,", "count", "unknown_label"),
    (f"{M} A, C, A", "duplicate", "duplicate"),
    (f"{M} A, C and c", "duplicate", "count"),
    (f"{M} A, C, I", "unknown_label", "unknown_label"),
    (f"{M} A, C, F, I", "unknown_label", "count"),
    (f"{M} 1, 3, 6", "unknown_label", "unknown_label"),
    (f"{M} \u0391, C, F", "unknown_label", "unknown_label"),  # Greek
    (f"{M} \u0410, C, F", "unknown_label", "unknown_label"),  # Cyrillic
)
def test_reasons(text: str, ours: str, published: str) -> None:
    check(text, ours, published)


@pytest.mark.parametrize(
    ("line", "published"),
    [
        ("FINAL_SELECTION: A, C, F", "ACF"),
        ("final_selection : A, C, F", "ACF"),
        ("FINALSELECTION: A, C, F", "no_marker"),
        ("Final Selection: A, C, F", "no_marker"),
        ("FINAL\\_SELECTION: A, C, F", "no_marker"),
        ("- FINAL_SELECTION: A, C, F", "ACF"),
        ("> 12) **FINAL_SELECTION: A, C, F", "ACF"),
        ("\u2022 1. `FINAL_SELECTION: A, C, F`", "ACF"),
        ("## _FINAL_SELECTION_: A, C, F", "no_marker"),
        ("FINAL_SELECTION:A, C, F", "ACF"),
        ("FINAL_SELECTION:\n\nA, C, F", "ACF"),
        ("FINAL_SELECTION: **\n**A, C, F", "count"),
        ("FINAL\u200b_SELECTION\u202e: A, C, F", "no_marker"),
        ("FINAL_SELECTION：A、C，F", "no_marker"),
        ("FINAL_SELECTION:\u00a0A,\u00a0C,\u00a0F", "ACF"),
        ("ＦINAL_ＳelectioN: Ａ, ｃ, F", "no_marker"),
        ("FINAL_SELECTION: A, C, F\u200b\ufe0f", "unknown_label"),
    ],
)
@pytest.mark.parametrize("line_break", ["\n", "\r", "\r\n", "\x85", "\u2028", "\u2029"])
def test_marker_lines(line: str, published: str, line_break: str) -> None:
    check(f"Words.{line_break}{line}{line_break}More words.", "ACF", published)


@cases(
    (f"I say {M} A, C, F", "no_marker", "ACF"),
    (f'{{"{M[:-1]}": "A, C, F"}}', "no_marker", "no_marker"),
    (f'"{M} A, C, F"', "no_marker", "unknown_label"),
    (f"1234. {M} A, C, F", "no_marker", "ACF"),
    (f"1. 2. {M} A, C, F", "no_marker", "ACF"),
    ("FINAL-SELECTION: A, C, F", "no_marker", "no_marker"),
    ("FINAL__SELECTION: A, C, F", "no_marker", "no_marker"),
    ("FINAL_SELECTION A, C, F", "no_marker", "no_marker"),
    ("F\u0131NAL_\u017fELECTION: A, C, F", "no_marker", "no_marker"),
    ("\\boxed{A, C, F}", "no_marker", "no_marker"),
    ("basil, mint, thyme", "no_marker", "no_marker"),
    ("A, C, F", "no_marker", "no_marker"),
    (f"a\v{M} A, C, F", "no_marker", "ACF"),
    ("", "empty", "empty"),
    (" \n\t\u3000", "empty", "empty"),
    ("\u200b\ufeff", "empty", "no_marker"),
)
def test_no_marker_or_no_text(text: str, ours: str, published: str) -> None:
    check(text, ours, published)


@cases(
    (f"<think>{M} A, B, C\n</think>{M} A, C, F", "ACF", "ambiguous"),
    (f"<think>\n{M} A, B, C\n</think>", "empty", "ABC"),
    (f"A, B?\n</think>\n\n{M} A, C, F", "ACF", "ACF"),
    (f"<think>a</think>\n<think>b</think>\n{M} A, C, F", "ACF", "ACF"),
    (f"<think>\n{M} A, C, F", "reasoning_unclosed", "ACF"),
    (f"<think>a</think>\n{M} A, C, F\n<think>", "reasoning_unclosed", "ACF"),
    (f"<thi\u200bnk>\n{M} A, C, F", "reasoning_unclosed", "ACF"),
    (f"<THINK>\n{M} A, C, F", "ACF", "ACF"),
    ("<think>", "reasoning_unclosed", "no_marker"),
)
def test_reasoning(text: str, ours: str, published: str) -> None:
    check(text, ours, published)


@cases(
    (f"{M} A,{' ' * 5000}C, F", "ACF", "ACF"),
    (f"{M} {'*' * 5000}A, C, F", "ACF", "unknown_label"),
    (f"{M} A, C, F {'x' * 5000}", "trailing_text", "unknown_label"),
    (f"{M} A, C, F{', A' * 5000}", "count", "count"),
    (f"{M} basil, mint, thyme{'_' * 5000}x", "trailing_text", "unknown_label"),
    (f"{M} basil, {'_' * 5000}mint, thyme", "unknown_label", "ACF"),
    (f"{M} basil, {'_' * 982}mint, thyme", "ACF", "ACF"),
    (f"{M} basil, {'_' * 983}mint, thyme", "unknown_label", "ACF"),
)
def test_long_payloads_are_judged_by_their_beginning(text: str, ours: str, published: str) -> None:
    check(text, ours, published)


def test_names_with_two_ands_are_not_told_apart() -> None:
    choices = ["salt_and_oil_and_rice", "lime_and_egg", "tofu", *NAMES[3:]]
    for text, expected in (
        (f"{M} tofu, lime and egg and half and half", Parsed("BCD", None)),
        (f"{M} tofu, salt and oil and rice and lime and egg", Parsed(None, "unknown_label")),
        (f"{M} tofu, salt and oil and rice, and lime and egg", Parsed("ABC", None)),
    ):
        assert parse(text, choices) == expected


def test_candidates_are_compared_by_words() -> None:
    assert {normalised(name) for name in ("rice_milk", "Rice  Milk", " RICE\tMILK_")} == {
        "rice milk"
    }
    assert normalised("ricemilk") != normalised("rice_milk")


def test_portfolios_are_in_lexicographic_order() -> None:
    assert len(PORTFOLIOS) == 56
    assert PORTFOLIOS[:3] == ("ABC", "ABD", "ABE")
    assert PORTFOLIOS[-1] == "FGH"
    assert list(PORTFOLIOS) == sorted(set(PORTFOLIOS))
    assert [PORTFOLIO_INDEX[three] for three in PORTFOLIOS] == list(range(56))


def test_an_unknown_parser_is_refused() -> None:
    with pytest.raises(InputError, match=r"unknown parser 'fb-2': use one of fb-1, published-v3"):
        parser_named("fb-2")
    with pytest.raises(InputError, match="unknown parser"):
        parse("", NAMES, "")


def test_verdicts_are_values() -> None:
    assert parse(f"{M} A, C, F", NAMES) == Parsed("ACF", None)
    assert parse("", NAMES) == Parsed(None, "empty")
    assert len(set(REASONS)) == len(REASONS) == 10

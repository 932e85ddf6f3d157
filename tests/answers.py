"""Answers to read, made up: valid in every allowed form, broken, hostile, of any script.

All are functions of a random generator, so a seed gives the same answers everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

NAMES = ("basil", "rice_milk", "mint", "half_and_half", "crème_fraîche", "thyme", "okra", "squid")
LETTERS = "ABCDEFGH"

#: Bits that mean something to one of the parsers, those that only look so, and words.
MARKERS = (
    *("FINAL_SELECTION:", "FINAL_SELECTION :", "final_selection:", "FINALSELECTION:"),
    *("FINAL SELECTION:", "FINAL\\_SELECTION:", "**FINAL_SELECTION:**", "`FINAL_SELECTION`:"),
    *("FINAL_SELECTION：", "ＦＩＮＡＬ＿SELECTION:", "FINAL\u200b_SELECTION:", "ＦINAL_SELECTION:"),
    *(
        "1. FINAL_SELECTION:",
        "> - 12) FINAL_SELECTION:",
        "### FINAL_SELECTION:",
        "F\u0131NAL_SELECTION:",
    ),
    *('"FINAL_SELECTION":', "the FINAL_SELECTION:", "1234. FINAL_SELECTION:", "FINAL_SELECTION"),
    *(
        "1. 2. FINAL_SELECTION:",
        "FINAL__SELECTION:",
        "FINAL_\u017fELECTION:",
        "_FINAL_SELECTION_ :",
        "FINAL  SELECTION:",
        "\u2022 Final Selection:",
    ),
)
BREAKS = ("\n", "\r", "\r\n", "\x85", "\u2028", "\u2029", "\v", "\f", "\x1c", "\n\n", "\n```\n")
BLANKS = (" ", "  ", "\t", "\u00a0", "\u3000", "\u2003", "\x1f", "\u200b", "\u202e", "\ufeff", "")
JOINTS = (
    ",",
    ", ",
    " , ",
    "，",
    "、",
    " ",
    "",
    "/",
    ";",
    " and ",
    ", and ",
    " & ",
    ", & ",
    "-",
    "|",
)
CLOSERS = ("</s>", "<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|close|>", "<|close|>response")
WRAPPERS = (
    *(("[", "]"), ("(", ")"), ("{", "}"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’")),
    *(("$", "$"), ("\\boxed{", "}"), ("\\text{", "}"), ("**", "**"), ("`", "`"), ("_", "_")),
)
WORDS = (
    *("I", "because", "since", "my choice", "Α", "А", "É", "1", "and", "&", ".", ":", "\\", "$"),
    *("<think>", "</think>", "<", ">", "\ud800", "\udfff", "👍🏽", "\u0301", "'s", "_", "*", "AND"),
)  # fmt: skip


def labels(random: Random, count: int = 3) -> list[str]:
    return random.sample(LETTERS, count)


def shown(name: str, random: Random) -> str:
    """A candidate as a model may write it."""
    name = name.replace("_", " ") if random.random() < 0.8 else name
    return random.choice((name, name, name.title(), name.upper()))


def listed(pieces: Sequence[str], random: Random) -> str:
    joint = random.choice((", ", ",", " , ", "，", "、"))
    last = random.choice((joint, joint, ", and ", ", & ", " and ", " & ", " And "))
    return joint.join(pieces[:-1]) + last + pieces[-1]


def valid(random: Random) -> tuple[str, str]:
    """A valid answer to fb-1, and its selection."""
    chosen = labels(random)
    names = [shown(NAMES[LETTERS.index(label)], random) for label in chosen]
    cased = [random.choice((label, label, label.lower())) for label in chosen]
    form = random.randrange(4)
    if form == 0:
        payload = listed(cased, random)
    elif form == 1:
        payload = listed(names, random)
    elif form == 2:
        payload = listed([f"{a}. {b}" for a, b in zip(cased, names, strict=True)], random)
    else:
        payload = f"{listed(cased, random)} ({listed(names, random)})"
    if random.random() < 0.4:
        start, end = random.choice(WRAPPERS)
        payload = random.choice((f"{start}{payload}{end}", f"{start}{payload}.{end}"))
    if random.random() < 0.2 and "." not in payload[-3:]:
        payload += "."
    if random.random() < 0.2:
        payload += "".join(random.choices(CLOSERS, k=random.randrange(1, 3)))
    lead = random.choice(("", "Words first.\n", "<think>\nA, B, C?\n</think>", "```\n", "\u200b\r"))
    marker = random.choice(MARKERS[:9] + MARKERS[10:15])
    gap = random.choice((" ", "", "\n", "\n\n```\n", "\u00a0", "\t", " **\r\n"))
    after = random.choice(("", "\n", "\n```", "\nGood luck!"))
    return f"{lead}{marker}{gap}{payload}{after}", "".join(sorted(chosen))


def soup(random: Random) -> str:
    """Bits in any order, payloads behind markers more often than not."""
    kinds: tuple[Sequence[str], ...] = (LETTERS, LETTERS, NAMES, JOINTS, BLANKS, WORDS, CLOSERS)
    out = []
    for _ in range(random.choice((1, 1, 2, 3))):
        out.append(random.choice(("", "", "Some words. ", random.choice(WORDS))))
        out.append(random.choice(MARKERS) + random.choice(BLANKS))
        for _ in range(random.randrange(7)):
            out.append(random.choice(random.choice(kinds)))
            out.append(random.choice(JOINTS) if random.random() < 0.5 else "")
        out.append(random.choice(BREAKS))
    return "".join(out)


def near(random: Random) -> str:
    """Payloads of the right shape, nearly: other counts, repeats, mixed forms, words behind."""
    count = random.choice((0, 1, 2, 3, 3, 3, 4, 6))
    chosen = random.choices(LETTERS + "I" * (random.random() < 0.2), k=count)
    pieces = [
        random.choice((c, c.lower(), f"{c}. {random.choice(NAMES)}", random.choice(NAMES)))
        if random.random() < 0.1
        else c
        for c in chosen
    ]
    payload = random.choice((*JOINTS, *[", "] * 10)).join(pieces)
    if random.random() < 0.3:
        inside = ", ".join(random.choices(NAMES, k=random.choice((2, 3, 3, 3))))
        payload += random.choice((f" ({inside})", f"({inside}", f" [{inside}]", f" ({inside}))"))
    if random.random() < 0.2:
        start, end = random.choice(WRAPPERS)
        payload = random.choice((f"{start}_{payload}_{end}", f"{start}{payload}.{end}"))
    payload += random.choice(("", "", " because of taste", ", since", " - basil", ".", ".."))
    return f"{random.choice(MARKERS[:4])} {payload}"


def mutated(random: Random) -> str:
    """A valid answer with a few characters deleted, doubled, swapped or replaced."""
    text, _ = valid(random)
    chars = list(text)
    alphabet = [
        "A",
        ",",
        " ",
        "*",
        "_",
        ".",
        ":",
        "\n",
        "\r",
        ")",
        "(",
        "<",
        "1",
        "\u200f",
        "Ａ",
        "f",
    ]
    for _ in range(random.choice((1, 1, 2, 5))):
        at = random.randrange(len(chars))
        match random.randrange(4):
            case 0:
                chars[at] = ""
            case 1:
                chars[at] *= 2
            case 2:
                other = random.randrange(len(chars))
                chars[at], chars[other] = chars[other], chars[at]
            case _:
                chars[at] = random.choice(alphabet)
    return "".join(chars)


def noise(random: Random) -> str:
    """Characters of any plane, a marker among them at times; or nothing but white space."""
    if random.random() < 0.1:
        return "".join(random.choices(BLANKS + BREAKS[:-1], k=random.randrange(9)))
    top = random.choice((0x80, 0x100, 0x3100, 0x110000))
    chars = [chr(random.randrange(top)) for _ in range(random.randrange(60))]
    if random.random() < 0.5:
        chars.insert(random.randrange(len(chars) + 1), "\nFINAL_SELECTION: A, B, ")
    return "".join(chars)


def plain(random: Random) -> str:
    """What both parsers take, mostly."""
    end = random.choice(("", "", "", "**", "_`", " ", "\t", " _", *CLOSERS, "**<|close|>response"))
    return f"{random.choice(MARKERS[:3])} {', '.join(labels(random))}{end}"


def several(random: Random) -> str:
    """Two or three answers in one."""
    kinds = random.choices((plain, near, any_answer), k=random.choice((2, 2, 3)))
    return "\n".join(kind(random) for kind in kinds)


def any_answer(random: Random) -> str:
    """An answer of any kind."""
    kinds = (soup, soup, near, near, mutated, mutated, noise, several, lambda r: valid(r)[0])
    return random.choice(kinds)(random)


def _filled(unit: str, start: str = "", end: str = "") -> Callable[[int], str]:
    """Texts of about so many characters: ``unit`` over and over, between ``start`` and ``end``."""
    return lambda size: start + unit * ((size - len(start) - len(end)) // len(unit)) + end


def _numbered(pattern: str) -> Callable[[int], str]:
    """As many different lines as fit."""
    return lambda size: "".join(
        pattern.format(n) for n in range(size // len(pattern.format(99999)))
    )


def _nested(size: int) -> str:
    depth = (size - 24) // 2
    return "FINAL_SELECTION: " + "[" * depth + "A, C, F" + "]" * depth


_MARK = "FINAL_SELECTION:"
#: Texts by size that a careless pattern takes quadratic time for.
HOSTILE: dict[str, Callable[[int], str]] = {
    "blanks": _filled(" "),
    "stars": _filled("*"),
    "back-ticks": _filled("`"),
    "quotes": _filled(">"),
    "blank lines": _filled("\n"),
    "blank lines of blanks": _filled(" \n"),
    "carriage returns": _filled("\r"),
    "digits": _filled("1"),
    "list signs": _filled("1. "),
    "numbered lines": _filled("1.\n"),
    "bullets": _filled("- * + "),
    "one giant line": _filled("x"),
    "prose": _filled("Some words, and a few more of them.\n"),
    "letters of the marker": _filled("FINAL_"),
    "markers in one line": _filled("FINALSELECTION:"),
    "markers with blanks in one line": _filled(f"{_MARK} "),
    "markers without colon": _filled("FINAL_SELECTION "),
    "marker without colon, then blanks": _filled(" ", "FINAL_SELECTION"),
    "empty marker lines": _filled("FINALSELECTION:\n"),
    "empty marker lines, blanks between": _filled(f"{_MARK} \n\n\n\n* \n"),
    "the same valid line": _filled(f"{_MARK} A, C, F\n"),
    "different invalid lines": _numbered(_MARK + "{0:x}\n"),
    "different invalid lists": _numbered(_MARK + "A,{0:x}\n"),
    "different lists of names": _numbered(_MARK + "basil,mint,{0:x}\n"),
    # Just not too many to be judged, and each as slow as it gets.
    "long lists of names": _numbered(f"{_MARK} basil, {'half and ' * 3}{'x' * 470} {{0:x}}\n"),
    "long labelled names": _numbered(
        f"{_MARK} A, C, F (basil, mint, and {'half and ' * 3}{'x' * 470} {{0:x}})\n"
    ),
    "marker, then blanks": _filled(" ", _MARK),
    "marker, then blank lines": _filled("\n", _MARK),
    "marker, then stars": _filled("*", _MARK),
    "marker, blanks in the list": _filled(" ", f"{_MARK} A,", "C, F"),
    "marker, then commas": _filled(",", _MARK),
    "marker, then labels": _filled("A, ", _MARK),
    "marker, then letters": _filled("A", _MARK),
    "marker, then ands": _filled(" and", f"{_MARK} basil, half"),
    "marker, then close tokens": _filled("</s> ", f"{_MARK} A, C, F "),
    "marker, then full stops": _filled(".", f"{_MARK} A, C, F"),
    "marker, then underscores": _filled("_ ", f"{_MARK} A, C, F"),
    "marker, then brackets": _filled("(", f"{_MARK} A, C, F ", ")"),
    "lists of ands": _filled(f"{_MARK} basil, {'half and ' * 100}\n"),
    "long lists": _filled(f"{_MARK} {'basil, ' * 140}\n"),
    "nested wrappers": _nested,
    "unclosed reasoning": _filled("hm, ", "<think>"),
    "many reasonings": _filled("<think>\n</think>\n"),
    "openings of tags": _filled("</think"),
    "zero-width": _filled("\u200b"),
    "zero-width between letters": _filled("x\u200b"),
    "full-width": _filled("Ａx"),
    "full-width marker lines": _filled("ＦＩＮＡＬSELECTION：\u2028"),
    "one accent": _filled("x", "é"),
    "no-break spaces": _filled("\u00a0"),
    "all invisible": _filled("\u00ad\u200b\u200e\u202a\u2060\u2066\ufe0f\ufeff，、：\u2029"),
}

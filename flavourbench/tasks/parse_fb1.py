r"""Parser ``fb-1``: one marker line, three labels.

The text is cleaned (invisible characters go, full-width ones become plain), what precedes the
end of the reasoning is dropped, marker lines are found, and the payload of each is read. A
payload is read in this order:

1. ``*`` and back-ticks go, white space is collapsed, ``_`` goes at both ends.
2. Longer than ``LONGEST``: never valid, judged by its beginning as it stands.
3. Close tokens go at the end, then one full stop, then one wrapper; the full stop may stand
   inside the wrapper instead.
4. Pieces between commas. The last of three may begin with "and" or "&", the second of two may be
   split at one. All three must be of one form: labels, names, or labelled names ("A. basil").
   Three labels may be followed by their names in brackets.

An answer is valid when all its valid payloads give one selection; invalid ones beside them do
not matter. Without any, the reason is that of the last payload, the first of these:

======================================================  ===========================================
nothing left                                            ``count``
three labels, then three pieces in brackets             ``duplicate``, ``name_mismatch``
pieces of one form                                      ``count``, ``duplicate``, ``name_mismatch``
nothing but labels, white space, ``,;/|+&-`` and "and"  ``separator`` if three, else ``count``
a piece is one character and no label                   ``unknown_label``
begins with three different labels, rightly separated   ``trailing_text``
anything else                                           ``unknown_label``
======================================================  ===========================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import permutations
from string import ascii_letters

from flavourbench.tasks.labels import LABELS, normalised
from flavourbench.tasks.verdicts import INVALID, VALID, Parsed

#: Characters of a payload that are read.
LONGEST = 1000
#: An answer with more different lists than this is ``ambiguous`` whatever they hold; so a
#: mebibyte of short lists takes no longer than other texts.
MOST_LISTS = 2000
#: "and" in the second of two pieces: the last separator, and one in each name ("half and half").
MOST_ANDS = 3

#: First and last of each run of invisible characters: soft hyphen, Arabic letter mark, Mongolian
#: vowel separator, zero-width and bidi characters, variation selectors, byte order mark.
_INVISIBLE = (
    (0x00AD, 0x00AD),
    (0x061C, 0x061C),
    (0x180E, 0x180E),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x2064),
    (0x2066, 0x206F),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
)
#: What each character becomes. A ``str.replace`` for each is ten times as fast as one
#: ``str.translate``.
_CLEANED = {
    **{chr(c): "" for first, last in _INVISIBLE for c in range(first, last + 1)},
    **{chr(ord(c) + 0xFEE0): c for c in ascii_letters},
    **dict(zip("\u0085\u2028\u2029\u00a0，、：", "\n\n\n ,,:", strict=True)),
}
_ODD = re.compile(f"[{''.join(_CLEANED)}]")

#: White space within a line; by now line breaks are LF.
_BLANK = " \t\v\f\x1c-\x1f\u1680\u2000-\u200a\u202f\u205f\u3000"
_SIGNS = rf"[{_BLANK}>#\-+•*_`]*+"
#: Finds the payloads of all marker lines. It looks ahead for them, since the payload of an empty
#: marker line is the next line, which may be a marker line too. Runs are possessive and keep to
#: their line: with ``\s`` in ``_SIGNS`` blank lines would take quadratic time.
_MARKER = re.compile(
    rf"^{_SIGNS}(?:[0-9]{{1,3}}[.)]{_SIGNS})?+(?ai:FINAL(?:\\?_| )?SELECTION)"
    rf"[{_BLANK}*_`]*+:(?=[\s*_`]*+([^\n]*+))",
    re.MULTILINE,
)
#: What may stand around a payload: emphasis, and all white space there is.
_EDGES = "".join(c for c in map(chr, range(0x3001)) if c.isspace()) + "*_`"
_CLOSE_TOKEN = re.compile(r"</s>|<\|im_end\|>|<\|eot_id\|>|<end_of_turn>|<\|close\|>[A-Za-z]*+")
_WRAPPERS = {
    "[": (("[", "]"),),
    "(": (("(", ")"),),
    "{": (("{", "}"),),
    '"': (('"', '"'),),
    "'": (("'", "'"),),
    "“": (("“", "”"),),
    "‘": (("‘", "’"),),
    "$": (("$", "$"),),
    "\\": (("\\boxed{", "}"), ("\\text{", "}")),
}
_LAST_AND = re.compile("(?:(?ai:and)|&) ")
_AND = re.compile(" (?:(?ai:and)|&)(?= )")
_LABELLED = re.compile(r"([A-Ha-h])\. (.+)")
_SEPARATORS = re.compile("(?ai:and)|[ ,;/|+&-]")
_LIST_FIRST = re.compile(
    r"([A-Ha-h]) ?, ?([A-Ha-h])(?: ?, ?(?:(?:(?ai:and)|&) )?| (?:(?ai:and)|&) )([A-Ha-h])(?!\w)"
)

_LABEL = {form: label for label in LABELS for form in (label, label.lower())}
#: What nearly all answers hold, so that they need no reading.
_PLAIN = {
    comma.join(three): VALID["".join(sorted(three))]
    for three in permutations(LABELS, 3)
    for comma in (", ", ",")
}


def parse_fb1(text: str, choices: Sequence[str]) -> Parsed:
    """Read an answer that was asked for one ``FINAL_SELECTION:`` line.

    Takes time linear in the text and raises on none.

    Parameters
    ----------
    text : the whole answer, any string
    choices : the eight candidate names in label order
    """
    text = _cleaned(text)
    reasoned = text.rfind("</think>")
    if reasoned >= 0:
        text = text[reasoned + len("</think>") :]
    if "<think>" in text:
        return INVALID["reasoning_unclosed"]
    payloads: list[str] = _MARKER.findall(text)
    if not payloads:
        return INVALID["no_marker" if text.strip() else "empty"]
    if len(payloads) == 1:
        plain = _PLAIN.get(payloads[0].rstrip(_EDGES))
        if plain is not None:
            return plain
    return _decided(payloads, choices)


def _cleaned(text: str) -> str:
    """``text`` without invisible characters, with LF as its only line break."""
    if not text.isascii() and _ODD.search(text):
        for odd, plain in _CLEANED.items():
            text = text.replace(odd, plain)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


def _decided(payloads: list[str], choices: Sequence[str]) -> Parsed:
    """The verdict on an answer: the one selection of all its payloads, or what the last lacks."""
    names: dict[str, str] = {}
    for label, choice in zip(LABELS, choices, strict=False):
        names.setdefault(normalised(choice), label)
    # Every valid form holds a comma.
    lists = [payload for payload in dict.fromkeys(payloads) if "," in payload]
    if len(lists) > MOST_LISTS:
        return INVALID["ambiguous"]
    found: Parsed | None = None
    for payload in lists:
        text, whole = _stripped(payload)
        if not whole or text.count(",") > 4:  # "A, C, and F (basil, mint, and thyme)" has most
            continue
        verdict = _of_one_form(text, names)
        if verdict is not None and verdict.selection is not None:
            # Verdicts are shared, so one selection is one object.
            if found is not None and found is not verdict:
                return INVALID["ambiguous"]
            found = verdict
    return _failed(payloads[-1], names) if found is None else found


def _failed(payload: str, names: dict[str, str]) -> Parsed:
    """Why a payload is not valid."""
    text, whole = _stripped(payload)
    verdict = _of_one_form(text, names)
    if verdict is None:
        return INVALID[_shape(text)]
    # The beginning of a payload may be valid by itself where white space and underscores fill it.
    return verdict if verdict.selection is None or whole else INVALID["trailing_text"]


def _stripped(payload: str) -> tuple[str, bool]:
    """What a payload says, without what may surround it, and whether that is all of it."""
    text = payload.replace("*", "").replace("`", "").strip(_EDGES)
    # No more words than can be read: each has a character at least.
    text = " ".join(text.split(None, LONGEST))
    if len(text) > LONGEST:
        return text[:LONGEST], False
    while (at := text.rfind("<")) >= 0 and _CLOSE_TOKEN.fullmatch(text, at):
        text = text[:at].rstrip(" _")
    stop = text.endswith(".")
    if stop:
        text = text[:-1].rstrip(" _")
    for start, end in _WRAPPERS.get(text[:1], ()):
        if len(text) >= len(start) + len(end) and text.startswith(start) and text.endswith(end):
            text = text[len(start) : -len(end)].strip(" _")
            if not stop and text.endswith("."):
                text = text[:-1].rstrip(" _")
            break
    return text, True


def _readings(text: str) -> Iterator[list[str]]:
    """The ways to cut a list into pieces: at the commas, and at an "and" instead of the last."""
    # Underscores around a piece are emphasis, as in "__A__, __C__, __F__".
    pieces = [piece.strip(" _") for piece in text.split(",")]
    if len(pieces) == 3:
        conjunction = _LAST_AND.match(pieces[2])
        if conjunction is not None:
            pieces[2] = pieces[2][conjunction.end() :].strip(" _")
    elif len(pieces) == 2:
        first, rest = pieces
        ands = list(_AND.finditer(rest))
        if len(ands) <= MOST_ANDS:
            for found in ands:
                yield [first, rest[: found.start()].strip(" _"), rest[found.end() :].strip(" _")]
    yield pieces


def _of_one_form(text: str, names: dict[str, str]) -> Parsed | None:
    """The verdict on a list whose pieces are all of one form; None on other texts."""
    if not text:
        return INVALID["count"]
    failed = _bracketed(text, names) if text.endswith(")") else None
    if failed is not None:
        return failed
    for pieces in _readings(text):
        labels, agree = _labels(pieces, names)
        if not labels:
            continue
        verdict = _chosen(labels, agree)
        if verdict.selection is not None:
            return verdict
        failed = failed or verdict
    return failed


def _labels(pieces: list[str], names: dict[str, str]) -> tuple[list[str], bool]:
    """The labels of pieces of one form, and whether names beside them agree.

    No labels where the forms are mixed or none.
    """
    if all(piece in _LABEL for piece in pieces):
        return [_LABEL[piece] for piece in pieces], True
    if all(normalised(piece) in names for piece in pieces):
        return [names[normalised(piece)] for piece in pieces], True
    labels, agree = [], True
    for piece in pieces:
        labelled = _LABELLED.fullmatch(piece)
        if labelled is None:
            return [], False
        label = _LABEL[labelled[1]]
        labels.append(label)
        agree = agree and names.get(normalised(labelled[2])) == label
    return labels, agree


def _chosen(labels: list[str], agree: bool) -> Parsed:
    if len(labels) != 3:
        return INVALID["count"]
    chosen = "".join(sorted(set(labels)))
    if len(chosen) != 3:
        return INVALID["duplicate"]
    return VALID[chosen] if agree else INVALID["name_mismatch"]


def _bracketed(text: str, names: dict[str, str]) -> Parsed | None:
    """The verdict on ``A, C, F (basil, mint, thyme)``; None where that is not the form."""
    head, _, inner = text[:-1].rpartition("(")
    for labels in _readings(head.strip()):
        if len(labels) == 3 and all(label in _LABEL for label in labels):
            break
    else:
        return None
    chosen = [_LABEL[label] for label in labels]
    inside = [pieces for pieces in _readings(inner) if len(pieces) == 3]
    if not inside or ")" in inner:
        return None
    agree = any([names.get(normalised(p)) for p in pieces] == chosen for pieces in inside)
    return _chosen(chosen, agree)


def _shape(text: str) -> str:
    """The reason why a text is no list of three pieces of one form."""
    letters = _SEPARATORS.sub("", text)
    if all(letter in _LABEL for letter in letters):
        return "separator" if len(letters) == 3 else "count"
    pieces = [piece.strip() for piece in text.split(",")]
    if any(len(piece) == 1 and piece not in _LABEL for piece in pieces):
        return "unknown_label"
    first = _LIST_FIRST.match(text)
    if first is not None and len({letter.upper() for letter in first.groups()}) == 3:
        return "trailing_text"
    return "unknown_label"

"""Both parsers of answers a second time: scanned by hand, character by character.

It is written from the rules alone and shares no line with what it checks: no regular
expressions, no tables of whole answers, nothing from the package. A verdict is a pair of
selection and reason, one of them None.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Verdict = tuple[str | None, str | None]

LETTERS = "ABCDEFGHabcdefgh"
EMPHASIS = "*_`"
INVISIBLE = frozenset("\u00ad\u061c\u180e\ufeff") | {
    chr(code)
    for run in ("\u200b\u200f", "\u202a\u202e", "\u2060\u2064", "\u2066\u206f", "\ufe00\ufe0f")
    for code in range(ord(run[0]), ord(run[1]) + 1)
}


def fb1(text: str, choices: Sequence[str]) -> Verdict:
    """Parser fb-1."""
    text = without_reasoning(cleaned(text))
    if holds(text, "<think>"):
        return None, "reasoning_unclosed"
    if blank(text):
        return None, "empty"
    payloads = list(payloads_of(split_lines(text)))
    if not payloads:
        return None, "no_marker"
    if len({payload for payload in payloads if "," in payload}) > 2000:
        return None, "ambiguous"
    names = [compared(choice) for choice in choices]
    selections = {read(payload, names)[0] for payload in set(payloads)} - {None}
    if len(selections) > 1:
        return None, "ambiguous"
    if selections:
        return selections.pop(), None
    return read(payloads[-1], names)


# --- the text ------------------------------------------------------------------------------


def cleaned(text: str) -> str:
    kept = []
    for char in text:
        code = ord(char)
        if code < 0x80:
            kept.append(char)
        elif char in INVISIBLE:
            continue
        elif 0xFF21 <= code <= 0xFF3A or 0xFF41 <= code <= 0xFF5A:
            kept.append(chr(code - 0xFF21 + ord("A")))
        elif char in "，、":
            kept.append(",")
        elif char == "：":
            kept.append(":")
        elif char == "\u00a0":
            kept.append(" ")
        elif char in "\u0085\u2028\u2029":
            kept.append("\n")
        else:
            kept.append(char)
    return "".join(kept)


def without_reasoning(text: str) -> str:
    for at in range(len(text) - 8, -1, -1):
        if text[at] == "<" and text[at : at + 8] == "</think>":
            return text[at + 8 :]
    return text


def holds(text: str, word: str) -> bool:
    return any(
        char == word[0] and text[at : at + len(word)] == word for at, char in enumerate(text)
    )


def blank(text: str) -> bool:
    return all(char.isspace() for char in text)


def split_lines(text: str) -> list[str]:
    """Lines between LF and CR; the empty one in CR LF does no harm."""
    lines, line = [], []
    for char in text:
        if char in "\n\r":
            lines.append("".join(line))
            line = []
        else:
            line.append(char)
    return [*lines, "".join(line)]


def payloads_of(lines: list[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        at = after_marker(line)
        if at is None:
            continue
        payload = content(line[at:])
        below = number + 1
        while not payload and below < len(lines):
            payload = content(lines[below])
            below += 1
        yield payload


def content(line: str) -> str:
    """The line from its first sign that is neither white space nor emphasis."""
    at = 0
    while at < len(line) and (line[at].isspace() or line[at] in EMPHASIS):
        at += 1
    return line[at:]


def after_marker(line: str) -> int | None:
    """Where the payload of a marker line begins; None for other lines."""
    at, numbers = 0, 0
    while at < len(line) and (line[at].isspace() or line[at] in ">#-+•*_`0123456789"):
        if line[at] in "0123456789":
            first = at
            while at < len(line) and line[at] in "0123456789":
                at += 1
            numbers += 1
            if numbers > 1 or at - first > 3 or line[at : at + 1] not in (".", ")"):
                return None
        at += 1
    if not spelled(line, at, "FINAL"):
        return None
    at += 5
    for between in ("\\_", "_", " ", ""):
        if line[at : at + len(between)] == between:
            at += len(between)
            break
    if not spelled(line, at, "SELECTION"):
        return None
    at += 9
    while at < len(line) and (line[at].isspace() or line[at] in EMPHASIS):
        at += 1
    return at + 1 if line[at : at + 1] == ":" else None


def spelled(text: str, at: int, word: str) -> bool:
    """Whether ``word`` stands there, in any ASCII case; ``word`` is in capitals."""
    if at + len(word) > len(text):
        return False
    return all(text[at + k] in (char, chr(ord(char) + 32)) for k, char in enumerate(word))


# --- a payload -----------------------------------------------------------------------------


def read(payload: str, names: list[str]) -> Verdict:
    text = collapsed("".join(char for char in payload if char not in "*`"))
    text = trimmed(text)
    if len(text) > 1000:
        selection, reason = verdict_on(text[:1000], names)
        return None, "trailing_text" if selection else reason
    return verdict_on(unwrapped(without_close_tokens(text)), names)


def collapsed(text: str) -> str:
    out: list[str] = []
    for char in text:
        if not char.isspace():
            out.append(char)
        elif out and out[-1] != " ":
            out.append(" ")
    if out and out[-1] == " ":
        out.pop()
    return "".join(out)


def trimmed(text: str, front: bool = True) -> str:
    start, end = 0, len(text)
    while end > start and text[end - 1] in " _":
        end -= 1
    while front and start < end and text[start] in " _":
        start += 1
    return text[start:end]


def without_close_tokens(text: str) -> str:
    tokens = ("</s>", "<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|close|>")
    while True:
        end = len(text)
        for token in tokens:
            size = len(token)
            if text[end - size :] == token and end >= size:
                break
        else:
            word = end
            while word and (text[word - 1].isascii() and text[word - 1].isalpha()):
                word -= 1
            size = 9 + end - word
            if word < 9 or text[word - 9 : word] != "<|close|>":
                return text
        text = trimmed(text[: end - size], front=False)


def unwrapped(text: str) -> str:
    stopped = text[-1:] == "."
    if stopped:
        text = trimmed(text[:-1], front=False)
    wrappers = ["[ ]", "( )", "{ }", '" "', "' '", "“ ”", "‘ ’", "$ $", r"\boxed{ }", r"\text{ }"]
    for start, end in (wrapper.split(" ") for wrapper in wrappers):
        fits = len(text) > len(start)
        if fits and text[: len(start)] == start and text[len(text) - 1] == end:
            text = trimmed(text[len(start) : len(text) - 1])
            if not stopped and text[-1:] == ".":
                text = trimmed(text[:-1], front=False)
            break
    return text


def verdict_on(text: str, names: list[str]) -> Verdict:
    """The rules in the order of the table of the parser."""
    if text == "":
        return None, "count"
    verdict = with_brackets(text, names)
    if verdict is not None:
        return verdict
    verdicts = [one_form(pieces, names) for pieces in cuts(text)]
    known = [verdict for verdict in verdicts if verdict is not None]
    for verdict in known:
        if verdict[0] is not None:
            return verdict
    if known:
        return known[0]
    letters = letters_only(text)
    if letters is not None:
        return None, "separator" if letters == 3 else "count"
    for piece in at_commas(text):
        if len(piece) == 1 and piece not in LETTERS:
            return None, "unknown_label"
    return None, "trailing_text" if begins_with_list(text) else "unknown_label"


def at_commas(text: str) -> list[str]:
    pieces, start = [], 0
    for at, char in enumerate(text):
        if char == ",":
            pieces.append(text[start:at])
            start = at + 1
    return [collapsed(piece) for piece in (*pieces, text[start:])]


def conjunction(text: str, at: int) -> int:
    """Length of an "and" or "&" with the blank behind it; 0 where there is none."""
    if spelled(text, at, "AND") and text[at + 3 : at + 4] == " ":
        return 4
    return 2 if text[at : at + 2] == "& " else 0


def cuts(text: str) -> list[list[str]]:
    pieces = [trimmed(piece) for piece in at_commas(text)]
    if len(pieces) == 3:
        return [[*pieces[:2], trimmed(pieces[2][conjunction(pieces[2], 0) :])]]
    ways = []
    if len(pieces) == 2:
        first, rest = pieces
        for at, char in enumerate(rest):
            size = conjunction(rest, at + 1) if char == " " else 0
            if size:
                ways.append([first, trimmed(rest[:at]), trimmed(rest[at + 1 + size :])])
    return [*(ways if len(ways) <= 3 else []), pieces]


def is_label(piece: str) -> bool:
    return len(piece) == 1 and piece in LETTERS


def compared(name: str) -> str:
    return collapsed("".join(" " if char == "_" else char for char in name.casefold()))


def index_of(name: str, names: list[str]) -> int:
    wanted = compared(name)
    for index, known in enumerate(names[:8]):
        if known == wanted:
            return index
    return -1


def capital(letter: str) -> str:
    return letter if letter < "a" else chr(ord(letter) - 32)


def one_form(pieces: list[str], names: list[str]) -> Verdict | None:
    if all(is_label(piece) for piece in pieces):
        return chosen([capital(piece) for piece in pieces], True)
    indices = [index_of(piece, names) for piece in pieces]
    if min(indices) >= 0:
        return chosen(["ABCDEFGH"[index] for index in indices], True)
    if all(len(p) > 3 and p[0] in LETTERS and p[1:3] == ". " for p in pieces):
        labels = [capital(piece[0]) for piece in pieces]
        named = [index_of(piece[3:], names) for piece in pieces]
        return chosen(labels, named == ["ABCDEFGH".index(label) for label in labels])
    return None


def chosen(labels: list[str], agree: bool) -> Verdict:
    if len(labels) != 3:
        return None, "count"
    one, two, three = labels
    if one in (two, three) or two == three:
        return None, "duplicate"
    return ("".join(sorted(labels)), None) if agree else (None, "name_mismatch")


def with_brackets(text: str, names: list[str]) -> Verdict | None:
    if text[-1] != ")":
        return None
    opening = len(text) - 2
    while opening >= 0 and text[opening] not in "()":
        opening -= 1
    if opening < 0 or text[opening] == ")":
        return None
    heads = [cut for cut in cuts(collapsed(text[:opening])) if len(cut) == 3]
    heads = [cut for cut in heads if all(is_label(piece) for piece in cut)]
    inner = [cut for cut in cuts(text[opening + 1 : -1]) if len(cut) == 3]
    if not heads or not inner:
        return None
    labels = [capital(piece) for piece in heads[0]]
    wanted = ["ABCDEFGH".index(label) for label in labels]
    agree = [[index_of(piece, names) for piece in cut] == wanted for cut in inner]
    return chosen(labels, any(agree))


def letters_only(text: str) -> int | None:
    """How many labels a text of nothing but labels and separators has."""
    at, count = 0, 0
    while at < len(text):
        if spelled(text, at, "AND"):
            at += 3
        elif text[at] in " ,;/|+&-":
            at += 1
        elif text[at] in LETTERS:
            at, count = at + 1, count + 1
        else:
            return None
    return count


def begins_with_list(text: str) -> bool:
    """Whether three different labels stand first, separated as a valid list is."""
    labels, at = [], 0
    for place in range(3):
        if place:
            end = after_separator(text, at, last=place == 2)
            if end is None:
                return False
            at = end
        if not is_label(text[at : at + 1]):
            return False
        labels.append(capital(text[at]))
        at += 1
    boundary = at == len(text) or not (text[at].isalnum() or text[at] == "_")
    return boundary and len(set(labels)) == 3


def after_separator(text: str, at: int, last: bool) -> int | None:
    blank_first = text[at : at + 1] == " "
    at += blank_first
    if text[at : at + 1] == ",":
        at += 1
        at += text[at : at + 1] == " "
        return at + conjunction(text, at) if last else at
    size = conjunction(text, at) if last and blank_first else 0
    return at + size if size else None


# --- the published parser ------------------------------------------------------------------


def published(text: str, choices: Sequence[str]) -> Verdict:
    """Parser published-v3."""
    if blank(text):
        return None, "empty"
    markers = []
    at = 0
    while at < len(text):
        end = published_marker(text, at) if text[at] in "Ff" else None
        if end is None:
            at += 1
        else:
            markers.append((at, end))
            at = end
    if not markers:
        return None, "no_marker"
    names = [compared(choice) for choice in choices]
    stops = [start for start, _ in markers[1:]] + [len(text)]
    verdicts = [
        published_payload(text, end, stop, names)
        for (_, end), stop in zip(markers, stops, strict=True)
    ]
    selections = {selection for selection, _ in verdicts if selection is not None}
    if not selections:
        return verdicts[-1]
    return (selections.pop(), None) if len(selections) == 1 else (None, "ambiguous")


def published_marker(text: str, at: int) -> int | None:
    """Where a marker that begins there ends, white space included."""
    if not (spelled(text, at, "FINAL") and text[at + 5 : at + 6] == "_"):
        return None
    if not spelled(text, at + 6, "SELECTION"):
        return None
    at = after_blanks(text, at + 15)
    return after_blanks(text, at + 1) if text[at : at + 1] == ":" else None


def after_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def published_payload(text: str, start: int, stop: int, names: list[str]) -> Verdict:
    end = start
    while end < stop and text[end] not in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029":
        end += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    payload = text[start:end]
    if not payload:
        return None, "count"
    letters = published_letters(payload)
    if letters is not None:
        return chosen(letters, True)
    first, last = 0, len(payload)
    while last > first and payload[last - 1] in EMPHASIS:
        last -= 1
    while first < last and payload[first] in EMPHASIS:
        first += 1
    pieces = at_commas(payload[first:last])
    if len(pieces) != 3:
        return None, "count"
    indices = [index_of(piece, names) for piece in pieces]
    if min(indices) < 0:
        return None, "unknown_label"
    return chosen(["ABCDEFGH"[index] for index in indices], True)


def published_letters(payload: str) -> list[str] | None:
    letters: list[str] = []
    at = 0
    for place in range(3):
        if place:
            at = after_blanks(payload, at)
            if payload[at : at + 1] != ",":
                return None
            at = after_blanks(payload, at + 1)
        if not is_label(payload[at : at + 1]):
            return None
        letters.append(capital(payload[at]))
        at += 1
    while at < len(payload) and payload[at] in EMPHASIS:
        at += 1
    return letters if payload[at:] in ("", "<|close|>response") else None

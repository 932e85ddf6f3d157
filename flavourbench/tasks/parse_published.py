"""Parser ``published-v3``: reads answers as the published release did."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flavourbench.tasks.labels import LABELS, normalised
from flavourbench.tasks.verdicts import INVALID, VALID, Parsed

#: Letters in ASCII case only; white space after the colon may hold line breaks.
_MARKER = re.compile(r"(?ai:FINAL_SELECTION)\s*+:\s*+")
_LETTERS = re.compile(
    r"([A-Ha-h])\s*+,\s*+([A-Ha-h])\s*+,\s*+([A-Ha-h])[*_`]*+(?:<\|close\|>response)?"
)


def parse_published(text: str, choices: Sequence[str]) -> Parsed:
    """Read an answer as the published release did.

    Every marker counts, wherever it stands. The answer is valid when its markers yield exactly
    one distinct selection. Without any, the reason is that of the last marker.

    Parameters
    ----------
    text : the whole answer, neither cleaned nor freed of reasoning
    choices : the eight candidate names in label order
    """
    markers = list(_MARKER.finditer(text))
    if not markers:
        return INVALID["no_marker" if text.strip() else "empty"]
    names: dict[str, str] = {}
    ends = [marker.start() for marker in markers[1:]] + [len(text)]
    found: Parsed | None = None
    verdict = INVALID["count"]
    for marker, end in zip(markers, ends, strict=True):
        lines = text[marker.end() : end].splitlines()
        verdict = _read(lines[0].strip(), choices, names) if lines else INVALID["count"]
        if verdict.selection is not None:
            # Verdicts are shared, so one selection is one object.
            if found is not None and found is not verdict:
                return INVALID["ambiguous"]
            found = verdict
    return verdict if found is None else found


def _read(payload: str, choices: Sequence[str], names: dict[str, str]) -> Parsed:
    """The verdict on one payload: three letters, or three names.

    ``names`` is filled when first needed: for most answers it would take half the time.
    """
    letters = _LETTERS.fullmatch(payload)
    if letters is not None:
        labels = [letter.upper() for letter in letters.groups()]
    else:
        pieces = payload.strip("*_`").split(",")
        if len(pieces) != 3:
            return INVALID["count"]
        if not names:
            for label, choice in zip(LABELS, choices, strict=False):
                names.setdefault(normalised(choice), label)
        named = [names.get(normalised(piece)) for piece in pieces]
        labels = [label for label in named if label is not None]
        if len(labels) != 3:
            return INVALID["unknown_label"]
    chosen = "".join(sorted(set(labels)))
    return VALID[chosen] if len(chosen) == 3 else INVALID["duplicate"]

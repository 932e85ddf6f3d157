"""Writes ``words.json``: random words of the project, frozen.

Pure Python integers and nothing of the project: Philox4x32-10 after Salmon et al. 2011 and
the coordinates of the specification, section 8. Run ``python tests/golden/make_words.py`` to
write the file again; it must come out as it is.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("words.json")

BOOTSTRAP, SIGN_FLIP = 1, 2
DEFAULT_SEED, WIDE_SEED = 20260811, 2**53 - 1

#: (seed, block, draw, attempt, retry, purpose, lane) of ten words: both purposes, every lane,
#: first and last draws and attempts, a retry, both words of the key.
WORDS = [
    (DEFAULT_SEED, 0, 0, 0, 0, BOOTSTRAP, 0),
    (DEFAULT_SEED, 0, 0, 0, 0, SIGN_FLIP, 0),
    (DEFAULT_SEED, 133, 49_999, 0, 0, BOOTSTRAP, 1),
    (DEFAULT_SEED, 4, 99_999, 0, 0, SIGN_FLIP, 3),
    (DEFAULT_SEED, 17, 12_345, 1, 0, BOOTSTRAP, 2),
    (DEFAULT_SEED, 17, 12_345, 0, 1, BOOTSTRAP, 2),
    (DEFAULT_SEED, 17, 12_345, 255, 3, BOOTSTRAP, 3),
    (0, 0, 0, 0, 0, BOOTSTRAP, 0),
    (WIDE_SEED, 1, 2**32 - 1, 0, 0, SIGN_FLIP, 1),
    (WIDE_SEED, 2, 2**32 - 1, 255, 0, BOOTSTRAP, 2),
]
#: (seed, draw, attempt, clusters, first pick, picks).
PICKS = [
    (DEFAULT_SEED, 0, 0, 534, 0, 12),
    (DEFAULT_SEED, 49_999, 0, 534, 522, 12),
    (DEFAULT_SEED, 7, 2, 6, 0, 6),
    (WIDE_SEED, 2**32 - 1, 255, 30, 18, 12),
]
#: (seed, draw, clusters, first sign, signs): across words and across blocks.
SIGNS = [
    (DEFAULT_SEED, 0, 534, 0, 40),
    (DEFAULT_SEED, 99_999, 534, 500, 34),
    (WIDE_SEED, 2**32 - 1, 300, 110, 40),
]


def philox(words: tuple[int, int, int, int], key: tuple[int, int]) -> list[int]:
    """One block of Philox4x32-10."""
    c0, c1, c2, c3 = words
    k0, k1 = key
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c0, 2**32)
        high1, low1 = divmod(0xCD9E8D57 * c2, 2**32)
        c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return [c0, c1, c2, c3]


def word(
    seed: int, block: int, draw: int, attempt: int, retry: int, purpose: int, lane: int
) -> int:
    """The word at coordinates of the project."""
    key = seed % 2**32, seed // 2**32
    return philox((block, draw, attempt + 2**16 * retry, purpose), key)[lane]


def pick(seed: int, draw: int, attempt: int, clusters: int, k: int) -> int:
    """Pick k of a draw: Lemire's multiply-and-reject, a rejected pick alone retries."""
    for retry in itertools.count():
        found = word(seed, k // 4, draw, attempt, retry, BOOTSTRAP, k % 4) * clusters
        if found % 2**32 >= 2**32 % clusters:
            return found // 2**32
    raise AssertionError


def sign(seed: int, draw: int, c: int) -> int:
    """Sign of cluster c: bit c mod 32 of word c div 32."""
    index = c // 32
    found = word(seed, index // 4, draw, 0, 0, SIGN_FLIP, index % 4)
    return 1 if found >> (c % 32) & 1 else -1


def build() -> dict[str, Any]:
    """The content of the file."""
    names = ("seed", "block", "draw", "attempt", "retry", "purpose", "lane")
    return {
        "words": [
            {**dict(zip(names, at, strict=True)), "word": f"{word(*at):08x}"} for at in WORDS
        ],
        "picks": [
            {
                "seed": seed,
                "draw": draw,
                "attempt": attempt,
                "clusters": clusters,
                "first": first,
                "picks": [
                    pick(seed, draw, attempt, clusters, k) for k in range(first, first + count)
                ],
            }
            for seed, draw, attempt, clusters, first, count in PICKS
        ],
        "signs": [
            {
                "seed": seed,
                "draw": draw,
                "clusters": clusters,
                "first": first,
                "signs": "".join(
                    "-+"[sign(seed, draw, c) > 0] for c in range(first, first + count)
                ),
            }
            for seed, draw, clusters, first, count in SIGNS
        ],
    }


def text(content: dict[str, Any]) -> str:
    """The file: one entry a line."""
    parts = [
        f'  "{name}": [\n    ' + ",\n    ".join(json.dumps(entry) for entry in entries) + "\n  ]"
        for name, entries in content.items()
    ]
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text(build()), encoding="ascii")

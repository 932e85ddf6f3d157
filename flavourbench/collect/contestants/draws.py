"""Random words out of SHA-256: the same for the same question, on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

_T = TypeVar("_T")
_BITS = 64


class Draws:
    """The four random words that belong to one answer; each is for one purpose.

    Parameters
    ----------
    seed : bytes of the contestant, its version and its parameters, of one length
    text : what is answered
    repeat : which answer to it
    """

    def __init__(self, seed: bytes, text: str, repeat: int) -> None:
        # Seeds are of one length and a number ends at its line break: no two calls look alike.
        data = seed + f"{repeat}\n".encode() + text.encode("utf-8", "surrogatepass")
        self._digest = hashlib.sha256(data).digest()

    def below(self, bound: int, word: int = 0) -> int:
        """A number from 0 to ``bound`` - 1, of that word.

        The probability of any range of numbers is off by less than 2**-64.
        """
        start = word * _BITS // 8
        value = int.from_bytes(self._digest[start : start + _BITS // 8], "big")
        return value * bound >> _BITS

    def one(self, of: Sequence[_T], word: int = 0) -> _T:
        """One of several, of that word."""
        return of[self.below(len(of), word)]

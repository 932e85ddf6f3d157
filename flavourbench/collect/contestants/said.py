"""What a contestant says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Said:
    """What a contestant says.

    Attributes
    ----------
    text : the whole answer
    refused : the provider's own refusal signal, which no text is
    """

    text: str
    refused: bool = False

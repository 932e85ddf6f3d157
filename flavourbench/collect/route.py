"""A route: how one model is asked. Its digest says which cells may be pooled."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from flavourbench.identity import json_sha256

LOCAL = "local:"
ROUTE_RECIPE = "flavourbench-route/1"


@dataclass(frozen=True, slots=True)
class Prices:
    """What a route costs.

    Attributes
    ----------
    date : of the price list
    input, output : micro-dollars a token (dollars a million tokens)
    cached_input, cache_write : the same, of input that was read from and written to a cache
    request : micro-dollars a request
    """

    date: datetime.date
    input: Fraction
    output: Fraction
    cached_input: Fraction
    cache_write: Fraction
    request: Fraction


@dataclass(frozen=True)
class Route:
    """How one model is asked.

    Attributes
    ----------
    slot, name : id and display name of the model
    dialect : one of ``DIALECTS``, or ``local:NAME`` for a contestant in this process
    base_url, model : where and what is asked
    served : names under which the model may answer
    parameters : what goes into the identity besides: caps, effort, temperature, extra
    provider : slug of the only provider that a gateway may use, or None
    key_env, key_header : the variable that holds the key, and the header that carries it
    concurrency : requests in flight at once
    requests_per_minute : int, or None for no limit
    timeout : seconds until an answer has to be there, whole
    prices : None where unknown
    simulated : whether answers are made from the scores
    """

    slot: str
    name: str
    dialect: str
    base_url: str
    model: str
    served: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    provider: str | None = None
    key_env: str | None = None
    key_header: str | None = None
    concurrency: int = 8
    requests_per_minute: int | None = None
    timeout: float = 120.0
    prices: Prices | None = None
    simulated: bool = False

    @property
    def local(self) -> bool:
        """Whether it is a contestant in this process."""
        return self.dialect.startswith(LOCAL)

    @property
    def cap(self) -> int:
        """Largest number of output tokens; 0 for a contestant."""
        return int(self.parameters.get("max_output_tokens", 0))

    @cached_property
    def content(self) -> dict[str, Any]:
        """What its digest covers: dialect, address, model, parameters and pins."""
        return {
            "dialect": self.dialect,
            "base_url": self.base_url,
            "model": self.model,
            "served": list(self.served),
            "parameters": dict(self.parameters),
            "provider": self.provider,
        }

    @cached_property
    def digest(self) -> str:
        """Hex SHA-256: another one is another route, whose cells are never pooled with these."""
        return json_sha256({"recipe": ROUTE_RECIPE, **self.content})

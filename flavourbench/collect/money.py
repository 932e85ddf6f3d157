"""What requests cost, in whole micro-dollars, and estimates where nobody says."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flavourbench.collect.route import Prices, Route
from flavourbench.collect.wire import NO_TOKENS, Tokens

#: Bytes of English text in a token, on the low side, so that estimates are on the high one.
_BYTES_A_TOKEN = 3


@dataclass(frozen=True, slots=True)
class Charge:
    """What one attempt cost.

    Attributes
    ----------
    tokens : stated or estimated
    micro_dollars : by the prices of the route; None without prices
    gateway : what the gateway says, which wins; None where it says nothing
    estimated : whether tokens are an estimate
    """

    tokens: Tokens
    micro_dollars: int | None
    gateway: int | None
    estimated: bool

    @property
    def due(self) -> int | None:
        """What counts: the gateway's cost, else ours; None where unknown."""
        return self.micro_dollars if self.gateway is None else self.gateway


def charge(
    route: Route, tokens: Tokens | None, gateway: int | None = None, *, estimated: bool = False
) -> Charge:
    """The charge for one attempt over a route; without tokens, of one that nobody charges for."""
    if tokens is None or route.local:
        return Charge(tokens or NO_TOKENS, 0, gateway, estimated and not route.local)
    ours = None if route.prices is None else price(tokens, route.prices)
    return Charge(tokens, ours, gateway, estimated)


def price(tokens: Tokens, prices: Prices, requests: int = 1) -> int:
    """Micro-dollars of the tokens of some requests, rounded to the nearest."""
    total: Fraction = (
        tokens.input * prices.input
        + tokens.cached_input * prices.cached_input
        + tokens.cache_write * prices.cache_write
        + tokens.output * prices.output
        + requests * prices.request
    )
    return round(total)


def estimated_tokens(text: str | bytes) -> int:
    """Tokens of a text, rather too many than too few."""
    return tokens_of(len(text.encode("utf-8", "replace")) if isinstance(text, str) else len(text))


def tokens_of(size: int) -> int:
    """Tokens of so many bytes, rather too many than too few."""
    return -(-size // _BYTES_A_TOKEN)


def largest(route: Route, request: bytes) -> Tokens:
    """Tokens of a request whose answer fills its cap."""
    return Tokens(estimated_tokens(request), 0, 0, route.cap)


def reserve(route: Route, request: bytes) -> int | None:
    """Micro-dollars to keep for a request before it is sent; None without prices."""
    if route.local:
        return 0
    return None if route.prices is None else price(largest(route, request), route.prices)

"""Rosters: who is asked, over which route. A TOML file names each ranked model once."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from flavourbench.collect.contestants import ENTRIES, contestant
from flavourbench.collect.dialects import DIALECTS, dialect_of
from flavourbench.collect.route import LOCAL, Prices, Route
from flavourbench.collect.wire import MICRO
from flavourbench.errors import InputError, shown
from flavourbench.identity import canonical_json, json_sha256
from flavourbench.settings import Table, read_toml

#: Dialects whose gateways pin a provider in the way of OpenRouter.
_PINNING = ("openai-chat", "openai-responses")
#: Parameters that would change what is asked, or the form of the answer.
_RESERVED = frozenset(
    {
        *("stream", "stream_options", "n", "candidateCount", "background"),
        *("system", "instructions", "systemInstruction", "system_instruction"),
        *("messages", "input", "contents", "prompt", "conversation", "previous_response_id"),
        *("candidate_count", "cachedContent", "cached_content", "models", "route", "fallbacks"),
        *("continuationToken", "continuation_token", "context_management", "compaction", "thread"),
        *("truncation", "transforms", "preset", "mcp_servers", "container", "function_call"),
        *("tools", "tool_choice", "functions", "plugins", "web_search_options"),
        *("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"),
    }
)
#: Keys of a model that no provider knows.
_OF_MODELS = frozenset(
    {
        *("slot", "name", "dialect", "base_url", "model", "served", "key_env", "key_header"),
        *("concurrency", "requests_per_minute", "timeout", "effort", "cap_key"),
    }
)
_CAP_KEYS = ("max_tokens", "max_completion_tokens")
#: Keys are written like other variables: only capitals tell the name of one from a key.
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9-]+")
#: Headers that are not free to hold a key.
_TAKEN_HEADERS = frozenset(
    {
        *("host", "connection", "content-length", "content-type", "content-encoding", "expect"),
        *("transfer-encoding", "te", "trailer", "upgrade", "accept", "accept-encoding", "cookie"),
        *("user-agent", "keep-alive", "proxy-authorization", "anthropic-version"),
    }
)
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")


@dataclass(frozen=True)
class Roster:
    """The ranked models, in the order of the file.

    Raises
    ------
    InputError
        No model, a slot twice, or two slots with one route.
    """

    routes: tuple[Route, ...]

    def __post_init__(self) -> None:
        if not self.routes:
            raise InputError("no model: a roster has at least one")
        slots: set[str] = set()
        digests: dict[str, str] = {}
        for route in self.routes:
            if route.slot in slots:
                raise InputError(f"slot {shown(route.slot)} occurs twice: give each model its own")
            slots.add(route.slot)
            other = digests.setdefault(route.digest, route.slot)
            if other != route.slot:
                raise InputError(
                    f"slots {shown(other)} and {shown(route.slot)} are one route: keep one"
                )

    @cached_property
    def sha256(self) -> str:
        """Digest of slots, names and routes."""
        rows = [[route.slot, route.name, route.digest] for route in self.routes]
        return json_sha256(["flavourbench-roster/1", rows])

    def only(self, slots: list[str]) -> Roster:
        """The roster with these models alone, by slot or name.

        Raises
        ------
        InputError
            One that is not in it.
        """
        known = {route.name: route for route in self.routes}
        known |= {route.slot: route for route in self.routes}
        for slot in slots:
            if slot not in known:
                names = ", ".join(route.slot for route in self.routes)
                raise InputError(f"no model {shown(slot)} in the roster: use one of {names}")
        return Roster(tuple({known[slot].slot: known[slot] for slot in slots}.values()))


def read_roster(path: Path) -> Roster:
    """Read a roster file.

    Raises
    ------
    InputError
        With the file, the key and the value.
    """
    return read_toml(path, parse_roster)


def parse_roster(values: Mapping[str, Any]) -> Roster:
    """A roster from the values of its file; errors as :func:`read_roster`."""
    if isinstance(values.get("model"), Mapping):
        raise InputError("[model] is one table: write [[model]], with two brackets, for each model")
    entries = values.get("model")
    for entry in entries if isinstance(entries, list) else ():
        _check_places(entry)
    top = Table("", values)
    routes = tuple(_route(table) for table in top.tables("model"))
    top.done()
    return Roster(routes)


def _route(table: Table) -> Route:
    slot = table.slug("slot")
    try:
        name = table.line("name") if "name" in table else slot
        dialect = table.line("dialect")
        if dialect.startswith(LOCAL):
            route = local_route(slot, name, dialect.removeprefix(LOCAL), _optional(table))
        elif dialect in DIALECTS:
            route = _wire_route(table, slot, name, dialect)
        else:
            raise table.wrong("dialect", f"{', '.join(DIALECTS)} or {LOCAL}NAME")
        table.done()
        canonical_json(route.content)  # refuses what has no digest
    except InputError as error:
        raise InputError(f"model {shown(slot)}: {error}") from error
    return route


def _check_places(entry: Any) -> None:
    """Refuse keys of a model that stand below one of its tables, where TOML gives them to that."""
    for name in ("prices", "extra") if isinstance(entry, Mapping) else ():
        inner = entry.get(name)
        for key in inner if isinstance(inner, Mapping) else ():
            if key in _OF_MODELS:
                raise InputError(
                    f"model {shown(entry.get('slot'))}: {key} stands below [model.{name}]: the keys"
                    " of a model stand above its tables"
                )


def _optional(table: Table) -> dict[str, Any]:
    return table.values("parameters") if "parameters" in table else {}


def local_route(slot: str, name: str, which: str, parameters: Mapping[str, Any]) -> Route:
    """The route of a contestant; errors as :func:`.contestants.contestant`."""
    found = contestant(which, parameters)
    if found.simulated and "simulated" not in name.casefold():
        name = f"{name} (simulated)"
    return Route(
        slot,
        name,
        f"{LOCAL}{which}",
        base_url=LOCAL,
        model=which,
        served=(which,),
        parameters={"version": found.version, **found.parameters},
        simulated=found.simulated,
    )


def _wire_route(table: Table, slot: str, name: str, dialect: str) -> Route:
    model = table.line("model")
    parameters: dict[str, Any] = {"max_output_tokens": table.integer("max_output_tokens", 1, 10**6)}
    if "effort" in table:
        parameters["effort"] = table.slug("effort")
    if "temperature" in table:
        parameters["temperature"] = float(table.number("temperature", 0, 2))
    if "cap_key" in table:
        if dialect != "openai-chat":
            raise InputError("cap_key is for the dialect openai-chat only: leave it out")
        parameters["cap_key"] = table.choice("cap_key", _CAP_KEYS)
    if "extra" in table:
        parameters["extra"] = table.values("extra")
        _check_extra(parameters["extra"])
    if "provider" in table and dialect not in _PINNING:
        raise InputError(f"provider: a gateway is pinned in {' or '.join(_PINNING)} only")
    limit = "requests_per_minute"
    route = Route(
        slot,
        name,
        dialect,
        base_url=_address(table),
        model=model,
        served=tuple(table.texts("served", least=1)) if "served" in table else (model,),
        parameters=parameters,
        provider=table.line("provider") if "provider" in table else None,
        key_env=_matching(
            table, "key_env", _VARIABLE, "the name of a variable in capitals, never the key"
        ),
        key_header=_matching(table, "key_header", _HEADER, "the name of a header"),
        concurrency=table.integer("concurrency", 1, 1024) if "concurrency" in table else 8,
        requests_per_minute=table.integer(limit, 1, 10**6) if limit in table else None,
        timeout=float(table.number("timeout", 1, 3600)) if "timeout" in table else 120.0,
        prices=_prices(table.table("prices")) if "prices" in table else None,
    )
    dialect_of(dialect).body(route, "")  # refuses extra parameters that are ours to set
    return route


def _check_extra(extra: Mapping[str, Any]) -> None:
    for key, value in extra.items():
        if key in _RESERVED:
            raise InputError(f"extra.{key} would change what is asked: leave it out")
        if isinstance(value, Mapping):
            _check_extra(value)


def _matching(table: Table, key: str, form: re.Pattern[str], what: str) -> str | None:
    if key not in table:
        return None
    value = table.text(key)
    if not form.fullmatch(value):
        # It may be the key itself, so it is not repeated.
        raise InputError(f"{key} is not {what}: never write the key itself")
    if value.lower() in _TAKEN_HEADERS:
        raise InputError(f"{key} is {shown(value)}, which holds something else: use another")
    return value


def _address(table: Table) -> str:
    address = table.text("base_url").rstrip("/")
    if {"@", "?", "#"} & {*address}:
        # It may hold a key, so it is not repeated.
        raise InputError(
            "base_url holds more than host and path: name the variable of a key in key_env"
        )
    try:
        parts = urlsplit(address)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        raise table.wrong("base_url", "an address as in https://api.example.com/v1") from error
    if not address.isascii() or any(c.isspace() for c in address):
        raise table.wrong("base_url", "an address without blanks, its host in ASCII")
    if parts.scheme not in ("http", "https") or not _is_host(host) or port == 0:
        raise table.wrong("base_url", "an address as in https://api.example.com/v1")
    for path in ("/chat/completions", "/responses", "/messages"):
        if address.endswith(path):
            raise table.wrong("base_url", f"the address before {path}, which is added")
    if parts.scheme == "http" and not loopback(str(host)):
        raise table.wrong("base_url", "https: plain http is for this machine only (localhost)")
    return address


def _is_host(host: str | None) -> bool:
    """Whether it is a name or a number that an address can have."""
    if not host:
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return len(host) <= 253 and all(map(_LABEL.fullmatch, host.removesuffix(".").split(".")))
    return True


@cache
def loopback(host: str) -> bool:
    """Whether a host name means this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _prices(table: Table) -> Prices:
    def dollars(key: str, default: Fraction) -> Fraction:
        return table.number(key, 0, 10**6) if key in table else default

    each, output = table.number("input", 0, 10**6), table.number("output", 0, 10**6)
    found = Prices(
        date=table.date("date"),
        input=each,
        output=output,
        cached_input=dollars("cached_input", each),
        cache_write=dollars("cache_write", each),
        request=dollars("request", Fraction(0)) * MICRO,
    )
    table.done()
    return found


def demo_roster() -> tuple[Roster, list[str]]:
    """The contestants that ship with the package, and the slots whose packages are missing."""
    routes, missing = [], []
    for entry in ENTRIES:
        try:
            routes.append(local_route(entry.slot, entry.name, entry.contestant, entry.parameters))
        except InputError:
            if entry.extra is None:
                raise
            missing.append(entry.slot)
    return Roster(tuple(routes)), missing

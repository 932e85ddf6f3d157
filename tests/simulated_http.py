"""HTTP/1.1 of the simulator, written by hand so that it can be broken anywhere."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from itertools import chain
from socket import SO_LINGER, SOL_SOCKET
from struct import pack
from typing import Any, Protocol, cast

DONE, CUT, RESET, HANG = "done", "cut", "reset", "hang"
MEBIBYTE = 1 << 20
#: Stands in a body where the filling of a huge one goes.
FILLED = "(huge)"
#: What happens to the connection.
ENDS = {"hang": HANG, "hang-body": HANG, "cut": CUT, "cut-headers": CUT, "reset": RESET}
ENDS |= {"cut-chunked": CUT, "cut-last-chunk": CUT}


@dataclass(slots=True)
class Seen:
    """A request as it came.

    Attributes
    ----------
    number : from 0
    dialect, model, prompt : empty where the request was not understood
    headers : by names in lower case
    target : the path as it was sent, with its query
    body : the JSON object, ``raw`` its bytes; empty where there was none
    at : time of its last byte, seconds since 1970
    nth : how many-th for its model and prompt, from 1
    status : of the answer; 0 until one is sent
    answered : whether its answer was written to the end
    """

    number: int
    at: float
    target: str
    path: str
    headers: Mapping[str, str]
    raw: bytes
    dialect: str = ""
    model: str = ""
    prompt: str = ""
    body: dict[str, Any] = field(default_factory=dict)
    nth: int = 0
    status: int = 0
    answered: bool = False


@dataclass(slots=True)
class Reply:
    """What goes over the connection.

    Attributes
    ----------
    wait, pause : seconds before it and between chunks
    end : what happens after the last chunk: DONE keeps the connection
    """

    status: int
    chunks: Iterator[bytes]
    end: str = DONE
    wait: float = 0.0
    pause: float = 0.0


class Server(Protocol):
    """What a connection needs to know."""

    def opened(self, connection: Connection) -> None:
        """It is open."""

    def closed(self, connection: Connection) -> None:
        """It is closed."""

    def receive(self, target: str, headers: Mapping[str, str], raw: bytes) -> Seen:
        """Note a request."""

    def reply_to(self, method: str, seen: Seen) -> Reply:
        """Decide on its answer."""

    def end(self, seen: Seen, *, answered: bool) -> None:
        """Note that nothing more is sent."""


@functools.lru_cache(2)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """The head of an answer."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    phrase = "Overloaded" if status == 529 else HTTPStatus(status).phrase
    date = _date(int(time.time()))
    text = f"HTTP/1.1 {status} {phrase}\r\ndate: {date}\r\nserver: simulator\r\n{lines}"
    return f"{text}\r\n".encode("latin-1", "replace")


def delivered(
    status: int, headers: Mapping[str, str], body: bytes, faults: Mapping[str, str]
) -> Reply:
    """An answer as it goes over the connection; ``faults`` are behaviours and their arguments."""
    end = next((name for name in faults if name in ENDS), "")
    done = Reply(status, iter(()), ENDS.get(end, DONE), float(faults.get("latency") or 0))
    if end in ("hang", "cut-headers"):
        pass
    elif end in ("cut-chunked", "cut-last-chunk") or "chunked" in faults:
        half = len(body) // 2
        framed = [
            b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:half], body[half:]) if part
        ]
        framed = framed[:1] if end == "cut-chunked" else framed
        framed += [] if end else [b"0\r\n\r\n"]
        done.chunks = iter([head(status, {**headers, "transfer-encoding": "chunked"}), *framed])
    elif "huge" in faults and FILLED.encode() in body:
        before, _, after = body.partition(FILLED.encode())
        fill = max(int(faults["huge"] or 64 * MEBIBYTE) - len(before) - len(after), 0)
        first = _sized(status, headers, len(before) + fill + len(after))
        done.chunks = _filled(first + before, fill, after)
    elif "drip" in faults:
        done.pause = float(faults["drip"] or 0.05)
        single = (body[at : at + 1] for at in range(len(body)))
        done.chunks = chain([_sized(status, headers, len(body))], single)
    else:
        sent = body[: len(body) // 2] if end else body
        done.chunks = iter((_sized(status, headers, len(body)) + sent,))
    return done


def _sized(status: int, headers: Mapping[str, str], size: int) -> bytes:
    return head(status, {**headers, "content-length": str(size)})


def _filled(before: bytes, fill: int, after: bytes) -> Iterator[bytes]:
    yield before
    block = b"x" * min(fill, MEBIBYTE // 4)
    while fill:
        yield block[:fill]
        fill -= min(fill, len(block))
    yield after


class Connection(asyncio.Protocol):
    """One connection: a request at a time, kept open between them."""

    transport: asyncio.Transport

    def __init__(self, server: Server) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._seen: Seen | None = None
        self._reply: Reply | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._full = False
        self._keep = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        # Writing pauses until all is with the kernel: only then is an answer written.
        self.transport.set_write_buffer_limits(high=0)
        self._server.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer:
            self._timer.cancel()
        if self._seen:
            self._server.end(self._seen, answered=False)
            self._seen = None
        self._server.closed(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._next()

    def _next(self) -> None:
        """Take the next request if it is there and the last one has its answer."""
        end = self._received.find(b"\r\n\r\n")
        if end < 0 or self._seen is not None or self.transport.is_closing():
            return
        first, *lines = self._received[:end].decode("latin-1").split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        size = int(headers.get("content-length", 0))
        if len(self._received) < end + 4 + size:
            return
        raw = bytes(self._received[end + 4 : end + 4 + size])
        del self._received[: end + 4 + size]
        method, target, _ = first.split(" ", 2)
        # Bodies in chunks are not read: what follows cannot be told from a request.
        closes = headers.get("connection", "").lower() == "close"
        self._keep = not closes and "transfer-encoding" not in headers
        self._seen = self._server.receive(target, headers, raw)
        self._reply = self._server.reply_to(method, self._seen)
        if self._reply.wait:
            self._timer = self._loop.call_later(self._reply.wait, self._send)
        else:
            self._send()

    def _send(self) -> None:
        """Send chunks until there is none or the connection is full."""
        assert self._reply is not None
        while not self._full and not self.transport.is_closing():
            chunk = next(self._reply.chunks, None)
            if chunk is None:
                self._end()
                return
            self.transport.write(chunk)
            if self._reply.pause:
                self._timer = self._loop.call_later(self._reply.pause, self._send)
                return

    def _end(self) -> None:
        assert self._reply is not None
        assert self._seen is not None
        if self._reply.end == HANG:
            return
        if self._reply.end == RESET:
            linger = pack("ii", 1, 0)  # closing sends a reset
            self.transport.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, linger)
        if self._reply.end in (CUT, RESET):
            self.transport.close()
            return
        self._server.end(self._seen, answered=True)
        self._seen = None
        if not self._keep:
            self.transport.close()
        elif self._received:
            self._loop.call_soon(self._next)

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        if self._seen is not None and not (self._reply and self._reply.pause):
            self._send()

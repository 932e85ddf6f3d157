"""Providers of language models on loopback: real HTTP/1.1, four dialects, every fault.

A request is answered as its model string says (``sim+429-after:2``; see
:mod:`simulated_behaviours` for all there is), or as a callable chooses. Answers are not streamed.

As a process of its own: ``python -m tests.simulator [--port 0] [--latency 0.02] [--log FILE]``
prints its URL as the first line and ends at SIGTERM. The log has a line of JSON for each request
(``event`` "request") and one when its answer is completely written ("answered"); both hold ``n``.
It is complete once the process has ended.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, Self
from urllib.parse import unquote, urlsplit

if __package__:  # run as tests.simulator, where the folder of this file is not searched
    sys.path.insert(0, str(Path(__file__).parent))

import simulated_wire as wire
from simulated_behaviours import reply
from simulated_http import Connection, Reply, Seen, delivered

__all__ = ["Choose", "Seen", "Simulator"]

Choose = Callable[[str, str, str, int], str]


class Simulator:
    """Providers between ``with`` and its end, in a thread of their own.

    Parameters
    ----------
    choose : gives the behaviour from dialect, model, prompt and how many-th request for this
        model and prompt it is; by default the model string is the behaviour
    latency : seconds before each answer, where its behaviour states none
    log : file that lines of JSON are appended to
    """

    def __init__(
        self,
        choose: Choose | None = None,
        *,
        latency: float = 0.0,
        port: int = 0,
        log: Path | None = None,
    ) -> None:
        self.busiest = 0
        self.port = port
        self.latency = latency
        self._choose = choose
        self._log: IO[bytes] | None = log.open("ab", buffering=0) if log else None
        self._requests: list[Seen] = []
        self._nth: Counter[tuple[str, str]] = Counter()
        self._busy = 0
        self._wrong: Exception | None = None
        self._open: set[Connection] = set()
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> list[Seen]:
        """All requests so far, in the order of their arrival; safe from any thread.

        A client that has its whole answer finds it marked as answered.
        """
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            settled = threading.Event()  # after the callback that wrote the answer
            self._loop.call_soon_threadsafe(settled.set)
            settled.wait(1)
        return list(self._requests)

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        if not self._thread.is_alive() or not self.port:
            raise RuntimeError("the simulator did not start")
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Close all connections.

        Raises
        ------
        RuntimeError : a behaviour was unknown, choosing one failed, or a request was no HTTP
        """
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
        if self._log:
            self._log.close()
        if self._wrong is not None and error is None:
            raise RuntimeError(f"the simulator failed: {self._wrong}") from self._wrong

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._loop.set_exception_handler(self._failed)
        try:
            server = await self._loop.create_server(
                lambda: Connection(self), "127.0.0.1", self.port, backlog=1024
            )
            self.port = server.sockets[0].getsockname()[1]
        except OSError:
            self.port = 0
            raise
        finally:
            self._started.set()
        await self._stop.wait()
        server.close()
        while self._open:
            for connection in tuple(self._open):
                connection.transport.abort()
            await asyncio.sleep(0)

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Keep what went wrong in a connection for the end."""
        error = context.get("exception")
        # A transport that broke while it was aborted is told so twice: its socket is gone then.
        lost = "_call_connection_lost" in context["message"]
        if lost and isinstance(error, AttributeError) and error.obj is None:
            return
        self._wrong = self._wrong or error or RuntimeError(context["message"])

    # --- called by connections, in the thread of the loop ---

    def opened(self, connection: Connection) -> None:
        self._open.add(connection)

    def closed(self, connection: Connection) -> None:
        self._open.discard(connection)

    def receive(self, target: str, headers: Mapping[str, str], raw: bytes) -> Seen:
        """Note a request."""
        path = unquote(urlsplit(target).path)
        seen = Seen(len(self._requests), time.time(), target, path, headers, raw)
        self._requests.append(seen)
        self._busy += 1
        self.busiest = max(self.busiest, self._busy)
        return seen

    def reply_to(self, method: str, seen: Seen) -> Reply:
        """Understand a request and decide on its answer."""
        dialect = wire.dialect_of(seen.path)
        try:
            if method != "POST" or dialect is None:
                raise wire.BadRequest(404, f"nothing at {method} {seen.path}")
            seen.dialect = dialect
            seen.body = _object(seen.raw)
            asked = wire.read(dialect, seen.path, seen.body)
            seen.model, seen.prompt = asked.model, asked.prompt
            self._nth[asked.model, asked.prompt] += 1
            seen.nth = self._nth[asked.model, asked.prompt]
            wire.check_headers(dialect, seen.headers)
            done = self._behave(asked, seen)
        except wire.BadRequest as error:
            document = wire.error(dialect or wire.CHAT, error.status, str(error), "refused")
            body = json.dumps(document).encode()
            done = delivered(error.status, {"content-type": "application/json"}, body, {})
        seen.status = done.status
        self._note("request", seen, path=seen.path, model=seen.model, nth=seen.nth)
        return done

    def _behave(self, asked: wire.Asked, seen: Seen) -> Reply:
        try:
            behaviour = asked.model
            if self._choose is not None:
                chosen = self._choose(asked.dialect, asked.model, asked.prompt, seen.nth)
                behaviour = f"sim+{chosen.removeprefix('sim').removeprefix('+')}"
            done = reply(asked, behaviour, seen.nth, wire.key_of(seen.headers), self.port)
        except Exception as error:  # whatever a test's callable may raise
            self._wrong = self._wrong or error
            raise wire.BadRequest(404, f"the simulator failed: {error}") from error
        if "latency" not in behaviour:
            done.wait = self.latency
        return done

    def end(self, seen: Seen, *, answered: bool) -> None:
        """Note that nothing more is sent."""
        self._busy -= 1
        seen.answered = answered
        if answered:
            self._note("answered", seen)

    def _note(self, event: str, seen: Seen, **more: Any) -> None:
        if self._log is None:
            return
        line = {"event": event, "n": seen.number, "at": time.time(), "status": seen.status, **more}
        if event == "request":
            prompt = seen.prompt.encode("utf-8", "surrogatepass")
            line |= {"dialect": seen.dialect, "prompt_sha256": sha256(prompt).hexdigest()}
        self._log.write(json.dumps(line).encode() + b"\n")


def _object(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(raw)
    except ValueError as error:
        raise wire.BadRequest(400, f"the request is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise wire.BadRequest(400, "the request is no JSON object")
    return found


def main() -> None:
    """Run in this process until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description="providers of language models on loopback")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.02)
    parser.add_argument("--log", type=Path)
    options = parser.parse_args()
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with Simulator(latency=options.latency, port=options.port, log=options.log) as simulator:
        print(simulator.url, flush=True)
        signal.sigwait(signals)


if __name__ == "__main__":
    main()

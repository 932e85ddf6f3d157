"""One request over HTTP: what came back, complete or not, within its time and size.

aiohttp carries it: at 64 requests at once it takes about a fifth of the processor time that
httpx2 does, which would hold back 5,000 requests of 20 ms.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from types import TracebackType
from urllib.parse import urlsplit

import aiohttp

from flavourbench import __version__
from flavourbench.collect.outcomes import CUT, DROPPED, TIMEOUT, TOO_LARGE, UNREACHABLE, Raw
from flavourbench.collect.roster import loopback
from flavourbench.collect.secret import Scrubber
from flavourbench.errors import shown

#: An answer of three labels is far shorter, however long its reasoning.
LARGEST_BODY = 8 * 2**20
#: Largest part of a body that is looked at at once, and headers together.
_PART = 2**16


class HttpCaller:
    """Sends requests; a context manager.

    Parameters
    ----------
    scrubber : removes keys from all that comes back
    """

    def __init__(self, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        # Proxies of the environment are for other machines only.
        self._here, self._away = (_session(trust_env=away) for away in (False, True))

    async def __aenter__(self) -> HttpCaller:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._here.close()
        await self._away.close()

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, timeout: float) -> Raw:
        """Send a request; nothing that goes wrong with it raises.

        Parameters
        ----------
        timeout : seconds until the answer has to be complete
        """
        session = self._here if loopback(urlsplit(url).hostname or "") else self._away
        status: int | None = None
        seen: dict[str, str] = {}
        arrived = bytearray()
        problem: tuple[str, str] | None = None
        try:
            async with asyncio.timeout(timeout):
                async with session.post(
                    url, data=body, headers=headers, allow_redirects=False
                ) as response:
                    status = response.status
                    seen = self._scrubber.headers(response.headers.items())
                    async for part in response.content.iter_chunked(_PART):
                        arrived += part
                        if len(arrived) > LARGEST_BODY:
                            del arrived[LARGEST_BODY:]
                            problem = TOO_LARGE, f"more than {LARGEST_BODY >> 20} MiB"
                            break
        except asyncio.CancelledError:
            problem = DROPPED, "this collector ended before an answer came"
        except TimeoutError:
            problem = TIMEOUT, f"no complete answer in {timeout:g} s"
        except aiohttp.ClientConnectorError as error:
            problem = UNREACHABLE, _words(error)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            problem = CUT, _words(error)
        kind, words = problem or (None, "")
        return Raw(
            status, seen, self._scrubber.bytes(bytes(arrived)), kind, self._scrubber.text(words)
        )


def _session(*, trust_env: bool) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        trust_env=trust_env,
        headers={"user-agent": f"flavourbench/{__version__}", "content-type": "application/json"},
        read_bufsize=_PART,
    )


def _words(error: BaseException) -> str:
    """An error on one line."""
    cause = getattr(error, "os_error", None)
    if isinstance(error, (aiohttp.ClientSSLError, ssl.SSLError)):
        return shown(f"TLS: {error}", 300)
    if isinstance(cause, OSError) and cause.strerror:
        return shown(cause.strerror.lower(), 300)
    return shown(str(error) or type(error).__name__, 300)

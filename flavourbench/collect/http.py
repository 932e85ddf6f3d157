"""One request over HTTP: what came back, complete or not, within its time and size.

aiohttp carries it: at 64 requests at once it takes about a fifth of the processor time that
httpx2 does, which would hold back 5,000 requests of 20 ms.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from functools import cache
from types import TracebackType
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from flavourbench import __version__
from flavourbench.collect.outcomes import (
    CUT,
    DROPPED,
    ENCODING,
    TIMEOUT,
    TOO_LARGE,
    UNREACHABLE,
    Raw,
)
from flavourbench.collect.roster import loopback
from flavourbench.collect.secret import Scrubber
from flavourbench.errors import InputError, shown

#: An answer of three labels is far shorter, however long its reasoning.
LARGEST_BODY = 8 * 2**20
#: Largest part of a body that is looked at at once, and headers together.
_PART = 2**16


class HttpCaller:
    """Sends requests; a context manager."""

    def __init__(self) -> None:
        self._session = _session()

    async def __aenter__(self) -> HttpCaller:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def post(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        timeout: float,
        scrubber: Scrubber,
    ) -> Raw:
        """Send a request; nothing that goes wrong with it raises.

        Parameters
        ----------
        timeout : seconds until the answer has to be complete
        scrubber : removes the key from all that comes back

        Raises
        ------
        InputError
            The proxy of the environment is none: no request could be sent.
        """
        proxy = proxy_of(*urlsplit(url)[:2])
        status: int | None = None
        seen: dict[str, str] = {}
        arrived = bytearray()
        problem: tuple[str, str] | None = None
        try:
            async with asyncio.timeout(timeout):
                async with self._session.post(
                    url,
                    data=body,
                    headers=headers,
                    allow_redirects=False,
                    proxy=proxy,
                ) as response:
                    status = response.status
                    seen = scrubber.of_headers(response.headers.items())
                    async for part in response.content.iter_chunked(_PART):
                        arrived += part
                        if len(arrived) > LARGEST_BODY:
                            del arrived[_PART:]  # enough to see what it was
                            problem = TOO_LARGE, f"more than {LARGEST_BODY >> 20} MiB"
                            break
        except asyncio.CancelledError:
            problem = DROPPED, "this collector ended before an answer came"
        except TimeoutError:
            problem = TIMEOUT, f"no complete answer in {timeout:g} s"
        except aiohttp.ClientConnectorError as error:
            problem = UNREACHABLE, f"{error.host}:{error.port}: {_words(error)}"
        except (aiohttp.ClientError, OSError, ValueError) as error:
            problem = CUT, _words(error)
        content = bytes(arrived)
        if problem is None and not _is_text(content):
            problem = ENCODING, "the answer is no UTF-8"
        if problem is None:
            return Raw(status, seen, scrubber.of_bytes(content))
        # What is no text could hold anything: it is kept as far as it is some.
        content = scrubber.of_cut(content.decode("utf-8", "replace").encode())
        return Raw(status, seen, content, problem[0], scrubber.of_text(problem[1]))


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return True


@cache
def proxy_of(scheme: str, host: str) -> str | None:
    """The proxy of the environment for a host; none for this machine.

    aiohttp would find it too, but then also take logins from ``~/.netrc``.

    Raises
    ------
    InputError
        The variable holds no address; never with what it holds.
    """
    name = host.rpartition("@")[2]
    if loopback(urlsplit(f"//{name}").hostname or "") or proxy_bypass(name):
        return None
    proxy = getproxies().get(scheme)
    if not proxy:
        return None
    try:
        whole = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        known = whole.scheme in ("http", "https") and whole.hostname and whole.port != 0
    except ValueError:
        known = False
    if not known:
        raise InputError(f"the variable {scheme}_proxy holds no address of a proxy: set it anew")
    return whole.geturl()


def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None),
        headers={
            "user-agent": f"flavourbench/{__version__}",
            "content-type": "application/json",
            "accept-encoding": "gzip, deflate",
        },
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

"""A small Hugging Face hub on loopback: what its client asks for, and scripted faults.

Large files are served as by the real one: by way of a signed address on another host.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

API, HEAD, GET = "api", "head", "get"
#: Part of signed addresses: nobody is to see it.
SIGNATURE = "signed-and-secret"
_API = re.compile(r"/api/models/([^/]+/[^/]+)/revision/([^/]+)")
_FILE = re.compile(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
_STORAGE = re.compile(r"/storage/([^/]+/[^/]+)/([^/]+)/(.+)")


@dataclass
class Fault:
    """What goes wrong with a kind of request.

    Attributes
    ----------
    route : ``API`` (what a repository holds), ``HEAD`` (where a file is) or ``GET`` (its content)
    file, repository : which one; by default all
    status, code : answer with this HTTP status and the hub's own code
    body : answer 200 with these bytes
    commit : say that the file belongs to this commit
    cut : drop the connection after so many bytes of the content
    stall : wait so many seconds before the answer
    times : after so many requests it is over; by default never
    """

    route: str
    file: str | None = None
    _: KW_ONLY
    repository: str | None = None
    status: int | None = None
    code: str | None = None
    body: bytes | None = None
    commit: str | None = None
    cut: int | None = None
    stall: float = 0.0
    times: int = 10**6


@dataclass(frozen=True)
class Request:
    """What a client asked for; names of headers in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]


@dataclass
class Repository:
    """What a repository holds.

    Attributes
    ----------
    commits : files by commit
    branches : commits by branch
    stated : sizes to state in place of the true ones
    xet : large files are also offered by way of Xet, a protocol that nobody speaks here
    """

    commits: dict[str, dict[str, bytes]]
    branches: dict[str, str]
    stated: dict[str, int | None] = field(default_factory=dict)
    xet: bool = False

    def commit(self, revision: str) -> str | None:
        commit = self.branches.get(revision, revision)
        return commit if commit in self.commits else None


class HubServer:
    """Repositories behind HTTP on a free port of 127.0.0.1, between ``start`` and ``stop``."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.closing = threading.Event()
        handler = type("Handler", (_Handler,), {"hub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def files_asked_for(self) -> set[str]:
        """Names of the files that any request was about."""
        matches = [
            pattern.fullmatch(request.path)
            for request in self.requests
            for pattern in (_FILE, _STORAGE)
        ]
        return {match[3] for match in matches if match}

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Close the port; may be called twice."""
        if not self.closing.is_set():
            self.closing.set()
            self._server.shutdown()
            self._server.server_close()

    def fault(self, route: str, repository: str, file: str | None = None) -> Fault:
        """The first fault that is left for a request."""
        for fault in self.faults:
            about = fault.file in (None, file) and fault.repository in (None, repository)
            if about and fault.route == route and fault.times:
                fault.times -= 1
                return fault
        return Fault(route)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # heads and bodies are written apart
    hub: HubServer

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.hub.requests.append(Request(self.command, path, headers))
        if match := _API.fullmatch(path):
            self._repository(match[1], match[2])
        elif match := _FILE.fullmatch(path):
            self._file(*match.groups(), stored=False)
        elif match := _STORAGE.fullmatch(path):
            self._file(*match.groups(), stored=True)
        else:
            self._refuse(404, "NotFound")

    def _repository(self, name: str, revision: str) -> None:
        if self._fails(self.hub.fault(API, name)):
            return
        found = self._found(name, revision)
        if found is None:
            return
        repository, commit = found
        siblings = [
            {"rfilename": file, "size": repository.stated.get(file, len(content))}
            for file, content in repository.commits[commit].items()
        ]
        described = {"_id": "0", "id": name, "modelId": name, "sha": commit, "siblings": siblings}
        body = json.dumps(described).encode()
        self._send(200, {"Content-Type": "application/json"}, body)

    def _file(self, name: str, revision: str, file: str, *, stored: bool) -> None:
        elsewhere = file.endswith(".safetensors") and not stored
        content_sent = self.command == "GET" and not elsewhere
        fault = self.hub.fault(GET if content_sent else HEAD, name, file)
        if self._fails(fault):
            return
        found = self._found(name, revision)
        if found is None:
            return
        repository, commit = found
        headers = {"X-Repo-Commit": fault.commit or commit}
        content = repository.commits[commit].get(file)
        if content is None:
            self._refuse(404, "EntryNotFound", headers)
            return
        digest = f'"{hashlib.sha256(content).hexdigest()}"'
        headers |= {"ETag": digest, "Accept-Ranges": "bytes"}
        if elsewhere:
            place = f"http://localhost:{self.hub.port}/storage/{name}/{commit}/{file}"
            headers |= {"X-Linked-Etag": digest, "X-Linked-Size": str(len(content))}
            headers["Location"] = f"{place}?signature={SIGNATURE}"
            if repository.xet:
                route = f"{self.hub.url}/xet/{name}"
                headers |= {"X-Xet-Hash": digest.strip('"'), "X-Xet-Refresh-Route": route}
            self._send(302, headers, b"")
            return
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if asked is None:
            self._send(200, headers, content, fault.cut)
            return
        start = int(asked[1])
        headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self._send(206, headers, content[start:], fault.cut)

    def _found(self, name: str, revision: str) -> tuple[Repository, str] | None:
        """The repository and the commit; as on the real hub, an unknown one may be private."""
        repository = self.hub.repositories.get(name)
        if repository is None:
            self._refuse(401, "RepoNotFound")
            return None
        commit = repository.commit(revision)
        if commit is None:
            self._refuse(404, "RevisionNotFound")
            return None
        return repository, commit

    def _fails(self, fault: Fault) -> bool:
        """Whether the fault is the whole answer."""
        if fault.stall:
            self.hub.closing.wait(fault.stall)
        if fault.status is not None:
            self._refuse(fault.status, fault.code)
        elif fault.body is not None:
            self._send(200, {"Content-Type": "text/html"}, fault.body)
        return fault.status is not None or fault.body is not None

    def _refuse(
        self, status: int, code: str | None, headers: Mapping[str, str] | None = None
    ) -> None:
        said = {"X-Error-Message": f"refused with {SIGNATURE}"}
        if code is not None:
            said["X-Error-Code"] = code
        self._send(status, {**said, **(headers or {})}, b"")

    def _send(
        self, status: int, headers: Mapping[str, str], body: bytes, cut: int | None = None
    ) -> None:
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body[:cut])
        except ConnectionError:  # the client has gone: a stalled answer may come too late
            self.close_connection = True
        if cut is not None:
            self.close_connection = True

"""Downloads of published snapshots: the real client against a small hub on loopback.

The client reads its settings when it is imported, so each case is a process of its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hub_server import API, GET, HEAD, SIGNATURE, Fault, HubServer, Repository
from references import reference
from running import Run, strict_json

from flavourbench.environment import read_environment
from flavourbench.environment.hub import DEFAULT_REPOSITORY

COMMIT, OTHER = "0123456789abcdef" * 2 + "01234567", "f" * 40
PINNED, FREE = "Owner/pinned", "Owner/free"
TOKEN = "hf_never_sent_and_never_shown"
ITEMS = ["bread", "butter", "cumin", "miso", "olive_oil", "rice", "tea", "tomato"]
NEEDED = {"embeddings.safetensors", "vocab.json"}
OPTIONAL = {"itos.json", "config.json"}

#: Runs downloads one after the other and prints what came of each as JSON.
DRIVER = """
import json, resource, sys, time
jobs, pinned, limit, missing = json.loads(sys.argv[1])
time.sleep = lambda seconds: None  # the client waits between its attempts
if missing:
    sys.modules["huggingface_hub"] = None
from flavourbench.environment import hub
from flavourbench.errors import FlavourBenchError
known = {name: hub.Published("CC0-1.0", "nobody", files) for name, files in pinned.items()}
hub.PUBLISHED = {**hub.PUBLISHED, **known}
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
def settings():
    try:
        from huggingface_hub import constants
        from huggingface_hub.utils import logging
    except (ImportError, ValueError):
        return None
    return {**vars(constants)}, logging.get_verbosity()
before, found = settings(), []
for repository, revision in jobs:
    try:
        got = hub.download(repository, revision)
        found.append({"folder": str(got.folder), "origin": {**got.origin}})
    except FlavourBenchError as error:
        found.append({"code": error.exit_code, "says": str(error)})
assert settings() == before
print(json.dumps(found))
"""


def snapshot() -> dict[str, bytes]:
    """A whole repository: 8 items in 4 dimensions, and files that nobody needs."""
    rows = [[1.0 + at, (at * at) % 5 - 2.0, 0.5, at % 3 - 1.0] for at in range(len(ITEMS))]
    data = struct.pack("<32f", *[value for row in rows for value in row])
    tensor = {"dtype": "F32", "shape": [len(ITEMS), 4], "data_offsets": [0, len(data)]}
    head = json.dumps({"embeddings": tensor}).encode()
    return {
        "embeddings.safetensors": struct.pack("<Q", len(head)) + head + data,
        "vocab.json": json.dumps({name: at for at, name in enumerate(ITEMS)}).encode(),
        "itos.json": json.dumps({str(at): name for at, name in enumerate(ITEMS)}).encode(),
        "config.json": json.dumps({"vocab_size": len(ITEMS), "d_model": 4}).encode(),
        "modes.json": b"[]",
        "modeling.py": b"raise SystemExit",
        "pytorch_model.bin": b"\x80\x04.",
        ".gitattributes": b"",
    }


def digests(files: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(files[name]).hexdigest() for name in NEEDED}


@contextlib.contextmanager
def running(*names: str) -> Iterator[HubServer]:
    """A hub with repositories of one content."""
    started = HubServer()
    for name in names:
        started.repositories[name] = Repository({COMMIT: snapshot()}, {"main": COMMIT})
    started.start()
    try:
        yield started
    finally:
        started.stop()
    for request in started.requests:
        assert "authorization" not in request.headers, request
        assert "agent" not in request.path  # the list that telemetry is made with
        assert "agent/" not in request.headers["user-agent"]


@pytest.fixture
def server() -> Iterator[HubServer]:
    with running(PINNED, FREE) as started:
        yield started


@dataclass
class Client:
    """The environment of the processes that download."""

    variables: dict[str, str]
    pinned: dict[str, dict[str, str]]

    def run(self, *jobs: tuple[str, str | None], limit: int = 0, missing: bool = False) -> Any:
        """What came of each download; nothing else is said, and no secret."""
        job = json.dumps([jobs, self.pinned, limit, missing])
        done = subprocess.run(
            [sys.executable, "-c", DRIVER, job],
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        for secret in (TOKEN, SIGNATURE):
            assert secret not in done.stdout
        return strict_json(done.stdout)

    def got(self, repository: str, revision: str | None = None) -> tuple[Path, dict[str, str]]:
        """Folder and origin of a download that succeeds."""
        (found,) = self.run((repository, revision))
        assert found.keys() == {"folder", "origin"}, found
        return Path(found["folder"]), found["origin"]

    def refused(
        self, repository: str, revision: str | None = None, code: int = 2, **options: Any
    ) -> str:
        """The line of a download that fails."""
        (found,) = self.run((repository, revision), **options)
        assert found.get("code") == code, found
        line: str = found["says"]
        assert line.isprintable()
        assert len(line) < 400
        return line


def client_in(folder: Path, server: HubServer) -> Client:
    """A client that keeps everything below ``folder``, with a token that it is not to use."""
    home = folder / "huggingface"
    home.mkdir()
    (home / "token").write_text(TOKEN)
    (folder / "netrc").write_text(f"machine 127.0.0.1 login me password {TOKEN}\n")
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("HF_") and "proxy" not in name.lower()
    }
    own = {
        "HF_ENDPOINT": server.url,
        "HF_HOME": str(home),
        "HF_TOKEN": TOKEN,
        "HF_HUB_ETAG_TIMEOUT": "2",
        "HF_HUB_DOWNLOAD_TIMEOUT": "2",
        "NETRC": str(folder / "netrc"),
        "AI_AGENT": "known-to-telemetry",
        "FLAVOURBENCH_CACHE": str(folder / "cache"),
    }
    return Client(clean | own, {PINNED: digests(snapshot())})


@pytest.fixture
def client(server: HubServer, tmp_path: Path) -> Client:
    return client_in(tmp_path, server)


# --- what is fetched -------------------------------------------------------------------------


def test_only_what_the_importer_reads_is_fetched_and_once(
    client: Client, server: HubServer
) -> None:
    folder, origin = client.got(FREE, COMMIT)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        name: content for name, content in snapshot().items() if name in NEEDED | OPTIONAL
    }
    assert server.files_asked_for == NEEDED | OPTIONAL
    assert origin.keys() == {"repository", "revision", "licence", "attribution"}
    assert (origin["repository"], origin["revision"]) == (FREE, COMMIT)
    server.stop()
    assert client.got(FREE, COMMIT) == (folder, origin)


def test_what_a_repository_does_not_have_is_not_asked_for_again(
    client: Client, server: HubServer
) -> None:
    files = server.repositories[FREE].commits[COMMIT]
    for name in OPTIONAL:
        del files[name]
    folder, _ = client.got(FREE, COMMIT)
    assert {path.name for path in folder.iterdir()} == NEEDED
    server.stop()
    assert client.got(FREE, COMMIT)[0] == folder


def test_a_cache_that_lacks_a_file_is_filled(client: Client, server: HubServer) -> None:
    folder, _ = client.got(FREE, COMMIT)
    (folder / "itos.json").unlink()
    assert client.got(FREE, COMMIT)[0] == folder
    assert (folder / "itos.json").read_bytes() == snapshot()["itos.json"]
    (folder / "itos.json").unlink()
    server.stop()
    assert "connection" in client.refused(FREE, COMMIT)


def test_large_files_come_over_plain_http(client: Client, server: HubServer) -> None:
    server.repositories[FREE].xet = True
    folder, _ = client.got(FREE, COMMIT)
    content = (folder / "embeddings.safetensors").read_bytes()
    assert content == snapshot()["embeddings.safetensors"]
    assert [request.path for request in server.requests if "/xet" in request.path] == []


def test_a_pinned_repository_needs_no_revision(client: Client, server: HubServer) -> None:
    folder, origin = client.got(PINNED)
    assert origin == {
        "repository": PINNED,
        "revision": COMMIT,
        "licence": "CC0-1.0",
        "attribution": "nobody",
    }
    # The branch moves on with the same content: a call that hears of it follows.
    repository = server.repositories[PINNED]
    repository.commits[OTHER] = {**snapshot(), "README.md": b"news"}
    repository.branches["main"] = OTHER
    assert client.got(PINNED)[1]["revision"] == OTHER
    server.stop()
    assert client.got(PINNED)[1]["revision"] == OTHER
    assert client.got(PINNED, COMMIT) == (folder, origin)


def test_the_default_is_the_published_snapshot(client: Client, server: HubServer) -> None:
    source = reference("epicure-cooc")
    files = {name: (source / name).read_bytes() for name in NEEDED | OPTIONAL}
    server.repositories["Kaikaku/epicure-cooc"] = Repository({COMMIT: files}, {"main": COMMIT})
    folder, origin = client.got("Kaikaku/epicure-cooc")
    assert (folder / "vocab.json").read_bytes() == files["vocab.json"]
    assert origin["licence"] == "CC-BY-4.0"
    assert "Radzikowski" in origin["attribution"]
    assert "Chen" in origin["attribution"]


# --- what is refused -------------------------------------------------------------------------


def test_names_and_revisions_are_checked_before_anything_is_asked(
    client: Client, server: HubServer
) -> None:
    names = ["", " ", "x", "../x", "a/b/c", "a/", "/b", "a b/c", "a/b ", "a/b\n", "a/..", "a/b--c"]
    names += ["a/b.git", "a\\b", "a/b?c", "a/%2e%2e", "é/b", "https://huggingface.co/a/b"]
    names += ["a/" + "b" * 95]
    revisions = ["", "main", "0" * 39, "0" * 41, "F" * 40, "0" * 39 + "g", "../" * 13 + "a"]
    revisions += [COMMIT + "\n"]
    jobs: list[tuple[str, str | None]] = [(name, COMMIT) for name in names]
    jobs += [(PINNED, revision) for revision in revisions]
    jobs += [(FREE, None), ("Kaikaku/epicure-core", None), ("Kaikaku/epicure-chem", None)]
    for job, outcome in zip(jobs, client.run(*jobs), strict=True):
        assert outcome.get("code") == 2, (job, outcome)
        wrong = "OWNER/NAME" if job[0] in names else "--revision"
        assert wrong in outcome["says"], (job, outcome)
        assert outcome["says"].isprintable()
    assert server.requests == []


@pytest.mark.parametrize("changed", sorted(NEEDED))
def test_pinned_content_is_checked_however_it_is_asked_for(
    changed: str, client: Client, server: HubServer
) -> None:
    files = {**snapshot(), changed: b"something else"}
    server.repositories[PINNED] = Repository({OTHER: files}, {"main": OTHER})
    found = hashlib.sha256(files[changed]).hexdigest()
    outcomes = client.run(
        *itertools.product([PINNED, PINNED.lower(), PINNED.upper()], [None, OTHER])
    )
    assert len(outcomes) == 6
    for outcome in outcomes:
        assert outcome.get("code") == 1, outcome
        for part in (PINNED, changed, found[:8], client.pinned[PINNED][changed][:8]):
            assert part in outcome["says"]


def test_pinned_content_damaged_in_the_cache_is_found(client: Client, server: HubServer) -> None:
    folder, _ = client.got(PINNED, COMMIT)
    (folder / "embeddings.safetensors").resolve().write_bytes(b"rotten")
    server.stop()
    line = client.refused(PINNED, COMMIT, code=1)
    repository = folder.parent.parent
    assert f"delete {repository}" in line


#: Faults of the hub, and what is said of them.
FAULTS: list[tuple[Fault, tuple[str, ...]]] = [
    (Fault(API, status=401), ("HTTP 401", "private")),
    (Fault(API, status=401, code="RepoNotFound"), ("HTTP 401", "misspelt")),
    (Fault(API, status=403), ("HTTP 403", "private")),
    (Fault(API, status=403, code="GatedRepo"), ("HTTP 403", "gated")),
    (Fault(HEAD, status=401, code="GatedRepo"), ("HTTP 401", "gated")),
    (Fault(GET, status=403), ("HTTP 403",)),
    (Fault(API, status=404, code="RepoNotFound"), ("HTTP 404", "no such repository")),
    (Fault(API, status=404, code="RevisionNotFound"), ("no revision", COMMIT)),
    (Fault(HEAD, status=404, code="RevisionNotFound"), ("no revision", COMMIT)),
    (Fault(HEAD, "embeddings.safetensors", status=404, code="EntryNotFound"), ("HTTP 404",)),
    (Fault(API, status=418), ("HTTP 418",)),
    (Fault(API, status=429), ("HTTP 429", "later")),
    (Fault(HEAD, status=429), ("HTTP 429", "later")),
    (Fault(GET, status=429), ("HTTP 429", "later")),
    (Fault(API, status=500), ("HTTP 500", "fault")),
    (Fault(HEAD, status=503), ("HTTP 503", "fault")),
    (Fault(GET, status=502), ("HTTP 502", "fault")),
    (Fault(API, stall=20), ("connection", "Timeout")),
    (Fault(GET, "embeddings.safetensors", cut=0), ("connection",)),
    (Fault(API, body=b"<html>Log in"), ("does not answer like the hub",)),
    (Fault(API, body=b"[]"), ("does not answer like the hub",)),
    (Fault(API, body=b'{"id": "a/b", "siblings": [{}]}'), ("does not answer like the hub",)),
    (Fault(HEAD, body=b""), ("does not answer like the hub",)),
    (Fault(HEAD, commit=OTHER), ("commit", OTHER)),
    (Fault(HEAD, "config.json", commit=OTHER), ("commit", OTHER)),
]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[dict[str, Any], ...]]:
    """What came of a download under each fault, and of the next one without."""
    jobs = [(f"Owner/faulty-{at}", COMMIT) for at in range(len(FAULTS))]
    with running(*[name for name, _ in jobs]) as server:
        client = client_in(tmp_path_factory.mktemp("faults"), server)
        for (name, _), (fault, _) in zip(jobs, FAULTS, strict=True):
            server.faults.append(replace(fault, repository=name))
        during = client.run(*jobs)
        server.faults.clear()
        return [*zip(during, client.run(*jobs), strict=True)]


@pytest.mark.parametrize(
    "at",
    range(len(FAULTS)),
    ids=lambda at: f"{at}-{FAULTS[at][0].route}-{FAULTS[at][0].status or 'other'}",
)
def test_a_fault_of_the_hub_is_one_clear_line(
    at: int, outcomes: list[tuple[dict[str, Any], ...]]
) -> None:
    during, after = outcomes[at]
    assert during.get("code") == 2, during
    for part in (f"Owner/faulty-{at}:", *FAULTS[at][1]):
        assert part in during["says"]
    assert during["says"].isprintable()
    assert len(during["says"]) < 300
    assert after["origin"]["revision"] == COMMIT


@pytest.mark.parametrize(
    ("repository", "revision", "says"),
    [("Owner/none", COMMIT, "misspelt"), (FREE, OTHER, OTHER), (PINNED, OTHER, OTHER)],
)
def test_what_the_hub_does_not_know_is_named(
    repository: str, revision: str, says: str, client: Client
) -> None:
    line = client.refused(repository, revision)
    assert repository in line
    assert says in line


def test_after_a_cut_connection_the_content_is_whole(client: Client, server: HubServer) -> None:
    # Newer clients resume by themselves, older ones leave it to the next call.
    server.faults = [Fault(GET, "embeddings.safetensors", cut=50, times=1)]
    *_, found = client.run((PINNED, COMMIT), (PINNED, COMMIT))
    content = (Path(found["folder"]) / "embeddings.safetensors").read_bytes()
    assert content == snapshot()["embeddings.safetensors"]
    assert server.faults[0].times == 0


def test_no_network(client: Client, server: HubServer) -> None:
    server.stop()
    for repository, revision in ((FREE, COMMIT), (PINNED, None)):
        line = client.refused(repository, revision)
        assert "check the network" in line
        assert "127.0.0.1" in line


def test_a_password_in_the_endpoint_is_not_shown(client: Client, server: HubServer) -> None:
    server.stop()
    client.variables["HF_ENDPOINT"] = server.url.replace("//", f"//me:{SIGNATURE}@")
    assert "127.0.0.1" in client.refused(FREE, COMMIT)


def test_offline_mode(client: Client, server: HubServer) -> None:
    client.variables["HF_HUB_OFFLINE"] = "1"
    assert "HF_HUB_OFFLINE" in client.refused(PINNED)
    del client.variables["HF_HUB_OFFLINE"]
    got = client.got(PINNED)
    client.variables["HF_HUB_OFFLINE"] = "1"
    server.requests.clear()
    assert client.got(PINNED) == got
    assert server.requests == []


def test_large_files_are_refused_unseen(client: Client, server: HubServer) -> None:
    limit, jobs = 64 * 2**20, []
    for name in sorted(NEEDED | OPTIONAL):
        stated = {name: limit + 1}
        server.repositories[f"Owner/{name}"] = Repository({COMMIT: snapshot()}, {}, stated)
        jobs.append((f"Owner/{name}", COMMIT))
    for (repository, _), outcome in zip(jobs, client.run(*jobs), strict=True):
        assert outcome.get("code") == 2, outcome
        assert f"{repository}: {repository[6:]} has" in outcome["says"]
        assert "64 MiB" in outcome["says"]
    assert server.files_asked_for == set()
    stated = dict.fromkeys(NEEDED | OPTIONAL, limit) | {"modes.json": limit + 1}
    server.repositories[FREE].stated = stated
    client.got(FREE, COMMIT)


def test_a_size_need_not_be_stated(client: Client, server: HubServer) -> None:
    server.repositories[FREE].stated = dict.fromkeys(snapshot(), None)
    client.got(FREE, COMMIT)


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_a_repository_of_something_else(name: str, client: Client, server: HubServer) -> None:
    del server.repositories[FREE].commits[COMMIT][name]
    assert name in client.refused(FREE, COMMIT)
    assert server.files_asked_for == set()


# --- this machine ----------------------------------------------------------------------------


def test_a_cache_that_cannot_be_written(client: Client, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    client.variables["HF_HOME"] = str(tmp_path / "file" / "home")
    line = client.refused(FREE, COMMIT)
    assert str(tmp_path / "file") in line
    assert "not a directory" in line


def test_a_full_disk(client: Client, tmp_path: Path) -> None:
    line = client.refused(FREE, COMMIT, limit=100)
    assert "too large" in line
    assert str(tmp_path) in line
    assert client.got(FREE, COMMIT)[1]["revision"] == COMMIT


def test_without_the_client(client: Client, server: HubServer) -> None:
    assert "pip install 'flavourbench[hub]'" in client.refused(FREE, COMMIT, missing=True)
    assert server.requests == []


def test_settings_that_the_client_refuses(client: Client) -> None:
    client.variables["HF_HUB_ETAG_TIMEOUT"] = "ten"
    assert "HF_" in client.refused(FREE, COMMIT)


# --- the command -----------------------------------------------------------------------------


@pytest.fixture
def pull(
    client: Client, shell: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Run]:
    """``fb env pull`` with tags, in the environment of ``client``."""
    for name in os.environ.keys() - client.variables.keys():
        monkeypatch.delenv(name)
    head = "name,primary_category,is_vegetarian,is_vegan,cuisine_region,nova_level"
    lines = [head, *[f"{item},Grain,True,True,universal,1" for item in ITEMS]]
    (tmp_path / "tags.csv").write_text("\n".join(lines))

    def run(*arguments: str) -> Run:
        return shell("env", "pull", *arguments, "--tags", "tags.csv", **client.variables)

    return run


def test_a_pulled_snapshot_is_stored_with_its_origin(
    pull: Callable[..., Run], server: HubServer
) -> None:
    run = pull(FREE, "--revision", COMMIT, "--name", "tiny", "--json")
    assert (run.code, run.err) == (0, []), run
    stored = read_environment(Path(run.json["path"]))
    assert stored.items == tuple(ITEMS)
    origin = {key: stored.provenance[key] for key in ("repository", "revision")}
    assert origin == {"repository": FREE, "revision": COMMIT}
    assert stored.provenance.keys() >= {"licence", "attribution", "files"}
    server.stop()
    again = pull(FREE, "--revision", COMMIT, "--name", "again", "--json")
    assert again.json["identity"] == run.json["identity"] == stored.identity


def test_a_pull_that_fails_stores_nothing(
    pull: Callable[..., Run], server: HubServer, tmp_path: Path
) -> None:
    server.repositories[DEFAULT_REPOSITORY] = server.repositories[FREE]
    for arguments, code, says in (
        ((), 1, "SHA-256"),
        ((FREE,), 2, "--revision"),
        ((FREE, "--revision", OTHER), 2, OTHER),
        (("../x", "--revision", COMMIT), 2, "OWNER/NAME"),
    ):
        run = pull(*arguments, "--name", "tiny")
        assert (run.code, run.out) == (code, ""), run
        (line,) = run.err
        assert line.startswith("fb: ")
        assert says in line
    assert not (tmp_path / "cache" / "environments").exists()


def test_a_name_that_is_taken_is_refused_before_the_download(
    pull: Callable[..., Run], server: HubServer
) -> None:
    arguments = (FREE, "--revision", COMMIT, "--name", "tiny")
    assert pull(*arguments).code == 0
    server.requests.clear()
    run = pull(PINNED, "--revision", COMMIT, "--name", "tiny")
    assert (run.code, run.out, len(run.err)) == (2, "", 1), run
    assert "--force" in run.err[0]
    assert server.requests == []
    assert pull(*arguments, "--force").code == 0


@pytest.mark.parametrize("arguments", [(FREE, "--name", "pantry"), ("Owner/Pantry",)])
@pytest.mark.parametrize("force", [(), ("--force",)], ids=["new", "force"])
def test_what_is_built_in_is_not_replaced(
    pull: Callable[..., Run],
    server: HubServer,
    tmp_path: Path,
    arguments: tuple[str, ...],
    force: tuple[str, ...],
) -> None:
    """Refused before the download, be it named or called so on the hub."""
    server.repositories["Owner/Pantry"] = server.repositories[FREE]
    run = pull(*arguments, "--revision", COMMIT, *force)
    assert (run.code, run.out, len(run.err)) == (2, "", 1), run
    assert "pantry is the environment that is built in" in run.err[0]
    assert "--name" in run.err[0]
    assert server.requests == []
    assert not (tmp_path / "cache" / "environments").exists()

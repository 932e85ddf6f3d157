"""Published model snapshots from the Hugging Face hub, each at one commit.

The download is optional (``flavourbench[hub]``) and anonymous. Files land in the cache of
``huggingface_hub``, where a second call finds them without a network.
"""

from __future__ import annotations

import contextlib
import logging
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from flavourbench.environment.bundles import CONFIG, NUMBERING, VECTORS, VOCABULARY
from flavourbench.environment.tagfile import LARGEST_FILE
from flavourbench.errors import CheckError, FlavourBenchError, InputError, listed, os_reason, shown
from flavourbench.identity import file_sha256

DEFAULT_REPOSITORY = "Kaikaku/epicure-cooc"
#: Nothing else is fetched.
FILES = (VOCABULARY, VECTORS, NUMBERING, CONFIG)
_NEEDED = (VOCABULARY, VECTORS)
_BRANCH = "main"
_COMMIT = re.compile(r"[0-9a-f]{40}")
#: Narrower than the client's rule, which also knows names without an owner.
_REPOSITORY = re.compile(r"(?!.*(--|\.\.|\.git$))[A-Za-z0-9][\w.-]*/[\w.-]*\w", re.ASCII)
_LONGEST_REPOSITORY = 96


@dataclass(frozen=True, slots=True)
class Download:
    """A snapshot on this machine.

    Attributes
    ----------
    folder : its files, in the cache of ``huggingface_hub``
    origin : ``repository``, ``revision`` (the commit), ``licence`` and ``attribution``
    """

    folder: Path
    origin: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Published:
    """What is known of a published snapshot.

    Attributes
    ----------
    licence : SPDX identifier
    attribution : whom to name
    sha256 : hex digest by file, of the files whose content is pinned
    """

    licence: str
    attribution: str
    sha256: Mapping[str, str] = field(default_factory=dict)


_EPICURE = (
    "Radzikowski, J. and Chen, J. (KAIKAKU.AI), 2026. Epicure: Navigating the Emergent"
    " Geometry of Food Ingredient Embeddings. arXiv:2605.22391"
)
PUBLISHED: Mapping[str, Published] = {
    DEFAULT_REPOSITORY: Published(
        "CC-BY-4.0",
        _EPICURE,
        {
            VECTORS: "5ce3bdd03deb8cc8e30bd2a574e04a997b9990422d9203dac4f148949b701a87",
            VOCABULARY: "5a10278cd71eeb66051d23ef8621b917a60ecd493d4580f60d324623191f8005",
        },
    ),
    "Kaikaku/epicure-core": Published("CC-BY-4.0", _EPICURE),
    "Kaikaku/epicure-chem": Published("CC-BY-4.0", _EPICURE),
}


def download(repository: str, revision: str | None = None) -> Download:
    """Download a model snapshot, or find it in the cache.

    Parameters
    ----------
    repository : ``owner/name`` of a model repository on the hub
    revision : commit, 40 hex digits; may be left out where the content is pinned here, and
        is then what the branch ``main`` stands for

    Raises
    ------
    InputError
        ``huggingface_hub`` is missing, the repository or revision is malformed, unknown or
        not public, a file is missing or too large, or network, server or disk fail.
    CheckError
        Pinned content is not what was downloaded.
    """
    repository, published = _published(repository)
    if revision is None and not published.sha256:
        raise InputError(
            f"{repository} has no pinned content: pass --revision with a full commit, as"
            f" listed at https://huggingface.co/{repository}/commits/{_BRANCH}"
        )
    if revision is not None and not _COMMIT.fullmatch(revision):
        raise InputError(
            f"--revision {shown(revision)} is no full commit: pass all its 40 digits, 0-9 and a-f"
        )
    _check_client()
    with _plain_client():
        folder = _snapshot(repository, revision)
        with _one_line(repository, folder.name):
            _check_content(repository, folder, published.sha256)
    origin = {
        "repository": repository,
        "revision": folder.name,
        "licence": published.licence,
        "attribution": published.attribution,
    }
    return Download(folder, origin)


def _published(repository: str) -> tuple[str, Published]:
    """The repository as its owner writes it, and what is known of it."""
    if len(repository) > _LONGEST_REPOSITORY or not _REPOSITORY.fullmatch(repository):
        raise InputError(
            f"'{shown(repository)}' is no repository: write OWNER/NAME, such as"
            f" {DEFAULT_REPOSITORY}"
        )
    # The hub ignores case, and another spelling is to get no way round the check.
    for name, published in PUBLISHED.items():
        if name.casefold() == repository.casefold():
            return name, published
    page = f"https://huggingface.co/{repository}"
    return repository, Published("as stated by the repository", page)


def _snapshot(repository: str, revision: str | None) -> Path:
    """Folder of the files; its name is the commit."""
    if revision is not None:
        return _cached(repository, revision) or _fetch(repository, revision)
    try:
        return _fetch(repository, _BRANCH)
    except InputError:
        # The branch as last seen serves as well, because its content has to pass the check.
        folder = _cached(repository, _BRANCH)
        if folder is None:
            raise
        return folder


def _cached(repository: str, revision: str) -> Path | None:
    """The folder in the cache, if every file is there or known not to exist."""
    from huggingface_hub import try_to_load_from_cache

    with _one_line(repository, revision):
        found = [try_to_load_from_cache(repository, name, revision=revision) for name in FILES]
    # A path, None where nothing is known, or a mark where the repository has no such file.
    paths = [Path(path) for path in found if isinstance(path, str)]
    if None in found or not {*_NEEDED} <= {path.name for path in paths}:
        return None
    return paths[0].parent


def _fetch(repository: str, revision: str) -> Path:
    """Download what the cache does not hold."""
    from huggingface_hub import constants, hf_hub_download, model_info
    from huggingface_hub.errors import RemoteEntryNotFoundError

    def fetched(name: str, wanted: str) -> Path:
        path = Path(hf_hub_download(repository, name, revision=wanted, token=False))
        commit = path.parent.name
        if not _COMMIT.fullmatch(commit) or wanted not in (commit, _BRANCH):
            raise InputError(
                f"{repository}: the hub answered with commit {shown(commit)} to {wanted}: check"
                " HF_ENDPOINT"
            )
        return path

    with _one_line(repository, revision):
        # Asked first because it is not tried again: without a network, no file is waited for.
        info = model_info(
            repository,
            revision=revision,
            files_metadata=True,
            timeout=constants.HF_HUB_ETAG_TIMEOUT,
            token=False,
        )
        _check_sizes(repository, {file.rfilename: file.size for file in info.siblings or ()})
        # Asked for by its name, a branch is kept in the cache. All else goes by its commit.
        folder = fetched(VOCABULARY, revision).parent
        for name in FILES[1:]:
            try:
                fetched(name, folder.name)
            except RemoteEntryNotFoundError:  # the cache now knows that there is none
                if name in _NEEDED:
                    raise
    return folder


def _check_sizes(repository: str, sizes: Mapping[str, int | None]) -> None:
    missing = [name for name in _NEEDED if name not in sizes]
    if missing:
        raise InputError(
            f"{repository} has no {listed(missing)}, so it is no Epicure model snapshot"
        )
    for name in FILES:
        size = sizes.get(name) or 0
        if size > LARGEST_FILE:
            raise InputError(
                f"{repository}: {name} has {size / 2**20:,.0f} MiB, more than the"
                f" {LARGEST_FILE // 2**20} MiB allowed for a file of a bundle"
            )


def _check_content(repository: str, folder: Path, sha256: Mapping[str, str]) -> None:
    for name, pinned in sha256.items():
        found = file_sha256(folder / name)
        if found != pinned:
            raise CheckError(
                f"{repository}: {name} has SHA-256 {found[:12]}… at commit {folder.name[:12]}, but"
                f" {pinned[:12]}… is pinned: if it was damaged on this disk, delete"
                f" {shown(folder.parent.parent, 200)} and pull again"
            )


# --- the client ------------------------------------------------------------------------------


def _check_client() -> None:
    try:
        from huggingface_hub import constants  # noqa: F401
    except ImportError as error:
        raise InputError(
            "huggingface_hub is not installed: pip install 'flavourbench[hub]', or download the"
            " files yourself and use `fb env import`"
        ) from error
    except ValueError as error:  # it reads its settings when it is loaded
        raise InputError(
            f"huggingface_hub refuses its settings ({shown(error)}): check the variables HF_…"
        ) from error


@contextlib.contextmanager
def _plain_client() -> Iterator[None]:
    """Within the block the client sends no telemetry, prints no lines and uses plain HTTP.

    Environment variables would only count before its first import, so its settings are
    changed and put back. Progress bars are its own; it shows them on a terminal only.
    """
    from huggingface_hub import constants
    from huggingface_hub.utils import logging as client_logging

    # Xet, a protocol for large files, has caches, threads and errors of its own.
    plain = {"HF_HUB_DISABLE_TELEMETRY": True, "HF_HUB_DISABLE_XET": True}
    before = {name: getattr(constants, name) for name in plain}
    verbosity = client_logging.get_verbosity()
    try:
        for name, value in plain.items():
            setattr(constants, name, value)
        client_logging.set_verbosity(logging.CRITICAL)  # its warnings show signed addresses
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        client_logging.set_verbosity(verbosity)
        for name, value in before.items():
            setattr(constants, name, value)


@contextlib.contextmanager
def _one_line(repository: str, revision: str) -> Iterator[None]:
    """Every failure of the client in the block as one :class:`InputError`."""
    try:
        yield
    except FlavourBenchError:
        raise
    except Exception as error:  # of which kind depends on its version: httpx, httpx2, …
        reason = _reason(error, revision)
        raise InputError(f"cannot download {repository}: {reason}") from error


def _reason(error: BaseException, revision: str) -> str:
    """Why the client failed, without its own text: that may hold signed addresses."""
    from huggingface_hub import constants, errors

    # The host alone, as the endpoint may hold a password.
    host = shown(urlsplit(constants.ENDPOINT).hostname or "HF_ENDPOINT")
    if isinstance(error, errors.LocalEntryNotFoundError) and error.__cause__ is not None:
        return _reason(error.__cause__, revision)
    if isinstance(error, errors.OfflineModeIsEnabled):
        return "the cache does not hold it and HF_HUB_OFFLINE is set: unset it"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"it has no revision {revision}: look the commit up in its history"
    if isinstance(error, errors.HfHubHTTPError):
        return _status_reason(error.response.status_code, host)
    if isinstance(error, OSError) and error.errno:
        return os_reason(error, constants.HF_HUB_CACHE)
    what = type(error).__name__
    if isinstance(error, (ValueError, TypeError, LookupError, errors.FileMetadataError)):
        return f"{host} does not answer like the hub ({what}): check network and HF_ENDPOINT"
    return f"the connection to {host} failed ({what}): check the network and try again"


def _status_reason(status: int, host: str) -> str:
    if status in (401, 403):
        return (
            f"{host} shows it to nobody without a token (HTTP {status}): it is private, gated or"
            " misspelt. Tokens are never sent from here: download the files yourself and use"
            " `fb env import`"
        )
    if status == 404:
        return f"{host} has no such repository or file (HTTP 404): check its name"
    if status == 429:
        return f"{host} takes no more requests for now (HTTP 429): try again later"
    if status >= 500:
        return f"{host} has a fault (HTTP {status}): try again later"
    return f"{host} refuses (HTTP {status})"

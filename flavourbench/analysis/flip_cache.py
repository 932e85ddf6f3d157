"""Stored sums ``T*`` of models, so that later models are compared without flipping again.

A folder for each plan, in it one ``.npy`` file a model, named by the digest of the cluster
contributions that it is the sums of: whatever other models there are, it is found again.
Everything in it can be computed anew, so it may be dropped at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import mmap
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fbcore.signflip import INT32_BOUND, sign_vectors
from flavourbench.analysis.measured import Run
from flavourbench.analysis.result import integer
from flavourbench.errors import InputError
from flavourbench.folders import is_file, new_file
from flavourbench.identity import json_sha256, table_sha256

_RECIPE = "flavourbench-flip-sums/1"
_SEAL_BYTES = 4


@dataclass(frozen=True, slots=True)
class FlipCache:
    """Sums of one plan.

    A file is a ``.npy`` array [draws], followed by a CRC-32 of its place, header and values: what
    is cut, altered or misplaced is not found. (It is to find damage, not deceit: a SHA-256 would
    take three times as long, and most of the time of adding a model.)

    Attributes
    ----------
    folder : Path, need not exist
    draws : int, sign vectors
    """

    folder: Path
    draws: int

    @classmethod
    def of(cls, root: Path, run: Run) -> FlipCache:
        """The folder below ``root`` for all that decides sums besides the scores."""
        matrix, plan, weights = run.matrix, run.plan, run.weights
        design = matrix.design
        draws, exact = sign_vectors(design.clusters, plan.flips)
        identity = {
            "recipe": _RECIPE,
            "seed": plan.seed,
            "draws": draws,
            "exact": exact,
            "design": table_sha256({"stratum": design.stratum, "cluster": design.cluster}),
            "exponent": matrix.scores.exponent,
            "weight_scale": integer(weights.scale),
            "weight_power": weights.power,
        }
        return cls(root / json_sha256(identity), draws)

    def load(self, contributions: NDArray[np.int64]) -> NDArray[Any] | None:
        """The sums of a model from its contributions [C], as a read-only memory map.

        None where there is no file, or not the one that was written.
        """
        path, kind = self._path(contributions), _kind(contributions)
        head = _header(kind, self.draws)
        try:
            if not is_file(path):
                return None
            with path.open("rb") as handle:
                data = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # ValueError: it is empty
            return None
        end = len(head) + self.draws * kind.itemsize
        with memoryview(data)[:end] as content:
            if data[: len(head)] != head or data[end:] != self._seal(path, content):
                return None
        return np.frombuffer(data, kind, self.draws, len(head))

    def store(self, contributions: NDArray[np.int64], sums: NDArray[Any]) -> None:
        """Keep the sums [n, draws] of models with contributions [n, C].

        What cannot be written is not kept.
        """
        for row, values in zip(contributions, sums, strict=True):
            path, kind = self._path(row), _kind(row)
            content = _header(kind, self.draws) + values.astype(kind, copy=False).tobytes()
            with contextlib.suppress(InputError):
                new_file(path, content + self._seal(path, content), force=True)

    def _path(self, contributions: NDArray[np.int64]) -> Path:
        """The file of a model."""
        data = np.ascontiguousarray(contributions, "<i8")
        return self.folder / f"{hashlib.sha256(data.data).hexdigest()}.npy"

    def _seal(self, path: Path, content: bytes | memoryview) -> bytes:
        place = zlib.crc32(f"{self.folder.name}/{path.name}".encode())
        return zlib.crc32(content, place).to_bytes(_SEAL_BYTES, "little")


def _kind(contributions: NDArray[np.int64]) -> np.dtype[Any]:
    """Type of the sums of a model, which no other model decides."""
    return np.dtype(np.int32 if np.abs(contributions).sum() < INT32_BOUND else np.int64)


def _header(kind: np.dtype[Any], draws: int) -> bytes:
    """What a ``.npy`` file of such sums begins with."""
    out = io.BytesIO()
    described = {"descr": kind.str, "fortran_order": False, "shape": (draws,)}
    np.lib.format.write_array_header_1_0(out, described)
    return out.getvalue()

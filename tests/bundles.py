"""Small made-up bundles of both published layouts, and the forms their files may have.

A :class:`Bundle` is the truth; a :class:`Form` is how files spell it, none of which may
matter. Files are written here byte by byte, with no library that also reads them.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from flavourbench.environment import Environment
from flavourbench.environment.space import Tags, unit_rows

Vectors = NDArray[np.float32]

CORE = [
    "Beverage",
    "Dairy",
    "Fat/Oil",
    "Fish",
    "Fruit",
    "Grain",
    "Herb",
    "Legume",
    "Meat",
    "Nut/Seed",
    "Seafood",
    "Spice",
    "Sweet",
    "Vegetable",
]
OTHER = ["Pantry", "Bakery", "Seed"]
REGIONS = [
    "Japanese",
    "East_Asian",
    "Southeast_Asian",
    "South_Asian",
    "Latin_American",
    "Mediterranean",
    "Eastern_European",
    "Western_Atlantic",
]
TAG_COLUMNS = [
    "node_id",
    "name",
    "food_group",
    "primary_category",
    "is_vegetarian",
    "is_vegan",
    "cuisine_region",
    "nova_level",
]
_KINDS = ["", "dried_", "smoked_", "green_", "sweet_", "black_", "fresh_"]
_STEMS = ["garlic", "onion", "rice", "miso", "pepper", "bean", "tea", "oil", "cheese", "butter"]
_STEMS += ["lamb", "salmon", "plum", "basil", "cumin", "honey", "walnut", "shrimp", "corn", "7_up"]
_ENDS = ["", "", "_paste", "_powder", "_sauce"]


@dataclass(frozen=True)
class Bundle:
    """Names in any order, their float32 [n, d] vectors (not normalised), and their tags."""

    names: tuple[str, ...]
    vectors: Vectors
    tags: tuple[Tags, ...]

    def retagged(self, at: int, **changes: Any) -> Bundle:
        """The same bundle with other tags on one item."""
        tags = [*self.tags]
        tags[at] = replace(tags[at], **changes)
        return replace(self, tags=tuple(tags))

    def environment(self, name: str = "made up") -> Environment:
        """The environment that every file of this bundle stands for."""
        order = sorted(range(len(self.names)), key=self.names.__getitem__)
        names = tuple(self.names[at] for at in order)
        rows = unit_rows(self.vectors[order], names)
        return Environment(names, rows, tuple(self.tags[at] for at in order), name)


@dataclass(frozen=True)
class Form:
    """How files spell a bundle.

    Attributes
    ----------
    order : seed of the orders of rows, of lines and of node ids
    newline : of CSV files
    mark : bool, whether they begin with a byte order mark
    nova : format of a known level; unknown ones are blank
    digits : of numbers in CSV; None for the shortest that give the same float32
    """

    order: int = 0
    newline: str = "\n"
    mark: bool = False
    nova: str = "{}.0"
    digits: int | None = None

    def orders(self, count: int, wanted: int) -> list[list[int]]:
        """``wanted`` independent orders of ``count`` things."""
        source = np.random.default_rng(self.order)
        return [source.permutation(count).tolist() for _ in range(wanted)]


PLAIN = Form()


def synthetic(seed: int = 0, items: int = 40, dimensions: int = 8) -> Bundle:
    """A bundle with every category and region; from 20 items on, several of most.

    Items of a category lean one way, so that similarities spread as real ones do.
    """
    source = np.random.default_rng(seed)
    names = _names(source, items)
    categories = [*CORE, *OTHER, *source.choice(CORE, max(items - 17, 0)).tolist()][:items]
    lean = {name: source.normal(size=dimensions) for name in [*CORE, *OTHER]}
    rows = np.array([0.7 * lean[name] for name in categories]) + source.normal(
        size=(items, dimensions)
    )
    # Norms differ by a factor of a hundred, as those of raw skip-gram rows do.
    rows *= 10 ** source.uniform(-1, 1, (items, 1))
    tags = [
        Tags(
            category=category,
            regions=_regions(source, at),
            vegetarian=bool(source.random() < 0.8),
            vegan=bool(source.random() < 0.7),
            nova=[1, 2, 3, 4, None][int(source.integers(5))],
        )
        for at, category in enumerate(categories)
    ]
    order = source.permutation(items).tolist()
    return Bundle(
        tuple(names[at] for at in order),
        rows[order].astype(np.float32),
        tuple(tags[at] for at in order),
    )


def _names(source: np.random.Generator, count: int) -> list[str]:
    """Different names that share words."""
    every = sorted({a + b + c for a in _KINDS for b in _STEMS for c in _ENDS})
    return [every[at] for at in source.choice(len(every), count, replace=False)]


def _regions(source: np.random.Generator, at: int) -> tuple[str, ...]:
    """Each region once alone; then one, several or universal."""
    if at < len(REGIONS):
        return (REGIONS[at],)
    if source.random() < 0.3:
        return ("universal",)
    chosen = source.choice(len(REGIONS), int(source.integers(1, 4)), replace=False)
    return tuple(REGIONS[r] for r in sorted(chosen.tolist()))


@st.composite
def bundles(draw: st.DrawFn) -> Bundle:
    """Bundles of 20 to 60 items and 4 to 16 dimensions."""
    return synthetic(
        draw(st.integers(0, 2**32 - 1)), draw(st.integers(20, 60)), draw(st.integers(4, 16))
    )


forms = st.builds(
    Form,
    order=st.integers(0, 2**32 - 1),
    newline=st.sampled_from(["\n", "\r\n"]),
    mark=st.booleans(),
    nova=st.sampled_from(["{}.0", "{}"]),
    digits=st.sampled_from([None, 9, 17]),
)


# --- model snapshot --------------------------------------------------------------------------


def write_snapshot(bundle: Bundle, folder: Path, form: Form = PLAIN) -> Path:
    """A model snapshot folder without tags; returns ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    count, dimensions = bundle.vectors.shape
    rows, lines = form.orders(count, 2)
    (folder / "embeddings.safetensors").write_bytes(
        safetensors({"embeddings": bundle.vectors[rows]})
    )
    row = {bundle.names[at]: place for place, at in enumerate(rows)}
    vocabulary = {bundle.names[at]: row[bundle.names[at]] for at in lines}
    write_json(folder / "vocab.json", vocabulary)
    write_json(folder / "itos.json", {str(place): name for name, place in vocabulary.items()})
    config = {"architecture": "made_up", "d_model": dimensions, "vocab_size": count}
    write_json(folder / "config.json", config)
    return folder


def safetensors(tensors: Mapping[str, NDArray[Any]], **lies: Any) -> bytes:
    """A safetensors file; ``lies`` replace what its head says of the first tensor."""
    kinds = {"float32": "F32", "float16": "F16", "float64": "F64", "int32": "I32"}
    head: dict[str, Any] = {}
    data = b""
    for name, array in tensors.items():
        raw = array.astype(array.dtype.newbyteorder("<")).tobytes()
        head[name] = {
            "dtype": kinds[array.dtype.name],
            "shape": [*array.shape],
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    if lies:
        head[next(iter(head))] |= lies
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def write_json(path: Path, value: Any) -> None:
    """A JSON file as the published ones are."""
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


# --- tags and server data folder -------------------------------------------------------------


def write_tags(
    bundle: Bundle, path: Path, form: Form = PLAIN, nodes: Mapping[str, int] | None = None
) -> Path:
    """A tags file, node ids from 1 in the order of names if not given; returns ``path``."""
    nodes = nodes or {name: at + 1 for at, name in enumerate(sorted(bundle.names))}
    lines = [",".join(TAG_COLUMNS)]
    for at in form.orders(len(bundle.names), 3)[2]:
        name, tags = bundle.names[at], bundle.tags[at]
        cells = [
            str(nodes[name]),
            name,
            f'"{tags.category}, made up"',
            tags.category,
            str(tags.vegetarian),
            str(tags.vegan),
            ";".join(tags.regions),
            "" if tags.nova is None else form.nova.format(tags.nova),
        ]
        lines.append(",".join(cells))
    write_lines(path, lines, form)
    return path


def write_server(bundle: Bundle, folder: Path, form: Form = PLAIN) -> Path:
    """A server data folder: tags, vectors and directions; returns ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    count, dimensions = bundle.vectors.shape
    assignment, lines = form.orders(count, 2)
    nodes = {name: place + 1 for name, place in zip(bundle.names, assignment, strict=True)}
    write_tags(bundle, folder / "ingredient_tags.csv", form, nodes)
    text = [",".join(["node_id", *(f"dim_{at}" for at in range(dimensions))])]
    for at in lines:
        cells = [number(value, form.digits) for value in bundle.vectors[at]]
        text.append(",".join([str(nodes[bundle.names[at]]), *cells]))
    write_lines(folder / "embeddings.csv", text, form)
    directions = {
        name: np.full(dimensions, dimensions**-0.5, np.float32)
        for name in ("cf_citrus", "usda_water_g", "Japanese", "nova", "diet")
    }
    (folder / "supervised_directions.npz").write_bytes(npz(directions))
    return folder


def number(value: np.float32, digits: int | None) -> str:
    """A float32 as text, shortest or with at least nine digits."""
    return str(value) if digits is None else f"{float(value):.{digits}g}"


def npz(arrays: Mapping[str, NDArray[Any]], compression: int = zipfile.ZIP_STORED) -> bytes:
    """An npz file of arrays."""
    return zipped({f"{name}.npy": npy(array) for name, array in arrays.items()}, compression)


def npy(array: NDArray[Any]) -> bytes:
    """An npy file."""
    return npy_head(repr(array.dtype.str), repr(array.shape)) + array.tobytes()


def npy_head(kind: str, shape: str) -> bytes:
    """The head of an npy file that says this dtype and shape, in Python's notation."""
    text = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def zipped(members: Mapping[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A zip file."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return made.getvalue()


def write_lines(path: Path, lines: Iterable[str], form: Form = PLAIN) -> None:
    """A text file with the line ending and the mark of ``form``."""
    text = "".join(line + form.newline for line in lines)
    path.write_bytes(text.encode("utf-8-sig" if form.mark else "utf-8"))

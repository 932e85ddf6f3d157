"""The layout of the repository: which way imports point, what loads what, how long things are.

Imports are read from the syntax tree, so that those inside functions and under
``TYPE_CHECKING`` count too.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import fbcore
import flavourbench

#: What each part may import besides itself: everything further down the chain
#: ``cli → report, training, analysis → collect → tasks → environment → fbcore``. Reports and
#: training files are made of releases, so those two stand on analysis; it knows neither.
BOTTOM = frozenset({"artifact", "folders", "identity", "settings", "checks", "errors", "data", ""})
CHAIN = ("fbcore", "environment", "tasks", "collect", "analysis")
ALLOWED: dict[str, frozenset[str]] = {
    "fbcore": frozenset(),
    "errors": frozenset(),
    "checks": frozenset(),
    "identity": frozenset({"errors"}),
    "settings": frozenset({"errors"}),
    "folders": frozenset({"errors"}),
    "artifact": frozenset({"errors", "folders", "identity"}),
    "": frozenset(),  # flavourbench/__init__.py
    "data": frozenset({"errors", "folders", "identity"}),
    **{part: BOTTOM | set(CHAIN[:at]) for at, part in enumerate(CHAIN) if part != "fbcore"},
    "report": BOTTOM | set(CHAIN),
    "training": BOTTOM | set(CHAIN),
    "cli": BOTTOM | set(CHAIN) | {"report", "training"},
}
PLAIN = "flavourbench.analysis.plain"
#: Measured in lines, the docstring of a function included.
LONGEST_MODULE, LONGEST_FUNCTION = 450, 70


@dataclass(frozen=True)
class Module:
    """A source file, its dotted name and its syntax tree."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def part(self) -> str:
        return part_of(self.name) or ""

    def imports(self) -> Iterator[tuple[str, int]]:
        """Dotted names of everything imported, absolute, and the lines."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = self.resolved(node)
                yield base, node.lineno
                # ``from package import module`` imports the module.
                yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)
            elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
                first = node.args[0]
                assert isinstance(first, ast.Constant), f"{self.path}:{node.lineno}: unreadable"
                yield str(first.value), node.lineno

    def resolved(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = self.name.split(".")
        if self.path.name != "__init__.py":
            package = package[:-1]
        package = package[: len(package) - node.level + 1]
        return ".".join([*package, *([node.module] if node.module else [])])


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def part_of(name: str) -> str | None:
    """The part of the architecture that a dotted name belongs to; None for other packages."""
    if name == "flavourbench.__main__":  # the command line under another name
        return "cli"
    top, *rest = name.split(".")
    if top == "fbcore":
        return "fbcore"
    if top != "flavourbench":
        return None
    # ``from flavourbench import __version__`` yields a name that is no part.
    return rest[0] if rest and not rest[0].startswith("__") else ""


def modules() -> list[Module]:
    found = []
    for package in (fbcore, flavourbench):
        root = Path(package.__file__).parent
        for path in sorted(root.rglob("*.py")):
            names = [*path.relative_to(root.parent).with_suffix("").parts]
            if names[-1] == "__init__":
                names.pop()
            tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
            found.append(Module(".".join(names), path, tree))
    return found


MODULES = modules()
each_module = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)


def test_all_sources_are_seen() -> None:
    names = {module.name for module in MODULES}
    assert {"fbcore.bootstrap", "flavourbench.errors", "flavourbench.cli.main"} <= names
    assert {"flavourbench.analysis.plain.counter", "flavourbench"} <= names
    assert {module.part for module in MODULES} <= set(ALLOWED)


@each_module
def test_imports_point_one_way(module: Module) -> None:
    allowed = ALLOWED[module.part] | {module.part}
    for name, line in module.imports():
        part = part_of(name)
        assert part is None or part in allowed, f"{module.path}:{line} imports {name}"


@pytest.mark.parametrize(
    "module", [m for m in MODULES if m.name.startswith(PLAIN)], ids=lambda module: module.name
)
def test_the_plain_twin_stands_alone(module: Module) -> None:
    """It is to find the same bits without a line of what it checks."""
    for name, line in module.imports():
        top = name.split(".")[0]
        outside = top in sys.stdlib_module_names or top in ("numpy", "pyarrow")
        assert outside or f"{name}.".startswith(f"{PLAIN}."), f"{module.path}:{line} imports {name}"


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("fbcore.a", "def f():\n    import flavourbench.errors", "flavourbench.errors"),
        ("flavourbench.tasks.a", "from ..collect import x", "flavourbench.collect"),
        ("flavourbench.tasks.a", "from .. import collect", "flavourbench.collect"),
        ("flavourbench.tasks.a", "from flavourbench import collect", "flavourbench.collect"),
        ("flavourbench.tasks.a", "from . import b", "flavourbench.tasks.b"),
        (
            "fbcore.a",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import flavourbench as f",
            "flavourbench",
        ),
        ("fbcore.a", "import importlib\nimportlib.import_module('flavourbench')", "flavourbench"),
    ],
)
def test_imports_are_found_however_written(name: str, source: str, expected: str) -> None:
    module = Module(name, Path("a.py"), ast.parse(source))
    assert expected in {found for found, _ in module.imports()}


def test_a_wrong_direction_is_found() -> None:
    for name, source in (
        ("fbcore.a", "from flavourbench import errors"),
        ("flavourbench.errors", "import fbcore.design"),
        ("flavourbench.tasks.a", "from ..collect import x"),
        ("flavourbench.analysis.a", "from flavourbench.report import terminal"),
        ("flavourbench.report.a", "from flavourbench.cli import common"),
        ("flavourbench.identity", "from flavourbench.analysis import plan"),
    ):
        with pytest.raises(AssertionError):
            test_imports_point_one_way(Module(name, Path("a.py"), ast.parse(source)))
    plain = Module("flavourbench.analysis.plain.a", Path("a.py"), ast.parse("import fbcore"))
    with pytest.raises(AssertionError):
        test_the_plain_twin_stands_alone(plain)


# --- what loads what -----------------------------------------------------------------------


def loaded_by(code: str) -> set[str]:
    """Top-level names of the modules that a fresh process has imported after ``code``."""
    tail = "\nimport json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    done = subprocess.run(
        [sys.executable, "-c", code + tail],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    names: list[str] = json.loads(done.stderr.splitlines()[-1])
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["infer", "--help"],
        ["compile", "--help"],
        ["score", "--help"],
        ["tasks", "show", "--help"],
        ["verify", "--help"],
        ["--version"],
        ["nope"],
    ],
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = f"from flavourbench.cli.main import main\nmain({arguments!r})"
    loaded = loaded_by(code)
    assert "typer" in loaded
    assert not loaded & {"numba", "llvmlite", "numpy", "pyarrow", "scipy", "pandas"}


def test_the_numbers_load_no_test_dependency() -> None:
    code = "import flavourbench.analysis.inference, flavourbench.analysis.plain.bootstrap"
    loaded = loaded_by(code)
    assert "numpy" in loaded
    # Numba stays out until something has to be compiled; pyarrow until a table is read.
    assert not loaded & {"numba", "scipy", "pandas", "statsmodels", "pyarrow", "rich", "typer"}


# --- sizes ---------------------------------------------------------------------------------


@each_module
def test_modules_are_short(module: Module) -> None:
    lines = len(module.path.read_text(encoding="utf-8").splitlines())
    assert lines < LONGEST_MODULE, f"{module.path} has {lines} lines"


@each_module
def test_functions_are_short(module: Module) -> None:
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines < LONGEST_FUNCTION, f"{module.path}:{node.lineno} {node.name}: {lines}"


@each_module
def test_modules_say_what_they_are(module: Module) -> None:
    assert ast.get_docstring(module.tree), module.path


def test_the_plan_knows_the_limit_of_the_kernels() -> None:
    from fbcore.counter import SEED_LIMIT
    from flavourbench.analysis.plan import MAX_SEED

    assert MAX_SEED == SEED_LIMIT - 1


def test_the_main_job_leaves_pandas_alone(tmp_path: Path) -> None:
    """Arrow would import it where it is installed, at the price of half a second."""
    code = (
        "import sys; from flavourbench.cli.main import main;"
        "code = main(['infer', '--draws', '300', '--flips', '300', '--json']);"
        "assert code == 0; assert 'pandas' not in sys.modules; import pandas"
    )
    pytest.importorskip("pandas")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

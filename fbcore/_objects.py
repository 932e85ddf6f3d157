"""Machine code of kernels, compiled once and loaded without importing Numba.

Importing Numba and dispatching through its cache costs most of a second, several
times the analysis itself. So the object code that Numba emits for a kernel is
stored, and the next process hands it to LLVM's loader through ``llvmlite`` alone.

This leans on private parts of Numba (the native calling convention and the final
LLVM module). Everything here therefore answers ``None`` when anything is not as
expected, and the caller falls back to Numba's ordinary dispatcher;
``tests/property/test_jit.py`` runs both routes and compares their bits.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import shutil
import stat
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fbcore._jit import Kernel

#: Symbols an object may leave to the C library. Any other one would abort the process
#: inside LLVM's linker, so a kernel that needs it is never stored.
_LIBC_SYMBOLS = {"fma", "memset", "memcpy", "memmove", "bzero", "memset_pattern16"}
_RECIPE = b"fbcore-object/1"
_KEPT_FOLDERS = 8


def load_or_compile(kernel: Kernel, key: tuple[Any, ...]) -> Callable[..., None] | None:
    """A callable for ``kernel`` at the argument types ``key``, or None when this route is shut."""
    try:
        folder = _folder()
        path = None if folder is None else folder / f"{kernel.name}-{_key_text(key)}.o"
        stored = None if path is None else _read(path)
        if stored is None:
            stored = _compile(kernel, key)
            if path is not None:
                _write(path, stored)
        symbol, code = stored
        return _bind(symbol, code, key)
    except Exception as error:  # private parts may change in any way: ordinary dispatch still works
        warnings.warn(f"kernel {kernel.name}: stored code not usable ({error!r})", stacklevel=2)
        return None


@cache
def _folder() -> Path | None:
    """The writable cache folder of this machine type and version, or None (said once)."""
    for root in cache_roots():
        folder = root / f"kernels-{_fingerprint()[:16]}"
        try:
            if not folder.exists():
                _prune(root)
            root.parent.mkdir(parents=True, exist_ok=True)
            root.mkdir(exist_ok=True, mode=0o700)
            folder.mkdir(exist_ok=True, mode=0o700)
            if _is_ours(root) and _is_ours(folder) and os.access(folder, os.W_OK):
                return folder
        except OSError:
            continue
    warnings.warn(
        "no writable cache folder: kernels are compiled anew in each process;"
        " set FLAVOURBENCH_CACHE to a writable folder",
        stacklevel=2,
    )
    return None


def _is_ours(folder: Path) -> bool:
    """Code is run from here: a folder that someone else owns or may write is none of ours."""
    state = folder.stat()
    private = not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return not hasattr(os, "getuid") or (state.st_uid == os.getuid() and private)


def _prune(root: Path) -> None:
    """Remove all but the newest folders of other versions."""
    with contextlib.suppress(OSError):  # another process may prune at the same time
        others = sorted(root.glob("kernels-*"), key=lambda path: path.stat().st_mtime)
        for folder in others[:-_KEPT_FOLDERS]:
            shutil.rmtree(folder, ignore_errors=True)


def cache_roots() -> list[Path]:
    """Folders for what this user keeps, best first; with ``FLAVOURBENCH_CACHE`` only that."""
    named = os.environ.get("FLAVOURBENCH_CACHE")
    if named:
        return [Path(named)]
    user = os.getuid() if hasattr(os, "getuid") else "user"
    try:
        places = [Path(tempfile.gettempdir()) / f"flavourbench-{user}"]
    except OSError:  # no temporary folder can be written
        places = []
    try:
        home = Path.home()
    except RuntimeError:
        return places
    if sys.platform == "darwin":
        return [home / "Library" / "Caches" / "flavourbench", *places]
    base = os.environ.get("XDG_CACHE_HOME")
    return [(Path(base) if base else home / ".cache") / "flavourbench", *places]


@cache
def _fingerprint() -> str:
    """Digest of all that decides the machine code: sources, versions, processor."""
    import llvmlite
    import llvmlite.binding as llvm

    digest = hashlib.sha256(_RECIPE)
    features = llvm.get_host_cpu_features().flatten()
    for text in (
        _numba_version(),
        llvmlite.__version__,
        platform.python_version(),
        platform.machine(),
        sys.platform,
        llvm.get_host_cpu_name(),
        features,
        *(
            os.environ.get(name, "")
            for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT")
        ),
    ):
        digest.update(text.encode() + b"\0")
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()


def _numba_version() -> str:
    """What identifies Numba, read from its files: importing it is what this module avoids."""
    spec = find_spec("numba")
    if spec is None or spec.origin is None:
        raise ImportError("numba is not installed")
    return Path(spec.origin).with_name("_version.py").read_text(encoding="utf-8")


def _key_text(key: tuple[Any, ...]) -> str:
    return "".join(part if isinstance(part, str) else f"{part[0]}x{part[1]}" for part in key)


def _compile(kernel: Kernel, key: tuple[Any, ...]) -> tuple[str, bytes]:
    from fbcore import _jit

    _jit.announce_compilation()
    from numba import types
    from numba.np.numpy_support import from_dtype

    signature = tuple(
        types.Array(from_dtype(np.dtype(part[0])), part[1], "C")
        if isinstance(part, tuple)
        else {"i": types.int64, "f": types.float64}[part]
        for part in key
    )
    _widen_vectors()
    dispatcher = kernel.dispatcher(no_cpython_wrapper=True, no_cfunc_wrapper=True)
    dispatcher.compile(signature)
    compiled = dispatcher.overloads[signature]
    library = compiled.library
    module = library._final_module
    symbol = compiled.fndesc.llvm_func_name
    for function in module.functions:
        name = function.name
        if function.is_declaration and not name.startswith("llvm.") and name not in _LIBC_SYMBOLS:
            raise LookupError(f"the code refers to {name}")
    return symbol, library.codegen._tm.emit_object(module)


def _widen_vectors() -> None:
    """Let LLVM use 512-bit vectors where they cost no clock speed.

    By default it avoids them on all Intel processors, for the sake of those before bfloat16
    came (2020), which slow down. No effect once Numba has compiled anything in this process.
    """
    import llvmlite.binding as llvm
    import numba

    config: Any = numba.config
    features = llvm.get_host_cpu_features()
    if config.CPU_FEATURES is None and config.CPU_NAME is None and features.get("avx512bf16"):
        config.CPU_FEATURES = features.flatten() + ",-prefer-256-bit"


def _read(path: Path) -> tuple[str, bytes] | None:
    """``(symbol, object code)``; None for a missing, cut, altered or misplaced file."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    digest, payload = data[:32], data[32:]
    if _seal(path, payload) != digest:
        return None
    symbol, _, code = payload.partition(b"\0")
    return symbol.decode(), code


def _seal(path: Path, payload: bytes) -> bytes:
    """Digest of the code, and of the kernel, types and machine it was compiled for."""
    return hashlib.sha256(f"{_fingerprint()}\0{path.name}\0".encode() + payload).digest()


def _write(path: Path, stored: tuple[str, bytes]) -> None:
    payload = stored[0].encode() + b"\0" + stored[1]
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        unfinished.touch(mode=0o600)
        unfinished.write_bytes(_seal(path, payload) + payload)
        unfinished.replace(path)
    except OSError:  # a full disk costs the next process a compilation, nothing else
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)


@cache
def _engine() -> Any:
    """LLVM's loader; one for all kernels, since each costs some milliseconds."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


def _bind(symbol: str, code: bytes, key: tuple[Any, ...]) -> Callable[..., None]:
    """Load object code and wrap it in Numba's native calling convention.

    The native function is ``int32 f(result*, exception**, arguments…)``; an array is
    passed as ``meminfo, parent, items, itemsize, data, shape…, strides…``.
    """
    import llvmlite.binding as llvm

    engine = _engine()
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    address = engine.get_function_address(symbol)
    if not address:
        raise LookupError(f"symbol {symbol} is not in the stored object")

    pointer, integer = ctypes.c_void_p, ctypes.c_int64
    kinds: list[Any] = [pointer, pointer]
    for part in key:
        if isinstance(part, tuple):
            kinds += [pointer, pointer, integer, integer, pointer] + [integer] * (2 * part[1])
        else:
            kinds.append({"i": integer, "f": ctypes.c_double}[part])
    native = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(address)  # ctypes releases the GIL

    def run(*args: Any) -> None:
        result, failure = ctypes.c_int64(), ctypes.c_void_p()
        flat: list[Any] = [ctypes.addressof(result), ctypes.addressof(failure)]
        for value in args:
            if isinstance(value, np.ndarray):
                flat += [None, None, value.size, value.itemsize, value.ctypes.data]
                flat += value.shape
                flat += value.strides
            else:
                flat.append(value)
        if native(*flat):
            raise RuntimeError(f"kernel {symbol} reported a failure")

    return run

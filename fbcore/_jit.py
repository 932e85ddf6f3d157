"""The one place that decides how kernels are compiled.

A kernel is a plain Python function over C-contiguous arrays, integers and
floats that writes its results into array arguments and returns nothing. The
policy for all of them: no Python objects, the GIL released, NumPy's error
model, no fast-math, no ``parallel=True`` (threads map ranges instead, see
:mod:`fbcore.blocks`), compiled at the first call for the argument types seen.

Compiled machine code is kept by :mod:`fbcore._objects` and loaded without
importing Numba. Where that is not possible the same function runs through
Numba's ordinary dispatcher, and with ``NUMBA_DISABLE_JIT=1`` as plain Python.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from fractions import Fraction
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: ``_nrt`` off: kernels own no memory, so no reference counting is emitted into their loops.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}

#: Called once, before the first kernel that has to be compiled in this process.
announce: Callable[[], None] | None = None

_lock = threading.RLock()
_LINE = 64


def jit_disabled() -> bool:
    """Whether kernels run as plain Python (``NUMBA_DISABLE_JIT``)."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def route() -> str:
    """``"objects"`` (stored machine code, the default) or ``"dispatch"`` (``FBCORE_JIT``).

    Raises
    ------
    ValueError
        ``FBCORE_JIT`` holds anything else.
    """
    value = os.environ.get("FBCORE_JIT", "objects")
    if value not in ("objects", "dispatch"):
        raise ValueError(f"FBCORE_JIT={value!r}: use 'objects' or 'dispatch'")
    return value


def announce_compilation() -> None:
    """Tell the listener, once a process, that compilation is about to take some seconds."""
    global announce
    with _lock:
        listener, announce = announce, None
    if listener is not None:
        listener()


class Device:
    """A function called from kernels; inlined into them by the compiler.

    ``fuse`` lets it fuse products and sums. That changes no bit where all of them are
    integers that the type holds exactly, and is to be used nowhere else.
    """

    def __init__(self, function: Callable[..., Any], fuse: bool = False) -> None:
        self.function = function
        self.options: dict[str, Any] = {"fastmath": {"contract"}} if fuse else {}
        self.__doc__ = function.__doc__
        self._compiled: Any = None

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def compiled(self) -> Any:
        """Numba's dispatcher of this function."""
        if self._compiled is None:
            import numba

            self._compiled = numba.njit(forceinline=True, **self.options, **OPTIONS)(
                _with_devices(self.function)
            )
        return self._compiled


class FusedMultiplyAdd(Device):
    """``a * b + c`` in float64, rounded once."""

    def __init__(self) -> None:
        super().__init__(_fused_multiply_add)

    def compiled(self) -> Any:
        """LLVM's intrinsic: one instruction where the processor has it, else a library call."""
        if self._compiled is None:
            from numba import types
            from numba.extending import intrinsic

            @intrinsic
            def fused(_context: Any, a: Any, b: Any, c: Any) -> Any:
                def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
                    return builder.fma(*args)

                return types.float64(a, b, c), emit

            self._compiled = fused
        return self._compiled


def _fused_multiply_add(a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return float(a * b + c)
    return float(Fraction(a) * Fraction(b) + Fraction(c))


fma = FusedMultiplyAdd()


class Kernel:
    """A compiled-on-demand kernel; call it like the function it wraps."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function
        self.name = function.__name__
        self.__doc__ = function.__doc__
        self._ready: dict[tuple[Any, ...], Callable[..., None]] = {}

    def __call__(self, *args: Any) -> None:
        key = signature(args)
        run = self._ready.get(key)
        if run is None:
            with _lock:
                run = self._ready.get(key) or self._prepare(key)
                self._ready[key] = run
        run(*args)

    def _prepare(self, key: tuple[Any, ...]) -> Callable[..., None]:
        if jit_disabled():
            return self._plain
        if route() == "objects":
            from fbcore import _objects

            loaded = _objects.load_or_compile(self, key)
            if loaded is not None:
                return loaded
        ordinary: Callable[..., None] = self.dispatcher()
        return ordinary

    def _plain(self, *args: Any) -> None:
        # Compiled code does not warn of 0 / 0 or of wrap-around either.
        with np.errstate(all="ignore"):
            self.function(*args)

    def dispatcher(self, **options: Any) -> Any:
        """Numba's ordinary dispatcher of this kernel (compiles on its first call)."""
        import numba

        if not options:
            announce_compilation()
        return numba.njit(**OPTIONS, **options)(_with_devices(self.function))

    def forget(self) -> None:
        """Drop what this process has loaded, so that the next call prepares again."""
        self._ready.clear()


def signature(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The types a kernel is compiled for: ``(dtype, ndim)`` per array, ``"i"`` or ``"f"`` else.

    Raises
    ------
    TypeError
        An argument that is neither a C-contiguous array, an integer nor a float.
    """
    key: list[Any] = []
    for position, value in enumerate(args):
        if isinstance(value, np.ndarray):
            if not value.flags.c_contiguous:
                raise TypeError(f"argument {position} is not C-contiguous: pass a copy")
            key.append((value.dtype.str[1:], value.ndim))
        elif isinstance(value, (bool, int, np.integer)):
            key.append("i")
        elif isinstance(value, (float, np.floating)):
            key.append("f")
        else:
            raise TypeError(f"argument {position} is a {type(value).__name__}: not for a kernel")
    return tuple(key)


def scratch(shape: int | tuple[int, ...], dtype: Any = np.float64) -> NDArray[Any]:
    """An uninitialised array that begins on a cache line.

    NumPy aligns to 16 bytes only: every 64-byte vector then straddles two lines, which
    halves the speed of kernels that live in the caches.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.empty(size + _LINE, np.uint8)
    start = -raw.ctypes.data % _LINE
    out: NDArray[Any] = raw[start : start + size].view(dtype).reshape(shape)
    return out


def kernel(function: Callable[..., None]) -> Kernel:
    """Decorator: compile ``function`` on demand under the policy of this module."""
    return Kernel(function)


def device(function: Callable[..., Any]) -> Device:
    """Decorator: a helper that kernels may call; it stays callable from Python."""
    return Device(function)


def exact_device(function: Callable[..., Any]) -> Device:
    """Decorator: a helper whose products and sums are all exact, so that they may fuse."""
    return Device(function, fuse=True)


def _with_devices(function: Callable[..., Any]) -> FunctionType:
    # Numba resolves globals by value: hand it dispatchers where Python sees Device objects.
    if not isinstance(function, FunctionType):
        raise TypeError(f"{function!r} is not a plain function")
    seen = dict(function.__globals__)
    for name in function.__code__.co_names:
        value = seen.get(name)
        if isinstance(value, Device):
            seen[name] = value.compiled()
    return FunctionType(
        function.__code__, seen, function.__name__, function.__defaults__, function.__closure__
    )

"""Numba-CUDA kernels as a way in: their LLVM IR, from Numba's own compiler, without a GPU.

Typing, inlining and device functions are Numba's. Nothing of Numba stays changed: while it compiles, under its own
compiler lock, it believes in a device of compute capability 8.0, keeps line numbers, and prints opaque pointers.
"""
from __future__ import annotations

import contextlib
import functools
import linecache
import os
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reactant.errors import UnsupportedError
from reactant.kernels.arguments import (
    Argument,
    ArrayArgument,
    BytesArgument,
    KernelArgumentError,
    NumberArgument,
    Operands,
    TupleArgument,
)
from reactant.kernels.cleanup import read_module

COMPUTE_CAPABILITY = (8, 0)


class NumbaKernel:
    """A `@cuda.jit` kernel: its IR for given argument types."""

    frontend = "numba"

    def __init__(self, dispatcher: Any):
        self.dispatcher = dispatcher
        function = dispatcher.py_func
        self.name: str = function.__name__
        self.source: str = function.__code__.co_filename
        self.line: int = function.__code__.co_firstlineno
        self.names: tuple[str, ...] = function.__code__.co_varnames[:function.__code__.co_argcount]
        self._compiled: dict[tuple, tuple[str, tuple[str, ...]]] = {}
        if dispatcher.targetoptions.get("device"):
            raise UnsupportedError(f"'{self.name}' is a device function: only kernels can be launched.")

    def prepare(self, arguments: tuple[Argument, ...], operands: Operands) -> tuple[str, ...]:
        """Fill in the call of the kernel; returns its LLVM modules. Raises Numba's own typing errors."""
        expected = len(self.names)
        variadic = bool(self.dispatcher.py_func.__code__.co_flags & 4)
        if len(arguments) != expected and not variadic:
            raise KernelArgumentError(f"The kernel '{self.name}({', '.join(self.names)})' takes {expected} argument"
                                      f"{'s' * (expected != 1)}, {len(arguments)} given.")
        symbol, texts = self.compiled(tuple(self.typed(a) for a in arguments))
        operands.wrapper.kernel = symbol
        for argument in arguments:
            operands.wrapper.operands += expanded(argument, operands)
        return texts

    def typed(self, argument: Argument) -> Any:
        """Numba's type of an argument."""
        return self.dispatcher.typeof_pyval(example(argument))

    def compiled(self, types: tuple) -> tuple[str, tuple[str, ...]]:
        """(symbol, LLVM modules) of the kernel for argument types."""
        if types not in self._compiled:
            with compiling() as compiler:
                options = self.dispatcher.targetoptions
                result = compiler.compile_cuda(
                    self.dispatcher.py_func, compiler.types.void, types, lineinfo=_has_source(self.dispatcher.py_func),
                    cc=COMPUTE_CAPABILITY,
                    fastmath=bool(options.get("fastmath")), inline=options.get("inline", "never"))
                function = result.library.get_function(result.fndesc.llvm_func_name)
                compiler.kernel_fixup(function, False)
                texts = tuple(str(m) for m in result.library.modules)
            linked = _linked(result.library, options.get("link") or ())
            self._compiled[types] = function.name, texts + linked
        return self._compiled[types]


def _linked(library: Any, files: Iterable[Any]) -> tuple[str, ...]:
    """LLVM IR of what a kernel is linked with: CUDA C++ sources, the user's or Numba's own (float16)."""
    waiting, seen, found = [library], set(), list(files)
    while waiting:
        current = waiting.pop()
        if id(current) not in seen:
            seen.add(id(current))
            waiting += getattr(current, "_linking_libraries", ())
            found += getattr(current, "_linking_files", ())
    return tuple(dict.fromkeys(_linkable(file) for file in found))


def _linkable(file: Any) -> str:
    name = str(getattr(file, "name", None) or file)
    content = getattr(file, "data", None)
    if isinstance(file, (str, os.PathLike)) and name.endswith((".ll", ".bc")):
        return read_module(Path(name).read_bytes() if name.endswith(".bc") else Path(name).read_text())
    if type(file).__name__ == "CUSource" or name.endswith(".cu"):
        text = Path(name).read_text() if content is None else content
        text = text.decode() if isinstance(text, bytes) else text
        return _compiled_cuda(text, name)
    raise UnsupportedError(f"The kernel is linked with {name}: only CUDA C++ sources (.cu) and LLVM IR (.ll, .bc) "
                           f"can be "
                           f"compiled.")


@functools.lru_cache(maxsize=64)
def _compiled_cuda(text: str, name: str) -> str:
    from reactant.kernels import cuda
    return cuda.compiled(text, name)


def example(argument: Argument) -> Any:
    """An object of the type that Numba has to see."""
    if isinstance(argument, ArrayArgument):
        return argument.stand_in()
    if isinstance(argument, NumberArgument):
        return argument.as_numpy()
    if isinstance(argument, BytesArgument):
        return np.frombuffer(argument.content, argument.dtype)[0]
    items = [example(a) for a in argument.items]
    return tuple(items) if argument.kind is tuple else argument.kind(*items)


def expanded(argument: Argument, operands: Operands) -> list[str]:
    """The operands that Numba's calling convention has for one argument."""
    if isinstance(argument, ArrayArgument):
        count = int(np.prod(argument.shape, dtype=np.int64))
        sizes = [f"i64 {n}" for n in (*argument.shape, *argument.strides)]
        return ["ptr null", "ptr null", f"i64 {count}", f"i64 {argument.dtype.itemsize}",
                f"ptr {operands.pointer(argument)}", *sizes]
    if isinstance(argument, TupleArgument):
        return [o for item in argument.items for o in expanded(item, operands)]
    if isinstance(argument, BytesArgument):
        return [f"ptr {operands.bytes(argument)}"]
    if argument.dtype.kind == "c":
        real = np.dtype(f"f{argument.dtype.itemsize // 2}")
        if argument.scalar is None:
            parts = [NumberArgument(real, p) for p in (argument.value.real, argument.value.imag)]
        else:
            parts = [NumberArgument(real, scalar=argument.scalar + i) for i in (0, 1)]
        return [operands.number(p) for p in parts]
    return [operands.number(argument)]


# ---- Numba, while it compiles for us ---------------------------------------------------------------------------

@dataclass(frozen=True)
class _Device:
    compute_capability: tuple[int, int] = COMPUTE_CAPABILITY


@contextlib.contextmanager
def compiling() -> Iterator[Any]:
    """numba.cuda's compiler module, ready to compile without a GPU; Numba is as before afterwards."""
    import llvmlite.ir.types as llvm_types
    from numba.cuda import compiler, dispatcher
    from numba.cuda.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        before = dispatcher.get_current_device, dispatcher.compile_cuda, llvm_types.ir_layer_typed_pointers_enabled
        dispatcher.get_current_device = _Device
        dispatcher.compile_cuda = functools.partial(_with_lines, before[1])
        llvm_types.ir_layer_typed_pointers_enabled = False
        try:
            yield compiler
        finally:
            (dispatcher.get_current_device, dispatcher.compile_cuda,
             llvm_types.ir_layer_typed_pointers_enabled) = before


def _with_lines(compile_cuda: Any, function: Any, *arguments: Any, **options: Any) -> Any:
    """Device functions keep their line numbers too."""
    lines = _has_source(function) and not options.get("debug")
    return compile_cuda(function, *arguments, **{**options, "lineinfo": lines, "cc": COMPUTE_CAPABILITY})


def _has_source(function: Any) -> bool:
    """Whether the text of a function can be read; Numba warns where it looks for line numbers in vain."""
    return bool(linecache.getline(function.__code__.co_filename, function.__code__.co_firstlineno))


_kernels: weakref.WeakKeyDictionary[Any, NumbaKernel] = weakref.WeakKeyDictionary()


def kernel_of(dispatcher: Any) -> NumbaKernel:
    """The way in for a `@cuda.jit` kernel, always the same for the same kernel."""
    if dispatcher not in _kernels:
        _kernels[dispatcher] = NumbaKernel(dispatcher)
    return _kernels[dispatcher]


def is_dispatcher(x: Any) -> bool:
    """Whether `x` is a kernel (or device function) made by `numba.cuda.jit`."""
    kind = type(x)
    return kind.__name__ == "CUDADispatcher" and kind.__module__.startswith("numba.cuda")

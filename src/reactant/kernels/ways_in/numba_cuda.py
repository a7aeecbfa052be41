"""Numba-CUDA kernels as a way in: their LLVM IR, from Numba's own compiler, without a GPU.

Typing, inlining and device functions are Numba's. Nothing of Numba stays changed: while it compiles, under its own
compiler lock, it believes in a device of compute capability 8.0 and keeps line numbers.
"""
from __future__ import annotations

import contextlib
import functools
import importlib
import linecache
import os
import re
import weakref
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from reactant.errors import UnsupportedError
from reactant.kernels.form import assertions
from reactant.kernels.launch.arguments import (
    Argument,
    ArrayArgument,
    BytesArgument,
    KernelArgumentError,
    NumberArgument,
    Operands,
    RecordArgument,
    TupleArgument,
)
from reactant.kernels.llvm_ir.cleanup import read_module
from reactant.kernels.ways_in import cuda_source
from reactant.support.like_functions import Told
from reactant.support.records import dataclass
from reactant.support.session import InFile, Unnoted

COMPUTE_CAPABILITY = (8, 0)


class NumbaKernel(Told):
    """A `@cuda.jit` kernel: its IR for given argument types."""

    frontend = "numba"
    pointer_tables: frozenset[int] = frozenset()

    def __init__(self, dispatcher: Any):
        self.dispatcher = dispatcher
        function = dispatcher.py_func
        self.name: str = function.__name__
        self.source: str = function.__code__.co_filename
        self.line: int = function.__code__.co_firstlineno
        self.names: tuple[str, ...] = function.__code__.co_varnames[:function.__code__.co_argcount]
        self._compiled: dict[tuple, tuple[str, tuple[str, ...]]] = {}
        self.followed: set[InFile | Unnoted] = set()
        """What Numba has compiled for it."""
        if dispatcher.targetoptions.get("device"):
            raise UnsupportedError(f"'{self.name}' is a device function: only kernels can be launched.",
                                   hint="Check the source with its own compiler.", code="kernel-code")

    def depends_on(self) -> tuple | None:
        return (self.dispatcher,)

    def takes_integer(self, path: tuple[int, ...], value: int | None) -> bool:
        """Whether Numba takes the integer for one of 64 bits."""
        return len(path) == 1 and value is not None and -2**63 <= value < 2**63

    def prepare(self, arguments: tuple[Argument, ...], operands: Operands) -> tuple[str, ...]:
        """Fill in the call of the kernel; returns its LLVM modules. Raises Numba's own typing errors."""
        expected = len(self.names)
        variadic = bool(self.dispatcher.py_func.__code__.co_flags & 4)
        if len(arguments) != expected and not variadic:
            raise KernelArgumentError(f"The kernel '{self.name}({', '.join(self.names)})' takes {expected} "
                                      f"argument{'s' * (expected != 1)}, {len(arguments)} given.")
        types = self.declared(arguments) or tuple(self.typed(a) for a in arguments)
        symbol, texts = self.compiled(types)
        operands.wrapper.kernel = symbol
        for argument, kind in zip(arguments, types, strict=True):
            operands.wrapper.operands += expanded(argument, operands, kind)
        return texts

    def declared(self, arguments: tuple[Argument, ...]) -> tuple | None:
        """The types of the signature that the kernel was decorated with; None where there is none."""
        signatures = [s for s, made in self.dispatcher.overloads.items() if isinstance(made, _Declared)]
        for signature in signatures:
            if len(signature) == len(arguments) and all(map(_takes, signature, map(self.typed, arguments))):
                return signature
        if signatures:
            given = ", ".join(str(self.typed(a)) for a in arguments)
            wanted = " or ".join(f"({', '.join(map(str, s))})" for s in signatures)
            raise KernelArgumentError(f"The kernel '{self.name}' was declared for {wanted}; given are ({given}).")
        return None

    def typed(self, argument: Argument) -> Any:
        """Numba's type of an argument."""
        return self.dispatcher.typeof_pyval(example(argument))

    def compiled(self, types: tuple) -> tuple[str, tuple[str, ...]]:
        """(symbol, LLVM modules) of the kernel for argument types."""
        if types not in self._compiled:
            with compiling() as compiler:
                options = self.dispatcher.targetoptions
                try:
                    result = compiler.compile_cuda(
                        self.dispatcher.py_func, compiler.types.void, types,
                        lineinfo=_has_source(self.dispatcher.py_func), cc=COMPUTE_CAPABILITY,
                        fastmath=bool(options.get("fastmath")), inline=options.get("inline", "never"))
                except (LookupError, AttributeError, AssertionError) as error:      # np.exp: it has no such function
                    raise UnsupportedError(f"Numba-CUDA does not compile the kernel '{self.name}', for a GPU "
                                           f"neither: {type(error).__name__}: {error}.",
                                           hint="Functions of `math` it knows.", code="kernel-code") from error
                function = result.library.get_function(result.fndesc.llvm_func_name)
                _mark_raising(function)
                compiler.kernel_fixup(function, False)
                texts = tuple(assertions.with_raising(str(m)) for m in result.library.modules)
            self.followed.update(_functions_in(texts))
            linked = _linked(result.library, options.get("link") or ())
            self._compiled[types] = function.name, texts + linked
        return self._compiled[types]


def _functions_in(texts: Iterable[str]) -> Iterator[InFile | Unnoted]:
    """Where the functions are that Numba has compiled, as its line numbers tell."""
    for text in texts:
        files = {number: os.path.join(folder, name) for number, name, folder in _FILE.findall(text)}
        functions = [line for line in text.splitlines() if " = distinct !DISubprogram(" in line]
        if not functions:
            yield Unnoted()
        for line in functions:
            file, number = re.search(r"\bfile: !(\d+)", line), re.search(r"\bline: (\d+)", line)
            yield Unnoted() if file is None or number is None else InFile(files[file[1]], int(number[1]))


_FILE = re.compile(r'^!(\d+) = !DIFile\((?=.*?\bfilename: "([^"]*)")(?=.*?\bdirectory: "([^"]*)")', re.MULTILINE)


def _mark_raising(kernel: Any) -> None:
    """A call where the kernel's function (llvmlite's) returns an exception; returns are about to lose their values."""
    from llvmlite import ir
    name = assertions.name_of("")
    for block in kernel.blocks:
        end = block.terminator
        if isinstance(end, ir.Ret) and isinstance(end.return_value, ir.Constant) and int(end.return_value.constant) > 0:
            known = kernel.module.globals.get(name)
            kind = ir.FunctionType(ir.VoidType(), ())
            builder = ir.IRBuilder()
            builder.position_before(end)
            call = builder.call(known or ir.Function(kernel.module, kind, name), ())
            call.metadata = dict(end.metadata)


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
        from numba.cuda.core import config
        folders = str(getattr(config, "CUDA_NVRTC_EXTRA_SEARCH_PATHS", "") or "").split(os.pathsep)
        return _compiled_cuda(text, name, tuple(f for f in (str(Path(name).parent), *folders) if f))
    raise UnsupportedError(f"The kernel is linked with {name}: only CUDA C++ sources (.cu) and LLVM IR (.ll, .bc) "
                           "can be compiled.", hint="Check the source with its own compiler.", code="kernel-code")


@functools.lru_cache(maxsize=64)
def _compiled_cuda(text: str, name: str, include: tuple[str, ...]) -> str:
    return cuda_source.linked(text, name, include)


def example(argument: Argument) -> Any:
    """An object of the type that Numba has to see."""
    if isinstance(argument, ArrayArgument):
        return np.zeros((), argument.dtype)[()] if argument.element else argument.stand_in()
    if isinstance(argument, NumberArgument):
        return argument.as_numpy()
    if isinstance(argument, BytesArgument):
        return np.frombuffer(argument.content, argument.dtype)[0]
    if isinstance(argument, RecordArgument):
        return np.zeros((), argument.dtype)[()]
    assert isinstance(argument, TupleArgument)
    items = [example(a) for a in argument.items]
    return tuple(items) if argument.kind is tuple else argument.kind(*items)


def _takes(declared: Any, given: Any) -> bool:
    """Whether an argument may be given for a declared type: numbers convert, arrays must be of the type."""
    if hasattr(declared, "ndim") and hasattr(declared, "layout"):
        return hasattr(given, "ndim") and (declared.dtype, declared.ndim) == (given.dtype, given.ndim) \
            and declared.layout in ("A", given.layout)
    return declared == given or (hasattr(declared, "bitwidth") and hasattr(given, "bitwidth"))


def expanded(argument: Argument, operands: Operands, kind: Any = None) -> list[str]:
    """The operands that Numba's calling convention has for one argument; `kind` is its Numba type."""
    if isinstance(argument, ArrayArgument) and argument.element:
        return [f"ptr {operands.pointer(argument)}"]
    if isinstance(argument, ArrayArgument):
        count = int(np.prod(argument.shape, dtype=np.int64))
        sizes = [f"i64 {n}" for n in (*argument.shape, *argument.strides)]
        return ["ptr null", "ptr null", f"i64 {count}", f"i64 {argument.dtype.itemsize}",
                f"ptr {operands.pointer(argument)}", *sizes]
    if isinstance(argument, TupleArgument):
        return [o for item in argument.items for o in expanded(item, operands)]
    if isinstance(argument, BytesArgument):
        return [f"ptr {operands.bytes(argument)}"]
    if isinstance(argument, RecordArgument):
        return [f"ptr {operands.record(argument)}"]
    assert isinstance(argument, NumberArgument)
    if argument.dtype.kind == "c":
        real = np.dtype(f"f{argument.dtype.itemsize // 2}")
        if argument.scalar is None:
            parts = [NumberArgument(real, p) for p in (argument.value.real, argument.value.imag)]
        else:
            parts = [NumberArgument(real, scalar=argument.scalar + i) for i in (0, 1)]
        return [operands.number(p) for p in parts]
    letter = {"Integer": "i", "Float": "f", "Boolean": "b"}.get(type(kind).__name__)
    if letter == "i" and not kind.signed:
        letter = "u"
    wanted = None if letter is None else np.dtype(bool if letter == "b" else f"{letter}{kind.bitwidth // 8}")
    return [operands.number(argument, wanted)]


# ---- Numba, while it compiles for us ---------------------------------------------------------------------------

@dataclass(frozen=True)
class _Device:
    compute_capability: tuple[int, int] = COMPUTE_CAPABILITY


@functools.cache
def _load_arrays() -> None:
    """What numba-cuda knows of arrays. Its 0.30 names a function that NumPy dropped with 2.5, when it is loaded."""
    if hasattr(np, "row_stack"):
        return
    np.row_stack = np.vstack
    try:
        importlib.import_module("numba.cuda.np.arrayobj")
    finally:
        del np.row_stack


@contextlib.contextmanager
def compiling() -> Iterator[Any]:
    """numba.cuda's compiler module, ready to compile without a GPU; Numba is as before afterwards."""
    from numba.cuda import compiler, dispatcher
    from numba.cuda.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        _load_arrays()
        before = dispatcher.get_current_device, dispatcher.compile_cuda
        dispatcher.get_current_device = _Device
        dispatcher.compile_cuda = functools.partial(_with_lines, before[1])
        try:
            yield compiler
        finally:
            dispatcher.get_current_device, dispatcher.compile_cuda = before


class _Declared:
    """Stands in a dispatcher for the machine code of a signature that it was decorated with."""


@contextlib.contextmanager
def without_gpu() -> Iterator[None]:
    """A context in which kernels decorated with a signature are defined without a GPU.

    Inside, `@cuda.jit("void(float64[:], ...)")` and its kin note the signature, instead of compiling for a GPU that is
    not there. Define or import such kernels inside; launch them as any other, inside or after.

    Returns:
        A context manager.

    Example:
        >>> from numba import cuda
        >>> with reactant.cuda.without_gpu():
        ...     @cuda.jit("void(float64[:])")
        ...     def increment(x):
        ...         x[cuda.grid(1)] += 1.0
        >>> x = np.zeros(3)
        >>> reactant.kernel(increment)[1, 3](x)
        >>> x
        array([1., 1., 1.])
    """
    from numba.cuda import dispatcher
    from numba.cuda.core import sigutils

    def compile_later(self: Any, signature: Any) -> Any:
        types, _ = sigutils.normalize_signature(signature)
        return self.overloads.setdefault(tuple(types), _Declared())
    kernels: Any = dispatcher.CUDADispatcher
    before = dispatcher.get_current_device, kernels.compile
    dispatcher.get_current_device, kernels.compile = _Device, compile_later
    try:
        yield
    finally:
        dispatcher.get_current_device, kernels.compile = before


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

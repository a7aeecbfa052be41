"""Kernels called from plain Python: `reactant.kernel`, and the ways in that load files.

A launch outside compiled functions is a compiled function of its own: its arguments are the memories behind the arrays
(so that views of one array stay views of one memory) and the numbers that only the call knows.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from reactant.api import Jitted, jit
from reactant.errors import UnsupportedError
from reactant.frontends.numpy.tensor import Tensor
from reactant.kernels import c, cuda, launch, llvm, numba_cuda
from reactant.kernels.arguments import KernelArgumentError, plain
from reactant.kernels.building import WayIn
from reactant.kernels.launch import Launch, Launchable
from reactant.kernels.memory import StridedStep
from reactant.runtime.array import DeviceArray


def kernel(k: Any, *, lower: str = "auto", check: bool = False) -> Launchable:
    """A kernel as something to launch: `reactant.kernel(k)[grid, block](*arrays)` compiles that launch and runs it.

    k: a `numba.cuda.jit` kernel, or one loaded by `reactant.cuda.load` and its kin. Arrays are NumPy or device arrays;
    what the kernel writes is written into them. Integers are compile-time constants, floats run-time numbers.

    lower: "tensor" (raise to a tensor program or say why not), "native" (compile for the CPU), "auto" (the better).
    check: report accesses outside arrays, with the kernel's line, instead of undefined behaviour.

    Raises `TypeError` for anything that is no kernel, `LaunchError` for grids and blocks that no GPU takes,
    `KernelArgumentError` for arguments that do not fit, `UnsupportedError` for what cannot be compiled.
    """
    if isinstance(k, Launchable):
        return Launchable(k.way_in, lower, check)
    if numba_cuda.is_dispatcher(k):
        return Launchable(numba_cuda.kernel_of(k), lower, check)
    raise TypeError(f"reactant.kernel takes a numba.cuda kernel or one that was loaded, not {type(k).__name__}.")


# ---- one launch as a compiled function -------------------------------------------------------------------------

@dataclass(frozen=True)
class _View:
    """An array argument: which memory, and which part of it."""

    root: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype
    writeable: bool

    def of(self, roots: tuple, numbers: tuple) -> Any:
        tensor = roots[self.root]
        step = StridedStep(self.offset, self.shape, self.strides)
        return Tensor(tensor.storage, (step,), dtype=self.dtype, writeable=self.writeable)


@dataclass(frozen=True)
class _Whole:
    """An array argument that is a memory as it is."""

    root: int

    def of(self, roots: tuple, numbers: tuple) -> Any:
        return roots[self.root]


@dataclass(frozen=True)
class _Number:
    """A number that only the call knows."""

    place: int

    def of(self, roots: tuple, numbers: tuple) -> Any:
        return numbers[self.place]


@dataclass(frozen=True)
class _Known:
    """A number known when the launch is compiled, by type and bits."""

    kind: type
    content: Any
    value: Any = field(compare=False)

    def of(self, roots: tuple, numbers: tuple) -> Any:
        return self.value


@dataclass(frozen=True)
class _Tuple:
    items: tuple
    kind: type

    def of(self, roots: tuple, numbers: tuple) -> Any:
        items = tuple(i.of(roots, numbers) for i in self.items)
        return items if self.kind is tuple else self.kind(*items)


class _Described:
    """Arguments of a call, taken apart into memories, run-time numbers and a hashable rest."""

    def __init__(self, arguments: tuple):
        self.roots: list[Any] = []
        self.numbers: list[Any] = []
        self._known: dict[int, int] = {}
        self.arguments = tuple(self.one(a) for a in arguments)
        self.refuse_overlap()

    def one(self, x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return self.array(x)
        if isinstance(x, (DeviceArray, jax.Array)):
            return _Whole(self.root(x))
        if isinstance(x, (bool, int, np.integer, np.bool_)):
            return _Known(type(x), int(x), x)
        if isinstance(x, (float, complex, np.inexact)):
            self.numbers.append(x)
            return _Number(len(self.numbers) - 1)
        if isinstance(x, np.void):
            return _Known(np.void, (x.dtype, x.tobytes()), x)
        if isinstance(x, (tuple, list)):
            return _Tuple(tuple(self.one(i) for i in x), type(x) if hasattr(x, "_fields") else tuple)
        raise KernelArgumentError(f"A {type(x).__name__} is no argument for a kernel: it takes arrays and numbers.")

    def root(self, x: Any) -> int:
        place = self._known.setdefault(id(x), len(self.roots))
        if place == len(self.roots):
            self.roots.append(x)
        return place

    def array(self, x: np.ndarray) -> Any:
        owner = _owner(x)
        memory = _memory(owner)
        for place, known in enumerate(self.roots):
            if isinstance(known, np.ndarray) and known.ctypes.data == memory.ctypes.data \
                    and known.nbytes == memory.nbytes and known.dtype == memory.dtype:
                memory, found = known, place
                break
        else:
            found = self.root(memory)
        if x.dtype == memory.dtype and x.shape == memory.shape and x.strides == memory.strides \
                and x.ctypes.data == memory.ctypes.data and x.flags.writeable == memory.flags.writeable:
            return _Whole(found)
        offset = x.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
        return _View(found, offset, x.shape, x.strides, x.dtype, x.flags.writeable)

    def refuse_overlap(self) -> None:
        arrays = [r for r in self.roots if isinstance(r, np.ndarray)]
        for i, first in enumerate(arrays):
            for second in arrays[i + 1:]:
                if np.may_share_memory(first, second):
                    raise UnsupportedError("Two arguments of the kernel lie in one memory that NumPy does not know as "
                                           "one array. Make both views of one array.")


def _owner(x: np.ndarray) -> np.ndarray:
    """The array whose memory `x` shows."""
    if not x.dtype.isnative:
        raise KernelArgumentError(f"Arrays of dtype {x.dtype} have the bytes of their elements swapped. Pass "
                                  f"x.astype(x.dtype.newbyteorder('=')).")
    while isinstance(x.base, np.ndarray) and type(x.base) is np.ndarray and _is_plain(x.base.dtype):
        x = x.base
    return x


def _is_plain(dtype: np.dtype) -> bool:
    try:
        plain(dtype)
    except KernelArgumentError:
        return False
    return dtype.isnative


def _memory(owner: np.ndarray) -> np.ndarray:
    """The owner's memory as a row-major array of a dtype that programs have."""
    flat = owner
    if not owner.flags.c_contiguous:
        order = np.argsort([-abs(s) for s in owner.strides], kind="stable")
        flat = owner.transpose(order)
        flat = flat[tuple(slice(None, None, -1) if s < 0 else slice(None) for s in flat.strides)]
        if not flat.flags.c_contiguous:
            low, high = np.lib.array_utils.byte_bounds(flat)
            if (high - low) % flat.itemsize:
                raise UnsupportedError("An argument of the kernel has strides that are no multiple of its item size.")
            flat = np.lib.stride_tricks.as_strided(flat, ((high - low) // flat.itemsize,), (flat.itemsize,))
    if flat.dtype.kind == "V" and flat.dtype.fields:
        return flat.reshape(-1).view(plain(flat.dtype)[0])
    return flat


_compiled: dict[tuple, Jitted] = {}


def run(way_in: WayIn, how: Launch, arguments: tuple) -> Any:
    """Launch a kernel on arrays, now."""
    described = _Described(arguments)
    types = tuple((type(r), tuple(r.shape), r.dtype) for r in described.roots)
    key = (way_in, how, described.arguments, types, tuple(map(type, described.numbers)))
    jitted = _compiled.get(key)
    if jitted is None:
        jitted = _compiled.setdefault(key, jit(_program(way_in, how, described.arguments), frontend="numpy"))
    return jitted(tuple(described.roots), tuple(described.numbers))


def _program(way_in: WayIn, how: Launch, arguments: tuple) -> Callable:
    def program(roots: tuple, numbers: tuple) -> Any:
        return launch.launch_in_trace(way_in, how, [a.of(roots, numbers) for a in arguments])
    program.__name__ = way_in.name
    return program


launch.STANDALONE[:] = [run]

__all__ = ["c", "cuda", "kernel", "llvm"]

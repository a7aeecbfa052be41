"""Arguments of a launch outside compiled functions: taken apart into memories, run-time numbers and the rest.

The rest is hashable: it says how the arguments are put together again from traced memories and numbers, and is the key
under which a launch is compiled.
"""
from __future__ import annotations

from dataclasses import field
from typing import Any

import jax
import numpy as np

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.tensor import PYTHON, SCALAR, Tensor
from reactant.kernels.launch.arguments import KernelArgumentError, plain
from reactant.kernels.launch.memory import Reference, StridedStep
from reactant.runtime.array import DeviceArray
from reactant.runtime.meshes import spread
from reactant.support.records import dataclass


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
class Integer:
    """An integer that changes from launch to launch (`changing`)."""

    kind: type
    place: int

    def of(self, roots: tuple, numbers: tuple) -> Any:
        return Tensor.of_value(numbers[self.place].value(), PYTHON if self.kind is int else SCALAR)


@dataclass(frozen=True)
class _Struct:
    """A struct that the kernel writes into."""

    memory: _View | _Whole

    def of(self, roots: tuple, numbers: tuple) -> Any:
        return Reference(self.memory.of(roots, numbers))


@dataclass(frozen=True)
class _Tuple:
    items: tuple
    kind: type

    def of(self, roots: tuple, numbers: tuple) -> Any:
        items = tuple(i.of(roots, numbers) for i in self.items)
        return items if self.kind is tuple else self.kind(*items)


class Described:
    """Arguments of a call, taken apart into memories, run-time numbers and a hashable rest."""

    def __init__(self, arguments: tuple, changed: frozenset[int] = frozenset()):
        """changed: the leaves that are structs which the kernel changes."""
        self.changed, self._leaves = changed, 0
        self.roots: list[Any] = []
        self.numbers: list[Any] = []
        self._known: dict[int, int] = {}
        self.arguments = tuple(self.one(a) for a in arguments)
        self.refuse_overlap()

    def one(self, x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return _Tuple(tuple(self.one(i) for i in x), type(x) if hasattr(x, "_fields") else tuple)
        self._leaves += 1
        if self._leaves - 1 in self.changed and isinstance(x, np.void):
            return _Struct(self.array(np.asarray(x)))
        if isinstance(x, np.ndarray):
            return self.array(x)
        if isinstance(x, DeviceArray):
            return self.device_array(x)
        if isinstance(x, jax.Array):
            return _Whole(self.root(x))
        if isinstance(x, (bool, int, np.integer, np.bool_)):
            return _Known(type(x), int(x), x)
        if isinstance(x, (float, complex, np.inexact)):
            self.numbers.append(x)
            return _Number(len(self.numbers) - 1)
        if isinstance(x, np.void):
            return _Known(np.void, (x.dtype, x.tobytes()), x)
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

    def device_array(self, x: DeviceArray) -> Any:
        """As of NumPy's arrays, views are parts of the memory that they show."""
        known = (r for r in self.roots if isinstance(r, DeviceArray) and r.same_buffer(x))
        whole = next(known, None)
        if whole is None:
            whole = x.whole()
        found, layout, step, writeable = self.root(whole), x.layout, x.itemsize, x.flags.writeable
        if layout == whole.layout and writeable:
            return _Whole(found)
        return _View(found, layout.offset * step, layout.shape, tuple(s * step for s in layout.strides), x.dtype,
                     writeable)

    def integers(self) -> dict[int, int]:
        """The arguments that are integers which are known."""
        return {k: a.content for k, a in enumerate(self.arguments)
                if isinstance(a, _Known) and issubclass(a.kind, (int, np.integer)) and a.kind is not bool}

    def is_spread(self) -> bool:
        """Whether a memory is on several devices."""
        return any(spread(root.buffer if isinstance(root, DeviceArray) else root) is not None
                   for root in self.roots if isinstance(root, (DeviceArray, jax.Array)))

    def without_integers(self) -> tuple:
        """The arguments without the values of these: equal for launches that differ in them alone."""
        places = self.integers()
        return tuple(a.kind if k in places else a for k, a in enumerate(self.arguments))

    def at_run_time(self, places: frozenset[int]) -> None:
        """Let the program get these integers."""
        given = list(self.arguments)
        for k in places:
            given[k] = Integer(given[k].kind, len(self.numbers))
            self.numbers.append(np.asarray(given[k].kind(self.arguments[k].content)))
        self.arguments = tuple(given)

    def refuse_overlap(self) -> None:
        arrays = [r for r in self.roots if isinstance(r, np.ndarray)]
        for i, first in enumerate(arrays):
            for second in arrays[i + 1:]:
                if np.may_share_memory(first, second):
                    raise UnsupportedError("Two arguments of the kernel lie in one memory that NumPy does not know "
                                           "as one array.", hint="Make both views of one array.",
                                           code="kernel-arguments-alias")


def _owner(x: np.ndarray) -> np.ndarray:
    """The array whose memory `x` shows."""
    if not x.dtype.isnative:
        raise KernelArgumentError(f"Arrays of dtype {x.dtype} have the bytes of their elements swapped.",
                                  hint="Pass x.astype(x.dtype.newbyteorder('=')).")
    while isinstance(base := _behind(x), np.ndarray) and _is_plain(base.dtype):
        x = base
    return x if type(x) is np.ndarray else x.view(np.ndarray)


def _behind(x: np.ndarray) -> Any:
    """What an array is a view of; elements of structured arrays are views themselves."""
    base = x.base
    while isinstance(base, np.void) and base.base is not None:
        base = base.base
    return base


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
                raise UnsupportedError("An argument of the kernel has strides that are no multiple of its item size.",
                                       code="kernel-argument")
            flat = np.lib.stride_tricks.as_strided(flat, ((high - low) // flat.itemsize,), (flat.itemsize,))
    if flat.dtype.kind == "V" and flat.dtype.fields:
        return flat.reshape(-1).view(plain(flat.dtype)[0])
    return flat

"""Arguments of a launch outside compiled functions: taken apart into memories, run-time numbers and the rest.

The rest is hashable: it says how the arguments are put together again from traced memories and numbers, and is the key
under which a launch is compiled.
"""
from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import field
from typing import Any

import jax
import numpy as np

from reactant.errors import ConstantWriteError, UnsupportedError
from reactant.frontends.arrays.tensor import PYTHON, SCALAR, Tensor
from reactant.kernels.launch.arguments import KernelArgumentError, members_of, plain
from reactant.kernels.launch.memory import ByValue, Reference, StridedStep
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
class _Record:
    """A struct by value that changes from launch to launch: (offset, place) of its numbers."""

    dtype: np.dtype
    held: tuple[tuple[int, int], ...]

    def of(self, roots: tuple, numbers: tuple) -> Any:
        return ByValue(self.dtype, tuple((at, Tensor.of_value(numbers[k].value(), SCALAR)) for at, k in self.held))


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


Path = tuple[int, ...]
"""Which argument, and which item of a tuple."""


def _known(a: Any, path: Path) -> Iterator[tuple[Path, _Known]]:
    """The integers of an argument that are known, and the records of numbers."""
    if isinstance(a, _Tuple):
        for k, item in enumerate(a.items):
            yield from _known(item, (*path, k))
    elif isinstance(a, _Known) and a.kind is np.void:
        if a.content[0].names and all(m.dtype.kind in "iuf" and m.dtype.isnative for m in members_of(a.content[0])):
            yield path, a
    elif isinstance(a, _Known) and issubclass(a.kind, (int, np.integer)) and a.kind is not bool:
        yield path, a


class Described:
    """Arguments of a call, taken apart into memories, run-time numbers and a hashable rest."""

    def __init__(self, arguments: tuple, changed: frozenset[int] = frozenset(), tables: frozenset[int] = frozenset()):
        """changed: the leaves that are structs which the kernel changes. tables: the arguments that may be lists of
        arrays whose addresses the kernel finds in memory."""
        self.changed, self._leaves = changed, 0
        self.joined: list[tuple[np.ndarray, list[np.ndarray]]] = []
        """Arrays that are put together for the launch, and what they were."""
        self.roots: list[Any] = []
        self.numbers: list[Any] = []
        self._known: dict[int, int] = {}
        self._memories: dict[tuple[int, int, np.dtype], int] = {}       # of NumPy: (address, bytes, dtype)
        self.arguments = tuple(self.rows(a) if k in tables and isinstance(a, (tuple, list)) else self.one(a)
                               for k, a in enumerate(arguments))
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

    def rows(self, items: Sequence[Any]) -> Any:
        """A list of arrays: parts of one memory, so that a program has one argument for however many."""
        inner = Described(tuple(items)) if all(isinstance(x, np.ndarray) for x in items) else None
        if inner is None or len(inner.roots) < 2 or len({r.dtype for r in inner.roots}) > 1:
            return self.one(items)
        joined = np.concatenate([r.reshape(-1) for r in inner.roots])
        self.joined.append((joined, inner.roots))
        place, starts = self.root(joined), np.cumsum([0, *(r.nbytes for r in inner.roots)])
        found = []
        for x, view in zip(items, inner.arguments, strict=True):
            inside = view.offset if isinstance(view, _View) else 0
            found.append(_View(place, int(starts[view.root]) + inside, x.shape, x.strides, x.dtype, x.flags.writeable))
        return _Tuple(tuple(found), tuple)

    def give_back(self, name: str) -> None:
        """Write what a launch changed in arrays that were put together into those that they were.

        Raises `ConstantWriteError` for those that are not to be written."""
        for joined, roots in self.joined:
            at = 0
            for root in roots:
                new, at = joined[at:at + root.size].reshape(root.shape), at + root.size
                if np.array_equal(new.view(np.uint8), root.view(np.uint8)):       # bits: NaN is itself
                    continue
                if not root.flags.writeable:
                    raise ConstantWriteError(f"an array in a list that the kernel '{name}' writes into")
                root[...] = new

    def root(self, x: Any) -> int:
        place = self._known.setdefault(id(x), len(self.roots))
        if place == len(self.roots):
            self.roots.append(x)
        return place

    def array(self, x: np.ndarray) -> Any:
        owner = _owner(x)
        memory = _memory(owner)
        start = memory.__array_interface__["data"][0]
        found = self._memories.get((start, memory.nbytes, memory.dtype), -1)
        if found < 0:
            found = self._memories[start, memory.nbytes, memory.dtype] = self.root(memory)
        memory = self.roots[found]
        offset = x.__array_interface__["data"][0] - start
        if x.dtype == memory.dtype and x.shape == memory.shape and x.strides == memory.strides \
                and not offset and x.flags.writeable == memory.flags.writeable:
            return _Whole(found)
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

    def integers(self, taken: Callable[[Path, int | None], bool]) -> dict[Path, int]:
        """The integers that are known, those in tuples too, and the records, as numbers of their content, where `taken`
        says that the kernel takes them (None: a record) from the program."""
        known = (found for k, a in enumerate(self.arguments) for found in _known(a, (k,)))
        return {path: hash(one.content) if one.kind is np.void else one.content for path, one in known
                if taken(path, None if one.kind is np.void else one.content)}

    def is_spread(self) -> bool:
        """Whether a memory is on several devices."""
        return any(spread(root.buffer if isinstance(root, DeviceArray) else root) is not None
                   for root in self.roots if isinstance(root, (DeviceArray, jax.Array)))

    def without(self, integers: Container[Path]) -> tuple:
        """The arguments without the values of these: equal for launches that differ in them alone."""
        def kept(a: Any, path: Path) -> Any:
            if isinstance(a, _Tuple):
                return (a.kind, *(kept(i, (*path, k)) for k, i in enumerate(a.items)))
            if path not in integers:
                return a
            return (np.void, a.content[0]) if a.kind is np.void else a.kind
        return tuple(kept(a, (k,)) for k, a in enumerate(self.arguments))

    def at_run_time(self, places: frozenset[Path]) -> None:
        """Let the program get these integers, and all the numbers of these records."""
        def given(a: Any, path: Path) -> Any:
            if isinstance(a, _Tuple):
                return _Tuple(tuple(given(i, (*path, k)) for k, i in enumerate(a.items)), a.kind)
            if path not in places:
                return a
            if a.kind is not np.void:
                self.numbers.append(np.asarray(a.kind(a.content)))
                return Integer(a.kind, len(self.numbers) - 1)
            dtype, content = a.content
            held = []
            for member in members_of(dtype):
                for i, number in enumerate(np.frombuffer(content, member.dtype, member.count, member.offset)):
                    held.append((member.offset + i * member.dtype.itemsize, len(self.numbers)))
                    self.numbers.append(number)
            return _Record(dtype, tuple(held))
        self.arguments = tuple(given(a, (k,)) for k, a in enumerate(self.arguments))

    def refuse_overlap(self) -> None:
        joined = {id(one) for one, _ in self.joined}
        arrays = [r for r in self.roots if isinstance(r, np.ndarray) and id(r) not in joined]
        arrays += [root for _, roots in self.joined for root in roots]
        end = 0
        for low, high in sorted(np.lib.array_utils.byte_bounds(a) for a in arrays if a.size):
            if low < end:
                hint = "Pass a copy of an array that is in a list and an argument beside it." if joined else \
                    "Make both views of one array."
                raise UnsupportedError("Two arguments of the kernel lie in one memory that NumPy does not know as one "
                                       "array.", hint=hint, code="kernel-arguments-alias")
            end = max(end, high)


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

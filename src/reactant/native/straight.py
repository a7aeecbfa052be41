"""Programs that are calls of native functions and nothing else, run without XLA.

XLA's way to a function and back costs some 30 us, copies arguments and results below 1 MiB, and hands the work to
another thread from some size on: `a + b` of 100,000 float64 takes 200 us of the processor through XLA, 40 so, and 35 in
NumPy. A native function reads NumPy's memory where it is, at any alignment, writes into new arrays, and has threads
that sleep between calls.
"""
from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import modules
from reactant.ir import ops as build
from reactant.ir.types import shape_and_dtype, size
from reactant.native import engine, support, threads
from reactant.native.function import NativeFunction, of_target
from reactant.records import dataclass

CALL = "stablehlo.custom_call"
SAME_BYTES = ("stablehlo.reshape", "stablehlo.bitcast_convert")
CONSTANT, IOTA = "stablehlo.constant", "stablehlo.iota"
MOST_KEPT = 16 << 20
"""Bytes of a constant that a program holds; with bigger ones it is XLA's."""
_TEXT = """
; a function on the memories of `n` arrays, which stand at a fixed place of NumPy's objects
define i32 @reactant.straight(ptr %step, ptr %arrays) #0 {
entry:
  %p.n = getelementptr i64, ptr %step, i64 1
  %n = load i64, ptr %p.n
  %p.counts = getelementptr ptr, ptr %step, i64 2
  %counts = load ptr, ptr %p.counts
  %function = load ptr, ptr %step
  %pointers = alloca ptr, i64 %n, align 8
  %rt = alloca <R>, align 8
  store <R> zeroinitializer, ptr %rt
  %p.hand = getelementptr ptr, ptr %step, i64 3
  %hand = load ptr, ptr %p.hand
  %p.schedule = getelementptr <R>, ptr %rt, i32 0, i32 2
  store ptr %hand, ptr %p.schedule
  %p.several = getelementptr i64, ptr %step, i64 4
  %several = load i64, ptr %p.several
  %p.threads = getelementptr <R>, ptr %rt, i32 0, i32 5
  store i64 %several, ptr %p.threads
  br label %next
next:
  %i = phi i64 [0, %entry], [%i.next, %more]
  %left = icmp slt i64 %i, %n
  br i1 %left, label %more, label %run
more:
  %p.array = getelementptr ptr, ptr %arrays, i64 %i
  %array = load ptr, ptr %p.array
  %p.memory = getelementptr i8, ptr %array, i64 <data>
  %memory = load ptr, ptr %p.memory
  %p = getelementptr ptr, ptr %pointers, i64 %i
  store ptr %memory, ptr %p
  %i.next = add i64 %i, 1
  br label %next
run:
  call void %function(ptr %rt, ptr %pointers, ptr %counts)
  %status = load i32, ptr %rt
  ret i32 %status
}
attributes #0 = { <A> }
"""
DATA = object.__basicsize__
"""Bytes from the beginning of NumPy's array objects to the address of their memory (NumPy's `PyArrayObject`)."""


@cache
def _caller() -> Callable[[int, Any], int] | None:
    """`(step, addresses of array objects) -> status`; None where NumPy's objects are not as they have always been."""
    probe = np.zeros(3)[1:]
    if ctypes.c_void_p.from_address(id(probe) + DATA).value != probe.ctypes.data:
        return None
    words = {"R": support.RUNTIME, "A": engine.attributes(), "data": DATA}
    text = re.sub(r"<([RA]|data)>", lambda match: str(words[match.group(1)]), _TEXT)
    address = engine.load(text, "reactant.straight", ("reactant.straight",), {}, level=1)["reactant.straight"]
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(address)


@dataclass(frozen=True)
class Made:
    """An array that a call writes: where it is kept, its shape and dtype, and of which other it begins as a copy."""

    slot: int
    shape: tuple[int, ...]
    dtype: np.dtype
    source: int | None


class Step:
    """One call: `slots` says where the array of each argument of the function is kept."""

    def __init__(self, function: NativeFunction, slots: Sequence[int], made: Sequence[Made], alone: bool) -> None:
        self.function, self.slots, self.made = function, tuple(slots), tuple(made)
        self._pool = (0, 1) if alone or not function.threaded else threads.pool()
        self._objects: Any = ctypes.c_void_p * max(len(self.slots), 1)
        self._sized = any(a.size is None for a in function.arguments)
        self._record, self._kept = self._told([a.size or 0 for a in function.arguments])

    @property
    def threads(self) -> int:
        """How many may work on it."""
        return self._pool[1]

    def _told(self, sizes: Sequence[int]) -> tuple[Any, Any]:
        """What `reactant.straight` reads of a call, and what that points to."""
        counts = (ctypes.c_int64 * max(len(sizes), 1))(*sizes)
        return (ctypes.c_int64 * 5)(self.function.entry(), len(sizes), ctypes.addressof(counts), *self._pool), counts

    def __call__(self, values: list[Any], call: Callable[[Any, Any], int],
                 empty: Callable[[tuple[int, ...], np.dtype], np.ndarray]) -> None:
        for each in self.made:
            values[each.slot] = made = empty(each.shape, each.dtype)
            if each.source is not None:
                made[...] = seen(values[each.source], each.shape, each.dtype)
        arrays = [values[slot] for slot in self.slots]
        record = self._record
        if self._sized:
            record, counts = self._told([a.nbytes // argument.dtype.itemsize for a, argument in zip(
                arrays, self.function.arguments, strict=True)])
        status = call(record, self._objects(*map(id, arrays)))
        if status:
            raise self.function.failure(status)


def seen(array: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The same bytes as an array of another shape and dtype."""
    flat = array.reshape(-1)
    return (flat if flat.dtype == dtype else flat.view(dtype)).reshape(shape)


class Straight:
    """The calls of a program in order, and its results: (where, shape, dtype, whether no one else has that array)."""

    def __init__(self, steps: Sequence[Step], kept: Sequence[np.ndarray | None],
                 results: Sequence[tuple[int, tuple[int, ...], np.dtype, bool]], call: Callable[[Any, Any], int],
                 empty: Callable[[tuple[int, ...], np.dtype], np.ndarray] = np.empty) -> None:
        self.steps, self._kept, self._results = tuple(steps), list(kept), tuple(results)
        self._call, self._empty = call, empty
        self.given: dict[int, tuple[int, ...]] = {}
        """Arguments that are taken as they lie in memory (`ir.laid_out`): the orders of their dimensions,"""
        self.turned: dict[int, tuple[int, ...]] = {}
        """and those by which results that are given so are seen."""

    def __call__(self, arguments: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Run on C-contiguous arrays of the program's shapes and dtypes, which are only read; gives new arrays.

        Calls from several threads are safe. Raises `NativeError` where a check in native code fails.
        """
        values: list[Any] = self._kept.copy()
        values[:len(arguments)] = arguments
        call, empty = self._call, self._empty
        for step in self.steps:
            step(values, call, empty)
        found = []
        for slot, shape, dtype, alone in self._results:
            value = values[slot] if alone else values[slot].copy()
            found.append(value if value.shape == shape and value.dtype == dtype else seen(value, shape, dtype))
        for number, order in self.turned.items():
            found[number] = found[number].transpose(order)
        return found

    def as_they_lie(self, arguments: Sequence[Any]) -> list[Any]:
        """The arguments, those in `given` seen by rows."""
        return [a.transpose(self.given[k]) if k in self.given and type(a) is np.ndarray and a.ndim == len(self.given[k])
                else a for k, a in enumerate(arguments)]


def straight(module: ir.Module, little: bool = False,
             empty: Callable[[tuple[int, ...], np.dtype], np.ndarray] = np.empty) -> Straight | None:
    """The calls of a module whose `@main` is native calls, reshapes and constants, if any; None for others.

    little: whether there is so little to do that several threads would not be faster. empty: makes arrays.
    """
    reader = _Reader(little)
    *ops, last = [op.operation for op in reader.begin(modules.function(module).regions[0].blocks[0])]
    if not all(map(reader.read, ops)) or (call := _caller()) is None:
        return None
    return Straight(reader.steps, reader.kept, reader.results(last), call, empty)


def _counted(op: ir.Operation, rank: int) -> np.ndarray:
    """0, 1, ... along the dimension of an iota; the others have length 1."""
    dimension = attr.decode(op.attributes["iota_dimension"])
    count = shape_and_dtype(op.results[0].type)[0][dimension]
    return np.arange(count).reshape([count if d == dimension else 1 for d in range(rank)])


class _Reader:
    """Gives the values of a block numbers, and its calls the numbers of what they read and make."""

    def __init__(self, little: bool) -> None:
        self.little = little
        self.slots: dict[ir.Value, int] = {}
        self.kept: list[np.ndarray | None] = []
        self.steps: list[Step] = []

    def begin(self, block: ir.Block) -> ir.OperationList:
        for argument in block.arguments:
            self._new(argument)
        return block.operations

    def _new(self, value: ir.Value, array: np.ndarray | None = None) -> int:
        self.slots[value] = len(self.kept)
        self.kept.append(array)
        return self.slots[value]

    def read(self, op: ir.Operation) -> bool:
        """Take an op in; False where the program needs XLA."""
        if op.name in (CONSTANT, IOTA):
            shape, dtype = shape_and_dtype(op.results[0].type)
            value = build.constant_value(op.results[0]) if op.name == CONSTANT else _counted(op, len(shape))
            if value is None or size(shape) * dtype.itemsize > MOST_KEPT:
                return False
            self._new(op.results[0], np.array(np.broadcast_to(value, shape), dtype, order="C"))
            return True
        if op.name in SAME_BYTES:
            self.slots[op.results[0]] = self.slots[op.operands[0]]
            return True
        function = of_target(build.target_of(op)) if op.name == CALL else None
        if function is None:
            return False
        self._call(op, function)
        return True

    def _call(self, op: ir.Operation, function: NativeFunction) -> None:
        slots, made = [], []
        for k, argument in enumerate(function.arguments):
            source = self.slots[op.operands[function.operands.index(k)]] if argument.role != "out" else None
            if argument.role == "in":
                slots.append(source)
                continue
            result = op.results[function.results.index(k)]
            shape, dtype = shape_and_dtype(result.type)
            made.append(Made(self._new(result), tuple(shape), dtype, source))
            slots.append(made[-1].slot)
        self.steps.append(Step(function, slots, made, self.little))   # type: ignore[arg-type]

    def results(self, last: ir.Operation) -> list[tuple[int, tuple[int, ...], np.dtype, bool]]:
        """What the program returns."""
        own = {each.slot for step in self.steps for each in step.made}
        found = []
        for value in last.operands:
            slot, (shape, dtype) = self.slots[value], shape_and_dtype(value.type)
            found.append((slot, tuple(shape), dtype, slot in own))
            own.discard(slot)
        return found

"""Programs that are calls of native functions and nothing else, run without XLA.

XLA's way to a function and back costs some 30 us, copies arguments and results below 1 MiB, and hands the work to
another thread from some size on: `a + b` of 100,000 float64 takes 200 us of the processor through XLA, 40 so, and 35 in
NumPy. A native function reads NumPy's memory where it is, at any alignment, writes into new arrays, and has threads
that sleep between calls.
"""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import attributes as attr
from reactant.ir import modules
from reactant.ir import ops as build
from reactant.ir.laid_out import inverse
from reactant.ir.locations import file_and_line
from reactant.ir.types import shape_and_dtype, size
from reactant.native import built_in, threads
from reactant.native.function import NativeFunction, of_target
from reactant.native.in_place import writing_over
from reactant.support.records import dataclass

CALL = "stablehlo.custom_call"
SAME_BYTES = ("stablehlo.reshape", "stablehlo.bitcast_convert")
CONSTANT, IOTA, RETURN = "stablehlo.constant", "stablehlo.iota", "func.return"
MOST_KEPT = 16 << 20
"""Bytes of a constant that a program holds; with bigger ones it is XLA's."""
MOST_ZEROS = 64
"""Integers of a constant that are looked at, whether all are 0: where arguments begin that XLA lends."""
LEAST_FILLED = 1 << 20
"""Bytes of a result from which it is filled with a number where it is one: us for 0.8 MB, copied from a constant in the
cache / filled, 28 / 34; for 8 MB 670 / 320."""
LEAST_KEPT = 1 << 20
"""Bytes from which arrays come from who keeps memory for them; smaller ones are NumPy's."""


@dataclass(frozen=True)
class Made:
    """An array that a call writes: where it is kept, its shape and dtype, and of which other it begins as a copy."""

    slot: int
    shape: tuple[int, ...]
    dtype: np.dtype
    source: int | None


class Step:
    """One call: `slots` says where the array of each argument of the function is kept, `sizes` how many elements of
    its dtype there are. line: of the program."""

    def __init__(self, function: NativeFunction, slots: Sequence[int], made: Sequence[Made], alone: bool,
                 sizes: Sequence[int], line: tuple[str, int] | None = None) -> None:
        self.function, self.slots, self.made, self.alone = function, tuple(slots), tuple(made), alone
        self.line = line
        self._pool = (0, 1) if alone or not function.threaded else threads.pool()
        self.sizes = tuple(sizes)
        self.record: bytes = b""

    def load(self) -> None:
        """Have the machine code ready."""
        self.record, self._kept = built_in.step(self.function.entry(), self.sizes, *self._pool)

    @property
    def threads(self) -> int:
        """How many may work on it."""
        return self._pool[1]

    def __call__(self, values: list[Any], call: built_in.Caller,
                 empty: Callable[[tuple[int, ...], np.dtype], np.ndarray]) -> None:
        for each in self.made:
            values[each.slot] = made = empty(each.shape, each.dtype)
            if each.source is not None:
                made[...] = seen(values[each.source], each.shape, each.dtype)
        arrays = [values[slot] for slot in self.slots]
        if not self.record:
            self.load()
        if status := call(self.record, *arrays):
            raise self.function.failure(status)


def seen(array: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The same bytes as an array of another shape and dtype; itself where it has these."""
    if array.shape == shape and array.dtype == dtype:
        return array
    flat = array.reshape(-1)
    return (flat if flat.dtype == dtype else flat.view(dtype)).reshape(shape)


def _copy(array: np.ndarray, empty: Callable[[tuple[int, ...], np.dtype], np.ndarray]) -> np.ndarray:
    if array.nbytes < LEAST_FILLED:
        return array.copy()
    made = empty(array.shape, array.dtype)
    if any(array.strides):
        np.copyto(made, array)
    else:
        made.fill(array[(0,) * array.ndim])
    return made


Result = tuple[int, tuple[int, ...], np.dtype, bool]
"""Where it is, its shape and dtype, and whether no one else has that array."""


@dataclass(frozen=True)
class Over:
    """A result that is written where the caller wants it, which may be where an argument lies. argument: its number,
    None for one that the program does not read."""

    result: int
    argument: int | None
    made: Made


class Straight:
    """The calls of a program in order, and its results."""

    def __init__(self, steps: Sequence[Step], kept: Sequence[np.ndarray | None], results: Sequence[Result],
                 call: built_in.Caller,
                 empty: Callable[[tuple[int, ...], np.dtype], np.ndarray] = np.empty, taken: int = 0) -> None:
        self.taken = taken
        """How many arguments there are."""
        self.steps, self._kept, self._results = tuple(steps), list(kept), tuple(results)
        self._call, self._empty = call, empty
        self.given: dict[int, tuple[int, ...]] = {}
        """Arguments that are taken as they lie in memory (`ir.laid_out`): the orders of their dimensions,"""
        self.turned: dict[int, tuple[int, ...]] = {}
        """and those by which results that are given so are seen."""
        self.over: tuple[Over, ...] = ()
        """Results that can be written where arguments lie,"""
        self.steps_over: tuple[Step, ...] = ()
        """and the calls that do so."""
        self.written: frozenset[int] = frozenset()
        """The numbers of `over`,"""
        self.all_over = False
        """Whether all arguments are written over,"""
        self.theirs: frozenset[int] = frozenset()
        """where they are kept,"""
        self.copied: frozenset[int] = frozenset()
        """and of other results that the caller's copy is enough for."""

    def write_over(self, written: dict[int, int | None]) -> None:
        """Make calls that write results where arguments lie, as far as that is right; the machine code of what will be
        called is made. written: numbers of results, and those of the arguments that get them."""
        self.over, self.steps_over = _written_over(self.steps, self._kept, self._results, {
            result: argument for result, argument in written.items()
            if argument is None or self._order(result) == self.given.get(argument)})
        self.written = frozenset(each.result for each in self.over)
        self.theirs = frozenset(each.made.slot for each in self.over)
        self.all_over = {each.argument for each in self.over} >= set(range(self.taken))
        slots = {slot for slot, *_ in self._results}
        self._kept_before = [each.argument for each in self.over if each.argument in slots]
        self.copied = frozenset(result for result in written if self._results[result][0] not in written.values())
        for step in self.steps_over if self.over else self.steps:
            step.load()

    def _order(self, result: int) -> tuple[int, ...] | None:
        """The order of a result's dimensions in memory, if not by rows."""
        return inverse(self.turned[result]) if result in self.turned else None

    def places(self, arguments: Sequence[Any], wanted: Mapping[int, np.ndarray]) -> list[np.ndarray] | None:
        """The memory in which results can be written, for each `over`; None where that cannot be in this call.

        arguments: as the caller has them. wanted: where results shall be, by their numbers; each is an argument as
        `write_over` was told, or overlaps none."""
        found = []
        for each in self.over:
            place: Any = wanted.get(each.result)
            if type(place) is not np.ndarray or each.argument is not None and arguments[each.argument] is not place:
                return None
            if self.turned and each.result in self.turned:
                place = place.transpose(self._order(each.result))
            _, shape, dtype, _ = self._results[each.result]
            if not place.flags.carray or place.shape != shape or place.dtype != dtype:
                return None
            made = each.made
            found.append(place if place.shape == made.shape and place.dtype == made.dtype
                         else seen(place, made.shape, made.dtype))
        return found or None

    def __call__(self, arguments: Sequence[np.ndarray], places: list[np.ndarray] | None = None,
                 copied: Collection[int] = ()) -> list[np.ndarray]:
        """Run on C-contiguous arrays of the program's shapes and dtypes, which are only read; gives new arrays.

        places: what `places` said: results that are written there are there. copied: results that the caller only
        reads, before anything else happens.
        Calls from several threads are safe. Raises `NativeError` where a check in native code fails, before anything is
        written over.
        """
        if not places and not copied:
            return self.written_out(arguments)
        values: list[Any] = self._kept.copy()
        values[:len(arguments)] = arguments
        call, empty = self._call, self._empty
        if not places:
            for step in self.steps:
                step(values, call, empty)
            found = [self._found(values[slot], alone or number in copied, shape, dtype)
                     for number, (slot, shape, dtype, alone) in enumerate(self._results)]
        else:
            before = {slot: _copy(values[slot], self._empty) for slot in self._kept_before}
            for each, place in zip(self.over, places, strict=True):
                values[each.made.slot] = place
            for step in self.steps_over:
                step(values, call, empty)
            theirs = self.theirs
            found = [values[slot] if number in self.written else self._found(
                before.get(slot, values[slot]), number in copied or alone and slot not in theirs, shape, dtype)
                for number, (slot, shape, dtype, alone) in enumerate(self._results)]
        for number, order in self.turned.items():
            if not places or number not in self.written:
                found[number] = found[number].transpose(order)
        return found

    @cached_property
    def written_out(self) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
        """The program as one function of Python's, where no result is written over an argument; its machine code is
        made."""
        return self._as_function(self.steps, {})

    def written_over(self, wanted: Mapping[int, int]) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]] | None:
        """The same where results are written over arguments, as `wanted` says by their numbers, and no other result is;
        None where that is not what `over` says, or they would be seen otherwise."""
        over = {each.result: each.argument for each in self.over}
        if over != wanted or self.given or self.turned or any((each.made.shape, each.made.dtype) != self._results[
                each.result][1:3] for each in self.over):
            return None
        return self._as_function(self.steps_over, {each.made.slot: each for each in self.over})

    def _as_function(self, steps: Sequence[Step], over: Mapping[int, Over]
                     ) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]]:
        known: dict[str, Any] = {"empty": self._empty, "small": np.empty, "seen": seen, "copy": _copy,
                                 "call": self._call}
        lines = ["def run(arguments):"]
        made: dict[int, Made] = {}

        def named(value: Any) -> str:
            known[f"k{len(known)}"] = value
            return f"k{len(known) - 1}"

        def as_seen(slot: int, shape: tuple[int, ...], dtype: np.dtype) -> str:
            is_so = slot in made and (made[slot].shape, made[slot].dtype) == (shape, dtype)
            return f"v{slot}" if is_so else f"seen(v{slot}, {named(shape)}, {named(dtype)})"

        if self.taken:
            lines.append("".join(f"v{slot}, " for slot in range(self.taken)) + "= arguments")
        known |= {f"v{slot}": kept for slot, kept in enumerate(self._kept) if kept is not None}
        before = self._kept_before if over else []
        lines += [f"b{slot} = copy(v{slot}, empty)" for slot in before]
        lines += [f"v{slot} = v{each.argument}" for slot, each in over.items()]
        made |= {slot: each.made for slot, each in over.items()}
        for step in steps:
            for each in step.made:
                little = np.prod(each.shape, dtype=float) * each.dtype.itemsize < LEAST_KEPT
                lines.append(f"v{each.slot} = {'small' if little else 'empty'}({named(each.shape)}, "
                             f"{named(each.dtype)})")
                if each.source is not None:
                    lines.append(f"v{each.slot}[...] = {as_seen(each.source, each.shape, each.dtype)}")
                made[each.slot] = each
            if not step.record:
                step.load()
            arrays = "".join(f", v{slot}" for slot in step.slots)
            lines.append(f"if status := call({named(step.record)}{arrays}): "
                         f"raise {named(step.function.failure)}(status)")
            known[f"kept{len(known)}"] = step
        found = []
        for number, (slot, shape, dtype, alone) in enumerate(self._results):
            if alone and slot not in over or over and number in self.written:
                value = as_seen(slot, shape, dtype)
            else:
                value = f"copy({'b' if slot in before else 'v'}{slot}, empty)"
                value = f"seen({value}, {named(shape)}, {named(dtype)})"
            found.append(f"{value}.transpose({named(self.turned[number])})" if number in self.turned else value)
        lines.append(f"return [{', '.join(found)}]")
        exec("\n    ".join(lines), known)
        run: Callable[[Sequence[np.ndarray]], list[np.ndarray]] = known.pop("run")      # its globals hold it no longer
        return run

    def _found(self, value: np.ndarray, alone: bool, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """A result of what is kept."""
        return seen(value if alone else _copy(value, self._empty), shape, dtype)

    def as_they_lie(self, arguments: Sequence[Any]) -> list[Any]:
        """The arguments, those in `given` seen by rows."""
        return [a.transpose(self.given[k]) if k in self.given and type(a) is np.ndarray and a.ndim == len(self.given[k])
                else a for k, a in enumerate(arguments)]


def _written_over(steps: Sequence[Step], kept: Sequence[np.ndarray | None], results: Sequence[Result],
                  written: dict[int, int | None]) -> tuple[tuple[Over, ...], tuple[Step, ...]]:
    """Which results can be written where arguments lie, and the calls that do so.

    Nobody may read the argument after the call that makes the result, and that call only before it writes there. After
    anything is written no check may fail.
    """
    found: list[Over] = []
    calls = list(steps)
    for number in reversed(range(len(steps))):
        step = steps[number]
        if len(step.function.messages) > (step.function.workspace > 0):
            break
        asked: dict[int, tuple[int, ...]] = {}
        chosen: dict[int, Over] = {}
        for result, argument in written.items():
            made = next((m for m in step.made if m.slot == results[result][0]), None)
            if made is None or any(made is each.made for each in chosen.values()) or argument is not None and any(
                    _touches(later, argument) for later in steps[number + 1:]):
                continue
            if made.source not in (None, argument) and argument is not None and _touches(step, argument):
                continue
            target = step.slots.index(made.slot)
            asked[target] = tuple(k for k, slot in enumerate(step.slots) if slot == argument)
            chosen[target] = Over(result, argument, made)
        if chosen:
            zeros = frozenset(k for k, slot in enumerate(step.slots) if (array := kept[slot]) is not None
                              and array.dtype.kind == "i" and array.size <= MOST_ZEROS and not array.any())
            function, fine = writing_over(step.function, asked, zeros)
            over = [chosen[target] for target in fine]
            if over:
                calls[number] = Step(function, step.slots, [m for m in step.made if all(
                    m is not each.made for each in over)], step.alone, step.sizes, step.line)
                found += over
        if step.function.messages:
            break
    return tuple(found), tuple(calls)


def _touches(step: Step, slot: int) -> bool:
    """Whether a call reads what is kept there."""
    return slot in step.slots or any(made.source == slot for made in step.made)


def straight(module: ir.Module, little: bool = False,
             empty: Callable[[tuple[int, ...], np.dtype], np.ndarray] = np.empty) -> Straight | None:
    """The calls of a module whose `@main` is native calls, reshapes and constants, if any; None for others.

    little: whether there is so little to do that several threads would not be faster. empty: makes arrays.
    """
    reader = _Reader(little)
    *ops, last = [op.operation for op in reader.begin(modules.function(module).regions[0].blocks[0])]
    if not all(map(reader.read, ops)) or (call := built_in.caller()) is None:
        return None
    return Straight(reader.steps, reader.kept, reader.results(last), call, empty, reader.taken)


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
        self.taken = 0

    def begin(self, block: ir.Block) -> ir.OperationList:
        for argument in block.arguments:
            self._new(argument)
        self.taken = len(block.arguments)
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
            if value is not None and not any(value.strides) and value.dtype == dtype \
                    and size(shape) * dtype.itemsize >= LEAST_FILLED and all(
                        use.owner.operation.name == RETURN for use in op.results[0].uses):
                one = np.array(value[(slice(1),) * value.ndim])
                self._new(op.results[0], np.broadcast_to(one, shape))
                return True
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
        slots, made, sizes = [], [], []
        for k, argument in enumerate(function.arguments):
            value = op.results[function.results.index(k)] if argument.role == "out" else op.operands[
                function.operands.index(k)]
            shape, dtype = shape_and_dtype(value.type)
            sizes.append(size(shape) * dtype.itemsize // argument.dtype.itemsize)
            source = self.slots[op.operands[function.operands.index(k)]] if argument.role != "out" else None
            if argument.role == "in":
                slots.append(source)
                continue
            result = op.results[function.results.index(k)]
            shape, dtype = shape_and_dtype(result.type)
            made.append(Made(self._new(result), tuple(shape), dtype, source))
            slots.append(made[-1].slot)
        line = file_and_line(op.location)
        self.steps.append(Step(function, slots, made, self.little, sizes, line))   # type: ignore[arg-type]

    def results(self, last: ir.Operation) -> list[tuple[int, tuple[int, ...], np.dtype, bool]]:
        """What the program returns."""
        own = {each.slot for step in self.steps for each in step.made}
        found = []
        for value in last.operands:
            slot, (shape, dtype) = self.slots[value], shape_and_dtype(value.type)
            found.append((slot, tuple(shape), dtype, slot in own))
            own.discard(slot)
        return found

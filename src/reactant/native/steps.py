"""Calls of native code in the order in which a program makes them: what `native.straight` finds in a module."""
from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from reactant.ir.laid_out import inverse
from reactant.native import built_in, threads
from reactant.support.records import dataclass

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

    def __init__(self, function: Any, slots: Sequence[int], made: Sequence[Made], alone: bool,
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
        self.steps, self.kept, self.results = tuple(steps), list(kept), tuple(results)
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
        self.wanted: dict[int, int | None] = {}
        """What `write_over` was told."""

    def write_over(self, over: Sequence[Over], steps_over: Sequence[Step], written: Mapping[int, int | None]) -> None:
        """Take calls that write results where arguments lie; the machine code of what will be called is made. written:
        numbers of results, and those of the arguments that get them."""
        self.over, self.steps_over = tuple(over), tuple(steps_over)
        self.wanted = dict(written)
        self.written = frozenset(each.result for each in self.over)
        self.theirs = frozenset(each.made.slot for each in self.over)
        self.all_over = {each.argument for each in self.over} >= set(range(self.taken))
        slots = {slot for slot, *_ in self.results}
        self._kept_before = [each.argument for each in self.over if each.argument in slots]
        self.copied = frozenset(result for result in written if self.results[result][0] not in written.values())
        for step in self.steps_over if self.over else self.steps:
            step.load()

    def order(self, result: int) -> tuple[int, ...] | None:
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
                place = place.transpose(self.order(each.result))
            _, shape, dtype, _ = self.results[each.result]
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
        values: list[Any] = self.kept.copy()
        values[:len(arguments)] = arguments
        call, empty = self._call, self._empty
        if not places:
            for step in self.steps:
                step(values, call, empty)
            found = [self._found(values[slot], alone or number in copied, shape, dtype)
                     for number, (slot, shape, dtype, alone) in enumerate(self.results)]
        else:
            before = {slot: _copy(values[slot], self._empty) for slot in self._kept_before}
            for each, place in zip(self.over, places, strict=True):
                values[each.made.slot] = place
            for step in self.steps_over:
                step(values, call, empty)
            theirs = self.theirs
            found = [values[slot] if number in self.written else self._found(
                before.get(slot, values[slot]), number in copied or alone and slot not in theirs, shape, dtype)
                for number, (slot, shape, dtype, alone) in enumerate(self.results)]
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
        if over != wanted or self.given or self.turned or any((each.made.shape, each.made.dtype) != self.results[
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
        known |= {f"v{slot}": kept for slot, kept in enumerate(self.kept) if kept is not None}
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
        for number, (slot, shape, dtype, alone) in enumerate(self.results):
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

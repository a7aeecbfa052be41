"""Which compiled form of a module runs a call: the one whose alignments are those of the caller's arrays.

A borrowed argument is best sliced at an offset known to the compiler: a five-point stencil of 4000x4000 f64 takes
9.0 ms so and 10.6 with the offset in a register. Arrays come at few alignments (NumPy's big arrays 16 bytes past a
multiple of 64, our own results at one), so the first call compiles for its own. A call at other alignments copies what
does not fit, until the copies have cost a part of what compiling would have: then their alignment gets its own form or,
when there are many of them, one form that takes any.
"""
from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Sequence

from reactant.runtime.program import AT_RUN_TIME, Array, Program, Variant

Offsets = tuple[int | None, ...]
"""Per big argument: elements past a multiple of 64 bytes, or None for memory no view can be made of."""

COPY_RATE = 5e9
"""Bytes a second that copying an argument is taken to run at: 14e9 where memory has been used before, 1e9 to new
pages."""
PATIENCE = 0.25
"""How much of the time that compiling took goes to copies before another form is compiled: whose arrays come at other
alignments once has them at many. An integer program of 2 x 18 MB: 3.5 ms a call with copies, 1.2 without."""
STEADY = 4
"""Calls at one and the same other alignment that get a form of their own; after fewer, one that takes any does. That is
as fast for all but stencils (sums of rows 1.0, five-point stencils 1.2 to 1.3 of the time), and the last one needed."""


class Forms:
    """The forms compiled so far of one module, and the choice among them. Safe to use from several threads.

    big: indices of the big arguments; sliceable: those of them that can be borrowed; make: compiles a variant.
    """

    def __init__(self, inputs: Sequence[Array], big: Sequence[int], sliceable: Sequence[int],
                 recycled: tuple[int, ...], make: Callable[[Variant], Program]) -> None:
        self._sizes = [inputs[index].nbytes for index in big]
        self._inputs = inputs
        self._big = big
        self._may_slice = [index in sliceable for index in big]
        self._recycled = recycled
        self._make = make
        self._fixed: dict[tuple[int, ...], Program] = {}
        self._any: Program | None = None
        self._regret: collections.Counter[tuple[int, ...]] = collections.Counter()
        self._misses: collections.Counter[tuple[int, ...]] = collections.Counter()
        self._lock = threading.Lock()

    @property
    def programs(self) -> list[Program]:
        """Everything compiled so far, the first form first."""
        return [*self._fixed.values(), *([self._any] if self._any else [])]

    def expected(self) -> Offsets:
        """The alignment of fresh big NumPy arrays, which `malloc` maps with a header of 16 bytes."""
        return tuple(16 // self._inputs[index].dtype.itemsize for index in self._big)

    def choose(self, offsets: Offsets) -> tuple[Program, tuple[int, ...]]:
        """The program to run for arguments at `offsets`, and the offset it wants each at (`AT_RUN_TIME`: any)."""
        wanted = tuple((offset or 0) if may else 0 for offset, may in zip(offsets, self._may_slice, strict=True))
        found = self._fixed.get(wanted)
        if found is not None:
            return found, wanted
        with self._lock:
            return self._choose(wanted, offsets)

    def _choose(self, wanted: tuple[int, ...], offsets: Offsets) -> tuple[Program, tuple[int, ...]]:
        if not self._fixed or wanted in self._fixed:
            return self._compile(wanted), wanted
        if self._any is not None:
            return self._any, tuple(AT_RUN_TIME if may else 0 for may in self._may_slice)
        copied = {form: sum(size for size, want, have in zip(self._sizes, form, offsets, strict=True) if want != have)
                  for form in self._fixed}
        cheapest = min(copied, key=copied.__getitem__)
        needed = copied[cheapest] - sum(size for size, want, have in zip(self._sizes, wanted, offsets, strict=True)
                                        if want != have)
        self._regret[wanted] += needed
        self._misses[wanted] += 1
        if self._regret.total() / COPY_RATE <= PATIENCE * self._fixed[cheapest].seconds:
            return self._fixed[cheapest], cheapest
        many = len(self._misses) > 1 or self._misses[wanted] < STEADY
        self._regret.clear()
        if not many:
            return self._compile(wanted), wanted
        at_any = tuple(AT_RUN_TIME if may else 0 for may in self._may_slice)
        self._any = self._make(self._variant(at_any))
        return self._any, at_any

    def _compile(self, wanted: tuple[int, ...]) -> Program:
        if wanted not in self._fixed:
            self._fixed[wanted] = self._make(self._variant(wanted))
        return self._fixed[wanted]

    def _variant(self, at: tuple[int, ...]) -> Variant:
        return Variant(tuple((index, offset) for index, offset in zip(self._big, at, strict=True) if offset),
                       self._recycled)

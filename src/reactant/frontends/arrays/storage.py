"""Mutable storage and composed views.

A `Storage` is the memory of one NumPy base array: it holds the SSA value of the current content. A view is a storage
and a chain of *steps* (`view_steps`): each says how to read the view's value from its parent's, and how to write it
back. So a write through any chain of views is seen through every other one, as in NumPy. What the chains emit (slices,
updates, transposes, reshapes) is collapsed by `simplify/`.

Writes to places that are known while tracing are *held* with the storage until somebody has to see them: one that
another write covers in time never becomes an operation, and what is read where it was written is the value written.

Small arrays made from known numbers stay *concrete* (`Storage.data` is an ndarray and steps act on it as NumPy views)
until something traced is written into them, so that `int(np.arange(3)[1])` is a Python number while tracing.
"""
from __future__ import annotations

import weakref
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import LeakError, Reason
from reactant.frontends.arrays.view_steps import ReshapeStep, SliceStep, Step, TransposeStep
from reactant.frontends.session.trace import Region, current_trace
from reactant.ir import ops
from reactant.ir.types import Shape, shape_of, size

CONCRETE_ELEMENTS = 256
"""Arrays made from known numbers with at most this many elements stay concrete while tracing."""

KNOWN_VIEWS = 16
"""So many views of a storage are remembered with their values."""

MOST_HELD = 64
"""So many writes are held: a new one is compared with each."""


LEAST_ROW = 64
"""Rows of so many elements, side by side in an array, are written together."""


class HeldWrite(NamedTuple):
    """What a view was written as: its first step is a slice, the others keep every element of it."""

    steps: tuple[Step, ...]
    value: ir.Value
    location: ir.Location

    def piece(self) -> ir.Value:
        """The value as the slice sees it."""
        value = self.value
        for number in range(len(self.steps) - 1, 0, -1):
            value = self.steps[number].write(None, value, self.steps[number - 1].shape)
        return value


class Storage:
    """The memory of a base array. Exactly one of `data` (concrete) and `value` (traced) is set."""

    __slots__ = ("__weakref__", "argument", "captured", "constant", "data", "dtype", "held", "joined", "layout",
                 "region", "settled", "shape", "views", "writes")

    is_base = True
    """Whether the content changes by writes to this storage alone; not where it stands for others."""

    def __init__(self, shape: Shape, dtype: np.dtype, value: ir.Value | None = None, data: np.ndarray | None = None, *,
                 argument: int | None = None, constant: bool | Reason = False):
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.settled, self.data = value, data
        self.held: dict[SliceStep, HeldWrite] = {}
        """Writes that `settled` lacks. No two share an element; all were made in `region`, which is the current one."""
        self.argument = argument      # position among main's arguments, for write-back
        self.constant = constant      # made outside the trace: writing raises; or the reason that it raises
        self.writes = [0]             # how many, for those as well who know it no longer
        self.captured: tuple[int, ir.Value] | None = None     # what known content was last read as
        self.joined = False           # stands for memories that were made in branches or a loop
        self.layout: Shape | None = None     # element strides where the base array is not row-major
        trace = current_trace()
        self.region: Region = trace.region
        if trace.watch is not None:
            trace.watch.made.add(self)
        self.views: tuple[int, dict[tuple[Step, ...], tuple[Region, ir.Value]]] = (0, {})

    def ag__leads(self) -> tuple[object, ...]:
        """Other storages, and arrays, that it refers to (`session.heap`)."""
        return ()

    @property
    def version(self) -> int:
        """Another one after each write."""
        return self.writes[0]

    @version.setter
    def version(self, number: int) -> None:
        self.writes[0] = number

    @property
    def value(self) -> ir.Value | None:
        """The current content, where it is traced."""
        if self.held:
            self.settle()
        return self.settled

    def read(self) -> ir.Value:
        """The current content as a value usable here."""
        if self.region.closed:
            raise LeakError()
        if self.data is None:
            return self.value
        if self.captured is None or self.captured[0] != self.version:
            self.captured = self.version, current_trace().capture(self.data.copy())
        return self.captured[1]

    def write(self, value: ir.Value) -> None:
        """Replace the content; remembers the state an enclosing region must restore."""
        region = current_trace().region
        if self.region.closed:
            raise LeakError()
        if self.region is not region:
            walk: Region | None = region
            while walk is not self.region and walk is not None:
                walk.saved.setdefault(self, (self.value, self.data, self.region, self.version))
                walk = walk.parent
        self.about_to_change()
        if self.held:
            self.held = {}
        self.settled, self.data, self.region = value, None, region
        self.version += 1

    def about_to_change(self) -> None:
        """Who watches keeps the content."""
        watch = current_trace().watch
        if watch is not None and self.is_base and self not in watch.made and self not in watch.contents:
            watch.contents[self] = self.read()

    def writable_in_place(self) -> bool:
        """Whether a concrete write may act on `data`: only in the region that made the storage."""
        trace = current_trace()
        return self.data is not None and self.region is trace.region and (
            trace.watch is None or self in trace.watch.made)

    def restore(self, state: tuple) -> None:
        """Back to the state saved on entry to a region; the version moves on so that cached reads are dropped."""
        self.held = {}
        self.settled, self.data, self.region, _ = state
        self.version += 1

    # Writes that wait.

    def hold(self, steps: tuple[SliceStep, *tuple[Step, ...]], value: ir.Value) -> None:
        """Write through a view that begins with a slice and keeps all elements of it; nothing is built before somebody
        reads more than that slice or the region ends."""
        step = steps[0]
        if step.shape == self.shape:
            self.write(step.write(None, HeldWrite(steps, value, ir.Location.current).piece(), self.shape))
            return
        if not self.held:
            self.write(self.read())
            self.region.holders.append(weakref.ref(self))
        else:
            self.about_to_change()
            self.version += 1
            if self.held.pop(step, None) is None:
                self.make_room(step)
        self.held[step] = HeldWrite(steps, value, ir.Location.current)

    def make_room(self, step: SliceStep) -> None:
        """Drop the held writes that one to `step` covers; where it covers part of one, carry all of them out."""
        met = [other for other in self.held if not step.is_apart(other)]
        if len(self.held) - len(met) >= MOST_HELD or not all([step.covers(other) for other in met]):
            self.settle()
        else:
            for other in met:
                del self.held[other]

    def settle(self) -> None:
        """Carry out the writes that are held, where the region is now."""
        held, self.held = self.held, {}
        with ir.InsertionPoint(self.region.block):
            for run in _runs(held, self.shape):
                with held[run[-1]].location:
                    self.settled = _written(self.settled, run, [held[step].piece() for step in run], self.shape)

    def read_at(self, step: Step) -> ir.Value:
        """The content as far as `step` looks at it."""
        if self.held and all([step.is_apart(other) for other in self.held]):
            return self.settled
        return self.read()

    # What views of the current content are known to be.

    def seen_through(self, steps: tuple[Step, ...]) -> ir.Value | None:
        """The value of the view, where it was read or written since the last change that may concern it."""
        if self.held and (write := self.held.get(steps[0])) is not None:  # type: ignore[call-overload]  # other steps are no keys
            return write.value if write.steps == steps else write.piece() if len(steps) == 1 else None
        version, views = self.views
        found = views.get(steps) if version == self.version else None
        return found[1] if found is not None and found[0].encloses(current_trace().region) else None

    def note_view(self, steps: tuple[Step, ...], value: ir.Value) -> None:
        if self.views[0] != self.version:
            self.views = (self.version, {})
        if self.is_base:
            views = self.views[1]
            if len(views) >= KNOWN_VIEWS:
                del views[next(iter(views))]
            views[steps] = (current_trace().region, value)

    def note_write(self, steps: tuple[Step, ...], value: ir.Value) -> None:
        """`value` was written through a view just now: that is its content, and views apart from it keep theirs."""
        version, views = self.views
        apart = {s: v for s, v in views.items() if steps[0].is_apart(s[0])} if version == self.version - 1 else {}
        self.views = (self.version, apart)
        if all(isinstance(step, SliceStep | TransposeStep | ReshapeStep) for step in steps):
            self.note_view(steps, value)


def _runs(held: dict[SliceStep, HeldWrite], shape: Shape) -> list[list[SliceStep]]:
    """Held slices in groups that lie side by side in one dimension: all of the array, or long rows of it."""
    alone = [[step] for step in held]
    split = _partial(next(iter(held)), shape)
    if len(alone) == 1 or len(split) != 1 or any([_partial(step, shape) != split or {*step.steps} != {1}
                                                  for step in held]):
        return alone
    d, end = split[0], None
    runs: list[list[SliceStep]] = []
    for step in sorted(held, key=lambda step: step.starts[d]):
        if step.starts[d] == end:
            runs[-1].append(step)
        else:
            runs.append([step])
        end = step.starts[d] + step.shape[d]
    whole = sum([step.shape[d] for step in held]) == shape[d]
    return runs if whole or (size(shape[:d]) == 1 and size(shape[d + 1:]) >= LEAST_ROW) else alone


def _partial(step: SliceStep, whole: Shape) -> list[int]:
    """The dimensions of which a slice shows a part."""
    return [d for d, n in enumerate(whole) if step.shape[d] != n]


def _written(content: ir.Value, run: list[SliceStep], pieces: list[ir.Value], whole: Shape) -> ir.Value:
    """The content with pieces written to slices that lie side by side."""
    if len(run) == 1:
        return run[0].write(content, pieces[0], whole)
    joined = ops.concatenate(pieces, _partial(run[0], whole)[0])
    return SliceStep(run[0].starts, shape_of(joined), run[0].steps).write(content, joined, whole)

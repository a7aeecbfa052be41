"""Mutable storage and composed views.

A `Storage` is the memory of one NumPy base array: it holds the SSA value of the current content. A view is a storage
and a chain of *steps*; each step says how to read the view's value from its parent's and how to write it back. So a
write through any chain of views is seen through every other one, as in NumPy. What the chains emit (slices, updates,
transposes, reshapes) is collapsed by `simplify/`.

Writes to places that are known while tracing are *held* with the storage until somebody has to see them: one that
another write covers in time never becomes an operation, and what is read where it was written is the value written.

Small arrays made from known numbers stay *concrete* (`Storage.data` is an ndarray and steps act on it as NumPy views)
until something traced is written into them, so that `int(np.arange(3)[1])` is a Python number while tracing.
"""
from __future__ import annotations

import weakref
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.errors import LeakError, Reason
from reactant.frontends.session.trace import Region, current_trace
from reactant.ir import ops
from reactant.ir.types import Shape, dtype_of, shape_of, size
from reactant.support.records import dataclass

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


# ---- view steps ------------------------------------------------------------------------------------------------

class Step:
    """One link of a view chain. `shape` is the view's shape; `writable` is false where NumPy's view is read-only."""

    shape: Shape
    writable = True
    keeps = True
    """Whether a write leaves elements of the parent as they are; else it does without the parent's value."""
    numpy_has_it = True
    """Whether it is a view that NumPy has of a known array, too."""

    def read(self, parent: ir.Value) -> ir.Value:
        raise NotImplementedError

    def write(self, parent: ir.Value, new: ir.Value, whole: Shape) -> ir.Value:
        """The parent, of shape `whole`, with this view's elements replaced by `new`."""
        raise NotImplementedError

    def is_apart(self, other: Step) -> bool:
        """Whether the two views of one parent surely share no element."""
        return False

    def undoes(self, last: Step, whole: Shape) -> bool:
        """Whether it shows all of `last` as that step's parent, of shape `whole`, has it."""
        return False

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        """The same view of a concrete array."""
        raise NotImplementedError

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        """Element strides of the view, given those of the parent (decides later what is a view and what is a copy)."""
        raise NotImplementedError


@dataclass(frozen=True)
class SliceStep(Step):
    """Basic slicing with known bounds: per dimension the first index, the count and the (possibly negative) step."""

    starts: Shape
    shape: Shape
    steps: Shape

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Steps are looked up by very often."""
        return hash((self.starts, self.shape, self.steps))

    @cached_property
    def bounds(self) -> tuple[Shape, Shape, Shape, tuple[int, ...]]:
        """Low and high ends, positive strides, and the dimensions to be reversed."""
        low, high, stride, flipped = [], [], [], []
        for d, (a, n, s) in enumerate(zip(self.starts, self.shape, self.steps, strict=True)):
            first, last = (a, a + (n - 1) * s) if s > 0 else (a + (n - 1) * s, a)
            if n == 0:
                first = last = 0
            elif s < 0 and n > 1:
                flipped.append(d)
            low.append(first)
            high.append(last + 1 if n else 0)
            stride.append(abs(s) if n > 1 else 1)
        return tuple(low), tuple(high), tuple(stride), tuple(flipped)

    def is_apart(self, other: Step) -> bool:
        if type(other) is not SliceStep:
            return False
        for low, high, start, end in zip(*self.bounds[:2], *other.bounds[:2], strict=True):
            if high <= start or end <= low:
                return True
        return False

    def undoes(self, last: Step, whole: Shape) -> bool:
        return type(last) is SliceStep and self.shape == whole and self.bounds[3] == last.bounds[3]

    def covers(self, other: SliceStep) -> bool:
        """Whether a write to this view replaces all of the other one. (Views with gaps only cover themselves.)"""
        low, high, stride, _ = self.bounds
        return max(stride, default=1) == 1 and all(
            a <= b and d <= c for a, c, b, d in zip(low, high, *other.bounds[:2], strict=True))

    def read(self, parent: ir.Value) -> ir.Value:
        low, high, stride, flipped = self.bounds
        found = ops.slice(parent, low, high, stride)
        return ops.reverse(found, flipped) if flipped else found

    def write(self, parent: ir.Value, new: ir.Value, whole: Shape) -> ir.Value:
        if 0 in self.shape:
            return parent
        low, high, stride, flipped = self.bounds
        new = ops.reverse(new, flipped) if flipped else new
        if self.shape == whole:
            return new
        return _interleaved(parent, new, low, stride)

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        key = []
        for a, n, s in zip(self.starts, self.shape, self.steps, strict=True):
            stop = a + n * s
            key.append(slice(0, 0) if n == 0 else slice(a, None if stop < 0 else stop, s))
        return parent[(*key, ...)]

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        return tuple(a * s for a, s in zip(strides, self.steps, strict=True))


def _interleaved(parent: ir.Value, new: ir.Value, low: Shape, stride: Shape) -> ir.Value:
    """The parent with `new` at every `stride`th place from `low` on.

    A dimension with gaps is seen as rows of `stride` elements, of which one column is written: no mask is as large as
    the array. Where the last row would leave the parent, its element is written alone.
    """
    whole, shape = shape_of(parent), shape_of(new)
    for d, (n, a, count, s) in enumerate(zip(whole, low, shape, stride, strict=True)):
        if s > 1 and n < count * s:
            ends = [list(shape), [0] * len(shape)]
            ends[0][d], ends[1][d] = count - 1, count - 1
            rest = tuple(count - 1 if k == d else 0 for k in range(len(shape)))
            first = ops.slice(new, (0,) * len(shape), ends[0])
            last = ops.slice(new, rest, shape)
            at = tuple(a + (count - 1) * s if k == d else b for k, b in enumerate(low))
            single = tuple(1 if k == d else b for k, b in enumerate(stride))
            parent = _interleaved(parent, first, low, stride if count > 2 else single)
            return _interleaved(parent, last, at, single)
    if max(stride) == 1:
        return _updated(parent, new, low)
    start, columns, rows, narrow = [], [], [], []
    for n, a, count, s in zip(whole, low, shape, stride, strict=True):
        if s == 1:
            start.append(a)
            columns.append(0)
            rows.append(count)
            narrow.append(count)
            continue
        column = a % s if n % s == 0 and count * s == n else max(0, a + count * s - n)
        start.append(a - column)
        columns += [0, column]
        rows += [count, s]
        narrow += [count, 1]
    extent = tuple(count * s for count, s in zip(shape, stride, strict=True))
    end = [a + n for a, n in zip(start, extent, strict=True)]
    region = parent if extent == whole else ops.slice(parent, start, end)
    written = _updated(ops.reshape(region, rows), ops.reshape(new, narrow), columns)
    return _updated(parent, ops.reshape(written, extent), start)


def _updated(parent: ir.Value, new: ir.Value, low: Iterable[int]) -> ir.Value:
    """The parent with a window written."""
    if shape_of(new) == shape_of(parent):
        return new
    starts = {a: ops.constant(a, np.int64) for a in low}
    return ops.dynamic_update_slice(parent, new, [starts[a] for a in low])


@dataclass(frozen=True)
class DynamicSliceStep(Step):
    """A window whose start is known at run time. `starts` are Values (0-d int64, in bounds) or ints."""

    starts: tuple[object, ...]
    shape: Shape
    numpy_has_it = False

    def _starts(self) -> list[ir.Value]:
        return [ops.constant(s, np.int64) if isinstance(s, int) else s for s in self.starts]

    def read(self, parent: ir.Value) -> ir.Value:
        return ops.dynamic_slice(parent, self._starts(), self.shape)

    def write(self, parent: ir.Value, new: ir.Value, whole: Shape) -> ir.Value:
        return ops.dynamic_update_slice(parent, new, self._starts())

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        return strides


@dataclass(frozen=True)
class TransposeStep(Step):
    """A permutation of dimensions."""

    permutation: Shape
    shape: Shape
    keeps = False

    def read(self, parent: ir.Value) -> ir.Value:
        return ops.transpose(parent, self.permutation)

    def undoes(self, last: Step, whole: Shape) -> bool:
        return type(last) is TransposeStep and all(last.permutation[p] == d for d, p in enumerate(self.permutation))

    def write(self, parent: ir.Value | None, new: ir.Value, whole: Shape) -> ir.Value:
        return ops.transpose(new, tuple(int(i) for i in np.argsort(self.permutation)))

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        return parent.transpose(self.permutation)

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        return tuple(strides[p] for p in self.permutation)


@dataclass(frozen=True)
class ReshapeStep(Step):
    """Another shape over the same elements in row-major order (newaxis, ravel, dropped unit dimensions, reshape)."""

    shape: Shape
    new_strides: Shape
    keeps = False

    def undoes(self, last: Step, whole: Shape) -> bool:
        return type(self) is type(last) is ReshapeStep and self.shape == whole

    def read(self, parent: ir.Value) -> ir.Value:
        return _reshaped(parent, self.shape)

    def write(self, parent: ir.Value | None, new: ir.Value, whole: Shape) -> ir.Value:
        return _reshaped(new, whole)

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        return parent.reshape(self.shape, copy=False) if isinstance(parent, np.ndarray) else parent.reshape(self.shape)

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        return self.new_strides


def _reshaped(value: ir.Value, shape: Shape) -> ir.Value:
    """`ops.reshape`; what `value` is a reshape of, where that has the shape: rows are read and written as they lie."""
    made = value.owner
    if type(made) is stablehlo.ReshapeOp and shape_of(before := made.operands[0]) == shape:
        return before
    return ops.reshape(value, shape)


@dataclass(frozen=True)
class GatheredStep(ReshapeStep):
    """A shape over elements that lie in any order in memory: to read and write through, where NumPy would copy."""

    numpy_has_it = False


@dataclass(frozen=True)
class BroadcastStep(Step):
    """`np.broadcast_to`: read-only, as NumPy's."""

    shape: Shape
    dimensions: Shape
    writable = False

    def read(self, parent: ir.Value) -> ir.Value:
        return broadcast(parent, self.shape)

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        return np.broadcast_to(parent, self.shape)

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        lead = len(self.shape) - len(parent)
        kept = tuple(s if n == m else 0 for s, n, m in zip(strides, parent, self.shape[lead:], strict=True))
        return (0,) * lead + kept


@dataclass(frozen=True)
class DiagonalStep(Step):
    """The diagonal `offset` of the last two dimensions, as a new last dimension. NumPy's own is read-only;
    `writeable` ones come from `fill_diagonal` and `einsum('ii->i')`."""

    offset: int
    shape: Shape
    writable: bool = False

    def _index(self) -> ir.Value:
        n = self.shape[-1]
        row, column = (0, self.offset) if self.offset >= 0 else (-self.offset, 0)
        return ops.constant(np.stack([np.arange(n) + row, np.arange(n) + column], axis=1).reshape(n, 2))

    def read(self, parent: ir.Value) -> ir.Value:
        lead = shape_of(parent)[:-2]
        rank = len(lead)
        if 0 in shape_of(parent) or 0 in self.shape:
            return ops.constant(0, dtype_of(parent), self.shape)
        return ops.gather(parent, self._index(), offset_dims=range(rank), collapsed_slice_dims=[rank, rank + 1],
                          start_index_map=[rank, rank + 1], index_vector_dim=1, slice_sizes=[*lead, 1, 1],
                          indices_are_sorted=True)

    def write(self, parent: ir.Value, new: ir.Value, whole: Shape) -> ir.Value:
        rank = len(whole) - 2
        if 0 in self.shape:
            return parent
        return ops.scatter(parent, self._index(), new, "second", update_window_dims=range(rank),
                           inserted_window_dims=[rank, rank + 1], scatter_dims_to_operand_dims=[rank, rank + 1],
                           index_vector_dim=1, indices_are_sorted=True, unique_indices=True)

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        view = parent.diagonal(self.offset, -2, -1)
        if self.writable:
            view.flags.writeable = True
        return view

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        return (*strides[:-2], strides[-2] + strides[-1])


@dataclass(frozen=True)
class ComplexPartStep(Step):
    """`.real` or `.imag` of a complex array."""

    part: str
    shape: Shape

    def read(self, parent: ir.Value) -> ir.Value:
        return ops.real(parent) if self.part == "real" else ops.imag(parent)

    def write(self, parent: ir.Value, new: ir.Value, whole: Shape) -> ir.Value:
        return ops.complex(new, ops.imag(parent)) if self.part == "real" else ops.complex(ops.real(parent), new)

    def numpy(self, parent: np.ndarray) -> np.ndarray:
        return getattr(parent, self.part)

    def strides(self, parent: Shape, strides: Shape) -> Shape:
        return tuple(2 * s for s in strides)


def followed(steps: tuple[Step, ...], more: Iterable[Step], whole: Shape) -> tuple[Step, ...]:
    """The steps of a view of a view in a memory of shape `whole`. What shows the same adds none, and what undoes the
    last one takes it away: a loop may turn an array round in each iteration."""
    for step in more:
        before = steps[-2].shape if len(steps) > 1 else whole
        if steps and step.undoes(steps[-1], before):
            steps = steps[:-1]
        elif not (steps and type(step) is ReshapeStep and step.shape == steps[-1].shape):
            steps = (*steps, step)
    return steps


@lru_cache(maxsize=65536)
def row_steps(shape: Shape, k: int) -> tuple[Step, ...]:
    """The steps from a memory of this shape to its row k."""
    rest = shape[1:]
    whole = SliceStep((k, *(0 for _ in rest)), (1, *rest), (1,) * len(shape))
    return whole, ReshapeStep(rest, row_major_strides(rest))


# ---- layouts ---------------------------------------------------------------------------------------------------

def row_major_strides(shape: Shape) -> Shape:
    """Element strides of a C-contiguous array."""
    return _row_major_strides(tuple(shape))


@lru_cache(maxsize=4096)
def _row_major_strides(shape: Shape) -> Shape:
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def column_major_strides(shape: Shape) -> Shape:
    return tuple(reversed(row_major_strides(tuple(reversed(shape)))))


def kept_order(shape: Shape, strides: Shape) -> Shape | None:
    """Strides of a new array whose dimensions lie in memory in the order of these (`order="K"`); None: row-major."""
    if not is_permuted(shape, strides):
        return None
    compact, step = [0] * len(shape), 1
    for d in reversed(np.argsort([-abs(s) for s in strides], kind="stable").tolist()):
        compact[d] = step
        step *= max(shape[d], 1)
    return tuple(compact) if is_permuted(shape, tuple(compact)) else None


def reshaped_strides(shape: Shape, strides: Shape, new_shape: Shape) -> Shape | None:
    """Strides of a reshape that needs no copy, or None where NumPy would copy."""
    if 0 in shape or 0 in new_shape:
        return row_major_strides(new_shape)
    probe = np.lib.stride_tricks.as_strided(_PROBE, shape, strides)
    try:
        return probe.reshape(new_shape, copy=False).strides
    except ValueError:
        return None


_PROBE = np.empty(1, np.int8)   # never read: one-byte items make byte strides equal element strides


def broadcast(value: ir.Value, shape: Shape) -> ir.Value:
    """NumPy's broadcasting of `value` to `shape` (trailing dimensions aligned, unit dimensions repeated)."""
    old = shape_of(value)
    shape = tuple(shape)
    if old == shape:
        return value
    if not broadcasts_to(old, shape):
        raise ValueError(f"could not broadcast input array from shape {shape_text(old)} into shape {shape_text(shape)}")
    lead = len(shape) - len(old)
    kept = [d for d, n in enumerate(old) if n == shape[lead + d]]
    squeezed = value if len(kept) == len(old) else _reshaped(value, tuple([old[d] for d in kept]))
    return ops.broadcast_in_dim(squeezed, shape, [lead + d for d in kept])


def is_permuted(shape: Shape, strides: Shape) -> bool:
    """Whether the layout is not row-major (so that NumPy's order="K" results would not be either)."""
    usual = row_major_strides(shape)
    return strides != usual and any(n > 1 and s != c for n, s, c in zip(shape, strides, usual, strict=True))


def shape_text(shape: Shape) -> str:
    """A shape as NumPy's messages write it."""
    return "(" + ",".join("newaxis" if n == -1 else str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"


@lru_cache(maxsize=4096)
def broadcast_shapes(*shapes: Shape) -> Shape:
    """NumPy's function, which takes microseconds, for shapes that are tuples of plain integers; with the message that
    NumPy's operators have."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError("operands could not be broadcast together with shapes "
                         + "".join(f"{shape_text(s)} " for s in shapes)) from None


def broadcasts_to(shape: Shape, wanted: Shape) -> bool:
    """Whether an array of one shape can be broadcast to another."""
    extra = len(wanted) - len(shape)
    return extra >= 0 and all(n in (1, m) for n, m in zip(shape, wanted[extra:], strict=True))

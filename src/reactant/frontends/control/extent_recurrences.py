"""Arrays that get shorter, or longer, by as much in each iteration of a `for`: `v = v[1:] + v[:-1]`, `x = np.append(x,
y)`.

A loop carries such an array in a frame of its greatest shape. How much of the frame counts follows from the number of
iterations, so no size has to be carried, slices of it have bounds that are known of each other, and the array has a
static shape again after the loop. What does not keep to the size that the first iteration showed is not carried so. """
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays import value_facts
from reactant.frontends.arrays.dynamic.bounded import Bounded, Extent, Mask, Number, Range, aligned, guarded_copy
from reactant.frontends.arrays.tensor import ARRAY, Tensor, is_tensor
from reactant.frontends.control.demands import Peel
from reactant.frontends.control.joins import Broken
from reactant.frontends.control.loop_carried import mismatch, numeric_kind
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.control.snapshots import REBUILT, SNAPSHOTS, capture, kind_of
from reactant.frontends.control.trees import Held, Kind, Node, Tree
from reactant.frontends.session.retracing import Retrace
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import Shape, shape_of
from reactant.support.records import dataclass


@dataclass(frozen=True)
class IterationSize:
    """The shape after `n` iterations: `begin + n * steps`, of `count` iterations at most."""

    begin: Shape
    steps: Shape
    count: int
    iterations: list[Number] = field(default_factory=lambda: [0], compare=False)
    """How many iterations lie behind, where the trace is."""

    def frame(self) -> Shape:
        return tuple(max(n, n + step * self.count) for n, step in zip(self.begin, self.steps, strict=True))

    def extents(self, more: int = 0) -> list[Extent | None]:
        """What counts of each dimension of the frame, so many iterations later."""
        return [Range(0, self.length(d, more)) if step else None for d, step in enumerate(self.steps)]

    def length(self, d: int, more: int = 0) -> Number:
        begin, step, (iterations,) = self.begin[d] + more * self.steps[d], self.steps[d], self.iterations
        if isinstance(iterations, int):
            return begin + step * iterations
        return ops.add(ops.multiply(iterations, step), ops.constant(begin, np.int64))

    def made(self, children: list[Any]) -> Any:
        """The array in a frame: of static shape where the number of iterations is known."""
        frame, = children
        if isinstance(self.iterations[0], int):
            return frame[tuple(slice(self.length(d)) for d in range(len(self.begin)))]
        trace = current_trace()
        trace.bounded_elements = max(trace.bounded_elements, *(
            n for n, step in zip(frame.shape, self.steps, strict=True) if step))
        return Bounded(frame, self.extents())


@dataclass(frozen=True)
class InFrame:
    """Such an array at the end of an iteration."""

    frame: Tensor
    size: IterationSize
    array: Tensor | Bounded
    """What is in it: others may see that, and so it has to live until the loop is built."""

    def as_node(self) -> Node:
        return Node("following", self.size, [capture(self.frame)], self)


SNAPSHOTS[InFrame] = lambda value, inside: InFrame.as_node(value)
REBUILT["following"] = lambda node, children: node.key.made(children)


def carried_as(loop: LoopState, name: str, entry: Tree, after: Tree) -> tuple[Tree, list[Kind | None]]:
    """An array that has another shape after the first iteration: in a frame, where all iterations may change it
    alike."""
    if follows(entry) and not follows(after):       # they do not
        loop.demands.irregular.add(name)
        return capture(loop.before[name]), loop.first_kinds(name, name in loop.rebound)
    known = type(loop.count) is int and not loop.flags      # how many iterations there are
    if not known or name in loop.demands.irregular or entry.array is None:
        return entry, []
    begin, count = entry.tensor.shape, loop.count - loop.start
    found = [_step(loop, n, length) for n, length in zip(begin, _lengths(after), strict=False)]
    steps = tuple([step for step, _ in found if step is not None])
    if len(steps) != len(begin) or not any(steps):
        return entry, []
    if not all(fits for _, fits in found):
        if loop.waits:
            return entry, []
        raise Retrace(Peel(mismatch(loop, name, Broken("arrays of different sizes"))))
    if min(n + step * count for n, step in zip(begin, steps, strict=True)) < 0:
        return entry, []
    size = IterationSize(begin, steps, count)
    made = Node("following", size, [_in_frame(loop, entry, size.frame())], None)
    return made, [numeric_kind(made.children[0])]


def _lengths(after: Tree) -> list[tuple[list, int]]:
    """How long each dimension is after an iteration, as `value_facts.linear` gives it; [] where that is not known."""
    if isinstance(after, Held):
        return [([], n) for n in after.tensor.shape] if after.tensor.kind == ARRAY else []
    if after.kind != "sized" or Mask in after.key.extents:        # type: ignore[union-attr]
        return []
    frame, *rest = after.children       # type: ignore[union-attr]
    ends = iter([child.value for child in rest])        # type: ignore[union-attr]
    starts_and_stops = [(0, n) if extent is None else (next(ends), next(ends)) for n, extent in zip(
        kind_of(frame).shape, after.key.extents, strict=True)]      # type: ignore[union-attr]
    return [value_facts.distance(stop, start) for start, stop in starts_and_stops]


def _step(loop: LoopState, begin: int, after: tuple[list, int]) -> tuple[int | None, bool]:
    """By how much a dimension grows in an iteration, where its length after one says that; and whether it begins so."""
    terms, rest = after
    if not terms:
        return rest - begin, True
    (value, factor), *more = terms
    if more or value != loop.counter.body:      # type: ignore[union-attr]
        return None, False
    return factor, rest + factor * (loop.start - 1) == begin


def _in_frame(loop: LoopState, entry: Held, shape: Shape) -> Tree:
    """The array before the loop at the beginning of a frame."""
    if entry.tensor.shape == shape:
        return entry
    with ir.InsertionPoint(loop.outer):
        frame = ops.pad(entry.value, ops.constant(0, entry.tensor.dtype), [0] * len(shape),
                        [n - m for n, m in zip(shape, entry.tensor.shape, strict=True)])
        return capture(guarded_copy(Tensor.of_value(frame), entry.tensor))


def following(loop: LoopState) -> Iterator[tuple[str, IterationSize]]:
    """The variables that are such arrays."""
    for name, entry in loop.entries.items():
        if follows(entry):
            yield name, entry.key       # type: ignore[union-attr]


def follows(tree: Tree) -> bool:
    """Whether it is such an array."""
    return tree.kind == "following"


def begin_iteration(loop: LoopState) -> None:
    """Sizes are those at the start of the iteration that is traced."""
    behind = None
    for _, size in following(loop):
        behind = ops.subtract(loop.counter.body, loop.start) if behind is None else behind  # type: ignore[union-attr]
        size.iterations[0] = behind


def end_iteration(loop: LoopState) -> None:
    """Put the arrays at the beginnings of their frames. What has another size than the iteration should leave stays as
    it is: it is no value that the loop can carry."""
    placed: dict[tuple[int, IterationSize], InFrame] = {}        # two names of one array have one frame
    for name, size in following(loop):
        value = loop.variables.get(name)
        if type(value) is not Bounded and not (is_tensor(value) and value.kind == ARRAY):
            continue
        found = placed.get((id(value), size))
        if found is None and (frame := _placed(value, size)) is not None:
            found = placed[id(value), size] = InFrame(frame, size, value)
        if found is not None:
            loop.variables.set(name, found)


def _placed(value: Tensor | Bounded, size: IterationSize) -> Tensor | None:
    frame = value.frame if isinstance(value, Bounded) else value
    extents, own = size.extents(more=1), value.extents if isinstance(value, Bounded) else (None,) * value.ndim
    if value.ndim != len(size.begin) or any(isinstance(extent, Mask) for extent in own):
        return None
    for d, extent in enumerate(extents):
        wanted = size.begin[d] if extent is None else extent.length()
        if value_facts.difference(value.length(d) if type(value) is Bounded else value.shape[d], wanted) != 0:
            return None
    moved = aligned(value, extents, size.frame())
    if moved == frame.value():
        return frame
    assert shape_of(moved) == size.frame()
    return guarded_copy(Tensor.of_value(moved), frame)


def finish(loop: LoopState) -> None:
    """After the loop, all iterations lie behind."""
    for _, size in following(loop):
        size.iterations[0] = size.count

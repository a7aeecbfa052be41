"""`buffers[current]`: elements of lists and tuples that are no numbers, at places known only at run time.

They are what a chain of `if`s would make of them, with its rules for arrays that names share. In loops that can be
unrolled to know the place they are refused, so that the loop is.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jaxlib.mlir import ir

from reactant.frontends.arrays.tensor import Tensor
from reactant.frontends.control import mutation_log
from reactant.frontends.control.branches import staged_if
from reactant.frontends.control.joins import Broken, unify
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.control.snapshots import capture, kind_of
from reactant.frontends.control.trees import Known
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.options import CompileOptions

MOST = 16
"""Longer lists are not chosen from."""

UNROLLED_FOR_PLACES = 32
"""Loops of at most so many iterations are unrolled where a place may then be known by what the iterations carry."""


def get(items: list | tuple, index: Tensor) -> Any:
    """`items[index]`."""
    place = place_in(items, index, f"{type(items).__name__} index out of range")

    def among(first: int) -> Any:
        if first == len(items) - 1:
            return items[first]
        return staged_if(ops.compare(place, first, "EQ"), lambda: items[first], lambda: among(first + 1))
    return among(0)


def put(value: Any, items: list, index: Tensor) -> None:
    """`items[index] = value`."""
    put_one(value, items, range(len(items)), place_in(items, index, "list assignment index out of range"))


def put_one(value: Any, held: list | dict, keys: Sequence[Any], place: ir.Value) -> None:
    """`held[keys[place]] = value`."""
    def store(key: Any) -> Callable[[], None]:
        def stored() -> None:
            mutation_log.touch(held)
            held[key] = value
        return stored
    for k, key in enumerate(keys):
        staged_if(ops.compare(place, k, "EQ"), store(key), None)


def fit(items: list | tuple, index: Tensor) -> bool:
    """Whether elements can be chosen from these, and no unrolled loop would know which one it is."""
    if not 0 < len(items) <= MOST or known_unrolled(index):
        return False
    first, *others = map(capture, items)
    return all(not isinstance(unify(first, other), Broken) for other in others)


def place_in(items: list | tuple, index: Tensor, outside: str) -> ir.Value:
    """The index, counted from the start, in code that fails where it is out of range."""
    count, place = len(items), ops.reshape(index.value(), ())
    low, high = index.interval or (-count - 1, count)
    if low < -count or high >= count:
        inside = ops.and_(ops.compare(place, -count, "GE"), ops.compare(place, count, "LT"))
        current_trace().check(inside, lambda: IndexError(outside))
    return ops.select(ops.compare(place, 0, "LT"), ops.add(place, count), place) if low < 0 else place


def known_unrolled(index: Tensor) -> bool:
    """Whether the index may be known where the loops that are being traced are unrolled."""
    trace = current_trace()
    options = trace.options or CompileOptions()
    counted = [loop for loop in trace.loops if type(loop.count) is int]
    needed = _arguments(index.value())
    counters = {loop.counter.body for loop in counted if loop.count <= options.max_unroll}
    if needed <= counters:
        return bool(needed)
    return needed <= counters | {value for loop in counted if loop.count <= UNROLLED_FOR_PLACES
                                 for value in _known_before(loop)}


def _known_before(loop: LoopState) -> Iterator[ir.Value]:
    """What the loop carries of numbers that are known before it."""
    for carried in loop.carried.values():
        for leaf, slot in zip(carried.leaves(), carried.slots, strict=False):
            if slot is not None and isinstance(leaf, Known) and kind_of(leaf) is not None:
                yield slot.body


def _arguments(value: ir.Value) -> set[ir.Value]:
    """The arguments of blocks that a value is computed from; those of operations with regions count as the results."""
    found: set[ir.Value] = set()
    seen, waiting = set(), [value]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        made = current.owner
        if isinstance(made, ir.Block) or made.operation.regions:
            found.add(current)
        else:
            waiting += made.operands
    return found

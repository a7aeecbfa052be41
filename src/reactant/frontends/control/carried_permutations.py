"""Names that a loop passes around: `u, v = v, u`, and longer rings, of arrays that somebody else can see.

The loop carries contents by name. Where an iteration binds every name to a memory that one of the names was bound to,
and no two to one memory, the contents can be put back where NumPy would have left them: which memory each name points
to is a power of one permutation when the count is known, and else carried as a number.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import ChosenStorage, may_be_one, roots_of
from reactant.frontends.arrays.tensor import ARRAY, Tensor
from reactant.frontends.arrays.view_steps import Step
from reactant.frontends.control.loop_carried import Carried, Slot
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.control.trees import Held
from reactant.ir import ops
from reactant.support.records import dataclass

MOST = 12
"""Most names that are followed: each memory is chosen from so many contents after the loop."""


@dataclass
class Rotation:
    """`tensors[n]`: the array that n is bound to before the loop. `follows[n]`: the name whose memory n points to after
    an iteration, or the choice of several. `memory[n]`: the carried number of the memory n points to."""

    tensors: dict[str, Tensor]
    follows: dict[str, str | ChosenStorage]
    starts: dict[Storage, str]
    memory: dict[str, Slot] = field(default_factory=dict)
    family: object = field(default_factory=object)      # not `self`, which holds the arrays: who does is counted

    def carry(self, loop: LoopState) -> None:
        """Carry which memory each name points to, unless it is known in the end."""
        if type(loop.count) is int and not loop.flags and all(type(f) is str for f in self.follows.values()):
            return
        for number, name in enumerate(self.tensors):
            with ir.InsertionPoint(loop.outer):
                init = ops.constant(number, np.int32)
            self.memory[name] = loop.slot(init)
        with ir.InsertionPoint(loop.block):
            for name, slot in self.memory.items():
                slot.after = self.number_of(self.follows[name])

    def number_of(self, source: str | Storage) -> ir.Value:
        """The number of the memory that a name or a choice stands for, in an iteration."""
        if type(source) is ChosenStorage:
            return source.chosen(self.number_of)
        return self.memory[source if isinstance(source, str) else self.starts[source]].body

    def finish(self, loop: LoopState) -> None:
        """Write the contents back to the memories, and bind the names."""
        contents = {n: loop.carried[n].slots[0].result for n in self.tensors}
        if not self.memory:
            iterations = max(loop.count - loop.start, 0)
            bound = {n: self.tensors[self.after(n, iterations)] for n in self.tensors}
            for name, tensor in bound.items():
                Storage.write(tensor.storage, contents[name])
        else:
            points = {n: [ops.compare(slot.result, ops.constant(k, np.int32), "EQ") for k in range(len(self.tensors))]
                      for n, slot in self.memory.items()}
            for number, tensor in enumerate(self.tensors.values()):
                Storage.write(tensor.storage, _chosen([points[n][number] for n in contents], [*contents.values()],
                                                      ops.select))
            bound = {n: self.pointed_to(points[n], contents[n]) for n in self.tensors}
        for name, tensor in bound.items():
            loop.variables.set(name, tensor)

    def after(self, name: str, iterations: int) -> str:
        """Whose memory `name` points to after so many iterations, by repeated squaring of the permutation."""
        step: dict = self.follows
        while iterations:
            if iterations & 1:
                name = step[name]
            step = {n: step[m] for n, m in step.items()}
            iterations >>= 1
        return name

    def pointed_to(self, points: list[ir.Value], content: ir.Value) -> Tensor:
        """The array that a name is bound to: that of the memory it points to at run time."""
        arrays = [*self.tensors.values()]
        storage = _chosen(points, [a.storage for a in arrays], lambda p, a, b: ChosenStorage(p, a, b, content))
        storage.family = self.family
        return Tensor(storage, strides=arrays[0].strides_ if len({a.strides_ for a in arrays}) == 1 else None)


def _chosen(conditions: list[ir.Value], options: list, select: Callable) -> object:
    """The option whose condition holds."""
    found = options[-1]
    for condition, option in zip(reversed(conditions[:-1]), reversed(options[:-1]), strict=True):
        found = select(condition, option, found)
    return found


# ---- which names -----------------------------------------------------------------------------------------------

def find(arrays: Any, names: Iterable[str]) -> list[Rotation]:
    """The rotations that `names` take part in, one for each type of array; none of them if not all of `names` do, or if
    the body reaches an array in another way."""
    loop, wanted = arrays.loop, set(names)
    while not wanted >= (more := {m for n in wanted for m in _followed(arrays, n) or ()}):
        wanted |= more
    wanted = {n for n in loop.carried if n in wanted}       # as a set, and in the order of the loop
    tensors = {n: t for n in loop.carried if n in wanted and (t := _whole_array(loop, n, loop.carried[n])) is not None}
    if not len(wanted) == len(tensors) <= MOST or any(_followed(arrays, n) is None for n in tensors):
        return []
    ends = {n: arrays.end_tensors[n][0].storage for n in tensors}
    memories = {t.storage for t in tensors.values()}
    distinct = len(memories) == len(tensors) and not any(
        may_be_one(a, b) for n, a in ends.items() for m, b in ends.items() if n < m)
    elsewhere = {root for roots in arrays.ends.values() for root in roots} | loop.touched
    for name, carried in loop.carried.items():
        if name not in tensors and carried.late is None and any(k is not None and k.kind == ARRAY
                                                                for k in carried.kinds):
            elsewhere |= arrays.entry_storages(name)
    if not distinct or memories & elsewhere:
        return []
    by_type: dict[tuple, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        by_type.setdefault((tensor.shape, tensor.dtype), {})[name] = tensor
    follows = {n: s if type(s) is ChosenStorage else arrays.starts[s] for n, s in ends.items()}
    return [Rotation(group, {n: follows[n] for n in group}, arrays.starts) for group in by_type.values()]


def _followed(arrays: Any, name: str) -> set[str] | None:
    """The names whose memories `name` may point to after an iteration; None where it may be anything else."""
    ends = arrays.end_tensors.get(name, [])
    if len(ends) != 1 or ends[0].steps or not only_chosen(ends[0].storage):
        return None
    roots = roots_of(ends[0].storage)
    return {arrays.starts[r] for r in roots} if roots <= arrays.starts.keys() else None


def only_chosen(storage: Storage) -> bool:
    """Whether it is an array of its own, or one of several."""
    options = storage.options if type(storage) is ChosenStorage else (storage,)
    return all(type(s) is Storage for s in options)


def _whole_array(loop: LoopState, name: str, carried: Carried) -> Tensor | None:
    """The array a variable carried by value begins with, where it is all of a memory of the carried type."""
    entry = carried.entry
    if carried.late is not None or not isinstance(entry, Held) or carried.kinds[0] is None:
        return None
    tensor, kind = entry.tensor, carried.kinds[0]
    memory = tensor.storage
    fits = (tensor.kind == kind.kind == ARRAY and not tensor.steps and type(memory) is Storage
            and not memory.constant and (memory.shape, memory.dtype) == (kind.shape, kind.dtype))
    return tensor if fits and (memory.data is None or loop.owned[name]) else None


# ---- who else reaches them -------------------------------------------------------------------------------------

class Watched(Storage):
    """A memory whose reads and writes are noticed; a storage is one while a loop body is traced."""

    __slots__ = ()
    noticed: set[Storage] = set()

    def read(self) -> ir.Value:
        Watched.noticed.add(self)
        return super().read()

    def seen_through(self, steps: tuple[Step, ...]) -> ir.Value | None:
        Watched.noticed.add(self)
        return super().seen_through(steps)

    def write(self, value: ir.Value) -> None:
        Watched.noticed.add(self)
        super().write(value)


@contextlib.contextmanager
def watching(storages: Iterable[Storage], touched: set[Storage]) -> Iterator[None]:
    """Add to `touched` those of the storages that are read or written meanwhile."""
    outer, Watched.noticed = Watched.noticed, touched
    changed = [s for s in storages if type(s) is Storage]
    for storage in changed:
        storage.__class__ = Watched
    try:
        yield
    finally:
        Watched.noticed = outer
        outer |= touched
        for storage in changed:
            storage.__class__ = Storage

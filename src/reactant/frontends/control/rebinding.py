"""Names that leave an array somebody else can see: `x += 1`, and later `x = f(x)`, in a loop.

The loop carries the contents of names. Where an iteration leaves a name bound to the array it began with, or to one
that the iteration made and nothing else knows, the loop also carries whether the name still points to the memory from
before the loop, and what that memory holds: as long as it does what the name holds, and from then on what it held when
the name left. """
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from jaxlib.mlir import ir

from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import ChosenStorage, may_be_one, roots_of
from reactant.frontends.arrays.tensor import ARRAY, Tensor
from reactant.frontends.control.carried_permutations import only_chosen
from reactant.frontends.control.loop_carried import Slot
from reactant.frontends.control.loop_state import LoopState
from reactant.frontends.control.trees import Held, Kind, Tree
from reactant.ir import ops
from reactant.support.records import dataclass


@dataclass(eq=False)
class Departure:
    """`before`: the array from before the loop. `start`: what stands for it in an iteration. `end`: what the name is
    bound to after the iteration. `stays`: the carried truth of whether that is still the first memory; `left`: what is
    in it."""

    before: Tensor
    start: Storage
    end: Storage
    stays: Slot | None = None
    left: Slot | None = None

    def carry(self, loop: LoopState) -> None:
        with ir.InsertionPoint(loop.outer):
            self.stays, self.left = loop.slot(ops.constant(True)), loop.slot(self.before.storage.read())
        with ir.InsertionPoint(loop.block):
            here = self.stays.body
            self.left.after = ops.select(here, self.start.value, self.left.body)
            self.stays.after = here if self.end is self.start else ops.and_(here, self.is_start(self.end))

    def is_start(self, storage: Storage) -> ir.Value:
        if type(storage) is ChosenStorage:
            return storage.chosen(self.is_start)
        return ops.constant(storage is self.start)

    def finish(self) -> None:
        """After the loop: the memory holds what the name left there."""
        Storage.write(self.before.storage, self.left.result)

    def after(self, content: ir.Value) -> Tensor:
        """What the name is bound to after the loop."""
        if self.end is self.start:
            return self.before
        made = Storage(self.before.shape, self.before.dtype, value=content)
        return Tensor(ChosenStorage(self.stays.result, self.before.storage, made, content))


def find(arrays: Any, names: Iterable[str]) -> dict[tuple[str, int], Departure]:
    """The departures of what these names hold, by name and place; none where one of them is anything else, or where the
    body reaches the array in another way."""
    loop, found = arrays.loop, {}
    ends = [t for tensors in arrays.end_tensors.values() for t in tensors]
    memories = Counter(leaf.tensor.storage for carried in loop.carried.values() if carried.late is None
                       for leaf in carried.leaves() if isinstance(leaf, Held))
    elsewhere = {root for roots in arrays.ends.values() for root in roots} | loop.touched
    for name in names:
        carried = loop.carried[name]
        after = list(arrays.branch.states[name].leaves()) if name in arrays.branch.states else []
        if carried.late is not None or len(after) != len(carried.kinds):
            return {}
        for place, (start, kind, leaf, end) in enumerate(zip(
                carried.objects, carried.kinds, carried.leaves(), after, strict=True)):
            if kind is None or kind.kind != ARRAY:
                continue
            if not (_is_whole(leaf, kind) and isinstance(end, Held) and _leaves(arrays, start.storage, end.tensor, ends)
                    and memories[leaf.tensor.storage] == 1 and leaf.tensor.storage not in elsewhere
                    and start.storage not in loop.given):       # whose content only the loop inside knows
                return {}
            found[name, place] = Departure(leaf.tensor, start.storage, end.tensor.storage)
    return found


def _is_whole(leaf: Tree, kind: Kind) -> bool:
    """Whether an array is all of a memory that can be written, of the carried type."""
    if leaf.array is None or leaf.tensor.steps:
        return False
    memory = leaf.tensor.storage
    return type(memory) is Storage and memory.data is None and not memory.constant and bool(leaf.tensor.writeable) \
        and (memory.shape, memory.dtype) == (kind.shape, kind.dtype)


def _leaves(arrays: Any, start: Storage, end: Tensor, ends: list[Tensor]) -> bool:
    """Whether what a name is bound to after an iteration is what it began with, or an array that the iteration made, or
    one of the two; and nothing else is bound to either."""
    others = [t for t in ends if t is not end]
    if len(others) < len(ends) - 1 or any(may_be_one(t.storage, s) for t in others for s in (start, end.storage)):
        return False
    roots = roots_of(end.storage)
    if start in roots and (end.steps or not only_chosen(end.storage)):
        return False
    return all(root is start or root not in arrays.starts and not arrays.branch.preexisting(root) for root in roots)

"""The arrays after an `if` over a run-time condition: which memories they are, and what those hold."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxlib.mlir import ir

from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import (
    ChosenStorage,
    GuardedStorage,
    ViewStorage,
    as_storage,
    has_dynamic_steps,
    roots_of,
)
from reactant.frontends.arrays.tensor import ARRAY, Tensor
from reactant.frontends.arrays.view_steps import DynamicSliceStep, Step
from reactant.frontends.control.joins import Leaf
from reactant.frontends.control.trees import Held
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of

Maker = Callable[[list[ir.Value]], Any]
"""Makes something of the results of the `if`."""


class BranchArrays:
    """The array results of a meeting. Each array that was made in a branch has one memory afterwards, two of which
    become one where they are always each other's counterpart; a name that may be several is a `ChosenStorage`."""

    def __init__(self, meeting: Any, leaves: list[Leaf]):
        self.meeting = meeting
        self.branches = meeting.then, meeting.orelse
        self.made: dict[Any, Storage] = {}
        self.exported: dict[Any, Maker] = {}
        self.places: dict[tuple[int, ir.Value], int] = {}
        self.partners: dict[tuple[int, Storage], set[Any]] = {}
        for leaf in leaves:
            if leaf.kind.kind == ARRAY and isinstance(leaf.first, Held) and isinstance(leaf.second, Held):
                for side, (mine, other) in enumerate(((leaf.first, leaf.second), (leaf.second, leaf.first))):
                    plain = type(mine.tensor.storage) is Storage and self.same_base(leaf)
                    for root in roots_of(mine.tensor.storage):
                        self.partners.setdefault((side, root), set()).add(other.tensor.storage if plain else None)
            elif leaf.kind.kind == ARRAY:
                for side, one in enumerate((leaf.first, leaf.second)):
                    for root in roots_of(one.tensor.storage) if isinstance(one, Held) else ():
                        self.partners.setdefault((side, root), set()).add(None)

    @staticmethod
    def same_base(leaf: Leaf) -> bool:
        """Whether both are the same view of their memories."""
        a, b = leaf.first.tensor, leaf.second.tensor
        return a.steps == b.steps and a.storage.shape == b.storage.shape and a.storage.dtype == b.storage.dtype \
            and not has_dynamic_steps(a)

    def is_fresh(self, side: int, storage: Storage) -> bool:
        return not self.branches[side].preexisting(storage)

    def only_partners(self, first: Storage, second: Storage) -> bool:
        return self.partners.get((0, first)) == {second} and self.partners.get((1, second)) == {first}

    def add(self, leaf: Leaf) -> Maker:
        then, orelse = self.branches
        first, second = leaf.first.tensor, leaf.second.tensor
        like = first
        same_layout = first.strides_ == second.strides_
        writeable = first.writeable if first.writeable == second.writeable else None
        if then.raised or orelse.raised:
            return self.outside_tensor(0 if orelse.raised else 1, second if then.raised else first)
        if self.same_base(leaf):
            storage_of = self.met(first.storage, second.storage, leaf.first.base, leaf.second.base)
            return lambda results: Tensor(
                storage_of(results), like.steps, strides=like.strides_ if same_layout or like.steps else None,
                dtype=like.dtype, writeable=writeable)
        position = self.meeting.result(leaf.first.value, leaf.second.value)
        mine, theirs = (self.outside_view(side, t) for side, t in enumerate((first, second)))
        strides = like.strides_ if same_layout else None
        return lambda results: Tensor(ChosenStorage(
            self.meeting.predicate, mine(results), theirs(results), results[position]), strides=strides,
            writeable=writeable)

    def add_one_sided(self, leaf: Leaf) -> Maker:
        """An array that a name is bound to after one of the branches only: nothing reads it after the other one."""
        return self.outside_tensor(1, leaf.second.tensor) if leaf.first is None else \
            self.outside_tensor(0, leaf.first.tensor)

    def met(self, first: Storage, second: Storage, then: ir.Value, orelse: ir.Value) -> Maker:
        """The memory that is `first` after one branch and `second` after the other."""
        key = (first, second)
        if key in self.exported:
            return self.exported[key]
        position = self.meeting.result(then, orelse)
        if self.is_fresh(0, first) and self.is_fresh(1, second) and self.only_partners(first, second):
            def make(results: list[ir.Value]) -> Storage:
                made = Storage(first.shape, first.dtype, value=results[position])
                made.joined = True
                return made
        else:
            mine, theirs = (self.outside(side, s, position if self.only_in(side, s, other) else None)
                            for side, (s, other) in enumerate(((first, second), (second, first))))

            def make(results: list[ir.Value]) -> Storage:
                return ChosenStorage(self.meeting.predicate, mine(results), theirs(results), results[position])
        self.exported[key] = self.once(key, make)
        return self.exported[key]

    def only_in(self, side: int, storage: Storage, partner: Storage) -> bool:
        return type(storage) is Storage and self.partners.get((side, storage)) == {partner}

    def outside(self, side: int, storage: Storage, position: int | None = None) -> Maker:
        """A branch's memory as it is known after the branch; `position` is a result that holds its content."""
        if not self.is_fresh(side, storage):
            return lambda results: storage
        key = (side, storage)
        if key not in self.exported:
            self.exported[key] = self.once(key, self.copied_out(side, storage, position))
        return self.exported[key]

    def copied_out(self, side: int, storage: Storage, position: int | None) -> Maker:
        if type(storage) is ChosenStorage:
            predicate = self.export(side, storage.predicate)
            first, second = self.outside(side, storage.first), self.outside(side, storage.second)
            return lambda results: ChosenStorage(results[predicate], first(results), second(results))
        if type(storage) is ViewStorage:
            return self.outside_view(side, storage.tensor)
        place = self.export(side, self.content(side, storage)) if position is None else position
        if type(storage) is Storage:
            return lambda results: Storage(storage.shape, storage.dtype, value=results[place])
        sources = [root for root in roots_of(storage) if not self.is_fresh(side, root)]
        return lambda results: GuardedStorage(getattr(storage, "name", "an array"), sources, results[place])

    def outside_view(self, side: int, tensor: Tensor) -> Maker:
        view = self.outside_tensor(side, tensor)
        return lambda results: as_storage(view(results))

    def outside_tensor(self, side: int, tensor: Tensor) -> Maker:
        """A branch's array as it is known after the branch: a view where it is one, at a place that the branch says."""
        base = self.outside(side, tensor.storage)
        steps = [self.outside_step(side, s) for s in tensor.steps]
        return lambda results: Tensor(base(results), tuple(step(results) for step in steps), strides=tensor.strides_,
                                      dtype=tensor.dtype, writeable=tensor.writeable)

    def outside_step(self, side: int, step: Step) -> Maker:
        if not isinstance(step, DynamicSliceStep):
            return lambda results: step
        places = [a if isinstance(a, int) else ops.constant_value(a) for a in step.starts]
        exported = {d: self.export(side, a) for d, (a, p) in enumerate(zip(step.starts, places, strict=True))
                    if p is None}
        return lambda results: DynamicSliceStep(
            tuple(results[exported[d]] if d in exported else int(p) for d, p in enumerate(places)), step.shape)

    def content(self, side: int, storage: Storage) -> ir.Value:
        """What a memory made in a branch holds at the branch's end."""
        if storage.data is None:
            return storage.value
        with ir.InsertionPoint(self.branches[side].block):
            return ops.constant(storage.data)

    def export(self, side: int, value: ir.Value) -> int:
        """A result that is `value` after the branch `side`, and zeros after the other; one, so that what was chosen by
        one condition stays so."""
        if (side, value) not in self.places:
            with ir.InsertionPoint(self.branches[1 - side].block):
                nothing = ops.constant(0, dtype_of(value), shape_of(value))
            self.places[side, value] = self.meeting.result(*((value, nothing) if side == 0 else (nothing, value)))
        return self.places[side, value]

    def once(self, key: Any, make: Maker) -> Maker:
        """One memory for one key, however often it is asked for."""
        def shared(results: list[ir.Value]) -> Storage:
            if key not in self.made:
                self.made[key] = make(results)
            return self.made[key]
        return shared

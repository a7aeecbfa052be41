"""Where reverse mode finds the values of the forward computation.

The sweep goes over the ops of a private copy of the old module and builds the new one. It asks a *scope* for the values
of a block, and gets a stand-in. When the sweep of a block is done, the scope knows what was really wanted of it: it
decides which of these values to keep in the forward computation and which to compute again, extends the old module by
what is to be kept, and puts values in place of the stand-ins. What an inner scope keeps are results of ops of the outer
block, so the outer scope decides about them in turn; the body of `main` comes last, and is copied as it is then.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from jaxlib.mlir import ir

from reactant.differentiate.activity import block_ops
from reactant.differentiate.facts import masks
from reactant.ir import modules

STAND_IN = "stablehlo.optimization_barrier"


def anchor() -> ir.Operation:
    """An op without meaning at the insertion point, to insert in front of; its maker erases it."""
    return ir.Operation.create(STAND_IN, results=[], operands=[]).operation


def stand_in(kind: ir.Type) -> ir.Operation:
    """An op at the insertion point whose result stands for a value that comes later."""
    return ir.Operation.create(STAND_IN, results=[kind], operands=[]).operation


def replace(op: ir.Operation, value: ir.Value) -> None:
    """Put a value in place of a stand-in."""
    op.result.replace_all_uses_with(value)
    erase(op)


def erase(op: ir.Operation) -> None:
    """Take a stand-in away."""
    masks.placed(op.result)
    op.erase()


def used(value: ir.Value) -> bool:
    return next(iter(value.uses), None) is not None


class Aliases(dict):
    """Values of the old module whose op has been extended: the same values as results of the extended op."""

    def of(self, value: ir.Value) -> ir.Value:
        while value in self:
            value = self[value]
        return value


class Here:
    """A scope whose values are those of the module under construction themselves."""

    def value(self, value: ir.Value) -> ir.Value:
        return value


class Scope:
    """The values of one block of the old module, put in front of `place` when `settle` is called. `parent` has the
    values from outside the block."""

    def __init__(self, block: ir.Block, parent: Any, place: ir.Operation, aliases: Aliases):
        self.block, self.parent, self.place, self.aliases = block, parent, place, aliases
        self.known: dict[ir.Value, ir.Value] = {}           # old values that have a value already
        self.wanted: dict[ir.Value, ir.Operation] = {}

    def holds(self, value: ir.Value) -> bool:
        """Whether an old value is an argument of the block or the result of an op directly in it."""
        owner = value.owner
        return owner == self.block if isinstance(owner, ir.Block) else owner.operation.block == self.block

    def value(self, value: ir.Value) -> ir.Value:
        value = self.aliases.of(value)
        if value in self.known:
            return self.known[value]
        if not self.holds(value):
            return self.parent.value(value)
        with ir.InsertionPoint(self.place):
            if not isinstance(value.owner, ir.Block) and value.owner.name == "stablehlo.constant":
                self.known[value] = modules.clone_with(value.owner.operation, {}).result
                return self.known[value]
            made = stand_in(value.type)
        masks.stands_for(made.result, value)
        self.wanted[value], self.known[value] = made, made.result
        return made.result

    def demanded(self) -> dict[ir.Value, ir.Operation]:
        """The old values whose stand-ins are used; the others are forgotten."""
        found: dict[ir.Value, ir.Operation] = {}
        for value, made in self.wanted.items():
            current = self.aliases.of(value)
            if not used(made.result):
                erase(made)
            elif current in found:
                replace(made, found[current].result)
            else:
                found[current] = made
        self.wanted, self.known = {}, {}
        return found

    def body(self) -> list[ir.Operation]:
        return block_ops(self.block)[0]

    def settle(self) -> None:
        """Compute what was wanted, from what the block has been given."""
        self.compute(self.demanded(), {})

    def compute(self, wanted: dict[ir.Value, ir.Operation], mapping: dict[ir.Value, ir.Value]) -> None:
        """Copy the ops that make the wanted values in front of `place`; `mapping` has the values that need none."""
        needed = behind(self.body(), wanted, mapping)
        with ir.InsertionPoint(self.place):
            for value in needed.free:
                mapping[value] = self.free(value)
            for op in needed.ops:
                kept = {r: mapping[r] for r in op.results if r in mapping}
                modules.clone_with(op, mapping)
                mapping.update(kept)
        for value, made in wanted.items():
            replace(made, mapping[value])

    def free(self, value: ir.Value) -> ir.Value:
        """A value that no op of the block makes."""
        if self.holds(value):
            raise KeyError(f"no value for {value}")
        return self.parent.value(value)


class Known(Scope):
    """A scope that is given the arguments of its block and computes the rest again."""

    def __init__(self, block: ir.Block, parent: Any, place: ir.Operation, aliases: Aliases,
                 arguments: dict[ir.Value, ir.Value]):
        super().__init__(block, parent, place, aliases)
        self.arguments = arguments
        self.known.update(arguments)

    def settle(self) -> None:
        self.compute(self.demanded(), dict(self.arguments))


class Main(Known):
    """The scope of a function's body, all of which is computed once."""

    def finish(self, returned: Sequence[ir.Value]) -> list[ir.Value]:
        """Copy the body in front of `place`; gives the values of `returned`."""
        wanted = self.demanded()
        mapping = dict(self.arguments)
        results = [self.aliases.of(v) for v in returned]
        needed = behind(self.body(), [*wanted, *results], mapping, effects=True)
        with ir.InsertionPoint(self.place):
            for op in needed.ops:
                modules.clone_with(op, mapping)
        for value, made in wanted.items():
            replace(made, mapping[value])
        return [mapping[v] for v in results]


# ---- what is needed for what ---------------------------------------------------------------------------------------

class Needed:
    """Ops of a block in order, and the values they read that no op of the block makes."""

    def __init__(self, needed: list[ir.Operation], free: list[ir.Value]):
        self.ops, self.free = needed, free


def reads(op: ir.Operation) -> list[ir.Value]:
    """What an op reads, in its regions too."""
    return [*op.operands, *modules.captured(op)] if len(op.regions) else list(op.operands)


def behind(body: Sequence[ir.Operation], values: Iterable[ir.Value], known: dict[ir.Value, ir.Value],
           effects: bool = False) -> Needed:
    """What has to be computed for `values`, where `known` needs no computing. `effects`: and every op that does more
    than compute."""
    wanted = dict.fromkeys(v for v in values if v not in known)     # in order: the next process builds the same program
    chosen = []
    for op in reversed(body):
        if any(r in wanted for r in op.results) or effects and has_effect(op):
            chosen.append(op)
            for made in op.results:
                wanted.pop(made, None)
            wanted.update(dict.fromkeys(v for v in reads(op) if v not in known))
    done = {r for op in chosen for r in op.results}
    return Needed(chosen[::-1], [v for v in wanted if v not in done])


EFFECTS = {"stablehlo.infeed", "stablehlo.outfeed", "stablehlo.send", "stablehlo.recv"}


def has_effect(op: ir.Operation) -> bool:
    """Whether an op does more than compute its results."""
    if op.name in EFFECTS:
        return True
    if op.name == "stablehlo.custom_call" and "has_side_effect" in op.attributes:
        return bool(ir.BoolAttr(op.attributes["has_side_effect"]).value)
    return len(op.regions) > 0 and any(has_effect(inner) for inner in modules.walk(op)
                                       if inner.name in EFFECTS or inner.name == "stablehlo.custom_call")


def drop_dead(block: ir.Block, keep: Iterable[ir.Value]) -> None:
    """Erase ops of a block under construction that nothing uses. Stand-ins and anchors stay."""
    kept = set(keep)
    for op in reversed([op.operation for op in block.operations]):
        if op.name != STAND_IN and len(op.results) and not any(r in kept or used(r) for r in op.results) \
                and not has_effect(op):
            op.erase()


class Values(Sequence):
    """The values of a scope for some old values; looked up when read, so that what a rule does not read costs nothing.
    """

    def __init__(self, old: Sequence[ir.Value], scope: Any):
        self.old, self.scope = list(old), scope

    def __len__(self) -> int:
        return len(self.old)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self.scope.value(v) for v in self.old[index]]
        return self.scope.value(self.old[index])

    def __iter__(self) -> Iterator[ir.Value]:
        return (self.scope.value(v) for v in self.old)



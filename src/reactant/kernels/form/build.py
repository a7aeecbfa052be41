"""Creating operations of the structured form at the current insertion point, for the steps that write functions
anew."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from jaxlib.mlir import ir

from reactant.kernels.form.bases import bytes_of_type, constant_of

PREDICATES = {name: number for number, name in enumerate("eq ne slt sle sgt sge ult ule ugt uge".split())}
NAMES = {number: name for name, number in PREDICATES.items()}
NEGATED = {"slt": "sge", "sge": "slt", "sgt": "sle", "sle": "sgt", "ult": "uge", "uge": "ult", "ugt": "ule",
           "ule": "ugt", "eq": "ne", "ne": "eq"}
NARROW_SOURCES = frozenset(("gpu.thread_id", "gpu.block_id"))


class Builder:
    """Types and small constructions; made inside `ir.context.building()`."""

    @cached_property
    def index_type(self) -> ir.Type:
        return ir.IndexType.get()

    @cached_property
    def i1(self) -> ir.Type:
        return ir.IntegerType.get_signless(1)

    @cached_property
    def i32(self) -> ir.Type:
        return ir.IntegerType.get_signless(32)

    @cached_property
    def i64(self) -> ir.Type:
        return ir.IntegerType.get_signless(64)

    def create(self, name: str, kind: ir.Type, *operands: ir.Value) -> ir.Value:
        """An op with one result."""
        return ir.Operation.create(name, [kind], list(operands)).results[0]

    def integer(self, value: int, kind: ir.Type) -> ir.Value:
        return ir.Operation.create("arith.constant", [kind], attributes={
            "value": ir.IntegerAttr.get(kind, value)}).results[0]

    def index(self, value: int) -> ir.Value:
        return self.integer(value, self.index_type)

    def zero(self, kind: ir.Type) -> ir.Value:
        """0 of any scalar type."""
        if str(kind).startswith(("f", "bf")):
            return ir.Operation.create("arith.constant", [kind], attributes={
                "value": ir.FloatAttr.get(kind, 0.0)}).results[0]
        return self.integer(0, kind)

    def wrapless(self, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """addi, subi or muli that does not wrap."""
        flags = ir.Attribute.parse("#arith.overflow<nsw>")
        return ir.Operation.create(name, [a.type], [a, b], attributes={"overflowFlags": flags}).results[0]

    def times(self, index: ir.Value, factor: int) -> ir.Value:
        if factor == 1:
            return index
        constant = constant_of(index)
        if constant is not None:
            return self.index(constant * factor)
        return self.wrapless("arith.muli", index, self.index(factor))

    def compare(self, predicate: str, a: ir.Value, b: ir.Value) -> ir.Value:
        return ir.Operation.create("arith.cmpi", [self.i1], [a, b], attributes={
            "predicate": ir.IntegerAttr.get(self.i64, PREDICATES[predicate])}).results[0]

    def bits(self, kind: ir.Type) -> int:
        """Bits of a scalar in memory."""
        return 8 * bytes_of_type(kind)

    def reinterpret(self, value: ir.Value, kind: ir.Type) -> ir.Value:
        """The same bits as another type of the same size."""
        return value if value.type == kind else self.create("arith.bitcast", kind, value)

    def as_index(self, value: ir.Value, depth: int = 8) -> ir.Value:
        """An integer as index; sums and products that cannot wrap are computed as indices."""
        if isinstance(value.type, ir.IndexType):
            return value
        constant = constant_of(value)
        if constant is not None:
            return self.index(constant)
        owner = value.owner
        if depth and not isinstance(owner, ir.Block):
            name = owner.name
            if name == "arith.extsi":
                return self.as_index(owner.operands[0], depth - 1)
            if name == "arith.index_cast" and not isinstance(owner.operands[0].owner, ir.Block) and (
                    owner.operands[0].owner.name in NARROW_SOURCES or value.type == self.i64):
                return owner.operands[0]
            if name in ("arith.addi", "arith.subi", "arith.muli") and (
                    value.type == self.i64 or "nsw" in str(owner.attributes["overflowFlags"])):
                a, b = (self.as_index(v, depth - 1) for v in owner.operands)
                return self.wrapless(name, a, b)
        return self.create("arith.index_cast", self.index_type, value)

    def if_else(self, condition: ir.Value, results: Sequence[ir.Type], then: Callable[[], list[ir.Value] | None],
                otherwise: Callable[[], list[ir.Value] | None] | None) -> list[ir.Value]:
        """scf.if; the callables build the branches and return their values."""
        made = ir.Operation.create("scf.if", list(results), [condition], regions=2)
        for region, build in zip(made.regions, (then, otherwise), strict=True):
            if build is not None:
                block = ir.Block.create_at_start(region, [])
                with ir.InsertionPoint(block):
                    ir.Operation.create("scf.yield", [], build() or [])
        return list(made.results)

    def count_up(self, count: ir.Value, body: Callable[[ir.Value], None]) -> None:
        """for i in range(count)."""
        made = ir.Operation.create("scf.for", [], [self.index(0), count, self.index(1)], regions=1)
        block = ir.Block.create_at_start(made.regions[0], [self.index_type], [ir.Location.current])
        with ir.InsertionPoint(block):
            body(block.arguments[0])
            ir.Operation.create("scf.yield", [], [])

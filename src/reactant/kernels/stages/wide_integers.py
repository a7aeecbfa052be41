"""Integers of 128 bits, of which counter-based random numbers and hashes are made, as pairs of 64 bits: (low, high)."""
from __future__ import annotations

from collections.abc import Callable, Iterable

from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.ir.context import building
from reactant.kernels.form.bases import constant_of
from reactant.kernels.form.build import NAMES, Builder
from reactant.kernels.form.form import kernel_of
from reactant.kernels.form.rebuild import Rewriter

WORD, WIDE = 64, 128
MASK = (1 << WORD) - 1
Pair = tuple[ir.Value, ir.Value]


def split_wide(module: ir.Module) -> ir.Module:
    """Change the module's kernel, of structured control flow, where all that is done with such integers is known here
    (divisions and conversions to floats are not: native code has functions for them); the module."""
    function = kernel_of(module)
    with building():
        wide = [op for op in modules.walk(function) if any(_wide(v) for v in (*op.operands, *op.results))]
        if wide and all(op.name in _RULES or op.regions or op.name in ("scf.yield", "scf.condition") for op in wide):
            _Splitter().function(function)
    return module


def _wide(value: ir.Value) -> bool:
    return isinstance(value.type, ir.IntegerType) and value.type.width == WIDE


class _Splitter(Rewriter, Builder):
    """`values` has the low halves of wide integers, `highs` the high ones."""

    def __init__(self) -> None:
        super().__init__()
        self.highs: dict[ir.Value, ir.Value] = {}

    def rewritten(self, op: ir.Operation) -> bool:
        if not any(_wide(v) for v in (*op.operands, *op.results)):
            return False
        if op.name in _RULES:
            found = _RULES[op.name](self, op)
            self.bind(op.results, found if isinstance(found, tuple) else (found,))
            return True
        made = ir.Operation.create(op.name, self.types(op.results), self.halves(op.operands),
                                   attributes={key: op.attributes[key] for key in op.attributes},
                                   regions=len(op.regions))
        for old, new in zip(op.regions, made.regions, strict=True):
            for block in old.blocks:
                self.block_into(block, new)
        self.bind(op.results, made.results)
        return True

    def block_into(self, block: ir.Block, region: ir.Region) -> None:
        types = self.types(block.arguments)
        new = ir.Block.create_at_start(region, types, [ir.Location.current] * len(types))
        self.bind(block.arguments, new.arguments)
        with ir.InsertionPoint(new):
            self.operations(block)

    # -- pairs

    def types(self, values: Iterable[ir.Value]) -> list[ir.Type]:
        return [kind for v in values for kind in ([self.i64] * 2 if _wide(v) else [v.type])]

    def bind(self, old: Iterable[ir.Value], new: Iterable[ir.Value]) -> None:
        parts = iter(new)
        for value in old:
            self.values[value] = next(parts)
            if _wide(value):
                self.highs[value] = next(parts)

    def halves(self, values: Iterable[ir.Value]) -> list[ir.Value]:
        return [part for v in values for part in (self.pair(v) if _wide(v) else (self.value(v),))]

    def pair(self, value: ir.Value) -> Pair:
        return self.values[value], self.highs[value]

    def pairs(self, op: ir.Operation) -> tuple[Pair, Pair]:
        first, second = op.operands
        return self.pair(first), self.pair(second)

    # -- words

    def word(self, value: int) -> ir.Value:
        value &= MASK
        return self.integer(value - (MASK + 1) if value >> (WORD - 1) else value, self.i64)

    def do(self, name: str, *words: ir.Value) -> ir.Value:
        return self.create(f"arith.{name}", words[-1].type, *words)

    def flag(self, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """A comparison as a word."""
        return self.create("arith.extui", self.i64, self.compare(name, a, b))

    def product(self, a: ir.Value, b: ir.Value, sign: str = "u") -> Pair:
        """All bits of a product of words."""
        low, high = ir.Operation.create(f"arith.mul{sign}i_extended", [self.i64, self.i64], [a, b]).results
        return low, high

    # -- operations

    def constant(self, op: ir.Operation) -> Pair:
        value = ir.IntegerAttr(op.attributes["value"]).value
        return self.word(value), self.word(value >> WORD)

    def poison(self, op: ir.Operation) -> Pair:
        low, high = (ir.Operation.create("ub.poison", [self.i64]).results[0] for _ in range(2))
        return low, high

    def extend(self, op: ir.Operation) -> Pair:
        low = self.value(op.operands[0])
        if low.type != self.i64:
            low = self.create(op.name, self.i64, low)
        return low, self.word(0) if op.name == "arith.extui" else self.do("shrsi", low, self.word(WORD - 1))

    def truncate(self, op: ir.Operation) -> ir.Value:
        low, kind = self.pair(op.operands[0])[0], op.results[0].type
        return low if kind == self.i64 else self.create("arith.trunci", kind, low)

    def bitwise(self, op: ir.Operation) -> Pair:
        (a, b), (c, d) = self.pairs(op)
        name = op.name.removeprefix("arith.")
        return self.do(name, a, c), self.do(name, b, d)

    def add(self, op: ir.Operation) -> Pair:
        (a, b), (c, d) = self.pairs(op)
        low = self.do("addi", a, c)
        return low, self.do("addi", self.do("addi", b, d), self.flag("ult", low, a))

    def subtract(self, op: ir.Operation) -> Pair:
        (a, b), (c, d) = self.pairs(op)
        return self.do("subi", a, c), self.do("subi", self.do("subi", b, d), self.flag("ult", a, c))

    def multiply(self, op: ir.Operation) -> Pair:
        (a, b), (c, d) = self.pairs(op)
        if all(not isinstance(v.owner, ir.Block) and v.owner.name == "arith.extsi" for v in op.operands):
            return self.product(a, c, "s")
        low, high = self.product(a, c)
        return low, self.do("addi", self.do("addi", high, self.do("muli", a, d)), self.do("muli", b, c))

    def shift(self, op: ir.Operation) -> Pair:
        """By words, and by the rest; the second shift of what crosses over is by one less, so that none is by 64."""
        (low, high), (by, _) = self.pairs(op)
        left = op.name == "arith.shli"
        near, far = (low, high) if left else (high, low)        # where bits come from, and where they go
        filled = self.do("shrsi", high, self.word(WORD - 1)) if op.name == "arith.shrsi" else self.word(0)
        known = constant_of(op.operands[1])
        if known == WORD:
            return (filled, near) if left else (near, filled)
        rest = self.do("andi", by, self.word(WORD - 1))
        along, back = ("shli", "shrui") if left else ("shrui", "shli")
        crossing = self.do(back, self.do(back, near, self.word(1)), self.do("subi", self.word(WORD - 1), rest))
        moved = self.do(op.name.removeprefix("arith."), near, rest)
        whole = self.compare("ne", self.do("andi", by, self.word(WORD)), self.word(0))
        far = self.do("select", whole, moved, self.do("ori", self.do(along, far, rest), crossing))
        near = self.do("select", whole, filled, moved)
        return (near, far) if left else (far, near)

    def ordered(self, name: str, first: Pair, second: Pair) -> ir.Value:
        if name in ("eq", "ne"):
            differ = self.do("ori", *(self.do("xori", a, b) for a, b in zip(first, second, strict=True)))
            return self.compare(name, differ, self.word(0))
        lows = self.compare(name.replace("s", "u", 1), first[0], second[0])
        return self.do("select", self.compare("eq", first[1], second[1]), lows,
                       self.compare(name, first[1], second[1]))

    def comparison(self, op: ir.Operation) -> ir.Value:
        return self.ordered(NAMES[ir.IntegerAttr(op.attributes["predicate"]).value], *self.pairs(op))

    def chosen(self, condition: ir.Value, first: Pair, second: Pair) -> Pair:
        return self.do("select", condition, first[0], second[0]), self.do("select", condition, first[1], second[1])

    def select(self, op: ir.Operation) -> Pair:
        condition, first, second = op.operands
        return self.chosen(self.value(condition), self.pair(first), self.pair(second))

    def extreme(self, op: ir.Operation) -> Pair:
        first, second = self.pairs(op)
        greater, sign = op.name.startswith("arith.max"), op.name[-2]
        return self.chosen(self.ordered(sign + ("gt" if greater else "lt"), first, second), first, second)

    def population(self, op: ir.Operation) -> Pair:
        low, high = self.pair(op.operands[0])
        return self.do("addi", *(self.create(op.name, self.i64, w) for w in (low, high))), self.word(0)

    def zeros(self, op: ir.Operation) -> Pair:
        """Leading or trailing."""
        low, high = self.pair(op.operands[0])
        first, then = (high, low) if op.name == "math.ctlz" else (low, high)
        beyond = self.do("addi", self.create(op.name, self.i64, then), self.word(WORD))
        return self.do("select", self.compare("eq", first, self.word(0)), beyond,
                       self.create(op.name, self.i64, first)), self.word(0)


_RULES: dict[str, Callable[[_Splitter, ir.Operation], Pair | ir.Value]] = {
    "arith.constant": _Splitter.constant, "ub.poison": _Splitter.poison, "arith.extui": _Splitter.extend,
    "arith.extsi": _Splitter.extend, "arith.trunci": _Splitter.truncate, "arith.addi": _Splitter.add,
    "arith.subi": _Splitter.subtract, "arith.muli": _Splitter.multiply, "arith.cmpi": _Splitter.comparison,
    "arith.select": _Splitter.select, "math.ctpop": _Splitter.population,
    **dict.fromkeys(("arith.andi", "arith.ori", "arith.xori"), _Splitter.bitwise),
    **dict.fromkeys(("arith.shli", "arith.shrui", "arith.shrsi"), _Splitter.shift),
    **dict.fromkeys(("arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui"), _Splitter.extreme),
    **dict.fromkeys(("math.ctlz", "math.cttz"), _Splitter.zeros)}

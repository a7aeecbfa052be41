"""Comparisons in the words of the indices: what LLVM computes twice, for the guard and for the address, once.

    i32: t = block * 16 + thread; t < n     index: load a[block * 16 + thread]

Signed comparisons of integers become comparisons of `index` where both sides are sums and products that cannot wrap.
The high half of a product in twice the width becomes `mului_extended`'s. `select(c, x, false)` becomes `and`,
`select(c, true, x)` becomes `or`; the bits of a choice between bits become the choice.
"""
from __future__ import annotations

from collections.abc import Callable

from jaxlib.mlir import ir

from reactant.ir.context import building
from reactant.kernels.form.bases import constant_of
from reactant.kernels.form.build import NAMES, NARROW_SOURCES, Builder
from reactant.kernels.form.form import kernel_of
from reactant.kernels.form.rebuild import Rewriter


def normalise_guards(module: ir.Module) -> ir.Module:
    """Change the module's kernel."""
    with building():
        Guards().function(kernel_of(module))
    return module


def _signed(value: int, iterations: int) -> int:
    """The signed number of these bits, of which there are log2(iterations)."""
    return (value + iterations // 2) % iterations - iterations // 2


class Guards(Rewriter, Builder):
    """Copies a function, comparisons and conditions written as above."""

    def rewritten(self, op: ir.Operation) -> bool:
        if op.name == "arith.cmpi":
            return self.comparison(op)
        if op.name == "arith.select" and op.results[0].type == self.i1:
            return self.condition(op)
        if op.name == "arith.bitcast":
            return self.chosen_bits(op)
        if op.name == "arith.trunci":
            return self.high_half(op)
        return False

    def high_half(self, op: ir.Operation) -> bool:
        """The high half of a product computed in twice the width: the product's own high half."""
        shifted = self.producer(self.value(op.operands[0]), "arith.shrui", "arith.shrsi")
        product = self.producer(shifted.operands[0], "arith.muli") if shifted is not None else None
        kind = op.results[0].type
        width = kind.width if isinstance(kind, ir.IntegerType) else 0
        if shifted is None or product is None or product.results[0].type.width != 2 * width \
                or constant_of(shifted.operands[1]) != width:
            return False
        for extension, name in (("arith.extui", "arith.mului_extended"), ("arith.extsi", "arith.mulsi_extended")):
            factors = [self.narrow(v, extension, kind) for v in product.operands]
            if None not in factors:
                made = ir.Operation.create(name, [kind, kind], [f() for f in factors if f is not None])
                self.values[op.results[0]] = made.results[1]
                return True
        return False

    def producer(self, value: ir.Value, *names: str) -> ir.Operation | None:
        owner = value.owner
        return owner.operation if not isinstance(owner, ir.Block) and owner.name in names else None

    def narrow(self, value: ir.Value, extension: str, kind: ir.Type) -> Callable[[], ir.Value] | None:
        """Builds the factor that was extended to twice the width; None if it was not."""
        extended = self.producer(value, extension)
        if extended is not None:
            source = extended.operands[0]
            if source.type == kind:
                return lambda: source
            return (lambda: self.create(extension, kind, source)) if source.type.width < kind.width else None
        constant, half = constant_of(value), 1 << (kind.width - 1)
        low, high = (0, 2 * half) if extension == "arith.extui" else (-half, half)
        if constant is None or not low <= constant < high:
            return None
        return lambda: self.integer(constant - 2 * half if constant >= half else constant, kind)

    def chosen_bits(self, op: ir.Operation) -> bool:
        """The bits of a choice between bits of this type: the choice itself."""
        value, kind = self.value(op.operands[0]), op.results[0].type
        owner = value.owner
        if isinstance(owner, ir.Block) or owner.name != "arith.select":
            return False
        sources = [v.owner for v in list(owner.operands)[1:]]
        if any(isinstance(s, ir.Block) or s.name != "arith.bitcast" or s.operands[0].type != kind for s in sources):
            return False
        self.values[op.results[0]] = self.create("arith.select", kind, owner.operands[0],
                                                 *(s.operands[0] for s in sources))
        return True

    def comparison(self, op: ir.Operation) -> bool:
        left, right = self.mapped(op.operands)
        name = NAMES[ir.IntegerAttr(op.attributes["predicate"]).value]
        kind = left.type
        if kind not in (self.i32, self.i64):
            return False
        if name.startswith("u"):
            return self.interval(op, name, left, right)
        sides = [self.readable(v) for v in (left, right)]
        if None in sides or not any(sides):
            return False
        self.values[op.results[0]] = self.compare(name, self.as_index(left), self.as_index(right))
        return True

    def interval(self, op: ir.Operation, name: str, left: ir.Value, right: ir.Value) -> bool:
        """`(unsigned)(t - 1021) >= -1018`, which LLVM makes of `t >= 3 && t < 1021`: two comparisons again."""
        limit, iterations = constant_of(right), 1 << left.type.width
        if limit is None:
            return False
        first, last = {"ult": (0, limit), "ule": (0, limit + 1), "uge": (limit, 0), "ugt": (limit + 1, 0)}[name]
        length = (last - first) % iterations
        added = self.producer(left, "arith.addi")
        number = constant_of(added.operands[1]) if added is not None else None
        if added is not None and number is not None:
            left, first = added.operands[0], first - number
        if not self.readable(left) or not length:
            return False
        inside = _signed(first, iterations)
        outside, x = _signed(first + length, iterations), self.as_index(left)
        if inside + length <= iterations // 2:
            sides = self.compare("sge", x, self.index(inside)), self.compare("slt", x, self.index(inside + length))
            self.values[op.results[0]] = self.create("arith.andi", self.i1, *sides)
            return True
        if outside + iterations - length <= iterations // 2:
            sides = self.compare("slt", x, self.index(outside)), self.compare(
                "sge", x, self.index(outside + iterations - length))
            self.values[op.results[0]] = self.create("arith.ori", self.i1, *sides)
            return True
        return False

    def readable(self, value: ir.Value, depth: int = 8) -> bool | None:
        """Whether an integer is an index in disguise: True; a constant or a value of its own: False; else None."""
        if constant_of(value) is not None:
            return False
        owner = value.owner
        if isinstance(owner, ir.Block):
            return False
        if owner.name == "arith.index_cast":
            source = owner.operands[0]
            known = isinstance(source.owner, ir.Block) or source.owner.name in NARROW_SOURCES
            return True if value.type == self.i64 or known else False
        if owner.name == "arith.extsi" and depth:
            return self.readable(owner.operands[0], depth - 1)
        if owner.name in ("arith.addi", "arith.subi", "arith.muli") and depth:
            if value.type != self.i64 and "nsw" not in str(owner.attributes["overflowFlags"]):
                return False
            if "nsw" not in str(owner.attributes["overflowFlags"]):
                return False
            return any([self.readable(v, depth - 1) for v in owner.operands])
        return False

    def condition(self, op: ir.Operation) -> bool:
        condition, yes, no = self.mapped(op.operands)
        if constant_of(no) == 0:
            self.values[op.results[0]] = self.create("arith.andi", self.i1, condition, yes)
        elif constant_of(yes) in (1, -1):
            self.values[op.results[0]] = self.create("arith.ori", self.i1, condition, no)
        else:
            return False
        return True

"""Integers of 2 to 127 bits that no machine has, which LLVM makes of masks, shifts and sums of series, as numbers of
the next width that there is: their own bits, zeros above."""
from __future__ import annotations

from collections.abc import Callable, Iterator

from jaxlib.mlir import ir

from reactant.ir.context import building
from reactant.kernels.form.build import Builder

PLAIN = (1, 8, 16, 32, 64, 128)
_WRAPPING = frozenset(("arith.addi", "arith.subi", "arith.muli", "arith.shli"))
_UNSIGNED = frozenset(("arith.andi", "arith.ori", "arith.xori", "arith.shrui", "arith.divui", "arith.remui",
                       "arith.minui", "arith.maxui", "arith.select", "math.ctpop"))
_SIGNED = frozenset(("arith.shrsi", "arith.divsi", "arith.remsi", "arith.minsi", "arith.maxsi", "math.absi"))
_FIRST_UNSIGNED = 6
"""Predicates of arith.cmpi from which on they are unsigned; the first two are eq and ne."""


def widen_odd(module: ir.Module) -> ir.Module:
    """Change the module, where all that is done with such integers has a meaning here; the module."""
    operations = list(_operations(module.operation))
    odd = [op for op in operations if any(_odd(v.type) for v in (*op.operands, *op.results))]
    if odd and all(_known(op) for op in odd):
        with building():
            widener = _Widener()
            for op in operations:
                for block in (b for r in op.regions for b in r.blocks):
                    for argument in block.arguments:
                        widener.argument(argument)
            for op in odd:
                with ir.InsertionPoint(op), op.location:
                    widener.operation(op)
            for op in reversed(odd):
                if op.results:
                    op.erase()
    return module


def _operations(op: ir.Operation) -> Iterator[ir.Operation]:
    yield op
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _operations(inner.operation)


def _odd(type_: ir.Type) -> bool:
    return isinstance(type_, ir.IntegerType) and type_.width not in PLAIN and type_.width < PLAIN[-1]


def _known(op: ir.Operation) -> bool:
    return op.name in _RULES or op.name in _WRAPPING | _UNSIGNED | _SIGNED


def _container(type_: ir.Type) -> ir.Type:
    """The type that holds a type."""
    return ir.IntegerType.get_signless(next(w for w in PLAIN[1:] if w > type_.width)) if _odd(type_) else type_


class _Widener:
    def __init__(self) -> None:
        self.builder = Builder()
        self.widths: dict[ir.Value, int] = {}       # of values that hold fewer bits than their type
        self.new: dict[ir.Value, ir.Value] = {}

    def argument(self, argument: ir.Value) -> None:
        if _odd(argument.type):
            self.widths[argument] = argument.type.width
            argument.set_type(_container(argument.type))

    def operation(self, op: ir.Operation) -> None:
        if not op.results:      # a branch
            for number, value in enumerate(op.operands):
                op.operands[number] = self.held(value)
            return
        rule = _RULES.get(op.name, _Widener.plainly)
        result = rule(self, op)
        if _odd(op.results[0].type):
            self.new[op.results[0]] = result
        else:
            op.results[0].replace_all_uses_with(result)

    # -- values

    def held(self, value: ir.Value) -> ir.Value:
        return self.new.get(value, value)

    def width(self, value: ir.Value) -> int:
        return self.widths.get(value, value.type.width)

    def masked(self, value: ir.Value, width: int) -> ir.Value:
        """The low bits."""
        if width == value.type.width:
            return value
        return self.builder.create("arith.andi", value.type, value, self.builder.integer((1 << width) - 1, value.type))

    def signed(self, value: ir.Value) -> ir.Value:
        """With the sign above."""
        held = self.held(value)
        left = held.type.width - self.width(value)
        if not left:
            return held
        amount = self.builder.integer(left, held.type)
        return self.builder.create("arith.shrsi", held.type, self.builder.create("arith.shli", held.type, held, amount),
                                   amount)

    def resized(self, value: ir.Value, kind: ir.Type, longer: str = "arith.extui") -> ir.Value:
        if value.type == kind:
            return value
        return self.builder.create(longer if kind.width > value.type.width else "arith.trunci", kind, value)

    # -- operations

    def plainly(self, op: ir.Operation) -> ir.Value:
        """The same operation of the wider type; flags about wrapping do not hold there."""
        result = op.results[0].type
        kind, take = _container(result), self.signed if op.name in _SIGNED else self.held
        made = ir.Operation.create(op.name, [kind], [take(v) for v in op.operands]).results[0]
        return made if op.name in _UNSIGNED or not _odd(result) else self.masked(made, result.width)

    def constant(self, op: ir.Operation) -> ir.Value:
        kind = op.results[0].type
        return self.builder.integer(ir.IntegerAttr(op.attributes["value"]).value % (1 << kind.width), _container(kind))

    def poison(self, op: ir.Operation) -> ir.Value:
        return self.builder.integer(0, _container(op.results[0].type))

    def compare(self, op: ir.Operation) -> ir.Value:
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        take = self.signed if 2 <= predicate < _FIRST_UNSIGNED else self.held
        return ir.Operation.create("arith.cmpi", [self.builder.i1], [take(v) for v in op.operands], attributes={
            "predicate": op.attributes["predicate"]}).results[0]

    def extend(self, op: ir.Operation) -> ir.Value:
        kind = op.results[0].type
        if op.name == "arith.extui":
            return self.resized(self.held(op.operands[0]), _container(kind))
        made = self.resized(self.signed(op.operands[0]), _container(kind), "arith.extsi")
        return self.masked(made, kind.width)

    def truncate(self, op: ir.Operation) -> ir.Value:
        kind = op.results[0].type
        return self.masked(self.resized(self.held(op.operands[0]), _container(kind)), kind.width)

    def convert(self, op: ir.Operation) -> ir.Value:
        """To and from floats and indices."""
        source, kind = op.operands[0], op.results[0].type
        taken = source if not _odd(source.type) and source not in self.widths else (
            self.signed(source) if op.name in ("arith.sitofp", "arith.index_cast") else self.held(source))
        made = self.builder.create(op.name, _container(kind), taken)
        return self.masked(made, kind.width) if _odd(kind) else made

    def zeros(self, op: ir.Operation) -> ir.Value:
        """Leading or trailing zeros."""
        held, width = self.held(op.operands[0]), self.width(op.operands[0])
        found = self.builder.create(op.name, held.type, held)
        if op.name == "math.ctlz":
            return self.builder.create("arith.subi", held.type, found,
                                       self.builder.integer(held.type.width - width, held.type))
        return self.builder.create("arith.minui", held.type, found, self.builder.integer(width, held.type))


_RULES: dict[str, Callable[[_Widener, ir.Operation], ir.Value]] = {
    "arith.constant": _Widener.constant, "ub.poison": _Widener.poison, "arith.cmpi": _Widener.compare,
    "arith.extui": _Widener.extend, "arith.extsi": _Widener.extend, "arith.trunci": _Widener.truncate,
    "math.ctlz": _Widener.zeros, "math.cttz": _Widener.zeros, "cf.br": _Widener.plainly,
    "cf.cond_br": _Widener.plainly, **dict.fromkeys((
        "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui", "arith.index_cast", "arith.index_castui"),
        _Widener.convert)}

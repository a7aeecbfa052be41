"""Values that are compared with something made of all of them, such as their least one, are computed once.

XLA computes a cheap producer again in each of its consumers, and LLVM contracts products and sums as it finds them: of
`x == min(x)`, the x of the reduction and that of the comparison may then differ in the last place, and no element is
the least one. (The argmin of 1,024 stacked numbers was "none", 2147483647: jax 0.10.2.) Where the value may differ, a
barrier makes it one array that both read.
"""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.ir import modules, ops
from reactant.ir.types import dtype_of

CONCERNED = (b"compare",)
"""What the bytecode of a module that `kept` may change has in it."""
SEEN_THROUGH = frozenset(f"stablehlo.{name}" for name in (
    "reshape", "transpose", "broadcast_in_dim", "slice", "convert", "reverse"))
COMBINES = frozenset(f"stablehlo.{name}" for name in (
    "reduce", "reduce_window", "sort", "while", "if", "case", "custom_call", "gather", "dynamic_slice", "dot_general"))
"""Ops that XLA computes apart from an elementwise consumer of their operands."""
APART = COMBINES | {"stablehlo.constant", "stablehlo.optimization_barrier", "stablehlo.convolution", "stablehlo.fft"}
"""Ops whose results are arrays that are there when a consumer runs."""
ROUNDED_ONCE = frozenset(f"stablehlo.{name}" for name in (
    "add", "subtract", "multiply", "divide", "negate", "abs", "maximum", "minimum", "clamp", "select", "convert",
    "sqrt", "floor", "ceil", "round_nearest_afz", "round_nearest_even", "sign", "compare", "and", "or", "xor", "not",
    "iota", "pad", "concatenate", "dynamic_update_slice", "real", "imag", "complex", "is_finite", "bitcast_convert",
    "reduce_precision", "remainder")) | SEEN_THROUGH
"""Ops with one result, however they are compiled; but a sum of products may be rounded once or twice."""
FAR = 300
"""Values that are looked at; what is beyond counts as reached."""


def kept(module: ir.Module) -> ir.Module:
    """The module, or a copy of it with those barriers."""
    found = set()
    for op in modules.walk(module):
        if op.name == "stablehlo.compare" and dtype_of(op.operands[0]).kind in "fc":
            for value, other in (op.operands, reversed(op.operands)):
                source = _source(value)
                if source not in found and _may_differ(source) and _is_of_all(other, source):
                    found.add(source)
    if not found:
        return module
    places = [(number, index) for number, op in enumerate(modules.walk(module))
              for index, result in enumerate(op.results) if result in found]
    made = modules.clone(module)
    there = list(modules.walk(made))
    for op, index in [(there[number], index) for number, index in places]:
        value = op.results[index]
        with ir.InsertionPoint.after(op), op.location:
            barrier = ops.optimization_barrier(value)[0]
        value.replace_all_uses_except(barrier, barrier.owner.operation)
    return made


def _source(value: ir.Value) -> ir.Value:
    """What a value shows the elements of."""
    while (made := ops.maker(value)) is not None and made.name in SEEN_THROUGH:
        value = made.operands[0]
    return value


def _may_differ(value: ir.Value) -> bool:
    """Whether computing a value twice may give two results."""
    waiting, seen = [value], {value}
    while waiting:
        made = ops.maker(waiting.pop())
        if made is None or made.name in APART:
            continue
        if made.name not in ROUNDED_ONCE or len(seen) > FAR:
            return True
        if made.name in ("stablehlo.add", "stablehlo.subtract") and dtype_of(made.results[0]).kind in "fc" and any(
                _is_product(operand) for operand in made.operands):
            return True
        waiting += [operand for operand in made.operands if operand not in seen]
        seen.update(made.operands)
    return False


def _is_product(value: ir.Value) -> bool:
    made = ops.maker(_source(value))
    return made is not None and made.name == "stablehlo.multiply"


def _is_of_all(value: ir.Value, source: ir.Value) -> bool:
    """Whether a value is made of `source` by an op that XLA computes apart."""
    waiting, seen = [(value, False)], {(value, False)}
    while waiting:
        at, apart = waiting.pop()
        if at == source:
            if apart:
                return True
            continue
        made = ops.maker(at)
        if made is None:
            continue
        if len(seen) > FAR:
            return True
        apart = apart or made.name in COMBINES
        for operand in made.operands:
            if (operand, apart) not in seen:
                seen.add((operand, apart))
                waiting.append((operand, apart))
    return False

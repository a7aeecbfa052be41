"""`math`: what the processor has is used directly, the rest are routines (`elementary`, `inverses`, `remainders`,
`special`)."""
from __future__ import annotations

from jaxlib.mlir import ir

from reactant.native import elementary, inverses, layout, reals, remainders, special  # noqa: F401 - the routines
from reactant.native.arithmetic import SUFFIX, flags_of, narrowed, widened
from reactant.native.emission import Function, emits

_INTRINSICS = {"sqrt": "sqrt", "absf": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "round",
               "roundeven": "roundeven", "copysign": "copysign", "fma": "fma"}


def evaluate(f: Function, name: str, llvm_type: str, operands: list[str], flags: str = "") -> str:
    """A function of floats or doubles."""
    arguments = [(llvm_type, o) for o in operands]
    if name in reals.ROUTINES:
        return reals.call(f, name, llvm_type, operands)
    if name in _INTRINSICS:
        return f.intrinsic(f"llvm.{_INTRINSICS[name]}.{SUFFIX[llvm_type]}", llvm_type, arguments, flags)
    root = f.intrinsic(f"llvm.sqrt.{SUFFIX[llvm_type]}", llvm_type, arguments, flags)     # rsqrt
    return f.let(f"fdiv {flags}{llvm_type} 1.0, {root}")


@emits(*(f"math.{name}" for name in {*_INTRINSICS, *reals.ROUTINES, "rsqrt"}))
def emit_math(f: Function, op: ir.Operation) -> None:
    type_ = op.results[0].type
    wide, name = "", op.name[5:]
    operands = []
    for value in op.operands:
        wide, operand = widened(f, f.one(value), type_)
        operands.append(operand)
    if name == "fma" and wide == "float" and str(type_) != "f32":
        # the product of two halves is exact in a double, the sum of three nearly: one rounding that counts
        operands = [f.let(f"fpext float {o} to double") for o in operands]
        wide = "double"
    f.define(op.results[0], narrowed(f, evaluate(f, name, wide, operands, flags_of(f, op)), wide, type_))


@emits("math.sincos")
def emit_sine_and_cosine(f: Function, op: ir.Operation) -> None:
    type_ = op.operands[0].type
    wide, operand = widened(f, f.one(op.operands[0]), type_)
    for result, name in zip(op.results, ("sin", "cos"), strict=True):
        f.define(result, narrowed(f, evaluate(f, name, wide, [operand]), wide, type_))


@emits("math.clampf")
def emit_clamp(f: Function, op: ir.Operation) -> None:
    type_ = op.results[0].type
    (wide, x), (_, low), (_, high) = (widened(f, f.one(v), type_) for v in op.operands)
    raised = f.intrinsic(f"llvm.maximum.{SUFFIX[wide]}", wide, [(wide, x), (wide, low)])
    clamped = f.intrinsic(f"llvm.minimum.{SUFFIX[wide]}", wide, [(wide, raised), (wide, high)])
    f.define(op.results[0], narrowed(f, clamped, wide, type_))


# -- classes of floats: llvm.is.fpclass masks

_CLASSES = {"math.isnan": 3, "math.isinf": 516, "math.isfinite": 504, "math.isnormal": 264}


@emits(*_CLASSES)
def emit_class(f: Function, op: ir.Operation) -> None:
    wide, operand = widened(f, f.one(op.operands[0]), op.operands[0].type)
    mask = _CLASSES[op.name]
    if op.name == "math.isnormal" and str(op.operands[0].type) == "f16":
        size = f.intrinsic("llvm.fabs.f32", "float", [("float", operand)])
        least = f.let(f"fcmp oge float {size}, 0x3F10000000000000")
        f.define(op.results[0], f.let(f"and i1 {least}, {f.let(f'fcmp one float {size}, 0x7FF0000000000000')}"))
        return
    f.define(op.results[0], f.intrinsic(f"llvm.is.fpclass.{SUFFIX[wide]}", "i1", [(wide, operand), ("i32", str(mask))]))


# -- integers

_COUNTS = {"math.ctpop": "ctpop", "math.ctlz": "ctlz", "math.cttz": "cttz", "math.absi": "abs"}


@emits(*_COUNTS)
def emit_integer_function(f: Function, op: ir.Operation) -> None:
    type_ = layout.scalar(op.results[0].type)
    arguments = [(type_, f.one(op.operands[0]))] + ([] if op.name == "math.ctpop" else [("i1", "false")])
    f.define(op.results[0], f.intrinsic(f"llvm.{_COUNTS[op.name]}.{type_}", type_, arguments))


@emits("math.fpowi", "math.ipowi")
def emit_integer_power(f: Function, op: ir.Operation) -> None:
    """x**n by squaring; x**-n = 1 / x**n (for integers: 0 unless x is 1 or -1)."""
    type_, exponent_type = op.results[0].type, layout.scalar(op.operands[1].type)
    exponent = f.one(op.operands[1])
    is_float = op.name == "math.fpowi"
    kind, base = widened(f, f.one(op.operands[0]), type_) if is_float else (layout.scalar(type_), f.one(op.operands[0]))
    one, times = ("1.0", "fmul") if is_float else ("1", "mul")
    negative = f.let(f"icmp slt {exponent_type} {exponent}, 0")
    size = f.intrinsic(f"llvm.abs.{exponent_type}", exponent_type, [(exponent_type, exponent), ("i1", "false")])
    head, body, after, first = f.fresh("power"), f.fresh("square"), f.fresh("powered"), f.block
    rest, square, made = ("%" + f.fresh("p") for _ in range(3))
    f.branch(head)
    f.start(head)
    slots = [f.reserve() for _ in range(3)]
    f.branch_if(f.let(f"icmp ne {exponent_type} {rest}, 0"), body, after)
    f.start(body)
    bit = f.let(f"trunc {exponent_type} {rest} to i1")
    factor = f.let(f"select i1 {bit}, {kind} {square}, {kind} {one}")
    new_made, new_square = f.let(f"{times} {kind} {made}, {factor}"), f.let(f"{times} {kind} {square}, {square}")
    new_rest = f.let(f"lshr {exponent_type} {rest}, 1")
    for slot, name, t, start, new in zip(slots, (rest, square, made), (exponent_type, kind, kind), (size, base, one),
                                         (new_rest, new_square, new_made), strict=True):
        f.body[slot] = f"  {name} = phi {t} [{start}, %{first}], [{new}, %{body}]"
    f.branch(head)
    f.start(after)
    if is_float:
        inverse = f.let(f"fdiv {kind} 1.0, {made}")
        chosen = f.let(f"select i1 {negative}, {kind} {inverse}, {kind} {made}")
        f.define(op.results[0], narrowed(f, chosen, kind, type_))
        return
    unit = f.let(f"icmp eq {kind} {f.intrinsic(f'llvm.abs.{kind}', kind, [(kind, base), ('i1', 'false')])}, 1")
    vanishes = f.let(f"and i1 {negative}, {f.let(f'xor i1 {unit}, true')}")
    f.define(op.results[0], f.let(f"select i1 {vanishes}, {kind} 0, {kind} {made}"))

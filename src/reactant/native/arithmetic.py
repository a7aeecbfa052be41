"""`arith`: integers, floats, comparisons, conversions.

Half-precision numbers are computed in single precision and rounded after every op, which gives the correctly rounded
result of + - * / and sqrt (24 bits >= 2 * 11 + 2). Integer division is total, as XLA defines it: x/0 = -1, x%0 = x,
and the smallest number over -1 wraps; so are shifts. Conversions to integers clamp; NaN becomes 0.
"""
from __future__ import annotations

import math

import numpy as np
from jaxlib.mlir import ir

from reactant.native import layout, reals
from reactant.native.emission import Function, emits
from reactant.native.refusals import refused

# -- floats in registers


def widened(f: Function, operand: str, type_: ir.Type) -> tuple[str, str]:
    """A float in the LLVM type it is computed in: (type, operand)."""
    kind = str(type_)
    if kind == "bf16":
        bits = f.let(f"shl i32 {f.let(f'zext i16 {operand} to i32')}, 16")
        return "float", f.let(f"bitcast i32 {bits} to float")
    if kind == "f16":
        return "float", f.let(f"fpext half {operand} to float")
    return layout.scalar(type_), operand


def narrowed(f: Function, operand: str, llvm_type: str, type_: ir.Type) -> str:
    """Round a float or double to the type it is stored in."""
    kind, have = str(type_), llvm_type
    want = {"bf16": "i16", "f16": "half"}.get(kind) or layout.scalar(type_)
    if have == want:
        return operand
    if kind == "bf16" and have == "double":
        return _bfloat_bits_of_double(f, operand)
    if kind == "f16" and have == "double":
        operand, have = _rounded_to_odd(f, operand), "float"
    if kind == "f16":
        return f.let(f"fptrunc float {operand} to half")
    if kind == "bf16":
        return _bfloat_bits(f, operand)
    return f.let(f"{'fptrunc' if have == 'double' else 'fpext'} {have} {operand} to {want}")


def _rounded_to_odd(f: Function, operand: str) -> str:
    """double -> float such that rounding once more is rounding once (Boldo and Melquiond 2008): inexact results get an
    odd last bit."""
    single = f.let(f"fptrunc double {operand} to float")
    back = f.let(f"fpext float {single} to double")
    inexact = f.let(f"fcmp one double {back}, {operand}")
    size, own = (f.intrinsic("llvm.fabs.f64", "double", [("double", x)]) for x in (back, operand))
    above = f.let(f"fcmp ogt double {size}, {own}")
    bits = f.let(f"bitcast float {single} to i32")
    lower = f.let(f"sub i32 {bits}, {f.let(f'zext i1 {above} to i32')}")
    odd = f.let(f"or i32 {lower}, 1")
    return f.let(f"bitcast i32 {f.let(f'select i1 {inexact}, i32 {odd}, i32 {bits}')} to float")


def _bfloat_bits(f: Function, operand: str) -> str:
    """float -> the bits of the nearest bfloat16, ties to even; NaN stays NaN."""
    bits = f.let(f"bitcast float {operand} to i32")
    last = f.let(f"and i32 {f.let(f'lshr i32 {bits}, 16')}, 1")
    rounded = f.let(f"add i32 {bits}, {f.let(f'add i32 {last}, 32767')}")
    quiet = f.let(f"or i32 {bits}, 4194304")
    is_nan = f.let(f"fcmp uno float {operand}, {operand}")
    chosen = f.let(f"select i1 {is_nan}, i32 {quiet}, i32 {rounded}")
    return f.let(f"trunc i32 {f.let(f'lshr i32 {chosen}, 16')} to i16")


def _bfloat_bits_of_double(f: Function, operand: str) -> str:
    """double -> the bits of the nearest bfloat16. Float has numbers below the normal ones for the same exponents, which
    may count as zero where the code runs: those are rounded to whole multiples of the least one."""
    bits = f.let(f"bitcast double {operand} to i64")
    size = f.let(f"and i64 {bits}, 9223372036854775807")
    last = f.let(f"and i64 {f.let(f'lshr i64 {size}, 45')}, 1")
    up = f.let(f"add i64 {size}, {f.let(f'add i64 {last}, 17592186044415')}")
    moved = f.let(f"sub i64 {f.let(f'lshr i64 {up}, 45')}, {(1023 - 127) << 7}")
    usual = f.intrinsic("llvm.umin.i64", "i64", [("i64", moved), ("i64", "32640")])
    small = f.let(f"icmp ult i64 {size}, {(1023 - 126) << 52}")
    own = f.intrinsic("llvm.fabs.f64", "double", [("double", operand)])
    near_zero = f.let(f"select i1 {small}, double {own}, double 0.0")
    steps = f.intrinsic("llvm.roundeven.f64", "double", [("double", f.let(
        f"fmul double {near_zero}, {float(2 ** 133):.1f}"))])
    chosen = f.let(f"select i1 {small}, i64 {f.let(f'fptosi double {steps} to i64')}, i64 {usual}")
    is_nan = f.let(f"fcmp uno double {operand}, {operand}")
    found = f.let(f"select i1 {is_nan}, i64 32704, i64 {chosen}")
    sign = f.let(f"and i64 {f.let(f'lshr i64 {bits}, 48')}, 32768")
    return f.let(f"trunc i64 {f.let(f'or i64 {found}, {sign}')} to i16")


def flags_of(f: Function, op: ir.Operation) -> str:
    """Fast-math flags: those the op has, and those the caller's settings allow."""
    flags = set()
    if "fastmath" in op.attributes:
        text = str(op.attributes["fastmath"])
        flags = set(text[text.index("<") + 1:text.rindex(">")].replace(" ", "").split(",")) - {"none"}
    if f.module.settings.contract:
        flags.add("contract")
    if f.module.settings.reassociate:
        flags.add("reassoc")
    return "".join(flag + " " for flag in sorted(flags))


def constant_text(value: object, type_: ir.Type) -> str:
    """A number of an MLIR type as LLVM text, for a register."""
    kind = str(type_)
    if kind in ("f64", "f32"):
        return _float_bits(value, kind)
    if kind == "f16":
        return f"0xH{int(np.float16(value).view(np.uint16)):04X}"
    if kind == "bf16":
        return str(int(np.asarray(value, layout.dtype_of(type_)).view(np.uint16)))
    if kind == "i1":
        return "true" if value else "false"
    return str(int(value))  # type: ignore[call-overload]


def _float_bits(value: object, kind: str) -> str:
    if kind == "f64":
        return f"0x{int(np.float64(value).view(np.uint64)):016X}"
    return f"0x{int(np.float64(np.float32(value)).view(np.uint64)):016X}"


@emits("arith.constant")
def emit_constant(f: Function, op: ir.Operation) -> None:
    value, type_ = op.attributes["value"], op.results[0].type
    if isinstance(value, ir.IntegerAttr | ir.BoolAttr):
        number = value.value
        f.define(op.results[0], ("true" if number else "false") if str(type_) == "i1" else str(number))
    elif isinstance(value, ir.FloatAttr):
        f.define(op.results[0], _nan_text(value, type_) or constant_text(value.value, type_))
    else:
        raise refused(f"has no constant {value}", op)


def _nan_text(value: ir.FloatAttr, type_: ir.Type) -> str | None:
    """A NaN's own bits, which Python's floats would make quiet; None for numbers."""
    kind, text = str(type_), str(value).split(" ")[0]
    if not text.startswith("0x") or value.value == value.value:
        return None
    bits = int(text, 16)
    if kind == "bf16":
        return str(bits)
    return f"0xH{bits:04X}" if kind == "f16" else f"0x{bits if kind == 'f64' else _widened_nan(bits):016X}"


def _widened_nan(bits: int) -> int:
    return (bits >> 31) << 63 | 2047 << 52 | (bits & 0x7FFFFF) << 29


@emits("complex.constant")
def emit_complex_constant(f: Function, op: ir.Operation) -> None:
    type_ = ir.ComplexType(op.results[0].type).element_type
    f.define(op.results[0], *(constant_text(ir.FloatAttr(a).value, type_) for a in op.attributes["value"]))


@emits("ub.poison")
def emit_poison(f: Function, op: ir.Operation) -> None:
    f.define(op.results[0], *("zeroinitializer" if t == "ptr" else "0" if t.startswith("i") and t != "i1"
                              else "false" if t == "i1" else "0.0" if t != "half" else "0xH0000"
                              for t in layout.parts(op.results[0].type)))


# -- arithmetic

_FLOAT_BINARY = {"arith.addf": "fadd", "arith.subf": "fsub", "arith.mulf": "fmul", "arith.divf": "fdiv"}
_FLOAT_CHOICE = {"arith.maximumf": "maximum", "arith.minimumf": "minimum", "arith.maxnumf": "maxnum",
                 "arith.minnumf": "minnum"}
"""In all of them -0 is below 0."""
_INTEGER_BINARY = {"arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul", "arith.andi": "and",
                   "arith.ori": "or", "arith.xori": "xor"}
_SHIFTS = {"arith.shli": "shl", "arith.shrsi": "ashr", "arith.shrui": "lshr"}
_INTEGER_CHOICE = {"arith.maxsi": "smax", "arith.minsi": "smin", "arith.maxui": "umax", "arith.minui": "umin"}
SUFFIX = {"double": "f64", "float": "f32"}


@emits(*_FLOAT_BINARY)
def emit_float_binary(f: Function, op: ir.Operation) -> None:
    type_ = op.results[0].type
    (wide, a), (_, b) = (widened(f, f.one(v), type_) for v in op.operands)
    made = f.let(f"{_FLOAT_BINARY[op.name]} {flags_of(f, op)}{wide} {a}, {b}")
    f.define(op.results[0], narrowed(f, made, wide, type_))


@emits("arith.remf")
def emit_remainder(f: Function, op: ir.Operation) -> None:
    type_ = op.results[0].type
    (wide, a), (_, b) = (widened(f, f.one(v), type_) for v in op.operands)
    f.define(op.results[0], narrowed(f, reals.call(f, "fmod", wide, [a, b]), wide, type_))


@emits(*_FLOAT_CHOICE)
def emit_float_choice(f: Function, op: ir.Operation) -> None:
    type_ = op.results[0].type
    (wide, a), (_, b) = (widened(f, f.one(v), type_) for v in op.operands)
    kind = _FLOAT_CHOICE[op.name]
    if kind in ("maxnum", "minnum"):
        made = extreme_number(f, kind, wide, a, b, _known(op.operands[1]))
    else:
        made = f.intrinsic(f"llvm.{kind}.{SUFFIX[wide]}", wide, [(wide, a), (wide, b)], flags_of(f, op))
    f.define(op.results[0], narrowed(f, made, wide, type_))


def _known(value: ir.Value) -> float | None:
    owner = value.owner
    known = not isinstance(owner, ir.Block) and owner.name == "arith.constant"
    return float(ir.FloatAttr(owner.attributes["value"]).value) if known else None


def extreme_number(f: Function, kind: str, wide: str, a: str, b: str, known: float | None = None) -> str:
    """"maxnum" or "minnum": the one that is a number, or the extreme of two; `known` is b, if that is a constant.

    By comparing, since LLVM's own leave the sign of zeros open, and LLVM 22 ends the process over strided reductions by
    them (two of its cost models disagree)."""
    test, both, bits = ("ogt", "and", 0.0) if kind == "maxnum" else ("olt", "or", -0.0)
    beyond = f.let(f"fcmp {test} {wide} {a}, {b}")
    made = f.let(f"select i1 {beyond}, {wide} {a}, {wide} {b}")
    if known is not None and not math.isnan(known) and (known or math.copysign(1, known) == math.copysign(1, bits)):
        return made
    missing = f.let(f"fcmp uno {wide} {b}, {b}")
    made = f.let(f"select i1 {missing}, {wide} {a}, {wide} {made}")
    integer = "i64" if wide == "double" else "i32"
    left, right = (f.let(f"bitcast {wide} {v} to {integer}") for v in (a, b))
    common = f.let(f"bitcast {integer} {f.let(f'{both} {integer} {left}, {right}')} to {wide}")
    return f.let(f"select i1 {f.let(f'fcmp oeq {wide} {a}, {b}')}, {wide} {common}, {wide} {made}")


@emits("arith.negf")
def emit_negate(f: Function, op: ir.Operation) -> None:
    type_ = op.results[0].type
    if str(type_) == "bf16":
        f.define(op.results[0], f.let(f"xor i16 {f.one(op.operands[0])}, -32768"))
    else:
        f.define(op.results[0], f.let(f"fneg {flags_of(f, op)}{layout.scalar(type_)} {f.one(op.operands[0])}"))


def _overflow(op: ir.Operation) -> str:
    text = str(op.attributes["overflowFlags"]) if "overflowFlags" in op.attributes else ""
    return " ".join(flag for flag in ("nuw", "nsw") if flag in text) + " " if "nuw" in text or "nsw" in text else ""


@emits(*_INTEGER_BINARY)
def emit_integer_binary(f: Function, op: ir.Operation) -> None:
    type_ = layout.scalar(op.results[0].type)
    a, b = (f.one(v) for v in op.operands)
    f.define(op.results[0], f.let(f"{_INTEGER_BINARY[op.name]} {_overflow(op)}{type_} {a}, {b}"))


@emits(*_SHIFTS)
def emit_shift(f: Function, op: ir.Operation) -> None:
    """Shifts by the width or more push every bit out: 0, or the sign."""
    type_, how = layout.scalar(op.results[0].type), _SHIFTS[op.name]
    a, b = (f.one(v) for v in op.operands)
    width = int(type_[1:])
    known = _number(b)
    if known is not None and 0 <= known < width:
        f.define(op.results[0], f.let(f"{how} {_overflow(op)}{type_} {a}, {b}"))
        return
    inside = f.let(f"icmp ult {type_} {b}, {width}") if width > 1 else f.let(f"xor i1 {b}, true")
    if how == "ashr":
        by = f.let(f"select i1 {inside}, {type_} {b}, {type_} {width - 1 if width > 1 else 'false'}")
        f.define(op.results[0], f.let(f"ashr {type_} {a}, {by}"))
        return
    made = f.let(f"{how} {type_} {a}, {b}")
    zero = "0" if width > 1 else "false"
    f.define(op.results[0], f.let(f"select i1 {inside}, {type_} {made}, {type_} {zero}"))


@emits(*_INTEGER_CHOICE)
def emit_integer_choice(f: Function, op: ir.Operation) -> None:
    type_ = layout.scalar(op.results[0].type)
    f.define(op.results[0], f.intrinsic(f"llvm.{_INTEGER_CHOICE[op.name]}.{type_}", type_,
                                        [(type_, f.one(v)) for v in op.operands]))


# -- division

def _number(operand: str) -> int | None:
    return int(operand) if operand.lstrip("-").isdigit() else None


def divide(f: Function, kind: str, type_: str, a: str, b: str) -> str:
    """`sdiv`, `udiv`, `srem` or `urem` for all operands; the processor would trap."""
    known = _number(b)
    if known not in (None, 0, -1):
        return f.let(f"{kind} {type_} {a}, {b}")
    zero = f.let(f"icmp eq {type_} {b}, 0")
    trouble = zero
    if kind[0] == "s":
        least = f.let(f"icmp eq {type_} {a}, {-(1 << (int(type_[1:]) - 1))}")
        both = f.let(f"and i1 {least}, {f.let(f'icmp eq {type_} {b}, -1')}")
        trouble = f.let(f"or i1 {zero}, {both}")
    safe = f.let(f"select i1 {trouble}, {type_} 1, {type_} {b}")
    made = f.let(f"{kind} {type_} {a}, {safe}")
    return f.let(f"select i1 {zero}, {type_} {'-1' if kind.endswith('div') else a}, {type_} {made}")


_DIVISIONS = {"arith.divsi": "sdiv", "arith.divui": "udiv", "arith.remsi": "srem", "arith.remui": "urem"}


@emits(*_DIVISIONS)
def emit_division(f: Function, op: ir.Operation) -> None:
    a, b = (f.one(v) for v in op.operands)
    f.define(op.results[0], divide(f, _DIVISIONS[op.name], layout.scalar(op.results[0].type), a, b))


@emits("arith.floordivsi", "arith.ceildivsi", "arith.ceildivui")
def emit_rounded_division(f: Function, op: ir.Operation) -> None:
    """The quotient toward zero, moved by one where the rest is not zero and its sign says so."""
    type_ = layout.scalar(op.results[0].type)
    a, b = (f.one(v) for v in op.operands)
    kind = "u" if op.name.endswith("ui") else "s"
    quotient = divide(f, f"{kind}div", type_, a, b)
    rest = f.let(f"sub {type_} {a}, {f.let(f'mul {type_} {quotient}, {b}')}")
    move = f.let(f"icmp ne {type_} {rest}, 0")
    if kind == "s":
        opposite = f.let(f"icmp slt {type_} {f.let(f'xor {type_} {rest}, {b}')}, 0")
        if op.name == "arith.ceildivsi":
            opposite = f.let(f"xor i1 {opposite}, true")
        move = f.let(f"and i1 {move}, {opposite}")
    by = f.let(f"zext i1 {move} to {type_}")
    f.define(op.results[0], f.let(f"{'sub' if op.name == 'arith.floordivsi' else 'add'} {type_} {quotient}, {by}"))


@emits("arith.mulsi_extended", "arith.mului_extended")
def emit_wide_product(f: Function, op: ir.Operation) -> None:
    type_ = layout.scalar(op.results[0].type)
    bits = int(type_[1:])
    wide, extend = f"i{2 * bits}", "sext" if op.name == "arith.mulsi_extended" else "zext"
    a, b = (f.let(f"{extend} {type_} {f.one(v)} to {wide}") for v in op.operands)
    product = f.let(f"mul {wide} {a}, {b}")
    f.define(op.results[0], f.let(f"trunc {wide} {product} to {type_}"))
    f.define(op.results[1], f.let(f"trunc {wide} {f.let(f'lshr {wide} {product}, {bits}')} to {type_}"))


@emits("arith.addui_extended", "arith.subui_extended")
def emit_carry(f: Function, op: ir.Operation) -> None:
    type_ = layout.scalar(op.results[0].type)
    a, b = (f.one(v) for v in op.operands)
    add = op.name == "arith.addui_extended"
    made = f.let(f"{'add' if add else 'sub'} {type_} {a}, {b}")
    f.define(op.results[0], made)
    f.define(op.results[1], f.let(f"icmp ult {type_} {made if add else a}, {a if add else b}"))


# -- comparisons and choices

_FLOAT_ORDER = ("false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true").split()
_INTEGER_ORDER = ("eq ne slt sle sgt sge ult ule ugt uge").split()


@emits("arith.cmpf")
def emit_compare_floats(f: Function, op: ir.Operation) -> None:
    type_ = op.operands[0].type
    (wide, a), (_, b) = (widened(f, f.one(v), type_) for v in op.operands)
    order = _FLOAT_ORDER[ir.IntegerAttr(op.attributes["predicate"]).value]
    f.define(op.results[0], f.let(f"fcmp {flags_of(f, op)}{order} {wide} {a}, {b}"))


@emits("arith.cmpi")
def emit_compare_integers(f: Function, op: ir.Operation) -> None:
    a, b = (f.one(v) for v in op.operands)
    order = _INTEGER_ORDER[ir.IntegerAttr(op.attributes["predicate"]).value]
    f.define(op.results[0], f.let(f"icmp {order} {layout.scalar(op.operands[0].type)} {a}, {b}"))


_INFINITE = {_float_bits(value, "f64") for value in (float("inf"), float("-inf"))}       # floats are written alike
_LLVM_FLOAT = {"f64": "double", "f32": "float"}


def _unfolded(f: Function, part: tuple[str, ...], kind: str) -> tuple[str, ...]:
    """A number for LLVM; an infinity so that it does not look into it. Of `m = max(m, c ? x : -inf)` it would make
    `m = c ? max(m, x) : m`, which its vectoriser does not take for a maximum: 5 ns an element instead of 0.2."""
    if part[0] not in _INFINITE:
        return part
    name = "%" + f.fresh("infinity")
    fence = f.module.declare(f"llvm.arithmetic.fence.{SUFFIX[kind]}", kind, [kind], "")
    f.entry.append(f"  {name} = call {kind} {fence}({kind} {part[0]})")
    return (name,)


@emits("arith.select")
def emit_select(f: Function, op: ir.Operation) -> None:
    condition, yes, no = (f.operands(v) for v in op.operands)
    kind = _LLVM_FLOAT.get(str(op.results[0].type))
    if kind and any(use.owner.operation.name in _FLOAT_CHOICE for use in op.results[0].uses):
        yes, no = (_unfolded(f, part, kind) for part in (yes, no))
    f.define(op.results[0], *(f.let(f"select i1 {condition[0]}, {t} {y}, {t} {n}") for t, y, n in
                              zip(layout.parts(op.results[0].type), yes, no, strict=True)))


# -- conversions

@emits("arith.extf", "arith.truncf", "arith.convertf")
def emit_float_conversion(f: Function, op: ir.Operation) -> None:
    mode = str(op.attributes["roundingmode"]) if "roundingmode" in op.attributes else "to_nearest_even"
    if "to_nearest_even" not in mode and not mode.startswith("0"):
        raise refused(f"rounds to nearest, not as {mode} says", op)
    wide, operand = widened(f, f.one(op.operands[0]), op.operands[0].type)
    f.define(op.results[0], narrowed(f, operand, wide, op.results[0].type))


_INTEGER_CONVERSIONS = {"arith.extsi": "sext", "arith.extui": "zext", "arith.trunci": "trunc",
                        "arith.index_cast": "sext", "arith.index_castui": "zext"}


@emits(*_INTEGER_CONVERSIONS)
def emit_integer_conversion(f: Function, op: ir.Operation) -> None:
    have, want = layout.scalar(op.operands[0].type), layout.scalar(op.results[0].type)
    operand = f.one(op.operands[0])
    if have != want:
        how = "trunc" if int(want[1:]) < int(have[1:]) else _INTEGER_CONVERSIONS[op.name]
        operand = f.let(f"{how} {have} {operand} to {want}")
    f.define(op.results[0], operand)


@emits("arith.sitofp", "arith.uitofp")
def emit_integer_to_float(f: Function, op: ir.Operation) -> None:
    """Half-precision results go through float rounded to odd where the integer is wider than float's 24 bits."""
    have, type_ = layout.scalar(op.operands[0].type), op.results[0].type
    how, operand = op.name[6:], f.one(op.operands[0])
    if str(type_) in ("f32", "f64"):
        f.define(op.results[0], f.let(f"{how} {have} {operand} to {layout.scalar(type_)}"))
        return
    wide = "float" if int(have[1:]) <= 16 else "double"
    if int(have[1:]) == 64:
        operand = _clamped_for_half(f, operand, how)
    made = f.let(f"{how} {have} {operand} to {wide}")
    f.define(op.results[0], narrowed(f, made, wide, type_))


def _clamped_for_half(f: Function, operand: str, how: str) -> str:
    """A 64-bit integer with the same nearest half, and few enough bits for a double: the lowest 16 of a large one only
    matter by whether they are zero."""
    low = f.let(f"icmp ne i64 {f.let(f'and i64 {operand}, 65535')}, 0")
    kept = f.let(f"or i64 {f.let(f'and i64 {operand}, -65536')}, {f.let(f'select i1 {low}, i64 32768, i64 0')}")
    size = operand if how == "uitofp" else f.intrinsic("llvm.abs.i64", "i64", [("i64", operand), ("i1", "false")])
    large = f.let(f"icmp ugt i64 {size}, 4503599627370496")
    return f.let(f"select i1 {large}, i64 {kept}, i64 {operand}")


@emits("arith.fptosi", "arith.fptoui")
def emit_float_to_integer(f: Function, op: ir.Operation) -> None:
    wide, operand = widened(f, f.one(op.operands[0]), op.operands[0].type)
    want = layout.scalar(op.results[0].type)
    if "native.fits" in op.attributes:      # vector code; LLVM makes the general form one number at a time
        f.define(op.results[0], f.let(f"{op.name[6:]} {wide} {operand} to {want}"))
        return
    made = "i32" if want in ("i8", "i16") else want         # a GPU converts to 32 bits and keeps the low ones
    whole = f.intrinsic(f"llvm.{op.name[6:]}.sat.{made}.{SUFFIX[wide]}", made, [(wide, operand)])
    f.define(op.results[0], whole if made == want else f.let(f"trunc {made} {whole} to {want}"))


@emits("arith.bitcast")
def emit_bitcast(f: Function, op: ir.Operation) -> None:
    have, want = layout.scalar(op.operands[0].type), layout.scalar(op.results[0].type)
    operand = f.one(op.operands[0])
    f.define(op.results[0], operand if have == want else f.let(f"bitcast {have} {operand} to {want}"))


# -- complex numbers, as pairs

@emits("complex.create")
def emit_complex_create(f: Function, op: ir.Operation) -> None:
    f.define(op.results[0], *(f.one(v) for v in op.operands))


@emits("complex.re", "complex.im")
def emit_complex_part(f: Function, op: ir.Operation) -> None:
    f.define(op.results[0], f.operands(op.operands[0])[op.name == "complex.im"])


@emits("complex.add", "complex.sub", "complex.neg", "complex.conj")
def emit_complex_sum(f: Function, op: ir.Operation) -> None:
    type_, flags = layout.parts(op.results[0].type)[0], flags_of(f, op)
    operands = [f.operands(v) for v in op.operands]
    if op.name in ("complex.neg", "complex.conj"):
        re, im = operands[0]
        f.define(op.results[0], re if op.name == "complex.conj" else f.let(f"fneg {type_} {re}"),
                 f.let(f"fneg {type_} {im}"))
        return
    how = "fadd" if op.name == "complex.add" else "fsub"
    f.define(op.results[0], *(f.let(f"{how} {flags}{type_} {a}, {b}") for a, b in zip(*operands, strict=True)))


@emits("complex.mul")
def emit_complex_product(f: Function, op: ir.Operation) -> None:
    """(a + bi)(c + di) = (ac - bd) + (ad + bc)i, as NumPy computes it."""
    type_, flags = layout.parts(op.results[0].type)[0], flags_of(f, op)
    (a, b), (c, d) = (f.operands(v) for v in op.operands)

    def product(x: str, y: str) -> str:
        return f.let(f"fmul {flags}{type_} {x}, {y}")
    f.define(op.results[0], f.let(f"fsub {flags}{type_} {product(a, c)}, {product(b, d)}"),
             f.let(f"fadd {flags}{type_} {product(a, d)}, {product(b, c)}"))


@emits("complex.eq", "complex.neq")
def emit_complex_compare(f: Function, op: ir.Operation) -> None:
    type_ = layout.parts(op.operands[0].type)[0]
    (a, b), (c, d) = (f.operands(v) for v in op.operands)
    how, join = ("oeq", "and") if op.name == "complex.eq" else ("une", "or")
    x, y = f.let(f"fcmp {how} {type_} {a}, {c}"), f.let(f"fcmp {how} {type_} {b}, {d}")
    f.define(op.results[0], f.let(f"{join} i1 {x}, {y}"))

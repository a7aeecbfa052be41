"""Mathematical functions in LLVM IR -> math, arith and `form.CALLS`, for `ingest_calls`.

A function is looked up by its bare name: `sinf`, `__nv_sinf`, `__nv_sin`, `llvm.sin.f32` are all `sin` of the operands'
type.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable

from reactant.kernels.form.form import CALLS
from reactant.kernels.llvm_ir.llvm_text import Instruction
from reactant.kernels.stages.ingest_writer import IngestWriter

UNARY = {name: f"math.{name}" for name in
         "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p sqrt cbrt "
         "floor ceil trunc erf erfc rsqrt round roundeven".split()}
UNARY.update(fabs="math.absf", rint="math.roundeven", nearbyint="math.roundeven", fast_sin="math.sin",
             fast_cos="math.cos", fast_tan="math.tan", fast_exp="math.exp", fast_log="math.log",
             fast_log2="math.log2", fast_log10="math.log10")
BINARY = {"pow": "math.powf", "fast_pow": "math.powf", "atan2": "math.atan2", "copysign": "math.copysign",
          "fmin": "arith.minnumf", "fmax": "arith.maxnumf", "minnum": "arith.minnumf", "maxnum": "arith.maxnumf",
          "minimumnum": "arith.minnumf", "maximumnum": "arith.maxnumf", "minimum": "arith.minimumf",
          "maximum": "arith.maximumf", "fmod": "arith.remf", "fdividef": "arith.divf", "fast_fdivide": "arith.divf"}
ROUNDING = re.compile(r"_r[nzudm]i?$")


def collective(at: IngestWriter, name: str, operands: list[tuple[str, str]], result: str, target: str | None) -> None:
    """A call of one of `form.CALLS` with (name, type) operands; result is a type or nothing."""
    types = ", ".join(k for _, k in operands)
    at.used_calls[name] = f"({types})" + (f" -> {result}" if result else "")
    text = f"func.call @{name}({', '.join(n for n, _ in operands)}) : ({types}) -> {result or '()'}"
    at.emit(target, text)


def shifted(at: IngestWriter, name: str, a: str, amount: int, kind: str) -> str:
    return at.op(f"arith.{name}", [a, at.constant(amount, kind)], kind)


def bare_name(name: str) -> str:
    """sin for llvm.sin.f64, __nv_sinf, sinf, sin; the type is that of the operands."""
    if name.startswith("llvm.nvvm."):
        name = name.removeprefix("llvm.nvvm.").removesuffix(".ftz.f").split(".")[0]
        return {"ex2": "exp2", "lg2": "log2"}.get(name, name)
    if name.startswith("llvm."):
        return name.split(".")[1]
    name = name.removeprefix("__nv_").removeprefix("__builtin_").removeprefix("__")
    if name in ("erf", "modf"):
        return name
    if name.endswith("f") and (name[:-1] in KNOWN or ROUNDING.search(name[:-1]) or name[:-1] in MORE):
        return name[:-1]
    return name


def mathematics(at: IngestWriter, made: Instruction, results: list[str], name: str) -> bool:
    """Emit a mathematical function of floats; False if its name is not known."""
    if not made.operands or made.type.kind == "void" and name not in MORE:
        return False
    kind = made.operands[0][0].mlir()
    rounded = ROUNDING.sub("", name)
    if name in UNARY:
        at.op(UNARY[name], [at.scalar(made.operands[0])], kind, results[0])
    elif name in BINARY:
        at.op(BINARY[name], [at.scalar(o) for o in made.operands], kind, results[0])
    elif name == "fma":
        at.op("math.fma", [at.scalar(o) for o in made.operands], kind, results[0])
    elif name == "fmuladd":
        a, b, c = (at.scalar(o) for o in made.operands)
        at.op("arith.addf", [at.op("arith.mulf", [a, b], kind), c], kind, results[0])
    elif name == "powi":
        power = made.operands[1][0].mlir()
        at.op("math.fpowi", [at.scalar(o) for o in made.operands], f"{kind}, {power}", results[0])
    elif name in MORE:
        operands = [at.scalar(o) for o in made.operands]
        MORE[name](Arithmetic(at, kind), operands, results)
    elif rounded != name and rounded in ROUNDED:
        at.op(ROUNDED[rounded], [at.scalar(o) for o in made.operands], kind, results[0])
    elif (external := f"{name}f" if kind == "f32" or made.type.mlir() == "f32" else name) in CALLS:
        collective(at, external, [(at.scalar(o), o[0].mlir()) for o in made.operands], made.type.mlir(), results[0])
    else:
        return False
    return True


ROUNDED = {"fadd": "arith.addf", "dadd": "arith.addf", "fsub": "arith.subf", "dsub": "arith.subf", "fmul": "arith.mulf",
           "dmul": "arith.mulf", "fdiv": "arith.divf", "ddiv": "arith.divf", "fsqrt": "math.sqrt", "dsqrt": "math.sqrt",
           "fmaf": "math.fma", "fma": "math.fma", "frsqrt": "math.rsqrt"}
"""Arithmetic with a rounding mode in its name; all round to nearest here."""


class Arithmetic:
    """Float operations of one type, for the formulas of `MORE`."""

    def __init__(self, at: IngestWriter, kind: str):
        self.at, self.kind = at, kind

    def number(self, value: float) -> str:
        return self.at.constant(value, self.kind)

    def op(self, name: str, *operands: str, result: str = "") -> str:
        return self.at.op(name, list(operands), self.kind, result)

    def compare(self, predicate: str, a: str, b: str) -> str:
        return self.at.op(f"arith.cmpf {predicate},", [a, b], self.kind)

    def select(self, condition: str, a: str, b: str, result: str = "") -> str:
        return self.at.op("arith.select", [condition, a, b], self.kind, result)


Formula = Callable[[Arithmetic, list[str], list[str]], None]


def _reciprocal_of(name: str) -> Formula:
    def emit(f: Arithmetic, x: list[str], results: list[str]) -> None:
        f.op("arith.divf", f.number(1.0), f.op(name, x[0]) if name else x[0], result=results[0])
    return emit


def _of_pi(name: str) -> Formula:
    """sin(pi x) and cos(pi x), x brought to [-1, 1] first."""
    def emit(f: Arithmetic, x: list[str], results: list[str]) -> None:
        iterations = f.op("math.roundeven", f.op("arith.mulf", x[0], f.number(0.5)))
        rest = f.op("arith.subf", x[0], f.op("arith.mulf", iterations, f.number(2.0)))
        f.op(name, f.op("arith.mulf", rest, f.number(math.pi)), result=results[0])
    return emit


def _exp10(f: Arithmetic, x: list[str], results: list[str]) -> None:
    f.op("math.powf", f.number(10.0), x[0], result=results[0])


def _length(f: Arithmetic, x: list[str]) -> str:
    """sqrt(x0^2 + x1^2 + ...), scaled by the largest so that nothing overflows."""
    sizes = [f.op("math.absf", v) for v in x]
    largest = sizes[0]
    for size in sizes[1:]:
        largest = f.op("arith.maximumf", largest, size)
    total = f.number(0.0)
    for size in sizes:
        ratio = f.op("arith.divf", size, largest)
        total = f.op("arith.addf", total, f.op("arith.mulf", ratio, ratio))
    length = f.op("arith.mulf", largest, f.op("math.sqrt", total))
    special = f.compare("oeq", largest, f.number(0.0))
    infinite = f.compare("oeq", sizes[0], f.number(math.inf))
    for size in sizes[1:]:
        infinite = f.at.op("arith.ori", [infinite, f.compare("oeq", size, f.number(math.inf))], "i1")
    length = f.select(special, f.number(0.0), length)
    return f.select(infinite, f.number(math.inf), length)


def _hypot(f: Arithmetic, x: list[str], results: list[str]) -> None:
    f.at.alias(results, [_length(f, x)])


def _reciprocal_hypot(f: Arithmetic, x: list[str], results: list[str]) -> None:
    f.op("arith.divf", f.number(1.0), _length(f, x), result=results[0])


def _positive_difference(f: Arithmetic, x: list[str], results: list[str]) -> None:
    difference = f.op("arith.subf", *x)
    f.select(f.compare("ole", *x), f.number(0.0), difference, results[0])


def _saturate(f: Arithmetic, x: list[str], results: list[str]) -> None:
    f.op("arith.minnumf", f.op("arith.maxnumf", x[0], f.number(0.0)), f.number(1.0), result=results[0])


def _normal_distribution(f: Arithmetic, x: list[str], results: list[str]) -> None:
    scaled = f.op("arith.mulf", x[0], f.number(-math.sqrt(0.5)))
    f.op("arith.mulf", f.number(0.5), f.op("math.erfc", scaled), result=results[0])


def _test(name: str) -> Formula:
    def emit(f: Arithmetic, x: list[str], results: list[str]) -> None:
        bit = f.at.op(name, [x[0]], f.kind)
        f.at.op("arith.extui", [bit], "i1 to i32", results[0])
    return emit


def _sign_bit(f: Arithmetic, x: list[str], results: list[str]) -> None:
    whole = {"f32": "i32", "f64": "i64"}[f.kind]
    bits = f.at.op("arith.bitcast", [x[0]], f"{f.kind} to {whole}")
    bit = f.at.op("arith.cmpi slt,", [bits, f.at.constant(0, whole)], whole)
    f.at.op("arith.extui", [bit], "i1 to i32", results[0])


def _sine_and_cosine(f: Arithmetic, x: list[str], results: list[str]) -> None:
    if len(x) == 3:
        for name, pointer in (("math.sin", x[1]), ("math.cos", x[2])):
            f.at.emit(None, f"llvm.store {f.op(name, x[0])}, {pointer} : {f.kind}, !llvm.ptr")
    else:
        f.op("math.sin", x[0], result=results[0])
        f.op("math.cos", x[0], result=results[1])


def _fraction(f: Arithmetic, x: list[str], results: list[str]) -> None:
    """modf: (fraction, whole), both with the sign of x; of an infinity the fraction is 0."""
    whole = f.op("math.trunc", x[0])
    infinite = f.compare("oeq", f.op("math.absf", x[0]), f.number(math.inf))
    rest = f.select(infinite, f.number(0.0), f.op("arith.subf", x[0], whole))
    f.op("math.copysign", rest, x[0], result=results[0])
    if len(x) == 2:
        f.at.emit(None, f"llvm.store {whole}, {x[1]} : {f.kind}, !llvm.ptr")
    else:
        f.at.alias(results[1:], [whole])


def _scale(f: Arithmetic, x: list[str], results: list[str]) -> None:
    """ldexp: x * 2**n in three steps, so that no power of two is out of range."""
    bias, digits, whole, limit = (127, 23, "i32", 300) if f.kind == "f32" else (1023, 52, "i64", 2200)
    at = f.at

    def integer(name: str, a: str, b: int) -> str:
        return at.op(f"arith.{name}", [a, at.constant(b, "i32")], "i32")
    exponent = integer("minsi", integer("maxsi", x[1], -limit), limit)
    third = integer("divsi", exponent, 3)
    last = at.op("arith.subi", [exponent, integer("muli", third, 2)], "i32")

    def power(n: str) -> str:
        biased = integer("addi", n, bias)
        if whole != "i32":
            biased = at.op("arith.extsi", [biased], "i32 to i64")
        return at.op("arith.bitcast", [shifted(at, "shli", biased, digits, whole)], f"{whole} to {f.kind}")
    value = f.op("arith.mulf", f.op("arith.mulf", x[0], power(third)), power(third))
    f.op("arith.mulf", value, power(last), result=results[0])


MORE: dict[str, Formula] = {
    "rcbrt": _reciprocal_of("math.cbrt"), "rcp": _reciprocal_of(""), "frcp_rn": _reciprocal_of(""),
    "drcp_rn": _reciprocal_of(""), "sinpi": _of_pi("math.sin"), "cospi": _of_pi("math.cos"), "exp10": _exp10,
    "fast_exp10": _exp10, "hypot": _hypot, "rhypot": _reciprocal_hypot, "norm3d": _hypot, "norm4d": _hypot,
    "rnorm3d": _reciprocal_hypot, "rnorm4d": _reciprocal_hypot, "fdim": _positive_difference, "saturate": _saturate,
    "normcdf": _normal_distribution, "isnan": _test("math.isnan"), "isnand": _test("math.isnan"),
    "isinf": _test("math.isinf"), "isinfd": _test("math.isinf"), "finite": _test("math.isfinite"),
    "isfinited": _test("math.isfinite"), "signbit": _sign_bit, "signbitd": _sign_bit, "sincos": _sine_and_cosine,
    "modf": _fraction, "ldexp": _scale, "scalbn": _scale,
}
"""Functions that are formulas of others."""
KNOWN = frozenset(UNARY) | frozenset(BINARY) | {"fma", "powi", "lgamma", "tgamma", "j0", "j1", "y0", "y1", "jn", "yn",
                                                 "nextafter", "remainder", "erfinv", "erfcinv", "normcdfinv", "erfcx",
                                                 "fast_sin", "fast_cos", "finite", "isnan", "isinf"}

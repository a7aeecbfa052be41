"""Functions that GPU code calls and that no module defines, as LLVM IR: libdevice, libm, registers, warps, atomics.

A definition is LLVM text with `T` for the function's float type, `I` for the integer of its width and `%0`, `%1`... for
its arguments; the clean-up inlines it. What cannot be said in LLVM IR ends in calls with one spelling: C's names for
mathematics without an intrinsic, `reactant.*` for what threads do together (`record.OPERATIONS`).
"""
from __future__ import annotations

import re

from reactant.kernels.form import assertions
from reactant.kernels.llvm_ir import complex_functions
from reactant.support.records import dataclass

PURE = "memory(none) nounwind willreturn nosync nofree nocallback"
COLLECTIVE = "convergent memory(inaccessiblemem: readwrite) nounwind willreturn"
BARRIER = "convergent nounwind"


@dataclass(frozen=True)
class Declared:
    """A function as a module declares it: name, LLVM type of the result, of the arguments."""

    name: str
    result: str
    arguments: tuple[str, ...]


# ---- mathematics -----------------------------------------------------------------------------------------------

_INTRINSICS = {name: name for name in (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "exp2", "exp10", "log", "log2", "log10",
    "sqrt", "floor", "ceil", "trunc", "rint", "nearbyint", "fabs", "round", "roundeven", "pow", "atan2", "copysign",
    "fma", "ldexp")} | {"fmin": "minnum", "fmax": "maxnum", "powi": "powi", "scalbn": "ldexp", "scalbln": "ldexp"}
"""C's or libdevice's name -> the LLVM intrinsic."""

LIBM = frozenset(("expm1", "log1p", "cbrt", "erf", "erfc", "lgamma", "tgamma", "asinh", "acosh", "atanh", "j0", "j1",
                  "jn", "y0", "y1", "yn", "hypot", "remainder", "nextafter",
                  "erfinv", "erfcinv", "erfcx", "normcdfinv"))
"""Functions of one name in float64, with an `f` in float32, that stay calls. The last line is libdevice's, not C's."""

_SPLIT = """%i = bitcast T %0 to I
%sh = lshr I %i, MANTISSA
%ex = and I %sh, EXPONENTS
%tiny = icmp eq I %ex, 0
%up = fmul T %0, SCALE
%x = select i1 %tiny, T %up, T %0
%j = bitcast T %x to I
%sj = lshr I %j, MANTISSA
%ej = and I %sj, EXPONENTS
%down = select i1 %tiny, I HALF54, I HALF
%ed = sub I %ej, %down
%all = icmp eq I %ej, EXPONENTS
%zero = fcmp oeq T %0, 0.0
%special = or i1 %all, %zero
%keep = and I %j, FRACTION
%set = or I %keep, HALFBITS
%m = bitcast I %set to T
%en = select i1 %special, I 0, I %ed
%fraction = select i1 %special, T %0, T %m
"""
"""A float as fraction in [1/2, 1) and exponent `%en`, as C's frexp."""

_ROUNDING = {"rn": "rint", "rd": "floor", "ru": "ceil", "rz": "trunc"}

_FLOAT = {      # with T the float type and F its suffix (f32, f64)
    "fmod": "%r = frem T %0, %1",
    "fdim": "%d = fsub T %0, %1\n%g = fcmp ogt T %0, %1\n%u = fcmp uno T %0, %1\n%z = select i1 %g, T %d, T 0.0\n"
            "%r = select i1 %u, T %d, T %z",
    "rsqrt": "%s = call T @llvm.sqrt.F(T %0)\n%r = fdiv T 1.0, %s",
    "rcbrt": "%s = call T @cbrt$(T %0)\n%r = fdiv T 1.0, %s",
    "rhypot": "%s = call T @hypot$(T %0, T %1)\n%r = fdiv T 1.0, %s",
    "sinpi": "%k = call T @llvm.rint.F(T %0)\n%f = fsub T %0, %k\n%a = fmul T %f, PI\n%s = call T @llvm.sin.F(T %a)\n"
             "%h = fmul T %k, 5.0e-1\n%g = call T @llvm.floor.F(T %h)\n%e = fcmp oeq T %h, %g\n%n = fneg T %s\n"
             "%r = select i1 %e, T %s, T %n",
    "cospi": "%k = call T @llvm.rint.F(T %0)\n%f = fsub T %0, %k\n%a = fmul T %f, PI\n%s = call T @llvm.cos.F(T %a)\n"
             "%h = fmul T %k, 5.0e-1\n%g = call T @llvm.floor.F(T %h)\n%e = fcmp oeq T %h, %g\n%n = fneg T %s\n"
             "%r = select i1 %e, T %s, T %n",
    "normcdf": "%m = fmul T %0, SQRTHALF\n%n = fneg T %m\n%e = call T @erfc$(T %n)\n%r = fmul T %e, 5.0e-1",
    "saturate": "%a = call T @llvm.maxnum.F(T %0, T 0.0)\n%r = call T @llvm.minnum.F(T %a, T 1.0)",
    "fdivide": "%r = fdiv T %0, %1",
    "norm3d": "%a = call T @hypot$(T %0, T %1)\n%r = call T @hypot$(T %a, T %2)",
    "logb": _SPLIT + "%less = add I %en, -1\n%n = sitofp I %less to T\n%a = call T @llvm.fabs.F(T %0)\n"
            "%lz = select i1 %zero, T MINUSINF, T %n\n%r = select i1 %all, T %a, T %lz",
    "ilogb": _SPLIT + "%less = add I %en, -1\n%n = TOI32 I %less to i32\n"
             "%lz = select i1 %zero, i32 -2147483648, i32 %n\n%r = select i1 %all, i32 2147483647, i32 %lz",
    "isnan": "%b = fcmp uno T %0, 0.0\n%r = zext i1 %b to i32",
    "isinf": "%a = call T @llvm.fabs.F(T %0)\n%b = fcmp oeq T %a, INF\n%r = zext i1 %b to i32",
    "isfinite": "%a = call T @llvm.fabs.F(T %0)\n%b = fcmp olt T %a, INF\n%r = zext i1 %b to i32",
    "signbit": "%i = bitcast T %0 to I\n%b = icmp slt I %i, 0\n%r = zext i1 %b to i32",
    "sincos": "%s = call T @llvm.sin.F(T %0)\n%c = call T @llvm.cos.F(T %0)\nstore T %s, ptr %1\nstore T %c, ptr %2",
    "sincospi": "%s = call T @sinpi$(T %0)\n%c = call T @cospi$(T %0)\nstore T %s, ptr %1\nstore T %c, ptr %2",
    "modf": "%w = call T @llvm.trunc.F(T %0)\nstore T %w, ptr %1\n%d = fsub T %0, %w\n"
            "%a = call T @llvm.fabs.F(T %0)\n%b = fcmp oeq T %a, INF\n%z = select i1 %b, T 0.0, T %d\n"
            "%r = call T @llvm.copysign.F(T %z, T %0)",
    "frexp": _SPLIT + "%e32 = TOI32 I %en to i32\nstore i32 %e32, ptr %1\n%r = select i1 %special, T %0, T %fraction",
    "remquo": "%r = call T @remainder$(T %0, T %1)\n%d = fsub T %0, %r\n%q = fdiv T %d, %1\n"
              "%n = call T @llvm.rint.F(T %q)\n%m = frem T %n, 8.0\n%ok = fcmp ord T %m, 0.0\n"
              "%z = select i1 %ok, T %m, T 0.0\n%i = fptosi T %z to i32\nstore i32 %i, ptr %2",
    "llrint": "%f = call T @llvm.rint.F(T %0)\n%r = fptosi T %f to R",
    "llround": "%f = call T @llvm.round.F(T %0)\n%r = fptosi T %f to R",
    "add": "%r = fadd T %0, %1", "sub": "%r = fsub T %0, %1", "mul": "%r = fmul T %0, %1", "div": "%r = fdiv T %0, %1",
    "rcp": "%r = fdiv T 1.0, %0",
}
_FLOAT |= {"lrint": _FLOAT["llrint"], "lround": _FLOAT["llround"]}

_INTEGER = {    # with I the type of the first argument, R the result's
    "abs": "%r = call I @llvm.abs.I(I %0, i1 false)",
    "min": "%r = call I @llvm.smin.I(I %0, I %1)", "max": "%r = call I @llvm.smax.I(I %0, I %1)",
    "umin": "%r = call I @llvm.umin.I(I %0, I %1)", "umax": "%r = call I @llvm.umax.I(I %0, I %1)",
    "clz": "%c = call I @llvm.ctlz.I(I %0, i1 false)\n%r = RESIZE I %c to R",
    "popc": "%c = call I @llvm.ctpop.I(I %0)\n%r = RESIZE I %c to R",
    "brev": "%r = call I @llvm.bitreverse.I(I %0)",
    "ffs": "%c = call I @llvm.cttz.I(I %0, i1 false)\n%n = add I %c, 1\n%z = icmp eq I %0, 0\n"
           "%s = select i1 %z, I 0, I %n\n%r = RESIZE I %s to R",
    "mulhi": "%a = sext I %0 to W\n%b = sext I %1 to W\n%m = mul W %a, %b\n%h = lshr W %m, BITS\n%r = trunc W %h to I",
    "umulhi": "%a = zext I %0 to W\n%b = zext I %1 to W\n%m = mul W %a, %b\n%h = lshr W %m, BITS\n%r = trunc W %h to I",
    "mul24": "%a = shl i32 %0, 8\n%b = ashr i32 %a, 8\n%c = shl i32 %1, 8\n%d = ashr i32 %c, 8\n%r = mul i32 %b, %d",
    "umul24": "%a = and i32 %0, 16777215\n%b = and i32 %1, 16777215\n%r = mul i32 %a, %b",
    "sad": "%g = icmp sgt i32 %0, %1\n%a = sub i32 %0, %1\n%b = sub i32 %1, %0\n%d = select i1 %g, i32 %a, i32 %b\n"
           "%r = add i32 %d, %2",
    "usad": "%g = icmp ugt i32 %0, %1\n%a = sub i32 %0, %1\n%b = sub i32 %1, %0\n%d = select i1 %g, i32 %a, i32 %b\n"
            "%r = add i32 %d, %2",
    "hadd": "%a = and i32 %0, %1\n%b = xor i32 %0, %1\n%h = ashr i32 %b, 1\n%r = add i32 %a, %h",
    "uhadd": "%a = and i32 %0, %1\n%b = xor i32 %0, %1\n%h = lshr i32 %b, 1\n%r = add i32 %a, %h",
    "rhadd": "%a = or i32 %0, %1\n%b = xor i32 %0, %1\n%h = ashr i32 %b, 1\n%r = sub i32 %a, %h",
    "urhadd": "%a = or i32 %0, %1\n%b = xor i32 %0, %1\n%h = lshr i32 %b, 1\n%r = sub i32 %a, %h",
    "byte_perm": "\n".join(
        ["%lo = zext i32 %0 to i64", "%hi = zext i32 %1 to i64", "%up = shl i64 %hi, 32", "%v = or i64 %lo, %up"]
        + [f"%s{i} = lshr i32 %2, {4 * i}\n%n{i} = and i32 %s{i}, 7\n%m{i} = shl i32 %n{i}, 3\n"
           f"%w{i} = zext i32 %m{i} to i64\n%b{i} = lshr i64 %v, %w{i}\n%t{i} = trunc i64 %b{i} to i32\n"
           f"%y{i} = and i32 %t{i}, 255\n%p{i} = shl i32 %y{i}, {8 * i}" for i in range(4)]
        + ["%q = or i32 %p0, %p1", "%x = or i32 %p2, %p3", "%r = or i32 %q, %x"]),
}
_BITS = {
    "hiloint2double": "%h = zext i32 %0 to i64\n%s = shl i64 %h, 32\n%l = zext i32 %1 to i64\n%o = or i64 %s, %l\n"
                      "%r = bitcast i64 %o to double",
    "double2hiint": "%b = bitcast double %0 to i64\n%h = lshr i64 %b, 32\n%r = trunc i64 %h to i32",
    "double2loint": "%b = bitcast double %0 to i64\n%r = trunc i64 %b to i32",
    "float2half_rn": "%h = fptrunc float %0 to half\n%r = bitcast half %h to i16",
    "half2float": "%h = bitcast i16 %0 to half\n%r = fpext half %h to float",
    "uint_as_float": "%r = bitcast i32 %0 to float", "float_as_uint": "%r = bitcast float %0 to i32",
    "int_as_float": "%r = bitcast i32 %0 to float", "float_as_int": "%r = bitcast float %0 to i32",
    "longlong_as_double": "%r = bitcast i64 %0 to double", "double_as_longlong": "%r = bitcast double %0 to i64",
}
_ALIASES = {"isnand": "isnan", "isinfd": "isinf", "isfinited": "isfinite", "finite": "isfinite", "signbitd": "signbit",
            "llabs": "abs", "llmin": "min", "llmax": "max", "ullmin": "umin", "ullmax": "umax", "clzll": "clz",
            "popcll": "popc", "brevll": "brev", "ffsll": "ffs", "mul64hi": "mulhi", "umul64hi": "umulhi",
            "fdividef": "fdivide", "isnanf": "isnan", "isinff": "isinf", "labs": "abs"}

_FLOATS = {"float": ("f32", "f", "i32"), "double": ("f64", "", "i64")}
_CONSTANTS = {"PI": {"double": "0x400921FB54442D18", "float": "0x400921FB60000000"},
              "SQRTHALF": {"double": "0x3FE6A09E667F3BCD", "float": "0x3FE6A09E60000000"},
              "INF": dict.fromkeys(("double", "float"), "0x7FF0000000000000"),
              "MINUSINF": dict.fromkeys(("double", "float"), "0xFFF0000000000000"),
              "MANTISSA": {"double": "52", "float": "23"}, "EXPONENTS": {"double": "2047", "float": "255"},
              "SCALE": dict.fromkeys(("double", "float"), "0x4350000000000000"),       # 2**54
              "HALF54": {"double": str(1022 + 54), "float": str(126 + 54)}, "HALF": {"double": "1022", "float": "126"},
              "FRACTION": {"double": str(~(2047 << 52)), "float": str(~(255 << 23))},
              "HALFBITS": {"double": str(1022 << 52), "float": str(126 << 23)},
              "TOI32": {"double": "trunc", "float": "bitcast"}}


def _mathematics(declared: Declared) -> str | None:
    """The body of a function of libdevice or libm, by the name without its prefix; None where there is none."""
    name = declared.name.removeprefix("__nv_").removeprefix("fast_")
    name = _ALIASES.get(name, name)
    if name in _BITS:
        return _BITS[name]
    if (converted := _conversion(name, declared)) is not None:
        return converted
    types = [t for t in (declared.result, *declared.arguments) if t in _FLOATS]
    if types:
        return _float_body(name, types[-1] if declared.arguments and declared.arguments[0] in _FLOATS else types[0],
                           declared)
    if declared.arguments and declared.arguments[0] in ("i32", "i64") and name in _INTEGER:
        first = declared.arguments[0]
        width = int(first[1:])
        result = int(declared.result[1:]) if declared.result[0] == "i" else width
        resize = "trunc" if result < width else "zext" if result > width else "bitcast"
        text = _INTEGER[name].replace("RESIZE", resize).replace("BITS", str(width))
        return _typed(text, {"I": first, "R": declared.result, "W": f"i{2 * width}"})
    return None


def _float_body(name: str, type_: str, declared: Declared) -> str | None:
    short, suffix, integer = _FLOATS[type_]
    if short == "f32" and name not in _FLOAT and name.endswith("f"):
        name = name[:-1]
    name = _ALIASES.get(name, name)
    if rounded := re.fullmatch(r"([df]?)(add|sub|mul|div|rcp|sqrt|rsqrt|fma)f?(?:_rn)", name):
        name = rounded[2]
    values = ", ".join(f"{t} %{i}" for i, t in enumerate(declared.arguments))
    if name in _INTRINSICS:
        also = ".i32" if _INTRINSICS[name] in ("powi", "ldexp") else ""
        return f"%r = call {declared.result} @llvm.{_INTRINSICS[name]}.{short}{also}({values})"
    if name in LIBM:
        return f"%r = call {declared.result} @{name}{suffix}({values})"
    if name not in _FLOAT:
        return None
    text = _FLOAT[name].replace("$", suffix)
    for constant, by_type in _CONSTANTS.items():
        text = re.sub(rf"\b{constant}\b", by_type[type_], text)
    return _typed(text, {"T": type_, "F": short, "I": integer, "R": declared.result})


def _conversion(name: str, declared: Declared) -> str | None:
    """`float2int_rn` and its kin: round in the way that is named, saturate as the hardware does."""
    kinds = {"int": "i32", "uint": "i32", "ll": "i64", "ull": "i64", "float": "float", "double": "double"}
    found = re.fullmatch(r"(int|uint|ll|ull|float|double)2(int|uint|ll|ull|float|double)_(rn|rd|ru|rz)", name)
    if not found:
        return None
    source, target, mode = found.groups()
    a, b = kinds[source], kinds[target]
    if b in _FLOATS and mode != "rn" and (a, b) not in (("float", "double"), ("i32", "double")):
        return None
    if a in _FLOATS and b in _FLOATS:
        return f"%r = {'fptrunc' if a == 'double' else 'fpext'} {a} %0 to {b}"
    if b in _FLOATS:
        return f"%r = {'uitofp' if source[0] == 'u' else 'sitofp'} {a} %0 to {b}"
    short = _FLOATS[a][0]
    how = "fptoui" if target[0] == "u" else "fptosi"
    return f"%f = call {a} @llvm.{_ROUNDING[mode]}.{short}({a} %0)\n%r = call {b} @llvm.{how}.sat.{b}.{short}({a} %f)"


def _typed(text: str, letters: dict[str, str]) -> str:
    return re.sub(r"(?<![\w%.])([A-Z])\b|(?<=\.)([A-Z])\b", lambda m: letters.get(m[1] or m[2], m[0]), text)


# ---- what threads do together ----------------------------------------------------------------------------------

_LANES = """%l = call i32 @reactant.laneid()
%s = sub i32 0, %w
%seg = and i32 %l, %s
%end = add i32 %seg, %w"""

_SHUFFLE_PREDICATES = {
    0: "%in = icmp eq i32 0, 0", 1: "%j = sub i32 %l, %3\n%in = icmp sge i32 %j, %seg",
    2: "%j = add i32 %l, %3\n%in = icmp slt i32 %j, %end", 3: "%j = xor i32 %l, %3\n%in = icmp slt i32 %j, %end"}
_MODES = ("idx", "up", "down", "xor")
_MODE_OF = {"idx": 0, "up": 1, "down": 2, "bfly": 3}


def _shuffle(name: str, declared: Declared) -> str | None:
    """`shfl.sync.i32(mask, mode, value, lane, clamp)` with a predicate, as Numba has it, or `shfl.sync.down.f32(mask,
    value, lane, clamp)`, as clang has it."""
    if name == "shfl.sync.i32":
        cases = "\n".join(
            f"m{m}:\n{_renamed(_SHUFFLE_PREDICATES[m], m)}\n"
            f"%v{m} = call i32 @reactant.shuffle.{_MODES[m]}.i32(i32 %0, i32 %2, i32 %3, i32 %w)\nbr label %done"
            for m in range(4))
        return (f"%h = lshr i32 %4, 8\n%h5 = and i32 %h, 31\n%w = sub i32 32, %h5\n{_LANES}\n"
                "switch i32 %1, label %m3 [i32 0, label %m0 i32 1, label %m1 i32 2, label %m2]\n"
                f"{cases}\ndone:\n%v = phi i32 [%v0, %m0], [%v1, %m1], [%v2, %m2], [%v3, %m3]\n"
                "%p = phi i1 [%in0, %m0], [%in1, %m1], [%in2, %m2], [%in3, %m3]\n"
                "%a = insertvalue {i32, i1} poison, i32 %v, 0\n%r = insertvalue {i32, i1} %a, i1 %p, 1")
    found = re.fullmatch(r"shfl\.sync\.(idx|up|down|bfly)\.(i32|f32)(p?)", name)
    if not found:
        return None
    mode, type_ = _MODE_OF[found[1]], {"i32": "i32", "f32": "float"}[found[2]]
    head = "%h = lshr i32 %3, 8\n%h5 = and i32 %h, 31\n%w = sub i32 32, %h5\n"
    value = f"call {type_} @reactant.shuffle.{_MODES[mode]}.{found[2]}(i32 %0, {type_} %1, i32 %2, i32 %w)"
    if not found[3]:
        return f"{head}%r = {value}"
    predicate = _SHUFFLE_PREDICATES[mode].replace("%3", "%2")
    return (f"{head}{_LANES}\n{predicate}\n%v = {value}\n%a = insertvalue {{{type_}, i1}} poison, {type_} %v, 0\n"
            f"%r = insertvalue {{{type_}, i1}} %a, i1 %in, 1")


def _renamed(text: str, number: int) -> str:
    return text.replace("%j", f"%j{number}").replace("%in", f"%in{number}")


_VOTE = """%n = xor i1 %2, true
switch i32 %1, label %ball [i32 0, label %all i32 1, label %any i32 2, label %uni]
all:
%a = call i1 @reactant.vote.all(i32 %0, i1 %2)
br label %done
any:
%b = call i1 @reactant.vote.any(i32 %0, i1 %2)
br label %done
uni:
%c = call i1 @reactant.vote.uni(i32 %0, i1 %2)
br label %done
ball:
%d = call i32 @reactant.vote.ballot(i32 %0, i1 %2)
br label %done
done:
%p = phi i1 [%a, %all], [%b, %any], [%c, %uni], [false, %ball]
%v = phi i32 [0, %all], [0, %any], [0, %uni], [%d, %ball]
%x = insertvalue {i32, i1} poison, i32 %v, 0
%r = insertvalue {i32, i1} %x, i1 %p, 1"""

_NVVM = {       # by the name after `llvm.nvvm.`
    "membar.cta": 'fence syncscope("block") seq_cst', "membar.gl": 'fence syncscope("device") seq_cst',
    "membar.sys": "fence seq_cst", "fence.sc.cluster": 'fence syncscope("device") seq_cst', "nanosleep": "",
    "bar.warp.sync": "call void @reactant.barrier.warp(i32 %0)",
    "barrier0.popc": "%r = call i32 @reactant.barrier.count(i32 %0)",
    "barrier0.and": "%r = call i32 @reactant.barrier.and(i32 %0)",
    "barrier0.or": "%r = call i32 @reactant.barrier.or(i32 %0)",
    "barrier.cta.red.popc.aligned.all": "%p = zext i1 %1 to i32\n%r = call i32 @reactant.barrier.count(i32 %p)",
    "barrier.cta.red.and.aligned.all": "%p = zext i1 %1 to i32\n%q = call i32 @reactant.barrier.and(i32 %p)\n"
                                       "%r = icmp ne i32 %q, 0",
    "barrier.cta.red.or.aligned.all": "%p = zext i1 %1 to i32\n%q = call i32 @reactant.barrier.or(i32 %p)\n"
                                      "%r = icmp ne i32 %q, 0",
    "vote.sync": _VOTE,
    "vote.ballot.sync": "%r = call i32 @reactant.vote.ballot(i32 %0, i1 %1)",
    "vote.any.sync": "%r = call i1 @reactant.vote.any(i32 %0, i1 %1)",
    "vote.all.sync": "%r = call i1 @reactant.vote.all(i32 %0, i1 %1)",
    "vote.uni.sync": "%r = call i1 @reactant.vote.uni(i32 %0, i1 %1)",
    "match.any.sync.i32": "%r = call i32 @reactant.match.any.i32(i32 %0, i32 %1)",
    "match.any.sync.i64": "%r = call i32 @reactant.match.any.i64(i32 %0, i64 %1)",
    **{f"match.all.sync.i{w}{p}": f"%v = call i32 @reactant.match.all.i{w}(i32 %0, i{w} %1)\n%p = icmp ne i32 %v, 0\n"
       f"%a = insertvalue {{i32, i1}} poison, i32 %v, 0\n%r = insertvalue {{i32, i1}} %a, i1 %p, 1"
       for w in (32, 64) for p in ("", "p")},
    "activemask": "%r = call i32 @reactant.activemask()",
    "read.ptx.sreg.laneid": "%r = call i32 @reactant.laneid()",
    "read.ptx.sreg.warpid": "%t = call i32 @reactant.thread()\n%r = lshr i32 %t, 5",
    "read.ptx.sreg.warpsize": "%r = add i32 32, 0",
    **{f"read.ptx.sreg.lanemask.{n}": f"%l = call i32 @reactant.laneid()\n{body}" for n, body in {
        "eq": "%r = shl i32 1, %l", "lt": "%b = shl i32 1, %l\n%r = sub i32 %b, 1",
        "le": "%b = shl i32 2, %l\n%r = sub i32 %b, 1",
        "gt": "%b = shl i32 2, %l\n%m = sub i32 %b, 1\n%r = xor i32 %m, -1",
        "ge": "%b = shl i32 1, %l\n%m = sub i32 %b, 1\n%r = xor i32 %m, -1"}.items()},
    "mulhi.i": "%a = sext i32 %0 to i64\n%b = sext i32 %1 to i64\n%m = mul i64 %a, %b\n%h = lshr i64 %m, 32\n"
               "%r = trunc i64 %h to i32",
    "mulhi.ui": "%a = zext i32 %0 to i64\n%b = zext i32 %1 to i64\n%m = mul i64 %a, %b\n%h = lshr i64 %m, 32\n"
                "%r = trunc i64 %h to i32",
    "atomic.load.inc.32.p0": "%r = atomicrmw uinc_wrap ptr %0, i32 %1 seq_cst",
    "atomic.load.dec.32.p0": "%r = atomicrmw udec_wrap ptr %0, i32 %1 seq_cst",
}

_ATOMICS = {    # Numba's, by the name after `___numba_atomic_`
    **{f"{f}_{n}": f"%r = atomicrmw {op} ptr %0, {t} %1 seq_cst" for f, t in (("float", "float"), ("double", "double"))
       for n, op in (("add", "fadd"), ("sub", "fsub"), ("nanmax", "fmax"), ("nanmin", "fmin"))},
    # a NaN that is given changes nothing, one that is there stays
    **{f"{t}_{n}": f"%u = fcmp uno {t} %1, 0.0\n%v = select i1 %u, {t} {least}, {t} %1\n"
       f"%r = atomicrmw {op} ptr %0, {t} %v seq_cst"
       for t in ("float", "double") for n, op, least in (("max", "fmaximum", "0xFFF0000000000000"),
                                                         ("min", "fminimum", "0x7FF0000000000000"))},
    "u64_inc": "%r = atomicrmw uinc_wrap ptr %0, i64 %1 seq_cst",
    "u64_dec": "%r = atomicrmw udec_wrap ptr %0, i64 %1 seq_cst",
    **{f"i{w}_cas_hack": f"%x = cmpxchg ptr %0, i{w} %1, i{w} %2 seq_cst seq_cst\n"
       f"%r = extractvalue {{i{w}, i1}} %x, 0" for w in (32, 64)},
}
_OTHER = {"cudaCGGetIntrinsicHandle": "%r = zext i32 %0 to i64",
          "cudaCGSynchronize": "call void @reactant.barrier.grid()\n%r = add i32 0, 0"}

REGISTER = re.compile(r"read\.ptx\.sreg\.(n?)(tid|ctaid)\.([xyz])")

Dim3 = tuple[int, int, int]


def definition(declared: Declared, grid: Dim3, block: Dim3) -> str | None:
    """The LLVM function that stands for one that a module only declares; None where nothing is known about it.

    Names of NVVM intrinsics are expected without their `llvm.` (functions with bodies may not be called that).
    """
    name = declared.name
    if name.startswith("nvvm."):
        short = name.removeprefix("nvvm.")
        if register := REGISTER.fullmatch(short):
            body: str | None = _register(register, grid, block)
        else:
            body = _NVVM.get(short, None)
            if body is None:
                body = _shuffle(short, declared)
    elif name.startswith("___numba_atomic_"):
        body = _ATOMICS.get(name.removeprefix("___numba_atomic_"))
    else:
        body = _OTHER.get(name) or complex_functions.body(name, declared.result) or _mathematics(declared)
    if body is None or f"@{name}(" in body:
        return None
    arguments = ", ".join(f"{t} %{i}" for i, t in enumerate(declared.arguments))
    value = "%r" if re.search(r"^%r = ", body, re.M) else "poison"      # Numba says that `sincos` gives a pointer
    end = "ret void" if declared.result == "void" else f"ret {declared.result} {value}"
    named = re.sub(r"%(\d+)\b", r"%a\1", f"({arguments}) alwaysinline {{\n{body}\n{end}\n}}\n")
    return f'define internal {declared.result} @"{name}"{named}'


def _register(found: re.Match, grid: Dim3, block: Dim3) -> str:
    size = {"tid": block, "ctaid": grid}[found[2]]["xyz".index(found[3])]
    if found[1]:
        return f"%r = add i32 {size}, 0"
    if size == 1:
        return "%r = add i32 0, 0"
    return f"%r = call range(i32 0, {size}) i32 @llvm.nvvm.{found[0]}()"


def helpers(block: Dim3) -> str:
    """Functions that definitions call: the thread's number in its block, and its lane."""
    terms = "\n".join(f"%{a} = call i32 @nvvm.read.ptx.sreg.tid.{a}()" for a in "xyz")
    return (f"define internal i32 @reactant.thread() alwaysinline {{\n{terms}\n%zy = mul i32 %z, {block[1]}\n"
            f"%yz = add i32 %zy, %y\n%yx = mul i32 %yz, {block[0]}\n%r = add i32 %yx, %x\nret i32 %r\n}}\n"
            "define internal i32 @reactant.laneid() alwaysinline {\n%t = call i32 @reactant.thread()\n"
            "%r = and i32 %t, 31\nret i32 %r\n}\n")


def attributes(name: str) -> str | None:
    """Attributes of a function that stays a call, None for one that is not known."""
    plain = name.removesuffix("f")
    if plain in LIBM or name in LIBM or name.startswith("llvm."):
        return PURE
    if name.startswith(("reactant.barrier.", "nvvm.barrier")):
        return BARRIER
    if name.startswith(assertions.PREFIX):
        return assertions.ATTRIBUTES
    return COLLECTIVE if name.startswith("reactant.") else None

"""LLVM IR, instruction by instruction: what the steps make of it, run by the interpreter, against Python."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from reactant.errors import ReactantError, UnsupportedError
from reactant.ir.context import building
from reactant.kernels.form import form, interpret
from reactant.kernels.form.record import Buffer, KernelRecord, Scalar
from reactant.kernels.llvm_ir.llvm_text import Tokens, read_module
from reactant.kernels.llvm_ir.llvm_types import Type
from reactant.kernels.stages.stages import run_stages

KINDS = {"i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "float": "float32", "double": "float64",
         "half": "float16"}


def record(body: str, pointers: dict[str, tuple[str, int]], numbers: dict[str, str] | None = None, *, extra: str = "",
           block: int = 1, shared: int = 0) -> KernelRecord:
    """A kernel with this body over buffers (name -> LLVM type, elements) and numbers (name -> LLVM type)."""
    numbers = numbers or {}
    arguments = [f"ptr %{n}" for n in pointers] + [f"{t} %{n}" for n, t in numbers.items()]
    parameters = [Buffer(n, np.dtype(KINDS[t]), (k,)) for n, (t, k) in pointers.items()]
    parameters += [Scalar(n, np.dtype(KINDS[t])) for n, t in numbers.items()]
    text = f"{extra}\ndefine void @k({', '.join(arguments)}) {{\n{body}\n  ret void\n}}\n"
    return KernelRecord("k", "k", text, tuple(parameters), (1, 1, 1), (block, 1, 1), shared)


def ran(made: KernelRecord, *values: Any) -> list[Any]:
    values = tuple(v.copy() if isinstance(v, np.ndarray) else v for v in values)
    with building():
        module = run_stages(made)
        assert module.operation.verify() and form.violations(module) == []
        interpret.run(module, values)
    return list(values)


WHOLE, SINGLE, DOUBLE = "i32", "float", "double"
INTEGERS = [3, -5, 0, 0x12345678, -1, 7, -2**31, 2**31 - 1]


def u32(x: int) -> int:
    return x & 0xFFFFFFFF


def s32(x: int) -> int:
    return (x + 2**31) % 2**32 - 2**31


def clamped(x: int) -> int:
    return min(max(x, -2**31), 2**31 - 1)


def bits_reversed(x: int) -> int:
    return int(f"{u32(x):032b}"[::-1], 2)


def rotated(a: int, b: int, s: int) -> int:
    return (u32(a) << 32 | u32(b)) << s >> 32


BINARY = [
    ("add", lambda a, b: a + b), ("sub", lambda a, b: a - b), ("mul", lambda a, b: a * b),
    ("and", lambda a, b: a & b), ("or", lambda a, b: a | b), ("xor", lambda a, b: a ^ b),
    ("llvm.smax.i32", max), ("llvm.smin.i32", min), ("llvm.umax.i32", lambda a, b: max(u32(a), u32(b))),
    ("llvm.umin.i32", lambda a, b: min(u32(a), u32(b))),
    ("llvm.sadd.sat.i32", lambda a, b: clamped(a + b)), ("llvm.ssub.sat.i32", lambda a, b: clamped(a - b)),
    ("llvm.uadd.sat.i32", lambda a, b: min(u32(a) + u32(b), 2**32 - 1)),
    ("llvm.usub.sat.i32", lambda a, b: max(u32(a) - u32(b), 0)),
    ("__nv_mulhi", lambda a, b: a * b >> 32), ("__nv_umulhi", lambda a, b: u32(a) * u32(b) >> 32),
]


@pytest.mark.parametrize(("name", "meaning"), BINARY, ids=[n for n, _ in BINARY])
def test_integers(name: str, meaning: Any) -> None:
    called = f"call i32 @{name}(i32 %a, i32 %b)" if "." in name or "_" in name else f"{name} i32 %a, %b"
    made = record(f"  %r = {called}\n  store i32 %r, ptr %out, align 4", {"out": (WHOLE, 1)}, {"a": WHOLE, "b": WHOLE})
    for a, b in zip(INTEGERS, INTEGERS[::-1], strict=True):
        assert ran(made, np.zeros(1, np.int32), a, b)[0][0] == s32(meaning(a, b))


UNARY = [
    ("call i32 @llvm.bswap.i32(i32 %a)", lambda a: int.from_bytes(u32(a).to_bytes(4, "little"), "big")),
    ("call i32 @llvm.bitreverse.i32(i32 %a)", bits_reversed),
    ("call i32 @llvm.ctpop.i32(i32 %a)", lambda a: u32(a).bit_count()),
    ("call i32 @llvm.ctlz.i32(i32 %a, i1 false)", lambda a: 32 - u32(a).bit_length()),
    ("call i32 @llvm.cttz.i32(i32 %a, i1 false)", lambda a: (u32(a) & -u32(a)).bit_length() - 1 if a else 32),
    ("call i32 @llvm.abs.i32(i32 %a, i1 false)", abs),
    ("call i32 @llvm.fshl.i32(i32 %a, i32 99, i32 5)", lambda a: rotated(a, 99, 5)),
    ("call i32 @llvm.fshr.i32(i32 %a, i32 99, i32 32)", lambda a: 99),
    ("call i32 @llvm.fshl.i32(i32 %a, i32 99, i32 0)", lambda a: a),
    ("sdiv i32 %a, 3", lambda a: int(math.trunc(a / 3))), ("udiv i32 %a, 3", lambda a: u32(a) // 3),
    ("srem i32 %a, 3", lambda a: int(math.fmod(a, 3))), ("urem i32 %a, 3", lambda a: u32(a) % 3),
    ("shl i32 %a, 3", lambda a: a << 3), ("lshr i32 %a, 3", lambda a: u32(a) >> 3),
    ("ashr i32 %a, 3", lambda a: a >> 3),
    ("call i32 @llvm.experimental.cttz.elts.i32.v3i8(<3 x i8> <i8 0, i8 7, i8 1>, i1 false)", lambda a: 1),
    ("shl i32 %a, 31", lambda a: a << 31), ("freeze i32 %a", lambda a: a),
]


@pytest.mark.parametrize(("text", "meaning"), UNARY, ids=[t for t, _ in UNARY])
def test_integers_and_constants(text: str, meaning: Any) -> None:
    made = record(f"  %r = {text}\n  store i32 %r, ptr %out, align 4", {"out": (WHOLE, 1)}, {"a": WHOLE})
    for a in INTEGERS:
        assert ran(made, np.zeros(1, np.int32), a)[0][0] == s32(meaning(a)), a


def reversed_of(a: int, n: int) -> int:
    return int(f"{a % 2**n:0{n}b}"[::-1], 2)


ODD = [
    (6, "@llvm.bitreverse.i6(i6 %n)", lambda a: reversed_of(a, 6)),
    (7, "@llvm.bitreverse.i7(i7 %n)", lambda a: reversed_of(a, 7)),
    (24, "@llvm.bitreverse.i24(i24 %n)", lambda a: reversed_of(a, 24)),
    (6, "@llvm.fshl.i6(i6 %n, i6 21, i6 8)", lambda a: (a << 2 | 21 >> 4) % 64),
    (7, "@llvm.fshr.i7(i7 21, i7 %n, i7 9)", lambda a: (21 << 5 | a % 128 >> 2) % 128),
    (7, "@llvm.ctpop.i7(i7 %n)", lambda a: (a % 128).bit_count()),
    (7, "@llvm.ctlz.i7(i7 %n, i1 false)", lambda a: 7 - (a % 128).bit_length()),
]


@pytest.mark.parametrize(("width", "call", "meaning"), ODD, ids=[c for _, c, _ in ODD])
def test_integers_of_any_width(width: int, call: str, meaning: Any) -> None:
    """What LLVM makes of shifts and masks."""
    made = record(f"  %n = trunc i32 %a to i{width}\n  %m = call i{width} {call}\n  %r = zext i{width} %m to i32\n"
                  f"  store i32 %r, ptr %out, align 4", {"out": (WHOLE, 1)}, {"a": WHOLE})
    for a in INTEGERS:
        assert ran(made, np.zeros(1, np.int32), a)[0][0] == meaning(a), a


@pytest.mark.parametrize(("name", "limit"), [
    ("sadd", (-2**31, 2**31)), ("ssub", (-2**31, 2**31)), ("smul", (-2**31, 2**31)), ("uadd", (0, 2**32)),
    ("usub", (0, 2**32)), ("umul", (0, 2**32))])
def test_overflow(name: str, limit: tuple[int, int]) -> None:
    made = record(f"  %p = call {{i32, i1}} @llvm.{name}.with.overflow.i32(i32 %a, i32 %b)\n"
                  "  %v = extractvalue { i32, i1 } %p, 0\n  %f = extractvalue { i32, i1 } %p, 1\n"
                  "  %w = zext i1 %f to i32\n  %q = getelementptr i8, ptr %out, i64 4\n"
                  "  store i32 %v, ptr %out, align 4\n  store i32 %w, ptr %q, align 4",
                  {"out": (WHOLE, 2)}, {"a": WHOLE, "b": WHOLE})
    meaning = {"add": int.__add__, "sub": int.__sub__, "mul": int.__mul__}[name[1:]]
    for a, b in zip(INTEGERS, INTEGERS[::-1], strict=True):
        exact = meaning(a, b) if name[0] == "s" else meaning(u32(a), u32(b))
        assert ran(made, np.zeros(2, np.int32), a, b)[0].tolist() == [
            s32(exact), int(not limit[0] <= exact < limit[1])]


FLOATS = [0.5, -1.75, 2.5, 3.0, -0.0, math.inf, math.nan]
FUNCTIONS = [
    ("call double @llvm.sqrt.f64(double %a)", np.sqrt), ("call double @exp(double %a)", np.exp),
    ("call double @__nv_cbrt(double %a)", np.cbrt), ("call double @llvm.fabs.f64(double %a)", np.abs),
    ("call double @llvm.rint.f64(double %a)", np.rint), ("call double @llvm.trunc.f64(double %a)", np.trunc),
    ("fneg double %a", np.negative), ("frem double %a, 1.0", lambda a: np.fmod(a, 1.0)),
    ("call double @llvm.maxnum.f64(double %a, double 1.0)", lambda a: np.fmax(a, 1.0)),
    ("call double @llvm.minimum.f64(double %a, double 1.0)", lambda a: np.minimum(a, 1.0)),
    ("call double @llvm.copysign.f64(double %a, double -1.0)", lambda a: np.copysign(a, -1.0)),
    ("call double @llvm.ldexp.f64.i32(double %a, i32 -3)", lambda a: np.ldexp(a, -3)),
    ("call double @ldexp(double %a, i32 1000)", lambda a: np.ldexp(a, 1000)),
    ("call double @hypot(double %a, double 2.0)", lambda a: np.hypot(a, 2.0)),
    ("call double @__nv_sinpi(double %a)", lambda a: np.sin(np.pi * a) if math.isfinite(a) else np.nan),
    ("call double @fdim(double %a, double 1.0)", lambda a: np.nan if a != a else max(a - 1, 0.0)),
    ("call double @llvm.powi.f64.i32(double %a, i32 3)", lambda a: a ** 3),
    ("call double @llvm.fma.f64(double %a, double %a, double 1.0)", lambda a: a * a + 1),
    ("call double @llvm.fmuladd.f64(double %a, double %a, double 1.0)", lambda a: a * a + 1),
    ("call double @__nv_rcbrt(double %a)", lambda a: 1 / np.cbrt(a)),
    ("call double @lgamma(double %a)", lambda a: float(__import__("scipy.special").special.gammaln(a))),
    ("call double @llvm.exp10.f64(double %a)", lambda a: np.power(10.0, a)),
    ("fadd double %a, 0x3FF8000000000000", lambda a: a + 1.5),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("text", "meaning"), FUNCTIONS, ids=[t for t, _ in FUNCTIONS])
def test_floats(text: str, meaning: Any) -> None:
    made = record(f"  %r = {text}\n  store double %r, ptr %out, align 8", {"out": (DOUBLE, 1)}, {"a": DOUBLE})
    for a in FLOATS:
        got = ran(made, np.zeros(1), a)[0][0]
        np.testing.assert_allclose(got, meaning(np.float64(a)), 1e-13, 1e-15)


@pytest.mark.parametrize(("mask", "holds"), [
    (3, lambda x: x != x), (516, math.isinf), (4, lambda x: x == -math.inf), (96, lambda x: x == 0),
    (32, lambda x: x == 0 and math.copysign(1, x) < 0), (264, lambda x: math.isfinite(x) and abs(x) >= 2.0**-1022),
    (144, lambda x: 0 < abs(x) < 2.0**-1022)])
def test_classes_of_floats(mask: int, holds: Any) -> None:
    made = record(f"  %r = call i1 @llvm.is.fpclass.f64(double %a, i32 {mask})\n  %w = zext i1 %r to i32\n"
                  "  store i32 %w, ptr %out, align 4", {"out": (WHOLE, 1)}, {"a": DOUBLE})
    for a in [*FLOATS, -math.inf, 0.0, 5e-324, -1e-310]:
        assert ran(made, np.zeros(1, np.int32), a)[0][0] == int(holds(a)), a


@pytest.mark.parametrize(("text", "values", "expected"), [
    ("call i32 @llvm.fptosi.sat.i32.f64(double %a)", [1e20, -1e20, math.nan, -2.7], [2**31 - 1, -2**31, 0, -2]),
    ("call i32 @llvm.fptoui.sat.i32.f64(double %a)", [1e20, -1e20, math.nan, 2.7], [-1, 0, 0, 2]),
    ("fptosi double %a to i32", [2.9, -2.9], [2, -2]), ("call i32 @__nv_double2int_rn(double %a)", [2.5, 3.5], [2, 4]),
    ("call i32 @__nv_double2int_rd(double %a)", [2.5, -3.5], [2, -4]),
])
def test_conversions(text: str, values: list[float], expected: list[int]) -> None:
    made = record(f"  %r = {text}\n  store i32 %r, ptr %out, align 4", {"out": (WHOLE, 1)}, {"a": DOUBLE})
    assert [ran(made, np.zeros(1, np.int32), a)[0][0] for a in values] == expected


def test_vectors_and_aggregates() -> None:
    made = record("""
  %v = load <4 x float>, ptr %in, align 16
  %w = fmul <4 x float> %v, splat (float 2.0)
  %s = shufflevector <4 x float> %w, <4 x float> %v, <4 x i32> <i32 3, i32 4, i32 poison, i32 1>
  %e = extractelement <4 x float> %s, i32 %i
  %x = insertelement <4 x float> %s, float %e, i32 2
  %q = getelementptr inbounds nuw i8, ptr %out, i64 16
  store <4 x float> %x, ptr %q, align 16
  %a = insertvalue { float, [2 x float] } poison, float %e, 1, 1
  %b = extractvalue { float, [2 x float] } %a, 1
  store [2 x float] %b, ptr %out, align 4
  %r = call float @llvm.vector.reduce.fadd.v4f32(float 1.0, <4 x float> %v)
  %t = getelementptr float, ptr %out, i64 2
  store float %r, ptr %t, align 4
  %u = call <4 x float> @llvm.sqrt.v4f32(<4 x float> %v)
  %y = extractelement <4 x float> %u, i64 2
  %z = getelementptr float, ptr %out, i64 3
  store float %y, ptr %z, align 4""", {"out": (SINGLE, 8), "in": (SINGLE, 4)}, {"i": WHOLE})
    out = ran(made, np.zeros(8, np.float32), np.array([1, 2, 4, 8], np.float32), 3)[0]
    np.testing.assert_array_equal(out, [0, 4, 16, 2, 16, 1, 4, 4])


def test_repacked_bits() -> None:
    made = record("""
  %v = load <2 x i32>, ptr %in, align 8
  %w = bitcast <2 x i32> %v to i64
  %x = add i64 %w, 1
  %y = bitcast i64 %x to <8 x i8>
  store <8 x i8> %y, ptr %out, align 8
  %z = bitcast double 1.0 to i64
  %q = getelementptr i64, ptr %out, i64 1
  store i64 %z, ptr %q, align 8""", {"out": ("i8", 16), "in": (WHOLE, 2)})
    out = ran(made, np.zeros(16, np.int8), np.array([-1, 5], np.int32))[0]
    np.testing.assert_array_equal(out[:8].view(np.int64), [(5 << 32 | 0xFFFFFFFF) + 1])
    assert out[8:].view(np.float64)[0] == 1.0


@pytest.mark.parametrize("count", [3, 100])
def test_blocks_of_memory(count: int) -> None:
    """memcpy, memset, and memmove in both directions."""
    size = 4 * count
    made = record(f"""
  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %in, i64 {size}, i1 false)
  %a = getelementptr float, ptr %in, i64 1
  call void @llvm.memmove.p0.p0.i64(ptr %a, ptr %in, i64 {size}, i1 false)
  %b = getelementptr float, ptr %out, i64 {count}
  call void @llvm.memset.p0.i64(ptr %b, i8 0, i64 {size}, i1 false)""",
                  {"out": (SINGLE, 2 * count), "in": (SINGLE, count + 1)})
    x = np.arange(1, count + 2, dtype=np.float32)
    out, moved = ran(made, np.full(2 * count, 9, np.float32), x)
    np.testing.assert_array_equal(out, [*x[:count], *[0] * count])
    np.testing.assert_array_equal(moved, [x[0], *x[:count]])


def test_constant_expressions_tables_and_shared_memory() -> None:
    made = record("""
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %p = getelementptr i32, ptr addrspace(4) getelementptr inbounds (i8, ptr addrspace(4) @table, i64 4), i64 %i
  %v = load i32, ptr addrspace(4) %p, align 4
  %s = getelementptr [4 x i32], ptr addrspacecast (ptr addrspace(3) @shared to ptr), i64 0, i64 %i
  store i32 %v, ptr %s, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %o = xor i64 %i, 3
  %q = getelementptr i32, ptr addrspace(3) @shared, i64 %o
  %w = load i32, ptr addrspace(3) %q, align 4
  %r = getelementptr i32, ptr %out, i64 %i
  store i32 %w, ptr %r, align 4""", {"out": (WHOLE, 4)}, block=4, extra="""
@table = internal addrspace(4) constant [5 x i32] [i32 9, i32 10, i32 11, i32 12, i32 -3]
@shared = internal addrspace(3) global [4 x i32] undef
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()""")
    np.testing.assert_array_equal(ran(made, np.zeros(4, np.int32))[0], [-3, 12, 11, 10])


def test_pointers_that_are_chosen_and_compared() -> None:
    made = record("""
  %c = icmp eq i32 %n, 0
  %p = select i1 %c, ptr %a, ptr %b
  %null = icmp eq ptr %p, null
  %end = getelementptr float, ptr %p, i64 4
  br label %loop
loop:
  %q = phi ptr [ %p, %0 ], [ %r, %loop ]
  %v = load float, ptr %q, align 4
  %w = fadd float %v, 1.0
  store float %w, ptr %q, align 4
  %r = getelementptr inbounds i8, ptr %q, i64 4
  %more = icmp ne ptr %r, %end
  br i1 %more, label %loop, label %done
done:
  %x = ptrtoint ptr %r to i64
  %y = ptrtoint ptr %p to i64
  %d = sub i64 %x, %y
  %z = inttoptr i64 %y to ptr
  %u = sitofp i64 %d to float
  %f = select i1 %null, float 99.0, float %u
  store float %f, ptr %z, align 4""", {"a": (SINGLE, 5), "b": (SINGLE, 5)}, {"n": WHOLE})
    for n in (0, 1):
        buffers = ran(made, np.zeros(5, np.float32), np.zeros(5, np.float32), n)[:2]
        np.testing.assert_array_equal(buffers[n], [16, 1, 1, 1, 0])
        np.testing.assert_array_equal(buffers[1 - n], np.zeros(5))


def test_records_in_memory() -> None:
    """{ i32, double } accessed by fields: words of 32 bits, the double put together."""
    made = record("""
  %p = getelementptr { i32, double }, ptr %in, i64 1, i32 1
  %v = load double, ptr %p, align 8
  %q = getelementptr { i32, double }, ptr %in, i64 0, i32 0
  %n = load i32, ptr %q, align 4
  %f = sitofp i32 %n to double
  %s = fadd double %v, %f
  store double %s, ptr %p, align 8""", {"in": ("i8", 32)})
    x = np.array([(4, 0.25), (5, 1.5)], np.dtype([("n", "i4"), ("v", "f8")], align=True))
    out = ran(made, x.view(np.int8))[0].view(x.dtype)
    assert out["v"].tolist() == [0.25, 5.5] and out["n"].tolist() == [4, 5]


@pytest.mark.parametrize(("body", "message"), [
    ("  %p = load ptr, ptr %out, align 8\n  store i32 1, ptr %p, align 4", "reads a pointer from memory"),
    ("  %p = inttoptr i64 %a to ptr\n  store i32 1, ptr %p, align 4", "an address that it computes from numbers"),
    ("  call void @llvm.trap()", "uses a trap"), ("  call i32 @vprintf(ptr null, ptr null)", "uses printf"),
    ("  %m = call ptr @malloc(i64 8)", r"dynamic allocation \(malloc\)"),
    ("  call void @helper(i32 1)", "the function helper"),
    ("  %v = alloca i32, i64 %a, align 4", "a local array whose size is known only at run time"),
])
def test_refused(body: str, message: str) -> None:
    made = record(body, {"out": ("i64", 1)}, {"a": "i64"})
    with pytest.raises(UnsupportedError, match=message):
        run_stages(made)


def test_a_refusal_names_the_line() -> None:
    made = record("  call void @llvm.trap(), !dbg !3", {"out": ("i64", 1)}, extra="""
!1 = !DIFile(filename: "kernel.cu", directory: "/home/me")
!2 = distinct !DISubprogram(name: "k", file: !1, line: 3)
!3 = !DILocation(line: 17, column: 5, scope: !2)""")
    with pytest.raises(UnsupportedError, match=r"\n  --> /home/me/kernel\.cu:17"):
        run_stages(made)


@pytest.mark.parametrize(("text", "size", "offsets"), [
    ("{ i8, double, i16 }", 24, [0, 8, 16]), ("<{ i8, double }>", 9, [0, 1]), ("[3 x { i32, i8 }]", 24, None),
    ("<3 x float>", 16, None), ("i1", 1, None), ("{ [2 x half], ptr }", 16, [0, 8])])
def test_layout(text: str, size: int, offsets: list[int] | None) -> None:
    kind = Tokens(text, {}).type()
    assert kind.size() == size and (offsets is None or kind.offsets() == offsets)


def test_names_and_strings() -> None:
    module = read_module('%"a b" = type { i32 }\n@s = constant [3 x i8] c"a\\\\\\0A"\n'
                         'define void @"f g"(ptr %"x y") {\n  ret void\n}\n')
    assert module.structs["a b"] == Type("struct", 0, (Type("int", 32),))
    value = module.globals["s"].value
    assert value is not None and value.of == b"a\\\n"
    assert module.functions["f g"].arguments[0][1] == "x y"


def test_the_interpreter_reports_accesses_outside_and_barriers_that_differ() -> None:
    store = "  %p = getelementptr i32, ptr %out, i64 %a\n  store i32 1, ptr %p, align 4"
    made = record(store, {"out": (WHOLE, 3)}, {"a": "i64"})
    with pytest.raises(interpret.OutOfBounds, match="element 3 of a buffer of 3 elements"):
        ran(made, np.zeros(3, np.int32), 3)
    made = record("""
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = icmp eq i32 %t, 0
  br i1 %c, label %one, label %two
one:
  call void @reactant.barrier.grid()
  br label %done
two:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %done
done:""", {"out": (WHOLE, 3)}, block=2)
    with pytest.raises(ReactantError, match="wait for each other at different barriers"):
        ran(made, np.zeros(3, np.int32))

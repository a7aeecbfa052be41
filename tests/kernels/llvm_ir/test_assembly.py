"""Inline PTX: known instructions compute what NVIDIA's manual says, unknown ones are refused with their line."""
from __future__ import annotations

import itertools

import numpy as np
import pytest

import reactant

GENERATOR = np.random.default_rng(3)
A, B, C = (GENERATOR.integers(0, 2**32, 64, dtype=np.uint32) for _ in range(3))
A[:6], B[:6], C[:6] = [0, 1, 0xffffffff, 0x80000000, 7, 5], [0, 31, 32, 33, 3, 0xffffffff], [0, 1, 64, 8, 255, 32]
M32, M64 = 2**32 - 1, 2**64 - 1


def signed(x, width=32):
    x &= (1 << width) - 1
    return x - (1 << width) if x >> (width - 1) else x


def bit_field(a, b, c, sign):
    start, length, top = b & 255, c & 255, min((b & 255) + (c & 255) - 1, 31)
    fill = 0 if not sign or length == 0 else a >> top & 1
    return sum((a >> (start + i) & 1 if i < length and start + i <= 31 else fill) << i for i in range(32))


def bit_insertion(a, into, start, length):
    mask = ((1 << length) - 1 << start) & M32 if start < 32 else 0
    return into & ~mask | a << start & mask


def permuted(a, b, c):
    both, found = b << 32 | a, 0
    for k in range(4):
        byte = both >> 8 * (c >> 4 * k & 7) & 255
        found |= (255 * (byte >> 7) if c >> 4 * k & 8 else byte) << 8 * k
    return found


def table(a, b, c, rows):
    return sum((rows >> 4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1) & 1) << i for i in range(32))


INSTRUCTIONS = {
    "add.u32 %0, %1, %2;": lambda a, b, c: a + b, "sub.s32 %0, %1, %2;": lambda a, b, c: a - b,
    "add.sat.s32 %0, %1, %2;": lambda a, b, c: max(-2**31, min(2**31 - 1, signed(a) + signed(b))),
    "mul.lo.u32 %0, %1, %2;": lambda a, b, c: a * b, "mul.hi.u32 %0, %1, %2;": lambda a, b, c: a * b >> 32,
    "mul.hi.s32 %0, %1, %2;": lambda a, b, c: signed(a) * signed(b) >> 32,
    "mad.lo.s32 %0, %1, %2, %3;": lambda a, b, c: a * b + c,
    "mad.hi.u32 %0, %1, %2, %3;": lambda a, b, c: (a * b >> 32) + c,
    "mul24.lo.s32 %0, %1, %2;": lambda a, b, c: signed(a, 24) * signed(b, 24),
    "mad24.lo.u32 %0, %1, %2, %3;": lambda a, b, c: (a & 0xffffff) * (b & 0xffffff) + c,
    "sad.s32 %0, %1, %2, %3;": lambda a, b, c: c + abs(signed(a) - signed(b)),
    "min.s32 %0, %1, %2;": lambda a, b, c: min(signed(a), signed(b)), "max.u32 %0, %1, %2;": lambda a, b, c: max(a, b),
    "popc.b32 %0, %1;": lambda a, b, c: a.bit_count(), "clz.b32 %0, %1;": lambda a, b, c: 32 - a.bit_length(),
    "bfind.u32 %0, %1;": lambda a, b, c: a.bit_length() - 1,
    "bfind.s32 %0, %1;": lambda a, b, c: (a if signed(a) >= 0 else ~a & M32).bit_length() - 1,
    "brev.b32 %0, %1;": lambda a, b, c: int(f"{a:032b}"[::-1], 2), "cnot.b32 %0, %1;": lambda a, b, c: a == 0,
    "not.b32 %0, %1;": lambda a, b, c: ~a, "abs.s32 %0, %1;": lambda a, b, c: abs(signed(a)),
    "shl.b32 %0, %1, %2;": lambda a, b, c: a << b if b < 32 else 0,
    "shr.u32 %0, %1, %2;": lambda a, b, c: a >> min(b, 32),
    "shr.s32 %0, %1, %2;": lambda a, b, c: signed(a) >> min(b, 32),
    "shf.l.wrap.b32 %0, %1, %2, %3;": lambda a, b, c: (b << 32 | a) << (c & 31) >> 32,
    "shf.r.clamp.b32 %0, %1, %2, %3;": lambda a, b, c: (b << 32 | a) >> min(c, 32),
    "bfe.u32 %0, %1, %2, %3;": lambda a, b, c: bit_field(a, b, c, False),
    "bfe.s32 %0, %1, %2, %3;": lambda a, b, c: bit_field(a, b, c, True),
    "bfi.b32 %0, %1, %3, %2, 7;": lambda a, b, c: bit_insertion(a, c, b & 255, 7),
    "bfi.b32 %0, %1, %2, 3, %3;": lambda a, b, c: bit_insertion(a, b, 3, c & 255),
    "lop3.b32 %0, %1, %2, %3, 0x96;": lambda a, b, c: table(a, b, c, 0x96),
    "lop3.b32 %0, %1, %2, %3, 0xCA;": lambda a, b, c: (a & b) | (~a & c),
    "prmt.b32 %0, %1, %2, %3;": permuted, "prmt.b32 %0, %1, %2, 0x9f40;": lambda a, b, c: permuted(a, b, 0x9f40),
    "dp4a.u32.s32 %0, %1, %2, %3;":
        lambda a, b, c: c + sum((a >> 8 * k & 255) * signed(b >> 8 * k, 8) for k in range(4)),
    "{ .reg .pred p, q; setp.lt.s32 p|q, %1, %2; selp.u32 %0, 5, %3, p; @q add.u32 %0, %0, 1; }":
        lambda a, b, c: 5 if signed(a) < signed(b) else c + 1,
    "set.ge.u32.u32 %0, %1, %2;": lambda a, b, c: -(a >= b), "slct.u32.s32 %0, %1, %2, %3;":
        lambda a, b, c: a if signed(c) >= 0 else b,
    "{ .reg .pred %%p; setp.eq.u32 %%p, %1, 0; @!%%p mov.u32 %0, %2; @%%p mov.b32 %0, 0x10; }":
        lambda a, b, c: b if a else 16,
    "{ .reg .u64 w; mul.wide.u32 w, %1, %2; shr.u64 w, w, 20; cvt.u32.u64 %0, w; }": lambda a, b, c: a * b >> 20,
    "{ .reg .b64 w; .reg .b32 lo, hi; mov.b64 w, {%1, %2}; add.u64 w, w, 3; mov.b64 {lo, hi}, w; xor.b32 %0, lo, hi; }":
        lambda a, b, c: (lambda w: w & M32 ^ w >> 32)((b << 32 | a) + 3 & M64),
    "{ .reg .u32 t; add.cc.u32 t, %1, %2; addc.u32 %0, %3, 0; }": lambda a, b, c: c + (a + b >> 32),
    "{ .reg .u32 t; sub.cc.u32 t, %1, %2; subc.u32 %0, %3, 4; }": lambda a, b, c: c - 4 - (a < b),
    "{ .reg .u32 t; mad.lo.cc.u32 t, %1, %2, %3; madc.hi.u32 %0, %1, %2, 0; }": lambda a, b, c: a * b + c >> 32,
    "{ .reg .u16 h; cvt.u16.u32 h, %1; cvt.s32.s16 %0, h; }": lambda a, b, c: signed(a, 16),
    "{ .reg .s8 h; cvt.s8.s32 h, %1; cvt.u32.u8 %0, h; } // a comment": lambda a, b, c: a & 255,
    "{ .reg .f32 f; cvt.rn.f32.s32 f, %1; cvt.rmi.s32.f32 %0, f; }":
        lambda a, b, c: max(-2**31, min(2**31 - 1, int(np.floor(np.float32(signed(a)))))),
    "{ .reg .f32 f; mov.b32 f, 0f40490FDB; fma.rn.f32 f, f, 0f40000000, 1.0; mov.b32 %0, f; }":
        lambda a, b, c: int(np.float32(np.float32(np.pi) * 2 + 1).view(np.uint32)),
}


def test_integers():
    body = "\n".join(f'    {{ unsigned r; asm("{code}" : "=r"(r) : "r"(a[i]), "r"(b[i]), "r"(c[i])); '
                     f"y[{k} * 64 + i] = r; }}" for k, code in enumerate(INSTRUCTIONS))
    k = reactant.cuda.load('extern "C" __global__ void k(const unsigned *a, const unsigned *b, const unsigned *c, '
                           f"unsigned *y) {{\n    int i = threadIdx.x;\n{body}\n}}\n", "k", lower="native")
    y = np.zeros((len(INSTRUCTIONS), 64), np.uint32)
    k[1, 64](A, B, C, y)
    wrong = [(code, hex(a), hex(b), hex(c), hex(got), hex(wanted(int(a), int(b), int(c)) & M32))
             for (code, wanted), row in zip(INSTRUCTIONS.items(), y, strict=True)
             for a, b, c, got in zip(A, B, C, row, strict=True) if int(got) != wanted(int(a), int(b), int(c)) & M32]
    assert not wrong, wrong[:5]


def source(body, parameters="float *x, int *n"):
    return f'extern "C" __global__ void k({parameters}) {{\n    int i = threadIdx.x;\n{body}\n}}\n'


MEMORY = """
    float a; int total = 0, lane, ballot, other; unsigned h = 0;
    asm volatile("ld.global.nc.f32 %0, [%1 + 4];" : "=f"(a) : "l"(x + i) : "memory");
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("{ .reg .pred p; setp.gt.f32 p, %1, 0f40000000; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
                 : "=r"(ballot) : "f"(a));
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=r"(other) : "r"(lane));
    asm volatile("red.global.add.s32 [%0], %1;" :: "l"(n), "r"(lane) : "memory");
    asm volatile("membar.gl;" ::: "memory");
    asm volatile("bar.sync 0;" ::: "memory");
    asm volatile("ld.global.cg.s32 %0, [%1];" : "=r"(total) : "l"(n) : "memory");
    asm("{ .reg .b16 q; cvt.rn.f16.f32 q, %1; mov.b32 %0, {q, q}; }" : "+r"(h) : "f"(a));
    asm volatile("st.global.v2.f32 [%0], {%1, %2};" :: "l"(x + 64 + 2 * i), "f"(a + other), "f"((float)total)
                 : "memory");
    n[1 + i] = ballot; n[40 + i] = h;
"""


@pytest.mark.parametrize("lower", ["auto", "native"])
def test_memory_and_lanes(lower):
    x = np.arange(128, dtype=np.float32) / 8
    n = np.zeros(80, np.int32)
    a, lanes = x[1:33].copy(), np.arange(32)
    reactant.cuda.load(source(MEMORY), "k", lower=lower)[1, 32](x, n)
    assert n[0] == lanes.sum()
    np.testing.assert_array_equal(x[64:].reshape(32, 2), np.stack([a + (lanes ^ 1), np.full(32, 496)], 1))
    np.testing.assert_array_equal(n[1:33].view(np.uint32), sum(1 << int(i) for i in lanes[a > 2]))
    half = a.astype(np.float16).view(np.uint16).astype(np.uint32)
    np.testing.assert_array_equal(n[40:72].view(np.uint32), half << 16 | half)


@pytest.mark.parametrize("code, why", [
    ('asm volatile("mov.u32 %0, %%clock;" : "=r"(i)); n[i] = i;', "there is no clock in a kernel"),
    ('asm("mov.u32 %0, %%smid;" : "=r"(i)); n[i] = i;', "the register %smid"),
    ('asm("add.rz.f32 %0, %0, 1.0;" : "+f"(x[i]));', r"the instruction add.rz.f32 \(.rz\)"),
    ('asm volatile("addc.u32 %0, %0, 0;" : "+r"(i)); n[0] = i;', "addc.u32 reads the carry of another statement"),
    ('asm volatile("L: bra L;"); n[0] = i;', "the instruction L:"),
    ('asm volatile("bar.sync 1, 32;"); n[0] = i;', "bar.sync of some threads"),
    ('asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(i), "l"(x));', "the instruction cp.async"),
    ('asm volatile("st.shared.f32 [%0], %1;" :: "r"(i), "f"(x[0]));', "an address of 32 bits")])
def test_refused(code, why):
    with pytest.raises(reactant.UnsupportedError, match=rf"(?s)inline assembly that is not known: {why}.*<source>:3\n"):
        reactant.cuda.load(source("    " + code), "k")[1, 32](np.zeros(32, np.float32), np.zeros(32, np.int32))


def test_what_no_kernel_reaches_is_no_error():
    text = source("    n[i] = 1;") + '__device__ void f() { asm("bra L;"); }\n'
    n = np.zeros(4, np.int32)
    reactant.cuda.load(text, "k")[1, 4](np.zeros(4, np.float32), n)
    assert list(n) == list(itertools.repeat(1, 4))

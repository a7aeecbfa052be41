"""What blocks access, as the function says that is compiled with a kernel: asked for launches of several shapes."""
import ctypes
import re
import struct

import pytest

from reactant.cuda_programs.device import compile as device
from reactant.cuda_programs.device import prepared, retarget
from reactant.cuda_programs.device.kernel import kernel
from reactant.cuda_programs.device.layout import Layout
from reactant.cuda_programs.device.reach import ANYWHERE, SIZE, WRITES, reach_function
from reactant.cuda_programs.device.text import split
from reactant.native import engine

X, Y = 1 << 20, 2 << 20
INDEX = "const int i = blockIdx.x * blockDim.x + threadIdx.x; "
READ, ANY = 0, ANYWHERE
"""A kernel's code, and of 10 blocks of 64 threads with n = 600: (root, address from there, low, high, step, period,
flags); None where no function is made."""
KERNELS = {
    "each": (INDEX + "if (i < n) y[i] = x[i] * 2;",
             {(X, 0, 0, 256, 256, 0, READ), (Y, 0, 0, 256, 256, 0, WRITES)}),
    "behind": (INDEX + "if (i > 0 && i < n) y[i] = x[i - 1];",
               {(X, -4, 0, 256, 256, 0, READ), (Y, 0, 0, 256, 256, 0, WRITES)}),
    "reversed": (INDEX + "if (i < n) y[n - 1 - i] = 1;", {(Y, 4 * 599, -252, 4, -256, 0, WRITES)}),
    "of_block": ("if (threadIdx.x == 0) y[blockIdx.x] = 1;", {(Y, 0, 0, 4, 4, 0, WRITES)}),
    "three": (INDEX + "for (int k = 0; k < 3; ++k) y[3 * i + k] = k;",
              {(Y, 4 * k, 0, 760, 768, 0, WRITES) for k in range(3)}),
    "loop": ("for (int k = 0; k < n; ++k) y[n * blockIdx.x + k] = k + x[0];",
             {(Y, 0, 0, 2400, 2400, 0, WRITES), (X, 0, 0, 4, 0, 0, READ)}),
    "strided": ("for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 1;",
                {(Y, 0, 0, 256, 256, 2560, WRITES)}),
    "planes": (INDEX + "if (i < n) for (int k = 0; k < 5; ++k) y[i + (long long)k * n] = 1;",
               {(Y, 4 * 600 * k, 0, 256, 256, 0, WRITES) for k in range(5)}),
    "gathered": (INDEX + "if (i < n) y[i] = x[(int)x[i]];",
                 {(X, 0, 0, 256, 256, 0, READ), (X, 0, 0, 4, 0, 0, ANY), (Y, 0, 0, 256, 256, 0, WRITES)}),
    "bits": (INDEX + "y[i ^ 1] = 1;", {(Y, 0, 0, 4, 0, 0, WRITES | ANY)}),
    "added": ("atomicAdd(&y[threadIdx.x], 1.0f);", {(Y, 0, 0, 256, 0, 0, WRITES)}),
    "shared": ("__shared__ float s[64]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); y[blockIdx.x] = s[n & 63];",
               {(X, 0, 0, 256, 0, 0, READ), (Y, 0, 0, 4, 4, 0, WRITES)}),
    "chosen": (INDEX + "(n > 3 ? x : y)[i] = 1;", None),
    "followed": ("*((float **)y)[0] = 1;", None),
    "prints": (INDEX + 'if (i == n) printf("no\\n"); y[i] = 1;', None),
    "volatile_": (INDEX + "y[i] = *(volatile float *)x;", None),
    "trapped": (INDEX + "if (i == n) __trap(); y[i] = 1;", None),
    "variable": (INDEX + "table[i & 7] = x[i];",
                 {("table", 0, 0, 4, 0, 0, WRITES | ANY), (X, 0, 0, 256, 256, 0, READ)}),
}
FIELDS = """
struct Parts { float *from, *to; int n, between; };
__global__ void fields(Parts p) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p.n) p.to[i + p.between] = p.from[i];
}
"""


@pytest.fixture(scope="module")
def reached(tmp_path_factory):
    """Kernel -> its function's address, or None; and how many accesses it has."""
    source = tmp_path_factory.mktemp("reach") / "kernels.cu"
    bodies = "".join(f"__global__ void {name}(float *x, float *y, int n) {{ {body} }}\n"
                     for name, (body, _) in KERNELS.items())
    source.write_text('#include <cstdio>\n__device__ float table[8];\n' + FIELDS + bodies)
    module = retarget.retargeted(device.device_code(source))
    parts = split(prepared.prepared(module))
    found = {}
    for name in module.kernels:
        text, (symbol, count) = reach_function(kernel(parts.functions[name]), module, Layout(parts.rest), frozenset())
        plain = re.match(r"_Z\d+([a-z_]+?)(P|\d|5Parts)", name)[1]
        if not text:
            found[plain] = None, 0
            continue
        text = text.replace("internal ", "").replace("#REACTANT", "") + "@table = global [8 x float] zeroinitializer\n"
        text += "".join(f"declare {t} @llvm.{how}.{t}({t}, {t})\n" for how in ("smin", "smax", "umin", "umax")
                        for t in ("i32", "i64") if f"@llvm.{how}.{t}(" in text)
        made = engine.load(text, f"reach_{plain}", (symbol, "table"), {})
        found[plain] = made[symbol], count
        found["table"] = made["table"], 0
    return found


def rows(function, count, arguments, grid=10, block=64):
    """The accesses of a launch, as sets of numbers."""
    launch = struct.pack("<2I3I3IQQ", 3, 0, grid, 1, 1, block, 1, 1, 0, grid) + bytes(80)
    given = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(a) for a in arguments))
    out = (ctypes.c_char * (SIZE * max(count, 1)))()
    call = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p)(function)
    assert call(launch, ctypes.addressof(given), ctypes.addressof(out)) == count
    found = set()
    for k in range(count):
        root, address, low, high, step, period, flags, _ = struct.unpack_from("<QQqqqQII", out, SIZE * k)
        found.add((root, address - root, low, high, step, period, flags))
    return found


def usual(n=600):
    return [ctypes.c_uint64(X), ctypes.c_uint64(Y), ctypes.c_int32(n)]


def anywhere(row):
    """What is anywhere has no place."""
    return (row[0], 0, 0, 4, 0, 0, row[6]) if row[6] & ANYWHERE else row


@pytest.mark.parametrize("name", KERNELS)
def test_blocks_access(reached, name):
    function, count = reached[name]
    expected = KERNELS[name][1]
    assert (function is None) == (expected is None)
    if function is not None:
        there = {(reached["table"][0] if r[0] == "table" else r[0], *r[1:]) for r in expected}
        assert {anywhere(r) for r in rows(function, count, usual())} == there


def test_pointers_in_structures(reached):
    function, count = reached["fields"]
    parts = (ctypes.c_char * 24).from_buffer(bytearray(struct.pack("<QQii", X, Y, 600, 1000)))
    assert rows(function, count, [parts]) == {(X, 0, 0, 256, 256, 0, READ), (Y, 4000, 0, 256, 256, 0, WRITES)}


@pytest.mark.parametrize("name, n, grid", [("three", 600, 2**24), ("strided", 2**31 - 100, 10), ("loop", 2**28, 10),
                                           ("loop", 0, 10), ("reversed", -2**31 + 5, 10)])
def test_sums_that_may_wrap_around_are_anywhere(reached, name, n, grid):
    function, count = reached[name]
    assert any(row[6] == WRITES | ANYWHERE for row in rows(function, count, usual(n), grid))

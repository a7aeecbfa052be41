"""The memory that structured arrays with arrays of structs in them make up, in compiled functions."""
import numpy as np
import pytest

import reactant

pytest.importorskip("ziglang", reason="needs ziglang")

INNER = np.dtype([("w", "f4"), ("k", "i4", (2,))])
OUTER = np.dtype([("a", "f8"), ("cells", INNER, (2, 3)), ("tag", "i2", (2,))], align=True)
NESTED = """
struct Inner { float w; int k[2]; };
struct Outer { double a; Inner cells[2][3]; short tag[2]; };
extern "C" __global__ void bump(Outer *o, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    for (int r = 0; r < 2; r++) for (int c = 0; c < 3; c++) { o[i].cells[r][c].w += c; o[i].cells[r][c].k[1] -= r; }
    o[i].a += o[i].tag[1];
}
extern "C" __global__ void pick(const Outer *o, const int *at, float *out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = o[i].cells[1][at[i]].w;
}
extern "C" __global__ void value(Outer o, float *out) { out[0] = o.cells[1][2].w + o.cells[0][1].k[0] + o.a; }
"""


@pytest.mark.parametrize("lower", ["auto", "native"])
def test_arrays_of_structs_in_structs_in_compiled_functions(lower):
    module, at = reactant.cuda.load(NESTED, lower=lower), np.int32([0, 2, 1, 2])

    def run(o, at, i):
        out, one = np.zeros(4, np.float32), np.zeros(1, np.float32)
        module.bump[1, 8](o, 4)
        module.pick[1, 8](o, at, out, 4)
        module.value[1, 1](o[i], one)
        return out, one
    found = []
    for f in (run, reactant.jit(run)):
        o = np.zeros(4, OUTER)
        o["cells"]["w"], o["tag"] = np.arange(24).reshape(4, 2, 3), 7
        found.append((o, *f(o, at, 1)))
    (o, out, one), compiled = found
    w = np.arange(24).reshape(4, 2, 3) + np.arange(3)
    assert np.array_equal(o["cells"]["w"], w) and np.array_equal(out, w[np.arange(4), 1, at]) and one == w[1, 1, 2] + 7
    assert np.array_equal(o["cells"]["k"][..., 1], np.broadcast_to([[0], [-1]], (4, 2, 3)))
    assert all(np.array_equal(a, b) for a, b in zip(found[0], compiled, strict=True))

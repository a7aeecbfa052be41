"""Registers that loops pass on from iteration to iteration: all iterations at once, as slices of what they were loaded
from."""
from __future__ import annotations

import numpy as np
import pytest

import reactant

HOTSPOT = r"""
extern "C" __global__ void hotspot(const float *p, const float *t, float *out, int nx, int ny, int nz)
{   // after Rodinia's description: planes of z one after the other, three of them in registers
    int i = blockDim.x * blockIdx.x + threadIdx.x, j = blockDim.y * blockIdx.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    int c = i + j * nx, plane = nx * ny;
    int west = i == 0 ? c : c - 1, east = i == nx - 1 ? c : c + 1;
    int north = j == 0 ? c : c - nx, south = j == ny - 1 ? c : c + nx;
    float below = t[c], here = t[c], above = t[c + plane];
    for (int k = 0; k < nz - 1; k++) {
        out[c] = 0.1f * here + 0.11f * t[west] + 0.12f * t[east] + 0.13f * t[south] + 0.14f * t[north]
            + 0.15f * below + 0.16f * above + 0.01f * p[c];
        c += plane; west += plane; east += plane; north += plane; south += plane;
        below = here; here = above; above = k < nz - 2 ? t[c + plane] : t[c];
    }
    out[c] = 0.1f * here + 0.11f * t[west] + 0.12f * t[east] + 0.13f * t[south] + 0.14f * t[north]
        + 0.15f * below + 0.16f * above + 0.01f * p[c];
}"""


def hotspot(p, t):
    q = np.pad(t, 1, mode="edge")
    return (0.1 * t + 0.11 * q[1:-1, 1:-1, :-2] + 0.12 * q[1:-1, 1:-1, 2:] + 0.13 * q[1:-1, 2:, 1:-1]
            + 0.14 * q[1:-1, :-2, 1:-1] + 0.15 * q[:-2, 1:-1, 1:-1] + 0.16 * q[2:, 1:-1, 1:-1] + 0.01 * p)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(40, 16, 32), (5, 13, 11), (3, 8, 8), (2, 3, 1), (17, 9, 70)])
def test_planes_in_registers(shape):
    nz, ny, nx = shape
    p, t = np.random.default_rng(0).random((2, *shape)).astype(np.float32)
    for lower in ("tensor", "native", "auto"):
        kernel, out = reactant.cuda.load(HOTSPOT, lower=lower).hotspot, np.zeros_like(t)
        kernel[(-(-nx // 8), -(-ny // 8)), (8, 8)](p, t, out, nx, ny, nz)
        np.testing.assert_allclose(out, hotspot(p.astype(float), t.astype(float)), rtol=2e-6)


def test_planes_in_registers_are_one_array():
    p, t = np.random.default_rng(0).random((2, 40, 16, 32)).astype(np.float32)
    kernel = reactant.cuda.load(HOTSPOT, lower="tensor").hotspot
    operations = reactant.jit(lambda p, t, out: kernel[(4, 2), (8, 8)](p, t, out, 32, 16, 40)).lower(
        p, t, np.zeros_like(t)).operations()
    assert operations["stablehlo.multiply"] <= 16 and operations["stablehlo.add"] <= 14     # and the last plane's
    assert not {"stablehlo.while", "stablehlo.transpose", "stablehlo.gather"} & set(operations)


TYPES = {"float": np.float32, "double": np.float64, "int": np.int32, "unsigned char": np.uint8}
REST = ["x[(k + i) % n]", "x[k]", "({0})(k * i + 1)", "x[i]", "(k > 4 ? x[k] : ({0})i)", "({0})(x[k] * x[i] + k)"]


def random_kernel(seed):
    """Registers that take iterations, from loads, numbers and each other, in a loop of some start, end and step."""
    random = np.random.default_rng(seed)
    kind = list(TYPES)[random.integers(len(TYPES))]
    count, step = int(random.integers(1, 4)), int(random.integers(1, 4))
    start, iterations = int(random.integers(0, 3)), int(random.integers(0, 24))
    names = [f"r{k}" for k in range(count)]
    inits = [random.choice([f"({kind})3", "x[i]", "x[n - 1]"]) for _ in names]
    passed = []
    for k in range(count):
        if k + 1 < count and random.random() < 0.6:
            passed.append(names[k + 1])
        else:
            passed.append(str(random.choice(REST)).format(kind))
    order = random.permutation(count)
    after = " ".join(f"{kind} t{k} = {passed[k]};" for k in order) + " ".join(f" {names[k]} = t{k};" for k in order)
    end = random.choice(["e", "(i % 2 ? e : e - 2)"], p=[0.8, 0.2])
    outside = " + ".join(names) if random.random() < 0.5 and end == "e" else "0"
    source = f"""extern "C" __global__ void k(const {kind} *x, {kind} *y, {kind} *z, int n, int m, int e)
    {{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= m) return;
       {" ".join(f"{kind} {name} = {init};" for name, init in zip(names, inits, strict=True))}
       for (int k = {start}; k < {end}; k += {step}) {{ y[k * m + i] = {" * 2 + ".join(names)}; {after} }}
       z[i] = {outside}; }}"""
    return source, TYPES[kind], start + iterations * step, seed


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(30), *(pytest.param(s, marks=pytest.mark.slow) for s in range(30, 400))])
def test_random_registers(seed):
    source, dtype, end, _ = random_kernel(seed)
    random, n, m = np.random.default_rng(seed), max(end, 1) + 3, 37
    x = (random.integers(0, 9, n + m) if np.dtype(dtype).kind in "iu" else random.random(n + m)).astype(dtype)
    found = {}
    for lower in ("native", "tensor"):
        y, z = np.zeros((max(end, 1), m), dtype), np.zeros(m, dtype)
        reactant.cuda.load(source, lower=lower).k[2, 32](x, y, z, n, m, end)
        found[lower] = (y, z)
    for tensor, native in zip(found["tensor"], found["native"], strict=True):
        if np.dtype(dtype).kind in "iu":
            np.testing.assert_array_equal(tensor, native, source)
        else:
            np.testing.assert_allclose(tensor, native, rtol=1e-5, atol=1e-5, err_msg=source)


@pytest.mark.slow
def test_what_the_loop_writes_is_not_read_earlier():
    """A register from memory that the iterations write is what was there in its own iteration."""
    source = r"""extern "C" __global__ void k(float *x, float *y, int n, int m)
    { int i = threadIdx.x; float before = 7;
      for (int k = 0; k < n; k++) {
          y[k * m + i] = before; before = x[k * m + i]; x[k * m + i] = before * 2; x[((k + 1) % n) * m + i] += 1; } }"""
    x = np.random.default_rng(0).random((9, 32)).astype(np.float32)
    results = []
    for lower in ("native", "tensor"):
        a, y = x.copy(), np.zeros_like(x)
        reactant.cuda.load(source, lower=lower).k[1, 32](a, y, 9, 32)
        results.append((a, y))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.slow
def test_the_gradient_goes_through():
    p, t = np.random.default_rng(0).random((2, 6, 5, 7))
    source = HOTSPOT.replace("float", "double").replace("f *", " *").replace("f +", " +")
    kernel = reactant.cuda.load(source).hotspot

    def energy(p, t):
        out = np.zeros_like(t)
        kernel[(1, 1), (8, 8)](p, t, out, 7, 5, 6)
        return (out * out).sum()
    reactant.check_derivatives(energy, p, t)

"""Integers that change from launch to launch: one program from the third value on, right for every value."""
import numpy as np
import pytest
from numba import cuda

import reactant
from reactant.kernels.form.interpret import OutOfBounds
from reactant.kernels.launch import changing, dispatch
from reactant.kernels.launch.arguments import KernelArgumentError

MODULE = reactant.cuda.load(r"""
extern "C" __global__ void exchange(float *a, int j, int k) {
    unsigned i = threadIdx.x + blockDim.x * blockIdx.x, other = i ^ j;
    if (other > i) {
        bool up = (i & k) == 0;
        if ((a[i] > a[other]) == up) { float t = a[i]; a[i] = a[other]; a[other] = t; }
    }
}
extern "C" __global__ void moved(const float *a, float *out, int n, int by) {
    int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i < n) out[i] = a[i + by];
}
extern "C" __global__ void summed(long long *a, long long s, unsigned u, signed char c, bool twice) {
    int i = threadIdx.x + blockDim.x * blockIdx.x;
    a[i] += (twice ? 2 : 1) * s + u + c;
}
extern "C" __global__ void scaled(float *a, float by) { a[threadIdx.x] *= by; }
""")


@cuda.jit
def stepped(a, n, step):
    i = cuda.grid(1)
    if i < n:
        a[i] += step


@cuda.jit
def placed(a, at):
    a[at[0]] = at[1]


@pytest.fixture
def lowered(monkeypatch):
    """How often launches are lowered, and as what."""
    found = []

    def noted(*given, made=dispatch.lower):
        found.append(made(*given))
        return found[-1]
    monkeypatch.setattr(dispatch, "lower", noted)
    changing.CHANGING.clear()
    return found


def test_a_bitonic_sort_is_few_programs(lowered):
    a = np.random.default_rng(0).random(128).astype(np.float32)
    wanted, k = np.sort(a), 2
    while k <= a.size:
        j = k // 2
        while j > 0:
            MODULE.exchange[a.size // 64, 64](a, j, k)
            j //= 2
        k *= 2
    np.testing.assert_array_equal(a, wanted)
    assert len(lowered) <= 5 and lowered[-1].path == "native"
    assert "j, k had more than 2 values" in MODULE.exchange[2, 64].explain(a, 1, 2)


def test_two_values_are_two_programs(lowered):
    a, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    for _ in range(3):
        for by in (1, 2):
            MODULE.moved[1, 64](a, out, 32, by)
            np.testing.assert_array_equal(out[:32], a[by:by + 32])
    assert len(lowered) == 2 and "values" not in MODULE.moved[1, 64].explain(a, out, 32, 1)


def test_guards_and_bounds_hold_for_every_value(lowered):
    a = np.arange(64, dtype=np.float32)
    for n, by in [(32, 0), (32, 1), (16, 2), (0, 3), (64, 0), (-1, 5), (10, 54), (3, 61)]:
        out = np.zeros(64, np.float32)
        MODULE.moved[1, 64](a, out, n, by)
        np.testing.assert_array_equal(out, np.pad(a[by:by + max(n, 0)], (0, 64 - max(n, 0))))
    compiled = len(lowered)
    for n, by in [(32, 60), (32, -5), (1, 2**31 - 1), (64, 1)]:
        out = np.full(64, 7, np.float32)
        with pytest.raises(OutOfBounds):
            MODULE.moved[1, 64](a, out, n, by)
        assert (out == 7).all()
    assert compiled <= 4


@pytest.mark.slow
def test_types_and_signs():
    values = [(1, 1, 1), (-2, 2, -1), (2**40, 2**31 + 5, -128), (-2**62, 2**32 - 1, 127), (5, 0, 0), (-7, 9, 3)]
    for convert in (lambda s, u, c: (s, u, c), lambda s, u, c: (np.int64(s), np.uint32(u), np.int8(c))):
        for twice in (True, False):
            a, wanted = np.zeros(64, np.int64), 0
            for s, u, c in values:
                MODULE.summed[2, 32](a, *convert(s, u, c), twice)
                wanted += (1 + twice) * s + u + c
                assert (a == (wanted + 2**63) % 2**64 - 2**63).all()


@pytest.mark.parametrize(("u", "c"), [(2**32, 0), (-1, 0), (0, 128), (0, -129), (2**70, 0)])
def test_what_no_parameter_takes_is_refused_as_before(u, c):
    a = np.zeros(64, np.int64)
    for k in range(4):
        MODULE.summed[2, 32](a, k, k, k, True)
    with pytest.raises(KernelArgumentError, match="out of its range"):
        MODULE.summed[2, 32](a, 9, u, c, True)


def test_integers_for_floats():
    a = np.ones(32, np.float32)
    for by in (2, 3, 1, -4, 5, 2**24):
        MODULE.scaled[1, 32](a, by)
    np.testing.assert_array_equal(a, np.float32(2 * 3 * -4 * 5) * np.float32(2**24))


@pytest.mark.parametrize("lower", ["auto", "native", "tensor"])
def test_kernels_of_numba(lowered, lower):
    a, wanted = np.zeros(100), np.zeros(100)
    launch = reactant.kernel(stepped, lower=lower)[2, 64]
    for n in range(1, 12):
        launch(a, n, 3 * n - 14)
        wanted[:n] += 3 * n - 14
    np.testing.assert_array_equal(a, wanted)
    assert len(lowered) == (11 if lower == "tensor" else 3)     # tensor programs know their integers


@pytest.mark.slow
def test_grids_that_halve(lowered):
    reduced = reactant.cuda.load(r"""
    extern "C" __global__ void halve(double *a, int half, int n) {
        int i = threadIdx.x + blockDim.x * blockIdx.x;
        if (i < half && i + half < n) a[i] += a[i + half];
    }""")
    a = np.arange(1000.0)
    n = 1000
    while n > 1:
        half = (n + 1) // 2
        reduced.halve[-(-half // 64), 64](a, half, n)
        n = half
    assert a[0] == np.arange(1000.0).sum()


def test_tuples_stay_constants():
    a = np.zeros(8)
    for k in range(5):
        reactant.kernel(placed)[1, 1](a, (k, 2 * k))
    np.testing.assert_array_equal(a, [0, 2, 4, 6, 8, 0, 0, 0])


def test_what_cannot_be_told_at_run_time_says_why(monkeypatch):
    changing.CHANGING.clear()

    def refused(*given, made=dispatch.lower):
        if given[-1]:
            raise reactant.errors.UnsupportedError("no such code", code="kernel-code")
        return made(*given)
    monkeypatch.setattr(dispatch, "lower", refused)
    a, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    for by in range(5):
        MODULE.moved[1, 64](a, out, 31, by)
        np.testing.assert_array_equal(out[:31], a[by:by + 31])
    assert "compiled anew for each value of by: no such code" in MODULE.moved[1, 64].explain(a, out, 31, 4)


STRUCTS = reactant.cuda.load(r"""
struct Span { int n; float by; long long more; };
struct Pair { Span parts[2]; unsigned char flag; };
extern "C" __global__ void raised(float *x, Span s) { if (threadIdx.x < s.n) x[threadIdx.x] += s.by + s.more; }
extern "C" __global__ void nested(float *x, Pair p) {
    if (threadIdx.x < p.parts[1].n) x[threadIdx.x] += p.parts[0].by + p.flag;
}
extern "C" __global__ void kinds(int *x, int a, long long b, unsigned c, bool d, short e, unsigned char f,
                                 unsigned long long g) {
    x[threadIdx.x] = a + (int)b + (int)(c % 1000u) + d + e + f + (int)(g >> 60) + threadIdx.x;
}
""")
SPAN = np.dtype([("n", "i4"), ("by", "f4"), ("more", "i8")], align=True)
PAIR = np.dtype([("parts", SPAN, (2,)), ("flag", "u1")], align=True)


def pair_of(t):
    made = np.zeros((), PAIR)
    made["parts"]["n"][1], made["parts"]["by"][0], made["flag"] = t, t, t
    return made[()]


MAKE = {"tuple": lambda t: (t, 0.5 * t, -t), "record": lambda t: np.array((t, 0.5 * t, -t), SPAN)[()],
        "nested": pair_of}


@pytest.mark.parametrize("struct", MAKE.values(), ids=MAKE)
def test_structs_that_change(lowered, struct):
    x, wanted = np.zeros(8, np.float32), np.zeros(8, np.float32)
    for t in range(7):
        kernel = STRUCTS.raised if struct is not pair_of else STRUCTS.nested
        kernel[1, 8](x, struct(t))
        wanted[:t] += -0.5 * t if struct is not pair_of else 2 * t
        np.testing.assert_array_equal(x, wanted)
    assert len(lowered) == 3


def test_kinds_of_integers(lowered):
    x = np.zeros(8, np.int32)
    for make in (int, None):
        for t in range(6):
            given = [-5 * t, -2**40 + t, 2**32 - 1 - t, True, -300 * t, 255 - t, 2**64 - 1 - t]
            if make is None:
                dtypes = (np.int32, np.int64, np.uint32, np.bool_, np.int16, np.uint8, np.uint64)
                given = [d(v) for d, v in zip(dtypes, given, strict=True)]
            STRUCTS.kinds[1, 8](x, *given)
            wanted = -5 * t + t + (2**32 - 1 - t) % 1000 + 1 - 300 * t + 255 - t + 15
            assert x.tolist() == [wanted + i for i in range(8)]
    assert len(lowered) == 6


def test_integers_of_loops_in_compiled_functions(lowered):
    @reactant.jit
    def sort(a):
        k = 2
        while k <= a.size:
            j = k // 2
            while j > 0:
                MODULE.exchange[a.size // 64, 64](a, j, k)
                j //= 2
            k *= 2
        return a
    a = np.random.default_rng(0).random(128).astype(np.float32)
    wanted = np.sort(a)
    np.testing.assert_array_equal(sort(a), wanted)
    assert len(lowered) <= 12

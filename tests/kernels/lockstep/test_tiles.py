"""Shared memory that only stages loads: gone from the tensor program, whatever the kernel does at the edges."""
import numpy as np
import pytest

import reactant

EDGES = {
    "clamped": "x[min(max({0}, 0), {1} - 1)]",
    "zero": "({0} >= 0 && {0} < {1} ? x[{0}] : (T)0)",
    "filled": "({0} >= 0 && {0} < {1} ? x[{0}] : (T)7)",
    "wrapped": "x[(({0}) % {1} + {1}) % {1}]",
    "reflected": "x[{0} < 0 ? -({0}) : {0} >= {1} ? 2 * {1} - 2 - ({0}) : {0}]",
}
ROW = """
#define T {type}
extern "C" __global__ void k(const T *x, T *y, int n) {{
    __shared__ T tile[{block} + 2 * {halo}];
    int t = threadIdx.x, i = blockIdx.x * {block} + t;
    {{ int g = i; tile[t + {halo}] = {edge}; }}
    if (t < {halo}) {{
        {{ int g = i - {halo}; tile[t] = {edge}; }}
        {{ int g = i + {block}; tile[t + {block} + {halo}] = {edge}; }}
    }}
    __syncthreads();
    if (i < n) {{ T s = 0; for (int k = 0; k <= 2 * {halo}; k++) s += (k + 1) * tile[t + k]; y[i] = s; }}
}}"""
ITERATIONS = """
#define T {type}
extern "C" __global__ void k(const T *x, T *y, int n) {{
    __shared__ T tile[{block} + 2 * {halo}];
    int t = threadIdx.x, b = blockIdx.x * {block};
    for (int k = t; k < {block} + 2 * {halo}; k += {block}) {{ int g = b + k - {halo}; tile[k] = {edge}; }}
    __syncthreads();
    if (b + t < n) y[b + t] = tile[t] - 3 * tile[t + {halo}] + tile[t + 2 * {halo}];
}}"""
PLANE = """
#define AT(r, c, gi, gj) tile[r][c] = x[min(max(gi, 0), n - 1) * m + min(max(gj, 0), m - 1)]
#define Z(r, c, gi, gj) tile[r][c] = (gi) >= 0 && (gi) < n && (gj) >= 0 && (gj) < m ? x[(gi) * m + (gj)] : {fill}
extern "C" __global__ void k(const double *x, double *y, int n, int m) {{
    __shared__ double tile[{h} + 2 * {r}][{w} + 2 * {r}];
    int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.y * {h} + ty, j = blockIdx.x * {w} + tx;
    {at}(ty + {r}, tx + {r}, i, j);
    if (ty < {r}) {{ {at}(ty, tx + {r}, i - {r}, j); {at}(ty + {h} + {r}, tx + {r}, i + {h}, j); }}
    if (tx < {r}) {{ {at}(ty + {r}, tx, i, j - {r}); {at}(ty + {r}, tx + {w} + {r}, i, j + {w}); }}
    __syncthreads();
    if (i < n && j < m)
        y[i * m + j] = 4 * tile[ty + {r}][tx + {r}] - tile[ty][tx + {r}] - tile[ty + 2 * {r}][tx + {r}]
            - tile[ty + {r}][tx] + 2 * tile[ty + {r}][tx + 2 * {r}];
}}"""
CUBE = """
extern "C" __global__ void k(const float *x, float *y, int n, int m, int l) {
    __shared__ float s[4][4][6];
    int a = threadIdx.z, b = threadIdx.y, c = threadIdx.x;
    int i = blockIdx.z * 2 + a, j = blockIdx.y * 2 + b, k = blockIdx.x * 4 + c;
#define X(i, j, k) x[(min(max(i, 0), n - 1) * m + min(max(j, 0), m - 1)) * l + min(max(k, 0), l - 1)]
    s[a + 1][b + 1][c + 1] = X(i, j, k);
    if (a == 0) s[0][b + 1][c + 1] = X(i - 1, j, k);
    if (a == 1) s[3][b + 1][c + 1] = X(i + 1, j, k);
    if (b == 0) s[a + 1][0][c + 1] = X(i, j - 1, k);
    if (b == 1) s[a + 1][3][c + 1] = X(i, j + 1, k);
    if (c == 0) s[a + 1][b + 1][0] = X(i, j, k - 1);
    if (c == 3) s[a + 1][b + 1][5] = X(i, j, k + 1);
    __syncthreads();
    if (i < n && j < m && k < l)
        y[(i * m + j) * l + k] = s[a][b + 1][c + 1] + s[a + 2][b + 1][c + 1] + s[a + 1][b][c + 1]
            - s[a + 1][b + 2][c + 1] + s[a + 1][b + 1][c] * s[a + 1][b + 1][c + 2] - 6 * s[a + 1][b + 1][c + 1];
}"""


def agrees(source, grid, block, x, *numbers):
    """Run both ways on a copy each and compare; the operations of the tensor program."""
    ways = {lower: reactant.cuda.load(source, lower=lower)["k"] for lower in ("tensor", "native")}
    found = {}
    for lower, kernel in ways.items():
        found[lower] = np.zeros_like(x)
        kernel[grid, block](x.copy(), found[lower], *numbers)
    scale = np.abs(found["native"]).max(initial=1.0)      # sums in two orders, of terms that cancel
    np.testing.assert_allclose(found["tensor"], found["native"], rtol=1e-6, atol=1e-6 * scale)

    def program(x, y):
        ways["tensor"][grid, block](x, y, *numbers)
    return reactant.jit(program, frontend="numpy").lower(x, x.copy()).operations()


def is_gone(operations):
    """No tile is put together: no updates in place, nothing by block and thread."""
    return not {f"stablehlo.{name}" for name in ("dynamic_update_slice", "gather", "scatter", "transpose", "reshape")
                } & set(operations)


def some(quick, more):
    """Cases, of which `more` are for the slow suite."""
    return [*quick, *(pytest.param(*case, marks=pytest.mark.slow) for case in more)]


@pytest.mark.sampled(100)
@pytest.mark.parametrize("source, edge, n, block, halo, kind", some(
    [(ROW, "filled", 257, 32, 1, "short"), (ROW, "wrapped", 100, 32, 3, "double"),
     (ITERATIONS, "clamped", 5, 8, 2, "float")],
    [(ROW, "clamped", 100, 32, 3, "double"), (ROW, "zero", 5, 8, 2, "float"), (ROW, "zero", 64, 16, 4, "int"),
     (ROW, "reflected", 33, 16, 2, "int"), (ITERATIONS, "clamped", 100, 32, 3, "double"),
     (ITERATIONS, "zero", 257, 32, 5, "int"), (ITERATIONS, "filled", 7, 16, 2, "float")]))
def test_rows(source, edge, n, block, halo, kind):
    dtype = {"double": "f8", "float": "f4", "int": "i4", "short": "i2"}[kind]
    x = np.random.default_rng(n).integers(-99, 99, n).astype(dtype)
    source = source.format(type=kind, block=block, halo=halo, edge=EDGES[edge].format("g", "n"))
    assert is_gone(agrees(source, -(-n // block), block, x, n))


@pytest.mark.sampled(100)
@pytest.mark.parametrize("at, n, m, h, w, r, fill", some(
    [("AT", 19, 21, 8, 8, 1, 0), ("Z", 33, 7, 4, 16, 2, 0)], [("AT", 3, 5, 8, 8, 3, 0), ("Z", 16, 32, 4, 8, 1, 5)]))
def test_planes(at, n, m, h, w, r, fill):
    x = np.random.default_rng(n).standard_normal((n, m))
    grid = -(-m // w), -(-n // h)
    assert is_gone(agrees(PLANE.format(at=at, h=h, w=w, r=r, fill=fill), grid, (w, h), x, n, m))


@pytest.mark.slow
def test_cubes():
    x = np.random.default_rng(0).standard_normal((5, 3, 10)).astype("f4")
    assert is_gone(agrees(CUBE, (3, 2, 3), (4, 2, 2), x, 5, 3, 10))


COUNTED = """
#define R 2
#define W ({b} + 2 * R)
extern "C" __global__ void k(const float *x, float *y, int n, int m) {{
    __shared__ float tile[W * W];
    for (int k = threadIdx.y * {b} + threadIdx.x; k < W * W; k += {b} * {b}) {{
        int i = (int)blockIdx.y * {b} - R + k / W, j = (int)blockIdx.x * {b} - R + k % W;
        tile[k] = {edge};
    }}
    __syncthreads();
    int j = blockIdx.x * {b} + threadIdx.x, i = blockIdx.y * {b} + threadIdx.y;
    if (i >= n || j >= m) return;
    float s = 0;
    for (int p = 0; p <= 2 * R; p++) for (int q = 0; q <= 2 * R; q++)
        s += (p + 3 * q) * tile[(threadIdx.y + p) * W + threadIdx.x + q];
    y[i * m + j] = s;
}}"""


@pytest.mark.slow
@pytest.mark.parametrize("edge", ["x[min(max(i, 0), n - 1) * m + min(max(j, 0), m - 1)]",
                                  "x[(i + n) % n * m + (j + m) % m]"])
@pytest.mark.parametrize("n, m, b", some([(21, 29, 8)], [(32, 16, 16), (5, 9, 4)]))
def test_rows_and_columns_of_one_counter(edge, n, m, b):
    """`k / W` and `k % W` of a loop over the tile; LLVM counts in unsigned bytes or shorts where it can. Bytes that
    wrap around (the smallest tile, wrapped) are right, but no slices."""
    n, m = (n, m) if "min" in edge else (-(-n // b) * b, -(-m // b) * b)
    x = np.random.default_rng(n).standard_normal((n, m)).astype("f4")
    operations = agrees(COUNTED.format(b=b, edge=edge), (-(-m // b), -(-n // b)), (b, b), x, n, m)
    if b > 4 or "min" in edge:
        assert not {"stablehlo.gather", "stablehlo.scatter", "stablehlo.dynamic_update_slice"} & set(operations)


KEPT = {
    "written again": "tile[t] = x[i]; __syncthreads(); if (t == 3) tile[t] *= 2; __syncthreads();",
    "of two arrays": "tile[t] = t % 2 ? x[i] : y[i]; __syncthreads();",
    "of places that data choose": "tile[t] = x[(int)x[i] & 15]; __syncthreads();",
    "summed": "tile[t] = x[i]; __syncthreads(); if (t < 4) tile[t] += tile[t + 4]; __syncthreads();",
    "two fills": "tile[t] = i < 5 ? 1.0 : i > 20 ? 2.0 : x[i]; __syncthreads();",
    "overwritten in part": "tile[t] = x[i]; __syncthreads(); if (t < 4) tile[7 - t] = x[i]; __syncthreads();",
    "one after the other": "tile[t] = x[i]; __syncthreads(); double a = tile[7 - t]; __syncthreads(); "
                           "tile[t] = y[i] + a; __syncthreads();",
}


@pytest.mark.slow
def test_neighbours_in_x_along_columns_need_no_transposes():
    """`i, j = cuda.grid(2)`: the first index is the row."""
    source = """extern "C" __global__ void k(const double *x, double *y, int n, int m) {
        int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
        if (i >= n || j >= m) return;
        double total = 0;
        for (int a = -1; a <= 1; a++) for (int b = -1; b <= 1; b++)
            if (i + a >= 0 && i + a < n && j + b >= 0 && j + b < m) total += x[(i + a) * m + j + b] * (a + 2 * b);
        y[i * m + j] = total;
    }"""
    x = np.random.default_rng(4).standard_normal((70, 75))
    assert "stablehlo.transpose" not in agrees(source, (9, 10), (8, 8), x, 70, 75)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_what_is_no_staging_stays_memory(body):
    source = f"""extern "C" __global__ void k(const double *x, double *y) {{
        __shared__ double tile[8];
        int t = threadIdx.x, i = blockIdx.x * 8 + t;
        {body}
        y[i] = tile[t] + 10 * tile[(t + 1) % 8];
    }}"""
    agrees(source, 4, 8, np.random.default_rng(1).standard_normal(32) * 9)


def test_an_array_that_changes_after_it_was_staged():
    source = """extern "C" __global__ void k(const double *x, double *y) {
        __shared__ double tile[10];
        int t = threadIdx.x, i = blockIdx.x * 8 + t;
        y[i] = x[i];
        tile[t + 1] = y[i];
        if (t == 0) { tile[0] = x[max(i - 1, 0)]; tile[9] = x[min(i + 8, 31)]; }
        __syncthreads();
        y[i] = tile[t] - 2 * tile[t + 1] + tile[t + 2];
    }"""
    agrees(source, 4, 8, np.random.default_rng(2).standard_normal(32))


def test_in_place():
    source = """extern "C" __global__ void k(const double *x, double *y) {
        __shared__ double tile[10];
        int t = threadIdx.x;
        y[t] = x[t];
        __syncthreads();
        tile[t + 1] = y[t];
        if (t == 0) { tile[0] = y[0]; tile[9] = y[7]; }
        __syncthreads();
        y[t] = tile[t] - 2 * tile[t + 1] + tile[t + 2];
    }"""
    assert is_gone(agrees(source, 1, 8, np.random.default_rng(2).standard_normal(8)))


def test_dynamic_shared_memory():
    source = """extern "C" __global__ void k(const double *x, double *y, int n) {
        extern __shared__ double tile[];
        int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
        tile[t] = x[min(i, n - 1)];
        __syncthreads();
        if (i < n) y[i] = tile[blockDim.x - 1 - t];
    }"""
    x = np.random.default_rng(3).standard_normal(50)
    found = {}
    for lower in ("tensor", "native"):
        found[lower] = np.zeros(50)
        reactant.cuda.load(source, lower=lower)["k"][4, 16, 0, 128](x, found[lower], 50)
    np.testing.assert_array_equal(found["tensor"], found["native"])


def test_reads_beyond_a_tile_are_reported():
    kernel = reactant.cuda.load("""extern "C" __global__ void k(const double *x, double *y) {
        __shared__ double tile[8];
        tile[threadIdx.x] = x[blockIdx.x * 8 + threadIdx.x];
        __syncthreads();
        y[blockIdx.x * 8 + threadIdx.x] = tile[threadIdx.x * 2];
    }""", lower="tensor")["k"]
    with pytest.raises(IndexError, match="outside its arrays"):
        kernel[4, 8](np.ones(32), np.zeros(32))


@pytest.mark.slow
def test_tiles_that_are_cleared_before_their_edge_is_filled():
    """As Numba's documentation multiplies matrices of any size: one product, however the tiles are filled."""
    source = """
extern "C" __global__ void k(const float *a, const float *b, float *c, int n, int m, int p) {
    __shared__ float s[8][8], t[8][9];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
    float sum = 0;
    for (int k = 0; k < (m + 7) / 8; ++k) {
        s[y][x] = 0;
        t[y][x] = 0;
        if (row < n) { int i = k * 8 + x; if (i < m) s[y][x] = a[row * m + i]; }
        if (k * 8 + y < m && column < p) t[y][x] = b[(k * 8 + y) * p + column];
        __syncthreads();
        for (int j = 0; j < 8; ++j) sum += s[y][j] * t[j][x];
        __syncthreads();
    }
    if (row < n && column < p) c[row * p + column] = sum;
}"""
    rng = np.random.default_rng(3)
    a, b = rng.random((13, 19), np.float32), rng.random((19, 11), np.float32)
    for lower in ("tensor", "native"):
        k = reactant.cuda.load(source, lower=lower).k[(2, 2), (8, 8)]
        c = np.zeros((13, 11), np.float32)
        k(a, b, c, 13, 19, 11)
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)
        if lower == "tensor":
            operations = reactant.jit(lambda *x, k=k: k(*x, 13, 19, 11)).lower(a, b, c).operations()
            assert operations["stablehlo.dot_general"] == 1 and sum(operations.values()) < 6


@pytest.mark.sampled(100)
@pytest.mark.parametrize("body", [
    "s[t] = 1; if (t < n) { s[t] += x[t]; } if (t > 2) s[t] = 7;",              # reads what was set
    "s[t] = 1; s[t + 8] = 2; if (t < n) { s[t + 8] = x[t]; s[t] = 3; } s[t] += s[t + 8];",
    "s[t] = 1; __syncthreads(); float v = s[t ^ 1]; __syncthreads(); if (t < n) s[t] = v;",
    "s[t] = 1; if (t & 1) s[t] = 2; else s[t] = 3; if (t < n) { s[t] = 4; s[t] = s[t] * x[t]; }",
    "s[t] = 1; if (t > 1) { int i = t * 2; if (i < n) { s[t] = x[i]; } }",
])
def test_memory_that_is_set_twice(body):
    source = f"""
extern "C" __global__ void k(const float *x, float *y, int n) {{
    __shared__ float s[16];
    int t = threadIdx.x;
    {body}
    __syncthreads();
    y[t] = s[7 - t];
}}"""
    x, found = np.arange(8, dtype=np.float32) + 10, []
    for options in ({"lower": "native"}, {"lower": "auto"}, {"check": True}):
        y = np.zeros(8, np.float32)
        reactant.cuda.load(source, **options).k[1, 8](x, y, 5)
        found.append(y)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("a,b,c", some([(10, 3, 13), (16, 2, 13)], [(10, 3, 16), (5, 4, 21), (17, 5, 9)]))
def test_planes_of_odd_sizes_are_transposed(a, b, c):
    source = """extern "C" __global__ void k(const float *x, float *y, int A, int B, int C) {
        __shared__ float tile[8][9];
        int b = blockIdx.z, c = blockIdx.x * 8 + threadIdx.x, a = blockIdx.y * 8 + threadIdx.y;
        if (a < A && c < C) tile[threadIdx.y][threadIdx.x] = x[(a * B + b) * C + c];
        __syncthreads();
        a = blockIdx.y * 8 + threadIdx.x;
        c = blockIdx.x * 8 + threadIdx.y;
        if (a < A && c < C) y[(c * B + b) * A + a] = tile[threadIdx.x][threadIdx.y];
    }"""
    kernel = reactant.cuda.load(source, lower="tensor").k
    x, y = np.random.default_rng(a).random((a, b, c)).astype(np.float32), np.zeros((c, b, a), np.float32)

    def program(x, y):
        kernel[(-(-c // 8), -(-a // 8), b), (8, 8)](x, y, a, b, c)
        return y
    program = reactant.jit(program)
    assert list(program.lower(x, y).operations()) == ["stablehlo.transpose"]
    np.testing.assert_array_equal(program(x, y), x.transpose(2, 1, 0))


def test_of_several_guards_the_narrowest_counts():
    source = """extern "C" __global__ void k(const float *x, float *y, int n, int m) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) if (i < m) y[i] = x[(i % 5) * 100 + 1];
    }"""
    kernel = reactant.cuda.load(source, lower="tensor").k
    x = np.arange(500, dtype=np.float32)
    for n, m in ((287, 288), (288, 287), (290, 280), (280, 290)):
        y = np.zeros(288, np.float32)
        kernel[3, 96](x, y, n, m)
        i = np.arange(288)
        np.testing.assert_array_equal(y, np.where(i < min(n, m), x[i % 5 * 100 + 1], 0))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mask", [0x1F0, 0b1011, 0b110, 0b1100110, 0b101010101, 0x0FF0, 7, 0x7FFFFFF8, -16])
def test_masks_of_bits(mask):
    """Runs of ones in a mask are differences of quotients; many of them are computed bit by bit."""
    source = f"""extern "C" __global__ void k(const int *x, int *y, int n, int m)
    {{ int i = blockIdx.x * blockDim.x + threadIdx.x;
       if (i < n) {{ int k = 5 * i - 300; y[i] = x[(k & {mask}) & 1023] + (k & {mask}); }} }}"""
    x = np.random.default_rng(0).integers(-99, 99, 1024).astype(np.int32)
    agrees(source, 8, 128, x, 1000, 0)

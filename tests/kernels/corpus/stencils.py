"""Stencils: heat in one, two and three dimensions, hotspot, srad, FDTD, LBM, Jacobi, red-black, WENO5, convolutions."""
import math

import numpy as np
from numba import cuda

from tests.kernels.corpus.case import Case, blocks

CASES = []

# ---- the chain of the documents: two stencils launched alternately ---------------------------------------------


@cuda.jit
def smooth(a, b, n):
    i = cuda.grid(1)
    if 0 < i < n - 1:
        b[i] = 0.25 * a[i - 1] + 0.5 * a[i] + 0.25 * a[i + 1]


@cuda.jit
def sharpen(a, b, n):
    i = cuda.grid(1)
    if 0 < i < n - 1:
        b[i] = a[i] - 0.1 * (a[i + 1] - 2.0 * a[i] + a[i - 1])


def _chain(k, a, b):
    n = len(a)
    for _ in range(4):
        k.smooth[blocks(n, 64), 64](a, b, n)
        k.sharpen[blocks(n, 64), 64](b, a, n)


def _chain_reference(a, b):
    for _ in range(4):
        b[1:-1] = 0.25 * a[:-2] + 0.5 * a[1:-1] + 0.25 * a[2:]
        a[1:-1] = b[1:-1] - 0.1 * (b[2:] - 2 * b[1:-1] + b[:-2])


CASES.append(Case("stencil_chain", {"smooth": smooth, "sharpen": sharpen}, """
extern "C" __global__ void smooth(const double *a, double *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) b[i] = 0.25 * a[i - 1] + 0.5 * a[i] + 0.25 * a[i + 1];
}
extern "C" __global__ void sharpen(const double *a, double *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) b[i] = a[i] - 0.1 * (a[i + 1] - 2.0 * a[i] + a[i - 1]);
}""", lambda r: (r.random(150), np.zeros(150)), _chain, _chain_reference))

# ---- heat ------------------------------------------------------------------------------------------------------


@cuda.jit
def heat1(u, v, n, c):
    i = cuda.grid(1)
    if i >= n:
        return
    left = u[i - 1] if i > 0 else 0.0
    right = u[i + 1] if i < n - 1 else 0.0
    v[i] = u[i] + c * (left - 2 * u[i] + right)


@cuda.jit
def heat2(u, v, n, m, c):
    i, j = cuda.grid(2)
    if 1 <= i < n - 1 and 1 <= j < m - 1:
        v[i, j] = u[i, j] + c * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])


@cuda.jit
def heat3(u, v, n):
    i, j, k = cuda.grid(3)
    if 1 <= i < n - 1 and 1 <= j < n - 1 and 1 <= k < n - 1:
        v[i, j, k] = (u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k] + u[i, j, k - 1]
                      + u[i, j, k + 1]) / 6


def _heat(k, u1, v1, u2, v2, u3, v3):
    k.heat1[blocks(len(u1), 32), 32](u1, v1, len(u1), 0.2)
    n, m = u2.shape
    for _ in range(2):
        k.heat2[(blocks(n, 8), blocks(m, 8)), (8, 8)](u2, v2, n, m, 0.1)
        k.heat2[(blocks(n, 8), blocks(m, 8)), (8, 8)](v2, u2, n, m, 0.1)
    k.heat3[(2, 2, 2), (4, 4, 4)](u3, v3, 7)


def _heat_reference(u1, v1, u2, v2, u3, v3):
    p = np.pad(u1, 1)
    v1[:] = u1 + 0.2 * (p[:-2] - 2 * u1 + p[2:])
    for _ in range(2):
        for a, b in ((u2, v2), (v2, u2)):
            b[1:-1, 1:-1] = a[1:-1, 1:-1] + 0.1 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
                                                   - 4 * a[1:-1, 1:-1])
    c = slice(1, -1)
    v3[c, c, c] = (u3[:-2, c, c] + u3[2:, c, c] + u3[c, :-2, c] + u3[c, 2:, c] + u3[c, c, :-2] + u3[c, c, 2:]) / 6


CASES.append(Case("heat", {"heat1": heat1, "heat2": heat2, "heat3": heat3}, """
extern "C" __global__ void heat1(const double *u, double *v, int n, double c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double left = i > 0 ? u[i - 1] : 0.0, right = i < n - 1 ? u[i + 1] : 0.0;
    v[i] = u[i] + c * (left - 2 * u[i] + right);
}
extern "C" __global__ void heat2(const double *u, double *v, int n, int m, double c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= 1 && i < n - 1 && j >= 1 && j < m - 1) {
        int p = i * m + j;
        v[p] = u[p] + c * (u[p - m] + u[p + m] + u[p - 1] + u[p + 1] - 4 * u[p]);
    }
}
#define AT(i, j, k) ((i) * n + (j)) * n + (k)
extern "C" __global__ void heat3(const double *u, double *v, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z * blockDim.z + threadIdx.z;
    if (i < 1 || j < 1 || k < 1 || i >= n - 1 || j >= n - 1 || k >= n - 1) return;
    v[AT(i, j, k)] = (u[AT(i - 1, j, k)] + u[AT(i + 1, j, k)] + u[AT(i, j - 1, k)] + u[AT(i, j + 1, k)]
                      + u[AT(i, j, k - 1)] + u[AT(i, j, k + 1)]) / 6;
}""", lambda r: (r.random(50), np.zeros(50), *(2 * (r.random((13, 18)),)), r.random((7, 7, 7)), np.zeros((7, 7, 7))),
    _heat, _heat_reference))
CASES[-1].make = lambda r: (r.random(50), np.zeros(50), a := r.random((13, 18)), a.copy(), r.random((7, 7, 7)),
                            np.zeros((7, 7, 7)))

# ---- hotspot: a tile with its halo in shared memory -------------------------------------------------------------

TILE = 8
HALO = TILE + 2


@cuda.jit
def hotspot(temp, power, out, n, m, cap, rx, ry, rz):
    tile = cuda.shared.array((HALO, HALO), "float64")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i = cuda.blockIdx.y * TILE + ty
    j = cuda.blockIdx.x * TILE + tx
    ci, cj = min(i, n - 1), min(j, m - 1)
    tile[ty + 1, tx + 1] = temp[ci, cj]
    if ty == 0:
        tile[0, tx + 1] = temp[max(ci - 1, 0), cj]
    if ty == TILE - 1:
        tile[TILE + 1, tx + 1] = temp[min(ci + 1, n - 1), cj]
    if tx == 0:
        tile[ty + 1, 0] = temp[ci, max(cj - 1, 0)]
    if tx == TILE - 1:
        tile[ty + 1, TILE + 1] = temp[ci, min(cj + 1, m - 1)]
    cuda.syncthreads()
    if i < n and j < m:
        centre = tile[ty + 1, tx + 1]
        south = tile[ty + 2, tx + 1] if i < n - 1 else centre
        north = tile[ty, tx + 1] if i > 0 else centre
        east = tile[ty + 1, tx + 2] if j < m - 1 else centre
        west = tile[ty + 1, tx] if j > 0 else centre
        out[i, j] = centre + cap * (power[i, j] + (south + north - 2 * centre) * ry + (east + west - 2 * centre) * rx
                                    + (80.0 - centre) * rz)


def _hotspot_reference(temp, power, out):
    p = np.pad(temp, 1, mode="edge")
    out[:] = temp + 0.5 * (power + (p[2:, 1:-1] + p[:-2, 1:-1] - 2 * temp) * 0.2
                           + (p[1:-1, 2:] + p[1:-1, :-2] - 2 * temp) * 0.1 + (80 - temp) * 0.01)


CASES.append(Case("hotspot", {"hotspot": hotspot}, """
#define TILE 8
extern "C" __global__ void hotspot(const double *temp, const double *power, double *out, int n, int m, double cap,
                                   double rx, double ry, double rz) {
    __shared__ double tile[TILE + 2][TILE + 2];
    int tx = threadIdx.x, ty = threadIdx.y, i = blockIdx.y * TILE + ty, j = blockIdx.x * TILE + tx;
    int ci = min(i, n - 1), cj = min(j, m - 1);
    tile[ty + 1][tx + 1] = temp[ci * m + cj];
    if (ty == 0) tile[0][tx + 1] = temp[max(ci - 1, 0) * m + cj];
    if (ty == TILE - 1) tile[TILE + 1][tx + 1] = temp[min(ci + 1, n - 1) * m + cj];
    if (tx == 0) tile[ty + 1][0] = temp[ci * m + max(cj - 1, 0)];
    if (tx == TILE - 1) tile[ty + 1][TILE + 1] = temp[ci * m + min(cj + 1, m - 1)];
    __syncthreads();
    if (i < n && j < m) {
        double centre = tile[ty + 1][tx + 1];
        double south = i < n - 1 ? tile[ty + 2][tx + 1] : centre, north = i > 0 ? tile[ty][tx + 1] : centre;
        double east = j < m - 1 ? tile[ty + 1][tx + 2] : centre, west = j > 0 ? tile[ty + 1][tx] : centre;
        out[i * m + j] = centre + cap * (power[i * m + j] + (south + north - 2 * centre) * ry
            + (east + west - 2 * centre) * rx + (80.0 - centre) * rz);
    }
}""", lambda r: (70 + 20 * r.random((19, 21)), r.random((19, 21)), np.zeros((19, 21))),
    lambda k, t, p, o: k.hotspot[(blocks(21, 8), blocks(19, 8)), (8, 8)](t, p, o, 19, 21, 0.5, 0.1, 0.2, 0.01),
    _hotspot_reference))

# ---- srad: speckle reducing anisotropic diffusion ---------------------------------------------------------------


@cuda.jit
def extract(image, n):
    i = cuda.grid(1)
    if i < n:
        image[i] = math.exp(image[i] / 255)


@cuda.jit
def srad1(image, coefficient, dn, ds, dw, de, rows, cols, q0):
    e = cuda.grid(1)
    if e < rows * cols:
        row, col = e % rows, e // rows
        north = image[max(row - 1, 0) + rows * col]
        south = image[min(row + 1, rows - 1) + rows * col]
        west = image[row + rows * max(col - 1, 0)]
        east = image[row + rows * min(col + 1, cols - 1)]
        here = image[e]
        a, b, c, d = north - here, south - here, west - here, east - here
        g2 = (a * a + b * b + c * c + d * d) / (here * here)
        laplace = (a + b + c + d) / here
        top = 0.5 * g2 - (1.0 / 16.0) * (laplace * laplace)
        bottom = 1 + 0.25 * laplace
        q = top / (bottom * bottom)
        value = 1.0 / (1.0 + (q - q0) / (q0 * (1 + q0)))
        coefficient[e] = min(max(value, 0.0), 1.0)
        dn[e], ds[e], dw[e], de[e] = a, b, c, d


@cuda.jit
def srad2(image, coefficient, dn, ds, dw, de, rows, cols, rate):
    e = cuda.grid(1)
    if e < rows * cols:
        row, col = e % rows, e // rows
        cs = coefficient[min(row + 1, rows - 1) + rows * col]
        ce = coefficient[row + rows * min(col + 1, cols - 1)]
        here = coefficient[e]
        image[e] += 0.25 * rate * (here * dn[e] + cs * ds[e] + here * dw[e] + ce * de[e])


@cuda.jit
def compress(image, n):
    i = cuda.grid(1)
    if i < n:
        image[i] = math.log(image[i]) * 255


def _srad(k, image, coefficient, dn, ds, dw, de):
    rows, cols, n = 13, 17, 13 * 17
    g = blocks(n, 64)
    k.extract[g, 64](image, n)
    for _ in range(2):
        k.srad1[g, 64](image, coefficient, dn, ds, dw, de, rows, cols, 0.05)
        k.srad2[g, 64](image, coefficient, dn, ds, dw, de, rows, cols, 0.5)
    k.compress[g, 64](image, n)


def _srad_reference(image, coefficient, dn, ds, dw, de):
    rows, cols = 13, 17
    u = np.exp(image.reshape(cols, rows).T / 255)
    for _ in range(2):
        p = np.pad(u, 1, mode="edge")
        a, b, c, d = p[:-2, 1:-1] - u, p[2:, 1:-1] - u, p[1:-1, :-2] - u, p[1:-1, 2:] - u
        g2, lap = (a * a + b * b + c * c + d * d) / (u * u), (a + b + c + d) / u
        q = (0.5 * g2 - lap * lap / 16) / (1 + 0.25 * lap) ** 2
        coef = np.clip(1 / (1 + (q - 0.05) / (0.05 * 1.05)), 0, 1)
        pc = np.pad(coef, 1, mode="edge")
        u = u + 0.125 * (coef * a + pc[2:, 1:-1] * b + coef * c + pc[1:-1, 2:] * d)
    for array, value in ((image, np.log(u) * 255), (coefficient, coef), (dn, a), (ds, b), (dw, c), (de, d)):
        array[:] = value.T.ravel()


CASES.append(Case("srad", {"extract": extract, "srad1": srad1, "srad2": srad2, "compress": compress}, """
#define GRID int e = blockIdx.x * blockDim.x + threadIdx.x
extern "C" __global__ void extract(double *image, int n) { GRID; if (e < n) image[e] = exp(image[e] / 255); }
extern "C" __global__ void compress(double *image, int n) { GRID; if (e < n) image[e] = log(image[e]) * 255; }
extern "C" __global__ void srad1(const double *image, double *coefficient, double *dn, double *ds, double *dw,
                                 double *de, int rows, int cols, double q0) {
    GRID;
    int row = e % rows, col = e / rows;
    if (e >= rows * cols) return;
    double here = image[e];
    double a = image[max(row - 1, 0) + rows * col] - here, b = image[min(row + 1, rows - 1) + rows * col] - here;
    double c = image[row + rows * max(col - 1, 0)] - here, d = image[row + rows * min(col + 1, cols - 1)] - here;
    double g2 = (a * a + b * b + c * c + d * d) / (here * here), laplace = (a + b + c + d) / here;
    double top = 0.5 * g2 - (1.0 / 16.0) * (laplace * laplace), bottom = 1 + 0.25 * laplace;
    double q = top / (bottom * bottom), value = 1.0 / (1.0 + (q - q0) / (q0 * (1 + q0)));
    if (value < 0) value = 0; else if (value > 1) value = 1;
    coefficient[e] = value; dn[e] = a; ds[e] = b; dw[e] = c; de[e] = d;
}
extern "C" __global__ void srad2(double *image, const double *coefficient, const double *dn, const double *ds,
                                 const double *dw, const double *de, int rows, int cols, double rate) {
    GRID;
    int row = e % rows, col = e / rows;
    if (e >= rows * cols) return;
    double cs = coefficient[min(row + 1, rows - 1) + rows * col], ce = coefficient[row + rows * min(col + 1, cols - 1)];
    double here = coefficient[e];
    image[e] += 0.25 * rate * (here * dn[e] + cs * ds[e] + here * dw[e] + ce * de[e]);
}""", lambda r: (255 * r.random(13 * 17), *(np.zeros(13 * 17) for _ in range(5))), _srad, _srad_reference))

# ---- FDTD, LBM -------------------------------------------------------------------------------------------------


@cuda.jit
def magnetic(ez, hx, hy, n, m):
    i, j = cuda.grid(2)
    if i < n and j < m - 1:
        hx[i, j] -= 0.5 * (ez[i, j + 1] - ez[i, j])
    if i < n - 1 and j < m:
        hy[i, j] += 0.5 * (ez[i + 1, j] - ez[i, j])


@cuda.jit
def electric(ez, hx, hy, n, m, t):
    i, j = cuda.grid(2)
    if 0 < i < n and 0 < j < m:
        ez[i, j] += 0.5 * (hy[i, j] - hy[i - 1, j] - hx[i, j] + hx[i, j - 1])
    if i == n // 2 and j == m // 2:
        ez[i, j] += math.sin(0.3 * t)


def _fdtd(k, ez, hx, hy):
    n, m = ez.shape
    for t in range(3):
        k.magnetic[(2, 2), (8, 8)](ez, hx, hy, n, m)
        k.electric[(2, 2), (8, 8)](ez, hx, hy, n, m, float(t))


def _fdtd_reference(ez, hx, hy):
    n, m = ez.shape
    for t in range(3):
        hx[:, :-1] -= 0.5 * (ez[:, 1:] - ez[:, :-1])
        hy[:-1] += 0.5 * (ez[1:] - ez[:-1])
        ez[1:, 1:] += 0.5 * (hy[1:, 1:] - hy[:-1, 1:] - hx[1:, 1:] + hx[1:, :-1])
        ez[n // 2, m // 2] += math.sin(0.3 * t)


CASES.append(Case("fdtd", {"magnetic": magnetic, "electric": electric}, """
extern "C" __global__ void magnetic(const double *ez, double *hx, double *hy, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, p = i * m + j;
    if (i < n && j < m - 1) hx[p] -= 0.5 * (ez[p + 1] - ez[p]);
    if (i < n - 1 && j < m) hy[p] += 0.5 * (ez[p + m] - ez[p]);
}
extern "C" __global__ void electric(double *ez, const double *hx, const double *hy, int n, int m, double t) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y, p = i * m + j;
    if (i > 0 && i < n && j > 0 && j < m) ez[p] += 0.5 * (hy[p] - hy[p - m] - hx[p] + hx[p - 1]);
    if (i == n / 2 && j == m / 2) ez[p] += sin(0.3 * t);
}""", lambda r: (r.random((14, 15)), r.random((14, 15)), r.random((14, 15))), _fdtd, _fdtd_reference))

CX = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1])
CY = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
WEIGHTS = np.array([4 / 9, *4 * [1 / 9], *4 * [1 / 36]])


@cuda.jit
def lbm(f, out, n, m, omega):
    cx, cy = cuda.const.array_like(CX), cuda.const.array_like(CY)
    weights = cuda.const.array_like(WEIGHTS)
    i, j = cuda.grid(2)
    if i < n and j < m:
        density, ux, uy = 0.0, 0.0, 0.0
        for q in range(9):
            value = f[q, (i - cx[q] + n) % n, (j - cy[q] + m) % m]
            density += value
            ux += cx[q] * value
            uy += cy[q] * value
        ux /= density
        uy /= density
        for q in range(9):
            value = f[q, (i - cx[q] + n) % n, (j - cy[q] + m) % m]
            cu = 3 * (cx[q] * ux + cy[q] * uy)
            equilibrium = weights[q] * density * (1 + cu + 0.5 * cu * cu - 1.5 * (ux * ux + uy * uy))
            out[q, i, j] = value + omega * (equilibrium - value)


def _lbm_reference(f, out):
    moved = np.stack([np.roll(f[q], (CX[q], CY[q]), (0, 1)) for q in range(9)])
    density = moved.sum(0)
    ux = np.tensordot(CX, moved, 1) / density
    uy = np.tensordot(CY, moved, 1) / density
    cu = 3 * (CX[:, None, None] * ux + CY[:, None, None] * uy)
    equilibrium = WEIGHTS[:, None, None] * density * (1 + cu + 0.5 * cu * cu - 1.5 * (ux * ux + uy * uy))
    out[:] = moved + 1.1 * (equilibrium - moved)


CASES.append(Case("lbm", {"lbm": lbm}, """
__constant__ int cx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, cy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ double weights[9] = {4. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 36, 1. / 36, 1. / 36, 1. / 36};
extern "C" __global__ void lbm(const double *f, double *out, int n, int m, double omega) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= m) return;
    double density = 0, ux = 0, uy = 0, moved[9];
    for (int q = 0; q < 9; ++q) {
        moved[q] = f[(q * n + (i - cx[q] + n) % n) * m + (j - cy[q] + m) % m];
        density += moved[q]; ux += cx[q] * moved[q]; uy += cy[q] * moved[q];
    }
    ux /= density; uy /= density;
    for (int q = 0; q < 9; ++q) {
        double cu = 3 * (cx[q] * ux + cy[q] * uy);
        double equilibrium = weights[q] * density * (1 + cu + 0.5 * cu * cu - 1.5 * (ux * ux + uy * uy));
        out[(q * n + i) * m + j] = moved[q] + omega * (equilibrium - moved[q]);
    }
}""", lambda r: (WEIGHTS[:, None, None] * (1 + 0.1 * r.random((9, 10, 12))), np.zeros((9, 10, 12))),
    lambda k, f, out: k.lbm[(2, 2), (8, 8)](f, out, 10, 12, 1.1), _lbm_reference))

# ---- Jacobi, red-black Gauss-Seidel ----------------------------------------------------------------------------


@cuda.jit
def jacobi(a, b, x, y, n):
    i = cuda.grid(1)
    if i < n:
        total = b[i]
        for j in range(n):
            if j != i:
                total -= a[i, j] * x[j]
        y[i] = total / a[i, i]


@cuda.jit
def red_black(u, n, m, colour):
    i, j = cuda.grid(2)
    if 1 <= i < n - 1 and 1 <= j < m - 1 and (i + j) % 2 == colour:
        u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])


def _solvers(k, a, b, x, y, u):
    for _ in range(2):
        k.jacobi[1, 32](a, b, x, y, 20)
        k.jacobi[1, 32](a, b, y, x, 20)
    for sweep in range(4):
        k.red_black[(2, 2), (8, 8)](u, 13, 11, sweep % 2)


def _solvers_reference(a, b, x, y, u):
    off = a - np.diag(np.diag(a))
    for _ in range(2):
        y[:] = (b - off @ x) / np.diag(a)
        x[:] = (b - off @ y) / np.diag(a)
    inside = (np.indices(u.shape).sum(0)[1:-1, 1:-1]) % 2
    for sweep in range(4):
        new = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u[1:-1, 1:-1] = np.where(inside == sweep % 2, new, u[1:-1, 1:-1])


CASES.append(Case("solvers", {"jacobi": jacobi, "red_black": red_black}, """
extern "C" __global__ void jacobi(const double *a, const double *b, const double *x, double *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double total = b[i];
    for (int j = 0; j < n; ++j) if (j != i) total -= a[i * n + j] * x[j];
    y[i] = total / a[i * n + i];
}
extern "C" __global__ void red_black(double *u, int n, int m, int colour) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= 1 && i < n - 1 && j >= 1 && j < m - 1 && (i + j) % 2 == colour)
        u[i * m + j] = 0.25 * (u[(i - 1) * m + j] + u[(i + 1) * m + j] + u[i * m + j - 1] + u[i * m + j + 1]);
}""", lambda r: (r.random((20, 20)) + 20 * np.eye(20), r.random(20), r.random(20), np.zeros(20), r.random((13, 11))),
    _solvers, _solvers_reference))

# ---- WENO5, convolutions ---------------------------------------------------------------------------------------


@cuda.jit(device=True)
def weno_flux(a, b, c, d, e):
    p0, p1, p2 = (2 * a - 7 * b + 11 * c) / 6, (-b + 5 * c + 2 * d) / 6, (2 * c + 5 * d - e) / 6
    s0 = 13 / 12 * (a - 2 * b + c) ** 2 + 0.25 * (a - 4 * b + 3 * c) ** 2
    s1 = 13 / 12 * (b - 2 * c + d) ** 2 + 0.25 * (b - d) ** 2
    s2 = 13 / 12 * (c - 2 * d + e) ** 2 + 0.25 * (3 * c - 4 * d + e) ** 2
    w0, w1, w2 = 0.1 / (1e-6 + s0) ** 2, 0.6 / (1e-6 + s1) ** 2, 0.3 / (1e-6 + s2) ** 2
    return (w0 * p0 + w1 * p1 + w2 * p2) / (w0 + w1 + w2)


@cuda.jit
def weno5(u, out, n, c):
    i = cuda.grid(1)
    if i < n:
        right = weno_flux(u[(i + n - 2) % n], u[(i + n - 1) % n], u[i], u[(i + 1) % n], u[(i + 2) % n])
        left = weno_flux(u[(i + n - 3) % n], u[(i + n - 2) % n], u[(i + n - 1) % n], u[i], u[(i + 1) % n])
        out[i] = u[i] - c * (right - left)


def _weno_reference(u, out):
    def flux(s):
        a, b, c, d, e = (np.roll(u, s + k) for k in (2, 1, 0, -1, -2))
        return weno_flux.py_func(a, b, c, d, e)
    out[:] = u - 0.4 * (flux(0) - flux(1))


CASES.append(Case("weno5", {"weno5": weno5}, """
__device__ double square(double x) { return x * x; }
__device__ double flux(double a, double b, double c, double d, double e) {
    double p0 = (2 * a - 7 * b + 11 * c) / 6, p1 = (-b + 5 * c + 2 * d) / 6, p2 = (2 * c + 5 * d - e) / 6;
    double s0 = 13. / 12 * square(a - 2 * b + c) + 0.25 * square(a - 4 * b + 3 * c);
    double s1 = 13. / 12 * square(b - 2 * c + d) + 0.25 * square(b - d);
    double s2 = 13. / 12 * square(c - 2 * d + e) + 0.25 * square(3 * c - 4 * d + e);
    double w0 = 0.1 / square(1e-6 + s0), w1 = 0.6 / square(1e-6 + s1), w2 = 0.3 / square(1e-6 + s2);
    return (w0 * p0 + w1 * p1 + w2 * p2) / (w0 + w1 + w2);
}
extern "C" __global__ void weno5(const double *u, double *out, int n, double c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
#define U(k) u[(i + n + (k)) % n]
    out[i] = u[i] - c * (flux(U(-2), U(-1), U(0), U(1), U(2)) - flux(U(-3), U(-2), U(-1), U(0), U(1)));
}""", lambda r: (r.random(60), np.zeros(60)), lambda k, u, out: k.weno5[blocks(60, 32), 32](u, out, 60, 0.4),
    _weno_reference))

RADIUS = 3
WIDTH = 32 + 2 * RADIUS
FILTER = np.array([1, 3, 5, 7, 5, 3, 1], np.float32) / 25


@cuda.jit
def row_filter(x, y, n):
    tile = cuda.shared.array(WIDTH, "float32")
    weights = cuda.const.array_like(FILTER)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t + RADIUS] = x[i] if i < n else np.float32(0)
    if t < RADIUS:
        tile[t] = x[i - RADIUS] if i >= RADIUS else np.float32(0)
        tile[t + 32 + RADIUS] = x[i + 32] if i + 32 < n else np.float32(0)
    cuda.syncthreads()
    if i < n:
        total = np.float32(0)
        for k in range(2 * RADIUS + 1):
            total += tile[t + k] * weights[k]
        y[i] = total


@cuda.jit
def convolve2(x, w, y, n, m):
    i, j = cuda.grid(2)
    if i < n and j < m:
        total = 0.0
        for a in range(-1, 2):
            for b in range(-1, 2):
                if 0 <= i + a < n and 0 <= j + b < m:
                    total += x[i + a, j + b] * w[a + 1, b + 1]
        y[i, j] = total


def _convolutions(k, x, y, image, w, out):
    k.row_filter[blocks(100, 32), 32](x, y, 100)
    k.convolve2[(2, 2), (8, 8)](image, w, out, 12, 14)


def _convolutions_reference(x, y, image, w, out):
    y[:] = np.convolve(x, FILTER, "same")
    p = np.pad(image, 1)
    out[:] = sum(p[a:a + 12, b:b + 14] * w[a, b] for a in range(3) for b in range(3))


CASES.append(Case("convolutions", {"row_filter": row_filter, "convolve2": convolve2}, """
#define R 3
__constant__ float weights[7] = {1 / 25.f, 3 / 25.f, 5 / 25.f, 7 / 25.f, 5 / 25.f, 3 / 25.f, 1 / 25.f};
extern "C" __global__ void row_filter(const float *x, float *y, int n) {
    __shared__ float tile[32 + 2 * R];
    int t = threadIdx.x, i = blockIdx.x * 32 + t;
    tile[t + R] = i < n ? x[i] : 0;
    if (t < R) {
        tile[t] = i >= R ? x[i - R] : 0;
        tile[t + 32 + R] = i + 32 < n ? x[i + 32] : 0;
    }
    __syncthreads();
    if (i >= n) return;
    float total = 0;
#pragma unroll
    for (int k = 0; k < 2 * R + 1; ++k) total += tile[t + k] * weights[k];
    y[i] = total;
}
extern "C" __global__ void convolve2(const double *x, const double *w, double *y, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= m) return;
    double total = 0;
    for (int a = -1; a <= 1; ++a)
        for (int b = -1; b <= 1; ++b)
            if (i + a >= 0 && i + a < n && j + b >= 0 && j + b < m)
                total += x[(i + a) * m + j + b] * w[(a + 1) * 3 + b + 1];
    y[i * m + j] = total;
}""", lambda r: (r.random(100).astype("f4"), np.zeros(100, "f4"), r.random((12, 14)), r.random((3, 3)),
                 np.zeros((12, 14))),
    _convolutions, _convolutions_reference, rtol=1e-5))

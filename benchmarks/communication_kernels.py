"""The shallow water of case e as GPU kernels, in Numba-CUDA and in CUDA C++: what a modeller writes for one device."""
from __future__ import annotations

from dataclasses import replace

import numpy as np
from communication_cases import CASES, DEPTH, GRAVITY, RATE, STEPS
from communication_ways import Case
from numba import cuda

import reactant

BLOCK = 16
BY_DEPTH = RATE * DEPTH


@cuda.jit
def fill_rows(h, u, v):
    j, n = cuda.grid(1), h.shape[0]
    if j < h.shape[1]:
        for f in (h, u, v):
            for k in range(3):
                f[k, j] = f[n - 6 + k, j]
                f[n - 3 + k, j] = f[3 + k, j]


@cuda.jit
def fill_columns(h, u, v):
    i, n = cuda.grid(1), h.shape[1]
    if i < h.shape[0]:
        for f in (h, u, v):
            for k in range(3):
                f[i, k] = f[i, n - 6 + k]
                f[i, n - 3 + k] = f[i, 3 + k]


@cuda.jit(device=True)
def down(f, i, j):
    return (45 * (f[i + 1, j] - f[i - 1, j]) - 9 * (f[i + 2, j] - f[i - 2, j]) + (f[i + 3, j] - f[i - 3, j])) / 60


@cuda.jit(device=True)
def across(f, i, j):
    return (45 * (f[i, j + 1] - f[i, j - 1]) - 9 * (f[i, j + 2] - f[i, j - 2]) + (f[i, j + 3] - f[i, j - 3])) / 60


@cuda.jit
def changes(h, u, v, dh, du, dv):
    i, j = cuda.grid(2)
    if 3 <= i < h.shape[0] - 3 and 3 <= j < h.shape[1] - 3:
        dh[i, j] = -BY_DEPTH * (down(u, i, j) + across(v, i, j))
        du[i, j] = -RATE * (u[i, j] * down(u, i, j) + v[i, j] * across(u, i, j) + GRAVITY * down(h, i, j))
        dv[i, j] = -RATE * (u[i, j] * down(v, i, j) + v[i, j] * across(v, i, j) + GRAVITY * across(h, i, j))


@cuda.jit
def advance(h, u, v, dh, du, dv):
    i, j = cuda.grid(2)
    if 3 <= i < h.shape[0] - 3 and 3 <= j < h.shape[1] - 3:
        h[i, j] += dh[i, j]
        u[i, j] += du[i, j]
        v[i, j] += dv[i, j]


def blocks(n: int, size: int) -> int:
    return -(-n // size)


def water_numba(h, u, v):
    dh, du, dv = np.zeros_like(h), np.zeros_like(h), np.zeros_like(h)
    (rows, columns), grid = h.shape, (blocks(h.shape[0], BLOCK), blocks(h.shape[1], BLOCK))
    for _ in range(STEPS):
        fill_rows[blocks(columns, 64), 64](h, u, v)
        fill_columns[blocks(rows, 64), 64](h, u, v)
        changes[grid, (BLOCK, BLOCK)](h, u, v, dh, du, dv)
        advance[grid, (BLOCK, BLOCK)](h, u, v, dh, du, dv)


SOURCE = f"""
#define G {GRAVITY}f
#define RATE {RATE}f
#define DEPTH {DEPTH}f
#define AT(f, i, j) f[(size_t)(i) * columns + (j)]

__device__ void ghosts(float *f, int rows, int columns, int i, int j) {{
    for (int k = 0; k < 3; ++k) {{
        if (i < 0) {{
            AT(f, k, j) = AT(f, rows - 6 + k, j);
            AT(f, rows - 3 + k, j) = AT(f, 3 + k, j);
        }} else {{
            AT(f, i, k) = AT(f, i, columns - 6 + k);
            AT(f, i, columns - 3 + k) = AT(f, i, 3 + k);
        }}
    }}
}}

extern "C" __global__ void fill_rows(float *h, float *u, float *v, int rows, int columns) {{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= columns) return;
    ghosts(h, rows, columns, -1, j);
    ghosts(u, rows, columns, -1, j);
    ghosts(v, rows, columns, -1, j);
}}

extern "C" __global__ void fill_columns(float *h, float *u, float *v, int rows, int columns) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    ghosts(h, rows, columns, i, 0);
    ghosts(u, rows, columns, i, 0);
    ghosts(v, rows, columns, i, 0);
}}

__device__ float slope(const float *f, size_t at, size_t by) {{
    return (45 * (f[at + by] - f[at - by]) - 9 * (f[at + 2 * by] - f[at - 2 * by])
            + (f[at + 3 * by] - f[at - 3 * by])) / 60;
}}

extern "C" __global__ void changes(const float *h, const float *u, const float *v, float *dh, float *du, float *dv,
                                   int rows, int columns) {{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 3 || i >= rows - 3 || j < 3 || j >= columns - 3) return;
    size_t at = (size_t)i * columns + j;
    dh[at] = -RATE * DEPTH * (slope(u, at, columns) + slope(v, at, 1));
    du[at] = -RATE * (u[at] * slope(u, at, columns) + v[at] * slope(u, at, 1) + G * slope(h, at, columns));
    dv[at] = -RATE * (u[at] * slope(v, at, columns) + v[at] * slope(v, at, 1) + G * slope(h, at, 1));
}}

extern "C" __global__ void advance(float *h, float *u, float *v, const float *dh, const float *du, const float *dv,
                                   int rows, int columns) {{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 3 || i >= rows - 3 || j < 3 || j >= columns - 3) return;
    size_t at = (size_t)i * columns + j;
    h[at] += dh[at];
    u[at] += du[at];
    v[at] += dv[at];
}}
"""


def water_cuda(h, u, v):
    module = reactant.cuda.load(SOURCE)
    dh, du, dv = np.zeros_like(h), np.zeros_like(h), np.zeros_like(h)
    (rows, columns), grid = h.shape, (blocks(h.shape[1], BLOCK), blocks(h.shape[0], BLOCK))
    for _ in range(STEPS):
        module.fill_rows[blocks(columns, 64), 64](h, u, v, rows, columns)
        module.fill_columns[blocks(rows, 64), 64](h, u, v, rows, columns)
        module.changes[grid, (BLOCK, BLOCK)](h, u, v, dh, du, dv, rows, columns)
        module.advance[grid, (BLOCK, BLOCK)](h, u, v, dh, du, dv, rows, columns)


_E = next(case for case in CASES if case.name == "e")
KERNELS: tuple[Case, ...] = tuple(replace(_E, name=f"e_{name}", launched=program)
                                  for name, program in (("numba", water_numba), ("cuda", water_cuda)))

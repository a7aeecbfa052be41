"""Random programs of GPU kernels as source text: indices, guards, loops, shared memory, barriers, atomics, warps.

All numbers are small multiples of 1/16, so that sums in any order are the same and results are compared bit for bit.
No two threads write one place, but with the same value or by one kind of atomic; only what is written by an earlier
launch, by the thread itself, or before a barrier is read. Indices are inside their arrays because intervals say so,
because they are brought inside, or because a guard keeps them there.
"""
from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

from tests.kernels.fuzz.dialects import WEIGHTS, Cuda, Python
from tests.kernels.fuzz.kernels import KernelWriter

BLOCKS = [(8,), (32,), (12,), (16,), (20,), (4, 3), (4, 4), (8, 2), (3, 2, 2), (1,), (64,), (33,), (12, 4), (10, 7),
          (3, 5, 4)]
GRIDS = [(1,), (2,), (3,), (2, 2), (1, 3), (2, 1, 2)]

BETWEEN = ["s0[:] = np.minimum(np.maximum(s0, -100.0), 100.0)", "q0 += 1.0", "a0[:] = a0[::-1].copy()",
           "o0[1:] = o0[:-1].copy()", "w0[:] = (w0 + 5) % 60", "s1[::2] = s1[::2] * 0.5 + 1.0"]
"""Array code between launches."""
LARGER_OF = """
@cuda.jit(device=True)
def larger_of(array, index, value):
    old = array[index]
    while old < value:
        seen = old
        old = cuda.atomic.cas(array, index, seen, value)
        if old == seen:
            break


""".split("\n")


@dataclass
class Array:
    """A buffer of the program."""

    name: str
    shape: tuple[int, ...]
    dtype: str


@dataclass
class Program:
    """Source text of the kernels, and of `host(k, *arrays)`, which launches them."""

    seed: int
    language: str
    source: str
    host: str
    kernels: list[str]
    buffers: list[Array]
    launches: list[tuple] = field(default_factory=list)

    def arrays(self) -> list[np.ndarray]:
        rng = np.random.default_rng(self.seed)
        return [_content(rng, a) for a in self.buffers]


def _content(rng: np.random.Generator, array: Array) -> np.ndarray:
    if array.name.startswith(("o", "f")):
        return np.zeros(array.shape, array.dtype)
    if array.name == "p":
        return rng.integers(-4, 9, array.shape).astype(array.dtype)
    if array.dtype.startswith("float"):
        return (rng.integers(-8, 12, array.shape) / 2).astype(array.dtype)
    return rng.integers(0, 6, array.shape).astype(array.dtype)


def random_program(seed: int, language: str) -> Program:
    """A program of one to three kernels in "numba" or "cuda"."""
    r = random.Random(f"{language} {seed}")
    n = r.choice([5, 9, 17, 24, 30, 37, 41])
    rows, columns = r.choice([(4, 5), (6, 6), (7, 3), (5, 9)])
    buffers = [Array("a0", (r.choice([n, 40]),), "float64"),
               Array("a1", (rows, columns), r.choice(["float64", "float32"])),
               Array("p", (r.choice([8, 13, 20]),), r.choice(["int32", "int64", "int16"])),
               Array("s0", (n,), "float64"), Array("s1", (n,), "float64"),
               Array("q0", (rows, columns), "float64"), Array("q1", (rows, columns), "float64"),
               Array("o0", (r.choice([n, 2 * n]),), r.choice(["float64", "float32", "int64"])),
               Array("o1", (n + 3,), r.choice(["int32", "int64", "float64", "uint8", "int8", "uint32"])),
               Array("c0", (9,), r.choice(["int32", "int64"] if language == "numba" else ["int32"])),
               Array("c1", (7,), "float64"), Array("f0", (6,), "int32"), Array("w0", (4,), "int32"),
               Array("c2", (5,), r.choice(["int32", "uint32", "int64"] if language == "numba" else
                                          ["int32", "uint32", "uint64"]))]
    kernels, functions, launches = [], [], []
    for number in range(r.choice([1, 1, 2, 2, 3])):
        writer = KernelWriter(r, Python() if language == "numba" else Cuda(), f"k{number}", n, buffers,
                              r.choice(BLOCKS), r.choice(GRIDS), number)
        writer.write()
        functions += writer.functions
        kernels.append(writer)
        launches.append((writer.name, writer.grid, writer.block, writer.dynamic_bytes, writer.arguments()))
    return Program(seed, language, _source(language, functions, kernels), _host(r, n, launches),
                   [k.name for k in kernels], buffers, launches)


def _source(language: str, functions: list[str], kernels: list[KernelWriter]) -> str:
    if language == "numba":
        head = ["import math", "import numpy as np", "from numba import cuda, float32, float64, int32", "",
                f"WEIGHTS = np.array({list(WEIGHTS)})", "", *LARGER_OF]
    else:
        head = [f"__constant__ double weights[{len(WEIGHTS)}] = {{{', '.join(map(str, WEIGHTS))}}};",
                "template <class T> __device__ void larger_of(T *p, T v) {",
                "    T old = *p, seen;",
                "    do { seen = old; if (seen >= v) return; old = atomicCAS(p, seen, v); } while (old != seen);", "}",
                "__device__ int lesser(int a, int b) { return a < b ? a : b; }",
                "__device__ double lesser(double a, double b) { return a < b ? a : b; }",
                "__device__ int greater(int a, int b) { return a > b ? a : b; }",
                "__device__ double greater(double a, double b) { return a > b ? a : b; }", ""]
    return "\n".join([*head, *functions, *(line for k in kernels for line in k.text())])


def _host(r: random.Random, n: int, launches: list[tuple]) -> str:
    lines = ["import numpy as np",
             f"def host(k, a0, a1, p, s0, s1, q0, q1, o0, o1, c0, c1, f0, w0, c2, scale=2.0, n={n}):"]
    iterations = r.choice([1, 1, 2, 3])
    depth = "    "
    if iterations > 1:
        lines.append(f"    for iteration in range({iterations}):")
        depth *= 2
    for name, grid, block, shared, arguments in launches:
        lines.append(f"{depth}k.{name}[{grid}, {block}, 0, {shared}]({', '.join(arguments)})")
        if r.random() < 0.3:
            lines.append(depth + r.choice(BETWEEN))
    if iterations > 1 and r.random() < 0.6:
        lines.append(f"{depth}s0, s1 = s1, s0")
        lines.append(f"{depth}q0, q1 = q1, q0")
    return "\n".join(lines) + "\n"

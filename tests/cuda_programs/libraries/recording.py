"""Writes `curand_numbers.npz` down: what NVIDIA's own cuRAND makes, on a CPU.

    pip download --no-deps nvidia-curand-cu12==10.3.10.19 && unzip nvidia_curand*.whl -d FOLDER
    python tests/cuda_programs/libraries/recording.py FOLDER/nvidia/curand RESULTS

Its library has generators on the host that make the numbers of those on a GPU (`curandCreateGeneratorHost`); RESULTS is
what `random_host.cu` has written, whose calls are repeated. Its headers compile for the host as well, with what they
take from a GPU put in (`SHIM`): `random_samples.h` then draws from NVIDIA's device functions.
"""
from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from tests.cuda_programs.libraries.series import results

HERE = Path(__file__).resolve().parent
TYPES = {"xorwow": 100, "mrg32k3a": 121, "philox": 161, "sobol": 201}
SHIM = """#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __constant__ static
#define __shared__
#define QUALIFIERS static inline
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <cuda_runtime.h>
static unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
static float rsqrtf(float x) { return 1 / sqrtf(x); }
static dim3 blockDim, threadIdx, blockIdx;
#define __syncthreads()
#include <library_types.h>
#include <curand_kernel.h>
#include "random_samples.h"
static double drawn[SAMPLES * CASES];
template <class Draw> void one(const char *name, Draw draw) {
    for (double &each : drawn) each = 0;
    for (int k = 0; k < CASES; ++k) draw(k);
    printf("%s", name);
    for (double each : drawn) printf(" %a", each);
    printf("\\n");
}
int main() {
    one("philox", [](int k) { sample<curandStatePhilox4_32_10_t>(k, drawn); });
    one("philox_four", [](int k) { sample_four(k, drawn); });
    one("xorwow", [](int k) { sample<curandState>(k, drawn); });
    one("mrg32k3a", [](int k) { sample<curandStateMRG32k3a>(k, drawn); });
}
"""
TARGETS = """#pragma once
#define REACTANT_NV_PROVIDES_SM_61(...) { __VA_ARGS__ }
#define REACTANT_NV_IS_DEVICE(...)
#define NV_IF_TARGET(q, t, ...) REACTANT_##q(t)
#define NV_IF_ELSE_TARGET(q, t, f, ...) f
"""


def device(package: Path) -> dict[str, np.ndarray]:
    """What NVIDIA's device functions draw, by name."""
    from reactant.cuda_programs.driver.toolchain import INCLUDE, toolchain
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "nv").mkdir()
        (folder / "nv" / "target").write_text(TARGETS)
        for header in (package / "include").glob("*.h"):
            text = header.read_text(errors="replace").replace("extern const dim3 blockDim;", "")
            text = text.replace("extern const uint3 threadIdx;", "")
            product = "a * (unsigned long long)b"
            for name, formula in (("mad.wide.u32", f"{product} + c"), ("mul.wide.u32", product)):
                while f'asm("{name}' in text:
                    start = text.index(f'asm("{name}')
                    text = text[:start] + f"r = {formula};" + text[text.index(");", start) + 2:]
            (folder / header.name).write_text(text)
        (folder / "main.cpp").write_text(SHIM)
        tools = toolchain()
        included = [f"-I{folder}", f"-I{HERE}", "-idirafter", str(INCLUDE)]
        subprocess.run([*tools.compiler(), "-O1", "-std=c++17", "-w", *included, "-c",
                        str(folder / "main.cpp"), "-o", str(folder / "main.o")], check=True)
        subprocess.run([*tools.linker, str(folder / "main.o"), "-o", str(folder / "main")], check=True)
        lines = subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[0]: np.array([float.fromhex(word) for word in line.split()[1:]]) for line in lines}


class Generator:
    """A generator of NVIDIA's library on the host."""

    def __init__(self, library, kind, seed, offset):
        self.library, self.handle = library, ctypes.c_void_p()
        assert library.curandCreateGeneratorHost(ctypes.byref(self.handle), TYPES[kind]) == 0
        if kind == "sobol":
            assert library.curandSetQuasiRandomGeneratorDimensions(self.handle, 3) == 0
        else:
            assert library.curandSetPseudoRandomGeneratorSeed(self.handle, ctypes.c_ulonglong(seed)) == 0
        assert library.curandSetGeneratorOffset(self.handle, ctypes.c_ulonglong(offset)) == 0

    def make(self, what, count):
        """The numbers of a call of `random_host.cu`."""
        dtype = "f8" if what.endswith("double") else "u4" if what in ("bits", "after") else "f4"
        scalar = ctypes.c_double if dtype == "f8" else ctypes.c_float
        end = "Double" if dtype == "f8" else ""
        calls = {"bits": ("", ()), "after": ("", ()), "uniform": ("Uniform", ()), "normal": ("Normal", (0.5, 2.0)),
                 "log_normal": ("LogNormal", (0.25, 0.5))}
        name, given = calls[what.removesuffix("_double")]
        to = np.zeros(count, dtype)
        call = getattr(self.library, f"curandGenerate{name}{end}")
        assert call(self.handle, to.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(count), *map(scalar, given)) == 0
        return to


def host(package: Path, written: Path) -> dict[str, np.ndarray]:
    """The calls of `random_host.cu`, by NVIDIA's library; of long ones, the last 600 numbers."""
    library = ctypes.CDLL(str(package / "lib" / "libcurand.so.10"))
    generators: dict[tuple, Generator] = {}
    made = {}
    for name, ours in results(written).items():
        parts = name.split(",")
        if len(parts) == 5:
            key = tuple(parts[:4])
            if key not in generators:
                generators[key] = Generator(library, parts[0], int(parts[1], 16), int(parts[2]))
            made[name] = generators[key].make(parts[4], len(ours))[-600:]
    return made


if __name__ == "__main__":
    package = Path(sys.argv[1])
    np.savez_compressed(HERE / "curand_numbers.npz", **device(package), **host(package, Path(sys.argv[2])))

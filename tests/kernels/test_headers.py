"""Our headers of CUDA's language: a program's own macros leave them alone."""
import re
from pathlib import Path

import numpy as np
import pytest

import reactant

pytest.importorskip("ziglang", reason="needs ziglang")

HEADERS = Path(reactant.__file__).parent / "kernels" / "headers"
INCLUDED = "".join(f"#include <{name}>\n" for name in (
    "cuda_runtime.h", "cooperative_groups.h", "cuda_fp16.h", "cuda_bf16.h", "cuComplex.h", "cuda/atomic",
    "cuda_pipeline.h"))


def test_macros_may_have_the_names_that_headers_use():
    names = re.findall(r"#undef (\w+)", (HEADERS / "reactant_names_aside.h").read_text())
    assert re.findall(r'"(\w+)"', (HEADERS / "reactant_names_back.h").read_text()) == names
    module = reactant.cuda.load(
        INCLUDED + 'extern "C" __global__ void kernel_(T *q_) { q_[N] = k; }',
        defines={name: "@" for name in names} | {"T": "float", "N": 4, "k": 2.5})
    out = np.zeros(5, np.float32)
    module.kernel_[1, 1](out)
    assert list(out) == [0, 0, 0, 0, 2.5]


def test_macros_of_the_source_come_before_headers():
    module = reactant.cuda.load("""
    #define N 8
    #define T int
    #define mask 3
    #include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    extern "C" __global__ void k(T *x) {
        auto tile = cg::tiled_partition<N>(cg::this_thread_block());
        x[threadIdx.x] = tile.shfl_xor(threadIdx.x, mask);
    }""")
    x = np.zeros(32, np.int32)
    module.k[1, 32](x)
    np.testing.assert_array_equal(x, np.arange(32) ^ 3)

"""Random kernels as Numba and CUDA C++ sources: raised, native, and as Numba's simulator or an emulation say, bit for
bit. Longer: `pytest -m slow tests/kernels/test_source_fuzz.py`."""
import numpy as np
import pytest

pytest.importorskip("numba.cuda", reason="needs numba-cuda")
pytest.importorskip("ziglang", reason="needs ziglang")

from tests.kernels.fuzz import oracles, running  # noqa: E402


@pytest.mark.slow
@pytest.mark.parametrize("language", ["numba", "cuda"])
def test_random_programs(language, tmp_path):
    running.compare(running.programs(language, range(3)), tmp_path, ("together", "native"))


PARTS = {"numba": 30, "cuda": 100}
"""Of 20 programs each, about 25 minutes on two cores; Numba's simulator, whose GPU threads are Python's, takes most."""


@pytest.mark.slow
@pytest.mark.parametrize("language, part", [(name, part) for name, parts in PARTS.items() for part in range(parts)])
def test_many_random_programs(language, part, tmp_path):
    seeds = range(1000 + 20 * part, 1020 + 20 * part)
    ways = running.WAYS if part % 3 == 0 else ("together", "native")
    running.compare(running.programs(language, seeds), tmp_path, ways)


EMULATED = """
extern "C" __global__ void k0(double *x, int *c, int n) {
    __shared__ double tile[40];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t] = x[i];
    __syncthreads();
    double other = tile[39 - t];
    __syncthreads();
    for (int m = 4; m > 0; m /= 2) other += __shfl_xor_sync(0xffffffffu, other, m, 8);
    x[i] = other;
    if (__ballot_sync(0xffffffffu, t % 2) & (1u << (t & 31))) atomicAdd(&c[0], 1);
    if (t > n) return;
    atomicMax(&c[1], i);
}
"""


def test_the_emulation_itself(tmp_path):
    x, c = np.arange(80.0), np.zeros(2, np.int32)
    oracles.emulated({"one": EMULATED}, tmp_path)["one"].k0[(2,), (40,)](x, c, 10)
    reversed_blocks = np.arange(80.0).reshape(2, 40)[:, ::-1]
    sums = reversed_blocks.reshape(2, 5, 8).sum(2)
    np.testing.assert_array_equal(x.reshape(2, 5, 8), np.repeat(sums[..., None], 8, 2))
    assert list(c) == [40, 50]

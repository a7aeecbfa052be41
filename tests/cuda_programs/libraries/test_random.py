"""cuRAND against what NVIDIA's own library and headers make (`recording.py` wrote it down)."""
import subprocess
from pathlib import Path

import numpy as np
import pytest

from reactant.cuda_programs.driver import command, libraries

HERE = Path(__file__).parent
KNOWN = np.load(HERE / "curand_numbers.npz")
SAMPLES = 96
EXACT = {"philox": [*range(11), 16, 17, 18, *range(32, 36), 38, 39], "xorwow": [*range(11), 16, 17, 18, *range(32, 36), 38, 39],
         "mrg32k3a": [*range(11), 16, 17, 18, *range(32, 36), 38, 39],
         "philox_four": [*range(8), 16, 17, *range(22, 30), 38, 39]}
"""Of what a thread draws, what has no logarithm in it: bits, uniform numbers, small Poisson ones, bits after jumps."""


def close(found, expected):
    epsilon = 2.0 ** -22 if found.dtype == np.float32 else 2.0 ** -48
    np.testing.assert_allclose(found, expected, rtol=8 * epsilon, atol=8 * epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
def test_device_functions_draw_what_nvidias_do(made, name):
    found, expected = (numbers.reshape(-1, SAMPLES) for numbers in (made("random_device")[name], KNOWN[name]))
    np.testing.assert_array_equal(found[:, EXACT[name]], expected[:, EXACT[name]])
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


@pytest.mark.slow
def test_states_in_memory_and_poisson(made):
    got = made("random_device")
    assert abs(got["sums"].mean() - 150) < 1 and 4.4 < got["sums"].std() < 5.6          # of 300 uniform numbers each
    assert abs(got["poisson"].mean() - 300) < 1 and abs(got["poisson"].var() - 300) < 20


@pytest.mark.slow
def test_generators_of_the_host_make_what_nvidias_do(made):
    got = made("random_host", "-lcurand")
    compared = 0
    for name in KNOWN.files:
        if "," not in name:
            continue
        found, expected = got[name][-600:], KNOWN[name]
        if name.endswith(("bits", "after", "uniform", "uniform_double")):
            np.testing.assert_array_equal(found, expected, name)
        else:
            close(found, expected)
        compared += 1
    assert compared == 80
    assert [int(got[name][0]) for name in ("no_mt19937", "odd_normal", "no_dimensions")] == [103, 105, 103]
    for name in got:
        if name.startswith("poisson"):
            mean = float(name.split(",")[1])
            assert abs(got[name].mean() - mean) < 5 * (mean / 40000) ** 0.5 and abs(got[name].var() / mean - 1) < 0.05


def test_bits_of_philox_and_xorwow(tmp_path):
    """A short program, for every day."""
    source = tmp_path / "bits.cu"
    source.write_text("""#include <curand_kernel.h>
    template <class State> __global__ void bits(unsigned long long seed, unsigned *to) {
        State state;
        curand_init(seed, threadIdx.x, 0, &state);
        for (int k = 0; k < 6; ++k) to[threadIdx.x * 6 + k] = curand(&state);
    }
    int main() {
        unsigned *to;
        cudaMallocManaged(&to, 4 * 6 * 4);
        bits<curandStatePhilox4_32_10_t><<<1, 2>>>(0, to);
        bits<curandState><<<1, 2>>>(0, to + 12);
        cudaDeviceSynchronize();
        for (int k = 0; k < 24; ++k) printf("%u ", to[k]);
    }""")
    assert command.main([str(source), "-o", str(tmp_path / "bits")]) == 0
    said = subprocess.run([tmp_path / "bits"], capture_output=True, text=True, check=True).stdout.split()
    found = np.array(list(map(int, said))).reshape(2, 2, 6)
    for name, numbers in zip(("philox", "xorwow"), found, strict=True):
        np.testing.assert_array_equal(numbers[0], KNOWN[name][:6])
    # The first block of a known-answer test of Random123 (kat_vectors: philox4x32 10, counter and key 0).
    assert [f"{word:08x}" for word in found[0, 0, :4]] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]


def test_direction_numbers():
    """Gray-code order: numbers of the first dimension are bits of the index turned round, those of others as recorded."""
    vectors = np.frombuffer(libraries.directions(3), np.uint32).reshape(3, 32)
    points = np.zeros((3, 3), np.uint32)
    for k in range(1, 3):
        points[:, k] = points[:, k - 1] ^ vectors[:, (k & -k).bit_length() - 1]
    np.testing.assert_array_equal(points.ravel(), KNOWN["sobol,0,0,12,bits"])

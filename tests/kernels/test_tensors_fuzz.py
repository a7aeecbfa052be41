"""Random kernels, raised, against the interpreter. Longer: `pytest -m slow tests/kernels/test_tensors_fuzz.py`."""
import numpy as np
import pytest

from tests.kernels.raising import interpreted, run_raised
from tests.kernels.random_kernels import random_kernel


def compare(seed, optimise):
    text, arguments = random_kernel(seed)
    expected = interpreted(text, arguments)
    for one, other in zip(expected, interpreted(text, arguments, "reverse"), strict=True):
        np.testing.assert_array_equal(one, other, err_msg="the generator made a race")
    results, _ = run_raised(text, arguments, optimise)
    for k, found in results.items():
        np.testing.assert_array_equal(found.reshape(expected[k].shape), expected[k], err_msg=text)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(40))
def test_random_kernel(seed):
    compare(seed, True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1600))
def test_many_random_kernels(seed):
    compare(seed, seed % 3 != 0)

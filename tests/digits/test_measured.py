import numpy as np
import pytest

from reactant.digits.measured import relative


@pytest.mark.parametrize(("value", "exact", "each", "scale"), [
    ([1.0, 2.0], ([1.0, 4.0],), [0.0, 0.5], 0.5),
    ([1.0, 0.0], ([1.0, 0.0], [1e-20, 0.0]), [1e-20, 0.0], 1e-20),
    ([0.0, 1.0], ([1e-9, 1.0],), [1.0, 0.0], 1e-9),
    ([np.inf, 1.0], ([5.0, 1.0],), [1.0, 0.0], 1.0),
    ([np.inf, np.nan], ([np.inf, np.nan],), [0.0, 0.0], 0.0),
    ([1.0, 2.0], ([0.0, 2.0],), [1.0, 0.0], 0.5),
])
def test_errors_relative_to_companions(value, exact, each, scale):
    found, largest = relative((np.array(value),), tuple(map(np.array, exact)), np.dtype(np.float64))
    assert found.tolist() == each and largest == scale


def test_of_complex_numbers_the_larger_part_counts():
    found, _ = relative((np.array([1 + 1e-3j]),), (np.array([1 + 0j]),), np.dtype(np.complex64))
    assert found.tolist() == [1e-3]

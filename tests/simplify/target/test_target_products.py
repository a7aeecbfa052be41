"""Forms of products for XLA's code, and none where BLAS takes a product as it is."""
import numpy as np
import pytest

import reactant
from reactant.loopnests.calls import product_calls

TURNED, PARTS = "transposed_factor", "complex_product_is_real_ones"
CASES = {
    "turned factor": (lambda a, b: a.T @ b, "float64", 512, TURNED),
    "complex": (lambda a, b: a @ b, "complex128", 150, PARTS),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("native", ["auto", "never"])
def test_only_without_calls(name, native):
    function, dtype, n, rule = CASES[name]
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((n, n)).astype(dtype) for _ in range(2))
    compiled = reactant.jit(function, native=native)
    fired = dict(compiled.lower(a, b).report.counts())
    assert (rule in fired) == (native == "never" or not product_calls.available())
    np.testing.assert_allclose(compiled(a, b), function(a, b), rtol=1e-10, atol=1e-10)


def test_real_factors_are_half_the_work():
    """Two real products, each of which BLAS may take, where it has four for two complex matrices."""
    random = np.random.default_rng(0)
    a, b = random.standard_normal((200, 200)), random.standard_normal((200, 200)) * 1j
    compiled = reactant.jit(lambda a, b: a @ b)
    assert PARTS in dict(compiled.lower(a, b).report.counts())
    np.testing.assert_allclose(compiled(a, b), a @ b, rtol=1e-10, atol=1e-10)


def test_small_products_keep_their_forms():
    a = np.ones((128, 64))
    assert TURNED in dict(reactant.jit(lambda a, b: a.T @ b).lower(a, a + 1).report.counts())

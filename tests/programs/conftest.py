"""How whole programs are checked: plain and compiled on equal arguments, results and written arguments compared."""
import dataclasses

import numpy as np
import pytest

TOLERANCE = {"float32": 2e-5, "complex64": 2e-5}  # float64: a few hundred ulps, sums may run in another order
_DEFAULT_TOLERANCE = 1e-11


def assert_same(compiled, plain, where="result"):
    """Equal structure, kinds, dtypes and shapes; integers, booleans and strings equal, floating numbers close."""
    if dataclasses.is_dataclass(plain):
        assert type(compiled) is type(plain), where
        for field in dataclasses.fields(plain):
            assert_same(getattr(compiled, field.name), getattr(plain, field.name), f"{where}.{field.name}")
    elif isinstance(plain, dict):
        assert compiled.keys() == plain.keys(), where
        for key in plain:
            assert_same(compiled[key], plain[key], f"{where}[{key!r}]")
    elif isinstance(plain, (list, tuple)):
        assert type(compiled) is type(plain) and len(compiled) == len(plain), where
        for index, (one, other) in enumerate(zip(compiled, plain, strict=True)):
            assert_same(one, other, f"{where}[{index}]")
    elif isinstance(plain, (np.ndarray, np.generic, float, complex, int)):
        one, other = np.asarray(compiled), np.asarray(plain)
        assert one.dtype == other.dtype, f"{where}: dtype {one.dtype}, NumPy {other.dtype}"
        assert one.shape == other.shape, f"{where}: shape {one.shape}, NumPy {other.shape}"
        if other.dtype.kind in "biu":
            np.testing.assert_array_equal(one, other, err_msg=where)
        else:
            tolerance = TOLERANCE.get(other.dtype.name, _DEFAULT_TOLERANCE)
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=where)
    elif hasattr(plain, "__dict__"):
        assert_same(vars(compiled), vars(plain), where)
    else:
        assert compiled == plain, where


@pytest.fixture
def agree():
    """`agree(function, make)`: `make()` builds the arguments anew for the plain run and for two compiled ones.

    The second runs the cached executable, so that what leaks from tracing into the second call shows as well.
    """
    import reactant

    def check(function, make, **static):
        plain_arguments = make()
        plain = function(*plain_arguments, **static)
        compiled_function = reactant.jit(function)
        for attempt in ("first call", "second call"):
            arguments = make()
            compiled = compiled_function(*arguments, **static)
            assert_same(compiled, plain, f"result of the {attempt}")
            assert_same(arguments, plain_arguments, f"arguments after the {attempt}")

    return check


@pytest.fixture
def random():
    """A seeded source of numbers."""
    return np.random.default_rng(20)

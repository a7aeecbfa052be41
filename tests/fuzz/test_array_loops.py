"""Random programs of array ops with loops and branches, as native code and simplified: bit for bit what the reference
interpreter gives."""
import numpy as np
import pytest

from reactant import pipelines
from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.rewrite.selftest import build_module
from tests.fuzz.array_loops import ArrayLoops, arguments_for
from tests.loopnests.running import all_compiles, run

DTYPES = ("float64", "int32", "uint8", "float32", "int64", "int8", "uint32", "uint64", "int16")
NO_SIGNS = ("maximum", "minimum", "clamp")
"""Ops of which zero they give for two of different signs nobody says."""


def same(old, new, signs):
    if old.dtype.kind != "f" or not signs:
        return np.array_equal(old, new, equal_nan=old.dtype.kind == "f")
    return np.array_equal(old, new, equal_nan=True) and bool(np.all((np.signbit(old) == np.signbit(new))
                                                                    | np.isnan(old)))


def check(seed, simplified, dtype=None):
    """Whether there was something to compare."""
    dtype, rng = dtype or DTYPES[seed % len(DTYPES)], np.random.default_rng(seed)
    with building():
        module = build_module(ArrayLoops(rng, dtype, int(rng.integers(3, 14))), np.dtype(dtype))
        if module is None:
            return False
        text = modules.to_text(module, large_elements=None)
        parameters = modules.function(module).regions[0].blocks[0].arguments
        cases = [(given, evaluate(module, given)) for given in (arguments_for(parameters, rng, k) for k in (0, 3, 2))]
        if simplified:
            pipelines.run(module, "simplify")
            for given, wanted in cases:
                for old, new in zip(wanted, evaluate(module, given), strict=True):
                    assert same(old, new, False), f"simplified, seed {seed}\n{text}\n{given}\n{old}\n{new}"
        if not all_compiles(module):
            return False
    for given, wanted in cases:
        for old, new in zip(wanted, run(module, given), strict=True):
            signs = not simplified and not any(name in text for name in NO_SIGNS)
            assert same(old, new, signs), f"native, seed {seed}\n{text}\n{given}\n{old}\n{new}"
    return True


@pytest.mark.slow
@pytest.mark.parametrize("simplified", [False, True])
def test_array_loops(simplified):
    assert sum(check(seed, simplified) for seed in range(9)) > 4


@pytest.mark.parametrize(("seed", "dtype"), [(1122, "uint8"), (1563, "float32"), (10222, "uint8"), (10791, "int32")])
def test_array_loops_that_went_wrong(seed, dtype):
    assert check(seed, False, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(40))
def test_many_array_loops(part):
    made = [check(seed, bool(seed % 2)) for seed in range(100 * part + 100, 100 * part + 200)]
    assert sum(made) > 50

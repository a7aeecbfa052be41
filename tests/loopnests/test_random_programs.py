"""Random StableHLO programs as native code, bit for bit against the reference interpreter."""
import warnings

import numpy as np
import pytest

from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.ir.types import dtype_of, shape_of
from reactant.rewrite.selftest import build_module, special_values
from tests.loopnests.running import all_compiles, run
from tests.simplify.test_random_programs import Program


def check(seed, dtype):
    rng = np.random.default_rng(seed)
    with building(), warnings.catch_warnings():
        warnings.simplefilter("error")
        module = build_module(Program(rng, dtype, int(rng.integers(3, 25))), np.dtype(dtype))
        if module is None or not all_compiles(module):
            return False
        parameters = modules.function(module).regions[0].blocks[0].arguments
        inputs = [[special_values(rng, shape_of(p), dtype_of(p), k) for p in parameters] for k in (0, 3)]
        expected = [evaluate(module, arguments) for arguments in inputs]
    for arguments, wanted in zip(inputs, expected, strict=True):
        for x, y in zip(wanted, run(module, arguments), strict=True):
            np.testing.assert_array_equal(y, x, err_msg=f"seed {seed}, {dtype}\n{module}\n{arguments}")
    return True


@pytest.mark.parametrize("dtype", ["float64", "int32", "uint8", "float32"])
def test_random_programs(dtype):
    assert sum(check(seed, dtype) for seed in range(14)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "int32", "int64", "uint8", "uint32", "uint64"])
def test_many_random_programs(dtype):
    assert sum(check(seed, dtype) for seed in range(100, 350)) > 100

"""Random StableHLO programs as native code, against the reference interpreter: bit for bit without loops."""
import warnings

import numpy as np
import pytest

from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.ir.types import dtype_of, shape_and_dtype, shape_of
from reactant.rewrite.selftest import build_module, special_values
from tests.fuzz.loop_modules import Loop
from tests.loopnests.branch_modules import Branches
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


@pytest.mark.sampled(100)
@pytest.mark.parametrize("dtype", ["float64", "int32", "uint8", "float32"])
def test_random_programs(dtype):
    assert sum(check(seed, dtype) for seed in range(14)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "int32", "int64", "uint8", "uint32", "uint64"])
def test_many_random_programs(dtype):
    assert sum(check(seed, dtype) for seed in range(100, 350)) > 100


def check_control_flow(make, seed):
    """Loops and branches with arrays updated in place, a few draws of numbers that sums keep exact or nearly so."""
    with building():
        module = build_module(make(seed), np.dtype(np.float32))
        assert module is not None and all_compiles(module)
        types = [shape_and_dtype(p.type) for p in modules.function(module).regions[0].blocks[0].arguments]
        cases = []
        for draw in range(3):
            rng = np.random.default_rng(draw)
            given = [np.asarray(rng.integers(-3, 16, s) if d.kind == "i" else rng.integers(-8, 9, s) / 8).astype(d)
                     for s, d in types]
            cases.append((given, evaluate(module, given)))
    for given, wanted in cases:
        for x, y in zip(wanted, run(module, given), strict=True):
            np.testing.assert_allclose(y, x, rtol=1e-5, atol=1e-5, err_msg=f"{make.__name__}, seed {seed}\n{module}")


@pytest.mark.parametrize("seed", [*range(8), 141, 180, 189, 263, 337, 396])
def test_branches(seed):
    check_control_flow(Branches, seed)


@pytest.mark.slow
@pytest.mark.parametrize("make", [Branches, Loop])
@pytest.mark.parametrize("part", range(8))
def test_many_loops_and_branches(make, part):
    for seed in range(1000 + 200 * part, 1200 + 200 * part):
        check_control_flow(make, seed)

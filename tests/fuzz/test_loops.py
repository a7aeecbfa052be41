"""Random loops plain and compiled: what leaves a loop gives what the loop gives."""
import copy
import warnings

import numpy as np
import pytest

import reactant
from reactant import pipelines
from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.ir.types import shape_and_dtype
from reactant.rewrite.selftest import build_module
from tests.fuzz.loop_modules import Loop
from tests.fuzz.loops import Loops, arguments


def check(seed):
    function, source = Loops(seed).function()
    mine, theirs = arguments(seed), copy.deepcopy(arguments(seed))
    with np.errstate(all="ignore"):
        plain = function(*mine)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        compiled = reactant.jit(function, native="never", unroll_limit=0)(*theirs)
    for a, b in zip((*plain, *mine), (*compiled, *theirs), strict=True):
        np.testing.assert_allclose(np.asarray(b, float), np.asarray(a, float), rtol=1e-8, atol=1e-9, err_msg=source)


@pytest.mark.parametrize("seed", range(8))
def test_loops(seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 400))
def test_many_loops(seed):
    check(seed)


def check_module(seed):
    """The module after simplification gives what the reference interpreter gave for it before."""
    with building():
        module = build_module(Loop(seed), np.dtype(np.float32))
        assert module is not None
        text, cases = modules.to_text(module), []
        for draw in range(3):
            rng, given = np.random.default_rng(draw), []
            for value in modules.function(module).regions[0].blocks[0].arguments:
                shape, dtype = shape_and_dtype(value.type)
                numbers = rng.integers(-3, 16, shape) if dtype.kind == "i" else rng.integers(-8, 9, shape) / 8
                given.append(numbers.astype(dtype))
            cases.append((given, evaluate(module, given)))
        pipelines.run(module, "simplify")
        modules.verify(module)
        for given, wanted in cases:
            for old, new in zip(wanted, evaluate(module, given), strict=True):
                np.testing.assert_allclose(new, old, rtol=1e-4, atol=1e-4, err_msg=text)


@pytest.mark.parametrize("seed", range(40))
def test_modules(seed):
    check_module(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40, 2000))
def test_many_modules(seed):
    check_module(seed)

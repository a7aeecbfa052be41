"""Random loops plain and compiled: what leaves a loop gives what the loop gives."""
import copy
import warnings

import numpy as np
import pytest

import reactant
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


@pytest.mark.parametrize("seed", range(12))
def test_loops(seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 400))
def test_many_loops(seed):
    check(seed)

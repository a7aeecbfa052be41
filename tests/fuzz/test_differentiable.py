"""Derivatives of random programs: reverse mode in every way of keeping loops, forward mode, and differences."""
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reactant
from tests.amounts import few
from tests.fuzz.differentiable import SIZE, WAYS, function_of, programs

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.large_base_example]
CHEAP = {"optimize": "differentiated", "native": "never"}
STEP = 1e-6


def one_sided(function, x, n, direction):
    """Differences to both sides along a direction."""
    with np.errstate(all="ignore"):
        here, up, down = function(x.copy(), n), function(x + STEP * direction, n), function(x - STEP * direction, n)
    return (up - here) / STEP, (here - down) / STEP


def agree(source, seed, n, way):
    """The derivatives agree with each other, and with differences where the program is smooth."""
    function = function_of(source)
    rng = np.random.default_rng(seed)
    x, direction = rng.uniform(0.1, 1.2, SIZE), rng.standard_normal(SIZE)
    text = f"{source}\nx={x!r} n={n} way={way}"
    count = np.int64(n)
    compiled = reactant.jit(function, traced_argnames="n", **CHEAP)
    try:
        gradient = reactant.jit(reactant.grad(compiled, **way), **CHEAP, traced_argnames="n")(x, count)
        value, moved = reactant.jvp(compiled, (x, count), (direction, None))
    except (reactant.UnsupportedError, reactant.ControlFlowError):
        return
    right, left = one_sided(function, x, n, direction)
    with np.errstate(all="ignore"):
        expected = function(x.copy(), n)
    if isinstance(value, tuple):                        # it may write into its argument, through a view
        value, moved = value[0], moved[0]
    if not np.isfinite(expected) or abs(right) > 1e4:
        return
    np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-9, err_msg=text)
    np.testing.assert_allclose(gradient @ direction, moved, rtol=1e-7, atol=1e-8, err_msg=text)
    scale = max(1.0, abs(right), abs(left))
    if abs(right - left) < 1e-4 * scale:                # no branch point between
        assert abs((right + left) / 2 - moved) < 1e-4 * scale, f"{moved} against {right}, {left}\n{text}"


INPUTS = (st.integers(0, 5), st.sampled_from((0, 1, 3, 40)), st.sampled_from(WAYS))


@given(programs(), *INPUTS)
@settings(max_examples=few(2, 12), deadline=None, suppress_health_check=QUIET, derandomize=True)
def test_derivatives_of_programs(source, seed, n, way):
    agree(source, seed, n, way)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(40))                  # other programs in each, and in each run
@given(programs(), *INPUTS)
@settings(max_examples=25, deadline=None, suppress_health_check=QUIET)
def test_derivatives_of_many_programs(part, source, seed, n, way):
    agree(source, seed, n, way)

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.linalg
import scipy.special

import reactant
from tests.digits.classics import CLASSICS

QUICK = ("roots_apart",)


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow)
                                  for name in CLASSICS])
def test_classic_failures_are_found_and_their_lines_blamed(name):
    classic = CLASSICS[name]
    found = reactant.accuracy(classic.function, *classic.arguments)
    assert max(each.lost for each in found.outputs) >= classic.lost, str(found)
    assert int(found.blamed[0].place.rpartition(":")[2]) in classic.lines, str(found)


def test_where_nothing_is_lost_nobody_is_to_blame():
    found = reactant.accuracy(lambda x: np.sqrt(x * x + 1), np.float32([1, 2, 3]))
    assert found.blamed == [] and found.outputs[0].worst >= 22 and found.outputs[0].shape == (3,)


def test_what_twice_the_precision_cannot_tell_either():
    output, = reactant.accuracy(lambda x: (x + np.float32(1e-20)) - x, np.float32(1e8)).outputs
    assert output.worst == 0 and output.value == 0 and output.believed == 0


def test_branches_that_go_another_way():
    def beyond(x, y):
        return np.where((x + y) - x > 0, y, -y)
    found = reactant.accuracy(beyond, np.float32([1, 1e8]), np.float32([1, 1]))
    branch, = found.branches
    assert (branch.operation, branch.different, branch.count) == ("compare", 1, 2)
    assert branch.source.startswith("return np.where")
    assert "1 of 2" in str(found)


def test_arguments_that_are_written():
    def halve(x):
        x -= 1
        return x.sum()
    x = np.float32([1e-9, 2])
    found = reactant.accuracy(halve, x)
    assert x[0] == np.float32(1e-9)
    assert sorted(each.name for each in found.outputs) == ["argument 0", "result"]


def test_jax():
    def f(x):
        return (jnp.sqrt(x + 1) - jnp.sqrt(x)).sum()
    found = reactant.accuracy(f, np.array([1e3, 1e6]))     # of which JAX makes float32
    assert found.outputs[0].lost > 5 and found.blamed[0].source.startswith("return (jnp.sqrt")


def test_derivatives():
    found = reactant.accuracy(reactant.grad(lambda x: np.log(1 - x)), np.float32(1e-3))
    assert found.outputs[0].digits == 24 and found.outputs[0].worst > 20


def test_without_floats():
    with pytest.raises(reactant.UnsupportedError, match="computes with no floats: it takes int64"):
        reactant.accuracy(lambda k: k + np.int64(1), np.arange(3))


def test_what_more_precision_has_no_form_of():
    with pytest.raises(reactant.UnsupportedError, match=r"accuracy: '.*' has no form of more precision") as caught:
        reactant.accuracy(lambda x: scipy.special.zeta(x, 2.0), np.full(4, 3.0))
    assert caught.value.code == "not-measured" and caught.value.span is not None


def test_checks_at_run_time_raise_as_ever():
    def checked(x):
        if x[0] < 0:
            raise ValueError("below zero")
        return np.sqrt(x)
    with pytest.raises(ValueError, match="below zero"):
        reactant.accuracy(checked, np.float32([-1]))


def test_no_time_to_try_lines_one_by_one():
    found = reactant.accuracy(CLASSICS["roots_apart"].function, np.float32(1e6), seconds=0)
    assert found.lines[0].alone is None and found.blamed and "?" in str(found)


@pytest.mark.slow
def test_a_factorisation_that_exchanges_other_rows_in_more_precision():
    rows = [[7, 7, 4, 7, 3], [5, 6, 7, 6, 3], [2, 7, 1, 6, 3], [6, 1, 1, 2, 7], [2, 6, 3, 3, 5]]
    a = np.float32(rows) / np.float32(7)
    pivots = [scipy.linalg.lu_factor(each)[1] for each in (a, a.astype(float))]
    assert np.any(pivots[0] != pivots[1])
    b = np.float32([1, 2, 3, 4, 5])
    output, = reactant.accuracy(lambda a, b: jnp.linalg.solve(a, b), a, b).outputs
    exact = np.linalg.solve(a.astype(float), b.astype(float))
    assert output.exact == pytest.approx(exact[output.where], rel=1e-13) and 16 < output.worst < 24


@pytest.mark.slow
def test_linear_algebra_in_float64():
    n = 8
    a = 1.0 / (np.arange(n)[:, None] + np.arange(n) + 1)
    output, = reactant.accuracy(lambda a, b: np.linalg.solve(a, b), a, np.ones(n)).outputs
    mpmath.mp.prec = 200
    exact = mpmath.lu_solve(mpmath.matrix(a.tolist()), mpmath.ones(n, 1))
    assert output.lost > 20 and abs(output.exact / float(exact[output.where[0]]) - 1) < 1e-15

"""Arguments of host functions."""
import numpy as np
import pytest

import reactant
from reactant.cuda.arguments import HostArgumentError, NoSuchFunction


def test_functions_by_name(heat):
    assert heat.title("heat") == "heat" and heat["title"](b"x") == "?"
    assert heat["space::half"](3.0) == heat.half(np.float32(3.0)) == np.float32(1.5)
    assert heat["_Z5twicei"](1) is None
    assert "space::half" in list(heat) and "heat" in dir(heat)
    assert repr(heat.half) == "<host function float space::half(float x) of heat.cu>"


@pytest.mark.parametrize(("name", "words"), [
    ("nothing", "no host function 'nothing' that other files could call; it has "),
    ("hidden", "no host function 'hidden'"),
    ("twice", "'twice' names several functions of heat.cu: void twice(int argument0) is _Z5twicei")])
def test_no_such_function(heat, name, words):
    with pytest.raises(NoSuchFunction) as caught:
        getattr(heat, name)
    assert words in str(caught.value)


@pytest.mark.parametrize(("arguments", "words"), [
    ((1, 2), "takes 6 arguments, 2 given"),
    ((np.zeros(4, np.float32), 4, 1, 0.1, 1.0, 1.0), "is double*, the array has dtype float32"),
    ((np.zeros(8)[::2], 4, 1, 0.1, 1.0, 1.0), "not contiguous"),
    ((np.zeros(4), 2.5, 1, 0.1, 1.0, 1.0), "is an integer (int32), 2.5 given"),
    ((np.zeros(4), 2**40, 1, 0.1, 1.0, 1.0), "out of its range"),
    ((np.zeros(4), 4, 1, "much", 1.0, 1.0), "is double, str given"),
    ((np.zeros(4), np.zeros(2), 1, 0.1, 1.0, 1.0), "is int, an array is given"),
    (("rod", 4, 1, 0.1, 1.0, 1.0), "is double*, str given")])
def test_arguments_that_do_not_fit(heat, arguments, words):
    with pytest.raises(HostArgumentError) as caught:
        heat.heat(*arguments)
    assert words in str(caught.value)


def test_results_that_python_has_nothing_for(heat):
    with pytest.raises(HostArgumentError, match="returns void\\*"):
        heat.raw()


def test_arrays_that_share_memory_share_it_there(heat):
    """As pointers into one array would."""
    x = np.arange(8.0)
    heat.shift(x[:4], x[2:6], 4)
    np.testing.assert_array_equal(x, [0, 1, 0, 1, 0, 1, 6, 7])
    there = reactant.array(np.arange(3.0))
    heat.shift(np.ones(3), there, 3)
    np.testing.assert_array_equal(np.asarray(there), np.ones(3))
    fixed = np.ones(2)
    fixed.flags.writeable = False
    with pytest.raises(HostArgumentError, match="read-only"):
        heat.shift(np.zeros(2), fixed, 2)
    assert heat.shift(fixed, None, 0) is None

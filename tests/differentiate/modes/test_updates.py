"""Updates that add to what is there: their derivatives, and that the adjoint is not cleared and filled again."""
import numpy as np
import pytest

from reactant.differentiate.modes.reverse import vjp
from reactant.ir import modules, ops
from reactant.ir.context import building
from tests.differentiate.derivative_checks import check, module_of
from tests.differentiate.test_control_flow import counted

X, Y = np.linspace(0.3, 1.1, 6), np.linspace(0.5, 0.9, 4)


def at(n):
    return [ops.constant(n, np.int64)]


def fixed(x, y):
    return ops.dynamic_update_slice(x, ops.add(ops.slice(x, [1], [5]), y), at(1))


def on_the_right(x, y):
    return ops.dynamic_update_slice(x, ops.add(y, ops.dynamic_slice(x, at(1), (4,))), at(1))


def difference(x, y):
    return ops.dynamic_update_slice(x, ops.subtract(ops.subtract(ops.slice(x, [2], [6]), ops.sine(y)), y), at(2))


def beyond_the_end(x, y):
    """The window is moved so that it lies inside."""
    return ops.dynamic_update_slice(x, ops.add(ops.slice(x, [2], [6]), y), at(5))


def of_itself(x, y):
    """What is added is made of other elements of the same array."""
    return ops.dynamic_update_slice(x, ops.add(ops.slice(x, [1], [5]), ops.multiply(ops.slice(x, [0], [4]), y)), at(1))


def element(x, y):
    """x[i] += sin(x[i - 1]) y[i] in a loop."""
    def iteration(i, v):
        place = ops.add(i, 1)
        here, before = (ops.reshape(ops.dynamic_slice(v, [k], (1,)), ()) for k in (place, i))
        weight = ops.reshape(ops.dynamic_slice(y, [i], (1,)), ())
        moved = ops.add(here, ops.multiply(ops.sine(before), weight))
        return [ops.dynamic_update_slice(v, ops.reshape(moved, (1,)), [place])]
    return counted(4, [x], iteration)


def masked(x, y):
    """Added where a mask says so, subtracted where it does not."""
    window = ops.slice(x, [1], [5])
    once = ops.select(ops.compare(y, 0.6, "LT"), ops.add(window, ops.multiply(y, y)), window)
    rest = ops.slice(once, [0], [4])
    return ops.dynamic_update_slice(x, ops.select(ops.compare(y, 0.8, "LT"), window, ops.subtract(window, ops.sine(
        ops.multiply(y, rest)))), at(1))


def masked_and_not(x, y):
    """A sum with the window under a mask, another one outside of it."""
    window = ops.slice(x, [1], [5])
    part = ops.select(ops.compare(y, 0.6, "LT"), ops.add(window, y), window)
    return ops.dynamic_update_slice(x, ops.subtract(part, ops.sine(y)), at(1))


def neither(x, y):
    """Both branches are sums."""
    window = ops.slice(x, [1], [5])
    return ops.dynamic_update_slice(x, ops.select(ops.compare(y, 0.6, "LT"), ops.add(window, y), ops.subtract(
        window, y)), at(1))


def elsewhere(x, y):
    """Not the same window."""
    return ops.dynamic_update_slice(x, ops.add(ops.slice(x, [0], [4]), y), at(1))


def negated(x, y):
    return ops.dynamic_update_slice(x, ops.subtract(y, ops.slice(x, [1], [5])), at(1))


def twice(x, y):
    window = ops.slice(x, [1], [5])
    return ops.dynamic_update_slice(x, ops.add(window, ops.add(window, y)), at(1))


def sum_of_the_outside(x, y):
    """The branch and the loop read a sum that is made outside, not its terms."""
    total = ops.add(ops.slice(x, [1], [5]), ops.multiply(y, y))
    test = ops.compare(ops.reshape(ops.slice(y, [0], [1]), ()), 0.0, "GT")
    (chosen,) = ops.if_(test, lambda: [ops.dynamic_update_slice(x, ops.add(total, ops.sine(y)), at(1))], lambda: [x],
                        [x.type])
    (last,) = counted(3, [chosen], lambda i, v: [
        ops.multiply(v, ops.dynamic_update_slice(x, ops.add(total, y), at(1)))])
    return last


ADDING = (fixed, on_the_right, difference, beyond_the_end, of_itself, element, masked, masked_and_not)


@pytest.mark.parametrize("function", [*ADDING, neither, elsewhere, negated, twice, sum_of_the_outside],
                         ids=lambda f: f.__name__)
def test_derivatives(function):
    check(module_of(function, [X, Y]), [X, Y])


@pytest.mark.parametrize("function", ADDING, ids=lambda f: f.__name__)
def test_the_adjoint_is_not_cleared(function):
    with building():
        made = vjp(module_of(function, [X, Y]), [0, 1], [0])
        cleared = [op for op in modules.walk(made) if op.name == "stablehlo.dynamic_update_slice"
                   and (known := ops.constant_value(op.operands[1])) is not None and not known.any()]
        assert not cleared

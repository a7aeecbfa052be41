"""Cumulative ops along any dimension, against NumPy."""
import jax
import numpy as np
import pytest

import reactant
from reactant.ir import modules, ops
from reactant.loopnests.emission.scans import is_scan
from tests.loopnests.emission.test_numbers import module_of
from tests.loopnests.running import run

FUNCTIONS = {"add": np.cumsum, "multiply": np.cumprod, "maximum": np.maximum.accumulate,
             "minimum": np.minimum.accumulate}


def window(shape, axis, body, backwards):
    sizes = [n if d == axis else 1 for d, n in enumerate(shape)]
    far = shape[axis] - 1
    padding = [((0, far) if backwards else (far, 0)) if d == axis else (0, 0) for d in range(len(shape))]
    init = {"add": 0, "multiply": 1, "maximum": -100, "minimum": 100}[body]
    return lambda a: ops.reduce_window(a(*shape), init, body, sizes, padding=padding)


@pytest.mark.parametrize("body", FUNCTIONS)
@pytest.mark.parametrize("shape, axis", [((7,), 0), ((3, 5), 0), ((3, 5), 1), ((2, 3, 4), 1), ((1, 4), 1)])
def test_cumulative_ops(body, shape, axis):
    x = np.random.default_rng(0).normal(size=shape)
    for backwards in (False, True):
        found = run(module_of(window(shape, axis, body, backwards), "float64"), [x])[0]
        turned = np.flip(x, axis) if backwards else x
        wanted = np.stack([FUNCTIONS[body](line) for line in np.moveaxis(turned, axis, -1).reshape(-1, shape[axis])])
        wanted = np.moveaxis(wanted.reshape(np.moveaxis(x, axis, -1).shape), -1, axis)
        np.testing.assert_array_equal(found, np.flip(wanted, axis) if backwards else wanted)


@pytest.mark.parametrize("axis", [0, 1])
def test_windows_wider_than_the_array(axis):
    """What is left of a cumulative product where its last element is not needed, as in its gradient (400 x 500 along
    columns: 46 ms by windows, 1.0 one element from the one before)."""
    x = np.random.default_rng(0).normal(size=(5, 6))
    sizes, far = (9, 1) if axis == 0 else (1, 9), [(8, 0) if d == axis else (0, 0) for d in range(2)]
    module = module_of(lambda a: ops.reduce_window(a(5, 6), 1, "multiply", sizes, padding=far), "float64")
    op = next(o for o in modules.walk(modules.function(module, "main")) if o.name == "stablehlo.reduce_window")
    assert is_scan(op)
    np.testing.assert_array_equal(run(module, [x])[0], np.cumprod(x, axis))


@pytest.mark.parametrize("axis", [0, 1])
def test_bodies_of_several_ops(axis):
    x = np.random.default_rng(0).normal(size=(4, 6))

    def smooth_maximum(a, b):
        return ops.log(ops.add(ops.exponential(a), ops.exponential(b)))
    far = x.shape[axis] - 1
    sizes = [n if d == axis else 1 for d, n in enumerate(x.shape)]
    for backwards in (False, True):
        padding = [((0, far) if backwards else (far, 0)) if d == axis else (0, 0) for d in range(2)]
        found = run(module_of(lambda a, p=padding: ops.reduce_window(a(4, 6), -np.inf, smooth_maximum, sizes,
                                                                     padding=p), "float64"), [x])[0]
        turned = np.flip(x, axis) if backwards else x
        wanted = np.logaddexp.accumulate(turned, axis)
        np.testing.assert_allclose(found, np.flip(wanted, axis) if backwards else wanted, rtol=1e-12)


def test_other_windows_are_no_scans():
    from reactant.ir.context import building
    from reactant.rewrite.selftest import build_module
    with building():
        module = build_module(lambda a: ops.reduce_window(a(9), 0, "add", (3,)), np.dtype("float64"))
        op = next(o.operation for o in module.body.operations[0].regions[0].blocks[0] if "window" in o.operation.name)
        assert not is_scan(op)


@pytest.mark.slow
@pytest.mark.parametrize("native", ["auto", "always"])
def test_what_padding_is_made_of_counts(native):
    """It was added once, not as often as there are places in front."""
    x = np.random.default_rng(2).random((200, 30))
    for init, body in ((1.0, jax.lax.add), (2.0, jax.lax.mul), (0.5, jax.lax.max), (0.0, jax.lax.add)):
        def program(x, init=init, body=body):
            return jax.lax.reduce_window(x, x.dtype.type(init), body, (200, 1), (1, 1), ((199, 0), (0, 0)))
        with jax.enable_x64(True):
            np.testing.assert_allclose(reactant.jit(program, frontend="jax", native=native)(x), jax.jit(program)(x))


def test_cumulative_sum_of_many():
    x = np.random.default_rng(1).normal(size=100_000)
    compiled = reactant.jit(np.cumsum)
    assert "reactant.native" in compiled.lower(x).compile().as_text()
    np.testing.assert_array_equal(compiled(x), np.cumsum(x))

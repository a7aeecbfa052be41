"""Chains of updates and slices: equal values on random windows, and the ops that must be gone."""
import numpy as np
import pytest

from reactant import pipelines
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.rewrite.selftest import build_module
from reactant.simplify.layout.dynamic_slicing import places


def simplified(build, arguments, passes=("dynamic_slicing", "slicing", "cleanup")):
    """Op counts of the simplified program, after checking that its values are those of the program before."""
    with building():
        module = build_module(build, np.dtype(np.float32))
        assert module is not None
        before = evaluate(module, arguments)
        pipelines.run(module, (pipelines.Fixpoint(passes),))
        modules.verify(module)
        for old, new in zip(before, evaluate(module, arguments), strict=True):
            np.testing.assert_array_equal(old, new)
        return modules.counts(module)


def window(rng, shape):
    low = [int(rng.integers(0, n)) for n in shape]
    return low, [int(rng.integers(a + 1, n + 1)) for a, n in zip(low, shape, strict=True)]


@pytest.mark.parametrize("seed", range(30))
def test_random_chains(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 6, rng.integers(1, 4)))
    windows = [window(rng, shape) for _ in range(int(rng.integers(1, 6)))]
    read = window(rng, shape)

    def build(a):
        array = a(*shape)
        for low, high in windows:
            array = ops.dynamic_update_slice(array, a(*(h - k for k, h in zip(low, high, strict=True))), places(*low))
        return ops.slice(array, *read), array
    simplified(build, [rng.normal(size=s).astype(np.float32) for s in
                       [shape, *(tuple(h - k for k, h in zip(*w, strict=True)) for w in windows)]])


@pytest.mark.parametrize("seed", range(20))
def test_random_windows_of_windows(seed):
    """Run-time starts, also out of bounds, where everything is clamped."""
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(3, 8, 2))
    inner = tuple(int(rng.integers(2, n + 1)) for n in shape)
    outer = tuple(int(rng.integers(1, n + 1)) for n in inner)
    cut = window(rng, outer)

    def build(a):
        starts = [[a(dtype="int32") for _ in shape] for _ in range(2)]
        return ops.slice(ops.dynamic_slice(ops.dynamic_slice(a(*shape), starts[0], inner), starts[1], outer), *cut)
    for _ in range(4):
        starts = [np.int32(n) for n in rng.integers(-3, 9, 4)]
        counts = simplified(build, [*map(np.asarray, starts), rng.normal(size=shape).astype(np.float32)])
        assert counts["stablehlo.dynamic_slice"] <= 1


def test_same_places_written_again_and_again_are_written_once():
    def build(a):
        array = a(6, 4)
        for _ in range(3):
            array = ops.dynamic_update_slice(array, a(2, 4), places(0, 0))
            array = ops.dynamic_update_slice(array, a(3, 4), places(3, 0))
        return array
    rng = np.random.default_rng(0)
    counts = simplified(build, [rng.normal(size=s).astype(np.float32) for s in [(6, 4), *[(2, 4), (3, 4)] * 3]])
    assert counts["stablehlo.dynamic_update_slice"] == 2


def test_updates_that_cover_everything_forget_the_array():
    def build(a):
        array = ops.sine(a(6))
        return ops.dynamic_update_slice(ops.dynamic_update_slice(array, a(4), places(2)), a(2), places(0))
    rng = np.random.default_rng(0)
    counts = simplified(build, [rng.normal(size=n).astype(np.float32) for n in (6, 4, 2)])
    assert counts == {"stablehlo.concatenate": 1}


def test_window_of_computed_array_computes_the_window():
    def build(a):
        return ops.dynamic_slice(ops.exponential(ops.broadcast_in_dim(a(100), (50, 100), (1,))),
                                 [a(dtype="int32"), a(dtype="int32")], (1, 100))
    counts = simplified(build, [np.linspace(0, 1, 100, dtype=np.float32), np.int32(3), np.int32(0)],
                        ("dynamic_slicing", "slicing", "shape", "cleanup"))
    assert counts["stablehlo.dynamic_slice"] == 0

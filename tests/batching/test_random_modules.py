"""Random StableHLO programs and loops, batched along random dimensions (also for no element), against one element after
the other, by the reference interpreter. And batched twice."""
import itertools
import warnings

import numpy as np
import pytest

from reactant.batching.engine import batched_module
from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.ir.types import dtype_of, shape_of
from reactant.rewrite.selftest import build_module, special_values
from tests.fuzz.loop_modules import Loop
from tests.simplify.test_random_families import FamilyProgram
from tests.simplify.test_random_programs import NumericProgram, Program

SEVERAL = (0, 1, 2, 3)


def module_and_inputs(kind, seed, count):
    """A random module, and `count` lists of its arguments."""
    rng = np.random.default_rng(seed)
    if kind == "loop":
        module = build_module(Loop(seed), np.dtype(np.float32))
    else:
        family = {"float": NumericProgram, "families": FamilyProgram}.get(kind, Program)
        dtype = "float64" if kind in ("float", "families") else kind
        module = build_module(family(rng, dtype, int(rng.integers(3, 20))), np.dtype(dtype))
    if module is None:
        return None, []
    parameters = list(modules.function(module).regions[0].blocks[0].arguments)

    def drawn(parameter, number):
        shape, dtype = shape_of(parameter), dtype_of(parameter)
        if kind in ("loop", "float", "families"):
            if dtype.kind in "iu":
                return rng.integers(-3 if dtype.kind == "i" else 0, 16, shape).astype(dtype)
            return (rng.integers(-8, 9, shape) / 8).astype(dtype)
        return special_values(rng, shape, dtype, number)

    return module, [[drawn(p, number) for p in parameters] for number in range(count)]


def axes_for(rng, arguments):
    """For each argument None or a dimension, from the front or the back; at least one is mapped."""
    axes = [None if rng.random() < 0.4 else int(rng.integers(-a.ndim - 1, a.ndim + 1)) for a in arguments]
    if all(axis is None for axis in axes):
        axes[int(rng.integers(len(axes)))] = 0
    return axes


def stacked(each, axes):
    """One list of arguments from those of every element; the first element's where an argument is not mapped."""
    return [parts[0] if axis is None else np.stack(parts, axis)
            for parts, axis in zip(zip(*each, strict=True), axes, strict=True)]


def close(mine, theirs, kind):
    if kind in ("float", "families") and theirs.dtype.kind in "fc":     # sums take another order
        scale = np.max(np.abs(theirs[np.isfinite(theirs)]), initial=1.0)
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9 * scale)
    else:
        np.testing.assert_array_equal(mine, theirs)


def check(kind, seed):
    rng = np.random.default_rng([seed, 1])
    size = int(rng.choice(SEVERAL, p=(0.05, 0.15, 0.4, 0.4)))
    with building(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        module, each = module_and_inputs(kind, seed, max(size, 1))
        if module is None or not each[0]:
            return False
        text = modules.to_text(module)
        axes = axes_for(rng, each[0])
        inputs = [[own if axis is not None else shared for own, shared, axis in zip(row, each[0], axes, strict=True)]
                  for row in each]
        batched = batched_module(module, axes, size)
        given = stacked(inputs, axes)
        if not size:
            given = [a if axis is None else np.take(a, [], axis) for a, axis in zip(given, axes, strict=True)]
        found = evaluate(batched.module, given)
        wanted = [evaluate(module, row) for row in inputs]
        for number, (mine, flag) in enumerate(zip(found, batched.batched, strict=True)):
            theirs = np.stack([row[number] for row in wanted])[:size] if flag else wanted[0][number]
            try:
                close(np.asarray(mine), theirs, kind)
            except AssertionError as error:
                raise AssertionError(f"{kind} {seed}, axes {axes}, result {number}\n{error}\n{text}\n"
                                     f"{batched.module}") from None
        if seed % 4 == 0 and size:
            check_twice(kind, rng, batched.module, given, text)
    return True


def check_twice(kind, rng, module, arguments, text):
    """The batched module batched again."""
    each = [arguments, [a[..., ::-1] if a.ndim and a.dtype.kind == "f" else a for a in arguments]]
    axes = axes_for(rng, arguments)
    inputs = [[own if axis is not None else shared for own, shared, axis in zip(row, each[0], axes, strict=True)]
              for row in each]
    batched = batched_module(module, axes, 2, everything=True)
    found = evaluate(batched.module, stacked(inputs, axes))
    for mine, *theirs in zip(found, *(evaluate(module, row) for row in inputs), strict=True):
        try:
            close(np.asarray(mine), np.stack(theirs), kind)
        except AssertionError as error:
            raise AssertionError(f"{kind}, twice, axes {axes}\n{error}\n{text}\n{module}\n{batched.module}") from None


KINDS = ("loop", "float", "families", "float32", "int32", "uint8", "float64")


@pytest.mark.parametrize("kind", KINDS)
def test_random_modules(kind):
    assert sum(check(kind, seed) for seed in range(4 if kind == "families" else 12)) > 2


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "first"), [*itertools.product(KINDS, range(12, 1012, 250))])
def test_many_random_modules(kind, first):
    assert sum(check(kind, seed) for seed in range(first, first + 250)) > 100

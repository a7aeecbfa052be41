"""The target stage: equal values at any window, rank and dtype, the forms that must be gone, and no copies in loops."""
import dataclasses
import re

import numpy as np
import pytest

import reactant
from reactant import pipelines
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.ir.types import shape_and_dtype
from reactant.rewrite.selftest import build_module
from reactant.simplify.facts import target_costs

SPECIAL = [0.0, -0.0, 1.0, -2.5, np.nan, np.inf, -np.inf, 3e38, 1e-40]


def values(rng, shape, dtype):
    if dtype.kind == "f":
        return rng.choice(np.array(SPECIAL + list(rng.normal(size=20)), np.float64), shape).astype(dtype)
    return rng.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)


def same(build, dtype="float32", passes="target", seed=0):
    """Op counts after a pipeline, after checking the values bit for bit."""
    with building():
        module = build_module(build, np.dtype(dtype))
        assert module is not None
        rng = np.random.default_rng(seed)
        arguments = [values(rng, *shape_and_dtype(v.type)) for v in
                     modules.function(module).regions[0].blocks[0].arguments]
        before = evaluate(module, arguments)
        pipelines.run(module, passes)
        modules.verify(module)
        for old, new in zip(before, evaluate(module, arguments), strict=True):
            np.testing.assert_array_equal(old, new)
            if old.dtype.kind == "f":
                number = ~np.isnan(old)
                np.testing.assert_array_equal(np.signbit(old[number]), np.signbit(new[number]))
        return modules.counts(module)


@pytest.mark.parametrize("dtype", ("float32", "float64", "int32"))
@pytest.mark.parametrize("seed", range(8))
def test_updates_at_random_windows(seed, dtype):
    rng = np.random.default_rng(seed)
    shape = [(1500,), (40, 50), (3, 20, 30), (2, 3, 14, 20)][seed % 4]
    low = [int(rng.integers(0, n // 2 + 1)) for n in shape]
    high = [int(rng.integers(a + 1, n + 1)) for a, n in zip(low, shape, strict=True)]

    def build(a):
        x = ops.multiply(a(*shape), a(*shape))
        part = ops.slice(x, low, high)
        for change in (ops.add, ops.subtract, ops.maximum, ops.multiply):
            x = ops.dynamic_update_slice(x, change(part, ops.sign(part)), [ops.constant(k, np.int64) for k in low])
        return x
    same(build, dtype)


@pytest.mark.parametrize("dtype", ("float32", "int32", "bool"))
@pytest.mark.parametrize("case", [((2, 700), (0,)), ((700, 5), (1,)), ((3, 200, 2), (0, 2)), ((4, 7, 300), (0,))])
def test_short_reductions(case, dtype):
    shape, dimensions = case
    for body in ("or", "and") if dtype == "bool" else ("add", "multiply", "maximum", "minimum"):
        init = False if dtype == "bool" else 1
        found = same(lambda a, body=body, init=init: ops.reduce(a(*shape), init, dimensions, body), dtype)
        assert "stablehlo.reduce" not in found


def test_nothing_changes_on_a_target_nobody_measured(monkeypatch):
    monkeypatch.setattr(target_costs, "BY_PLATFORM", {})
    target_costs.forget()
    try:
        assert same(lambda a: ops.reduce(a(2, 700), 0, (0,), "add"))["stablehlo.reduce"] == 1
    finally:
        target_costs.forget()


# ---- whole programs ------------------------------------------------------------------------------------------------

def denoise(image, iterations, weight=0.1):
    """The body of a total-variation denoiser as NumPy programs write it: stacked field, in-place slices."""
    field, slopes = np.zeros((2, *image.shape)), np.zeros((2, *image.shape))
    out = image
    for _ in range(iterations):
        divergence = -field.sum(0)
        divergence[1:] += field[0, :-1]
        divergence[:, 1:] += field[1, :, :-1]
        out = image + divergence
        slopes[0, :-1] = out[1:] - out[:-1]
        slopes[1, :, :-1] = out[:, 1:] - out[:, :-1]
        norm = np.sqrt((slopes**2).sum(axis=0))[np.newaxis, ...]
        norm *= 0.25 / weight
        norm += 1.0
        field -= 0.25 * slopes
        field /= norm
    return out


def wave(start, iterations):
    before, now = start.copy(), start.copy()
    for _ in range(iterations):
        new = 2 * now - before
        new[1:-1, 1:-1] += 0.2 * (now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:] - 4 * now[1:-1, 1:-1])
        before, now = now, new
    return now


def in_loops(module):
    found = {}
    for loop in (op for op in modules.walk(module) if op.name == "stablehlo.while"):
        for op in modules.walk(loop):
            found[op.name] = found.get(op.name, 0) + 1
    return found


def copied_arrays(text):
    """Big copies in the loop bodies of optimised HLO."""
    bodies = set(re.findall(r"body=%([\w.-]+)", text))
    found = []
    for name in bodies:
        body = text[text.index(f"\n%{name} "):]
        found += re.findall(r"\w+\[(?:\d+,)+\d+\]\S* copy\(", body[:body.index("\n}")])
    return found


@pytest.mark.parametrize("shape", [(40, 50), (33, 64)])
def test_denoiser(shape):
    image = np.random.default_rng(0).normal(size=shape)
    compiled = reactant.jit(denoise)
    np.testing.assert_allclose(compiled(image, 20), denoise(image, 20), rtol=1e-12, atol=1e-13)
    lowered = compiled.lower(image, 20)
    with building():
        found = in_loops(lowered.module)
    assert "stablehlo.while" in lowered.operations()
    assert "stablehlo.reduce" not in found and "stablehlo.dynamic_update_slice" not in found
    assert not copied_arrays(lowered.compile().as_text())


@pytest.mark.parametrize("iterations", (20, 21))
def test_wave_hands_its_arrays_on_without_copies(iterations):
    start = np.random.default_rng(0).normal(size=(40, 50))
    compiled = reactant.jit(wave, native="never")
    plain = reactant.jit(wave, native="never", without=("target_loops",))
    np.testing.assert_allclose(compiled(start, iterations), wave(start, iterations), rtol=1e-12, atol=1e-13)
    assert not copied_arrays(compiled.lower(start, iterations).compile().as_text())
    assert copied_arrays(plain.lower(start, iterations).compile().as_text())


@pytest.mark.parametrize("terms, computed, kept", [
    (0, False, True), (3, False, False), (3, True, True), (2, False, True)])
def test_recompute_or_keep(monkeypatch, terms, computed, kept):
    """A short sum whose results are spread: slices, added anew for each element, or a reduction that is kept."""
    def normalised(x):
        y = np.exp(x) if computed else x
        return x / y.sum(axis=1, keepdims=True)
    monkeypatch.setitem(target_costs.BY_PLATFORM, "cpu", dataclasses.replace(target_costs.CPU, recomputed_terms=terms))
    target_costs.forget()
    try:
        lowered = reactant.jit(normalised, target="cpu").lower(np.ones((600, 3)))
    finally:
        monkeypatch.undo()
        target_costs.forget()
    assert ("stablehlo.reduce" in lowered.operations()) == kept


@pytest.mark.parametrize("whole", [False, True])
def test_slices_of_what_several_reductions_read(whole):
    """The sum is made of slices, unless it is read as a whole, too."""
    def build(a):
        s = ops.add(ops.broadcast_in_dim(a(300, 4), (300, 4, 8), (0, 1)),
                    ops.broadcast_in_dim(a(4, 8), (300, 4, 8), (1, 2)))
        most = ops.reduce(s, -np.inf, (1,), "maximum")
        least = ops.reduce(ops.abs(s), np.inf, (1,), "minimum")
        return [most, least, ops.reverse(s, (0,))] if whole else [most, least]
    counts = same(build, passes="target")
    assert "stablehlo.reduce" not in counts
    assert (counts["stablehlo.add"] == 1) is whole

"""What would be computed at several places of a large program is computed once, by a function that XLA keeps apart."""
import dataclasses

import numpy as np
import pytest

import reactant
from reactant.ir import interpret, modules
from reactant.ir.context import building
from reactant.legalize import computed_apart, legalization

X = np.random.default_rng(0).normal(size=(6, 80))


def stencils(x, steps=8):
    """A stencil of a stencil of a stencil; each reads the one before at three places."""
    for _ in range(steps):
        y = 0.125 * x * x + 0.25 * x - 0.5 * np.tanh(x)
        x = np.concatenate([y[:, 1:], y[:, :1]], axis=1) * y + y[:, ::-1]
    return x, (x * 2.0).sum()


def chain(x):
    """As many operations, all at one place."""
    for _ in range(32):
        x = 0.125 * x * x + 0.25 * x - 0.5 * np.tanh(x)
    return x[:, 1:] + x[:, :-1]


def looped(x, count):
    for _ in range(count):
        x, _ = stencils(x)
    return x


def traced(function, *arguments):
    return reactant.jit(function, optimize=False, native="never").lower(*arguments).traced.module


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    monkeypatch.setattr(computed_apart, "LEAST", 30)
    monkeypatch.setattr(computed_apart, "RARE", 1000)


def functions_of(module):
    return [function for name, function in modules.functions(module).items() if name != "main"]


def test_what_several_places_read_is_a_function_of_its_own():
    with building():
        module = traced(stencils, X)
        made = computed_apart.kept(module)
        modules.verify(made)
        found = functions_of(made)
        assert 8 <= len(found) <= 20 and max(map(modules.size, found)) < 24
        assert modules.size(made) < 1.6 * modules.size(module)
        for mine, other in zip(interpret.evaluate(made, [X]), interpret.evaluate(module, [X]), strict=True):
            np.testing.assert_array_equal(mine, other)


def test_what_one_place_reads_stays_in_it():
    with building():
        assert len(functions_of(computed_apart.kept(traced(chain, X)))) == 2


def test_functions_have_an_end(monkeypatch):
    monkeypatch.setattr(computed_apart, "LARGEST", 20)
    with building():
        found = functions_of(computed_apart.kept(traced(chain, X)))
        assert len(found) > 5 and max(map(modules.size, found)) < 30


def test_loops_keep_their_counters():
    with building():
        module = traced(looped, X, np.int64(3))
        made = computed_apart.kept(module)
        loop, = [op for op in modules.walk(made) if op.name == "stablehlo.while"]
        inside = [op.name for op in modules.walk(loop)]
        assert inside.count("func.call") >= 8 and "stablehlo.compare" in inside
        assert all(len(op.operands[0].type.shape) == 2 for op in modules.walk(loop) if op.name == "func.call")
        np.testing.assert_array_equal(interpret.evaluate(made, [X, np.int64(3)])[0],
                                      interpret.evaluate(module, [X, np.int64(3)])[0])


@pytest.mark.parametrize("change", [{"LEAST": 10_000}, {"RARE": 0}])
def test_other_programs_stay_as_they_are(change, monkeypatch):
    for name, value in change.items():
        monkeypatch.setattr(computed_apart, name, value)
    with building():
        module = traced(stencils, X)
        assert computed_apart.kept(module) is module


def test_programs_run_so(monkeypatch):
    asked = []

    def kept(module):
        asked.append(computed_apart.kept(module))
        return asked[-1]
    row = dataclasses.replace(legalization.BY_NAME["computed_apart"], apply=kept, shortest=0)
    for name in ("CPU_STEPS", "CPU_STEPS_WITH_DENORMALS"):
        monkeypatch.setattr(legalization, name, (row,))
    got, total = reactant.jit(stencils, native="never", cache=False)(X)
    expected, summed = stencils(X)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    assert total == pytest.approx(summed) and "apart_0" in str(asked[0])

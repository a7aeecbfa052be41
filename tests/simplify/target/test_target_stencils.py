"""Stencils in the forms of a target with matrix units: the same values on a CPU, and the forms that must be there."""
import io

import jax
import numpy as np
import pytest

import reactant
from reactant import CompileOptions, pipelines
from reactant.__main__ import main
from reactant.ir import modules
from reactant.ir.context import building
from reactant.simplify.facts import target_costs

RNG = np.random.default_rng(3)
FIELD = RNG.normal(size=(80, 70))
LINE = RNG.normal(size=6000)
IMAGE = RNG.normal(size=(3, 2500))


def laplace(u):
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]


def scaled_laplace(u):
    return 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) - 0.1 * u[1:-1, 1:-1]


def twice(u):
    return laplace(laplace(u))


def second_difference_four_times(x):
    for _ in range(4):
        x = x[:-2] - 2 * x[1:-1] + x[2:]
    return x


def box(u):
    return sum(u[i:i + 78, j:j + 68] for i in range(3) for j in range(3)) / 9


def colours(p):
    return np.stack([0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2], p[0] - 0.5 * p[1] - 0.5 * p[2],
                     0.5 * p[0] - 0.4 * p[1] - 0.1 * p[2]])


def not_linear(u):
    return u[:-2, 1:-1] * u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]


PROGRAMS = [(laplace, FIELD, {"convolution": 1, "add": 0, "subtract": 0}),
            (scaled_laplace, FIELD, {"convolution": 1, "add": 0, "subtract": 0}),
            (twice, FIELD, {"convolution": 1, "subtract": 0}),
            (second_difference_four_times, LINE, {"convolution": 1, "subtract": 0}),
            (box, FIELD, {"reduce_window": 1, "convolution": 0, "add": 1}),     # one inside the window's region
            (colours, IMAGE, {"dot_general": 1, "add": 0}),
            (not_linear, FIELD, {"convolution": 0})]


@pytest.mark.parametrize("function, argument, counts", PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_forms_for_a_tpu(function, argument, counts):
    compiled = reactant.jit(function, target="tpu", allow=("rounding", "association"), finite=True)
    found = compiled.lower(argument).operations()
    assert {name: found.get(f"stablehlo.{name}", 0) for name in counts} == counts
    np.testing.assert_allclose(compiled(argument), function(argument), rtol=1e-10, atol=1e-10)


def test_sums_keep_their_order_unless_allowed_and_on_other_targets():
    for options in ({"target": "tpu"}, {"target": "tpu", "finite": True}, {"target": "gpu", "finite": True},
                    {"target": "cpu", "allow": ("rounding", "association"), "finite": True}):
        assert "stablehlo.convolution" not in reactant.jit(laplace, **options).lower(FIELD).operations()


def test_the_command_line_shows_a_target(monkeypatch, capsys):
    program = """func.func @main(%x: tensor<2x900x900xf32>) -> tensor<900x900xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
        : (tensor<2x900x900xf32>, tensor<f32>) -> tensor<900x900xf32>
      return %0 : tensor<900x900xf32> }"""
    forms = {}
    for target in ("cpu", "gpu", "tpu"):
        monkeypatch.setattr("sys.stdin", io.StringIO(program))
        assert main(["opt", "-", "--target", target]) == 0
        forms[target] = "stablehlo.reduce" in capsys.readouterr().out
    assert forms == {"cpu": False, "gpu": False, "tpu": False}
    with pytest.raises(SystemExit):
        main(["opt", "-", "--target", "abacus"])


def test_each_target_has_all_numbers():
    assert set(target_costs.BY_PLATFORM) == {"cpu", "gpu", "tpu"}
    with target_costs.target("tpu"):
        assert target_costs.costs().stencil_as_convolution
    assert target_costs.costs() is not target_costs.TPU


def test_loops_are_unrolled_as_far_as_the_target_wants():
    program = """func.func @main(%x: tensor<40xf32>) -> tensor<40xf32> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %last = stablehlo.constant dense<6> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<40xf32>
      cond {
        %p = stablehlo.compare LT, %i, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %next = stablehlo.add %i, %one : tensor<i32>
        %b = stablehlo.sine %a : tensor<40xf32>
        stablehlo.return %next, %b : tensor<i32>, tensor<40xf32>
      }
      return %r#1 : tensor<40xf32> }"""
    sines = {}
    for target in ("cpu", "gpu", "tpu"):
        with building():
            module = modules.parse(program)
            pipelines.run(module, "default", CompileOptions(target=target))
            sines[target] = modules.counts(module)["stablehlo.sine"]
    assert sines == {"cpu": 1, "gpu": 6, "tpu": 6}


def _five_points(u):
    return u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]


def _times(step, count):
    def chain(x):
        for _ in range(count):
            x = step(x)
        return x
    return chain


CHAINS = {
    "plane": (_times(_five_points, 2), (50, 60), True),
    "line": (_times(lambda x: x[:-2] - 2.0 * x[1:-1] + x[2:], 8), (3000,), True),
    "space": (_times(lambda x: x[1:, :, 1:] - 0.5 * x[:-1, :, :-1], 2), (30, 4, 31), True),
    "too many": (_times(_five_points, 4), (50, 60), False),
    "too small": (_times(_five_points, 2), (9, 9), False),
    "read twice": (lambda u: (lambda v: _five_points(v) + v[1:-1, 1:-1] ** 2)(_five_points(u)), (50, 60), False),
    "not linear": (lambda u: _five_points(_five_points(u) ** 2), (50, 60), False),
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_stencils_of_stencils_are_one_where_another_order_is_allowed(name, dtype):
    function, shape, fires = CHAINS[name]
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    with jax.enable_x64(True):
        expected = jax.jit(function)(x)
        for options in ({}, {"allow": ("association",)}, {"finite": True},
                        {"allow": ("association",), "finite": True}):
            compiled = reactant.jit(function, frontend="jax", target="cpu", **options)
            fired = {"sum_of_sums_of_slices", "difference_of_sums_of_slices"} & dict(
                compiled.lower(x).report.counts()).keys()
            assert bool(fired) == (fires and len(options) == 2)
            np.testing.assert_allclose(compiled(x), expected, atol=1e-2 if dtype == np.float32 else 1e-9)

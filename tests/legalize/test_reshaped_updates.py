"""Updates of reshaped arrays by values read off the array in its former shape: XLA alone gets these wrong."""
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant.ir import modules
from reactant.ir.context import building
from reactant.legalize import reshaped_updates
from reactant.runtime.executable import Executable

N = 24


def rows(x, y):
    y[1:] = (x[:22] + x[2:]).reshape(11, 2)


def some_columns(x, y):
    y[:11, 1:] = (x[:11] + x[2:13]).reshape(11, 1)


def column(x, y):
    y[2:, 0] = x[:10] - x[1:11]


PROGRAMS = {
    "rows": ((12, 2), rows),
    "part of a row": ((2, 12), lambda x, y: y.__setitem__((1, np.s_[2:9]), x[:7] * x[3:10])),
    "columns": ((12, 2), some_columns),
    "one column": ((12, 2), column),
    "three dimensions": ((3, 4, 2), lambda x, y: y.__setitem__(np.s_[:, 1:3], (x[:12] + x[7:19]).reshape(3, 2, 2))),
    "with ones": ((1, 24, 1), lambda x, y: y.__setitem__(np.s_[:, 3:], (x[1:22] + x[:21]).reshape(1, 21, 1))),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("computed", [False, True])
def test_updates(name, computed):
    shape, change = PROGRAMS[name]

    def program(x):
        if computed:
            x = x * 3
        y = x.reshape(shape).copy()
        change(x, y)
        return y
    x = (np.arange(N) ** 2).astype(np.int32 if computed else np.float64)
    np.testing.assert_array_equal(reactant.jit(program, frontend="numpy", native="never")(x), program(x))


MADE = {
    "gather": lambda a, i: a[i, 0],
    "gathers, computed with": lambda a, i: np.sin(a[i, 1]) * 2 + a[i[::-1], 0],
    "column, computed with": lambda a, i: a[:, 1] * 2,
    "gather, changed before": lambda a, i: (y := a[i, 0], y.__setitem__(3, 5.0))[0],
    "product of three dimensions": lambda a, i: np.einsum("ijk,k->ij", a.reshape(4, 3, 4), a[:4, 0]),
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_of_what_xla_computes_in_another_shape(made):
    def program(a, i):
        y = np.array(made(a, i))
        y[1:] = y[:-1].copy()
        return y
    a, i = np.arange(48.0).reshape(12, 4) ** 0.5, np.arange(20) * 7 % 12
    np.testing.assert_allclose(reactant.jit(program, frontend="numpy", native="never")(a, i), program(a, i))


def shifted(y):
    return jax.lax.dynamic_update_slice(y, y[..., 1:] + y[..., :-1] * 0.5, (0,) * (y.ndim - 1) + (1,))


SEEN_LATER = {
    "choice": lambda x, k: jnp.where(k > 1, shifted(x), x)[None],
    "choices": lambda x, k: jnp.where(k > 1, x, jnp.where(x < k, shifted(x), x))[:, None],
    "another update": lambda x, k: jax.lax.dynamic_update_slice(shifted(x), jnp.ones((2, 1, 1)), (0, 0, 0))[:, 0],
    "sum over one": lambda x, k: shifted(x).sum(1, keepdims=True),
    "factor of one": lambda x, k: (shifted(x) * 1)[None],
    "before it": lambda x, k: shifted(x.sum(1)),
    "order": lambda x, k: jnp.where(k > 1, shifted(x * 2), x * 2).transpose(1, 0, 2),
}


@pytest.mark.parametrize("name", SEEN_LATER)
def test_updates_seen_in_another_shape_later(name):
    x = np.arange(8.0).reshape(2, 1, 4) ** 2
    program = SEEN_LATER[name]
    for k in (1, 2):
        with jax.disable_jit(), jax.enable_x64(True):
            expected = np.asarray(program(x, np.int64(k)))
        found = reactant.jit(program, frontend="jax", optimize=False, native="never")(x, np.int64(k))
        np.testing.assert_array_equal(found, expected)


def test_other_updates_stay():
    with building():
        module = reactant.jit(lambda x: jnp.sin(shifted(x))[..., ::2], frontend="jax", optimize=False).lower(
            np.ones((2, 1, 4))).module
        assert reshaped_updates.separated(module) is module


def random_program(seed):
    """An array in one shape, a window of it in another computed from neighbours, the result in a third."""
    r = random.Random(seed)
    shapes = [(24,), (12, 2), (2, 12), (1, 24), (24, 1), (3, 4, 2), (1, 4, 6), (4, 1, 6), (6, 4), (2, 3, 4)]
    first, second, third = r.choices(shapes, k=3)
    if r.random() < 0.5:
        second = (1, *first) if r.random() < 0.5 else tuple(n for n in first if n != 1)
    window = tuple(slice(a := r.randint(0, n - 1), r.randint(a + 1, n)) for n in second)
    count = int(np.prod([w.stop - w.start for w in window]))
    shift, computed, late = r.randint(0, 24 - count), r.random() < 0.5, r.random() < 0.5

    def program(x):
        if computed:
            x = x * 3
        x = x.reshape(first)
        y = x.reshape(second).copy()
        flat = x.reshape(24)
        part = tuple(w.stop - w.start for w in window)
        y[window] = (flat[shift:shift + count] - flat[:count] * 2).reshape(part)
        y = y.reshape(third)
        return y + 1 if late else y
    return program


@pytest.mark.parametrize("part", range(2))
def test_random_shapes(part):
    x = np.arange(24.0) ** 2
    for seed in (*range(5 * part, 5 * part + 5), *[330, 360][part:part + 1]):
        program = random_program(seed)
        np.testing.assert_array_equal(reactant.jit(program, frontend="numpy", native="never")(x), program(x), str(seed))


MODULE = """func.func @main(%x: tensor<24xf64>, %k: tensor<i64>) -> tensor<12x2xf64> {{
  %y = stablehlo.reshape %x : (tensor<24xf64>) -> tensor<12x2xf64>
  %a = stablehlo.slice %x [0:22] : (tensor<24xf64>) -> tensor<22xf64>
  %b = stablehlo.slice %x [2:24] : (tensor<24xf64>) -> tensor<22xf64>
  %c = stablehlo.add %a, %b : tensor<22xf64>
  %u = stablehlo.reshape %c : (tensor<22xf64>) -> tensor<11x2xf64>
  %z = stablehlo.constant dense<0> : tensor<i64>
  {update}
  return %r : tensor<12x2xf64>
}}"""
UPDATE = """%r = stablehlo.dynamic_update_slice %y, %u, %k, %z
    : (tensor<12x2xf64>, tensor<11x2xf64>, tensor<i64>, tensor<i64>) -> tensor<12x2xf64>"""
SCATTER = """%i = stablehlo.reshape %k : (tensor<i64>) -> tensor<1xi64>
  %r = "stablehlo.scatter"(%y, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1],
    scatter_dims_to_operand_dims = [0]>}> ({
    ^bb0(%p: tensor<f64>, %q: tensor<f64>):
      stablehlo.return %q : tensor<f64>
    }) : (tensor<12x2xf64>, tensor<1xi64>, tensor<11x2xf64>) -> tensor<12x2xf64>"""


@pytest.mark.parametrize("start", [0, 1, 5])
@pytest.mark.parametrize("update", [UPDATE, SCATTER], ids=["update", "scatter"])
def test_run_time_starts(update, start):
    if update is SCATTER and start == 5:
        pytest.skip("a scatter outside does nothing")
    x = np.arange(24.0) ** 2
    expected, at = x.reshape(12, 2).copy(), min(start, 1)
    expected[at:at + 11] = (x[:22] + x[2:]).reshape(11, 2)
    with building():
        run = Executable(modules.parse(MODULE.format(update=update)), name="updated")
    np.testing.assert_array_equal(run([x, np.int64(start)])[0], expected)


def test_updates_that_read_something_else_stay():
    text = MODULE.format(update=UPDATE).replace("slice %x", "slice %w").replace("(%x", "(%w: tensor<24xf64>, %x")
    with building():
        module = modules.parse(text)
        assert reshaped_updates.separated(module) is module
        other = modules.parse(MODULE.format(update=UPDATE))
        assert "select" not in str(changed := reshaped_updates.separated(other)) and changed is not other

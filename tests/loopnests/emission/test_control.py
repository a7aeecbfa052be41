"""Loops and branches as native code: results against NumPy, and that nothing is copied that need not be."""
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant
from reactant import pipelines
from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.interpret import evaluate
from reactant.loopnests.analysis.graph import Node, read_block
from reactant.loopnests.emission.control import Compiler
from reactant.loopnests.stage import Call
from tests.loopnests.running import run, written
from tests.oracle import assert_same


def native_text(function, *arguments):
    """The loops of a program that becomes one call."""
    lowered = reactant.jit(function).lower(*arguments)
    with building():
        module = modules.parse(lowered.report.kept)
        pipelines.run(module, "native")
        ops = [o.operation for o in modules.function(module).regions[0].blocks[0].operations][:-1]
        return Call([o for o in ops if o.name != "stablehlo.constant"], "region").written.text


def forward_substitution(a, b):
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]
    return x


def cholesky(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] = np.sqrt(a[i, i] - np.dot(a[i, :i], a[i, :i]))
    return a


def seidel(a, steps):
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j]) / 5.0
    return a


def swap(a, b, steps):
    for _ in range(steps):
        a, b = b, 0.5 * (a + np.roll(b, 1))
    return a, b


def jacobi(a, steps):
    for _ in range(steps):
        new = a.copy()
        new[1:-1] = 0.5 * (a[:-2] + a[2:])
        a = new
    return a


def branches(a, steps):
    total = 0.0
    for k in range(steps):
        if a[k % 5] > 0.5:
            a[k % 5] -= 0.75
            total += 1.0
        elif a.sum() > 1.0:
            a[:3] *= 1.5
        else:
            a += 0.1
    return a, total


def nested(a, n):
    for i in range(n):
        b = a.copy()
        for _ in range(40):
            b = 0.9 * b + 0.1 * np.flip(b)
        a[i] += b[0]
    return a


def newton(a):
    x = a.copy()
    count = 0
    while np.max(np.abs(x * x - a)) > 1e-12 and count < 60:
        x = 0.5 * (x + a / x)
        count += 1
    return x, count


def two_in_one_place(x, steps):
    for k in range(steps):
        first = x[k % 7] * 2.0
        x[k % 7] = x[(k + 1) % 7] + 0.25
        x[(k + 1) % 7] = 0.5 * first
    return x


def goes_on_by_the_new_content(x):
    """The sum the loop goes on by is read from whichever of two buffers holds the new content."""
    going = x[0].max() < 30
    iterations = 0
    while going:
        x += 0.1 * x[0]
        going = x[0].max() < 30
        iterations += 1
    return iterations


def smith(first, second):
    table = np.zeros((len(first) + 1, len(second) + 1), dtype=np.int64)
    for i in range(1, len(first) + 1):
        for j in range(1, len(second) + 1):
            match = table[i - 1, j - 1] + (2 if first[i - 1] == second[j - 1] else -1)
            table[i, j] = max(0, match, table[i - 1, j] - 1, table[i, j - 1] - 1)
    return table


def random(*shape):
    return np.random.default_rng(sum(shape)).random(shape)


def positive(n):
    a = random(n, n)
    return a @ a.T + n * np.eye(n)


PROGRAMS = {
    "forward_substitution": (forward_substitution, lambda: (random(40, 40) + 40 * np.eye(40), random(40))),
    "cholesky": (cholesky, lambda: (positive(24),)),
    "seidel": (seidel, lambda: (random(12, 15), 8)),
    "swap": (swap, lambda: (random(50), random(51)[:50].copy(), 101)),
    "jacobi": (jacobi, lambda: (random(60), 101)),
    "branches": (branches, lambda: (random(9), 70)),
    "nested": (nested, lambda: (random(30), 12)),
    "newton": (newton, lambda: (random(40) + 1,)),
    "two_in_one_place": (two_in_one_place, lambda: (random(9), 70)),
    "goes_on_by_the_new_content": (goes_on_by_the_new_content, lambda: (random(3, 5),)),
    "smith": (smith, lambda: tuple(np.random.default_rng(k).integers(0, 4, 30) for k in (1, 2))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    function, make = PROGRAMS[name]
    mine, plain = make(), make()
    wanted = function(*plain)
    compiled = reactant.jit(function, native="always")
    assert_same(wanted, compiled(*mine), rtol=1e-10, atol=1e-12)
    assert_same(plain, mine, rtol=1e-10, atol=1e-12)
    assert "reactant.native" in compiled.lower(*make()).compile().as_text()


@pytest.mark.parametrize("which", [0, 1, 2, 7, -3])
@pytest.mark.parametrize("results", [1, 2, 3])
def test_cases_with_numbers_as_results(which, results):
    """`stablehlo.case` of one and of several numbers; an index out of bounds takes the last branch."""
    def f(x, k):
        branches = [lambda v, m=m: tuple(v.sum() * m + n for n in range(results)) for m in (1.0, -2.0, 5.0)]
        made = jax.lax.switch(k, branches, x)
        return [m * x for m in made]
    x = np.arange(40.0)
    wanted = f(jax.numpy.asarray(x), which)
    for got, right in zip(reactant.jit(f, native="always")(x, which), wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-6)


def test_triangles_are_loop_bounds():
    """No mask, no second buffer: what a person would write in C."""
    text = native_text(forward_substitution, random(400, 400), random(400))
    assert "arith.select" not in text and "arith.cmpf" not in text
    assert not re.search(r"%tmp\d+: ", text)


def test_element_by_element_in_place():
    text = native_text(seidel, random(40, 40), 70)
    assert not re.search(r"%tmp\d+: ", text) and "arith.select" not in text
    text = native_text(cholesky, positive(60))
    assert not re.search(r"%tmp\d+: ", text) and text.count("memref.store") <= 16


def test_arrays_that_change_places():
    """A stencil over a whole carried array has two buffers and no copies inside the loop."""
    text = native_text(jacobi, random(4000), 90)
    inside = text[text.index("^bb0"):text.index("scf.yield", text.index("^bb0"))]
    assert inside.count("memref.store") == 3 and "memref<4000xf64>, memref<4000xf64>" in text


def test_counters_give_bounds():
    """Indices that a loop bounds are not clamped."""
    assert "arith.maxsi" not in native_text(seidel, random(40, 40), 70)


def test_read_block_keeps_order():
    lowered = reactant.jit(jacobi).lower(random(60), 101)
    with building():
        block = read_block(modules.function(lowered.module).regions[0].blocks[0], {})
    assert [n.kind for n in block.nodes].count("while") == 1 and block.returned


def test_two_updates_of_an_array_that_is_computed_where_it_is_used():
    """Both fill their own buffers from the array below, which stays until the second has."""
    text = """module { func.func public @main(%x: tensor<3x4x8x8xf64>, %edge: tensor<3x4x8x1xf64>,
            %one: tensor<3x8x1x1xf64>, %mask: tensor<3x8x4x8xi1>) -> tensor<3x8x4x8xf64> {
        %zero = stablehlo.constant dense<0> : tensor<i64>
        %two = stablehlo.constant dense<2> : tensor<i64>
        %seven = stablehlo.constant dense<7> : tensor<i64>
        %a = stablehlo.dynamic_update_slice %x, %edge, %zero, %zero, %zero, %seven : (tensor<3x4x8x8xf64>,
            tensor<3x4x8x1xf64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3x4x8x8xf64>
        %b = stablehlo.transpose %a, dims = [0, 2, 1, 3] : (tensor<3x4x8x8xf64>) -> tensor<3x8x4x8xf64>
        %c = stablehlo.dynamic_update_slice %b, %one, %zero, %zero, %two, %two : (tensor<3x8x4x8xf64>,
            tensor<3x8x1x1xf64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3x8x4x8xf64>
        %nothing = stablehlo.constant dense<0.0> : tensor<3x8x1x1xf64>
        %d = stablehlo.dynamic_update_slice %b, %nothing, %zero, %zero, %two, %two : (tensor<3x8x4x8xf64>,
            tensor<3x8x1x1xf64>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3x8x4x8xf64>
        %result = stablehlo.select %mask, %d, %c : tensor<3x8x4x8xi1>, tensor<3x8x4x8xf64>
        return %result : tensor<3x8x4x8xf64>
    } }"""
    x, edge, one = random(3, 4, 8, 8), random(3, 4, 8, 1), random(3, 8, 1, 1)
    mask = random(3, 8, 4, 8) > 0.5
    wanted = x.copy()
    wanted[..., 7:] = edge
    wanted = wanted.transpose(0, 2, 1, 3).copy()
    wanted[:, :, 2:3, 2:3] = np.where(mask[:, :, 2:3, 2:3], 0.0, one)
    with building():
        module = modules.parse(text)
    np.testing.assert_array_equal(run(module, [x, edge, one, mask])[0], wanted)


@pytest.mark.slow
def test_loops_behind_one_another_that_change_places():
    """Where a loop leaves its array, the next loops must not put theirs: five loops of three turns over two buffers."""
    def smoothed(a):
        a = a.copy()
        for _ in range(5):
            for _ in range(3):
                a[1:-1, 1:-1] += 0.2 * (a[2:, 1:-1] - a[1:-1, :-2])
        return a.sum()
    a = np.arange(60.0).reshape(10, 6) % 7
    assert_same(reactant.jit(smoothed, native="always")(a), smoothed(a))


def test_a_row_that_is_made_of_itself_is_put_aside():
    """The row alone, not the array."""
    def swept(a):
        for i in range(1, 40):
            a[i, 1:-1] += 0.2 * (a[i - 1, 1:-1] - a[i, :-2])
    a = np.arange(400.0).reshape(40, 10) % 7
    text = native_text(swept, a)
    assert "memref<8xf64>" in text and "%tmp1" not in text
    mine = a.copy()
    reactant.jit(swept, native="always")(mine)
    swept(a)
    np.testing.assert_allclose(mine, a, rtol=1e-13)


def test_the_adjoint_of_a_row_made_of_itself_is_in_place():
    """What an iteration reads before it overwrites it is put aside: no second array, no copy of it."""
    def swept(a):
        a = a.copy()
        for i in range(1, 39):
            a[i, 1:-1] += 0.2 * (a[i - 1, 1:-1] - a[i, :-2])
        return np.sum(a * a)
    a = np.arange(400.0).reshape(40, 10) % 7
    iterations = native_text(reactant.grad(swept), a).split("scf.while")[-1]
    assert not re.search(r"memref<400xf64>, memref<400xf64>\) ->", iterations)
    expected = reactant.grad(reactant.jit(swept, native="never"))(a)
    np.testing.assert_allclose(reactant.grad(swept)(a), expected, rtol=1e-12)


def test_two_elements_that_are_made_of_both_arrays_are_put_aside():
    """A sweep over a tree (elimination of a quasi-tridiagonal system): neither array changes places with another."""
    parents = np.array([0, 0, 1, 1, 0, 4, 4, 2, 7, 7, 3, 5])

    def swept(d, s, lower, upper):
        for i in range(len(parents) - 1, 0, -1):
            p = parents[i]
            factor = upper[:, i] / d[:, i]
            d[:, p], s[:, p] = d[:, p] - lower[:, i] * factor, s[:, p] - s[:, i] * factor
    random_state = np.random.default_rng(0)
    arrays = [random_state.random((3, len(parents))) for _ in range(4)]
    arrays[0] += 4.0
    text = native_text(swept, *arrays)
    assert "memref<3xf64>" in text and not re.search(r"memref<36xf64>, memref<36xf64>\) ->", text)
    mine = [a.copy() for a in arrays]
    reactant.jit(swept, native="always")(*mine)
    swept(*arrays)
    for a, b in zip(mine, arrays, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_small_updates_of_one_another_keep_what_others_read():
    """Each reads what the other overwrites, and both sums read both arrays as they were."""
    def turned(a, b):
        for i in range(1, 20):
            j = (7 * i) % 20
            total = np.sum(a[j] * b[i])
            a[i], b[j] = b[i - 1] + total, a[j] - b[j] + total
        return a, b
    a, b = np.arange(60.0).reshape(20, 3) % 5, np.arange(60.0).reshape(20, 3) % 7
    for mine, expected in zip(reactant.jit(lambda x, y: turned(x.copy(), y.copy()), native="always")(a, b),
                              turned(a.copy(), b.copy()), strict=True):
        np.testing.assert_array_equal(mine, expected)


@pytest.mark.slow
def test_a_row_is_read_before_an_element_of_it_is_overwritten():
    """The adjoint of `a[i, j] = s / a[j, j]`, where s sums over row j: no second array in any sweep."""
    def factored(a):
        a = a.copy()
        for j in range(len(a)):
            for k in range(j):
                a[j, j] -= a[j, k] ** 2
            a[j, j] = np.sqrt(a[j, j])
            for i in range(j + 1, len(a)):
                s = a[i, j]
                for k in range(j):
                    s -= a[i, k] * a[j, k]
                a[i, j] = s / a[j, j]
        return np.sum(np.log(np.diag(a)))
    a = np.random.default_rng(0).standard_normal((40, 40))
    a = a @ a.T + 40 * np.eye(40)
    assert "memref<1600xf64>, memref<1600xf64>) ->" not in native_text(reactant.grad(factored), a)
    assert reactant.check_derivatives(factored, a)


def test_what_is_summed_over_before_an_update_has_a_nest_of_its_own():
    """The adjoint of `a[i] -= a[i, k] * a[k]`: a row is summed over and changes another row."""
    def eliminated(a, b):
        a, b = a.copy(), b.copy()
        for k in range(len(b)):
            p = a[k, k]
            a[k] /= p
            b[k] /= p
            for i in range(len(b)):
                if i != k:
                    b[i] -= a[i, k] * b[k]
                    a[i] -= a[i, k] * a[k]
        return np.sum(b ** 2)
    random = np.random.default_rng(0)
    a, b = random.standard_normal((40, 40)) + 20 * np.eye(40), random.standard_normal(40)
    iterations = native_text(reactant.grad(eliminated), a, b).split("scf.while")[-1]
    assert "memref<1600xf64>, memref<1600xf64>) ->" not in iterations
    inverse = np.linalg.inv(a)
    np.testing.assert_allclose(reactant.grad(eliminated)(a, b), -2 * np.outer(inverse.T @ inverse @ b, inverse @ b),
                               rtol=1e-9, atol=1e-14)


SEVERAL_RESULTS = """
func.func public @main(%a: tensor<4xf64>, %b: tensor<4xf64>, %iterations: tensor<i64>, %p: tensor<i1>)
    -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %low = stablehlo.constant dense<-5.0> : tensor<2xf64>
  %n, %x, %y = stablehlo.while(%i = %iterations, %u = %a, %v = %b) : tensor<i64>, tensor<4xf64>, tensor<4xf64>
  cond {
    %more = stablehlo.compare GT, %i, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.subtract %i, %one : tensor<i64>
    %sum = stablehlo.add %u, %v : tensor<4xf64>
    stablehlo.return %next, %sum, %v : tensor<i64>, tensor<4xf64>, tensor<4xf64>
  }
  %r:3 = "stablehlo.if"(%p) ({
    %part = stablehlo.slice %x [1:3] : (tensor<4xf64>) -> tensor<2xf64>
    %less = stablehlo.add %part, %low : tensor<2xf64>
    %new = stablehlo.dynamic_update_slice %x, %less, %one
        : (tensor<4xf64>, tensor<2xf64>, tensor<i64>) -> tensor<4xf64>
    stablehlo.return %new, %new, %new : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
  }, {
    stablehlo.return %a, %y, %x : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
  }) : (tensor<i1>) -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>)
  return %r#0, %r#1, %r#2 : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
}"""


@pytest.mark.parametrize("taken", [True, False])
def test_an_update_that_is_several_results_of_a_branch_is_made_once(taken):
    """It may be written over what it is made of, and is then copied, not computed again."""
    a, b = np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4)
    with building():
        module = modules.parse(SEVERAL_RESULTS)
    found = run(module, [a, b, np.array(2), np.array(taken)])
    x = a + 2 * b
    expected = [x + [0, -5, -5, 0]] * 3 if taken else [a, b, x]
    np.testing.assert_array_equal(found, expected)


def summed_before_it_is_written(u):
    total = 0.25
    for _ in range(20):
        if u[0] < 0.7:
            part = u[1:3]
            part *= 0.9
            total = total * 0.5 + part.sum()
    return total


def test_numbers_of_a_branch_are_those_of_before_its_arrays_are_copied():
    u = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    ours = reactant.jit(summed_before_it_is_written, native="always", optimize=False, unroll_limit=0)(u.copy())
    assert ours == pytest.approx(summed_before_it_is_written(u), rel=1e-12)


INCLUSIVE = """
func.func @main(%x: tensor<8x600xf64>, %n: tensor<i64>) -> tensor<8x600xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %most = stablehlo.constant dense<7> : tensor<i64>
  %m = stablehlo.clamp %zero, %n, %most : tensor<i64>
  %r:2 = stablehlo.while(%k = %zero, %a = %x) : tensor<i64>, tensor<8x600xf64>
  cond {
    %c = stablehlo.compare LE, %k, %m : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %last = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<i64>) -> tensor<8x600xi64>
    %iteration = stablehlo.broadcast_in_dim %k, dims = [] : (tensor<i64>) -> tensor<8x600xi64>
    %before = stablehlo.compare LT, %iteration, %last : (tensor<8x600xi64>, tensor<8x600xi64>) -> tensor<8x600xi1>
    %turned = stablehlo.reverse %a, dims = [1] : tensor<8x600xf64>
    %b = stablehlo.negate %turned : tensor<8x600xf64>
    %d = stablehlo.add %turned, %turned : tensor<8x600xf64>
    %w = stablehlo.select %before, %b, %d : tensor<8x600xi1>, tensor<8x600xf64>
    %k1 = stablehlo.add %k, %one : tensor<i64>
    stablehlo.return %k1, %w : tensor<i64>, tensor<8x600xf64>
  }
  return %r#1 : tensor<8x600xf64>
}"""


def test_a_loop_that_runs_to_its_limit_inclusively():
    """The last iteration, in which the counter is the limit, is none in which it is less."""
    with building():
        module = modules.parse(INCLUSIVE)
    x = np.arange(4800.0).reshape(8, 600)
    result, = run(module, [x, np.array(3)])
    assert_same(result.reshape(x.shape), -2 * x)


def rows_again(groups, iterations):
    """Each group of iterations is run for the rows that it fills, as in a reverse sweep: nobody reads what it ends
    with."""
    def group(g, carried):
        x, total = carried

        def iteration(k, inner):
            y, rows = inner
            return jnp.roll(y, 1, 0) * 0.5 + y, jax.lax.dynamic_update_slice(rows, y[None], (k, 0, 0))
        rows = jax.lax.fori_loop(0, iterations, iteration, (x, jnp.zeros((iterations, *x.shape), x.dtype)))[1]
        return jnp.cos(x), total + rows[g] * rows[iterations - 1 - g]
    return lambda x: jax.lax.fori_loop(0, groups, group, (x, jnp.zeros_like(x)))[1]


@pytest.mark.slow
def test_what_a_loop_ends_with_is_not_copied_where_nobody_reads_it(monkeypatch):
    x = np.random.default_rng(3).standard_normal((30, 20)).astype("float32")
    with building():
        module = modules.parse(jax.jit(rows_again(3, 5)).lower(x).as_text())
        pipelines.run(module, ("inline", "simplify"))
        exact = evaluate(module, [x])
    np.testing.assert_array_equal(run(module, [x])[0], exact[0])
    stores = written(module).text.count("memref.store")
    monkeypatch.setattr(Node, "is_read", True)
    assert stores < written(module).text.count("memref.store")


def crossed_out(flags):
    for i in range(2, 20):
        if flags[i]:
            flags[i * i::i] = False
    return flags


def crossed_out_twice(flags):
    for i in range(2, 20):
        if flags[i]:
            if i > 3:
                for j in range(i * i, len(flags), i):
                    flags[j] = False
            else:
                flags[2 * i::i] = False
    return flags


@pytest.mark.parametrize("program", [crossed_out, crossed_out_twice])
def test_loops_in_branches_write_in_place(program):
    """No copy for a branch, and none that takes the array back."""
    flags = np.ones(421, bool)
    text = native_text(program, flags)
    assert "%tmp" not in text and text.count("scf.for") <= 2        # what comes in, and what goes out
    np.testing.assert_array_equal(reactant.jit(program, native="always")(flags.copy()), program(flags.copy()))


def test_loops_in_loops_are_written_once_where_no_array_changes_places(monkeypatch):
    """Each was written on trial and again for good, so that a nest of five was written as twenty loops."""
    def nest(x, limit):
        while x[0] < limit:
            x[0] += 1.0
            while x[1] < x[0]:
                x[1] += 1.0
                while x[2] < x[1]:
                    x[2] += 1.0
                    while x[3] < x[2]:
                        x[3] += 1.0
                        while x[4] < x[3]:
                            x[4] += 1.5

    wrote = []
    write = Compiler._write_while
    monkeypatch.setattr(Compiler, "_write_while", lambda self, node, *rest, **named: (
        wrote.append(node), write(self, node, *rest, **named))[1])
    plain, compiled = np.linspace(-1.0, 0.5, 12), np.linspace(-1.0, 0.5, 12)
    nest(plain, 3.0)
    reactant.jit(nest, native="always")(compiled, 3.0)
    assert_same(plain, compiled)
    assert len(wrote) == len(set(wrote)) == 5

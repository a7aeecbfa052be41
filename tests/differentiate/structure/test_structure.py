"""Patterns of single ops: never smaller than the Jacobian, and exact where that is promised; colourings."""
import numpy as np
import pytest
from scipy import sparse

from reactant.differentiate.modes.forward import jvp
from reactant.differentiate.structure.sparse import colour
from reactant.differentiate.structure.structure import pattern_of as pattern_of_readable
from reactant.differentiate.structure.structure import readable
from reactant.ir import convolution as conv
from reactant.ir import ops
from reactant.ir.context import building
from tests.differentiate.derivative_checks import compiled, module_of
from tests.differentiate.rules.test_convolution import LINE
from tests.differentiate.rules.test_convolution import ROWS as CONVOLUTIONS
from tests.differentiate.rules.test_general_bodies import ROWS as BODIES
from tests.differentiate.rules.test_windows import ROWS as WINDOWS
from tests.differentiate.test_rules import CASES, COMPILED

RNG = np.random.default_rng(2)


def pattern_of(module, *rest):
    return pattern_of_readable(readable(module), *rest)


def jacobian(module, arguments, number):
    """Column by column, of the first result."""
    x = arguments[number]
    with building():
        moved = jvp(module, [number], [0])
        columns = [compiled(moved, [*arguments, e.reshape(x.shape)])[-1].reshape(-1) for e in np.eye(x.size)]
    return np.array(columns).T


def check(build, arguments, exact=False):
    module = module_of(build, arguments)
    known = {i: a for i, a in enumerate(arguments) if a.dtype.kind in "iub"}
    for number, x in enumerate(arguments):
        if x.dtype.kind == "f":
            pattern, _ = pattern_of(module, number, 0, known)
            found, real = pattern.toarray(), jacobian(module, arguments, number) != 0
            assert not (real & ~found).any()
            if exact:
                np.testing.assert_array_equal(found, real)


def first(build):
    def function(*values):
        made = build(*values)
        return made[0] if isinstance(made, list) else made
    return function


EXACT = {"reshape", "transpose", "reverse", "broadcast_in_dim", "slice", "pad", "pad_crop", "concatenate",
         "dynamic_slice", "dynamic_slice_clamped", "dynamic_update_slice", "gather", "scatter_add", "scatter_unique",
         "reduce_add", "reduce_multiply", "reduce_window", "cumsum", "dot_general", "matmul"}


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("convert", "complex")])
def test_ops(name):
    build, *arguments = CASES[name]
    check(first(build), [np.asarray(a) for a in arguments], exact=name in EXACT)


@pytest.mark.parametrize("name", ["cholesky", "solve", "rfft"])
def test_ops_that_mix_everything(name):
    build, *arguments = COMPILED[name]
    check(lambda *values: (lambda y: ops.real(y) if name == "rfft" else y)(build(*values)), arguments)


@pytest.mark.parametrize("name", ["plain", "strided", "everything", "feature_groups", "batch_groups", "plane",
                                  "odd_layouts"])
def test_convolutions(name):
    numbers, x, kernel = CONVOLUTIONS[name]
    check(lambda a, b: conv.build(a, b, numbers), [x, kernel], exact=numbers == LINE)


@pytest.mark.parametrize("name", ["reduce_companion", "map", "gather_batches", "scatter_multiply", "scatter_maximum",
                                  "scatter_add_overlapping", "scatter_last_overlapping", "scatter_add_batches"])
def test_bodies(name):
    build, *arguments = BODIES[name]
    check(first(build), arguments)


@pytest.mark.parametrize("name", ["maximum", "minimum_dilated", "cropped", "select_and_scatter"])
def test_windows(name):
    build, *arguments = WINDOWS[name]
    check(build, arguments)


def looped(iterations):
    """u[i] = u[i - 1] u[i], one after the other."""
    def build(u):
        def body(i, u):
            before, here = (ops.dynamic_slice(u, [ops.add(i, d)], (1,)) for d in (0, 1))
            return [ops.add(i, 1), ops.dynamic_update_slice(u, ops.multiply(before, here), [ops.add(i, 1)])]
        return ops.while_([ops.constant(0), u], lambda i, _: ops.compare(i, iterations, "LT"), body)[1]
    return build


def test_loops_that_count_are_followed(monkeypatch):
    check(looped(4), [RNG.standard_normal(7)], exact=True)
    monkeypatch.setattr("reactant.differentiate.structure.structure.VISITS", 10)
    check(looped(4), [RNG.standard_normal(7)])


def test_branches():
    def build(u, flag):
        kind = [u.type]
        return ops.if_(flag, lambda: [ops.reverse(u, (0,))], lambda: [ops.multiply(u, 2.0)], kind)[0]
    u = RNG.standard_normal(4)
    for flag in (True, False):
        check(build, [u, np.array(flag)], exact=True)
    module = module_of(build, [u, np.array(True)])
    np.testing.assert_array_equal(pattern_of(module, 0, 0, {})[0].toarray(), np.eye(4) + np.eye(4)[::-1] > 0)


@pytest.mark.parametrize("width", [1, 3, 5])
def test_bands_need_as_many_colours_as_diagonals(width):
    bands = range(-(width // 2), width // 2 + 1)
    pattern = sparse.csr_array(sum(np.eye(40, k=k) for k in bands) > 0)
    assert colour(pattern).count == width


@pytest.mark.parametrize("seed", range(5))
def test_colourings_recover_random_matrices(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((20, 30)) * (rng.random((20, 30)) < 0.1)
    pattern = sparse.csr_array(matrix != 0)
    for mode in ("forward", "reverse", "auto"):
        groups = colour(pattern, mode)
        compressed = groups.seeds() @ (matrix if groups.by_rows else matrix.T)
        np.testing.assert_allclose(compressed.reshape(-1)[groups.places(pattern)], matrix[pattern.nonzero()])
    assert colour(pattern).count == min(colour(pattern, "forward").count, colour(pattern, "reverse").count)

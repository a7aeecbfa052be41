"""Every batched form, a row each: the batched module against the function on one element after the other."""
import io

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import jax.scipy.special
import numpy as np
import pytest
from jax import lax

from reactant.batching.engine import batched_module
from reactant.ir import modules
from reactant.ir.context import building
from reactant.runtime.executable import Executable

RNG = np.random.default_rng(0)
COUNT = 3
A = RNG.normal(size=(3, 4, 4))
S = A @ A.transpose(0, 2, 1) + 4 * np.eye(4)
B = RNG.normal(size=(3, 4, 2))
V = RNG.normal(size=(3, 4))
N = V[:, 0]
I = np.array([0, 1, 3])  # noqa: E741 - indices
J = RNG.integers(0, 4, (3, 5))
BITS = RNG.integers(0, 99, (3, 4)).astype("u4")
IMAGES, KERNELS = RNG.normal(size=(3, 4, 4, 6, 6)), RNG.normal(size=(3, 6, 4, 3, 3))


def convolution(groups=1, batches=1, **options):
    return lambda x, k: lax.conv_general_dilated(x, k[:, :k.shape[1] // groups], (1, 2), "SAME",
                                                 feature_group_count=groups, batch_group_count=batches, **options)


def collatz(positive, n):
    """Never ends where it is not reached."""
    return lax.cond(positive, lambda: lax.while_loop(
        lambda c: c != 1, lambda c: jnp.where(c % 2 == 0, c // 2, 3 * c + 1), n), lambda: n)


ROWS = {
    "sine": (jnp.sin, [A], [0]), "add": (jnp.add, [A, A[0]], [0, None]),
    "number": (jnp.multiply, [N, V[0]], [0, None]), "last dimension": (jnp.sin, [B], [-3]),
    "where": (lambda c, x: jnp.where(c > 0, x, 1.0), [N, A], [0, 0]),
    "clip": (lambda x, low: lax.clamp(low, x, 1.0), [A, N], [0, 0]), "transpose": (jnp.transpose, [V.T], [1]),
    "dynamic_slice": (lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 3)), [A, I], [0, 0]),
    "dynamic_slice of one": (lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 3)), [A[0], I], [None, 0]),
    "dynamic_slice at one": (lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 3)), [A, I[1]], [0, None]),
    "update": (lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 1)), [A, B[:, :2], I], [0, 0, 0]),
    "update one": (lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 1)), [A[0], B[0, :2], I], [None, None, 0]),
    "update at one": (lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 1)), [A, B[0, :2], I[1]], [0, None, None]),
    "gather": (lambda x, j: x[j], [A, J], [0, 0]), "gather at one": (lambda x, j: x[:, j], [A, J[0]], [0, None]),
    "gather of one": (lambda x, j: x[j, 1:3], [A[0], J], [None, 0]), "pairs": (lambda x, j: x[j, j], [A, J], [0, 0]),
    "along": (lambda x, j: jnp.take_along_axis(x, j % 4, 0), [V, J], [0, 0]),
    "along another": (lambda x, j: jnp.take_along_axis(x, j[:4, None] % 4, 1), [A, J], [0, 0]),
    "filled": (lambda x, j: x.at[j + 2].get(mode="fill", fill_value=7.0), [A, J], [0, 0]),
    "clipped": (lambda x, j: x.at[j + 2].get(mode="clip"), [A[0], J], [None, 0]),
    "scatter add": (lambda x, j: x.at[j].add(1.0), [A, J], [0, 0]),
    "scatter at one": (lambda x, j, u: x.at[j[:2] + 1].set(u), [A, J[0], V], [0, None, 0]),
    "scatter into one": (lambda x, j: x.at[j].mul(2.0), [A[0], J], [None, 0]),
    "scatter of updates": (lambda x, j, u: x.at[j].max(u), [A[0], J[0], V[:, :1]], [None, None, 0]),
    "scatter outside": (lambda x, j: x.at[j + 2, j].set(0), [A, J], [0, 0]),
    "sum": (lambda x: jnp.sum(x, 0), [A], [0]), "max": (jnp.max, [B], [0]),
    "argmax": (lambda x: jnp.argmax(x, 1), [A], [0]), "cumsum": (lambda x: jnp.cumsum(x, 1), [A], [0]),
    "start of sum": (lambda x, i: lax.reduce(x, i, lax.add, (0,)), [A, N], [0, 0]),
    "start of max": (lambda x, i: lax.reduce(x, i, lax.max, (0,)), [J, I], [0, 0]),
    "start of general": (lambda x, i: lax.reduce(x, i, lambda a, b: a + 2 * b, (0,)), [A[:, :1], N], [0, 0]),
    "window": (lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 2), "SAME"), [A], [0]),
    "start of window": (lambda x, i: lax.reduce_window(x, i, lax.add, (2, 2), (1, 2), "SAME"), [A, N], [0, 0]),
    "select_and_scatter": (jax.grad(lambda x: jnp.sum(lax.reduce_window(
        x, -np.inf, lax.max, (2, 2), (1, 2), "SAME") ** 2)), [A], [0]),
    "sort": (lambda x: jnp.sort(x, 0), [A], [0]), "argsort": (lambda x: jnp.argsort(x, 1), [A], [0]),
    "sort pairs": (lambda k, x: lax.sort((k, x), dimension=0, num_keys=1), [V, V[0]], [0, None]),
    "product left": (jnp.matmul, [A, A[0]], [0, None]), "product right": (jnp.matmul, [A[0], A], [None, 0]),
    "product": (jnp.matmul, [A, A.transpose(1, 0, 2)], [0, 1]),
    "batched product left": (lambda x, y: jnp.einsum("bij,bjk->bik", x, y), [
        RNG.normal(size=(3, 2, 4, 5)), RNG.normal(size=(2, 5, 3))], [0, None]),
    "batched product right": (lambda x, y: jnp.einsum("bij,bjk->bik", x, y), [
        RNG.normal(size=(2, 4, 5)), RNG.normal(size=(3, 2, 5, 3))], [None, 0]),
    "batched product": (lambda x, y: jnp.einsum("bij,bjk->bik", x, y), [
        RNG.normal(size=(3, 2, 4, 5)), RNG.normal(size=(3, 2, 5, 3))], [0, 0]),
    "pad": (lambda x: lax.pad(x, 0.0, ((1, 2, 0), (-1, 1, 1))), [A], [0]),
    "pad with": (lambda x, p: lax.pad(x, p, ((1, 2, 0), (0, 1, 1))), [A, N], [0, 0]),
    "concatenate": (lambda x, y: jnp.concatenate([x, y], 1), [A, B[0]], [0, None]),
    "reverse": (lambda x: x[::-1, ::2], [A], [0]), "broadcast": (lambda x: jnp.broadcast_to(x, (5, 4)), [V], [0]),
    "fft": (jnp.fft.rfft2, [A], [0]), "complex": (lambda x, y: lax.complex(x, y) * 2j, [A, A[0]], [0, None]),
    "bitcast": (lambda x: lax.bitcast_convert_type(x, jnp.int32), [A], [0]),
    "cholesky": (jnp.linalg.cholesky, [S], [0]), "solve": (jnp.linalg.solve, [A, B], [0, 0]),
    "solve left": (jnp.linalg.solve, [A, B[0]], [0, None]), "solve right": (jnp.linalg.solve, [A[0], B], [None, 0]),
    "triangular": (lambda x, y: jax.scipy.linalg.solve_triangular(x, y, trans=1), [A, B], [0, 0]),
    "qr": (jnp.linalg.qr, [A], [0]), "svd": (jnp.linalg.svd, [A], [0]), "eigh": (jnp.linalg.eigh, [S], [0]),
    "eig": (jnp.linalg.eigvals, [A], [0]), "lu": (jax.scipy.linalg.lu, [A], [0]),
    "schur": (jax.scipy.linalg.schur, [A], [0]), "hessenberg": (jax.scipy.linalg.hessenberg, [A], [0]),
    "tridiagonal": (lambda d, b: lax.linalg.tridiagonal_solve(d, d + 3, d, b), [V, B], [0, 0]),
    "top_k": (lambda x: lax.top_k(x, 2), [A], [0]),
    "one by one": (lambda x: lax.approx_max_k(x, 2), [A.astype("f4")], [0]),
    "erf": (jax.scipy.special.erf, [A], [0]),
    "betainc": (lambda x: jax.scipy.special.betainc(1.5, 2.5, x), [abs(V)], [0]),
    "if": (lambda p, x: lax.cond(p > 0, jnp.sin, lambda x: x * 2, x), [N, A], [0, 0]),
    "if of one": (lambda p, x: lax.cond(p > 0, jnp.sin, lambda x: x * 2, x), [N[0], A], [None, 0]),
    "case": (lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x], x), [np.array([-1, 1, 7]), A], [0, 0]),
    "loop": (lambda x: lax.fori_loop(0, 4, lambda i, c: c.at[i].set(c[i - 1] + i), x), [A], [0]),
    "loops of other lengths": (lambda n, x: lax.while_loop(
        lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 2), (0, x)), [np.array([3, 0, 5]), A], [0, 0]),
    "loop not reached": (collatz, [np.array([True, False, True]), np.array([7, 0, 6])], [0, 0]),
    "scan": (lambda x: lax.scan(lambda c, r: (c + r, c * 2), x[0], x), [A], [0]),
    "convolution left": (convolution(), [IMAGES, KERNELS[0]], [0, None]),
    "convolution right": (convolution(), [IMAGES[0], KERNELS], [None, 0]),
    "convolution": (convolution(), [IMAGES, KERNELS], [0, 0]),
    "grouped left": (convolution(groups=2), [IMAGES, KERNELS[0]], [0, None]),
    "grouped right": (convolution(groups=2), [IMAGES[0], KERNELS], [None, 0]),
    "grouped": (convolution(groups=2), [IMAGES, KERNELS], [0, 0]),
    "batch groups left": (convolution(batches=2), [IMAGES, KERNELS[0]], [0, None]),
    "batch groups right": (convolution(batches=2), [IMAGES[0], KERNELS], [None, 0]),
    "batch groups": (convolution(batches=2), [IMAGES, KERNELS], [0, 0]),
    "bits": (lambda s: lax.rng_bit_generator(s, (4,)), [BITS], [0]),
    "normal": (lambda s: jax.random.normal(jax.random.wrap_key_data(s), (4,)), [BITS[:, :2]], [0]),
}


def module_of(function, arguments):
    """The StableHLO of a JAX function."""
    shapes = [jax.ShapeDtypeStruct(np.shape(a), np.asarray(a).dtype) for a in arguments]
    theirs = jax.jit(function, keep_unused=True).trace(*shapes).lower().compiler_ir("stablehlo")
    stream = io.BytesIO()
    with theirs.context:
        theirs.operation.write_bytecode(stream)
    with building():
        return modules.parse(stream.getvalue())


def element(array, dimension, number):
    return array if dimension is None else np.take(array, number, dimension)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ROWS)
def test_row(name):
    function, arguments, dimensions = ROWS[name]
    with jax.enable_x64(True):
        each = [[element(a, d, k) for a, d in zip(arguments, dimensions, strict=True)] for k in range(COUNT)]
        module = module_of(function, each[0])
        batched = batched_module(module, dimensions, COUNT, everything=True)
        got = [np.asarray(r) for r in Executable(batched.module)(list(arguments))]
        plain = Executable(module)
        wanted = zip(*([np.asarray(r) for r in plain(one)] for one in each), strict=True)
        for mine, theirs in zip(got, wanted, strict=True):
            np.testing.assert_allclose(mine, np.stack(theirs), rtol=1e-9, atol=1e-11)


def test_what_does_not_depend_on_the_batch_is_computed_once():
    with jax.enable_x64(True):
        module = module_of(lambda x, y: (jnp.sin(y) + x, jnp.cos(y)), [V[0], V[0]])
        batched = batched_module(module, (0, None), COUNT)
        assert batched.batched == (True, False)
        with building():
            shapes = {op.name: str(op.results[0].type) for op in modules.walk(batched.module) if len(op.results)}
        assert shapes["stablehlo.sine"] == shapes["stablehlo.cosine"] == "tensor<4xf64>"
        assert shapes["stablehlo.add"] == "tensor<3x4xf64>"


def test_sorted_indices_of_each_element_are_not_sorted_altogether():
    with jax.enable_x64(True):
        module = module_of(lambda x, j: (x.at[j].get(indices_are_sorted=True),
                                         x.at[j].add(1.0, indices_are_sorted=True)), [A[0], np.sort(J[0])])
        batched = str(batched_module(module, (None, 0), COUNT).module)
    assert "indices_are_sorted = true" in str(module) and "indices_are_sorted = true" not in batched

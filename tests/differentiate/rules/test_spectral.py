"""Functions of matrices with equal eigenvalues or singular values, and second derivatives of sums over those."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import reactant

RNG = np.random.default_rng(3)
ITERATION = np.linalg.qr(RNG.standard_normal((4, 4)))[0]
RIGHT = RNG.standard_normal((4, 2))
EQUAL = ITERATION @ np.diag([1.0, 1.0, 2.0, 2.0]) @ ITERATION.T


def symmetric(a):
    return (a + a.T) / 2


def exponential(a):
    values, vectors = np.linalg.eigh(symmetric(a))
    return (vectors * np.exp(values)) @ vectors.T


def root(a):
    values, vectors = np.linalg.eigh(symmetric(a))
    return vectors @ np.diag(np.sqrt(values)) @ vectors.T


def polar(a):
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return u @ vh


def shrunk(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (u * np.sinh(s)) @ vh


def along(function, a, t, step=1e-3):
    """The derivative along t, to fourth order in the step."""
    def apart(h):
        return (function(a + h * t) - function(a - h * t)) / (2 * h)
    return (4 * apart(step / 2) - apart(step)) / 3


@pytest.mark.sampled(100)
@pytest.mark.parametrize("function, a", [
    (exponential, np.eye(3)), (exponential, EQUAL), (root, EQUAL), (polar, EQUAL), (polar, ITERATION[:, :3]),
    (shrunk, ITERATION[:3]), (exponential, ITERATION + 1j * ITERATION), (shrunk, (ITERATION + 1j * ITERATION)[:, :2])])
def test_functions_of_matrices(function, a):
    if function is exponential and np.iscomplexobj(a):
        function = lambda a: exponential_of(a + np.conj(a.T))                                       # noqa: E731
    t, g = (RNG.standard_normal(a.shape) * (1 + k * 1j if np.iscomplexobj(a) else 1) for k in (1, 3))
    moved = reactant.jvp(function, (a,), (t,))[1]
    np.testing.assert_allclose(moved, along(function, a, t), atol=1e-8)
    (swept,) = reactant.vjp(function, a)[1](g)
    np.testing.assert_allclose(np.sum(swept * t).real, np.sum(g * moved).real, rtol=1e-9)


def truncated(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (np.conj(vh.T) * np.where(s > 0.2 * np.max(s), 1 / s, 0.0)) @ np.conj(u.T)


def least_squares(a, b=RIGHT):
    return np.linalg.lstsq(a, b[:len(a)], rcond=None)[0]


def of_vector(a, b=RIGHT[:, 0]):
    return scipy.linalg.lstsq(a, b[:len(a)])[0]


def least_squares_of_jax(a, b=RIGHT):
    return jnp.linalg.lstsq(a, b[:len(a)])[0]


def solved(how):
    """`how` says it of U, s, V, b; of a vector b."""
    def function(a, b=RIGHT[:, 0]):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return how(u, s, np.conj(vh.T), b[:len(a)])
    return function


def of_a_symmetric_matrix(a, b=RIGHT[:, 0]):
    w, v = np.linalg.eigh(a @ np.conj(a.T) + np.eye(len(a)))
    return v @ ((np.conj(v.T) @ b[:len(a)]) / w)


COMPLEX = (ITERATION + 1j * ITERATION[::-1]) @ np.diag([2.0, 2, 0.25, 0.25])


MATRICES = {"tall": ITERATION[:, :3], "wide": ITERATION[:2], "equal": EQUAL, "complex": COMPLEX[:, :3]}
SOLUTIONS = [
    least_squares, of_vector, least_squares_of_jax, scipy.linalg.pinv, truncated,
    lambda a: np.linalg.pinv(a, rcond=0.2),
    solved(lambda u, s, v, b: v @ (1 / s * (np.conj(u.T) @ b))),
    solved(lambda u, s, v, b: (v * (1 / s)) @ (b @ np.conj(u))),
    solved(lambda u, s, v, b: v @ (s / (s**2 + 0.1) * (b @ np.conj(u))))]
DIVIDED = [     # complex numbers as NumPy divides them are more than one operation
    of_a_symmetric_matrix, solved(lambda u, s, v, b: v @ ((u.T @ b) / s)),
    solved(lambda u, s, v, b: (v / s) @ (u.T @ b)), solved(lambda u, s, v, b: ((b @ u) / s) @ v.T),
    solved(lambda u, s, v, b: v @ ((u.T @ np.outer(b, b)) / s[:, None]))]


@pytest.mark.sampled(100)
@pytest.mark.parametrize(("function", "name"), [
    *((f, name) for f in SOLUTIONS for name in MATRICES),
    *((f, name) for f in DIVIDED for name in MATRICES if name != "complex")])
def test_least_squares_and_pseudo_inverses_at_equal_values(function, name):
    """With singular values left out that are not zero, too."""
    a = MATRICES[name]
    t, g = (RNG.standard_normal(np.shape(x)) * (1 + k * 1j if np.iscomplexobj(a) else 1)
            for k, x in ((1, a), (3, function(a))))
    with jax.enable_x64(True):
        moved = reactant.jvp(function, (a,), (t,))[1]
        np.testing.assert_allclose(moved, along(function, a, t), atol=1e-8)
        (swept,) = reactant.vjp(function, a)[1](g)
        swept, moved = np.asarray(swept), np.asarray(moved)
    np.testing.assert_allclose(np.sum(swept * t).real, np.sum(g * moved).real, rtol=1e-9)


def exponential_of(a):
    values, vectors = np.linalg.eigh(a)
    return (vectors * np.exp(values)) @ np.conj(vectors.T)


@pytest.mark.parametrize("function", [
    lambda a: np.sum(np.linalg.svdvals(a) ** 2), lambda a: np.sum(np.linalg.eigvalsh(symmetric(a)) ** 3),
    lambda a: np.sum(np.exp(np.linalg.eigvalsh(symmetric(a)))), lambda a: np.var(np.linalg.eigvalsh(symmetric(a)))])
@pytest.mark.parametrize("a", [np.zeros((2, 2)), np.eye(2)])
def test_second_derivatives_of_sums(function, a):
    gradient = reactant.grad(function)
    t = np.array([[0.3, -1.2], [0.7, 0.4]])
    expected = along(gradient, a, t)
    for mode in ("forward", "reverse"):
        matrix = reactant.jacobian(gradient, mode=mode)(a)
        np.testing.assert_allclose(np.tensordot(matrix, t), expected, atol=1e-8)


def test_nearly_equal_and_tiny_eigenvalues():
    """Where quotients of differences have no digits left."""
    t = symmetric(RNG.standard_normal((3, 3)))
    iteration = np.linalg.qr(ITERATION[:3, :3])[0]
    for values in ([1.0, 1 + 1e-9, 2.0], [1e-17, 3e-17, 1.0]):
        a = iteration @ np.diag(values) @ iteration.T
        moved = reactant.jvp(exponential, (a,), (t,))[1]
        np.testing.assert_allclose(moved, scipy.linalg.expm_frechet(a, t, compute_expm=False), atol=1e-13)


@pytest.mark.slow
def test_batches_of_jax():
    def function(a):
        values, vectors = jnp.linalg.eigh(a)
        return (vectors * jnp.exp(values)[..., None, :]) @ jnp.swapaxes(vectors, -1, -2)

    a = jnp.stack([jnp.eye(2), jnp.zeros((2, 2))])
    t = jnp.asarray([[[0.0, 1.0], [1.0, 3.0]]] * 2)
    expected = np.array([np.e, 1.0])[:, None, None] * np.asarray(t)
    np.testing.assert_allclose(reactant.jvp(function, (a,), (t,))[1], expected, rtol=1e-5)


def test_what_has_no_limit_is_no_number():
    """The product of eigenvalues: each slope is that of the others, which nobody sees in it alone."""
    curvature = reactant.hessian(lambda a: np.prod(np.linalg.eigvalsh(symmetric(a))))(np.eye(2))
    assert np.isnan(curvature[0, 1, 0, 1])

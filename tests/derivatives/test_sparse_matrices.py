"""Sparse Jacobians and Hessians against dense ones; the patterns that are found, and how few directions they need."""
import numpy as np
import pytest
from scipy import sparse

import reactant
from reactant.errors import UnsupportedError

RNG = np.random.default_rng(3)
X = RNG.standard_normal(30)
BANDED = np.eye(30) + np.eye(30, k=1) - 2 * np.eye(30, k=-2)
WHERE = np.array([3, 3, 0, 29, 7])


def stencil(u):
    return (u[2:] - 2 * u[1:-1] + u[:-2]) * u[1:-1] ** 2


def steps(u):
    v = u * 1.0
    for _ in range(3):
        v[1:-1] += 0.1 * (v[2:] - 2 * v[1:-1] + v[:-2])
    return v


def plane(u):
    v = u.reshape(5, 6)
    return v[1:-1, 1:-1] ** 2 + v[2:, 1:-1] + v[:-2, 1:-1] * v[1:-1, 2:] - v[1:-1, :-2]


def energy(u):
    return np.sum((u[1:] - u[:-1]) ** 4) + np.sum(np.cos(u))


def blocks(u):
    return np.linalg.norm(u.reshape(10, 3), axis=1) * u.reshape(10, 3)[:, 0]


def gathered(u, where):
    return np.sin(u[where]) * where


def masked(u):
    return np.where(np.arange(30) % 3 == 0, u, u[::-1] * 0.5)


def arrow(u):
    return np.concatenate([u[:1] * np.sum(u), u[1:] * u[0]])


ROWS = {
    "diagonal": (np.sin, (X,), 1), "stencil": (stencil, (X,), 3), "steps": (steps, (X,), 7), "plane": (plane, (X,), 7),
    "blocks": (blocks, (X,), 3), "gathered": (gathered, (X, WHERE), 1), "masked": (masked, (X,), 2),
    "matrix": (lambda u: BANDED @ u ** 2, (X,), 4), "difference": (np.diff, (X,), 2),
    "cumulative": (np.cumsum, (X[:6],), 6), "sorted": (np.sort, (X[:5],), 5),
    "constant": (lambda u: np.ones(3), (X,), 1),
    "convolved": (lambda u: np.convolve(u, np.array([1.0, 2, 1])), (X,), 3), "arrow": (arrow, (X,), 30),
    "row": (lambda u: np.array([np.sum(u ** 2)]), (X,), 1), "rolled": (lambda u: np.roll(u, 1) * u, (X,), 2),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ROWS)
def test_jacobians(name):
    function, arguments, count = ROWS[name]
    jacobian = reactant.jacobian(function, sparse=True)
    found = jacobian(*arguments)
    assert isinstance(found, sparse.csr_array)
    dense = reactant.jacobian(function)(*arguments)
    np.testing.assert_allclose(found.toarray(), dense.reshape(found.shape), rtol=1e-12, atol=1e-12)
    if count is not None:
        assert jacobian.compression(*arguments).colouring.count <= count
    np.testing.assert_allclose(reactant.jacobian(function, sparse="dense")(*arguments), dense, rtol=1e-12, atol=1e-12)


ROUNDED = reactant.custom_derivative(lambda x: np.round(x), jvp=lambda a, t: (np.round(a[0]), t[0]))
TURNED = reactant.custom_derivative(lambda x: np.sin(x), vjp=lambda a, y, g: (3 * g[::-1],))
PLACES = np.array([0, 1, 1, 2, 3, 3, 0])


@pytest.mark.parametrize("entries, function", [
    (16, lambda u: ROUNDED(u)), (16, lambda u: TURNED(u) * 2), (4, lambda u: reactant.stop_gradient(u[::-1]) * u),
    (28, lambda u: ROUNDED(u[PLACES]) * reactant.stop_gradient(u[PLACES[::-1]])),
    (6, lambda u: reactant.checkpoint(lambda u: np.sin(u[1:]) * u[:-1])(u))], ids=range(5))
def test_derivatives_of_the_users(entries, function):
    """A rule may depend on everything; what is stopped depends on nothing."""
    u = np.array([0.3, 0.7, 1.1, -0.4])
    found = reactant.jacobian(function, sparse=True)(u)
    np.testing.assert_allclose(found.toarray(), reactant.jacobian(function)(u))
    assert found.nnz == entries


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_both_modes(mode):
    jacobian = reactant.jacobian(stencil, mode=mode, sparse=True)
    np.testing.assert_allclose(jacobian(X).toarray(), reactant.jacobian(stencil)(X), rtol=1e-12)
    assert jacobian.compression(X).colouring.by_rows == (mode == "reverse")
    assert jacobian.compression(X).colouring.count == (3 if mode == "forward" else 1)


def test_hessians():
    hessian = reactant.hessian(energy, sparse=True)
    np.testing.assert_allclose(hessian(X).toarray(), reactant.hessian(energy)(X), rtol=1e-10, atol=1e-12)
    assert hessian.compression(X).colouring.count <= 4
    assert hessian.compression(X).pattern.nnz <= 3 * 30


def test_other_integer_arguments_have_another_structure():
    jacobian = reactant.jacobian(gathered, sparse=True)
    for where in (WHERE, WHERE[::-1].copy(), np.array([1, 2, 3, 4, 5])):
        np.testing.assert_allclose(jacobian(X, where).toarray(), reactant.jacobian(gathered)(X, where), rtol=1e-12)


def test_zeros_of_captured_matrices_count():
    large = sparse.diags_array([np.ones(300), np.ones(299)], offsets=[0, 1]).toarray()
    jacobian = reactant.jacobian(lambda u: large @ np.sin(u), sparse=True)
    u = RNG.standard_normal(300)
    np.testing.assert_allclose(jacobian(u).toarray(), large * np.cos(u), rtol=1e-12)
    assert jacobian.compression(u).colouring.count == 2


def test_positions_known_only_at_run_time_are_not_guessed():
    def picked(u):
        return u[int(np.argmax(u)) * 0 + np.argsort(u)[:3]]
    np.testing.assert_allclose(reactant.jacobian(picked, sparse=True)(X).toarray(), reactant.jacobian(picked)(X))


def shared(u, left, right):
    """Pairs of unknowns: each is in many residuals, each residual has two."""
    return np.sin(u[left]) * u[right] ** 2


def test_unknowns_shared_by_many_residuals_are_cut_apart():
    left, right = RNG.integers(0, 30, 200), RNG.integers(0, 30, 200)
    jacobian = reactant.jacobian(shared, sparse=True)
    expected = reactant.jacobian(shared)(X, left, right)
    np.testing.assert_allclose(jacobian(X, left, right).toarray(), expected, rtol=1e-12)
    assert jacobian.compression(X, left, right).colouring.count == 1
    assert reactant.jacobian(shared, sparse=True, mode="forward").compression(X, left, right).colouring.count > 5


def test_run_time_checks_still_raise():
    jacobian = reactant.jacobian(lambda u, i: u[i] * u[i + 1], sparse=True)
    assert jacobian(X, np.array([1, 5])).nnz == 4
    with pytest.raises(IndexError):
        jacobian(X, np.array([1, 29]))


def test_size_does_not_matter():
    u = RNG.standard_normal(20000)
    found = reactant.jacobian(stencil, sparse=True)(u)
    assert found.shape == (19998, 20000) and found.nnz == 3 * 19998
    direction = RNG.standard_normal(20000)
    np.testing.assert_allclose(found @ direction, reactant.jvp(stencil, (u,), (direction,))[1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("run, error, text", [
    (lambda: reactant.jacobian(np.sin, sparse="maybe"), ValueError, "sparse='maybe'"),
    (lambda: reactant.jacobian(np.sin, argnums=(0,), sparse=True), TypeError, "one argument"),
    (lambda: reactant.jacobian(lambda a: (a, a * 2), sparse=True)(X), UnsupportedError, "one array to one array"),
    (lambda: reactant.jit(lambda a: reactant.jacobian(np.sin, sparse=True)(a))(X), UnsupportedError, "outside"),
    (lambda: reactant.jacobian(lambda a: a * 1j, sparse=True)(X), TypeError, "complex128"),
])
def test_errors(run, error, text):
    with pytest.raises(error, match=text):
        run()

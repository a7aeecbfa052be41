"""LU, Cholesky and triangular solves of small matrices as loops, against LAPACK's own."""
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import reactant

LEADS = ((), (7,), (21,), (2, 3, 5))
"""None, fewer than are worked on side by side, not a multiple of that, several dimensions."""


def both(function, *arguments):
    """The results as native code and by LAPACK, as lists of arrays."""
    made = [jax.tree_util.tree_leaves(reactant.jit(function, native=native, frontend="jax")(*arguments))
            for native in ("always", "never")]
    return [[np.asarray(a) for a in each] for each in made]


def native_of(function, *arguments, **options):
    compiled = reactant.jit(function, **options).lower(*arguments).compile()
    return compiled.lowered.notes


@pytest.mark.slow
@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lu(lead, dtype):
    """Factors, pivots and what is made of them, of square, wide and tall matrices."""
    rng = np.random.default_rng(len(lead))
    with jax.enable_x64(True):
        for shape in ((3, 3), (2, 5), (5, 2)):
            a = rng.standard_normal((*lead, *shape)).astype(dtype)
            assert native_of(jax.lax.linalg.lu, jnp.asarray(a), native="always", frontend="jax")
            mine, theirs = both(jax.lax.linalg.lu, jnp.asarray(a))
            np.testing.assert_array_equal(mine[1], theirs[1])
            np.testing.assert_array_equal(mine[2], theirs[2])
            np.testing.assert_allclose(mine[0], theirs[0], rtol=0, atol=2000 * np.finfo(dtype).eps)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("lead", [(), (21,)])
def test_singular(lead):
    """A pivot of zero is none that can be divided by: infinities and NaN as LAPACK has them; the first is told."""
    a = np.array(np.broadcast_to(np.arange(16.0).reshape(4, 4) % 5, (*lead, 4, 4)))
    a[..., 2, :] = a[..., 1, :]
    a[..., :, 0] = 0
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        reactant.jit(lambda a: np.linalg.inv(a), native="always")(a)
    assert (reactant.jit(lambda a: np.linalg.det(a), native="always")(a) == 0).all()


@pytest.mark.sampled(100)
@pytest.mark.parametrize("lead", LEADS)
def test_cholesky(lead):
    rng = np.random.default_rng(2)
    a = rng.standard_normal((*lead, 4, 4))
    good = a @ np.swapaxes(a, -1, -2) + np.eye(4)
    for upper in (False, True):
        found = reactant.jit(lambda a, upper=upper: np.linalg.cholesky(a, upper=upper), native="always")(good)
        np.testing.assert_allclose(found, np.linalg.cholesky(good, upper=upper), atol=1e-12)
    with jax.enable_x64(True):
        bad = jnp.asarray(np.concatenate([good.reshape(-1, 4, 4), a.reshape(-1, 4, 4) - 3 * np.eye(4)]))
        mine, theirs = both(jnp.linalg.cholesky, bad)           # NaN where there is none
    np.testing.assert_allclose(mine[0], theirs[0], atol=1e-12)
    assert np.isnan(mine[0]).any() and not np.isnan(mine[0]).all()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("lead", [(), (9,)])
def test_triangular_solves(lead):
    """From the left and the right, with either triangle, turned or not, with the diagonal taken for ones or not."""
    rng = np.random.default_rng(3)
    t = rng.standard_normal((*lead, 4, 4)) + 4 * np.eye(4)
    rows, columns = rng.standard_normal((*lead, 4, 3)), rng.standard_normal((*lead, 3, 4))

    def solves(t, rows, columns):
        return [jax.lax.linalg.triangular_solve(t, rows if left else columns, left_side=left, lower=lower,
                                                transpose_a=turned, unit_diagonal=unit)
                for left, lower, turned, unit in itertools.product((False, True), repeat=4)]
    with jax.enable_x64(True):
        mine, theirs = both(solves, *map(jnp.asarray, (t, rows, columns)))
    for each, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(each, other, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_what_is_computed_goes_in():
    """Operands that are computed, read across matrices, and used again."""
    rng = np.random.default_rng(4)
    a, b = rng.standard_normal((5, 40, 5)), rng.standard_normal((40, 5))

    def f(a, b):
        m = a.transpose(1, 0, 2)[::-1] * 2 + 3 * np.eye(5)
        return np.linalg.solve(m, np.sin(b)[..., None])[..., 0] + b, np.linalg.det(m).sum()
    assert native_of(f, a, b)
    for mine, theirs in zip(reactant.jit(f)(a, b), f(a, b), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)


@pytest.mark.slow
def test_a_loop_with_a_solve_is_one_call():
    """Steps that solve small systems do not keep their loop with XLA."""
    def filtered(states, transition):
        covariance = np.eye(4)
        gains = np.zeros((len(states), 4))
        for k in range(len(states)):
            covariance = transition @ covariance @ transition.T + np.eye(4)
            gains[k] = np.linalg.solve(covariance + np.eye(4), states[k])
            covariance = covariance - covariance @ np.linalg.solve(covariance + np.eye(4), covariance)
        return gains
    rng = np.random.default_rng(5)
    states, transition = rng.standard_normal((50, 4)), np.eye(4) + 0.1 * rng.standard_normal((4, 4))
    compiled = reactant.jit(filtered).lower(states, transition).compile()
    assert sum("compiled natively" in note for note in compiled.lowered.notes) == 1
    np.testing.assert_allclose(reactant.jit(filtered)(states, transition), filtered(states, transition), rtol=1e-9)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_singular_matrices_have_numpys_determinants(n, dtype):
    """Which of them are 0, and their signs, alone, many, and in a loop; denormal pivots have infinite reciprocals."""
    def one_by_one(a):
        result = np.zeros(len(a), a.dtype)
        for i in range(len(a)):
            result[i] = np.linalg.det(a[i])
        return result

    random = np.random.default_rng(n)
    a = random.integers(-5, 6, (100, n, n)).astype(float)
    a[:, -1] = sum(a[:, i] * random.integers(-2, 3, (100, 1)) for i in range(n - 1))
    a = np.where(random.random((100, 1, 1)) < 0.3, a * 0.1, a).astype(dtype)
    wanted = np.linalg.det(a)
    assert 5 < np.count_nonzero(wanted == 0) and (n == 2 or np.count_nonzero(wanted))
    for function in (np.linalg.det, one_by_one):
        np.testing.assert_array_equal(np.sign(reactant.jit(function, native="always")(a)), np.sign(wanted))
    small = np.diag(np.full(n, np.finfo(dtype).tiny / 4)) + np.diag(np.full(n - 1, np.finfo(dtype).tiny / 8), -1)
    got = reactant.jit(lambda a: np.linalg.slogdet(a)[1], native="always")(small[None].repeat(9, 0).astype(dtype))
    np.testing.assert_allclose(got, n * np.log(np.finfo(dtype).tiny / 4), rtol=1e-6)

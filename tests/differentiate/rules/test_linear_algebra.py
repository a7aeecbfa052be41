"""LAPACK's routines as jax emits them: both modes against differences, each other, and second derivatives."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jaxlib.mlir import ir

import reactant
from reactant.differentiate import requests
from reactant.differentiate.modes.forward import jvp
from reactant.differentiate.modes.reverse import vjp
from reactant.errors import NotDifferentiable
from reactant.frontends.session.jax_calls import call_jax
from reactant.ir import modules, ops
from reactant.ir.context import building
from tests.differentiate.derivative_checks import check, compiled, module_of

RNG = np.random.default_rng(11)


def matrix(*shape):
    return RNG.standard_normal(shape) + 2 * np.eye(*shape[-2:])


def complexes(*shape):
    return matrix(*shape) + 1j * RNG.standard_normal(shape)


def of_jax(function):
    """Ops of values, from a function of jax arrays."""
    def build(*values):
        made = call_jax(function, *values)
        return [made] if isinstance(made, ir.Value) else list(made)
    return build


def lu(a):
    return lax.linalg.lu(a)[0]


def qr(a):
    return lax.linalg.qr(a, full_matrices=False)


def qr_full(a):
    return lax.linalg.qr(a, full_matrices=True)


def qr_pivoted(a):
    return lax.linalg.qr(a, full_matrices=False, pivoting=True)[:2]


def apply_q(a, taus, c):
    return lax.linalg.ormqr(a, taus, c, left=True, transpose=True)


def apply_q_right(a, taus, c):
    return lax.linalg.ormqr(a, taus, c, left=False, transpose=False)


def svd(a):
    return lax.linalg.svd(a, full_matrices=False)


def svd_projections(a):
    """What of the complex svd does not depend on phases."""
    u, s, vh = lax.linalg.svd(a, full_matrices=False)
    return s, (u * s**2) @ u.conj().T, u @ vh, vh.conj().T @ (s[:, None] * vh)


def singular_values(a):
    return lax.linalg.svd(a, full_matrices=True, compute_uv=False)


def svd_by_qr(a):
    return lax.linalg.svd(a, full_matrices=False, algorithm=lax.linalg.SvdAlgorithm.QR)


def left_of_full(a):
    return lax.linalg.svd(a, full_matrices=True)[0]


def eigh(a):
    return lax.linalg.eigh(a, symmetrize_input=False)


def eigh_projections(a):
    v, w = lax.linalg.eigh(a, symmetrize_input=False)
    return w, (v * w**2) @ v.conj().T


def eigenvalues(a):
    return lax.linalg.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


def eig(a):
    return lax.linalg.eig(a)


def tridiagonal(low, middle, up, b):
    return lax.linalg.tridiagonal_solve(low, middle + 6, up, b)


def determinant(a):
    return jnp.linalg.det(a)


def solve(a, b):
    return jnp.linalg.solve(a, b)


def inverse(a):
    return jnp.linalg.inv(a)


def least_squares(a, b):
    return jnp.linalg.lstsq(a, b)[0]


def pseudo_inverse(a):
    return jnp.linalg.pinv(a)


def exponential(a):
    return jax.scipy.linalg.expm(0.3 * a)


ROWS = {
    "lu": (lu, matrix(3, 3)), "lu_tall": (lu, matrix(4, 2)), "lu_wide": (lu, matrix(2, 4)),
    "lu_stack": (lu, matrix(2, 3, 3)), "lu_complex": (lu, complexes(3, 3)),
    "qr": (qr, matrix(4, 3)), "qr_square": (qr, matrix(3, 3)), "qr_wide": (qr, matrix(2, 4)),
    "qr_stack": (qr, matrix(2, 3, 2)), "qr_complex": (qr, complexes(4, 3)), "qr_square_complex": (qr, complexes(3, 3)),
    "qr_full": (qr_full, matrix(4, 2)), "qr_pivoted": (qr_pivoted, matrix(4, 3)),
    "apply_q": (apply_q, matrix(4, 2), np.array([1.3, 1.1]), matrix(4, 3)),
    "apply_q_right": (apply_q_right, complexes(4, 2), np.array([1.3, 1.1 + 0.2j]), complexes(3, 4)),
    "svd": (svd, matrix(3, 3)), "svd_tall": (svd, matrix(4, 2)), "svd_wide": (svd, matrix(2, 2, 4)),
    "svd_complex": (svd_projections, complexes(3, 3)), "svd_complex_tall": (svd_projections, complexes(4, 2)),
    "singular_values": (singular_values, matrix(4, 2)), "svd_by_qr": (svd_by_qr, matrix(3, 2)),
    "eigh": (eigh, matrix(3, 3)), "eigh_stack": (eigh, matrix(2, 2, 2)),
    "eigh_complex": (eigh_projections, complexes(3, 3)),
    "eigenvalues": (eigenvalues, matrix(3, 3)), "eig": (eig, matrix(3, 3)), "eig_complex": (eig, complexes(3, 3)),
    "tridiagonal": (tridiagonal, matrix(1, 4)[0], matrix(1, 4)[0], matrix(1, 4)[0], matrix(4, 2)),
    "solve": (solve, matrix(3, 3), matrix(3, 2)), "solve_complex": (solve, complexes(3, 3), complexes(3, 2)),
    "solve_stack": (solve, matrix(2, 3, 3), matrix(2, 3, 1)),
    "determinant": (determinant, matrix(4, 4)), "inverse": (inverse, complexes(3, 3)),
    "least_squares": (least_squares, matrix(4, 2), matrix(4, 2)), "pseudo_inverse": (pseudo_inverse, matrix(3, 2)),
    "exponential": (exponential, matrix(3, 3)),
}
SECOND_ORDER = {"lu", "lu_wide", "qr", "apply_q", "svd_tall", "svd_complex", "singular_values", "eigh", "eig",
                "tridiagonal", "determinant", "solve"}
"""Second derivatives of the others take long to compile: with `-m slow`."""


LONG = {"exponential", "qr_stack", "qr_square_complex", "qr_full", "svd_complex_tall", "solve_complex", "lu_complex",
        "apply_q_right", "pseudo_inverse"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in ROWS])
def test_derivatives(name):
    function, *arguments = ROWS[name]
    check(module_of(of_jax(function), arguments), arguments, evaluate=compiled,
          order=2 if name in SECOND_ORDER else 1, rtol=3e-5, values_rtol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(ROWS.keys() - SECOND_ORDER))
def test_second_derivatives(name):
    function, *arguments = ROWS[name]
    check(module_of(of_jax(function), arguments), arguments, evaluate=compiled, rtol=3e-5, values_rtol=1e-14)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", ["lu_tall", "qr", "svd_tall", "eigh", "eigenvalues", "tridiagonal"])
def test_single_precision(name):
    function, *arguments = ROWS[name]
    found = []
    for dtype in (np.float64, np.float32):
        given = [a.astype(dtype) for a in arguments]
        module = module_of(of_jax(function), given)
        with building():
            plain = compiled(module, given)
            wanted = [i for i, r in enumerate(plain) if r.dtype.kind in "fc"]
            pulled = compiled(vjp(module, range(len(given)), wanted),
                              [*given, *(np.full(plain[i].shape, 0.5, plain[i].dtype) for i in wanted)])
        found.append(pulled[len(plain):])
    for a, b in zip(*found, strict=True):
        assert b.dtype == np.float32
        np.testing.assert_allclose(b, a, rtol=2e-3, atol=2e-3 * np.abs(a).max())


@pytest.mark.slow
def test_two_sided_complex_pairs():
    """A rotation: both components of each vector are equally long, and only one is real."""
    a = np.array([[0.3, -1.0], [1.0, 0.3]])
    check(module_of(of_jax(eigenvalues), [a]), [a], evaluate=compiled, order=1)
    wide = np.block([[a, 0.1 * np.ones((2, 1))], [0.2 * np.ones((1, 2)), np.array([[3.0]])]])
    check(module_of(of_jax(eig), [wide]), [wide], evaluate=compiled, order=1)


def test_values_alone_are_finite_where_they_are_equal():
    a = np.diag([1.0, 1.0, 2.0])
    with building():
        for function in (singular_values, lambda a: eigh(a)[1]):
            module = module_of(lambda x, f=function: ops.reduce(of_jax(f)(x)[0], 0, (0,), "add"), [a])
            np.testing.assert_allclose(compiled(vjp(module, [0], [0], ones=True), [a])[-1], np.eye(3), atol=1e-12)


def test_arbitrary_vectors_are_refused():
    a = matrix(4, 2)
    module = module_of(of_jax(left_of_full), [a])
    with pytest.raises(NotDifferentiable, match="full_matrices=False"):
        vjp(module, [0], [0])
    with pytest.raises(NotDifferentiable, match="full_matrices=False"):
        jvp(module, [0], [0])


@pytest.mark.sampled(100)
@pytest.mark.parametrize("function, shape", [
    (lambda a: np.linalg.svd(a)[0][:, :2], (5, 2)), (lambda a: np.linalg.svd(a)[2][..., :2, :] ** 2, (2, 2, 5)),
    (lambda a: np.linalg.svd(a)[1], (5, 2)), (lambda a: np.linalg.svd(a)[2], (5, 2)),
    (lambda a: np.linalg.svd(a)[2][-1], (3, 4)), (lambda a: np.linalg.svd(a)[0] ** 2, (2, 3, 2)),
    (lambda a: jnp.linalg.svd(a)[0][:, :2], (5, 2))])
def test_of_all_vectors_those_that_are_determined(function, shape):
    """The first min(m, n), and one more: the normal of a hyperplane, the solution of a homogeneous system."""
    a, t, g = matrix(*shape), RNG.standard_normal(shape), RNG.standard_normal(function(matrix(*shape)).shape)
    with jax.enable_x64(True):
        gradient = lambda x: np.asarray(reactant.vjp(function, x)[1](g)[0])                          # noqa: E731
        expected = (np.asarray(function(a + 1e-5 * t)) - np.asarray(function(a - 1e-5 * t))) / 2e-5
        np.testing.assert_allclose(reactant.jvp(function, (a,), (t,))[1], expected, atol=1e-7)
        np.testing.assert_allclose(np.sum(gradient(a) * t), np.sum(expected * g), atol=1e-7)
        bent = reactant.hvp(lambda x: (function(x) * g).sum(), (a,), (t,))
        np.testing.assert_allclose(bent, (gradient(a + 1e-5 * t) - gradient(a - 1e-5 * t)) / 2e-5, atol=1e-5)


@pytest.mark.parametrize("function", [lambda a: lax.linalg.schur(a)[0], lambda a: lax.linalg.hessenberg(a)[0]])
def test_forms_without_a_rule_say_so(function):
    a = matrix(3, 3)
    with pytest.raises(NotDifferentiable, match="Schur, Hessenberg"):
        vjp(module_of(of_jax(function), [a]), [0], [0])


def test_a_solution_needs_no_derivative_of_the_factors():
    """Four triangular solves (two in each direction), no product of two square matrices."""
    a, b = matrix(5, 5), matrix(5, 1)
    with building():
        made = vjp(module_of(of_jax(solve), [a, b]), [0, 1], [0])
        modules.run_passes(made, "func.func(cse,canonicalize)")
        text = modules.to_text(made)
    assert text.count("trsm") <= 8 and "tensor<5x5xf64>, tensor<5x5xf64>) -> tensor<5x5xf64>" not in [
        line.rpartition(" : ")[2] for line in text.splitlines() if "dot_general" in line]


@pytest.mark.slow
@pytest.mark.parametrize("control", ["scan", "while", "cond"])
def test_a_solution_within_control_flow_needs_no_derivative_of_factors_made_outside(control):
    def solved(a, b):
        factor, _, order = lax.linalg.lu(a)

        def iteration(x):
            x = lax.linalg.triangular_solve(factor, x[order], left_side=True, lower=True, unit_diagonal=True)
            return lax.linalg.triangular_solve(factor, x, left_side=True)

        if control == "scan":
            return lax.scan(lambda x, _: (iteration(x), None), b, None, length=3)[0]
        if control == "while":
            return lax.while_loop(lambda x: x.sum() > 1, iteration, b)
        return lax.cond(b.sum() > 1, iteration, jnp.sin, b)

    a, b = matrix(5, 5) + 4 * np.eye(5), np.abs(matrix(5, 1)) + 1
    module = module_of(of_jax(solved), [a, b])
    lines = reactant.grad(lambda a, b: jnp.sum(solved(a, b) ** 2), (0, 1)).lower(a, b).as_text().splitlines()
    assert not [line for line in lines if "barrier {reactant" in line or ("trsm" in line and line.count("5x5") > 1)]
    check(module, [a, b], evaluate=compiled, order=1, rtol=3e-5)


@pytest.mark.slow
def test_q_and_r_need_no_derivative_of_the_householder_vectors():
    """One solve with R; where the vectors are read as well, theirs is computed."""
    a = matrix(6, 4)

    def packed(a):
        made, taus = jnp.linalg.qr(a, mode="raw")
        return lax.linalg.householder_product(made.mT, taus), made

    with building():
        for function, solves in ((qr, 1), (packed, 2)):
            module = module_of(of_jax(function), [a])
            made = vjp(module, [0], [0, 1])
            modules.run_passes(made, "func.func(cse,canonicalize)")
            text = modules.to_text(made)
            assert (text.count("trsm") == solves) == (solves == 1) and "barrier" not in text
    check(module_of(of_jax(packed), [a]), [a], evaluate=compiled, order=1, rtol=3e-5)


@pytest.mark.slow
def test_r_alone_and_its_diagonal():
    def volumes(a):
        r = lax.linalg.qr(a, full_matrices=False)[1]
        return jnp.log(jnp.abs(jnp.diagonal(r, axis1=-2, axis2=-1))), jnp.triu(r, 1)

    for a in (matrix(4, 3), matrix(2, 3, 3)):
        check(module_of(of_jax(volumes), [a]), [a], evaluate=compiled, rtol=3e-5)


@pytest.mark.slow
def test_determinants_need_no_products():
    """The cotangent of LU is diagonal: two solves, no product of matrices."""
    def logdet(a):
        return jnp.sum(jnp.linalg.slogdet(a)[1] ** 2)

    for a in (matrix(5, 5), matrix(3, 5, 5)):
        with jax.enable_x64(True):
            found = reactant.jit(reactant.grad(logdet))
            assert "stablehlo.dot_general" not in found.lower(a).operations()
            np.testing.assert_allclose(found(a), jax.grad(logdet)(a), rtol=1e-10)


SINGULAR = {"1": np.zeros((1, 1)), "rank 1 of 2": np.array([[1.0, 2.0], [2.0, 4.0]]), "rank 0": np.zeros((3, 3)),
            "two zero pivots": np.eye(3, k=1), "no row alone": np.array([[1.0, 2, 3], [2, 4, 6], [1, 1, 1]]),
            "complex": np.stack([np.outer([1, 2j, 3], [1j, 1, 0]), np.diag([1, 2j, 0]), np.diag([1, 2j, 3 + 1j])])}


@pytest.mark.parametrize("name", SINGULAR)
def test_determinants_of_singular_matrices_have_the_adjugate(name):
    a = SINGULAR[name]
    n = a.shape[-1]
    minors = [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, -2), j, -1)) for j in range(n)]
              for i in range(n)]
    expected = np.moveaxis(np.array(minors), (0, 1), (-2, -1)).reshape(a.shape)
    np.testing.assert_allclose(reactant.grad(lambda a: np.sum(np.linalg.det(a).real))(a), expected, atol=1e-13)
    value, moved = reactant.jvp(np.linalg.det, (a,), (a + 1,))
    np.testing.assert_allclose(value, np.linalg.det(a), atol=1e-15)
    np.testing.assert_allclose(moved, np.sum(expected * (a + 1), axis=(-2, -1)), atol=1e-13)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SINGULAR)
def test_second_derivatives_of_determinants(name):
    """Along two directions: the determinant is a polynomial, and differences of differences are that to rounding."""
    a = SINGULAR[name]
    n = a.shape[-1]
    x, y = (RNG.standard_normal((n, n)) * (1 + 1j if np.iscomplexobj(a) else 1) for _ in range(2))
    steps = np.arange(-n, n + 1) / n
    grid = np.linalg.det(a[..., None, None, :, :] + steps[:, None, None, None] * x + steps[:, None, None] * y)
    slopes = np.linalg.pinv(np.vander(steps, increasing=True))[1]
    expected = np.einsum("...ij,i,j->...", grid, slopes, slopes)
    x, y = np.broadcast_to(x, a.shape), np.broadcast_to(y, a.shape)
    first = lambda a: reactant.jvp(np.linalg.det, (a,), (x,))[1]                                    # noqa: E731
    np.testing.assert_allclose(reactant.jvp(first, (a,), (y,))[1], expected, atol=1e-10)
    weights = np.ones(a.shape[:-2], a.dtype)[()]
    swept = reactant.vjp(first, a)[1](weights)[0]
    np.testing.assert_allclose(np.sum(swept * y, axis=(-2, -1)), expected, atol=1e-10)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("values", [jnp.linalg.eigvalsh, lambda a: jnp.linalg.svd(a, compute_uv=False),
                                    lambda a: jnp.linalg.norm(a, "nuc"), lambda a: jnp.abs(jnp.linalg.eigvals(a))])
def test_one_call_gives_values_and_the_vectors_of_their_derivative(values):
    def loss(a):
        return jnp.sum(values(a) ** 2)

    with jax.enable_x64(True):
        a = jnp.asarray(matrix(5, 5))
        found = reactant.jit(reactant.value_and_grad(loss))
        text = found.lower(a).as_text()
        assert sum(text.count(f"@lapack_{name}_ffi") for name in ("dgesdd", "dsyevd", "dgeev")) == 1
        value, slope = found(a)
        np.testing.assert_allclose(value, loss(a), rtol=1e-12)
        np.testing.assert_allclose(slope, jax.grad(loss)(a), rtol=1e-9, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("a", [np.eye(3), np.stack([2.0 * np.eye(3)[:2], np.ones((2, 3))]),
                               np.array([[1.0, 1j], [1j, 1.0], [2.0, 0.0]])], ids=["equal", "stack", "complex"])
def test_pseudo_inverses(a):
    """At equal singular values, and of constant rank."""
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(np.swapaxes(a, -1, -2).shape)
    along = np.matmul(a, rng.standard_normal((a.shape[-1], a.shape[-1]))).astype(a.dtype)      # keeps the rank

    def f(t):
        return np.sum((np.linalg.pinv(a + t * along) * weights).real)

    h = 1e-5
    first, second = (f(h) - f(-h)) / (2 * h), (f(h) - 2 * f(0.0) + f(-h)) / h ** 2
    gradient = reactant.grad(lambda x: np.sum((np.linalg.pinv(x) * weights).real))(a)
    np.testing.assert_allclose(np.sum(gradient * along).real, first, rtol=1e-6)
    np.testing.assert_allclose(reactant.jvp(f, (0.0,), (1.0,))[1], first, rtol=1e-6)
    np.testing.assert_allclose(reactant.grad(reactant.grad(f))(0.0), second, rtol=1e-3)


@pytest.mark.slow
def test_rules_of_determinants_are_kept_once():
    counts = []
    for n in (1, 2, 3):
        reactant.hessian(lambda a, n=n: np.linalg.det(a) * n)(np.ones((3, 3)))
        counts.append(len(requests.CUSTOM_RULES))
    assert counts[0] == counts[2]

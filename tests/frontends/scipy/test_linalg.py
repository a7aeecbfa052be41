"""`scipy.linalg` in compiled code, against SciPy."""
from __future__ import annotations

import numpy as np
import pytest

import reactant
from tests.frontends.numpy.tables import check_table

linalg = pytest.importorskip("scipy.linalg")

RANDOM = np.random.default_rng(3)
A, B = RANDOM.normal(size=(5, 5)), RANDOM.normal(size=(5, 2))
S = A @ A.T + 5 * np.eye(5)
H = A + 1j * RANDOM.normal(size=(5, 5))
H = H @ H.conj().T + np.eye(5)
TALL = RANDOM.normal(size=(6, 4))

SOLVES = [
    lambda a, s, b: linalg.solve_triangular(s, b), lambda a, s, b: linalg.solve_triangular(s, b[:, 0], lower=True),
    lambda a, s, b: linalg.solve_triangular(s, b, trans=1, unit_diagonal=True),
    lambda a, s, b: linalg.solve_triangular(s, b, trans="C", lower=True),
    lambda a, s, b: linalg.cholesky(s), lambda a, s, b: linalg.cholesky(s, lower=True),
    lambda a, s, b: linalg.cho_factor(s)[0], lambda a, s, b: linalg.cho_factor(s, lower=True)[0],
    lambda a, s, b: linalg.cho_solve(linalg.cho_factor(s), b),
    lambda a, s, b: linalg.cho_solve(linalg.cho_factor(s, lower=True), b[:, 1]),
    lambda a, s, b: linalg.cho_solve((linalg.cholesky(s, lower=True), True), b),
    lambda a, s, b: linalg.lu_factor(a), lambda a, s, b: linalg.lu(a), lambda a, s, b: linalg.lu(a, permute_l=True),
    lambda a, s, b: linalg.lu(a, p_indices=True), lambda a, s, b: linalg.lu(a[:3]), lambda a, s, b: linalg.lu(a[:, :3]),
    lambda a, s, b: linalg.lu_solve(linalg.lu_factor(a), b), lambda a, s, b: linalg.lu_solve(linalg.lu_factor(a), b, 1),
    lambda a, s, b: linalg.lu_solve(linalg.lu_factor(a), b[:, 0], 2),
    lambda a, s, b: linalg.solve(a, b), lambda a, s, b: linalg.solve(s, b[:, 0], assume_a="pos"),
    lambda a, s, b: linalg.solve(a, b, assume_a="sym", lower=True), lambda a, s, b: linalg.solve(a, b, transposed=True),
    lambda a, s, b: linalg.inv(a), lambda a, s, b: linalg.det(a)]
SPECTRA = [
    lambda a, s: linalg.eigh(s, eigvals_only=True), lambda a, s: linalg.eigvalsh(s, lower=False),
    lambda a, s: linalg.eigh(s, subset_by_index=[1, 3])[0], lambda a, s: np.abs(linalg.eigh(s)[1]),
    lambda a, s: linalg.svd(a)[1], lambda a, s: [np.abs(x) for x in linalg.svd(a, full_matrices=False)],
    lambda a, s: linalg.svdvals(a), lambda a, s: linalg.svd(a, compute_uv=False),
    lambda a, s: linalg.qr(a), lambda a, s: linalg.qr(a, mode="economic"), lambda a, s: linalg.qr(a, mode="r"),
    lambda a, s: linalg.pinv(a), lambda a, s: linalg.pinv(a @ np.diag([1.0, 1, 0, 1]), return_rank=True),
    lambda a, s: linalg.lstsq(a, a[:, 0] ** 2), lambda a, s: linalg.lstsq(a, a**2),
    lambda a, s: linalg.lstsq(a.T, a[:4]),    lambda a, s: linalg.lstsq(a @ np.diag([1.0, 1, 0, 1]), a[:, 0])[::2],
    lambda a, s: linalg.lstsq(a, a[:, 1] ** 2, cond=0.5)[0],
    lambda a, s: linalg.expm(0.3 * s), lambda a, s: linalg.norm(a), lambda a, s: linalg.norm(a, 1, axis=0),
    lambda a, s: linalg.norm(a, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("s", [S, H], ids=["real", "complex"])
def test_solves(s):
    check_table(SOLVES, A + 0 * s, s, B, rtol=1e-8, atol=1e-9)


@pytest.mark.slow
def test_single_precision():
    check_table(SOLVES, *(x.astype("f") for x in (A, S, B)), rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_spectra():
    check_table(SPECTRA, TALL, S, rtol=1e-8, atol=1e-9)


@pytest.mark.slow
def test_errors():
    check_table([lambda a: linalg.cholesky(a), lambda a: linalg.solve(a * 0, a), lambda a: linalg.inv(a / 0),
                 lambda a: linalg.solve_triangular(a * 0, a[0]), lambda a: linalg.det(a[:2])], -S)


@pytest.mark.parametrize("f, text", [
    (lambda a: linalg.qr(a, pivoting=True), "pivoting"), (lambda a: linalg.solve(a, a, assume_a="banded"), "assume_a"),
    (lambda a: linalg.inv(a[None]), "Use np.linalg for stacks"), (lambda a: linalg.eigh(a, a), "two matrices")])
def test_refusals(f, text):
    with pytest.raises(reactant.UnsupportedError, match=text):
        reactant.jit(f)(S)


@pytest.mark.slow
def test_solutions_by_the_array_api():
    from scipy._lib.array_api_compat.numpy.linalg import solve
    check_table([lambda a: solve(a, a[0]), lambda a: solve(a, a[:2].T), lambda a: solve(a[None], a.T)], S, rtol=1e-8)

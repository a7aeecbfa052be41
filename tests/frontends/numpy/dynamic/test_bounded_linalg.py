"""`numpy.linalg` of matrices whose size is only known at run time."""
import numpy as np
import pytest

import reactant


def counted(limit):
    k = 0
    while k < limit:
        k += 1
    return k


def systems(a, b, limit):
    k = counted(limit)
    h = a[..., :k, :k]
    out = np.zeros((*a.shape[:-2], 6, b.shape[-1]), np.result_type(a, b))
    out[..., 0, :k] = np.linalg.solve(h, b[:k, None])[..., 0]
    out[..., 1, :k] = np.linalg.solve(h, np.stack([b, 2 * b], 1)[:k])[..., 1]
    out[..., 2, 0] = np.linalg.det(h)
    out[..., 2, 1] = np.linalg.slogdet(h)[1]
    out[..., 3, :k] = np.linalg.inv(h).sum(axis=-2)
    out[..., 4, :k] = np.linalg.cholesky(h).sum(axis=-1)
    out[..., 5, :k] = np.linalg.matrix_power(h, 3).sum(axis=-1)
    return out


def spectra(a, b, limit):
    k = counted(limit)
    h = 1e-9 * a[:k, :k]
    values, vectors = np.linalg.eigh(h)
    out = np.zeros((4, len(b)), np.result_type(a, b))
    out[0, :k] = 1e9 * values
    out[1, :k] = 1e9 * np.linalg.eigvalsh(h, "U")
    out[2, :k] = (vectors * values) @ np.conj(vectors.T) @ b[:k] * 1e9
    out[3, :k] = np.linalg.svdvals(a[:k])[:k]
    return out


def least_squares(a, b, rows, columns):
    m, n = counted(rows), counted(columns)
    h = a[:m, 1:n + 1]
    x, _, rank, s = np.linalg.lstsq(h, b[:m], rcond=None)
    out = np.zeros((3, len(b)), np.result_type(a, b))
    out[0, :n], out[1, :n] = x, np.linalg.pinv(h) @ b[:m]
    out[2, 0], out[2, 1], out[2, 2] = rank, s.sum(), np.linalg.svd(h, compute_uv=False).max()
    out[2, 3] = np.linalg.matrix_rank(h)
    return out


def diagonals(d, limit, offset):
    k = counted(limit)
    made = np.diag(d[:k], offset)
    out = np.zeros((4, 2 * len(d)))
    n = made.shape[0]
    out[0, :n] = made.sum(axis=0) - np.arange(10)[:n]
    out[1, :n] = (np.tril(made @ made.T, -1) + np.triu(np.outer(made.sum(axis=1), made.sum(axis=0)))).sum(axis=0)
    inner = np.diag(np.outer(d, d + 1)[:k, 1:], offset)
    out[2, :inner.shape[0]] = inner
    return out


def lanczos(matrix, start, limit):
    v, before, beta = start / np.linalg.norm(start), np.zeros_like(start), 0.0
    alphas, betas = [], []
    for k in range(len(start)):
        w = matrix @ v - beta * before
        alphas.append(w @ v)
        w = w - alphas[-1] * v
        beta = np.linalg.norm(w)
        if beta < limit or k == len(start) - 1:
            break
        betas.append(beta)
        before, v = v, w / beta
    return np.linalg.eigvalsh(np.diag(alphas) + np.diag(betas, 1) + np.diag(betas, -1))[-1]


def gmres(matrix, right, limit):
    """With a Hessenberg matrix whose leading block is solved."""
    x = np.zeros_like(right)
    beta = np.linalg.norm(right)
    basis, h = [right / beta], np.zeros((6, 5))
    for k in range(5):
        w = matrix @ basis[k]
        for j in range(k + 1):
            h[j, k] = w @ basis[j]
            w = w - h[j, k] * basis[j]
        h[k + 1, k] = np.linalg.norm(w)
        if h[k + 1, k] < limit:
            break
        basis.append(w / h[k + 1, k])
    first = np.zeros(6)
    first[0] = beta
    y = np.linalg.lstsq(h[:k + 2, :k + 1], first[:k + 2], rcond=None)[0]
    for j in range(k + 1):
        x = x + y[j] * basis[j]
    return x


RNG = np.random.default_rng(0)
POSITIVE = RNG.standard_normal((2, 6, 6))
POSITIVE = POSITIVE @ np.swapaxes(POSITIVE, -1, -2) + 2 * np.eye(6)
RIGHT = RNG.standard_normal(6)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128], ids=lambda d: d.__name__)
def test_systems(dtype):
    compiled = reactant.jit(systems)
    phases = np.exp(1j * np.subtract.outer(np.arange(6), np.arange(6))) if dtype is np.complex128 else 1
    a, b = (POSITIVE * phases).astype(dtype), RIGHT.astype(dtype)
    for limit in (0, 1, 3, 6):
        for given in (a, a[0]):
            found = compiled(given, b, np.int64(limit))
            np.testing.assert_allclose(found, systems(given, b, limit), rtol=2e-4 if dtype is np.float32 else 1e-10)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128], ids=lambda d: d.__name__)
def test_spectra(dtype):
    compiled = reactant.jit(spectra)
    phases = np.exp(1j * np.subtract.outer(np.arange(6), np.arange(6))) if dtype is np.complex128 else 1
    a = ((POSITIVE[0] - 5 * np.eye(6)) * phases).astype(dtype)
    for given in (a, np.zeros_like(a)):
        for limit in (0, 1, 4, 6):
            np.testing.assert_allclose(compiled(given, RIGHT, np.int64(limit)), spectra(given, RIGHT, limit),
                                       rtol=1e-9, atol=1e-11)


def test_least_squares():
    compiled = reactant.jit(least_squares)
    deficient = np.concatenate([POSITIVE[0][:, :2], POSITIVE[0][:, :2], POSITIVE[0][:, :2]], 1)
    for a in (POSITIVE[0], deficient):
        for m, n in ((2, 5), (5, 2), (3, 3), (1, 1), (6, 5)):
            np.testing.assert_allclose(compiled(a, RIGHT, np.int64(m), np.int64(n)), least_squares(a, RIGHT, m, n),
                                       rtol=1e-7, atol=1e-9)


@pytest.mark.slow
def test_diagonals():
    compiled = reactant.jit(diagonals)
    for offset in (0, 1, -2):
        for limit in (0, 1, 3, 5):
            np.testing.assert_allclose(compiled(RIGHT[:5], np.int64(limit), offset),
                                       diagonals(RIGHT[:5], limit, offset), rtol=1e-12)


@pytest.mark.parametrize("function", [lanczos, gmres], ids=lambda f: f.__name__)
def test_programs(function):
    compiled = reactant.jit(function)
    for limit in (1e-10, 0.3, 1.5, 100.0):
        np.testing.assert_allclose(compiled(POSITIVE[0], RIGHT, limit), function(POSITIVE[0], RIGHT, limit), rtol=1e-8)


@pytest.mark.slow
def test_gradient():
    def value(a, b, limit):
        k = counted(limit)
        return np.sum(np.linalg.solve(a[:k, :k], b[:k]) ** 2) + np.linalg.slogdet(a[:k, :k])[1]
    found = reactant.grad(value)(POSITIVE[0], RIGHT, np.int64(4))
    for i, j in ((0, 0), (2, 1), (3, 3), (4, 2)):
        step = np.zeros((6, 6))
        step[i, j] = 1e-6
        wanted = (value(POSITIVE[0] + step, RIGHT, 4) - value(POSITIVE[0] - step, RIGHT, 4)) / 2e-6
        np.testing.assert_allclose(found[i, j], wanted, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_what_does_not_fit_raises():
    def rectangle(a, m, n):
        return np.linalg.det(a[:counted(m), :counted(n)])

    def longer(a, m, n):
        return np.sum(np.linalg.solve(a[:counted(m), :counted(m)], a[0, :counted(n)]))
    compiled = reactant.jit(rectangle)
    np.testing.assert_allclose(compiled(POSITIVE[0], np.int64(3), np.int64(3)), np.linalg.det(POSITIVE[0][:3, :3]))
    with pytest.raises(np.linalg.LinAlgError, match="must be square"):
        compiled(POSITIVE[0], np.int64(3), np.int64(2))
    with pytest.raises(ValueError, match="another length"):
        reactant.jit(longer)(POSITIVE[0], np.int64(3), np.int64(2))
    with pytest.raises(np.linalg.LinAlgError, match="at least two-dimensional"):
        reactant.jit(lambda a, m: np.linalg.inv(a[0, :counted(m)]))(POSITIVE[0], np.int64(2))
    with pytest.raises(reactant.UnsupportedError, match="Stacks of a run-time number"):
        reactant.jit(rectangle)(POSITIVE, np.int64(1), np.int64(2))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        reactant.jit(longer)(np.ones((3, 3)), np.int64(2), np.int64(2))
    with pytest.raises(reactant.UnsupportedError, match="residuals"):
        reactant.jit(lambda a, m: np.linalg.lstsq(a[:counted(m)], a[:counted(m), 0], rcond=None)[1] + 1)(
            POSITIVE[0], np.int64(2))


def chosen(x, limit):
    places = []
    for i in range(len(x)):
        if x[i] > limit:
            places.append(i)
    return places


def test_lists_of_run_time_length_are_indices():
    def read(x, limit):
        places = chosen(x, limit)
        return np.sum(x[places]), np.outer(x, x + 1)[:, places] @ x[places], np.take(x, places).sum()

    def written(x, limit):
        places, y, z = chosen(x, limit), x.copy(), np.outer(x, x)
        y[places] += x[places] * 2
        z[places] = 0
        z[:, places] = 1
        return y, z
    for function in (read, written):
        compiled = reactant.jit(function)
        for limit in (-9.0, 0.0, 9.0):
            for found, wanted in zip(compiled(RIGHT, limit), function(RIGHT, limit), strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-12)

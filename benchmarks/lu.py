"""LU factorisation in place without pivoting (Doolittle), and the solution of one system with it.

The slices shrink with the loop index: column k below the diagonal, then the rank-one update of the trailing block.
"""
import numpy as np

SIZES = {"full": 640, "tiny": 8}


def factorise(a):
    """Overwrite `a`, (n, n), by its factors: U on and above the diagonal, L (unit diagonal) below."""
    n = len(a)
    for k in range(n - 1):
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])


def solve(a, b):
    """Factorise `a` in place, then forward and back substitution: x with A x = b."""
    n = len(a)
    factorise(a)
    x = b.copy()
    for i in range(n):
        x[i] -= a[i, :i] @ x[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - a[i, i + 1:] @ x[i + 1:]) / a[i, i]
    return x


def make(size="full"):
    n = SIZES[size]
    random = np.random.default_rng(6)
    a = random.standard_normal((n, n)) + n * np.eye(n)  # diagonally dominant: no pivoting needed
    return solve, (a, random.standard_normal(n))


def numba_function():
    from numba import njit

    @njit
    def solve_loops(a, b):
        n = len(a)
        for k in range(n - 1):
            for i in range(k + 1, n):
                a[i, k] /= a[k, k]
                factor = a[i, k]
                for j in range(k + 1, n):
                    a[i, j] -= factor * a[k, j]
        x = b.copy()
        for i in range(n):
            for j in range(i):
                x[i] -= a[i, j] * x[j]
        for i in range(n - 1, -1, -1):
            for j in range(i + 1, n):
                x[i] -= a[i, j] * x[j]
            x[i] /= a[i, i]
        return x

    return solve_loops

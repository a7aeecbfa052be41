"""Conjugate gradients for Poisson's equation on a square, -laplacian(x) = b, x = 0 outside, without a matrix.

Source: M. R. Hestenes and E. Stiefel, Methods of conjugate gradients for solving linear systems (1952).
"""
import numpy as np

SIZES = {"full": (256, 2000), "tiny": (6, 50)}


def apply_operator(x):
    """The five-point stencil of -laplacian with zero outside the grid."""
    result = 4.0 * x
    result[1:, :] -= x[:-1, :]
    result[:-1, :] -= x[1:, :]
    result[:, 1:] -= x[:, :-1]
    result[:, :-1] -= x[:, 1:]
    return result


def solve(b, tolerance, limit):
    """x with |b - A x| <= tolerance |b|, and the number of turns it took (at most `limit`)."""
    x = np.zeros_like(b)
    residual = b.copy()
    direction = residual.copy()
    squared = np.sum(residual * residual)
    goal = tolerance**2 * squared
    iterations = 0
    while squared > goal and iterations < limit:
        image = apply_operator(direction)
        step = squared / np.sum(direction * image)
        x += step * direction
        residual -= step * image
        previous = squared
        squared = np.sum(residual * residual)
        direction *= squared / previous
        direction += residual
        iterations += 1
    return x, iterations


def make(size="full"):
    n, limit = SIZES[size]
    random = np.random.default_rng(4)
    return solve, (random.standard_normal((n, n)), 1e-8, limit)


def numba_function():
    from numba import njit

    @njit
    def solve_loops(b, tolerance, limit):
        n, m = b.shape
        x = np.zeros_like(b)
        residual = b.copy()
        direction = b.copy()
        image = np.zeros_like(b)
        squared = np.sum(b * b)
        goal = tolerance**2 * squared
        iterations = 0
        while squared > goal and iterations < limit:
            curvature = 0.0
            for i in range(n):
                for j in range(m):
                    value = 4.0 * direction[i, j]
                    if i > 0:
                        value -= direction[i - 1, j]
                    if i < n - 1:
                        value -= direction[i + 1, j]
                    if j > 0:
                        value -= direction[i, j - 1]
                    if j < m - 1:
                        value -= direction[i, j + 1]
                    image[i, j] = value
                    curvature += direction[i, j] * value
            step = squared / curvature
            previous = squared
            squared = 0.0
            for i in range(n):
                for j in range(m):
                    x[i, j] += step * direction[i, j]
                    residual[i, j] -= step * image[i, j]
                    squared += residual[i, j] * residual[i, j]
            for i in range(n):
                for j in range(m):
                    direction[i, j] = direction[i, j] * (squared / previous) + residual[i, j]
            iterations += 1
        return x, iterations

    return solve_loops

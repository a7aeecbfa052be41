"""Monte Carlo price of an Asian call under Heston's stochastic volatility, knocked out at a barrier.

    dv = kappa (theta - v) dt + xi sqrt(v) dZ2,    dS = S (r dt + sqrt(v) dZ1),    corr(dZ1, dZ2) = rho
    payoff = max(mean(S) - strike, 0) unless some S > barrier

Euler steps with full truncation of the variance. The normal variates come in as an argument, drawn with a seed, so that
every run sees the same paths.
Source: Lord, Koekkoek and van Dijk, A comparison of biased simulation schemes for stochastic volatility models.
"""
import numpy as np

SIZES = {"full": (2, 100, 80000), "tiny": (2, 6, 20)}


def price(normals, spot, strike, barrier, rate, years, kappa, theta, xi, rho):
    """Discounted mean payoff and its standard error, from `normals` of shape (2, steps, paths)."""
    _, steps, paths = normals.shape
    dt = years / steps
    value = np.full(paths, spot)
    variance = np.full(paths, theta)
    total = np.zeros(paths)
    alive = np.ones(paths, dtype=bool)
    for step in range(steps):
        first = normals[0, step]
        second = rho * first + np.sqrt(1.0 - rho**2) * normals[1, step]
        positive = np.maximum(variance, 0.0)
        value *= np.exp((rate - 0.5 * positive) * dt + np.sqrt(positive * dt) * first)
        variance += kappa * (theta - positive) * dt + xi * np.sqrt(positive * dt) * second
        total += value
        alive &= value <= barrier
    payoff = np.maximum(total / steps - strike, 0.0)
    payoff[~alive] = 0.0
    payoff *= np.exp(-rate * years)
    return payoff.mean(), payoff.std(ddof=1) / np.sqrt(paths)


def make(size="full"):
    normals = np.random.default_rng(8).standard_normal(SIZES[size])
    return price, (normals, 100.0, 100.0, 140.0, 0.03, 1.0, 2.0, 0.04, 0.3, -0.7)


def numba_function():
    from numba import njit

    @njit
    def price_loops(normals, spot, strike, barrier, rate, years, kappa, theta, xi, rho):
        _, steps, paths = normals.shape
        dt = years / steps
        discount = np.exp(-rate * years)
        value = np.full(paths, spot)
        variance = np.full(paths, theta)
        total = np.zeros(paths)
        alive = np.ones(paths, dtype=np.bool_)
        for step in range(steps):
            for path in range(paths):
                first = normals[0, step, path]
                second = rho * first + np.sqrt(1.0 - rho**2) * normals[1, step, path]
                positive = max(variance[path], 0.0)
                root = np.sqrt(positive * dt)
                value[path] *= np.exp((rate - 0.5 * positive) * dt + root * first)
                variance[path] += kappa * (theta - positive) * dt + xi * root * second
                total[path] += value[path]
                alive[path] &= value[path] <= barrier
        payoff = np.zeros(paths)
        for path in range(paths):
            if alive[path]:
                payoff[path] = max(total[path] / steps - strike, 0.0) * discount
        mean = payoff.mean()
        return mean, np.sqrt(np.sum((payoff - mean) ** 2) / (paths - 1)) / np.sqrt(paths)

    return price_loops

"""Whole programs for `benchmarks/improve.py`, written as one would from the formulas in a textbook."""
from __future__ import annotations

import numpy as np
from scipy.special import erf


def black_scholes(price, strike, years, rate, volatility):
    """Prices of European calls. Source: Black and Scholes, J. Political Economy 81 (1973), equation 13."""
    spread = volatility * np.sqrt(years)
    first = (np.log(price / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    second = first - spread
    normal = [0.5 * (1 + erf(each * np.float32(np.sqrt(0.5)))) for each in (first, second)]
    return price * normal[0] - strike * np.exp(-rate * years) * normal[1]


def n_body(place, speed, mass):
    """Stars under their gravity, softened; leapfrog steps."""
    for _ in range(5):
        apart = place[None] - place[:, None]
        square = (apart * apart).sum(-1) + 1e-4
        pull = (mass[None, :, None] * apart * (square ** -1.5)[:, :, None]).sum(1)
        speed = speed + 1e-3 * pull
        place = place + 1e-3 * speed
    return place, speed


def kalman(seen, noise):
    """Filters of slowly varying levels, one a channel, with precise sensors: estimates and their variances."""
    level, variance = np.zeros(seen.shape[1]), np.ones(seen.shape[1])
    for k in range(seen.shape[0]):
        variance = variance + 1e-4
        gain = variance / (variance + noise)
        level = level + gain * (seen[k] - level)
        variance = (1 - gain) * variance
    return level, variance


def hyperelastic(strain, stiffness):
    """Energy of neo-Hookean bars, incompressible, by strain. Source: Ogden, Non-Linear Elastic Deformations, 1984."""
    stretch = 1 + strain
    return 0.5 * stiffness * (stretch * stretch + 2 / stretch - 3)


def spectral(field, rate):
    """A reaction and diffusion equation on a circle by exponential time differencing. Source: Cox and Matthews, J.
    Comp. Phys. 176 (2002), equation 4."""
    step = 1e-3
    z = -rate * step
    grown, weight = np.exp(z), (np.exp(z) - 1) / z
    for _ in range(20):
        reaction = field - field * field * field
        field = np.fft.irfft(grown * np.fft.rfft(field) + step * weight * np.fft.rfft(reaction), len(field))
    return field, weight


def relativity(speed, mass):
    """Kinetic energies of particles, speeds in parts of that of light."""
    return mass * (1 / np.sqrt(1 - speed * speed) - 1)


def radiation(frequency, temperature):
    """Planck's spectrum, in units in which all constants are 1."""
    return 2 * frequency * frequency * frequency / (np.exp(frequency / temperature) - 1)


def phonons(wave, stiffness):
    """Frequencies of a chain of masses. Source: Kittel, Introduction to Solid State Physics, chapter 4, equation 7."""
    return np.sqrt(2 * stiffness * (1 - np.cos(wave)))


def loans(amount, rate, periods):
    """The payment for each period of a loan, by rate of a period."""
    return amount * rate / (1 - (1 + rate) ** -periods)


def interferometer(arm, shift):
    """How much longer a path is whose end moved aside."""
    return np.sqrt(arm * arm + shift * shift) - arm


def energy(strain):
    """A part of a hyperelastic energy by strain."""
    return -0.5 * np.log(1 - strain)


RANDOM = np.random.default_rng(0)
N = 20000


def _even(low: float, high: float, count: int = N) -> np.ndarray:
    return RANDOM.uniform(low, high, count)


def _wide(low: float, high: float, count: int = N) -> np.ndarray:
    return 10 ** RANDOM.uniform(np.log10(low), np.log10(high), count)


PROGRAMS = {
    "black_scholes": (black_scholes, lambda: [np.float32(_even(*each)) for each in
                                              ((50, 150), (50, 150), (0.1, 2), (0.01, 0.05), (0.1, 0.4))]),
    "n_body": (n_body, lambda: [RANDOM.standard_normal((200, 3)), RANDOM.standard_normal((200, 3)), _even(0, 1, 200)]),
    "kalman": (kalman, lambda: [RANDOM.standard_normal((50, 1000)), _wide(1e-8, 1e-5, 1000)]),
    "hyperelastic": (hyperelastic, lambda: [_wide(1e-6, 1e-2), _even(1, 2)]),
    "spectral": (spectral, lambda: [np.sin(np.linspace(0, 6, 1024)), 0.1 + 1e-6 * np.arange(513.0) ** 2]),
    "relativity": (relativity, lambda: [_wide(1e-6, 1e-2), _even(1, 2)]),
    "radiation": (radiation, lambda: [_wide(1e-6, 1.0), _even(1, 10)]),
    "phonons": (phonons, lambda: [_wide(1e-6, 1.0), _even(1, 2)]),
    "loans": (loans, lambda: [_even(1e3, 1e5), _wide(1e-7, 1e-3), np.floor(_even(12, 360))]),
    "interferometer": (interferometer, lambda: [_even(1e3, 5e3), _wide(1e-4, 1e-1)]),
    "energy": (energy, lambda: [_wide(1e-4, 0.2)]),
}
"""By names: a function, and what makes its arguments."""

"""A mock catalogue, and the log-density of all of its galaxies and of the dust that they share; plain NumPy."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .spectra import BANDS, Library, fluxes, library

NAMES = ("log10 of mass", "log of start", "log of decay", "log of attenuation", "log of redshift")
"""Of a galaxy, in units of `SPREAD` from `MIDDLE`; attenuation: in those of the population of galaxies."""
MIDDLE = np.array([10.3, 1.3, 0.3, 0.0, -0.35])
SPREAD = np.array([0.5, 0.4, 0.5, 1.0, 0.45])
"""Normal distributions that are known beforehand: suns, Gyr, Gyr, magnitudes."""
POPULATION = np.array([-0.7, 0.5]), np.array([0.5, 0.3])
"""Beforehand of the population's dust: means and deviations of the mean, and of the log of the spread, of its log."""


@dataclass
class Catalogue:
    """Fluxes and their errors, (galaxies, filters), microjansky, and the `truth`, as `log_density`
    takes it."""

    flux: np.ndarray
    error: np.ndarray
    truth: np.ndarray
    tables: Library


def split(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(galaxies, 5) of galaxies and (2,) of the population, all normally distributed beforehand."""
    return state[2:].reshape(-1, len(NAMES)), state[:2]


def physical(state: np.ndarray) -> tuple[np.ndarray, ...]:
    """Mass, start, decay, attenuation and redshift of each galaxy, as `fluxes` takes them."""
    galaxies, population = split(state)
    mean, log_spread = POPULATION[0] + POPULATION[1] * population
    mass, start, decay, _, redshift = (MIDDLE + SPREAD * galaxies).T
    attenuation = np.exp(mean + np.exp(log_spread - 1.0) * galaxies[:, 3])
    return 10.0**mass, np.exp(start), np.exp(decay), attenuation, np.exp(redshift)


def log_density(state: np.ndarray, flux: np.ndarray, error: np.ndarray, tables: Library) -> float:
    """Of the posterior, but for a constant: all that is not known, beforehand normal, and fluxes with normal errors."""
    expected = fluxes(*physical(state), tables)
    return -0.5 * np.sum(((flux - expected) / error) ** 2) - 0.5 * np.sum(state**2)


def mock(galaxies: int, seed: int = 0, noise: float = 0.1) -> Catalogue:
    """Galaxies drawn from what is known beforehand, seen with errors of 10 % and of 0.02 microjansky."""
    random, tables = np.random.default_rng(seed), library()
    truth = np.clip(random.standard_normal(2 + len(NAMES) * galaxies), -2.0, 2.0)
    clean = fluxes(*physical(truth), tables)
    error = np.hypot(noise * clean, 0.02)
    return Catalogue(clean + error * random.standard_normal((galaxies, len(BANDS))), error, truth, tables)

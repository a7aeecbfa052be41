"""Spectra of galaxies through filters: a synthetic library of stars of one age, dust, redshift; plain NumPy."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BANDS = {"u": (3200.0, 4000.0), "g": (4000.0, 5520.0), "r": (5520.0, 6910.0), "i": (6910.0, 8180.0),
         "z": (8180.0, 9220.0), "y": (9220.0, 10600.0), "J": (11700.0, 13300.0), "H": (14900.0, 17800.0)}
"""Filters like those of LSST and two infrared ones: where they let half of the light through, angstrom."""
SUN = 3.828e33
"""Luminosity, erg/s."""
MEGAPARSEC = 3.0857e24
"""Centimetres."""
PER_KILOMETRE_PER_SECOND = 299792.458 / 70.0
"""Speed of light over Hubble's constant, megaparsec."""
MATTER = 0.3
"""Of the density today; the rest is a cosmological constant."""


@dataclass
class Library:
    """Tables on wavelengths at rest.

    wave: (wavelengths,), angstrom. ages: (ages,), Gyr, with `widths` between their middles. light: of stars that
    formed in one solar mass that long ago, (ages, wavelengths), erg/s/angstrom. dust: attenuation over that of 5500
    angstrom, (wavelengths,). curve_wave, curves: transmission of filters, (points,) and (filters, points). far:
    redshifts and distances, (2, points), megaparsec.
    """

    wave: np.ndarray
    ages: np.ndarray
    widths: np.ndarray
    light: np.ndarray
    dust: np.ndarray
    curve_wave: np.ndarray
    curves: np.ndarray
    far: np.ndarray


def planck(wave: np.ndarray, temperature: np.ndarray) -> np.ndarray:
    """A black body's spectrum with area 1, per angstrom."""
    x = 1.43877e8 / (wave * temperature)
    return 15.0 / np.pi**4 * x**4 / np.expm1(np.minimum(x, 500.0)) / wave


def library(wavelengths: int = 400, ages: int = 40) -> Library:
    """Stars as black bodies: Salpeter's numbers, luminosity as mass**3.5, temperature as mass**0.57, ten billion years
    for the Sun; a tenth of the light of each age is that of giants. Hydrogen takes half of what is below 912 angstrom
    and a fifth below 3646 from stars that are old enough.

    Source: Salpeter, Astrophysical Journal 121 (1955); dust: Calzetti et al., Astrophysical Journal 533 (2000).
    """
    wave = np.geomspace(800.0, 18000.0, wavelengths)
    edges = np.geomspace(0.003, 13.5, ages + 1)
    middle = np.sqrt(edges[1:] * edges[:-1])
    mass = np.geomspace(0.1, 60.0, 300)
    number = mass**-2.35 * np.gradient(mass)
    number /= np.sum(number * mass)
    alive = 1.0 / (1.0 + np.exp(-(np.log(10.0 * mass**-2.5) - np.log(middle)[:, None]) / 0.05))
    spectra = SUN * mass[:, None] ** 3.5 * planck(wave, 5772.0 * mass[:, None] ** 0.57)
    dwarfs = (number * alive) @ spectra
    giants = planck(wave, np.array(4200.0)) * 0.35 * np.trapezoid(dwarfs, wave, axis=1)[:, None]
    light = dwarfs + giants
    edge = 1.0 - 0.35 * (wave < 3646.0) * (1.0 - np.exp(-middle / 0.3))[:, None]
    light = light * edge * np.where(wave < 912.0, 0.05, 1.0)
    micron = wave / 1e4
    blue = 2.659 * (-2.156 + 1.509 / micron - 0.198 / micron**2 + 0.011 / micron**3) + 4.05
    red = 2.659 * (-1.857 + 1.040 / micron) + 4.05
    curve_wave = np.linspace(2800.0, 19000.0, 1621)
    curves = np.array([1.0 / (1.0 + np.exp((low - curve_wave) / 40.0)) / (1.0 + np.exp((curve_wave - high) / 40.0))
                       for low, high in BANDS.values()])
    redshift = np.linspace(0.0, 4.0, 2001)
    step = 1.0 / np.sqrt(MATTER * (1.0 + redshift) ** 3 + 1.0 - MATTER)
    path = np.concatenate([[0.0], np.cumsum(0.5 * (step[1:] + step[:-1]) * np.diff(redshift))])
    far = np.stack([redshift, PER_KILOMETRE_PER_SECOND * path * (1.0 + redshift)])
    return Library(wave, middle, np.diff(edges), light, np.where(micron < 0.63, blue, np.maximum(red, 0.0)) / 4.05,
                   curve_wave, curves, far)


def formed(start: np.ndarray, decay: np.ndarray, tables: Library) -> np.ndarray:
    """Part of a galaxy's stars by age, (galaxies, ages): t exp(-t / decay) since the start, Gyr ago."""
    since = np.maximum(start[:, None] - tables.ages, 0.0)
    stars = since * np.exp(-since / decay[:, None]) * tables.widths
    return stars / stars.sum(axis=1, keepdims=True)


def fluxes(mass: np.ndarray, start: np.ndarray, decay: np.ndarray, attenuation: np.ndarray, redshift: np.ndarray,
           tables: Library) -> np.ndarray:
    """What filters let through of galaxies.

    Args:
        mass: of the stars, suns.
        start: of star formation, Gyr ago; and `decay`, Gyr.
        attenuation: by dust at 5500 angstrom, magnitudes.
        redshift: below 4. Each is (galaxies,).
        tables: the library.

    Returns:
        (galaxies, filters), microjansky.
    """
    rest = mass[:, None] * (formed(start, decay, tables) @ tables.light)
    rest = rest * 10.0 ** (-0.4 * attenuation[:, None] * tables.dust)
    stretched = tables.wave * (1.0 + redshift[:, None])
    distance = MEGAPARSEC * np.interp(redshift, tables.far[0], tables.far[1])
    seen = rest / ((1.0 + redshift[:, None]) * 4.0 * np.pi * distance[:, None] ** 2)
    found = []
    for curve in tables.curves:
        passed = np.interp(stretched, tables.curve_wave, curve, left=0.0, right=0.0)
        photons = np.trapezoid(seen * passed * stretched, stretched, axis=1)
        found.append(photons / np.trapezoid(2.99792458e18 * passed / stretched, stretched, axis=1))
    return 1e29 * np.stack(found, axis=1)

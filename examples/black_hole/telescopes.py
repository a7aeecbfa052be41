"""Eight stations like those of April 2017, a synthetic ring, and what they would have observed of it."""
from __future__ import annotations

import contextlib
import io
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):     # a greeting, and that it found no NFFT
    warnings.simplefilter("ignore")
    import ehtim.array
    import ehtim.const_def
    import ehtim.image
    import ehtim.imaging.imager_utils as imager

STATIONS = {
    "ALMA": (2225061.164, -5440057.37, -2481681.15, 74.0),
    "APEX": (2225039.53, -5441197.63, -2479303.36, 4700.0),
    "JCMT": (-5464584.68, -2493001.17, 2150653.98, 10500.0),
    "LMT": (-768713.9637, -5988541.7982, 2063275.9472, 4500.0),
    "PV": (5088967.9, -301681.6, 3825015.8, 1900.0),
    "SMA": (-5464523.4, -2493147.08, 2150611.75, 6200.0),
    "SMT": (-1828796.2, -5054406.8, 3427865.2, 17100.0),
    "SPT": (0.01, 0.01, -6359609.7, 19300.0),
}
"""Geocentric position, m, and noise as the flux of a source that would double the power received, Jy.

Source: EHT Collaboration, Astrophysical Journal Letters 875, L2 (2019), tables 2 and 3. M87 never rises at the SPT.
"""
FIELD = 120.0
"""Of view, microarcseconds."""
FLUX = 0.6
"""Of the whole source, Jy."""


def ring(size: int) -> np.ndarray:
    """A ring of 42 microarcseconds with a bright side in the south, (size, size), Jy a pixel."""
    offset = (0.5 * (size - 1) - np.arange(size)) * FIELD / size
    north, east = np.meshgrid(offset, offset, indexing="ij")
    radius, angle = np.hypot(north, east), np.arctan2(east, north)
    brightness = np.exp(-0.5 * ((radius - 21.0) / 4.5) ** 2) * (1.0 + 0.6 * np.cos(angle - np.pi))
    return FLUX * brightness / brightness.sum()


def image(pixels: np.ndarray) -> Any:
    """`pixels`, Jy each, as ehtim's image at the place of M87."""
    return ehtim.image.Image(pixels, FIELD / len(pixels) * ehtim.const_def.RADPERUAS, 12.513728717168174,
                             12.39112323919932, rf=227.0707e9, source="ring", mjd=57854)


@dataclass
class Observation:
    """What imaging takes, for images of (size, size) pixels.

    `amplitudes` and `closure_phases` are ehtim's (values, sigmas, Fourier matrices): Jy, degrees. `prior` is
    (size**2,), `uv` (visibilities, 2), wavelengths.
    """

    size: int
    pixel: float
    amplitudes: tuple[Any, ...]
    closure_phases: tuple[Any, ...]
    prior: np.ndarray
    uv: np.ndarray


def observe(size: int, seed: int = 1) -> Observation:
    """Seven hours in which Earth turns, two minutes of every thirty; noise of the receivers, and of the atmosphere,
    that leaves nothing of the phases but sums around triangles. 2 % and 1 degree are taken as further errors."""
    stations = np.array([(name, *place, noise, noise, 0, 0, 0, 0, 0) for name, (*place, noise) in STATIONS.items()],
                        dtype=ehtim.const_def.DTARR)
    with contextlib.redirect_stdout(io.StringIO()):
        seen = image(ring(128)).observe(ehtim.array.Array(stations), 120.0, 1800.0, 1.0, 8.0, 1.856e9, ttype="direct",
                                        phasecal=False, seed=seed)
        smooth = np.exp(-0.5 * ((np.arange(size) - 0.5 * (size - 1)) * FIELD / size / 20.0) ** 2)
        prior = image(FLUX * np.outer(smooth, smooth) / smooth.sum() ** 2)
        everywhere = np.ones(size * size, bool)
        amplitudes, closure_phases = (
            imager.chisqdata(seen, prior, everywhere, kind, ttype="direct", systematic_noise=0.02,
                             systematic_cphase_noise=1.0)[:3] for kind in ("amp", "cphase"))
    return Observation(size, prior.psize, amplitudes, closure_phases, prior.imvec,
                       np.stack([seen.data["u"], seen.data["v"]], axis=-1))

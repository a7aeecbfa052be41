"""Regularised maximum likelihood: the objective of ehtim's functions, its gradient by hand as ehtim has it, L-BFGS."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.optimize import minimize

import reactant

from .telescopes import FIELD, FLUX, Observation, imager

SMOOTHING = 1e-10
"""Added below the square root of the total variation, Jy^2 a pixel^2."""
BLUR, LEAST = 7.0, 1e-9
"""Width of the Gaussian between rounds, microarcseconds, and what is added where nothing is left, Jy a pixel."""
def objective(log_image: np.ndarray, amplitudes: Any, closure_phases: Any, prior: np.ndarray, size: int,
              pixel: float) -> float:
    """Chi-squares of amplitudes and closure phases, relative entropy and total variation of an image, equal parts."""
    pixels = np.exp(log_image)
    (amplitude, noise, fourier), (phase, spread, triangles) = amplitudes, closure_phases
    data = imager.chisq_amp(pixels, fourier, amplitude, noise) + imager.chisq_cphase(pixels, triangles, phase, spread)
    regular = imager.ssimple(pixels, prior, FLUX) + imager.stv(pixels, size, size, pixel, FLUX, epsilon=SMOOTHING)
    return data - regular


def gradient(log_image: np.ndarray, amplitudes: Any, closure_phases: Any, prior: np.ndarray, size: int,
             pixel: float) -> np.ndarray:
    """Its derivative, put together from those that ehtim's authors derived by hand."""
    pixels = np.exp(log_image)
    (amplitude, noise, fourier), (phase, spread, triangles) = amplitudes, closure_phases
    data = (imager.chisqgrad_amp(pixels, fourier, amplitude, noise)
            + imager.chisqgrad_cphase(pixels, triangles, phase, spread))
    regular = (imager.ssimplegrad(pixels, prior, FLUX)
               + imager.stvgrad(pixels, size, size, pixel, FLUX, epsilon=SMOOTHING))
    return pixels * (data - regular)


def by_hand(log_image: np.ndarray, *data: Any) -> tuple[float, np.ndarray]:
    """Objective and gradient of plain NumPy."""
    return objective(log_image, *data), gradient(log_image, *data)


compiled = reactant.value_and_grad(objective)


def arguments(seen: Observation) -> tuple[Any, ...]:
    """What `objective` takes after the image."""
    return seen.amplitudes, seen.closure_phases, seen.prior, seen.size, seen.pixel


def on_device(seen: Observation) -> Observation:
    """The same with Fourier matrices that stay where compiled programs read them, so that no call copies them."""
    values, sigmas, fourier = seen.amplitudes
    angles, spreads, triangles = seen.closure_phases
    return replace(seen, amplitudes=(values, sigmas, reactant.array(fourier)),
                   closure_phases=(angles, spreads, tuple(map(reactant.array, triangles))))


def reconstruct(seen: Observation, value_and_gradient: Callable[..., Any], steps: int = 150, rounds: int = 3,
                progress: Callable[[float], None] = lambda value: None) -> np.ndarray:
    """The image of least objective, (size, size), Jy a pixel: rounds of L-BFGS, each from the last's blurred.

    `progress` is told the objective at each evaluation.
    """
    def called(log_image: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = value_and_gradient(log_image, *arguments(seen))
        progress(float(value))
        return float(value), np.asarray(slope)

    found = seen.prior.reshape(seen.size, seen.size)
    for turn in range(rounds):
        start = np.log(gaussian_filter(found, BLUR * seen.size / FIELD) + LEAST) if turn else np.log(found)
        best = minimize(called, start.ravel(), jac=True, method="L-BFGS-B", options={
            "maxiter": steps, "maxcor": 30, "maxfun": 2 * steps, "ftol": 1e-9, "gtol": 1e-7})
        found = np.exp(best.x).reshape(seen.size, seen.size)
    return found


def likeness(found: np.ndarray, true: np.ndarray) -> float:
    """The largest correlation of two images over all displacements: the data do not say where the source is."""
    products = np.fft.ifft2(np.fft.fft2(found) * np.conj(np.fft.fft2(true))).real
    return float((products.max() / found.size - found.mean() * true.mean()) / (found.std() * true.std()))

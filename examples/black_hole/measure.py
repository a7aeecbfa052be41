"""What README.md says in figures: gradients beside those of ehtim's authors and differences, images, and times."""
from __future__ import annotations

import numpy as np
from rich.console import Console

import reactant

from .. import _beside
from .imaging import arguments, by_hand, compiled, gradient, likeness, objective, on_device, reconstruct
from .telescopes import Observation, imager, observe, ring


def somewhere(seen: Observation) -> np.ndarray:
    """The logarithm of an image that is neither smooth nor right."""
    return np.log(seen.prior) + 0.3 * np.random.default_rng(3).standard_normal(seen.size**2)


def errors(console: Console, size: int = 64) -> None:
    """The compiled gradient beside the one by hand and beside differences; images found with either."""
    seen = observe(size)
    data, at = arguments(seen), somewhere(seen)
    value, slope = compiled(at, *data)
    expected = gradient(at, *data)
    console.print(f"objective {value:.12f}, NumPy {objective(at, *data):.12f}; gradient differs from the one by hand "
                  f"by {np.abs(slope - expected).max() / np.abs(expected).max():.1e} of the largest")
    direction, step = np.random.default_rng(4).standard_normal(at.shape), 1e-6
    change = (objective(at + step * direction, *data) - objective(at - step * direction, *data)) / (2.0 * step)
    console.print(f"along a random direction {np.sum(slope * direction):.9f}, by differences {change:.9f}")
    for name, way, taken in (("compiled", compiled, on_device(seen)), ("by hand", by_hand, seen)):
        count: list[float] = []
        found = reconstruct(taken, way, progress=count.append)
        (amplitude, noise, fourier), (phase, spread, triangles), *_ = data
        chi = (imager.chisq_amp(found.ravel(), fourier, amplitude, noise),
               imager.chisq_cphase(found.ravel(), triangles, phase, spread))
        console.print(f"{name}: {len(count)} evaluations, chi-squares {chi[0]:.3f} {chi[1]:.3f}, {found.sum():.3f} Jy, "
                      f"correlation with the ring {likeness(found, ring(size)):.3f}")


def speed(console: Console, size: int = 128) -> None:
    """Objective and gradient beside NumPy with ehtim's gradients."""
    seen = observe(size)
    data, resident, at = arguments(seen), arguments(on_device(seen)), somewhere(seen)
    plain = reactant.jit(objective)
    title = f"{size} x {size} pixels, {len(data[0][0])} visibilities, {len(data[1][0])} closure phases"
    _beside.compare(console, title, {
        "objective and gradient": (lambda: None, lambda _: compiled(at, *resident)),
        "given NumPy's matrices": (lambda: None, lambda _: compiled(at, *data)),
        "objective alone": (lambda: None, lambda _: plain(at, *resident)),
        "ehtim: objective and gradient by hand": (lambda: None, lambda _: by_hand(at, *data)),
        "ehtim: objective": (lambda: None, lambda _: objective(at, *data))})

"""scikit-image's own total-variation denoiser on the photograph that scikit-image ships, not a line of it changed.

`skimage.restoration.denoise_tv_chambolle` is imported from the installed package: its `while` loop, its `break` on a
value known only at run time, its lists of slices and its in-place updates are what is traced.
"""
from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from skimage import data
from skimage.restoration import denoise_tv_chambolle

from reactant.demos import picture
from reactant.demos.comparison import Comparison, compare, table

OUTPUT = Path("denoised.png")
SMALLEST = 1


def noisy_photograph(size: int | None = None, noise: float = 0.1, seed: int = 0) -> np.ndarray:
    """The astronaut, (512, 512, 3) float64 in about [0, 1], with Gaussian noise; `size`: only that much of a corner."""
    photograph = data.astronaut()[:size, :size] / 255.0
    return photograph + noise * np.random.default_rng(seed).standard_normal(photograph.shape)


def denoise(image: np.ndarray) -> np.ndarray:
    """scikit-image's function with its default weight and tolerance, for every channel of `image`, (h, w, 3)."""
    return denoise_tv_chambolle(image, channel_axis=-1)


def run(output: Path, console: Console, repeats: int = 7, size: int | None = None) -> Comparison:
    """Compare plain and compiled, print the table, write the picture."""
    image = noisy_photograph(size)
    comparison = compare(denoise, (image,), repeats, console)
    shape = " x ".join(map(str, image.shape))
    console.print(table(f"skimage.restoration.denoise_tv_chambolle, {shape}, {image.dtype}", comparison))
    picture.write(output, {"noisy": image, "plain NumPy": comparison.plain_outcome.result,
                           "compiled by reactant": comparison.compiled_outcome.result})
    console.print(f"noisy, plain and compiled picture: {output}", soft_wrap=True)
    return comparison

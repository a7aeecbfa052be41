"""A photographer's pipeline: luminance, Gaussian blur, unsharp mask, edges, histogram equalisation, tinting in place.

Every filter is a few NumPy lines over shifted slices, as people write them when SciPy is not at hand.
"""
import numpy as np

SIZES = {"full": (1024, 1024), "tiny": (20, 24)}


def blur(image, sigma, radius):
    """Separable Gaussian blur, `image` (h, w), reflected at the border."""
    offsets = np.arange(-radius, radius + 1)
    weights = np.exp(-0.5 * (offsets / sigma) ** 2)
    weights /= weights.sum()
    height, width = image.shape
    padded = np.pad(image, radius, mode="reflect")
    rows = np.zeros((height, width + 2 * radius))
    for k in range(2 * radius + 1):
        rows += weights[k] * padded[k:k + height, :]
    result = np.zeros_like(image)
    for k in range(2 * radius + 1):
        result += weights[k] * rows[:, k:k + width]
    return result


def edges(image):
    """Length of the Sobel gradient; zero on the border."""
    result = np.zeros_like(image)
    dx = (image[:-2, 2:] + 2.0 * image[1:-1, 2:] + image[2:, 2:]
          - image[:-2, :-2] - 2.0 * image[1:-1, :-2] - image[2:, :-2])
    dy = (image[2:, :-2] + 2.0 * image[2:, 1:-1] + image[2:, 2:]
          - image[:-2, :-2] - 2.0 * image[:-2, 1:-1] - image[:-2, 2:])
    result[1:-1, 1:-1] = np.hypot(dx, dy)
    return result


def equalise(image, bins=64):
    """Spread the grey values so that each is equally frequent."""
    histogram, borders = np.histogram(image, bins=bins, range=(0.0, 1.0))
    cumulative = np.cumsum(histogram) / image.size
    return np.interp(image, borders[1:], cumulative)


def develop(photograph, amount, threshold):
    """Sharpen and equalise `photograph`, (h, w, 3) in [0, 1], in place; returns the edge map, (h, w)."""
    luminance = photograph @ np.array([0.2126, 0.7152, 0.0722])
    sharpened = luminance + amount * (luminance - blur(luminance, 2.0, 5))
    np.clip(sharpened, 0.0, 1.0, out=sharpened)
    ratio = equalise(sharpened) / np.maximum(luminance, 1e-3)
    photograph *= ratio[:, :, np.newaxis]
    outline = edges(blur(luminance, 1.0, 3))
    photograph[outline > threshold] = 1.0
    np.clip(photograph, 0.0, 1.0, out=photograph)
    return outline


def make(size="full"):
    height, width = SIZES[size]
    random = np.random.default_rng(9)
    y, x = np.mgrid[0:1:height * 1j, 0:1:width * 1j]
    waves = [0.5 + 0.4 * np.sin(2 * np.pi * (f * x + g * y)) * np.cos(2 * np.pi * g * x * y)
             for f, g in ((1, 3), (2, 1), (4, 2))]
    photograph = np.stack(waves, axis=-1) + 0.03 * random.standard_normal((height, width, 3))
    return develop, (np.clip(photograph, 0.0, 1.0), 0.8, 0.9)

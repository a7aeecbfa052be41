"""Whole NumPy programs for `numpy_calls.py`: those of `run.py`, `native_loops.py` and `compile_programs.py`, and here
what scientists write between those: arrays that shrink, masks over ranges of a key, searches, wide states, statistics.

`PROGRAMS`: (function, makes its arguments) by name; the arguments are new at each call, as programs write into them.
"""
import copy

import compile_programs
import native_loops
import numpy as np
import run


def mandelbrot_shrinking(width, height, iterations):
    """Points that have left are dropped from all arrays."""
    rows, columns = (index.ravel() for index in np.mgrid[0:width, 0:height])
    c = np.linspace(-2.25, 0.75, width)[rows] + 1j * np.linspace(-1.25, 1.25, height)[columns]
    counts, z = np.zeros((width, height), int), np.zeros(c.shape, complex)
    for k in range(iterations):
        if not len(z):
            break
        z = z * z + c
        gone = np.abs(z) > 2.0
        counts[rows[gone], columns[gone]] = k + 1
        stays = ~gone
        z, rows, columns, c = z[stays], rows[stays], columns[stays], c[stays]
    return counts


def line_likelihood(theta, x, y, error):
    """The logarithm of a posterior, as a sampler calls it thousands of times."""
    slope, offset, log_f = theta
    if not (-5.0 < slope < 0.5 and 0.0 < offset < 10.0 and -10.0 < log_f < 1.0):
        return -np.inf
    model = slope * x + offset
    variance = error**2 + model**2 * np.exp(2 * log_f)
    return -0.5 * np.sum((y - model)**2 / variance + np.log(variance))


def first_crossing(signal, level):
    """Where a signal first rises through a level, between samples."""
    above = signal > level
    k = np.flatnonzero(above[1:] & ~above[:-1])[0]
    return k + (level - signal[k]) / (signal[k + 1] - signal[k])


def masked_means(key, data, edges):
    """Means of the data between neighbouring edges of a key."""
    means = np.zeros(len(edges) - 1)
    for k in range(len(edges) - 1):
        means[k] = data[(edges[k] <= key) & (key < edges[k + 1])].mean()
    return means


class Ocean:
    """120 fields, of which a step uses three."""

    def __init__(self):
        for k in range(120):
            setattr(self, f"field{k}", np.full((30, 40, 20), 1.0 + k))


def ocean_step(state):
    state.field0 = state.field0 + 0.1 * np.sqrt(state.field1) * state.field2
    return state.field0


def principal_axes(samples, count):
    """Principal components by the covariance matrix, and the samples in their coordinates."""
    centred = samples - samples.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(centred.T))
    order = np.argsort(values)[::-1][:count]
    return values[order], np.abs(centred @ vectors[:, order])


def game_of_life(cells, iterations):
    for _ in range(iterations):
        near = sum(np.roll(np.roll(cells, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
        cells = (near == 3) | (cells & (near == 2))
        cells = cells.astype(np.int64)
    return cells


def poisson(density):
    """A periodic potential by Fourier transforms."""
    k = 2 * np.pi * np.fft.fftfreq(density.shape[0])
    squared = k[:, None]**2 + k[None, :]**2
    squared[0, 0] = 1.0
    potential = np.fft.fft2(density) / squared
    potential[0, 0] = 0.0
    return np.fft.ifft2(potential).real


def lennard_jones(position, box):
    """Energy and forces of all pairs in a periodic box."""
    apart = position[:, None, :] - position[None, :, :]
    apart -= box * np.round(apart / box)
    squared = (apart**2).sum(axis=-1)
    np.fill_diagonal(squared, np.inf)
    inverse = 1.0 / squared**3
    force = (24 * (2 * inverse**2 - inverse) / squared)[:, :, None] * apart
    return 2 * (inverse**2 - inverse).sum(), force.sum(axis=1)


def equalised(image):
    """An image of bytes with a flat histogram."""
    counts = np.bincount(image.ravel(), minlength=256)
    table = np.cumsum(counts) * 255 // image.size
    return table[image].astype(np.uint8)


def bootstrap(x, picks):
    """Percentiles of the means of resampled data."""
    return np.percentile(x[picks].mean(axis=1), [2.5, 50.0, 97.5])


def rolling_statistics(price, window):
    """Means, deviations and the largest fall of a price."""
    total = np.cumsum(np.concatenate([[0.0], price]))
    squares = np.cumsum(np.concatenate([[0.0], price**2]))
    mean = (total[window:] - total[:-window]) / window
    variance = (squares[window:] - squares[:-window]) / window - mean**2
    return mean, np.sqrt(np.maximum(variance, 0.0)), (1 - price / np.maximum.accumulate(price)).max()


def ridge_path(x, y, strengths):
    """Ridge regressions for several strengths."""
    gram, right = x.T @ x, x.T @ y
    return np.array([np.linalg.solve(gram + s * np.eye(len(gram)), right) for s in strengths])


def nearest_neighbours(points, queries, count):
    squared = ((queries[:, None, :] - points[None, :, :])**2).sum(axis=-1)
    order = np.argpartition(squared, count, axis=1)[:, :count]
    return np.sort(np.take_along_axis(squared, order, axis=1), axis=1)


def sieve(n):
    prime = np.ones(n, bool)
    prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if prime[i]:
            prime[i * i::i] = False
    return np.flatnonzero(prime)


def _random(*shape):
    return np.random.default_rng(0).random(shape)


def _line():
    x = np.sort(10 * _random(50))
    return np.array([-0.9, 4.2, -0.7]), x, 4.3 - 0.95 * x + 0.5 * _random(50), 0.1 + 0.5 * _random(50)


OWN = {
    "mandelbrot_shrinking": (mandelbrot_shrinking, lambda: (250, 200, 60)),
    "line_likelihood": (line_likelihood, _line),
    "first_crossing": (first_crossing, lambda: (np.cumsum(_random(100_000) - 0.4), 9_000.0)),
    "masked_means": (masked_means, lambda: (_random(200_000), _random(200_000) + 1, np.linspace(0, 1, 101))),
    "ocean_step": (ocean_step, lambda: (Ocean(),)),
    "principal_axes": (principal_axes, lambda: (_random(2_000, 60), 5)),
    "game_of_life": (game_of_life, lambda: ((_random(200, 300) < 0.3).astype(np.int64), 20)),
    "poisson": (poisson, lambda: (_random(256, 256),)),
    "lennard_jones": (lennard_jones, lambda: (10 * _random(300, 3), 10.0)),
    "equalised": (equalised, lambda: ((200 * _random(1000, 1000)).astype(np.uint8),)),
    "bootstrap": (bootstrap, lambda: (_random(1_000), np.random.default_rng(1).integers(0, 1_000, (500, 1_000)))),
    "rolling_statistics": (rolling_statistics, lambda: (1 + _random(500_000), 50)),
    "ridge_path": (ridge_path, lambda: (_random(3_000, 80), _random(3_000), np.logspace(-3, 3, 12))),
    "nearest_neighbours": (nearest_neighbours, lambda: (_random(2_000, 3), _random(300, 3), 8)),
    "sieve": (sieve, lambda: (20_000,)),
}


def _of_run(name):
    def make():
        return run.load(name).make("full")
    function, _ = make()
    return function, lambda: make()[1]


def _of_compile_programs(make):
    function, arguments = make()
    return function, lambda: copy.deepcopy(arguments)


PROGRAMS = OWN | native_loops.PROGRAMS
PROGRAMS |= {name: _of_run(name) for name in run.PROGRAMS}
PROGRAMS |= {name: _of_compile_programs(make) for name, make in compile_programs.NUMPY.items()}

"""Loops that reduce what ranges of a key select: against NumPy, and which of them are put in order first."""
import warnings

import numpy as np
import pytest

import reactant
from reactant import pipelines
from reactant.options import CompileOptions

RULE = "ranges_of_a_key_are_windows"
ITERATIONS, COUNT = 110, 20_000
RANDOM = np.random.default_rng(0)
EDGES = np.sort(RANDOM.random(ITERATIONS + 1) * 50)
EDGES[20] = EDGES[21]       # nothing lies in it
KEY, DATA = RANDOM.random(COUNT) * 55 - 2, RANDOM.standard_normal(COUNT)
KEY[:ITERATIONS + 1] = EDGES     # what lies on an edge
LOWS, HIGHS = EDGES[:-1].copy(), EDGES[1:].copy()


def neighbours(data, key, edges):
    v = np.zeros(ITERATIONS)
    for i in range(ITERATIONS):
        v[i] = data[(edges[i] <= key) & (key < edges[i + 1])].mean()
    return v


def half_open(data, key, low, high):
    v = np.zeros(ITERATIONS)
    for i in range(ITERATIONS):
        v[i] = data[(low[i] <= key) & (key < high[i])].sum()
    return v


def open_below(data, key, low, high):
    v = np.zeros(ITERATIONS)
    for i in range(ITERATIONS):
        v[i] = data[(key > low[i]) & (key <= high[i])].sum()
    return v


def closed(data, key, low, high):
    v = np.zeros(ITERATIONS)
    for i in range(ITERATIONS):
        v[i] = data[(key >= low[i]) & (key <= high[i])].sum()
    return v


def open_(data, key, low, high):
    v = np.zeros(ITERATIONS)
    for i in range(ITERATIONS):
        v[i] = data[(key > low[i]) & (key < high[i])].sum()
    return v


def counts(key, low, high):
    v = np.zeros(ITERATIONS, np.int64)
    for i in range(ITERATIONS):
        v[i] = ((low[i] <= key) & (key < high[i])).sum()
    return v


def labelled(data, labels):
    v, w = np.zeros(ITERATIONS), np.zeros(ITERATIONS)
    for i in range(ITERATIONS):
        v[i] = data[labels == i].mean()
        w[i] = np.where(labels == i, data, -np.inf).max()
    return v, w


def fixed_below(data, key, high):
    v = np.zeros(ITERATIONS)
    for i in range(ITERATIONS):
        v[i] = data[(key >= 0.5) & (key < high[i])].sum()
    return v


def spread(data, key, edges):
    v = np.zeros(ITERATIONS)
    for i in range(ITERATIONS):
        v[i] = data[(edges[i] <= key) & (key < edges[i + 1])].std()
    return v


def rows(data, key, edges):
    v = np.zeros((ITERATIONS, data.shape[1]))
    for i in range(ITERATIONS):
        v[i] = data[(edges[i] <= key) & (key < edges[i + 1])].mean(axis=0)
    return v


def from_three(data, key, edges):
    v = np.zeros(ITERATIONS + 3)
    for i in range(3, ITERATIONS):
        v[i] = (data * data)[(edges[i] <= key) & (key < edges[i + 1])].sum() + i
    return v


SHUFFLED = RANDOM.permutation(ITERATIONS)
TIMES = np.concatenate([KEY, [np.nan, np.inf, -np.inf, -0.0, 0.0, np.nan]])
MEASURED = np.concatenate([DATA, [1.0, np.inf, np.nan, 2.0, -0.0, np.nan]])
WITH_NAN = np.where(np.arange(ITERATIONS + 1) % 17 == 5, np.nan, EDGES)
WITH_NAN[-1] = np.inf
WITH_NAN[0] = -np.inf
NEGATIVE_NAN = np.where(np.isnan(WITH_NAN), -WITH_NAN, WITH_NAN)
FIRES = {
    "means between neighbouring edges": (neighbours, DATA, KEY, EDGES),
    "of float32": (neighbours, *(a.astype(np.float32) for a in (DATA, KEY, EDGES))),
    "of integers": (neighbours, np.arange(COUNT), RANDOM.integers(-5, ITERATIONS, COUNT), np.arange(ITERATIONS + 1)),
    "of unsigned bytes": (neighbours, np.arange(COUNT), RANDOM.integers(0, 255, COUNT).astype(np.uint8),
                          np.arange(ITERATIONS + 1).astype(np.uint8)),
    "of complex numbers": (neighbours, DATA + 1j, KEY, EDGES),
    "edges backwards": (neighbours, DATA, KEY, EDGES[::-1].copy()),
    "edges in no order": (neighbours, DATA, KEY, RANDOM.permutation(EDGES)),
    "NaN and infinities": (neighbours, MEASURED, TIMES, EDGES),
    "NaN for edges": (neighbours, DATA, TIMES[:COUNT], WITH_NAN),
    "NaN of the other sign for edges": (neighbours, DATA, TIMES[:COUNT], NEGATIVE_NAN),
    "half-open": (half_open, DATA, KEY, LOWS, HIGHS),
    "that overlap": (half_open, DATA, KEY, LOWS, HIGHS + 3),
    "in no order": (half_open, DATA, KEY, LOWS[SHUFFLED], HIGHS[SHUFFLED] + 1),
    "open below": (open_below, DATA, KEY, LOWS, HIGHS),
    "closed": (closed, MEASURED, TIMES, LOWS, HIGHS),
    "closed, one number": (closed, DATA, np.round(KEY), np.round(LOWS), np.round(LOWS)),
    "open": (open_, DATA, KEY, LOWS, HIGHS),
    "counts": (counts, KEY, LOWS, HIGHS),
    "labels": (labelled, DATA, RANDOM.integers(-3, ITERATIONS - 2, COUNT)),
    "labels of one byte": (labelled, DATA, RANDOM.integers(0, 120, COUNT).astype(np.int8)),
    "labels of 16 bits": (labelled, DATA, RANDOM.integers(0, 30000, COUNT).astype(np.int16) // 300),
    "standard deviations": (spread, DATA, KEY, EDGES),
    "rows": (rows, RANDOM.random((COUNT, 3)), KEY, EDGES),
    "from a later turn on": (from_three, DATA, KEY, EDGES),
}


def bounds_of_results(data, key):
    v = np.zeros(ITERATIONS + 1)
    for i in range(ITERATIONS):
        v[i + 1] = data[(v[i] <= key) & (key < v[i] + 1)].sum() * 0.1
    return v


def outside(data, key, edges):
    v = np.zeros(ITERATIONS)
    for i in range(ITERATIONS):
        v[i] = data[(edges[i] > key) | (key >= edges[i + 1])].sum()
    return v


def written(data, key, edges):
    for i in range(ITERATIONS):
        data[(edges[i] <= key) & (key < edges[i + 1])] = i
    return data


def in_order_of_places(data, key, edges):
    v = np.zeros(ITERATIONS)
    for i in range(ITERATIONS):
        v[i] = np.cumsum(np.where((edges[i] <= key) & (key < edges[i + 1]), data, 0))[COUNT // 2]
    return v


def neighbours_few(data, key, edges):
    v = np.zeros(20)
    for i in range(20):
        v[i] = data[(edges[i] <= key) & (key < edges[i + 1])].mean()
    return v


DECLINES = {
    "bounds that iterations compute": (bounds_of_results, DATA, KEY),
    "what lies outside": (outside, DATA, KEY, EDGES),
    "what is written": (written, DATA, KEY, EDGES),
    "running sums": (in_order_of_places, DATA, KEY, EDGES),
    "one bound alone": (fixed_below, DATA, KEY, HIGHS),
    "few ranges": (neighbours_few, DATA, KEY, EDGES),
    "few elements": (neighbours, DATA[:900], KEY[:900], EDGES),
}


def fired(function, arguments):
    module = reactant.jit(function).lower(*arguments).module
    return dict(pipelines.run(module, "native", options=CompileOptions(target="cpu")).counts()).get(RULE, 0)


def close(function, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = function(*map(np.copy, arguments))
    found = reactant.jit(function)(*map(np.copy, arguments))
    tolerance = 1e-4 if arguments[0].dtype == np.float32 else 1e-11
    pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
    for one, other in pairs:
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.sampled(100)
@pytest.mark.parametrize("name", FIRES)
def test_ranges_are_windows(name):
    function, *arguments = FIRES[name]
    assert fired(function, arguments)
    close(function, arguments)


@pytest.mark.parametrize("name", DECLINES)
def test_others_are_not(name):
    function, *arguments = DECLINES[name]
    assert not fired(function, arguments)
    close(function, arguments)

"""Programs that keep arrays in objects, dictionaries, lists and closures."""
import functools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

import reactant
from reactant.errors import ReactantError, UnsupportedError
from tests.oracle import check


class Adam:
    """Kingma and Ba's optimiser with its moments in place."""

    def __init__(self, parameters, rate):
        self.rate = rate
        self.first = {name: np.zeros_like(value) for name, value in parameters.items()}
        self.second = {name: np.zeros_like(value) for name, value in parameters.items()}
        self.steps = 0

    def step(self, parameters, gradients):
        self.steps += 1
        for name, gradient in gradients.items():
            self.first[name] += 0.1 * (gradient - self.first[name])
            self.second[name] += 0.001 * (gradient**2 - self.second[name])
            first = self.first[name] / (1 - 0.9**self.steps)
            second = self.second[name] / (1 - 0.999**self.steps)
            parameters[name] -= self.rate * first / (np.sqrt(second) + 1e-8)


def fit_line(parameters, x, y, steps):
    """Least squares by Adam; the parameters are a dictionary of arrays, changed in place."""
    optimiser = Adam(parameters, 0.05)
    losses = []
    for _ in range(steps):
        error = x @ parameters["slope"] + parameters["offset"] - y
        losses.append(np.mean(error**2))
        gradients = {"slope": 2 * x.T @ error / len(y), "offset": np.array([2 * error.mean()], dtype=y.dtype)}
        optimiser.step(parameters, gradients)
    return np.array(losses), optimiser.first


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("features", [1, 3])
def test_class_with_state(agree, random, features, dtype):
    x = random.standard_normal((11, features)).astype(dtype)
    y = random.standard_normal(11).astype(dtype)
    agree(fit_line, lambda: ({"slope": np.zeros(features, dtype), "offset": np.zeros(1, dtype)}, x, y, 6))


def train_network(layers, x, y, steps, rate):
    """Two-layer perceptron; a list of (weights, bias) tuples is updated in place by hand-written back-propagation."""
    loss = 0.0
    for _ in range(steps):
        values = [x]
        for index, (weights, bias) in enumerate(layers):
            value = values[-1] @ weights + bias
            values.append(np.tanh(value) if index < len(layers) - 1 else value)
        error = values[-1] - y
        loss = np.mean(error**2)
        upstream = 2 * error / error.size
        for (weights, bias), before in zip(reversed(layers), reversed(values[:-1]), strict=True):
            gradient = before.T @ upstream
            upstream_before = upstream @ weights.T * (1 - before**2)
            weights -= rate * gradient
            bias -= rate * upstream.sum(axis=0)
            upstream = upstream_before
    return loss


@pytest.mark.sampled(100)
@pytest.mark.parametrize("sizes", [(2, 1), (3, 4, 2), (2, 5, 5, 1)])
def test_list_of_tuples(agree, random, sizes):
    layers = [(0.5 * random.standard_normal((a, b)), np.zeros(b)) for a, b in zip(sizes, sizes[1:], strict=False)]
    x = random.standard_normal((7, sizes[0]))
    y = random.standard_normal((7, sizes[-1]))
    agree(train_network, lambda: ([(weights.copy(), bias.copy()) for weights, bias in layers], x, y, 4, 0.1))


@dataclass
class Belief:
    """What a Kalman filter knows."""

    mean: np.ndarray
    covariance: np.ndarray
    seen: int = 0
    log: list = field(default_factory=list)


def track(belief, measurements, noise):
    """A Kalman filter for position and velocity; the dataclass is an argument, changed and returned."""
    motion = np.array([[1.0, 1.0], [0.0, 1.0]])
    for measurement in measurements:
        belief.mean = motion @ belief.mean
        belief.covariance = motion @ belief.covariance @ motion.T + 0.01 * np.eye(2)
        gain = belief.covariance[:, 0] / (belief.covariance[0, 0] + noise)
        belief.mean = belief.mean + gain * (measurement - belief.mean[0])
        belief.covariance = belief.covariance - np.outer(gain, belief.covariance[0])
    belief.seen += len(measurements)
    return belief


@pytest.mark.parametrize("length", [1, 2, 9])
def test_dataclass(agree, random, length):
    measurements = np.cumsum(random.standard_normal(length))
    agree(track, lambda: (Belief(np.zeros(2), np.eye(2)), measurements, 0.5))


class Orbit(NamedTuple):
    position: np.ndarray
    velocity: np.ndarray


def orbit_by_runge_kutta(start, dt, steps):
    """Classical fourth order Runge-Kutta around a central mass; NamedTuples in and out."""
    def rate(orbit):
        distance = np.sqrt(np.sum(orbit.position**2))
        return Orbit(orbit.velocity, -orbit.position / distance**3)

    def moved(orbit, slope, time):
        return Orbit(*(value + time * change for value, change in zip(orbit, slope, strict=True)))

    orbit = start
    for _ in range(steps):
        k1 = rate(orbit)
        k2 = rate(moved(orbit, k1, dt / 2))
        k3 = rate(moved(orbit, k2, dt / 2))
        k4 = rate(moved(orbit, k3, dt))
        slope = Orbit(*((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)))
        orbit = moved(orbit, slope, dt)
    return orbit


@pytest.mark.parametrize("dimensions", [2, 3])
def test_named_tuple(agree, dimensions):
    position, velocity = np.eye(dimensions)[0], 0.9 * np.eye(dimensions)[1]
    agree(orbit_by_runge_kutta, lambda: (Orbit(position.copy(), velocity.copy()), 0.05, 20))


class RingBuffer:
    """The last values of a stream; the head is an index known only at run time."""

    def __init__(self, size):
        self.values = np.zeros(size)
        self.head = 0

    def push(self, value):
        self.values[self.head] = value
        self.head = (self.head + 1) % len(self.values)


def keep_positive(stream, size):
    buffer = RingBuffer(size)
    for value in stream:
        if value > 0:
            buffer.push(value)
    return buffer.values, buffer.head


@pytest.mark.parametrize("size", [1, 3])
def test_ring_buffer(agree, random, size):
    stream = random.standard_normal(10)
    agree(keep_positive, lambda: (stream.copy(), size))


def running_statistics(values):
    """Closures over local state (nonlocal), over constants, and a lambda."""
    count = 0
    mean = np.zeros(values.shape[1])
    scatter = np.zeros(values.shape[1])
    weights = np.linspace(1.0, 2.0, len(values))

    def add(row, weight):
        nonlocal count, mean
        count += 1
        change = row - mean
        mean = mean + weight * change / count
        scatter[:] += change * (row - mean)

    for row, weight in zip(values, weights, strict=True):
        add(row, weight)
    scale = lambda total: np.sqrt(total / max(count - 1, 1))  # noqa: E731  # a lambda is what is tested
    return mean, scale(scatter), count


@pytest.mark.parametrize("shape", [(1, 3), (6, 2)])
def test_closures(agree, random, shape):
    values = random.standard_normal(shape)
    agree(running_statistics, lambda: (values.copy(),))


def windows(length, width, stride):
    for start in range(0, length - width + 1, stride):
        yield start, slice(start, start + width)


def smooth(values, width, stride):
    """A generator over a static range, comprehensions, enumerate and a dictionary built on the way."""
    means = [values[window].mean() for _, window in windows(len(values), width, stride)]
    centred = {start: values[window] - means[index]
               for index, (start, window) in enumerate(windows(len(values), width, stride))}
    for start, part in centred.items():
        values[start] += part.max()
    return np.array(means), centred


@pytest.mark.parametrize(("width", "stride"), [(2, 1), (3, 2), (4, 4)])
def test_generators(agree, random, width, stride):
    values = random.standard_normal(9)
    agree(smooth, lambda: (values.copy(), width, stride))


def fourier_by_halves(x):
    """Cooley and Tukey's recursion on strided halves."""
    n = len(x)
    if n == 1:
        return x.astype(np.complex128)
    even, odd = fourier_by_halves(x[::2]), fourier_by_halves(x[1::2])
    twiddled = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
    return np.concatenate([even + twiddled, even - twiddled])


@pytest.mark.parametrize("n", [1, 2, 16])
def test_recursion(agree, random, n):
    x = random.standard_normal(n)
    agree(fourier_by_halves, lambda: (x.copy(),))


def norm(values, kind="euclid", *, weights=None):
    """Early returns on static values: a string and an optional array."""
    if weights is not None:
        values = values * weights
    if kind == "sum":
        return np.abs(values).sum()
    if kind == "largest":
        return np.abs(values).max()
    return np.sqrt((values**2).sum())


@pytest.mark.parametrize("kind", ["sum", "largest", "euclid"])
@pytest.mark.parametrize("weighted", [False, True])
def test_early_return(agree, random, kind, weighted):
    values = random.standard_normal((3, 4))
    extra = {"weights": np.arange(4.0)} if weighted else {}
    agree(norm, lambda: (values, kind), **extra)


def compose(values, powers):
    """functools.partial and a fold over a list of functions."""
    def raised(x, power, scale):
        return scale * x**power

    steps = [functools.partial(raised, power=power, scale=1 / (1 + power)) for power in powers]
    return functools.reduce(lambda value, step: step(value) + 1, steps, values)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_partial_and_reduce(agree, dtype):
    agree(compose, lambda: (np.array([1, 2, 3], dtype=dtype), (2, 1, 3)))


class Grid:
    """A simulation object whose methods update `self` in place and call each other."""

    def __init__(self, height, width):
        self.field = np.zeros((height, width))
        self.time = 0.0

    def add_source(self, row, column, strength):
        self.field[row, column] += strength

    def diffuse(self, rate):
        padded = np.pad(self.field, 1, mode="edge")
        self.field += rate * (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]
                              - 4 * self.field)

    def step(self, rate, dt):
        self.add_source(0, 0, dt)
        self.diffuse(rate * dt)
        self.time += dt


def simulate(height, width, rate, steps):
    grid = Grid(height, width)
    for _ in range(steps):
        grid.step(rate, 0.5)
        if grid.field.max() > 2.0:
            break
    return grid.field, grid.time


@pytest.mark.parametrize(("height", "width", "rate"), [(2, 3, 0.2), (5, 4, 0.0)])
def test_object_with_methods(agree, height, width, rate):
    agree(simulate, lambda: (height, width, rate, 12))


class Dense:
    def __init__(self, weight):
        self.weight, self.gradient = weight, np.zeros_like(weight)

    def __call__(self, x):
        self.seen, self.sums = x, x @ self.weight
        return np.maximum(self.sums, 0)

    def backward(self, g):
        g = g * (self.sums > 0)
        self.gradient[...] = self.seen.T @ g
        return g @ self.weight.T


class Momentum:
    def __init__(self, weights):
        self.weights, self.speeds, self.iterations = weights, [np.zeros_like(w) for w in weights], 0

    def step(self, gradients):
        self.iterations += 1
        for weight, gradient, speed in zip(self.weights, gradients, self.speeds, strict=True):
            speed *= 0.9
            speed += gradient
            weight -= 0.01 * speed / (1 - 0.5**self.iterations)


def trained(x, y, first, second, iterations):
    net = [Dense(first), Dense(second)]
    optimiser = Momentum([layer.weight for layer in net])
    losses = []
    for _ in range(iterations):
        out = x
        for layer in net:
            out = layer(out)
        g = out - y
        losses.append(np.mean(g**2))
        for layer in reversed(net):
            g = layer.backward(g)
        optimiser.step([layer.gradient for layer in net])
    return np.array(losses), net[0].seen is x, optimiser.iterations


@pytest.mark.slow
def test_attributes_written_in_place_beside_those_bound_anew():
    """A layer keeps its input (bound anew each iteration) beside weights that the optimiser writes: the loop stays
    one."""
    rng = np.random.default_rng(0)
    arguments = rng.random((6, 3)), rng.random((6, 2)), rng.standard_normal((3, 4)), rng.standard_normal((4, 2)), 40
    check(trained, *arguments, rtol=1e-9)
    operations = reactant.jit(trained).lower(*arguments).operations(optimized=False)
    assert operations["stablehlo.while"] == 1 and sum(operations.values()) < 500     # 3,400 once, for 25 iterations


class Tracker:
    """With arrays of None, as class libraries write them, where there is no value yet."""

    def __init__(self, size):
        self.seen, self.gain = np.array([[None] * size]).T, np.array([None, None])
        self.mean = np.zeros(size)

    def update(self, seen, gain):
        if self.gain[0] is not None:
            gain = 0.5 * (gain + self.gain)
        self.seen, self.gain = seen.copy(), gain
        self.mean = self.mean + self.gain[0] * (self.seen - self.mean)


def test_arrays_of_none_that_values_take_the_place_of():
    def tracked(rows, gain):
        tracker = Tracker(rows.shape[1])
        means = np.zeros_like(rows)
        for k in range(len(rows)):
            tracker.update(rows[k], gain)
            means[k] = tracker.mean
        return means, tracker.seen
    check(tracked, np.random.default_rng(0).random((20, 3)), np.array([0.3, 0.1]))


@pytest.mark.parametrize("store", [
    lambda x, a: a.__setitem__(0, x[0]), lambda x, a: x + a, lambda x, a: a.fill(3),
    lambda x, a: np.array([None, x[0]])])
def test_arrays_of_none_hold_nothing_else(store):
    with pytest.raises((ReactantError, TypeError)):
        reactant.jit(lambda x: store(x, np.array([None, None])))(np.ones(2))
    with pytest.raises(UnsupportedError, match="dtype object"):
        reactant.jit(lambda x: np.array([None, "text"]))(np.ones(2))

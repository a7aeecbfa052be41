"""The stream of random bits behind `random`: state, standard draws, and the checking of arguments.

Conditions on arguments raise at once where they are known, after the call otherwise.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays import layouts
from reactant.frontends.arrays import storage as st
from reactant.frontends.arrays.creation import shape_tuple
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, SCALAR, Tensor, is_tensor, wrap
from reactant.frontends.arrays.ufuncs import cast
from reactant.frontends.numpy import random_samplers as samplers
from reactant.frontends.session.jax_calls import call_jax
from reactant.frontends.session.trace import current_trace
from reactant.ir import ops
from reactant.ir.types import Shape, shape_of

# ---- arguments -------------------------------------------------------------------------------------------------

def require(condition: object, text: str, error: type[Exception] = ValueError) -> None:
    """Every element of `condition` holds: raised now where it is known, after the call otherwise."""
    if is_tensor(condition) and not condition.is_concrete():
        value = condition.value()
        current_trace().check(ops.reduce(value, True, range(len(shape_of(value))), "and"), lambda: error(text))
    elif not np.all(condition.numpy() if is_tensor(condition) else condition):
        raise error(text)


def parameter(x: object) -> Any:
    """A float64 array or number: known ones stay plain."""
    x = wrap(x)
    return x.numpy().astype(np.float64)[()] if x.is_concrete() else x.astype(np.float64)


def not_negative(x: Any, name: str) -> Any:
    require(~(x < 0), f"{name} < 0")
    return x


def positive(x: Any, name: str) -> Any:
    require(~(x <= 0), f"{name} <= 0")
    return x


def probability(x: Any) -> Any:
    require((x >= 0) & (x <= 1), "p < 0, p > 1 or p is NaN")
    return x


def positive_probability(x: Any) -> Any:
    require((x > 0) & (x <= 1), "p <= 0, p > 1 or p contains NaNs")
    return x


def drawn_shape(size: object, parameters: Sequence[Any]) -> Shape:
    shapes = [np.shape(p) for p in parameters]
    if size is None:
        return np.broadcast_shapes(*shapes)
    size = shape_tuple(size)
    if any(n < 0 for n in size):
        raise ValueError("negative dimensions are not allowed")
    if np.broadcast_shapes(size, *shapes) != size:
        raise ValueError(f"Output size {size} is not compatible with broadcast dimensions of inputs "
                         f"{np.broadcast_shapes(*shapes)}.")
    return size


def delivered(x: Any, size: object, out: Tensor | None = None) -> Any:
    """A Python number for `size=None` and 0-d results, an array otherwise."""
    x = wrap(x)
    if out is not None:
        out[...] = x
        return out
    if x.shape or size is not None:
        return Tensor.of_value(x.value(), ARRAY)
    return Tensor.of_value(cast(x.value(), np.dtype(np.float64)) if x.dtype.kind == "f" else x.value(), PYTHON)


def array_of_value(value: ir.Value) -> Tensor:
    return Tensor.of_value(value, ARRAY if shape_of(value) else SCALAR)


def spread(x: Any, shape: Shape, dtype: object = np.float64) -> ir.Value:
    """A parameter as a value of `shape`."""
    return layouts.broadcast(cast(wrap(x).value(), np.dtype(dtype)), shape)


# ---- integers --------------------------------------------------------------------------------------------------

def integer_bound(x: object) -> Any:
    """A bound as a Python int, an integer array, or a traced integer; floats are truncated, as NumPy does."""
    if isinstance(x, int):
        return int(x)       # may be 2**63 or 2**64, which no array holds
    x = wrap(x)
    if not x.is_concrete():
        return x if x.dtype.kind in "iub" else x.astype(np.int64)
    known = x.numpy()
    if known.dtype.kind == "f":
        known = known.astype(np.int64)
    return int(known) if not known.shape else known


def _limits(dtype: np.dtype) -> tuple[int, int]:
    return (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def check_bounds(low: Any, high: Any, dtype: np.dtype, endpoint: bool) -> None:
    smallest, largest = _limits(dtype)
    known = [x if isinstance(x, int) else x.astype(object) for x in (low, high) if not is_tensor(x)]
    if not is_tensor(low) and np.any(known[0] < smallest):
        raise ValueError(f"low is out of bounds for {dtype}")
    if not is_tensor(high) and np.any(known[-1] > largest + (not endpoint)):
        raise ValueError(f"high is out of bounds for {dtype}")
    for x, name in ((low, "low"), (high, "high")):
        if is_tensor(x) and dtype.itemsize < 8:
            require((x >= smallest) & (x <= largest + (not endpoint)), f"{name} is out of bounds for {dtype}")
    require(low <= high if endpoint else low < high, "low > high" if endpoint else "low >= high")


def count_between(low: Any, high: Any, dtype: np.dtype, endpoint: bool) -> tuple[bool, ir.Value]:
    """(whether it fits 32-bit draws, how many integers there are as uint64 modulo 2**64)."""
    if not is_tensor(low) and not is_tensor(high):
        count = np.asarray(np.asarray(high, object) - np.asarray(low, object) + int(endpoint), object)
        return bool(np.all(count <= 2**32)), ops.constant(np.asarray(count % 2**64).astype(np.uint64))
    shape = np.broadcast_shapes(np.shape(low), np.shape(high))
    ends = [spread(x, shape, np.int64 if dtype != np.uint64 else np.uint64) for x in (high, low)]
    count = ops.add(ops.convert(ops.subtract(*ends), np.uint64), int(endpoint))
    return dtype.itemsize <= 4, count


# ---- the stream ------------------------------------------------------------------------------------------------

class Stream:
    """Threefry bits from a state (key, counter) as uint64[2]. The state is a storage, so drawing inside loops and
    branches advances it as writing into an array would."""

    def __init__(self, key: ir.Value):
        whole = ops.concatenate([ops.reshape(key, (1,)), ops.constant(np.zeros(1, np.uint64))], 0)
        self._state = st.Storage((2,), np.dtype(np.uint64), value=whole)

    def _bits(self, shape: Shape, dtype: type) -> ir.Value:
        new, bits = ops.rng_bit_generator(self._state.read(), shape, dtype)
        self._state.write(new)
        return bits

    def _uniforms(self, shape: Shape, dtype: object = np.float64) -> Tensor:
        """In [0, 1), all multiples of 2**-53 (2**-24 in single precision)."""
        double = np.dtype(dtype) == np.float64
        bits = ops.shift_right_logical(self._bits(shape, np.uint64 if double else np.uint32), 11 if double else 8)
        return array_of_value(ops.multiply(ops.convert(bits, dtype), 2.0**-53 if double else 2.0**-24))

    def _normals(self, shape: Shape, dtype: object = np.float64) -> Tensor:
        """By the inverse error function of a uniform in (-1, 1), symmetric and without its ends."""
        double = np.dtype(dtype) == np.float64
        bits = ops.shift_right_logical(self._bits(shape, np.uint64 if double else np.uint32), 12 if double else 9)
        middle = ops.add(ops.convert(bits, dtype), 0.5)
        inside = ops.subtract(ops.multiply(middle, 2.0**-51 if double else 2.0**-22), 1.0)
        return array_of_value(ops.multiply(ops.erf_inv(inside), float(np.sqrt(2.0))))

    def _exponentials(self, shape: Shape, dtype: object = np.float64) -> Tensor:
        return -np.log1p(-self._uniforms(shape, dtype))

    def _sampled(self, sampler: Callable, shape: Shape, *parameters: Any, dtype: object = np.float64) -> Tensor:
        values = [spread(p, shape, dtype) for p in parameters]
        if 0 in shape:
            return array_of_value(values[0])
        return array_of_value(call_jax(sampler, self._bits((2,), np.uint32), *values)[0])

    def _stepped(self, sampler: Callable, *values: ir.Value, **static: object) -> Tensor:
        """A sampler that draws from the stream itself."""
        new, found = call_jax(sampler, self._state.read(), *values, **static)
        self._state.write(new)
        return array_of_value(found)

    def _gammas(self, shape: Shape, a: Any, dtype: object = np.float64) -> Tensor:
        values = spread(a, shape, dtype)
        return array_of_value(values) if 0 in shape else self._stepped(samplers.gamma, values)

    def _poissons(self, shape: Shape, rate: Any) -> Tensor:
        return self._sampled(samplers.poisson, shape, rate)

    def _binomials(self, shape: Shape, n: Any, p: Any) -> Tensor:
        return self._sampled(samplers.binomial, shape, n, p)

    def _order(self, shape: Shape, axis: int) -> ir.Value:
        """Independent random permutations of the indices along `axis`: sorted by random bits."""
        if 0 not in shape and samplers.packs(shape, axis):
            return self._stepped(samplers.order, shape=shape, axis=axis).value()
        bits, index = self._bits(shape, np.uint64), ops.iota(shape, np.int64, axis)
        return ops.sort([bits, index], axis)[1]

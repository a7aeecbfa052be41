"""Random JAX programs: every kind of op `jax.lax` has, on every kind of number.

`program(seed, MOVES)` (`lax_moves`) is a function of two run-time places and some arrays, `arguments(seed, special)`
are those. Integers and what floats only move (`exact`) are compared bit for bit, -0.0 and NaN included; the rest within
what rounding may do.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
EXTENTS = (1, 1, 2, 3, 4, 5, 8)
NUMBERS = {"b": (False, True), "u": (0, 1, 2, 3, 7), "i": (0, 1, -1, 2, 3, -5),
           "f": (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, -4.0), "c": (0.0, 1.0, -1.0, 2.0, 0.5j)}
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, 2.5, -1.0)
TOLERANCE = {"float16": 2e-2, "bfloat16": 8e-2, "float32": 2e-4, "complex64": 5e-4}
FINEST = 1e-7
MOST_ELEMENTS, MOST_DIMENSIONS = 600, 5


@dataclass
class Value:
    """An array, and whether its floats are those of the arguments, only moved, rounded or chosen."""

    array: Any
    exact: bool

    @property
    def kind(self) -> str:
        return kind(self.array.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape


def kind(dtype: Any) -> str:
    """ "b", "c", "f", "u" or "i"."""
    if dtype == jnp.bool_:
        return "b"
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return "c"
    if jnp.issubdtype(dtype, jnp.floating):
        return "f"
    return "u" if jnp.issubdtype(dtype, jnp.unsignedinteger) else "i"


class NotHere(Exception):
    """A move has nothing to work on."""


class Growing:
    """A program that grows by random moves on its recent values."""

    def __init__(self, seed: int, places: jax.Array, given: Sequence[jax.Array]) -> None:
        self.rng = np.random.default_rng(seed)
        self.values = [Value(a, True) for a in given]
        self.places = [places[0], places[1]]

    def integer(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high))

    def pick(self, sequence: Sequence[Any]) -> Any:
        return sequence[self.integer(0, len(sequence))]

    def one_in(self, count: int) -> bool:
        return self.integer(0, count) == 0

    def value(self, kinds: str = "fiucb", rank: int = 0, exact: bool = False) -> Value:
        def fits(v: Value) -> bool:
            return v.kind in kinds and len(v.shape) >= rank and (v.exact or not exact)
        found = [v for v in self.values[-14:] if fits(v)] or [v for v in self.values if fits(v)]
        if not found:
            raise NotHere
        return self.pick(found)

    def partner(self, v: Value, exact: bool = False) -> Value:
        """Another value of the same type: a number everywhere, a line repeated, or one that is there."""
        choice, dtype = self.integer(0, 5), v.array.dtype
        if choice == 0:
            return Value(jnp.full(v.shape, self.number(dtype), dtype), True)
        if choice == 1 and v.shape:
            d = self.integer(0, len(v.shape))
            line = jnp.asarray(np.array([self.number(dtype) for _ in range(v.shape[d])]).astype(dtype))
            return Value(lax.broadcast_in_dim(line, v.shape, (d,)), True)
        same = [w for w in self.values if w.shape == v.shape and w.array.dtype == dtype and (w.exact or not exact)]
        return self.pick(same) if same else Value(jnp.ones(v.shape, dtype), True)

    def number(self, dtype: Any) -> Any:
        return self.pick(NUMBERS[kind(dtype)])

    def scalar(self, dtype: Any) -> jax.Array:
        return jnp.asarray(self.number(dtype)).astype(dtype)

    def dimension(self, v: Value) -> int:
        return self.integer(0, len(v.shape))

    def place(self) -> jax.Array:
        return jnp.int32(self.integer(-1, 5)) if self.one_in(3) else self.pick(self.places)

    def indices(self, extent: int, count: int) -> jax.Array:
        """Places along a dimension: random (some outside), a range, one that starts at a run-time place, or made of
        integers of the program."""
        choice = self.integer(0, 4)
        if choice == 0:
            return jnp.asarray(self.rng.integers(-extent, extent + 2, count))
        if choice == 1:
            return jnp.arange(count) * self.integer(-1, 3) + self.integer(0, extent)
        if choice == 2:
            return self.places[0] + jnp.arange(count)
        return jnp.resize(self.value("iu", exact=True).array.reshape(-1), (count,)).astype(jnp.int32) % (extent + 1)

    def add(self, array: jax.Array, exact: bool) -> None:
        if 0 < array.size <= MOST_ELEMENTS and array.ndim <= MOST_DIMENSIONS:
            self.values.append(Value(array, exact or kind(array.dtype) in "iub"))


# ---- programs --------------------------------------------------------------------------------------------------------

Move = Callable[[Growing], None]


def program(seed: int, moves: Sequence[Move]) -> tuple[Callable[..., Any], list[float]]:
    """A function of (places, *arrays), and by how much each of its results may differ (known once it has been traced):
    0 where it is exact, else by what the coarsest numbers in the program may."""
    tolerances: list[float] = []

    def grown(places: jax.Array, *given: jax.Array) -> tuple[jax.Array, ...]:
        g = Growing(seed, places, given)
        for _ in range(g.integer(4, 22)):
            try:
                g.pick(moves)(g)
            except (TypeError, ValueError, OverflowError, NotHere):        # what JAX refuses is no program
                continue
        made = g.values[len(given):] or g.values[:1]
        chosen = [made[-1], *(made[int(i)] for i in g.rng.permutation(len(made))[:4])]
        coarsest = max([TOLERANCE.get(str(v.array.dtype), FINEST) for v in made])
        tolerances[:] = [0.0 if v.exact else coarsest for v in chosen]
        return tuple(v.array for v in chosen)
    return grown, tolerances


def arguments(seed: int, special: bool) -> tuple[jax.Array, ...]:
    """What `program(seed, moves)` takes: small numbers, or NaN, infinities, -0.0 and the ends of the integers."""
    rng = np.random.default_rng(seed + 77)

    def shape() -> tuple[int, ...]:
        return tuple(int(n) for n in rng.choice(EXTENTS, rng.integers(1, 4)))

    common = shape()
    chosen = [str(rng.choice(kinds)) for kinds in (FLOATS[:2] + FLOATS, FLOATS[:2], INTEGERS, COMPLEX)]
    dtypes = [*chosen, "bool", *chosen[:3]]
    shapes = [common if k > 4 or rng.random() < 0.6 else shape() for k in range(len(dtypes))]
    places = jnp.asarray(rng.integers(-1, 5, 2).astype(np.int32))
    numbers = np.random.default_rng([seed, special])
    return places, *(_array(numbers, s, d, special) for s, d in zip(shapes, dtypes, strict=True))


def _array(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, special: bool) -> jax.Array:
    if dtype == "bool":
        return jnp.asarray(rng.random(shape) < 0.5)
    if dtype in INTEGERS:
        ends = jnp.iinfo(dtype)
        given = np.array([int(ends.min), int(ends.max), 0, 1, 2, int(ends.max) - 1], np.dtype(dtype))
        small = rng.integers(max(ends.min, -6), 7, shape).astype(dtype)
        return jnp.asarray(rng.choice(given, shape) if special else small)
    if dtype in COMPLEX:
        return jnp.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    numbers = rng.choice(SPECIAL, shape) if special else rng.uniform(-2, 2, shape).round(int(rng.choice([1, 8])))
    return jnp.asarray(numbers).astype(dtype)


def difference(want: jax.Array, got: jax.Array, tolerance: float) -> str | None:
    """What differs, in words."""
    if (want.dtype, want.shape) != (got.dtype, got.shape):
        return f"{got.dtype}{got.shape} in place of {want.dtype}{want.shape}"
    of = kind(want.dtype)
    if of in "iub":
        return None if np.array_equal(np.asarray(want), np.asarray(got)) else f"{got} in place of {want}"
    a, b = (np.asarray(x.astype(np.complex128 if of == "c" else np.float64)) for x in (want, got))
    if not tolerance and of == "f":
        same = np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a[a == a]), np.signbit(b[b == b]))
        return None if same else f"{b} in place of {a}, bit for bit"
    tolerance = max(tolerance, FINEST)
    largest = min(np.max(np.abs(a[np.isfinite(a)]), initial=1.0), 1e3)
    with np.errstate(all="ignore"):
        close = np.isclose(b, a, rtol=tolerance, atol=tolerance * largest, equal_nan=True)
    return None if close.all() else f"{b[~close][:4]} in place of {a[~close][:4]}"

"""The cores of `random` that need loops: exact rejection algorithms as JAX functions, spliced in by `call_jax`.

`bits` are two uint32 words drawn from the generator's stream; they key an independent Threefry stream.
"""
from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax import lax

Draw = tuple[jax.Array, jax.Array]


def _key(bits: jax.Array) -> jax.Array:
    return jax.random.wrap_key_data(bits, impl="threefry2x32")


def poisson(bits: jax.Array, rate: jax.Array) -> jax.Array:
    """Products of uniforms below a rate of 10, transformed rejection (Hoermann, 1993) above."""
    return jax.random.poisson(_key(bits), rate, dtype=jnp.int64)


def binomial(bits: jax.Array, n: jax.Array, p: jax.Array) -> jax.Array:
    """Inversion by geometric steps below n min(p, 1-p) = 10, transformed rejection (Hoermann, 1993) above."""
    return jax.random.binomial(_key(bits), n.astype(jnp.float64), p, dtype=jnp.float64).astype(jnp.int64)


def _bits(state: jax.Array, shape: tuple[int, ...], dtype: type) -> Draw:
    new, bits = lax.rng_bit_generator(state, shape, dtype, algorithm=lax.RandomAlgorithm.RNG_THREE_FRY)
    return new, bits


def _uniform(bits: jax.Array, dtype: jnp.dtype) -> jax.Array:
    """In [0, 1), from the high half of 64-bit words in single precision."""
    if dtype == jnp.float32:
        return (bits >> 40).astype(dtype) * dtype.type(2.0**-24)
    return (bits >> 11).astype(dtype) * 2.0**-53


def _normal(bits: jax.Array, dtype: jnp.dtype) -> jax.Array:
    single = dtype == jnp.float32
    middle = (bits >> (41 if single else 12)).astype(dtype) + dtype.type(0.5)
    return lax.erf_inv(middle * dtype.type(2.0**-22 if single else 2.0**-51) - 1) * dtype.type(2.0**0.5)


# ---- gamma and beta --------------------------------------------------------------------------------------------

def gamma(state: jax.Array, a: jax.Array) -> Draw:
    """Gamma of shape `a` and scale 1; 0 for a = 0."""
    state, value, logarithm = _gamma_parts(state, a)
    return state, jnp.where(a == 0, 0, jnp.where(jnp.isfinite(a), value * jnp.exp(logarithm), a))


def beta(state: jax.Array, a: jax.Array, b: jax.Array) -> Draw:
    """A quotient of gammas, in logarithms so that small `a` and `b` do not underflow."""
    state, value, logarithm = _gamma_parts(state, a)
    first = jnp.log(value) + logarithm
    state, value, logarithm = _gamma_parts(state, b)
    return state, jnp.exp(first - jnp.logaddexp(first, jnp.log(value) + logarithm))


def _gamma_parts(state: jax.Array, a: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """(state, value, logarithm): a draw is value * exp(logarithm). By Marsaglia and Tsang (2000); below a shape of 1 by
    that of a + 1 times u**(1/a). All elements are drawn together until the last one is accepted."""
    regular = jnp.isfinite(a) & (a > 0)
    raised = jnp.where(regular & (a >= 1), a, jnp.where(regular, a + 1, 1))
    d = raised - a.dtype.type(1 / 3)
    c = 1 / jnp.sqrt(9 * d)

    def draw(state: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        state, bits = _bits(state, (2, *a.shape), jnp.uint64)
        x, u = _normal(bits[0], a.dtype), _uniform(bits[1], a.dtype)
        v = (1 + c * x) ** 3
        bound = 0.5 * x * x + d - d * v + d * jnp.log(jnp.where(v > 0, v, 1))
        return state, v, (v <= 0) | (jnp.log1p(-u) >= bound)

    def again(carried: tuple) -> tuple:
        state, value, rejected = carried
        state, fresh, still = draw(state)
        return state, jnp.where(rejected, fresh, value), rejected & still

    state, value, _ = lax.while_loop(lambda carried: jnp.any(carried[2]), again, draw(state))
    state, bits = _bits(state, a.shape, jnp.uint64)
    boost = jnp.log1p(-_uniform(bits, a.dtype)) / jnp.where(regular, a, 1)
    return state, d * value, jnp.where(a < 1, boost, 0)


# ---- integers, orders, positions -------------------------------------------------------------------------------

def order(state: jax.Array, shape: tuple[int, ...], axis: int) -> Draw:
    """Independent uniform permutations of the indices along `axis`: sorted by random bits, the index in the low bits
    of the same word (one array sorts several times faster than two). Should two random parts agree, all is drawn again,
    so the permutations are exactly uniform."""
    index_bits = max(shape[axis] - 1, 1).bit_length()
    index = lax.broadcasted_iota(jnp.uint64, shape, axis)
    low = jnp.uint64(2**index_bits - 1)

    def draw(carried: tuple) -> Draw:
        state, bits = _bits(carried[0], shape, jnp.uint64)
        return state, lax.sort((bits & ~low) | index, dimension=axis)

    def tied(carried: tuple) -> jax.Array:
        drawn = carried[1] >> index_bits
        first, second = (lax.slice_in_dim(drawn, k, shape[axis] - 1 + k, axis=axis) for k in (0, 1))
        return jnp.any(first == second)

    state, keys = lax.while_loop(tied, draw, draw((state,)))
    return state, (keys & low).astype(jnp.int64)


def packs(shape: tuple[int, ...], axis: int) -> bool:
    """Whether `order` rarely draws again: less than a tenth of a tied pair expected."""
    count = shape[axis]
    pairs = count * count / 2 * math.prod(shape) / max(count, 1)
    return pairs * 2.0 ** max(count - 1, 1).bit_length() < 0.1 * 2.0**64


def below(state: jax.Array, span: jax.Array, shape: tuple[int, ...], narrow: bool) -> Draw:
    """Integers in [0, span), exactly uniform (Lemire, 2019): the high half of bits * span, drawn again where the low
    half falls into the uneven rest. A span of 0 stands for 2**64. `narrow`: every span is at most 2**32."""
    multiply = _multiply_narrow if narrow else _multiply_wide
    word = jnp.uint32 if narrow else jnp.uint64
    whole = jnp.uint64(2**32) if narrow else jnp.uint64(0)
    everything = span == 0
    safe = jnp.where(everything, 1, span)
    uneven = jnp.where(everything, 0, (whole - safe) % safe)

    def draw(state: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        state, bits = _bits(state, shape, word)
        high, low = multiply(bits, safe)
        return state, jnp.where(everything, bits.astype(jnp.uint64), high), low < uneven

    def again(carried: tuple) -> tuple:
        state, values, rejected = carried
        state, fresh, still = draw(state)
        return state, jnp.where(rejected, fresh, values), rejected & still

    state, values, _ = lax.while_loop(lambda carried: jnp.any(carried[2]), again, draw(state))
    return state, values


def _multiply_narrow(bits: jax.Array, span: jax.Array) -> Draw:
    product = bits.astype(jnp.uint64) * span
    return product >> 32, product & 0xFFFFFFFF


def _multiply_wide(bits: jax.Array, span: jax.Array) -> Draw:
    """High and low half of the 128-bit product, by 32-bit limbs."""
    a1, a0, b1, b0 = bits >> 32, bits & 0xFFFFFFFF, span >> 32, span & 0xFFFFFFFF
    low = a0 * b0
    middle = a1 * b0 + (low >> 32)
    other = a0 * b1 + (middle & 0xFFFFFFFF)
    return a1 * b1 + (middle >> 32) + (other >> 32), bits * span


def positions(cumulative: jax.Array, uniforms: jax.Array) -> jax.Array:
    """Where each uniform falls into a cumulative distribution."""
    return jnp.searchsorted(cumulative, uniforms, side="right").astype(jnp.int64)


def vonmises(state: jax.Array, kappa: jax.Array) -> Draw:
    """Angles about 0 with concentration `kappa` (Best and Fisher, 1979)."""
    root = jnp.sqrt(1 + 4 * kappa * kappa)
    safe = jnp.maximum(kappa, 1e-8)
    rho = (1 + root - jnp.sqrt(2 * (1 + root))) / (2 * safe)
    # for tiny kappa the quotient cancels: its series
    s = jnp.where(kappa < 1e-5, 1 / safe + kappa, (1 + rho * rho) / jnp.where(rho == 0, 1, 2 * rho))

    def again(carried: tuple) -> tuple:
        state, angle, pending = carried
        state, bits = _bits(state, (3, *kappa.shape), jnp.uint64)
        u, v, side = (bits >> 11).astype(jnp.float64) * 2.0**-53
        z = jnp.cos(jnp.pi * u)
        w = (1 + s * z) / (s + z)
        y = kappa * (s - w)
        v = jnp.where(v == 0, 1, v)
        accept = (y * (2 - y) - v >= 0) | (jnp.log(y / v) + 1 - y >= 0)
        fresh = jnp.where(side < 0.5, -1, 1) * jnp.arccos(jnp.clip(w, -1, 1))
        return state, jnp.where(pending & accept, fresh, angle), pending & ~accept

    start = (state, jnp.zeros_like(kappa), kappa >= 1e-8)
    state, angle, _ = lax.while_loop(lambda carried: jnp.any(carried[2]), again, start)
    state, bits = _bits(state, kappa.shape, jnp.uint64)
    uniform = jnp.pi * (2 * (bits >> 11).astype(jnp.float64) * 2.0**-53 - 1)
    return state, jnp.where(kappa < 1e-8, uniform, angle)


def zipf(state: jax.Array, a: jax.Array) -> Draw:
    """Zipf's law with exponent `a`, by rejection from a power law (Devroye, 1986, X.6.1)."""
    largest = 2.0**63

    def again(carried: tuple) -> tuple:
        state, value, pending = carried
        state, bits = _bits(state, (2, *a.shape), jnp.uint64)
        u, v = (bits >> 11).astype(jnp.float64) * 2.0**-53
        x = jnp.floor((1 - u) ** (-1 / (a - 1)))
        t = (1 + 1 / x) ** (a - 1)
        b = 2.0 ** (a - 1)
        accept = (x < largest) & (x >= 1) & (v * x * (t - 1) / (b - 1) <= t / b)
        return state, jnp.where(pending & accept, x, value), pending & ~accept

    state, value, _ = lax.while_loop(lambda carried: jnp.any(carried[2]), again,
                                     (state, jnp.ones_like(a), jnp.ones(a.shape, bool)))
    return state, value.astype(jnp.int64)

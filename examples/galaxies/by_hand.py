"""The same log-density as somebody writes it who writes JAX: one galaxy, `vmap` over galaxies and filters."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from .catalogue import MIDDLE, NAMES, POPULATION, SPREAD
from .spectra import MEGAPARSEC, Library


def one(galaxy: jax.Array, dust: jax.Array, tables: Library) -> jax.Array:
    """Fluxes of one galaxy, (filters,), microjansky."""
    mass, start, decay, _, redshift = MIDDLE + SPREAD * galaxy
    attenuation = jnp.exp(dust[0] + dust[1] * galaxy[3])
    redshift = jnp.exp(redshift)
    since = jnp.maximum(jnp.exp(start) - tables.ages, 0.0)
    stars = since * jnp.exp(-since / jnp.exp(decay)) * tables.widths
    rest = 10.0**mass * (stars / stars.sum()) @ tables.light * 10.0 ** (-0.4 * attenuation * tables.dust)
    stretched = tables.wave * (1.0 + redshift)
    distance = MEGAPARSEC * jnp.interp(redshift, tables.far[0], tables.far[1])
    seen = rest / ((1.0 + redshift) * 4.0 * jnp.pi * distance**2)

    def through(curve: jax.Array) -> jax.Array:
        passed = jnp.interp(stretched, tables.curve_wave, curve, left=0.0, right=0.0)
        return (jnp.trapezoid(seen * passed * stretched, stretched)
                / jnp.trapezoid(2.99792458e18 * passed / stretched, stretched))

    return 1e29 * jax.vmap(through)(tables.curves)


def log_density(state: jax.Array, flux: jax.Array, error: jax.Array, tables: Library) -> jax.Array:
    """`catalogue.log_density`."""
    mean, log_spread = POPULATION[0] + POPULATION[1] * state[:2]
    dust = jnp.stack([mean, jnp.exp(log_spread - 1.0)])
    expected = jax.vmap(lambda galaxy: one(galaxy, dust, tables))(state[2:].reshape(-1, len(NAMES)))
    return -0.5 * jnp.sum(((flux - expected) / error) ** 2) - 0.5 * jnp.sum(state**2)

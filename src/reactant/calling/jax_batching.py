"""`jax.vmap` of compiled functions: the batched module instead of a loop over the elements.

To JAX a compiled function is one primitive, `run_module`; under `jax.vmap` it is the same primitive with the module
that `batching` makes of it, simplified again. Composes with JAX's derivatives in either order.
"""
from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax.numpy as jnp
from jax.interpreters import batching

from reactant.ir import modules
from reactant.ir.context import building
from reactant.runtime.jax_internals import X64
from reactant.runtime.program import Body, fitted, run_module


@lru_cache(maxsize=256)
def batched_body(body: Body, dimensions: tuple[int | None, ...], count: int) -> Body:
    """The body for a whole batch; all results have it as dimension 0."""
    import reactant.differentiate.batched_marks  # noqa: F401 - loaded when something is mapped
    from reactant.batching.engine import batched_module
    from reactant.calling import derived_bodies
    with building():
        source = modules.silence(derived_bodies.source_of(body))
        made = batched_module(source, dimensions, count, everything=True).module
        return derived_bodies.frozen(made, f"{body.name}_batched", sorted(body.weak))


def run_batched(operands: Sequence[Any], dimensions: Sequence[Any], *, body: Body) -> tuple[list[Any], list[int]]:
    """The batching rule of `run_module`."""
    mapped = tuple(None if d is None else int(d) for d in dimensions)
    count = next(jnp.shape(x)[d] for x, d in zip(operands, mapped, strict=True) if d is not None)
    made = batched_body(body, mapped, count)
    with X64():
        results = run_module.bind(*fitted(operands, made.inputs), body=made)
    return results, [0] * len(results)


def install() -> None:
    """Tell JAX. Done once, by importing `reactant.calling.compiled`."""
    batching.primitive_batchers[run_module] = run_batched

"""Derivatives of compiled NumPy functions for JAX: `jax.jvp`, `jax.grad` and the rest, at any order.

To JAX a compiled function is one primitive, `run_module`. Its tangents are a second one, `linear_part`, linear in the
tangents: forward mode runs the module of `differentiate.forward.jvp`, and what JAX transposes runs the one of
`differentiate.reverse.vjp`; of a real number value and gradient are one program. All modules go through our passes, and
are differentiated again when asked.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching
from jax.interpreters import mlir as jax_mlir

from reactant.calling import jax_batching
from reactant.errors import NotDifferentiable, UnsupportedError
from reactant.ir import modules
from reactant.ir.context import building
from reactant.runtime.jax_internals import X64, Primitive, linearized_by, result_type
from reactant.runtime.program import Body, fitted, run_module

FLOATS = {np.dtype(np.float32), np.dtype(np.float64)}
"""Whose products with a cotangent neither overflow nor vanish before it would: narrower ones have scaled losses."""
linear_part = Primitive("reactant_tangents")
linear_part.multiple_results = True
"""(arguments..., tangents of the `varied` ones...) -> tangents of the results that have any."""


def _inexact(arrays: Sequence[Any]) -> tuple[int, ...]:
    return tuple(i for i, a in enumerate(arrays) if jnp.issubdtype(a.dtype, jnp.inexact))


@lru_cache(maxsize=256)
def _derived(body: Body, varied: tuple[int, ...], mode: str) -> Body:
    """The body that gives the results of `body`, then their tangents or the cotangents of its `varied` arguments."""
    from reactant.calling import derived_bodies
    from reactant.differentiate.modes import forward, reverse  # loaded when the first derivative is taken
    with building():
        module = derived_bodies.source_of(body)
        modules.inline_calls(module)
        make = forward.jvp if mode == "jvp" else reverse.vjp
        try:
            made = make(module, varied, _inexact(body.outputs))
        except NotDifferentiable as error:
            raise UnsupportedError(f"JAX cannot differentiate '{body.name}', a compiled NumPy function: {error.fact}",
                                   hint="Wrap the call in jax.custom_jvp or jax.custom_vjp with the derivative, or "
                                        "change the line.", code="not-differentiable", span=error.span) from error
        return derived_bodies.frozen(made, f"{body.name}_{mode}", sorted(body.weak))


def _tangents(*operands: Any, body: Body, varied: tuple[int, ...]) -> list[Any]:
    """What `linear_part` means: the derived module, without the results of the module itself."""
    with X64():
        return run_module.bind(*operands, body=_derived(body, varied, "jvp"))[len(body.outputs):]


@linear_part.def_abstract_eval
def _abstract(*given: Any, body: Body, varied: tuple[int, ...]) -> list[Any]:
    return [result_type(body.outputs[i].shape, body.outputs[i].dtype, given) for i in _inexact(body.outputs)]


linear_part.def_impl(_tangents)
jax_mlir.register_lowering(linear_part, jax_mlir.lower_fun(_tangents, multiple_results=True))


def _jvp_of_module(primals: Sequence[Any], tangents: Sequence[Any], *, body: Body) -> tuple[list, list]:
    inexact = _inexact(body.inputs)
    varied = tuple(i for i, t in enumerate(tangents) if i in inexact and type(t) is not ad.Zero)
    primals = fitted(primals, body.inputs)
    with X64():
        results = run_module.bind(*primals, body=body)
        given: list[Any] = [ad.Zero(jax.typeof(r).to_tangent_aval()) for r in results]
        wanted = _inexact(body.outputs)
        if varied and wanted:
            directions = fitted([tangents[i] for i in varied], [body.inputs[i] for i in varied])
            found = linear_part.bind(*primals, *directions, body=body, varied=varied)
            for i, tangent in zip(wanted, found, strict=True):
                given[i] = tangent
    return results, given


def _jvp_of_tangents(primals: Sequence[Any], tangents: Sequence[Any], *, body: Body,
                     varied: tuple[int, ...]) -> tuple[list, list]:
    """Second order: the tangents are results of a module, too."""
    results, given = _jvp_of_module(primals, tangents, body=_derived(body, varied, "jvp"))
    return results[len(body.outputs):], given[len(body.outputs):]


def _transposed(cotangents: Sequence[Any], *operands: Any, body: Body, varied: tuple[int, ...]) -> list[Any]:
    count = len(body.inputs)
    with X64():
        given = [ad.instantiate_zeros(c) for c in cotangents]
        found = run_module.bind(*operands[:count], *given, body=_derived(body, varied, "vjp"))[len(body.outputs):]
    return [None] * count + [g if ad.is_undefined_primal(t) else None
                             for g, t in zip(found, operands[count:], strict=True)]


def _gradient(otherwise: Callable[[], Any], nonzero: Sequence[bool], *primals: Any, body: Body) -> Any:
    """Of one real result: its value and its gradient in one program, rather than the value once more in another."""
    varied, wanted = tuple(i for i in _inexact(body.inputs) if nonzero[i]), _inexact(body.outputs)
    dtypes = {a.dtype for a in (*(body.outputs[i] for i in wanted), *(body.inputs[i] for i in varied))}
    if not varied or len(wanted) != 1 or body.outputs[wanted[0]].shape or len(dtypes) > 1 or not dtypes <= FLOATS:
        return otherwise()
    with X64():
        derived = _derived(body, varied, "vjp")
        found = run_module.bind(*fitted([*primals, np.ones((), dtypes.pop())], derived.inputs), body=derived)
    results, slopes = found[:len(body.outputs)], found[len(body.outputs):]
    nothing = [ad.Zero(jax.typeof(r).to_tangent_aval()) for r in results]

    def tangents(slopes: Sequence[Any], *given: Any) -> list[Any]:
        with X64():
            total = sum(jnp.sum(slope * given[i]) for slope, i in zip(slopes, varied, strict=True))
        return [total if i in wanted else zero for i, zero in enumerate(nothing)]

    return results, [i in wanted for i in range(len(results))], slopes, tangents


def _transposed_module(cotangents: Sequence[Any], *operands: Any, body: Body) -> list[Any]:
    """`jax.linear_transpose`: what is linear has one derivative, also at NaN, where all others are NaN."""
    linear = tuple(i for i, o in enumerate(operands) if ad.is_undefined_primal(o))
    with X64():
        primals = [jnp.full(a.shape, jnp.nan, a.dtype) if i in linear else o
                   for i, (o, a) in enumerate(zip(operands, body.inputs, strict=True))]
        given = [ad.instantiate_zeros(cotangents[i]) for i in _inexact(body.outputs)]
        derived = _derived(body, linear, "vjp")
        found = run_module.bind(*fitted([*primals, *given], derived.inputs), body=derived)
    wanted = iter(found[len(body.outputs):])
    return [next(wanted) if i in linear else None for i in range(len(operands))]


def _batched(operands: Sequence[Any], dimensions: Sequence[Any], *, body: Body,
             varied: tuple[int, ...]) -> tuple[list, list]:
    results, places = jax_batching.run_batched(operands, dimensions, body=_derived(body, varied, "jvp"))
    return results[len(body.outputs):], places[len(body.outputs):]


def install() -> None:
    """Tell JAX. Done once, by importing `reactant.calling.compiled`."""
    jax_batching.install()
    ad.primitive_jvps[run_module] = _jvp_of_module
    linearized_by(run_module, _gradient)
    ad.primitive_jvps[linear_part] = _jvp_of_tangents
    ad.primitive_transposes[run_module] = _transposed_module
    ad.primitive_transposes[linear_part] = _transposed
    batching.primitive_batchers[linear_part] = _batched

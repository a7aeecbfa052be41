"""Calls of functions with a derivative of the user's (`reactant.custom_derivative`) in what JAX traces.

To JAX such a call is one primitive, `marked_call`. Its tangents are those of the `jvp` rule, which JAX transposes;
where there is a `vjp` rule they are a second primitive, `marked_tangents`, whose transpose is that rule. A module that
we differentiate has a mark with both rules in the place of the call (`keep_marked`).
"""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters import ad, batching
from jax.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir

from reactant.differentiate import requests
from reactant.frontends.jax.jax_custom import as_mark, inexact, lowered, nothing, struct
from reactant.runtime.jax_internals import Primitive
from reactant.support.records import dataclass

Arrays = Sequence[Any]


@dataclass(frozen=True, eq=False)
class Marked:
    """A function of arrays that gives a list of arrays, and its rules. What is no float has no tangents: these are
    those of the others, in order."""

    name: str
    function: Callable[..., Arrays]
    tangents: Callable[[Arrays, Arrays], Arrays] | None
    """(arguments, their tangents) -> tangents of the results."""
    cotangents: Callable[[Arrays, Arrays, Arrays], Arrays] | None
    """(arguments, results, their cotangents) -> cotangents of the arguments."""

    @functools.cached_property
    def mapped(self) -> Marked:
        """The same for a batch, along the first dimension of everything."""
        return Marked(self.name, jax.vmap(self.function), self.tangents and jax.vmap(self.tangents),
                      self.cotangents and jax.vmap(self.cotangents))

    def pushed(self, arguments: Arrays, tangents: Arrays) -> Arrays:
        """Tangents of the results."""
        if self.tangents is None:
            raise requests.CustomRule(self.name).no_tangents()
        return self.tangents(arguments, tangents)


marked_call, marked_tangents = Primitive("reactant_custom_derivative"), Primitive("reactant_custom_tangents")
marked_call.multiple_results = marked_tangents.multiple_results = True


def _call(*arguments: Any, marked: Marked) -> list[Any]:
    return list(marked.function(*arguments))


def _push(*operands: Any, marked: Marked, inputs: int, outputs: int) -> list[Any]:
    """What `marked_tangents` means. operands: arguments, results, tangents of the arguments."""
    return list(marked.pushed(operands[:inputs], operands[inputs + outputs:]))


def _jvp_of_call(primals: Arrays, tangents: Arrays, *, marked: Marked) -> tuple[list, list]:
    results = marked_call.bind(*primals, marked=marked)
    given = [ad.instantiate_zeros(t) for x, t in zip(primals, tangents, strict=True) if inexact(x)]
    found = marked.pushed(primals, given) if marked.cotangents is None else marked_tangents.bind(
        *primals, *results, *given, marked=marked, inputs=len(primals), outputs=len(results))
    left = iter(found)
    return results, [next(left) if inexact(r) else ad.Zero(jax.typeof(r).to_tangent_aval()) for r in results]


def _jvp_of_push(primals: Arrays, tangents: Arrays, **parameters: Any) -> tuple[list, list]:
    """Second order."""
    given = [ad.instantiate_zeros(t) if inexact(x) else nothing(x) for x, t in zip(primals, tangents, strict=True)]
    return jax.jvp(functools.partial(_push, **parameters), primals, given)


def _transposed(cotangents: Arrays, *operands: Any, marked: Marked, inputs: int, outputs: int) -> list[Any]:
    assert marked.cotangents is not None, "else there is no such op"
    pulled = marked.cotangents(operands[:inputs], operands[inputs:inputs + outputs],
                               [ad.instantiate_zeros(g) for g in cotangents])
    return [None] * (inputs + outputs) + [g if ad.is_undefined_primal(t) else None
                                          for g, t in zip(pulled, operands[inputs + outputs:], strict=True)]


def _batched(primitive: Any, operands: Arrays, dimensions: Sequence[Any], *, marked: Marked, **more: int) -> tuple:
    count = next(x.shape[d] for x, d in zip(operands, dimensions, strict=True) if d is not None)
    front = [jnp.broadcast_to(x, (count, *jnp.shape(x))) if d is None else jnp.moveaxis(x, d, 0)
             for x, d in zip(operands, dimensions, strict=True)]
    results = primitive.bind(*front, marked=marked.mapped, **more)
    return results, [0] * len(results)


@marked_tangents.def_abstract_eval
def _abstract(*operands: Any, marked: Marked, inputs: int, outputs: int) -> list[Any]:
    return [jax.core.ShapedArray(r.shape, r.dtype) for r in operands[inputs:inputs + outputs] if inexact(r)]


@marked_call.def_abstract_eval
def _abstract_call(*arguments: Any, marked: Marked) -> list[Any]:
    return [jax.core.ShapedArray(r.shape, r.dtype) for r in jax.eval_shape(marked.function, *map(struct, arguments))]


for _primitive, _meaning, _derivative in ((marked_call, _call, _jvp_of_call), (marked_tangents, _push, _jvp_of_push)):
    _primitive.def_impl(_meaning)
    jax_mlir.register_lowering(_primitive, jax_mlir.lower_fun(_meaning, multiple_results=True))
    ad.primitive_jvps[_primitive] = _derivative
    batching.primitive_batchers[_primitive] = functools.partial(_batched, _primitive)
ad.primitive_transposes[marked_tangents] = _transposed


def keep_marked(context: Any, *operands: ir.Value, marked: Marked) -> Sequence[ir.Value]:
    """The lowering of a call where the module is to be differentiated."""
    x64 = jax.config.jax_enable_x64
    inputs, outputs = list(map(struct, context.avals_in)), list(map(struct, context.avals_out))

    def module(rule: Callable, *groups: list) -> Callable[[], ir.Module]:
        """The rule as a module of the arrays of all groups, of which only the last are none but floats."""
        sizes = np.cumsum([len(group) for group in groups[:-1]])

        def of_leaves(*arrays: Any) -> Any:
            return rule(*(arrays[start:end] for start, end in itertools.pairwise([0, *sizes, len(arrays)])))

        @functools.cache
        def make() -> ir.Module:
            with jax.enable_x64(x64):
                return lowered(marked.name, of_leaves, [each for group in groups for each in group])
        return make

    moved, pulled = list(filter(inexact, inputs)), list(filter(inexact, outputs))
    rule = requests.CustomRule(marked.name, marked.tangents and module(marked.tangents, inputs, moved),
                               marked.cotangents and module(marked.cotangents, inputs, outputs, pulled))
    compute = jax_mlir.lower_fun(_call, multiple_results=True)
    return as_mark(context, operands, rule, lambda arguments: compute(context, *arguments, marked=marked))

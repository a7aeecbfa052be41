"""Calls of JAX functions from traced NumPy code: their modules become part of the program being traced."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxlib.mlir import ir

from reactant.errors import UnsupportedError
from reactant.frontends.arrays.tensor import PYTHON, Tensor, check_dtype, is_tensor
from reactant.frontends.jax.importing import lower_call
from reactant.frontends.jax.jax_arguments import Settings, settings_of
from reactant.frontends.jax.refusals import CannotImport, NotImported
from reactant.frontends.session import jax_calls
from reactant.frontends.session.dispatch import means
from reactant.frontends.session.trace import current_trace, located
from reactant.ir import modules, ops
from reactant.ir.types import shape_and_dtype
from reactant.runtime.jax_internals import PjitFunction
from reactant.support.random_keys import generator_of, is_key, keys_of
from reactant.support.session import SESSION, suspended

_HERE = object()
"""Where an array stands among results that are none."""

BY_JAX = "Call the derivative outside, or compile with frontend=\"jax\"."


@located
@means("call_of_jax")
def call_in_trace(function: Callable, args: tuple, kwargs: dict) -> Any:
    """`function(*args, **kwargs)` as part of the NumPy program being traced: traced arrays in, traced arrays out.

    jax's dtypes hold: with 64 bits off, a float64 array is float32 to the function, and so are its results. What a
    function that is not jitted returns beside arrays stays what it is. Raises `UnsupportedError` for callbacks, effects
    and shardings.
    """
    jitted = function if type(function) is PjitFunction else None
    settings = settings_of(jitted) if jitted is not None else Settings((), (), (), (), "")
    body = jitted._fun if jitted is not None else function
    static = set(settings.static_argnums)
    leaves, tree = jax.tree_util.tree_flatten((
        [None if i in static else a for i, a in enumerate(args)],
        {n: a for n, a in kwargs.items() if n not in settings.static_argnames}))
    numbers = [i for i, leaf in enumerate(leaves) if is_tensor(leaf)]
    known = [None if is_tensor(leaf) else _constant(leaf) for leaf in leaves]
    shapes = [_abstract(leaves[i]) for i in numbers]
    name = getattr(function, "__name__", "function")
    structure, beside = None, []

    def with_arrays(*arrays: Any) -> Any:
        nonlocal structure, beside
        whole = list(known)
        for i, array in zip(numbers, arrays, strict=True):
            whole[i] = array
        positional, keyword = jax.tree_util.tree_unflatten(tree, whole)
        positional = [args[i] if i in static else a for i, a in enumerate(positional)]
        fixed = {n: a for n, a in kwargs.items() if n in settings.static_argnames}
        results = body(*positional, **keyword, **fixed)
        if jitted is not None:
            return results
        parts, structure = jax.tree_util.tree_flatten(results)
        beside = [_HERE if isinstance(part, jax.Array) else part for part in parts]
        return [part for part, other in zip(parts, beside, strict=True) if other is _HERE]

    differentiated = SESSION.differentiating > 0
    try:
        with suspended():           # what of ours the function calls is a part of the JAX program
            imported = lower_call(jax.jit(with_arrays, keep_unused=True), tuple(shapes), {}, differentiated)
    except CannotImport as refused:
        purpose, advice = ("differentiated by reactant", BY_JAX) if SESSION.differentiating \
            else ("part of a compiled NumPy function", "Call it outside.")
        raise NotImported(f"The JAX function '{name}' cannot be {purpose}: {refused}.", advice) from None
    if not differentiated and any(is_key(out.dtype) for out in imported.outputs):
        raise UnsupportedError(f"The JAX function '{name}' returns a jax.random.key to a compiled NumPy function.",
                               hint="Return jax.random.key_data(key), or keep keys inside.", code="jax-random-key")
    values = [_converted(leaves[i].value(), aval.dtype) for i, aval in zip(numbers, imported.inputs, strict=True)]
    values = [*map(current_trace().capture_traced, imported.outside), *values]
    if len(values) != len(modules.function(imported.module).regions[0].blocks[0].arguments):
        raise UnsupportedError(f"The JAX function '{name}' uses an array from outside that JAX is tracing.",
                               hint="Pass it as an argument.", code="captured-array")
    results = [keys_of(generator_of(out.dtype), Tensor.of_value(r)) if is_key(out.dtype) else Tensor.of_value(r)
               for r, out in zip(jax_calls.splice(imported.module, values, current_trace().module), imported.outputs,
                                 strict=True)]
    if structure is None:
        return jax.tree_util.tree_unflatten(imported.out_tree, results)
    arrays = iter(results)
    return jax.tree_util.tree_unflatten(structure, [next(arrays) if other is _HERE else other for other in beside])


def _abstract(tensor: Tensor) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(tensor.shape, jax.dtypes.canonicalize_dtype(tensor.dtype),
                                weak_type=tensor.kind == PYTHON)


def _constant(leaf: Any) -> Any:
    return jax.numpy.asarray(leaf) if isinstance(leaf, (np.ndarray, np.generic)) else leaf


def _converted(value: ir.Value, dtype: Any) -> ir.Value:
    check_dtype(dtype)
    return value if shape_and_dtype(value.type)[1] == dtype else ops.convert(value, dtype)

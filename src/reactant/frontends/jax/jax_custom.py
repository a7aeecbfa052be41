"""Derivatives that a JAX user defines: `jax.custom_jvp`, `jax.custom_vjp`, `jax.custom_gradient`.

JAX lowers a call of such a function to what the function computes. Where the module is to be differentiated,
`keep_call` is how it is lowered instead: to a `reactant.custom_derivative` mark, whose rule JAX itself applies when it
is asked for. The module of tangents is `jax.jvp` of the one call, that of cotangents `jax.vjp` of it. They are lowered
in the same way, so derivatives of higher order find the marks of what the rules call.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src.ad_checkpoint import remat_p  # private: the primitive of jax.checkpoint
from jax.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir

from reactant.differentiate import requests
from reactant.errors import UnsupportedError
from reactant.frontends.jax.refusals import CannotImport, NotImported
from reactant.frontends.session.dispatch import meaning
from reactant.ir import modules
from reactant.support.records import dataclass

LIBRARY = str(Path(jax.__file__).parent)
PRIMITIVES = ("custom_jvp_call", "custom_vjp_call")
_ON_BEHALF = ("/custom_derivatives.py:", "_custom_root at ")
"""Where functions of JAX's own have a rule that its user gave: `jax.custom_gradient`, `jax.lax.custom_root`."""
_OPAQUE = ("_frexp at ", "zeta at ")
"""Functions of JAX's own whose operations have no derivative, as those of bits, or not by all arguments."""


def name_of(parameters: dict[str, Any]) -> str:
    """`name at file:line` of the function that one of `PRIMITIVES` calls."""
    body = parameters["call_jaxpr"]       # private: the parameters of the primitives; a ClosedJaxpr, since 0.11 a Jaxpr
    debug = getattr(getattr(body, "jaxpr", body), "debug_info", None)
    return str(debug.func_src_info) if debug is not None and debug.func_src_info else "a function"


def is_the_users(parameters: dict[str, Any]) -> bool:
    """Whether the rule is not one of JAX's own, which are the mathematical ones that the operations have, too."""
    name = name_of(parameters)
    return f" at {LIBRARY}" not in name or name.startswith(_OPAQUE) or any(part in name for part in _ON_BEHALF)


def keep_call(context: Any, *operands: ir.Value, **parameters: Any) -> Sequence[ir.Value]:
    """The lowering of a call: a mark where the rule is the user's, else what the function computes."""
    from jax.extend.core import jaxpr_as_fun  # loads much, for the few programs with rules of their own
    compute = jax_mlir.lower_fun(jaxpr_as_fun(parameters["call_jaxpr"]), multiple_results=True)
    if not is_the_users(parameters):
        return compute(context, *operands)
    rule = _rule(context.primitive, parameters, [struct(aval) for aval in context.avals_in])
    return as_mark(context, operands, rule, lambda arguments: compute(context, *arguments))


def keep_iteration(primitive: Any) -> Callable:
    """The lowering of one of JAX's own functions that is computed by iteration, to a mark with JAX's rule: its
    derivative is simpler than that of every step."""
    compute = jax_mlir._lowerings[primitive].rule                   # private: how jax lowers it

    def keep(context: Any, *operands: ir.Value, **parameters: Any) -> Sequence[ir.Value]:
        rule = _rule(_Iterated(primitive), parameters, [struct(aval) for aval in context.avals_in])
        return as_mark(context, operands, rule, lambda arguments: compute(context, *arguments, **parameters))
    return keep


@dataclass(frozen=True)
class _Iterated:
    """A primitive of one result, to be called as `custom_jvp_call` is."""

    primitive: Any
    name = "custom_jvp_call"

    def bind(self, *arrays: Any, **parameters: Any) -> list[Any]:
        return [self.primitive.bind(*arrays, **parameters)]

    def get_bind_params(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return parameters


def keep_checkpoint(context: Any, *operands: ir.Value, differentiated: bool, **parameters: Any) -> Sequence[ir.Value]:
    """The lowering of a call of what `jax.checkpoint` gives: a mark, but for one that JAX has differentiated."""
    compute = functools.partial(jax_mlir._lowerings[remat_p].rule, context, differentiated=differentiated, **parameters)
    return compute(*operands) if differentiated else as_mark(context, operands, None, lambda given: compute(*given))


def as_mark(context: Any, operands: Sequence[ir.Value], rule: requests.CustomRule | None,
            compute: Callable[[Sequence[ir.Value]], Sequence[Any]]) -> Sequence[ir.Value]:
    """A call of a function with what it computes, marked with a rule, or to be computed again (None)."""
    name = requests.fresh("jax_custom")
    types = [value.type for value in operands]
    with ir.InsertionPoint(context.module_context.module.body):
        function = ir.Operation.create("func.func", regions=1, attributes={
            "sym_name": ir.StringAttr.get(name), "sym_visibility": ir.StringAttr.get("private"),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, []))})
    block = function.regions[0].blocks.append(*types)
    with ir.InsertionPoint(block):
        results = list(compute(list(block.arguments)))
        ir.Operation.create("func.return", [], results)
    given = [value.type for value in results]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, given))
    target, attributes = (requests.CHECKPOINT, requests.attributes_of(name, {})) if rule is None else \
        (requests.CUSTOM, requests.custom_attributes(rule, name))
    call = ir.Operation.create("stablehlo.custom_call", given, list(operands),
                               {"call_target_name": ir.StringAttr.get(target), **attributes})
    return list(call.results)


def struct(aval: Any) -> jax.ShapeDtypeStruct:
    """Shape and dtype of an abstract array."""
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))


def _rule(primitive: Any, parameters: dict[str, Any], inputs: list[jax.ShapeDtypeStruct],
          varied: frozenset[int] | None = None) -> requests.CustomRule:
    """The rule of one call; its modules are lowered when they are asked for. varied: the arguments that vary (all that
    can). JAX is told of no others: a `vjp` rule says nothing about arrays from outside, and only those that vary are
    an error."""
    x64 = jax.config.jax_enable_x64
    name = str(primitive.primitive) if isinstance(primitive, _Iterated) else name_of(parameters)
    if varied is None:
        outside = parameters.get("num_consts", 0) if primitive.name == "custom_vjp_call" else 0
        varied = frozenset(range(outside, len(inputs)))
    chosen = sorted(n for n in varied if inexact(inputs[n]))

    def applied(*arrays: Any) -> Any:
        return primitive.bind(*arrays, **primitive.get_bind_params(parameters))   # private: as jax evaluates it

    def pulled_back(given: Sequence[Any]) -> Any:
        def of_chosen(*arrays: Any) -> Any:
            whole = list(given[:len(inputs)])
            for n, array in zip(chosen, arrays, strict=True):
                whole[n] = array
            return applied(*whole)

        return jax.vjp(of_chosen, *(given[n] for n in chosen))

    def tangents(*given: Any) -> list[Any]:
        directions = iter(given[len(inputs):])
        moved = [next(directions) if inexact(each) else nothing(each) for each in inputs]
        results, found = jax.jvp(applied, given[:len(inputs)], tuple(moved))
        return [t for r, t in zip(results, found, strict=True) if inexact(r)]

    def cotangents(*given: Any) -> list[Any]:
        results, pull = pulled_back(given)
        pulled = iter(given[len(inputs) + len(results):])
        found = dict(zip(chosen, pull([next(pulled) if inexact(r) else nothing(r) for r in results]), strict=True))
        return [found.get(n, jnp.zeros(x.shape, x.dtype)) for n, x in enumerate(inputs) if inexact(x)]

    def results(*given: Any) -> Sequence[Any]:
        if primitive.name == "custom_vjp_call":
            return pulled_back(given)[0]
        return jax.jvp(applied, given, tuple(jnp.zeros_like(x) if inexact(x) else nothing(x) for x in given))[0]

    def module(function: Callable, *more: str) -> Callable[[], ir.Module]:
        @functools.cache
        def make() -> ir.Module:
            with jax.enable_x64(x64):
                outputs = [struct(each) for each in jax.eval_shape(applied, *inputs)] if "outputs" in more else []
                directions = [each for each in (outputs or inputs) if inexact(each)] if "directions" in more else []
                return lowered(name, function, [*inputs, *outputs, *directions])
        return make

    if primitive.name == "custom_jvp_call":
        return requests.CustomRule(name, module(tangents, "directions"), module(cotangents, "outputs", "directions"),
                                   module(results))
    return requests.CustomRule(name, None, module(cotangents, "outputs", "directions"), module(results),
                               "Define the function by jax.custom_jvp, or use reverse mode (vjp, grad, "
                               "jacobian(f, mode='reverse')).",
                               functools.cache(lambda only: _rule(primitive, parameters, inputs, only)))


def lowered(name: str, function: Callable, inputs: Sequence[jax.ShapeDtypeStruct]) -> ir.Module:
    """The module of a rule, with a function beside `main` for each mark in it."""
    try:
        module = meaning.lower_jax_call(jax.jit(function, keep_unused=True), tuple(inputs), {},
                                        differentiated=True).module
    except CannotImport as refused:
        raise NotImported(f"The derivative of {name} cannot be used by reactant: {refused}.") from None
    except Exception as error:
        if type(error).__name__ != "CustomVJPException":       # private to JAX
            raise
        raise UnsupportedError(f"{name} has a derivative rule for reverse mode (vjp), and uses an array from outside "
                               "that the derivative is by.", hint="Pass that as an argument.",
                               code="captured-array") from None
    if len(modules.function(module).regions[0].blocks[0].arguments) != len(inputs):     # JAX hands constants in
        raise UnsupportedError(f"The derivative rule of {name} uses a traced array from outside, which it cannot "
                               "see.", hint="Pass the array as an argument, or among what the forward pass keeps.",
                               code="captured-array")
    modules.inline_calls(module)
    return module


def inexact(array: Any) -> bool:
    """Whether an array can vary."""
    return bool(jnp.issubdtype(array.dtype, jnp.inexact))


def nothing(array: Any) -> np.ndarray:
    """The tangent of integers."""
    return np.zeros(array.shape, jax.dtypes.float0)

"""What a JAX function says about its own derivative, which JAX leaves out of the module it lowers.

`jax.lax.stop_gradient` is lowered to our own mark. Derivatives that the user's own code defines (`jax.custom_jvp`,
`jax.custom_vjp`) are refused where we would differentiate: they are Python functions that only JAX can apply. Those
that JAX itself defines are the mathematical ones, up to what they say where a function has a kink.
"""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
from jax._src.ad_util import stop_gradient_p  # private: the primitive of jax.lax.stop_gradient
from jax._src.interpreters import mlir as jax_mlir  # private: lowering with a rule of ours, and the rule's helpers
from jaxlib.mlir import ir

STOP = "reactant.stop_gradient"
_LIBRARY = str(Path(jax.__file__).parent)
_OWN = ("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr")


def _mark(ctx: Any, value: ir.Value) -> list[ir.Value]:
    call = ir.Operation.create(
        "stablehlo.custom_call", [value.type], [value],
        {"call_target_name": ir.StringAttr.get(STOP), "has_side_effect": ir.BoolAttr.get(False)})
    return list(call.results)


def marking_parameters() -> Any:
    """How to lower so that `stop_gradient` leaves a mark."""
    return jax_mlir.LoweringParameters(override_lowering_rules=((stop_gradient_p, _mark),))


def own_rules(jaxpr: Any) -> Iterator[str]:
    """`name at file:line` of each function with a derivative of its own that is not JAX's."""
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        if equation.primitive.name in _OWN:
            body = equation.params.get("call_jaxpr") or equation.params.get("fun_jaxpr")
            debug = getattr(getattr(body, "jaxpr", body), "debug_info", None)
            where = str(debug.func_src_info) if debug is not None and debug.func_src_info else "a function"
            if f" at {_LIBRARY}" not in where:
                yield where
        for parameter in equation.params.values():
            for inner in parameter if isinstance(parameter, (list, tuple)) else (parameter,):
                if hasattr(inner, "eqns") or hasattr(getattr(inner, "jaxpr", None), "eqns"):
                    yield from own_rules(inner)

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

from reactant.differentiate.requests import STOP

_LIBRARY = str(Path(jax.__file__).parent)
_OWN = ("custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr")


def _mark(ctx: Any, value: ir.Value) -> list[ir.Value]:
    call = ir.Operation.create(
        "stablehlo.custom_call", [value.type], [value],
        {"call_target_name": ir.StringAttr.get(STOP), "has_side_effect": ir.BoolAttr.get(False)})
    return list(call.results)


def marking_parameters(jaxpr: Any) -> Any:
    """How to lower so that the `stop_gradient` of the user's code leaves a mark; None where there is none.

    JAX's own code calls it too: where nothing depends on it (`logsumexp`), or where another rule says what the
    derivative is (`custom_linear_solve`), which differentiating the lowered program amounts to. The latter must not be
    marked; raises `MixedMarks` where the function has both, because lowering cannot tell them apart.
    """
    callers = set(_callers(jaxpr))
    if not any(not file.startswith(_LIBRARY) for file in callers):
        return None
    if any(file.startswith(_LIBRARY) and not file.endswith(_HARMLESS) for file in callers):
        raise MixedMarks
    return jax_mlir.LoweringParameters(override_lowering_rules=((stop_gradient_p, _mark),))


class MixedMarks(Exception):
    """A function stops gradients, and calls one of JAX's that does so for a reason of its own."""


_HARMLESS = ("nn/functions.py", "ops/special.py")


def _callers(jaxpr: Any) -> Iterator[str]:
    """The file of each call of `stop_gradient`."""
    for equation in _equations(jaxpr):
        if equation.primitive is stop_gradient_p:
            frames = list(equation.source_info.traceback.frames) if equation.source_info.traceback is not None else []
            names = [frame.function_name.rpartition(".")[2] for frame in frames]
            calls = [place for place, name in enumerate(names) if name == "stop_gradient"]     # batching calls it again
            after = frames[calls[-1] + 1:] if calls else []
            yield after[0].file_name if after else "unknown"


def _equations(jaxpr: Any) -> Iterator[Any]:
    """Every equation of a jaxpr, those inside others included."""
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        yield equation
        for parameter in equation.params.values():
            for inner in parameter if isinstance(parameter, (list, tuple)) else (parameter,):
                if hasattr(inner, "eqns") or hasattr(getattr(inner, "jaxpr", None), "eqns"):
                    yield from _equations(inner)


def own_rules(jaxpr: Any) -> Iterator[str]:
    """`name at file:line` of each function with a derivative of its own that is not JAX's."""
    for equation in _equations(jaxpr):
        if equation.primitive.name in _OWN:
            body = equation.params.get("call_jaxpr") or equation.params.get("fun_jaxpr")
            debug = getattr(getattr(body, "jaxpr", body), "debug_info", None)
            where = str(debug.func_src_info) if debug is not None and debug.func_src_info else "a function"
            if f" at {_LIBRARY}" not in where:
                yield where

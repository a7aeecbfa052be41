"""What a JAX function says about its own derivative, which JAX leaves out of the module it lowers.

`jax.lax.stop_gradient` is lowered to our own mark, and so are calls of functions whose derivative the user's own code
defines (see `jax_custom`). The rules that JAX itself defines are the mathematical ones, up to what they say where a
function has a kink.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jax._src.ad_checkpoint import remat_p  # private: the primitive of jax.checkpoint
from jax._src.ad_util import stop_gradient_p  # private: the primitive of jax.lax.stop_gradient
from jax._src.interpreters import mlir as jax_mlir  # private: lowering with a rule of ours, and the rule's helpers
from jax._src.lax import special  # private: its primitives
from jax._src.random import random_gamma_p  # private: the primitive of jax.random.gamma and what is made of it
from jaxlib.mlir import ir

from reactant.differentiate.requests import STOP
from reactant.frontends.jax.jax_custom import (
    LIBRARY,
    PRIMITIVES,
    is_the_users,
    keep_call,
    keep_checkpoint,
    keep_iteration,
)
from reactant.frontends.jax.jax_marked import keep_marked, marked_call
from reactant.runtime.program import lower_to_differentiate, lower_to_simplify, run_module


def _mark(ctx: Any, value: ir.Value) -> list[ir.Value]:
    call = ir.Operation.create(
        "stablehlo.custom_call", [value.type], [value],
        {"call_target_name": ir.StringAttr.get(STOP), "has_side_effect": ir.BoolAttr.get(False)})
    return list(call.results)


def lowering_parameters(jaxpr: Any) -> Any:
    """How to lower what is to be differentiated: the `stop_gradient` and the rules of the user's code leave marks, and
    compiled functions of ours are modules that can be differentiated.

    JAX's own code calls it too: where what stops is zero and need not be computed (`logsumexp`), or where another
    rule says what the derivative is (`custom_linear_solve`), which differentiating the lowered program amounts to. The
    latter must not be marked; raises `MixedMarks` where the function has both, because lowering cannot tell them apart.
    """
    rules = _with_rules(jaxpr)
    overrides = [(run_module, lower_to_differentiate), (marked_call, keep_marked),
                 *((each, keep_call) for each in rules), *((each, keep_iteration(each)) for each in ITERATED)]
    if not rules:       # derivatives of derivatives find the forward pass of a rule in plain sight only
        overrides.append((remat_p, keep_checkpoint))
    callers = set(_callers(jaxpr))
    said = any(not file.startswith(LIBRARY) or file.endswith(_MARKED) for file in callers)
    derived = any(file.startswith(LIBRARY) and not file.endswith((*_HARMLESS, *_MARKED)) for file in callers)
    if said and derived:
        raise MixedMarks
    if callers and not derived:
        overrides.append((stop_gradient_p, _mark))
    return jax_mlir.LoweringParameters(override_lowering_rules=tuple(overrides))


ITERATED = (special.igamma_p, special.igammac_p, random_gamma_p)
"""Functions of JAX that are computed by iteration, and whose derivatives are not, or are simpler. That of a sampler
that rejects is another than that of its steps: whether a draw is taken depends on the parameter, too."""

SIMPLIFIED = jax_mlir.LoweringParameters(override_lowering_rules=((run_module, lower_to_simplify),))
"""How to lower what is to be simplified: compiled functions of ours are parts of the program."""


class MixedMarks(Exception):
    """A function stops gradients, and calls one of JAX's that does so for a reason of its own."""


_HARMLESS = ("nn/functions.py", "ops/special.py")
_MARKED = ("control_flow/conditionals.py",)
"""Where every branch is computed for a batch: gradients stop before those that are not taken, lest NaN come out."""
_MACHINERY = tuple(f"{LIBRARY}/_src/{part}" for part in ("core.py", "source_info_util.py", "interpreters/"))


def _callers(jaxpr: Any) -> Iterator[str]:
    """The file of each call of `stop_gradient`. What a transformation calls has the place of what it transforms."""
    for equation in _equations(jaxpr):
        if equation.primitive is stop_gradient_p:
            frames = list(equation.source_info.traceback.frames) if equation.source_info.traceback is not None else []
            names = [frame.function_name.rpartition(".")[2] for frame in frames]
            calls = [place for place, name in enumerate(names) if name == "stop_gradient"]     # batching calls it again
            after = frames[calls[-1] + 1:] if calls else [f for f in frames if not f.file_name.startswith(_MACHINERY)]
            yield after[0].file_name if after else "unknown"


def _equations(jaxpr: Any) -> Iterator[Any]:
    """Every equation of a jaxpr, those inside others included."""
    for equation in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        yield equation
        for parameter in equation.params.values():
            for inner in parameter if isinstance(parameter, (list, tuple)) else (parameter,):
                if hasattr(inner, "eqns") or hasattr(getattr(inner, "jaxpr", None), "eqns"):
                    yield from _equations(inner)


def _with_rules(jaxpr: Any) -> list[Any]:
    """The primitives by which functions with rules of the user's are called."""
    return list(dict.fromkeys(equation.primitive for equation in _equations(jaxpr)
                              if equation.primitive.name in PRIMITIVES and is_the_users(equation.params)))

"""`jvp`, `vjp`, `linearize` and `hvp`: products with Jacobians and Hessians."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from reactant import signature as sig
from reactant.api import Jitted
from reactant.derivatives.entry import (
    EXTRA,
    Retraced,
    Sharing,
    compiled,
    delivered,
    is_compiled,
    name_of,
    numbers_of,
    remembered,
)
from reactant.derivatives.gradients import Derivative, grad
from reactant.derivatives.linear import jvp_traced, linear_traced
from reactant.derivatives.residuals import Split
from reactant.errors import ReactantError
from reactant.session import is_tracing


@remembered
def _jvp_entry(function: Any) -> Jitted:
    return compiled(function, lambda args, kwargs, tangents: jvp_traced(function, args, tangents, kwargs),
                    f"jvp_{name_of(function)}", True, Sharing if is_compiled(function) else Retraced)


def jvp(function: Callable, primals: Sequence[Any], tangents: Sequence[Any], **kwargs: Any) -> tuple[Any, Any]:
    """(outputs, J t): the derivative of `function(*primals)` along `tangents`, one for each argument.

    A tangent of None holds its argument constant. Outputs of a function that writes into its arguments are
    (result, final contents of the written arguments). Integer outputs have tangent 0.0.
    """
    if len(primals) != len(tangents):
        raise ReactantError(f"jvp got {len(primals)} arguments and {len(tangents)} tangents.")
    if is_tracing():
        return jvp_traced(function, tuple(primals), tangents, kwargs)
    given = tuple(None if t is None else floating(t) for t in tangents)
    return delivered(function, _jvp_entry(function)(*primals, **kwargs, **{EXTRA: given}))


def floating(tree: Any) -> Any:
    """A tree with Python's whole numbers as floats, so that they are no part of a signature."""
    return sig.map_tree(tree, lambda x: float(x) if isinstance(x, (bool, int)) else x)


def vjp(function: Callable, *primals: Any, argnums: int | Sequence[int] | None = None,
        **kwargs: Any) -> tuple[Any, Callable]:
    """(outputs, pullback): `pullback(g)`, for `g` like the outputs, gives g^T J as a tuple, one for each argument.

    argnums: which arguments (all when None; one when an int, which gives no tuple). The pullback reads what the
    function left for it, and does not run it again. A cotangent of None is zero.
    """
    numbers = tuple(range(len(primals))) if argnums is None else numbers_of(argnums, primals)

    def told(found: tuple) -> Any:
        return found[0] if isinstance(argnums, int) else found

    if is_tracing():
        outputs, pull, _ = linear_traced(function, primals, kwargs, numbers)
        return outputs, lambda g: told(pull(g))
    outputs, late = _split(function, numbers, "reverse").begin(primals, kwargs)
    return delivered(function, outputs), lambda g: told(delivered(function, late(g)))


def linearize(function: Callable, *primals: Any, argnums: int | Sequence[int] | None = None,
              **kwargs: Any) -> tuple[Any, Callable]:
    """(outputs, push): `push(*tangents)` gives J t for one tangent for each argument, as often as it is called.

    argnums: which arguments (all when None). What does not depend on the tangents is computed once.
    """
    numbers = tuple(range(len(primals))) if argnums is None else numbers_of(argnums, primals)
    if is_tracing():
        outputs, _, push = linear_traced(function, primals, kwargs, numbers)
        return outputs, push
    outputs, late = _split(function, numbers, "forward").begin(primals, kwargs)
    return delivered(function, outputs), lambda *tangents: delivered(function, late(tangents))


@remembered
def _split(function: Any, numbers: tuple[int, ...], mode: str) -> Split:
    return Split(function, numbers, mode)


def hvp(function: Callable, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The Hessian times a vector, without the Hessian: gradient in all arguments, moved along `tangents`."""
    numbers = tuple(n for n, t in enumerate(tangents) if t is not None)
    result = jvp(_gradient_of(function, numbers), primals, tangents)[1]
    return result[0] if len(numbers) == 1 else result


@remembered
def _gradient_of(function: Any, numbers: tuple[int, ...]) -> Derivative:
    return grad(function, numbers)

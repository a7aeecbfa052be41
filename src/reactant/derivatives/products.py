"""`jvp`, `vjp`, `linearize` and `hvp`: products with Jacobians and Hessians."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax

from reactant.calling import signature as sig
from reactant.calling.jitted import Jitted
from reactant.derivatives import by_jax
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
from reactant.support.session import is_tracing


@remembered
def _jvp_entry(function: Any, has_aux: bool) -> Jitted:
    return compiled(function, lambda args, kwargs, tangents: jvp_traced(function, args, tangents, kwargs, has_aux),
                    f"jvp_{name_of(function)}", True, Sharing if is_compiled(function) else Retraced,
                    lambda args, kwargs, tangents: by_jax.pushed(function, args, tangents, kwargs, has_aux),
                    ("jvp", function, has_aux))


def jvp(function: Callable, primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False,
        **kwargs: Any) -> tuple:
    """The outputs of a function and their derivative along a direction, J t: forward mode.

    Args:
        function: a NumPy or JAX function, or a compiled one.
        primals: its positional arguments.
        tangents: a direction for each of them, of its structure and shapes. None, or jax's dtype float0, holds it
            constant.
        has_aux: the function returns (value, aux).
        kwargs: its arguments by name, which are constant.

    Returns:
        (outputs, J t), and aux as a third where `has_aux`. Outputs of a function that writes into its arguments are
        (result, final contents of the written arguments). Integer outputs have tangent 0.0.

    Raises:
        ReactantError: where there are more or fewer tangents than arguments.
        TypeError: for a tangent of an argument that cannot vary.
        NotDifferentiable: where an operation has no derivative.

    Example:
        >>> outputs, moved = reactant.jvp(lambda x: x ** 3, (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
        >>> outputs, moved
        (array([1., 8.]), array([3., 0.]))
    """
    if len(primals) != len(tangents):
        raise ReactantError(f"jvp got {len(primals)} arguments and {len(tangents)} tangents.",
                            hint="Tangents and cotangents have the structure and shapes of what they belong to.",
                            code="tangents-do-not-fit")
    tangents = _none_for_float0(tangents)
    if is_tracing():
        return jvp_traced(function, tuple(primals), tangents, kwargs, has_aux)
    given = tuple(None if t is None else floating(t) for t in tangents)
    return delivered(function, _jvp_entry(function, has_aux)(*primals, **kwargs, **{EXTRA: given}))


def _none_for_float0(tangents: Sequence[Any]) -> tuple:
    """Tangents with None for what JAX gives to integers: an array of dtype float0."""
    return tuple(None if getattr(t, "dtype", None) == jax.dtypes.float0 else t for t in tangents)


def floating(tree: Any) -> Any:
    """A tree with Python's whole numbers as floats, so that they are no part of a signature."""
    return sig.map_tree(tree, lambda x: float(x) if isinstance(x, (bool, int)) else x)


def vjp(function: Callable, *primals: Any, argnums: int | Sequence[int] | None = None, has_aux: bool = False,
        **kwargs: Any) -> tuple:
    """The outputs of a function, and a pullback g -> g^T J: reverse mode.

    The pullback reads what the function left for it, and does not run it again.

    Args:
        function: a NumPy or JAX function, or a compiled one.
        primals: its positional arguments.
        argnums: positions of the arguments that vary; all when None. One int gives no tuple.
        has_aux: the function returns (value, aux).
        kwargs: its arguments by name, which are constant.

    Returns:
        (outputs, pullback), and aux as a third where `has_aux`. `pullback(g)`, for `g` of the structure and shapes of
        the outputs (None is zero), gives a tuple with the cotangent of each argument. Outputs of a function that writes
        into its arguments are (result, final contents of the written arguments).

    Raises:
        TypeError: for an argument that cannot vary.
        NotDifferentiable: where an operation has no derivative.

    Example:
        >>> outputs, pullback = reactant.vjp(lambda x, y: x * y, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
        >>> pullback(np.ones(2))
        (array([3., 4.]), array([1., 2.]))
    """
    numbers = tuple(range(len(primals))) if argnums is None else numbers_of(argnums, primals)

    def told(found: tuple) -> Any:
        return found if argnums is None or isinstance(argnums, Iterable) else found[0]

    if is_tracing():
        outputs, pull, _ = linear_traced(function, primals, kwargs, numbers, has_aux)
        return _with_aux(outputs, lambda g: told(pull(g)), has_aux)
    outputs, late = _split(function, numbers, "reverse", has_aux).begin(primals, kwargs)
    return _with_aux(delivered(function, outputs), lambda g: told(delivered(function, late(g))), has_aux)


def _with_aux(outputs: tuple[Any, Any], linear: Callable, has_aux: bool) -> tuple:
    return (outputs[0], linear, outputs[1]) if has_aux else (outputs[0], linear)


def linearize(function: Callable, *primals: Any, argnums: int | Sequence[int] | None = None, has_aux: bool = False,
              **kwargs: Any) -> tuple:
    """The outputs of a function, and its derivative as a linear function of tangents, t -> J t.

    What does not depend on the tangents is computed once.

    Args:
        function: a NumPy or JAX function, or a compiled one.
        primals: its positional arguments.
        argnums: positions of the arguments that vary; all when None.
        has_aux: the function returns (value, aux).
        kwargs: its arguments by name, which are constant.

    Returns:
        (outputs, push), and aux as a third where `has_aux`. `push(*tangents)` takes one tangent for each argument, as
        often as it is called.

    Raises:
        TypeError: for an argument that cannot vary.
        NotDifferentiable: where an operation has no derivative.

    Example:
        >>> outputs, push = reactant.linearize(np.square, np.array([1.0, 3.0]))
        >>> push(np.array([1.0, 0.0])), push(np.array([0.0, 1.0]))
        (array([2., 0.]), array([0., 6.]))
    """
    numbers = tuple(range(len(primals))) if argnums is None else numbers_of(argnums, primals)
    if is_tracing():
        outputs, _, push = linear_traced(function, primals, kwargs, numbers, has_aux)
        return _with_aux(outputs, push, has_aux)
    outputs, late = _split(function, numbers, "forward", has_aux).begin(primals, kwargs)
    return _with_aux(delivered(function, outputs), lambda *tangents: delivered(function, late(tangents)), has_aux)


@remembered
def _split(function: Any, numbers: tuple[int, ...], mode: str, has_aux: bool) -> Split:
    return Split(function, numbers, mode, has_aux)


def hvp(function: Callable, primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False,
        **kwargs: Any) -> Any:
    """The Hessian of a function times a vector, without the Hessian: forward over reverse mode.

    Args:
        function: a NumPy or JAX function, or a compiled one, that returns one real number.
        primals: its positional arguments.
        tangents: a direction for each of them, of its structure and shapes; None for arguments that do not vary.
        has_aux: the function returns (value, aux).
        kwargs: its arguments by name, which are constant.

    Returns:
        The product, like the argument that has a tangent (a tuple where several have one); (product, aux) where
        `has_aux`.

    Raises:
        TypeError: for an argument that cannot vary.
        NotDifferentiable: where an operation has no derivative.

    Example:
        >>> reactant.hvp(lambda x: np.sum(x ** 3), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
        array([ 6., 12.])

    Source:
        Pearlmutter, *Fast exact multiplication by the Hessian*, Neural Computation 6, 1994.
    """
    tangents = _none_for_float0(tangents)
    numbers = tuple(n for n, t in enumerate(tangents) if t is not None)
    _, result, *aux = jvp(_gradient_of(function, numbers, has_aux), primals, tangents, has_aux=has_aux, **kwargs)
    result = result[0] if len(numbers) == 1 else result
    return (result, *aux) if has_aux else result


@remembered
def _gradient_of(function: Any, numbers: tuple[int, ...], has_aux: bool) -> Derivative:
    return grad(function, numbers, has_aux)

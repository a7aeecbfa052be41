"""`grad` and `value_and_grad`."""
from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reactant.calling.signature import map_tree
from reactant.derivatives import by_jax
from reactant.derivatives.entry import (
    DerivativeFunction,
    OfJax,
    argument,
    as_chosen,
    chosen_arguments,
    delivered,
    name_of,
    require_complex,
    require_floats,
)
from reactant.derivatives.outline import Outlined, Slot, as_floating, dtype_of_type, filled, outline
from reactant.differentiate import requests
from reactant.differentiate.modes.checkpoint import Policy
from reactant.frontends.arrays.tensor import ARRAY, SCALAR, Tensor
from reactant.ir.types import shape_and_dtype
from reactant.support.like_functions import remembering_how
from reactant.support.session import is_tracing


class Derivative(DerivativeFunction):
    """A gradient function: a function like any other, so it can be compiled and differentiated again. Made by `grad`
    and `value_and_grad`."""

    def __init__(self, function: Any, argnums: int | Sequence[int] | None, argnames: str | Sequence[str] | None,
                 has_aux: bool, with_value: bool, policy: Policy, holomorphic: bool = False):
        if not callable(function):
            raise TypeError(f"A derivative is of a function, not of {type(function).__name__}.")
        if argnums is not None and argnames is not None:
            raise TypeError("grad takes argnums or argnames, not both.")
        self.differentiated, self.argnames = function, argnames
        self.argnums: int | Sequence[int] = 0 if argnums is None else argnums
        self.has_aux, self.with_value, self.policy = has_aux, with_value, policy
        self.holomorphic = holomorphic
        self.__name__ = f"grad_{name_of(function)}"
        self.__doc__ = f"Gradient of {name_of(function)}."
        with contextlib.suppress(TypeError, ValueError):
            self.__signature__ = inspect.signature(function)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if is_tracing():
            return self.traced(args, kwargs)
        jitted: Any = self.jitted
        result = jitted(*args, **kwargs)
        return result if type(jitted) is OfJax else delivered(self.differentiated, result)

    def chosen(self, args: tuple, kwargs: dict) -> list[int | str]:
        """Which arguments vary, checked."""
        found = chosen_arguments(self.differentiated, self.argnums, self.argnames, args, kwargs)
        for which in found:
            require_floats(which, argument(which, args, kwargs))
            if self.holomorphic:
                require_complex(which, argument(which, args, kwargs))
        return found

    def traced(self, args: tuple, kwargs: dict) -> Any:
        """The gradient as part of the trace that is running."""
        chosen = self.chosen(args, kwargs)
        made = outline(self.differentiated, args, kwargs, chosen)
        whole = made.result
        if self.has_aux:
            made.part_aux()
        results, found = made.request(requests.REVERSE, _scalar_result(made, made.result, self.holomorphic), ones=True,
                                      loops=self.policy.text)
        made.take_effect(results)
        left = iter(found)
        return self.told(filled(whole, results), filled(made.aux, results),
                         [gradients_like(argument(n, args, kwargs), left) for n in chosen])

    def by_jax(self, args: tuple, kwargs: dict) -> Any:
        """The gradient as JAX takes it."""
        (result, aux), found = by_jax.gradient(self.differentiated, args, kwargs, self.chosen(args, kwargs),
                                               self.has_aux, self.holomorphic)
        return self.told((result, aux) if self.has_aux else result, aux, found)

    def told(self, whole: Any, aux: Any, found: list[Any]) -> Any:
        """What a call gives. whole: what the function returns."""
        gradient = as_chosen(self.argnums, self.argnames, found)
        if self.with_value:
            return whole, gradient
        return (gradient, aux) if self.has_aux else gradient


def gradients_like(arg: Any, values: Any) -> Any:
    """A tree like an argument with the next derivatives as its leaves, None for constant parts; numbers come as NumPy
    scalars."""
    def leaf(x: Any) -> Tensor | None:
        if not as_floating(x):
            return None
        whole = isinstance(x, np.ndarray)              # also for traced arrays that stand for one
        return Tensor.of_value(next(values), ARRAY if whole else SCALAR)
    return map_tree(arg, leaf)


def _scalar_result(made: Outlined, value: Any, holomorphic: bool = False) -> list[int]:
    """The result a gradient is of: [its number], or [] for a constant."""
    kind = f"returns a {type(value).__name__}"
    if isinstance(value, (int, float, complex)) and not isinstance(value, bool):
        return []
    if value is None:
        kind = "returns None"
    if type(value) is Slot:
        shape, dtype = shape_and_dtype(made.types[value.index])
        if shape == () and dtype_of_type(made.types[value.index]).kind in ("c" if holomorphic else "fV"):
            return [value.index]
        kind = f"returns {dtype}{list(shape)}"
    if holomorphic:
        raise TypeError(f"A gradient with holomorphic=True is of a function that returns one complex number; "
                        f"'{made.name}' {kind}.")
    raise TypeError(f"A gradient is of a function that returns one real number; '{made.name}' {kind}. Reduce it to "
                    f"one, or use reactant.vjp or reactant.jacobian (of a holomorphic function: holomorphic=True).")


@remembering_how
def grad(function: Callable, argnums: int | Sequence[int] | None = None, has_aux: bool = False, *,
         argnames: str | Sequence[str] | None = None, checkpoint: str | int | None = None,
         memory_budget: str | int | None = None, holomorphic: bool = False) -> Derivative:
    """The gradient of a function that returns one real number, as a function of the same arguments.

    Works inside compiled functions and on other derivatives, to any order.

    Args:
        function: a NumPy or JAX function, or a compiled one, that returns one float (or a 0-d array).
        argnums: positions of the arguments that vary: one, or several for a tuple of gradients; the first when None.
        has_aux: the function returns (value, aux), and the gradient function (gradient, aux).
        argnames: the arguments that vary by name: one, or several for a dict of gradients. Not with `argnums`.
        checkpoint: which states of a loop are kept for the reverse sweep: "all", every m-th (an int), "sqrt" (as many
            as there are iterations between two), or "binomial" (a number logarithmic in the trip count).
        memory_budget: bytes ("256MB", or an int) that the kept states have to fit in; picks the fastest policy that
            does.
        holomorphic: the function takes complex numbers, returns one, and is holomorphic: gives its complex derivative.

    Returns:
        A function that gives the gradient, of the structure, shapes and dtypes of the argument (arrays, lists, dicts,
        dataclasses...), with None for parts that cannot vary (None, strings, functions, integer attributes of objects).
        For complex z = x + iy it is df/dx - i df/dy, jax's convention.

    Raises:
        TypeError: at the call, where an argument that varies is an integer or the function returns anything else.
        NotDifferentiable: at the call, where an operation has no derivative; the text names the line.

    Example:
        >>> def energy(x):
        ...     return np.sum(x ** 2) / 2
        >>> reactant.grad(energy)(np.arange(3.0))
        array([0., 1., 2.])
        >>> reactant.grad(lambda a, b: a * np.sin(b), argnames=("a", "b"))(2.0, 0.0)
        {'a': np.float64(0.0), 'b': np.float64(2.0)}

    Source:
        Reverse mode on the simplified program; checkpoints after Griewank and Walther, *Algorithm 799: revolve*, ACM
        Transactions on Mathematical Software 26, 2000.
    """
    return Derivative(function, argnums, argnames, has_aux, False, Policy.of(checkpoint, memory_budget), holomorphic)


@remembering_how
def value_and_grad(function: Callable, argnums: int | Sequence[int] | None = None, has_aux: bool = False, *,
                   argnames: str | Sequence[str] | None = None, checkpoint: str | int | None = None,
                   memory_budget: str | int | None = None, holomorphic: bool = False) -> Derivative:
    """The value and the gradient of a function that returns one real number, by one program.

    Args:
        function: a NumPy or JAX function, or a compiled one, that returns one float (or a 0-d array).
        argnums: positions of the arguments that vary, as in `grad`.
        has_aux: the function returns (value, aux), and the result is ((value, aux), gradient).
        argnames: the arguments that vary by name, as in `grad`.
        checkpoint: which states of a loop are kept, as in `grad`.
        memory_budget: bytes that they have to fit in, as in `grad`.
        holomorphic: the function is a holomorphic one of complex numbers, as in `grad`.

    Returns:
        A function that gives (what `function` returns, gradient).

    Raises:
        TypeError: at the call, as `grad`.
        NotDifferentiable: at the call, as `grad`.

    Example:
        >>> value, gradient = reactant.value_and_grad(lambda x: np.prod(x))(np.array([2.0, 3.0]))
        >>> float(value), gradient
        (6.0, array([3., 2.]))
    """
    return Derivative(function, argnums, argnames, has_aux, True, Policy.of(checkpoint, memory_budget), holomorphic)

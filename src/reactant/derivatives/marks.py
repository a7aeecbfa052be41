"""What a program says about its own derivative: `stop_gradient`, `checkpoint`, `checkpointed`."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from reactant.calling import signature as sig
from reactant.derivatives import custom_in_jax
from reactant.derivatives.outline import outline
from reactant.differentiate import requests
from reactant.differentiate.modes.checkpoint import Policy
from reactant.errors import UnsupportedError
from reactant.frontends.arrays.tensor import Tensor, is_tensor
from reactant.frontends.control.iteration import PolicyItems, items_of
from reactant.support.session import is_tracing


def stop_gradient(x: Any) -> Any:
    """The same values as constants to derivatives.

    Args:
        x: an array, a number, or a structure of them.

    Returns:
        The like of `x`; arrays are copies, so that a write into one is not a constant in the other.

    Example:
        >>> reactant.grad(lambda x: x * reactant.stop_gradient(x))(3.0)
        np.float64(3.0)
    """
    def leaf(value: Any) -> Any:
        if is_tensor(value) and value.dtype.kind in "fcV":
            return Tensor.of_value(requests.stop_gradient(value.value()), value.kind)
        return value
    return sig.map_tree(x, leaf if is_tracing() else custom_in_jax.stopped)


def checkpoint(function: Callable) -> Callable:
    """The function, of which reverse mode keeps the arguments only.

    What it computes is computed again when the reverse sweep needs it: results and gradients are the same, with less
    memory and more time. Usable as a decorator.

    Args:
        function: a function of arrays.

    Returns:
        A function of the same arguments.

    Example:
        >>> @reactant.checkpoint
        ... def layer(x):
        ...     return np.tanh(x) ** 2
        >>> reactant.grad(lambda x: layer(layer(x)))(0.0)
        np.float64(0.0)
    """
    @functools.wraps(function)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if not is_tracing():
            traced = custom_in_jax.is_traced((args, kwargs))
            return custom_in_jax.checkpointed(function, args, kwargs) if traced else function(*args, **kwargs)
        made = outline(function, args, kwargs, (), shared=True)
        return made.call(requests.checkpointed)

    return checkpointed


def checkpointed(iterable: Iterable, checkpoint: str | int | None = None, *, every: int | None = None,
                 memory_budget: str | int | None = None) -> Any:
    """An iterable for a `for` loop, with a policy of what reverse mode keeps of its iterations.

    Args:
        iterable: a range or an array, or enumerate, zip or reversed of them.
        checkpoint: "sqrt" (as many kept states as iterations between two; the default), "binomial" (a number of states
            logarithmic in the trip count), "all" (nothing is computed again), or an int as `every`.
        every: keep each such state, and run the iterations between two again.
        memory_budget: bytes ("256MB", or an int) that what is kept has to fit in; picks the fastest policy that does.

    Returns:
        The same iterations.

    Raises:
        TypeError: for both `checkpoint` and `every`.
        UnsupportedError: for other iterables in compiled functions.

    Example:
        >>> def trajectory(x):
        ...     for i in reactant.checkpointed(range(100), every=10):
        ...         x = x + 0.01 * np.sin(x)
        ...     return x
        >>> bool(abs(reactant.grad(trajectory)(0.0) - 1.01 ** 100) < 1e-12)
        True

    Source:
        Binomial checkpoints: Griewank and Walther, *Algorithm 799: revolve*, ACM Transactions on Mathematical Software
        26, 2000.
    """
    if checkpoint is None and every is None and memory_budget is None:
        checkpoint = "sqrt"
    if checkpoint is not None and every is not None:
        raise TypeError("checkpointed takes a checkpoint or every, not both.")
    policy = Policy.of(every if checkpoint is None else checkpoint, memory_budget)
    if not is_tracing():
        return iterable
    items = items_of(iterable)
    if items is None:
        raise UnsupportedError("checkpointed takes a range or an array (or enumerate, zip or reversed of them), not "
                               f"{type(iterable).__name__}.", hint="Loop over range(n).", code="argument-not-supported")
    return PolicyItems(items, policy.text)

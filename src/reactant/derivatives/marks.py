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
from reactant.frontends.arrays.tensor import Tensor
from reactant.frontends.control.iteration import PolicyItems, items_of
from reactant.support.session import is_tracing


def stop_gradient(x: Any) -> Any:
    """`x` (an array, a number or a structure of them) as a constant to derivatives; arrays are copies, lest what is
    written into one be constant in the other."""
    def leaf(value: Any) -> Any:
        if type(value) is Tensor and value.dtype.kind in "fcV":
            return Tensor.of_value(requests.stop_gradient(value.value()), value.kind)
        return value
    return sig.map_tree(x, leaf if is_tracing() else custom_in_jax.stopped)


def checkpoint(function: Callable) -> Callable:
    """The function, of which reverse mode keeps the arguments only: what it computes is computed again when the reverse
    sweep needs it. Results and gradients are the same; it takes less memory and more time.

    Usable as a decorator.
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
    """What a `for` runs over, with a word on how reverse mode keeps the turns of that loop.

        for i in reactant.checkpointed(range(n), every=10): ...

    every (or an int as `checkpoint`): keep each such state and run the turns between two again; "sqrt": as many turns
    as there are states; "binomial": a number of states logarithmic in the turns; "all": nothing is run again.
    memory_budget: bytes ("256MB") that what is kept has to fit in; picks the fastest way that does. "sqrt" unless said.
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
        raise UnsupportedError(f"checkpointed takes a range or an array (or enumerate, zip or reversed of them), not "
                               f"{type(iterable).__name__}.")
    return PolicyItems(items, policy.text)

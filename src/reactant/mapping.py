"""`vmap`: a function of one element as a function of a whole batch.

The function is traced once, on one element of each mapped argument; `batching` turns the operations it built into those
for all elements, at the place of the call. So it works wherever traced code does: on its own, inside `jit`, inside
another `vmap`, under `grad`.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

from reactant.api import jit
from reactant.calling.jitted import Jitted
from reactant.calling.mapping import Axes, Mapping
from reactant.frontends.source.jax_recognition import JAX, kind_of
from reactant.options import CompileOptions
from reactant.support.like_functions import LikeFunction, remembering_how
from reactant.support.session import is_tracing


@remembering_how
def vmap(function: Callable, in_axes: Axes = 0, out_axes: Axes = 0, axis_size: int | None = None, *,
         options: CompileOptions | None = None, **changes: Any) -> Callable:
    """A function of one element as a function of a batch: `out[k] = function(x[k], ...)`, as one program.

    NumPy functions may write into mapped arguments: the caller's arrays then hold what each element's call has written.
    JAX functions are mapped by `jax.vmap` and compiled by us.

    Args:
        function: a NumPy or JAX function of one element.
        in_axes: the dimension of the arguments that runs over the batch: an int for all positional arguments, or a
            tuple with one entry each: an int (negative ones count from the end), None for an argument that is the same
            for all elements, or a list, tuple or dict of such for a nested argument. Keyword arguments are mapped along
            0.
        out_axes: where the batch goes in the results, in the same way; None for a result that does not depend on it.
        axis_size: the size of the batch; needed where no argument is mapped.
        options: how to compile; the defaults when None.
        changes: fields of `CompileOptions` by name.

    Returns:
        A compiled function of the batch.

    Raises:
        ValueError: at the call, where sizes differ, an axis does not exist, or a result said to be the same for all is
            not.
        UnsupportedError: at the call, for a function that writes into something that is not mapped, or that changes a
            list, dict or object among its arguments.

    Example:
        >>> def at_least(a, b):
        ...     return a.mean() if a.mean() > b else b
        >>> reactant.vmap(at_least, in_axes=(0, None))(np.array([[1.0, 3.0], [0.0, 0.0]]), 1.0)
        array([2., 1.])
    """
    chosen = (options or CompileOptions()).with_(**changes)
    if not callable(function):
        raise TypeError(f"reactant.vmap takes a function, not {type(function).__name__}.")
    plain = getattr(function, "jitted", function.function) if isinstance(function, Jitted) else function
    if kind_of(plain) == JAX:
        mapped = jax.vmap(plain, in_axes=in_axes, out_axes=out_axes, axis_size=axis_size)
        return jit(mapped, frontend="jax", options=chosen)
    return Mapped(plain, in_axes, out_axes, axis_size, chosen)


class Mapped(LikeFunction):
    """A function mapped over a batch. Made by `vmap`."""

    __name__: str

    def __init__(self, function: Callable, in_axes: Axes, out_axes: Axes, axis_size: int | None,
                 options: CompileOptions):
        functools.update_wrapper(self, function, updated=())
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        if not isinstance(in_axes, (int, tuple, list)) and in_axes is not None:
            raise TypeError(f"vmap: in_axes is an int, None or a tuple with an entry for each argument, not "
                            f"{in_axes!r}.")
        self.mapping = mapping = Mapping(self.__name__, function, in_axes, out_axes, axis_size)

        def mapped(*args: Any, **kwargs: Any) -> Any:
            return _call(mapping, args, kwargs)

        mapped.__name__ = f"{self.__name__}_batched"
        self.jitted: Jitted = Jitted(mapped, options, (), ())

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return _call(self.mapping, args, kwargs) if is_tracing() else self.jitted(*args, **kwargs)

    def depends_on(self) -> tuple | None:
        return self.mapping, self.jitted.options

    def lower(self, /, *args: Any, **kwargs: Any) -> Any:
        """The program for these arguments, before XLA: text, operation counts, cost, `compile()`."""
        return self.jitted.lower(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<reactant.vmap of {getattr(self, '__qualname__', self.__name__)}>"


def _call(mapping: Mapping, args: tuple, kwargs: dict) -> Any:
    from reactant.calling.mapped import call_mapped  # loaded when the first mapped function is traced
    return call_mapped(mapping, args, kwargs)


__all__ = ["Mapped", "vmap"]

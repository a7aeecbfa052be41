"""Marks of ours in what JAX traces: `custom_derivative`, `stop_gradient`, `checkpoint` of a function given such arrays.
"""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from reactant.api import as_jitted
from reactant.calling import signature as sig
from reactant.derivatives.answers import cotangent_leaves, tangent_leaves
from reactant.derivatives.by_jax import fitting
from reactant.derivatives.entry import name_of
from reactant.derivatives.outline import leaves_of
from reactant.errors import UnsupportedError
from reactant.frontends.jax.jax_custom import inexact
from reactant.frontends.jax.jax_marked import Marked, marked_call
from reactant.jax_functions import JaxJitted


def is_traced(tree: Any) -> bool:
    """Whether JAX is tracing something in a tree."""
    return any(isinstance(x, jax.core.Tracer) for x in leaves_of(tree))


def stopped(leaf: Any) -> Any:
    """What JAX traces as a constant to derivatives; a copy of an array of NumPy's."""
    if isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc":
        return leaf.copy()
    return jax.lax.stop_gradient(leaf) if isinstance(leaf, jax.core.Tracer) else leaf


def in_jax(function: Callable) -> Callable:
    """How JAX calls a function: one of NumPy is an operation of its own."""
    jitted = as_jitted(function)
    return function if isinstance(jitted, JaxJitted) else jitted


def call(custom: Any, args: tuple) -> Any:
    """`custom(*args)` as an operation of JAX's that has the rules."""
    arrays = _traced(args)
    made = _Call(custom, args, arrays)
    return made.results(marked_call.bind(*arrays, marked=made.marked))


def checkpointed(function: Callable, args: tuple, kwargs: dict) -> Any:
    """`function(*args, **kwargs)`, of which JAX's reverse mode keeps the arguments only."""
    made = _Flat(in_jax(function), args, kwargs)
    return made.results(jax.checkpoint(made.flat)(*_traced((args, kwargs))))


def _traced(tree: Any) -> list[Any]:
    return [x for x in leaves_of(tree) if isinstance(x, jax.core.Tracer)]


class _Place(int):
    """The number of an array in a tree."""


def _filled(tree: Any, arrays: Sequence[Any], other: Callable[[Any], Any] = lambda x: x) -> Any:
    """A tree with these arrays in their places, and `other` of everything else. None stays."""
    def leaf(x: Any) -> Any:
        if type(x) is not _Place:
            return other(x)
        return arrays[x] if arrays[x] is None else jnp.asarray(arrays[x])   # jax has classes of its own for NumPy's
    return sig.map_tree(tree, leaf)


class _Flat:
    """A call as a function of the arrays that JAX traces, with arrays as results; everything else is constant."""

    def __init__(self, function: Callable, args: tuple, kwargs: dict):
        count = itertools.count()
        self.function = function
        self.args, self.kwargs = sig.map_tree(
            (args, kwargs), lambda x: _Place(next(count)) if isinstance(x, jax.core.Tracer) else x)
        self.result: Any = None

    def flat(self, *arrays: Any) -> list[Any]:
        """The arrays of the result, which is kept with numbers in their places."""
        args, kwargs = _filled((self.args, self.kwargs), arrays)
        found: list[Any] = []

        def leaf(x: Any) -> Any:
            if not _is_array(x):
                return x
            found.append(jnp.asarray(x))
            return _Place(len(found) - 1)
        self.result = sig.map_tree(self.function(*args, **kwargs), leaf)
        return found

    def results(self, arrays: Sequence[Any]) -> Any:
        """The result with these as its arrays."""
        return _filled(self.result, arrays)


class _Call(_Flat):
    """A call of a function with rules. It lives as long as programs that have it: no tracers here."""

    def __init__(self, custom: Any, args: tuple, arrays: Sequence[Any]):
        super().__init__(in_jax(custom.function), args, {})
        self.name = name_of(custom.function)
        outline, self.outputs = jax.make_jaxpr(self.flat, return_shape=True)(*arrays)
        if any(isinstance(x, jax.core.Tracer) for x in outline.consts):
            raise UnsupportedError(f"'{self.name}' has a derivative of its own and uses a traced array from outside, "
                                   "which its rule cannot see.", hint="Pass the array as an argument.",
                                   code="captured-array")
        from jax.extend.core import jaxpr_as_fun  # loads much, for the few programs with rules of their own
        self.rules = custom.tangent_rule, custom.cotangent_rule
        tangents, cotangents = self.rules
        back = self._cotangents if cotangents else None if in_jax(tangents) is tangents else self._transposed
        self.marked = Marked(self.name, jaxpr_as_fun(outline), tangents and self._tangents, back)

    def _tangents(self, arrays: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        left = iter(given)
        moved = [next(left) if inexact(x) else jnp.zeros(x.shape) for x in arrays]
        rule = in_jax(self.rules[0])
        answer = rule(_filled(self.args, arrays),
                      _filled(self.args, moved, lambda x: jnp.zeros(np.shape(x)) if _is_array(x) else None))
        places = leaves_of(self.result)
        shapes = [self.outputs[x].shape if type(x) is _Place else None for x in places]
        found = tangent_leaves(self.name, answer, self.result, shapes)
        return [self._fitting(t, self.outputs[x], "tangent") for x, t in zip(places, found, strict=True)
                if type(x) is _Place and inexact(self.outputs[x])]

    def _transposed(self, arrays: Sequence[Any], _: Any, given: Sequence[Any]) -> Any:
        """The transpose of a rule for tangents that is one operation to JAX: being linear, its derivative anywhere."""
        zeros = [jnp.zeros_like(x) for x in arrays if inexact(x)]
        return jax.vjp(lambda moved: self._tangents(arrays, moved), zeros)[1](list(given))[0]

    def _cotangents(self, arrays: Sequence[Any], results: Sequence[Any], given: Sequence[Any]) -> list[Any]:
        left = iter(given)
        pulled = [next(left) if inexact(r) else None for r in self.outputs]
        rule = in_jax(self.rules[1])
        answer = rule(_filled(self.args, arrays), self.results(results), _filled(self.result, pulled, lambda x: None))
        found = cotangent_leaves(self.name, answer, self.args)
        wanted = [g for x, g in zip(leaves_of(self.args), found, strict=True) if type(x) is _Place]
        return [self._fitting(g, x, "cotangent") for x, g in zip(arrays, wanted, strict=True) if inexact(x)]

    def _fitting(self, given: Any, like: Any, what: str) -> Any:
        return fitting(given, jnp.zeros(like.shape, like.dtype), f"A {what} by the rule of '{self.name}' "
                       f"(custom_derivative)", "what it is of has", pairs=what == "cotangent")


def _is_array(x: Any) -> bool:
    return isinstance(x, (jax.Array, np.ndarray, np.generic)) or type(x) in (float, complex)

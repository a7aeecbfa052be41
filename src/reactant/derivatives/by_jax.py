"""Derivatives that JAX takes: of JAX functions that cannot be imported to be differentiated here, because they call
Python at run time, say (Diffrax, Lineax, `equinox.error_if`, `jax.debug.print`).

JAX traces the derivative, callbacks and effects included, and `reactant.jit` compiles what it has traced. Trees and
messages are those of our own derivatives; at kinks JAX's conventions hold.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from reactant.calling import signature as sig
from reactant.calling.signature import map_tree
from reactant.derivatives.answers import require_real
from reactant.derivatives.outline import as_floating, leaves_of
from reactant.errors import ReactantError
from reactant.jax_functions import JaxJitted
from reactant.runtime.buffers import copied
from reactant.runtime.direct import may_change
from reactant.runtime.jax_internals import nothing_traced

Taken = Callable[[tuple, dict, Any], Any]
"""(args, kwargs, tangents) -> what the entry point gives, in terms of JAX."""


class TakenByJax:
    """Stands where a compiled program of ours would, for calls of one signature."""

    passing = False
    matches = None
    on_device_at_once = None
    direct = None

    def __init__(self, taken: Taken, key: tuple, name: str, options: Any, extra: str, reason: str) -> None:
        def derivative(*leaves: Any) -> Any:
            rebuilder = sig.Rebuilder(lambda _, number: leaves[number])
            args = tuple(rebuilder.build(node) for node in key[0])
            kwargs = {name: rebuilder.build(node) for name, node in key[1]}
            return taken(args, kwargs, kwargs.pop(extra, None))

        derivative.__name__ = derivative.__qualname__ = name
        self.function, self.jitted, self.reason = derivative, JaxJitted(derivative, options), reason

    def run(self, leaves: list, args: tuple, kwargs: dict) -> Any:
        """Call with flattened arguments; inside what JAX is tracing, as part of that."""
        return self.jitted(*leaves) if nothing_traced() else self.function(*leaves)

    def at_once(self, leaves: list) -> Any:
        """The call without a program; done with what it reads of NumPy's."""
        return finished(self.function(*leaves), leaves)

    def lower(self, leaves: list) -> Any:
        """The program before XLA; it takes the leaves of the arguments."""
        lowered = self.jitted.lower(*leaves)
        note = f"differentiated: by JAX. {self.reason}"
        lowered.traced.remarks.append(note)
        lowered.notes.append(note)
        return lowered


def finished(result: Any, *given: Any) -> Any:
    """What came of arguments whose memory the caller may change next."""
    return jax.block_until_ready(result) if may_change(given, {}) else result


def seen_by_jax(function: Any) -> Callable:
    """How JAX calls what the user differentiates."""
    taken = getattr(function, "by_jax", None)               # a derivative of ours
    if taken is not None:
        return lambda *args, **kwargs: taken(args, kwargs)
    return function.jitted if isinstance(function, JaxJitted) else function


class InLeaves:
    """A function at some arguments, as one of the float leaves of those that vary: `call(leaves)` gives its float
    results and, beside them, (result, aux)."""

    def __init__(self, function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str], has_aux: bool) -> None:
        self.function, self.args, self.kwargs, self.has_aux = seen_by_jax(function), args, kwargs, has_aux
        self.name = getattr(function, "__name__", type(function).__name__)
        self.chosen = {n: args[n] if isinstance(n, int) else kwargs[n] for n in chosen}
        self.leaves = [copied(x) for part in self.chosen.values() for x in leaves_of(part) if as_floating(x)]

    def arranged(self, leaves: Sequence[Any], constant: Any = None) -> dict[int | str, Any]:
        """Trees like the arguments that vary, with these as their float leaves."""
        left = iter(leaves)
        return {n: map_tree(part, lambda x: next(left) if as_floating(x) else x if constant is KEEP else constant)
                for n, part in self.chosen.items()}

    def call(self, leaves: Sequence[Any]) -> tuple[list[Any], tuple[Any, Any]]:
        """The float results, and (result, aux)."""
        moved = self.arranged(leaves, KEEP)
        result = self.function(*(moved.get(i, a) for i, a in enumerate(self.args)),
                               **{n: moved.get(n, a) for n, a in self.kwargs.items()})
        aux = None
        if self.has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise TypeError(f"has_aux=True needs a function that returns (value, aux); '{self.name}' does not.")
            result, aux = result
        return [jnp.asarray(x) for x in leaves_of(result) if as_floating(x)], (result, aux)

    def fitting(self, tree: Any, like: Any, what: str, other: str, *, pairs: bool = False) -> list[Any]:
        """The leaves of a tree for the float ones of another, checked; zeros for None. pairs: cotangents."""
        wanted, given = leaves_of(like), leaves_of(tree, like)
        if len(wanted) != len(given):
            raise ReactantError(f"{what} has {len(given)} leaves, {other} {len(wanted)}.",
                                hint="Tangents and cotangents have the structure and shapes of what they belong to.",
                                code="tangents-do-not-fit")
        return [fitting(g, x, what, other, pairs=pairs) for g, x in zip(given, wanted, strict=True) if as_floating(x)]


KEEP = object()
"""For `InLeaves.arranged`: parts that cannot vary stay what they are."""


def fitting(given: Any, like: Any, what: str, other: str, *, pairs: bool = False) -> Any:
    """A direction of the shape and dtype of an array; zeros for None. pairs: it is a cotangent."""
    like = jax.typeof(jnp.asarray(like))
    if given is None:
        return jnp.zeros(like.shape, like.dtype)
    if not pairs:
        require_real(given, like.dtype, what, other)
    if np.shape(given) != like.shape:
        raise ReactantError(f"{what} has shape {np.shape(given)}, {other} {like.shape}.",
                            hint="Tangents and cotangents have the structure and shapes of what they belong to.",
                            code="tangents-do-not-fit")
    given = copied(given)
    if given.dtype.kind == "c" and like.dtype.kind != "c":
        given = given.real
    return given.astype(like.dtype)


def gradient(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str], has_aux: bool,
             holomorphic: bool = False) -> tuple:
    """((result, aux), gradients of the arguments that vary)."""
    inside = InLeaves(function, args, kwargs, chosen, has_aux)

    def value(leaves: Sequence[Any]) -> tuple[Any, tuple[Any, Any]]:
        found, (result, aux) = inside.call(leaves)
        if len(found) != 1 or found[0].shape or (found[0].dtype.kind == "c") != holomorphic \
                or len(leaves_of(result)) != 1:
            kind = "complex" if holomorphic else "real"
            raise TypeError(f"A gradient is of a function that returns one {kind} number; '{inside.name}' returns "
                            f"{result!r}. Reduce it to one, or use reactant.vjp or reactant.jacobian.")
        return found[0], (result, aux)

    (_, whole), found = jax.value_and_grad(value, has_aux=True, holomorphic=holomorphic)(inside.leaves)
    return whole, list(inside.arranged(found).values())


def pushed(function: Any, primals: tuple, tangents: Sequence[Any], kwargs: dict, has_aux: bool) -> tuple:
    """(outputs, tangents), and aux."""
    numbers = [n for n, t in enumerate(tangents) if t is not None]
    inside = InLeaves(function, primals, kwargs, numbers, has_aux)
    given = _directions(inside, {n: tangents[n] for n in numbers})
    _, moved, (outputs, aux) = jax.jvp(inside.call, (inside.leaves,), (given,), has_aux=True)
    found = outputs, _tangent_tree(outputs, moved)
    return (*found, aux) if has_aux else found


def _directions(inside: InLeaves, tangents: dict) -> list[Any]:
    return [leaf for n, tree in tangents.items()
            for leaf in inside.fitting(tree, inside.chosen[n], f"A tangent of argument {n}", "the argument")]


def _tangent_tree(outputs: Any, moved: Sequence[Any]) -> Any:
    left = iter(moved)
    return map_tree(outputs, lambda x: next(left) if as_floating(x) else jnp.zeros(np.shape(x))
                    if hasattr(x, "dtype") else 0.0 if isinstance(x, (bool, int)) else x)


def linear(function: Any, primals: tuple, kwargs: dict, numbers: Sequence[int], has_aux: bool, mode: str) -> tuple:
    """((outputs, aux), linear function of leaves): JAX's pullback or pushforward, a pytree with what it needs."""
    inside = InLeaves(function, primals, kwargs, numbers, has_aux)
    made = jax.vjp if mode == "reverse" else jax.linearize
    _, late, whole = made(inside.call, inside.leaves, has_aux=True)
    return whole, late


def later(function: Any, primals: tuple, kwargs: dict, numbers: Sequence[int], mode: str, whole: tuple,
          apply: Callable[[list], Any]) -> Callable[[Any], Any]:
    """What the user is given to call. apply: the linear function."""
    inside = InLeaves(function, primals, kwargs, numbers, False)
    outputs = whole[0]

    def pull(given: Any) -> tuple:
        leaves = inside.fitting(given, outputs, "A cotangent", "its output", pairs=True)
        return tuple(inside.arranged(apply(leaves)[0]).values())

    def push(given: Sequence[Any]) -> Any:
        if len(given) != len(numbers):
            raise ReactantError(f"The linear function takes {len(numbers)} tangents, not {len(given)}.",
                                hint="Tangents and cotangents have the structure and shapes of what they belong to.",
                                code="tangents-do-not-fit")
        return _tangent_tree(outputs, apply(_directions(inside, dict(zip(numbers, given, strict=True)))))

    return pull if mode == "reverse" else push


def matrix(function: Any, args: tuple, kwargs: dict, chosen: Sequence[int | str], has_aux: bool, mode: str,
           holomorphic: bool = False) -> tuple:
    """((result, aux), rows): for each leaf of the result, for each argument that varies, the derivatives."""
    inside = InLeaves(function, args, kwargs, chosen, has_aux)
    if mode == "auto":
        outputs = jax.eval_shape(lambda leaves: inside.call(leaves)[0], inside.leaves)
        mode = "forward" if _total(inside.leaves) <= _total(outputs) else "reverse"
    way = jax.jacfwd if mode == "forward" else jax.jacrev
    blocks, whole = way(inside.call, has_aux=True, holomorphic=holomorphic)(inside.leaves)
    if len(blocks) != len(leaves_of(whole[0])):
        raise TypeError(f"jacobian is of real numbers; '{inside.name}' returns others, too. Use jvp or vjp.")
    return whole, [list(inside.arranged(block).values()) for block in blocks]


def _total(arrays: Sequence[Any]) -> int:
    return sum(x.size for x in arrays)

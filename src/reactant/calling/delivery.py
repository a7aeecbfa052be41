"""What a call returns and leaves in the caller's containers, made of the program's results.

A recipe takes the results, the arrays and numbers among the arguments (`signature.Flattener.leaves`), and
`(args, kwargs)`. Most are one expression, written out for the program.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from keyword import iskeyword
from typing import Any

import jax
import numpy as np

from reactant.calling import changes
from reactant.calling import signature as sig
from reactant.calling.changes import Change
from reactant.calling.traced import Known, Maybe, OfArgument, Places, Result, Rows, Sized, Traced
from reactant.errors import UnsupportedError
from reactant.frontends.arrays.promotion import ARRAY, PYTHON, SCALAR
from reactant.support.named_tuples import beside, is_named_tuple

Recipe = Callable[[list, list, tuple], Any]


def recipe_of(traced: Traced, name: str) -> Recipe:
    """What makes what the function called `name` returned, and the changes that it made."""
    known: dict[str, Any] = {}
    lines = lines_of(traced, name, known)
    if lines is None:
        made: Recipe = functools.partial(_changing, functools.partial(_leaf_by_leaf, name, _trees(traced)),
                                         traced.updates)
        return made
    exec("\n    ".join(["def deliver(r, l, roots):", *lines]), known)
    made = known.pop("deliver")         # its globals hold it no longer
    return made


def lines_of(traced: Traced, name: str, known: dict[str, Any]) -> list[str] | None:
    """The statements of a recipe with the results `r`, the arguments `l` and `(args, kwargs)` as `roots`, if it can be
    written so. `known` gets what its names are."""
    known |= {"leaf": leaf_of, "follow": sig.follow, "true_in": functools.partial(_true_in, name)}
    parts = [_expression(tree, known) for tree in _trees(traced)]
    return None if None in parts else _written_out(list(map(str, parts)), traced.updates, known)


def _written_out(parts: list[str], updates: list[tuple[tuple, Change]], known: dict[str, Any]) -> list[str]:
    """The statements of a recipe whose parts are expressions. Everything is there before the first container changes.
    """
    known |= {"set_attribute": object.__setattr__, "make": changes.make}
    found = [f"p{number} = {part}" for number, part in enumerate(parts)]
    making: list[str] = []
    values = iter(range(1, len(parts)))
    for number, (path, change) in enumerate(updates):
        known[f"path{number}"], known[f"change{number}"] = path, change
        found.append(f"c{number} = {_followed(path) or f'follow(roots, path{number})'}")
        put = {key: next(values) for key in change.put}
        known |= {f"key{place}": key for key, place in put.items()}
        if change.only_attributes:
            making += [f"set_attribute(c{number}, key{place}, p{place})" for place in put.values()]
        else:
            held = ", ".join(f"key{place}: p{place}" for place in put.values())
            making.append(f"make(c{number}, change{number}, {{{held}}})")
    return [*found, *making, "return p0"] if making else [*found[1:], f"return {parts[0]}"]


def _followed(path: tuple) -> str | None:
    """The expression of what is at a path below the arguments, where that is short."""
    if not all(type(step) is int or isinstance(step, sig.Attribute) and step.isidentifier() and not iskeyword(step)
               for step in path):
        return None
    return "roots" + "".join(f"[{step}]" if type(step) is int else f".{step}" for step in path)


def _trees(traced: Traced) -> list[Any]:
    """Of the result, and of all that changes."""
    return [traced.result, *(tree for _, change in traced.updates for tree in change.put.values())]


def _changing(made: Recipe, updates: list[tuple[tuple, Change]], results: list, leaves: list, roots: tuple) -> Any:
    """Everything is there before the first container changes."""
    result, *values = made(results, leaves, roots)
    containers = [sig.follow(roots, path) for path, _ in updates]
    rest = iter(values)
    for container, (_, change) in zip(containers, updates, strict=True):
        changes.make(container, change, {key: next(rest) for key in change.put})
    return result


# ---- as one expression -----------------------------------------------------------------------------------------

def _expression(x: Any, known: dict[str, Any]) -> str | None:
    """The expression that makes a part of what is delivered, if there is one; `known` gets names for what it needs."""
    def named(value: Any) -> str:
        known[f"known{len(known)}"] = value
        return f"known{len(known) - 1}"

    if type(x) is Result:
        if x.steps or x.layout is not None:
            return None
        return f"r[{x.index}]" if x.kind == ARRAY else f"leaf(r[{x.index}], {named(x.kind)})"
    if type(x) is OfArgument:
        return None if x.steps else f"l[{x.number}]"
    if type(x) is sig.Same:
        return f"follow(roots, {named(x.path)})"
    if type(x) is Places and len(x.shape) == 1 and x.dimension == 0:
        return f"true_in(r[{x.mask.index}])"
    if type(x) is Sized and len(x.parts[0]) == 1 and type(x.parts[0][0]) is Result and not any(x.parts[1:]):
        frame = _expression(x.frame, known)
        return frame and f"{frame}[true_in(r[{x.parts[0][0].index}])]"
    if type(x) is Known:
        return None if isinstance(x.value, np.ndarray) else named(x.value)
    if type(x) not in (tuple, list, dict) and (not is_named_tuple(x) or beside(x)):
        return None
    parts = [_expression(part, known) for part in (x.values() if type(x) is dict else x)]
    if None in parts:
        return None
    if type(x) is dict:
        return "{" + ", ".join(f"{named(key)}: {part}" for key, part in zip(x, parts, strict=True)) + "}"
    items = "".join(f"{part}, " for part in parts)
    if type(x) is list:
        return f"[{items}]"
    return f"({items})" if type(x) is tuple else f"{named(tuple.__new__)}({named(type(x))}, ({items}))"


# ---- leaf by leaf ----------------------------------------------------------------------------------------------

def _leaf_by_leaf(name: str, trees: list[Any], results: list, leaves: list, roots: tuple) -> list[Any]:
    """A recipe for what has to be looked at: views, arrays that are known, what is only known at run time the size of,
    objects."""
    leaf = _Delivery(name, results, leaves, roots).leaf
    return [sig.map_tree(tree, leaf) for tree in trees]


class _Delivery:
    """What the leaves are in one call."""

    def __init__(self, name: str, results: list, leaves: list, roots: tuple):
        self.name, self.results, self.leaves, self.roots = name, results, leaves, roots
        self.made: dict[int, Any] = {}
        self.nonzero: dict[tuple, tuple[np.ndarray, ...]] = {}
        self.given: set[Places] = set()
        self.arranged: set[int] = set()

    def leaf(self, leaf: Any) -> Any:
        """What one of them is."""
        results, made = self.results, self.made
        if isinstance(leaf, Result):
            if leaf.layout is not None and leaf.index not in self.arranged:
                results[leaf.index] = arranged(results[leaf.index], leaf.layout)
                self.arranged.add(leaf.index)
            return leaf_of(seen_through(results[leaf.index], leaf.steps), leaf.kind)
        if isinstance(leaf, OfArgument):
            return seen_through(self.leaves[leaf.number], leaf.steps)
        if isinstance(leaf, sig.Same):
            return sig.follow(self.roots, leaf.path)
        if isinstance(leaf, Maybe):
            if isinstance(results[leaf.defined], jax.core.Tracer):
                raise UnsupportedError(f"'{self.name}' returns None on some paths, which run-time values decide, "
                                       f"inside a "
                                       "JAX program.", span=None,
                                       hint="Return a number that says so beside the value.", code="unsupported-result")
            return sig.map_tree(leaf.value, self.leaf) if results[leaf.defined] else None
        if isinstance(leaf, (Sized, Places, Rows)):
            if any(isinstance(array, jax.core.Tracer) for array in results):
                raise _of_run_time_size(self.name)
            if id(leaf) not in made:
                made[id(leaf)] = self._places(leaf) if isinstance(leaf, Places) else leaf.made(self.leaf)
            return made[id(leaf)]
        value = leaf.value if isinstance(leaf, Known) else leaf
        return made.setdefault(id(leaf), value.copy()) if isinstance(value, np.ndarray) else value


    def _places(self, leaf: Places) -> np.ndarray:
        asked = leaf.mask.index, leaf.shape
        if asked not in self.nonzero:
            self.nonzero[asked] = np.nonzero(np.asarray(self.results[leaf.mask.index]).reshape(leaf.shape))
        found = leaf.made(self.nonzero[asked])
        if leaf in self.given:
            return found.copy()         # an array of its own for each `nonzero` that was written
        self.given.add(leaf)
        return found


def _of_run_time_size(name: str) -> UnsupportedError:
    return UnsupportedError(f"'{name}' returns what has a run-time size inside a JAX program.", span=None,
                            hint="Return it at full size, e.g. np.where(mask, x, 0), and a count or mask.",
                            code="result-of-run-time-size")


def _true_in(name: str, mask: Any) -> np.ndarray:
    """Where a mask of one dimension is true."""
    if isinstance(mask, jax.core.Tracer):
        raise _of_run_time_size(name)
    return (mask if type(mask) is np.ndarray else np.asarray(mask)).nonzero()[0]


def leaf_of(array: Any, kind: str | tuple[Any, ...]) -> Any:
    """A program result as the kind of object the function returned."""
    if type(kind) is tuple:
        return kind[array.item()]
    if kind == PYTHON:
        return array.item()
    return array[()] if kind == SCALAR and isinstance(array, np.ndarray) else array


def arranged(array: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """The array with its dimensions in memory in the order of `strides`, so that the steps make views where they did
    while tracing."""
    order = np.argsort([-abs(s) for s in strides], kind="stable")
    return np.asarray(array.transpose(order), order="C").transpose(np.argsort(order))     # 0-d stays 0-d


def seen_through(array: Any, steps: tuple) -> Any:
    """A view."""
    for step in steps:
        array = step.numpy(array)
    return array

"""Compiled JAX programs, and how they are called. Nothing of the compiler is loaded here."""
from __future__ import annotations

import contextlib
from typing import Any

import jax
import numpy as np

from reactant.calling.compiled import WATCHING, Compiled
from reactant.frontends.jax.jax_arguments import argument_leaves
from reactant.runtime.array import DeviceArray
from reactant.runtime.direct import Miss
from reactant.support.random_keys import generator_of, is_key


class JaxCompiled(Compiled):
    """A compiled JAX program: pytrees of arrays in, pytrees of `jax.Array` out."""

    lowered: Any

    def __init__(self, lowered: Any, executable: Any, directly: bool):
        self.lowered, self.executable = lowered, executable
        self.reason = ""
        self._taken = _Convention(lowered)
        positional = len(lowered.imported.in_tree.children()[0].children()) \
            + sum(isinstance(place, int) for place, *_ in lowered.static)
        told = lowered.settings.given(positional)
        if lowered.place is not None:
            told["out_shardings"] = lowered.place
        # Which leaves may be overwritten can be said to `jax.jit` only by argument.
        self.direct = None if not directly or lowered.placement is not None else executable.direct(
            self._taken.leaves, self._taken.built, lowered.settings.signature, **told)
        for tell in WATCHING:
            tell(self)

    def prepare(self, args: tuple, kwargs: dict) -> None:
        """Compile now what calls with such arguments run."""
        if self.direct is None:
            self.executable.compile(on_device=True)
        else:
            self.direct.compile(args, kwargs)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run with arguments of the signature it was lowered for, static ones included."""
        leaves, tree, static = argument_leaves(self.lowered.settings, args, kwargs)
        if other := [given for given in static if given not in self.lowered.static]:
            known = ", ".join(f"{place}={value!r}" for place, _, value in self.lowered.static)
            raise TypeError(f"{self.lowered.name} was compiled for the static values {known}; {other[0][2]!r} was "
                            "given.")
        if tree != self.lowered.imported.in_tree:
            raise TypeError(f"{self.lowered.name} was compiled for arguments like {self.lowered.imported.in_tree}, "
                            f"not {tree}.")
        return self.run(leaves, args, kwargs)

    def run(self, leaves: list[Any], args: tuple, kwargs: dict) -> Any:
        """Call with flattened run-time arguments."""
        if self.direct is not None:
            with contextlib.suppress(Miss):
                return self.direct(*args, **kwargs)
        results = self.executable.on_device([
            x if isinstance(x, (jax.Array, DeviceArray)) else np.asarray(x, dtype)
            for x, dtype in zip(self._taken.without_keys(leaves), self._taken.dtypes, strict=True)])
        if self.lowered.placement is not None and self.lowered.placement.pads:
            results = [r if r.shape == out.shape else DeviceArray(r, out.shape)
                       for r, out in zip(results, self.executable.outputs, strict=True)]
        return self._taken.built(results)


class _Convention:
    """How a JAX program takes its arguments and gives its results.

    Apart from `JaxCompiled`, which holds the program that calls this: else only the collector would free both.
    """

    def __init__(self, lowered: Any):
        self._imported, self._settings, self._static = lowered.imported, lowered.settings, lowered.static
        self.dtypes = tuple(aval.dtype for aval in self._imported.inputs)
        self._takes_keys = any(map(is_key, self.dtypes))
        self._keys_out = {i: generator_of(out.dtype) for i, out in enumerate(self._imported.outputs)
                          if is_key(out.dtype)}

    def leaves(self, args: tuple, kwargs: dict) -> list[Any] | None:
        """The module's arguments of a call that is being traced; None where it is for another program."""
        imported = self._imported
        leaves, tree, static = argument_leaves(self._settings, args, kwargs)
        if tree != imported.in_tree or static != self._static \
                or [(x.shape, x.dtype, x.weak_type) for x in map(jax.typeof, leaves)] != \
                [(x.shape, x.dtype, x.weak_type) for x in imported.inputs]:
            return None
        return self.without_keys(leaves)

    def without_keys(self, leaves: list[Any]) -> list[Any]:
        """The leaves, keys of `jax.random` as the numbers they are made of."""
        if not self._takes_keys:
            return leaves
        return [jax.random.key_data(x) if is_key(d) else x for x, d in zip(leaves, self.dtypes, strict=True)]

    def built(self, results: list[Any]) -> Any:
        """What the call returns."""
        for index, implementation in self._keys_out.items():
            results[index] = jax.random.wrap_key_data(results[index], impl=implementation)
        return jax.tree_util.tree_unflatten(self._imported.out_tree, results)

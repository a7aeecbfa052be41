"""Derivatives of JAX functions, called with device arrays: as `reactant.runtime.direct` calls JAX functions."""
from __future__ import annotations

from typing import Any

import jax

from reactant.calling import signature as sig
from reactant.calling.compiled import Compiled, taken_by
from reactant.calling.lowered import Lowered
from reactant.calling.traced import Result
from reactant.errors import RAISED_BY_PROGRAMS, translated
from reactant.frontends.arrays.tensor import PYTHON
from reactant.runtime.direct import Direct, Miss, Shortcut
from reactant.runtime.executable import Executable
from reactant.runtime.jax_internals import X64, nothing_traced, restore_x64, swap_x64
from reactant.support.random_keys import generator_of, is_key
from reactant.support.session import is_tracing


class CalledDirectly(Compiled):
    """A compiled program that takes the caller's trees of arrays as they are, where `direct` is there."""

    def __init__(self, lowered: Lowered, executable: Executable, positional: tuple, keyword: tuple) -> None:
        super().__init__(lowered, executable)
        self.direct: Direct | None = None
        if self._is_plain(positional, keyword):
            self.direct = self._direct(positional, keyword)

    def run(self, leaves: list, args: tuple, kwargs: dict) -> Any:
        """Call with flattened arguments."""
        if self.direct is not None and nothing_traced():
            with X64():
                if self.direct.compiled is None:
                    self.direct.compile(args, kwargs)
                try:
                    return self.direct(*args, **kwargs)
                except Miss:
                    pass
        return super().run(leaves, args, kwargs)

    def _is_plain(self, positional: tuple, keyword: tuple) -> bool:
        """Whether arguments and results are trees of arrays and nothing has to be done after the call."""
        traced = self._traced
        results = jax.tree_util.tree_leaves(traced.result)
        nodes = [n for n in (*positional, *(n for _, n in keyword)) if not isinstance(n, sig.Static)]
        return bool(self.lowered.on_device and results and jax.device_count() == 1
                    and not (traced.written or traced.updates or traced.captured) and traced.flags is None
                    and all(type(r) is Result and not r.steps and r.layout is None and r.kind != PYTHON
                            for r in results)
                    and all(map(_is_tree_of_arrays, nodes)))

    def _direct(self, positional: tuple, keyword: tuple) -> Direct | None:
        """The direct way; where another function has the same executable, that one's, if it is called alike."""
        result = self._traced.result
        called = (positional, keyword, jax.tree_util.tree_structure(result),
                  tuple(r.index for r in jax.tree_util.tree_leaves(result)))
        assert isinstance(self.executable, Executable)      # on one device
        if self.executable.directly is not None:
            return self.executable.directly if getattr(self.executable, "called", None) == called else None
        names, taken = dict(keyword), taken_by(self.executable.read)

        def leaves_of(args: tuple, kwargs: dict) -> list[Any] | None:
            found: list[Any] = []
            fits = len(args) == len(positional) and kwargs.keys() == names.keys() and all(
                _gather(node, x, found) for node, x in zip(positional, args, strict=True)) and all(
                _gather(node, kwargs[name], found) for name, node in keyword)
            return taken(found) if fits else None

        def built(results: list[Any]) -> Any:
            return jax.tree_util.tree_map(lambda leaf: results[leaf.index], result)

        static = {"static_argnums": tuple(i for i, n in enumerate(positional) if isinstance(n, sig.Static)),
                  "static_argnames": tuple(name for name, n in keyword if isinstance(n, sig.Static))}
        made = self.executable.direct(leaves_of, built, None, **{key: value for key, value in static.items() if value})
        self.executable.called = called                 # type: ignore[attr-defined]
        return made


def _is_tree_of_arrays(node: Any) -> bool:
    """Whether a signature is of what jax takes apart as we do, down to arrays that jax takes as they are."""
    if isinstance(node, sig.Static):
        return node.value is None
    kind = node[0]
    if kind == "dict":
        return node[1] is dict and all(map(_is_tree_of_arrays, node[3]))
    if kind == "namedtuple" and node[2]:        # attributes beside the items
        return False
    if kind in ("tuple", "namedtuple", "pytree") or kind == "list" and len(node) == 2:      # else: of another class
        return all(map(_is_tree_of_arrays, node[-1]))
    if kind == "keys":
        return _is_tree_of_arrays(node[2])
    return kind == "array" and node[3] is None or kind == "device" and not node[3]


def _gather(node: Any, x: Any, found: list[Any]) -> bool:
    """Collect the arrays of `x` in the order of the signature `node`; False where they do not agree."""
    if isinstance(node, sig.Static):
        return node == sig.Static(x)
    kind = node[0]
    if kind in ("array", "device"):
        found.append(x)
        return isinstance(x, jax.Array) and x.shape == node[1] and x.dtype == node[2] and len(node) < 6
    if kind == "keys":
        return isinstance(x, jax.Array) and is_key(x.dtype) and generator_of(x.dtype) == node[1] and \
            _gather(node[2], jax.random.key_data(x), found)
    if kind == "dict":
        return type(x) is node[1] and len(x) == len(node[2]) and all(
            key.value in x and _gather(n, x[key.value], found) for key, n in zip(node[2], node[3], strict=True))
    if kind == "pytree":
        parts, tree = jax.tree_util.tree_flatten(x)
        return tree == node[1] and all(_gather(n, part, found) for n, part in zip(node[2], parts, strict=True))
    wanted = node[1] if kind == "namedtuple" else {"list": list, "tuple": tuple}[kind]
    return type(x) is wanted and len(x) == len(node[-1]) and all(
        _gather(n, part, found) for n, part in zip(node[-1], x, strict=True))


class Guarded(Shortcut):
    """A shortcut from outside of traces, in 64 bits; in the setting of the user's that the program was made in."""

    x64 = False

    def offer(self, direct: Direct | None) -> None:
        """Take a program, if there is none yet."""
        if self.direct is None:
            self.x64 = bool(jax.config.jax_enable_x64)
        super().offer(direct)

    def call(self, args: tuple, kwargs: dict) -> Any:
        if self.direct is None or jax.config.jax_enable_x64 != self.x64 or is_tracing() or not nothing_traced() \
                or jax.config.jax_disable_jit:
            raise Miss
        before = swap_x64(True)
        try:
            return super().call(args, kwargs)
        except RAISED_BY_PROGRAMS as error:
            if (known := translated(error)) is error:
                raise
            raise known from None
        finally:
            restore_x64(before)

"""JAX functions in the compile cache: what their programs depend on, and what is written down of one.

What jax calls back while it traces is Python of the user's, which the walk goes through as for NumPy functions; what is
called is noted and has to be among it. What else a trace asks for is jax's own, told by its version: settings, the
classes that are nodes of trees, and rules of primitives, which are refused where somebody else has made them.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from reactant.cache.encoding import dtype_told
from reactant.cache.walk import NotCacheable
from reactant.calling import reached, recalled
from reactant.calling.traced import Traced
from reactant.runtime.jax_internals import tree_of
from reactant.support.random_keys import generator_of, is_key, key_dtype
from reactant.support.records import dataclass

if TYPE_CHECKING:
    from reactant.calling.jax_calls import JaxCompiled
    from reactant.runtime.executable import Executable

BUILT_IN: dict[str, Any] = {"tuple": tuple, "list": list, "dict": dict, "NoneType": type(None)}


# ---- what a program depends on ---------------------------------------------------------------------------------

def _told_of(leaf: Any) -> tuple:
    """What a program depends on of an argument."""
    if isinstance(leaf, jax.Array):
        if leaf.committed:
            sharding = leaf.sharding
            if type(sharding) is not jax.sharding.SingleDeviceSharding or sharding.memory_kind not in (
                    None, jax.devices()[0].default_memory().kind) or sharding.device_set != {jax.devices()[0]}:
                raise NotCacheable("arguments are on a mesh, or on another device than the first")
        return ("jax", leaf.shape, _dtype_told(leaf.dtype), jax.typeof(leaf).weak_type, leaf.committed)
    if isinstance(leaf, (np.ndarray, np.generic)):
        return (type(leaf), leaf.shape, leaf.dtype)
    if type(leaf) in (bool, int, float, complex):
        return (type(leaf),)
    raise NotCacheable(f"an argument is {type(leaf).__qualname__}")


def _dtype_told(dtype: Any) -> tuple:
    if is_key(dtype):
        return ("key", generator_of(dtype))
    if (told := dtype_told(np.dtype(dtype))) is None:
        raise NotCacheable(f"an array has the dtype {dtype}")
    return ("dtype", told)


def _dtype_of(told: tuple) -> Any:
    kind, name = told
    return key_dtype(name) if kind == "key" else recalled.encoding.dtype_of(name)


class JaxQuestion(recalled.Question):
    """What is asked of the cache for one call of a JAX function."""

    def __init__(self, jitted: Any, key: tuple, leaves: Sequence[Any], args: tuple, kwargs: dict):
        self._leaves = list(map(_told_of, leaves))
        self._call = jax.tree_util.tree_map(_shape_of, (args, kwargs))
        super().__init__(jitted, key)

    def _described(self) -> tuple:
        tree, static = self._signature[:2]
        return tree, static, self._leaves

    def lowered(self) -> Any:
        if self._lowered is None:
            args, kwargs = self._call
            self._lowered = self._jitted.lower(*args, **kwargs)
        return self._lowered


def question(jitted: Any, key: tuple, leaves: Sequence[Any], args: tuple, kwargs: dict) -> JaxQuestion:
    """The question for a call. Raises `NotCacheable`."""
    recalled.require_usual(jitted)
    try:
        return JaxQuestion(jitted, key, leaves, args, kwargs)
    except NotCacheable:
        raise
    except Exception as error:
        raise NotCacheable(f"its arguments cannot be told ({type(error).__name__}: {error})") from error


def _shape_of(leaf: Any) -> Any:
    """An argument without its content."""
    if isinstance(leaf, jax.Array):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=jax.typeof(leaf).weak_type,
                                    sharding=leaf.sharding if leaf.committed else None)
    return np.broadcast_to(np.zeros((), leaf.dtype), leaf.shape) if isinstance(leaf, np.ndarray) else leaf


# ---- what is written down --------------------------------------------------------------------------------------

def _tree_told(tree: Any) -> Any:
    """A `PyTreeDef` as values."""
    data = tree.node_data()
    if data is None:
        return None
    kind: Any = data[0]
    more = data[1]
    if not reached.can_tell(kind):
        raise NotCacheable(f"jax takes {kind.__qualname__} apart in a way of its own")
    name = next((name for name, each in BUILT_IN.items() if each is kind), kind)
    return name, more, tuple(map(_tree_told, tree.children()))


def _tree_of(told: Any) -> Any:
    if told is None:
        return tree_of(None, ())
    kind, more, children = told
    return tree_of((BUILT_IN[kind] if isinstance(kind, str) else kind, more), list(map(_tree_of, children)))


@dataclass
class RecalledImport:
    """Of `frontends.jax.importing.Imported`, what calls need."""

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    in_tree: Any
    out_tree: Any


class RecalledJaxLowered(recalled.RecalledLowered):
    """A JAX program out of the compile cache before XLA."""

    as_jax = True
    reason = ""

    def __init__(self, question: JaxQuestion, name: str, imported: RecalledImport, notes: Sequence[str],
                 place: Any, device: Any):
        super().__init__(question, name, Traced(None, None), True, notes)       # type: ignore[arg-type]
        self.imported, self.settings, self.static = imported, question._jitted.settings, question._signature[1]
        self.place, self.device = place, device


class JaxForm(recalled.Form):
    """A JAX program in the compile cache."""

    def told(self, made: Any) -> tuple:
        if made.reason:
            raise NotCacheable(f"it is left to jax.jit: {made.reason}")
        lowered = made.lowered
        imported = lowered.imported
        if lowered.placement is not None:
            raise NotCacheable("it runs on a mesh")
        if imported.callbacks:
            raise NotCacheable("it prints, or calls Python while it runs")
        if imported.outside:
            raise NotCacheable("it uses what JAX is tracing around the call")
        if lowered.place is not None and type(lowered.place) is not jax.sharding.SingleDeviceSharding:
            raise NotCacheable("it says where its results lie")
        inputs = [(aval.shape, _dtype_told(aval.dtype), bool(aval.weak_type)) for aval in imported.inputs]
        outputs = [(out.shape, _dtype_told(out.dtype), bool(out.weak_type)) for out in imported.outputs]
        return (recalled.executable_told(made.executable), inputs, outputs, _tree_told(imported.out_tree),
                lowered.name, tuple(lowered.notes), lowered.place is not None, lowered.device is not None)

    def made(self, question: recalled.Question, state: tuple) -> JaxCompiled:
        from reactant.calling.jax_calls import JaxCompiled
        assert isinstance(question, JaxQuestion)
        told, inputs, outputs, out_tree, name, notes, placed, committed = state
        first = jax.devices()[0]
        device = first if committed else None
        place = jax.sharding.SingleDeviceSharding(first) if placed else None
        imported = RecalledImport(
            tuple(jax.core.ShapedArray(shape, _dtype_of(dtype), weak_type=weak) for shape, dtype, weak in inputs),
            tuple(jax.ShapeDtypeStruct(shape, _dtype_of(dtype), weak_type=weak) for shape, dtype, weak in outputs),
            question._signature[0], _tree_of(out_tree))
        executable: Executable = recalled.executable_of(told, recalled.Forms(question.key), device)
        lowered: Any = RecalledJaxLowered(question, name, imported, notes, place, device)
        return JaxCompiled(lowered, executable, not question.options.donate)


JAX_FORM = JaxForm()

"""Variables of staged control flow: snapshots of their values as trees.

A value is captured as a tree (`trees`) and rebuilt from one, by the tables `SNAPSHOTS` and `REBUILT`. What two of them
are together: `joins`.
"""
from __future__ import annotations

import contextlib
import dataclasses
import functools
import types
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any

import jax
import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays.promotion import PYTHON_DTYPES, python_type, result_type
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, SCALAR, Tensor, is_tensor
from reactant.frontends.control import container_aliasing, mutation_log, numbered
from reactant.frontends.control.trees import ABSENT, FORMS, MUTABLE, Absent, Held, Kind, Known, Node, Stacked, Tree
from reactant.frontends.session.trace import current_trace
from reactant.frontends.source.operators import UNSET, Unusable, cells_of
from reactant.ir import ops
from reactant.ir.types import dtype_of, shape_of
from reactant.support.attributes import HEAP_TYPE, is_of_python, slots_of
from reactant.support.named_tuples import is_named_tuple
from reactant.support.records import dataclass

NUMBERS = (bool, int, float, complex)
SIMPLE = (str, bytes, type(None), type(Ellipsis), slice, range, np.dtype, type, types.FunctionType,
           types.BuiltinFunctionType, types.MethodType, types.ModuleType)


@dataclass
class MaybeBound:
    """A variable that is bound only where the run-time boolean `defined` holds; reading it checks that."""

    name: str
    defined: Any
    value: Any


ROWS = {"python": "rows of python", "scalar": "rows of scalar"}
"""The kinds of such parts, by those of one element's."""


# ---- capturing -------------------------------------------------------------------------------------------------

def capture(value: Any, inside: tuple[int, ...] = ()) -> Tree:
    """The tree of a value, with the SSA values it has here and now."""
    if value is UNSET or id(value) in inside:
        return Known(value)
    return SNAPSHOTS.get(type(value), _of_class)(value, (*inside, id(value)))


def _held(value: Tensor, inside: tuple[int, ...]) -> Tree:
    base = value.storage.read()
    return Held(value, base, value.value() if value.steps else base)


def _maybe(value: MaybeBound, inside: tuple[int, ...]) -> Tree:
    return Node("maybe", value.name, [capture(value.defined), capture(value.value, inside)], value)


def _slice(value: slice, inside: tuple[int, ...]) -> Tree:
    decided = (is_tensor(value.start) or is_tensor(value.stop)) and not is_tensor(value.step)
    return slice_node(value) if decided else Known(value)


def _container(kind: str) -> Callable[[Any, tuple[int, ...]], Tree]:
    form = FORMS[kind]
    return lambda value, inside: Node(kind, form.key(value), [capture(v, inside) for v in form.parts(value)], value)


_TUPLE, _OBJECT = _container("tuple"), _container("object")


def _of_class(value: Any, inside: tuple[int, ...]) -> Tree:
    """Values of classes that are in no table."""
    if is_named_tuple(value):
        return _TUPLE(value, inside)
    if isinstance(value, np.generic) or not is_record(value):
        return Known(value)
    if numbered.is_by_number(value) and (view := container_aliasing.view_of(value)) is not None:
        possible, number = numbered.numbers_at(view.items, view.place)
        return Node("alternative", possible, [capture(number)], value)
    return _OBJECT(value, inside)


SNAPSHOTS: dict[type, Callable[[Any, tuple[int, ...]], Tree]] = {
    Tensor: _held, Absent: lambda value, inside: value, MaybeBound: _maybe, slice: _slice,
    list: _container("list"), tuple: _TUPLE, dict: _container("dict"),
    **dict.fromkeys(NUMBERS, lambda value, inside: Known(value))}
"""How values are captured, by their classes; the files that have further ones say it. (Given the identities of what
a value is in, and its own.)"""


def slice_node(value: slice) -> Node:
    """A slice with bounds that are, or may be, decided at run time; its key is how much it spans, where that is known,
    and its step."""
    return Node("slice", (None, value.step), [capture(value.start), capture(value.stop)], value)


def is_record(value: Any) -> bool:
    """A dataclass instance or another plain object of a Python class."""
    cls = type(value)
    if cls is types.SimpleNamespace:
        return True
    return (hasattr(value, "__dict__") or _is_of_slots(cls)) and cls.__flags__ & HEAP_TYPE != 0 and not isinstance(
        value, (type, *SIMPLE, Unusable, BaseException, Iterator, jax.Array)) and (
            dataclasses.is_dataclass(value) or cls.__new__ is object.__new__) and is_of_python(cls)


@functools.cache
def _is_of_slots(cls: type) -> bool:
    """Whether objects of a class of the user's have slots in place of a `__dict__`."""
    return bool(slots_of(cls)) and cls.__module__.partition(".")[0] not in {"reactant", "jax", "jaxlib", "numpy"}


def rebuilt(node: Node, children: list[Any]) -> Any:
    """A value like the node's original with other children."""
    return REBUILT[node.kind](node, children)


def _maybe_again(node: Node, children: list[Any]) -> Any:
    return children[1] if children[0] is True else MaybeBound(node.key, *children)


def _slice_again(node: Node, children: list[Any]) -> slice:
    length, step = node.key
    return slice(children[0], children[1] if length is None else children[0] + length, step)


REBUILT: dict[str, Callable[[Node, list[Any]], Any]] = {
    "maybe": _maybe_again, "slice": _slice_again, **{kind: form.make for kind, form in FORMS.items()}}
"""How nodes become values again, by their kinds; the files that have further ones say it."""


# ---- leaves ----------------------------------------------------------------------------------------------------

def with_leaves(tree: Tree, leaves: Iterator[Any], same: Set[int] = frozenset(), made: Made | None = None) -> Any:
    """The value of a tree with other leaves. The nodes `same`, by identity, stay what they were captured from; of
    containers that are one, one is made."""
    if not isinstance(tree, Node):
        return next(leaves)
    children = [with_leaves(c, leaves, same, made) for c in tree.children]
    if id(tree) in same:
        return tree.original
    return rebuilt(tree, children) if made is None else made.of(tree, children)


class Made:
    """The containers that stand for those which an iteration of a loop has left, one for each of these."""

    def __init__(self, ends: dict[int, tuple[int, ...]] | None = None,
                 found: dict[tuple[int, ...], Any] | None = None):
        self.ends = ends        # of nodes before the loop, by identity: what they are after the iteration
        self.found: dict[tuple[int, ...], Any] = {} if found is None else found

    def of(self, tree: Node, children: list[Any]) -> Any:
        key = (id(tree.original),) if self.ends is None else self.ends.get(id(tree))
        if key is None or tree.kind not in MUTABLE:
            return rebuilt(tree, children)
        if key not in self.found:
            self.found[key] = rebuilt(tree, children)
        return self.found[key]

    def among(self, ends: dict[int, tuple[int, ...]]) -> Made:
        """The same containers, for a tree from before the loop."""
        return Made(ends, self.found)


# ---- variables -------------------------------------------------------------------------------------------------

class Variables:
    """The variables that the functions of one statement assign."""

    def __init__(self, functions: Iterable[types.FunctionType | None], live: tuple[str, ...], dead: tuple[str, ...]):
        present = [f for f in functions if f is not None]
        self.cells = cells_of(*present)
        self.namespace = present[0].__globals__ if present else {}
        self.live, self.dead = live, dead
        self.containers: dict[str, mutation_log.Change] = {}

    def add_container(self, change: mutation_log.Change) -> str:
        """Handle the content of an object like a variable."""
        # while it is as it was: a region around this one may undo it
        mutation_log.touch(change.container, change.name)
        name = f"<{mutation_log.describe(change)} #{len(self.containers)}>"
        self.containers[name] = change
        self.live = (*self.live, name)
        return name

    def handled(self) -> list[Any]:
        """Cells and objects that are variables here, so that their changes need no record."""
        cells = [self.cells[n] for n in (*self.live, *self.dead) if n in self.cells]
        return [*cells, *(c.container for c in self.containers.values())]

    def changed(self, name: str, old: Any, new: Any) -> bool:
        return mutation_log.differ(old, new) if name in self.containers else old is not new

    def get(self, name: str) -> Any:
        if name in self.containers:
            held = mutation_log.contents(self.containers[name].container)
            return [ABSENT if v is mutation_log.UNBOUND else v for v in held] if isinstance(held, list) else held
        cell = self.cells.get(name)
        if cell is None:
            return self.namespace.get(name, ABSENT)
        try:
            return cell.cell_contents
        except ValueError:
            return ABSENT

    def set(self, name: str, value: Any) -> None:
        if name in self.containers:
            mutation_log.touch(self.containers[name].container)
            held = [mutation_log.UNBOUND if v is ABSENT else v for v in value] if isinstance(value, list) else value
            return mutation_log.refill(self.containers[name].container, held)
        cell = self.cells.get(name)
        if cell is None:
            if value is ABSENT:
                self.namespace.pop(name, None)
            else:
                self.namespace[name] = value
        elif value is ABSENT:
            with contextlib.suppress(ValueError):
                del cell.cell_contents
        else:
            cell.cell_contents = value

    def snapshot(self) -> dict[str, Any]:
        return {n: self.get(n) for n in self.live}

    def restore(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            if name not in self.containers or self.changed(name, self.get(name), value):
                self.set(name, value)

    def clear_dead(self) -> None:
        """Nothing reads them again; they may hold values of a closed region."""
        for name in self.dead:
            self.set(name, ABSENT)


# ---- types -----------------------------------------------------------------------------------------------------

SIZED = "an array of run-time size (a masked or run-time slice; use it where it is made)"


class Mismatch(Exception):
    """Two values that cannot be one at run time; the text says why."""


def kind_of(leaf: Tree) -> Kind | None:
    """The kind of a numeric leaf; None for other objects."""
    match leaf:
        case Held():
            t = leaf.tensor
            return Kind(t.kind, t.dtype, t.shape, t.interval)
        case Stacked():
            return leaf.rows
        case Known():
            value = leaf.value
        case _:
            return None
    if type(value) in NUMBERS:
        if type(value) is int and not -2**63 <= value < 2**63:
            raise Mismatch(f"the integer {value} does not fit into 64 bits")
        return Kind(PYTHON, PYTHON_DTYPES[type(value)], (), (int(value),) * 2 if type(value) in (bool, int) else None)
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return Kind(SCALAR, value.dtype, (), (int(value),) * 2 if value.dtype.kind in "iu" else None)
    if (type(value) is np.ndarray or is_jax_array(value)) and getattr(value.dtype, "kind", "key") in "biufc":
        return Kind(ARRAY, value.dtype, value.shape)
    return None


def is_jax_array(value: Any) -> bool:
    """Whether a value is what a JAX function has made of values that are known."""
    return isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer)


def is_rows(kind: Kind | None) -> bool:
    return kind is not None and kind.kind in ROWS.values()


def row_kind(kind: Kind) -> Kind:
    """The kind of one element of rows."""
    return Kind(kind.kind.removeprefix("rows of "), kind.dtype, kind.shape[1:])


def joined(a: Kind, b: Kind) -> Kind:
    """The kind that holds both: Python numbers promote as NumPy promotes them, arrays have to agree, and rows are as
    many as the more of them."""
    if is_rows(a) and is_rows(b):
        both = joined(row_kind(a), row_kind(b))
        return Kind(ROWS[both.kind], both.dtype, (max(a.shape[0], b.shape[0]), *both.shape))
    interval = None
    if a.interval is not None and b.interval is not None:
        interval = (min(a.interval[0], b.interval[0]), max(a.interval[1], b.interval[1]))
    if a.kind == b.kind and a.dtype == b.dtype and a.shape == b.shape:
        return dataclasses.replace(a, interval=interval)
    if ARRAY in (a.kind, b.kind) or a.kind == b.kind == SCALAR:
        raise Mismatch(f"{a} and {b}")
    if a.kind == b.kind == PYTHON:
        wide = max((a, b), key=lambda k: "bifc".index(k.dtype.kind))
        return dataclasses.replace(wide, interval=interval if wide.dtype.kind in "bi" else None)
    number, scalar = (a, b) if a.kind == PYTHON else (b, a)
    dtype = result_type((python_type(number.dtype), scalar.dtype))
    return Kind(SCALAR, dtype, (), interval if dtype.kind in "iu" else None)


def value_of(leaf: Tree | None, kind: Kind) -> ir.Value:
    """The leaf as an SSA value of `kind`, built at the insertion point; zeros for a missing one."""
    if leaf is None or leaf is ABSENT or leaf.is_(UNSET):
        return ops.constant(0, kind.dtype, kind.shape)
    if is_rows(kind):
        return _rows_value(leaf, kind)
    if isinstance(leaf, Held):
        return ops.convert(leaf.value, kind.dtype)
    value = np.asarray(leaf.value) if is_jax_array(leaf.value) else leaf.value
    if type(value) is np.ndarray:
        repeats = value.size and not any(value.strides)
        return ops.constant(value.flat[0], kind.dtype, kind.shape) if repeats else current_trace().capture(value)
    return ops.constant(value, kind.dtype)


def _rows_value(leaf: Tree, kind: Kind) -> ir.Value:
    """As many rows as the kind says."""
    if isinstance(leaf, Stacked):
        each = row_kind(kind)
        values = [ops.reshape(value_of(part, each), (1, *each.shape)) for part in leaf.parts]
        whole = ops.concatenate(values, 0) if values else ops.constant(0, kind.dtype, (0, *each.shape))
    else:
        whole = ops.convert(leaf.value, kind.dtype)
    return padded(whole, kind.shape[0])


def padded(rows: ir.Value, count: int) -> ir.Value:
    """So many rows: the first ones, or zeros behind them."""
    have, *rest = shape_of(rows)
    if have > count:
        return ops.slice(rows, [0] * (1 + len(rest)), [count, *rest])
    return rows if have == count else ops.concatenate([rows, ops.constant(0, dtype_of(rows), (count - have, *rest))], 0)

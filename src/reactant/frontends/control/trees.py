"""Values as trees: what control flow sees of a variable.

The leaves of a tree are traced values (`Held`), and Python objects and numbers (`Known`). A `Node` is a list, a tuple,
a dict, an object, an array of run-time size, a value that is there on some paths only, ...: its `kind` says which. What
the containers of Python among them hold, and how one that holds something else is made, is in `FORMS`.
"""
from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.frontends.arrays.promotion import python_type
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, SCALAR, Tensor
from reactant.frontends.control import container_aliasing
from reactant.support import named_tuples
from reactant.support.attributes import attributes, slots_of
from reactant.support.records import dataclass


@dataclass(frozen=True)
class Kind:
    """What a leaf is: array, scalar or Python number, of a dtype and shape; integer bounds where known."""

    kind: str
    dtype: np.dtype
    shape: tuple[int, ...] = ()
    interval: tuple[int, int] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        if self.kind == PYTHON:
            return f"a Python {python_type(self.dtype).__name__}"
        if self.kind == SCALAR:
            return f"a {self.dtype} scalar"
        return f"a {self.dtype} array of shape {self.shape}"


class Tree:
    """A value, as it is at one point of the program."""

    kind: str
    """What a node is; "" of a leaf."""
    children: Sequence[Tree]

    @property
    def object(self) -> Any:
        """The Python object that it was captured from."""
        return self

    @property
    def array(self) -> Tensor | None:
        """The traced array that it is, if it is one."""
        return None

    def is_(self, value: Any) -> bool:
        """Whether it is this object, and known to be."""
        return False

    def alike(self, other: Tree) -> bool:
        """Whether two values have one structure."""
        return False

    def leaves(self) -> Iterator[Tree]:
        """Its leaves, in order."""
        for child in self.children:
            yield from child.leaves()

    def nodes(self) -> Iterator[Node]:
        """Its nodes, each before what is in it."""
        for child in self.children:
            yield from child.nodes()

    def arrays(self) -> Iterator[Tensor]:
        """The traced arrays in it."""
        return (array for leaf in self.leaves() if (array := leaf.array) is not None)


class _Leaf(Tree):
    kind, children = "", ()

    def leaves(self) -> Iterator[Tree]:
        yield self


class Absent(_Leaf):
    """A variable without a value."""

    def __repr__(self) -> str:
        return "undefined"


ABSENT = Absent()


@dataclass
class Held(_Leaf):
    """A traced value: the tensor, the content of its storage, and its own value (a view's may differ)."""

    tensor: Tensor
    base: ir.Value
    value: ir.Value

    @property
    def object(self) -> Any:
        return self.tensor

    @property
    def array(self) -> Tensor | None:
        return self.tensor if self.tensor.kind == ARRAY else None

    def alike(self, other: Tree) -> bool:
        return isinstance(other, (Held, Known))


@dataclass
class Known(_Leaf):
    """A Python object or number."""

    value: Any

    @property
    def object(self) -> Any:
        return self.value

    def is_(self, value: Any) -> bool:
        return self.value is value

    def alike(self, other: Tree) -> bool:
        return isinstance(other, (Held, Known))


@dataclass
class Stacked(_Leaf):
    """One part of all elements of a list, as rows."""

    parts: list[Tree]
    rows: Kind


@dataclass
class Node(Tree):
    kind: str
    key: Any
    """The type, and what has to agree for two nodes to be one."""
    children: list[Tree]
    original: Any

    @property
    def object(self) -> Any:
        return self.original

    def alike(self, other: Tree) -> bool:
        return self.kind == other.kind and self.key == other.key and all(    # type: ignore[attr-defined]
            mine.alike(theirs) for mine, theirs in zip(self.children, other.children, strict=True))

    def nodes(self) -> Iterator[Node]:
        yield self
        yield from super().nodes()


def originals(tree: Tree) -> Iterator[Any]:
    """The objects that the nodes of a tree were captured from."""
    return (node.original for node in tree.nodes())


# ---- Python's containers -----------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Form:
    """A kind of Python container: what has to agree for two to be one, what it holds, in order, and another one like
    the original of a node that holds these."""

    key: Callable[[Any], tuple]
    parts: Callable[[Any], Iterable[Any]]
    make: Callable[[Node, list[Any]], Any]


def _tuple(node: Node, children: list[Any]) -> tuple:
    kind, count, *names = node.key
    made = tuple(children) if kind is tuple else named_tuples.make(kind, children[:count], names, children[count:])
    container_aliasing.note_tuple(made)
    return made


def _object(node: Node, children: list[Any]) -> Any:
    kind = type(node.original)
    made = types.SimpleNamespace() if kind is types.SimpleNamespace else object.__new__(kind)
    own = slots_of(kind)
    for name, child in zip(node.key[1], children, strict=True):
        if name in own:
            object.__setattr__(made, name, child)
        else:
            made.__dict__[name] = child
    return made


FORMS = {
    "list": Form(lambda x: (type(x), len(x)), lambda x: x, lambda node, children: children),
    "tuple": Form(lambda x: (type(x), len(x), *named_tuples.beside(x)), named_tuples.parts, _tuple),
    "dict": Form(lambda x: (type(x), tuple(x)), dict.values,
                 lambda node, children: dict(zip(node.key[1], children, strict=True))),
    "object": Form(lambda x: (type(x), tuple(attributes(x, noted=False))),
                   lambda x: attributes(x, noted=False).values(), _object),
}
MUTABLE = ("list", "dict", "object")
CONTAINERS = (*MUTABLE, "rows")
"""Nodes of what can be changed. `rows` are lists of run-time length: their length, and each part of their elements."""

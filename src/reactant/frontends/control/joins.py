"""Two paths meet: what a variable holds after either of them (a `Plan`).

`unify` says it of two trees (`state`); `branches` and `loops` build its run-time parts as results of an op.
"""
from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from reactant.errors import ControlFlowError
from reactant.frontends.arrays.tensor import ARRAY, TRACED_TEXT, Tensor
from reactant.frontends.control import container_aliasing, numbered
from reactant.frontends.control.snapshots import (
    ABSENT,
    CONTAINERS,
    NUMBERS,
    SIMPLE,
    SIZED,
    Held,
    Kind,
    Known,
    Mismatch,
    Node,
    Tree,
    is_jax_array,
    joined,
    kind_of,
    rebuilt,
    slice_node,
)
from reactant.frontends.source.operators import UNSET, VALUE, Unusable
from reactant.support.records import dataclass


@dataclass
class Keep:
    value: Any


@dataclass
class Leaf:
    """A run-time result: `first` and `second` are the two paths' leaves (None: that path has none)."""

    kind: Kind
    first: Tree | None
    second: Tree | None


@dataclass
class Branching:
    """A tree of results; `second` is what the node of the second path was captured from."""

    node: Node
    children: list[Plan]
    second: Any = None


@dataclass
class Broken:
    """They cannot be one; `kinds` are the types of containers that could be chosen as themselves."""

    reason: str
    kinds: tuple[str, ...] = ()

    def error(self, fact: str, hint: str, code: str) -> ControlFlowError:
        container_aliasing.demand_numbers(self.kinds)
        return ControlFlowError(fact, hint=hint, code=code)


Plan = Keep | Leaf | Branching | Broken


def unify(a: Tree, b: Tree, name: str = "") -> Plan:
    """What a value is after either path: the same object, a run-time value, a tree of those, or `Broken`."""
    if a is ABSENT and b is ABSENT:
        return Keep(ABSENT)
    if _same(a, b):
        return Keep(_object(a))
    if name == VALUE or _is_unset(a) or _is_unset(b):
        if _is_unset(a) or a is ABSENT:
            return one_sided(b, second=True)
        if _is_unset(b) or b is ABSENT:
            return one_sided(a, second=False)
    for side in (a, b):
        if type(side) is Known and type(side.value) is Unusable:
            return Keep(side.value)
    if a is ABSENT or b is ABSENT or _is_maybe(a) or _is_maybe(b):
        return _unify_maybe(a, b, name)
    if is_choosable(a) and is_choosable(b):
        return _unify_alternatives(a, b)
    if is_optional(a) or is_optional(b):
        return _unify_optional(a, b)
    if is_sized(a) or is_sized(b):
        return _unify_sized(a, b)
    if is_slice(a) and is_slice(b):
        return _unify_slices(a, b)
    if type(a) is Node and type(b) is Node:
        if "rows" in (a.kind, b.kind):
            return _unify_rows(a, b)
        if a.kind != b.kind or a.key != b.key:
            return Broken(f"{_noun(a)} and {_noun(b)}", _container_kinds(a, b))
        children = [unify(x, y) for x, y in zip(a.children, b.children, strict=True)]
        broken = next((c for c in children if type(c) is Broken), None)
        if broken is not None and a.kind in CONTAINERS:
            return Broken(broken.reason, (*broken.kinds, *_container_kinds(a, b)))
        return broken or Branching(a, children, b.original)
    try:
        first, second = kind_of(a), kind_of(b)
        if first is None or second is None:
            return Broken(f"{_noun(a)} and {_noun(b)}", _container_kinds(a, b))
        return Leaf(joined(first, second), a, b)
    except Mismatch as problem:
        return Broken(str(problem))


def _container_kinds(a: Tree, b: Tree) -> tuple[str, ...]:
    """The types of two containers."""
    values = [_object(a), _object(b)]
    fine = all(type(side) is Node and side.kind in CONTAINERS or type(side) is Known and isinstance(side.value, set)
               for side in (a, b))
    return tuple(map(container_aliasing.kind_of, values)) if fine else ()


def _unify_rows(a: Node, b: Node) -> Plan:
    """Two lists, one of them of run-time length."""
    key = (a if a.kind == "rows" else b).key
    first, second = key.rows_of(a), key.rows_of(b)
    if first is None or second is None:
        return Broken(f"{_noun(a)} and {_noun(b)}", _container_kinds(a, b))
    try:
        plans = [Leaf(joined(kind_of(x), kind_of(y)), x, y)
                 for x, y in zip(first.children, second.children, strict=True)]
    except Mismatch as problem:
        return Broken(str(problem))
    return Branching(Node("rows", (first if a.kind == "rows" else second).key, [], a.original), plans, b.original)


def is_sized(tree: Tree) -> bool:
    """Whether a value is an array of run-time size."""
    return type(tree) is Node and tree.kind == "sized"


def _unify_sized(a: Tree, b: Tree) -> Plan:
    """Two arrays, one of them of run-time size."""
    both = (a if is_sized(a) else b).key.joint(a, b)    # type: ignore[union-attr]
    if both is None:
        return Broken(f"{_noun(a)} and {_noun(b)}")
    children = [unify(x, y) for x, y in zip(both[0].children, both[1].children, strict=True)]
    return next((c for c in children if type(c) is Broken), None) or Branching(both[0], children, both[1].original)


def _unify_maybe(a: Tree, b: Tree, name: str) -> Plan:
    def parts(side: Tree) -> tuple[Tree, Tree]:
        if side is ABSENT:
            return Known(False), ABSENT
        if _is_maybe(side):
            return side.children[0], side.children[1]
        return Known(True), side

    (first_defined, first), (second_defined, second) = parts(a), parts(b)
    defined = unify(first_defined, second_defined)
    value = _unify_present(first, second)
    if type(value) is Broken:
        return value
    node = Node("maybe", name or next((s.key for s in (a, b) if _is_maybe(s)), "a variable"), [], None)
    return Branching(node, [defined, value])


def _unify_present(first: Tree, second: Tree) -> Plan:
    """`unify` of values that a path may be without."""
    if first is ABSENT or second is ABSENT:
        return one_sided(second if first is ABSENT else first, second=first is ABSENT)
    return unify(first, second)


def is_slice(tree: Tree) -> bool:
    """Whether a value is a slice of a known step."""
    return type(tree) is Known and type(tree.value) is slice and type(tree.value.step) is not Tensor \
        or type(tree) is Node and tree.kind == "slice"


def as_slice(tree: Tree) -> Node:
    """A slice as a node; one that goes up says where it begins."""
    node = tree if type(tree) is Node else slice_node(tree.value)   # type: ignore[union-attr]
    (length, step), (start, *stop) = node.key, node.children
    step = 1 if step is None else step
    start = Known(0) if is_none(start) and step > 0 else start
    return Node("slice", (length, step), [start, *stop], node.original)


def _unify_slices(a: Tree, b: Tree) -> Plan:
    """Two slices; those of known bounds that span as much stay so."""
    first, second = as_slice(a), as_slice(b)
    if first.key[1] != second.key[1] or any(
            is_none(x) != is_none(y) for x, y in zip(first.children, second.children, strict=True)):
        return Broken("slices of different steps, or with and without an end")
    length = _span(a)
    if length is not None and length == _span(b):
        return Branching(Node("slice", (length, first.key[1]), [], None),
                         [unify(first.children[0], second.children[0])])
    children = [unify(x, y) for x, y in zip(first.children, second.children, strict=True)]
    return next((c for c in children if type(c) is Broken), None) or Branching(
        Node("slice", first.key, [], None), children)


def _span(tree: Tree) -> int | None:
    """From where to where a slice of known bounds goes that count from the front."""
    if type(tree) is not Known:
        return None
    start, stop = tree.value.start or 0, tree.value.stop
    return stop - start if type(start) is int and type(stop) is int and 0 <= start <= stop else None


def is_none(tree: Tree) -> bool:
    """Whether a value is None."""
    return type(tree) is Known and tree.value is None


def is_optional(tree: Tree) -> bool:
    """Whether a value is None, or may be."""
    return is_none(tree) or type(tree) is Node and tree.kind == "optional"


def _unify_optional(a: Tree, b: Tree) -> Plan:
    """None on one path, and perhaps a value on the other."""
    def parts(side: Tree) -> tuple[Tree, Tree]:
        if is_none(side):
            return Known(False), ABSENT
        return (side.children[0], side.children[1]) if type(side) is Node and side.kind == "optional" \
            else (Known(True), side)

    (first_defined, first), (second_defined, second) = parts(a), parts(b)
    if not all(side is ABSENT or has_numbers(side) for side in (first, second)):
        return Broken(f"{_noun(a)} and {_noun(b)}")
    value = _unify_present(first, second)
    return value if type(value) is Broken else \
        Branching(Node("optional", (), [], None), [unify(first_defined, second_defined), value])


def is_choosable(tree: Tree) -> bool:
    """Whether a value is an object that run-time values can choose by a number, or one that it has chosen."""
    if _is_alternative(tree):
        return numbered.lasting(tree.key)       # type: ignore[union-attr]
    if type(tree) is Node and tree.original is None:
        return False
    value = tree.value if type(tree) is Known else tree.original if type(tree) is Node else tree
    return (type(tree) is Known or numbered.is_by_number(value)) and numbered.is_choosable(value)


def _is_alternative(tree: Tree) -> bool:
    return type(tree) is Node and tree.kind == "alternative"


def as_alternative(tree: Tree) -> Node:
    """The number of such a value, and the numbers that it may have."""
    if _is_alternative(tree):
        return tree     # type: ignore[return-value]
    number = numbered.number_of(tree.original if type(tree) is Node else tree.value)    # type: ignore[union-attr]
    return Node("alternative", (number,), [Known(number)], None)


def widened(node: Node, other: Node) -> Node:
    """`node`, which may be what `other` may be as well."""
    return Node("alternative", tuple(sorted({*node.key, *other.key})), node.children, None)


def _unify_alternatives(a: Tree, b: Tree) -> Plan:
    first, second = as_alternative(a), as_alternative(b)
    node = widened(first, second)
    if len(node.key) > numbered.most(node.key):
        return Broken(f"{_noun(a)} and {_noun(b)}")
    return Branching(node, [unify(first.children[0], second.children[0])])


def described(a: Tree, b: Tree) -> str | None:
    """The proxy of one of two texts that hold run-time values: it may be in the message of an exception."""
    texts = [side.value for side in (a, b) if type(side) is Known and type(side.value) is str]
    if len(texts) < 2 or not any(TRACED_TEXT in text for text in texts) or texts[0] == texts[1]:
        return None
    return f"{TRACED_TEXT}{' or '.join(_NUMBERED.sub(lambda mark: mark[1], text) for text in texts)}>"


_NUMBERED = re.compile(f"{TRACED_TEXT}([^>]*?)(?: #[0-9]+)?>")


def has_numbers(tree: Tree) -> bool:
    """Whether some part of a value is a number or an array."""
    if type(tree) is Node:
        return any(map(has_numbers, tree.children))
    with contextlib.suppress(Mismatch):
        return kind_of(tree) is not None
    return False


def one_sided(tree: Tree, second: bool) -> Plan:
    """A value that exists on one path only: on the other its run-time parts are zeros that nothing may read."""
    if type(tree) is Node:
        return Branching(tree, [one_sided(c, second) for c in tree.children])
    try:
        kind = kind_of(tree)
    except Mismatch as problem:
        return Broken(str(problem))
    if kind is None or type(tree) is Known:
        return Keep(_object(tree))
    return Leaf(kind, *((None, tree) if second else (tree, None)))


def _same(a: Tree, b: Tree) -> bool:
    x, y = _object(a), _object(b)
    if x is y and (x is not None or type(a) is type(b) is Known):       # None: also of a tree that was made anew
        return True
    if type(a) is Held and type(b) is Held:
        s, t = a.tensor, b.tensor
        return s.storage is t.storage and s.steps == t.steps and s.kind == t.kind and s.kind == ARRAY
    if type(a) is Known and type(b) is Known and type(x) is type(y):
        if type(x) in NUMBERS or isinstance(x, np.generic):
            return repr(x) == repr(y)       # tells -0.0 from 0.0 and lets nan be nan
        if isinstance(x, SIMPLE) or x.__class__.__hash__ is not None and not isinstance(x, np.ndarray):
            return bool(x == y)
    return False


def _object(tree: Tree) -> Any:
    if type(tree) is Held:
        return tree.tensor
    return tree.value if type(tree) is Known else tree.original if type(tree) is Node else tree


def _is_unset(tree: Tree) -> bool:
    return type(tree) is Known and tree.value is UNSET


def _is_maybe(tree: Tree) -> bool:
    return type(tree) is Node and tree.kind == "maybe"


NOUNS = {"list": "a list of {}", "tuple": "a tuple of {}", "dict": "a dict", "rows": "a list of run-time length",
         "slice": "a slice",
         "sized": SIZED, "following": SIZED, "alternative": "one of {} texts, functions or other objects"}


def _noun(tree: Tree) -> str:
    """A value in an error message."""
    with contextlib.suppress(Mismatch):
        if (kind := kind_of(tree)) is not None:
            return str(kind)
    if type(tree) is Node:
        many = len(tree.key) if tree.kind == "alternative" else len(tree.children)
        return NOUNS.get(tree.kind, f"an object of type {type(tree.original).__name__}").format(many)
    value = _object(tree)
    if getattr(type(value), "partial", False):
        return SIZED
    if is_jax_array(value):
        return "a jax.random.key (carry jax.random.key_data(key), and make the key of it where it is used)"
    return "None" if value is None else f"{value!r}" if isinstance(value, (str, int)) else \
        f"an object of type {type(value).__name__}"


def originals(tree: Tree) -> Iterator[Any]:
    """The objects that the nodes of a tree were captured from."""
    if type(tree) is Node:
        yield tree.original
        for child in tree.children:
            yield from originals(child)


def leaves_of(plan: Plan) -> Iterator[Leaf]:
    if type(plan) is Leaf:
        yield plan
    elif type(plan) is Branching:
        for child in plan.children:
            yield from leaves_of(child)


def assembled(plan: Plan, make: Callable[[Leaf], Any], found: dict[tuple[int, int], Any], copied: bool = False) -> Any:
    """The Python value of a plan, `make` giving its run-time parts. `found`: what stands for containers of the two
    paths that meet here, by their identities: what is one on both is one. copied: a copy of what a container holds,
    which is itself none of the program's."""
    if type(plan) is Keep:
        return plan.value
    if type(plan) is Leaf:
        return make(plan)
    children = [assembled(c, make, found) for c in plan.children]
    if plan.node.kind not in CONTAINERS or copied or plan.node.original is None:
        return rebuilt(plan.node, children)
    sides = plan.node.original, plan.second
    key = id(sides[0]), id(sides[1])
    if key not in found:
        found[key] = rebuilt(plan.node, children)
        container_aliasing.may_be(found[key], sides, make)
    return found[key]


def unusable(name: str, plan: Broken, where: str) -> Unusable:
    """The content of a variable whose two values cannot be one: reading it raises, naming variable and line."""
    shown = "The returned value" if name == VALUE else f"'{name}'"
    return Unusable(lambda: plan.error(
        f"{shown} has no single type after {where}: it holds {plan.reason}.",
        "Compiled code needs one type, whatever the condition turns out to be: give it one on both paths.",
        "branches-differ"))

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
from reactant.frontends.arrays.tensor import ARRAY, TRACED_TEXT, is_tensor
from reactant.frontends.control import container_aliasing, numbered
from reactant.frontends.control.snapshots import (
    NUMBERS,
    SIMPLE,
    SIZED,
    Mismatch,
    is_jax_array,
    joined,
    kind_of,
    rebuilt,
    slice_node,
)
from reactant.frontends.control.trees import ABSENT, CONTAINERS, Held, Kind, Known, Node, Tree
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
        return Keep(a.object)
    if name == VALUE or a.is_(UNSET) or b.is_(UNSET):
        if a.is_(UNSET) or a is ABSENT:
            return one_sided(b, second=True)
        if b.is_(UNSET) or b is ABSENT:
            return one_sided(a, second=False)
    for side in (a, b):
        if isinstance(side, Known) and type(side.value) is Unusable:
            return Keep(side.value)
    return next((join(a, b, name) for fits, join in JOINS if fits(a, b)), None) or _unify_numbers(a, b)


def _unify_nodes(a: Node, b: Node, name: str) -> Plan:
    if a.kind != b.kind or a.key != b.key:
        return Broken(f"{_noun(a)} and {_noun(b)}", _container_kinds(a, b))
    children = [unify(x, y) for x, y in zip(a.children, b.children, strict=True)]
    broken = _first_broken(children)
    if broken is not None and a.kind in CONTAINERS:
        return Broken(broken.reason, (*broken.kinds, *_container_kinds(a, b)))
    return broken or Branching(a, children, b.original)


def _first_broken(plans: list[Plan]) -> Broken | None:
    return next((plan for plan in plans if isinstance(plan, Broken)), None)


def _unify_numbers(a: Tree, b: Tree) -> Plan:
    try:
        first, second = kind_of(a), kind_of(b)
        if first is None or second is None:
            return Broken(f"{_noun(a)} and {_noun(b)}", _container_kinds(a, b))
        return Leaf(joined(first, second), a, b)
    except Mismatch as problem:
        return Broken(str(problem))


def _container_kinds(a: Tree, b: Tree) -> tuple[str, ...]:
    """The types of two containers."""
    fine = all(side.kind in CONTAINERS or isinstance(side, Known) and isinstance(side.value, set) for side in (a, b))
    return (container_aliasing.kind_of(a.object), container_aliasing.kind_of(b.object)) if fine else ()


def _unify_rows(a: Node, b: Node, name: str) -> Plan:
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


def _unify_sized(a: Tree, b: Tree, name: str) -> Plan:
    """Two arrays, one of them of run-time size."""
    both = next(side for side in (a, b) if side.kind == "sized").key.joint(a, b)
    if both is None:
        return Broken(f"{_noun(a)} and {_noun(b)}")
    children = [unify(x, y) for x, y in zip(both[0].children, both[1].children, strict=True)]
    return _first_broken(children) or Branching(both[0], children, both[1].original)


def _unify_maybe(a: Tree, b: Tree, name: str) -> Plan:
    """A variable that a path may be without."""
    (first_defined, first), (second_defined, second) = presence(a, "maybe"), presence(b, "maybe")
    defined = unify(first_defined, second_defined)
    value = _unify_present(first, second)
    if isinstance(value, Broken):
        return value
    node = Node("maybe", name or next((s.key for s in (a, b) if s.kind == "maybe"), "a variable"), [], None)
    return Branching(node, [defined, value])


def presence(tree: Tree, kind: str) -> tuple[Tree, Tree]:
    """Whether a variable is bound, and to what ("maybe"); whether there is a value beside None, and which
    ("optional")."""
    if is_none(tree) if kind == "optional" else tree is ABSENT:
        return Known(False), ABSENT
    return (tree.children[0], tree.children[1]) if tree.kind == kind else (Known(True), tree)


def _unify_present(first: Tree, second: Tree) -> Plan:
    """`unify` of values that a path may be without."""
    if first is ABSENT or second is ABSENT:
        return one_sided(second if first is ABSENT else first, second=first is ABSENT)
    return unify(first, second)


def is_slice(tree: Tree) -> bool:
    """Whether a value is a slice of a known step."""
    return tree.kind == "slice" or isinstance(tree, Known) and isinstance(tree.value, slice) \
        and not is_tensor(tree.value.step)


def as_slice(tree: Tree) -> Node:
    """A slice as a node; one that goes up says where it begins."""
    node = tree if isinstance(tree, Node) else slice_node(tree.object)
    (length, step), (start, *stop) = node.key, node.children
    step = 1 if step is None else step
    start = Known(0) if is_none(start) and step > 0 else start
    return Node("slice", (length, step), [start, *stop], node.original)


def _unify_slices(a: Tree, b: Tree, name: str) -> Plan:
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
    return _first_broken(children) or Branching(Node("slice", first.key, [], None), children)


def _span(tree: Tree) -> int | None:
    """From where to where a slice of known bounds goes that count from the front."""
    if not isinstance(tree, Known):
        return None
    start, stop = tree.value.start or 0, tree.value.stop
    return stop - start if type(start) is int and type(stop) is int and 0 <= start <= stop else None


def is_none(tree: Tree) -> bool:
    """Whether a value is None."""
    return tree.is_(None)


def is_optional(tree: Tree) -> bool:
    """Whether a value is None, or may be."""
    return is_none(tree) or tree.kind == "optional"


def _unify_optional(a: Tree, b: Tree, name: str) -> Plan:
    """None on one path, and perhaps a value on the other."""
    (first_defined, first), (second_defined, second) = presence(a, "optional"), presence(b, "optional")
    if not all(side is ABSENT or has_numbers(side) for side in (first, second)):
        return Broken(f"{_noun(a)} and {_noun(b)}")
    value = _unify_present(first, second)
    return value if isinstance(value, Broken) else \
        Branching(Node("optional", (), [], None), [unify(first_defined, second_defined), value])


def is_choosable(tree: Tree) -> bool:
    """Whether a value is an object that run-time values can choose by a number, or one that it has chosen."""
    if isinstance(tree, Node) and tree.kind == "alternative":
        return numbered.lasting(tree.key)
    if isinstance(tree, Node) and tree.original is None or isinstance(tree, Held):
        return False
    return (isinstance(tree, Known) or numbered.is_by_number(tree.object)) and numbered.is_choosable(tree.object)


def as_alternative(tree: Tree) -> Node:
    """The number of such a value, and the numbers that it may have."""
    if isinstance(tree, Node) and tree.kind == "alternative":
        return tree
    number = numbered.number_of(tree.object)
    return Node("alternative", (number,), [Known(number)], None)


def widened(node: Node, other: Node) -> Node:
    """`node`, which may be what `other` may be as well."""
    return Node("alternative", tuple(sorted({*node.key, *other.key})), node.children, None)


def _unify_alternatives(a: Tree, b: Tree, name: str) -> Plan:
    first, second = as_alternative(a), as_alternative(b)
    node = widened(first, second)
    if len(node.key) > numbered.most(node.key):
        return Broken(f"{_noun(a)} and {_noun(b)}")
    return Branching(node, [unify(first.children[0], second.children[0])])


def described(a: Tree, b: Tree) -> str | None:
    """The proxy of one of two texts that hold run-time values: it may be in the message of an exception."""
    texts = [side.value for side in (a, b) if isinstance(side, Known) and type(side.value) is str]
    if len(texts) < 2 or not any(TRACED_TEXT in text for text in texts) or texts[0] == texts[1]:
        return None
    return f"{TRACED_TEXT}{' or '.join(_NUMBERED.sub(lambda mark: mark[1], text) for text in texts)}>"


_NUMBERED = re.compile(f"{TRACED_TEXT}([^>]*?)(?: #[0-9]+)?>")


def has_numbers(tree: Tree) -> bool:
    """Whether some part of a value is a number or an array."""
    return any(_is_number(leaf) for leaf in tree.leaves())


def _is_number(leaf: Tree) -> bool:
    with contextlib.suppress(Mismatch):
        return kind_of(leaf) is not None
    return False


def one_sided(tree: Tree, second: bool) -> Plan:
    """A value that exists on one path only: on the other its run-time parts are zeros that nothing may read."""
    if isinstance(tree, Node):
        return Branching(tree, [one_sided(c, second) for c in tree.children])
    try:
        kind = kind_of(tree)
    except Mismatch as problem:
        return Broken(str(problem))
    if kind is None or isinstance(tree, Known):
        return Keep(tree.object)
    return Leaf(kind, *((None, tree) if second else (tree, None)))


def _same(a: Tree, b: Tree) -> bool:
    x, y, known = a.object, b.object, isinstance(a, Known) and isinstance(b, Known)
    if x is y and (x is not None or known):       # None: also of a tree that was made anew
        return True
    if isinstance(a, Held) and isinstance(b, Held):
        return x.storage is y.storage and x.steps == y.steps and x.kind == y.kind and x.kind == ARRAY
    if known and type(x) is type(y):
        if type(x) in NUMBERS or isinstance(x, np.generic):
            return repr(x) == repr(y)       # tells -0.0 from 0.0 and lets nan be nan
        if isinstance(x, SIMPLE) or x.__class__.__hash__ is not None and not isinstance(x, np.ndarray):
            return bool(x == y)
    return False


JOINS: tuple[tuple[Callable[[Any, Any], bool], Callable[[Any, Any, str], Plan]], ...] = (
    (lambda a, b: a is ABSENT or b is ABSENT or "maybe" in (a.kind, b.kind), _unify_maybe),
    (lambda a, b: is_choosable(a) and is_choosable(b), _unify_alternatives),
    (lambda a, b: is_optional(a) or is_optional(b), _unify_optional),
    (lambda a, b: "sized" in (a.kind, b.kind), _unify_sized),
    (lambda a, b: is_slice(a) and is_slice(b), _unify_slices),
    (lambda a, b: a.kind and b.kind and "rows" in (a.kind, b.kind), _unify_rows),
    (lambda a, b: a.kind and b.kind, _unify_nodes),
)
"""How two values become one, the first row that fits; then they are numbers, arrays or objects."""

NOUNS = {"list": "a list of {}", "tuple": "a tuple of {}", "dict": "a dict", "rows": "a list of run-time length",
         "slice": "a slice",
         "sized": SIZED, "following": SIZED, "alternative": "one of {} texts, functions or other objects"}


def _noun(tree: Tree) -> str:
    """A value in an error message."""
    with contextlib.suppress(Mismatch):
        if (kind := kind_of(tree)) is not None:
            return str(kind)
    if isinstance(tree, Node):
        many = len(tree.key) if tree.kind == "alternative" else len(tree.children)
        return NOUNS.get(tree.kind, f"an object of type {type(tree.original).__name__}").format(many)
    value = tree.object
    if getattr(type(value), "partial", False):
        return SIZED
    if is_jax_array(value):
        return "a jax.random.key (carry jax.random.key_data(key), and make the key of it where it is used)"
    return "None" if value is None else f"{value!r}" if isinstance(value, (str, int)) else \
        f"an object of type {type(value).__name__}"


def leaves_of(plan: Plan) -> Iterator[Leaf]:
    if isinstance(plan, Leaf):
        yield plan
    elif isinstance(plan, Branching):
        for child in plan.children:
            yield from leaves_of(child)


def assembled(plan: Plan, make: Callable[[Leaf], Any], found: dict[tuple[int, int], Any], copied: bool = False) -> Any:
    """The Python value of a plan, `make` giving its run-time parts. `found`: what stands for containers of the two
    paths that meet here, by their identities: what is one on both is one. copied: a copy of what a container holds,
    which is itself none of the program's."""
    if isinstance(plan, Keep):
        return plan.value
    if isinstance(plan, Leaf):
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

"""A signature as a function that compares a call with it, without building the call's own.

Most calls of a function are like the one before. Signing two arrays takes 1.5 us and comparing them with what they were
last time 0.3, where XLA needs 6 for all of a small program. A loop over the arguments would take 0.8: the comparison is
written out for each signature.

What a container holds is compared as a whole where C code can: types, names and static values as lists, and by one set
of identities that nothing is there twice. Of arrays that the program has not looked at nothing else is compared: 120 of
them in an object take 10 us, where signing takes 170.
"""
from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import jax
import numpy as np

from reactant.calling import signature as sig
from reactant.ir.laid_out import order_of
from reactant.runtime import meshes
from reactant.runtime.array import DeviceArray
from reactant.runtime.storage import Storage
from reactant.support.attributes import slots_of
from reactant.support.records import dataclass

Matcher = Callable[[tuple, dict], "list[Any] | None"]
"""The run-time leaves of a call, or None where it is of another signature."""

MOST_ALONE = 16
"""Arguments above which they are compared as those of a container are."""
FEW = 4
"""Arrays and containers up to which each is compared with each."""
_CONDITIONS = {
    "array": "{x}.shape == {x}_shape and {x}.dtype is {x}_dtype and {x}.flags.carray",
    "laid": "{x}.shape == {x}_shape and {x}.dtype is {x}_dtype and {x}.strides == {x}_strides and {x}.flags.behaved",
    "view": "{x}.shape == {x}_shape and {x}.dtype == {x}_dtype and ({x}.flags.c_contiguous if {x}_strides is None "
            "else {x}.strides == {x}_strides) and {x}.flags.writeable is {x}_writeable",
    "device": "(v := {x} if type({x}._held) is shared else {x}._held).shape == {x}_shape and v.dtype == {x}_dtype "
              "and ({x}._layout is None or {x}.apart is None)",
    "jax": "{x}.shape == {x}_shape and {x}.dtype == {x}_dtype",
}
_PLACES = {
    "device": "spread({x}.buffer)",
    "jax": "spread({x})",
}
_SINGLETONS = (type(None), type(Ellipsis), type(NotImplemented))
_TEMPLATE = """
def leaves(args, kwargs):
    if {given} or config.jax_default_device is not device or config.jax_enable_x64 is not x64:
        return None
    try:
        {checks}
        return [{found}]
    except Exception:
        return None
"""


def matcher(positional: tuple, keyword: tuple, device: Any, x64: bool, untouched: frozenset[int] | None = frozenset(),
            unloaded: Mapping[int, frozenset[str]] | None = None, needed: Set[int] = frozenset()) -> Matcher | None:
    """Compares calls with a signature; None where only signing tells.

    positional, keyword: the nodes of `signature.Flattener`; device: jax's default device. x64: whether jax's 64 bits
    are on. untouched: numbers of leaves that may be any array; None: nothing is known of what the program depends on.
    unloaded: names of attributes that may be anything, by the number of their object, but for those with leaves in
    `needed`. A call that matches is one of the same signature, but for those; leaves of such attributes are None.
    """
    if untouched is None:
        return None
    nodes = [*positional, *(node for _, node in keyword)]
    writer = Writer(untouched, left_out(nodes, unloaded, untouched, needed) if unloaded else {})
    writer.known |= {"config": jax.config, "device": device, "x64": x64}
    try:
        given = writer.compare(positional, keyword)
    except OnlySigned:
        return None
    made: Matcher = writer.function(_TEMPLATE.format(
        given=given, checks="\n        ".join(writer.checks) or "pass", found=writer.found()), "leaves")
    return made


class OnlySigned(Exception):
    """There is a part that has to be signed."""


class Writer:
    """Writes the comparison down: conditions in the order in which they may be asked, and what the leaves are.

    other: what the function returns for a call of another signature. by_xla: numbers of leaves of which the call of an
    executable compares shapes, dtypes and places in C++, and that they are arrays; with any, tracers are other calls,
    and other numbers of arguments may be an exception.
    """

    def __init__(self, untouched: frozenset[int], left_out: Mapping[int, Set[str]], other: str = "None",
                 by_xla: Set[int] = frozenset()):
        self.untouched, self.left_out, self.other, self.by_xla = untouched, left_out, other, by_xla
        self.known: dict[str, Any] = {"shared": Storage}
        self.checks: list[str] = []
        self.leaves: list[tuple[str, int | None]] = []      # a name, or a place in the list of that name
        self.seen: list[str] = []           # arrays and containers, as the flattener numbers them
        self.apart: list[str] = []          # expressions of their identities
        self.alone: list[str] = []          # those of them that are variables
        self.lengths: dict[str, int] = {}   # of those lists
        self.count = 0

    def compare(self, positional: tuple, keyword: tuple) -> str:
        """Write all conditions; the one of how many arguments there are is returned, as what other calls have."""
        names = [name for name, _ in keyword]
        self.known["names"] = set(names)
        nodes = [*positional, *(node for _, node in keyword)]
        given = f"len(args) != {len(positional)} or " * (not self.by_xla or not 0 < len(positional) <= MOST_ALONE) \
            + ("kwargs.keys() != names" if keyword else "kwargs")
        if len(nodes) > MOST_ALONE:
            self.children(nodes, f"[*args, {', '.join(f'kwargs[{name!r}]' for name in names)}]")
        else:
            arguments = [f"x{i}" for i in range(len(nodes))]
            if positional:
                self.checks.append(f"{', '.join(arguments[:len(positional)])}, = args")
            rest = zip(arguments[len(positional):], names, strict=True)
            self.checks += [f"{x} = kwargs[{name!r}]" for x, name in rest]
            for x, node in zip(arguments, nodes, strict=True):
                self.require(self.type_condition(x, node))
                if _is_static(node) and (type(node.value) not in _SINGLETONS):
                    self.require(f"({x},) == ({self.named(node.value)},)")
                self.part(x, node, (x, None))
        self.require_apart()
        return given

    def function(self, text: str, name: str) -> Any:
        """The function of this name that a text defines."""
        exec(text, self.known)
        return self.known.pop(name)     # its globals hold it no longer: no cycle

    def named(self, value: Any) -> str:
        self.count += 1
        self.known[f"k{self.count}"] = value
        return f"k{self.count}"

    def require(self, condition: str) -> None:
        if condition == "True":
            return
        self.checks.append(f"if not ({condition}): return {self.other}")

    # -- values

    def type_condition(self, x: str, node: Any) -> str:
        if not _is_static(node) and node[0] == "device":
            if len(self.leaves) in self.by_xla:
                return "True"
            if not self.by_xla and not node[3]:
                return f"isinstance({x}, {self.named(jax.Array)})"      # what jax traces as well
        return "True" if (kind := self.type_of(node)) is None else f"type({x}) is {self.named(kind)}"

    def type_of(self, node: Any) -> type | None:
        """What type the value of a node has; None for one that has been there before."""
        if _is_static(node):
            if isinstance(node.value, np.void):
                raise OnlySigned
            return type(node.value)
        kind = node[0]
        if kind == "same":
            return None
        if kind in ("list", "dict", "namedtuple", "object", "refused", "python", "scalar", "array", "device", "tuple",
                    "pytree"):
            return {"list": lambda: node[2] if len(node) == 3 else list, "tuple": lambda: tuple,
                    "dict": lambda: node[1], "namedtuple": lambda: node[1], "object": lambda: node[1],
                    "refused": lambda: node[2], "python": lambda: node[1], "array": lambda: np.ndarray,
                    "scalar": lambda: _scalar_type(node[1]), "device": lambda: DeviceArray if node[3] else _jax_type(),
                    "pytree": lambda: _pytree_type(node[1])}[kind]()
        raise OnlySigned

    def part(self, x: str, node: Any, place: tuple[str, int | None]) -> None:
        """What has to hold for a value of the right type, that is no static one."""
        if _is_static(node) or node[0] == "refused":
            return
        if node[0] == "same":
            self.require(f"{x} is {self.seen[node[1]]}")
        elif node[0] in ("python", "scalar"):
            self.leaves.append(place)
        elif node[0] in ("array", "device"):
            self.note(x, place)
            self.leaves.append(place)
            if len(self.leaves) - 1 not in self.untouched:
                self.array(x, node)
        else:
            self.note(x, place)
            self.container(x, node)

    def note(self, x: str, place: tuple[str, int | None]) -> None:
        self.seen.append(x)
        self.alone.append(x)
        if place[1] is None:
            self.apart.append(f"id({x})")

    def array(self, x: str, node: tuple) -> None:
        given = node[2]
        if len(self.leaves) - 1 in self.by_xla:
            return
        if node[0] == "device":
            kind = "device" if node[3] else "jax"
            if node[4] is not None:
                raise OnlySigned
        else:
            kind = "array" if is_plain(node) else "laid" if is_laid(node) else "view"
        name = self.variable(x)
        self.known |= {f"{name}_shape": node[1], f"{name}_dtype": given}
        if kind in ("view", "laid"):
            self.known |= {f"{name}_strides": node[3], f"{name}_writeable": node[4]}
        if node[0] == "device" and len(node) == 6:
            self.known |= {f"{name}_place": node[5], "spread": meshes.spread, "canonical": meshes.canonical}
            self.require(f"{name}.shape == {name}_shape and {name}.dtype == {name}_dtype and "
                         f"((p := {_PLACES[kind].format(x=name)}) is {name}_place or p is not None and "
                         f"canonical(p, {len(node[1])}) == {name}_place)")
            if kind == "device":
                self.require(f"{name}._layout is None or {name}.apart is None")
            return
        self.require(_CONDITIONS[kind].format(x=name))
        if node[0] == "device" and jax.device_count() > 1:
            self.known["spread"] = meshes.spread
            self.require(f"{_PLACES[kind].format(x=name)} is None")

    def variable(self, x: str) -> str:
        """A variable that holds what an expression gives."""
        if x.isidentifier():
            return x
        self.count += 1
        self.checks.append(f"a{self.count} = {x}")
        return f"a{self.count}"

    # -- containers

    def container(self, x: str, node: tuple) -> None:
        x, kind = self.variable(x), node[0]
        if kind in ("list", "tuple"):
            if len(node) == 3:
                self.require(f"not getattr({x}, '__dict__', None)")
            self.children(node[1], f"[*{x}]" if kind == "list" else x)
        elif kind == "dict":
            self.dictionary(x, node)
        elif kind == "namedtuple":
            names = self.named(list(node[2]))
            if node[2] or hasattr(node[1], "__dict__"):
                self.require(f"[*getattr({x}, '__dict__', ())] == {names}")
            self.children(node[3], f"[*{x}, *{x}.__dict__.values()]" if node[2] else x)
        elif kind == "object":
            self.object(x, node)
        else:
            self.known["flatten"] = jax.tree_util.default_registry.flatten      # without Python in between
            values = self.new_list(f"flatten({x})")
            self.require(f"{values}[1] == {self.named(node[1])}")
            self.children(node[2], f"{values}[0]")

    def dictionary(self, x: str, node: tuple) -> None:
        _, cls, keys, nodes, missing, own = node
        self.require(f"[*{x}] == {self.named([key.value for key in keys])} and "
                     f"[*map(type, {x})] == {self.named([type(key.value) for key in keys])}")
        if own or cls is not dict:
            self.require(f"getattr({x}, '__dict__', None) is {x}" if own else f"not getattr({x}, '__dict__', None)")
        if missing is not None:
            self.require(f"{x}.default_factory is {self.named(missing.value)}")
        self.children(nodes, f"[*{x}.values()]")

    def object(self, x: str, node: tuple) -> None:
        _, cls, names, nodes = node
        slots = list(dict.fromkeys(slots_of(cls)))
        held = [name for name in names if name not in slots]
        here = [name for name in names if name in slots]
        if here != [name for name in slots if name in here] or list(names) != held + here:
            raise OnlySigned       # a name that is both
        for name in slots:
            if name not in here:
                self.require(f"not hasattr({x}, {name!r})")
        parts = [f"getattr({x}, {name!r})" for name in here]
        out = self.left_out.get(len(self.seen) - 1, frozenset())
        if cls.__dictoffset__:
            d = self.new_list(f"{x}.__dict__")
            self.require(f"[*{d}] == {self.named(held)}")
            parts[:0] = [f"{d}[{name!r}]" for name in held if name not in out] if out else [f"*{d}.values()"]
        self.children(nodes, f"[{', '.join(parts)}]", {i for i, name in enumerate(names) if name in out})

    def new_list(self, expression: str) -> str:
        self.count += 1
        self.checks.append(f"v{self.count} = {expression}")
        return f"v{self.count}"

    def children(self, nodes: Any, values: str, out: Set[int] = frozenset()) -> None:
        """All values of a container; `values` is without those that nothing is asked of."""
        v, everything = self.new_list(values), list(nodes)
        nodes = [node for i, node in enumerate(everything) if i not in out]
        self.types(v, nodes)
        static = [i for i, node in enumerate(nodes) if _is_static(node) and type(node.value) not in _SINGLETONS]
        if static:
            self.require(f"(*{self.chosen(v, static, len(nodes))},) == "
                         f"{self.named(tuple(nodes[i].value for i in static))}")
        numbered = [i for i, node in enumerate(nodes) if not _is_static(node)
                    and node[0] not in ("same", "refused", "python", "scalar")]
        if numbered:
            self.apart.append(f"*map(id, {self.chosen(v, numbered, len(nodes))})")
        places = iter(range(len(nodes)))
        for i, node in enumerate(everything):
            if i in out:
                numbers, leaves = _counts(node)
                self.seen += numbers * [""]
                self.leaves += leaves * [("None", None)]
            else:
                place = next(places)
                self.part(f"{v}[{place}]", node, (v, place))

    def types(self, v: str, nodes: list[Any]) -> None:
        kinds = [self.type_of(node) for node in nodes]
        numbers = itertools.accumulate((_counts(node)[1] for node in nodes), initial=len(self.leaves))
        told = [i for i, (node, kind, number) in enumerate(zip(nodes, kinds, numbers, strict=False))
                if kind is not None and not (number in self.by_xla and node[0] == "device")]
        self.require(f"len({v}) == {len(nodes)}")
        self.lengths[v] = len(nodes)
        if told:
            self.known["kind"] = type
            self.require(f"(*map(kind, {self.chosen(v, told, len(nodes))}),) == "
                         f"{self.named(tuple(kinds[i] for i in told))}")

    def chosen(self, v: str, places: list[int], count: int) -> str:
        """An expression of a sequence: the values at these places."""
        if len(places) == count:
            return v if places else "()"
        if len(places) <= FEW:
            return "(" + "".join(f"{v}[{i}], " for i in places) + ")"
        return f"{self.named(operator.itemgetter(*places))}({v})"

    # -- the whole

    def require_apart(self) -> None:
        """No array and no container twice, but where it was."""
        if len(self.alone) > FEW or any("[" in x for x in self.alone):
            if len(self.alone) > 1:
                self.require(f"len({{{', '.join(self.apart)}}}) == {len(self.alone)}")
            return
        for i, x in enumerate(self.alone):
            for other in self.alone[:i]:
                self.require(f"{x} is not {other}")

    def found(self) -> str:
        """The leaves; those side by side in a container as slices."""
        runs: list[list[tuple[str, int | None]]] = []
        for leaf in self.leaves:
            last = runs[-1][-1] if runs else ("", None)
            if leaf[1] is not None and last[0] == leaf[0] and last[1] is not None and last[1] + 1 == leaf[1] \
                    or leaf == last == ("None", None):
                runs[-1].append(leaf)
            else:
                runs.append([leaf])
        return ", ".join(_slice(run[0][0], run[0][1], len(run), self.lengths.get(run[0][0])) for run in runs)


def left_out(nodes: Sequence[Any], unloaded: Mapping[int, frozenset[str]], untouched: Set[int], needed: Set[int]
             ) -> dict[int, set[str]]:
    """The attributes of `unloaded` that a call need not look at, by the number of their object: no leaf of theirs is
    needed or an array that was touched, and nothing that is looked at is the same as what is in them."""
    spans: list[_Span] = []
    same: list[tuple[int, int]] = []        # where something is that which has a number
    out = {number: set(names) for number, names in unloaded.items()}
    at = numbered = leaves = 0
    touched = set(needed)

    def look(node: Any) -> None:
        nonlocal at, numbered, leaves
        own, at = numbered, at + 1
        if not _is_static(node) and node[0] == "same":
            same.append((at, node[1]))
        if not _is_static(node) and node[0] in ("array", "device") and leaves not in untouched:
            touched.add(leaves)
        numbered, leaves = numbered + _is_numbered(node), leaves + _is_leaf(node)
        for i, child in enumerate(_inside(node)):
            before = at + 1, numbered, leaves
            look(child)
            if node[0] == "object" and (name := node[2][i]) in out.get(own, ()):
                if touched.isdisjoint(range(before[2], leaves)) and not _is_signed(child):
                    spans.append(_Span(range(before[0], at + 1), range(before[1], numbered), own, name))
                else:
                    out[own].discard(name)

    for node in nodes:
        look(node)
    while wanted := [span for span in spans if span.name in out[span.object] and any(
            number in span.numbers and not any(place in other.places and other.name in out[other.object]
                                               for other in spans) for place, number in same)]:
        for span in wanted:
            out[span.object].discard(span.name)
    return {number: names for number, names in out.items() if names}


@dataclass(frozen=True)
class _Span:
    """What is in an attribute, by its places among all nodes and by its numbers; its object and its name."""

    places: range
    numbers: range
    object: int
    name: str


_INSIDE = {"list": 1, "tuple": 1, "dict": 3, "namedtuple": 3, "object": 3, "pytree": 2, "view": 3}


def _inside(node: Any) -> tuple:
    """The nodes in a container."""
    return () if _is_static(node) or node[0] not in _INSIDE else tuple(node[_INSIDE[node[0]]])


def _is_numbered(node: Any) -> bool:
    return not _is_static(node) and node[0] in ("array", "device", *_INSIDE)


def _is_leaf(node: Any) -> bool:
    return not _is_static(node) and node[0] in ("array", "device", "scalar", "python")


def _is_signed(node: Any) -> bool:
    """Whether only signing tells of something in it."""
    return not _is_static(node) and node[0] in ("keys", "records") or any(map(_is_signed, _inside(node)))


def _counts(node: Any) -> tuple[int, int]:
    """How many numbers and leaves a node takes."""
    inside = [_counts(child) for child in _inside(node)]
    return (_is_numbered(node) + sum(numbered for numbered, _ in inside),
            _is_leaf(node) + sum(leaves for _, leaves in inside))


def is_plain(node: tuple) -> bool:
    """Whether a leaf is an array that matching calls have in C order, aligned and writable, of native numbers."""
    return node[0] == "array" and node[3] is None and _is_usual(node)


def is_laid(node: tuple) -> bool:
    """Whether a leaf is such an array without gaps, with its dimensions in another order in memory."""
    return node[0] == "array" and node[3] is not None and _is_usual(node) and not any(
        stride % node[2].itemsize for stride in node[3]) and order_of(
            node[1], tuple(stride // node[2].itemsize for stride in node[3])) is not None


def _is_usual(node: tuple) -> bool:
    return bool(node[4] and node[2].isnative and node[2].isbuiltin == 1)


def _slice(name: str, first: int | None, count: int, length: int | None) -> str:
    if first is None:
        return name if count == 1 else f"*[{name}] * {count}"
    if first == 0 and count == length:
        return f"*{name}"
    return f"{name}[{first}]" if count == 1 else f"*{name}[{first}:{first + count}]"


def _is_static(node: Any) -> bool:
    return isinstance(node, sig.Static)


def _scalar_type(dtype: np.dtype) -> type:
    """The type of NumPy's numbers of a dtype, where it says all about the dtype."""
    if dtype.kind not in "biufc":
        raise OnlySigned
    return dtype.type


def _pytree_type(tree: Any) -> type:
    data = tree.node_data()
    if data is None or not isinstance(data[0], type):
        raise OnlySigned
    return data[0]


@functools.cache
def _jax_type() -> type:
    """Of arrays that JAX is not tracing."""
    return type(jax.numpy.zeros(()))

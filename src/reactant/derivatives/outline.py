"""A Python function traced as a private function of the module under construction, for a request to name.

The leaves of the chosen arguments are its arguments; every traced value from outside that it uses is another one, so
closures over traced values work. Containers and arrays are copies: what the function writes into its arguments stays
inside and is an output (`written`), while arrays, lists, dicts and objects from outside change as in any other call.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from types import FunctionType
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant.calling import signature as sig
from reactant.calling.jitted import Jitted
from reactant.derivatives.left_behind import Arguments, LeftBehind
from reactant.differentiate import requests
from reactant.differentiate.activity import block_ops
from reactant.differentiate.requests import Request
from reactant.errors import ReactantError, UnsupportedError
from reactant.frontends.arrays.promotion import PYTHON_DTYPES
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import has_dynamic_steps, made_in
from reactant.frontends.arrays.tensor import ARRAY, PYTHON, SCALAR, Tensor, is_tensor
from reactant.frontends.control import branches
from reactant.frontends.control.branch import Branch
from reactant.frontends.control.joins import Keep, unify
from reactant.frontends.control.mutation_log import Change
from reactant.frontends.control.snapshots import Variables
from reactant.frontends.control.trees import Tree
from reactant.frontends.jax.jax_in_numpy import call_in_trace
from reactant.frontends.session import calls
from reactant.frontends.session.trace import Failure, current_trace
from reactant.frontends.source import source_map
from reactant.frontends.source.jax_recognition import is_jax_function
from reactant.frontends.values.optional import MaybeNone
from reactant.frontends.values.tagged_union import Alternative
from reactant.ir import modules, ops
from reactant.ir.types import dtype_of, shape_and_dtype, shape_of
from reactant.support.records import dataclass
from reactant.support.session import SESSION


@dataclass(frozen=True)
class Slot:
    """A leaf that is result `index` of the outlined function."""

    index: int
    kind: str


@dataclass
class Outlined:
    """A private function and how to call it. `active`: the leaves of the chosen arguments, its first operands."""

    name: str
    callee: str
    operands: list[ir.Value]
    active: list[Tensor]
    result: Any
    written: list[Slot]
    types: list[ir.Type]
    storages: list[tuple[Storage, int]] = field(default_factory=list)
    checks: list[tuple[int, Failure]] = field(default_factory=list)
    left: LeftBehind | None = None
    aux: Any = None

    def part_aux(self) -> None:
        """The function returns (value, aux): `result` is the value from here on."""
        if not (isinstance(self.result, tuple) and len(self.result) == 2):
            raise TypeError(f"has_aux=True needs a function that returns (value, aux); '{self.name}' does not.")
        self.result, self.aux = self.result

    def outputs(self) -> Any:
        """The tree of everything the function gives: its result, and with writes (result, final contents)."""
        return (self.result, tuple(self.written)) if self.written else self.result

    def varying(self, tree: Any) -> list[int]:
        """The results that the float leaves of a tree are, each once."""
        found: dict[int, None] = {}
        for leaf in leaves_of(tree):
            if type(leaf) is Slot and dtype_of_type(self.types[leaf.index]).kind in "fcV":
                found[leaf.index] = None
        return list(found)

    def request(self, mode: str, results: Sequence[int], extra: Sequence[ir.Value] = (), *, ones: bool = False,
                loops: str = "", link: int = -1, count: int = 0) -> tuple[list[ir.Value], list[ir.Value]]:
        """(results, tangents or cotangents; with `count`, of so many directions at once)."""
        with source_map.location():
            request = Request(mode, tuple(range(len(self.active))), tuple(results), ones, loops, link, count)
            made = requests.emit(request, self.callee, self.operands, extra, self.types)
        return made[:len(self.types)], made[len(self.types):]

    def take_effect(self, results: Sequence[ir.Value]) -> None:
        """Write the arrays from outside that the function wrote, change the lists, dicts and objects that it changed,
        and carry on its run-time checks."""
        trace = current_trace()
        for storage, index in self.storages:
            storage.write(results[index])
        if self.left is not None:
            self.left.again(list(results))
        for index, error in self.checks:
            trace.checks.append((results[index], error, trace.region))

    def call(self, target: Callable[..., list[ir.Value]], *before: Any) -> Any:
        """The function's result by an op that calls it, such as `requests.checkpointed`."""
        with source_map.location():
            results = target(*before, self.callee, self.operands, self.types) if self.operands else \
                ops.call(self.callee, (), self.types)       # of constants: nobody asks for its derivative
        self.take_effect(results)
        return filled(self.result, results)


def dtype_of_type(kind: ir.Type) -> np.dtype:
    return shape_and_dtype(kind)[1]


def filled(tree: Any, values: Sequence[ir.Value | None]) -> Any:
    """A tree of slots with traced arrays in them."""
    return sig.map_tree(tree, lambda leaf: Tensor.of_value(values[leaf.index], leaf.kind)
                        if type(leaf) is Slot else leaf)


def leaves_of(tree: Any, like: Any = None) -> list[Any]:
    """The leaves of a tree, in the order of `like` where that is given."""
    found: list[Any] = []
    sig.map_tree(tree if like is None else _arranged(tree, like), found.append)
    return found


def _arranged(tree: Any, like: Any) -> Any:
    """A tree with its dictionaries in the order of another's: keys say what belongs together, not which came first.
    None stands for a whole tree of them."""
    if tree is None:
        return sig.map_tree(like, lambda leaf: None)
    if sig.is_plain_object(tree) and sig.is_plain_object(like):
        tree, like = sig.attributes(tree), sig.attributes(like)
    if isinstance(like, dict):
        if not isinstance(tree, dict) or tree.keys() != like.keys():
            given = f"dictionary with the keys {list(tree)}" if isinstance(tree, dict) else type(tree).__name__
            raise ReactantError(f"A {given} is given for a dictionary with the keys {list(like)}.",
                                hint="Tangents and cotangents have the structure and shapes of what they belong to.",
                                code="tangents-do-not-fit")
        return {key: _arranged(tree[key], like[key]) for key in like}
    if isinstance(tree, (list, tuple)) and isinstance(like, (list, tuple)) and len(tree) == len(like):
        return [_arranged(t, x) for t, x in zip(tree, like, strict=True)]
    return tree


def as_tensor(leaf: Any) -> Tensor | None:
    """An array or float leaf as a traced array; None for what is none."""
    if is_tensor(leaf):
        return leaf
    if isinstance(leaf, np.ndarray):
        return Tensor.of_array(leaf)
    if isinstance(leaf, np.generic):
        return Tensor.of_value(ops.constant(leaf), SCALAR)
    if type(leaf) in (float, complex):
        return Tensor.of_value(ops.constant(leaf, PYTHON_DTYPES[type(leaf)]), PYTHON)
    return None


def outline(function: Any, args: tuple, kwargs: dict, chosen: Sequence[Any], *, every: bool = False,
            shared: bool = False) -> Outlined:
    """Trace `function(*args, **kwargs)`. `chosen`: positions or names of the arguments whose float leaves are active
    (with `every`, leaves of all dtypes). shared: the function gets the arguments themselves, not copies."""
    return _Outlining(function, args, kwargs, chosen, every, shared).run()


class _Outlining:
    def __init__(self, function: Any, args: tuple, kwargs: dict, chosen: Sequence[Any], every: bool, shared: bool):
        self.function, self.args, self.kwargs, self.chosen = function, args, kwargs, list(chosen)
        self.every, self.shared = every, shared
        self.name = getattr(function, "__name__", type(function).__name__)
        self.values: list[ir.Value] = []          # what the function returns
        self.storages: list[tuple[Storage, ir.Value]] = []      # the memory of its array arguments, in order
        self.containers: list[Any] = []
        self.seen: dict[int, Tensor] = {}
        self.copies: dict[int, list[Storage]] = {}              # by the caller's memory: what the function has of it
        self.originals: dict[Storage, Any] = {}                 # the caller's array, by the memory of its copy
        self.returned: Any = None
        self.result: Any = None
        self.written: list[Slot] = []

    def run(self) -> Outlined:
        trace = current_trace()
        self.active = [tensor for n in self.chosen
                       for leaf in leaves_of(self.args[n] if isinstance(n, int) else self.kwargs[n])
                       if self.active_leaf(leaf) and (tensor := as_tensor(leaf)) is not None]
        outer = [t.value() for t in self.active]
        scratch = branches.scratch_blocks(1)
        SESSION.differentiating += 1
        links = list(trace.identities)
        try:
            block = scratch.regions[0].blocks.append(*(v.type for v in outer))
            branch = branches.run(block, self.body(list(block.arguments)), Variables((), (), ()), {})
            if branch.raised:
                raise UnsupportedError(f"'{self.name}' always raises.",
                                       hint="Test the function without a derivative first.",
                                       code="exception-at-run-time")
            trace.identities[:] = links             # what may be which inside is nobody's any more
            left = self.left_behind(branch)
            storages = []
            for written, value in branch.written.items():
                before = written.value      # None: nothing has read it yet. Loops carry what they may take
                if branch.preexisting(written) and (before is None or origin(value) != before):
                    storages.append((written, self.add(value)))
            checks = [(self.add(ok), Failure(error)) for ok, error in branch.checks]
            with ir.InsertionPoint(block):
                ops.create("stablehlo.return", [], self.values)
            callee, operands = _as_function(trace.module, scratch, block, outer, self.name)
            types = [v.type for v in self.values]
        finally:
            SESSION.differentiating -= 1
            scratch.erase()
        return Outlined(self.name, callee, operands, self.active, self.result, self.written, types, storages, checks,
                        left)

    def add(self, value: ir.Value) -> int:
        self.values.append(value)
        return len(self.values) - 1

    # -- arguments

    def active_leaf(self, leaf: Any) -> bool:
        return as_floating(leaf) or self.every and (is_tensor(leaf) or isinstance(leaf, (np.ndarray, np.generic)))

    def body(self, arguments: list[ir.Value]) -> Callable[[], None]:
        def run() -> None:
            left = iter(zip(self.active, arguments, strict=True))
            ready = {n: self.copied(self.args[n] if isinstance(n, int) else self.kwargs[n], left) for n in self.chosen}
            args = tuple(ready[i] if i in ready else self.copied(a, None) for i, a in enumerate(self.args))
            kwargs = {n: ready[n] if n in ready else self.copied(a, None) for n, a in self.kwargs.items()}
            with calls.holding(args, kwargs):       # what is written into them is an output
                self.returned = result = call_of(self.function)(*args, **kwargs)
            self.result = sig.map_tree(result, self.leaf)
            for storage, before in self.storages:
                if origin(storage.read()) != before:    # the version moves on where a branch has put it back, too
                    self.refuse_shared(storage)
                    self.note_written(storage)
                    self.written.append(Slot(self.add(storage.read()), ARRAY))
        return run

    def copied(self, tree: Any, left: Any) -> Any:
        """An argument for the function: containers anew, arrays with memory of their own."""
        if self.shared:
            return tree

        def leaf(x: Any) -> Any:
            if left is not None and self.active_leaf(x):
                outer, value = next(left)
                return self.noted(x, self.own(outer, value))
            if is_tensor(x) and x.kind == ARRAY and (not x.is_concrete() or id(x.storage) in self.copies):
                if id(x) not in self.seen:
                    self.seen[id(x)] = self.noted(x, self.own(x, x.value()))
                return self.seen[id(x)]
            if is_tensor(x) and x.is_concrete():
                return self.noted(x, Tensor.of_array(x.numpy().copy())) if x.kind == ARRAY else x
            if isinstance(x, np.ndarray) and not is_tensor(x):
                same = as_tensor(x) if id(x) in self.copies else None
                return x.copy() if same is None else self.noted(x, self.own(same, same.value()))
            return x

        made = sig.map_tree(tree, leaf)
        self.note_containers(made)
        return made

    def own(self, outer: Tensor, value: ir.Value) -> Tensor:
        storage = Storage(shape_of(value), dtype_of(value), value=value)
        if outer.kind == ARRAY:
            self.storages.append((storage, value))
            self.originals[storage] = outer
        return Tensor(storage, kind=outer.kind, strides=outer.strides_ if outer.kind == ARRAY else None,
                      writeable=outer.writeable)

    def noted(self, outer: Any, made: Tensor) -> Tensor:
        """The same, with a note of whose memory it is a copy of."""
        if isinstance(outer, np.ndarray) or is_tensor(outer) and outer.kind == ARRAY:
            memory = outer.storage if is_tensor(outer) else outer
            self.copies.setdefault(id(memory), []).append(made.storage)
        return made

    def refuse_shared(self, written: Storage) -> None:
        """Raises where other arguments are the same memory: as copies they do not see what is written."""
        if any(written in copies and len(copies) > 1 for copies in self.copies.values()):
            raise UnsupportedError(f"'{self.name}' writes into an array that is also another of its arguments (or a "
                                   "part of one), so there is no derivative in each of them.", hint="Pass a copy.",
                                   code="overlapping-arguments")

    def note_written(self, written: Storage) -> None:
        """Other arguments of the caller must not overlap in memory with what this is a copy of."""
        trace = current_trace()
        trace.written_copies.update(storage.argument for storage in trace.arguments if storage.argument is not None
                                    and written in self.copies.get(id(storage), ()))

    def note_containers(self, tree: Any) -> None:
        if isinstance(tree, (list, dict)) or sig.is_plain_object(tree) and not isinstance(tree, tuple):
            self.containers.append(tree)
        if isinstance(tree, (list, tuple)):
            children: Any = tree
        elif isinstance(tree, dict):
            children = tree.values()
        else:
            children = sig.attributes(tree).values() if sig.is_plain_object(tree) else ()
        for child in children:
            if not is_tensor(child):
                self.note_containers(child)

    def left_behind(self, branch: Branch) -> LeftBehind | None:
        """What the function leaves in lists, dicts, objects and variables from outside."""
        inside = {id(c) for c in self.containers}
        gone = branches.dropped(branch) - inside
        changes: list[tuple[Change, Tree]] = []
        for change, after in branch.objects:
            if id(change.container) in gone:        # it was made by the function
                continue
            if id(change.container) in inside:
                raise UnsupportedError(f"'{self.name}' changes lists, dicts or objects among its arguments, and its "
                                       "derivative is being taken.",
                                       hint="Return what it makes instead, or take the derivative by other arguments, "
                                            "with this object from outside.", code="changes-under-transformation")
            if type(unify(branches.contents_tree(change.before), after)) is not Keep:
                changes.append((change, after))
        given = Arguments(self.originals, frozenset(inside), self.returned)
        return LeftBehind(self.name, branch, changes, self.add, given) if changes else None

    # -- results

    def is_the_callers(self, leaf: Tensor) -> bool:
        """Whether a result is an array of the caller's, or a view of one, and what is written into it is seen there."""
        return self.shared and leaf.kind == ARRAY and not made_in(leaf.storage, current_trace().region) \
            and not has_dynamic_steps(leaf)

    def leaf(self, leaf: Any) -> Any:
        if getattr(type(leaf), "partial", False):
            raise UnsupportedError(f"'{self.name}' returns an array whose size depends on run-time values, and a "
                                   "derivative is being taken.",
                                   hint="Return it at full size, e.g. np.where(mask, x, 0).",
                                   code="result-of-run-time-size")
        if type(leaf) is MaybeNone:
            return sig.map_tree(leaf.ag__known(lambda: TypeError(
                f"'{self.name}' returned None, and a derivative or batch is made of it")), self.leaf)
        if type(leaf) is Alternative:
            raise UnsupportedError(f"'{self.name}' returns one of several texts or other objects, and a derivative "
                                   "or batch is made of it.", hint="Return a number that says which.",
                                   code="unsupported-result")
        if not is_tensor(leaf) or self.is_the_callers(leaf):
            return leaf
        return Slot(self.add(leaf.value()), leaf.kind)


def origin(value: ir.Value) -> ir.Value:
    """What a value is a copy of: through loops that carry it unchanged, and choices between it and itself."""
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        number = list(op.results).index(value)
        if op.name == "stablehlo.while":
            body = op.regions[1].blocks[0]
            if origin(block_ops(body)[1][number]) != body.arguments[number]:
                return value
            value = op.operands[number]
        elif op.name in ("stablehlo.if", "stablehlo.case", "stablehlo.select"):
            sides = list(op.operands)[1:] if op.name == "stablehlo.select" else \
                [block_ops(region.blocks[0])[1][number] for region in op.regions]
            found = {origin(side) for side in sides}
            if len(found) > 1:
                return value
            value = found.pop()
        else:
            return value
    return value


def as_floating(x: Any) -> bool:
    """Whether a leaf is a number or array that can vary."""
    if type(x) in (float, complex):
        return True
    dtype = getattr(x, "dtype", None)
    return dtype is not None and (np.dtype(dtype).kind in "fc" or np.dtype(dtype).name == "bfloat16")


def call_of(function: Any) -> Callable:
    """How a function that the user named is called inside a trace."""
    if isinstance(function, Jitted):
        jax_function = getattr(function, "jitted", None)
        if jax_function is None:
            return lambda *a, **k: calls.enter(function.function, *a, **k)
        return lambda *a, **k: calls.call(jax_function, *a, **k)
    if isinstance(function, FunctionType) and is_jax_function(function):    # by what it calls, maybe, as for `jit`
        return lambda *a, **k: call_in_trace(function, a, k)
    return lambda *a, **k: calls.call(function, *a, **k)


def _as_function(module: ir.Module, scratch: ir.Operation, block: ir.Block, arguments: list[ir.Value],
                 name: str) -> tuple[str, list[ir.Value]]:
    """A private function with the content of `block`, and its operands: `arguments`, then what it captures."""
    outside = modules.captured(scratch)
    constants = [v for v in outside if ops.constant_value(v) is not None]
    others = [v for v in outside if ops.constant_value(v) is None]

    def build(inner: Sequence[ir.Value]) -> list[ir.Value]:
        mapping = dict(zip([*block.arguments, *others], inner, strict=True))
        for value in constants:
            modules.clone_with(value.owner, mapping)
        body, returned = block_ops(block)
        for op in body:
            modules.clone_with(op, mapping)
        return [mapping[v] for v in returned]

    operands = [*arguments, *others]
    safe = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
    return requests.private_function(module, [v.type for v in operands], build, safe), operands


__all__ = ["Outlined", "Slot", "as_floating", "as_tensor", "filled", "leaves_of", "outline"]

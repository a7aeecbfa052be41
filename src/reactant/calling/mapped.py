"""One call of a mapped function in a trace: the operations for one element, at the place of the call those for all.

The function is traced once, on one element of each mapped argument; `batching` turns the operations it built into those
for all elements.
"""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from reactant import pipelines
from reactant.batching.analysis import Spread
from reactant.batching.declare import repeated
from reactant.batching.engine import Batcher, batched_module, moved, new_function
from reactant.calling import signature as sig
from reactant.calling.mapping import Axes, Mapping
from reactant.differentiate import requests
from reactant.errors import UnsupportedError
from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.tensor import ARRAY, SCALAR, Tensor, is_tensor
from reactant.frontends.control.branches import scratch_blocks
from reactant.frontends.session.calls import call, holding
from reactant.frontends.session.trace import Failure, current_trace
from reactant.frontends.source.source_map import location
from reactant.frontends.values.optional import MaybeNone
from reactant.frontends.values.tagged_union import Alternative
from reactant.ir import modules, ops, splice
from reactant.ir.types import shape_of, tensor_type
from reactant.rewrite import captures
from reactant.support.records import dataclass
from reactant.support.session import quietly, suspended


def call_mapped(mapping: Mapping, args: tuple, kwargs: dict) -> Any:
    """The mapped function, in a trace."""
    axes = mapping.in_axes
    if isinstance(axes, (tuple, list)):
        if len(axes) != len(args):
            raise ValueError(f"vmap of '{mapping.name}': in_axes has {len(axes)} entries for {len(args)} "
                             f"positional arguments.")
        axes = tuple(axes)
    leaves = [*_paired(args, axes, "in_axes"), *_paired(kwargs, 0, "in_axes")]
    with location():
        return _Call(mapping, args, kwargs, leaves).run()


def _paired(tree: Any, axes: Axes, option: str) -> Iterator[tuple[Any, int | None]]:
    """The leaves of a tree, in the order of `sig.map_tree`, each with its axis."""
    if axes is None or isinstance(axes, (int, np.integer)):
        found: list[Any] = []
        sig.map_tree(tree, found.append)
        yield from ((leaf, None if axes is None else int(axes)) for leaf in found)
    elif isinstance(axes, dict) and isinstance(tree, dict) and axes.keys() == tree.keys():
        for key, child in tree.items():
            yield from _paired(child, axes[key], option)
    elif isinstance(axes, (tuple, list)) and isinstance(tree, (tuple, list)) and len(axes) == len(tree):
        for child, axis in zip(tree, axes, strict=True):
            yield from _paired(child, axis, option)
    else:
        raise ValueError(f"vmap: {option}={axes!r} does not fit what it is for ({_shown(tree)}): an int or None, or "
                         f"the same containers with an int or None for each part.")


def _shown(tree: Any) -> str:
    if isinstance(tree, (tuple, list, dict)):
        return f"a {'dict' if isinstance(tree, dict) else type(tree).__name__} of {len(tree)}"
    return "an array" if hasattr(tree, "shape") else f"a {type(tree).__name__}"


@dataclass
class _Element:
    """A mapped leaf of the arguments: the whole array, its axis, and what the function gets of it."""

    whole: Any
    axis: int
    element: Any
    given: ir.Value


class _Call:
    """One call of a mapped function in a trace."""

    def __init__(self, mapped: Mapping, args: tuple, kwargs: dict, leaves: Sequence[tuple[Any, int | None]]):
        self.mapped, self.args, self.kwargs = mapped, args, kwargs
        self.leaves = [self._leaf(leaf, self._axis(leaf, axis)) for leaf, axis in leaves]
        self.trace, self.size = current_trace(), self._size()
        self.elements: list[_Element] = []

    def fail(self, what: str) -> ValueError:
        return ValueError(f"vmap of '{self.mapped.name}': {what}")

    def _axis(self, leaf: Any, axis: int | None) -> int | None:
        """The axis from the front. What is no array cannot be mapped; text and None never are."""
        if axis is None or leaf is None or isinstance(leaf, (str, bytes)) or callable(leaf) \
                and not hasattr(leaf, "shape"):
            return None
        rank = np.ndim(leaf)
        if not -rank <= axis < rank:
            raise self.fail(f"an argument of shape {np.shape(leaf)} has no axis {axis} to map over. Give in_axes=None "
                            f"for arguments that are the same for all elements.")
        return axis % rank

    def _leaf(self, leaf: Any, axis: int | None) -> tuple[Any, int | None]:
        """A leaf with its axis; arrays that are known while tracing become traced ones where they are mapped."""
        if axis is not None and not is_tensor(leaf):
            leaf = Tensor.of_array(np.asarray(leaf), constant=True)
        return leaf, axis

    def _size(self) -> int:
        sizes = {int(np.shape(leaf)[axis]) for leaf, axis in self.leaves if axis is not None}
        if self.mapped.axis_size is not None:
            sizes.add(self.mapped.axis_size)
        if len(sizes) > 1:
            raise self.fail(f"the mapped axes have different sizes: {', '.join(map(str, sorted(sizes)))}.")
        if not sizes:
            raise self.fail("no argument is mapped, so axis_size has to be given.")
        return sizes.pop()

    def run(self) -> Any:
        scratch = scratch_blocks(1)
        try:
            with quietly():
                return self._run(scratch.regions[0].blocks.append())
        finally:
            scratch.erase()

    def _run(self, block: ir.Block) -> Any:
        first_check = len(self.trace.checks)
        try:
            with self.trace.inside(block) as region:
                args, kwargs = self._of_one(block)
                held = [(c, _held(c)) for c in _containers((args, kwargs))]
                with holding(args, kwargs):     # what is written into them is delivered
                    result = call(self.mapped.function, *args, **kwargs)
                if any(list(map(id, old)) != list(map(id, _held(container))) for container, old in held):
                    raise UnsupportedError(f"'{self.mapped.name}' changes a list, dict or object among its "
                                           "arguments, which vmap cannot do for a whole batch.",
                                           hint="Return what it makes instead.", code="changes-under-transformation")
                results = list(_paired(result, self._out_axes(result), "out_axes"))
                values = [self._result(leaf) for leaf, _ in results]
                contents = {n: each.element.storage.read() for n, each in enumerate(self.elements)
                            if each.element.storage.version}
                mine = {id(each.element.storage) for each in self.elements}
            checks = self.trace.checks[first_check:]
        finally:
            del self.trace.checks[first_check:]
        outside = [(s, v) for s, v in region.written.items() if id(s) not in mine]
        return self._batched(block, result, results, values, contents, outside, checks)

    def _of_one(self, block: ir.Block) -> tuple[tuple, dict]:
        """The arguments for one element."""
        left = iter(self.leaves)

        def one(_: Any) -> Any:
            leaf, axis = next(left)
            return leaf if axis is None else self._element(leaf, axis, block)

        return sig.map_tree(self.args, one), sig.map_tree(self.kwargs, one)

    def _element(self, whole: Any, axis: int, block: ir.Block) -> Any:
        shape = whole.shape[:axis] + whole.shape[axis + 1:]
        given = block.add_argument(tensor_type(shape, whole.dtype), ir.Location.current)
        element = Tensor(Storage(shape, whole.dtype, value=given), kind=ARRAY if shape else SCALAR,
                         writeable=whole.writeable)
        self.elements.append(_Element(whole, axis, element, given))
        return element

    def _out_axes(self, result: Any) -> Axes:
        axes = self.mapped.out_axes
        return tuple(axes) if isinstance(axes, list) and isinstance(result, tuple) else axes

    def _result(self, leaf: Any) -> ir.Value | None:
        """The value of a leaf of the result for one element; None for what is no number."""
        if type(leaf) is Alternative:
            raise self.fail("The function returns one of several texts or other objects. Return a number that says "
                            "which.")
        if type(leaf) is MaybeNone:
            raise self.fail("The function returns None for some elements. Return a number that says so, e.g. np.nan.")
        if is_tensor(leaf):
            return leaf.value()
        if getattr(type(leaf), "partial", False):
            raise UnsupportedError("A mapped function returns an array whose size depends on run-time values.",
                                   hint="Return it at full size, e.g. np.where(mask, x, 0).",
                                   code="result-of-run-time-size")
        if isinstance(leaf, (bool, int, float, complex, np.ndarray, np.generic)):
            array = np.asarray(leaf)
            return self.trace.capture(array) if array.size > 1 else ops.constant(array)
        return None

    def _batched(self, block: ir.Block, result: Any, results: Sequence[tuple[Any, int | None]],
                 values: Sequence[ir.Value | None], contents: dict[int, ir.Value], outside: Sequence[tuple],
                 checks: Sequence[tuple]) -> Any:
        wanted = [v for v in (*values, *contents.values(), *(v for _, v in outside), *(ok for ok, *_ in checks))
                  if v is not None]
        found = self._for_all(block, list(dict.fromkeys(wanted)))
        for ok, error, _ in checks:
            value, batched = found[ok]
            if batched:
                value = ops.reduce(value, True, [0], "and")
            self.trace.checks.append((value, Failure(error), self.trace.region))
        for storage, old in outside:
            value, batched = found[old]
            if batched:
                raise UnsupportedError(f"'{self.mapped.name}' writes into an array that is not mapped, and each "
                                       "element would write something else.",
                                       hint="Map it, or return what is written.", code="changes-under-transformation")
            storage.write(value)
        for number, old in contents.items():
            each = self.elements[number]
            self._write_back(each, moved(self._full(found[old]), 0, each.axis))
        made: list[Any] = []
        for (leaf, axis), old in zip(results, values, strict=True):
            made.append(leaf if old is None else Tensor.of_value(self._placed(found[old], axis)))
        left = iter(made)
        return sig.map_tree(result, lambda _: next(left))

    def _for_all(self, block: ir.Block, wanted: list[ir.Value]) -> dict[ir.Value, tuple[ir.Value, bool]]:
        """What values of one element are for all of them, and whether they depend on the element."""
        given = {each.given: moved(each.whole.value(), each.axis, 0) for each in self.elements}
        if any(requests.target_of(op) for op in modules.walk(block.owner)):
            return self._for_all_with_derivatives(block, wanted, given)
        body = [op.operation for op in block]
        spread = Spread(given)
        spread.run(body)
        batcher = Batcher(self.size, spread.batched, dict(given))
        batcher.run(body)
        return {old: (batcher.value(old), old in spread.batched) for old in wanted}

    def _for_all_with_derivatives(self, block: ir.Block, wanted: list[ir.Value], given: dict[ir.Value, ir.Value]
                                  ) -> dict[ir.Value, tuple[ir.Value, bool]]:
        """The same where derivatives were asked for in between: they are written out, for one element, before."""
        from reactant.differentiate.expansion import expand_innermost  # loads the rules
        own = [v for v in wanted if v in given
               or not isinstance(v.owner, ir.Block) and v.owner.operation.block == block]
        outer = captures(block.owner)
        inputs = [*given, *outer]
        module, main, inside = new_function([v.type for v in inputs])
        mapping = dict(zip(inputs, inside.arguments, strict=True))
        with ir.InsertionPoint(inside):
            for op in block:
                modules.clone_with(op.operation, mapping)
            ops.create("func.return", [], [mapping[v] for v in own])
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(
            [v.type for v in inputs], [v.type for v in own]))
        requests.adopt_functions(self.trace.module, module.operation)
        modules.inline_calls(module)
        with suspended():       # a user's own derivative is traced when it is asked for
            while expand_innermost(module):
                pipelines.run(module, "simplify", options=self.trace.options)
        made = batched_module(module, [0] * len(given) + [None] * len(outer), self.size)
        requests.adopt_functions(made.module, self.trace.module.operation)
        body = modules.function(made.module).regions[0].blocks[0]
        results = splice.copied(body, [*given.values(), *outer])
        found = dict(zip(own, zip(results, made.batched, strict=True), strict=True))
        return {old: found.get(old, (old, False)) for old in wanted}

    def _full(self, found: tuple[ir.Value, bool]) -> ir.Value:
        return found[0] if found[1] else repeated(found[0], self.size)

    def _write_back(self, each: _Element, new: ir.Value) -> None:
        sharing = [other for other in self.elements if other.whole.storage is each.whole.storage]
        if len(sharing) > 1:
            raise UnsupportedError(f"'{self.mapped.name}' writes into a mapped array that it also gets as another "
                                   "argument.", hint="Pass a copy.", code="changes-under-transformation")
        each.whole.assign(new)

    def _placed(self, found: tuple[ir.Value, bool], axis: int | None) -> ir.Value:
        value, batched = found
        if axis is None:
            if batched:
                raise self.fail("out_axes is None for a result that depends on the batch.")
            return value
        rank = len(shape_of(value)) + (not batched)
        if not -rank <= axis < rank:
            raise self.fail(f"out_axes={axis} for a result of {rank} dimensions with the batch.")
        return moved(self._full(found), 0, axis % rank)


def _containers(tree: Any) -> Iterator[Any]:
    """The lists, dicts and objects of users' classes in a tree."""
    if isinstance(tree, (list, dict)):
        yield tree
    if isinstance(tree, (list, tuple, dict)):
        for child in tree.values() if isinstance(tree, dict) else tree:
            yield from _containers(child)
    elif sig.is_plain_object(tree):
        yield tree
        for child in sig.attributes(tree).values():
            yield from _containers(child)


def _held(container: Any) -> list[Any]:
    """What a list, a dict or an object holds."""
    held = container if isinstance(container, (list, dict)) else sig.attributes(container)
    return [*held, *held.values()] if isinstance(held, dict) else list(held)

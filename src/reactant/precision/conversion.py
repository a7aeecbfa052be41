"""A module whose numbers of one float format become sums of limbs of another: and how rules are told.

Every value of the source format becomes a `Wide`, one of its complex format a `WideComplex`; functions, loops, branches
and tuples carry their limbs. A rule says what an operation means for such operands (`declare`); one that has none is
refused with the user's line: nothing is left in the source format but what `without_limbs` leaves (a function's lines,
or those that an option names). The public functions keep their types: arguments are split where they begin, results
joined where they end.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxlib.mlir import ir

from reactant.errors import Span, UnsupportedError
from reactant.ir import modules, ops
from reactant.ir.locations import file_and_line
from reactant.ir.types import shape_and_dtype, tensor_type
from reactant.options import CompileOptions
from reactant.precision import entries, error_free, wide
from reactant.precision.left_alone import is_left
from reactant.precision.ranges import NUMBER, WHOLE, Place, Watch
from reactant.precision.values import Value, WideComplex, flat
from reactant.precision.wide import Wide
from reactant.rewrite.report import Became

Complexes = {np.dtype(np.float64): np.dtype(np.complex128), np.dtype(np.float32): np.dtype(np.complex64)}


Rule: TypeAlias = Callable[..., Any]
RULES: dict[str, Rule] = {}
"""By the names of operations: what is called with the conversion, the operation and its converted operands, and gives
its results, one or a sequence; None leaves the operation as it is."""


def declare(*names: str) -> Callable[[Rule], Rule]:
    """Say what operations become; names without a dialect are those of StableHLO."""
    def keep(rule: Rule) -> Rule:
        for name in names:
            RULES[name if "." in name else f"stablehlo.{name}"] = rule
        return rule
    return keep


class Format(NamedTuple):
    """source: the float that is replaced. limb: by sums of which. limbs: of how many."""

    source: np.dtype
    limb: np.dtype
    limbs: int

    def __str__(self) -> str:
        return f"{self.limb.name}x{self.limbs}"


class Conversion:
    """The conversion of one module: what its values have become, and how what it contains is made anew."""

    def __init__(self, module: ir.Module, format_: Format, options: CompileOptions):
        self.module, self.format, self.options = module, format_, options
        self.source, self.limb, self.count = format_
        self.complex = Complexes.get(self.source)
        self.values: dict[ir.Value, Value] = {}
        self._depth: dict[ir.Value, int] = {}
        self._left_values: dict[ir.Value, ir.Value] = {}
        self.became = Became(self.source.name, str(format_))
        self.watch: Watch | None = None
        """What looks for results that leave the range."""
        self._flags: int | None = None

    def watched(self, flags: int | None) -> tuple[list[Place], int | None]:
        """`run` where the program shall tell which results leave the range of the limbs: by flags before those of its
        result with the number `flags`, or in a new result. Gives their places, and the number of that result."""
        self._flags = flags
        if error_free.LARGEST_EXPONENT[self.limb.name] < error_free.LARGEST_EXPONENT[self.source.name]:
            self.watch = Watch(self.source, self.limb)
            modules.inline_calls(self.module)
        self.run()
        return [] if self.watch is None else list(self.watch.places), self._flags

    def run(self) -> None:
        """Make every function anew."""
        for name, function in modules.functions(self.module).items():
            if any(map(self.concerns_type, _types(function))):
                with wide.finite(self.options.finite):
                    self._function(name, function)
        modules.run_passes(self.module, "func.func(cse)")

    # ---- types -----------------------------------------------------------------------------------------------------

    @property
    def is_coarse(self) -> bool:
        """Whether limbs have too few digits for functions, which then are computed in the source format."""
        return error_free.digits(self.limb) < error_free.LEAST_DIGITS

    def concerns_type(self, type_: ir.Type) -> bool:
        """Whether values of a type become limbs."""
        return self.limbs_of_type(type_) > 0

    def limbs_of_type(self, type_: ir.Type) -> int:
        """How many limbs a value of a type has; 0 for what stays as it is."""
        if not isinstance(type_, ir.RankedTensorType):
            return 0
        element = str(type_.element_type)
        return {_NAMES[self.source.name]: self.count,
                f"complex<{_NAMES[self.source.name]}>": 2 * self.count}.get(element, 0)

    def types(self, types: Sequence[ir.Type]) -> list[ir.Type]:
        """The types of the limbs."""
        found: list[ir.Type] = []
        for type_ in types:
            count = self.limbs_of_type(type_)
            found += [tensor_type(tuple(type_.shape), self.limb)] * count if count else [type_]
        return found

    def grouped(self, values: Sequence[ir.Value], types: Sequence[ir.Type]) -> list[Value]:
        """Limbs as numbers of these types."""
        found: list[Value] = []
        left = list(values)
        for type_ in types:
            count = self.limbs_of_type(type_)
            taken, left = left[:max(count, 1)], left[max(count, 1):]
            if not count:
                found.append(taken[0])
            elif count == self.count:
                found.append(Wide(taken))
            else:
                found.append(WideComplex(Wide(taken[:self.count]), Wide(taken[self.count:])))
        return found

    # ---- functions and blocks --------------------------------------------------------------------------------------

    def _function(self, name: str, old: ir.Operation) -> None:
        public = "sym_visibility" not in old.attributes or \
            ir.StringAttr(old.attributes["sym_visibility"]).value != "private"
        kind = ir.FunctionType(ir.TypeAttr(old.attributes["function_type"]).value)
        inputs = list(kind.inputs) if public else self.types(kind.inputs)
        results = list(kind.results) if public else self.types(kind.results)
        with ir.InsertionPoint(old), old.location:
            attributes = {each.name: each.attr for each in old.attributes} if hasattr(
                next(iter(old.attributes), None), "attr") else {each: old.attributes[each] for each in old.attributes}
            attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
            if not public:
                attributes.pop("arg_attrs", None)
                attributes.pop("res_attrs", None)
            new = ir.Operation.create("func.func", results=[], operands=[], attributes=attributes, regions=1)
        before = old.regions[0].blocks[0]
        block = new.regions[0].blocks.append(*inputs, arg_locs=[old.location] * len(inputs))
        with ir.InsertionPoint(block):
            with old.location:
                if self.watch is not None:
                    self.watch.begin()
                given = [self.split(value, f"argument {k}") for k, value in enumerate(block.arguments)] if public else \
                    self.grouped(list(block.arguments), kind.inputs)
            self.values.update(zip(before.arguments, given, strict=True))
            returned = self.block(before)
            with old.location:
                given_back = [self.join(v) for v in returned] if public else flat(returned)
                if public:
                    self.became.arguments += sum(map(self.concerns_type, inputs))
                    self.became.results += sum(not isinstance(value, ir.Value) for value in returned)
                if public and self.watch is not None:
                    given_back = self._with_flags(self.watch, returned, given_back)
                    kind = ir.FunctionType.get(inputs, [value.type for value in given_back])
                    new.attributes["function_type"] = ir.TypeAttr.get(kind)
                ops.create("func.return", results=[], operands=given_back)
        old.erase()

    def _with_flags(self, watch: Watch, returned: Sequence[Value], joined: list[ir.Value]) -> list[ir.Value]:
        """Results with a flag for each place of the watch: whether it was not the first to leave the range."""
        watch.given(returned)
        code = watch.settled()
        if not watch.places:
            return joined
        numbers = ops.add(ops.iota((len(watch.places),), NUMBER, 0), 1)
        flags = ops.compare(numbers, ops.broadcast_in_dim(code, (len(watch.places),), ()), "NE")
        if self._flags is None:
            self._flags = len(joined)
            return [*joined, flags]
        return [ops.concatenate([flags, value], 0) if k == self._flags else value for k, value in enumerate(joined)]

    def block(self, block: ir.Block) -> list[Value]:
        """Make the operations of a block anew at the insertion point; gives what it returns."""
        for op in block:
            op = op.operation
            if op.name in ("func.return", "stablehlo.return"):
                return [self.values[operand] for operand in op.operands]
            with op.location:
                self.operation(op)
        return []

    def region(self, region: ir.Region, new: ir.Region) -> None:
        """Make a region of an operation anew, with limbs in place of numbers."""
        old = region.blocks[0]
        kinds = [argument.type for argument in old.arguments]
        made = self.types(kinds)
        block = new.blocks.append(*made, arg_locs=[ir.Location.current] * len(made))
        with ir.InsertionPoint(block):
            self.values.update(zip(old.arguments, self.grouped(list(block.arguments), kinds), strict=True))
            ops.create("stablehlo.return", results=[], operands=flat(self.block(old)))

    def combined(self, region: ir.Region, *operands: Value) -> list[Value]:
        """What a region makes of arrays in place of its numbers, element by element. Raises `UnsupportedError` for
        what works on numbers alone."""
        old = region.blocks[0]
        self.values.update(zip(old.arguments, operands, strict=True))
        return _Elementwise(self, operands[0].shape if not isinstance(operands[0], ir.Value)
                            else shape_and_dtype(operands[0].type)[0]).block(old)

    def operation(self, op: ir.Operation) -> None:
        """Make one operation anew."""
        if not self.concerns(op):
            plain = {operand: self.values[operand] for operand in self._used(op) if operand in self.values}
            modules.clone_with(op, plain)
            self.values.update((result, plain[result]) for result in op.results)
            return
        operands = [self.values[operand] for operand in op.operands]
        place = file_and_line(op.location)
        if is_left(place, self.options.without_limbs):
            self._leave(op, operands)
            return
        rule = RULES.get(op.name)
        if rule is None:
            raise self.refusal(op, f"'{op.name}' has no form for them")
        with self._looked_at(op.name):
            found = rule(self, op, *operands)
        if found is None:
            self._leave(op, operands)
            return
        results = list(found) if isinstance(found, (list, tuple)) else [found]
        if self.watch is not None:
            self.watch.operation(op, place, operands, results)
        if op.name in ops.ELEMENTWISE:
            results = [self.cut(op, operands, each) for each in results]
        self.values.update(zip(op.results, results, strict=True))

    def cut(self, op: ir.Operation, operands: Sequence[Value], found: Value) -> Value:
        """A result, behind a barrier where much has been computed since the last one: XLA makes one kernel for each
        limb of a result, which computes all that is before it again, and again for each use of it."""
        if isinstance(found, ir.Value) or not found.shape:
            return found
        depth = max((self._depth.get(v.limbs[0], 0) for v in operands if not isinstance(v, ir.Value)), default=0) \
            + _WEIGHT.get(op.name.split(".")[1], DEEP)
        if depth >= DEEP:
            if self.watch is not None:
                self.watch.flush(found.shape)
            limbs = iter(ops.optimization_barrier(*found.limbs))
            found, depth = found.each(lambda _: next(limbs)), 0
        self._depth[found.limbs[0]] = depth
        return found

    def concerns(self, op: ir.Operation) -> bool:
        """Whether an operation, or one inside it, has values that become limbs."""
        return any(map(self.concerns_type, _types(op)))

    def _used(self, op: ir.Operation) -> list[ir.Value]:
        return [*op.operands, *modules.captured(op)]

    def refusal(self, op: ir.Operation, why: str, hint: str | None = None) -> UnsupportedError:
        """The error about an operation that cannot be converted."""
        return UnsupportedError(
            f"floats={{{self.source.name!r}: {self.became.limbs!r}}}: {why}.", span=Span.at(file_and_line(op.location)),
            hint=hint or "Leave the function in its own format with reactant.without_limbs.", code="not-in-limbs")

    # ---- what stays ------------------------------------------------------------------------------------------------

    def _leave(self, op: ir.Operation, operands: Sequence[Value]) -> None:
        """Do an operation in the source format; results that others left alone use stay in it for them."""
        mapping = {old: self._left_values[old] if old in self._left_values else self.join(self.values[old])
                   for old in self._used(op) if old in self.values}
        modules.clone_with(op, mapping)
        name, place = op.name.split(".")[1], file_and_line(op.location)
        self.became.left[name, f"{place[0]}:{place[1]}" if place else ""] += 1
        for result in op.results:
            self._left_values[result] = mapping[result]
            self.values[result] = self.split(mapping[result], name)

    # ---- what leaves the range -------------------------------------------------------------------------------------

    def _looked_at(self, name: str) -> AbstractContextManager[None]:
        """Around a rule: what it does inside is looked at by what comes out of it."""
        whole = self.watch is not None and name.split(".")[1] in (*WHOLE, "sort")
        return self.watch.asleep() if self.watch is not None and whole else nullcontext()

    # ---- between the formats ---------------------------------------------------------------------------------------

    def split(self, value: ir.Value, name: str = "") -> Value:
        """A value as limbs, where it becomes any. name: what it is to the user."""
        if not self.concerns_type(value.type):
            return value
        if shape_and_dtype(value.type)[1] == self.source:
            found: Value = entries.split(value, self.limb, self.count)
        else:
            found = WideComplex(entries.split(ops.real(value), self.limb, self.count),
                                entries.split(ops.imag(value), self.limb, self.count))
        if self.watch is not None:
            self.watch.split(value, found, Place(name, file_and_line(ir.Location.current)))
        return found

    def join(self, value: Value) -> ir.Value:
        """Limbs as a value of the source format."""
        if isinstance(value, Wide):
            return entries.join(value, self.source)
        if isinstance(value, WideComplex):
            return ops.complex(entries.join(value.re, self.source), entries.join(value.im, self.source))
        return value

    def wide(self, array: np.ndarray) -> Wide:
        """A constant array as limbs."""
        return entries.constant_array(array, self.limb, self.count)


class _Elementwise(Conversion):
    """The operations of a region that works on numbers, done on arrays of a shape."""

    def __init__(self, outer: Conversion, shape: tuple[int, ...]):
        super().__init__(outer.module, outer.format, outer.options)
        self.values, self.shape, self.watch, self.became = outer.values, shape, outer.watch, outer.became

    def operation(self, op: ir.Operation) -> None:
        """Constants spread over the shape; the rest as it is, where it is elementwise."""
        if op.name == "stablehlo.constant":
            super().operation(op)
            found = self.values[op.results[0]]

            def spread(x: ir.Value) -> ir.Value:
                return ops.broadcast_in_dim(x, self.shape, ())
            self.values[op.results[0]] = spread(found) if isinstance(found, ir.Value) else found.each(spread)
            return
        if op.name not in ops.ELEMENTWISE and op.name != "chlo.square":
            raise self.refusal(op, f"'{op.name}' inside of a reduction has no form for them")
        if self.concerns(op):
            super().operation(op)
            return
        types = [tensor_type(self.shape, shape_and_dtype(result.type)[1]) for result in op.results]
        attributes = {each: op.attributes[each] for each in _names_of(op)}
        made = ops.create(op.name, results=types, operands=[self.values[o] for o in op.operands],
                          attributes=attributes)
        self.values.update(zip(op.results, made.results, strict=True))


DEEP = 6
"""Sums and products, one after the other, that become one kernel."""
_WEIGHT = {**dict.fromkeys(("negate", "abs", "compare", "select", "complex", "real", "imag", "is_finite", "sign"), 0),
           **dict.fromkeys(("add", "subtract", "multiply", "maximum", "minimum", "convert", "floor", "ceil"), 1),
           "divide": 3, "sqrt": 3}


def _names_of(op: ir.Operation) -> list[str]:
    return [getattr(each, "name", each) for each in op.attributes]


_NAMES = {"float64": "f64", "float32": "f32"}


def _types(op: ir.Operation) -> list[ir.Type]:
    """The types of all values of an operation, and inside of it."""
    found = [value.type for value in (*op.operands, *op.results)]
    if len(op.regions):
        found += [a.type for region in op.regions for block in region for a in block.arguments]
        for inner in modules.walk(op):
            found += [value.type for value in (*inner.operands, *inner.results)]
            found += [a.type for region in inner.regions for block in region for a in block.arguments]
    return found

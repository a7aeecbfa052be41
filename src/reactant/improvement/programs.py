"""A traced program with its inputs: what it gives, what it should give in real numbers, and how long it takes."""
from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from jaxlib.mlir import ir

from reactant import pipelines
from reactant.api import as_jitted, jit
from reactant.calling.jitted import BoundJitted, Jitted
from reactant.errors import UnsupportedError
from reactant.ir import modules, ops
from reactant.ir.context import building
from reactant.ir.locations import file_and_line
from reactant.ir.types import shape_and_dtype, shape_of, size, tensor_type
from reactant.precision import wide_floats
from reactant.precision.improvement import recording, regions, truth
from reactant.precision.improvement.expressions import Expression
from reactant.precision.improvement.recipe import Recipe
from reactant.runtime.executable import Executable

Array: TypeAlias = np.ndarray
DIGITS = {"float32": 24, "float64": 53}
ELEMENTS = 256
"""Of a result that are compared with real numbers, where those are computed one by one."""
ROUNDS, LEAST_SECONDS = 15, 2e-3
"""Of a measurement of time: how often each program's turn comes, and how long it then runs."""


class Program:
    """A function for some arguments, as a module that is simplified but for the forms a target wants."""

    def __init__(self, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]):
        self.jitted = as_jitted(function)
        self.args, self.kwargs = args, kwargs
        self.arrays = self.arrays_of(args, kwargs)

    def arrays_of(self, args: tuple, kwargs: dict[str, Any]) -> list[Array]:
        """What the module takes for arguments."""
        lowered, arrays = _called(self.jitted, copy.deepcopy((args, kwargs)))
        if getattr(lowered.traced, "callbacks", ()):
            raise UnsupportedError("reactant.improve: the program calls Python while it runs, which cannot be measured "
                                   "in real numbers.", hint="Improve the function that computes, without the callback.",
                                   code="nothing-to-improve")
        self.name = lowered.name
        self.bytecode = modules.bytecode(lowered.original)
        self.options, self.as_numpy = lowered.options, lowered.as_numpy()
        with building():
            module = modules.parse(self.bytecode)
            block = modules.function(module).regions[0].blocks[0]
            kinds = [shape_and_dtype(each.type)[1] for each in block.arguments]
        return [np.asarray(each, kind) for each, kind in zip(arrays, kinds, strict=True)]   # JAX without 64 bits

    def module(self) -> ir.Module:
        """A new copy of the module that expressions are looked for in. Within `building`."""
        module = modules.parse(self.bytecode)
        pipelines.run(module, "differentiated", options=self.options)
        return module

    def compiled(self, recipe: Recipe | None) -> Jitted:
        """The function, compiled with a recipe."""
        inner = self.jitted.base if isinstance(self.jitted, BoundJitted) else self.jitted
        names = {"static_argnames": tuple(inner._static)} if inner._static else {}
        return jit(self.jitted.function, **names, options=self.options.with_(improvements=recipe, cache=False))

    def results(self, compiled: Jitted) -> list[Array]:
        """What a compiled form gives for the arguments, as the module's results."""
        lowered, arrays = _called(compiled, copy.deepcopy((self.args, self.kwargs)))
        with building():
            program = lowered.program().executable
        given = [np.asarray(each, like.dtype) for each, like in zip(arrays, self.arrays, strict=True)]
        return [np.asarray(each) for each in program([given[k] for k in program.read] if program.read is not None
                                                     else given)]


def _called(jitted: Jitted, given: tuple[tuple, dict[str, Any]]) -> tuple[Any, list[Any]]:
    """`lower_call`, also of methods and partials."""
    if isinstance(jitted, BoundJitted):
        return jitted.base.lower_call(*jitted.arguments(*given))
    return jitted.lower_call(*given)


class Seen(NamedTuple):
    """An expression somewhere in a program. elements: for how many it is computed at once."""

    key: tuple[Expression, str]
    leaves: int
    elements: int
    line: tuple[str, int] | None


def profiles(program: Program, runs: Sequence[Sequence[Array]]) -> tuple[list[Seen], list[list[Any]]]:
    """The expressions of a program, and for each run a profile of each."""
    with building():
        module = program.module()
        count = _results(module)
        found = recording.instrumented(module)
        executable = Executable(module, name=program.name, **program.as_numpy)
        told = [recording.profiles(found, [np.asarray(each) for each in executable(list(arrays))[count:]])
                for arrays in runs]
        seen = [Seen(each.key, len(each.leaves), size(shape_of(each.leaves[0])), file_and_line(each.op.location))
                for each in found]
    return seen, told


def _results(module: ir.Module) -> int:
    kind = modules.function(module).attributes["function_type"]
    return len(ir.FunctionType(ir.TypeAttr(kind).value).results)


# ---- real numbers --------------------------------------------------------------------------------------------------

def in_reals(program: Program) -> list[Array] | None:
    """What the results are in real numbers: for results that are one expression of the arguments to the last bit (but
    only some elements, NaN elsewhere), else computed with twice the digits. None where that cannot be done."""
    with building():
        module = program.module()
        exact = _by_expressions(module, program.arrays)
        if exact is not None:
            return exact
        dtypes = {shape_and_dtype(v.type)[1] for op in modules.walk(module) for v in op.results
                  if isinstance(v.type, ir.RankedTensorType)}
        try:
            if np.dtype(np.float64) in dtypes:
                limbs = wide_floats.Format(np.dtype(np.float64), np.dtype(np.float64), 2)
                wide_floats.Conversion(module, limbs, program.options).run()
                arrays = program.arrays
            else:
                _promote(module)
                arrays = [each.astype(np.float64) if each.dtype == np.float32 else each for each in program.arrays]
        except UnsupportedError:
            return None
        return [np.asarray(each) for each in Executable(module, name=program.name,
                                                           **program.as_numpy)(arrays)]


def _by_expressions(module: ir.Module, arrays: Sequence[Array]) -> list[Array] | None:
    block = modules.function(module).regions[0].blocks[0]
    place_of = {each.op.results[0]: each for each in regions.places(module)}
    number = {value: k for k, value in enumerate(block.arguments)}
    found = []
    for value in block.operations[len(block.operations) - 1].operation.operands:
        place = place_of.get(value)
        if place is None or any(each not in number for each in place.leaves):
            return None
        given = [arrays[number[each]].reshape(-1) for each in place.leaves]
        chosen = np.unique(np.linspace(0, len(given[0]) - 1, min(len(given[0]), ELEMENTS)).round().astype(int))
        real = np.full(given[0].shape, np.nan, place.dtype)
        real[chosen] = truth.in_reals(place.expression, [each[chosen] for each in given], place.dtype)[0][
            place.expression]
        found.append(real.reshape(arrays[number[place.leaves[0]]].shape))
    return found


def _promote(module: ir.Module) -> None:
    """Every float32 of a module becomes a float64. Raises `UnsupportedError` where bits or libraries see it."""
    narrow, wide = np.dtype(np.float32), np.dtype(np.float64)

    def widened(kind: ir.Type) -> ir.Type:
        if isinstance(kind, ir.RankedTensorType) and shape_and_dtype(kind)[1] == narrow:
            return tensor_type(shape_and_dtype(kind)[0], wide)
        if "f32" in str(kind):
            raise UnsupportedError(f"no wider form of {kind}", code="nothing-to-improve")
        return kind

    for op in list(modules.walk(module)):
        if op.name in ("stablehlo.custom_call", "stablehlo.bitcast_convert", "stablehlo.reduce_precision",
                       "stablehlo.rng_bit_generator"):
            raise UnsupportedError(f"no wider form of {op.name}", code="nothing-to-improve")
        if op.name == "stablehlo.constant" and shape_and_dtype(op.results[0].type)[1] == narrow:
            content = ops.constant_value(op.results[0])
            with ir.InsertionPoint(op), op.location:
                made = ops.constant(np.asarray(content, wide), wide) if content is not None else None
            if made is None:
                raise UnsupportedError("a constant that cannot be read", code="nothing-to-improve")
            op.results[0].replace_all_uses_with(made)
            op.erase()
            continue
        for value in op.results:
            value.set_type(widened(value.type))
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    argument.set_type(widened(argument.type))
        if op.name == "func.func":
            kind = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
            op.attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get(list(map(widened, kind.inputs)), list(map(widened, kind.results))))


def right_bits(results: Sequence[Array], real: Sequence[Array]) -> tuple[float, float]:
    """How many bits of the results are right, on average and of the worst element; elements whose real value is not
    known, or is none, are left out."""
    found = []
    for value, exact in zip(results, real, strict=True):
        if value.dtype.name in DIGITS:
            nearest = np.asarray(exact).astype(value.dtype)
            known = np.isfinite(nearest)
            if known.any():
                errors = truth.bits_of_error(value[known], nearest[known], value.dtype)
                found.append(np.maximum(DIGITS[value.dtype.name] - errors, 0.0))
    if not found:
        return float("nan"), float("nan")
    bits = np.concatenate(found)
    return float(bits.mean()), float(bits.min())


# ---- time ----------------------------------------------------------------------------------------------------------

def seconds(compiled: Sequence[Callable[..., Any]], args: tuple, kwargs: dict[str, Any]) -> list[float]:
    """The least time of a call of each, in turns, so that what else the machine does meets all of them."""
    given = [copy.deepcopy((args, kwargs)) for _ in compiled]
    counts = []
    for each, (positional, named) in zip(compiled, given, strict=True):
        each(*positional, **named)
        start = time.perf_counter()
        each(*positional, **named)
        counts.append(max(1, min(1000, int(LEAST_SECONDS / max(time.perf_counter() - start, 1e-7)))))
    taken: list[list[float]] = [[] for _ in compiled]
    for _ in range(ROUNDS):
        for k, each in enumerate(compiled):
            positional, named = given[k]
            start = time.perf_counter()
            for _ in range(counts[k]):
                each(*positional, **named)
            taken[k].append((time.perf_counter() - start) / counts[k])
    return [min(each) for each in taken]

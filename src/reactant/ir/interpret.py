"""StableHLO's own reference interpreter, made safe: the meaning of a module, independent of XLA and of us.

`stablehlo.eval_module` aborts the process on ops it does not know, so everything is checked against a list first. At
transforms and factorizations, which it does not know either, a program is cut: NumPy does those (`library`).
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.errors import ReactantError
from reactant.ir import attributes as attr
from reactant.ir import convolution, creation, library, modules, ops
from reactant.ir.types import dtype_of, is_complex, is_integer, shape_and_dtype, shape_of, tensor_type


class NotInterpretable(ReactantError, NotImplementedError):
    """The reference interpreter does not know an op."""

    code = "not-interpretable"


KNOWN = {f"stablehlo.{name}" for name in """
    abs add and atan2 bitcast_convert broadcast_in_dim case cbrt ceil clamp compare complex concatenate constant convert
    convolution cosine count_leading_zeros divide dot_general dynamic_slice dynamic_update_slice exponential
    exponential_minus_one floor gather if imag iota is_finite log log_plus_one logistic map maximum minimum multiply
    negate not optimization_barrier or pad popcnt power real reduce reduce_precision reduce_window remainder reshape
    return reverse round_nearest_afz round_nearest_even rsqrt scatter select select_and_scatter shift_left
    shift_right_arithmetic shift_right_logical sign sine slice sort sqrt subtract tan tanh transpose while xor
    """.split()} | {"func.func", "func.return", "func.call"}


def interpretable(module: ir.Module) -> bool:
    """Whether `evaluate` accepts the module (chlo ops are lowered first)."""
    return all(_refusal(op) is None for op in modules.walk(module))


def _refusal(op: ir.Operation) -> str | None:
    """Why the interpreter would abort on an op, if it would."""
    if op.name == "stablehlo.rng":
        return None if "UNIFORM" in str(op.attributes["rng_distribution"]) and not shape_and_dtype(
            op.results[0].type)[0] else "'stablehlo.rng'"
    if op.name not in KNOWN and not op.name.startswith("chlo.") and not library.known(op):
        return f"'{op.name}'"
    if op.name == "stablehlo.compare" and is_complex(dtype_of(op.operands[0])) \
            and attr.decode(op.attributes["comparison_direction"]) not in ("EQ", "NE"):
        return "an order of complex numbers"
    return None


@creation.elsewhere()
def evaluate(module: ir.Module, arguments: Sequence[np.ndarray], function: str = "main") -> list[np.ndarray]:
    """The results of `function` on `arguments`. The module itself is not changed.

    Raises `NotInterpretable` for ops the interpreter does not know and `ValueError` for arguments that do not fit.
    """
    work = modules.clone(module)
    if any(op.name.startswith("chlo.") for op in modules.walk(work)):
        modules.run_passes(work, "func.func(chlo-legalize-to-stablehlo)")
    for op in modules.walk(work):
        if (reason := _refusal(op)) is not None:
            raise NotInterpretable(f"the reference interpreter does not know {reason}.")
    arguments = _cut_at_library(work, arguments, function)
    _guard_divisions(work)
    _spell_out_total_orders(work)
    _fix_random_numbers(work)
    _sign_indices(work)
    _copy_before_scatters(work)
    _skip_windows(work)
    _empty_sums(work)
    _spell_out_convolutions(work)
    main = modules.function(work, function)
    dtypes = _split_complex_results(main)
    if function != "main":
        main.attributes["sym_name"] = attr.string("main")
    return _joined(stablehlo.eval_module(work, _attributes(main, arguments)), dtypes)


def _cut_at_library(work: ir.Module, arguments: Sequence[np.ndarray], function: str) -> Sequence[np.ndarray]:
    """Replace what NumPy has to do by arguments, which hold its results; gives all arguments."""
    arguments, main = list(arguments), modules.function(work, function)
    block = main.regions[0].blocks[0]
    if any(library.known(op.operation) for op in block.operations):
        for name in ("arg_attrs", "res_attrs"):     # one for each, and their number changes
            if name in main.attributes:
                del main.attributes[name]
    while True:
        places = [i for i, op in enumerate(block.operations) if library.known(op.operation)]
        if not places:
            return arguments
        before = modules.clone(work)
        inner = modules.function(before, function)
        program = [op.operation for op in inner.regions[0].blocks[0].operations]
        op, terminator = program[places[0]], program[-1]
        with ir.InsertionPoint(op), ir.Location.unknown():
            ops.create("func.return", [], list(op.operands))
        wanted = ir.FunctionType.get([a.type for a in inner.regions[0].blocks[0].arguments],
                                     [v.type for v in op.operands])
        terminator.erase()
        for each in program[-2:places[0] - 1 if places[0] else None:-1]:
            each.erase()
        inner.attributes["function_type"] = ir.TypeAttr.get(wanted)
        done = block.operations[places[0]].operation
        for old, array in zip(done.results, library.results(done, evaluate(before, arguments, function)), strict=True):
            arguments.append(array)
            old.replace_all_uses_with(block.add_argument(old.type, ir.Location.unknown()))
        done.erase()
        types = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        main.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get([a.type for a in block.arguments], types.results))


def _guard_divisions(work: ir.Module) -> None:
    """The interpreter dies of an integer division by zero or of the smallest integer by -1. Give it those results as
    XLA has them: x / 0 = -1, x % 0 = x, x / -1 = -x, x % -1 = 0."""
    for op in list(modules.walk(work)):
        if op.name in ("stablehlo.divide", "stablehlo.remainder") and is_integer(dtype_of(op.results[0])):
            x, y = op.operands
            with ir.InsertionPoint(op), op.location:
                by_zero, signed = ops.compare(y, 0, "EQ"), dtype_of(y).kind == "i"
                by_minus_one = ops.compare(y, -1, "EQ") if signed else by_zero
                safe = ops.select(ops.or_(by_zero, by_minus_one), 1, y)
                result = ops.create(op.name, [x.type], [x, safe]).result
                divide = op.name == "stablehlo.divide"
                if signed:
                    result = ops.select(by_minus_one, ops.negate(x) if divide else ops.splat(0, x), result)
                result = ops.select(by_zero, ops.not_(ops.splat(0, x)) if divide else x, result)
            op.results[0].replace_all_uses_with(result)
            op.erase()


def _spell_out_total_orders(work: ir.Module) -> None:
    """The interpreter compares floats in total order as others; their bits, as integers, are in that order."""
    for op in list(modules.walk(work)):
        if op.name == "stablehlo.compare" and "TOTALORDER" in str(op.attributes.get("compare_type")):
            with ir.InsertionPoint(op), op.location:
                left, right = (_ordered_bits(v) for v in op.operands)
                made = ops.compare(left, right, attr.decode(op.attributes["comparison_direction"]))
            op.results[0].replace_all_uses_with(made)
            op.erase()


def _ordered_bits(x: ir.Value) -> ir.Value:
    bits = ops.bitcast_convert(x, f"int{8 * dtype_of(x).itemsize}")
    sign = ops.shift_right_arithmetic(bits, 8 * dtype_of(x).itemsize - 1)
    return ops.xor(bits, ops.shift_right_logical(sign, 1))


def _copy_before_scatters(work: ir.Module) -> None:
    """The interpreter scatters into the memory of the operand, which others may still read: give it a copy."""
    for op in [each for each in modules.walk(work) if each.name == "stablehlo.scatter"]:
        with ir.InsertionPoint(op), op.location:
            for number in range(len(op.results)):
                x = op.operands[number]
                op.operands[number] = ops.select(ops.constant(True), x, x)


_INDICES = {"stablehlo.dynamic_slice": slice(1, None), "stablehlo.dynamic_update_slice": slice(2, None),
            "stablehlo.gather": slice(1, 2)}


def _places_of(op: ir.Operation) -> range:
    """Which operands are indices."""
    if op.name == "stablehlo.scatter":
        return range(len(op.results), len(op.results) + 1)
    return range(len(op.operands))[_INDICES.get(op.name, slice(0))]


def _sign_indices(work: ir.Module) -> None:
    """The interpreter reads unsigned indices as signed ones. All that are beyond int64 are outside of any array."""
    for op in list(modules.walk(work)):
        for number in _places_of(op):
            index = op.operands[number]
            if dtype_of(index).kind == "u":
                with ir.InsertionPoint(op), op.location:
                    if dtype_of(index) == np.uint64:
                        index = ops.minimum(index, np.iinfo(np.int64).max)
                    op.operands[number] = ops.convert(index, np.int64)


def _skip_windows(work: ir.Module) -> None:
    """As the specification has it, the interpreter writes what lies inside of a window that lies partly outside. XLA,
    and with it `jax.lax.scatter`, skips such a window: move it all outside."""
    for op in [each for each in modules.walk(work) if each.name == "stablehlo.scatter"]:
        (number,), d = _places_of(op), attr.decode(op.attributes["scatter_dimension_numbers"])
        extents, updates = shape_of(op.results[0]), shape_of(op.operands[number + 1])
        kept = [k for k in range(len(extents)) if k not in (*d.inserted_window_dims, *d.input_batching_dims)]
        windows = {k: updates[u] for k, u in zip(kept, d.update_window_dims, strict=True)}
        last = [extents[k] - windows.get(k, 1) for k in d.scatter_dims_to_operand_dims]
        if not last or all(windows.get(k, 1) == 1 for k in d.scatter_dims_to_operand_dims):
            continue
        with ir.InsertionPoint(op), op.location:
            index = ops.convert(op.operands[number], np.int64)
            shape, at = shape_of(index), d.index_vector_dim
            along = (at,) if at < len(shape) else ()
            most = ops.broadcast_in_dim(ops.constant(np.int64(last if along else last[0])), shape, along)
            inside = ops.and_(ops.compare(index, 0, "GE"), ops.compare(index, most, "LE"))
            if along:
                others = [k for k in range(len(shape)) if k != at]
                inside = ops.broadcast_in_dim(ops.reduce(inside, True, along, "and"), shape, others)
            op.operands[number] = ops.select(inside, index, -1 - max(extents))


def _empty_sums(work: ir.Module) -> None:
    """The interpreter dies of products of matrices that sum nothing up, which are 0."""
    for op in [each for each in modules.walk(work) if each.name == "stablehlo.dot_general"]:
        if 0 in shape_of(op.operands[0]) and 0 not in shape_of(op.results[0]):
            with ir.InsertionPoint(op), op.location:
                op.results[0].replace_all_uses_with(ops.splat(0, op.results[0]))
            op.erase()


def _spell_out_convolutions(work: ir.Module) -> None:
    """The interpreter adds products up in the dtype of the operands, not of the result, and dies of some convolutions
    whose results do not have batch, space and features in that order."""
    for op in [each for each in modules.walk(work) if each.name == "stablehlo.convolution"]:
        numbers, result = convolution.of(op), op.results[0]
        order = (numbers.out.first, *numbers.out.spatial, numbers.out.second)
        last = len(order) - 1
        usual = replace(numbers, out=convolution.Layout(0, last, tuple(range(1, last))))
        attributes = {name: op.attributes[name] for name in op.attributes}
        attributes["dimension_numbers"] = convolution.dimension_numbers(usual)
        kind = tensor_type(tuple(shape_of(result)[d] for d in order), dtype_of(result))
        with ir.InsertionPoint(op), op.location:
            operands = [ops.convert(x, dtype_of(result)) for x in op.operands]
            made = ops.create(op.name, [kind], operands, attributes).result
            made = ops.transpose(made, [order.index(d) for d in range(last + 1)])
        result.replace_all_uses_with(made)
        op.erase()


def _fix_random_numbers(work: ir.Module) -> None:
    """A uniform number is any in its range; here the lowest."""
    for op in [each for each in modules.walk(work) if each.name == "stablehlo.rng"]:
        op.results[0].replace_all_uses_with(op.operands[0])
        op.erase()


def _attributes(main: ir.Operation, arguments: Sequence[np.ndarray]) -> list[ir.Attribute]:
    parameters = list(main.regions[0].blocks[0].arguments)
    if len(parameters) != len(arguments):
        raise ValueError(f"{len(arguments)} arguments for {len(parameters)} parameters")
    dense = [attr.dense(np.asarray(value)) for value in arguments]
    for i, (parameter, value) in enumerate(zip(parameters, dense, strict=True)):
        if parameter.type != value.type:
            raise ValueError(f"argument {i} is {value.type}, the parameter {parameter.type}")
    return dense


def _split_complex_results(main: ir.Operation) -> list[np.dtype]:
    """Return real and imaginary parts separately: the bindings cannot hand out complex attributes."""
    block = main.regions[0].blocks[0]
    terminator = list(block)[-1].operation
    values = list(terminator.operands)
    dtypes = [shape_and_dtype(value.type)[1] for value in values]
    if any(map(is_complex, dtypes)):
        with ir.InsertionPoint(terminator), ir.Location.unknown():
            parts = [part for value, dtype in zip(values, dtypes, strict=True)
                     for part in ((ops.real(value), ops.imag(value)) if is_complex(dtype) else (value,))]
            ops.create("func.return", [], parts)
        terminator.erase()
        inputs = [argument.type for argument in block.arguments]
        main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, [p.type for p in parts]))
    return dtypes


def _joined(results: Sequence[ir.Attribute], dtypes: Sequence[np.dtype]) -> list[np.ndarray]:
    arrays = iter([attr.read(result) for result in results])
    out = []
    for dtype in dtypes:
        if is_complex(dtype):
            array = np.empty_like(re := next(arrays), dtype)
            array.real, array.imag = re, next(arrays)
        else:
            array = next(arrays)
        out.append(array)
    return out

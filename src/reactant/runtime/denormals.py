"""Programs that compute with denormal numbers, as NumPy does.

XLA:CPU sets the processor to take them for zero while a program runs (jax 0.10.2; `xla_cpu_ftz` changes what LLVM
assumes, not that). So a program begins with a call that sets it right again (`reactant.native.denormals`), and the rest
is a function that takes the call's result and that XLA is told not to inline: it runs after the call in that thread, or
in one of those that the call has set right for good.
"""
from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from reactant.ir import modules
from reactant.ir.types import dtype_of, is_complex, is_float

BODY = "reactant_body"
MOVES = frozenset(f"stablehlo.{name}" for name in (
    "constant", "reshape", "transpose", "broadcast_in_dim", "slice", "dynamic_slice", "dynamic_update_slice", "reverse",
    "concatenate", "pad", "gather", "select", "iota", "custom_call", "return", "optimization_barrier", "while", "if",
    "case", "real", "imag", "complex", "negate", "bitcast_convert", "is_finite", "get_tuple_element", "tuple"
)) | {"func.func", "func.return", "func.call"}
"""Ops that leave numbers as they are, whatever the mode, or work apart."""


def concerned(module: ir.Module) -> bool:
    """Whether XLA computes with floats in it."""
    return any(map(_computes, modules.walk(module)))


def _computes(op: ir.Operation) -> bool:
    if op.name == "stablehlo.abs":      # of a complex number, a root of a sum
        return is_complex(dtype_of(op.operands[0]))
    return op.name not in MOVES and any(map(_is_of_floats, (*op.operands, *op.results)))


def _is_of_floats(value: ir.Value) -> bool:
    if not isinstance(value.type, ir.RankedTensorType):     # a token
        return False
    dtype = dtype_of(value)
    return is_float(dtype) or is_complex(dtype)


def begun_with(module: ir.Module, target: str) -> None:
    """Make `@main` of the module one that calls `target` first."""
    with module.context, ir.Location.unknown():
        whole = next(op for op in module.body.operations
                     if isinstance(op, func.FuncOp) and op.sym_name.value == "main")
        inputs, results = list(whole.type.inputs), list(whole.type.results)
        told = ir.Type.parse("tensor<ui32>")      # of jax's context, not ours
        with ir.InsertionPoint(whole):
            main = func.FuncOp("main", ir.FunctionType.get(inputs, results))
        main.arg_attrs, main.result_attrs = whole.arg_attrs, whole.result_attrs
        for name in ("arg_attrs", "res_attrs"):
            if name in whole.attributes:
                del whole.attributes[name]
        whole.attributes["sym_name"] = ir.StringAttr.get(BODY)
        whole.attributes["sym_visibility"] = ir.StringAttr.get("private")
        main.attributes["sym_visibility"] = ir.StringAttr.get("public")
        whole.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([*inputs, told], results))
        whole.entry_block.add_argument(told, ir.Location.unknown())
        with ir.InsertionPoint(main.add_entry_block()):
            ready = ir.Operation.create("stablehlo.custom_call", results=[told], operands=[], attributes={
                "call_target_name": ir.StringAttr.get(target), "has_side_effect": ir.BoolAttr.get(True),
                "mhlo.backend_config": ir.DictAttr.get({}), "api_version": ir.Attribute.parse("4 : i32")}).result
            call = func.CallOp(results, ir.FlatSymbolRefAttr.get(BODY), [*main.arguments, ready])
            call.operation.attributes["mhlo.frontend_attributes"] = ir.DictAttr.get(
                {"inlineable": ir.StringAttr.get("false")})
            func.ReturnOp(call.results)

"""MLIR attributes to Python values and back, cached: decoding one costs 3 us, a cached look-up 0.1 us."""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from reactant.ir.types import element_type, real_dtype, shape_and_dtype, tensor_type


@cache
def integers(values: tuple[int, ...]) -> ir.Attribute:
    """`array<i64: ...>`."""
    return ir.DenseI64ArrayAttr.get(values)


@cache
def booleans(values: tuple[bool, ...]) -> ir.Attribute:
    return ir.DenseBoolArrayAttr.get(values)


@cache
def integer(value: int, bits: int = 64) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(bits), value)


@cache
def boolean(value: bool) -> ir.Attribute:
    return ir.BoolAttr.get(value)


@cache
def string(value: str) -> ir.Attribute:
    return ir.StringAttr.get(value)


@cache
def parse(text: str) -> ir.Attribute:
    """An attribute from its MLIR text."""
    return ir.Attribute.parse(text)


@cache
def integer_matrix(rows: tuple[tuple[int, ...], ...]) -> ir.Attribute:
    """`dense<[[...]]> : tensor<r x c x i64>`, the form of convolution and window padding."""
    array = np.asarray(rows, np.int64).reshape(len(rows), -1 if rows else 2)
    return ir.DenseElementsAttr.get(array, type=ir.IntegerType.get_signless(64))


def dense(array: np.ndarray) -> ir.Attribute:
    """A DenseElementsAttr with the content of `array`; a uniform array becomes a splat."""
    array = np.asarray(array)
    type_ = tensor_type(array.shape, array.dtype)
    if array.size and array.dtype.kind != "c" and (not any(array.strides) or _uniform(array)):
        if not any(array.strides):
            return _splat_cached(type_, array[(0,) * array.ndim].tobytes())
        return _splat_cached(type_, np.ascontiguousarray(array.reshape(-1)[:1]).tobytes())
    data = np.array(array, order="C", copy=None)
    if data.dtype == bool:
        return ir.DenseElementsAttr.get(data, type=element_type(data.dtype), shape=list(array.shape))
    if data.dtype.name in ("int4", "uint4"):
        data = data.astype(np.int8 if data.dtype.name == "int4" else np.uint8)
        return ir.DenseElementsAttr.get(data, type=element_type(array.dtype), shape=list(array.shape))
    if data.dtype.kind == "V" or data.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        data = data.view(np.uint16 if data.dtype.itemsize == 2 else np.uint8)
    return ir.DenseElementsAttr.get(data, type=element_type(array.dtype), shape=list(array.shape))


def _uniform(array: np.ndarray) -> bool:
    """All elements bitwise equal (so that -0.0 and 0.0 differ and equal NaNs count as uniform)."""
    if any(extent > 1 and stride for extent, stride in zip(array.shape, array.strides, strict=True)):
        flat = np.ascontiguousarray(array).reshape(-1)
        if flat.size > 16 and flat[:1].tobytes() != flat[-1:].tobytes():
            return False
        raw = flat.view(np.uint8).reshape(flat.size, -1)
        return bool((raw == raw[0]).all())
    return True


def full(shape: Sequence[int], number: np.ndarray) -> ir.Attribute:
    """A DenseElementsAttr of `shape` whose elements all are the 0-d array `number`."""
    if number.dtype.kind == "c" or not all(shape):
        return dense(np.broadcast_to(number, shape))
    return _splat_cached(tensor_type(tuple(shape), number.dtype), number.tobytes())


_FLOATS = {"float16", "float32", "float64"}


@cache
def _splat_cached(type_: ir.Type, raw: bytes) -> ir.Attribute:
    shape, dtype = shape_and_dtype(type_)
    value = np.frombuffer(raw, dtype)[0]
    if dtype.kind == "b":
        element = ir.BoolAttr.get(bool(value))
    elif dtype.kind in "iu" or dtype.name in ("int4", "uint4"):
        # the binding takes a signed 64-bit number: the upper half of uint64 goes in by its bit pattern
        number = int(value.view(np.int64)) if dtype == np.uint64 else int(value)
        element = ir.IntegerAttr.get(element_type(dtype), number)
    else:       # by its bits, for NaNs and for floats that NumPy does not know
        bits = np.frombuffer(raw, dtype if dtype.kind == "f" and dtype.name in _FLOATS else f"uint{8 * dtype.itemsize}")
        return ir.DenseElementsAttr.get(bits, type=element_type(dtype), shape=list(shape))
    return ir.DenseElementsAttr.get_splat(type_, element)


@cache
def elements(attribute: ir.Attribute) -> np.ndarray:
    """The content of a DenseElementsAttr as a read-only array of its dtype; splats are broadcast (stride 0)."""
    return read(attribute)


def read(attribute: ir.Attribute) -> np.ndarray:
    """`elements` for contents met once, which a cache would only keep alive."""
    shape, dtype = shape_and_dtype(attribute.type)
    if dtype.kind not in "biuf" or dtype.name in _TEXT_ONLY:
        return elements_of_text(str(attribute))
    value = ir.DenseElementsAttr(attribute)
    if value.is_splat and len(shape) and dtype.kind == "b":
        scalar = ir.DenseElementsAttr(_scalar_of_splat(attribute, dtype))
        return np.broadcast_to(_read(scalar, (), dtype), shape)
    array = _read(value, shape, dtype)
    array.flags.writeable = False
    return array


def _scalar_of_splat(attribute: ir.Attribute, dtype: np.dtype) -> ir.Attribute:
    text = str(attribute)
    return ir.Attribute.parse(text[:text.rindex(" : ")] + f" : {tensor_type((), dtype)}")


def _read(value: ir.DenseElementsAttr, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    if not all(shape):
        return np.empty(shape, dtype)
    if dtype.kind == "b":  # packed in the attribute
        return np.array(value, copy=True).view(dtype).reshape(shape)
    return np.asarray(value).view(dtype).reshape(shape)  # the attribute's own memory: it lives as long as the context


_TEXT_ONLY = {"bfloat16", "float8_e4m3fn", "float8_e5m2", "int4", "uint4"}


def complex_elements(text: str) -> np.ndarray:
    """The content of a complex constant from the text of its op: the bindings cannot cast such attributes."""
    return _complex_kept(text) if len(text) <= MOST_TEXT else _complex(text)


MOST_TEXT = 1 << 16
"""Characters of a complex constant that are kept, with its content, for when it is asked for again."""


def _complex(text: str) -> np.ndarray:
    return elements_of_text(text[text.index("dense<"):].partition("}> : ")[0])     # an op still being built is generic


_complex_kept = lru_cache(maxsize=256)(_complex)


def elements_of_text(text: str) -> np.ndarray:
    """The array of `dense<...> : tensor<...>`, for the element types whose buffers the bindings cannot give. The text
    is exact: shortest round-trip decimals, hexadecimal bits for NaN and infinities and for big contents."""
    body, _, type_text = text.removeprefix("dense<").rpartition("> : ")
    shape, dtype = shape_and_dtype(ir.Type.parse(type_text))
    part = real_dtype(dtype)
    if body.startswith('"0x'):
        data = np.frombuffer(bytes.fromhex(body[3:-1]), dtype)
    else:
        words = [w for w in body.translate(_NO_BRACKETS).split(",") if w.strip()]
        data = np.array([_number_of_text(w, part) for w in words], part).view(dtype)
    array = np.broadcast_to(data, shape) if data.size == 1 and shape else data.reshape(shape).copy()
    array.flags.writeable = False
    return array


_NO_BRACKETS = str.maketrans("", "", "[]() ")


def _number_of_text(text: str, dtype: np.dtype) -> np.generic:
    if text.startswith("0x"):
        return np.array(int(text, 16), f"uint{8 * dtype.itemsize}").view(dtype)[()]
    return dtype.type(int(text) if "int" in dtype.name else float(text))


@cache
def decode(attribute: ir.Attribute) -> Any:
    """The Python value of an attribute: int, bool, str, tuple, ndarray; others are returned as they are."""
    for kind, read in _DECODERS:
        if isinstance(attribute, kind) or (hasattr(kind, "isinstance") and kind.isinstance(attribute)):
            return read(kind(attribute))
    return attribute


_DECODERS: tuple[tuple[Any, Callable[[Any], object]], ...] = (
    (ir.DenseI64ArrayAttr, lambda a: tuple(a)),
    (ir.DenseBoolArrayAttr, lambda a: tuple(bool(v) for v in a)),
    (ir.BoolAttr, lambda a: bool(a.value)),
    (ir.IntegerAttr, lambda a: int(a.value)),
    (ir.FloatAttr, lambda a: float(a.value)),
    (ir.StringAttr, lambda a: a.value),
    (ir.FlatSymbolRefAttr, lambda a: a.value),
    (ir.ArrayAttr, lambda a: tuple(decode(v) for v in a)),
    (ir.DenseElementsAttr, elements),
    (stablehlo.ComparisonDirectionAttr, lambda a: a.value),
    (stablehlo.ComparisonTypeAttr, lambda a: a.value),
    (stablehlo.FftTypeAttr, lambda a: a.value),
    (stablehlo.TransposeAttr, lambda a: a.value),
)


def row_major(types: Sequence[ir.Type]) -> ir.Attribute:
    """Layouts of operands or results of a custom call: all row-major."""
    index = ir.IndexType.get()

    def layout(rank: int) -> ir.Attribute:
        order = np.arange(rank)[::-1].astype(np.int64)
        return ir.DenseIntElementsAttr.get(order, type=ir.RankedTensorType.get([rank], index))
    return ir.ArrayAttr.get([layout(ir.RankedTensorType(t).rank) for t in types])


def aliases(results: int, operand_of: Mapping[int, int]) -> ir.Attribute:
    """`output_operand_aliases` of a custom call of so many results: result `i` lies where operand `operand_of[i]` does.
    XLA copies the operand before where its old contents are still needed."""
    return ir.ArrayAttr.get([ir.Attribute.parse(
        f"#stablehlo.output_operand_alias<output_tuple_indices = [{i if results > 1 else ''}], "
        f"operand_index = {operand}, operand_tuple_indices = []>") for i, operand in operand_of.items()])


@cache
def comparison_direction(name: str) -> ir.Attribute:
    return stablehlo.ComparisonDirectionAttr.get(name)


@cache
def comparison_type(name: str) -> ir.Attribute:
    return stablehlo.ComparisonTypeAttr.get(name)


class DotDimensions(NamedTuple):
    """Decoded `#stablehlo.dot`; pairs (left, right). `ops.dot_general(x, y, **d._asdict())`."""
    contracting_dims: tuple[tuple[int, ...], tuple[int, ...]]
    batching_dims: tuple[tuple[int, ...], tuple[int, ...]]


class GatherDimensions(NamedTuple):
    """Decoded `#stablehlo.gather`; field names are those of `ops.gather`."""
    offset_dims: tuple[int, ...]
    collapsed_slice_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...]
    start_indices_batching_dims: tuple[int, ...]
    start_index_map: tuple[int, ...]
    index_vector_dim: int


class ScatterDimensions(NamedTuple):
    """Decoded `#stablehlo.scatter`; field names are those of `ops.scatter`."""
    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    input_batching_dims: tuple[int, ...]
    scatter_indices_batching_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    index_vector_dim: int


def _dot_dimensions(a: ir.Attribute) -> DotDimensions:
    return DotDimensions((tuple(a.lhs_contracting_dimensions), tuple(a.rhs_contracting_dimensions)),
                         (tuple(a.lhs_batching_dimensions), tuple(a.rhs_batching_dimensions)))


def _gather_dimensions(a: ir.Attribute) -> GatherDimensions:
    return GatherDimensions(tuple(a.offset_dims), tuple(a.collapsed_slice_dims), tuple(a.operand_batching_dims),
                            tuple(a.start_indices_batching_dims), tuple(a.start_index_map), a.index_vector_dim)


def _scatter_dimensions(a: ir.Attribute) -> ScatterDimensions:
    return ScatterDimensions(tuple(a.update_window_dims), tuple(a.inserted_window_dims),
                             tuple(a.input_batching_dims), tuple(a.scatter_indices_batching_dims),
                             tuple(a.scattered_dims_to_operand_dims), a.index_vector_dim)


_DECODERS += (
    (stablehlo.DotDimensionNumbers, _dot_dimensions),
    (stablehlo.GatherDimensionNumbers, _gather_dimensions),
    (stablehlo.ScatterDimensionNumbers, _scatter_dimensions),
)


def _list(values: Sequence[int]) -> list[int]:
    return [int(v) for v in values]


def dot_dimension_numbers(batch: tuple[Sequence[int], Sequence[int]],
                          contract: tuple[Sequence[int], Sequence[int]]) -> ir.Attribute:
    """`#stablehlo.dot`: pairs (left, right) of batching and of contracting dimensions."""
    return _dot_numbers(tuple(batch[0]), tuple(batch[1]), tuple(contract[0]), tuple(contract[1]))


@cache
def _dot_numbers(*numbers: tuple[int, ...]) -> ir.Attribute:
    return stablehlo.DotDimensionNumbers.get(*map(_list, numbers))


def enumerator(attribute: ir.Attribute) -> str:
    """The word of an enumeration: "x" of `#gpu<dim x>`, which later versions of MLIR print as `#gpu.dim<x>`."""
    return re.split(r"[ <]", str(attribute).rstrip(">"))[-1]

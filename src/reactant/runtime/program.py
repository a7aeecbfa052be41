"""One StableHLO module as one jax primitive, and the compiled variants of it.

jax sees a single primitive whose lowering inlines the module, so its dispatch, donation, sharding, compile cache and
outer `jax.jit` all apply. A *variant* says how the arguments and results are held in memory:

- a *borrowed* argument is NumPy's own memory at any alignment. XLA wants 64-byte aligned buffers and copies others,
  so the program takes the enclosing aligned flat buffer and slices the array out of it at a run-time offset; XLA
  fuses that slice into element-wise consumers.
- a *recycled* result is written into a buffer given (donated) by the caller.
"""
from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func as func_dialect

from reactant.ir import context, cusolver, modules, types
from reactant.legalize import legalization
from reactant.runtime import denormals, heap, lent
from reactant.runtime.jax_internals import (
    X64,
    Primitive,
    alike_varying,
    apart,
    call_of,
    checked_call,
    compiled_as,
    initialize_hybrid_kernels,
    initialize_lapack,
    result_type,
    serialized,
)
from reactant.support import progress
from reactant.support.records import dataclass
from reactant.support.session import collecting_later

ALIGNMENT = 64
"""What XLA:CPU requires of a buffer's address, in bytes."""
AT_RUN_TIME = -1
"""The offset of a borrowed argument that each call tells."""


@dataclass(frozen=True)
class Array:
    """Shape and dtype of one argument or result of `@main`."""

    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        """Number of elements."""
        return types.size(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of a dense array."""
        return self.size * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, eq=False)
class Body:
    """A frozen module: identity is the key, so jax never hashes or compares the bytes."""

    bytecode: bytes
    name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    weak: frozenset[int] = frozenset()
    """Results of weak type, as jax calls it."""
    source: bytes | None = None
    """The module to differentiate, where it says more about derivatives than the one that runs."""
    native: bytes | None = None
    """The module that a CPU runs, where parts of it are calls of native code."""
    general: bytes | None = None
    """The module before the forms that suit a target: it goes into other programs, which are simplified as a whole."""
    workspace: int = 0
    """Bytes that a call of native code works in, beside XLA's temporaries."""
    callbacks: tuple[Callable, ...] = ()
    """What calls of Python in the module run, by the `index` that they have."""
    as_jax: bool = False
    """Whether NaN may be lost between devices, as in jax."""
    prelude: str | None = None
    """The call after which a thread computes with denormal numbers (`reactant.native.denormals`)."""
    kept: Any = None
    """Where compiled forms of it are looked up and kept (`find(variant, options)`, `keep(variant, options, bytes)`)."""


@dataclass(frozen=True)
class Variant:
    """How one compiled form holds its arguments and results; see the module's docstring."""

    borrowed: tuple[tuple[int, int], ...] = ()
    """(argument, elements by which it starts past a multiple of 64 bytes, or `AT_RUN_TIME`)."""
    recycled: tuple[int, ...] = ()
    donated: tuple[int, ...] = ()


def body_of(module: ir.Module, name: str, weak: Sequence[int] = (), native: ir.Module | None = None,
            general: bytes | None = None, callbacks: Sequence[Callable] = (), as_jax: bool = False,
            contract: bool = False, prelude: str | None = None) -> Body:
    """Freeze `module`, whose public `@main` takes and returns statically shaped tensors; `native` is run in its place
    on a CPU, `general` is what other programs take; `callbacks` are what calls of Python in it run. `as_jax`,
    `contract` and `prelude` as in `Executable`.

    Raises `ValueError` where there is no such function.
    """
    with context.building():
        functions = {op.sym_name.value: op for op in module.body.operations if isinstance(op, func_dialect.FuncOp)}
        if "main" not in functions:
            others = ", ".join(f"@{other}" for other in functions)
            raise ValueError(f"the module has no function @main, which is run{f'; it has {others}' if others else ''}")
        kind, source = functions["main"].type, modules.take_source(module)
        return Body(legalization.legal(module, as_jax, contract), name, tuple(_array(t, name) for t in kind.inputs),
                    tuple(_array(t, name) for t in kind.results), frozenset(weak), source,
                    None if native is None else legalization.legal(native, as_jax, contract), general,
                    0 if native is None else _workspace(native), tuple(callbacks), as_jax,
                    prelude if denormals.concerned(native or module) else None)


def _workspace(native: ir.Module) -> int:
    """What calls of native code work in; they run one after the other."""
    configured = (op.attributes["backend_config"] for op in modules.walk(native.operation)
                  if op.name == "stablehlo.custom_call" and "backend_config" in op.attributes)
    told = [ir.DictAttr(each)["workspace"] for each in configured
            if isinstance(each, ir.DictAttr) and "workspace" in ir.DictAttr(each)]
    return max((int(ir.IntegerAttr(each).value) for each in told), default=0)


def _array(type_: ir.Type, name: str) -> Array:
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
        raise ValueError(f"@main of {name!r} has the type {type_}: only tensors of static shape can be run.")
    shape, dtype = types.shape_and_dtype(type_)
    return Array(tuple(shape), dtype)


run_module = Primitive("reactant_module")
run_module.multiple_results = True


@run_module.def_abstract_eval
def _abstract(*given: Any, body: Body) -> list[Any]:
    return [result_type(a.shape, a.dtype, given, i in body.weak) for i, a in enumerate(body.outputs)]


def fitted(arguments: Sequence[Any], arrays: Sequence[Array]) -> list[Any]:
    """Python numbers and NumPy arrays, which are 64-bit whatever jax takes them for, in the dtypes of `arrays`."""
    return alike_varying([argument if isinstance(argument, jax.Array) else apart(np.asarray(argument, array.dtype))
                          for argument, array in zip(arguments, arrays, strict=True)])


@run_module.def_impl
def _evaluate(*arguments: Any, body: Body) -> list[Any]:
    with X64():
        return jax.jit(lambda *inner: run_module.bind(*inner, body=body))(*fitted(arguments, body.inputs))


def _lower(ctx: jax_mlir.LoweringRuleContext, *arguments: ir.Value, body: Body) -> Sequence[ir.Value]:
    return _inlined(ctx, arguments, body, _elsewhere(_for_devices(ctx, body, body.bytecode), "other"))


def _lower_on_gpu(vendor: str) -> Callable[..., Sequence[ir.Value]]:
    def lower(ctx: jax_mlir.LoweringRuleContext, *arguments: ir.Value, body: Body) -> Sequence[ir.Value]:
        return _inlined(ctx, arguments, body, _elsewhere(_for_devices(ctx, body, body.bytecode), vendor))
    return lower


def _elsewhere(bytecode: bytes, platform: str) -> bytes:
    made = legalization.legal_elsewhere(bytecode, platform)
    if made is not bytecode and cusolver.ON_HOST in made:
        initialize_hybrid_kernels()
    return made


def _lower_on_cpu(ctx: jax_mlir.LoweringRuleContext, *arguments: ir.Value, body: Body) -> Sequence[ir.Value]:
    bytecode = body.native or body.bytecode
    if b"lapack_" in bytecode:      # not known yet where a program comes from a file
        initialize_lapack()
    if _is_spread(ctx):
        return _inlined(ctx, arguments, body, _for_devices(ctx, body, bytecode))
    return _inlined(ctx, arguments, body, legalization.legal_on_cpu(bytecode, body.prelude is not None))


def _for_devices(ctx: jax_mlir.LoweringRuleContext, body: Body, bytecode: bytes) -> bytes:
    """The module for as many devices as the program is compiled for."""
    return legalization.legal_over_devices(bytecode) if _is_spread(ctx) and not body.as_jax else bytecode


def _is_spread(ctx: jax_mlir.LoweringRuleContext) -> bool:
    return getattr(ctx.module_context.axis_context, "num_devices", 1) != 1


def lower_to_differentiate(ctx: jax_mlir.LoweringRuleContext, *arguments: ir.Value, body: Body) -> Sequence[ir.Value]:
    """As the lowering of `run_module`, but to a module that can be differentiated, marks in it included."""
    return _inlined(ctx, arguments, body, body.source or body.general or body.bytecode)


def lower_to_simplify(ctx: jax_mlir.LoweringRuleContext, *arguments: ir.Value, body: Body) -> Sequence[ir.Value]:
    """As the lowering of `run_module`, but to a module without native code and other forms that suit a target."""
    return _inlined(ctx, arguments, body, body.general or body.bytecode)


def _inlined(ctx: jax_mlir.LoweringRuleContext, arguments: Sequence[ir.Value], body: Body,
             bytecode: bytes) -> Sequence[ir.Value]:
    destination = ctx.module_context.module
    source = ir.Module.parse(bytecode, context=destination.context)
    if body.callbacks:
        _hand_over(source, body.callbacks, ctx.module_context)
    results = next(list(op.type.results) for op in source.body.operations
                   if isinstance(op, func_dialect.FuncOp) and op.sym_name.value == "main")
    name = jax_mlir.merge_mlir_modules(destination, body.name, source, dst_symtab=ctx.module_context.symbol_table)
    return func_dialect.CallOp(results, ir.FlatSymbolRefAttr.get(name), list(arguments)).results


def _hand_over(module: ir.Module, callbacks: Sequence[Callable], where: Any) -> None:
    """Give the callbacks to the program that jax builds, and the calls in `module` their numbers there."""
    first = len(where.host_callbacks)
    for callback in callbacks:
        where.add_host_callback(callback)
    for op in modules.ops_called("stablehlo.custom_call", module):
        if "mhlo.backend_config" in op.attributes \
                and "index" in (config := ir.DictAttr(op.attributes["mhlo.backend_config"])):
            number = ir.IntegerAttr(config["index"])
            moved = ir.IntegerAttr.get(number.type, number.value + first)
            op.attributes["mhlo.backend_config"] = ir.DictAttr.get(
                {each.name: each.attr for each in config} | {"index": moved})


jax_mlir.register_lowering(run_module, _lower)
jax_mlir.register_lowering(run_module, _lower_on_cpu, platform="cpu")
for _vendor in cusolver.VENDORS:
    jax_mlir.register_lowering(run_module, _lower_on_gpu(_vendor), platform=_vendor)


def padding(array: Array, offset: int) -> int:
    """Elements by which the flat buffer of a borrowed argument exceeds the array."""
    return ALIGNMENT // array.dtype.itemsize - 1 if offset == AT_RUN_TIME else offset


def parameters_of(body: Body, variant: Variant) -> list[Array]:
    """The arguments of the compiled form: the module's, then the run-time offsets if any, then the buffers."""
    own = list(body.inputs)
    for index, offset in variant.borrowed:
        own[index] = Array((own[index].size + padding(own[index], offset),), own[index].dtype)
    told = sum(offset == AT_RUN_TIME for _, offset in variant.borrowed)
    return own + [Array((told,), np.dtype(np.int64))] * bool(told) + [body.outputs[i] for i in variant.recycled]


def _sliced(given: Sequence[Any], body: Body, variant: Variant) -> list[Any]:
    """The module's arguments, out of the parameters of the compiled form."""
    inner, told = list(given[:len(body.inputs)]), 0
    for index, offset in variant.borrowed:
        array = body.inputs[index]
        if offset == AT_RUN_TIME:
            flat = lax.dynamic_slice(inner[index], (given[len(body.inputs)][told],), (array.size,))
            told += 1
        else:
            flat = lax.slice(inner[index], (offset,), (offset + array.size,))
        inner[index] = lax.reshape(flat, array.shape)
    return inner


def _lending(body: Body, variant: Variant) -> Body | None:
    """The body whose native calls read borrowed arguments where they lie, if it has native calls."""
    if body.native is None or not variant.borrowed:
        return None
    lengths = {index: body.inputs[index].size + padding(body.inputs[index], offset)
               for index, offset in variant.borrowed}
    told = any(offset == AT_RUN_TIME for _, offset in variant.borrowed)
    inputs = [Array((lengths[i],), a.dtype) if i in lengths else a for i, a in enumerate(body.inputs)]
    inputs += [Array((len(lengths),), np.dtype(np.int64))] * told
    native = lent.with_lent(body.native, lengths, None if told else [offset for _, offset in variant.borrowed])
    return replace(body, native=native, bytecode=native, source=None, inputs=tuple(inputs))


FEW = 1000
"""Compiled programs that may live before the collector is asked to look. Each takes nine or more maps of memory, of
which Linux gives a process 65,530; those held in cycles (objects whose methods are compiled) wait for the collector."""
_ALIVE: weakref.WeakSet[Any] = weakref.WeakSet()
_MOST_ALIVE = [FEW]


def note_alive(program: Any) -> None:
    """Say that `program` is about to be compiled."""
    if len(_ALIVE) >= _MOST_ALIVE[0]:
        gc.collect()
        _MOST_ALIVE[0] = max(FEW, 2 * len(_ALIVE))
    _ALIVE.add(program)


absent = Primitive("reactant_absent")
absent.multiple_results = True
"""Stands in a program for a module whose executable is there already: jax needs the types around it."""


@absent.def_abstract_eval
def _types_of_absent(*given: Any, body: Body) -> list[Any]:
    return [result_type(a.shape, a.dtype, (), i in body.weak) for i, a in enumerate(body.outputs)]


@partial(jax_mlir.register_lowering, absent)
def _lower_absent(ctx: jax_mlir.LoweringRuleContext, *arguments: ir.Value, body: Body) -> Sequence[ir.Value]:
    results = [ir.Type.parse(str(types.tensor_type(a.shape, a.dtype))) for a in body.outputs]     # in jax's context
    made = ir.Operation.create("stablehlo.custom_call", results=results,
                               operands=list(arguments),
                               attributes={"call_target_name": ir.StringAttr.get("reactant.absent")})
    return list(made.results)


def recalled(lowered: Callable[[], Any], body: Body, variant: Variant, options: Mapping[str, Any]) -> Any:
    """The executable of the compile cache, for what `lowered` gives; None where it has none that jaxlib takes."""
    data = body.kept.find(variant, options)
    if data is None:
        return None
    if b"lapack_" in (body.native or body.bytecode):
        initialize_lapack()
    with collecting_later():
        made = lowered()
        try:
            return compiled_as(made, data)
        except Exception:       # jaxlib's errors have no common class
            return None


def _whole(body: Body, variant: Variant) -> Callable[..., list[Any]]:
    """What jax compiles."""
    lending = _lending(body, variant)

    def whole(*given: Any) -> list[Any]:
        if lending is not None:
            return run_module.bind(*given[:len(lending.inputs)], body=lending)      # type: ignore[no-any-return]
        return run_module.bind(*_sliced(given, body, variant), body=body)           # type: ignore[no-any-return]
    return whole


class Program:
    """A compiled variant: `run(*parameters)` takes what `parameters_of` lists and returns a list of `jax.Array`."""

    def __init__(self, body: Body, variant: Variant, options: Mapping[str, Any],
                 sharding: jax.sharding.Sharding | None = None, places: tuple[Any, Any] | None = None) -> None:
        """sharding: where everything is. places: instead, where each parameter is, and each result."""
        begun = time.perf_counter()
        note_alive(self)
        parameters = parameters_of(body, variant)
        first_buffer = len(parameters) - len(variant.recycled)
        donated = variant.donated + tuple(range(first_buffer, len(parameters)))
        own = places is None and body.kept is not None
        places = (sharding, sharding) if places is None and sharding is not None else places
        placed = {} if places is None else {"in_shardings": places[0], "out_shardings": places[1]}

        def lowered(whole: Callable[..., list[Any]]) -> Any:
            whole.__name__ = whole.__qualname__ = body.name
            return jax.jit(whole, donate_argnums=donated, keep_unused=True, **placed).lower(
                *(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in parameters))

        with X64(), progress.step(f"XLA compiles {body.name!r}"):
            self.compiled: Any = recalled(lambda: lowered(lambda *given: absent.bind(*given, body=body)), body, variant,
                                          options) if own else None
            if self.compiled is None:
                made = lowered(_whole(body, variant))
                if sharding is not None and body.prelude is not None:
                    denormals.begun_with(made.compiler_ir(), body.prelude)
                self.compiled = made.compile(compiler_options=dict(options) or None)
                if own and (data := serialized(self.compiled)) is not None:
                    body.kept.keep(variant, options, data)
        self._run = heap.keeping(self.compiled.__call__, temporaries(self.compiled))
        self.variant = variant
        self.seconds = time.perf_counter() - begun

    def run(self, *parameters: Any) -> list[Any]:
        """Run; the first time, or while jax is tracing, through jax's Python."""
        return self._run(*map(apart, parameters))

    def shortest(self) -> Callable[..., list[Any]]:
        """`run` of a program that has run before, without Python in between."""
        return call_of(self.compiled) if self._run == self.compiled.__call__ else self._run

    def checked(self, fits: Callable[[tuple], bool], alone: bool) -> Callable[..., Any] | None:
        """`shortest` for device arrays for which `fits` holds (`checked_call`), if this jax has such a call."""
        made = checked_call(self.compiled, fits, alone)
        return None if made is None else heap.keeping(made, temporaries(self.compiled))


def temporaries(compiled: Any) -> int:
    """Bytes of temporaries of one run on a CPU; 0 where they come from elsewhere or are not known."""
    if jax.default_backend() != "cpu":
        return 0
    sizes = compiled.memory_analysis()
    return 0 if sizes is None else int(sizes.temp_size_in_bytes)

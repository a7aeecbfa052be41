"""JAX functions as parts of a traced program: `call_jax(f, *values)` lowers `f` and splices its ops in.

Decompositions (in LAPACK's form, whatever the device: `ir.cusolver`) and random bits come from `jax.lax` this way, so
the project has no numerical kernels of its own. JAX lowers in its own MLIR context; the module travels into ours as
bytecode. What JAX writes there is long; it is simplified once (`prepare_with`), not wherever it is put in.
"""
from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import lru_cache

import jax
import numpy as np
from jax._src.lax.linalg import geqrf  # private: the packed form of qr, which jax.lax.linalg does not export
from jaxlib.mlir import ir

from reactant.differentiate import requests
from reactant.frontends.session.trace import Trace
from reactant.ir import cusolver, gpu_scans, modules, ops
from reactant.ir.splice import moved
from reactant.ir.types import Shape, shape_and_dtype
from reactant.options import CompileOptions
from reactant.rewrite.report import is_following
from reactant.runtime.devices import default_device

__all__ = ["call_jax", "geqrf", "prepare_with", "splice"]

_prepare: list[Callable[[ir.Module, CompileOptions], object]] = []


def prepare_with(prepare: Callable[[ir.Module, CompileOptions], object]) -> None:
    """Have this simplify, in place, what JAX lowers for a trace with these options: passes lie above frontends."""
    _prepare[:] = [prepare]


def call_jax(function: Callable, *values: ir.Value, **static: object) -> list[ir.Value]:
    """The results of `function(*arrays, **static)` for `values`, built at the current insertion point.

    `function` must be hashable and stay the same object from call to call (a module-level function): lowering is
    cached by it, the types of `values` and `static`. Its results are arrays or flat sequences of them.
    """
    types = tuple(shape_and_dtype(v.type) for v in values)
    what = function, types, tuple(sorted(static.items())), default_device().platform
    trace = Trace.current()
    options = None if trace is None else trace.options
    # who follows rewrites wants to see those of every op
    prepared = options is not None and options.optimize is True and not is_following()
    return _splice(_prepared(*what, options) if prepared else _lowered(*what), values)


@lru_cache(maxsize=512)
def _prepared(function: Callable, types: tuple[tuple[Shape, np.dtype], ...], static: tuple, platform: str,
              options: CompileOptions) -> bytes:
    """`_lowered`, simplified."""
    module = modules.parse(_lowered(function, types, static, platform))
    for prepare in _prepare:
        prepare(module, options)
    return modules.bytecode(module)


@lru_cache(maxsize=512)
def _lowered(function: Callable, types: tuple[tuple[Shape, np.dtype], ...], static: tuple,
             platform: str) -> bytes:
    """Bytecode of a module whose only function is `main`."""
    with jax.enable_x64(True):
        shapes = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in types]
        traced = jax.jit(_named(function, dict(static)), keep_unused=True).trace(*shapes)
        module = traced.lower(lowering_platforms=(platform,)).compiler_ir("stablehlo")
        buffer = io.BytesIO()
        with module.context:
            module.operation.write_bytecode(buffer)
    own = modules.parse(buffer.getvalue())
    _flatten(own)
    if platform != "cpu":
        cusolver.as_lapack(own)
        gpu_scans.as_windows(own)
    return modules.bytecode(own)


def splice(module: ir.Module, values: Sequence[ir.Value], into: ir.Module | None = None) -> list[ir.Value]:
    """Move the body of `main` to the current insertion point, calls inlined; gives its results. Uses the module up.
    into: the module under construction, which gets the functions that marks and other calls in the body name."""
    if into is not None and requests.names_functions(module):
        modules.inline_calls(module)
        requests.adopt_functions(module, into.operation)
    _flatten(module)
    return _splice(modules.bytecode(module), tuple(values))


def _flatten(module: ir.Module) -> None:
    """Leave no function but `main`, and no locations."""
    # MLIR's inliner makes one of constants of equal content, also where one of them says that nobody reads it
    inliner = "" if modules.UNSET.encode() in modules.bytecode(module) else ",inline"
    modules.run_passes(module, "strip-debuginfo" + inliner)
    modules.inline_calls(module)        # those inside regions of StableHLO ops
    modules.run_passes(module, "symbol-dce,func.func(cse)")


def _named(function: Callable, static: dict[str, object]) -> Callable:
    def call(*arrays: jax.Array) -> object:
        return function(*arrays, **static)
    return call


def _splice(bytecode: bytes, values: tuple[ir.Value, ...]) -> list[ir.Value]:
    """Move the body of `main` to the current insertion point, with `values` as its arguments."""
    module = modules.parse(bytecode)
    anchor = ops.create("stablehlo.optimization_barrier", [], [])
    results = moved(modules.function(module).regions[0].blocks[0], values, anchor)
    anchor.erase()
    return results

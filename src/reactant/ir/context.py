"""The one MLIR context of the process, its dialects, and the lock that guards it.

Every module the package builds lives in one context, so that types and attributes are interned once and compare by
identity. `building()` enters it; tracing, rewriting and printing all happen inside.
"""
from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from functools import cache

from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _jax_mlir_ext  # private: the upstream dialects' registry; only imported here
from jaxlib.mlir.dialects import chlo, sdy, stablehlo

LOCK = threading.RLock()
"""Held while IR is built or changed: tracing state and the context are per process, user threads are many."""


@cache
def context() -> ir.Context:
    """The context with func, arith, math, scf, cf, memref, llvm, stablehlo, chlo and sdy loaded."""
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    made = ir.Context()
    made.append_dialect_registry(registry)
    made.load_all_available_dialects()
    with made:
        stablehlo.register_dialect(made)
        stablehlo.register_interpreter_dialect(made)
        chlo.register_dialect(made)
        sdy.register_dialect(made)
    _register_passes()
    return made


def _register_passes() -> None:
    stablehlo.register_stablehlo_passes()


@contextlib.contextmanager
def building() -> Iterator[ir.Context]:
    """Hold the lock and make the context and an unknown location current; re-entrant."""
    with LOCK, context() as current, ir.Location.unknown():
        yield current

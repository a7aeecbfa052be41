"""Native code for the CPU: MLIR functions over memrefs, compiled by LLVM and called from XLA programs.

The *common form* is one `func.func` (with the private functions it calls) whose arguments are dense memrefs of static
shape, `memref<?xT>` with the element count told by each call, and numbers; results are written into memref arguments.
Inside: `scf` (for, while, if, parallel, index_switch, execute_region), `cf`, `memref`, `arith`, `math`, `complex`
(create, re, im, sum, product), `func.call` (also of the C library's mathematics by name), and `cf.assert` for
run-time checks.

    from reactant import native
    run = native.compile(module, roles=("in", "out"))
    run(x, y)                                  # NumPy arrays; y is written
    values = run.custom_call([x_value])        # a stablehlo.custom_call in the module under construction

`compile_kernel` takes a GPU kernel instead: a `func.func` that is one thread, with `gpu.thread_id`, `gpu.block_id`,
`gpu.block_dim`, `gpu.grid_dim`, shared memory as `memref.alloca` in the workgroup address space, `gpu.barrier`,
`gpu.shuffle`, and calls of the collective functions that `reactant.kernels.form.form` lists; launch sizes are
constants.

Meaning, where MLIR leaves it open: `i1` is a byte in memory; integer division is total (x/0 = -1, x%0 = x, the least
number over -1 wraps), and so are shifts (by the width or more: 0, or the sign); conversions of floats to integers
clamp, NaN becomes 0; the results of atomics are the numbers that were there before; `scf.parallel` iterations may run
on several threads, in any order; denormal numbers are numbers, also where XLA takes them for zero. `native.fits` (unit)
on a conversion to integers says that the number fits. Loop attributes
`native.vectorize` (unit), `native.vector_width` and `native.unroll` (integers) are hints to LLVM.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reactant.native.function import Argument, NativeError, NativeFunction, compile, compile_kernel, of_target

__all__ = ["Argument", "NativeError", "NativeFunction", "compile", "compile_kernel", "of_target"]


def __getattr__(name: str) -> Any:
    # llvmlite takes 0.1 s to import: only who compiles pays
    if name in __all__:
        from reactant.native import function
        return getattr(function, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""A program beside itself in more precision: which companions its floats get, and the work on the module."""
from __future__ import annotations

import numpy as np
from jaxlib.mlir import ir

from reactant.ir import modules
from reactant.ir.types import dtype_of
from reactant.options import CompileOptions
from reactant.precision.accuracy import control
from reactant.precision.accuracy.shadow import Shadow, Shadowing
from reactant.precision.accuracy.twins import Doubled, Limbs, Twin, digits_of, has_digits

assert control      # loading it declares what loops and branches become


def shadow(module: ir.Module, options: CompileOptions) -> Shadow:
    """The module, whose calls are inlined and which has no requests left, beside itself in more precision. Raises
    `UnsupportedError` for what cannot be computed so."""
    made = modules.clone(module)
    return Shadowing(made, _twin_for(made, options)).run()


def _twin_for(module: ir.Module, options: CompileOptions) -> Twin:
    wide = any(has_digits(v.type) and digits_of(dtype_of(v)) == digits_of(np.dtype(np.float64))
               for op in modules.walk(module) for v in (*op.operands, *op.results))
    return Limbs(module, options) if wide else Doubled()

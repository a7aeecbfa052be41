"""Reactant for Python: NumPy, JAX and GPU-kernel code as it is, optimised as StableHLO and run by XLA."""
from reactant.api import Jitted, RecompilationWarning, code_hlo, code_xla, jit
from reactant.errors import (
    ConcreteValueNeeded,
    ConstantWriteError,
    ControlFlowError,
    LeakError,
    ReactantError,
    UnsupportedError,
)
from reactant.explain import explain
from reactant.frontends.trace import is_tracing
from reactant.options import CompileOptions
from reactant.verification import verify

__version__ = "0.1.0"

__all__ = ["CompileOptions", "ConcreteValueNeeded", "ConstantWriteError", "ControlFlowError", "Jitted", "LeakError",
           "ReactantError", "RecompilationWarning", "UnsupportedError", "code_hlo", "code_xla", "explain",
           "is_tracing", "jit", "verify"]

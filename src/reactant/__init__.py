"""Reactant for Python: NumPy, JAX and GPU-kernel code as it is, optimised as StableHLO and run by XLA."""
import importlib
from typing import TYPE_CHECKING

from reactant.errors import (
    CheckpointError,
    ClusterError,
    ConcreteValueNeeded,
    ConstantWriteError,
    ControlFlowError,
    LeakError,
    LeftToJaxWarning,
    NotDifferentiable,
    ReactantError,
    ShardingError,
    UnsupportedError,
)
from reactant.options import CompileOptions
from reactant.support.session import collecting_later, is_tracing

if TYPE_CHECKING:
    from reactant.api import code_hlo, code_xla, jit
    from reactant.calling.jitted import Jitted, RecompilationWarning

__version__ = "0.2.0"

_LATE = {"DeviceArray": "runtime.array", "array": "runtime.array", "devices": "runtime.devices",
         "mesh": "runtime.meshes", "Mesh": "runtime.meshes",
         "Checkpoints": "processes.checkpoints", "Cluster": "processes.peers", "cluster": "processes.peers",
         **dict.fromkeys(("code_hlo", "code_xla", "jit"), "api"),
         **dict.fromkeys(("Jitted", "RecompilationWarning"), "calling.jitted"),
         "accuracy": "digits",
         "explain": "explanation", "profile": "profiling", "verify": "verification", "vmap": "mapping",
         "bisect": "diagnosis.bisection", "without_limbs": "precision.left_alone",
         "improve": "improvement", "Improvement": "improvement",
         "export": "exchange", "load": "exchange",
         **dict.fromkeys(("c", "kernel", "llvm"), "kernel_calls"),
         **dict.fromkeys(("check_derivatives", "checkpoint", "checkpointed", "custom_derivative", "grad", "hessian",
                          "hvp", "jacobian", "jvp", "linearize", "stop_gradient", "value_and_grad", "vjp"),
                         "derivatives")}
"""Public names whose modules load when they are first asked for, so that `import reactant` stays cheap, and `reactant
nvcc` never loads JAX."""

__all__ = ["CheckpointError", "Checkpoints", "Cluster", "ClusterError", "CompileOptions", "ConcreteValueNeeded",
           "ConstantWriteError", "ControlFlowError", "DeviceArray", "Improvement", "Jitted", "LeakError",
           "LeftToJaxWarning", "Mesh", "NotDifferentiable", "ReactantError", "RecompilationWarning", "ShardingError",
           "UnsupportedError", "accuracy", "array", "bisect", "c", "cache", "check_derivatives", "checkpoint",
           "checkpointed", "cluster", "code_hlo", "code_xla", "cuda", "custom_derivative", "devices", "explain",
           "export", "grad", "hessian", "hvp", "improve", "is_tracing", "jacobian", "jit", "jvp", "kernel", "linearize",
           "llvm", "load", "mesh", "profile", "stop_gradient", "value_and_grad", "verify", "vjp", "vmap",
           "without_limbs"]


def __getattr__(name: str) -> object:
    if name in ("cache", "cuda"):
        return importlib.import_module(f"reactant.{name}")
    if name == "load_ipython_extension":        # %load_ext reactant; IPython is loaded by nothing else
        return importlib.import_module("reactant.notebooks").load_ipython_extension
    if name not in _LATE:
        raise AttributeError(f"module 'reactant' has no attribute '{name}'")
    with collecting_later():
        found = getattr(importlib.import_module(f"reactant.{_LATE[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

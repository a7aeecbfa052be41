"""CUDA in Python: kernels of files to launch (`load`), whole programs to call (`program`).

`reactant nvcc` and `reactant run` compile programs for this CPU (`reactant.cuda_programs`). Here a program's host code
runs in a process of its own, which writes down what it asks of its device; this process does that with arrays of JAX:
`building` compiles, `process` and `child.py` run host code, `recorder` does what is written down (`rows`), as functions
of `sequences` of `steps`, and `gradients` differentiates them.
"""
import importlib
from typing import TYPE_CHECKING

from reactant.kernel_calls import cuda as _kernels

if TYPE_CHECKING:
    from reactant.cuda.gradients import Gradient
    from reactant.cuda.programs import Function, Program, program

Module, load, without_gpu = _kernels.Module, _kernels.load, _kernels.without_gpu

_LATE = {**dict.fromkeys(("Function", "Program", "program"), "programs"), "Gradient": "gradients"}
"""What kernels alone do not need."""

__all__ = ["Function", "Gradient", "Module", "Program", "load", "program", "without_gpu"]


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module 'reactant.cuda' has no attribute '{name}'")
    module = importlib.import_module(f"reactant.cuda.{_LATE[name]}")
    globals().update({n: getattr(module, n) for n, where in _LATE.items() if where == _LATE[name]})
    return globals()[name]

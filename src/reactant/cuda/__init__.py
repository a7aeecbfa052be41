"""CUDA in Python: kernels of files to launch (`load`), whole programs to call (`program`).

`reactant nvcc` and `reactant run` compile programs for this CPU (`reactant.cuda_programs`). Here a program's host code
runs in a process of its own, which writes down what it asks of its device; this process does that with arrays of JAX:
`building` compiles, `process` and `child.py` run host code, `recorder` does what is written down (`rows`), as functions
of `sequences` of `steps`, and `gradients` differentiates them.
"""
from reactant.cuda.program import Function, Program, program
from reactant.kernel_calls import cuda as _kernels

Module, load, without_gpu = _kernels.Module, _kernels.load, _kernels.without_gpu

__all__ = ["Function", "Module", "Program", "load", "program", "without_gpu"]

"""Raise a kernel written in structured form, run it, and compare with the interpreter."""
from __future__ import annotations

import numpy as np

from reactant import pipelines
from reactant.ir import modules
from reactant.ir.context import building
from reactant.kernels.form import interpret
from reactant.kernels.lockstep.tensors import raised
from reactant.runtime.executable import Executable


def run_raised(text, arrays, optimise=True):
    """(new contents of the written buffers, operation counts)."""
    with building():
        made = raised(modules.parse(text))
        modules.verify(made.module)
        if optimise:
            pipelines.run(made.module)
            modules.verify(made.module)
        counts = modules.counts(made.module)
    given = [np.asarray(a, p.dtype).reshape(p.shape) for a, p in zip(arrays, made.parameters, strict=True)]
    results = Executable(made.module, name="kernel")(given)
    return {k: np.asarray(r) for k, r in zip(made.results, results, strict=True)}, counts


def interpreted(text, arrays, order="forward"):
    """All buffers after the interpreter ran the kernel."""
    after = [np.array(a) for a in arrays]
    with building():
        interpret.run(modules.parse(text), after, order=order)
    return after


def check(text, arrays, tolerance=1e-5, order="forward", optimise=True):
    """Compare all written buffers with the interpreter's; the operation counts."""
    results, counts = run_raised(text, arrays, optimise)
    for k, after in enumerate(interpreted(text, arrays, order)):
        if k in results:
            np.testing.assert_allclose(results[k].reshape(after.shape), after, rtol=tolerance, atol=tolerance)
    return {name.removeprefix("stablehlo."): n for name, n in counts.items()}

"""Estimates by line add up to those of the module."""
import numpy as np
import pytest

import reactant
from reactant.explanation.costs import line_costs
from reactant.ir import cost
from reactant.ir.context import building


def swept(u, n):
    for _ in range(n):
        u = u * 0.5 + np.sin(u)
    return u * 2 if u[0] > 0 else np.sqrt(u)


@pytest.mark.parametrize("optimized", [True, False])
def test_sums(optimized):
    lowered = reactant.jit(swept, unroll_limit=0).lower(np.ones(30), 7)
    with building():
        module = lowered.module if optimized else lowered.original
        lines, whole = line_costs(module), cost.estimate(module)
    assert sum(c.flops for c in lines.values()) == pytest.approx(whole["flops"])
    assert sum(c.bytes for c in lines.values()) == pytest.approx(whole["bytes"])
    assert lines[f"{__file__}:{swept.__code__.co_firstlineno + 2}"].flops == 7 * 3 * 30

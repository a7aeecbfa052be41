"""XLA compile options chosen from facts about the module: tables, each with the measurement behind it.

XLA:CPU may hand groups of operations to a library, by kind: single products and convolutions, reductions, element-wise
chains. What that does to the time, one process on two cores, jax 0.10.2:

| program, float32 unless said | default | products alone | reductions too |
|---|---|---|---|
| perceptron, 8 x 3 x 30000 x 2000 x 2000 and softmax | 947 ms | 28 ms | 655 ms |
| convolution, 64 channels, float64 | 7 ms | 3 ms (180 without it) | |
| product of 1000 x 1000, float64 | 56 ms | 34-52 ms (89 without it) | |
| sum of all of 2000 x 2000 | 0.25-0.4 ms | 1.1-1.3 ms | 0.3 ms |
| max of rows of 2000 x 2000 | 0.2 ms | 3 ms | 0.2 ms |
| sum over a leading dimension of 8, 4M elements | 23 ms | 0.3 ms | 23 ms |
| sum over a trailing dimension of 3, 3M elements | 3.8 ms | 0.2 ms | 3.8 ms |

Two more, in CPU time of whole NumPy programs (benchmarks/run.py). Copies by region analysis
(`xla_cpu_copy_insertion_use_region_analysis`) stay off: in nested loops XLA then drops a copy that is needed, and the
inner body sees the outer counter one too high, silently (jax 0.10.2; `test_counter_of_an_outer_loop`). 512-bit vectors
(`xla_cpu_prefer_vector_width`) stay off too: with them atan2(x, 1), which is arctan, is wrong in the first digit from
64 elements on (`tests/frontends/numpy/test_elementwise.py::test_arctan_of_many`):

| program | default | copies by region analysis | 512-bit vectors |
|---|---|---|---|
| gray_scott (in-place stencils in a loop) | 46-48 ms, 9 copies | 37 ms, 5 copies | 47 ms |
| conjugate_gradient | 106-126 ms, 5 copies | 93 ms, 4 copies | 121 ms |
| option_pricing (exponentials) | 42 ms | 37 ms | 33 ms |
| mandelbrot | 140-150 ms | 135 ms | 113 ms |

So products are handed over one by one, and reductions when the sum of the estimates below says so and no product feeds
one or is fed by one.
"""
from __future__ import annotations

from typing import Any

from reactant.ir import types
from reactant.runtime.facts import Facts, Reduction

FUSION_OPTION = "xla_cpu_experimental_ynn_fusion_type"
PRODUCTS_ALONE = ("LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT", "LIBRARY_FUSION_TYPE_INDIVIDUAL_CONVOLUTION")
REDUCTIONS = "LIBRARY_FUSION_TYPE_REDUCE"


def options_for(facts: Facts, platform: str) -> dict[str, Any]:
    """The options for a module with these facts on `platform` ("cpu", "gpu", ...); empty where XLA's own are best."""
    if platform != "cpu":
        return {}
    return _library_options(facts)


def _library_options(facts: Facts) -> dict[str, Any]:
    """Which kinds of operations are handed to the library."""
    library = sum(map(library_nanoseconds, facts.reductions))
    own = sum(map(own_nanoseconds, facts.reductions))
    hand_over = library <= own
    if hand_over and not facts.products_meet:
        return {}
    kinds = [*PRODUCTS_ALONE, *([REDUCTIONS] if hand_over and not facts.products_meet else [])]
    return {FUSION_OPTION: ",".join(kinds)}


def library_nanoseconds(reduction: Reduction) -> float:
    """Estimate for a reduction by the library: ns an element by what is reduced (float64, 2M elements, measured)."""
    if reduction.trailing:
        each = 5.0 if reduction.depth <= 4 else 0.1
    elif reduction.run >= 3000:
        each = 5.0 if reduction.depth < 256 else 1.0
    else:
        each = 0.15
    return each * types.size(reduction.shape)


def own_nanoseconds(reduction: Reduction) -> float:
    """Estimate for a reduction by XLA's own loops."""
    ordered = reduction.combiner in ("stablehlo.maximum", "stablehlo.minimum")
    each = (0.4 if ordered else 0.2) if reduction.trailing else 0.1
    return each * types.size(reduction.shape)

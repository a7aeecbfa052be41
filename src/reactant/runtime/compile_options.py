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
64 elements on (`tests/frontends/arrays/test_elementwise.py::test_arctan_of_many`):

| program | default | copies by region analysis | 512-bit vectors |
|---|---|---|---|
| gray_scott (in-place stencils in a loop) | 46-48 ms, 9 copies | 37 ms, 5 copies | 47 ms |
| conjugate_gradient | 106-126 ms, 5 copies | 93 ms, 4 copies | 121 ms |
| option_pricing (exponentials) | 42 ms | 37 ms | 33 ms |
| mandelbrot | 140-150 ms | 135 ms | 113 ms |

So products are handed over one by one, and reductions stay with XLA, when the sum of the estimates below says so. A
product that feeds a reduction is best handed over with it (`symmetric_product` of benchmarks/corpus.py: 860 us, 1400
alone; attention 300 and 390); but where the product before that one can be fused, too, the library computes it again
for every block of the second:

| softmax(relu(x w) v), w and v n x n, float32 | default | products alone |
|---|---|---|
| 4 rows, n = 512 / 1024 | 99 / 1014 us | 76 / 203 us |
| 64 rows, n = 256 / 512 / 1024 | 110 / 1510 / 1605 us | 121 / 417 / 1658 us |
| 256 rows, n = 512 / 1024 | 1309 / 3730 us | 1530 / 4290 us |
| 8 rows, 3000 x 2000 and 2000 x 2000 | 28600 us | 1600 us |

On a GPU XLA drops conversions to narrower floats between wider ones, and in a last pass `reduce_precision` to what a
value has already, whereupon it merges the constants that this kept apart: programs whose dtypes are meant as in NumPy
run without both (`-m gpu`; `xla/service/gpu/gpu_compiler.cc`).

Loops stay as XLA has them there. In CUDA graphs (`WHILE` among what `xla_gpu_enable_command_buffer` names) they were
1.1 to 3.5 times as fast (benchmarks/gpu_loops.py), and with these options 6 of 4,178 tests were wrong, silently (an
H100, jax 0.11.2, 2026-11-28): loops that are ended by a value, which took no iteration or another number of them when
they were called with other arguments, and incomplete gamma functions. """
from __future__ import annotations

from typing import Any

from reactant.ir import types
from reactant.runtime.facts import Facts, Reduction

FUSION_OPTION = "xla_cpu_experimental_ynn_fusion_type"
PRODUCTS_ALONE = ("LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT", "LIBRARY_FUSION_TYPE_INDIVIDUAL_CONVOLUTION")

AS_WRITTEN = {
    "xla_allow_excess_precision": False,
    "xla_disable_hlo_passes": "remove-no-op-reduce-precision-algebraic-simplifier",
}
"""On a GPU: every value has the digits of its dtype and no more."""

NO_FUSION = {"xla_disable_hlo_passes": "fusion"}

NOT_MET = 1.0
"""ns an element of a product that is written for a reduction to read (256 x 256 into a softmax: 225 us, 300 alone)."""

CLEARLY = 1.5
"""How much longer the library has to take for XLA's own choice to be overruled: these are estimates."""


def options_for(facts: Facts, platform: str, excess: bool = True) -> dict[str, Any]:
    """The options for a module with these facts on `platform` ("cpu", "gpu", ...); empty where XLA's own are best.
    `excess`: whether values may have more digits than their dtypes, as in jax."""
    if platform == "cpu":
        return _library_options(facts) | (NO_FUSION if facts.repeated else {})
    return {} if excess or platform != "gpu" else dict(AS_WRITTEN)


def _library_options(facts: Facts) -> dict[str, Any]:
    """Which kinds of operations are handed to the library."""
    library = sum(map(library_nanoseconds, facts.reductions))
    own = sum(map(own_nanoseconds, facts.reductions)) + NOT_MET * facts.met
    if library <= CLEARLY * own and not facts.chained:
        return {}
    return {FUSION_OPTION: ",".join(PRODUCTS_ALONE)}


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

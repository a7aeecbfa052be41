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

On a GPU XLA launches each turn of a loop from the host, which reads a condition that is not a count; turns of more than
a few launches are CUDA graphs of their own, which costs less. With loops in graphs the device tests the condition and
nothing goes on meanwhile (benchmarks/gpu_loops.py on an H100, jax 0.11.2, milliseconds, the same results; launches and
bytes of a turn by `reactant.ir.traffic`; no graphs at all is never faster than the default):

| program, float32 | turns | launches | bytes | default | in graphs |
|---|---|---|---|---|---|
| newton, ended by its residual | 500 | 1 | 120 kB | 13.1 | 4.9 |
| newton_large | 500 | 1 | 48 MB | 20.9 | 13.0 |
| adaptive_solver | not known | 5 | 2 kB | 3.5 | 2.0 |
| until_solved, conjugate gradients | 15 | 6 | 4 MB | 0.32 | 0.21 |
| one_element_a_turn | 999 | 3 | 0 | 15.6 | 7.8 |
| advected_256 | 100 | 2 | 0.5 MB | 1.46 | 1.10 |
| advected_1024 | 100 | 3 | 17 MB | 1.84 | 1.34 |
| advected_2048 | 100 | 3 | 67 MB | 2.31 | 2.71 |
| shallow_water | 50 | 4 | 0.7 MB | 0.86 | 0.59 |
| hidden_markov_model, three loops | 99 | 3-5 | 5 kB | 4.6 | 2.6 |
| state_space | 256 | 5 | 59 kB | 4.2 | 1.5 |
| nas_cell_chain | 50 | 5 | 0.1 MB | 0.59 | 0.56 |
| n_body_steps | 10 | 5 | 0.6 MB | 0.19 | 0.24 |
| neuron, lstm | 200, 50 | 6, 7 | 0.2 MB | 1.35, 0.71 | 1.37, 0.70 |
| lattice_boltzmann | 20 | 7 | 4.5 MB | 0.41 | 0.51 |
| turns_200, conjugate gradients | 200 | 7 | 4 MB | 1.8 | 2.5 |
| gradient of shallow_water, two loops | 50 | 6, 4 | 1 MB | 1.0 | 1.5 |
| gradient of n_body, two loops | 10 | 9, 6 | 0.3 MB | 0.47 | 0.71 |
| gradient of neuron, two loops | 200 | 32, 5 | 8 kB | 7.3 | 8.2 |

Turns unrolled in the graph (`xla_gpu_command_buffer_unroll_loops`) take half of that where the arguments lie where they
lay in the call before, and no less else; the first call of 100,000 turns takes 5 s then, so they are not.
"""
from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir

from reactant.ir import modules, traffic, types
from reactant.ir.induction import trips
from reactant.runtime.facts import Facts, Reduction

FUSION_OPTION = "xla_cpu_experimental_ynn_fusion_type"
PRODUCTS_ALONE = ("LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT", "LIBRARY_FUSION_TYPE_INDIVIDUAL_CONVOLUTION")

LOOPS_IN_GRAPHS = {
    "xla_gpu_enable_command_buffer":
        "FUSION,CUBLAS,CUBLASLT,CUDNN,CUSTOM_CALL,DYNAMIC_SLICE_FUSION,WHILE,CONDITIONAL",
    "xla_gpu_graph_min_graph_size": 1,
}
MOST_LAUNCHES, LEAST_TURNS, MOST_BYTES = 5, 16, 3e7
"""Launches and bytes of a turn up to which a counted loop goes into a graph, and the turns from which on: while the
memory is busy for 10 us, the host launches the next turn."""

NO_FUSION = {"xla_disable_hlo_passes": "fusion"}

NOT_MET = 1.0
"""ns an element of a product that is written for a reduction to read (256 x 256 into a softmax: 225 us, 300 alone)."""

CLEARLY = 1.5
"""How much longer the library has to take for XLA's own choice to be overruled: these are estimates."""


def options_for(facts: Facts, platform: str) -> dict[str, Any]:
    """The options for a module with these facts on `platform` ("cpu", "gpu", ...); empty where XLA's own are best."""
    if platform != "cpu":
        return {}
    return _library_options(facts) | (NO_FUSION if facts.repeated else {})


def gpu_options(module: ir.Module) -> dict[str, Any]:
    """The options for a module on a GPU: they are for all of its loops at once."""
    functions = modules.functions(module)
    counts = [(loop, trips(loop)) for loop in modules.ops_called("stablehlo.while", module)]
    waits = any(turns is None or not turns.exact for _, turns in counts)      # the host, for a condition
    long = [loop for loop, turns in counts if turns is not None and turns.most >= LEAST_TURNS and _innermost(loop)]
    pays = waits or bool(long) and all(_pays_in_a_graph(traffic.of_turn(loop, functions)) for loop in long)
    return dict(LOOPS_IN_GRAPHS) if pays else {}


def _innermost(loop: ir.Operation) -> bool:
    return next(modules.ops_called("stablehlo.while", loop), None) is None


def _pays_in_a_graph(turn: traffic.Traffic) -> bool:
    """Whether launching it from the host takes longer than all else."""
    return turn.launches <= MOST_LAUNCHES and turn.bytes <= MOST_BYTES


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

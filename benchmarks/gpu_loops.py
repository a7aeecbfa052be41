"""Loops on a GPU: launched one iteration after the other by XLA, as CUDA graphs, and by `reactant.jit`, which leaves
them to XLA.

    python benchmarks/gpu_loops.py [--only NAME ...] [--repeats N] [--json FILE]

Milliseconds on arrays that the GPU holds, medians of interleaved runs; "in graphs" is `jax.jit` with the loops in
graphs, which is wrong for some programs when they are called again with other arguments ("then": the largest difference
of such a call), "none" without any graph. "an iteration" is what `reactant.ir.traffic` estimates on the module that
comes out of our passes, of each loop: launches, and thousands of bytes. Names with a prime are gradients. """
import argparse
import functools
import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from rich.console import Console
from rich.table import Table
from shared_programs import difference, prepared

from reactant.demos.measure import taking_iterations
from reactant.ir import modules, traffic
from reactant.ir.context import building

LOOPS_IN_GRAPHS = {
    "xla_gpu_enable_command_buffer":
        "FUSION,CUBLAS,CUBLASLT,CUDNN,CUSTOM_CALL,DYNAMIC_SLICE_FUSION,WHILE,CONDITIONAL",
    "xla_gpu_graph_min_graph_size": 1,
}
NO_GRAPHS = {"xla_gpu_enable_command_buffer": ""}
GRADIENTS = ("shallow_water'", "n_body'", "neuron'", "lstm'", "normalised_in_loop'")
CORPUS = ("shallow_water", "hidden_markov_model", "state_space", "adaptive_solver", "nas_cell_chain", "n_body_steps",
          "neuron", "lstm", "lattice_boltzmann")


def newton(goal, start):
    """Damped steps to the root of x^3 + x = goal until all residuals are small."""
    def residual(x):
        return x**3 + x - goal
    return lax.while_loop(lambda x: jnp.abs(residual(x)).max() > 1e-4,
                          lambda x: x - 0.02 * residual(x) / (3 * x**2 + 1), start)


def one_element_a_iteration(x):
    """A recurrence, written element by element."""
    return lax.fori_loop(1, x.size, lambda i, x: x.at[i].set(0.9 * x[i - 1] + x[i]), x)


def gradients_iteration(matrix, state):
    """An iteration of the conjugate gradient method."""
    x, r, p, rs = state
    image = matrix @ p
    alpha = rs / jnp.vdot(p, image)
    r = r - alpha * image
    new = jnp.vdot(r, r)
    return x + alpha * p, r, r + new / rs * p, new


def until_solved(matrix, b):
    """Conjugate gradients, ended by the residual."""
    begin = (jnp.zeros_like(b), b, b, jnp.vdot(b, b))
    return lax.while_loop(lambda s: s[3] > 1e-8, lambda s: gradients_iteration(matrix, s), begin)[0]


def iterations_200(matrix, b):
    """200 iterations of conjugate gradients."""
    begin = (jnp.zeros_like(b), b, b, jnp.vdot(b, b))
    return lax.fori_loop(0, 200, lambda _, s: gradients_iteration(matrix, s), begin)[0]


def system(n=1000, spread=0.1):
    """A positive definite matrix and a right side."""
    random = np.random.default_rng(0)
    matrix = spread * random.random((n, n)) / n
    return (matrix + matrix.T + np.diag(1 + random.random(n))).astype("f4"), random.random(n).astype("f4")


def advected(iterations, field):
    """Upwind advection and diffusion on a ring, (n, n)."""
    def iteration(_, a):
        return a - 0.1 * (a - jnp.roll(a, 1, 0)) + 0.01 * (jnp.roll(a, 1, 1) - 2 * a + jnp.roll(a, -1, 1))
    return lax.fori_loop(0, iterations, iteration, field)


def field(n):
    """(n, n) numbers."""
    return np.random.default_rng(1).random((n, n), dtype="f4")


OWN = {
    **{f"advected_{n}": (functools.partial(advected, 100), lambda n=n: (field(n),))
       for n in (64, 256, 512, 1024, 2048)},
    "newton": (newton, lambda: (np.linspace(1, 9, 10_000, dtype="f4"), np.full(10_000, 3, "f4"))),
    "newton_large": (newton, lambda: (np.linspace(1, 9, 4_000_000, dtype="f4"), np.full(4_000_000, 3, "f4"))),
    "one_element_a_iteration": (one_element_a_iteration, lambda: (np.linspace(0, 1, 1000, dtype="f4"),)),
    "until_solved": (until_solved, system),
    "iterations_200": (iterations_200, system),
}
PROGRAMS = (*OWN, *CORPUS, *GRADIENTS)


def iterations(module):
    """Launches and kilobytes of an iteration of each loop, as text."""
    with building():
        functions = modules.functions(module)
        found = [traffic.of_iteration(loop, functions) for loop in modules.ops_called("stablehlo.while", module)]
        return ", ".join(f"{iteration.launches:.0f} {iteration.bytes / 1e3:.0f}" for iteration in found) or "no loop"


def program(name):
    """A function and its arguments."""
    if name in OWN:
        return OWN[name][0], OWN[name][1]()
    function, arrays = prepared(name.removesuffix("'"), 1.0)
    return (jax.grad(function) if name.endswith("'") else function), arrays


def measure(name, repeats):
    """The row of one program, in seconds."""
    import reactant
    function, arrays = program(name)
    arrays = jax.device_put(arrays)
    mine = reactant.jit(function, frontend="jax")
    ways = {"jax": jax.jit(function), "none": jax.jit(function, compiler_options=NO_GRAPHS),
            "in graphs": jax.jit(function, compiler_options=LOOPS_IN_GRAPHS), "ours": mine}
    expected = ways["jax"](*arrays)
    others = jax.tree_util.tree_map(lambda a: a * 0.75 if jnp.issubdtype(a.dtype, jnp.floating) else a, arrays)
    row = {"difference": max(difference(way(*arrays), expected) for way in ways.values()),
           "then": difference(ways["in graphs"](*others), ways["jax"](*others)),
           "iterations": iterations(mine.lower(*arrays).module)}
    return row | taking_iterations({key: lambda way=way: way(*arrays) for key, way in ways.items()}, repeats)


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=PROGRAMS, default=PROGRAMS)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    rows = {}
    table = Table(title=f"milliseconds on {jax.devices()[0].device_kind}, jax {jax.__version__}")
    headings = ("program", "an iteration", "jax.jit", "none", "in graphs", "ours", "jax.jit / ours", "difference",
                "then")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "program" else "right")
    for name in options.only:
        row = rows[name] = measure(name, options.repeats)
        table.add_row(name, row["iterations"], *(f"{1e3 * row[key]:.3f}" for key in ("jax", "none", "in "
                                                                                                    "graphs", "ours")),
                      f"{row['jax'] / row['ours']:.2f}", f"{row['difference']:.0e}", f"{row['then']:.0e}")
    Console(width=140).print(table)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The adjoint of a shallow-water model: memory and time of its gradient, by how the loop over time is kept.

    python benchmarks/shallow_water_adjoint.py [--size 512] [--steps 1000] [--budget 256MB] [--dtype float32]
                                               [--repeats 3] [--growth] [--native never] [--tiny] [--json FILE]

The model is plain NumPy that writes into its arrays: surface height and two velocities on a staggered grid in a closed
basin, with advection, stepped forward-backward. The gradient is that of the energy at the end in the initial state.
Peak memory is what XLA allocates for the compiled program (arguments, results and temporaries; the workspace of native
code is among them); time is the processor time of one call, the median of runs that alternate with the primal's.
--growth adds figures for fewer steps, and how time and memory grow from the fewest to the most.
"""
import argparse
import json
import statistics
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import reactant

GRAVITY, DEPTH, SPACING = 9.81, 10.0, 1000.0


def energy_after(h, u, v, dt, steps):
    """Energy of the state after `steps` steps: h is the height over rest (n, n), u and v the velocities on faces."""
    h, u, v = h.copy(), u.copy(), v.copy()
    c = dt / SPACING
    for _ in range(steps):
        u[1:-1] -= c * (GRAVITY * (h[1:] - h[:-1]) + u[1:-1] * (u[2:] - u[:-2]) * 0.5)
        v[:, 1:-1] -= c * (GRAVITY * (h[:, 1:] - h[:, :-1]) + v[:, 1:-1] * (v[:, 2:] - v[:, :-2]) * 0.5)
        flux = u.copy()
        flux[1:-1] *= DEPTH + 0.5 * (h[1:] + h[:-1])
        sideways = v.copy()
        sideways[:, 1:-1] *= DEPTH + 0.5 * (h[:, 1:] + h[:, :-1])
        h -= c * (flux[1:] - flux[:-1] + sideways[:, 1:] - sideways[:, :-1])
    return 0.5 * GRAVITY * np.sum(h * h) + 0.5 * DEPTH * (np.sum(u * u) + np.sum(v * v))


def make(size=512, dtype="float32", seed=0):
    """(function, arguments but for the number of steps)."""
    x, y = np.meshgrid(np.linspace(-1, 1, size), np.linspace(-1, 1, size), indexing="ij")
    h = np.exp(-40 * ((x - 0.2) ** 2 + y ** 2)).astype(dtype)
    u, v = np.zeros((size + 1, size), dtype), np.zeros((size, size + 1), dtype)
    dt = np.dtype(dtype).type(0.4 * SPACING / np.sqrt(GRAVITY * DEPTH))
    return energy_after, (h, u, v, dt)


class Case:
    """A compiled function with its figures."""

    def __init__(self, name, function, arguments):
        self.name, self.function, self.arguments, self.seconds = name, function, arguments, []
        lowered = function.lower(*arguments)
        self.loops = lowered.operations().get("stablehlo.while", 0)
        sizes = lowered.compile().memory_analysis()
        self.bytes = sizes.argument_size_in_bytes + sizes.output_size_in_bytes + sizes.temp_size_in_bytes
        self.result = function(*arguments)

    def run(self):
        begun = time.process_time()
        self.function(*self.arguments)
        self.seconds.append(time.process_time() - begun)

    @property
    def median(self):
        return statistics.median(self.seconds)


def compare(size, steps, dtype, budget, repeats, plain=True, native="auto"):
    """The primal and its gradients, timed in iterations; their results agree."""
    function, arguments = make(size, dtype)
    arguments = (*arguments, steps)
    compiled = reactant.jit(function, native=native)
    ways = {"every step kept": {}} if plain else {}
    ways |= {"sqrt": {"checkpoint": "sqrt"}, f"budget {budget}": {"memory_budget": budget}}
    cases = [Case("primal", compiled, arguments)]
    cases += [Case(name, reactant.grad(compiled, (0, 1, 2), **way), arguments) for name, way in ways.items()]
    for case in cases[2:]:
        for mine, first in zip(case.result, cases[1].result, strict=True):
            assert np.linalg.norm(mine - first) <= (1e-3 if dtype == "float32" else 1e-10) * np.linalg.norm(first), \
                f"{case.name} differs from {cases[1].name}"
    for _ in range(repeats):
        for case in cases:
            case.run()
    return cases


def rows_of(cases, steps):
    primal = cases[0]
    return [{"steps": steps, "program": c.name, "megabytes": c.bytes / 1e6, "seconds": c.median,
             "over_primal": c.median / primal.median} for c in cases]


def print_growth(rows):
    """How time and memory grow, as powers of the number of steps (1: linear, 0.5: square root)."""
    first, last = ({r["program"]: r for r in rows if r["steps"] == steps} for steps in (rows[0]["steps"],
                                                                                       rows[-1]["steps"]))
    for name in last:
        if name != "primal":
            more = np.log(last[name]["steps"] / first[name]["steps"])
            powers = [np.log(last[name][what] / first[name][what]) / more for what in ("seconds", "megabytes")]
            print(f"{name}: time grows with steps to the {powers[0]:.2f}, memory to the {powers[1]:.2f}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--budget", default="256MB")
    parser.add_argument("--dtype", default="float32", choices=("float32", "float64"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--growth", action="store_true", help="figures for a quarter and a sixteenth of the steps too")
    parser.add_argument("--tiny", action="store_true", help="seconds, for CI")
    parser.add_argument("--no-plain", action="store_true", help="leave out the gradient that keeps every step")
    parser.add_argument("--native", default="auto", choices=("never", "auto"), help="never: XLA alone")
    parser.add_argument("--json", help="write the rows to this file")
    chosen = parser.parse_args(arguments)
    if chosen.tiny:
        chosen.size, chosen.steps, chosen.budget, chosen.repeats = 16, 20, "40kB", 1
    table = Table(title=f"Adjoint of shallow water, {chosen.size} x {chosen.size} {chosen.dtype}")
    for column in ("steps", "program", "peak MB", "CPU seconds", "x primal"):
        table.add_column(column, justify="left" if column == "program" else "right")
    rows = []
    for steps in [chosen.steps // 16, chosen.steps // 4, chosen.steps] if chosen.growth else [chosen.steps]:
        rows += rows_of(compare(chosen.size, steps, chosen.dtype, chosen.budget, chosen.repeats, not chosen.no_plain,
                                chosen.native), steps)
    for row in rows:
        table.add_row(str(row["steps"]), row["program"], f"{row['megabytes']:.1f}", f"{row['seconds']:.3f}",
                      f"{row['over_primal']:.2f}")
    Console().print(table)
    if chosen.growth:
        print_growth(rows)
    if chosen.json:
        with open(chosen.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return rows


if __name__ == "__main__":
    main()

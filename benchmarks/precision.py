"""Floats as sums of limbs: narrow operations of each operation, right bits of each function, and speed.

    python benchmarks/precision.py [operations] [bits] [speed] [check] [--samples N] [--only NAME ...]
                                   [--clock cpu|wall]

Without a name all of them. `operations`: of one add, multiply ... on two float32 limbs, infinities and signs of
zeros included, beside those of the C++ system (`research/precision.md`). `bits`: of the worst of N random arguments and
of hard cases (near poles and zeros, multiples of pi, the least numbers that have all limbs, exponents at the edge)
against mpmath, where arguments have 48 bits; 10^6 take mpmath a minute or two a function. `speed`: float64x2 beside the
same program in float64, and NumPy's longdouble, in one process, interleaved.
`check`: float32x2 with and without `check=True`, which looks for results beyond the range.
"""
import argparse
import math
import warnings

import mpmath
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func
from rich.console import Console
from rich.table import Table

import reactant
from reactant.demos.measure import CLOCKS, geometric_mean, rounds
from reactant.ir import modules
from reactant.ir.context import building
from reactant.ir.types import tensor_type
from reactant.precision import exponential, trigonometric, wide
from reactant.precision.wide import Wide

TWO = {"float64": "float32x2"}
OPERATIONS = {      # what is built, of how many arguments, narrow operations of the C++ system, of Wide's
    "add": (wide.add, 2, 43), "multiply": (wide.multiply, 2, 48), "divide": (wide.divide, 2, 54),
    "sqrt": (wide.sqrt, 1, 137), "exp": (exponential.exp, 1, 419), "log": (exponential.log, 1, 886),
    "sine": (trigonometric.sine, 1, 727)}
FREE = ("stablehlo.constant", "stablehlo.bitcast_convert")
"""What costs nothing at run time."""


def operations(build, arguments):
    """Narrow operations of one operation on two float32 limbs."""
    with building(), ir.Location.unknown():
        module, types = ir.Module.create(), [tensor_type((8,), np.dtype(np.float32))] * 2 * arguments
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ir.FunctionType.get(types, types[:2]))
            block = function.add_entry_block()
        with ir.InsertionPoint(block):
            found = build(*(Wide(block.arguments[2 * k:2 * k + 2]) for k in range(arguments)))
            func.ReturnOp(list(found.first(2).limbs))
        modules.run_passes(module, "func.func(cse)")
        return sum(n for name, n in modules.counts(module).items() if name not in FREE)


def spread(low, high):
    return lambda rng, n: np.exp2(rng.uniform(math.log2(low), math.log2(high), n)) * rng.choice([-1, 1], n)


def positive(low, high):
    return lambda rng, n: np.abs(spread(low, high)(rng, n))


def even(low, high):
    return lambda rng, n: rng.uniform(low, high, n)


PI = math.pi
FUNCTIONS = {       # the program, the truth, what arguments are drawn from, hard cases
    "add": (np.add, lambda x, y: x + y, [spread(1e-20, 1e30)] * 2, [(1, -1 + 2.0**-40), (1e30, -1e30), (3e38, -2e38)]),
    "multiply": (np.multiply, lambda x, y: x * y, [spread(1e-10, 1e18)] * 2, [(1 + 2.0**-40,) * 2, (1e19, 1e19)]),
    "divide": (np.divide, lambda x, y: x / y, [spread(1e-10, 1e18)] * 2, [(1, 3), (1, 1 - 2.0**-40), (3e38, 3)]),
    "sqrt": (np.sqrt, mpmath.sqrt, [positive(1e-20, 1e38)], [1 + 2.0**-40, 1e-23, 3e38]),
    "exp": (np.exp, mpmath.exp, [even(-50, 88)], [2.0**-40, -50.5, 88.7]),
    "log": (np.log, mpmath.log, [positive(1e-25, 1e38)], [1 + 2.0**-40, 1 - 2.0**-40, 1e-25, 3e38]),
    "sin": (np.sin, mpmath.sin, [even(-1000, 1000)], [PI, 2 * PI, 710 / 2, 1e22, 2.0**100, 1e-20]),
    "cos": (np.cos, mpmath.cos, [even(-1000, 1000)], [PI / 2, 11 * PI / 2, 1e22, 2.0**100]),
    "tan": (np.tan, mpmath.tan, [even(-1000, 1000)], [PI / 2, PI, 11 * PI / 2, 2.0**100]),
    "tanh": (np.tanh, mpmath.tanh, [even(-18, 18)], [1e-20, 1e-3, 18.5]),
    "power": (np.power, mpmath.power, [positive(0.01, 100), even(-8, 8)], [(1 + 2.0**-30, 1e9), (2, 127), (10, -20)]),
    "sinh": (np.sinh, mpmath.sinh, [even(-88, 88)], [1e-20, 0.5]),
    "arcsin": (np.arcsin, mpmath.asin, [even(-1, 1)], [1 - 2.0**-40, 2.0**-40]),
    "log1p": (np.log1p, mpmath.log1p, [even(-0.99, 10)], [2.0**-40, -1 + 2.0**-20, -1e-20]),
    "expm1": (np.expm1, mpmath.expm1, [even(-30, 88)], [2.0**-40, -1e-20, 0.7])}


def cut(x):
    """Numbers of 48 bits: two float32 limbs hold them exactly."""
    mantissa, exponent = np.frexp(np.asarray(x, np.float64))
    return np.ldexp(np.round(mantissa * 2.0**46) * 2.0**-46, exponent)


def bits(name, samples):
    """The fewest right bits of random arguments, and of hard cases."""
    function, truth, draws, hard = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    compiled = reactant.jit(function, floats=TWO)
    drawn = [cut(draw(rng, samples)) for draw in draws]
    special = [cut(column) for column in np.atleast_2d(np.array(hard, float).T)]
    # all of them in one program: each shape is compiled on its own
    given = [np.concatenate([one, other]) for one, other in zip(drawn, special, strict=True)]
    found, worst = np.asarray(compiled(*given)), [math.inf, math.inf]
    with mpmath.workprec(300):
        for k in range(len(found)):
            wanted = truth(*(mpmath.mpf(float(x[k])) for x in given))
            error = abs(mpmath.mpf(float(found[k])) - wanted)
            if error:
                right = float(-mpmath.log(error / abs(wanted), 2)) if wanted and mpmath.isfinite(error) else 0.0
                worst[k >= samples] = min(worst[k >= samples], right)
    return worst


def orbit(x, y):
    for _ in range(20):
        r = np.sqrt(x * x + y * y)
        x, y = x - 0.01 * y / r, y + 0.01 * x / r
    return x, y


PROGRAMS = {
    "sum": lambda x, y: np.sum(x), "axpy": lambda x, y: 1.5 * x + y, "quotient": lambda x, y: x / y,
    "root": lambda x, y: np.sqrt(x * x + y * y), "polynomial": lambda x, y: (((x + 1) * x + 2) * x + 3) * x + y,
    "dot": lambda x, y: np.sum(x * y), "exponential": lambda x, y: np.exp(-x) + y, "sine": lambda x, y: np.sin(x) * y,
    "logarithm": lambda x, y: np.log(x) - y, "differences": lambda x, y: x[2:] - 2 * x[1:-1] + x[:-2],
    "orbit": orbit, "variance": lambda x, y: np.sum((x - np.mean(x)) ** 2)}
"""Programs of two arrays of positive numbers; NumPy itself runs them with longdouble."""


def speed(name, size, repeats, clock):
    """Medians of float64, float64x2, and longdouble in NumPy."""
    rng, program = np.random.default_rng(0), PROGRAMS[name]
    x, y = rng.uniform(0.5, 2, size), rng.uniform(0.5, 2, size)
    long = [each.astype(np.longdouble) for each in (x, y)]
    plain, twice = reactant.jit(program), reactant.jit(program, floats={"float64": "float64x2"})

    def timed(function, *given):
        start = clock()
        function(*given)
        return clock() - start
    timed(plain, x, y), timed(twice, x, y)      # compiled
    return rounds({"float64": lambda: timed(plain, x, y), "float64x2": lambda: timed(twice, x, y),
                   "longdouble": lambda: timed(program, *long)}, repeats)


def checked(name, size, repeats, clock):
    """Medians in float32x2 with and without a look at the range."""
    rng, program = np.random.default_rng(0), PROGRAMS[name]
    given = [rng.uniform(0.5, 2, size) for _ in range(2)]
    made = {check: reactant.jit(program, floats=TWO, check=check) for check in (True, False)}

    def timed(function):
        start = clock()
        function(*given)
        return clock() - start
    for function in made.values():
        function(*given)                        # compiled
    return rounds({check: lambda f=f: timed(f) for check, f in made.items()}, repeats)


def table(title, *headings):
    made = Table(title=title)
    for k, heading in enumerate(headings):
        made.add_column(heading, justify="right" if k else "left")
    return made


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", choices=["operations", "bits", "speed", "check", []], default=[])
    parser.add_argument("--samples", type=int, default=1_000_000, help="random arguments of each function")
    parser.add_argument("--size", type=int, default=100_000, help="elements of the arrays of the speed table")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", nargs="+", default=[*FUNCTIONS, *PROGRAMS], metavar="NAME")
    parser.add_argument("--clock", choices=CLOCKS, default="cpu")
    options = parser.parse_args(arguments)
    console, wanted = Console(width=100), options.tables or ["operations", "bits", "speed", "check"]
    if "operations" in wanted:
        made = table("narrow operations of one on float32x2", "operation", "here", "C++ system")
        for name, (build, count, theirs) in OPERATIONS.items():
            made.add_row(name, str(operations(build, count)), str(theirs))
        console.print(made)
    if "bits" in wanted:
        made = table(f"right bits in float32x2, worst of {options.samples:,}", "function", "random", "hard cases")
        for name in FUNCTIONS:
            if name in options.only:
                made.add_row(name, *("all" if math.isinf(b) else f"{b:.1f}" for b in bits(name, options.samples)))
        console.print(made)
    if "speed" in wanted:
        made = table(f"milliseconds ({options.clock}), {options.size:,} elements", "program", "float64", "float64x2",
                     "longdouble", "x float64", "longdouble / x2")
        rows = {name: speed(name, options.size, options.repeats, CLOCKS[options.clock])
                for name in PROGRAMS if name in options.only}
        for name, row in rows.items():
            made.add_row(name, *(f"{1e3 * t:.3f}" for t in row.values()), f"{row['float64x2'] / row['float64']:.1f}",
                         f"{row['longdouble'] / row['float64x2']:.2f}")
        if rows:
            made.add_row("geometric mean", "", "", "", *(f"{geometric_mean(f(r) for r in rows.values()):.2f}" for f in (
                lambda r: r["float64x2"] / r["float64"], lambda r: r["longdouble"] / r["float64x2"])))
        console.print(made)
    if "check" in wanted:
        made = table(f"milliseconds in float32x2 ({options.clock}), {options.size:,} elements", "program", "check=True",
                     "check=False", "ratio")
        for name in PROGRAMS:
            if name in options.only:
                row = checked(name, options.size, options.repeats, CLOCKS[options.clock])
                made.add_row(name, *(f"{1e3 * t:.3f}" for t in row.values()), f"{row[True] / row[False]:.2f}")
        console.print(made)
    return 0


if __name__ == "__main__":
    warnings.filterwarnings("ignore")      # NumPy's, of arguments at the ends of the range
    main()

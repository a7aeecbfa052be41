"""Single NumPy calls and whole NumPy programs against NumPy: how many times faster the compiled function is.

    python benchmarks/numpy_calls.py [calls | programs] [--only NAME ...] [--sizes small middle large]
        [--dtypes NAME ...] [--cores N] [--clock wall|cpu] [--repeats N] [--before CHECKOUT] [--json FILE] [--slowest N]

About 150 calls at three sizes with up to three dtypes (`numpy_call_table.py`), and 60 programs (`numpy_programs.py`).
NumPy and ours take iterations, in bursts, in one process, on new arguments where a program writes into them; every
first result is compared with NumPy's. --cores: the process keeps to so many. --clock cpu: time of all threads, which
other work on the machine changes less. --before: the folder of another checkout, whose `reactant` runs the same in a
process of its own, one iteration after the other with this one. """
import argparse
import copy
import json
import math
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

CORES = "REACTANT_BENCHMARK_CORES"
BURST = 0.02
"""Seconds of runs in each iteration."""
HARD = 50e-6
"""Calls that take NumPy less are mostly what calling costs: they are told apart."""


def cases(kind, options):
    """(label, function, makes its arguments) of what is asked for."""
    if kind == "programs":
        from numpy_programs import PROGRAMS
        for name, (function, make) in PROGRAMS.items():
            if not options.only or name in options.only:
                yield name, function, make
        return
    from numpy_call_table import CALLS, SIZES, arguments
    for name, (function, dtypes) in CALLS.items():
        for dtype in dtypes:
            for size, n in SIZES.items():
                if (not options.only or name in options.only) and size in options.sizes \
                        and (not options.dtypes or dtype in options.dtypes):
                    yield (f"{name}, {dtype}, {size}", function,
                           lambda function=function, n=n, dtype=dtype: arguments(function, n, dtype))


def agrees(found, wanted):
    """Whether results are alike, of whatever they are made."""
    import numpy as np
    if isinstance(wanted, (tuple, list)):
        return len(found) == len(wanted) and all(map(agrees, found, wanted))
    if isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(agrees(found[key], wanted[key]) for key in wanted)
    if wanted is None:
        return found is None
    found, wanted = np.asarray(found), np.asarray(wanted)
    rtol = 1e-3 if found.dtype.itemsize // (1 + (found.dtype.kind == "c")) <= 4 else 1e-6
    return found.shape == wanted.shape and found.dtype == wanted.dtype and bool(
        np.allclose(found, wanted, rtol=rtol, atol=rtol * float(np.abs(wanted).max(initial=0)), equal_nan=True))


def burst(function, make, arguments, clock):
    """The median seconds of a burst of runs, on `arguments` or, where that is None, on new ones each."""
    seconds, begun = [], time.perf_counter()
    while not seconds or time.perf_counter() - begun < BURST:
        given = make() if arguments is None else arguments
        start = clock()
        function(*given)
        seconds.append(clock() - start)
    return statistics.median(seconds)


class Case:
    """One function, plain and compiled."""

    def __init__(self, function, make):
        import reactant
        self.function, self.make = function, make
        # where run-time values decide how many there are
        self.compiled = reactant.jit(function, sized_results=True)
        plain, mine = make(), make()
        kept = copy.deepcopy(plain)
        wanted = function(*plain)
        begun = time.perf_counter()
        found = self.compiled(*mine)
        self.first, self.right = time.perf_counter() - begun, agrees(found, wanted) and all(map(_same, mine, plain))
        unchanged = all(map(_same, kept, plain))
        self.arguments = kept if unchanged else None

    def iteration(self, which, clock):
        return burst(self.function if which == "numpy" else self.compiled, self.make, self.arguments, clock)


def _same(one, other):
    if type(one).__module__ != "builtins" and hasattr(one, "__dict__"):
        one, other = vars(one), vars(other)
    return agrees(one, other)


class Other:
    """The same cases in another process, with another checkout's `reactant`."""

    def __init__(self, checkout, options):
        environment = {**os.environ, "PYTHONPATH": str(Path(checkout).resolve() / "src")}
        self.process = subprocess.Popen([sys.executable, __file__, *options, "--serve"], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "the process ended"}


def serve(options, clock, answers):
    """Answers requests of `Other`: a label prepares that case, "iteration" runs a burst of it."""
    known = {label: (function, make) for label, function, make in cases(options.kind, options)}
    case = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request == "iteration":
                answer = {"seconds": case.iteration("compiled", clock)}
            else:
                case = Case(*known[request])
                answer = {"right": case.right, "first": case.first}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


def measure(label, function, make, options, clock, other):
    """The row of one case: medians over iterations, in seconds."""
    case = Case(function, make)
    iterations = {"numpy": lambda: case.iteration("numpy", clock),
                  "compiled": lambda: case.iteration("compiled", clock)}
    if other:
        answer = other.ask(label)
        if "error" not in answer:
            iterations["before"] = lambda: other.ask("iteration").get("seconds", math.nan)
    seconds = {name: [] for name in iterations}
    for _ in range(options.repeats):
        for name, iteration in iterations.items():
            seconds[name].append(iteration())
    row = {name: statistics.median(each) for name, each in seconds.items()}
    row |= {"case": label, "first": case.first, "right": case.right,
            "over_numpy": statistics.median(a / b for a, b in zip(seconds["numpy"], seconds["compiled"], strict=True))}
    if "before" in seconds:
        row["over_before"] = statistics.median(
            a / b for a, b in zip(seconds["before"], seconds["compiled"], strict=True))
    elif other:
        row["before_failed"] = answer["error"][:200]
    return row


def summary(rows):
    """What the figures come to, as lines."""
    from reactant.demos.measure import geometric_mean
    hard = [row for row in rows if row["numpy"] >= HARD]
    lines = [f"{len(rows)} cases, geometric mean over NumPy {geometric_mean(r['over_numpy'] for r in rows):.2f}"]
    for name, some in (("all", rows), (f"NumPy at least {1e6 * HARD:.0f} us", hard)):
        if some:
            below = {limit: sum(r["over_numpy"] < limit for r in some) for limit in (0.95, 0.8, 0.5)}
            mean = geometric_mean(r["over_numpy"] for r in some)
            lines.append(f"{name}: {len(some)}, geometric mean {mean:.2f}, " + ", ".join(
                f"below {limit}: {count} ({100 * count / len(some):.1f} %)" for limit, count in below.items()))
    compared = [row["over_before"] for row in rows if "over_before" in row]
    if compared:
        lines.append(f"over the other checkout: geometric mean {geometric_mean(compared):.2f} of {len(compared)}")
    lines += [f"the other checkout failed: {row['case']}: {row['before_failed']}"
              for row in rows if "before_failed" in row]
    return lines + [f"WRONG: {row['case']}" for row in rows if not row["right"]]


def show(rows, failures, refused, options):
    from rich.console import Console
    from rich.table import Table
    table = Table(title=f"milliseconds ({options.clock}; medians), and how many times faster than NumPy")
    table.add_column("case")
    for heading in ("NumPy", "compiled", "/ NumPy", "/ before", "first, s"):
        table.add_column(heading, justify="right")
    for row in sorted(rows, key=lambda row: row["over_numpy"])[:options.slowest]:
        before = f"{row['over_before']:.2f}" if "over_before" in row else "-"
        table.add_row(row["case"], f"{1e3 * row['numpy']:.3f}", f"{1e3 * row['compiled']:.3f}",
                      f"{row['over_numpy']:.2f}", before, f"{row['first']:.2f}")
    for name in refused:
        table.add_row(name, "-", "-", "refused", "-", "-")
    console = Console(width=120)
    console.print(table)
    for line in summary(rows):
        console.print(line, markup=False)
    for error in dict.fromkeys(refused.values()):
        console.print(f"{sum(each == error for each in refused.values())} refused: {error}", markup=False)
    for name, error in failures.items():
        console.print(f"{name} failed: {error}", markup=False)


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", nargs="?", choices=("calls", "programs"), default="programs")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    sizes = ("small", "middle", "large")
    parser.add_argument("--sizes", nargs="+", choices=sizes, default=sizes)
    parser.add_argument("--dtypes", nargs="+", metavar="NAME")
    parser.add_argument("--cores", type=int)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--repeats", type=int, default=5, help="iterations (default 5)")
    parser.add_argument("--slowest", type=int, help="show so many rows, those of the least ratios first")
    parser.add_argument("--before", type=Path, metavar="CHECKOUT")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parsed(arguments)
    clock = time.process_time if options.clock == "cpu" else time.perf_counter
    if options.serve:
        answers, sys.stdout = sys.stdout, sys.stderr  # what programs print is no answer
        return serve(options, clock, answers)
    other = Other(options.before, arguments) if options.before else None
    from reactant.errors import UnsupportedError
    rows, failures, refused = [], {}, {}
    for label, function, make in cases(options.kind, options):
        try:
            rows.append(measure(label, function, make, options, clock, other))
        except UnsupportedError as error:
            refused[label] = str(error).splitlines()[0]
        except Exception as error:  # one case's failure must not hide the others' figures
            failures[label] = f"{type(error).__name__}: {error}"[:300]
    show(rows, failures, refused, options)
    if options.json:
        options.json.write_text(json.dumps({"rows": rows, "failures": failures, "refused": refused}, indent=1))
    return 1 if failures or not all(row["right"] for row in rows) else 0


def keep_to(cores):
    """Run again on so many cores: libraries count them when they are imported."""
    if os.environ.get(CORES) != str(cores):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, CORES: str(cores)})


if __name__ == "__main__":
    if wanted := parsed(sys.argv[1:]).cores:
        keep_to(wanted)
    warnings.filterwarnings("ignore")
    sys.exit(main())

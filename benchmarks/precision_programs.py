"""Whole programs in float32x2 beside float64: do they agree to 40 bits, times their condition?

    python benchmarks/precision_programs.py [--only NAME ...] [--scale S] [--limbs float32x2] [--seconds S]
                                            [--at-once N]

The programs of the optimiser's corpus (`corpus.py`), in float64 arguments, at a small scale. The condition of a program
is measured in float64: how much more than its arguments its results change, relative to the largest element of each,
where arguments change by random 2^-40 of themselves (the worst of a few draws, at least 1). Right bits are those of the
difference to float64 over that condition. A row is printed when it is done; `refused` says what limbs have no form for.
Each program has a process of its own, with 8 GB and two minutes: XLA takes more than either for some.
--seconds: begin no other program after so long.
"""
import argparse
import math
import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
from shared_programs import PROGRAMS, prepared

import reactant

MEMORY, LONGEST = 8 << 30, 120
"""Bytes and seconds of one program."""
STEP = 2.0**-40
DRAWS = 4
WANTED = 40


def doubled(tree):
    """Arrays of float64 in place of those of float32."""
    def one(x):
        x = np.asarray(x)
        return x.astype({"float32": np.float64, "complex64": np.complex128}.get(x.dtype.name, x.dtype))
    return jax.tree_util.tree_map(one, tree)


def distance(found, wanted):
    """The largest difference over the largest element, of all floats; infinite where whole numbers differ."""
    worst = 0.0
    for a, b in zip(jax.tree_util.tree_leaves(found), jax.tree_util.tree_leaves(wanted), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind in "biu":
            worst = max(worst, 0.0 if np.array_equal(a, b) else math.inf)
            continue
        wrong = np.abs(np.where(np.isnan(a) & np.isnan(b) | (a == b), 0, a - b))
        if wrong.size and np.isnan(wrong).any():
            return math.inf
        largest = float(np.nanmax(np.abs(np.where(np.isfinite(b), b, 0)), initial=0))
        worst = max(worst, float(np.max(wrong, initial=0)) / (largest or 1.0))
    return worst


def moved(tree, rng):
    """Arguments that are a little wrong."""
    def one(x):
        return x * (1 + STEP * rng.uniform(-1, 1, x.shape)) if x.dtype.kind in "fc" else x
    return jax.tree_util.tree_map(one, tree)


def measure(name, scale, limbs):
    """Right bits, and the condition. Raises what a program is refused with."""
    with jax.enable_x64(True):
        function, arrays = prepared(name, scale)
        arrays = doubled(arrays)
        narrow = reactant.jit(function, frontend="jax", floats={"float64": limbs})
        found = narrow(*arrays)
        plain = jax.jit(function)
        wanted = plain(*arrays)
        rng = np.random.default_rng(0)
        changes = [distance(plain(*moved(arrays, rng)), wanted) for _ in range(DRAWS)]
    condition = max(1.0, *(change / STEP for change in changes if not math.isinf(change)))
    wrong = distance(found, wanted) / condition
    return (-math.log2(wrong) if wrong else math.inf), condition


def row(name, scale, limbs):
    """What is said of a program, and its right bits, 0 where there are none."""
    try:
        bits, condition = measure(name, scale, limbs)
    except reactant.UnsupportedError as error:
        return f"refused: {str(error).splitlines()[0]}", 0.0
    return f"{bits:6.1f} bits   condition {condition:.1e}", bits


def row_apart(name, scale, limbs):
    """The same from a process of its own."""
    command = [sys.executable, __file__, "--alone", name, "--scale", str(scale), "--limbs", limbs]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return f"not done in {LONGEST} s", 0.0
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "Error: " in line] or [f"exit status {done.returncode}"]
        return f"failed: {said[-1]}", 0.0
    text, _, bits = done.stdout.strip().splitlines()[-1].rpartition("\t")
    return text, float(bits)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=list(PROGRAMS), metavar="NAME")
    parser.add_argument("--scale", type=float, default=0.05)
    parser.add_argument("--limbs", default="float32x2", choices=["float32x2", "float32x3", "float64x2"])
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--at-once", type=int, default=1, help="processes")
    parser.add_argument("--alone", metavar="NAME", help="one program in this process")
    options = parser.parse_args(arguments)
    if options.alone:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        text, bits = row(options.alone, options.scale, options.limbs)
        print(f"{text}\t{bits}")
        return 0
    begun = time.monotonic()

    def one(name):
        if time.monotonic() - begun > options.seconds:
            return None
        text, bits = row_apart(name, options.scale, options.limbs)
        print(f"{name:32s} {text}", flush=True)
        return bits

    with ThreadPoolExecutor(options.at_once) as pool:
        found = [bits for bits in pool.map(one, options.only) if bits is not None]
    print(f"{sum(bits >= WANTED for bits in found)} of {len(found)} programs agree with float64 to {WANTED} bits times "
          "their condition")
    return 0


if __name__ == "__main__":
    sys.exit(main())

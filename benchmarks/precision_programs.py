"""Whole programs in float32x2 beside float64: do they agree to 40 bits, times their condition?

    python benchmarks/precision_programs.py [--only NAME ...] [--scale S] [--limbs float32x2] [--seconds S]

The programs of the optimiser's corpus (`corpus.py`), in float64 arguments, at a small scale. The condition of a program
is measured in float64: how much more than its arguments its results change, relative to the largest element of each,
where arguments change by random 2^-40 of themselves (the worst of a few draws, at least 1). Right bits are those of the
difference to float64 over that condition. A row is printed when it is done; `refused` says what limbs have no form for.
--seconds: begin no other program after so long.
"""
import argparse
import math
import sys
import time

import jax
import numpy as np
from shared_programs import PROGRAMS, prepared

import reactant

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


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=list(PROGRAMS), metavar="NAME")
    parser.add_argument("--scale", type=float, default=0.05)
    parser.add_argument("--limbs", default="float32x2", choices=["float32x2", "float32x3", "float64x2"])
    parser.add_argument("--seconds", type=float, default=math.inf)
    options = parser.parse_args(arguments)
    good, done, begun = 0, 0, time.monotonic()
    for name in options.only:
        if time.monotonic() - begun > options.seconds:
            break
        done += 1
        try:
            bits, condition = measure(name, options.scale, options.limbs)
        except reactant.UnsupportedError as error:
            print(f"{name:32s} refused: {str(error).splitlines()[0]}", flush=True)
            continue
        good += bits >= WANTED
        print(f"{name:32s} {bits:6.1f} bits   condition {condition:.1e}", flush=True)
    print(f"{good} of {done} programs agree with float64 to {WANTED} bits times their condition")
    return 0


if __name__ == "__main__":
    sys.exit(main())

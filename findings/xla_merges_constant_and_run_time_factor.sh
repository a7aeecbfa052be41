#!/usr/bin/env bash
# XLA:CPU computes (x * 0.1) * s, with s a number that only the run knows, as x * (0.1 * s): another rounding.
#
# One would guess that floating-point products are not reassociated without fast math, and constants merged at most with
# constants. XLA's simplifier merges a constant factor with any factor that is one number for the whole array, before
# LLVM sees either. Overflow moves as well: (1e200 * 1e200) * s is not inf where s is 1e-200. With the constant factor
# given as an argument, or s as an array, both products are made.
#
# Seen with jax 0.10.2, NumPy 2.4.6, x86-64:
#   s = 3: 570 of 1000 products differ from NumPy's
#   s = 1e-200: (x * 1e200) * s at x = 1e200 is 1e+200, NumPy's is inf
#   constant given at run time: 0 of 1000 differ
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PROGRAM'
import jax
import numpy as np

jax.config.update("jax_enable_x64", True)
x = np.random.default_rng(0).standard_normal(1000)
s = np.float64(3)
wanted = (x * 0.1) * s
merged = np.asarray(jax.jit(lambda x, s: (x * 0.1) * s)(x, s))
apart = np.asarray(jax.jit(lambda x, c, s: (x * c) * s)(x, np.float64(0.1), s))
print(f"s = 3: {(merged != wanted).sum()} of 1000 products differ from NumPy's")
assert (merged != wanted).sum() == (x * (0.1 * s) != wanted).sum() > 0, "the products are made apart now"
large = np.full(8, 1e200)
found = np.asarray(jax.jit(lambda x, s: (x * 1e200) * s)(large, np.float64(1e-200)))[0]
with np.errstate(over="ignore"):
    print(f"s = 1e-200: (x * 1e200) * s at x = 1e200 is {found}, NumPy's is {((large * 1e200) * 1e-200)[0]}")
assert np.isfinite(found), "the products are made apart now"
print(f"constant given at run time: {(apart != wanted).sum()} of 1000 differ")
assert (apart == wanted).all()
PROGRAM

#!/usr/bin/env bash
# XLA (without fast math) rewrites float expressions into others that are equal for real numbers only:
#   x / y / z    becomes x / (y * z), whose product may overflow or underflow where neither quotient does;
#   sqrt(x * x)  becomes |x|, where the square overflows or is 0;
#   log(exp(x))  becomes x, where exp(x) is infinite or 0;
#   |x| >= 0     becomes true, for NaN as well.
#
# One would guess from `xla_cpu_enable_fast_math` being off (the default) that results are those of the operations as
# written, up to contraction. The algebraic simplifier does these before any code is made, whatever that option says.
#
# Seen with jax 0.10.2, NumPy 2.4.6, x86-64 (float64; numbers are arguments, not constants):
#   1e300 / 1e200 / 1e200: XLA 0.0, NumPy 1e-100
#   sqrt(1e200 * 1e200): XLA 1e+200, NumPy inf
#   log(exp(1000)): XLA 1000.0, NumPy inf
#   |NaN| >= 0: XLA True, NumPy False
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PROGRAM'
import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
CASES = [
    ("1e300 / 1e200 / 1e200", lambda np, x, y, z: x / y / z, (1e300, 1e200, 1e200), 0.0, 1e-100),
    ("sqrt(1e200 * 1e200)", lambda np, x: np.sqrt(x * x), (1e200,), 1e200, np.inf),
    ("log(exp(1000))", lambda np, x: np.log(np.exp(x)), (1000.0,), 1000.0, np.inf),
    ("|NaN| >= 0", lambda np, x: np.abs(x) >= 0, (np.nan,), True, False),
]
for text, function, numbers, seen, right in CASES:
    given = [np.full(8, number) for number in numbers]
    options = {"xla_cpu_enable_fast_math": False}
    compiled = jax.jit(lambda *given, f=function: f(jnp, *given)).lower(*given).compile(compiler_options=options)
    by_xla = np.asarray(compiled(*given))[0].item()
    with np.errstate(all="ignore"):
        by_numpy = np.asarray(function(np, *given))[0].item()
    print(f"{text}: XLA {by_xla}, NumPy {by_numpy}")
    assert by_numpy == right, "NumPy changed"
    assert by_xla == seen, "XLA computes it otherwise now"
PROGRAM

#!/usr/bin/env bash
# XLA:CPU takes denormal numbers for zero, and the option `xla_cpu_ftz=False` does not change it.
#
# One would guess from the option's description ("flush-to-zero semantics are enabled in the code generated for CPUs")
# that False gives IEEE arithmetic. It only changes what LLVM may assume: the processor's mode is set by the runtime
# around every execution. So 1e-310 > 0 is False, its log -inf, 1e-310 + 1e-309 is 0, with the option either way.
#
# Seen with jax 0.10.2, NumPy 2.4.6, x86-64:
#   xla_cpu_ftz=None: [False, -inf, 0.0, 0.0]
#   xla_cpu_ftz=True: [False, -inf, 0.0, 0.0]
#   xla_cpu_ftz=False: [False, -inf, 0.0, 0.0]
#   NumPy: [True, -713.8013788281542, 1e-310, 1.1e-309]
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
x = np.full(8, 1e-310)


def looks(module):
    return lambda x: (x > 0, module.log(x), module.maximum(x, 0), x + 1e-309)


def first(results):
    return [np.asarray(result)[0].item() for result in results]


for flag in (None, True, False):
    options = {} if flag is None else {"xla_cpu_ftz": flag}
    found = first(jax.jit(looks(jnp)).lower(x).compile(compiler_options=options)(x))
    print(f"xla_cpu_ftz={flag}:", found)
    assert found == [False, -np.inf, 0, 0], "denormals are numbers now"
print("NumPy:", first(looks(np)(x)))
PROGRAM

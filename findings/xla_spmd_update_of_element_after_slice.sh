#!/usr/bin/env bash
# XLA's SPMD partitioner: x.at[:-1].add(1).at[32].add(1) of a divided array also changes a row on each other device.
#
# One would guess that dividing an array over devices changes where a program computes, not what. Here 64 rows lie on
# eight devices, the second update is for row 32, which the fifth device has, and each of the others adds it to its row
# at that end of its block. No error; on one device, and with the two updates compiled apart, the result is right. So
# it is with integers, with `at[1:]` and with a product as the first update; where both updates `set`, it is right.
#
# Seen with jax 0.10.2, NumPy 2.4.6, x86-64, eight devices of one CPU:
#   on one device, wrong rows: []
#   on eight devices, wrong rows: [7, 15, 23, 31, 40, 48, 56]
#   on eight devices, each update compiled by itself: []
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
XLA_FLAGS=--xla_force_host_platform_device_count=8 JAX_PLATFORMS=cpu "$folder/venv/bin/python" - <<'PROGRAM'
import jax
import jax.numpy as jnp
import numpy as np

x = np.arange(64, dtype=np.float32)
wanted = x.copy()
wanted[:-1] += 1
wanted[32] += 1
mesh = jax.make_mesh((8,), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
divided = jax.device_put(jnp.asarray(x), jax.NamedSharding(mesh, jax.P("rows")))


def first(x):
    return x.at[:-1].add(1.0)


def second(x):
    return x.at[32].add(1.0)


def wrong(found):
    return np.flatnonzero(np.asarray(found) != wanted).tolist()


both = jax.jit(lambda x: second(first(x)))
alone, together, apart = wrong(both(x)), wrong(both(divided)), wrong(jax.jit(second)(jax.jit(first)(divided)))
print("on one device, wrong rows:", alone)
print("on eight devices, wrong rows:", together)
print("on eight devices, each update compiled by itself:", apart)
assert alone == [] and apart == [], "other programs are wrong now"
assert together == [7, 15, 23, 31, 40, 48, 56], "other rows are wrong now, or none"
PROGRAM

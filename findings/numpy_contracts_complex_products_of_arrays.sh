#!/usr/bin/env bash
# NumPy: z * conj(z) has an imaginary part that is not 0 where z is an array, and is real where z is a number.
#
# One would guess that NumPy rounds every product, and computes with the elements of an array as with its numbers. Its
# vector loops of complex products use fused multiply-adds (on processors that have them: FMA3 on x86-64), so one product
# of each sum is not rounded; its scalars go through plain code, as Python's complex numbers do. Real products are not
# contracted: a*b - c*d of equal products is 0 in arrays, too.
#
# Seen with NumPy 2.4.6, x86-64 with AVX-512:
#   as an array: 1000 of 1000 imaginary parts are not 0
#   one by one: 0 of 1000
#   real: 0 of 1000 differences of equal products are not 0
set -euo pipefail
grep -q -m1 '\bfma\b' /proc/cpuinfo || { echo "this processor has no fused multiply-add: nothing to see"; exit 0; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6
"$folder/venv/bin/python" - <<'PROGRAM'
import numpy as np

random = np.random.default_rng(0)
z = random.standard_normal(1000) + 1j * random.standard_normal(1000)
conjugate = np.conj(z)
arrays = np.count_nonzero((z * conjugate).imag)
numbers = sum((a * b).imag != 0 for a, b in zip(z, conjugate))
a, b = z.real.copy(), z.imag.copy()
real = np.count_nonzero(a * b - b.copy() * a.copy())
print(f"as an array: {arrays} of 1000 imaginary parts are not 0")
print(f"one by one: {numbers} of 1000")
print(f"real: {real} of 1000 differences of equal products are not 0")
assert arrays > 0, "complex products of arrays are rounded now"
assert numbers == 0, "complex products of numbers are contracted now"
assert real == 0, "real products are contracted now"
PROGRAM

"""What is left of programs with transforms."""
import numpy as np
import pytest

from reactant.ir import ops
from tests.simplify.test_goals import short, simplified

N = 12


def roll(x, k):
    return ops.concatenate([ops.slice(x, (k,), (N,)), ops.slice(x, (0,), (k,))], 0)


def symmetric(power=1):
    return ops.constant((1.0 / (1 + np.minimum(np.arange(N), N - np.arange(N))) ** power).astype(np.complex64))


def real(a):
    return ops.complex(a(N), 0.0)


PROGRAMS = {
    "there and back": (lambda a: ops.real(ops.fft(ops.fft(real(a), "FFT", (N,)), "IFFT", (N,))), {"fft": 0}),
    "real there and back": (lambda a: ops.fft(ops.fft(a(N), "RFFT", (N,)), "IRFFT", (N,)), {"fft": 0}),
    "shifts": (lambda a: roll(roll(a(N), 5), N - 5), {"concatenate": 0, "slice": 0}),
    "real filter": (lambda a: ops.real(ops.fft(ops.multiply(ops.fft(real(a), "FFT", (N,)), symmetric()), "IFFT", (N,))),
                    {"fft": 2, "complex": 0, "real": 0}),
    # of finite numbers alone a sum: the transform of an infinity is NaN everywhere
    "mean": (lambda a: ops.real(ops.slice(ops.fft(real(a), "FFT", (N,)), (0,), (1,))), {"fft": 1, "reduce": 0}),
    "constant": (lambda a: ops.real(ops.fft(symmetric(), "FFT", (N,))), {"fft": 0, "constant": 1}),
    "zeros": (lambda a: ops.fft(ops.constant(0, np.complex64, (N,)), "FFT", (N,)), {"fft": 0}),
    "one element": (lambda a: ops.fft(a(3, 1), "RFFT", (1,)), {"fft": 0}),
    "sum": (lambda a: ops.add(ops.fft(a(N), "RFFT", (N,)), ops.fft(a(N), "RFFT", (N,))), {"fft": 1}),
    "other lengths stay": (lambda a: ops.fft(ops.fft(a(N), "RFFT", (N,)), "IRFFT", (N + 1,)), {"fft": 2}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_transforms(name):
    builder, wanted = PROGRAMS[name]
    counts = short(simplified(builder))
    assert {op: counts.get(op, 0) for op in wanted} == wanted, counts

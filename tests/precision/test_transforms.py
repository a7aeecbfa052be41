"""Fourier transforms in limbs."""
import mpmath
import numpy as np
import pytest

import reactant
from reactant.precision import transforms
from tests.precision import limbs

RNG = np.random.default_rng(0)
TWO = {"float64": "float32x2"}
slow = pytest.mark.slow


def half(x, n):
    return np.fft.irfft(x[:n // 2 + 1] + 1j * x[::-1][:n // 2 + 1], n)


PROGRAMS = {"rfft": (np.fft.rfft, (3, 20)), "fft": (np.fft.fft, (1000,)), "even": (lambda x: half(x, 48), (48,)),
            "odd": (lambda x: half(x, 49), (49,)), "planes": (np.fft.fft2, (6, 10)),
            "real planes": (np.fft.rfft2, (6, 9)), "back": (np.fft.ifft, (100,)),
            "prime": (np.fft.fft, (521,)), "one": (np.fft.fft, (3, 1)),
            "real planes back": (lambda x: np.fft.irfft2(x + 1j * x[::-1], (4, 7)), (4, 4)),
            "long": (np.fft.rfft, (1 << 15,))}


@pytest.mark.parametrize("name", [name if name == "rfft" else pytest.param(name, marks=slow) for name in PROGRAMS])
def test_transforms_are_those_of_the_wide_program(name):
    function, shape = PROGRAMS[name]
    x = RNG.standard_normal(shape)
    found, wanted = reactant.jit(function, floats=TWO)(x), function(x)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=0, atol=np.abs(wanted).max() * 2.0**-44)


@slow
@pytest.mark.parametrize("n", [24, 90])
def test_digits(n):
    x = RNG.standard_normal((1, n))

    def transform(rows):
        found = transforms.transform(rows.each(lambda v: transforms.ops.reshape(v, (1, n))), False)
        return [part.each(lambda v: transforms.ops.reshape(v, (1, 1, n))) for part in (found.re, found.im)]
    re, im = limbs.on_matrices(transform, [x], np.float64, 2)
    with mpmath.workprec(400):
        wanted = [mpmath.fsum(float(v) * mpmath.expjpi(-mpmath.mpf(2 * j * k) / n) for j, v in enumerate(x[0]))
                  for k in range(n)]
        error = max(abs(mpmath.mpc(re[0, k], im[0, k]) - wanted[k]) for k in range(n))
        assert -mpmath.log(error / max(map(abs, wanted)), 2) > 100


def test_roots_of_unity():
    for n in (1, 2, 3, 8, 12, 360):
        re, im = transforms.roots(n)
        with mpmath.workprec(280):
            for k in range(0, n, max(n // 7, 1)):
                wanted = mpmath.expjpi(-mpmath.mpf(2 * k) / n)
                assert abs(mpmath.mpf(re[k].numerator) / re[k].denominator - wanted.real) < mpmath.mpf(2)**-270
                assert abs(mpmath.mpf(im[k].numerator) / im[k].denominator - wanted.imag) < mpmath.mpf(2)**-270
    assert transforms.roots(8)[0][2] == 0 and transforms.roots(8)[1][2] == -1


def test_some_of_the_roots_are_the_same():
    n = 360
    for whole, some in zip(transforms.roots(n), transforms._some_roots(n, 7, 40), strict=True):
        assert all(abs(whole[7 * k % n] - some[k]) < 2.0**-250 for k in range(40))

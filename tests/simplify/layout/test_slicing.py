"""Slices through what is put together: programs of butterflies stay as long as they were written."""
import numpy as np
import pytest

import reactant


def even_and_odd(a, stages):
    for _ in range(stages):
        a = np.concatenate([a[::2] + a[1::2], a[::2] - a[1::2]])
    return a


def halves(a, stages):
    for _ in range(stages):
        n = a.shape[0] // 2
        a = np.concatenate([a[:n] + a[n:], a[:n] - a[n:]])
    return a


def columns_of_rows(a, stages):
    """Stockham's Fourier transform."""
    a = a.reshape(-1, 1)
    for _ in range(stages):
        half = a.shape[0] // 2
        factor = np.exp(-1j * np.pi * np.arange(half) / half)[:, None]
        a = np.concatenate([a[:half] + a[half:], (a[:half] - a[half:]) * factor], axis=1)
    return a


def quarters(a, stages):
    a = a.reshape(2**(stages // 2), -1)
    for _ in range(stages):
        p, q, r, s = a[::2, ::2], a[::2, 1::2], a[1::2, ::2], a[1::2, 1::2]
        a = np.block([[p + q, p - q], [r + s, r - s]]) if a.shape[0] > 1 and a.shape[1] > 1 else a
    return a


def an_odd_tree(a, stages):
    a = a[1:]
    for _ in range(stages - 1):
        n = a.shape[0] // 2
        a = np.sin(a)
        a = a[:n] + a[n:2 * n]
    return a


def corners(a, stages):
    a = a.reshape(2**(stages // 2), -1)
    for _ in range(stages // 2):
        a = np.sqrt(a * a + 1)
        a = a[::2, ::2] + a[1::2, ::2]
    return a


def shuffles(a, stages):
    for _ in range(stages):
        a = np.concatenate([a[::2], a[1::2]]) * 1.5
    return a


@pytest.mark.parametrize("program", [even_and_odd, halves, columns_of_rows, quarters, an_odd_tree, corners, shuffles])
def test_butterflies_stay_as_long_as_they_are_written(program):
    counts = []
    for stages in (4, 7, 10):
        a = np.random.default_rng(stages).standard_normal(2**stages)
        if stages < 10:
            np.testing.assert_allclose(reactant.jit(program)(a, stages), program(a, stages), rtol=1e-12, atol=1e-12)
        lowered = reactant.jit(program).lower(a, stages)
        before, after = (sum(lowered.operations(optimized=optimized).values()) for optimized in (False, True))
        assert after <= before + stages
        counts.append(after)
    assert counts[2] < 2.5 * counts[1], counts      # eight times where each stage doubles what is behind it


def test_the_gradient_of_butterflies_is_as_long_as_they_are():
    def loss(a, stages):
        return (np.tanh(even_and_odd(a, stages)) ** 2).sum()
    counts = [sum(reactant.jit(reactant.grad(loss)).lower(np.ones(2**k) / 3, k).operations().values())
              for k in (4, 7, 10)]
    assert counts[2] - counts[1] <= counts[1] - counts[0] + 8, counts


def kept(program, *arguments):
    """Operations of a program by name, after the passes."""
    return reactant.jit(program).lower(*arguments).operations()


def test_what_is_written_in_halves_is_computed_in_halves():
    def program(a, b):
        c = np.sin(np.concatenate([a, b]))
        return c[:40] * 2, c[40:] + 1
    assert "stablehlo.concatenate" not in kept(program, np.ones(40), np.ones(24))


def test_a_few_elements_of_much_are_computed_alone():
    def program(a):
        b = np.sin(a)
        return b[0] + b[-1]
    lines = reactant.jit(program).lower(np.ones(1000)).as_text().splitlines()
    sines = [line for line in lines if "stablehlo.sine" in line]
    assert sines and not any("1000" in line for line in sines)

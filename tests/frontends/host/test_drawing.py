"""Libraries that draw are refused at the line that does."""
import time

import numpy as np
import pytest

import reactant


def regplot(data):
    return data


regplot.__module__ = "seaborn.regression"


def test_a_drawing_function_is_named_with_its_line():
    def simulated(u):
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
        regplot(3)
        return u

    with pytest.raises(reactant.UnsupportedError, match=r"seaborn\.regplot draws while .*") as raised:
        reactant.jit(simulated)(np.arange(6.0))
    assert "regplot(3)" in str(raised.value) and "after the call" in str(raised.value)


def test_matplotlib_is_not_traced():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    def simulated(u):
        plt.imshow(u)
        return u

    begun = time.process_time()
    with pytest.raises(reactant.UnsupportedError, match=r"matplotlib\.imshow draws"):
        reactant.jit(simulated)(np.ones((4, 4)))
    assert time.process_time() - begun < 20

"""Which names are known to compute and nothing else."""
import functools
import os
import random

import numpy as np
import pytest
import scipy.signal

from reactant.cache import purity


@pytest.mark.parametrize("module, name, impure", [
    ("numpy", "sin", False), ("numpy", "load", True), ("numpy.random", "uniform", True), ("numpy.linalg", "svd", False),
    ("math", "sin", False), ("time", "time", True), ("os", "getcwd", True), ("builtins", "open", True),
    ("builtins", "len", False), ("jax.numpy", "sin", False), ("jax", "pure_callback", True),
    ("scipy.io", "loadmat", True),
    ("scipy.signal", "lfilter", False), ("random", "random", True), ("somebody", "f", True), ("numpyish", "sin", True),
    ("contextlib", "chdir", True), ("contextlib", "contextmanager", False), ("reactant.cache", "clear", True)])
def test_names(module, name, impure):
    assert purity.is_impure(module, name) == impure


def test_files():
    for module in (np, scipy.signal, functools, random):
        assert purity.is_library_file(module.__file__)
    assert not purity.is_library_file(__file__) and not purity.is_library_file("<string>")
    assert not purity.is_library_file(os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "somebody", "a.py"))
    assert purity.is_library_file("<frozen importlib._bootstrap>")


def test_what_is_under_its_name():
    assert purity.is_here("numpy", "sin", np.sin) and not purity.is_here("numpy", "cos", np.sin)
    assert not purity.is_here("nobody", "sin", np.sin)
    assert purity.names_in(["a", "b c", 1, "_d"]) == {"a", "_d"}

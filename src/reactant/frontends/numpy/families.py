"""Loads every family of NumPy functions, so that each registers what it implements."""
from __future__ import annotations

import importlib
import pkgutil

from reactant.frontends import arrays, numpy

NOT_A_FAMILY = {"families", "overlay", "namespace"}


def load() -> None:
    """Import the modules of these packages (declaring a function there is all there is to do)."""
    for package in (arrays, numpy):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.rpartition(".")[2] not in NOT_A_FAMILY:
                importlib.import_module(module.name)

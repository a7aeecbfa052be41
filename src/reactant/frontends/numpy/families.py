"""Loads every family of NumPy functions, so that each registers what it implements."""
from __future__ import annotations

import importlib
import pkgutil

import reactant.frontends.numpy as package

NOT_A_FAMILY = {"families", "overlay", "namespace"}


def load() -> None:
    """Import the modules of this package (declaring a function there is all there is to do)."""
    for module in pkgutil.iter_modules(package.__path__):
        if module.name not in NOT_A_FAMILY:
            importlib.import_module(f"{package.__name__}.{module.name}")

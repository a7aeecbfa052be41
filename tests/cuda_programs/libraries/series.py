"""The numbers that `numbers.h` makes, and the files that its programs write."""
from __future__ import annotations

from pathlib import Path

import numpy as np


def numbers(seed: int, count: int, dtype: str = "f8") -> np.ndarray:
    """The series of `seed`; of complex numbers, the parts are numbers of it in turn."""
    dtype_ = np.dtype(dtype)
    parts = 2 if dtype_.kind == "c" else 1
    with np.errstate(over="ignore"):
        k = np.arange(count * parts, dtype=np.uint32)
        z = np.uint32(seed * 0x9E3779B9 & 0xFFFFFFFF) ^ (k * np.uint32(0x85EBCA6B) + np.uint32(0x165667B1))
        z = (z ^ (z >> np.uint32(15))) * np.uint32(0x2C1B3C6D)
        z = (z ^ (z >> np.uint32(12))) * np.uint32(0x297A2D39)
    real = (z ^ (z >> np.uint32(15))) % np.uint32(1025) / 512.0 - 1
    made = real.view("c16") if parts == 2 else real
    return made.astype(dtype_)


def results(path: Path) -> dict[str, np.ndarray]:
    """Name -> array, flat, of a file of results."""
    found, left = {}, path.read_bytes()
    while left:
        line, _, left = left.partition(b"\n")
        name, dtype, count = line.decode().split()
        size = int(count) * np.dtype(dtype).itemsize
        assert name not in found, name
        found[name], left = np.frombuffer(left[:size], dtype), left[size:]
    return found

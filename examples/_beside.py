"""What the gallery's `measure.py` share: code of a C programmer as a library, and times of several ways in turn."""
from __future__ import annotations

import ctypes
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

FLAGS = ["-std=c++17", "-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math",
         "-fPIC", "-shared"]


def library(source: Path, *flags: str) -> tuple[ctypes.CDLL, str]:
    """A C++ file by g++ with OpenMP, or where there is none by the clang of ziglang without; and which it was.

    `flags` come after `FLAGS`.
    """
    made = Path(tempfile.mkdtemp()) / "yardstick.so"
    if shutil.which("g++"):
        compiler, said = ["g++", "-fopenmp"], "g++ -O3 -fopenmp"
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")     # threads that wait take no processor time
    else:
        compiler, said = [sys.executable, "-m", "ziglang", "c++", "-fno-sanitize=all"], "clang -O3"
    subprocess.run([*compiler, *FLAGS, *flags, "-o", str(made), str(source)], check=True, capture_output=True)
    return ctypes.CDLL(str(made)), said


def called(function: Any, *arguments: Any) -> Any:
    """Arrays as pointers, floats as double, integers as int."""
    return function(*(ctypes.c_void_p(a.ctypes.data) if isinstance(a, np.ndarray)
                      else ctypes.c_double(a) if isinstance(a, float) else ctypes.c_int(a) for a in arguments))


Ways = Mapping[str, tuple[Callable[[], Any], Callable[[Any], Any]]]


def compare(console: Console, title: str, ways: Ways, repeats: int = 5) -> dict[str, tuple[float, float]]:
    """Times of several ways to do the same, as a table: one call of each in turn, medians.

    Args:
        console: where the table is printed.
        title: of the table.
        ways: by name, what makes a call's argument (not timed) and the call. The first is what others are divided by.
        repeats: calls of each, after one that compiles.

    Returns:
        Median wall and processor time by name, s.
    """
    first, found = {}, {name: [] for name in ways}
    for turn in range(repeats + 1):
        for name, (prepare, call) in ways.items():
            argument = prepare()
            wall, processor = time.perf_counter(), time.process_time()
            call(argument)
            taken = time.perf_counter() - wall, time.process_time() - processor
            if turn:
                found[name].append(taken)
            else:
                first[name] = taken[1]
    medians = {name: (statistics.median(w for w, _ in rows), statistics.median(p for _, p in rows))
               for name, rows in found.items()}
    table = Table("", "first call, processor s", "wall, s", "processor, s", "over the first row's", title=title)
    base = medians[next(iter(medians))][1]
    for name, (wall, processor) in medians.items():
        table.add_row(name, f"{first[name]:.1f}", f"{wall:.3f}", f"{processor:.3f}", f"{processor / base:.2f}")
    console.print(table)
    return medians

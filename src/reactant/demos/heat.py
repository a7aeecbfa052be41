"""A user's own script, examples/heat.py: in-place stencil updates in a loop of 10,000 steps that stays a loop."""
from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
from rich.console import Console

from reactant.demos import picture
from reactant.demos.comparison import Comparison, compare, compile_anew, table

OUTPUT = Path("heat.png")
SMALLEST = 3
_HERE = Path(__file__).parent
# Where the script lies in an installed package, and in a checkout.
_PLACES = (_HERE / "scripts" / "heat.py", _HERE.parents[2] / "examples" / "heat.py")


def script() -> ModuleType:
    """The user's script as a module. Raises `FileNotFoundError` when the package is incomplete."""
    path = next((place for place in _PLACES if place.exists()), None)
    if path is None:
        raise FileNotFoundError(f"the example script is neither at {_PLACES[0]} nor at {_PLACES[1]}")
    spec = importlib.util.spec_from_file_location("reactant_demo_heat_script", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def run(output: Path, console: Console, repeats: int = 5, size: int = 128, steps: int = 10_000) -> Comparison:
    """Compare plain and compiled, print the table (and the compile time of a shorter run), draw the picture."""
    user = script()
    plate = user.plate_with_heaters(size)
    comparison = compare(user.simulate, (plate, steps), repeats, console)
    few = max(steps // 100, 2)
    _, compile_time_of_few = compile_anew(user.simulate, (plate, few))
    console.print(table(f"examples/heat.py, {size} x {size}, {steps:,} steps, {plate.dtype}", comparison,
                        {f"compile time of {few:,} steps": f"{compile_time_of_few:.2f} s"}))
    panels = {"start": plate, "plain NumPy": comparison.plain_outcome.arguments[0],
              "compiled by reactant": comparison.compiled_outcome.arguments[0]}
    picture.write(output, {name: _coloured(values) for name, values in panels.items()}, scale=2)
    console.print(f"start, plain and compiled picture: {output}", soft_wrap=True)
    return comparison


def _coloured(values: np.ndarray) -> np.ndarray:
    return picture.heat_colours(values, 0.0, 100.0)

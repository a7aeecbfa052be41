"""A user's own package, examples/ocean: an ocean model in Numba-CUDA kernels, a film of it, and what its heat transport
depends on."""
from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from rich.console import Console

OUTPUT = Path("ocean.gif")
SMALLEST = 16
_HERE = Path(__file__).parent
# Where the package lies in an installed one, and in a checkout.
_PLACES = (_HERE / "scripts" / "ocean", _HERE.parents[2] / "examples" / "ocean")
_NAME = "reactant_demo_ocean"


def package() -> ModuleType:
    """The user's package. Raises `FileNotFoundError` when ours is incomplete."""
    folder = next((place for place in _PLACES if place.exists()), None)
    if folder is None:
        raise FileNotFoundError(f"the example is neither at {_PLACES[0]} nor at {_PLACES[1]}")
    spec = importlib.util.spec_from_file_location(_NAME, folder / "__init__.py",
                                                  submodule_search_locations=[str(folder)])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    spec.loader.exec_module(module)
    return module


def run(output: Path, console: Console, repeats: int = 1, size: int = 64) -> None:
    """Run a baroclinic channel, show its progress, write the film; then the map of sensitivities, of a small one.

    repeats: nothing is timed here."""
    package()
    film = importlib.import_module(f"{_NAME}.film")
    film.make(output, console, size=size)
    film.map_sensitivity(output.with_name("sensitivity.png"), console, size=min(size, 24))

"""Libraries that draw, in compiled code: a picture would be of one call, the traced one, and of values that are not
there yet."""
from __future__ import annotations

from typing import Any

from reactant.errors import Reason
from reactant.frontends.session import calls
from reactant.frontends.session.trace import is_tracing

DRAWS = Reason("{name} draws while the function is traced, once, and not when the program runs.",
               "Draw what the compiled function returns, after the call.", "outside-world")

_PACKAGES = frozenset({"bokeh", "mpl_toolkits", "plotly", "pyqtgraph", "seaborn", "vispy"})
_MODULES = ("matplotlib.animation", "matplotlib.artist", "matplotlib.axes", "matplotlib.backend", "matplotlib.figure",
            "matplotlib.pyplot")
"""The rest of Matplotlib, as its tables of colours, draws nothing."""


def refuse(function: Any, arguments: tuple, keywords: dict) -> None:
    """Raise `UnsupportedError` for a function that draws."""
    module = getattr(function, "__module__", None) or ""
    package = module.partition(".")[0]
    if package in _PACKAGES or module.startswith(_MODULES) \
            or package == "matplotlib" and calls.involves_any(arguments, keywords):
        raise DRAWS.named(f"{package}.{function.__qualname__}").error()


def install() -> None:
    """Let calls ask."""
    calls.LOOKS.append(lambda *call: refuse(*call) if is_tracing() else None)

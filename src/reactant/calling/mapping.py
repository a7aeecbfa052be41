"""What is mapped over a batch, and how."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactant.support.records import dataclass

Axes = Any
"""An int, None, or a tree of them with the containers of what it is for, down to any depth."""


@dataclass(frozen=True)
class Mapping:
    """What is mapped, and how. Apart from the object that users call, whose program calls it: else only the collector
    would free both."""

    name: str
    function: Callable
    in_axes: Axes
    out_axes: Axes
    axis_size: int | None

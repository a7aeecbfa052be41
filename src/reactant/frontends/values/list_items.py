"""The elements of lists of run-time length, by index, for the loops that run over them."""
from __future__ import annotations

from typing import Any

from reactant.frontends.arrays.tensor import Tensor
from reactant.frontends.control.iteration import Items
from reactant.frontends.session.abstract import AbstractList


class ListItems(Items):
    """The elements of a list of run-time length."""

    def __init__(self, items: Any, grower: AbstractList | None = None):
        self.items, self.length = items, items.length() if items.room else 0
        self.lists = () if grower is None else (grower,)

    def at(self, k: int | Tensor) -> Any:
        return self.items.at(k)


class ArrayListItems(Items):
    """The elements of a list that stands in one memory."""

    def __init__(self, items: Any):
        self.items, self.length = items, len(items)

    def at(self, k: int | Tensor) -> Any:
        return self.items[k]

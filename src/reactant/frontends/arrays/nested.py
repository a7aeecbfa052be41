"""Arguments as NumPy's functions take them: lists, tuples and dicts, one inside the other."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    """The same structure with `change(x)` for each x that is no list, tuple or dict."""
    if type(tree) in (list, tuple):
        return type(tree)([mapped(branch, change) for branch in tree])
    if type(tree) is dict:
        return {name: mapped(branch, change) for name, branch in tree.items()}
    return change(tree)


def leaves(tree: Any) -> Iterator[Any]:
    """What is in the structure, in order."""
    if type(tree) in (list, tuple):
        for branch in tree:
            yield from leaves(branch)
    elif type(tree) is dict:
        for branch in tree.values():
            yield from leaves(branch)
    else:
        yield tree

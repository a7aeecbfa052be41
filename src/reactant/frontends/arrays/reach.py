"""What functions and variables can reach: arrays, lists, and who else refers to them."""
from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, MethodWrapperType, SimpleNamespace
from typing import Any

import numpy as np

from reactant.frontends.arrays.storage import Storage
from reactant.frontends.arrays.storage_aliasing import ChosenStorage, roots_of
from reactant.frontends.arrays.tensor import ARRAY, Tensor, is_tensor
from reactant.frontends.session.heap import Heap, Root
from reactant.frontends.session.trace import current_trace
from reactant.frontends.source.conversion import is_user_file
from reactant.frontends.source.jax_recognition import codes
from reactant.support.attributes import HEAP_TYPE, attributes

REACH = 5
"""How deep arrays are looked for in lists, dicts and objects that a function can reach."""


def bind_directly(cells: Iterable[CellType]) -> None:
    """Variables whose names may be one memory only get arrays that are that memory."""
    for cell in cells:
        tensor = content_of(cell)
        if is_tensor(tensor) and type(tensor.storage) is ChosenStorage and len(tensor.storage.options) == 1 \
                and type(tensor.storage.first) is Storage:
            tensor.storage = tensor.storage.first


def look(cells: Iterable[CellType] = ()) -> Heap:
    """What the user's code reaches, and what the loops and branches around began with. cells: variables that ask, which
    may be our own."""
    return Heap().look(*((Root("variable"), cell) for cell in cells), *begun_with())


def begun_with() -> list[tuple[Root, Tensor]]:
    """The arrays that the loops and branches around began with: these refer to them, too."""
    trace = current_trace()
    held = [x for before, _ in trace.around for x in before.values() if is_tensor(x)]
    held += [x for loop in trace.loops for c in loop.carried.values() for x in c.objects if is_tensor(x)]
    return [(Root("record"), x) for x in held]


def is_owned(cell: CellType | None, heap: Callable[[], Heap], records: int = 0) -> bool:
    """Whether the variable is the only thing that refers to its array (and to the array's memory), besides so many
    records of ours."""
    tensor = content_of(cell)
    if not is_tensor(tensor) or not is_own_memory(tensor) or tensor.kind != ARRAY:
        return False
    found = heap()
    return len(found.holders(tensor)) <= 1 + records and found.knows_one(tensor, "record") \
        and found.knows_one(tensor.storage)


def is_own_memory(tensor: Tensor) -> bool:
    """Whether a tensor is all of a memory that was made in this trace."""
    memory = tensor.storage
    return not tensor.steps and type(memory) is Storage and not memory.constant and memory.argument is None


def may_be_written(storage: Storage) -> bool:
    """Whether a loop that reaches an array is taken to write it: a first guess, which tracing corrects."""
    return type(storage) is Storage and storage.data is None and not storage.constant and not storage.region.closed


def reachable_storages(functions: list[FunctionType]) -> list[Storage]:
    """The memories of the arrays that the functions can reach."""
    found: dict[Storage, None] = {}
    seen: set[int] = set()
    waiting: list[tuple[Any, int]] = [(f, REACH) for f in reversed(functions)]
    while waiting:      # not by a function in here: as a cycle it would keep the memories alive
        x, depth = waiting.pop()
        if is_tensor(x):
            if x.kind == ARRAY:
                found.update(dict.fromkeys(roots_of(x.storage)))
        elif depth and id(x) not in seen and not isinstance(x, (str, bytes, int, float, np.ndarray, type)):
            seen.add(id(x))
            waiting += [(inner, depth - 1) for inner in reversed(parts_of_object(x))]
    return list(found)


def reachable(roots: list[Any], everywhere: bool = False,
              depth: int = REACH + 2) -> tuple[set[int], dict[int, int]]:
    """Identities of the objects that are reached from `roots`, and how often each list is. everywhere: also through
    the defaults and global variables of functions, and what C code holds."""
    seen: set[int] = set()
    times: dict[int, int] = {}

    waiting: list[tuple[Any, int]] = [(root, depth) for root in reversed(roots)]
    while waiting:      # see `reachable_storages`
        x, depth = waiting.pop()
        if is_tensor(x) or isinstance(x, (str, bytes, int, float, complex, type, np.ndarray)) \
                or hasattr(type(x), "ag__internal"):
            continue
        times[id(x)] = times.get(id(x), 0) + 1
        if id(x) in seen or not depth:
            continue
        seen.add(id(x))
        inner = [*parts_of_object(x), *(_hidden_parts(x) if everywhere else ())]
        waiting += [(each, depth - 1) for each in reversed(inner)]
    return seen, times


def parts_of_object(x: Any) -> list[Any]:
    if isinstance(x, dict):
        return list(x.values())
    if isinstance(x, (list, tuple, set)):
        return list(x)
    if isinstance(x, MethodType):
        return [x.__self__, x.__func__]
    if isinstance(x, FunctionType):
        return [content_of(c) for c in x.__closure__ or ()]
    if (parts := getattr(type(x), "ag__parts", None)) is not None:
        return parts(x)
    held = type(x).__flags__ & HEAP_TYPE or type(x) is SimpleNamespace
    return list(attributes(x, noted=False).values()) if held else []


def _hidden_parts(x: Any) -> list[Any]:
    if isinstance(x, FunctionType):
        return [*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values(), *globals_of(x)]
    slots = hasattr(type(x), "__slots__") and not hasattr(x, "__dict__")
    opaque = isinstance(x, (partial, BuiltinFunctionType, MethodWrapperType, Iterator))
    return gc.get_referents(x) if slots or opaque else []


def globals_of(function: FunctionType) -> list[Any]:
    """The global variables that the code of a user's function names."""
    if not is_user_file(function.__code__.co_filename):
        return []
    found = {name for code in codes(function.__code__) for name in code.co_names}
    return [function.__globals__[n] for n in sorted(found) if n in function.__globals__]


def content_of(cell: CellType | None) -> Any:
    """What a variable holds, None where it is unbound."""
    if cell is None:
        return None
    try:
        return cell.cell_contents
    except ValueError:
        return None

"""Arguments of a call as a hashable signature and a flat list of run-time leaves, and back as traced arguments.

Lists, tuples, dicts, NamedTuples, dataclasses, registered jax pytrees and plain objects are containers, structured
arrays those of their fields. Arrays, NumPy scalars and Python `float`/`complex` are run-time leaves; `int`, `bool`,
`str`, `None`, functions and other hashable objects are static: part of the signature. Attributes of objects may be what
none of these is, as long as nobody uses them.
"""
from __future__ import annotations

import enum
import functools
import gc
import inspect
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np

from reactant.errors import ReactantError, Reason, UnsupportedError, require_plain
from reactant.ir.types import supported
from reactant.runtime import meshes
from reactant.runtime.array import DeviceArray
from reactant.support import named_tuples
from reactant.support.attributes import HEAP_TYPE, Noted, asks_by_name, attributes, is_of_python
from reactant.support.named_tuples import is_named_tuple
from reactant.support.random_keys import generator_of, is_key, keys_of

STATIC_TYPES = (bool, int, str, bytes, type(None), type(Ellipsis), np.dtype, type, slice, range, enum.Enum,
                types.FunctionType, types.BuiltinFunctionType, types.ModuleType, np.ufunc)


class Static:
    """A static leaf in a signature: equal when type and value are (so that 1, 1.0 and True differ)."""

    __slots__ = ("_hash", "value")

    def __init__(self, value: Any):
        self.value = value
        try:
            self._hash = hash((type(value), _frozen(value)))
        except (TypeError, ValueError):      # of memory that can be written: a ValueError
            raise UnsupportedError(f"An argument of type {type(value).__name__} is neither an array, a number nor "
                                   "hashable, so it cannot be an argument of a compiled function.",
                                   hint="Pass its arrays, or make it hashable.", code="unsupported-argument") from None

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and type(self.value) is type(other.value) \
            and (self.value is other.value or _frozen(self.value) == _frozen(other.value))

    def __repr__(self) -> str:
        return repr(self.value)


def _frozen(value: Any) -> Hashable:
    if isinstance(value, slice):
        return ("slice", value.start, value.stop, value.step)
    if isinstance(value, np.void):
        return (value.dtype, value.tobytes())
    return value


@functools.cache
def _floats(dtype: np.dtype) -> bool:
    """Whether any part of a struct is a number known only at run time."""
    if dtype.names is not None:
        return any(_floats(dtype[name]) for name in dtype.names)
    return dtype.base.kind in "fc" if dtype.base.names is None else _floats(dtype.base)


def _memory(x: Any) -> Any:
    """The same for all views of the same elements; of what is no array with elements, its identity."""
    if not isinstance(x, np.ndarray) or not x.size:
        return id(x)
    return x.__array_interface__["data"][0], x.shape, x.strides, x.dtype, x.flags.writeable


class Flattener:
    """One pass over the arguments: `leaves` in order, and the signature as nested tuples."""

    def __init__(self, static_names: frozenset[str] = frozenset(), traced_names: frozenset[str] = frozenset(),
                 keys: bool = False, described: bool = False, by_memory: bool = False):
        self.leaves: list[Any] = []
        self._keys = keys                    # whether those of `jax.random.key` are taken
        self._described = described          # whether arrays may be `jax.ShapeDtypeStruct`s
        self._by_memory = by_memory          # whether views of the same elements are one array
        self.static_names, self.traced_names = static_names, traced_names
        self._seen: dict[Any, int] = {}      # id of array or mutable container -> its number, for shared references
        self._alive: list[Any] = []
        self._attributes = 0                 # objects that are being looked into

    def arguments(self, named: Iterable[tuple[str, Any]]) -> tuple:
        """The signature of named arguments."""
        return tuple((name, Static(value) if name in self.static_names
                      else self.node(value, name in self.traced_names)) for name, value in named)

    def node(self, x: Any, trace_numbers: bool = False) -> Any:
        """The signature of one value."""
        kind = type(x)
        if kind is np.ndarray or kind is DeviceArray or isinstance(x, (np.ndarray, jax.Array)):
            return self._shared(x) or self._array(x)
        if isinstance(x, np.void) and x.dtype.names is not None and _floats(x.dtype):
            return ("records", x.dtype, None, tuple(self._member(x[name]) for name in x.dtype.names))
        if isinstance(x, np.void):
            return Static(x)
        if isinstance(x, np.generic):
            self.leaves.append(x)
            return ("scalar", x.dtype)
        if kind is float or kind is complex or (trace_numbers and kind in (int, bool)):
            self.leaves.append(x)
            return ("python", kind)
        if isinstance(x, STATIC_TYPES):
            return Static(x)
        if kind is jax.ShapeDtypeStruct:
            return self._description(x)
        return self._shared(x) or self._container(x, trace_numbers)

    def _description(self, x: jax.ShapeDtypeStruct) -> tuple:
        """Of an array that is nowhere: NumPy's, or a device array where a sharding says so."""
        if not self._described:
            raise UnsupportedError(f"{x} has no values to compute with.",
                                   hint="`.lower(...)` takes it; a call takes an array.", code="unsupported-argument")
        if jax.dtypes.issubdtype(x.dtype, jax.dtypes.extended):
            raise UnsupportedError(f"Arrays of dtype {x.dtype} cannot be described.",
                                   hint="Pass one to `.lower(...)`.", code="unsupported-dtype")
        self.leaves.append(x)
        shape, dtype = tuple(x.shape), np.dtype(x.dtype)
        if x.sharding is None:
            return ("array", shape, dtype, None, True)
        place = meshes.spread(x)
        node = ("device", shape, dtype, False, None)
        return node if place is None else (*node, meshes.canonical(place, len(shape)))

    def _member(self, x: Any) -> Any:
        """A field of a struct: its whole numbers are known, as sizes are."""
        return Static(x) if isinstance(x, (np.integer, np.bool_)) else self.node(x)

    def _shared(self, x: Any) -> tuple | None:
        mark = _memory(x) if self._by_memory else id(x)
        number = self._seen.get(mark)
        if number is not None:
            return ("same", number)
        self._seen[mark] = len(self._seen)
        self._alive.append(x)
        return None

    def _array(self, x: Any) -> tuple:
        if isinstance(x, np.ndarray) and type(x) is np.ndarray and x.dtype.names is not None:
            return ("records", x.dtype, x.shape, tuple(self.node(x[name]) for name in x.dtype.names))
        if self._keys and isinstance(x, jax.Array) and is_key(x.dtype):
            return ("keys", generator_of(x.dtype), self._array(jax.random.key_data(x)))
        self.leaves.append(x)
        if isinstance(x, np.ndarray):
            require_plain(x)
            if self._attributes and not _computable(x.dtype):
                raise UnsupportedError(f"Arrays of dtype {x.dtype} cannot be compiled.",
                                       hint="Convert them to numbers before the call: x.astype(...).",
                                       code="unsupported-dtype")
            layout = None if x.flags.c_contiguous else x.strides
            return ("array", x.shape, x.dtype, layout, x.flags.writeable)
        if jax.dtypes.issubdtype(x.dtype, jax.dtypes.extended):
            raise UnsupportedError(f"A NumPy function cannot take an array of dtype {x.dtype}.",
                                   hint="Pass jax.random.key_data(key), or compile with frontend=\"jax\".",
                                   code="jax-random-key")
        ours = type(x) is DeviceArray
        node = ("device", tuple(x.shape), np.dtype(x.dtype), ours, x.apart if ours else None)
        place = meshes.spread(x.buffer if ours else x)
        return node if place is None else (*node, meshes.canonical(place, len(node[1])))

    def _container(self, x: Any, trace_numbers: bool) -> Any:
        kind = type(x)
        nodes = lambda values: tuple(self.node(v, trace_numbers) for v in values)  # noqa: E731
        if kind in (list, tuple):
            return (kind.__name__, nodes(x))
        if isinstance(x, dict) and kind.__init__ is dict.__init__ or kind in (dict, OrderedDict, defaultdict):
            return self._dictionary(x, nodes)
        if is_named_tuple(x):
            return ("namedtuple", kind, tuple(named_tuples.beside(x)), nodes(named_tuples.parts(x)))
        if kind in VIEWS:
            return ("view", VIEWS[kind], None, nodes((viewed(x),)))
        leaves, tree = jax.tree_util.tree_flatten(x)
        if not (len(leaves) == 1 and leaves[0] is x):
            return ("pytree", tree, nodes(leaves))
        if isinstance(x, dict):
            return self._dictionary(x, nodes)
        if isinstance(x, list):
            _refuse_attributes(x)
            return ("list", nodes(x), kind)
        if is_plain_object(x):
            held = attributes(x)
            self._attributes += 1
            found = tuple(self._attribute(v, trace_numbers) for v in held.values())
            self._attributes -= 1
            return ("object", kind, tuple(held), found)
        self._forget(x)            # no container after all: only arrays and containers are numbered
        self._alive.pop()
        return Static(x)

    def _forget(self, x: Any) -> None:
        del self._seen[_memory(x) if self._by_memory else id(x)]

    @staticmethod
    def _dictionary(x: dict, nodes: Callable[[Iterable], tuple]) -> tuple:
        """Keys, values, and what is made where a key is missing; "own": the attributes are the keys."""
        own = getattr(x, "__dict__", None) is x
        if not own:
            _refuse_attributes(x)
        missing = Static(x.default_factory) if isinstance(x, defaultdict) else None
        return ("dict", type(x), tuple(Static(k) for k in x), nodes(x.values()), missing, own)

    def _attribute(self, x: Any, trace_numbers: bool) -> Any:
        leaves, seen, depth = len(self.leaves), len(self._alive), self._attributes
        try:
            return self.node(x, trace_numbers)
        except UnsupportedError as error:
            for held in self._alive[seen:]:
                self._forget(held)
            del self.leaves[leaves:], self._alive[seen:]
            self._attributes = depth
            return ("refused", error.as_reason, type(x))


def _refuse_attributes(x: Any) -> None:
    if held := getattr(x, "__dict__", None):
        raise UnsupportedError(f"An argument of type {type(x).__name__} has attributes ({', '.join(held)}) beside "
                               "what is in it.", hint="Pass them on their own.", code="unsupported-argument")


@functools.cache
def _computable(dtype: np.dtype) -> bool:
    return supported(dtype.newbyteorder("="))


class Refused:
    """What an object has in the place of an attribute that compiled code cannot take: using it raises the reason."""

    __slots__ = ("_reason", "_used")

    def __init__(self, reason: Reason):
        self._reason, self._used = reason, False

    def __getattr__(self, name: str) -> Any:
        self._used = True
        raise _RefusedAttribute(self._reason.fact, hint=self._reason.hint, code=self._reason.code)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        self._used = True
        raise self._reason.error()

    __hash__ = object.__hash__


_OPERATORS = "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift".split()
for _name in (*_OPERATORS, *(f"{side}{name}" for side in "ri" for name in _OPERATORS), *"""len iter next getitem setitem
        delitem contains bool call array float int complex index neg pos abs invert lt le gt ge eq ne str format round
        enter exit""".split()):
    setattr(Refused, f"__{_name}__", Refused._refuse)


class _RefusedAttribute(UnsupportedError, AttributeError):
    """So that `hasattr` says no."""


def has_device_array(node: Any) -> bool:
    """Whether a signature has a device array anywhere."""
    if not isinstance(node, tuple) or not node:
        return False
    return (node[0] == "device" and len(node) in (5, 6)) or any(has_device_array(n) for n in node)


def is_spread(nodes: Iterable[Any]) -> bool:
    """Whether one of the arrays is on several devices."""
    return any(len(leaf) == 6 for node in nodes for leaf in leaf_nodes(node))


def leaves_of(positional: Iterable[Any], keyword: Iterable[tuple[str, Any]]) -> list[tuple]:
    """The nodes of all run-time leaves of a signature, in their order."""
    return [leaf for node in (*positional, *(node for _, node in keyword)) for leaf in leaf_nodes(node)]


def leaf_nodes(node: Any) -> Iterator[tuple]:
    """The nodes of the run-time leaves, in their order."""
    if isinstance(node, Static) or node[0] in ("same", "refused"):
        return
    if node[0] in ("array", "device", "scalar", "python"):
        yield node
    elif node[0] == "keys":
        yield from leaf_nodes(node[2])
    else:
        for child in node[{"list": 1, "tuple": 1, "pytree": 2}.get(node[0], 3)]:
            yield from leaf_nodes(child)


_OPAQUE_MODULES = {"builtins", "functools", "jax", "jaxlib", "numba", "numpy", "reactant", "itertools", "operator"}
"""Top-level modules whose objects are never opened as containers of arrays."""


def is_plain_object(x: Any) -> bool:
    """An instance of a user's Python class: its attributes are its content."""
    cls = type(x)
    if cls is SimpleNamespace:
        return True
    return bool(cls.__flags__ & HEAP_TYPE) and not isinstance(x, type) \
        and (hasattr(x, "__dict__") or hasattr(cls, "__slots__")) \
        and cls.__module__.partition(".")[0] not in _OPAQUE_MODULES \
        and is_of_python(cls)     # type: ignore[arg-type]  # mypy: classes are hashable


def empty_object(cls: type) -> Any:
    """An object without attributes."""
    return SimpleNamespace() if cls is SimpleNamespace else object.__new__(cls)


def empty_dictionary(cls: type[dict], missing: Callable | None, own: bool) -> dict:
    """A dict of a class; `missing` makes the values of a defaultdict, `own`: its attributes are its keys."""
    made = {} if cls is dict else cls.__new__(cls)
    if isinstance(made, defaultdict):
        made.default_factory = missing
    if own:
        made.__dict__ = made    # type: ignore[attr-defined]
    return made


# ---- rebuilding ------------------------------------------------------------------------------------------------

class Rebuilder:
    """Traced arguments from a signature: containers are new, leaves come from `make(node, number)`."""

    def __init__(self, make: Callable[[tuple, int], Any]):
        self.make = make
        self.count = 0
        self._seen: list[Any] = []
        self.containers: list[tuple[Any, tuple]] = []
        """Mutable containers made, with the path from the arguments to each."""
        self.records: list[tuple[Any, tuple]] = []
        """Structured arrays, likewise."""
        self.refused: list[tuple[Refused, tuple]] = []
        """Stand-ins of attributes, likewise."""
        self.noted: dict[int, list[Noted]] = {}
        """The names of attributes that know whether they were asked for, by the number of the object."""

    def refused_used(self) -> bool:
        """Whether the reason of one of the stand-ins has been raised."""
        return any(made._used for made, _ in self.refused)

    def build(self, node: Any, path: tuple = ()) -> Any:
        if isinstance(node, Static):
            return node.value
        kind = node[0]
        if kind == "same":
            return self._seen[node[1]]
        if kind in ("array", "device", "keys"):
            number = len(self._seen)
            self._seen.append(None)
            self._seen[number] = made = keys_of(node[1], self._leaf(node[2])) if kind == "keys" else self._leaf(node)
            return made
        if kind in ("scalar", "python"):
            return self._leaf(node)
        if kind == "records":
            return self._records(node, path)
        if kind == "refused":
            self.refused.append((Refused(node[1]), path))
            return self.refused[-1][0]
        return self._container(node, path)

    def _records(self, node: tuple, path: tuple) -> Any:
        from reactant.frontends.arrays.records import Records
        _, dtype, shape, members = node
        number = len(self._seen)
        if shape is not None:       # numbers are not shared
            self._seen.append(None)
        fields = {name: self.build(n, (*path, name)) for name, n in zip(dtype.names, members, strict=True)}
        made = Records(dtype, shape or (), fields)
        if shape is not None:
            self._seen[number] = made
        self.records.append((made, path))
        return made

    def _leaf(self, node: tuple) -> Any:
        self.count += 1
        return self.make(node, self.count - 1)

    def _container(self, node: tuple, path: tuple) -> Any:
        kind, number = node[0], len(self._seen)
        made: Any
        self._seen.append(None)
        if kind == "list":
            self._seen[number] = made = node[2].__new__(node[2]) if len(node) == 3 else []
            list.extend(made, (self.build(n, (*path, i)) for i, n in enumerate(node[1])))
        elif kind == "dict":
            self._seen[number] = made = empty_dictionary(node[1], node[4] and node[4].value, node[5])
            put = OrderedDict.__setitem__ if isinstance(made, OrderedDict) else dict.__setitem__
            for key, n in zip(node[2], node[3], strict=True):
                put(made, key.value, self.build(n, (*path, key.value)))
        elif kind == "object":
            self._seen[number] = made = empty_object(node[1])
            noting = len(node[2]) >= WIDE and is_noting(node[1], node[2])
            names = [Noted(name) for name in node[2]] if noting else node[2]
            for name, n in zip(names, node[3], strict=True):
                value = self.build(n, (*path, Attribute(name)))
                if noting:
                    made.__dict__[name] = value
                else:
                    object.__setattr__(made, name, value)
            if noting:
                self.noted[number] = names
        elif kind == "tuple":
            made = tuple(self.build(n, (*path, i)) for i, n in enumerate(node[1]))
        elif kind == "view":
            made = getattr(self.build(node[3][0], (*path, Viewed())), node[1])()
        elif kind == "namedtuple":
            length = len(node[3]) - len(node[2])
            steps = [*range(length), *map(Attribute, node[2])]
            found = [self.build(n, (*path, step)) for n, step in zip(node[3], steps, strict=True)]
            made = named_tuples.make(node[1], found[:length], node[2], found[length:])
        else:
            leaves = [self.build(n, path) for n in node[2]]
            made = jax.tree_util.tree_unflatten(node[1], leaves)
        self._seen[number] = made
        if kind in ("list", "dict", "object"):
            self.containers.append((made, path))
        return made


WIDE = 8
"""Attributes from which it pays to know which of them a program never asks for."""


def is_noting(cls: type, names: Iterable[str]) -> bool:
    """Whether objects of a class can know which of their attributes were asked for: all are in a `__dict__`, and the
    class shows them by their names alone."""
    return cls is not SimpleNamespace and bool(cls.__dictoffset__) and asks_by_name(cls) \
        and not any(hasattr(type(inspect.getattr_static(cls, name, None)), "__set__") for name in names)


class Attribute(str):
    """A path element that is an attribute name, not a key."""

    __slots__ = ()


class Viewed:
    """A path element that leads from a view of a dictionary to the dictionary."""

    __slots__ = ()


VIEWS = {type(getattr(kind(), name)()): name for kind in (dict, OrderedDict) for name in ("keys", "values", "items")}
"""What `d.keys()` and its like are of."""


def viewed(view: Any) -> Any:
    """The dictionary of a view, which Python shows as a proxy only."""
    return gc.get_referents(view.mapping)[0]


def follow(root: Any, path: tuple) -> Any:
    """The object at `path` below `root`."""
    for step in path:
        if isinstance(step, Viewed):
            root = viewed(root)
        else:
            root = getattr(root, step) if isinstance(step, Attribute) else root[step]
    return root


class Same:
    """In a result tree: the caller's own object at `path` below the arguments."""

    __slots__ = ("path",)

    def __init__(self, path: tuple):
        self.path = path


def map_tree(x: Any, leaf: Callable[[Any], Any], containers: dict[int, Any] | None = None) -> Any:
    """Rebuild nested containers with `leaf` applied to everything that is not one. `containers` maps ids of objects to
    what replaces them whole."""
    if containers and id(x) in containers:
        return containers[id(x)]
    kind = type(x)
    if kind in (list, tuple):
        return kind(map_tree(v, leaf, containers) for v in x)
    if isinstance(x, dict):
        missing = x.default_factory if isinstance(x, defaultdict) else None
        made = empty_dictionary(kind, missing, getattr(x, "__dict__", None) is x)
        put = OrderedDict.__setitem__ if isinstance(made, OrderedDict) else dict.__setitem__
        for key, v in x.items():
            put(made, str(key) if type(key) is Noted else key, map_tree(v, leaf, containers))
        return made
    if is_named_tuple(x):
        return named_tuples.like(x, [map_tree(v, leaf, containers) for v in named_tuples.parts(x)])
    if isinstance(x, list):
        made = kind.__new__(kind)   # type: ignore[call-overload]
        list.extend(made, (map_tree(v, leaf, containers) for v in x))
        for name, value in getattr(x, "__dict__", {}).items():
            setattr(made, name, map_tree(value, leaf, containers))
        return made
    if kind is Noted:
        return leaf(str(x))
    if isinstance(x, STATIC_TYPES) or isinstance(x, (np.ndarray, np.generic, float, complex)):
        return leaf(x)
    if not hasattr(x, "__dict__") and not is_plain_object(x):
        return leaf(x)
    leaves, tree = jax.tree_util.tree_flatten(x)
    if not (len(leaves) == 1 and leaves[0] is x):
        return jax.tree_util.tree_unflatten(tree, [map_tree(v, leaf, containers) for v in leaves])
    if hasattr(kind, "ag__released"):       # what stands for something of Python's
        return map_tree(x.ag__released(), leaf, containers)
    if is_plain_object(x):
        made = empty_object(kind)
        for name, value in attributes(x).items():
            object.__setattr__(made, str(name), map_tree(value, leaf, containers))
        return made
    return leaf(x)


def require_known(names: Iterable[str], parameters: Iterable[str], option: str) -> frozenset[str]:
    """Argument names as a set; unknown ones raise."""
    names = frozenset([names] if isinstance(names, str) else names or ())
    if unknown := names - set(parameters):
        raise ReactantError(f"{option}: the function has no argument {sorted(unknown)[0]!r}.",
                            hint="Name parameters of the function.", code="unknown-argument-name")
    return names

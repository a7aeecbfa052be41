"""What a function depends on, as a digest: everything that it can reach.

A trace runs Python. What it computes depends on the code of the functions that it calls and on the values that they
find in globals, closures, defaults, attributes and classes. `Walk` goes through all of it from the function and its
arguments, without running any of it: whatever a name that the code mentions can mean. That is more than a trace looks
at (then a program is compiled though it need not be), and never less, as what it cannot tell makes it give up:
`NotCacheable` says why. The method is a digest over an object graph: nodes in the order in which they are met, edges as
their numbers, so that what is shared is told from what is equal.
"""
from __future__ import annotations

import collections
import functools
import hashlib
import inspect
import itertools
import re
import struct
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import numpy as np

from reactant.cache import ordering, purity, replaced
from reactant.cache.code_objects import flat, imported, with_inner
from reactant.cache.origins import ATOMS, CONTENT, is_of_another, is_of_library, is_of_python, patches, registered
from reactant.cache.purity import is_impure, is_library_file, is_pure_module, root_of
from reactant.cache.replaced import is_standard
from reactant.support.attributes import HEAP_TYPE, slots_of
from reactant.support.like_functions import Told

MOST_OBJECTS = 30_000
MOST_BYTES = 256 << 20


class NotCacheable(Exception):
    """A program is not kept in the cache, for this reason."""


_LEFT_OUT = frozenset("""__dict__ __weakref__ __annotations__ __annotations_cache__ __annotate__ __annotate_func__
    __abstractmethods__ _abc_impl __static_attributes__ __firstlineno__ __slotnames__ __orig_bases__ __parameters__
    """.split())
"""What a class has that no program sees, or that follows from the rest."""
_BUILT_IN = (types.BuiltinFunctionType, types.MethodWrapperType)
_DESCRIPTORS = (types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType,
                types.GetSetDescriptorType, types.MemberDescriptorType)
SPECIAL: dict[type, Callable[[Any], tuple[Any, ...] | None]] = {}
"""Of types of ours: what an object depends on; None where it cannot be told. Others register theirs."""
NODES: list[Mapping[type, Iterable[Any]]] = []
"""By class, the functions that take its objects apart without being in the class: as nodes of trees, in jax."""
ALSO: dict[str, Callable[[], list[Any]]] = {}
"""By library: what else somebody else has put into it."""
_COMPUTED = frozenset(("cache_token", "dispatch_cache"))
"""What `functools.singledispatch` has computed before; so has its `_clear_cache`."""
_KERNELS = r"ipykernel_\d+"
"""In the names that cells of notebooks have: the number of the process."""
_LRU_CACHE = type(functools.lru_cache(lambda: None))
_DISPATCHER = type(np.sum)
"""Of NumPy's functions: what asks arguments whether they have one of their own."""


class Walk:
    """The digest of what is reachable from some values. `objects` has what was met, by number."""

    def __init__(self, again: bool = False) -> None:
        """again: whether this is after a trace, which may have filled caches of functions."""
        self._again = again
        self.objects: list[Any] = []
        self.codes: set[types.CodeType] = set()
        """The code of all functions that may be followed."""
        self._numbers: dict[int, int] = {}
        self._hash = hashlib.blake2b(digest_size=20)
        self._waiting: collections.deque[Any] = collections.deque()
        self._names: set[str] = set()
        self._modules: dict[int, tuple[types.ModuleType, set[str]]] = {}
        self._held: dict[int, tuple[Any, Mapping[str, Any], set[str]]] = {}
        """Of classes and objects of libraries: their attributes, and which of them were looked at."""
        self._libraries: set[str] = set()
        self._asks_by_name = ""
        self._bytes = 0

    def of(self, *values: Any) -> str:
        """The digest. Raises `NotCacheable`."""
        try:
            return self._of(values)
        except NotCacheable:
            raise
        except Exception as error:      # of a user's object that does not like to be looked at
            raise NotCacheable(f"what it depends on cannot be looked at ({type(error).__name__}: {error})") from error

    def _of(self, values: tuple) -> str:
        self._children("roots", values)
        while True:
            while self._waiting:
                self._describe(self._waiting.popleft())
            if not self._look_at_modules() and not self._look_into_libraries():
                break
        if self._asks_by_name and (module := next((m for m, _ in self._modules.values()
                                                   if not is_pure_module(m.__name__)), None)) is not None:
            raise NotCacheable(f"{self._asks_by_name} may ask the module {module.__name__!r} for any of its names")
        return self._hash.hexdigest()

    def number_of(self, value: Any) -> int | None:
        """The number under which a value was met."""
        number = self._numbers.get(id(value))
        return number if number is not None and self.objects[number] is value else None

    # -- writing

    def _put(self, *parts: str | bytes) -> None:
        for part in parts:
            data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
            self._bytes += len(data)
            self._hash.update(struct.pack("<q", len(data)))
            self._hash.update(data)
        if self._bytes > MOST_BYTES:
            raise NotCacheable(f"it depends on more than {MOST_BYTES >> 20} MB of values")

    def _children(self, kind: str, values: Iterable[Any]) -> None:
        """Describe an object by its kind and what it has."""
        values = list(values)
        self._put(kind, str(len(values)))
        for value in values:
            self._put(self._mark(value))

    def _mark(self, value: Any) -> bytes:
        """A value as part of another one: itself, or its number."""
        kind = type(value)
        if kind in ATOMS:
            return kind.__name__.encode() + b":" + ATOMS[kind](value)
        if isinstance(value, np.dtype) and value.names is None and value.kind != "O":
            return b"dtype:" + value.str.encode() + str(value).encode()
        if isinstance(value, np.generic) and not isinstance(value, (np.void, np.object_)):
            return b"number:" + value.dtype.str.encode() + str(value.dtype).encode() + value.tobytes()
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self.objects)
            self.objects.append(value)
            self._waiting.append(value)
            if number > MOST_OBJECTS:
                raise NotCacheable(f"it can reach more than {MOST_OBJECTS:,} objects")
        return b"object:" + str(number).encode()

    # -- objects

    def _describe(self, value: Any) -> None:
        kind = type(value)
        if kind is types.FunctionType:
            self._function(value)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, types.ModuleType):
            self._module(value)
        elif kind is types.CodeType:
            self._code(value)
        elif isinstance(value, _BUILT_IN):
            self._built_in(value)
        elif kind is _LRU_CACHE:
            if not self._again and value.cache_info().currsize and not is_of_library(value.__wrapped__):
                raise NotCacheable(f"{_called(value)} has kept results of earlier calls")
            self._children("cached", (value.__wrapped__, value.cache_parameters()["maxsize"]))
        elif (row := _HANDLERS.get(kind)) is not None:
            self._children(kind.__name__, row(value))
        elif kind in SPECIAL:
            if (parts := SPECIAL[kind](value)) is None:
                raise NotCacheable(f"what {_called(value)} depends on is not known")
            self._children(f"{kind.__module__}.{kind.__qualname__}", parts)
        elif isinstance(value, Told):
            if (parts := value.depends_on()) is None:
                raise NotCacheable(f"{_called(value)} is compiled in a way that is not followed")
            self._children(f"{kind.__module__}.{kind.__qualname__}", parts)
        elif isinstance(value, np.ndarray):
            self._array(value)
        elif isinstance(value, jax.Array):
            self._device_array(value)
        elif isinstance(value, (np.dtype, np.void)):
            self._structured(value)
        elif kind in (set, frozenset):
            self._set(value)
        elif kind is _DISPATCHER:
            self._named(value.__module__, value)
        elif isinstance(value, np.ufunc):
            self._named("numpy", value) if purity.is_here("numpy", value.__name__, value) \
                else self._named("scipy.special", value)
        elif isinstance(value, _DESCRIPTORS):
            self._children(f"descriptor {value.__name__}", (value.__objclass__,))
        else:
            self._instance(value)

    def _named(self, module: str, value: Any, name: str | None = None) -> None:
        """What a library of a known version has under its name."""
        name = name or value.__name__
        if not purity.is_here(module, name, value):
            raise NotCacheable(f"{_called(value)} is compiled code that is not known")
        if is_impure(module, name):
            raise NotCacheable(f"{module}.{name} may read or change something outside of the program")
        self._put("library", module, name)

    def _function(self, function: types.FunctionType) -> None:
        code = function.__code__
        self._children("function", (function.__module__, function.__qualname__, function.__name__,
                                    function.__doc__, function.__defaults__,
                                    function.__kwdefaults__, *self._cells(function), *_attributes(
                                        {k: v for k, v in vars(function).items() if k != "_clear_cache"})))
        if is_library_file(code.co_filename):
            self._library_function(function)
            return
        self._put(self._mark(code))
        mentioned = self._mentioned(code)
        scope = function.__globals__
        inner: dict[str, Any] = function.__builtins__     # type: ignore[attr-defined]
        asked = ordering.only_asked(code) if any(type(scope.get(n)) in (set, frozenset) for n in mentioned) else ()
        for name in sorted(mentioned):
            if name in asked and type(scope.get(name)) in (set, frozenset):
                self._put("asked", name)
                self._members(scope[name])
            elif name in scope:
                self._put("global", name, self._mark(scope[name]))
            elif name in inner:
                self._built_in_name(name, inner[name], function)

    def _built_in_name(self, name: str, value: Any, function: types.FunctionType) -> None:
        if name in purity.IMPURE["builtins"]:
            raise NotCacheable(f"{_called(function)} mentions {name}()")
        if name == "hash" and function.__name__ == "__hash__":
            self._put("builtin", name)
        else:
            self._put("builtin", name, self._mark(value))

    def _look_into_libraries(self) -> bool:
        """Take in what somebody else has put into the modules of libraries; whether there were new libraries."""
        roots = {root_of(module.__name__) for module, _ in self._modules.values()} & {*replaced.LIBRARIES}
        new = (roots | {"numpy"} if roots else roots) - self._libraries       # which the others use
        self._libraries |= new
        for owner, name, value in replaced.put_into(new) if new else ():
            self._put("put into", owner, name, self._mark(value))
        for library in sorted(new & ALSO.keys()):
            self._children(f"put into {library}", ALSO[library]())
        return bool(new)

    def _library_function(self, function: types.FunctionType) -> None:
        code, module = function.__code__, function.__module__ or ""
        self._put("library", code.co_filename, code.co_qualname if hasattr(code, "co_qualname") else code.co_name,
                  str(code.co_firstlineno))
        owner = function.__globals__.get("__name__", module)
        if is_impure(owner, code.co_name):
            raise NotCacheable(f"{owner}.{code.co_name} may read or change something outside of the program")
        self.codes.add(code)

    def _cells(self, function: types.FunctionType) -> list[Any]:
        library = is_library_file(function.__code__.co_filename)
        found: list[Any] = []
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if library and name in _COMPUTED:
                continue
            try:
                content = cell.cell_contents
            except ValueError:
                content = "not bound"
            found.append(content)
        return found

    def _mentioned(self, code: types.CodeType) -> set[str]:
        """The names in code and in the functions inside it."""
        found: set[str] = set()
        for each in with_inner(code):
            found |= {*each.co_names, *each.co_freevars}
            self._names |= {*each.co_names, *purity.names_in(flat(each.co_consts))}
            if around := purity.LOOKS_AROUND & {*each.co_names, *purity.names_in(flat(each.co_consts))}:
                raise NotCacheable(f"{_place(each)} mentions {min(around)}")
            if seen := ordering.sees(each):
                self._depend_on_order(f"{_place(each)} {seen}")
            if not self._asks_by_name and (asked := purity.BY_NAME & {*each.co_names}):
                self._asks_by_name = f"{min(asked)} in {_place(each)}"
            self._imports(each)
        return found

    def _imports(self, code: types.CodeType) -> None:
        """Modules that code imports while it runs."""
        for name in imported(code):
            if name in sys.modules:
                self._put("import", name, self._mark(sys.modules[name]))
                for parent in itertools.accumulate(name.split(".")[:-1], lambda a, b: f"{a}.{b}"):
                    self._put(self._mark(sys.modules[parent]))
            elif is_pure_module(name):
                self._put("import", name)
            else:
                raise NotCacheable(f"{_place(code)} imports {name or 'a module beside it'}")

    def _code(self, code: types.CodeType) -> None:
        self.codes.add(code)
        self._put("code", _file(code), getattr(code, "co_qualname", code.co_name),
                  code.co_code, code.co_linetable,
                  str((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags,
                       code.co_firstlineno)))
        self._put(getattr(code, "co_exceptiontable", b""))
        self._children("names", (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))
        self._children("constants", [x for x in code.co_consts if type(x) is not frozenset])
        for each in code.co_consts:
            if type(each) is frozenset:
                self._members(each)

    def _class(self, cls: type) -> None:
        module, name = cls.__module__, cls.__qualname__
        if found := registered(cls):
            self._children("registered", found)
        if is_pure_module(module) and purity.is_here(module, name, cls):
            self._named(module, cls, name)
            self._children("patched", itertools.chain.from_iterable(patches(cls)))
            return
        if not cls.__flags__ & HEAP_TYPE or not is_of_python(cls):
            if purity.is_here(module, name, cls) and root_of(module) in PURE_STATIC:
                self._put("library", module, name)
                return
            if cls in _INTERNAL:
                self._put("internal", module, name)
                return
            raise NotCacheable(f"the class {module}.{name} is compiled code")
        held = {key: value for key, value in vars(cls).items() if key not in _LEFT_OUT}
        self._children("class", (module, name, cls.__name__, type(cls), cls.__bases__,
                                 *itertools.chain.from_iterable(found.get(cls, ()) for found in NODES),
                                 *itertools.chain.from_iterable(held.items())))

    def _module(self, module: types.ModuleType) -> None:
        self._put("module", module.__name__)
        if type(module) is not types.ModuleType and not is_pure_module(module.__name__) \
                and not is_standard(module.__name__):
            raise NotCacheable(f"the module {module.__name__!r} is of a class of its own")
        if not is_pure_module(module.__name__) and "__getattr__" in vars(module) and not is_library_file(
                getattr(module, "__file__", None) or ""):
            raise NotCacheable(f"the module {module.__name__!r} has a __getattr__ of its own")
        self._modules[id(module)] = module, set()

    def _look_at_modules(self) -> bool:
        """Take in what the names that are mentioned anywhere mean in the modules; whether there was something new."""
        found = self._look_at_attributes()
        for module, seen in list(self._modules.values()):
            held = vars(module)
            for name in sorted(self._names - seen if len(self._names) < len(held) else
                               {n for n in held if n in self._names and n not in seen}):
                seen.add(name)
                if name not in held:
                    continue
                found = True
                self._member(module, name, held[name])
        return found

    def _member(self, module: types.ModuleType, name: str, value: Any) -> None:
        owner = module.__name__
        if is_pure_module(owner):
            if isinstance(value, types.ModuleType):
                if is_pure_module(value.__name__) or value.__name__.startswith(purity.IMPURE_MODULES):
                    self._modules.setdefault(id(value), (value, set()))     # not written: it may be loaded later
                return                      # a library's own use of others
            if is_impure(owner, name) and callable(value):
                raise NotCacheable(f"{owner}.{name} may read or change something outside of the program")
            if patched := patches(value):
                self._put("member", owner, name)
                self._children("patched", itertools.chain.from_iterable(patched))
            self._hold(value)
            if isinstance(value, (np.generic, np.dtype)) or type(value) in ATOMS:
                self._put("member", owner, name, self._mark(value))
                return
            if is_of_library(value):       # not written where it is what it is called: it may be loaded later
                if getattr(value, "__name__", None) != name or is_of_another(value, owner):
                    self._put("member", owner, name, type(value).__qualname__, getattr(value, "__name__", ""),
                              str(getattr(value, "__module__", "")))
                return
        elif is_standard(owner) or owner.startswith(purity.IMPURE_MODULES):
            if type(value) not in ATOMS and not isinstance(value, types.ModuleType) and not is_of_library(value):
                raise NotCacheable(f"{owner}.{name} may read or change something outside of the program")
        self._put("member", owner, name, self._mark(value))

    def _built_in(self, function: Any) -> None:
        owner = getattr(function, "__self__", None)
        if owner is None or isinstance(owner, types.ModuleType):
            module = function.__module__ or getattr(owner, "__name__", "builtins")
            if is_impure(module, function.__name__):
                raise NotCacheable(f"{module}.{function.__name__} may read or change something outside of the program")
            if function is hash:
                raise NotCacheable("it uses hash(), which differs from process to process")
            if function.__name__ in purity.BY_NAME and not self._asks_by_name:
                self._asks_by_name = f"{function.__name__}()"
            self._put("built in", module, function.__qualname__)
            return
        self._children(f"method {function.__name__}", (owner,))

    def _hold(self, value: Any) -> None:
        """Remember a class or an object of a library, whose attributes anybody may have set."""
        for each in value.__mro__ if isinstance(value, type) else (value,):
            own: Any = getattr(each, "__dict__", None)
            if isinstance(each, type) and each.__flags__ & HEAP_TYPE or type(own) is dict \
                    and not isinstance(each, types.ModuleType):
                self._held.setdefault(id(each), (each, own, set()))

    def _look_at_attributes(self) -> bool:
        """Take in the plain attributes of what libraries have that are mentioned; whether there were new ones."""
        found = False
        for holder, own, seen in list(self._held.values()):
            for name in sorted({n for n in list(own) if n in self._names and n not in seen}):
                seen.add(name)
                value = own.get(name)
                if type(value) in (*ATOMS, list, dict, tuple, set) and not name.startswith("__"):
                    found = True
                    self._put("attribute", _called(holder), name, self._mark(value))
        return found

    # -- values

    def _array(self, array: np.ndarray) -> None:
        self._put("array", str(array.dtype), str(array.shape), str(array.strides), str(array.flags.writeable))
        parts: list[Any] = [type(array)]
        if type(array) is not np.ndarray:
            if not is_pure_module(type(array).__module__) or isinstance(array, np.memmap):
                raise NotCacheable(f"an array of the class {type(array).__qualname__}")
            parts += _attributes(getattr(array, "__dict__", {}))
        base = array.base
        if isinstance(base, np.ndarray):
            begin = base.__array_interface__["data"][0]
            self._put("view", str(array.__array_interface__["data"][0] - begin))
            parts.append(base)
        elif base is not None and not isinstance(base, (bytes, bytearray, memoryview, jax.Array)):
            parts.append(type(base).__qualname__)
        if array.dtype.hasobject:
            parts += array.ravel().tolist()
        elif not isinstance(base, np.ndarray) or array.size <= base.size // 2:
            self._bytes += array.nbytes
            self._put(_digest(array))
        elif not base.flags.forc:
            self._put(_digest(array))
        self._children("of", parts)

    def _device_array(self, array: jax.Array) -> None:
        if isinstance(array, jax.core.Tracer):
            raise NotCacheable("it reads what JAX is tracing around the call")
        plain = jax.random.key_data(array) if jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key) else array
        if not plain.is_fully_addressable or len(plain.sharding.device_set) > 1:
            raise NotCacheable("it reads an array on several devices")
        content = np.asarray(plain)
        self._put("device array", str(array.dtype), str(array.shape), str(array.weak_type), str(array.committed),
                  str(array.sharding), _digest(content))

    def _structured(self, value: Any) -> None:
        if isinstance(value, np.void):
            if value.dtype.hasobject:
                raise NotCacheable("it reads a record of Python objects")
            self._put("record", str(value.dtype.descr), value.tobytes())
            return
        if value.hasobject and value.names is not None:
            raise NotCacheable("it reads records of Python objects")
        self._put("structured", str(value.descr) if value.names is not None else str(value), str(value.itemsize),
                  str(value.alignment), str(value.metadata))

    def _depend_on_order(self, what: str) -> None:
        if ordering.is_drawn():
            raise NotCacheable(f"{what}, whose order differs from process to process (PYTHONHASHSEED)")
        self._put(ordering.of_this_process())

    def _set(self, value: Any) -> None:
        if len(value) > 1 and not ordering.is_fixed(value):
            self._depend_on_order("it reads a set")
        self._members(value)

    def _members(self, value: Any) -> None:
        if not all(type(x) in ATOMS or type(x) is tuple and all(type(y) in ATOMS for y in x) for x in value):
            if len(value) > 1:
                raise NotCacheable("it reads a set of objects, which has no order")
            self._children("set", value)
            return
        found = sorted(b"".join(self._atom(y) for y in x) + b")" if type(x) is tuple else self._atom(x) for x in value)
        self._put("set", str(len(found)), *found)

    def _atom(self, value: Any) -> bytes:
        data = ATOMS[type(value)](value)
        return type(value).__name__.encode() + struct.pack("<q", len(data)) + data

    def _instance(self, value: Any) -> None:
        """An object of a class: its class, what is in it, its attributes."""
        cls = type(value)
        parts: list[Any] = [cls]
        if cls in CONTENT or isinstance(value, tuple(CONTENT)):
            base = cls if cls in CONTENT else next(b for b in CONTENT if isinstance(value, b))
            parts += ["content", *CONTENT[base](value)]
            if isinstance(value, collections.defaultdict):
                parts.append(value.default_factory)
        elif isinstance(value, tuple(ATOMS)):
            base = next(b for b in ATOMS if isinstance(value, b))
            self._put("value", base.__name__, ATOMS[base](base(value)))     # type: ignore[call-arg]
        elif isinstance(value, (set, frozenset)):
            self._set(value)
        elif isinstance(value, BaseException):
            parts += ["raised with", *value.args, value.__cause__, value.__context__]
            parts += [getattr(value, name, None) for base in cls.__mro__ if not base.__flags__ & HEAP_TYPE
                      for name, held in vars(base).items() if isinstance(held, types.MemberDescriptorType)]
        elif not is_of_python(cls):
            raise NotCacheable(f"what {_called(value)} depends on is not known")
        slots = [name for name in dict.fromkeys(slots_of(cls)) if hasattr(value, name)]
        self._children("instance", [*parts, *_attributes(getattr(value, "__dict__", {})),
                                    *itertools.chain.from_iterable((name, getattr(value, name)) for name in slots)])


_TUPLE_GETTER = type(vars(inspect.ArgInfo)["args"])
"""Of the attributes of named tuples, of which this is one that is there."""
PURE_STATIC = frozenset(("builtins", "numpy", "jax", "jaxlib", "types", "collections", "functools", "itertools",
                         "operator", "re", "ml_dtypes", "scipy", "weakref"))
_INTERNAL = frozenset((types.FunctionType, types.CodeType, types.CellType, types.MappingProxyType, types.GeneratorType,
                       types.MethodType, types.GetSetDescriptorType, types.MemberDescriptorType,
                       types.BuiltinFunctionType, types.ModuleType, type(None), type(Ellipsis), type(NotImplemented)))
_HANDLERS: dict[type, Callable[[Any], Iterable[Any]]] = {
    types.MethodType: lambda x: (x.__func__, x.__self__),
    functools.partial: lambda x: (x.func, x.args, x.keywords, *_attributes(vars(x))),
    property: lambda x: (x.fget, x.fset, x.fdel), staticmethod: lambda x: (x.__func__,),
    classmethod: lambda x: (x.__func__,), functools.cached_property: lambda x: (x.func, x.attrname),
    functools.partialmethod: lambda x: (x.func, x.args, x.keywords),
    types.CellType: lambda x: (x.cell_contents,), types.MappingProxyType: lambda x: (dict(x),),
    slice: lambda x: (x.start, x.stop, x.step), re.Pattern: lambda x: (x.pattern, x.flags),
    bytearray: lambda x: (bytes(x),),
    types.GenericAlias: lambda x: (x.__origin__, x.__args__), type(int | str): lambda x: x.__args__,
    _TUPLE_GETTER: lambda x: x.__reduce__()[1],
    weakref.ref: lambda x: (x(),), **{each: CONTENT[each] for each in (dict, list, tuple)},
}


def _attributes(held: Mapping[str, Any]) -> list[Any]:
    return [part for name, value in held.items() for part in (str(name), value)]


def _digest(array: np.ndarray) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes() if array.ndim == 0 or not array.flags.c_contiguous
                           else memoryview(array).cast("B") if array.size and array.dtype.isbuiltin == 1
                           else array.tobytes(), digest_size=20).digest()


def _file(code: types.CodeType) -> str:
    """The file of code; those of notebooks have the process in their names."""
    name = code.co_filename
    return re.sub(_KERNELS, "ipykernel", name) if "ipykernel_" in name else name


def _place(code: types.CodeType) -> str:
    return f"{code.co_name} ({code.co_filename}:{code.co_firstlineno})"


def _called(value: Any) -> str:
    """What a value is called in a sentence."""
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    return str(name) if isinstance(name, str) else f"an object of the type {type(value).__module__}." \
                                                  f"{type(value).__qualname__}"

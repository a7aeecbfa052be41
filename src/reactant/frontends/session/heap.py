"""Who refers to a list, an object or an array: what the user's code reaches, walked from where it can begin.

The code that follows reaches an object through the variables of functions that are being called, the functions'
closures, default values and global variables, the arguments of the compiled function, values that expressions have
computed and not used yet (`temporaries`), and what all these refer to. Who of them refers to an object directly is
counted here, one by one, so that no reference count is asked: those also count what is about to be dropped, depend on
who looks (debuggers, tracebacks), and from Python 3.14 on miss what a function has borrowed. What only we refer to, the
user's code does not reach.
"""
from __future__ import annotations

import gc
import sys
import sysconfig
from collections import deque
from collections.abc import Callable, Iterable
from functools import cache
from inspect import CO_GENERATOR, CO_OPTIMIZED
from types import (
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    TracebackType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from reactant.frontends.session.trace import Trace, frames
from reactant.frontends.source.conversion import is_converted, is_followed, is_user_file
from reactant.frontends.source.jax_recognition import codes
from reactant.frontends.source.temporaries import CELLS
from reactant.support.attributes import HEAP_TYPE, is_of_python, slots_of
from reactant.support.package import PACKAGE

NOTHING = (str, bytes, int, float, complex, type(None), range, np.generic, np.dtype, np.ufunc, CodeType, FrameType,
           TracebackType, GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType, WrapperDescriptorType)
"""Types of objects that lead to no container."""
OURS = str(PACKAGE)
ELSEWHERE = frozenset(("jax", "jaxlib", "numpy", "reactant"))
"""Packages whose own objects, other than containers, are not looked into."""
LIBRARIES = tuple(sysconfig.get_path(kind) for kind in ("purelib", "platlib", "stdlib", "platstdlib"))
"""Folders of files whose functions count where they have been called."""
NOT_READ = frozenset(("ag__item", CELLS))
"""Variables of converted code that nothing reads again."""
MOST = 200_000
"""Objects that are looked at. Where there are more, everything counts as referred to by somebody else."""
CONTAINERS = (list, tuple, deque, set, frozenset)


class Root:
    """Where a walk begins: a variable of a function that is being called, an argument, a computed value."""

    __slots__ = ("key", "kind")

    def __init__(self, kind: str, key: Any = None):
        self.kind, self.key = kind, key

    def __repr__(self) -> str:
        return f"<{self.kind} {self.key!r}>"


class Heap:
    """What the user's code reaches now. `holders` of an object are what refers to it, one for each reference: cells,
    dicts, lists, objects, classes and `Root`s."""

    def __init__(self) -> None:
        self.found: dict[int, list[Any]] = {}
        self.objects: list[Any] = []        # the identities are theirs as long as they are here
        self.complete = True
        self.trace = Trace.current()
        self._numbered = None if self.trace is None else self.trace.alternatives
        self._views: dict[int, Any] = {} if self.trace is None else self.trace.views
        self._globals: set[tuple[int, str]] = set()
        self._waiting: deque[Any] = deque()

    def look(self, *more: tuple[Root, Any]) -> Heap:
        """Walk from the user's roots, and from `more`."""
        self.begin()
        for root, x in more:
            self.note(root, x)
        for _, cells in self.trace.around if self.trace is not None else ():
            for cell in cells:
                self.note(Root("variable"), cell)
        called = frames()
        for frame in called[:len(called) - (0 if self.trace is None else self.trace.depth)]:
            self.variables(frame)
        called.clear()      # the frame of this function is among these
        self.walk()
        return self

    def begin(self) -> None:
        """The roots but for variables of functions that are being called."""
        trace = self.trace
        if trace is None:
            self.complete = False
            return
        for kind, values in (
                ("argument", trace.given), ("loop", trace.held), ("computed", trace.pending),
                ("function", trace.active), ("function", trace.followed.values()), ("escaped", trace.escaped),
                ("alternative", trace.alternatives), ("cached", [result for _, result in trace.cached.values()]),
                ("order", [x for order in trace.orders for x in (*order.items, *order.made)])):
            for x in values:
                if not leads_nowhere(type(x)):
                    self.note(Root(kind), x)
        for attempt in trace.attempts:
            for error in attempt.errors:
                self.note(Root("raised"), error.make)
        raised = sys.exc_info()[1]      # a `finally` does not see it, a handler around it will
        while raised is not None:
            if not type(raised).__module__.startswith("reactant"):
                self.note(Root("raised"), raised)
            raised = raised.__context__

    def walk(self) -> None:
        while self._waiting:
            if len(self.objects) > MOST:
                self.complete = False
                return
            x = self._waiting.popleft()
            if type(x) is FunctionType:
                self._named(x.__code__, x.__globals__, self.trace is not None and id(x) in self.trace.followed)
            for part in () if x is self._numbered else parts(x):
                if not leads_nowhere(type(part)):
                    self.note(x, part)
            if self._views and (view := self._views.get(id(x))) is not None and view.made is x:
                for item in view.items:     # a change of `x` is one of these
                    self.note(view, item)

    def follow(self, changes: Iterable[tuple[Any, Any]], objects_in: Callable[[Any], Iterable[Any]]) -> list[Any]:
        """Walk on, with what changes of containers that are reached have put into them, so long as that reaches more.

        changes: pairs of a change and what it leaves, of which `objects_in` gives the objects. Returns those whose
        container is not reached."""
        left = reached = list(changes)
        while reached:
            self.walk()
            reached = [c for c in left if self.reaches(c[0].container)]
            for change, after in reached:
                for x in objects_in(after):
                    self.note(change.container, x)
            left = [c for c in left if not self.reaches(c[0].container)]
        return left

    def note(self, holder: Any, x: Any) -> None:
        """`holder` refers to `x`."""
        known = self.found.get(id(x))
        if known is None:
            self.found[id(x)] = [holder]
            self.objects.append(x)
            self._waiting.append(x)
        else:
            known.append(holder)

    def holders(self, x: Any, *but: str) -> list[Any]:
        """What refers to an object, besides roots of the kinds `but`."""
        found = self.found.get(id(x), [])
        return [h for h in found if type(h) is not Root or h.kind not in but] if but else found

    # -- where it begins

    def variables(self, frame: FrameType) -> None:
        """What the variables of a function that is being called hold, where it is not one of ours."""
        code = frame.f_code
        converted = is_converted(code)
        if not converted and (code.co_filename.startswith(OURS)
                              or _package(frame.f_globals.get("__name__")) in ELSEWHERE):
            return
        if code.co_flags & CO_GENERATOR or is_followed(code):
            self.complete = False       # who takes its elements may have kept some, and be C code; or Python's stack
        local = frame.f_locals
        in_cells: set[str] = set(code.co_freevars) if converted else set()      # of a function that is being called
        cells = local.get(CELLS) if converted else None
        if type(cells) is FunctionType:
            in_cells.update(cells.__code__.co_freevars)
            self.note(Root("variables", code.co_name), cells)
        for name, value in [*local.items()]:
            if name not in in_cells and not (converted and name in NOT_READ) and not leads_nowhere(type(value)):
                self.note(Root("variable", (code.co_name, name)), value)
        self._named(code, frame.f_globals, True)
        if type(local) is dict and code.co_flags & CO_OPTIMIZED:
            local.clear()       # a copy that Python before 3.13 keeps with the frame, and makes anew when it is asked

    def _named(self, code: CodeType, namespace: dict[str, Any], called: bool) -> None:
        """The global variables that code of the user's names, and those that it names of other modules."""
        if not called and code.co_filename.startswith(LIBRARIES) or not (
                is_user_file(code.co_filename) or is_converted(code)):
            return
        modules = []
        for name in names_in(code):
            value = namespace.get(name)
            if isinstance(value, ModuleType) or value is None and (value := sys.modules.get(name)) is not None:
                modules.append(value)
            elif value is not None:
                self._global(namespace, name, value)
        for module in modules:
            if _is_of_user(module.__name__):
                for name in names_in(code):
                    value = vars(module).get(name)
                    if isinstance(value, ModuleType):
                        if value not in modules:
                            modules.append(value)
                    elif value is not None:
                        self._global(vars(module), name, value)

    def _global(self, namespace: dict[str, Any], name: str, value: Any) -> None:
        if not leads_nowhere(type(value)) and (id(namespace), name) not in self._globals:
            self._globals.add((id(namespace), name))
            self.note(namespace, value)


    def knows_one(self, x: Any, *but: str) -> bool:
        """Whether no more than one reference leads to an object, besides those of roots of the kinds `but`."""
        return self.complete and len(self.holders(x, *but)) <= 1

    def reaches(self, x: Any) -> bool:
        return not self.complete or id(x) in self.found


@cache
def names_in(code: CodeType) -> tuple[str, ...]:
    """The names of global variables and attributes in code, and in that of the functions inside."""
    return tuple(dict.fromkeys(n for each in codes(code) for n in each.co_names))


@cache
def leads_nowhere(kind: type) -> bool:
    """Whether objects of a type refer to no container."""
    return issubclass(kind, NOTHING)


def _package(module: Any) -> str:
    return module.partition(".")[0] if type(module) is str else ""


@cache
def _is_of_user(module: str) -> bool:
    """Whether a module is the user's, and no library's."""
    root, loaded = _package(module), sys.modules.get(module)
    file = getattr(loaded, "__file__", None) or ""
    return root not in ELSEWHERE and root not in sys.stdlib_module_names and not file.startswith(LIBRARIES)


# ---- what refers to what -----------------------------------------------------------------------------------------

def parts(x: Any) -> Iterable[Any]:
    """What an object refers to, once for each reference."""
    kind = type(x)
    if kind in CONTAINERS:
        return x
    if (leads := getattr(kind, "ag__leads", None)) is not None:     # of arrays, and their memories
        return leads(x)
    if kind is dict:
        return [*x, *x.values()]
    if kind is CellType:
        try:
            return (x.cell_contents,)
        except ValueError:
            return ()
    if kind is FunctionType:
        return (*(x.__closure__ or ()), *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values(),
                *((x.__dict__,) if x.__dict__ else ()))
    if issubclass(kind, type):      # what stands for arrays says that it is of another class
        return (*vars(x).values(), *x.__bases__) if x.__flags__ & HEAP_TYPE and _is_of_user(x.__module__) else ()
    if issubclass(kind, np.ndarray):
        return x.flat if x.dtype.hasobject else ()
    if issubclass(kind, ModuleType) or hasattr(kind, "ag__internal"):
        return ()
    if (own := getattr(kind, "ag__parts", None)) is not None:
        return own(x)
    package = _package(kind.__module__)
    if package == "reactant" and not kind.__module__.startswith("reactant.frontends"):
        wrapped = getattr(x, "__wrapped__", None)       # of a compiled function
        return () if wrapped is None else (wrapped,)
    return () if package in ELSEWHERE and package != "reactant" else _of_object(x, kind)


def _of_object(x: Any, kind: type) -> Iterable[Any]:
    held = attributes_of(x) if kind.__flags__ & HEAP_TYPE else None
    base = next(cls for cls in kind.__mro__ if not cls.__flags__ & HEAP_TYPE)
    if held is None and base not in CONTAINERS and base is not dict:
        return [kind, *(part for part in gc.get_referents(x) if part is not kind)]
    found = [kind, *(() if held is None else (held,))]
    if base is object and not is_of_python(kind) or base is not object and base not in (dict, *CONTAINERS):
        known = {id(kind), id(held), *map(id, held.values())}      # these are among the others in some versions
        return [*found, *(part for part in gc.get_referents(x) if id(part) not in known)]
    found += [getattr(x, name) for name in slots_of(kind) if hasattr(x, name)]
    if base is dict:
        return [*found, *dict.keys(x), *dict.values(x)]
    return [*found, *base.__iter__(x)] if base in CONTAINERS else found


def attributes_of(x: Any) -> dict[str, Any] | None:
    """The dictionary of an object's attributes, None where it has none."""
    try:
        held = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return None
    return held if isinstance(held, dict) else None

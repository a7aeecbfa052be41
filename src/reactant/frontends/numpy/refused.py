"""What of NumPy is not compiled, and what to do instead: a table of reasons and names.

`ALWAYS`: refused in compiled code whatever the arguments, because running once while tracing would be wrong (files,
global state, hidden random state). The others are refused for traced arguments and run as plain Python otherwise.
"""
from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from reactant.errors import Reason
from reactant.frontends.arrays.implements import REFUSED, refuse
from reactant.frontends.session.dispatch import means

FILES = Reason("{name} reads or writes files, which a compiled program cannot.",
               "Load before the call and pass the array; save what the call returns.", "outside-world")
GLOBAL_STATE = Reason("{name} changes settings of NumPy, which a compiled program cannot.",
                      "Call it outside.", "outside-world")
LEGACY_RANDOM = Reason("{name} draws from a state that the compiled program has not seeded, so every call of it "
                       "would repeat the same numbers.",
                       "Call np.random.seed(k) or make np.random.RandomState(k) inside the function, or use "
                       "rng = np.random.default_rng(seed) there, with the seed as an argument, and its methods.",
                       "random-generator")
OUTSIDE_GENERATOR = Reason("A random generator made outside keeps its state outside, so every call of the "
                           "compiled program would repeat the same numbers.",
                           "Make one inside with np.random.default_rng(seed), with the seed as an argument.",
                           "random-generator")
TEXT = Reason("{name} makes text from values, which are known only when the compiled program has run.",
              "Format what it returns.", "function-not-compiled")
STRINGS = Reason("{name} works on strings, which have no tensor type.",
                 "Do it before the call and pass numbers.", "unsupported-dtype")
NO_NUMBERS = Reason("{name} is abstract or holds no numbers: arrays of it cannot be compiled.",
                    "Use a dtype of numbers.", "unsupported-dtype")
EXTENDED = Reason("{name}: XLA has no extended precision.",
                  "Use float64 or complex128.", "unsupported-dtype")
DATES = Reason("{name} works on dates, which have no tensor type.",
               "Convert them with .astype('int64') before the call.", "unsupported-dtype")
MASKED = Reason("{name}: masked arrays cannot be compiled.",
                "Pass data and mask as two arrays and use np.where.", "array-subclass")
MATRIX = Reason("{name}: the matrix class cannot be compiled.",
                "Use 2-d arrays and the @ operator.", "array-subclass")
RECORDS = Reason("{name}: record arrays cannot be compiled.",
                 "Pass the fields as separate arrays.", "array-subclass")
POLYNOMIALS = Reason("{name}: polynomial objects cannot be compiled, nor functions that drop leading coefficients "
                     "which are zero.",
                     "Use functions on coefficient arrays whose sizes are known: polyval, polyder, polyint, "
                     "polyfit...", "function-not-compiled")
ROOTS = Reason("{name}: how many results there are depends on which coefficients are zero.",
               "Use np.linalg.eigvals of the companion matrix.", "size-decided-at-run-time")
DIVISION = Reason("{name}: the size of the remainder depends on the values.",
                  "Divide before the call.", "size-decided-at-run-time")
PER_ELEMENT = Reason("{name} calls a Python function for each element.",
                     "Use np.vectorize, or write it with whole arrays and np.where.", "function-not-compiled")
ITERATORS = Reason("{name} walks over memory, which a traced array has not.",
                   "Loop over np.ndindex(x.shape), or use whole arrays.", "memory-of-traced-array")
MEMORY = Reason("{name} needs the memory of an array, which is known only when the compiled program has run.",
                "Call it on what the compiled function returns.", "memory-of-traced-array")
DOMAIN = Reason("{name}: whether the result is complex depends on the values.",
                "Convert the argument with .astype(complex), or use the function of the same name in np.",
                "type-depends-on-values")
VALUE_DTYPE = Reason("{name}: the dtype of the result depends on the values.",
                     "Use .astype, or .real where it is real.", "type-depends-on-values")
TESTS = Reason("{name} compares values, which are known only when the compiled program has run.",
               "Compare what it returns.", "function-not-compiled")
FOREIGN = Reason("{name} passes arrays to other libraries.",
                 "Do it outside with what the call returns.", "memory-of-traced-array")
PICKLES = Reason("{name} makes bytes from values, which are known only when the compiled program has run.",
                 "Call it on what the compiled function returns.", "memory-of-traced-array")
IN_PLACE_SHAPE = Reason("{name} changes the size of an array in place.",
                        "Make a new one with np.resize(a, shape).", "function-not-compiled")

ALWAYS = {
    FILES: "load loadtxt genfromtxt fromfile fromregex save savetxt savez savez_compressed memmap",
    GLOBAL_STATE: "seterrcall setbufsize set_printoptions",
    PER_ELEMENT: "frompyfunc",
    LEGACY_RANDOM: " ".join("random." + name for name in """
        get_state set_state bytes""".split()),
}

WITH_TRACED_ARGUMENTS = {
    TEXT: "array2string array_repr array_str base_repr binary_repr format_float_positional format_float_scientific",
    STRINGS: "fromstring",
    NO_NUMBERS: "str_ bytes_ object_ void flexible character generic number integer signedinteger unsignedinteger "
                "inexact floating complexfloating",
    EXTENDED: "longdouble clongdouble",
    DATES: "busday_count busday_offset is_busday busdaycalendar isnat datetime_as_string datetime_data datetime64 "
           "timedelta64",
    MATRIX: "matrix asmatrix bmat",
    RECORDS: "recarray record",
    POLYNOMIALS: "poly1d",
    ROOTS: "roots",
    DIVISION: "polydiv",
    ITERATORS: "nditer nested_iters broadcast flatiter lib.Arrayterator",
    MEMORY: "shares_memory frombuffer from_dlpack lib.array_utils.byte_bounds",
    VALUE_DTYPE: "real_if_close min_scalar_type",
    DOMAIN: " ".join("emath." + n for n in ("sqrt", "log", "log2", "logn", "log10", "power", "arccos", "arcsin",
                                            "arctanh")),
}

MODULES = {"char": STRINGS, "strings": STRINGS, "ma": MASKED, "rec": RECORDS, "testing": TESTS, "ctypeslib": FOREIGN,
           "polynomial": POLYNOMIALS}
"""Submodules of which everything is refused."""

FOLLOWED = re.compile(r"ma(\.core)?\.(isMA|isMaskedArray|isarray)|polynomial\.\w+\."
                      r"[a-z]+?_?e?(val|val2d|val3d|grid2d|grid3d|der|int|fit|vander|vander2d|vander3d|weight|gauss|pts1|pts2)")
"""Functions of those modules that run as the Python code they are: with known sizes, and nothing of a class."""

METHODS = {
    PICKLES: "dump dumps tobytes tofile",
    MEMORY: "ctypes data getfield setfield byteswap",
    IN_PLACE_SHAPE: "resize",
    FOREIGN: "to_device",
}
"""ndarray methods and attributes that traced arrays have not."""

METHOD_REASONS = {name: reason.named(f"ndarray.{name}") for reason, names in METHODS.items()
                  for name in names.split()}


@means("why_no_method")
def reason_of(name: str) -> Reason | None:
    """Why traced arrays have no method or attribute of this name, where there is a reason."""
    return METHOD_REASONS.get(name)


def find(name: str) -> Any:
    """The object called `np.<name>`, or None where this NumPy has none."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def of_module(name: str) -> Iterator[tuple[str, Any]]:
    """(name, object) of what a submodule adds to NumPy, its own submodules included."""
    module = getattr(np, name)
    stack, seen = [(name, module)], {id(module)}
    while stack:
        prefix, where = stack.pop()
        for attribute in sorted(n for n in dir(where) if not n.startswith("_")):
            found = vars(where).get(attribute)      # getattr would warn of what NumPy deprecates
            if isinstance(found, types.ModuleType):
                if found.__name__.startswith(f"numpy.{name}.") and id(found) not in seen:
                    seen.add(id(found))
                    stack.append((f"{prefix}.{attribute}", found))
            elif callable(found) and vars(np).get(attribute) is not found and _belongs(found, name):
                yield f"{prefix}.{attribute}", found


def _belongs(found: Any, module: str) -> bool:
    where = getattr(found, "__module__", None) or ""
    return isinstance(found, np.ufunc) or where.startswith((f"numpy.{module}", "numpy.testing", "numpy.char",
                                                            "numpy.strings", "numpy.rec", "numpy._core"))


def _register() -> None:
    for table, always in ((ALWAYS, True), (WITH_TRACED_ARGUMENTS, False)):
        for reason, names in table.items():
            for name in names.split():
                found = find(name)
                if found is not None:
                    # np.random.rand is a method bound to the hidden state; calls are followed to the function
                    refuse(reason.named(f"np.{name}"), getattr(found, "__func__", found), always=always)
    for name in dir(np.random.Generator):
        if not name.startswith("_") and callable(found := getattr(np.random.Generator, name)):
            refuse(OUTSIDE_GENERATOR, found, always=True)


_arrived: set[str] = set()


def refuse_loaded() -> None:
    """Refuse what is in the submodules that are loaded by now: NumPy loads most of them when they are first asked for,
    which takes 10 ms."""
    for module, reason in MODULES.items():
        loaded = sys.modules.get(f"numpy.{module}")
        if loaded is None or module in _arrived or getattr(loaded.__spec__, "_initializing", False):
            continue
        _arrived.add(module)
        for name, found in of_module(module):
            if found not in REFUSED and not FOLLOWED.fullmatch(name):
                refuse(reason.named(f"np.{name}"), found)
    matlib = sys.modules.get("numpy.matlib")
    if matlib is not None and "matlib" not in _arrived and hasattr(matlib, "randn"):
        _arrived.add("matlib")
        for name in ("rand", "randn"):
            refuse(LEGACY_RANDOM.named(f"np.matlib.{name}"), getattr(matlib, name), always=True)


_register()

"""Values as bytes, and back, in a form that can hold nothing but values: reading runs no code of anybody's.

A value is a letter and what belongs to it; lengths are eight bytes. Objects of classes that `register` was told are
their fields in order; whatever else is in a value has to be one of the `objects` of a walk (`cache.walk`), and is
written as its number there: classes and functions of the user are looked up, never imported by a name that a file says.
"""
from __future__ import annotations

import importlib
import struct
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from reactant.cache.walk import NotCacheable, Walk

DEEPEST = 200


class Damaged(Exception):
    """What was read is not what was written."""


_CLASSES: dict[str, tuple[str, tuple[str, ...]]] = {}
"""By name: the module of ours that has a class, and the attributes that its objects are made of."""


def register(module: str, **classes: str) -> None:
    """Let objects of classes of a module of ours be written. classes: by name, the attributes that make them up."""
    _CLASSES.update({name: (module, tuple(fields.split())) for name, fields in classes.items()})


def encoded(value: Any, walk: Walk | None = None, objects: Callable[[Any], tuple[Any, list] | None] | None = None
            ) -> bytes:
    """A value as bytes. objects: of a user's object that is rebuilt, its class and (name, value) of its attributes.

    Raises `NotCacheable` for what cannot be written."""
    writer = _Writer(walk, objects)
    writer.put(value, 0)
    return bytes(writer.out)


def decoded(data: bytes, objects: Sequence[Any] = (), make: Callable[[type, list], Any] | None = None) -> Any:
    """The value; `objects` are those of a walk with the same digest. make: makes an object of a class and attributes.

    Raises `Damaged`."""
    reader = _Reader(memoryview(data), objects, make)
    try:
        value = reader.take(0)
    except (struct.error, IndexError, KeyError, ValueError, TypeError, UnicodeDecodeError, OverflowError) as error:
        raise Damaged(str(error)) from error
    if reader.at != len(data):
        raise Damaged("there is more than one value")
    return value


_DTYPES = {name: np.dtype(getattr(ml_dtypes, name)) for name in dir(ml_dtypes)
           if isinstance(getattr(ml_dtypes, name), type) and issubclass(getattr(ml_dtypes, name), np.generic)}
_SEQUENCES: dict[type, bytes] = {tuple: b"t", list: b"l", set: b"e", frozenset: b"z"}
_MAKERS = {letter: kind for kind, letter in _SEQUENCES.items()}
_CONSTANTS = {b"N": None, b"T": True, b"F": False, b".": Ellipsis}


class _Writer:
    def __init__(self, walk: Walk | None, objects: Any) -> None:
        self.out = bytearray()
        self.walk, self.objects = walk, objects

    def data(self, letter: bytes, data: bytes) -> None:
        self.out += letter + struct.pack("<q", len(data)) + data

    def put(self, x: Any, depth: int) -> None:
        if depth > DEEPEST:
            raise NotCacheable("what it returns is nested too deeply")
        kind = type(x)
        for letter, constant in _CONSTANTS.items():
            if x is constant:
                self.out += letter
                return
        if kind is int:
            self.data(b"i", str(x).encode())
        elif kind is float:
            self.out += b"d" + struct.pack("<d", x)
        elif kind is complex:
            self.out += b"c" + struct.pack("<dd", x.real, x.imag)
        elif kind is str:
            self.data(b"s", x.encode("utf-8", "surrogatepass"))
        elif kind is bytes:
            self.data(b"b", x)
        elif kind in _SEQUENCES and self._number(x) is None:
            self.out += _SEQUENCES[kind] + struct.pack("<q", len(x))
            for each in x:
                self.put(each, depth + 1)
        elif kind is dict and self._number(x) is None:
            self.out += b"m" + struct.pack("<q", len(x))
            for key, each in x.items():
                self.put(key, depth + 1)
                self.put(each, depth + 1)
        elif kind in (slice, range):
            self.out += b"S" if kind is slice else b"R"
            for each in (x.start, x.stop, x.step):
                self.put(each, depth + 1)
        elif isinstance(x, np.dtype) and (told := dtype_told(x)) is not None:
            self.data(b"D", told.encode())
        elif isinstance(x, np.generic) and (told := dtype_told(x.dtype)) is not None:
            self.data(b"G", told.encode())
            self.data(b"b", x.tobytes())
        elif kind is np.ndarray and (told := dtype_told(x.dtype)) is not None and self._number(x) is None:
            self.data(b"A", told.encode())
            self.put(x.shape, depth + 1)
            self.put(bool(x.flags.f_contiguous and not x.flags.c_contiguous), depth + 1)
            self.data(b"b", x.tobytes(order="A"))
        elif kind.__name__ in _CLASSES and _CLASSES[kind.__name__][0] == kind.__module__:
            self.data(b"O", kind.__name__.encode())
            for name in _CLASSES[kind.__name__][1]:
                self.put(str(x) if name == "str" else getattr(x, name), depth + 1)
        elif (number := self._number(x)) is not None:
            self.out += b"#" + struct.pack("<q", number)
        elif self.objects is not None and (found := self.objects(x)) is not None:
            cls, attributes = found
            self.out += b"X"
            self.put(cls, depth + 1)
            self.put(attributes, depth + 1)
        else:
            raise NotCacheable(f"what it gives has an object of the type {kind.__module__}.{kind.__qualname__}")

    def _number(self, x: Any) -> int | None:
        return None if self.walk is None else self.walk.number_of(x)


def dtype_told(dtype: np.dtype) -> str | None:
    """A plain dtype as text; None for others."""
    if dtype.name in _DTYPES and _DTYPES[dtype.name] == dtype:
        return dtype.name
    return dtype.str if dtype.kind in "biufcSU" and dtype.names is None and dtype.metadata is None else None


def dtype_of(told: str) -> np.dtype:
    """The dtype that `dtype_told` told."""
    return _DTYPES[told] if told in _DTYPES else np.dtype(told)


class _Reader:
    def __init__(self, data: memoryview, objects: Sequence[Any], make: Any) -> None:
        self.data_, self.objects, self.make, self.at = data, objects, make, 0

    def take_bytes(self, count: int) -> bytes:
        if count < 0 or self.at + count > len(self.data_):
            raise ValueError("it ends too early")
        found = bytes(self.data_[self.at:self.at + count])
        self.at += count
        return found

    def number(self) -> int:
        found, = struct.unpack("<q", self.take_bytes(8))
        return int(found)

    def data(self) -> bytes:
        return self.take_bytes(self.number())

    def dtype(self) -> np.dtype:
        return dtype_of(self.data().decode())

    def take(self, depth: int) -> Any:
        if depth > DEEPEST + 2:
            raise ValueError("it is nested too deeply")
        letter = self.take_bytes(1)
        if letter in _CONSTANTS:
            return _CONSTANTS[letter]
        if letter in _MAKERS:
            return _MAKERS[letter](self.take(depth + 1) for _ in range(self._count()))
        if letter == b"m":
            return {self.take(depth + 1): self.take(depth + 1) for _ in range(self._count())}
        return _READERS[letter](self, depth)

    def _count(self) -> int:
        count = self.number()
        if not 0 <= count <= len(self.data_) - self.at:
            raise ValueError("a length that cannot be")
        return count

    def array(self, depth: int) -> np.ndarray:
        dtype, shape, by_columns = self.dtype(), self.take(depth + 1), self.take(depth + 1)
        if self.take_bytes(1) != b"b":
            raise ValueError("an array without content")
        return np.frombuffer(self.data(), dtype).reshape(shape, order="F" if by_columns else "C").copy(order="K")

    def scalar(self) -> np.generic:
        dtype = self.dtype()
        self.take_bytes(1)
        return np.frombuffer(self.data(), dtype)[0]     # type: ignore[no-any-return]

    def object(self, depth: int) -> Any:
        name = self.data().decode()
        module, fields = _CLASSES[name]
        values = [self.take(depth + 1) for _ in fields]
        return getattr(importlib.import_module(module), name)(*values)      # one of ours, by our own table

    def made(self, depth: int) -> Any:
        cls, attributes = self.take(depth + 1), self.take(depth + 1)
        if self.make is None or not isinstance(cls, type):
            raise ValueError("an object of no class")
        return self.make(cls, attributes)


_READERS: dict[bytes, Callable[[_Reader, int], Any]] = {
    b"i": lambda r, d: int(r.data()), b"d": lambda r, d: struct.unpack("<d", r.take_bytes(8))[0],
    b"c": lambda r, d: complex(*struct.unpack("<dd", r.take_bytes(16))),
    b"s": lambda r, d: r.data().decode("utf-8", "surrogatepass"), b"b": lambda r, d: r.data(),
    b"S": lambda r, d: slice(*[r.take(d + 1) for _ in range(3)]),
    b"R": lambda r, d: range(*[r.take(d + 1) for _ in range(3)]),
    b"D": lambda r, d: r.dtype(), b"G": lambda r, d: r.scalar(), b"A": lambda r, d: r.array(d),
    b"O": lambda r, d: r.object(d), b"#": lambda r, d: r.objects[r.number()], b"X": lambda r, d: r.made(d),
}
